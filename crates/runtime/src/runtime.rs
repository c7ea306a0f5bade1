//! The state of one shard's runtime: clients, slots, the event loop and the connector.

use std::collections::VecDeque;
use std::sync::Arc;

use driver::Traits as _;
use engine::{Failure, ShardView};
use measure::Recorder;
use reactor::Reactor;
use record::FatalKind;

use crate::batch::Pipeline;
use crate::client::{Client, Waiting};
use crate::connector::{Attempts, Connector};
use crate::event_loop;
use crate::lending::Lending;
use crate::loaders::Filling;
use crate::outcome::Failures;
use crate::polled::Polled;
use crate::settings::Settings;
use crate::slot::{RowBytes, Slot};
use crate::slots::Slots;

/// See the crate's documentation.
pub struct Runtime {
    pub(crate) settings: Arc<Settings>,
    /// This shard's number, and the number of shards.
    shard: (u32, u32),
    pub(crate) reactor: Option<Reactor>,

    pub(crate) clients: Vec<Client>,
    /// Clients of in-process drivers whose time slice has ended.
    pub(crate) runnable: VecDeque<u32>,
    pub(crate) slots: Slots,

    pub(crate) attempts: Attempts,
    pub(crate) filling: Filling,
    pub(crate) polled: Polled,
    pub(crate) failures: Failures,
    pub(crate) lending: Lending,
    /// Pipelines that are over: their memory is used again.
    #[expect(clippy::vec_box, reason = "a connection has its pipeline boxed, as most have none")]
    pub(crate) pipelines: Vec<Box<Pipeline>>,
    /// Buffer for requests of sessions without a socket.
    pub(crate) sink: Vec<u8>,
}

/// A failure caused by the script or the user.
pub fn fault(kind: FatalKind, message: String, hint: Option<&str>) -> Failure {
    Failure { kind, message, hint: hint.map(str::to_owned), traceback: None }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("clients", &self.clients.len()).finish_non_exhaustive()
    }
}

impl Runtime {
    /// Opens the event loop of shard `shard` of `shards`, for `clients` clients. Call it on the
    /// shard's own thread.
    ///
    /// # Errors
    /// The event loop can't be opened.
    pub fn new(
        settings: Arc<Settings>,
        shard: u32,
        shards: u32,
        clients: u32,
    ) -> Result<Self, Failure> {
        let reactor =
            if settings.networked() { Some(event_loop::open(settings.reactor)?) } else { None };
        let connector = reactor.as_ref().map(|reactor| {
            let waker = reactor.waker();
            Connector::new(&settings, clients, move || {
                waker.wake();
            })
        });
        Ok(Self {
            settings,
            shard: (shard, shards),
            reactor,
            clients: Vec::new(),
            runnable: VecDeque::new(),
            slots: Slots::default(),
            attempts: Attempts::new(connector),
            filling: Filling::new(),
            polled: Polled::never(),
            failures: Failures::default(),
            lending: Lending::default(),
            pipelines: Vec::new(),
            sink: Vec::new(),
        })
    }

    /// `io_uring`, `epoll` or `none`.
    pub fn reactor_name(&self) -> &'static str {
        self.reactor.as_ref().map_or("none", Reactor::name)
    }

    /// This shard's number, from 0, and the number of shards.
    pub fn shard(&self) -> (u32, u32) {
        self.shard
    }

    /// Whether a client may have to wait for a reply; in-process databases answer at once.
    pub fn waits_for_replies(&self) -> bool {
        self.reactor.is_some() || self.settings.target.is_planned()
    }

    /// Adds a client to a group; `place` is its index among the shard's clients, from 0. Returns
    /// its number.
    pub fn add_client(&mut self, group: u16, place: u32) -> u32 {
        self.clients.push(Client::new(group, place));
        (self.clients.len() - 1) as u32
    }

    /// Removes the newest client, which must have no connections.
    pub fn remove_newest_client(&mut self) {
        self.clients.pop();
    }

    /// Number of clients, ended ones included.
    pub fn clients(&self) -> u32 {
        self.clients.len() as u32
    }

    /// What a client waits for.
    pub fn waiting(&self, client: u32) -> Waiting {
        self.clients[client as usize].waiting
    }

    /// The client's group.
    pub fn group(&self, client: u32) -> usize {
        usize::from(self.clients[client as usize].group)
    }

    /// The client's finished events.
    pub fn events_of(&self, client: u32) -> u64 {
        self.clients[client as usize].events
    }

    /// Notes that the client is in this turn; true if it was in another when last noted. A new
    /// client counts as being in turn 0.
    pub fn enters(&mut self, client: u32, turn: u32) -> bool {
        let client = &mut self.clients[client as usize];
        std::mem::replace(&mut client.turn, turn) != turn
    }

    /// The client's connections.
    pub fn connections_of(&self, client: u32) -> &[u32] {
        &self.clients[client as usize].slots
    }

    /// Marks the client as running.
    #[inline]
    pub fn runs(&mut self, client: u32) {
        let client = &mut self.clients[client as usize];
        client.waiting = Waiting::Nothing;
        client.slice = 0;
    }

    /// Whether the connection exists, open or reconnecting.
    #[inline]
    pub fn has(&self, slot: u32) -> bool {
        self.slots.get(slot).is_some()
    }

    /// Takes what the running client may be about to end with.
    pub fn take_cause(&mut self) -> Option<Failure> {
        self.failures.cause.take()
    }

    /// Sets what the running client ends with if it does not catch the failure.
    pub fn set_cause(&mut self, cause: Failure) {
        self.failures.cause = Some(cause);
    }

    #[inline]
    pub(crate) fn slot(&mut self, index: u32) -> Option<&mut Slot> {
        self.slots.get_mut(index)
    }

    /// The recorder for what the slot's client does. Once the client was told to stop, that isn't
    /// the recorder of a window bounded by events.
    #[inline]
    pub(crate) fn recorder<'view>(
        &self,
        view: &'view mut ShardView,
        index: u32,
    ) -> &'view mut Recorder {
        let slot = self.slots.get(index);
        view.recorder_of(slot.is_some_and(|slot| self.clients[slot.client as usize].stopped))
    }

    /// The recorder for what the client's script counts itself.
    pub fn script_recorder<'view>(
        &self,
        view: &'view mut ShardView,
        client: u32,
    ) -> &'view mut Recorder {
        view.recorder_of(self.clients.get(client as usize).is_some_and(|client| client.stopped))
    }

    /// Closes a connection for good.
    pub fn disconnect(&mut self, index: u32) {
        if let Some(slot) = self.slots.remove(index) {
            if let (Some(token), Some(reactor)) = (slot.token, &mut self.reactor) {
                reactor.remove(token);
            }
            self.clients[slot.client as usize].slots.retain(|own| *own != index);
        }
    }

    /// Drops a connection's socket; its session stays, for the statements it knows.
    pub(crate) fn drop_socket(&mut self, index: u32) {
        let Some(slot) = self.slots.get_mut(index) else { return };
        slot.broken = true;
        slot.input.clear();
        slot.rows = RowBytes::None;
        if let (Some(token), Some(reactor)) = (slot.token.take(), &mut self.reactor) {
            reactor.remove(token);
        }
    }

    /// Makes the slot's client wait for a reply on it.
    #[inline]
    pub(crate) fn wait_for_reply(&mut self, slot: u32) {
        let planned = self.settings.target.is_planned();
        let Some(owner) = self.slot(slot).map(|slot| slot.client) else { return };
        let client = &mut self.clients[owner as usize];
        client.waiting = if planned { Waiting::Planned(slot) } else { Waiting::Reply };
    }
}
