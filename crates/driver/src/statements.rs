//! The prepared statements of a session.

use std::mem::MaybeUninit;

use crate::error::ProtocolError;
use crate::reply::StatementId;

/// Prepared statements by id. Ids of closed ones are reused, so that a script that prepares and
/// closes for ever does not grow.
#[derive(Debug)]
pub(crate) struct Statements<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Statements<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Statements<T> {
    pub fn insert(&mut self, statement: T) -> StatementId {
        if let Some(id) = self.free.pop() {
            self.slots[id as usize] = Some(statement);
            return StatementId(id);
        }
        self.slots.push(Some(statement));
        StatementId((self.slots.len() - 1) as u32)
    }

    pub fn remove(&mut self, id: StatementId) -> Result<T, ProtocolError> {
        let statement = self.slots.get_mut(id.0 as usize).and_then(Option::take).ok_or(GONE)?;
        self.free.push(id.0);
        Ok(statement)
    }

    pub fn get(&self, id: StatementId) -> Result<&T, ProtocolError> {
        self.slots.get(id.0 as usize).and_then(Option::as_ref).ok_or(GONE)
    }

    pub fn get_mut(&mut self, id: StatementId) -> Result<&mut T, ProtocolError> {
        self.slots.get_mut(id.0 as usize).and_then(Option::as_mut).ok_or(GONE)
    }

    /// The memory of all of them.
    pub fn memory(&self) -> &[MaybeUninit<u8>] {
        let bytes = size_of_val(self.slots.as_slice());
        // SAFETY: live memory of this length, of which nothing is said to be initialised.
        unsafe { std::slice::from_raw_parts(self.slots.as_ptr().cast(), bytes) }
    }

    /// The first live statement from `id` on.
    pub fn next_live(&self, id: u32) -> Option<StatementId> {
        let found = self.slots.iter().skip(id as usize).position(Option::is_some)?;
        Some(StatementId(id + found as u32))
    }
}

const GONE: ProtocolError = ProtocolError::Misuse("the statement is closed or was never prepared");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_closed_statements_are_used_again() {
        let mut statements = Statements::default();
        let first = statements.insert('a');
        let second = statements.insert('b');
        assert_eq!(statements.remove(first), Ok('a'));
        assert_eq!(statements.remove(first), Err(GONE));
        assert_eq!(statements.get(first), Err(GONE));
        assert_eq!(statements.next_live(0), Some(second));
        assert_eq!(statements.insert('c'), first);
        assert_eq!(statements.get(second), Ok(&'b'));
        assert_eq!(statements.next_live(2), None);
    }
}
