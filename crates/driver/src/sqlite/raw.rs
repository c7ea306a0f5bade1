//! SQLite statements by the C interface.
//!
//! `rusqlite` opens the database. Its statements borrow their connection, and its cache looks a
//! statement up by its text and allocates each time; a session needs neither.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::{self, NonNull};
use std::time::Duration;

use rusqlite::{Connection, ffi};

use crate::error::ServerError;
use crate::over::Over;
use crate::value::Value;

/// A compiled statement. It must be dropped before its connection.
#[derive(Debug)]
pub(super) struct RawStatement(NonNull<ffi::sqlite3_stmt>);

// SAFETY: a statement may be used by one thread at a time, together with its connection; both lie
// in one session, which is used through `&mut`, or `&` without calling SQLite.
unsafe impl Send for RawStatement {}

impl RawStatement {
    /// Compiles the first statement of a text: returns the statement (`None`: only blanks or a
    /// comment) and the bytes read.
    pub fn prepare(
        connection: &Connection,
        sql: &[u8],
        persistent: bool,
    ) -> Result<(Option<Self>, usize), ServerError> {
        let size = c_int::try_from(sql.len()).map_err(|_| {
            failure(ffi::SQLITE_TOOBIG, format!("statement text of {} bytes", sql.len()))
        })?;
        let flags = if persistent { ffi::SQLITE_PREPARE_PERSISTENT } else { 0 };
        let mut statement = ptr::null_mut();
        let mut tail = ptr::null();
        let start = sql.as_ptr().cast();
        // SAFETY: the connection is open, `start` has `size` bytes, and the results are ours.
        let code = unsafe {
            ffi::sqlite3_prepare_v3(
                connection.handle(),
                start,
                size,
                flags,
                &raw mut statement,
                &raw mut tail,
            )
        };
        if code != ffi::SQLITE_OK {
            return Err(last_error(connection, code));
        }
        let read = if tail.is_null() { sql.len() } else { tail.addr() - start.addr() };
        Ok((NonNull::new(statement).map(Self), read))
    }

    /// Number of placeholders.
    pub fn values(&self) -> usize {
        // SAFETY: the statement is alive.
        unsafe { ffi::sqlite3_bind_parameter_count(self.0.as_ptr()) as usize }
    }

    /// Columns of its rows; 0: it returns none.
    pub fn columns(&self) -> usize {
        // SAFETY: the statement is alive.
        unsafe { ffi::sqlite3_column_count(self.0.as_ptr()) as usize }
    }

    /// Runs the statement to its end with `values`; calls `row` for each row.
    pub fn run<'a>(
        &mut self,
        connection: &Connection,
        values: impl Iterator<Item = Value<'a>>,
        mut row: impl FnMut(Row<'_>),
    ) -> Result<(), ServerError> {
        let mut code = ffi::SQLITE_OK;
        let mut beyond = None;
        for (index, value) in (1..).zip(values) {
            code = self.bind(index, value);
            if let Value::Unsigned(number) = value {
                beyond = Some(number);
            }
            if code != ffi::SQLITE_OK {
                break;
            }
        }
        if code == ffi::SQLITE_OK {
            loop {
                // SAFETY: the statement is alive, and its bound values live as long as `'a`.
                code = unsafe { ffi::sqlite3_step(self.0.as_ptr()) };
                if code != ffi::SQLITE_ROW {
                    break;
                }
                row(Row(self));
            }
        }
        let result = match (code, beyond) {
            (ffi::SQLITE_DONE, _) => Ok(()),
            (ffi::SQLITE_MISMATCH, Some(number)) => {
                let largest = i64::MAX;
                let message = format!("datatype mismatch: {number} is above {largest}");
                Err(failure(code, message))
            }
            (code, _) => Err(last_error(connection, code)),
        };
        // SAFETY: the statement is alive. Clearing drops the pointers to the caller's values.
        unsafe {
            ffi::sqlite3_reset(self.0.as_ptr());
            ffi::sqlite3_clear_bindings(self.0.as_ptr());
        }
        result
    }

    fn bind(&mut self, index: c_int, value: Value<'_>) -> c_int {
        let statement = self.0.as_ptr();
        // SAFETY: the statement is alive. Text isn't copied: `run`, the only caller, clears the
        // bindings before the value's lifetime ends.
        unsafe {
            match value {
                Value::Null => ffi::sqlite3_bind_null(statement, index),
                Value::Int(number) => ffi::sqlite3_bind_int64(statement, index, number),
                // It would become a floating-point number, which is another one.
                Value::Unsigned(_) => ffi::SQLITE_MISMATCH,
                Value::Double(number) => ffi::sqlite3_bind_double(statement, index, number),
                Value::Bytes(bytes) => ffi::sqlite3_bind_text64(
                    statement,
                    index,
                    bytes.as_ptr().cast(),
                    bytes.len() as u64,
                    ffi::SQLITE_STATIC(),
                    ffi::SQLITE_UTF8 as u8,
                ),
            }
        }
    }
}

impl Drop for RawStatement {
    fn drop(&mut self) {
        // SAFETY: the statement is alive and never used again. Its code repeats an old error.
        unsafe {
            ffi::sqlite3_finalize(self.0.as_ptr());
        }
    }
}

/// A statement's current row.
pub(super) struct Row<'a>(&'a RawStatement);

