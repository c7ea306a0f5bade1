//! Ends statements when nobody waits for them any more.
//!
//! A statement occupies its thread, and DuckDB calls nothing of ours meanwhile; so one thread of
//! the process looks at all connections.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::Duration;

use super::library::{Handle, Library};
use crate::over::Over;

/// Between two looks: how much longer than it should a statement may run.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A connection as the thread sees it.
pub(super) struct Watched {
    is_running: AtomicBool,
    /// `None`: it is closed.
    connection: Mutex<Option<Interruptible>>,
}

struct Interruptible {
    library: &'static Library,
    handle: Handle,
    over: Option<Over>,
}

// SAFETY: the handle is only interrupted, which any thread may do while it is open; `forget` takes
// it away before it is closed.
unsafe impl Send for Interruptible {}

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watched").field("is_running", &self.is_running).finish_non_exhaustive()
    }
}

/// While this lives, a statement is running.
pub(super) struct Running<'a>(&'a AtomicBool);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Watched {
    pub fn new(library: &'static Library, handle: Handle) -> Self {
        let connection = Some(Interruptible { library, handle, over: None });
        Self { is_running: AtomicBool::new(false), connection: Mutex::new(connection) }
    }

    /// Notes that a statement begins.
    pub fn running(&self) -> Running<'_> {
        self.is_running.store(true, Ordering::Relaxed);
        Running(&self.is_running)
    }

    /// Interrupts statements as soon as `over` says so.
    pub fn end_when(self: &Arc<Self>, over: Over) {
        if let Some(connection) = self.lock().as_mut() {
            connection.over = Some(over);
        }
        all().push(Arc::downgrade(self));
        static STARTED: Once = Once::new();
        STARTED.call_once(|| {
            // Without it, a statement can't be ended; the run can.
            let _ = std::thread::Builder::new().name("duckdb-watch".into()).spawn(look_for_ever);
        });
    }

    /// Nobody interrupts the connection after this.
    pub fn forget(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Interruptible>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self) {
        if !self.is_running.load(Ordering::Relaxed) {
            return;
        }
        if let Some(Interruptible { library, handle, over: Some(over) }) = &*self.lock()
            && over()
        {
            // SAFETY: the connection is open: it is closed only after `forget`, which waits for
            // the lock.
            unsafe { (library.interrupt)(*handle) };
        }
    }
}

fn all() -> std::sync::MutexGuard<'static, Vec<Weak<Watched>>> {
    static ALL: Mutex<Vec<Weak<Watched>>> = Mutex::new(Vec::new());
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

fn look_for_ever() {
    loop {
        std::thread::sleep(LOOK_EVERY);
        all().retain(|watched| match watched.upgrade() {
            Some(watched) => {
                watched.look();
                true
            }
            None => false,
        });
    }
}
