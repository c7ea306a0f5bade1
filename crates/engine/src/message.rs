//! What shards send to the coordinator.

use std::sync::Arc;
use std::time::Duration;

use measure::Recorder;
use record::{ClientTotal, FatalKind, PhaseName};

/// Why a run can't go on.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Whose fault.
    pub kind: FatalKind,
    /// What failed, on what, what was expected.
    pub message: String,
    /// What to try.
    pub hint: Option<String>,
    /// Where in the script.
    pub traceback: Option<String>,
}

/// A shard's part of an interval.
#[derive(Debug)]
pub struct ShardInterval {
    /// From 0; the same number means the same stretch of time on every shard.
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
    /// Clients that were in an event or on their way to one.
    pub busy: u32,
    /// What each client did, where the plan asks for it at this interval's end.
    pub totals: Option<Vec<ClientTotal>>,
    /// The shard sends no more intervals.
    pub last: bool,
    /// What was recorded.
    pub recorder: Box<Recorder>,
}

/// Ends what a shard is busy with when it does not return by itself.
pub trait Interrupt: std::fmt::Debug + Send {
    /// Called by another thread. A shard that is neither given up nor late
    /// ([`crate::Load::is_late`]) goes on. `waited`: time since events may no longer begin.
    fn interrupt(&self, waited: Duration);
}

/// What shards tell the coordinator.
#[derive(Debug)]
pub enum Message {
    /// How the shard is reached when it does not listen.
    Reachable(Box<dyn Interrupt>),
    /// What had to come before all clients is done.
    Initialised,
    /// So many more clients are connected and ready.
    ClientsReady(u32),
    /// All of this shard's clients are ready.
    Ready,
    /// Rows loaded since the last message, and into what, if that has a name.
    RowsLoaded(u64, Option<Arc<str>>),
    /// An interval has ended.
    Interval(ShardInterval),
    /// All of this shard's clients have ended.
    Idle,
    /// The run can't go on.
    Failed(Failure),
    /// A line the script printed.
    Output(String),
    /// Something the reader of the numbers should know: code, message, hint.
    Warning(&'static str, String, Option<String>),
    /// The shard has sent its last interval.
    Closed,
    /// What had to come after all clients is done; the shard is gone.
    Finished,
}
