//! Errors of servers and of the protocol.

use std::fmt;

/// A server's error reply. It is data: counted, matched against the run's policy, never `Err`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// Five characters; `HY000` where the server has none.
    pub sqlstate: String,
    /// The server's own number (MySQL errno, SQLite result code); 0 for PostgreSQL.
    pub number: i64,
    /// The server's message.
    pub message: String,
    /// The driver considers it temporary: a deadlock, a serialisation failure, a busy database. The
    /// event may be restarted.
    pub transient: bool,
    /// The server has rolled the transaction back, although no status flag says so.
    pub rolled_back: bool,
    /// The error ends the session.
    pub closes: bool,
}

impl ServerError {
    /// The code it is counted under: the server's own number if there is one, otherwise the
    /// SQLSTATE.
    pub fn code(&self) -> String {
        if self.number != 0 { self.number.to_string() } else { self.sqlstate.clone() }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code())
    }
}

/// The protocol broke down; the connection is unusable from here on (except after
/// [`ProtocolError::Misuse`] or for a request that is [`ProtocolError::TooLong`]).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A message that is not allowed here.
    #[error("unexpected message `{found}` while {state}")]
    Unexpected {
        /// Tag or first byte.
        found: char,
        /// What we were waiting for.
        state: &'static str,
    },
    /// A length beyond its limit.
    #[error("message of {found} bytes; the limit is {limit}")]
    TooLong {
        /// The length claimed.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// Content that does not fit its own length.
    #[error("malformed {0}")]
    Malformed(&'static str),
    /// The caller's mistake; nothing was sent and the session is unchanged.
    #[error("{0}")]
    Misuse(&'static str),
}
