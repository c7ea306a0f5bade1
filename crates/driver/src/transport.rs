//! What connecting leaves: a session, and how its bytes travel.

use std::os::fd::OwnedFd;

use crate::channel::Channel;

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
pub struct Opened<S> {
    /// The state machine.
    pub session: S,
    /// Its socket.
    pub transport: Transport,
    /// The server's version as it names it.
    pub server_version: String,
}

impl<S> Opened<S> {
    /// The same with the session put into something else.
    pub(crate) fn map<T>(self, wrap: impl FnOnce(S) -> T) -> Opened<T> {
        let Self { session, transport, server_version } = self;
        Opened { session: wrap(session), transport, server_version }
    }
}
