//! What a connection's pipeline holds.

use std::collections::VecDeque;

use crate::outcome::Failed;

/// A connection's pipeline, from its beginning to its end.
#[derive(Debug)]
pub(crate) struct Pipeline {
    /// Statements under way at once.
    pub(crate) depth: usize,
    /// Requests of the batch, where nothing lies between them and the socket.
    pub(crate) requests: Vec<u8>,
    /// Statements put together or under way; for planned replies, when each is due.
    pub(crate) under_way: VecDeque<u64>,
    /// Statements so far, for messages.
    pub(crate) begun: u64,
    /// The first failure that isn't to be ignored.
    pub(crate) failed: Option<Failed>,
}

impl Pipeline {
    pub(crate) fn new(depth: usize) -> Self {
        let under_way = VecDeque::with_capacity(depth);
        Self { depth, requests: Vec::new(), under_way, begun: 0, failed: None }
    }

    /// Nothing is put together or under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }
}
