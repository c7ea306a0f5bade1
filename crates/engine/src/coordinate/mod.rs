//! The coordinator: moves the shards through the stages, merges their measurements and emits
//! records in order.

mod ending;
mod wind_up;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use measure::Recorder;
use record::{
    ClientTotal, Clients, Fatal, FatalKind, Loaded, Order, OrderError, Output, Phase, PhaseName,
    Progress, Ready, Record, TurnOrder, Warning,
};

use ending::Ending;

use crate::control::{Control, Stage, TurnTimes};
use crate::measured::Measured;
use crate::message::{Failure, Interrupt, Message};
use crate::plan::Plan;
use crate::timeline::Timeline;

/// How far ahead the common start lies, so that every shard learns of it in time.
const AHEAD_NS: u64 = 5_000_000;
/// The same for a turn: clients sleep, and their shards check only now and then.
const TURN_AHEAD_NS: u64 = 25_000_000;
/// Shortest time between progress records.
const PROGRESS_NS: u64 = 250_000_000;

/// What the coordinator needs from the operating system.
pub trait Probe {
    /// Called when all clients are ready and nothing is measured yet: prepares the process's
    /// memory.
    fn settle(&self);
    /// Resident memory now and at its peak, KiB.
    fn rss_kb(&self) -> (u64, u64);
    /// Whether a person or the system asked for the end (Ctrl-C).
    fn interrupted(&self) -> bool;
    /// Whether they asked twice: don't wait for events in flight.
    fn impatient(&self) -> bool;
    /// The next order from standard input, in runs that wait for orders; each is returned once.
    fn order(&self) -> Option<Result<Order, OrderError>>;
    /// The wall clock, nanoseconds since 1970.
    fn unix_ns(&self) -> u64;
}

/// How a run ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// As planned.
    Done,
    /// By a signal.
    Interrupted,
    /// The first failure.
    Failed(Failure),
}

/// How many shards have reached which point.
#[derive(Debug, Default)]
struct Reached {
    initialised: usize,
    ready: usize,
    /// Shards that know that the window, or the turn's, has ended.
    measured: usize,
    idle: usize,
    closed: usize,
    finished: usize,
}

/// Progress of loading so far.
#[derive(Debug, Default)]
struct Said {
    clients_ready: u64,
    progress_at: u64,
    rows: u64,
    rows_into: BTreeMap<Arc<str>, u64>,
}

/// The current state of the run.
#[derive(Debug, Default)]
struct Course {
    phase: Option<PhaseName>,
    timeline: Option<Timeline>,
    /// End of the current interval; `u64::MAX`: it has none.
    next_boundary: u64,
    /// The run waits for orders.
    listens: bool,
    orders: VecDeque<TurnOrder>,
    /// The current turn.
    turn: Option<TurnTimes>,
    /// Shards that have not noticed the window's end were nudged.
    nudged: bool,
}

struct Coordinator<'a> {
    plan: &'a Plan,
    control: &'a Control,
    shards: usize,
    probe: &'a dyn Probe,
    emit: &'a mut dyn FnMut(Record),
    spares: Vec<Sender<Box<Recorder>>>,
    interrupters: Vec<Box<dyn Interrupt>>,
    reached: Reached,
    said: Said,
    course: Course,
    ending: Ending,
    measured: Measured,
}

/// Runs until all shards have exited. `spares[i]` returns recorders to shard i.
pub fn coordinate(
    plan: &Plan,
    control: &Control,
    messages: &Receiver<Message>,
    spares: Vec<Sender<Box<Recorder>>>,
    probe: &dyn Probe,
    emit: &mut dyn FnMut(Record),
) -> Outcome {
    let mut coordinator = Coordinator {
        plan,
        control,
        shards: spares.len(),
        probe,
        emit,
        measured: Measured::new(spares.len()),
        spares,
        interrupters: Vec::new(),
        reached: Reached::default(),
        said: Said::default(),
        course: Course { next_boundary: u64::MAX, ..Course::default() },
        ending: Ending::default(),
    };
    coordinator.enter(PhaseName::Connect, 0);
    coordinator.run(messages)
}

