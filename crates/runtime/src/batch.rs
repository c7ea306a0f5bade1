//! The state of a connection's pipeline.

use std::collections::VecDeque;

use reactor::SILENT_SEND_MAX;

use crate::outcome::Failed;

/// A connection's pipeline, from begin to end.
#[derive(Debug, Default)]
pub(crate) struct Pipeline {
    /// Statements in flight at once, at most.
    pub(crate) depth: usize,
    /// Encoded requests of the batch, where the session writes to a plain socket.
    pub(crate) requests: Vec<u8>,
    /// Statements queued or in flight; for planned replies, when each is due.
    pub(crate) under_way: VecDeque<u64>,
    /// Statements so far, for error messages.
    pub(crate) begun: u64,
    /// The first failure that isn't ignored.
    pub(crate) failed: Option<Failed>,
    /// Statements that another node of the cluster has to be sent, by their number from 1, with
    /// what the server said.
    pub(crate) redirected: VecDeque<(u64, String)>,
}

impl Pipeline {
    /// Begins anew; the memory is used again, except for requests beyond the usual.
    pub(crate) fn begin(&mut self, depth: usize) {
        self.depth = depth;
        self.requests.clear();
        self.requests.shrink_to(SILENT_SEND_MAX);
        self.under_way.clear();
        self.under_way.reserve(depth);
        self.begun = 0;
        self.failed = None;
        self.redirected.clear();
    }

    /// Nothing is queued or in flight.
    pub(crate) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }
}
