//! DuckDB's connections, statements and results, by the C interface.

use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;

use super::instance::Lease;
use super::library::{Handle, Library, RawResult};
use super::watch::Watched;
use super::words::{c_text, error_of, text_of};
use crate::error::ServerError;
use crate::value::Value;

/// `DUCKDB_STATEMENT_TYPE_TRANSACTION`.
const TRANSACTION: c_int = 10;
/// `DUCKDB_RESULT_TYPE_CHANGED_ROWS` and `_QUERY_RESULT`.
const CHANGED_ROWS: c_int = 1;
const QUERY_RESULT: c_int = 3;

/// A connection. Its statements and results must be dropped before it.
#[derive(Debug)]
pub(super) struct Connection {
    library: &'static Library,
    handle: Handle,
    watched: Arc<Watched>,
    /// Dropped last: fields drop after `Drop::drop`, which disconnects.
    _lease: Lease,
}

// SAFETY: DuckDB allows a connection on any thread, one at a time; both lie in one session, which
// is used through `&mut`. `duckdb_interrupt`, which another thread calls, only sets a flag.
unsafe impl Send for Connection {}

impl Connection {
    /// Takes over an open handle.
    pub fn new(library: &'static Library, handle: Handle, lease: Lease) -> Self {
        Self { library, handle, watched: Arc::new(Watched::new(library, handle)), _lease: lease }
    }

    /// What ends its statements.
    pub fn watched(&self) -> &Arc<Watched> {
        &self.watched
    }

    pub fn library(&self) -> &'static Library {
        self.library
    }

    /// Its handle, which is open as long as this lives.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Compiles one statement.
    pub fn prepare(&self, sql: &[u8]) -> Result<Statement, ServerError> {
        let text = c_text(sql)?;
        let mut handle = ptr::null_mut();
        // SAFETY: the connection is open, the text ends with NUL, and the result is ours, also
        // where it only holds an error.
        let state = unsafe { (self.library.prepare)(self.handle, text.as_ptr(), &raw mut handle) };
        Statement { library: self.library, handle }.checked(state)
    }

    /// Parses a text of any number of statements.
    pub fn extract(&self, sql: &[u8]) -> Result<Extracted<'_>, ServerError> {
        let text = c_text(sql)?;
        let mut handle = ptr::null_mut();
        // SAFETY: as in `prepare`.
        unsafe {
            let extract = self.library.extract_statements;
            let count = extract(self.handle, text.as_ptr(), &raw mut handle);
            let extracted = Extracted { connection: self, handle, count };
            let message = match handle.is_null() {
                true => ptr::null(),
                false => (self.library.extract_statements_error)(handle),
            };
            match text_of(message) {
                Some(message) => Err(error_of(&message)),
                None => Ok(extracted),
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.watched.forget();
        // SAFETY: the handle is open, nobody interrupts it any more, and it is never used again.
        unsafe { (self.library.disconnect)(&raw mut self.handle) };
    }
}

/// The statements of a text.
pub(super) struct Extracted<'a> {
    connection: &'a Connection,
    handle: Handle,
    count: u64,
}

impl Extracted<'_> {
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Compiles one of them, by its place.
    pub fn prepare(&self, place: u64) -> Result<Statement, ServerError> {
        let library = self.connection.library;
        let mut handle = ptr::null_mut();
        // SAFETY: the connection and the texts are alive, and the result is ours.
        let state = unsafe {
            let prepare = library.prepare_extracted_statement;
            prepare(self.connection.handle, self.handle, place, &raw mut handle)
        };
        Statement { library, handle }.checked(state)
    }
}

impl Drop for Extracted<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is ours and never used again; null is allowed.
        unsafe { (self.connection.library.destroy_extracted)(&raw mut self.handle) };
    }
}

/// A compiled statement.
#[derive(Debug)]
pub(super) struct Statement {
    library: &'static Library,
    handle: Handle,
}

// SAFETY: as for the connection, in whose session it lies.
unsafe impl Send for Statement {}

impl Statement {
    fn checked(self, state: c_int) -> Result<Self, ServerError> {
        if state == 0 { Ok(self) } else { Err(self.error()) }
    }

    fn error(&self) -> ServerError {
        // SAFETY: the handle is alive or null, for which there is no message.
        let message = unsafe { text_of((self.library.prepare_error)(self.handle)) };
        error_of(message.as_deref().unwrap_or("the statement could not be compiled"))
    }

    /// Number of placeholders.
    pub fn values(&self) -> usize {
        // SAFETY: the statement is alive.
        unsafe { (self.library.nparams)(self.handle) as usize }
    }

    /// Whether it begins or ends a transaction.
    pub fn is_of_transactions(&self) -> bool {
        // SAFETY: the statement is alive.
        unsafe { (self.library.prepared_statement_type)(self.handle) == TRANSACTION }
    }

