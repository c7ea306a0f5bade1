//! SQLite statements by the C interface: the only unsafe code of this crate.
//!
//! `rusqlite` opens the database. Its statements borrow their connection, and its cache looks a
//! statement up by its text and allocates each time; a session needs neither.

use std::ffi::{CStr, c_int};
use std::ptr::{self, NonNull};

use rusqlite::{Connection, ffi};

use crate::error::ServerError;
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
