//! From a target to a session that is ready to use. Blocks; call it on a connector thread.

use std::os::fd::OwnedFd;
use std::time::Duration;

use record::Target;

use crate::channel::Channel;
use crate::error::{ProtocolError, ServerError};
use crate::mysql;
use crate::null::NullSession;
use crate::peer::Peer;
use crate::postgres;
use crate::scripted::ScriptedSession;
use crate::session::Session;
use crate::sqlite;

/// How a ready session's bytes travel.
#[derive(Debug)]
pub enum Transport {
    /// In process: they don't.
    None,
    /// A connected, non-blocking socket (TCP: without delay).
    Plain(OwnedFd),
    /// The same, with something between the session and the socket: each request goes through
    /// [`Channel::seal`], what is received through [`Channel::open`].
    Layered {
        /// The socket.
        socket: OwnedFd,
        /// What lies between.
        channel: Box<Channel>,
    },
}

impl Transport {
    /// The socket, and what lies between it and the session.
    pub fn into_parts(self) -> (Option<OwnedFd>, Option<Box<Channel>>) {
        match self {
            Self::None => (None, None),
            Self::Plain(socket) => (Some(socket), None),
            Self::Layered { socket, channel } => (Some(socket), Some(channel)),
        }
    }
}

/// A session that is ready to use.
#[derive(Debug)]
pub struct Connected {
    /// The state machine.
    pub session: Session,
    /// Its socket.
    pub transport: Transport,
    /// The server's version as it names it.
    pub server_version: String,
}

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

/// Connects, authenticates and sets the session up.
///
/// `ordinal` is the connection's number within the run, from 0: it chooses the endpoint
/// (round-robin). `timeout` is for the whole attempt, authentication included.
///
/// # Errors
/// [`ConnectError`], with the address tried.
pub fn connect(
    target: &Target,
    ordinal: u64,
    timeout: Duration,
) -> Result<Connected, ConnectError> {
    connect_as(target, ordinal, timeout, None)
}

/// [`connect`] for a connection that may be the run's first to its endpoint, as its ordinal says: a
/// server that keeps us waiting is then asked what it is, and `tell` takes what there is to say.
///
/// # Errors
/// As [`connect`].
pub fn connect_telling(
    target: &Target,
    ordinal: u64,
    timeout: Duration,
    tell: &mut dyn FnMut(String),
) -> Result<Connected, ConnectError> {
    let endpoints = target.server().map_or(0, |server| server.endpoints.len() as u64);
    let tell: &mut dyn FnMut(String) = tell;
    connect_as(target, ordinal, timeout, (ordinal < endpoints).then_some(tell))
}

fn connect_as<'a>(
    target: &'a Target,
    ordinal: u64,
    timeout: Duration,
    tell: Option<&'a mut (dyn FnMut(String) + 'a)>,
) -> Result<Connected, ConnectError> {
    match target {
        Target::Null => Ok(Connected {
            session: Session::Null(NullSession::default()),
            transport: Transport::None,
            server_version: "null".into(),
        }),
        Target::Sqlite(target) => sqlite::connect(target, timeout),
        Target::Postgresql(target) => postgres::connect(target, ordinal, timeout, tell),
        Target::Mysql(target) => mysql::connect(target, ordinal, timeout, tell),
        Target::Scripted { plan } => Ok(Connected {
            session: Session::Scripted(ScriptedSession::new(plan)),
            transport: Transport::None,
            server_version: "scripted".into(),
        }),
    }
}
