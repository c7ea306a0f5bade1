//! One session: requests out, replies in.

use crate::error::{ProtocolError, ServerError};
use crate::null::NullSession;
use crate::value::Value;

/// A prepared statement of one session. Stable for as long as the session's owner holds it, also
/// across [`Session::adopt`] (a reconnect prepares the statements again).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StatementId(pub u32);

/// What became of a request.
#[derive(Debug)]
pub enum Sent {
    /// Bytes were appended; the reply comes through [`Session::feed`].
    Waiting,
    /// An in-process database has answered; rows, if any, are held by the session itself.
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
    /// Further result sets wait behind the first ([`Session::next_result`]).
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
        /// ([`Session::row`]), so keep them until the next request.
        consumed: usize,
    },
}

/// A place in a result set: before its first row at the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCursor {
    pub(crate) offset: usize,
    pub(crate) row: u64,
}

/// A session with any kind of database. An enum, not a trait object: the hot path is a jump.
#[derive(Debug)]
pub enum Session {
    /// Answers at once.
    Null(NullSession),
}

impl Session {
    /// The name scripts know it by: `pgsql`, `mysql`, `sqlite`, `null`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Null(_) => "null",
        }
    }

    /// Sends statement text.
    ///
    /// # Errors
    /// [`ProtocolError`] if a reply is still outstanding.
    pub fn query(&mut self, sql: &[u8], out: &mut Vec<u8>) -> Result<Sent, ProtocolError> {
        let _ = out;
        match self {
            Self::Null(session) => Ok(Sent::Done(session.answer(sql))),
        }
    }

    /// Prepares a statement with `?` placeholders. The reply's error says whether it worked.
    ///
    /// # Errors
    /// [`ProtocolError`] if a reply is still outstanding.
    pub fn prepare(
        &mut self,
        sql: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(StatementId, Sent), ProtocolError> {
        let _ = out;
        match self {
            Self::Null(session) => Ok((session.prepare(sql), Sent::Done(Reply::default()))),
        }
    }

    /// Executes a prepared statement.
    ///
    /// # Errors
    /// [`ProtocolError`] if a reply is still outstanding.
    pub fn execute<'a>(
        &mut self,
        statement: StatementId,
        values: impl ExactSizeIterator<Item = Value<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<Sent, ProtocolError> {
        let _ = (values, out);
        match self {
            Self::Null(session) => Ok(Sent::Done(session.execute(statement))),
        }
    }

    /// Gives a statement back.
    ///
    /// # Errors
    /// [`ProtocolError`] if a reply is still outstanding.
    pub fn close_statement(
        &mut self,
        statement: StatementId,
        out: &mut Vec<u8>,
    ) -> Result<Sent, ProtocolError> {
        let _ = out;
        match self {
            Self::Null(session) => {
                session.close(statement);
                Ok(Sent::Done(Reply::default()))
            }
        }
    }

    /// Scans received bytes. `buffer` begins with the first byte of the reply each time; the
    /// session remembers how far it has scanned.
    ///
    /// # Errors
    /// [`ProtocolError`] if the bytes can't be a reply.
    pub fn feed(&mut self, buffer: &[u8]) -> Result<Progress, ProtocolError> {
        let _ = buffer;
        match self {
            Self::Null(_) => Ok(Progress::More),
        }
    }

    /// Reads the row behind `cursor` from a reply's bytes: calls `column` once a column, `None` for
    /// NULL, values as text. Returns `false` when there are no more rows.
    ///
    /// # Errors
    /// [`ProtocolError`] if the bytes aren't a row.
    pub fn row(
        &self,
        reply: &[u8],
        cursor: &mut RowCursor,
        column: impl FnMut(Option<&[u8]>),
    ) -> Result<bool, ProtocolError> {
        let _ = (reply, cursor, column);
        match self {
            Self::Null(_) => Ok(false),
        }
    }

    /// Moves to the next result set of the same reply; `None`: there is none.
    ///
    /// # Errors
    /// [`ProtocolError`] if the bytes aren't a result set.
    pub fn next_result(
        &mut self,
        reply: &[u8],
        cursor: &mut RowCursor,
    ) -> Result<Option<Reply>, ProtocolError> {
        let _ = (reply, cursor);
        match self {
            Self::Null(_) => Ok(None),
        }
    }

    /// Takes over a dead session's prepared statements: their ids stay valid, and the requests that
    /// prepare them again are appended to `out`; the reply to all of them is one reply.
    ///
    /// # Errors
    /// [`ProtocolError`] if a reply is still outstanding.
    pub fn adopt(&mut self, dead: Self, out: &mut Vec<u8>) -> Result<Sent, ProtocolError> {
        let _ = out;
        match (self, dead) {
            (Self::Null(session), Self::Null(dead)) => {
                *session = dead;
                Ok(Sent::Done(Reply::default()))
            }
        }
    }

    /// Appends a polite good-bye, if the protocol has one.
    pub fn terminate(&mut self, out: &mut Vec<u8>) {
        let _ = out;
    }
}
