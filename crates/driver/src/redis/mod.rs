//! Sessions with Valkey and Redis.
//!
//! - [`connect`]: from a target to an authenticated session.
//! - `RedisSession`: commands.
//! - `command`: the class of each command, and those with a special meaning, by name.
//! - `scan`: replies, by type bytes and sizes.
//! - `error`: converts the server's errors.
//! - `item`: a reply's values, read on demand.

mod command;
mod connect;
mod error;
mod item;
mod scan;
mod session;

pub use command::class_of_command;
pub(crate) use connect::connect;
pub use session::RedisSession;
