//! The coordinator: moves the shards through the stages, merges what they measured, hands out
//! records in order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use measure::Recorder;
use record::{
    ClientTotal, Clients, CpuTime, Fatal, Loaded, Output, Phase, PhaseName, Progress, Ready,
    Record, Summary, Warning,
};

use crate::control::{Control, Stage};
use crate::plan::Plan;
use crate::report::{Merged, counters, histograms};
use crate::shard::{Failure, Message, ShardInterval};
use crate::timeline::Timeline;

/// How far ahead the common beginning lies, so that every shard hears of it in time.
const AHEAD_NS: u64 = 5_000_000;
/// Progress is reported at most so often.
const PROGRESS_NS: u64 = 250_000_000;

/// A run that was interrupted or has failed waits no longer than this for events in flight.
const HURRIED_DRAIN_NS: u64 = 5_000_000_000;

/// A shard that says nothing for so long after its events were given up hangs.
const HANGS_NS: u64 = 5_000_000_000;

/// What the coordinator asks the operating system.
pub trait Probe {
    /// All clients are ready and nothing is measured yet: the moment to make memory cheap to use.
    fn settle(&self);
    /// CPU time of the process so far.
    fn cpu(&self) -> CpuTime;
    /// Resident memory now, and at its highest; KiB.
    fn rss_kb(&self) -> (u64, u64);
    /// A person or the system asked for an end (Ctrl-C).
    fn interrupted(&self) -> bool;
    /// Where the beginning is said from outside: when it is, on the run's clock.
    fn begin_ns(&self, control: &Control) -> Option<u64>;
    /// Asked for a second time: don't even wait for events in flight.
    fn impatient(&self) -> bool;
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

struct Coordinator<'a> {
    plan: &'a Plan,
    control: &'a Control,
    shards: usize,
    probe: &'a dyn Probe,
    emit: &'a mut dyn FnMut(Record),
    spares: Vec<Sender<Box<Recorder>>>,
    // Stages.
    initialised: usize,
    ready: usize,
    idle: usize,
    closed: usize,
    finished: usize,
    clients_ready: u64,
    progress_at: u64,
    rows: u64,
    rows_into: BTreeMap<Arc<str>, u64>,
    failure: Option<Failure>,
    interrupted: bool,
    stop_at: Option<u64>,
    abandoned_at: Option<u64>,
    waits: bool,
    // Measuring.
    timeline: Option<Timeline>,
    boundaries: BTreeMap<u64, (CpuTime, u64)>,
    next_boundary: u64,
    parts: BTreeMap<u64, Vec<ShardInterval>>,
    phase: Option<PhaseName>,
    total: Recorder,
    window: Recorder,
    window_ns: Option<(u64, u64)>,
    clients: u32,
    last_totals: Vec<ClientTotal>,
    cpu_before: CpuTime,
}

/// Runs until all shards are gone. `spares[i]` takes recorders back to shard i.
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
        spares,
        initialised: 0,
        ready: 0,
        idle: 0,
        closed: 0,
        finished: 0,
        clients_ready: 0,
        progress_at: 0,
        rows: 0,
        rows_into: BTreeMap::new(),
        failure: None,
        interrupted: false,
        stop_at: None,
        abandoned_at: None,
        waits: false,
        timeline: None,
        boundaries: BTreeMap::new(),
        next_boundary: u64::MAX,
        parts: BTreeMap::new(),
        phase: None,
        total: Recorder::default(),
        window: Recorder::default(),
        window_ns: None,
        clients: 0,
        last_totals: Vec::new(),
        cpu_before: CpuTime::default(),
    };
    coordinator.enter(PhaseName::Connect, 0);
    coordinator.run(messages)
}

