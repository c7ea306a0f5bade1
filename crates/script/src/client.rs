//! One client: a coroutine, its random numbers and the event it is in.

use std::ffi::c_int;

use crate::lua::State;
use crate::random::Random;

/// What a client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// Running, or not started.
    Nothing,
    /// For the load to begin.
    Begin,
    /// For its next event (its turn).
    Turn,
    /// For time to pass.
    Sleep,
    /// For a reply on the slot.
    Reply,
    /// For a reply on the slot that is due at a known time.
    Planned(u32),
    /// For a connection of its own making.
    Connection,
    /// For the next attempt to make the slot's connection anew.
    Reconnect(u32),
    /// It has ended.
    Ended,
}

/// The event a client is in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenEvent {
    pub(crate) intended_ns: u64,
    pub(crate) start_ns: u64,
    /// What it is recorded under: its group's number, or that of the name the script gave it.
    pub(crate) label: usize,
}

pub(crate) struct Client {
    /// Null once it has ended.
    pub(crate) thread: *mut State,
    /// Keeps the coroutine alive.
    pub(crate) reference: c_int,
    pub(crate) group: u16,
    /// Number within the run, from 0: what scripts call the thread's id.
    pub(crate) number: u32,
    /// Place among the shard's clients, from 0.
    pub(crate) place: u32,
    pub(crate) waiting: Waiting,
    pub(crate) event: Option<OpenEvent>,
    /// Its connections.
    pub(crate) slots: Vec<u32>,
    pub(crate) random: Random,
    /// Values taken of `sysbench.rand.unique`.
    pub(crate) unique: u32,
    /// Events begun since it last went back to the loop: in-process drivers never suspend.
    pub(crate) slice: u32,
    /// Times the current event was begun again.
    pub(crate) attempts: u32,
    /// How often the event may be begun again after the last failure.
    pub(crate) limit: u32,
    /// Pause before it is.
    pub(crate) back_off: bool,
    /// Events since the last reconnect, where that is asked for.
    pub(crate) events: u64,
}
