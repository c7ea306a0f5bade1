//! What is counted and timed: the clock, counters, distributions, and the recorder of one shard.
//!
//! A [`Recorder`] belongs to one shard and one interval. Recorders are merged, never shared: the
//! merge of all shards is an interval, the merge of intervals is a window, and nothing is lost, as
//! the property tests check. Percentiles are computed from merged distributions only.
#![deny(unsafe_code)]

mod clock;
mod counters;
mod distribution;
mod recorder;

pub use clock::{Clock, Machine, Sources};
pub use counters::Counters;
pub use distribution::{Distribution, EncodeError, HIGHEST_NS};
pub use recorder::{Recorder, StatementClass, Times};
