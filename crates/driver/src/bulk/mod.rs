//! Bulk inserts over separate connections, beside the script's own.
//!
//! - [`effect`]: what a script's statement changes in its session, which a separate connection
//!   would lack.
//! - [`Carrier`]: a connection that carries batches of rows. Blocks; it lives on its own thread.
//!
//! The rows go to a [`crate::Table`].

mod carrier;
mod effect;

pub use carrier::{Batch, Carried, Carrier, CarrierError, Numbered};
pub use effect::{Effect, effect};
