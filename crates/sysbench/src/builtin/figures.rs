//! What a built-in test adds to the report.

/// A built-in test's part of the report.
pub trait Figures: Send + Sync {
    /// What it does, for those who want to know more.
    fn subject(&self) -> String {
        String::new()
    }

    /// Before the clients are made: its settings.
    fn header(&self) -> String {
        String::new()
    }

    /// Instead of the usual line: so many events in an interval of so many seconds, which ends at
    /// `elapsed_s`; `latency` gives ranks and the first of them in milliseconds.
    fn intermediate(
        &self,
        _events: u64,
        _interval_s: f64,
        _elapsed_s: f64,
        _latency: &dyn Fn() -> (String, f64),
    ) -> Option<String> {
        None
    }

    /// Whether the full report of the layout of 1.1 has neither general statistics nor fairness,
    /// and a narrower block of latencies.
    fn narrow(&self) -> bool {
        false
    }

    /// Above the general statistics: so many events in so many seconds; `new` is the layout of 1.1.
    fn cumulative(&self, _events: u64, _seconds: f64, _new: bool) -> String {
        String::new()
    }
}
