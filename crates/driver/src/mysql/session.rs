//! Commands of a session with MySQL or MariaDB, and their replies.

use std::mem::MaybeUninit;

use wire_mysql::frontend::{self, Bound};
use wire_mysql::{Agreed, backend};

use super::error::wrong_value_count;
use super::scan::{Expect, Scan};
use super::statement::{Statement, Text, next_prepared};
use super::{batch, literal, load};
use crate::error::ProtocolError;
use crate::load::Form;
use crate::placeholder::{Dialect, Template};
use crate::reply::{Progress, Reply, RowCursor, Sent, StatementId};
use crate::statements::Statements;
use crate::value::Value;

/// A session with a MySQL or MariaDB server.
#[derive(Debug)]
pub struct MysqlSession {
    prepares: bool,
    statements: Statements<Statement>,
    /// Server ids of statements to close. Closing has no reply, so it is sent with the next
    /// command.
    closing: Vec<u32>,
    /// The server allows LOAD DATA LOCAL.
    loads: bool,
    /// The server supports COM_STMT_BULK_EXECUTE.
    bulk_executes: bool,
    /// The INSERT last prepared for it.
    inserting: Option<StatementId>,
    /// Rows to send when the server is ready for them.
    rows: Option<Box<Rows>>,
    scan: Scan,
}

impl MysqlSession {
    /// A session that is idle. Without `prepares`, prepared statements are sent as plain text.
    pub(crate) fn new(prepares: bool, agreed: Agreed) -> Self {
        Self {
            prepares,
            statements: Statements::default(),
            closing: Vec::new(),
            loads: agreed.loads,
            bulk_executes: agreed.bulk_executes,
            inserting: None,
            rows: None,
            scan: Scan::new(agreed),
        }
    }

    /// See [`crate::Session::statements_memory`].
    pub fn statements_memory(&self) -> &[MaybeUninit<u8>] {
        self.statements.memory()
    }

    /// Sends COM_QUERY.
    pub fn query(&mut self, sql: &[u8], out: &mut Vec<u8>) -> Result<Sent, ProtocolError> {
        self.scan.check_free()?;
        close_all(&mut self.closing, out);
        frontend::query(sql, out)?;
        Ok(self.await_reply(Expect::Results { statement: None }))
    }

    /// See [`crate::Session::load`].
    pub fn load(
        &mut self,
        sql: &[u8],
        forms: &[Form],
        out: &mut Vec<u8>,
    ) -> Result<Option<Sent>, ProtocolError> {
        self.scan.check_idle()?;
        let escapes = self.scan.status() & backend::STATUS_NO_BACKSLASH_ESCAPES == 0;
        if !escapes || forms.contains(&Form::Literal) {
            return Ok(None);
        }
        let plain = Form::are_plain(forms);
        if plain
            && self.prepares
            && self.bulk_executes
            && let Some(rows) = batch::batch(sql)
        {
            return self.load_batch(rows, out).map(Some);
        }
        if !self.loads {
            return Ok(None);
        }
        // If there is no load, the closes go with the INSERT instead.
        close_all(&mut self.closing, out);
        let Some(load::Rows { count, data }) = load::load(sql, plain, out)? else {
            return Ok(None);
        };
        self.rows = Some(Box::new(Rows::File(data)));
        Ok(Some(self.await_reply(Expect::Load { rows: count })))
    }

    /// The INSERT is prepared once for all equal batches.
    fn load_batch(&mut self, rows: batch::Rows, out: &mut Vec<u8>) -> Result<Sent, ProtocolError> {
        let batch::Rows { sql, count: rows, batch } = rows;
        let same =
            |text: &Text| matches!(text, Text::Prepared { sql: known, .. } if **known == sql);
        if let Some(statement) = self.inserting {
            let Statement { number, text, .. } = self.statements.get(statement)?;
            if same(text) {
                close_all(&mut self.closing, out);
                frontend::bulk_execute(*number, &batch, out)?;
                return Ok(self.await_reply(Expect::Batch { statement, rows, prepared: true }));
            }
            self.close_statement(statement)?;
        }
        close_all(&mut self.closing, out);
        frontend::prepare(&sql, out)?;
        let text = Text::Prepared { sql: sql.into(), values: 0 };
        let statement = self.statements.insert(Statement::new(text));
        self.inserting = Some(statement);
        let mut command = Vec::new();
        frontend::bulk_execute(0, &batch, &mut command)?;
        self.rows = Some(Box::new(Rows::Batch(command)));
        Ok(self.await_reply(Expect::Batch { statement, rows, prepared: false }))
    }

    /// See [`crate::Session::send_rows`].
    pub fn send_rows(&mut self, out: &mut Vec<u8>) {
        match self.rows.take().map(|rows| *rows) {
            None => frontend::file(self.scan.next_sequence(), &[], out),
            Some(Rows::File(data)) => frontend::file(self.scan.next_sequence(), &data, out),
            Some(Rows::Batch(mut command)) => {
                let known = self.inserting.and_then(|id| self.statements.get(id).ok());
                frontend::bulk_execute_of(known.map_or(0, |known| known.number), &mut command);
                out.extend_from_slice(&command);
            }
        }
    }

    /// See [`crate::Session::load_warnings`].
    pub fn load_warnings(&self) -> u16 {
        self.scan.load_warnings()
    }

