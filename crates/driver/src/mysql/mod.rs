//! Sessions with MySQL and MariaDB.
//!
//! - [`connect`]: from a target to an authenticated session.
//! - `MysqlSession`: commands. `statement`: what it keeps of prepared ones.
//! - `scan`: replies, by lengths and first bytes.
//! - `rows`: result sets read from a reply's bytes; `columns`: the definitions that takes.
//! - `load`: multi-row INSERTs as LOAD DATA LOCAL INFILE; `batch`: as MariaDB's bulk executions.
//! - `catalog`: looks up a table before rows are loaded into it.
//! - `error`: converts the server's errors.
//! - `literal`: values written into the text, for sessions without prepared statements.

mod batch;
mod catalog;
mod columns;
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
pub(crate) use error::{LOST, connect_number};
pub use session::MysqlSession;
