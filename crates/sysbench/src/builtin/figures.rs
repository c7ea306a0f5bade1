//! What a built-in test adds to the report.

/// A built-in test's part of the report.
pub trait Figures: Send + Sync {
    /// What it does, for those who want to know more.
    fn subject(&self) -> String {
        String::new()
    }

    /// Printed before the clients start: the settings.
    fn header(&self) -> String {
        String::new()
    }

    /// Replaces the usual intermediate line: `events` in an interval of `interval_s` that ends at
    /// `elapsed_s`; `latency` holds the ranks and the first one's value in milliseconds.
    fn intermediate(
        &self,
        _events: u64,
        _interval_s: f64,
        _elapsed_s: f64,
        _latency: &dyn Fn() -> (String, f64),
    ) -> Option<String> {
        None
    }

    /// Whether the full report in the layout of 1.1 omits general statistics and fairness, and has
    /// a narrower latency block.
    fn narrow(&self) -> bool {
        false
    }

    /// Printed above the general statistics: `events` in `seconds`; `new` is the layout of 1.1.
    fn cumulative(&self, _events: u64, _seconds: f64, _new: bool) -> String {
        String::new()
    }
}
