//! Why and how a run ends, as far as known.

use crate::message::Failure;

/// Why and how the run ends.
#[derive(Debug, Default)]
pub(super) struct Ending {
    pub(super) failure: Option<Failure>,
    pub(super) interrupted: bool,
    /// Since when no event may begin.
    pub(super) over_at: Option<u64>,
    /// When events in flight are abandoned.
    pub(super) stop_at: Option<u64>,
    pub(super) abandoned_at: Option<u64>,
    /// The failure to report then, unless a shard reports a better reason.
    pub(super) given_up: Option<Failure>,
    /// Functions of the script's that failed after the measurement, and the first failure.
    pub(super) callbacks: Vec<&'static str>,
    pub(super) late_failure: Option<Failure>,
    /// Shards that did not return have been interrupted.
    pub(super) interrupts: bool,
}
