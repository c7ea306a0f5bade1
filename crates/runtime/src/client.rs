//! One client as the runtime sees it: what it waits for, its event and its connections.

use std::sync::Arc;

use engine::OpenEvent;
use record::Target;

/// What a client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// Running, or not started.
    Nothing,
    /// For the load to begin.
    Begin,
    /// For its next event.
    Event,
    /// For time to pass.
    Sleep,
    /// For a reply on the slot.
    Reply,
    /// For a reply on the slot that is due at a known time.
    Planned(u32),
    /// For a new connection.
    Connection,
    /// For the next attempt to reconnect the slot.
    Reconnect(u32),
    /// It has ended.
    Ended,
}

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) group: u16,
    /// Index among the shard's clients, from 0.
    pub(crate) place: u32,
    pub(crate) waiting: Waiting,
    /// The event it is in.
    pub(crate) event: Option<OpenEvent>,
    /// It was told to stop: its events are over.
    pub(crate) stopped: bool,
    /// Its connections.
    pub(crate) slots: Vec<u32>,
    /// Events since it last yielded to the loop: in-process drivers never suspend.
    pub(crate) slice: u32,
    /// Restarts of the current event.
    pub(crate) attempts: u32,
    /// Restarts of the event that the error policy allows.
    pub(crate) limit: u32,
    /// The error after which the event may not restart again; empty while it may.
    pub(crate) last: String,
    /// Connections on which a statement of the current event failed.
    pub(crate) failed_on: Vec<u32>,
    /// Whether to pause before the restart.
    pub(crate) back_off: bool,
    /// Finished events.
    pub(crate) events: u64,
    /// The turn it was in when last noted.
    pub(crate) turn: u32,
    /// Where its next connection goes; `None`: where its group connects.
    pub(crate) elsewhere: Option<Arc<Target>>,
}

impl Client {
    pub(crate) fn new(group: u16, place: u32) -> Self {
        Self {
            group,
            place,
            waiting: Waiting::Nothing,
            event: None,
            stopped: false,
            slots: Vec::new(),
            slice: 0,
            attempts: 0,
            limit: u32::MAX,
            last: String::new(),
            failed_on: Vec::new(),
            back_off: false,
            events: 0,
            turn: 0,
            elsewhere: None,
        }
    }
}
