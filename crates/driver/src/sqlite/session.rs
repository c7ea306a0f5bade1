//! Requests of a session with a SQLite file.

use rusqlite::Connection;

use super::raw::{self, RawStatement, Watch};
use super::rows::Rows;
use crate::error::{ProtocolError, ServerError};
use crate::over::Over;
use crate::reply::{Class, Reply, RowCursor, StatementId};
use crate::statements::Statements;
use crate::value::Value;

/// A connection of its own to a SQLite file.
#[derive(Debug)]
pub struct SqliteSession {
    /// Declared before the connection: fields drop in this order, and statements must go first.
    statements: Statements<Statement>,
    rows: Rows,
    connection: Connection,
    /// Declared after the connection, which refers to it.
    watch: Option<Watch>,
}

#[derive(Debug)]
struct Statement {
    compiled: RawStatement,
    text: Box<[u8]>,
}

impl SqliteSession {
    pub(super) fn new(connection: Connection) -> Self {
        Self { statements: Statements::default(), rows: Rows::default(), connection, watch: None }
    }

    /// See [`crate::Session::end_statements_when`].
    pub fn end_statements_when(&mut self, over: Over) {
        self.watch = Some(Watch::new(&self.connection, over));
    }

    /// Runs statement text: its statements one after the other, up to the first that fails.
    pub fn query(&mut self, sql: &[u8]) -> Reply {
        self.rows.clear();
        let mut reply = Reply::default();
        let mut rest = sql;
        while !rest.is_empty() && reply.error.is_none() {
            match RawStatement::prepare(&self.connection, rest, false) {
                Ok((_, 0)) => break,
                Ok((compiled, read)) => {
                    rest = &rest[read..];
                    if let Some(mut compiled) = compiled {
                        let values = std::iter::empty();
                        run(&self.connection, &mut self.rows, &mut compiled, values, &mut reply);
                    }
                }
                Err(error) => reply.error = Some(Box::new(error)),
            }
        }
        self.finish(reply)
    }

    /// Compiles a statement and keeps it. If the reply has an error, the id is invalid.
    pub fn prepare(&mut self, sql: &[u8]) -> (StatementId, Reply) {
        match compile(&self.connection, sql) {
            Ok(compiled) => {
                let id = self.statements.insert(Statement { compiled, text: sql.into() });
                (id, Reply::default())
            }
            Err(error) => (StatementId(u32::MAX), failed(error)),
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
        if compiled.values() != values.len() {
            let (needed, given) = (compiled.values(), values.len());
            let message =
                format!("the statement has {needed} placeholders, but {given} values are given");
            return Ok(failed(raw::failure(rusqlite::ffi::SQLITE_RANGE, message)));
        }
        let mut reply = Reply::default();
        run(&self.connection, &mut self.rows, compiled, values, &mut reply);
        Ok(self.finish(reply))
    }

    /// Closes a statement.
    pub fn close(&mut self, statement: StatementId) -> Result<Reply, ProtocolError> {
        self.statements.remove(statement).map(|_| Reply::default())
    }

    /// See [`crate::Session::row`].
    pub fn row(&self, cursor: &mut RowCursor, column: impl FnMut(Option<&[u8]>)) -> bool {
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
            match compile(&self.connection, &statement.text) {
                Ok(compiled) => statement.compiled = compiled,
                Err(error) => return failed(error),
            }
        }
        self.statements = std::mem::take(&mut dead.statements);
        Reply::default()
    }

    /// See [`crate::Session::in_transaction`].
    pub fn in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    /// Adds the figures of the first result set to the reply.
    fn finish(&self, mut reply: Reply) -> Reply {
        if let Some(first) = self.rows.describe(0) {
            reply.rows = first.rows;
            reply.columns = first.columns;
            reply.more = first.more;
        }
        reply
    }
}

fn compile(connection: &Connection, sql: &[u8]) -> Result<RawStatement, ServerError> {
    let (compiled, _) = RawStatement::prepare(connection, sql, true)?;
    compiled.ok_or_else(|| {
        raw::failure(rusqlite::ffi::SQLITE_ERROR, "the text holds no statement to prepare".into())
    })
}

fn run<'a>(
    connection: &Connection,
    rows: &mut Rows,
    compiled: &mut RawStatement,
    values: impl Iterator<Item = Value<'a>>,
    reply: &mut Reply,
) {
    let changes_before = raw::total_changes(connection);
    let columns = compiled.columns();
    if columns > 0 {
        rows.begin_set(columns);
    }
    let result = compiled.run(connection, values, |row| rows.push(|index| row.column(index)));
    if let Err(error) = result {
        reply.error = Some(Box::new(error));
        return;
    }
    // SQLite's count of changed rows stays until the next change: it is this statement's only if
    // the total has moved.
    let changed =
        if raw::total_changes(connection) == changes_before { 0 } else { connection.changes() };
    let class = if columns > 0 {
        Class::Read
    } else if changed > 0 {
        Class::Write
    } else {
        Class::Other
    };
    reply.affected += changed;
    reply.tally.count(class);
    reply.class.get_or_insert(class);
}

fn failed(error: ServerError) -> Reply {
    Reply { error: Some(Box::new(error)), ..Reply::default() }
}

// Miri can't run C code such as SQLite.
#[cfg(test)]
#[cfg(not(miri))]
mod tests;
