//! Sessions with a SQLite file, in process.
//!
//! - [`connect`]: from a target to an open file.
//! - `SqliteSession`: requests, answered at once.
//! - `rows`: the rows of the last request.
//! - `raw`: statements by the C interface.

mod connect;
mod raw;
mod rows;
mod session;

pub(crate) use connect::connect;
pub use session::SqliteSession;
