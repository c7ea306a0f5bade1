//! PostgreSQL's frontend/backend protocol, version 3.0 (chapter "Frontend/Backend Protocol" of its
//! manual): bytes ↔ values, without a socket or a clock.
//!
//! - [`frontend`] writes requests into the caller's buffer; nothing else is allocated.
//! - [`backend`] frames replies by their tags and lengths, and decodes a body only when asked to.
//! - [`Handshake`] is the start of a session, from the startup message to the first ReadyForQuery.
//!
//! Parameters and results travel as text.

pub mod backend;
mod error;
pub mod frontend;
mod handshake;

pub use error::{MESSAGE_SIZE_MAX, SHORT_MESSAGE_SIZE_MAX, WireError};
pub use handshake::{Credentials, Handshake, HandshakeError, Step};
