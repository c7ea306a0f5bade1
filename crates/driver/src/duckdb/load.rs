//! Rows of a multi-row INSERT by DuckDB's appender.

use std::ffi::CString;
use std::ptr;

use super::library::{Handle, Library};
use super::raw::Connection;
use super::words::c_text;
use crate::load::{Insert, Literal};

/// Appends the rows of an INSERT within the open transaction: returns their number. `None`: they
/// aren't plain literals, or DuckDB's appender refuses them; roll back what may be stored.
pub(super) fn append(connection: &Connection, sql: &[u8]) -> Option<u64> {
    let insert = Insert::parse(sql, b'"')?;
    let mut appender = Appender::new(connection, insert.table)?;
    for column in &insert.columns {
        let column = c_name(column)?;
        // SAFETY: the appender is alive, and the name ends with NUL.
        let state =
            unsafe { (appender.library.appender_add_column)(appender.handle, column.as_ptr()) };
        (state == 0).then_some(())?;
    }
    // SAFETY: the appender is alive.
    let columns = unsafe { (appender.library.appender_column_count)(appender.handle) } as usize;
    let mut text = Vec::new();
    let rows = insert.rows(false, |column, literal, is_last| {
        appender.append(literal, &mut text)?;
        if is_last {
            (column + 1 == columns).then_some(())?;
            // SAFETY: the appender is alive, and the row has all its values.
            let state = unsafe { (appender.library.appender_end_row)(appender.handle) };
            (state == 0).then_some(())?;
        }
        Some(())
    })?;
    // SAFETY: the appender is alive. Closing stores what it holds.
    let state = unsafe { (appender.library.appender_close)(appender.handle) };
    (state == 0).then_some(rows)
}

struct Appender {
    library: &'static Library,
    handle: Handle,
}

impl Appender {
    /// `None`: there is no such table.
    fn new(connection: &Connection, table: &[u8]) -> Option<Self> {
        // A schema in front would need splitting at a point that is not within quotes.
        (!table.contains(&b'.')).then_some(())?;
        let (library, table) = (connection.library(), c_name(table)?);
        let mut handle = ptr::null_mut();
        // SAFETY: the connection is open, the name ends with NUL, and the result is ours, also
        // where it only holds an error.
        let state = unsafe {
            let create = library.appender_create;
            create(connection.handle(), ptr::null(), table.as_ptr(), &raw mut handle)
        };
        let appender = Self { library, handle };
        (state == 0).then_some(appender)
    }

    /// `None`: DuckDB refuses the value.
    fn append(&mut self, literal: Literal<'_>, scratch: &mut Vec<u8>) -> Option<()> {
        let text = match literal {
            Literal::Null => {
                // SAFETY: the appender is alive.
                let state = unsafe { (self.library.append_null)(self.handle) };
                return (state == 0).then_some(());
            }
            Literal::Integer(digits) => {
                let number = str::from_utf8(digits).ok()?.parse().ok()?;
                // SAFETY: the appender is alive.
                let state = unsafe { (self.library.append_int64)(self.handle, number) };
                return (state == 0).then_some(());
            }
            Literal::Decimal(digits) => digits,
            Literal::Text(text) if !text.contains(&b'\'') => text,
            Literal::Text(text) => {
                scratch.clear();
                let mut quoted = false;
                for &byte in text {
                    quoted = byte == b'\'' && !quoted;
                    if !quoted {
                        scratch.push(byte);
                    }
                }
                scratch
            }
        };
        // The appender doesn't check it.
        str::from_utf8(text).ok()?;
        let (start, size) = (text.as_ptr().cast(), text.len() as u64);
        // SAFETY: the appender is alive, and the text has as many bytes as is said.
        let state = unsafe { (self.library.append_varchar_length)(self.handle, start, size) };
        (state == 0).then_some(())
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        // SAFETY: the handle is ours and never used again; null is allowed.
        unsafe { (self.library.appender_destroy)(&raw mut self.handle) };
    }
}

/// A name without its quotes.
fn c_name(name: &[u8]) -> Option<CString> {
    let bare = name.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    c_text(bare.unwrap_or(name)).ok()
}
