//! Size limits, and errors for bytes that violate them.

/// The longest message, bytes: a server's `maxMessageSizeBytes`.
pub const MESSAGE_SIZE_MAX: usize = 48_000_000;

/// The longest document, bytes: `maxBsonObjectSize` and the room that servers leave for what is
/// around a document of that size (16 KiB).
pub const DOCUMENT_SIZE_MAX: usize = 16 * 1024 * 1024 + 16 * 1024;

/// How deep documents may nest: a server's own limit.
pub const DEPTH_MAX: u32 = 100;

/// Invalid bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A length beyond its limit.
    #[error("{found} bytes; the limit is {limit}")]
    TooLong {
        /// The length claimed by the peer, or requested by the caller.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// A message of another kind than OP_MSG.
    #[error("operation code {0}; expected OP_MSG (2013)")]
    NoMessage(i32),
    /// Content that does not fit its own length or type.
    #[error("malformed {0}")]
    Malformed(&'static str),
}
