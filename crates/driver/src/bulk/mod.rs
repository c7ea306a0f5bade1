//! Bulk inserts over connections of their own, beside the one that the script speaks on.
//!
//! - [`effect`]: what a script's statement leaves behind in its session, which such a connection
//!   would not have.
//! - [`Carrier`]: a connection that carries batches of rows. Blocks; it lives on its own thread.
//!
//! What the rows go to is a [`crate::Table`].

mod carrier;
mod effect;

pub use carrier::{Carried, Carrier, CarrierError};
pub use effect::{Effect, effect};
