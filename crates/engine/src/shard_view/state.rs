//! The state of a shard's view, by purpose.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use measure::Recorder;
use record::{ClientTotal, PhaseName};

use super::recorders::Recorders;
use super::rest::Rest;
use crate::plan::Plan;
use crate::timeline::{Slice, Timeline};

/// Which shard it is; never changes.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) shard: u32,
    /// Clients of this shard have the numbers `offset`, `offset + stride` and so on.
    pub(super) offset: u32,
    pub(super) stride: u32,
}

/// Where the run is in time: written where an interval closes, a turn is announced, or the load
/// begins.
#[derive(Debug)]
pub(super) struct Course {
    pub(super) timeline: Timeline,
    pub(super) slice: Slice,
    /// Number of the current interval.
    pub(super) index: u64,
    /// Number of turns known so far, in a run by turns.
    pub(super) turns: Option<u32>,
    /// No event may begin now: between two turns.
    pub(super) shut: bool,
    /// No event may begin from then on.
    pub(super) closes_at: u64,
    /// Start of the first load.
    pub(super) origin: u64,
    /// The current interval is the last one.
    pub(super) closing: bool,
}

impl Course {
    /// Before the load.
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            timeline: Timeline {
                begin: u64::MAX,
                warm_up: plan.warm_up_ns,
                measure: plan.measure_ns,
                interval: plan.interval_ns,
            },
            slice: Slice { phase: PhaseName::Connect, start: 0, end: u64::MAX },
            index: 0,
            turns: plan.turns.then_some(0),
            shut: plan.turns,
            closes_at: u64::MAX,
            origin: u64::MAX,
            closing: false,
        }
    }
}

/// Clients that wait for a time, each until that time.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Sleeping; they are woken at once when the load stops.
    pub(super) sleepers: BinaryHeap<Reverse<(u64, u32)>>,
    /// Pausing between two events.
    pub(super) thinkers: BinaryHeap<Reverse<(u64, u32)>>,
    /// Whose reply is due at a known time, even after a stop.
    pub(super) replies: BinaryHeap<Reverse<(u64, u32)>>,
}

/// What was counted, and what is still to be sent.
#[derive(Debug)]
pub(super) struct Account {
    /// Of the current interval.
    pub(super) recorder: Box<Recorder>,
    pub(super) recorders: Recorders,
    /// See `ShardView::look_for_rest`.
    pub(super) rest: Rest,
    /// Events taken from the budget by this shard and not yet counted.
    pub(super) taken: u64,
    /// One per client of this shard; empty if clients are not reported individually.
    pub(super) totals: Vec<ClientTotal>,
    pub(super) totals_at: Option<Vec<u64>>,
}

impl Account {
    /// Nothing counted yet.
    pub(super) fn new(mut recorders: Recorders, totals_at: Option<Vec<u64>>) -> Self {
        Self {
            recorder: recorders.make(),
            recorders,
            rest: Rest::default(),
            taken: 0,
            totals: Vec::new(),
            totals_at,
        }
    }
}
