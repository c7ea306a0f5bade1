//! What the engine has to know of a run spec, in its own units.

/// The load of one run. Times in nanoseconds.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Load before the window.
    pub warm_up_ns: u64,
    /// Length of the window; `None`: until the events are done or somebody stops it.
    pub measure_ns: Option<u64>,
    /// Length of an interval, above 0.
    pub interval_ns: u64,
    /// How long events in flight may take after the window.
    pub drain_ns: u64,
    /// Events in the window; `None`: no limit.
    pub events: Option<u64>,
    /// From which arrivals are drawn.
    pub seed: u64,
    /// This process's part of the run and the number of parts: (0, 1) is all of it.
    pub part: (u32, u32),
    /// The beginning is said from outside ([`crate::Probe::begin_ns`]).
    pub wait_for_begin: bool,
    /// Who drives.
    pub groups: Vec<Group>,
    /// Hand out what each client did: at these times after the window's beginning, where counting
    /// starts anew, and at the end. Times are ends of intervals. `None`: clients
    /// are not told apart.
    pub client_totals_at: Option<Vec<u64>>,
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
