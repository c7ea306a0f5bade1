//! What a server can say against a statement, and what a peer can do wrong.

use std::fmt;

/// A server's error reply. It is data: counted, matched against the run's policy, never `Err`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// Five characters; `HY000` where the server has none.
    pub sqlstate: String,
    /// The vendor's number (MySQL errno, SQLite result code); 0 for PostgreSQL.
    pub number: i64,
    /// The server's text.
    pub message: String,
    /// The driver's own opinion: a deadlock, a serialisation failure, a busy database. The event
    /// may be begun again.
    pub transient: bool,
    /// The session is gone with this error.
    pub closes: bool,
}

impl ServerError {
    /// What it is counted under: the vendor's number where there is one, else the SQLSTATE.
    pub fn code(&self) -> String {
        if self.number != 0 { self.number.to_string() } else { self.sqlstate.clone() }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code())
    }
}

/// The conversation with the peer broke down; the connection is useless from here on (but for
/// [`ProtocolError::Misuse`], and a request that is [`ProtocolError::TooLong`]).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A message that may not come here.
    #[error("unexpected message `{found}` while {state}")]
    Unexpected {
        /// Tag or first byte.
        found: char,
        /// What we were waiting for.
        state: &'static str,
    },
    /// A length outside its limit.
    #[error("message of {found} bytes; the limit is {limit}")]
    TooLong {
        /// Claimed by the peer.
        found: u64,
        /// Ours.
        limit: u64,
    },
    /// Contents that don't fit their own length.
    #[error("malformed {0}")]
    Malformed(&'static str),
    /// The caller's own fault; nothing was sent and the session is as it was.
    #[error("{0}")]
    Misuse(&'static str),
}
