//! One shard's view of the run: its clock, its turns, its recorder.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use arrival::Arrivals;
use measure::{Clock, Recorder};
use record::PhaseName;

use crate::control::Control;
use crate::message::{Message, ShardInterval};
use crate::plan::Plan;
use crate::timeline::Slice;

mod events;
mod recorders;
mod rest;
mod resting;
mod source;
mod state;
mod totals;
mod turns;

use recorders::Recorders;
use source::Source;
use state::{Account, Course, Place, Waiting};

/// Pause of a shard that waits for the others: least and most.
const PAUSE_NS: u64 = 200_000;
const PAUSE_MAX_NS: u64 = 250_000_000;

/// A shard that closes an interval this long after its end was busy with something else.
const LATE_NS: u64 = 1_000_000_000;

/// What a client may do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Go {
    /// Start an event now; it was meant to start at `intended_ns`.
    Start {
        /// On the run's clock; the actual start in a closed loop.
        intended_ns: u64,
    },
    /// Wait until [`ShardView::due`] names the client.
    Wait,
    /// The load is over for this client.
    Stop,
}

/// An event under way. Times on the run's clock.
#[derive(Debug, Clone, Copy)]
pub struct OpenEvent {
    /// Intended start; the actual start in a closed loop.
    pub intended_ns: u64,
    /// Actual start.
    pub start_ns: u64,
    /// Its label: the number of its group, or of the name set by the script.
    pub label: usize,
}

/// A shard's part of a group.
#[derive(Debug)]
struct GroupPart {
    idle: bool,
    think_ns: u64,
    /// Source of its arrivals, restarted with each turn.
    source: Option<Source>,
    arrivals: Option<Arrivals>,
    /// Clients waiting for an event, first come first served.
    parked: VecDeque<u32>,
}

/// A shard's view of the run.
#[derive(Debug)]
pub struct ShardView {
    control: Arc<Control>,
    clock: Clock,
    messages: Sender<Message>,
    place: Place,
    course: Course,
    account: Account,
    waiting: Waiting,
    groups: Vec<GroupPart>,
    /// Whether any group has intended starts.
    any_open: bool,
    /// Clients alive; maintained by the workload.
    pub clients: u32,
}

impl ShardView {
    /// How long a shard that waits for the others sleeps between checks, nanoseconds: longer with
    /// more shards, since 20,000 that check every 200 µs would use up the processors.
    pub(crate) fn pause_ns(&self) -> u64 {
        let crowd = u64::from(self.place.stride / 16).max(1);
        (PAUSE_NS * crowd).min(PAUSE_MAX_NS)
    }

    /// The load of shard `shard` of `shards`. `returned`: recorders that were sent away come back.
    pub fn new(
        plan: &Plan,
        control: Arc<Control>,
        shard: u32,
        shards: u32,
        messages: Sender<Message>,
        returned: Receiver<Box<Recorder>>,
    ) -> Self {
        let recorders = Recorders::new(plan.groups.len(), shards, returned);
        let groups = plan
            .groups
            .iter()
            .enumerate()
            .map(|(index, group)| {
                let source = Source::new(plan, index, shard, shards);
                GroupPart {
                    idle: group.idle,
                    think_ns: group.think_ns,
                    arrivals: source.as_ref().map(|source| source.arrivals(0)),
                    source,
                    parked: VecDeque::new(),
                }
            })
            .collect();
        Self {
            clock: control.clock(),
            control,
            messages,
            place: Place {
                shard,
                offset: shard * plan.part.1 + plan.part.0,
                stride: shards * plan.part.1,
            },
            course: Course::new(plan),
            account: Account::new(recorders, plan.client_totals_at.clone()),
            waiting: Waiting::default(),
            groups,
            any_open: plan.groups.iter().any(|group| group.arrivals.is_some()),
            clients: 0,
        }
    }

    /// This shard's number, from 0.
    pub fn shard(&self) -> u32 {
        self.place.shard
    }

