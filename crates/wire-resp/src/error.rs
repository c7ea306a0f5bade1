//! Size limits, and errors for bytes that violate them.

/// The longest string, bytes: twice a server's own limit where `proto-max-bulk-len` is not raised.
pub const TEXT_SIZE_MAX: usize = 0x3fff_ffff;

/// The longest line, bytes: simple strings and errors are a sentence, heads are a number.
pub const LINE_SIZE_MAX: usize = 64 * 1024;

/// Elements that an aggregate may claim to have.
pub const COUNT_MAX: u64 = 0xffff_ffff;

/// Invalid bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A length beyond its limit.
    #[error("{found} bytes or elements; the limit is {limit}")]
    TooLong {
        /// The length claimed by the peer, or requested by the caller.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// A byte that begins no type.
    #[error("no type begins with byte {0:#04x}")]
    NoType(u8),
    /// Content that does not fit its type.
    #[error("malformed {0}")]
    Malformed(&'static str),
}
