//! Events on sockets.

use std::io;

use crate::chunk::Chunk;

/// A socket of a reactor: an index that is reused after the socket is removed.
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
    /// An output buffer of more than [`SILENT_SEND_MAX`] bytes has been sent and is empty again.
    Sent,
    /// The peer has closed (`None`) or the socket failed. Remove it.
    Closed(Option<io::Error>),
}

/// Sends of up to this many bytes complete without an event: the peer's reply implies it.
pub const SILENT_SEND_MAX: usize = 16 * 1024;
