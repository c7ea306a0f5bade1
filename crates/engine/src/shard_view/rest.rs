//! What a shard knows of its last event, where their number is limited.

use measure::Recorder;

/// Whether a shard is done with the events that count.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// End of the last event that counted, once none is left; 0: there was none.
    pub(super) since_ns: Option<u64>,
    /// What it recorded until then, until that is sent.
    pub(super) window: Option<Box<Recorder>>,
    /// End of the last event that counted so far, if their number is limited.
    pub(super) last_ns: u64,
    /// What clients that were told to stop recorded while others still have events that count.
    pub(super) outside: Option<Box<Recorder>>,
    /// Events under way when the current recorder was empty.
    pub(super) under_way: i64,
}