    /// The state shared with the coordinator.
    pub fn control(&self) -> &Arc<Control> {
        &self.control
    }

    /// The recorder of the current interval, as of the last [`Self::now`].
    #[inline]
    pub fn recorder(&mut self) -> &mut Recorder {
        &mut self.account.recorder
    }

    /// The phase as of the last [`Self::now`].
    pub fn phase(&self) -> PhaseName {
        self.course.slice.phase
    }

    /// Whether the shard has been busy with one thing since long before an interval's end.
    pub fn is_late(&self) -> bool {
        self.control.now_ns().saturating_sub(self.course.slice.end) > LATE_NS
    }

    /// Sends a message to the coordinator. If it has exited, the message is dropped.
    pub fn send(&self, message: Message) {
        let _ = self.messages.send(message);
    }

    /// Reads the clock and closes the intervals that have ended. Whatever is recorded after this
    /// call belongs to the current interval.
    #[inline]
    pub fn now(&mut self) -> u64 {
        let now = self.clock.now_ns();
        if now >= self.course.slice.end {
            self.roll(now);
        }
        now
    }

    #[cold]
    fn roll(&mut self, now: u64) {
        while now >= self.course.slice.end {
            let end = self.course.slice.end;
            self.close_interval(end);
            self.course.slice = self.course.timeline.slice_at(end);
            debug_assert!(
                self.course.slice.start == end && end < self.course.slice.end,
                "intervals leave no gap"
            );
            if self.course.slice.phase != PhaseName::Measure {
                self.bring_in_outside();
            }
            self.course.shut =
                self.course.turns.is_some() && !self.course.slice.phase.starts_events();
        }
    }

    fn close_interval(&mut self, end: u64) {
        debug_assert!(self.course.slice.start <= end, "an interval ends after its start");
        debug_assert!(self.events_under_way() >= 0, "no event ends that has not begun");
        let cpu = self.control.cpu_at_end_of(self.course.index);
        self.look_for_rest();
        self.censor_backlog(end);
        self.account.recorder.backlog = self.backlog(end);
        let recorder = match self.is_kept_for_later() {
            true => self.account.rest.window.take(),
            false => (!self.account.recorder.is_empty()).then(|| self.change_recorder()),
        };
        let totals = self.take_totals(end);
        let parked: usize = self.groups.iter().map(|group| group.parked.len()).sum();
        self.send(Message::Interval(ShardInterval {
            shard: self.place.shard,
            index: self.course.index,
            phase: self.course.slice.phase,
            turn: self.turn_under_way(),
            start_ns: self.course.slice.start,
            end_ns: end,
            clients: self.clients,
            busy: self.clients.saturating_sub(parked as u32),
            cpu,
            totals,
            rested_ns: self.account.rest.since_ns,
            last: self.course.closing,
            recorder,
        }));
        self.course.index += 1;
    }

    /// Takes the recorder; what follows goes into another one.
    fn change_recorder(&mut self) -> Box<Recorder> {
        let fresh = self.account.recorders.fresh();
        debug_assert!(fresh.recorder.is_empty(), "an interval begins with what another counted");
        if fresh.waited && self.control.is_first_pause() {
            self.warn_of_the_pause();
        }
        self.account.rest.under_way += self.account.recorder.counters.under_way();
        std::mem::replace(&mut self.account.recorder, fresh.recorder)
    }

    fn warn_of_the_pause(&self) {
        let ahead = self.account.recorders.ahead();
        let message = format!(
            "clients paused while {ahead} intervals of their shard waited to be merged: they could \
             have done more events"
        );
        let hint = "choose longer intervals, or fewer clients on SQLite, where each is a shard; a \
                    program that reads the engine's records must not stop reading";
        self.send(Message::Warning("paused", message, Some(hint.to_owned())));
    }

