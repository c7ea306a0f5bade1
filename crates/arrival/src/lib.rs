//! Intended start times of events: a pure function of (plan, seed, index).
//!
//! A deterministic plan is a rate over time, `r(t)`. Its k-th arrival is at the time by which k
//! events were due: `N(t) = ∫₀ᵗ r = k`, solved in closed form where possible, so that ten million
//! arrivals accumulate no rounding error. A Poisson process adds exponential gaps. Neither reads a
//! clock.
//!
//! Shards share a plan: part `p` of `n` gets arrivals `p, p + n, p + 2n …`; of a Poisson process it
//! gets an independent process of 1/n of the rate, since their sum is the whole process.
#![forbid(unsafe_code)]

mod plan;
mod stream;

pub use plan::{Plan, PlanError};
pub use stream::Arrivals;
