//! Looks ahead: prefetches what the next replies need into the processor's cache.
//!
//! With hundreds of clients, a client's data were last used hundreds of replies ago, and cache
//! misses on them are much of the cost of a reply. The event loop has collected several replies
//! before the first is handled, so it is known whose comes next. A client's data are found by
//! following pointers; each pointer is prefetched one reply before it is followed.

use reactor::prefetch;

use crate::runtime::Runtime;
use crate::slot::{HOT_BYTES, Slot};

/// How many replies ahead the slot is prefetched, and then its client, whose number is in the slot.
const SLOT: usize = 4;
const CLIENT: usize = 3;
/// The data of this many clients (client 0 of the hooks included) stay in the cache by themselves.
const FEW_CLIENTS: usize = 16;

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
        let index = *self.slot_of.get(token as usize)?;
        self.slots.get(index as usize)?.as_deref()
    }

    /// Prefetches for the next replies. Call it before each event is taken.
    #[inline]
    pub(crate) fn look_ahead(&self) {
        if !self.looks_ahead() {
            return;
        }
        self.prefetch_slot(SLOT);
        self.prefetch_client(CLIENT);
    }

    /// Prefetches for the first replies of a wait. All their pointers of one kind are followed
    /// before those of the next kind, so that the cache misses of several replies overlap.
    #[inline]
    pub(crate) fn look_ahead_after_wait(&self) {
        if !self.looks_ahead() {
            return;
        }
        (0..SLOT).for_each(|ahead| self.prefetch_slot(ahead));
        (0..CLIENT).for_each(|ahead| self.prefetch_client(ahead));
    }

    #[inline]
    fn prefetch_slot(&self, ahead: usize) {
        if let Some(slot) = self.upcoming_slot(ahead) {
            prefetch(slot, HOT_BYTES);
        }
    }

    #[inline]
    fn prefetch_client(&self, ahead: usize) {
        if let Some(client) = self.upcoming(ahead) {
            let client = &self.clients[client as usize];
            prefetch(client, size_of_val(client));
        }
    }
}
