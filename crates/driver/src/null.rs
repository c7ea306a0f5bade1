//! The driver that answers at once: the remaining cost of a run is the engine's own, which every
//! report shows beside the servers'.

use crate::mongodb::class_of_document;
use crate::redis::class_of_command;
use crate::reply::{Class, Reply, StatementId, Tally};
use crate::value::Value;

/// A session without a database.
#[derive(Debug, Default)]
pub struct NullSession {
    statements: Vec<Class>,
}

impl NullSession {
    /// Answers statement text by its first word.
    pub fn answer(&mut self, sql: &[u8]) -> Reply {
        reply(class_of(sql))
    }

    /// Answers a command by its name.
    pub fn command<'a>(&mut self, mut words: impl Iterator<Item = Value<'a>>) -> Reply {
        let class = match words.next() {
            Some(Value::Bytes(name)) => class_of_command(name),
            _ => Class::Other,
        };
        reply(class)
    }

    /// Answers a command of documents by its name.
    pub fn document(&mut self, command: &[u8]) -> Reply {
        reply(class_of_document(command).unwrap_or(Class::Other))
    }

    /// Remembers the class of the statement.
    pub fn prepare(&mut self, sql: &[u8]) -> StatementId {
        self.statements.push(class_of(sql));
        StatementId((self.statements.len() - 1) as u32)
    }

    /// Answers a prepared statement.
    pub fn execute(&mut self, statement: StatementId) -> Reply {
        reply(self.statements.get(statement.0 as usize).copied().unwrap_or(Class::Other))
    }

    /// Ids are never used again, so there is nothing to free.
    pub fn close(&mut self, _statement: StatementId) {}
}

fn reply(class: Class) -> Reply {
    let mut tally = Tally::default();
    tally.count(class);
    Reply {
        tally,
        class: Some(class),
        affected: u64::from(class == Class::Write),
        ..Reply::default()
    }
}

/// The class that a real server's reply would have, judged by the first word.
fn class_of(sql: &[u8]) -> Class {
    let word = sql.trim_ascii_start().split(|byte| !byte.is_ascii_alphabetic()).next();
    let is = |names: &[&str]| {
        word.is_some_and(|word| names.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(word)))
    };
    if is(&["select", "show", "table", "values"]) {
        Class::Read
    } else if is(&["insert", "update", "delete", "replace"]) {
        Class::Write
    } else {
        Class::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_classed_by_their_first_word() {
        assert_eq!(class_of(b"  SELECT 1"), Class::Read);
        assert_eq!(class_of(b"insert into t values (1)"), Class::Write);
        assert_eq!(class_of(b"BEGIN"), Class::Other);
        assert_eq!(class_of(b""), Class::Other);
    }
}
