//! The source of a shard's arrivals.

use arrival::Arrivals;

use crate::plan::Plan;

/// Generates a shard's part of a group's arrivals.
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

    /// The arrivals of a turn. The plan restarts with each turn: a turn has the same arrivals in
    /// all runs with the same seed.
    pub(super) fn arrivals(&self, turn: u32) -> Arrivals {
        let seed = self.seed.wrapping_add(u64::from(turn) << 32);
        Arrivals::new(self.plan.clone(), seed, self.part, self.parts)
    }
}