impl Coordinator<'_> {
    fn run(mut self, messages: &Receiver<Message>) -> Outcome {
        while self.reached.finished < self.shards {
            let now = self.control.now_ns();
            self.listen(now);
            self.look(now);
            let wait = self.course.next_boundary.saturating_sub(now).min(20_000_000);
            match messages.recv_timeout(Duration::from_nanos(wait)) {
                Ok(message) => self.hear(message),
                Err(RecvTimeoutError::Timeout) => {}
                // All shards have exited, one without a message: a panic, already on stderr.
                Err(RecvTimeoutError::Disconnected) => {
                    self.fail(failure(FatalKind::Internal, "a shard ended unexpectedly".into()));
                    break;
                }
            }
            if self.is_stuck(now) {
                break;
            }
        }
        if let Some(failure) = self.ending.given_up.take() {
            self.fail(failure);
        }
        self.flush(true);
        self.end_turn(self.control.now_ns(), true);
        if self.said.rows > 0 {
            self.progress("rows", self.said.rows, 0, true);
        }
        for (into, rows) in std::mem::take(&mut self.said.rows_into) {
            (self.emit)(Record::Loaded(Loaded { table: into.to_string(), rows }));
        }
        self.summary();
        match self.ending.failure.or(self.ending.late_failure) {
            Some(failure) => Outcome::Failed(failure),
            None if self.ending.interrupted => Outcome::Interrupted,
            None => Outcome::Done,
        }
    }

    /// Handles orders from standard input, where the run waits for them.
    fn listen(&mut self, now: u64) {
        while self.course.listens
            && let Some(order) = self.probe.order()
        {
            match order {
                Ok(Order::Begin { at_unix_ns }) if !self.plan.turns => {
                    self.course.listens = false;
                    self.begin(self.on_our_clock(at_unix_ns, now).max(now));
                }
                Ok(Order::Turn(turn)) if self.plan.turns => self.course.orders.push_back(turn),
                Ok(Order::End) => {
                    self.course.listens = false;
                    if !self.plan.turns && !self.control.stopping() {
                        let message = "standard input ended before `begin`";
                        self.fail(failure(FatalKind::Usage, message.into()));
                    }
                }
                Ok(other) => {
                    let expected = if self.plan.turns { "`turn` or `end`" } else { "`begin`" };
                    self.course.listens = false;
                    let message = format!("standard input says `{other}`; expected {expected}");
                    self.fail(failure(FatalKind::Usage, message));
                }
                Err(error) => self.fail(failure(FatalKind::Usage, error.to_string())),
            }
        }
        if !self.plan.turns || !self.is_ready() || self.course.turn.is_some() {
            return;
        }
        match self.course.orders.pop_front() {
            Some(order) => self.begin_turn(order, now),
            None if !self.course.listens => self.control.stop(),
            None => {}
        }
    }

    /// Checked after an order: a stop that came earlier gets no turn.
    fn is_ready(&self) -> bool {
        let over = self.control.stopping() || self.probe.interrupted();
        self.reached.ready == self.shards && !over
    }

    fn on_our_clock(&self, unix_ns: u64, now: u64) -> u64 {
        let origin = self.probe.unix_ns().saturating_sub(now);
        unix_ns.saturating_sub(origin)
    }

    fn begin_turn(&mut self, order: TurnOrder, now: u64) {
        let nanoseconds = |seconds: f64| (seconds * 1e9).round() as u64;
        let turn = TurnTimes {
            begin_ns: self.on_our_clock(order.at_unix_ns, now).max(now + TURN_AHEAD_NS),
            lead_in_ns: nanoseconds(order.lead_in_s),
            measure_ns: nanoseconds(order.measure_s).max(1),
        };
        self.course.timeline = Some(Timeline {
            begin: turn.begin_ns,
            warm_up: turn.lead_in_ns,
            measure: Some(turn.measure_ns),
            interval: self.plan.interval_ns,
        });
        self.course.next_boundary = turn.begin_ns;
        self.course.turn = Some(turn);
        (self.reached.measured, self.course.nudged) = (0, false);
        self.control.tell_turn(turn);
    }

    /// Handles whatever is due by now.
    fn look(&mut self, now: u64) {
        while now >= self.course.next_boundary {
            let at_ns = self.course.next_boundary;
            let timeline = self.course.timeline.expect("a boundary has a timeline");
            let slice = timeline.slice_at(at_ns);
            debug_assert!(slice.end > at_ns, "each border lies after the one before");
            self.enter(slice.phase, at_ns);
            self.course.next_boundary = slice.end;
        }
        self.wind_up(now);
    }

    fn hear(&mut self, message: Message) {
        match message {
            Message::Reachable(interrupter) => self.interrupters.push(interrupter),
            Message::Initialised => {
                self.reached.initialised += 1;
                if self.reached.initialised == self.shards {
                    self.clients_ready(0);
                    self.control.enter(Stage::Clients);
                }
            }
            Message::ClientsReady(count) => self.clients_ready(count),
            Message::Ready => {
                self.reached.ready += 1;
                if self.is_ready() {
                    self.probe.settle();
                    self.ready(self.control.now_ns());
                }
            }
            Message::RowsLoaded(rows, into) => {
                self.said.rows += rows;
                if let Some(into) = into {
                    *self.said.rows_into.entry(into).or_default() += rows;
                }
                let done = self.said.rows;
                self.progress("rows", done, 0, false);
            }
            Message::Interval(part) => {
                let end = self.course.timeline.map_or(u64::MAX, |timeline| timeline.measure_end());
                let measured = part.phase == PhaseName::Measure && part.end_ns >= end;
                self.reached.measured += usize::from(measured);
                let shard = part.shard as usize;
                if let Some(recorder) = self.measured.take(part) {
                    // A shard that has exited needs none.
                    let _ = self.spares[shard].send(recorder);
                }
                self.flush(false);
            }
            Message::Idle => {
                self.reached.idle += 1;
                if self.reached.idle == self.shards {
                    self.control.stop();
                }
            }
            Message::Failed(failure) => self.fail(failure),
            Message::CallbackFailed(name, failure) => self.callback_failed(name, failure),
            Message::Output(text) => (self.emit)(Record::Output(Output { text })),
            Message::Warning(code, message, hint) => self.warn(code, message, hint),
            Message::Closed => {
                self.reached.closed += 1;
                if self.reached.closed == self.shards {
                    self.closed();
                }
            }
            Message::Finished => self.reached.finished += 1,
        }
    }

    fn ready(&mut self, at_ns: u64) {
        debug_assert_eq!(self.reached.initialised, self.shards, "clients come after their shards");
        if self.plan.wait_for_begin || self.plan.turns {
            self.course.listens = true;
            (self.emit)(Record::Ready(Ready { at_ns }));
        } else {
            self.begin(at_ns + AHEAD_NS);
        }
    }

    fn closed(&mut self) {
        self.flush(true);
        if self.plan.client_totals_at.is_some() && self.course.timeline.is_some() {
            let clients = self.measured.last_totals();
            self.client_totals(self.control.now_ns(), true, clients);
        }
        self.control.enter(Stage::Finish);
    }

    fn clients_ready(&mut self, count: u32) {
        self.said.clients_ready += u64::from(count);
        let total = self.plan.groups.iter().map(|group| u64::from(group.clients)).sum();
        let done = self.said.clients_ready;
        self.progress("connections", done, total, done == total);
    }

    fn progress(&mut self, what: &str, done: u64, total: u64, always: bool) {
        let at_ns = self.control.now_ns();
        if always || at_ns >= self.said.progress_at {
            self.said.progress_at = at_ns + PROGRESS_NS;
            (self.emit)(Record::Progress(Progress { what: what.into(), done, total, at_ns }));
        }
    }

    fn begin(&mut self, begin: u64) {
        self.course.timeline = Some(Timeline {
            begin,
            warm_up: self.plan.warm_up_ns,
            measure: self.plan.measure_ns,
            interval: self.plan.interval_ns,
        });
        self.course.next_boundary = begin;
        self.control.begin(begin);
    }

    fn fail(&mut self, failure: Failure) {
        self.control.stop();
        if self.ending.failure.is_none() {
            (self.emit)(Record::Fatal(fatal(&failure, None)));
            self.ending.failure = Some(failure);
        }
    }

    /// Reports a function that failed after the measurement, once: the run is not cut short by it.
    fn callback_failed(&mut self, name: &'static str, failure: Failure) {
        if !self.ending.callbacks.contains(&name) {
            self.ending.callbacks.push(name);
            (self.emit)(Record::Fatal(fatal(&failure, Some(name))));
        }
        self.ending.late_failure.get_or_insert(failure);
    }

    fn warn(&mut self, code: &str, message: String, hint: Option<String>) {
        (self.emit)(Record::Warning(Warning { code: code.into(), message, hint }));
    }

    fn enter(&mut self, phase: PhaseName, at_ns: u64) {
        if self.course.phase != Some(phase) {
            self.course.phase = Some(phase);
            (self.emit)(Record::Phase(Phase { phase, at_ns }));
        }
    }

    /// Emits the complete intervals; at the end, also the incomplete ones.
    fn flush(&mut self, all: bool) {
        let labels = self.control.labels();
        while let Some(done) = self.measured.next(all, labels, || self.probe.rss_kb().0) {
            let (at_ns, phase) = (done.interval.end_ns, done.interval.phase);
            let in_turn = done.interval.turn.is_some();
            (self.emit)(Record::Interval(Box::new(done.interval)));
            if let Some(clients) = done.totals {
                self.client_totals(at_ns, false, clients);
            }
            if in_turn && phase == PhaseName::Drain {
                self.end_turn(at_ns, self.control.abandoned());
            }
        }
    }

    /// Ends the turn once none of it is in flight.
    fn end_turn(&mut self, drained_ns: u64, cut: bool) {
        let Some(times) = self.course.turn.take() else { return };
        debug_assert!(cut || self.measured.astray() == 0, "a turn ends when nothing is in flight");
        let labels = self.control.labels().names();
        if let Some(mut turn) = self.measured.end_turn(drained_ns, cut, &labels) {
            let planned = times.begin_ns + times.lead_in_ns + times.measure_ns;
            turn.interrupted |= turn.end_ns < planned;
            (self.emit)(Record::Turn(Box::new(turn)));
        }
        if !self.control.stopping() {
            (self.ending.stop_at, self.ending.over_at) = (None, None);
            self.enter(PhaseName::Pause, drained_ns);
        }
    }

    fn client_totals(&mut self, at_ns: u64, last: bool, mut clients: Vec<ClientTotal>) {
        clients.sort_unstable_by_key(|client| client.number);
        (self.emit)(Record::Clients(Clients { at_ns, last, clients }));
    }

    fn summary(&mut self) {
        // All clients have ended, so nothing is under way: an event missing from all counts got
        // lost.
        let astray = self.measured.astray();
        if astray > 0 && self.reached.closed == self.shards {
            let message = format!("{astray} events were begun and neither ended nor given up");
            let hint = "this is a bug in dbdyno: please report it".to_owned();
            self.warn("miscounted", message, Some(hint));
        }
        let interrupted = self.ending.interrupted || self.ending.failure.is_some();
        let labels = self.control.labels().names();
        let (_, peak_kb) = self.probe.rss_kb();
        if let Some(summary) = self.measured.summary(interrupted, peak_kb, &labels) {
            (self.emit)(Record::Summary(Box::new(summary)));
        }
    }
}

fn fatal(failure: &Failure, callback: Option<&str>) -> Fatal {
    let Failure { kind, message, hint, traceback } = failure.clone();
    Fatal { kind, message, hint, traceback, callback: callback.map(str::to_owned) }
}

fn failure(kind: FatalKind, message: String) -> Failure {
    Failure { kind, message, hint: None, traceback: None }
}
