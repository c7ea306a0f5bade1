//! Limits, and bytes that don't keep them.

/// The longest message either side accepts, without its tag: the server's own limit for one
/// allocation.
pub const MESSAGE_SIZE_MAX: usize = 0x3fff_ffff;

/// The longest message of a kind that has no reason to be long; the limit libpq uses.
pub const SHORT_MESSAGE_SIZE_MAX: usize = 30_000;

/// Bytes that can't be what they claim to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A length outside its limit.
    #[error("message of {found} bytes; the limit is {limit}")]
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
