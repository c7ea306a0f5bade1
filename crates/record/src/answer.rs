//! What the engine would do with a spec: the answer of the verb `plan`.

use serde::{Deserialize, Serialize};

/// What a run of a spec takes on this machine, by the rules that `run` follows.
///
/// Of a spec without a `part` it is the whole run, over as many processes as it takes; of one with
/// a `part`, the same run as that process sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnginePlan {
    /// [`crate::SCHEMA`].
    pub schema: u32,
    /// The engine's version.
    pub engine_version: String,
    /// Clients of all processes.
    pub clients: u32,
    /// Engine processes: as asked for, or as few as may open all their files.
    pub processes: u32,
    /// Threads with clients in each process.
    pub shards: u32,
    /// Each shard stays on one processor; `false`: the kernel places them.
    pub shards_bound: bool,
    /// The event loop: `io_uring`, `epoll`, or `none` (in-process drivers).
    pub reactor: String,
    /// Threads, each with a connection, that carry the rows of bulk inserts, at most; 0 in the
    /// command `run`.
    pub loaders: u32,
    /// Threads of each shard that make connections.
    pub connectors: u32,
    /// Connections made at the same time, at most, over all processes.
    pub connecting: u32,
    /// Connections in all: one a client, and the loaders'. A script may open more by itself.
    pub connections: u32,
    /// Open files of the process that needs most, with room for scripts and libraries.
    pub open_files: u64,
    /// How many a process may open; `None`: no limit.
    pub open_files_limit: Option<u64>,
    /// Open files of all processes together.
    pub open_files_of_all: u64,
    /// Resident memory that one more client takes, bytes: an estimate for the bundled scripts,
    /// without TLS.
    pub memory_bytes_per_client: u64,
    /// Resident memory of all processes, bytes: an estimate likewise.
    pub memory_bytes: u64,
    /// The whole target is on this machine, so that server and clients share its processors.
    pub is_local: bool,
    /// Pauses between attempts to make a lost connection anew.
    pub back_off: BackOff,
}

/// Pauses that double from the first to the longest; each is shortened or lengthened by up to a
/// quarter, at random.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BackOff {
    /// The first pause, milliseconds.
    pub first_ms: u64,
    /// The longest, milliseconds.
    pub longest_ms: u64,
    /// The run ends when a connection has been lost for so long, seconds.
    pub give_up_s: f64,
}
