//! Looks ahead: brings what the next replies need into the processor's cache.
//!
//! With hundreds of clients, a client's data were last used hundreds of replies ago, and cache
//! misses on them are much of the cost of a reply. The event loop has collected several replies
//! before the first is handled, so it is known whose comes next. A client's data are found by
//! following pointers; what each points to is preloaded one reply before it is read.

use reactor::preload;

use crate::runtime::Runtime;
use crate::slot::{HOT_BYTES, Slot};

/// How many replies ahead the slot is preloaded, and then its client and its session's statements,
/// to which the slot leads.
const SLOT: usize = 4;
const CLIENT: usize = 3;
/// The data of this many clients (client 0 of the hooks included) stay in the cache by themselves.
const FEW_CLIENTS: usize = 16;
/// The statements of a session are preloaded if all of them together are at most this long, bytes.
const STATEMENTS_MOST: usize = 512;

impl Runtime {
    /// Whether there are enough clients for looking ahead to be worth its own cost.
    #[inline]
    pub fn looks_ahead(&self) -> bool {
        self.clients.len() > FEW_CLIENTS
    }

    /// The client that a reply is for, `ahead` replies after the one that [`Self::next`] returns
    /// next; `None`: not known.
    #[inline]
    pub fn upcoming(&self, ahead: usize) -> Option<u32> {
        Some(self.upcoming_slot(ahead)?.client)
    }

    #[inline]
    fn upcoming_slot(&self, ahead: usize) -> Option<&Slot> {
        let token = self.reactor.as_ref()?.upcoming(ahead)?;
        self.slots.get(self.slots.of(token))
    }

    /// Preloads for the next replies. Call it before each event is taken.
    #[inline]
    pub(crate) fn look_ahead(&self) {
        if !self.looks_ahead() {
            return;
        }
        self.preload_slot(SLOT);
        self.preload_client(CLIENT);
    }

    /// Preloads for the first replies of a wait. All their pointers of one kind are followed
    /// before those of the next kind, so that the cache misses of several replies overlap.
    #[inline]
    pub(crate) fn look_ahead_after_wait(&self) {
        if !self.looks_ahead() {
            return;
        }
        (0..SLOT).for_each(|ahead| self.preload_slot(ahead));
        (0..CLIENT).for_each(|ahead| self.preload_client(ahead));
    }

    #[inline]
    fn preload_slot(&self, ahead: usize) {
        if let Some(slot) = self.upcoming_slot(ahead) {
            preload(slot, HOT_BYTES);
        }
    }

    #[inline]
    fn preload_client(&self, ahead: usize) {
        if let Some(slot) = self.upcoming_slot(ahead) {
            preload(&self.clients[slot.client as usize], usize::MAX);
            let statements = slot.session.statements_memory();
            if statements.len() <= STATEMENTS_MOST {
                preload(statements, STATEMENTS_MOST);
            }
        }
    }
}
