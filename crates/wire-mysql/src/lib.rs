//! The MySQL client/server protocol, version 10, as MySQL and MariaDB speak it: bytes ↔ values,
//! without a socket or a clock.
//!
//! - [`frontend`] writes commands into the caller's buffer; nothing else is allocated.
//! - [`backend`] frames replies by their lengths, and decodes a payload only when asked to.
//! - [`binary`] reads the rows of prepared statements as text.
//! - [`Compression`] packs both sides' packets into smaller ones.
//! - [`Handshake`] is the start of a session, from the server's greeting to its first OK.

pub mod backend;
pub mod binary;
mod compress;
pub mod frontend;
mod handshake;

pub use compress::{Algorithm, Compression};
pub use handshake::{Agreed, Credentials, Handshake, HandshakeError, Step, Wishes};

/// The longest payload of one packet; a longer one goes on in the next packet.
pub const PACKET_SIZE_MAX: usize = 0xff_ffff;

/// The longest payload either side accepts: the largest `max_allowed_packet` there is.
pub const PAYLOAD_SIZE_MAX: usize = 1 << 30;

/// Bytes that can't be what they claim to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A length outside its limit.
    #[error("payload of {found} bytes; the limit is {limit}")]
    TooLong {
        /// Claimed by the peer, or asked for by the caller.
        found: u64,
        /// What is allowed here.
        limit: u64,
    },
    /// Contents that don't fit their own length.
    #[error("malformed {0}")]
    Malformed(&'static str),
}
