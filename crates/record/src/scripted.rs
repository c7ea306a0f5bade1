//! The plan of the scripted driver: a server whose every delay, error and absence is written down,
//! so that what a run measured can be held against what it should have measured.

use serde::{Deserialize, Serialize};

/// How the scripted server behaves. Times count from the beginning of the load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedPlan {
    /// How long each statement takes, microseconds.
    #[serde(default)]
    pub service_us: u64,
    /// Stretches in which nothing is answered; what is under way then is answered behind them,
    /// after its service time.
    #[serde(default)]
    pub stalls: Vec<Stretch>,
    /// Stretches in which the server is gone: sessions end when one begins, and none can be made.
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

/// Every so many-th statement of a session fails.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedError {
    /// From 1.
    pub every: u64,
    /// Five characters.
    pub sqlstate: String,
    /// The event may begin again.
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
