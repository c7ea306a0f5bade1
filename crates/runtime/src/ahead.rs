//! Looks ahead: loads what the next replies need into the processor's cache.
//!
//! With hundreds of clients, everything that belongs to one was last used hundreds of replies ago,
//! and waiting for it to come from memory is much of what a reply costs. The event loop collects
//! completions, so it is known whose reply comes next. Each step below finds the address of what
//! the next one loads, so it comes one reply later.

use reactor::prefetch;

use crate::runtime::Runtime;
use crate::slot::{HOT_BYTES, Slot};

/// Replies ahead.
const SLOT: usize = 4;
const CLIENT: usize = 3;
/// What so many clients need stays in the cache.
const FEW_CLIENTS: usize = 16;

impl Runtime {
    /// The client that a reply is for, `ahead` replies after the one that [`Self::next`] returns
    /// next; `None`: not known, or too few clients to look ahead.
    #[inline]
    pub fn upcoming(&self, ahead: usize) -> Option<u32> {
        Some(self.upcoming_slot(ahead)?.client)
    }

    #[inline]
    fn upcoming_slot(&self, ahead: usize) -> Option<&Slot> {
        if self.clients.len() <= FEW_CLIENTS {
            return None;
        }
        let token = self.reactor.as_ref()?.upcoming(ahead)?;
        let index = *self.slot_of.get(token as usize)?;
        self.slots.get(index as usize)?.as_deref()
    }

    #[inline]
    pub(crate) fn look_ahead(&self) {
        if let Some(slot) = self.upcoming_slot(SLOT) {
            prefetch(slot, HOT_BYTES);
        }
        if let Some(client) = self.upcoming(CLIENT) {
            let client = &self.clients[client as usize];
            prefetch(client, size_of_val(client));
        }
    }
}
