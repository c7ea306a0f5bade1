//! ClickHouse's native protocol ("Native protocol" and "Native format" of its documentation), at
//! revision [`REVISION`]: bytes ↔ values, without a socket or a clock.
//!
//! Packets have no length of their own: a block ends where its last column does.
//!
//! - [`frontend`] appends a client's packets to the caller's buffer: hello, queries, blocks.
//! - [`backend`] reads a server's packets by their tag; of a block, what precedes its columns.
//! - [`Kind`] is a column's type, by its name; [`text`] writes one of its values as text.
//! - [`Extent`] finds a block's end without looking into its values.
//! - [`Builder`] makes a column of a block from literals.
//! - [`Compression`] packs blocks and unpacks them.

pub mod backend;
mod builder;
mod civil;
mod compression;
mod error;
mod extent;
pub mod frontend;
mod kind;
mod reader;
mod value;

pub use builder::{Builder, Literal};
pub use compression::{Compression, Method, frame};
pub use error::{COLUMN_COUNT_MAX, NAME_SIZE_MAX, TEXT_SIZE_MAX, WireError};
pub use extent::Extent;
pub use frontend::REVISION;
pub use kind::{Kind, Typed, typed};
pub use value::{cell, text};
