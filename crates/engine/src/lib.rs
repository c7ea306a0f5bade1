//! The load: who may start an event when, what is counted where, and when it all ends.
//!
//! A run consists of a few shards, each a thread that owns everything it writes: [`ShardView`] is
//! what it sees of the run (clock, phase, turns, recorder), and a [`Workload`] is what it drives.
//! The coordinator moves the shards through their stages, merges their intervals and emits records.
//! Neither knows SQL, Lua or sockets: anything that has events can be measured.
#![forbid(unsafe_code)]

mod control;
mod coordinate;
mod labels;
mod measured;
mod message;
mod plan;
mod report;
mod shard;
mod shard_view;
mod timeline;

pub use control::{Control, Stage, System};
pub use coordinate::{Outcome, Probe, coordinate};
pub use labels::LABELS_MAX;
pub use message::{Failure, Interrupt, Message, ShardInterval};
pub use plan::{Group, Plan};
pub use shard::{Workload, run_shard};
pub use shard_view::{Go, OpenEvent, ShardView};
