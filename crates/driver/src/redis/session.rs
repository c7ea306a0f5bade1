//! Commands of a session with Valkey or Redis, and their replies.

use wire_resp::frontend;

use super::command::{Kind, command_of};
use super::item;
use super::scan::Scan;
use crate::error::{ProtocolError, ServerError};
use crate::reply::{Item, Progress, RowCursor, Sent, Tally};
use crate::value::Value;

const NO_NAME: ProtocolError = ProtocolError::Misuse("a command begins with its name");
const REFUSED: ProtocolError = ProtocolError::Misuse(
    "this command changes which replies follow commands, so a load can't send it (SUBSCRIBE, \
     MONITOR, SYNC, QUIT, RESET, HELLO, SHUTDOWN, CLIENT REPLY)",
);

/// A session with a Valkey or Redis server.
#[derive(Debug, Default)]
pub struct RedisSession {
    scan: Scan,
    /// The server is a node of a cluster.
    clustered: bool,
}

impl RedisSession {
    /// A session that nothing was sent in; `clustered`: with a node of a cluster.
    pub(super) fn new(clustered: bool) -> Self {
        Self { scan: Scan::default(), clustered }
    }

    /// See [`crate::Session::is_clustered`].
    pub fn is_clustered(&self) -> bool {
        self.clustered
    }

    /// See [`crate::Session::is_redirected`].
    pub fn is_redirected(&self, error: &ServerError) -> bool {
        self.clustered && matches!(error.sqlstate.as_str(), "MOVED" | "ASK")
    }

    /// See [`crate::Session::command`].
    pub fn command<'a>(
        &mut self,
        mut words: impl ExactSizeIterator<Item = Value<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<Sent, ProtocolError> {
        self.scan.check_free()?;
        let Some(Value::Bytes(name)) = words.next() else { return Err(NO_NAME) };
        let command = command_of(name);
        if command.kind == Kind::Refused {
            return Err(REFUSED);
        }
        let start = out.len();
        if let Err(error) = write_command(command.kind, name, words, out) {
            out.truncate(start);
            return Err(error);
        }
        self.scan.begin(command);
        Ok(Sent::Waiting)
    }

    /// See [`crate::Session::pipelined`].
    pub fn pipelined(&mut self, pipelined: bool) {
        self.scan.set_pipelined(pipelined);
    }

    /// See [`crate::Session::feed`].
    pub fn feed(&mut self, buffer: &[u8]) -> Result<Progress, ProtocolError> {
        self.scan.feed(buffer)
    }

    /// See [`crate::Session::pass_plain`].
    #[inline]
    pub fn pass_plain(&mut self, buffer: &[u8], tally: &mut Tally) -> usize {
        self.scan.pass_plain(buffer, tally)
    }

    /// See [`crate::Session::discard_scanned`].
    pub fn discard_scanned(&mut self, buffer_size: usize) -> usize {
        self.scan.scanned.discard(buffer_size)
    }

    /// See [`crate::Session::item`].
    pub fn item<'a>(
        &self,
        reply: &'a [u8],
        cursor: &mut RowCursor,
    ) -> Result<Option<Item<'a>>, ProtocolError> {
        self.scan.scanned.check_readable()?;
        item::item(reply, cursor)
    }

    /// See [`crate::Session::in_transaction`].
    pub fn in_transaction(&self) -> bool {
        self.scan.in_transaction()
    }
}

/// Appends a command; after an error, part of it is left behind.
#[inline]
fn write_command<'a>(
    kind: Kind,
    name: &[u8],
    arguments: impl ExactSizeIterator<Item = Value<'a>>,
    out: &mut Vec<u8>,
) -> Result<(), ProtocolError> {
    frontend::begin(1 + arguments.len(), out);
    frontend::text(name, out)?;
    for (place, argument) in arguments.enumerate() {
        if kind == Kind::Client && place == 0 && is_reply(&argument) {
            return Err(REFUSED);
        }
        write(argument, out)?;
    }
    Ok(())
}

fn is_reply(word: &Value<'_>) -> bool {
    matches!(word, Value::Bytes(word) if word.eq_ignore_ascii_case(b"REPLY"))
}

fn write(word: Value<'_>, out: &mut Vec<u8>) -> Result<(), ProtocolError> {
    match word {
        Value::Bytes(word) => frontend::text(word, out)?,
        Value::Int(word) => frontend::integer(word, out),
        Value::Unsigned(word) => frontend::integer(word, out),
        Value::Double(word) => frontend::number(word, out),
        Value::Null => return Err(ProtocolError::Misuse("a command has no NULL")),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
