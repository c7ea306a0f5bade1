//! Why and how the run ends, as far as is known.

use crate::message::Failure;

/// Why and how the run ends.
#[derive(Debug, Default)]
pub(super) struct Ending {
    pub(super) failure: Option<Failure>,
    pub(super) interrupted: bool,
    /// No event begins any more, since then.
    pub(super) over_at: Option<u64>,
    /// Events in flight are given up then.
    pub(super) stop_at: Option<u64>,
    pub(super) abandoned_at: Option<u64>,
    /// What to fail with then, unless a shard knows better why they did not end.
    pub(super) given_up: Option<Failure>,
    /// Shards that did not return were interrupted.
    pub(super) interrupts: bool,
}
