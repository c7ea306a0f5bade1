//! What events are called: by their group, or by the script.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Names that scripts may give over a run: each has its distributions, about a megabyte a shard.
pub const LABELS_MAX: usize = 64;

/// The names of a run's event labels. Shared by all shards, each of which asks once a name and
/// keeps the answer.
#[derive(Debug)]
pub(crate) struct Labels {
    groups: usize,
    /// The groups' own come first.
    names: Mutex<Vec<String>>,
}

impl Labels {
    pub(crate) fn new(groups: Vec<String>) -> Self {
        Self { groups: groups.len(), names: Mutex::new(groups) }
    }

    /// The number of a name that a script gives to events of a group; `None`: there are too many.
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

    /// All names, by number.
    pub(crate) fn names(&self) -> Vec<String> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        // A name is pushed or it is not: a panic elsewhere leaves nothing half done.
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
