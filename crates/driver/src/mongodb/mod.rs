//! Sessions with MongoDB and servers that speak its protocol.
//!
//! - [`connect`]: from a target to an authenticated session.
//! - `MongodbSession`: commands, each a document, and their answers.
//! - `command`: the class of each command, by name.
//! - `error`: converts the server's errors.

mod command;
mod connect;
mod error;
mod session;

pub use command::class_of_document;
pub(crate) use connect::connect;
pub use session::MongodbSession;
