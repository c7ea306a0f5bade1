//! Sessions with a DuckDB file, in process.
//!
//! - [`connect`]: from a target to a connection. All of a process share one instance for each file.
//! - `DuckdbSession`: requests, answered at once.
//! - `load`: rows by DuckDB's appender.
//! - `rows`, `text`: the rows of the last request, and their values as text.
//! - `raw`: statements by the C interface.
//! - `watch`: ends statements that nobody waits for any more.
//! - `instance`: what all connections to a file share.
//! - `words`: texts for DuckDB, and its errors.
//! - `library`: the interface, from a library that is loaded when the first run needs it.

mod connect;
mod instance;
mod library;
mod load;
mod raw;
mod rows;
mod session;
mod text;
mod watch;
mod words;

pub(crate) use connect::connect;
pub use session::DuckdbSession;
