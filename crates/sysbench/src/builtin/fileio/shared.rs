//! State shared by the test's clients besides counters: the fsync round, and blocks in use.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// After every `every` operations of all clients, each file is synced, one per event, by whichever
/// client comes next; skipped if nothing was written since the last round.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    state: Mutex<Round>,
}

#[derive(Debug, Default)]
struct Round {
    operations: u64,
    written: bool,
    /// The next file to sync.
    file: u64,
}

impl Rounds {
    /// The file to sync now, if a round is due; otherwise the next event is an operation, and
    /// `write` says whether it writes.
    pub(crate) fn next(&self, every: u64, files: u64, write: bool) -> Option<u64> {
        let mut round = lock(&self.state);
        if every > 0 && round.written && round.operations.is_multiple_of(every) {
            let file = round.file;
            round.file += 1;
            if round.file == files {
                round.file = 0;
                round.written = false;
            }
            return Some(file);
        }
        round.operations += 1;
        round.written |= write;
        None
    }
}

/// Blocks being read or written: with `--validate` no other client may touch them.
#[derive(Debug, Default)]
pub(crate) struct InUse(Mutex<HashSet<u64>>);

impl InUse {
    /// Reserves a block; `false`: another client has it.
    pub(crate) fn take(&self, position: u64) -> bool {
        lock(&self.0).insert(position)
    }

    pub(crate) fn give_back(&self, position: u64) {
        lock(&self.0).remove(&position);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_syncs_every_file_once_after_so_many_operations() {
        let rounds = Rounds::default();
        let events: Vec<_> = (0..12).map(|_| rounds.next(4, 2, true)).collect();
        let operation = None;
        let first = [operation, operation, operation, operation, Some(0), Some(1)];
        assert_eq!(events, [first, first].concat());
        assert!((0..9).all(|_| Rounds::default().next(1, 2, false).is_none()), "nothing to sync");
    }

    #[test]
    fn a_block_in_use_is_nobody_elses() {
        let blocks = InUse::default();
        assert!(blocks.take(7) && !blocks.take(7) && blocks.take(8));
        blocks.give_back(7);
        assert!(blocks.take(7));
    }
}
