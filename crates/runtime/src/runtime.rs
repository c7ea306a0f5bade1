//! The state of one shard's runtime: clients, slots, the event loop and the connector.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use driver::{ConnectError, Connected, Traits as _};
use engine::Failure;
use reactor::{Chunk, Reactor, Token};
use record::FatalKind;

use crate::client::{Client, Waiting};
use crate::connector::Connector;
use crate::event_loop;
use crate::loaders::Done;
use crate::outcome::Failed;
use crate::settings::Settings;
use crate::slot::{RowBytes, Slot};

/// Received bytes held while a client reads rows in them.
#[derive(Debug)]
pub(crate) enum Lent {
    Nothing,
    /// As received.
    Chunk(Chunk),
    /// Decrypted by a channel: in `opened`.
    Opened,
}

/// See the crate's documentation.
pub struct Runtime {
    pub(crate) settings: Arc<Settings>,
    pub(crate) shard: u32,
    pub(crate) shards: u32,

    pub(crate) clients: Vec<Client>,
    /// Clients of in-process drivers whose time slice has ended.
    pub(crate) runnable: VecDeque<u32>,

    pub(crate) slots: Vec<Option<Box<Slot>>>,
    free_slots: Vec<u32>,
    /// The slot of each reactor token.
    pub(crate) slot_of: Vec<u32>,
    pub(crate) reactor: Option<Reactor>,
    pub(crate) connector: Option<Connector>,
    /// When the kernel was last asked for events.
    pub(crate) asked_ns: u64,
    /// What is read now has lain unread no longer than since this time.
    pub(crate) unread_since_ns: u64,
    /// Finished attempts on in-process databases, by ticket and ordinal.
    pub(crate) inline_attempts: VecDeque<(u32, u64, Result<Connected, ConnectError>)>,
    /// New connections that closed before use, and why.
    pub(crate) unwelcome: Vec<(u32, String)>,
    /// Connections requested.
    pub(crate) connections: u64,
    /// Bulk inserts started.
    pub(crate) tickets: u64,
    /// Results of loader jobs.
    pub(crate) done: (Sender<Done>, Receiver<Done>),

    /// What the next [`Runtime::failure`] returns.
    pub(crate) failed: Option<Failed>,
    /// What caused the error that the running client may end with.
    pub(crate) cause: Option<Failure>,
    /// The failure printed last.
    pub(crate) told: Vec<String>,

    /// Bytes decrypted by a channel, for the session.
    pub(crate) opened: Vec<u8>,
    /// Buffer for requests of sessions without a socket.
    pub(crate) sink: Vec<u8>,
    /// The slot whose rows lie in lent memory, which goes back with the next event.
    pub(crate) lent_to: Option<u32>,
    pub(crate) lent: Lent,
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
            Connector::new(&settings.target, settings.connect_timeout, clients, move || {
                waker.wake();
            })
        });
        Ok(Self {
            settings,
            shard,
            shards,
            clients: Vec::new(),
            runnable: VecDeque::new(),
            slots: Vec::new(),
            free_slots: Vec::new(),
            slot_of: Vec::new(),
            reactor,
            connector,
            asked_ns: u64::MAX,
            unread_since_ns: 0,
            inline_attempts: VecDeque::new(),
            unwelcome: Vec::new(),
            connections: 0,
            tickets: 0,
            done: channel(),
            failed: None,
            cause: None,
            told: Vec::new(),
            opened: Vec::new(),
            sink: Vec::new(),
            lent_to: None,
            lent: Lent::Nothing,
        })
    }

    /// `io_uring`, `epoll` or `none`.
    pub fn reactor_name(&self) -> &'static str {
        self.reactor.as_ref().map_or("none", Reactor::name)
    }

    /// This shard's number, from 0, and the number of shards.
    pub fn shard(&self) -> (u32, u32) {
        (self.shard, self.shards)
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
        self.slots.get(slot as usize).is_some_and(Option::is_some)
    }

    /// Takes what the running client may be about to end with.
    pub fn take_cause(&mut self) -> Option<Failure> {
        self.cause.take()
    }

    /// Sets what the running client ends with if it does not catch the failure.
    pub fn set_cause(&mut self, cause: Failure) {
        self.cause = Some(cause);
    }

    #[inline]
    pub(crate) fn slot(&mut self, index: u32) -> Option<&mut Slot> {
        self.slots.get_mut(index as usize)?.as_deref_mut()
    }

    pub(crate) fn insert_slot(&mut self, slot: Box<Slot>) -> u32 {
        match self.free_slots.pop() {
            Some(index) => {
                self.slots[index as usize] = Some(slot);
                index
            }
            None => {
                self.slots.push(Some(slot));
                (self.slots.len() - 1) as u32
            }
        }
    }

    /// Closes a connection for good.
    pub fn disconnect(&mut self, index: u32) {
        if let Some(slot) = self.slots.get_mut(index as usize).and_then(Option::take) {
            if let (Some(token), Some(reactor)) = (slot.token, &mut self.reactor) {
                reactor.remove(token);
            }
            self.clients[slot.client as usize].slots.retain(|own| *own != index);
            self.free_slots.push(index);
        }
    }

    /// Drops a connection's socket; its session stays, for the statements it knows.
    pub(crate) fn drop_socket(&mut self, index: u32) {
        let Some(slot) = self.slots[index as usize].as_deref_mut() else { return };
        slot.broken = true;
        slot.input.clear();
        slot.rows = RowBytes::None;
        if let (Some(token), Some(reactor)) = (slot.token.take(), &mut self.reactor) {
            reactor.remove(token);
        }
    }

    pub(crate) fn bind_token(&mut self, token: Token, slot: u32) {
        let index = token as usize;
        if self.slot_of.len() <= index {
            self.slot_of.resize(index + 1, u32::MAX);
        }
        self.slot_of[index] = slot;
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
