//! The record stream: measurements, in the order in which they become known.
//!
//! Times named `_ns` count from the engine's start on the monotonic clock, unless named `unix`.

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
    /// Progress of a long phase (connecting, loading).
    Progress(Progress),
    /// All clients are ready; only if the spec asks to wait for the start, or for turns.
    Ready(Ready),
    /// A line the script printed.
    Output(Output),
    /// Rows that bulk inserts have stored in a table, once per table: before the summary.
    Loaded(Loaded),
    /// One reporting interval, all shards merged.
    Interval(Box<Interval>),
    /// A turn is over and nothing is in flight; only where the spec asks for turns.
    Turn(Box<Turn>),
    /// Totals of each client, if requested.
    Clients(Clients),
    /// Something a reader of the figures should know.
    Warning(Warning),
    /// The run can't continue. If anything was measured, a summary still follows.
    Fatal(Fatal),
    /// Always last, if anything was measured.
    Summary(Box<Summary>),
}

/// The engine and its configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`crate::SCHEMA`].
    pub schema: u32,
    /// The engine's version.
    pub engine_version: String,
    /// LuaJIT's version.
    pub luajit_version: String,
    /// `io_uring`, `epoll`, or `none` (in-process drivers).
    pub reactor: String,
    /// The kernel's scheduling policy of the shards: `batch`, `other` (the kernel's default),
    /// `idle`, `fifo`, `round-robin` or `deadline`.
    pub scheduling: String,
    /// The source of times: `processor` (its counter, calibrated by the kernel's clock) or
    /// `kernel`.
    pub clock: String,
    /// Number of shards.
    pub shards: u32,
    /// Each shard stays on one processor.
    pub shards_bound: bool,
    /// Process id.
    pub pid: u32,
    /// Wall clock at the origin of all `_ns` times, nanoseconds since 1970.
    pub start_unix_ns: u64,
    /// The effective seed.
    pub seed: u64,
}

/// The phases of a run, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseName {
    /// Connections are opened and `thread_init` runs.
    Connect,
    /// Load that is not measured.
    WarmUp,
    /// Load that is measured.
    Measure,
    /// Events in flight finish.
    Drain,
    /// Between two turns: nothing is in flight and no event is due.
    Pause,
    /// The load is over, and the hooks after all clients run (`done`, with a script's own checks).
    Finish,
}

impl PhaseName {
    /// Whether events may begin in this phase.
    pub fn starts_events(self) -> bool {
        matches!(self, Self::WarmUp | Self::Measure)
    }
}

/// The run enters a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// The phase.
    pub phase: PhaseName,
    /// Its start.
    pub at_ns: u64,
}

/// Progress of a long phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// `connections` or `rows`.
    pub what: String,
    /// Done so far.
    pub done: u64,
    /// Total; 0 if unknown.
    pub total: u64,
    /// When.
    pub at_ns: u64,
}

/// All clients are ready, and the engine waits for an order to begin (see [`crate::Order`]).
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

/// Rows that bulk inserts have stored in a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loaded {
    /// Its name, as the script wrote it.
    pub table: String,
    /// Rows sent and, according to the server, stored.
    pub rows: u64,
}

/// Counters over a stretch of time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Events started. Over a whole run: `events` + `unfinished` + `uncounted`.
    pub begun: u64,
    /// Events completed.
    pub events: u64,
    /// Events that ended but are not counted: excluded by the script, or beyond the spec's
    /// `events`.
    pub uncounted: u64,
    /// Statements that returned a result set.
    pub reads: u64,
    /// Statements that changed rows.
    pub writes: u64,
    /// All other statements.
    pub other: u64,
    /// Statements that failed, whatever the policy decided.
    pub errors: u64,
    /// Events restarted.
    pub restarts: u64,
    /// Events started and abandoned: the load ended before they did.
    pub unfinished: u64,
    /// Reconnects.
    pub reconnects: u64,
    /// Requests that a node of a cluster sent on to another one: they are no statements, and no
    /// errors.
    pub redirects: u64,
    /// Bytes given to the sockets.
    pub bytes_sent: u64,
    /// Bytes received from the sockets.
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

/// The subject of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Whole events; the label is the group's name, or `group/name` if the script labels its
    /// events.
    Event,
    /// Statements; the label is their class: `read`, `write`, `other`.
    Statement,
    /// Delays by the generator: `lag` of events, `queued` of statements that were ready and not yet
    /// given to the kernel, `unread` of replies (an upper bound).
    Lag,
    /// Times until failure: the label is `statement` for statements that the server refused or
    /// never answered, `event` for abandoned events.
    Failed,
}

