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
mod error;
pub mod frontend;
mod handshake;

pub use compress::{Algorithm, Compression};
pub use error::{PACKET_SIZE_MAX, PAYLOAD_SIZE_MAX, WireError};
pub use handshake::{Agreed, Credentials, Handshake, HandshakeError, Step, Wishes};
