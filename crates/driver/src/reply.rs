//! What a session returns: the outcome of a request, the progress and the content of a reply.

use crate::error::ServerError;

/// A prepared statement of one session. Valid until closed, also across [`crate::Session::adopt`]
/// (a reconnect prepares the statements again). After closing, or if its preparation failed,
/// another statement may get the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StatementId(pub u32);

/// The outcome of a request.
#[derive(Debug)]
pub enum Sent {
    /// Bytes were appended; the reply comes through [`crate::Session::feed`].
    Waiting,
    /// Answered at once: by an in-process database (the session holds the rows), or because there
    /// was nothing to send.
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

/// Statements in one request, by class. A failed statement counts as an error only.
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

    /// All of them.
    pub fn sum(&self) -> u32 {
        self.reads + self.writes + self.other
    }
}

/// A complete reply to one request. Protocol messages without a statement (Parse, Close, Sync) have
/// a zero tally.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// The statements in it.
    pub tally: Tally,
    /// Class of the first statement, if there was one: its time is recorded under it.
    pub class: Option<Class>,
    /// Rows of the first result set.
    pub rows: u64,
    /// Columns of the first result set; 0: there is none.
    pub columns: u16,
    /// Rows changed.
    pub affected: u64,
    /// The server's error. Boxed: it is rare and the reply is moved a lot.
    pub error: Option<Box<ServerError>>,
    /// More result sets follow the first ([`crate::Session::next_result`]).
    pub more: bool,
}

/// The progress of a reply.
#[derive(Debug)]
pub enum Progress {
    /// Incomplete. Call again with the same bytes followed by more.
    More,
    /// Complete in the first `consumed` bytes.
    Done {
        /// The reply.
        reply: Reply,
        /// Bytes of the buffer that belong to it. Rows are read from them
        /// ([`crate::Session::row`]), so keep them until the next request.
        consumed: usize,
    },
    /// The server asks for the rows of [`crate::Session::load`]: drop the first `consumed` bytes
    /// and send what [`crate::Session::send_rows`] appends.
    Wanted {
        /// Bytes of the buffer consumed.
        consumed: usize,
    },
}

/// A value in the reply to a command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Item<'a> {
    /// Null: there is no such key or field.
    Null,
    /// A string, or an integer too large for 64 bits as its digits.
    Text(&'a [u8]),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Number(f64),
    /// A boolean.
    Boolean(bool),
    /// An error among the values of an aggregate.
    Error(&'a [u8]),
    /// An array; its number of values, which follow.
    Array(u64),
    /// A map; its number of pairs of a key and a value, which follow.
    Map(u64),
}

/// A position in a result set, or among values; initially before its first row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCursor {
    pub(crate) offset: usize,
    pub(crate) row: u64,
    /// Offset of the set itself, for protocols whose rows can't be read without its header.
    pub(crate) set: usize,
}
