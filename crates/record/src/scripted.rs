//! The plan of the scripted driver: a server with planned delays, errors and outages, so that
//! measured figures can be compared with the expected ones.

use serde::{Deserialize, Serialize};

/// How the scripted server behaves. Times count from the start of the load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedPlan {
    /// How long each statement takes, microseconds.
    #[serde(default)]
    pub service_us: u64,
    /// Stalls: nothing is answered; statements in flight are answered after the stall and their
    /// service time.
    #[serde(default)]
    pub stalls: Vec<Stretch>,
    /// Outages: sessions end when one begins, and none can be made during it.
    #[serde(default)]
    pub outages: Vec<Stretch>,
    /// Statements that fail.
    #[serde(default)]
    pub errors: Vec<PlannedError>,
}

/// A stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    /// Beginning, seconds.
    pub at_s: f64,
    /// Length, seconds.
    pub for_s: f64,
}

/// Every `every`-th statement of a session fails.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedError {
    /// From 1.
    pub every: u64,
    /// Five characters.
    pub sqlstate: String,
    /// The event may be restarted.
    #[serde(default)]
    pub transient: bool,
}

impl Stretch {
    /// The stretch in nanoseconds, from and to.
    pub fn span_ns(&self) -> (u64, u64) {
        let from = (self.at_s.max(0.0) * 1e9) as u64;
        (from, from + (self.for_s.max(0.0) * 1e9) as u64)
    }
}