/// Which of the three times of an event or statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeKind {
    /// Start minus intended start. A statement starts as late as its event, and may then lie
    /// queued.
    Wait,
    /// End minus start.
    Service,
    /// Wait plus service. Without intended starts it equals service, and only service is recorded.
    Response,
}

/// One distribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistogramRecord {
    /// Its subject.
    pub subject: Subject,
    /// The label within the subject.
    pub label: String,
    /// The kind of time.
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
    /// Clients that were executing an event at the end, or about to.
    pub busy: u32,
    /// Its counters.
    pub counters: Counters,
    /// Errors by code (SQLSTATE, vendor number or `connection`).
    pub errors: BTreeMap<String, u64>,
    /// Intended events not yet started at the end (open loop).
    pub backlog: u64,
    /// The engine's CPU time in this interval.
    pub cpu: CpuTime,
    /// Distributions; empty ones are left out.
    pub histograms: Vec<HistogramRecord>,
}

/// One turn of load: a lead-in that is discarded, a window, and the drain of events in flight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// From 0, in the order of their orders.
    pub index: u32,
    /// Beginning of the lead-in.
    pub begin_ns: u64,
    /// Beginning of the window.
    pub measure_ns: u64,
    /// End of the window: no event begins after it.
    pub end_ns: u64,
    /// End of the last event in flight.
    pub drained_ns: u64,
    /// `true` if the run ended before the turn did; the window is then shorter than ordered.
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
    /// Events in the distributions that had not ended (`backlog` in the window, and abandoned
    /// events). They are recorded with their time so far, which is less than their true time.
    pub censored: u64,
    /// CPU time in the window.
    pub cpu: CpuTime,
    /// CPU time in the lead-in, the window and the drain.
    pub total_cpu: CpuTime,
    /// Distributions: of events intended to start in the window, whenever they ended, and of
    /// statements that ended in it.
    pub histograms: Vec<HistogramRecord>,
}

/// Totals of each client since the last such record, or since the start of the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Clients {
    /// End of the period.
    pub at_ns: u64,
    /// The load is over: no more events follow.
    pub last: bool,
    /// By client number.
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
    /// Totals of a client without events.
    pub fn new(number: u32) -> Self {
        Self { number, ..Self::default() }
    }
}

/// Something a reader of the figures should know.
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

/// The kind of a fatal error; each has its own exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FatalKind {
    /// The spec, an option or a file name: exit code 2.
    Usage,
    /// The script: exit code 3.
    Script,
    /// The server can't be reached or refuses the connection: exit code 4.
    Connection,
    /// The server's error to a statement stopped the run: exit code 5.
    Statement,
    /// This machine lacks something: exit code 6.
    Environment,
    /// A bug of ours: exit code 70.
    Internal,
}

/// The run can't continue, or a function that follows it failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fatal {
    /// The kind.
    pub kind: FatalKind,
    /// What failed, where, and what was expected.
    pub message: String,
    /// What to try.
    #[serde(default)]
    pub hint: Option<String>,
    /// Where in the script.
    #[serde(default)]
    pub traceback: Option<String>,
    /// The function of the script's that failed after the measurement: `thread_done`, `done` or a
    /// report hook. It costs its own output, not the results.
    #[serde(default)]
    pub callback: Option<String>,
}

/// The whole measured window, and totals of the run around it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// `true` if a signal or a fatal error cut the run short.
    pub interrupted: bool,
    /// Start of the window; with turns, of the first turn's.
    pub start_ns: u64,
    /// End of the window; with turns, of the last turn's. A window bounded by a number of events
    /// ends with the last of them.
    pub end_ns: u64,
    /// Length of the window; with turns, of all windows together.
    pub measured_ns: u64,
    /// Counted in the window.
    pub measured: Counters,
    /// Counted over the whole run: connect, warm-up, window, drain and the hooks after it. These
    /// match the server's own counters.
    pub total: Counters,
    /// Errors in the window, by code.
    pub errors: BTreeMap<String, u64>,
    /// Events intended but not started by the end of the window (open loop); with turns, over all
    /// windows.
    pub backlog: u64,
    /// Events in the distributions that had not ended: in a closed loop those given up after the
    /// window, in the open loop those in flight or in the backlog at its end. They are recorded
    /// with their time so far, which is less than their true time.
    pub censored: u64,
    /// CPU time in the window.
    pub cpu: CpuTime,
    /// Highest resident memory of the process, KiB.
    pub rss_peak_kb: u64,
    /// Resident memory at the end of the window, KiB.
    pub rss_kb: u64,
    /// Clients that ran.
    pub clients: u32,
    /// Distributions over the window: of events that ended in it or were in flight at its end; in
    /// the open loop and in turns, of events intended to start in it, whenever they ended.
    pub histograms: Vec<HistogramRecord>,
}
