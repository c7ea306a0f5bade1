//! The result of connecting: a session and its transport.

use std::os::fd::OwnedFd;

use crate::channel::Channel;

/// How a ready session's bytes travel.
#[derive(Debug)]
pub enum Transport {
    /// In process: there are none.
    None,
    /// A connected, non-blocking socket (TCP: without delay).
    Plain(OwnedFd),
    /// The same with a layer between session and socket: each request goes through
    /// [`Channel::seal`], received bytes through [`Channel::open`].
    Layered {
        /// The socket.
        socket: OwnedFd,
        /// The layer.
        channel: Box<Channel>,
    },
}

impl Transport {
    /// The socket, and the layer between it and the session.
    pub fn into_parts(self) -> (Option<OwnedFd>, Option<Box<Channel>>) {
        match self {
            Self::None => (None, None),
            Self::Plain(socket) => (Some(socket), None),
            Self::Layered { socket, channel } => (Some(socket), Some(channel)),
        }
    }
}

/// A ready session.
#[derive(Debug)]
pub struct Opened<S> {
    /// The state machine.
    pub session: S,
    /// Its socket.
    pub transport: Transport,
    /// The server's version as it reports it.
    pub server_version: String,
}

impl<S> Opened<S> {
    /// Converts the session.
    pub(crate) fn map<T>(self, wrap: impl FnOnce(S) -> T) -> Opened<T> {
        let Self { session, transport, server_version } = self;
        Opened { session: wrap(session), transport, server_version }
    }
}
