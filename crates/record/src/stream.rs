//! What was measured: records in the order in which they are known.
//!
//! Times named `_ns` count from the engine's start on the monotonic clock, unless they say `unix`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One line of the stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record {
    /// Always first.
    Hello(Hello),
    /// The run enters a phase.
    Phase(Phase),
    /// How far a long phase has come (connecting, loading).
    Progress(Progress),
    /// All clients are ready; only where the spec says to wait for the beginning, or for turns.
    Ready(Ready),
    /// A line the script printed.
    Output(Output),
    /// What bulk inserts have stored in a table, once for each table: before the summary.
    Loaded(Loaded),
    /// One reporting interval, all shards merged.
    Interval(Box<Interval>),
    /// A turn is over and nothing is in flight; only where the spec asks for turns.
    Turn(Box<Turn>),
    /// What each client did, where that was asked for.
    Clients(Clients),
    /// Something the reader of the numbers should know.
    Warning(Warning),
    /// The run can't go on. A summary of what was measured still follows if anything was.
    Fatal(Fatal),
    /// Always last, if the run got as far as measuring.
    Summary(Box<Summary>),
}

/// Who measures, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`crate::SCHEMA`].
    pub schema: u32,
    /// The engine's version.
    pub engine_version: String,
    /// The script host's version.
    pub luajit_version: String,
    /// `io_uring`, `epoll`, or `none` (in-process drivers).
    pub reactor: String,
    /// The kernel's scheduling policy of the shards: `batch`, `other` (the kernel's default),
    /// `idle`, `fifo`, `round-robin` or `deadline`.
    pub scheduling: String,
    /// Where times come from: `processor` (its counter, by the kernel's clock) or `kernel`.
    pub clock: String,
    /// Number of shards.
    pub shards: u32,
    /// Each shard stays on one processor.
    pub shards_bound: bool,
    /// Process id.
    pub pid: u32,
    /// Wall clock at the origin of all `_ns` times, nanoseconds since 1970.
    pub start_unix_ns: u64,
    /// The seed in force.
    pub seed: u64,
}

/// The phases of a run, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseName {
    /// Connections are made and `thread_init` runs.
    Connect,
    /// Load, not measured.
    WarmUp,
    /// Load, measured.
    Measure,
    /// Events in flight finish.
    Drain,
    /// Between two turns: nothing is in flight and no event is intended.
    Pause,
}

impl PhaseName {
    /// Whether events may begin in it.
    pub fn starts_events(self) -> bool {
        matches!(self, Self::WarmUp | Self::Measure)
    }
}

/// The run enters a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Which.
    pub phase: PhaseName,
    /// When.
    pub at_ns: u64,
}

/// How far a long phase has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// `connections` or `rows`.
    pub what: String,
    /// So many are done.
    pub done: u64,
    /// Of so many; 0 where unknown.
    pub total: u64,
    /// When.
    pub at_ns: u64,
}

/// All clients are ready, and the engine waits to be told when to begin (see [`crate::Order`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// When.
    pub at_ns: u64,
}

/// A line the script printed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// Without its line feed.
    pub text: String,
}

/// What bulk inserts have stored in a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loaded {
    /// Its name, as the script wrote it.
    pub table: String,
    /// Rows sent and, by the server's word, stored.
    pub rows: u64,
}

/// What was counted in a stretch of time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Events begun. Over a whole run: `events` + `unfinished` + `uncounted`.
    pub begun: u64,
    /// Events completed.
    pub events: u64,
    /// Events that ended and are not to be counted: the script says so, or they are more than the
    /// spec's `events`.
    pub uncounted: u64,
    /// Statements that returned a result set.
    pub reads: u64,
    /// Statements that changed rows.
    pub writes: u64,
    /// All other statements.
    pub other: u64,
    /// Statements that failed, whatever the policy made of it.
    pub errors: u64,
    /// Events begun again.
    pub restarts: u64,
    /// Events begun and given up: the load ended before they did.
    pub unfinished: u64,
    /// Connections made anew.
    pub reconnects: u64,
    /// Bytes handed to the sockets.
    pub bytes_sent: u64,
    /// Bytes got from the sockets.
    pub bytes_received: u64,
}

/// CPU time of the engine's process, microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    /// In user space.
    pub user_us: u64,
    /// In the kernel.
    pub system_us: u64,
}

/// What a histogram is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Whole events; the label is the group's name, or `group/name` where the script names its
    /// events.
    Event,
    /// Statements; the label is their class: `read`, `write`, `other`.
    Statement,
    /// The generator's own lateness: `lag` of events, `queued` of statements that were ready and
    /// not yet given to the kernel, `unread` of replies (at most).
    Lag,
    /// What failed, until it did: the label is `statement` for statements that the server refused
    /// or never answered, `event` for events given up.
    Failed,
}

/// Which of the three times of an event or statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeKind {
    /// Start minus intended start. A statement is as late as its event, and then lies queued.
    Wait,
    /// End minus start.
    Service,
    /// Wait and service together. Without intended starts it equals service, and service alone is
    /// recorded.
    Response,
}

/// One distribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistogramRecord {
    /// What it is about.
    pub subject: Subject,
    /// Which one of those.
    pub label: String,
    /// Which time.
    pub time: TimeKind,
    /// Values recorded.
    pub count: u64,
    /// Values above the histogram's range (1 hour), counted as one hour.
    pub out_of_range: u64,
    /// HdrHistogram V2, zlib-compressed, base64; values in nanoseconds, 3 significant digits.
    pub hdr: String,
}

