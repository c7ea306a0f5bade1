//! Requests of a session with PostgreSQL, and their replies.

use std::mem::MaybeUninit;

use wire_postgres::frontend;

use super::error::wrong_value_count;
use super::scan::{Expect, Scan};
use super::statement::{Statement, Text};
use super::{literal, load, rows};
use crate::error::ProtocolError;
use crate::load::Form;
use crate::placeholder::{Dialect, Template};
use crate::reply::{Progress, Reply, RowCursor, Sent, StatementId};
use crate::statements::Statements;
use crate::value::Value;

/// A session with a PostgreSQL server.
#[derive(Debug)]
pub struct PostgresSession {
    prepares: bool,
    statements: Statements<Statement>,
    scan: Scan,
}

impl PostgresSession {
    /// A session that is idle. Without `prepares`, prepared statements are sent as plain text.
    pub(crate) fn new(prepares: bool) -> Self {
        Self { prepares, statements: Statements::default(), scan: Scan::default() }
    }

    /// See [`crate::Session::statements_memory`].
    pub fn statements_memory(&self) -> &[MaybeUninit<u8>] {
        self.statements.memory()
    }

    /// Sends statement text by the simple protocol.
    pub fn query(&mut self, sql: &[u8], out: &mut Vec<u8>) -> Result<Sent, ProtocolError> {
        self.scan.check_free()?;
        frontend::query(sql, out)?;
        Ok(self.await_reply(Expect::Text))
    }

    /// See [`crate::Session::load`].
    pub fn load(
        &mut self,
        sql: &[u8],
        forms: &[Form],
        out: &mut Vec<u8>,
    ) -> Result<Option<Sent>, ProtocolError> {
        self.scan.check_idle()?;
        if self.in_transaction() {
            return Ok(None);
        }
        let rows = load::copy(sql, forms, out)?;
        Ok(rows.map(|rows| self.await_reply(Expect::Load { rows })))
    }

    /// See [`crate::Session::refused_load`]. A COPY that fails stores nothing.
    pub fn refused_load(&self) -> bool {
        self.scan.load_failed()
    }

    /// Sends Parse, Describe and Sync. Describe shows whether the statement returns rows, so
    /// executions need not ask.
    pub fn prepare(
        &mut self,
        sql: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(StatementId, Sent), ProtocolError> {
        self.scan.check_idle()?;
        let template = Template::new(sql, Dialect::Postgres);
        if !self.prepares {
            let id = self.statements.insert(Statement { columns: 0, text: Text::Plain(template) });
            return Ok((id, Sent::Done(Reply::default())));
        }
        let mut numbered = Vec::with_capacity(sql.len() + template.values());
        template.render(1..=template.values(), literal::parameter, &mut numbered);
        let text = Text::Prepared(numbered.into());
        let id = self.statements.insert(Statement { columns: 0, text });
        if let Err(error) = self.send_prepare(id, out) {
            self.statements.remove(id)?;
            return Err(error);
        }
        frontend::sync(out);
        Ok((id, self.await_reply(Expect::Prepared { next: Some(id), fresh: true })))
    }

    /// Sends Bind, Execute and Sync, or the text with the values written into it.
    pub fn execute<'a>(
        &mut self,
        statement: StatementId,
        values: impl ExactSizeIterator<Item = Value<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<Sent, ProtocolError> {
        self.scan.check_free()?;
        let Statement { columns, text } = self.statements.get(statement)?;
        match text {
            Text::Prepared(_) => {
                frontend::bind(statement.0, values, literal::text, out)?;
                frontend::execute(out);
                frontend::sync(out);
                let columns = *columns;
                Ok(self.await_reply(Expect::Rows { columns }))
            }
            Text::Plain(template) if template.values() == values.len() => {
                frontend::query_with(|out| template.render(values, literal::literal, out), out)?;
                Ok(self.await_reply(Expect::Text))
            }
            Text::Plain(template) => {
                let error = wrong_value_count(template.values(), values.len());
                Ok(Sent::Done(Reply { error: Some(Box::new(error)), ..Reply::default() }))
            }
        }
    }

    /// Sends Close and Sync; the id is free from here on.
    pub fn close_statement(
        &mut self,
        statement: StatementId,
        out: &mut Vec<u8>,
    ) -> Result<Sent, ProtocolError> {
        self.scan.check_idle()?;
        match self.statements.get(statement)?.text {
            Text::Plain(_) => {
                self.statements.remove(statement)?;
                Ok(Sent::Done(Reply::default()))
            }
            Text::Prepared(_) => {
                frontend::close(statement.0, out)?;
                frontend::sync(out);
                self.statements.remove(statement)?;
                Ok(self.await_reply(Expect::Closed))
            }
        }
    }

    /// See [`crate::Session::pipelined`].
    pub fn pipelined(&mut self, pipelined: bool) {
        self.scan.set_pipelined(pipelined);
    }

    /// See [`crate::Session::feed`].
    pub fn feed(&mut self, buffer: &[u8]) -> Result<Progress, ProtocolError> {
        self.scan.feed(buffer, &mut self.statements)
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
        rows::row(reply, cursor, column)
    }

    /// See [`crate::Session::next_result`].
    pub fn next_result(
        &self,
        reply: &[u8],
        cursor: &mut RowCursor,
    ) -> Result<Option<Reply>, ProtocolError> {
        self.scan.scanned.check_readable()?;
        rows::next_result(reply, cursor)
    }

    /// See [`crate::Session::adopt`].
    pub fn adopt(&mut self, dead: Self, out: &mut Vec<u8>) -> Result<Sent, ProtocolError> {
        self.scan.check_idle()?;
        self.statements = dead.statements;
        let Some(first) = self.statements.next_live(0).filter(|_| self.prepares) else {
            return Ok(Sent::Done(Reply::default()));
        };
        let mut next = Some(first);
        while let Some(id) = next {
            self.send_prepare(id, out)?;
            next = self.statements.next_live(id.0 + 1);
        }
        frontend::sync(out);
        Ok(self.await_reply(Expect::Prepared { next: Some(first), fresh: false }))
    }

    /// See [`crate::Session::terminate`].
    pub fn terminate(&mut self, out: &mut Vec<u8>) {
        frontend::terminate(out);
    }

    /// See [`crate::Session::in_transaction`].
    pub fn in_transaction(&self) -> bool {
        self.scan.transaction_status() != b'I'
    }

    /// See [`crate::Session::in_failed_transaction`].
    pub fn in_failed_transaction(&self) -> bool {
        self.scan.transaction_status() == b'E'
    }

    fn await_reply(&mut self, expect: Expect) -> Sent {
        self.scan.begin(expect);
        Sent::Waiting
    }

    fn send_prepare(&self, id: StatementId, out: &mut Vec<u8>) -> Result<(), ProtocolError> {
        if let Text::Prepared(sql) = &self.statements.get(id)?.text {
            let start = out.len();
            let sent = frontend::parse(id.0, sql, out).and_then(|()| frontend::describe(id.0, out));
            if let Err(error) = sent {
                out.truncate(start);
                return Err(error.into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
