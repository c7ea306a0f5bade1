//! The instances of DuckDB in this process, one for each file: a second one would not know of what
//! the first holds in memory.

use std::ffi::{CStr, CString, c_char};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use record::DuckdbTarget;

use super::library::{Handle, Library};
use super::words::{c_text, error_of};
use crate::error::ServerError;

/// An open file.
struct Instance {
    target: DuckdbTarget,
    file: PathBuf,
    library: &'static Library,
    database: Handle,
    /// Settings that are those of a connection.
    session: Vec<(String, String)>,
    users: usize,
}

// SAFETY: DuckDB allows any thread to use a database's handle; the list has it behind a lock.
unsafe impl Send for Instance {}

static OPEN: Mutex<Vec<Instance>> = Mutex::new(Vec::new());

fn instances() -> MutexGuard<'static, Vec<Instance>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A user of an instance; the last one closes its file.
#[derive(Debug)]
pub(super) struct Lease {
    file: PathBuf,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut open = instances();
        let Some(place) = open.iter().position(|instance| instance.file == self.file) else {
            return;
        };
        open[place].users -= 1;
        if open[place].users == 0 {
            let mut closed = open.swap_remove(place);
            // SAFETY: the handle is open, and nobody uses it any more: each user's connection was
            // closed before its lease. The lock is held, so that nobody opens the file meanwhile.
            unsafe { (closed.library.close)(&raw mut closed.database) };
        }
    }
}

/// An open connection, its lease, and the settings that it needs.
pub(super) type Joined = (Handle, Lease, Vec<(String, String)>);

/// Connects to the instance of a target's file, which the first one opens.
///
/// # Errors
/// DuckDB's error, or that the file is open with other settings.
pub(super) fn join(
    library: &'static Library,
    target: &DuckdbTarget,
) -> Result<Joined, ServerError> {
    let file = std::path::absolute(&target.path).unwrap_or_else(|_| target.path.clone());
    let mut open = instances();
    let place = match open.iter().position(|instance| instance.file == file) {
        Some(place) if open[place].target == *target => place,
        Some(_) => {
            let message = "Connection Error: this process has the file open with other settings";
            return Err(error_of(message));
        }
        None => {
            let (database, session) = start(library, target, &file)?;
            let target = target.clone();
            let file = file.clone();
            open.push(Instance { target, file, library, database, session, users: 0 });
            open.len() - 1
        }
    };
    let instance = &mut open[place];
    instance.users += 1;
    let session = instance.session.clone();
    let mut handle = ptr::null_mut();
    // SAFETY: the database is open, and the result is ours.
    let state = unsafe { (library.connect)(instance.database, &raw mut handle) };
    // Its drop takes the lock.
    drop(open);
    let lease = Lease { file };
    if state != 0 {
        return Err(error_of("Connection Error: no connection could be made"));
    }
    Ok((handle, lease, session))
}

type Started = (Handle, Vec<(String, String)>);

/// Opens a file with a target's settings. Those that only a connection has are returned.
fn start(
    library: &'static Library,
    target: &DuckdbTarget,
    file: &Path,
) -> Result<Started, ServerError> {
    let path = c_text(file.as_os_str().as_encoded_bytes())?;
    let settings = target
        .settings
        .iter()
        .map(|(name, value)| Ok((c_text(name.as_bytes())?, c_text(value.as_bytes())?)))
        .collect::<Result<Vec<(CString, CString)>, ServerError>>()?;
    let mut session = Vec::new();
    let (mut config, mut database) = (ptr::null_mut(), ptr::null_mut());
    let mut message: *mut c_char = ptr::null_mut();
    // SAFETY: all texts end with NUL and outlive the calls; the configuration is destroyed once,
    // and the message is copied before it is freed.
    unsafe {
        if (library.create_config)(&raw mut config) != 0 {
            return Err(error_of("Out of Memory Error: no configuration could be made"));
        }
        for (own, (name, value)) in target.settings.iter().zip(&settings) {
            if (library.set_config)(config, name.as_ptr(), value.as_ptr()) != 0 {
                session.push(own.clone());
            }
        }
        let state = (library.open_ext)(path.as_ptr(), &raw mut database, config, &raw mut message);
        (library.destroy_config)(&raw mut config);
        if state == 0 {
            return Ok((database, session));
        }
        let text = match message.is_null() {
            true => "IO Error: the file can't be opened".into(),
            false => CStr::from_ptr(message).to_string_lossy().into_owned(),
        };
        (library.free)(message.cast());
        Err(error_of(&text))
    }
}
