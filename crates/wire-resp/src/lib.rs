//! RESP, the protocol of Valkey and Redis, versions 2 and 3 ("Serialization protocol specification"
//! of their documentation): bytes ↔ values, without a socket or a clock.
//!
//! - [`frontend`] writes commands into the caller's buffer; nothing else is allocated.
//! - [`backend`] reads replies element by element, by their type bytes, and decodes no more than an
//!   element's head.
//! - [`Extent`] and [`reply_size`] find a reply's end without looking into its strings.
//! - [`slot_of`] says which part of a cluster a key belongs to.

pub mod backend;
mod error;
mod extent;
pub mod frontend;
mod slot;

pub use error::{COUNT_MAX, LINE_SIZE_MAX, TEXT_SIZE_MAX, WireError};
pub use extent::{Extent, reply_size};
pub use slot::{SLOTS, slot_of};
