//! The script host: workloads in Lua, run by many clients on one thread.
//!
//! A client is a coroutine. What looks like a blocking call in a script (`con:query`,
//! `stmt:execute`, `drv:connect`, a sleep) hands bytes to the reactor and suspends the coroutine;
//! the reply resumes it. Each client sees its own globals, over code that all clients of a shard
//! share.
//!
//! [`ScriptWorkload`] implements [`engine::Workload`] over sessions of `driver` and sockets of
//! `reactor`. Each shard has its own Lua state, and nothing in it leaves the shard's thread.

mod api;
mod arena;
mod client;
mod conclude;
mod config;
mod connector;
mod console;
mod fleet;
mod host;
mod inspect;
mod loaders;
mod lua;
mod network;
mod pipeline;
mod policy;
mod random;
mod reconnect;
mod settings;
mod slot;
mod source;
mod telling;
mod workload;

pub use conclude::POLICY_HINT;
pub use config::{Config, ConfigError, Figures, GroupConfig, Surroundings, distributions};
pub use console::{Console, Facts, OptionFacts};
pub use random::{Distributions, Random};
pub use settings::NOT_TEXT;
pub use workload::ScriptWorkload;

/// The version of the script host, as it names itself.
pub fn luajit_version() -> String {
    host::luajit_version()
}