    /// Sets the value of a placeholder, from 1. DuckDB copies it.
    pub fn bind(&mut self, place: u64, value: Value<'_>) -> Result<(), ServerError> {
        let (library, handle) = (self.library, self.handle);
        // SAFETY: the statement is alive, and texts have as many bytes as is said.
        let state = unsafe {
            match value {
                Value::Null => (library.bind_null)(handle, place),
                Value::Int(number) => (library.bind_int64)(handle, place, number),
                Value::Unsigned(number) => (library.bind_uint64)(handle, place, number),
                Value::Double(number) => (library.bind_double)(handle, place, number),
                Value::Bytes(bytes) => {
                    let size = bytes.len() as u64;
                    match str::from_utf8(bytes) {
                        Ok(text) => {
                            let start = text.as_ptr().cast();
                            (library.bind_varchar_length)(handle, place, start, size)
                        }
                        Err(_) => (library.bind_blob)(handle, place, bytes.as_ptr().cast(), size),
                    }
                }
            }
        };
        if state == 0 { Ok(()) } else { Err(self.error()) }
    }

    /// Runs it to its end.
    pub fn execute(&mut self, watched: &Watched) -> Result<Outcome, ServerError> {
        let mut outcome = Outcome { library: self.library, result: RawResult::EMPTY };
        let running = watched.running();
        // SAFETY: the statement is alive, and the result is ours, also where it holds an error.
        let state =
            unsafe { (self.library.execute_prepared)(self.handle, &raw mut outcome.result) };
        drop(running);
        if state == 0 {
            return Ok(outcome);
        }
        // SAFETY: the result is alive; its message is copied.
        let message = unsafe { text_of((self.library.result_error)(&raw mut outcome.result)) };
        Err(error_of(message.as_deref().unwrap_or("the statement failed")))
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: the handle is ours and never used again; null is allowed.
        unsafe { (self.library.destroy_prepare)(&raw mut self.handle) };
    }
}

/// What a statement returned.
#[derive(Debug)]
pub(super) struct Outcome {
    library: &'static Library,
    result: RawResult,
}

// SAFETY: a result refers to nothing that a thread owns; it lies in one session.
unsafe impl Send for Outcome {}

impl Outcome {
    /// Whether it has rows, even if none.
    pub fn has_rows(&self) -> bool {
        // SAFETY: the result is alive.
        unsafe { (self.library.result_return_type)(self.result) == QUERY_RESULT }
    }

    /// Rows that the statement changed.
    pub fn changed(&mut self) -> u64 {
        // SAFETY: the result is alive.
        unsafe {
            if (self.library.result_return_type)(self.result) != CHANGED_ROWS {
                return 0;
            }
            (self.library.rows_changed)(&raw mut self.result)
        }
    }

    /// The columns of its rows.
    pub fn columns(&mut self) -> u64 {
        // SAFETY: the result is alive.
        unsafe { (self.library.column_count)(&raw mut self.result) }
    }

    /// A column's `duckdb_type`.
    pub fn type_of(&mut self, column: u64) -> c_int {
        // SAFETY: the result is alive; a column that isn't there has the type 0.
        unsafe { (self.library.column_type)(&raw mut self.result, column) }
    }

    /// Calls `read` with a column's `duckdb_logical_type`.
    pub fn logical<T>(&mut self, column: u64, read: impl FnOnce(&Library, Handle) -> T) -> T {
        // SAFETY: the result is alive and has the column; the type is destroyed once.
        unsafe {
            let mut logical = (self.library.column_logical_type)(&raw mut self.result, column);
            let read = read(self.library, logical);
            (self.library.destroy_logical_type)(&raw mut logical);
            read
        }
    }

    /// The next rows; `None`: there are no more.
    pub fn next_chunk(&mut self) -> Option<Chunk> {
        // SAFETY: the result is alive; it is passed by value, as the interface has it, and keeps
        // its own position behind its pointer.
        let handle = unsafe { (self.library.fetch_chunk)(self.result) };
        (!handle.is_null()).then_some(Chunk { library: self.library, handle })
    }
}

impl Drop for Outcome {
    fn drop(&mut self) {
        // SAFETY: the result is ours and never used again; an empty one is allowed.
        unsafe { (self.library.destroy_result)(&raw mut self.result) };
    }
}

/// Some rows of a result, by columns.
#[derive(Debug)]
pub(super) struct Chunk {
    library: &'static Library,
    handle: Handle,
}

// SAFETY: as for the result.
unsafe impl Send for Chunk {}

impl Chunk {
    pub fn rows(&self) -> u64 {
        // SAFETY: the chunk is alive.
        unsafe { (self.library.data_chunk_get_size)(self.handle) }
    }

    /// Where a column's values are, and which are not NULL, a bit each (null: all). Both are valid
    /// as long as the chunk.
    pub fn column(&self, column: u64) -> (*const u8, *const u64) {
        // SAFETY: the chunk is alive and has the column.
        unsafe {
            let vector = (self.library.data_chunk_get_vector)(self.handle, column);
            let validity = (self.library.vector_get_validity)(vector);
            ((self.library.vector_get_data)(vector).cast(), validity)
        }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: the handle is ours and never used again.
        unsafe { (self.library.destroy_data_chunk)(&raw mut self.handle) };
    }
}
