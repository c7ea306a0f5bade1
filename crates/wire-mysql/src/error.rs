//! Size limits, and errors for bytes that violate them.

/// The longest payload of one packet; a longer one goes on in the next packet.
pub const PACKET_SIZE_MAX: usize = 0xff_ffff;

/// The longest payload either side accepts: the largest `max_allowed_packet` there is.
pub const PAYLOAD_SIZE_MAX: usize = 1 << 30;

/// Invalid bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A length beyond its limit.
    #[error("payload of {found} bytes; the limit is {limit}")]
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
