//! Why there is no session.

use std::time::Duration;

use crate::error::{ProtocolError, ServerError};
use crate::peer::Peer;

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The address can't be reached or nobody listens.
    #[error("cannot connect to {address}: {source}")]
    Unreachable {
        /// Where.
        address: String,
        /// Why.
        source: std::io::Error,
    },
    /// The server said no (wrong password, no such database, too many connections).
    #[error("{address} refuses the connection: {error}")]
    Refused {
        /// Where.
        address: String,
        /// What it said.
        error: ServerError,
    },
    /// The server wants a password.
    #[error("{address} asks for a password ({method}) for `{user}`, and the target gives none")]
    PasswordNeeded {
        /// Where.
        address: String,
        /// For whom.
        user: String,
        /// How it would be sent.
        method: &'static str,
    },
    /// TLS is demanded and doesn't come about.
    #[error("{address}: {what}")]
    Tls {
        /// Where.
        address: String,
        /// Whose fault it is, and why.
        what: String,
    },
    /// Somebody else is there than the target says.
    #[error("{address} is {found}, not {expected}")]
    OtherServer {
        /// Where.
        address: String,
        /// Who is there.
        found: Peer,
        /// Who should be.
        expected: Peer,
    },
    /// The server took the connection and kept us waiting.
    #[error(
        "{address} accepted the connection and did not send {awaited} within {} s",
        .limit.as_secs_f64()
    )]
    Silent {
        /// Where.
        address: String,
        /// What it owes us.
        awaited: &'static str,
        /// The deadline.
        limit: Duration,
    },
    /// Nobody took the connection in time.
    #[error("no connection to {address} within {} s", .limit.as_secs_f64())]
    Timeout {
        /// Where.
        address: String,
        /// The deadline.
        limit: Duration,
    },
    /// The server wants something this client doesn't do, or the spec asks for something it can't.
    #[error("{address}: {what}")]
    Unsupported {
        /// Where.
        address: String,
        /// What.
        what: String,
    },
    /// It isn't the server we took it for.
    #[error("{address} doesn't speak the protocol: {source}")]
    Protocol {
        /// Where.
        address: String,
        /// What it did.
        source: ProtocolError,
    },
}

/// Why there is no TLS where it is demanded.
pub(crate) const NO_TLS: &str = "the server does not offer TLS, and tls.mode demands it";
