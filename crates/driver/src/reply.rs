//! What a session answers: what became of a request, how far a reply has come, what is in it.

use crate::error::ServerError;

/// A prepared statement of one session. Stable for as long as the session's owner holds it, also
/// across [`crate::Session::adopt`] (a reconnect prepares the statements again). Once it is closed,
/// or its preparation has failed, the id may be given to another statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StatementId(pub u32);

/// What became of a request.
#[derive(Debug)]
pub enum Sent {
    /// Bytes were appended; the reply comes through [`crate::Session::feed`].
    Waiting,
    /// Answered at once: by an in-process database (rows, if any, are held by the session itself),
    /// or because there was nothing to send.
    Done(Reply),
}

/// The class of a statement, by what it did: returned a result set, changed rows, or neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A result set came back.
    Read,
    /// At least one row was changed.
    Write,
    /// Everything else.
    Other,
}

/// Statements in one request, by class. A failed statement is in none: it is an error.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Returned a result set.
    pub reads: u32,
    /// Changed rows.
    pub writes: u32,
    /// Neither.
    pub other: u32,
}

impl Tally {
    /// Adds one statement.
    pub fn count(&mut self, class: Class) {
        match class {
            Class::Read => self.reads += 1,
            Class::Write => self.writes += 1,
            Class::Other => self.other += 1,
        }
    }
}

/// A complete reply to one request. Protocol chores (Parse, Close, Sync) have a tally of zero.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// The statements in it.
    pub tally: Tally,
    /// Class of the first statement, if there was one: where its time is recorded.
    pub class: Option<Class>,
    /// Rows of the first result set.
    pub rows: u64,
    /// Columns of the first result set; 0: there is none.
    pub columns: u16,
    /// Rows changed.
    pub affected: u64,
    /// The server's objection. Boxed: it is rare and the reply is moved a lot.
    pub error: Option<Box<ServerError>>,
    /// Further result sets wait behind the first ([`crate::Session::next_result`]).
    pub more: bool,
}

/// How far a reply has come.
#[derive(Debug)]
pub enum Progress {
    /// Incomplete. Call again with the same bytes and more behind them.
    More,
    /// Complete: the first `consumed` bytes were it.
    Done {
        /// What it says.
        reply: Reply,
        /// Bytes of the buffer that belong to it. Rows are read from these
        /// ([`crate::Session::row`]), so keep them until the next request.
        consumed: usize,
    },
    /// The server waits for the rows of [`crate::Session::load`]: drop the first `consumed` bytes,
    /// and send what [`crate::Session::send_rows`] appends.
    Wanted {
        /// Bytes of the buffer that said so.
        consumed: usize,
    },
}

/// A place in a result set: before its first row at the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCursor {
    pub(crate) offset: usize,
    pub(crate) row: u64,
    /// Where the set itself begins, for protocols whose rows can't be read without its head.
    pub(crate) set: usize,
}
