//! Limits, and bytes that don't keep them.

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
