//! The connections of a shard, and which of them a token of the reactor belongs to.

use reactor::Token;

use crate::slot::Slot;

/// Connections by number; the number of a closed connection is reused.
#[derive(Default)]
pub(crate) struct Slots {
    slots: Vec<Option<Box<Slot>>>,
    free: Vec<u32>,
    /// The slot of each reactor token; `u32::MAX`: none.
    of_token: Vec<u32>,
}

impl Slots {
    /// The connection, open or reconnecting; `None`: there is none of this number.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&Slot> {
        self.slots.get(index as usize)?.as_deref()
    }

    /// The same, to change it.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut Slot> {
        self.slots.get_mut(index as usize)?.as_deref_mut()
    }

    /// Adds a connection and returns its number.
    pub(crate) fn insert(&mut self, slot: Box<Slot>) -> u32 {
        match self.free.pop() {
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

    /// Takes a connection out; its number becomes free.
    pub(crate) fn remove(&mut self, index: u32) -> Option<Box<Slot>> {
        let slot = self.slots.get_mut(index as usize)?.take()?;
        self.free.push(index);
        Some(slot)
    }

    /// Events of the token are those of the slot from now on.
    pub(crate) fn bind(&mut self, token: Token, slot: u32) {
        let index = token as usize;
        if self.of_token.len() <= index {
            self.of_token.resize(index + 1, u32::MAX);
        }
        self.of_token[index] = slot;
    }

    /// The slot that a token was last bound to; `u32::MAX`: none.
    #[inline]
    pub(crate) fn of(&self, token: Token) -> u32 {
        self.of_token.get(token as usize).copied().unwrap_or(u32::MAX)
    }
}
