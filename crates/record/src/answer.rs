//! The output of the engine's `plan`: what it would do with a spec.

use serde::{Deserialize, Serialize};

/// What a run of a spec takes on this machine, by the rules that `run` follows.
///
/// Without a `part` in the spec it describes the whole run, over as many processes as needed; with
/// a `part`, the same run as seen by that process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnginePlan {
    /// [`crate::SCHEMA`].
    pub schema: u32,
    /// The engine's version.
    pub engine_version: String,
    /// Clients of all processes.
    pub clients: u32,
    /// Engine processes: as requested, or as few as may open all their files.
    pub processes: u32,
    /// Threads with clients in each process.
    pub shards: u32,
    /// Each shard stays on one processor; `false`: the kernel places them.
    pub shards_bound: bool,
    /// The event loop: `io_uring`, `epoll`, or `none` (in-process drivers).
    pub reactor: String,
    /// Loader threads of all processes, each with a connection, at most; 0 in the command `run`.
    pub loaders: u32,
    /// Connecting threads per shard.
    pub connectors: u32,
    /// Connections made at the same time, at most, over all processes.
    pub connecting: u32,
    /// Connections in total: one per client, and the loaders'. A script may open more.
    pub connections: u32,
    /// Open files of the process that needs most, including room for scripts and libraries.
    pub open_files: u64,
    /// Open files allowed per process; `None`: no limit.
    pub open_files_limit: Option<u64>,
    /// Open files of all processes together.
    pub open_files_of_all: u64,
    /// Resident memory per additional client, bytes: an estimate for the bundled scripts, without
    /// TLS.
    pub memory_bytes_per_client: u64,
    /// Resident memory of all processes, bytes: also an estimate.
    pub memory_bytes: u64,
    /// The whole target is on this machine, so server and clients share its processors.
    pub is_local: bool,
    /// Pauses between attempts to reconnect.
    pub back_off: BackOff,
    /// What each group's script says of its data; `None`: nothing. Empty if scripts were not read.
    pub volumes: Vec<Option<Volume>>,
}

/// What a script says of its data and statements (`dbdyno.volume`), with the options of its group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Volume {
    /// Rows that `prepare` loads; `None`: the script does not say.
    pub rows: Option<u64>,
    /// Bytes of its tables, indexes included; `None`: the script does not say.
    pub bytes: Option<u64>,
    /// By how many bytes an event lets the data grow.
    pub event_bytes: f64,
    /// How long an event takes, seconds over all clients; `None`: little, as usual.
    pub event_s: Option<f64>,
    /// Statements that each client prepares.
    pub statements: u64,
}

/// Pauses that double from the first to the longest; each varies at random by up to a quarter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BackOff {
    /// The first pause, milliseconds.
    pub first_ms: u64,
    /// The longest, milliseconds.
    pub longest_ms: u64,
    /// How long a connection may be lost before the run ends, seconds.
    pub give_up_s: f64,
}
