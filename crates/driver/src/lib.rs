//! Sessions with databases, without an event loop.
//!
//! [`connect`] blocks until a session is ready (sockets, TLS, authentication) and is called on a
//! connector thread. From then on a [`Session`] is a state machine over bytes: requests are encoded
//! into the caller's buffer, replies are scanned in the caller's buffer, and the owner of the
//! socket moves the bytes, through a [`Channel`] if they are encrypted or compressed. In-process
//! databases answer within the request itself.
//!
//! Nothing above this crate names a wire type.

mod advice;
pub mod bson;
mod bulk;
#[cfg(test)]
mod bytewise;
mod channel;
mod clickhouse;
mod cluster;
mod connect;
mod connect_error;
mod dial;
mod duckdb;
mod error;
mod load;
mod mongodb;
mod mysql;
mod native_load;
mod null;
mod number;
mod over;
mod packing;
mod peer;
mod placeholder;
mod postgres;
mod quoted;
mod redis;
mod reply;
mod scanned;
mod scripted;
mod session;
mod socket;
mod sqlite;
mod statements;
mod table;
mod tls;
mod traits;
mod transport;
mod unconnected;
mod value;

pub use advice::{advice, connect_advice};
pub use bulk::{Batch, Carried, Carrier, CarrierError, Effect, Numbered, effect};
pub use channel::Channel;
pub use cluster::{SLOTS, slot_of};
pub use connect::{Connected, connect, connect_telling};
pub use connect_error::ConnectError;
pub use error::{ProtocolError, ServerError};
pub use load::{Form, wrong_row_count};
pub use mongodb::class_of_document;
pub use over::Over;
pub use peer::Peer;
pub use redis::class_of_command;
pub use reply::{Class, Item, Progress, Reply, RowCursor, Sent, StatementId, Tally};
pub use session::Session;
pub use table::{BATCH_BYTES, Route, Table, is_one_row, table_of};
pub use traits::{Family, Memory, Traits};
pub use transport::{Opened, Transport};
pub use value::Value;

/// Databases that are part of the engine, with their versions.
pub fn embedded() -> [(&'static str, &'static str); 1] {
    [("sqlite", rusqlite::version())]
}
