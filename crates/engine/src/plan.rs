//! The engine's view of a run spec, in its own units.

/// The load of one run. Times in nanoseconds.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Length of the warm-up.
    pub warm_up_ns: u64,
    /// Length of the window; `None`: until the events are done or somebody stops it.
    pub measure_ns: Option<u64>,
    /// Length of an interval, above 0.
    pub interval_ns: u64,
    /// How long events in flight may take after the window.
    pub drain_ns: u64,
    /// How long after the window a shard may take to notice its end: one event may keep it busy for
    /// this long.
    pub patience_ns: u64,
    /// The same after an interruption or a failure, at most.
    pub hurried_drain_ns: u64,
    /// Events in the window; `None`: no limit.
    pub events: Option<u64>,
    /// Seed of the arrivals.
    pub seed: u64,
    /// This process's part of the run, and the number of parts: (0, 1) is the whole run.
    pub part: (u32, u32),
    /// The start is ordered from outside ([`crate::Probe::order`]).
    pub wait_for_begin: bool,
    /// The load comes in turns ([`crate::Probe::order`]), each with its own length.
    pub turns: bool,
    /// Groups of clients.
    pub groups: Vec<Group>,
    /// Reports each client's totals at these times after the window's start, where counting
    /// restarts, and at the end. The times are ends of intervals. `None`: clients are not reported
    /// individually.
    pub client_totals_at: Option<Vec<u64>>,
}

impl Plan {
    /// A shard's part of a group's arrivals within this process, and the number of such parts. Only
    /// shards with clients of the group get a part; `None`: this one has none. Clients are dealt to
    /// the shards in turn, group after group.
    pub(crate) fn arrivals_of(&self, group: usize, shard: u32, shards: u32) -> Option<(u32, u32)> {
        let before: u32 = self.groups[..group].iter().map(|group| group.clients).sum();
        let place = (shard + shards - before % shards) % shards;
        let parts = self.groups[group].clients.min(shards);
        (place < parts).then_some((place, parts))
    }
}

/// Clients under one load model.
#[derive(Debug, Clone)]
pub struct Group {
    /// The label of its events.
    pub name: String,
    /// Number of clients over all shards.
    pub clients: u32,
    /// `None`: closed loop.
    pub arrivals: Option<arrival::Plan>,
    /// Connected, but never starts an event.
    pub idle: bool,
    /// Pause between events of one client (closed loop).
    pub think_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_go_to_the_shards_that_have_clients() {
        let group = |clients| Group {
            name: String::new(),
            clients,
            arrivals: None,
            idle: false,
            think_ns: 0,
        };
        let plan = Plan {
            warm_up_ns: 0,
            measure_ns: None,
            interval_ns: 1,
            drain_ns: 0,
            patience_ns: 0,
            hurried_drain_ns: 0,
            events: None,
            seed: 0,
            part: (0, 1),
            wait_for_begin: false,
            turns: false,
            client_totals_at: Default::default(),
            groups: vec![group(5), group(1), group(2)],
        };
        let parts =
            |group| (0..4).map(|shard| plan.arrivals_of(group, shard, 4)).collect::<Vec<_>>();
        assert_eq!(parts(0), [Some((0, 4)), Some((1, 4)), Some((2, 4)), Some((3, 4))]);
        // Client 5 is on shard 1, clients 6 and 7 on shards 2 and 3.
        assert_eq!(parts(1), [None, Some((0, 1)), None, None]);
        assert_eq!(parts(2), [None, None, Some((0, 2)), Some((1, 2))]);
    }
}
