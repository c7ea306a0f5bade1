//! The state of a connection's pipeline.

use std::collections::VecDeque;

use crate::outcome::Failed;

/// A connection's pipeline, from begin to end.
#[derive(Debug)]
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
    pub(crate) fn new(depth: usize) -> Self {
        let under_way = VecDeque::with_capacity(depth);
        Self {
            depth,
            requests: Vec::new(),
            under_way,
            begun: 0,
            failed: None,
            redirected: VecDeque::new(),
        }
    }

    /// Nothing is queued or in flight.
    pub(crate) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }
}