/// One reporting interval, all shards merged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// From 0, over all phases.
    pub index: u64,
    /// The phase it lies in; an interval never spans two.
    pub phase: PhaseName,
    /// The turn it belongs to; none in `connect`, in a pause, and in a run without turns.
    pub turn: Option<u32>,
    /// Beginning.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Clients alive at the end.
    pub clients: u32,
    /// Clients that were in an event at the end, or on their way to one.
    pub busy: u32,
    /// What was counted.
    pub counters: Counters,
    /// Errors by code (SQLSTATE, vendor number or `connection`).
    pub errors: BTreeMap<String, u64>,
    /// Intended events not yet started at the end (open loop).
    pub backlog: u64,
    /// The engine's CPU time in this interval.
    pub cpu: CpuTime,
    /// Distributions; those without a value are left out.
    pub histograms: Vec<HistogramRecord>,
}

/// One turn of load: a lead-in that is thrown away, a window, and the end of what was in flight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// From 0, in the order in which they were asked for.
    pub index: u32,
    /// Beginning of the lead-in.
    pub begin_ns: u64,
    /// Beginning of the window.
    pub measure_ns: u64,
    /// End of the window: no event begins from here on.
    pub end_ns: u64,
    /// The last event in flight has ended.
    pub drained_ns: u64,
    /// `true` if the run ended before the turn did; the window is then shorter than asked for.
    pub interrupted: bool,
    /// Clients that ran.
    pub clients: u32,
    /// Counted in the window.
    pub measured: Counters,
    /// Counted in the lead-in, the window and the drain.
    pub total: Counters,
    /// Errors in the window, by code.
    pub errors: BTreeMap<String, u64>,
    /// Events intended in the turn and never started (open loop).
    pub backlog: u64,
    /// Of the distributions of events: those that never ended (`backlog` in the window, and events
    /// given up). They stand with the time they had taken by then, which is less than theirs.
    pub censored: u64,
    /// CPU time in the window.
    pub cpu: CpuTime,
    /// CPU time in the lead-in, the window and the drain.
    pub total_cpu: CpuTime,
    /// Distributions: of events, those that were to begin in the window, whenever they ended; of
    /// statements, those that ended in it.
    pub histograms: Vec<HistogramRecord>,
}

/// What each client did since the last such record, or since the window began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Clients {
    /// Up to when.
    pub at_ns: u64,
    /// The load is over: no more events follow.
    pub last: bool,
    /// By number.
    pub clients: Vec<ClientTotal>,
}

/// One client's events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientTotal {
    /// Its number within the run, from 0.
    pub number: u32,
    /// Events completed.
    pub events: u64,
    /// Sum of their response times.
    pub busy_ns: u64,
    /// The shortest response time; 0 without events.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// End of the last one; 0 without events.
    pub last_ns: u64,
}

impl ClientTotal {
    /// A client that has done nothing yet.
    pub fn new(number: u32) -> Self {
        Self { number, ..Self::default() }
    }
}

/// Something the reader of the numbers should know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable name, e.g. `client-bound`.
    pub code: String,
    /// For people.
    pub message: String,
    /// What to try.
    #[serde(default)]
    pub hint: Option<String>,
}

/// Whose fault a fatal error is; each has its own exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FatalKind {
    /// The spec, an option or a file name: exit code 2.
    Usage,
    /// The script: exit code 3.
    Script,
    /// The server can't be reached or refuses us: exit code 4.
    Connection,
    /// The server's answer to a statement stopped the run: exit code 5.
    Statement,
    /// This machine lacks something: exit code 6.
    Environment,
    /// Ours: exit code 70.
    Internal,
}

/// The run can't go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fatal {
    /// Whose fault.
    pub kind: FatalKind,
    /// What failed, on what, what was expected.
    pub message: String,
    /// What to try.
    #[serde(default)]
    pub hint: Option<String>,
    /// Where in the script.
    #[serde(default)]
    pub traceback: Option<String>,
}

/// The measured window as a whole, and what lies around it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// `true` if a signal or a fatal error cut the run short.
    pub interrupted: bool,
    /// Beginning of the window, of the first turn's where there are turns.
    pub start_ns: u64,
    /// End of the window, of the last turn's where there are turns.
    pub end_ns: u64,
    /// Length of the window; of all turns' windows together.
    pub measured_ns: u64,
    /// Counted in the window.
    pub measured: Counters,
    /// Counted over the whole run: connect, warm-up, window and drain. These equal the server's
    /// own.
    pub total: Counters,
    /// Errors in the window, by code.
    pub errors: BTreeMap<String, u64>,
    /// Events intended by the end of the window and not started then (open loop); of all turns'
    /// windows together.
    pub backlog: u64,
    /// Of the distributions of events: those that had not ended when the window had (in the open
    /// loop: under way, or of the backlog). They stand with the time they had taken by then, which
    /// is less than theirs.
    pub censored: u64,
    /// CPU time in the window.
    pub cpu: CpuTime,
    /// Highest resident memory of the process, KiB.
    pub rss_peak_kb: u64,
    /// Resident memory at the end of the window, KiB.
    pub rss_kb: u64,
    /// Clients that ran.
    pub clients: u32,
    /// Distributions over the window: of events, those that ended in it; in the open loop and in
    /// turns, those that were to begin in it, whenever they ended.
    pub histograms: Vec<HistogramRecord>,
}
