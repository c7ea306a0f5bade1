//! The connection runtime: clients and their connections on one thread, whatever runs the clients.
//!
//! A workload asks for things on behalf of a client ([`Runtime::query`], [`Runtime::connect`],
//! [`Runtime::next_turn`], …) and is told at once ([`Conclusion`]) or later, by
//! [`Runtime::next`], which client goes on and why ([`Woken`]). In between lie sockets, replies,
//! lost connections, pipelines, error policies and loaders. It knows SQL as text and no language:
//! `script` runs Lua on it, and a workload in Rust needs about thirty lines (`tests/workload.rs`).
//!
//! No function calls the workload back, so nothing is borrowed twice.

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
mod loaders;
mod network;
mod outcome;
mod pipeline;
mod policy;
mod reconnect;
mod rows;
mod runtime;
mod settings;
mod sizing;
mod slot;
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
pub use runtime::{Runtime, fault};
pub use settings::Settings;
pub use sizing::{Machine, cores, plan, shards};
