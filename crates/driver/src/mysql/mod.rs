//! Sessions with MySQL and MariaDB.
//!
//! - [`connect`]: from a target to an authenticated session.
//! - `MysqlSession`: commands. `statement`: what it keeps of prepared ones.
//! - `scan`: replies, by lengths and first bytes.
//! - `rows`: result sets read from a reply's bytes; `columns`: what it takes to read them.
//! - `load`: multi-row INSERTs as LOAD DATA LOCAL INFILE; `batch`: as MariaDB's bulk executions.
//! - `catalog`: what there is to know of a table before rows are loaded into it.
//! - `error`: what the server objects to.
//! - `literal`: values put into the text, for sessions without prepared statements.

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
pub use session::MysqlSession;
