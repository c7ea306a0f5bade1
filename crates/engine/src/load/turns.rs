//! A shard's load in turns: heard of, begun, drained, and the pause behind it.

use arrival::Arrivals;
use record::PhaseName;

use super::Load;
use crate::plan::Plan;
use crate::timeline::{Slice, Timeline};

/// Where a shard's part of a group's arrivals comes from.
#[derive(Debug)]
pub(super) struct Source {
    plan: arrival::Plan,
    seed: u64,
    part: u32,
    parts: u32,
}

impl Source {
    /// `None`: the group is a closed loop, or has no clients here.
    pub(super) fn new(plan: &Plan, group: usize, shard: u32, shards: u32) -> Option<Self> {
        let arrivals = plan.groups[group].arrivals.clone()?;
        let (own, all) = plan.arrivals_of(group, shard, shards)?;
        let (part, parts) = plan.part;
        Some(Self {
            plan: arrivals,
            seed: plan.seed.wrapping_add(group as u64),
            part: part * all + own,
            parts: parts * all,
        })
    }

    /// Those of a turn. A plan begins anew with each: turns of the same number are alike in all
    /// runs with the same seed.
    pub(super) fn arrivals(&self, turn: u32) -> Arrivals {
        let seed = self.seed.wrapping_add(u64::from(turn) << 32);
        Arrivals::new(self.plan.clone(), seed, self.part, self.parts)
    }
}

impl Load {
    /// Hears of the next turn, if there is one: it begins a little later.
    pub(crate) fn hear_turn(&mut self) {
        let Some(heard) = self.turns else { return };
        let between = matches!(self.slice.phase, PhaseName::Connect | PhaseName::Pause);
        if !between || self.slice.end != u64::MAX {
            return;
        }
        let Some(turn) = self.control.turn_after(heard) else { return };
        self.turns = Some(heard + 1);
        self.timeline = Timeline {
            begin: turn.begin_ns,
            warm_up: turn.lead_in_ns,
            measure: Some(turn.measure_ns),
            interval: self.timeline.interval,
        };
        self.slice.end = turn.begin_ns.max(self.slice.start);
        self.origin = self.origin.min(turn.begin_ns);
        for part in &mut self.groups {
            part.arrivals = part.source.as_ref().map(|source| source.arrivals(heard));
        }
    }

    /// The load comes in turns.
    pub(crate) fn in_turns(&self) -> bool {
        self.turns.is_some()
    }

    /// The first load has begun: clients may ask for their turns.
    pub(crate) fn has_begun(&self) -> bool {
        self.slice.phase != PhaseName::Connect
    }

    /// The number of the turn under way, from 0.
    pub(super) fn turn_under_way(&self) -> Option<u32> {
        let between = matches!(self.slice.phase, PhaseName::Connect | PhaseName::Pause);
        self.turns.filter(|_| !between).map(|heard| heard.saturating_sub(1))
    }

    /// Ends the turn once no client is in an event.
    pub(crate) fn settle(&mut self) {
        if self.turns.is_none() || self.slice.phase != PhaseName::Drain {
            return;
        }
        let parked: usize = self.groups.iter().map(|group| group.parked.len()).sum();
        if parked + self.thinkers.len() < self.clients as usize {
            return;
        }
        let now = self.now();
        self.close_interval(now);
        self.slice = Slice { phase: PhaseName::Pause, start: now, end: u64::MAX };
    }
}
