//! Plain counts of one stretch of time.

use std::ops::AddAssign;

/// What was counted. Every field only grows within an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events begun.
    pub begun: u64,
    /// Events completed.
    pub events: u64,
    /// Events that ended and are not to be counted.
    pub uncounted: u64,
    /// Statements that returned a result set.
    pub reads: u64,
    /// Statements that changed rows.
    pub writes: u64,
    /// All other statements.
    pub other: u64,
    /// Statements that failed.
    pub errors: u64,
    /// Events begun again.
    pub restarts: u64,
    /// Events begun and given up: the load ended before they did.
    pub unfinished: u64,
    /// Connections made anew.
    pub reconnects: u64,
    /// Bytes handed to the sockets.
    pub bytes_sent: u64,
    /// Bytes got from the sockets.
    pub bytes_received: u64,
}

impl Counters {
    /// Statements that succeeded.
    pub fn statements(&self) -> u64 {
        self.reads + self.writes + self.other
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        // Taken apart by name, so that a new field can't be forgotten.
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
        self.bytes_sent += bytes_sent;
        self.bytes_received += bytes_received;
    }
}