    /// Ends the load as if its time were over, because of an error that the study expects to do so;
    /// `false`: there is no window to end, or turns follow.
    pub fn end_load(&mut self, error: &str) -> bool {
        let phase = self.course.slice.phase;
        if self.course.turns.is_some() || !matches!(phase, PhaseName::Measure | PhaseName::Drain) {
            return false;
        }
        let now = self.now();
        if now < self.course.timeline.measure_end() && self.control.stops_first() {
            let after_s = now.saturating_sub(self.course.timeline.measure_start()) as f64 / 1e9;
            let message = format!("the window ended after {after_s:.1} s by an error: {error}");
            self.send(Message::Warning("ended", message, None));
        }
        true
    }

    fn backlog(&self, now: u64) -> u64 {
        if matches!(
            self.course.slice.phase,
            PhaseName::Connect | PhaseName::Pause | PhaseName::Finish
        ) {
            return 0;
        }
        let now =
            now.min(self.course.timeline.measure_end()).saturating_sub(self.course.timeline.begin);
        self.groups
            .iter()
            .filter(|group| !group.idle)
            .filter_map(|group| group.arrivals.as_ref())
            .map(|arrivals| arrivals.due_by(now))
            .sum::<u64>()
            // Arrivals beyond the budget were not going to begin.
            .min(self.control.left())
    }

    /// Begins the load at the time the coordinator set.
    pub(crate) fn begin(&mut self) {
        debug_assert_eq!(self.course.slice.phase, PhaseName::Connect, "the load begins once");
        debug_assert_eq!(
            self.account.recorder.counters.begun, 0,
            "no event begins before the load"
        );
        self.course.timeline.begin = self.control.begin_ns();
        debug_assert!(self.course.timeline.begin < u64::MAX, "the coordinator has set the time");
        self.course.slice.end = self.course.timeline.begin;
        self.course.closes_at = self.course.timeline.measure_end();
        self.course.origin = self.course.timeline.begin;
        if self.account.totals_at.is_some() {
            self.extend_totals(self.clients as usize);
        }
    }

    /// Closes the current interval, whatever its length. What is recorded from then on is of the
    /// hooks after all clients.
    pub(crate) fn close(&mut self) {
        let now = self.now();
        self.look_for_rest();
        if self.is_kept_for_later() {
            self.close_interval(now.max(self.course.slice.start));
            self.course.slice = Slice { phase: PhaseName::Drain, start: now, end: u64::MAX };
        }
        self.course.closing = true;
        self.close_interval(now.max(self.course.slice.start));
        self.course.slice = Slice { phase: PhaseName::Finish, start: now, end: u64::MAX };
        self.bring_in_outside();
    }

    /// Reports what the hooks after all clients did, if they did anything.
    pub(crate) fn finish(&mut self) {
        self.account.totals_at = None;
        if !self.account.recorder.is_empty() {
            let now = self.now();
            self.close_interval(now);
        }
    }

    /// Whether the load has begun and no more events may start: the time is up, the budget used up,
    /// or a stop requested.
    #[inline]
    fn over(&self, now: u64) -> bool {
        self.control.stopping() || self.control.spent() || now >= self.course.closes_at
    }

    /// Asks for a client's next event. `now` is from [`Self::now`].
    #[inline]
    pub fn next_event(&mut self, client: u32, group: usize, now: u64) -> Go {
        if self.over(now) {
            self.look_for_rest();
            return Go::Stop;
        }
        let part = &mut self.groups[group];
        if part.idle || self.course.shut {
            part.parked.push_back(client);
            return Go::Wait;
        }
        let intended_ns = match &mut part.arrivals {
            None => now,
            Some(arrivals) => {
                let begin = self.course.timeline.begin;
                match arrivals.peek().map(|offset| begin.saturating_add(offset)) {
                    Some(due) if due <= now => {
                        arrivals.advance();
                        due
                    }
                    _ => {
                        part.parked.push_back(client);
                        return Go::Wait;
                    }
                }
            }
        };
        if self.course.slice.phase == PhaseName::Measure && !self.take() {
            self.look_for_rest();
            return Go::Stop;
        }
        self.account.recorder.counters.begun += 1;
        Go::Start { intended_ns }
    }

