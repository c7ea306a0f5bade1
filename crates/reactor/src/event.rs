//! What happens to sockets.

use std::io;

use crate::chunk::Chunk;

/// A socket of a reactor: an index that is used again after the socket is gone.
pub type Token = u32;

/// Something that happened to a socket.
#[derive(Debug)]
pub struct Event {
    /// Which socket.
    pub token: Token,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug)]
pub enum EventKind {
    /// Bytes arrived; at least one.
    Received(Chunk),
    /// A submitted output buffer of more than [`SILENT_SEND_MAX`] bytes is out and empty again.
    Sent,
    /// The peer is gone (`None`) or the socket failed. The socket is dead: remove it.
    Closed(Option<io::Error>),
}

/// Sends up to so many bytes complete without an event: the peer's reply says it.
pub const SILENT_SEND_MAX: usize = 16 * 1024;
