//! Why connecting failed.

use std::time::Duration;

use crate::error::{ProtocolError, ServerError};
use crate::peer::Peer;

/// Why connecting failed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The address can't be reached or nobody listens.
    #[error("cannot connect to {address}: {source}")]
    Unreachable {
        /// The address.
        address: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The server refused (wrong password, no such database, too many connections).
    #[error("{address} refuses the connection: {error}")]
    Refused {
        /// The address.
        address: String,
        /// The server's message.
        error: ServerError,
    },
    /// The server wants a password.
    #[error("{address} asks for a password ({method}) for `{user}`, and the target gives none")]
    PasswordNeeded {
        /// The address.
        address: String,
        /// The user.
        user: String,
        /// The authentication method.
        method: &'static str,
    },
    /// TLS is required and could not be established.
    #[error("{address}: {what}")]
    Tls {
        /// The address.
        address: String,
        /// The cause, and whose it is.
        what: String,
    },
    /// Another kind of server than the target's answered.
    #[error("{address} is {found}, not {expected}")]
    OtherServer {
        /// The address.
        address: String,
        /// The server found.
        found: Peer,
        /// The server expected.
        expected: Peer,
    },
    /// The server accepted the connection and kept us waiting.
    #[error(
        "{address} accepted the connection and did not send {awaited} within {} s",
        .limit.as_secs_f64()
    )]
    Silent {
        /// The address.
        address: String,
        /// The message we waited for.
        awaited: &'static str,
        /// The time limit.
        limit: Duration,
    },
    /// Nobody accepted the connection in time.
    #[error("no connection to {address} within {} s", .limit.as_secs_f64())]
    Timeout {
        /// The address.
        address: String,
        /// The time limit.
        limit: Duration,
    },
    /// The server needs a feature that this client lacks, or the spec asks for one that the server
    /// lacks.
    #[error("{address}: {what}")]
    Unsupported {
        /// The address.
        address: String,
        /// The feature.
        what: String,
    },
    /// The server does not follow the protocol.
    #[error("{address} doesn't speak the protocol: {source}")]
    Protocol {
        /// The address.
        address: String,
        /// What it did wrong.
        source: ProtocolError,
    },
}

impl ConnectError {
    /// The address that was tried.
    pub fn address(&self) -> &str {
        match self {
            Self::Unreachable { address, .. }
            | Self::Refused { address, .. }
            | Self::PasswordNeeded { address, .. }
            | Self::Tls { address, .. }
            | Self::OtherServer { address, .. }
            | Self::Silent { address, .. }
            | Self::Timeout { address, .. }
            | Self::Unsupported { address, .. }
            | Self::Protocol { address, .. } => address,
        }
    }
}

/// TLS is required but not offered.
pub(crate) const NO_TLS: &str = "the server does not offer TLS, and tls.mode demands it";
