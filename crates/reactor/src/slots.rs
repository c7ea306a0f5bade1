//! The table of sockets: dense, indexed by token; tokens are reused.

use crate::Token;

/// A slab of `T`.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    entries: Vec<Option<T>>,
    free: Vec<Token>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// Inserts an entry and returns its token.
    pub(crate) fn insert(&mut self, entry: T) -> Token {
        match self.free.pop() {
            Some(token) => {
                self.entries[token as usize] = Some(entry);
                token
            }
            None => {
                self.entries.push(Some(entry));
                (self.entries.len() - 1) as Token
            }
        }
    }

    /// Removes an entry; its token may be reused.
    pub(crate) fn take(&mut self, token: Token) -> Option<T> {
        let entry = self.entries.get_mut(token as usize)?.take();
        if entry.is_some() {
            self.free.push(token);
        }
        entry
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, token: Token) -> Option<&mut T> {
        self.entries.get_mut(token as usize)?.as_mut()
    }
}