impl Coordinator<'_> {
    fn run(mut self, messages: &Receiver<Message>) -> Outcome {
        while self.finished < self.shards {
            let now = self.control.now_ns();
            self.look(now);
            let wait = self.next_boundary.saturating_sub(now).min(20_000_000);
            match messages.recv_timeout(Duration::from_nanos(wait)) {
                Ok(message) => self.hear(message),
                Err(RecvTimeoutError::Timeout) => {}
                // All shards are gone, one of them without a word: a panic, already on stderr.
                Err(RecvTimeoutError::Disconnected) => {
                    let message = "a shard ended unexpectedly".to_owned();
                    let kind = record::FatalKind::Internal;
                    self.fail(Failure { kind, message, hint: None, traceback: None });
                    break;
                }
            }
            // A shard that hangs in a call of the database's, or in its script, can't be helped;
            // what was measured can.
            if self.abandoned_at.is_some_and(|at| now > at + HANGS_NS) {
                break;
            }
        }
        self.flush(true);
        if self.rows > 0 {
            self.progress("rows", self.rows, 0, true);
        }
        for (into, rows) in std::mem::take(&mut self.rows_into) {
            (self.emit)(Record::Loaded(Loaded { table: into.to_string(), rows }));
        }
        self.summary();
        match self.failure {
            Some(failure) => Outcome::Failed(failure),
            None if self.interrupted => Outcome::Interrupted,
            None => Outcome::Done,
        }
    }

    /// What time and the outside world ask for.
    fn look(&mut self, now: u64) {
        if self.waits
            && let Some(begin) = self.probe.begin_ns(self.control)
        {
            self.waits = false;
            self.begin(begin.max(now));
        }
        while now >= self.next_boundary {
            let sample = (self.probe.cpu(), self.probe.rss_kb().0);
            self.boundaries.insert(self.next_boundary, sample);
            let slice =
                self.timeline.expect("a boundary has a timeline").slice_at(self.next_boundary);
            self.enter(slice.phase, self.next_boundary);
            self.next_boundary = slice.end;
        }
        if self.probe.interrupted() && !self.interrupted {
            self.interrupted = true;
            self.control.stop();
        }
        if self.probe.impatient() {
            self.abandon(now);
        }
        let over = self.control.stopping() || self.phase == Some(PhaseName::Drain);
        if over {
            // Who gets in a hurry later only brings the end nearer.
            let hurried = self.interrupted || self.failure.is_some();
            let drain = self.plan.drain_ns;
            let drain = if hurried { drain.min(HURRIED_DRAIN_NS) } else { drain };
            let end = now.saturating_add(drain);
            self.stop_at = Some(self.stop_at.map_or(end, |planned| planned.min(end)));
        }
        if self.stop_at.is_some_and(|at| now >= at)
            && self.closed < self.shards
            && self.abandoned_at.is_none()
        {
            self.abandon(now);
            self.warn(
                "unfinished",
                format!(
                    "events in flight did not end within {} s and were given up",
                    self.plan.drain_ns as f64 / 1e9
                ),
                None,
            );
        }
    }

    fn abandon(&mut self, now: u64) {
        self.control.abandon();
        self.abandoned_at.get_or_insert(now);
    }

    fn hear(&mut self, message: Message) {
        match message {
            Message::Initialised => {
                self.initialised += 1;
                if self.initialised == self.shards {
                    self.clients_ready(0);
                    self.control.enter(Stage::Clients);
                }
            }
            Message::ClientsReady(count) => self.clients_ready(count),
            Message::Ready => {
                self.ready += 1;
                if self.ready == self.shards && !self.control.stopping() {
                    self.probe.settle();
                    let at_ns = self.control.now_ns();
                    if self.plan.wait_for_begin {
                        self.waits = true;
                        (self.emit)(Record::Ready(Ready { at_ns }));
                    } else {
                        self.begin(at_ns + AHEAD_NS);
                    }
                }
            }
            Message::RowsLoaded(rows, into) => {
                self.rows += rows;
                if let Some(into) = into {
                    *self.rows_into.entry(into).or_default() += rows;
                }
                let done = self.rows;
                self.progress("rows", done, 0, false);
            }
            Message::Interval(part) => {
                self.parts.entry(part.index).or_default().push(part);
                self.flush(false);
            }
            Message::Idle => {
                self.idle += 1;
                if self.idle == self.shards {
                    self.control.stop();
                }
            }
            Message::Failed(failure) => self.fail(failure),
            Message::Output(text) => (self.emit)(Record::Output(Output { text })),
            Message::Warning(code, message, hint) => self.warn(code, message, hint),
            Message::Closed => {
                self.closed += 1;
                if self.closed == self.shards {
                    self.flush(true);
                    if self.plan.client_totals_at.is_some() && self.timeline.is_some() {
                        let clients = std::mem::take(&mut self.last_totals);
                        self.client_totals(self.control.now_ns(), true, clients);
                    }
                    self.control.enter(Stage::Finish);
                }
            }
            Message::Finished => self.finished += 1,
        }
    }

    fn clients_ready(&mut self, count: u32) {
        self.clients_ready += u64::from(count);
        let total = self.plan.groups.iter().map(|group| u64::from(group.clients)).sum();
        let done = self.clients_ready;
        self.progress("connections", done, total, done == total);
    }

    fn progress(&mut self, what: &str, done: u64, total: u64, always: bool) {
        let at_ns = self.control.now_ns();
        if always || at_ns >= self.progress_at {
            self.progress_at = at_ns + PROGRESS_NS;
            (self.emit)(Record::Progress(Progress { what: what.into(), done, total, at_ns }));
        }
    }

    fn begin(&mut self, begin: u64) {
        self.timeline = Some(Timeline {
            begin,
            warm_up: self.plan.warm_up_ns,
            measure: self.plan.measure_ns,
            interval: self.plan.interval_ns,
        });
        self.next_boundary = begin;
        self.control.begin(begin);
    }

    fn fail(&mut self, failure: Failure) {
        self.control.stop();
        if self.failure.is_none() {
            (self.emit)(Record::Fatal(Fatal {
                kind: failure.kind,
                message: failure.message.clone(),
                hint: failure.hint.clone(),
                traceback: failure.traceback.clone(),
            }));
            self.failure = Some(failure);
        }
    }

    fn warn(&mut self, code: &str, message: String, hint: Option<String>) {
        (self.emit)(Record::Warning(Warning { code: code.into(), message, hint }));
    }

    fn enter(&mut self, phase: PhaseName, at_ns: u64) {
        if self.phase != Some(phase) {
            self.phase = Some(phase);
            (self.emit)(Record::Phase(Phase { phase, at_ns }));
        }
    }

    /// Hands out the intervals that are complete; at the end, also those that never will be.
    fn flush(&mut self, all: bool) {
        while let Some((index, parts)) = self.parts.first_key_value() {
            let index = *index;
            if !all && parts.len() < self.shards {
                return;
            }
            let parts = self.parts.remove(&index).unwrap_or_default();
            self.interval(index, parts);
        }
    }

    fn interval(&mut self, index: u64, parts: Vec<ShardInterval>) {
        let mut merged = Merged {
            index,
            phase: parts[0].phase,
            start_ns: parts.iter().map(|part| part.start_ns).min().unwrap_or(0),
            end_ns: parts.iter().map(|part| part.end_ns).max().unwrap_or(0),
            clients: parts.iter().map(|part| part.clients).sum(),
            busy: parts.iter().map(|part| part.busy).sum(),
            recorder: Recorder::default(),
        };
        let mut totals = None;
        for (part, spare) in parts.into_iter().zip(&self.spares) {
            merged.recorder.merge(&part.recorder);
            match part.totals {
                Some(clients) if part.last => self.last_totals.extend(clients),
                Some(clients) => totals.get_or_insert_with(Vec::new).extend(clients),
                None => {}
            }
            let mut recorder = part.recorder;
            recorder.clear();
            let _ = spare.send(recorder);
        }
        let cpu = self.cpu_since(merged.end_ns);
        self.total.merge(&merged.recorder);
        if merged.phase == PhaseName::Measure {
            self.window.merge(&merged.recorder);
            self.window.backlog = merged.recorder.backlog;
            let start = self.window_ns.map_or(merged.start_ns, |(start, _)| start);
            self.window_ns = Some((start, merged.end_ns));
            self.clients = self.clients.max(merged.clients);
        }
        let at_ns = merged.end_ns;
        (self.emit)(Record::Interval(Box::new(merged.record(cpu, &self.control.labels().names()))));
        if let Some(clients) = totals {
            self.client_totals(at_ns, false, clients);
        }
    }

    fn client_totals(&mut self, at_ns: u64, last: bool, mut clients: Vec<ClientTotal>) {
        clients.sort_unstable_by_key(|client| client.number);
        (self.emit)(Record::Clients(Clients { at_ns, last, clients }));
    }

    /// CPU time up to the sample nearest to this interval's end, less what came before.
    fn cpu_since(&mut self, end_ns: u64) -> CpuTime {
        let sample = match self.boundaries.get(&end_ns) {
            Some((cpu, _)) => *cpu,
            None => self.probe.cpu(),
        };
        let used = CpuTime {
            user_us: sample.user_us.saturating_sub(self.cpu_before.user_us),
            system_us: sample.system_us.saturating_sub(self.cpu_before.system_us),
        };
        self.cpu_before = sample;
        used
    }

    fn summary(&mut self) {
        let Some((start_ns, end_ns)) = self.window_ns else { return };
        let at = |ns| self.boundaries.get(&ns).copied();
        let (rss_now, rss_peak_kb) = self.probe.rss_kb();
        let (cpu_start, _) = at(start_ns).unwrap_or_default();
        let (cpu_end, rss_kb) = at(end_ns).unwrap_or((self.cpu_before, rss_now));
        (self.emit)(Record::Summary(Box::new(Summary {
            interrupted: self.interrupted || self.failure.is_some(),
            start_ns,
            end_ns,
            measured: counters(&self.window.counters),
            total: counters(&self.total.counters),
            errors: self.window.errors.clone(),
            cpu: CpuTime {
                user_us: cpu_end.user_us.saturating_sub(cpu_start.user_us),
                system_us: cpu_end.system_us.saturating_sub(cpu_start.system_us),
            },
            // The kernel's own peak lags behind a little.
            rss_peak_kb: rss_peak_kb.max(rss_kb),
            rss_kb,
            clients: self.clients,
            histograms: histograms(&self.window, &self.control.labels().names()),
        })));
    }
}