    /// Takes an event from the budget; `false`: none is left.
    #[inline]
    fn take(&mut self) -> bool {
        let taken = self.control.spend();
        self.account.taken += u64::from(taken && self.control.limited());
        taken
    }

    /// Whether events that fail now are abandoned instead of restarted: the load is over for good.
    pub fn gives_up(&self) -> bool {
        let over = self.course.turns.is_none() && self.course.slice.phase == PhaseName::Drain;
        self.control.stopping() || over
    }

    /// How long a client of this group pauses after an event, nanoseconds.
    #[inline]
    pub fn think_ns(&self, group: usize) -> u64 {
        self.groups[group].think_ns
    }

    /// Whether events of this group start at intended times.
    #[inline]
    pub fn is_open(&self, group: usize) -> bool {
        self.groups[group].arrivals.is_some()
    }

    /// Whether events of some group start at intended times.
    #[inline]
    pub fn any_open(&self) -> bool {
        self.any_open
    }

    /// The number of a label that a script sets on events of a group; `None`: there are too many.
    /// Call it once per name.
    pub fn label(&self, group: usize, name: &str) -> Option<usize> {
        self.control.labels().number(group, name)
    }

    /// Time since the start of the load, nanoseconds; 0 before.
    pub fn since_begin(&self, now: u64) -> u64 {
        now.saturating_sub(self.course.origin)
    }

    /// Pauses a client between two events; [`Self::due`] names it afterwards.
    pub fn think_until(&mut self, client: u32, at_ns: u64) {
        self.waiting.thinkers.push(Reverse((at_ns, client)));
    }

    /// Puts a client to sleep; [`Self::due`] names it afterwards.
    pub fn sleep_until(&mut self, client: u32, at_ns: u64) {
        self.waiting.sleepers.push(Reverse((at_ns, client)));
    }

    /// Makes a client wait for a reply due at a known time; [`Self::due`] names it then.
    pub fn reply_at(&mut self, client: u32, at_ns: u64) {
        self.waiting.replies.push(Reverse((at_ns, client)));
    }

    /// A client to wake: its sleep is over, an event is due for it, or the load is over.
    pub fn due(&mut self, now: u64) -> Option<u32> {
        for sleepers in [&mut self.waiting.sleepers, &mut self.waiting.thinkers] {
            if let Some(Reverse((at, client))) = sleepers.peek().copied()
                && (at <= now || self.control.stopping())
            {
                sleepers.pop();
                return Some(client);
            }
        }
        if let Some(Reverse((at, client))) = self.waiting.replies.peek().copied()
            && at <= now
        {
            self.waiting.replies.pop();
            return Some(client);
        }
        let over = self.over(now);
        let (begin, shut) = (self.course.timeline.begin, self.course.shut);
        self.groups.iter_mut().find_map(|part| {
            let due = !part.idle
                && !shut
                && part.arrivals.as_ref().is_none_or(|arrivals| {
                    arrivals.peek().is_some_and(|offset| begin.saturating_add(offset) <= now)
                });
            if due || over { part.parked.pop_front() } else { None }
        })
    }

    /// When to call [`Self::due`] next, or when an interval ends; nanoseconds on the run's clock.
    pub fn deadline(&self) -> u64 {
        let first = |heap: &BinaryHeap<Reverse<(u64, u32)>>| {
            heap.peek().map_or(u64::MAX, |Reverse((at, _))| *at)
        };
        let sleeper = first(&self.waiting.sleepers)
            .min(first(&self.waiting.thinkers))
            .min(first(&self.waiting.replies));
        let begin = self.course.timeline.begin;
        let arrival = self
            .groups
            .iter()
            .filter(|part| !part.parked.is_empty() && !part.idle && !self.course.shut)
            .filter_map(|part| part.arrivals.as_ref()?.peek())
            .map(|offset| begin.saturating_add(offset))
            .min()
            .unwrap_or(u64::MAX);
        sleeper.min(arrival).min(self.course.slice.end)
    }
}