    /// See [`crate::Session::refused_load`]. Once the server has asked for the rows, it may have
    /// stored some.
    pub fn refused_load(&mut self) -> bool {
        let refused = self.rows.take();
        if let Some(Rows::Batch(_)) = refused.as_deref() {
            self.inserting = None;
        }
        refused.is_some()
    }

    /// Sends COM_STMT_PREPARE; its reply says whether the statement returns rows.
    pub fn prepare(
        &mut self,
        sql: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(StatementId, Sent), ProtocolError> {
        self.scan.check_idle()?;
        if !self.prepares {
            let text = Text::Plain(Template::new(sql, Dialect::Mysql));
            let id = self.statements.insert(Statement::new(text));
            return Ok((id, Sent::Done(Reply::default())));
        }
        close_all(&mut self.closing, out);
        frontend::prepare(sql, out)?;
        let text = Text::Prepared { sql: sql.into(), values: 0 };
        let id = self.statements.insert(Statement::new(text));
        Ok((id, self.await_reply(Expect::Prepared { next: id, fresh: true })))
    }

    /// See [`crate::Session::statement_text`].
    pub fn statement_text(&self, statement: StatementId) -> Option<&[u8]> {
        match &self.statements.get(statement).ok()?.text {
            Text::Prepared { sql, .. } => Some(sql),
            Text::Plain(_) => None,
        }
    }

    /// Sends COM_STMT_EXECUTE, or the text with the values in it.
    pub fn execute<'a>(
        &mut self,
        statement: StatementId,
        values: impl ExactSizeIterator<Item = Value<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<Sent, ProtocolError> {
        self.scan.check_free()?;
        let Statement { number, text, .. } = self.statements.get(statement)?;
        let needed = match text {
            Text::Prepared { values, .. } => usize::from(*values),
            Text::Plain(template) => template.values(),
        };
        if needed != values.len() {
            let error = wrong_value_count(needed, values.len());
            return Ok(Sent::Done(Reply { error: Some(Box::new(error)), ..Reply::default() }));
        }
        close_all(&mut self.closing, out);
        match text {
            Text::Prepared { .. } => {
                frontend::execute(*number, values.map(bound), out)?;
                Ok(self.await_reply(Expect::Results { statement: Some(statement) }))
            }
            Text::Plain(template) => {
                frontend::query_with(|out| template.render(values, literal::literal, out), out)?;
                Ok(self.await_reply(Expect::Results { statement: None }))
            }
        }
    }

    /// Queues the statement's close; its id is free from here on.
    pub fn close_statement(&mut self, id: StatementId) -> Result<Sent, ProtocolError> {
        self.scan.check_idle()?;
        let statement = self.statements.remove(id)?;
        if let Text::Prepared { .. } = statement.text {
            self.closing.push(statement.number);
        }
        self.scan.closed(id, statement);
        Ok(Sent::Done(Reply::default()))
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
        let known = self.scan.columns().known(&self.statements);
        self.scan.layout().row(reply, cursor, known, column)
    }

    /// See [`crate::Session::next_result`].
    pub fn next_result(
        &self,
        reply: &[u8],
        cursor: &mut RowCursor,
    ) -> Result<Option<Reply>, ProtocolError> {
        self.scan.scanned.check_readable()?;
        self.scan.layout().next_result(reply, cursor)
    }

    /// See [`crate::Session::adopt`].
    pub fn adopt(&mut self, mut dead: Self, out: &mut Vec<u8>) -> Result<Sent, ProtocolError> {
        self.scan.check_idle()?;
        // It is prepared again when needed.
        if let Some(id) = dead.inserting {
            dead.statements.remove(id)?;
        }
        self.statements = dead.statements;
        let Some(first) = next_prepared(&self.statements, 0) else {
            return Ok(Sent::Done(Reply::default()));
        };
        let mut next = Some(first);
        while let Some(id) = next {
            if let Text::Prepared { sql, .. } = &self.statements.get(id)?.text {
                frontend::prepare(sql, out)?;
            }
            next = next_prepared(&self.statements, id.0 + 1);
        }
        Ok(self.await_reply(Expect::Prepared { next: first, fresh: false }))
    }

    /// See [`crate::Session::terminate`].
    pub fn terminate(&mut self, out: &mut Vec<u8>) {
        frontend::quit(out);
    }

    /// See [`crate::Session::in_transaction`].
    pub fn in_transaction(&self) -> bool {
        self.scan.status() & backend::STATUS_IN_TRANSACTION != 0
    }

    fn await_reply(&mut self, expect: Expect) -> Sent {
        self.scan.begin(expect);
        Sent::Waiting
    }
}

/// Rows to load.
#[derive(Debug)]
enum Rows {
    /// The content that the server reads as a file.
    File(Vec<u8>),
    /// The execution of the INSERT being prepared.
    Batch(Vec<u8>),
}

/// Closes go with the next command sent.
fn close_all(closing: &mut Vec<u32>, out: &mut Vec<u8>) {
    for number in closing.drain(..) {
        frontend::close(number, out);
    }
}

fn bound(value: Value<'_>) -> Bound<'_> {
    match value {
        Value::Null => Bound::Null,
        Value::Int(number) => Bound::Int(number),
        Value::Unsigned(number) => Bound::Unsigned(number),
        Value::Double(number) => Bound::Double(number),
        Value::Bytes(bytes) => Bound::Bytes(bytes),
    }
}

#[cfg(test)]
pub(super) mod tests;
