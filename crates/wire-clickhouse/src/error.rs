//! Size limits, and errors for bytes that violate them.

/// The longest string, bytes.
pub const TEXT_SIZE_MAX: u64 = 0x3fff_ffff;

/// The longest name of a column or type, bytes. A type of an enumeration lists all its names.
pub const NAME_SIZE_MAX: u64 = 1 << 20;

/// Columns that a block may have.
pub const COLUMN_COUNT_MAX: u64 = 0xffff;

/// Invalid bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A length beyond its limit.
    #[error("{found} bytes or columns; the limit is {limit}")]
    TooLong {
        /// The length claimed by the peer, or requested by the caller.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// A tag that begins no packet.
    #[error("no packet has tag {0}")]
    NoPacket(u64),
    /// Content that does not fit its type.
    #[error("malformed {0}")]
    Malformed(&'static str),
    /// A column of a type whose values have no known size.
    #[error("a column of a type that is not supported: select it by toString() or CAST")]
    UnknownType,
}
