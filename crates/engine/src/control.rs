//! State that the coordinator shares with the shards.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use measure::{Clock, Machine, Sources};
use record::CpuTime;

use crate::labels::Labels;
use crate::plan::Plan;

/// The stages of a run; they only go forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stage {
    /// The first shard runs the hooks before all clients.
    Initialise = 0,
    /// Clients connect and get ready.
    Clients = 1,
    /// Clients run events, from `begin_ns`.
    Load = 2,
    /// The first shard runs the hooks after all clients.
    Finish = 3,
    /// Shards may exit.
    End = 4,
}

/// One turn on the run's clock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TurnTimes {
    pub(crate) begin_ns: u64,
    pub(crate) lead_in_ns: u64,
    pub(crate) measure_ns: u64,
}

/// How shards read the operating system.
#[derive(Debug, Clone, Copy)]
pub struct System {
    /// See [`Machine::new`].
    pub uses_counter: bool,
    /// CPU time of the process so far.
    pub cpu: fn() -> CpuTime,
}

impl Default for System {
    /// The kernel's clock, and no CPU time.
    fn default() -> Self {
        Self { uses_counter: false, cpu: CpuTime::default }
    }
}

/// Shared by all threads of a run. Shards read it between events and write only the event budget,
/// the number of closed intervals and, once each, new labels.
#[derive(Debug)]
pub struct Control {
    clocks: Machine,
    cpu: fn() -> CpuTime,
    /// Intervals closed so far by at least one shard.
    closed: AtomicU64,
    paused: AtomicBool,
    stage: AtomicU8,
    begin_ns: AtomicU64,
    /// Number of turns announced, and the times of the last.
    turns: AtomicU32,
    turn: Mutex<TurnTimes>,
    stop: AtomicBool,
    abandon: AtomicBool,
    budget: Option<AtomicI64>,
    labels: Labels,
}

impl Control {
    /// State for a run by this plan.
    pub fn new(plan: &Plan, system: System) -> Self {
        let budget =
            plan.events.map(|events| AtomicI64::new(i64::try_from(events).unwrap_or(i64::MAX)));
        Self {
            clocks: Machine::new(Instant::now(), system.uses_counter),
            cpu: system.cpu,
            closed: AtomicU64::new(0),
            paused: AtomicBool::new(false),
            stage: AtomicU8::new(Stage::Initialise as u8),
            begin_ns: AtomicU64::new(u64::MAX),
            turns: AtomicU32::new(0),
            turn: Mutex::default(),
            stop: AtomicBool::new(false),
            abandon: AtomicBool::new(false),
            budget,
            labels: Labels::new(plan.groups.iter().map(|group| group.name.clone()).collect()),
        }
    }

    /// Nanoseconds since the origin of the run's times.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.clocks.kernel_ns()
    }

    /// CPU time of the process at the end of an interval. Read by the first shard that closes it,
    /// since the coordinator may be late; `None` for the others.
    pub(crate) fn cpu_at_end_of(&self, interval: u64) -> Option<CpuTime> {
        let closed = self.closed.fetch_max(interval + 1, Ordering::Relaxed);
        (closed <= interval).then(self.cpu)
    }

    /// Whether no shard has paused before.
    pub(crate) fn is_first_pause(&self) -> bool {
        !self.paused.swap(true, Ordering::Relaxed)
    }

    /// A clock with the same time, for one thread that reads it often.
    pub(crate) fn clock(&self) -> Clock {
        Clock::new(self.clocks)
    }

    /// Whether [`Self::clock`] follows the processor's counter.
    pub fn uses_counter(&self) -> bool {
        self.clocks.uses_counter()
    }

    /// Labels of events.
    pub(crate) fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The current stage.
    pub fn stage(&self) -> Stage {
        match self.stage.load(Ordering::Acquire) {
            0 => Stage::Initialise,
            1 => Stage::Clients,
            2 => Stage::Load,
            3 => Stage::Finish,
            _ => Stage::End,
        }
    }

    /// Enters a stage.
    pub fn enter(&self, stage: Stage) {
        self.stage.store(stage as u8, Ordering::Release);
    }

    /// Sets the time at which the load begins.
    pub fn begin(&self, at_ns: u64) {
        self.begin_ns.store(at_ns, Ordering::Release);
        self.enter(Stage::Load);
    }

    /// Announces the next turn to all shards, which must have drained the last.
    pub(crate) fn tell_turn(&self, turn: TurnTimes) {
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) = turn;
        self.turns.fetch_add(1, Ordering::Release);
        self.enter(Stage::Load);
    }

    /// The turn after the `heard` ones that a shard knows.
    pub(crate) fn turn_after(&self, heard: u32) -> Option<TurnTimes> {
        let told = self.turns.load(Ordering::Acquire);
        (told > heard).then(|| *self.turn.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// When the load begins; meaningful from [`Stage::Load`] on.
    pub fn begin_ns(&self) -> u64 {
        self.begin_ns.load(Ordering::Acquire)
    }

    /// No event is started from now on. Safe in a signal handler.
    pub fn stop(&self) {
        self.stops_first();
    }

    /// As [`Self::stop`]; `false`: it was called before.
    pub(crate) fn stops_first(&self) -> bool {
        !self.stop.swap(true, Ordering::AcqRel)
    }

    /// Whether [`Self::stop`] was called.
    #[inline]
    pub fn stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Abandons events in flight.
    pub fn abandon(&self) {
        self.stop();
        self.abandon.store(true, Ordering::Release);
    }

    /// Whether [`Self::abandon`] was called.
    pub fn abandoned(&self) -> bool {
        self.abandon.load(Ordering::Relaxed)
    }

    /// Whether the budget is used up: no event begins, but those under way may restart and end.
    #[inline]
    pub(crate) fn spent(&self) -> bool {
        self.budget.as_ref().is_some_and(|left| left.load(Ordering::Relaxed) <= 0)
    }

    /// Events of the budget not yet taken; `u64::MAX` without a limit.
    pub(crate) fn left(&self) -> u64 {
        let left = self.budget.as_ref().map(|left| left.load(Ordering::Relaxed));
        left.map_or(u64::MAX, |left| u64::try_from(left).unwrap_or(0))
    }

    /// Whether the number of events has a limit.
    #[inline]
    pub(crate) fn limited(&self) -> bool {
        self.budget.is_some()
    }

    /// Takes one event from the budget; `false`: none is left.
    #[inline]
    pub(crate) fn spend(&self) -> bool {
        match &self.budget {
            None => true,
            Some(left) => left.fetch_sub(1, Ordering::Relaxed) > 0,
        }
    }
}
