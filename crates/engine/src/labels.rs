//! Labels of events: the group's name, or one set by the script.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Labels per run: each has its own distributions, about a megabyte per shard.
pub const LABELS_MAX: usize = 64;

/// The event labels of a run, shared by all shards. Each shard looks a name up once and caches its
/// number.
#[derive(Debug)]
pub(crate) struct Labels {
    groups: usize,
    /// Starts with the groups' own.
    names: Mutex<Vec<String>>,
}

impl Labels {
    pub(crate) fn new(groups: Vec<String>) -> Self {
        Self { groups: groups.len(), names: Mutex::new(groups) }
    }

    /// The number of a label that a script sets on events of a group; `None`: there are too many.
    pub(crate) fn number(&self, group: usize, name: &str) -> Option<usize> {
        let mut names = self.lock();
        let full = format!("{}/{name}", names[group]);
        let known = names[self.groups..].iter().position(|known| *known == full);
        let number = known.map_or(names.len(), |place| self.groups + place);
        if number == names.len() {
            if number - self.groups >= LABELS_MAX {
                return None;
            }
            names.push(full);
        }
        Some(number)
    }

    /// All labels, by number.
    pub(crate) fn names(&self) -> Vec<String> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        // A push is atomic under the lock: a panic elsewhere leaves a valid list.
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number_and_belongs_to_its_group() {
        let labels = Labels::new(vec!["writers".into(), "readers".into()]);
        assert_eq!(labels.number(0, "payment"), Some(2));
        assert_eq!(labels.number(1, "payment"), Some(3));
        assert_eq!(labels.number(0, "payment"), Some(2));
        assert_eq!(labels.names(), ["writers", "readers", "writers/payment", "readers/payment"]);
    }

    #[test]
    fn names_have_an_end() {
        let labels = Labels::new(vec!["main".into()]);
        for index in 0..LABELS_MAX {
            assert_eq!(labels.number(0, &index.to_string()), Some(index + 1));
        }
        assert_eq!(labels.number(0, "one too many"), None);
        assert_eq!(labels.number(0, "0"), Some(1), "those there are go on");
    }
}
