//! Counters over a stretch of time.

use std::ops::AddAssign;

/// The counters. Each only grows within an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events started.
    pub begun: u64,
    /// Events completed.
    pub events: u64,
    /// Events that ended but are excluded from counting.
    pub uncounted: u64,
    /// Statements that returned a result set.
    pub reads: u64,
    /// Statements that changed rows.
    pub writes: u64,
    /// All other statements.
    pub other: u64,
    /// Statements that failed.
    pub errors: u64,
    /// Events restarted.
    pub restarts: u64,
    /// Events started and abandoned: the load ended before they did.
    pub unfinished: u64,
    /// Reconnects.
    pub reconnects: u64,
    /// Requests that a node of a cluster sent on to another one.
    pub redirects: u64,
    /// Bytes given to the sockets.
    pub bytes_sent: u64,
    /// Bytes received from the sockets.
    pub bytes_received: u64,
}

impl Counters {
    /// Statements that succeeded.
    pub fn statements(&self) -> u64 {
        self.reads + self.writes + self.other
    }

    /// Events that began and did not end; negative where more ended than began.
    pub fn under_way(&self) -> i64 {
        self.begun as i64 - (self.events + self.uncounted + self.unfinished) as i64
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        // Destructured, so that a new field can't be forgotten.
        let Self {
            begun,
            events,
            uncounted,
            reads,
            writes,
            other: others,
            errors,
            restarts,
            unfinished,
            reconnects,
            redirects,
            bytes_sent,
            bytes_received,
        } = other;
        self.begun += begun;
        self.events += events;
        self.uncounted += uncounted;
        self.reads += reads;
        self.writes += writes;
        self.other += others;
        self.errors += errors;
        self.restarts += restarts;
        self.unfinished += unfinished;
        self.reconnects += reconnects;
        self.redirects += redirects;
        self.bytes_sent += bytes_sent;
        self.bytes_received += bytes_received;
    }
}
