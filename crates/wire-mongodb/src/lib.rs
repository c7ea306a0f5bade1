//! MongoDB's wire protocol: OP_MSG ("MongoDB Wire Protocol" of its manual) around documents of BSON
//! 1.1 (bsonspec.org), and SCRAM-SHA-256 (RFC 5802, 7677; the drivers' authentication
//! specification): bytes ↔ values, without a socket or a clock.
//!
//! - [`bson`] reads documents element by element, without copying.
//! - [`writer`] appends documents to the caller's buffer; nothing else is allocated.
//! - [`message`] puts a document into a message, and finds the one in a received message.
//! - [`answer`] reads what a server says of its command: success, counts, errors, cursor.
//! - [`Compression`] packs messages and unpacks received ones.
//! - [`Scram`] is the client's side of an authentication.

pub mod answer;
pub mod bson;
mod compress;
mod error;
pub mod message;
mod scram;
pub mod writer;

pub use compress::{Algorithm, Compression};
pub use error::{DEPTH_MAX, DOCUMENT_SIZE_MAX, MESSAGE_SIZE_MAX, WireError};
pub use scram::{Scram, ScramError};
