//! Requests of a session with a DuckDB file.

use super::load::append;
use super::raw::{self, Connection};
use super::rows::Rows;
use super::words::error_of;
use crate::error::{ProtocolError, ServerError};
use crate::over::Over;
use crate::reply::{Class, Reply, RowCursor, StatementId};
use crate::statements::Statements;
use crate::value::Value;

/// Types of errors after which a transaction goes on; any other ends it (DuckDB's
/// `Exception::InvalidatesTransaction`).
const HARMLESS: [&str; 5] = ["Binder", "Catalog", "Connection", "Parser", "Syntax"];

/// A connection of its own to a DuckDB file.
#[derive(Debug)]
pub struct DuckdbSession {
    /// Declared before the connection: fields drop in this order, and statements must go first.
    statements: Statements<Statement>,
    rows: Rows,
    transaction: Transaction,
    connection: Connection,
}

#[derive(Debug)]
struct Statement {
    compiled: raw::Statement,
    text: Box<[u8]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transaction {
    None,
    Open,
    Failed,
}

impl DuckdbSession {
    pub(super) fn new(connection: Connection) -> Self {
        Self {
            statements: Statements::default(),
            rows: Rows::default(),
            transaction: Transaction::None,
            connection,
        }
    }

    /// See [`crate::Session::end_statements_when`].
    pub fn end_statements_when(&mut self, over: Over) {
        self.connection.watched().end_when(over);
    }

    /// Runs statement text: its statements one after the other, up to the first that fails. A text
    /// that can't be parsed is not begun.
    pub fn query(&mut self, sql: &[u8]) -> Reply {
        self.rows.clear();
        let mut reply = Reply::default();
        let error = match self.connection.extract(sql) {
            Ok(extracted) => (0..extracted.count()).find_map(|place| {
                let ran = extracted.prepare(place).and_then(|mut compiled| {
                    let transaction = &mut self.transaction;
                    run(&mut compiled, &self.connection, &mut self.rows, transaction, &mut reply)
                });
                ran.err()
            }),
            Err(error) => Some(error),
        };
        self.finish(reply, error)
    }

    /// Compiles a statement and keeps it. If the reply has an error, the id is invalid.
    pub fn prepare(&mut self, sql: &[u8]) -> (StatementId, Reply) {
        match self.connection.prepare(sql) {
            Ok(compiled) => {
                let id = self.statements.insert(Statement { compiled, text: sql.into() });
                (id, Reply::default())
            }
            Err(error) => (StatementId(u32::MAX), self.failed(error)),
        }
    }

    /// Runs a prepared statement.
    pub fn execute<'a>(
        &mut self,
        statement: StatementId,
        values: impl ExactSizeIterator<Item = Value<'a>>,
    ) -> Result<Reply, ProtocolError> {
        let compiled = &mut self.statements.get_mut(statement)?.compiled;
        self.rows.clear();
        let mut reply = Reply::default();
        let (needed, given) = (compiled.values(), values.len());
        let bound = if needed == given {
            (1..).zip(values).try_for_each(|(place, value)| compiled.bind(place, value))
        } else {
            Err(error_of(&format!(
                "Invalid Input Error: the statement has {needed} placeholders, but {given} values \
                 are given"
            )))
        };
        let ran = bound.and_then(|()| {
            let transaction = &mut self.transaction;
            run(compiled, &self.connection, &mut self.rows, transaction, &mut reply)
        });
        Ok(self.finish(reply, ran.err()))
    }

    /// Closes a statement.
    pub fn close(&mut self, statement: StatementId) -> Result<Reply, ProtocolError> {
        self.statements.remove(statement).map(|_| Reply::default())
    }

    /// Stores the rows of an INSERT by DuckDB's appender; `None`: nothing is stored, and the INSERT
    /// is to be sent.
    pub fn load(&mut self, sql: &[u8]) -> Option<Reply> {
        if self.transaction != Transaction::None || self.query(b"BEGIN").error.is_some() {
            return None;
        }
        let stored = append(&self.connection, sql);
        let end: &[u8] = if stored.is_some() { b"COMMIT" } else { b"ROLLBACK" };
        let ended = self.query(end).error.is_none();
        let affected = stored.filter(|_| ended)?;
        let mut reply = Reply { class: Some(Class::Write), affected, ..Reply::default() };
        reply.tally.count(Class::Write);
        Some(reply)
    }

    /// See [`crate::Session::row`].
    pub fn row(
        &self,
        cursor: &mut RowCursor,
        column: impl FnMut(Option<&[u8]>),
    ) -> Result<bool, ProtocolError> {
        self.rows.row(cursor, column)
    }

    /// See [`crate::Session::next_result`].
    pub fn next_result(&self, cursor: &mut RowCursor) -> Option<Reply> {
        self.rows.next_result(cursor)
    }

    /// Compiles a dead session's statements again, with the same ids.
    pub fn adopt(&mut self, mut dead: Self) -> Reply {
        let mut next = dead.statements.next_live(0);
        while let Some(id) = next {
            next = dead.statements.next_live(id.0 + 1);
            let Ok(statement) = dead.statements.get_mut(id) else { continue };
            match self.connection.prepare(&statement.text) {
                Ok(compiled) => statement.compiled = compiled,
                Err(error) => return self.failed(error),
            }
        }
        self.statements = std::mem::take(&mut dead.statements);
        Reply::default()
    }

    /// See [`crate::Session::in_transaction`].
    pub fn in_transaction(&self) -> bool {
        self.transaction != Transaction::None
    }

    /// See [`crate::Session::in_failed_transaction`].
    pub fn in_failed_transaction(&self) -> bool {
        self.transaction == Transaction::Failed
    }

    /// Adds the figures of the first result set, or the error.
    fn finish(&mut self, mut reply: Reply, error: Option<ServerError>) -> Reply {
        if let Some(first) = self.rows.describe(0) {
            reply.rows = first.rows;
            reply.columns = first.columns;
            reply.more = first.more;
        }
        if let Some(error) = error {
            reply.error = self.failed(error).error;
        }
        reply
    }

    fn failed(&mut self, error: ServerError) -> Reply {
        let goes_on = HARMLESS.contains(&error.sqlstate.as_str());
        if self.transaction == Transaction::Open && !goes_on {
            self.transaction = Transaction::Failed;
        }
        Reply { error: Some(Box::new(error)), ..Reply::default() }
    }
}

fn run(
    compiled: &mut raw::Statement,
    connection: &Connection,
    rows: &mut Rows,
    transaction: &mut Transaction,
    reply: &mut Reply,
) -> Result<(), ServerError> {
    let is_of_transactions = compiled.is_of_transactions();
    let ran = compiled.execute(connection.watched());
    if is_of_transactions {
        // BEGIN is refused within a transaction, COMMIT and ROLLBACK outside: each that succeeds
        // changes which it is. A COMMIT that fails rolls back.
        *transaction = match (&ran, *transaction) {
            (Ok(_), Transaction::None) => Transaction::Open,
            (Ok(_), _) => Transaction::None,
            (Err(error), _) if error.message.contains("Failed to commit") => Transaction::None,
            (Err(_), unchanged) => unchanged,
        };
    }
    let mut outcome = ran?;
    let changed = outcome.changed();
    let class = if outcome.has_rows() {
        rows.push(outcome);
        Class::Read
    } else if changed > 0 {
        Class::Write
    } else {
        Class::Other
    };
    reply.affected += changed;
    reply.tally.count(class);
    reply.class.get_or_insert(class);
    Ok(())
}
