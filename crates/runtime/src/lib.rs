//! The connection runtime: clients and their connections on one thread, whatever runs the clients.
//!
//! A workload makes requests for a client ([`Runtime::query`], [`Runtime::connect`],
//! [`Runtime::next_event`], …). Each returns a [`Conclusion`] at once, or [`Runtime::next`] later
//! returns which client continues and why ([`Woken`]). The runtime handles sockets, replies, lost
//! connections, pipelines, error policies and loaders. It treats SQL as text and knows no scripting
//! language: `script` runs Lua on it, and a workload in Rust takes about thirty lines
//! (`tests/workload.rs`).
//!
//! No function calls the workload back, so nothing is borrowed twice.

mod ahead;
mod ask;
mod batch;
mod bulk;
mod client;
mod conclude;
mod connector;
mod drive;
mod event_loop;
mod events;
mod fleet;
mod given_up;
mod lending;
mod loaders;
mod network;
mod outcome;
mod pipeline;
mod policy;
mod polled;
mod reconnect;
mod rows;
mod runtime;
mod settings;
mod shard_count;
mod share;
mod sizing;
mod slot;
mod slots;
mod tell;
mod telling;
#[cfg(test)]
mod tests;

pub use bulk::Row;
pub use client::Waiting;
pub use conclude::POLICY_HINT;
pub use drive::{Wake, Woken};
pub use event_loop::reactor_name;
pub use events::{Restart, Step};
pub use outcome::{Conclusion, Failed};
pub use pipeline::DEPTH_MAX;
pub use policy::Decision;
pub use reactor::{CACHE_LINE, cache_lines, preload, preload_memory};
pub use runtime::{Runtime, fault};
pub use settings::Settings;
pub use shard_count::{shards, shards_bound};
pub use sizing::{Machine, blocks, cores, plan};
pub use telling::{FailedConnection, FailedStatement, SentAs, Telling};
