//! The script host: workloads in Lua, run by many clients on one thread.
//!
//! A client is a coroutine. What looks like a blocking call in a script (`con:query`,
//! `stmt:execute`, `drv:connect`, a sleep) hands bytes to the reactor and suspends the coroutine;
//! the reply resumes it. Each client sees its own globals, over code that all clients of a shard
//! share.
//!
//! [`ScriptWorkload`] implements [`engine::Workload`] over the connections of `runtime`. Each shard
//! has its own Lua state, which only the shard's thread uses.

mod ahead;
mod api;
mod arena;
mod config;
mod console;
mod documents;
mod event_path;
mod host;
mod inspect;
mod interrupt;
mod interrupter;
mod layout;
mod lines;
mod lua;
mod random;
mod settings;
mod source;
mod statement_path;
mod volumes;
mod workload;

pub use config::{CommandContext, Config, ConfigError, Figures, GroupConfig, distributions};
pub use console::{Console, Facts, OptionFacts};
pub use random::{Distributions, Random};
pub use runtime::{FailedConnection, FailedStatement, POLICY_HINT, SentAs, Telling};
pub use settings::NOT_TEXT;
pub use volumes::volumes;
pub use workload::ScriptWorkload;

/// LuaJIT's version, as it reports it.
pub fn luajit_version() -> String {
    host::luajit_version()
}
