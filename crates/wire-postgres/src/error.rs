//! Size limits, and errors for bytes that violate them.

/// The longest message either side accepts, without its tag: the server's own limit for one
/// allocation.
pub const MESSAGE_SIZE_MAX: usize = 0x3fff_ffff;

/// The longest message of a kind that has no reason to be long; the limit libpq uses.
pub const SHORT_MESSAGE_SIZE_MAX: usize = 30_000;

/// Invalid bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A length beyond its limit.
    #[error("message of {found} bytes; the limit is {limit}")]
    TooLong {
        /// The length claimed by the peer, or requested by the caller.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// Content that does not fit its own length.
    #[error("malformed {0}")]
    Malformed(&'static str),
}
