//! Queries of a session with ClickHouse, and their replies.

use std::cell::RefCell;
use std::mem::MaybeUninit;

use wire_clickhouse::frontend;

use super::error::wrong_value_count;
use super::insert::Pending;
use super::literal::literal;
use super::rows::Reading;
use super::scan::Scan;
use crate::error::ProtocolError;
use crate::placeholder::{Dialect, Template};
use crate::reply::{Progress, Reply, RowCursor, Sent, StatementId};
use crate::statements::Statements;
use crate::value::Value;

/// A session with a ClickHouse server.
#[derive(Debug)]
pub struct ClickhouseSession {
    statements: Statements<Template>,
    scan: Scan,
    /// A prepared INSERT with its values.
    text: Vec<u8>,
    reading: RefCell<Reading>,
}

impl ClickhouseSession {
    /// A session that is idle. `utc`: the server's time zone is UTC; `packed`: blocks are
    /// compressed.
    pub(crate) fn new(utc: bool, packed: bool) -> Self {
        Self {
            statements: Statements::default(),
            scan: Scan::new(utc, packed),
            text: Vec::new(),
            reading: RefCell::default(),
        }
    }

    /// See [`crate::Session::statements_memory`].
    pub fn statements_memory(&self) -> &[MaybeUninit<u8>] {
        self.statements.memory()
    }

    /// Sends a query; of an INSERT with plain rows, what stands before them.
    pub fn query(&mut self, sql: &[u8], out: &mut Vec<u8>) -> Result<Sent, ProtocolError> {
        self.scan.check_idle()?;
        let pending = Pending::of(sql);
        frontend::query_with(
            |out| match &pending {
                Some(pending) => pending.write(sql, out),
                None => out.extend_from_slice(sql),
            },
            out,
        );
        Ok(self.begin(pending))
    }

    fn begin(&mut self, pending: Option<Pending>) -> Sent {
        self.scan.begin(pending);
        self.reading.get_mut().clear();
        Sent::Waiting
    }

    /// See [`crate::Session::send_rows`].
    pub fn send_rows(&mut self, out: &mut Vec<u8>) {
        self.scan.send_wanted(out);
    }

    /// Keeps a statement: the server has no prepared ones.
    pub fn prepare(&mut self, sql: &[u8]) -> StatementId {
        self.statements.insert(Template::new(sql, Dialect::Clickhouse))
    }

    /// Sends the statement with the values in it.
    pub fn execute<'a>(
        &mut self,
        statement: StatementId,
        values: impl ExactSizeIterator<Item = Value<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<Sent, ProtocolError> {
        self.scan.check_idle()?;
        let template = self.statements.get(statement)?;
        if template.values() != values.len() {
            let error = wrong_value_count(template.values(), values.len());
            return Ok(Sent::Done(Reply { error: Some(Box::new(error)), ..Reply::default() }));
        }
        if template.begins_with(b"INSERT") {
            let mut text = std::mem::take(&mut self.text);
            text.clear();
            template.render(values, literal, &mut text);
            let sent = self.query(&text, out);
            self.text = text;
            return sent;
        }
        frontend::query_with(|out| template.render(values, literal, out), out);
        Ok(self.begin(None))
    }

    /// Forgets a statement.
    pub fn close_statement(&mut self, id: StatementId) -> Result<Sent, ProtocolError> {
        self.statements.remove(id)?;
        Ok(Sent::Done(Reply::default()))
    }

    /// See [`crate::Session::adopt`].
    pub fn adopt(&mut self, dead: Self) -> Sent {
        self.statements = dead.statements;
        Sent::Done(Reply::default())
    }

    /// See [`crate::Session::feed`].
    pub fn feed(&mut self, buffer: &[u8]) -> Result<Progress, ProtocolError> {
        self.scan.feed(buffer)
    }

    /// See [`crate::Session::discard_scanned`].
    pub fn discard_scanned(&mut self, buffer_size: usize) -> usize {
        self.scan.scanned.discard(buffer_size)
    }

    /// See [`crate::Session::row`].
    pub fn row(
        &self,
        reply: &[u8],
        cursor: &mut RowCursor,
        column: impl FnMut(Option<&[u8]>),
    ) -> Result<bool, ProtocolError> {
        self.scan.scanned.check_readable()?;
        self.reading.borrow_mut().row(reply, cursor, column)
    }
}

#[cfg(test)]
mod tests;
