//! Intended start times of events, pure in (plan, seed, index).
//!
//! A deterministic plan is a rate over time, `r(t)`. Its k-th arrival is at the time by which k
//! events were due: `N(t) = ∫₀ᵗ r = k`, solved in closed form where there is one, so that ten
//! million arrivals carry no accumulated rounding. A Poisson process adds exponential gaps. Neither
//! reads a clock.
//!
//! Several shards share one plan: part `p` of `n` gets arrivals `p, p + n, p + 2n …`; of a
//! Poisson process it gets an independent process of 1/n of the rate, since the sum of those is
//! the whole.
#![forbid(unsafe_code)]

mod plan;
mod stream;

pub use plan::{Plan, PlanError};
pub use stream::Arrivals;
