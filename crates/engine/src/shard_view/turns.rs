//! A shard's load in turns: announced, begun, drained, then paused.

use record::PhaseName;

use super::ShardView;
use crate::timeline::{Slice, Timeline};

impl ShardView {
    /// Learns of the next turn, if there is one; it begins a little later.
    pub(crate) fn hear_turn(&mut self) {
        let Some(heard) = self.course.turns else { return };
        let between = matches!(self.course.slice.phase, PhaseName::Connect | PhaseName::Pause);
        if !between || self.course.slice.end != u64::MAX {
            return;
        }
        let Some(turn) = self.control.turn_after(heard) else { return };
        self.course.turns = Some(heard + 1);
        debug_assert_eq!(self.events_under_way(), 0, "a turn begins when nothing is in flight");
        self.course.timeline = Timeline {
            begin: turn.begin_ns,
            warm_up: turn.lead_in_ns,
            measure: Some(turn.measure_ns),
            interval: self.course.timeline.interval,
        };
        self.course.slice.end = turn.begin_ns.max(self.course.slice.start);
        self.course.origin = self.course.origin.min(turn.begin_ns);
        for part in &mut self.groups {
            part.arrivals = part.source.as_ref().map(|source| source.arrivals(heard));
        }
    }

    /// Whether the load comes in turns.
    pub(crate) fn in_turns(&self) -> bool {
        self.course.turns.is_some()
    }

    /// Whether the first load has begun, so that clients may ask for turns.
    pub(crate) fn has_begun(&self) -> bool {
        self.course.slice.phase != PhaseName::Connect
    }

    /// The number of the current turn, from 0; `None` between turns, or where there are none.
    pub fn turn_under_way(&self) -> Option<u32> {
        use PhaseName::{Connect, Finish, Pause};
        let between = matches!(self.course.slice.phase, Connect | Pause | Finish);
        self.course.turns.filter(|_| !between).map(|heard| heard.saturating_sub(1))
    }

    /// Ends the turn once no client is executing an event.
    pub(crate) fn settle(&mut self) {
        if self.course.turns.is_none() || self.course.slice.phase != PhaseName::Drain {
            return;
        }
        let parked: usize = self.groups.iter().map(|group| group.parked.len()).sum();
        if parked + self.waiting.thinkers.len() < self.clients as usize {
            return;
        }
        let now = self.now();
        self.close_interval(now);
        self.course.slice = Slice { phase: PhaseName::Pause, start: now, end: u64::MAX };
    }
}
