//! Sessions with ClickHouse, by its native protocol.
//!
//! - [`connect`]: from a target to a session that the server has let in.
//! - `ClickhouseSession`: queries. Statements are prepared here: values are written into the text.
//! - `scan`: replies, packet by packet.
//! - `rows`: rows read from the columns of a reply's blocks.
//! - `insert`: the rows of an INSERT as a block, once the server has named its columns.
//! - `catalog`: looks up a table before rows are loaded into it.
//! - `literal`: values within a statement.
//! - `error`: converts the server's errors.

mod catalog;
mod connect;
mod error;
mod insert;
mod literal;
mod rows;
mod scan;
mod session;

pub(crate) use catalog::look;
pub(crate) use connect::connect;
pub use session::ClickhouseSession;
