//! Messages from shards to the coordinator.

use std::sync::Arc;
use std::time::Duration;

use measure::Recorder;
use record::{ClientTotal, CpuTime, FatalKind, PhaseName};

/// Why a run can't go on.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Whose fault it is.
    pub kind: FatalKind,
    /// What failed, where, and what was expected.
    pub message: String,
    /// What to try.
    pub hint: Option<String>,
    /// Where in the script.
    pub traceback: Option<String>,
}

/// A shard's part of an interval.
#[derive(Debug)]
pub struct ShardInterval {
    /// Whose part it is; the recorder goes back to it.
    pub shard: u32,
    /// From 0; a number means the same interval on every shard.
    pub index: u64,
    /// The phase it lies in.
    pub phase: PhaseName,
    /// The turn it belongs to, in a run by turns.
    pub turn: Option<u32>,
    /// Beginning, on the run's clock.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Clients alive at the end.
    pub clients: u32,
    /// Clients executing an event or about to.
    pub busy: u32,
    /// CPU time of the process by its end, if this shard was the first to close it.
    pub cpu: Option<CpuTime>,
    /// Totals of each client, if the plan asks for them at this interval's end.
    pub totals: Option<Vec<ClientTotal>>,
    /// The number of events is limited, and none is left here that counts: when the last one ended;
    /// 0: there was none.
    pub rested_ns: Option<u64>,
    /// The shard's load is over.
    pub last: bool,
    /// What was recorded; `None`: nothing.
    pub recorder: Option<Box<Recorder>>,
}

/// Interrupts a shard that does not return by itself.
pub trait Interrupt: std::fmt::Debug + Send {
    /// Called by another thread. A shard that is neither abandoned nor late
    /// ([`crate::ShardView::is_late`]) continues. `waited`: time since events must not begin any
    /// more.
    fn interrupt(&self, waited: Duration);
}

/// A message from a shard to the coordinator.
#[derive(Debug)]
pub enum Message {
    /// How to interrupt the shard.
    Reachable(Box<dyn Interrupt>),
    /// The hooks before all clients have run.
    Initialised,
    /// This many more clients are connected and ready.
    ClientsReady(u32),
    /// All of this shard's clients are ready.
    Ready,
    /// Rows loaded since the last message, and the table, if known.
    RowsLoaded(u64, Option<Arc<str>>),
    /// An interval has ended.
    Interval(ShardInterval),
    /// All of this shard's clients have ended.
    Idle,
    /// The run can't go on.
    Failed(Failure),
    /// A function that follows the measurement failed, by its name: the results stand.
    CallbackFailed(&'static str, Failure),
    /// A line the script printed.
    Output(String),
    /// Something the reader of the numbers should know: code, message, hint.
    Warning(&'static str, String, Option<String>),
    /// The shard has sent its last interval.
    Closed,
    /// The hooks after all clients have run; the shard exits.
    Finished,
}