impl Row<'_> {
    /// A column's value as text; `None`: NULL.
    pub fn column(&self, index: usize) -> Option<&[u8]> {
        let statement = self.0.0.as_ptr();
        let index = index as c_int;
        // SAFETY: the statement is at a row. The text stays valid until the next call on this
        // column or step, which the borrow of the row forbids; its size is read after it, because
        // the conversion to text may change it.
        unsafe {
            let text = ffi::sqlite3_column_text(statement, index);
            if text.is_null() {
                return None;
            }
            let size = ffi::sqlite3_column_bytes(statement, index) as usize;
            Some(std::slice::from_raw_parts(text, size))
        }
    }
}

/// Instructions of SQLite's virtual machine between two looks: some 10 µs.
const LOOK_EVERY: c_int = 1_000;
/// Pauses of a statement that waits for a lock, milliseconds; the last one repeats. They are
/// SQLite's own, which it doesn't interrupt.
const LOCK_PAUSES_MS: [u32; 12] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100];

/// Ends a connection's statements when nobody waits for them any more. It must be dropped after the
/// connection.
pub(super) struct Watch(Box<Watched>);

struct Watched {
    over: Over,
    /// How long a statement waits for a lock.
    patience_ms: u32,
}

impl Watch {
    /// Watches a connection, which waits for locks as long as before.
    pub fn new(connection: &Connection, over: Over) -> Self {
        let watch = Self(Box::new(Watched { over, patience_ms: busy_timeout_ms(connection) }));
        let data = ptr::from_ref(watch.0.as_ref()).cast_mut().cast();
        // SAFETY: the connection is open, and what the handlers read outlives it.
        unsafe {
            let handle = connection.handle();
            ffi::sqlite3_progress_handler(handle, LOOK_EVERY, Some(look), data);
            ffi::sqlite3_busy_handler(handle, Some(wait_for_lock), data);
        }
        watch
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("patience_ms", &self.0.patience_ms).finish_non_exhaustive()
    }
}

fn busy_timeout_ms(connection: &Connection) -> u32 {
    connection.query_row("PRAGMA busy_timeout", [], |row| row.get(0)).unwrap_or(0)
}

/// Called while a statement runs; not 0 interrupts it.
unsafe extern "C" fn look(data: *mut c_void) -> c_int {
    // SAFETY: `Watch::new` passes it what it points to, which outlives the connection.
    let watched = unsafe { &*data.cast::<Watched>() };
    c_int::from((watched.over)())
}

/// Called when a lock is taken, after `before` calls for the same one; 0 gives it up.
unsafe extern "C" fn wait_for_lock(data: *mut c_void, before: c_int) -> c_int {
    // SAFETY: as above.
    let watched = unsafe { &*data.cast::<Watched>() };
    let pause_ms = pause_for_lock(before.max(0) as usize, watched.patience_ms);
    if pause_ms == 0 || (watched.over)() {
        return 0;
    }
    std::thread::sleep(Duration::from_millis(u64::from(pause_ms)));
    1
}

/// The pause after `before` others; 0: the patience is at its end.
fn pause_for_lock(before: usize, patience_ms: u32) -> u32 {
    let known = LOCK_PAUSES_MS.len();
    let last = LOCK_PAUSES_MS[known - 1];
    let waited = LOCK_PAUSES_MS[..before.min(known)].iter().sum::<u32>();
    let waited = waited.saturating_add(last.saturating_mul(before.saturating_sub(known) as u32));
    let next = LOCK_PAUSES_MS.get(before).copied().unwrap_or(last);
    next.min(patience_ms.saturating_sub(waited))
}

/// Rows changed since the connection was opened.
pub(super) fn total_changes(connection: &Connection) -> i64 {
    // SAFETY: the connection is open.
    unsafe { ffi::sqlite3_total_changes64(connection.handle()) }
}

/// The error of the connection's last call.
fn last_error(connection: &Connection, code: c_int) -> ServerError {
    // SAFETY: the connection is open; the message is copied before the next call.
    let (extended, message) = unsafe {
        let message = CStr::from_ptr(ffi::sqlite3_errmsg(connection.handle()));
        (ffi::sqlite3_extended_errcode(connection.handle()), message.to_string_lossy().into_owned())
    };
    failure(if extended & 0xff == code & 0xff { extended } else { code }, message)
}

/// An error by its extended code. The primary code is counted; the text adds the rest.
pub(super) fn failure(extended: c_int, message: String) -> ServerError {
    let primary = extended & 0xff;
    let sqlstate = match (primary, extended) {
        (ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED, _) => "40001",
        (_, ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY) => "23505",
        (ffi::SQLITE_CONSTRAINT, _) => "23000",
        _ => "HY000",
    };
    let detail = if extended == primary { "" } else { &format!(" [extended code {extended}]") };
    ServerError {
        sqlstate: sqlstate.into(),
        number: i64::from(primary),
        message: format!("{message}{detail}"),
        transient: matches!(primary, ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED),
        rolled_back: false,
        closes: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_waits_for_a_lock_as_long_as_it_may() {
        let waits = |patience_ms| -> Vec<u32> {
            let pauses = (0..).map(|before| pause_for_lock(before, patience_ms));
            pauses.take_while(|pause| *pause > 0).collect()
        };
        assert_eq!(waits(0), [0; 0]);
        assert_eq!(waits(10), [1, 2, 5, 2]);
        for patience_ms in [228, 500, 5_000] {
            assert_eq!(waits(patience_ms).iter().sum::<u32>(), patience_ms);
        }
        assert_eq!(pause_for_lock(usize::MAX, u32::MAX), 0);
    }
}
