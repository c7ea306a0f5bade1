//! Sessions with PostgreSQL.
//!
//! - [`connect`]: from a target to an authenticated session.
//! - `PostgresSession`: requests. `statement`: what it keeps of prepared ones.
//! - `scan`: replies, by tags and lengths.
//! - `rows`: result sets read from a reply's bytes.
//! - `load`: multi-row INSERTs as COPY.
//! - `catalog`: looks up a table before rows are loaded into it.
//! - `error`: converts the server's errors.
//! - `literal`: values written into the text, for sessions without prepared statements.

mod catalog;
mod connect;
mod error;
mod literal;
mod load;
mod rows;
mod scan;
mod session;
mod statement;

pub(crate) use catalog::look;
pub(crate) use connect::connect;
pub use session::PostgresSession;
