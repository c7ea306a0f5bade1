//! Scans replies by lengths and first bytes. Rows are skipped, not decoded, and need not even be
//! received completely.

use std::collections::VecDeque;

use wire_mysql::backend::{self, HEADER_SIZE, Prepared, SetHead};
use wire_mysql::{Agreed, PACKET_SIZE_MAX, WireError};

use super::columns::Columns;
use super::error::server_error;
use super::rows::Layout;
use super::statement::{Statement, Text, next_prepared};
use crate::error::{ProtocolError, ServerError};
use crate::load::wrong_row_count;
use crate::reply::{Class, Progress, Reply, StatementId};
use crate::scanned::Scanned;
use crate::statements::Statements;

/// The reply expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expect {
    /// None: only a last message before the server closes.
    Nothing,
    /// The reply to statement text or an execution: any number of results.
    Results {
        /// The prepared statement executed: its rows use the binary protocol.
        statement: Option<StatementId>,
    },
    /// The reply to LOAD DATA LOCAL INFILE and SHOW WARNINGS: the server asks for the rows first.
    Load {
        /// Number of rows sent.
        rows: u64,
    },
    /// The reply to COM_STMT_BULK_EXECUTE, preceded by the reply to preparing its INSERT.
    Batch {
        /// The INSERT.
        statement: StatementId,
        /// Number of rows sent.
        rows: u32,
        /// The INSERT's preparation has been answered.
        prepared: bool,
    },
    /// The replies to one or more COM_STMT_PREPARE.
    Prepared {
        /// The statement whose preparation is answered next.
        next: StatementId,
        /// It is new: if it can't be prepared, its id becomes free.
        fresh: bool,
    },
    /// Nothing more, except the rest of a result that has begun.
    Over,
}

/// "This command is not supported in the prepared statement protocol yet".
const NOT_PREPARABLE: i64 = 1295;

/// The meaning of the next packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The first packet of a result, or of the reply to a preparation.
    First,
    /// One of the column definitions (or their end) before the rows or before the next result.
    Definitions { left: u32 },
    /// A row, or the end of the rows.
    Rows,
}

/// The progress through a reply.
#[derive(Debug)]
pub(super) struct Scan {
    deprecates_eof: bool,
    caches_metadata: bool,
    expect: Expect,
    /// Replies expected after it, in a pipeline.
    behind: VecDeque<Expect>,
    /// Commands may be sent while replies are outstanding.
    pipelined: bool,
    stage: Stage,
    columns: Columns,
    /// The last packet was full: the next one continues its payload.
    continues: bool,
    /// Up to the next packet.
    pub scanned: Scanned,
    /// Result sets seen in this reply.
    sets: u32,
    reply: Reply,
    status: u16,
    /// The server asks for rows, or is ready for them.
    wanted: bool,
    /// Sequence number of the next packet, if we send it.
    next_sequence: u8,
    /// Warnings and notes of the last load.
    load_warnings: u16,
}

impl Scan {
    pub fn new(agreed: Agreed) -> Self {
        Self {
            deprecates_eof: agreed.deprecates_eof,
            caches_metadata: agreed.caches_metadata,
            expect: Expect::Nothing,
            behind: VecDeque::new(),
            pipelined: false,
            stage: Stage::First,
            columns: Columns::default(),
            continues: false,
            scanned: Scanned::default(),
            sets: 0,
            reply: Reply::default(),
            status: agreed.status,
            wanted: false,
            next_sequence: 0,
            load_warnings: 0,
        }
    }

    /// See [`crate::Session::load_warnings`].
    pub fn load_warnings(&self) -> u16 {
        self.load_warnings
    }

    /// The status flags the server last sent.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Sequence number of the first packet of the rows asked for.
    pub fn next_sequence(&self) -> u8 {
        self.next_sequence
    }

    /// The layout of the last reply.
    pub fn layout(&self) -> Layout {
        Layout {
            binary: self.columns.statement.is_some(),
            deprecates_eof: self.deprecates_eof,
            caches_metadata: self.caches_metadata,
        }
    }

    /// Known columns of the last reply, where it does not define them.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// A statement is closed.
    pub fn closed(&mut self, id: StatementId, statement: Statement) {
        self.columns.closed(id, statement.columns);
    }

    pub fn check_idle(&self) -> Result<(), ProtocolError> {
        match self.expect {
            Expect::Nothing => Ok(()),
            _ => Err(ProtocolError::Misuse("a reply is still outstanding")),
        }
    }

    /// Fails unless a statement may be sent now.
    pub fn check_free(&self) -> Result<(), ProtocolError> {
        if self.pipelined { Ok(()) } else { self.check_idle() }
    }

    /// See [`crate::Session::pipelined`].
    pub fn set_pipelined(&mut self, pipelined: bool) {
        self.pipelined = pipelined;
    }

    /// A command was sent.
    pub fn begin(&mut self, expect: Expect) {
        if self.expect != Expect::Nothing {
            self.behind.push_back(expect);
            return;
        }
        self.expect = expect;
        self.stage = Stage::First;
        self.columns.begin(match expect {
            Expect::Results { statement } => statement,
            _ => None,
        });
        self.scanned.begin();
        self.sets = 0;
    }

    pub fn feed(
        &mut self,
        buffer: &[u8],
        statements: &mut Statements<Statement>,
    ) -> Result<Progress, ProtocolError> {
        while let Some(rest) = buffer.get(self.scanned.position()..) {
            // The last packet may have been skipped before it had arrived completely.
            if self.wanted && !self.continues {
                return Ok(self.wants());
            }
            if self.is_over() {
                self.columns.keep(statements);
                return Ok(self.done());
            }
            let Some(header) = backend::header(rest) else { break };
            let packet = &rest[HEADER_SIZE..];
            if self.skips(header.size, packet)? {
                self.scanned.advance(HEADER_SIZE + header.size);
                self.continues = header.size == PACKET_SIZE_MAX;
                continue;
            }
            let Some(payload) = packet.get(..header.size) else { break };
            self.next_sequence = header.sequence.wrapping_add(1);
            self.payload(payload, statements)?;
            self.scanned.advance(HEADER_SIZE + header.size);
        }
        Ok(Progress::More)
    }

    /// Whether the current packet can be skipped unread. (One that has not arrived can't: its first
    /// byte decides.)
    fn skips(&mut self, size: usize, packet: &[u8]) -> Result<bool, ProtocolError> {
        if self.continues {
            return Ok(true);
        }
        match (self.stage, packet.first()) {
            (Stage::Definitions { left }, _) if self.columns.wants(left, self.layout().ends()) => {
                Ok(false)
            }
            (Stage::Definitions { left }, _) => {
                self.await_definitions(left - 1);
                Ok(true)
            }
            (Stage::Rows, _) if size == 0 => Err(ProtocolError::Malformed("row of no bytes")),
            // Warnings are read.
            (Stage::Rows, _) if matches!(self.expect, Expect::Load { .. }) => Ok(false),
            (Stage::Rows, Some(&first)) if !self.layout().ends_rows(first, size) => {
                if self.sets == 1 {
                    self.reply.rows += 1;
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// After the first packet of a preparation's reply: placeholders and columns follow.
    fn await_prepared(&mut self, prepared: Prepared) {
        let [values, columns] = [prepared.values, prepared.columns]
            .map(|columns| self.layout().definitions(SetHead { columns, defined: true }));
        self.await_definitions(values + columns);
    }

    /// Expects this many packets before the rows or before the next result.
    fn await_definitions(&mut self, left: u32) {
        self.stage = match (left, self.expect) {
            (1.., _) => Stage::Definitions { left },
            (0, Expect::Results { .. } | Expect::Load { .. }) => Stage::Rows,
            (0, _) => Stage::First,
        };
        self.wanted |= left == 0 && matches!(self.expect, Expect::Batch { .. });
    }

    /// Takes one payload.
    fn payload(
        &mut self,
        payload: &[u8],
        statements: &mut Statements<Statement>,
    ) -> Result<(), ProtocolError> {
        let &first = payload.first().ok_or(WireError::Malformed("empty packet"))?;
        match (self.expect, self.stage, first) {
            (_, _, backend::ERR) => return self.failed(payload, statements),
            (expect, Stage::Definitions { left }, _) => {
                self.columns.take(payload)?;
                if !matches!(expect, Expect::Results { .. }) {
                    self.columns.keep(statements);
                }
                self.await_definitions(left - 1);
            }
            (Expect::Load { rows }, _, _) => return self.load_payload(payload, first, rows),
            (Expect::Results { .. }, Stage::Rows, _) => {
                let status = self.layout().end_status(payload)?;
                self.result_over(Class::Read, status);
            }
            (Expect::Results { .. }, _, backend::OK) => {
                let completion = backend::ok(payload)?;
                self.reply.affected += completion.affected;
                let class = if completion.affected > 0 { Class::Write } else { Class::Other };
                self.result_over(class, completion.status);
            }
            (Expect::Results { .. }, _, first) if first != backend::LOCAL_INFILE => {
                let head = self.layout().head(payload)?;
                self.sets += 1;
                if self.sets == 1 {
                    self.reply.columns = head.columns;
                }
                let remembers = self.caches_metadata && self.columns.statement.is_some();
                self.columns.expect(if remembers && head.defined { head.columns } else { 0 });
                self.await_definitions(self.layout().definitions(head));
            }
            (Expect::Prepared { next: id, fresh }, _, backend::OK) => {
                let prepared = backend::prepared(payload)?;
                let statement = statements.get_mut(id)?;
                statement.number = prepared.statement;
                if let Text::Prepared { values, .. } = &mut statement.text {
                    *values = prepared.values;
                }
                statement.selects = prepared.columns > 0;
                statement.columns = Box::default();
                self.columns.begin(Some(id));
                self.columns.expect(if self.caches_metadata { prepared.columns } else { 0 });
                self.prepared(id, fresh, statements);
                self.await_prepared(prepared);
            }
            (Expect::Batch { statement, rows, prepared: false }, _, backend::OK) => {
                let prepared = backend::prepared(payload)?;
                statements.get_mut(statement)?.number = prepared.statement;
                self.expect = Expect::Batch { statement, rows, prepared: true };
                self.await_prepared(prepared);
            }
            (Expect::Batch { rows, .. }, _, backend::OK) => self.stored(payload, rows.into())?,
            (expect, _, first) => {
                let state = match expect {
                    Expect::Nothing | Expect::Over => "idle",
                    Expect::Results { .. } | Expect::Load { .. } | Expect::Batch { .. } => {
                        "answering a statement"
                    }
                    Expect::Prepared { .. } => "preparing a statement",
                };
                return Err(ProtocolError::Unexpected { found: char::from(first), state });
            }
        }
        Ok(())
    }

    /// Reads one payload of the reply to a load: the request for the rows, its result, and then the
    /// warnings, of which any but a note is an error that LOCAL downgraded.
    fn load_payload(&mut self, payload: &[u8], first: u8, rows: u64) -> Result<(), ProtocolError> {
        match (self.stage, first) {
            (Stage::Rows, first) if !self.layout().ends_rows(first, payload.len()) => {
                if let Some(error) = warning(payload)? {
                    self.reply.error.get_or_insert_with(|| Box::new(error));
                }
            }
            (Stage::Rows, _) => {
                self.status = self.layout().end_status(payload)?;
                self.load_over(rows);
            }
            (_, backend::LOCAL_INFILE) => self.wanted = true,
            (_, backend::OK) => self.stored(payload, rows)?,
            _ => {
                let head = self.layout().head(payload)?;
                self.await_definitions(self.layout().definitions(head));
            }
        }
        Ok(())
    }

    /// Reads the server's result for the rows.
    fn stored(&mut self, payload: &[u8], rows: u64) -> Result<(), WireError> {
        let completion = backend::ok(payload)?;
        self.load_warnings = backend::warnings(payload)?;
        self.reply.affected = completion.affected;
        self.result_over(Class::Write, completion.status);
        if self.expect == Expect::Over {
            self.load_over(rows);
        }
        Ok(())
    }

    fn load_over(&mut self, rows: u64) {
        self.stage = Stage::First;
        self.expect = Expect::Over;
        let affected = self.reply.affected;
        if affected != rows {
            let error = || Box::new(wrong_row_count(rows, affected));
            self.reply.error.get_or_insert_with(error);
        }
    }

    /// An error ends the reply, unless further preparations are to be answered. A statement that
    /// can't be prepared at all (BEGIN, on old servers) is no error: it is sent as text.
    fn failed(
        &mut self,
        payload: &[u8],
        statements: &mut Statements<Statement>,
    ) -> Result<(), ProtocolError> {
        let error = server_error(payload)?;
        let closes = error.closes;
        self.stage = Stage::First;
        self.columns.broke_off(statements);
        if let (Expect::Prepared { next: id, fresh }, NOT_PREPARABLE) = (self.expect, error.number)
        {
            statements.get_mut(id)?.send_as_text();
            self.prepared(id, fresh, statements);
            return Ok(());
        }
        self.reply.error.get_or_insert_with(|| Box::new(error));
        match self.expect {
            Expect::Batch { statement, prepared: false, .. } => {
                statements.remove(statement)?;
                self.expect = Expect::Over;
            }
            Expect::Nothing if !closes => {
                return Err(ProtocolError::Unexpected { found: '\u{ff}', state: "idle" });
            }
            Expect::Prepared { next: id, fresh } if !closes => {
                if fresh {
                    statements.remove(id)?;
                }
                self.prepared(id, fresh, statements);
            }
            _ => self.expect = Expect::Over,
        }
        Ok(())
    }

    fn prepared(&mut self, id: StatementId, fresh: bool, statements: &Statements<Statement>) {
        let next = if fresh { None } else { next_prepared(statements, id.0 + 1) };
        self.expect = next.map_or(Expect::Over, |next| Expect::Prepared { next, fresh });
    }

    fn result_over(&mut self, class: Class, status: u16) {
        self.status = status;
        self.reply.tally.count(class);
        self.reply.class.get_or_insert(class);
        self.stage = Stage::First;
        if status & backend::STATUS_MORE_RESULTS == 0 {
            self.expect = Expect::Over;
        }
    }

    /// Whether nothing is outstanding and nothing is left over.
    fn is_over(&self) -> bool {
        self.expect == Expect::Over && self.stage == Stage::First && !self.continues
    }

    /// The rows to be sent now are the next packets of the conversation.
    fn wants(&mut self) -> Progress {
        self.wanted = false;
        Progress::Wanted { consumed: self.scanned.take_position() }
    }

    fn done(&mut self) -> Progress {
        self.expect = Expect::Nothing;
        self.reply.more = self.sets > 1;
        let consumed = self.scanned.take_position();
        let reply = std::mem::take(&mut self.reply);
        if let Some(next) = self.behind.pop_front() {
            self.begin(next);
        }
        Progress::Done { reply, consumed }
    }
}

/// A row of SHOW WARNINGS as an error, unless it is a note.
fn warning(row: &[u8]) -> Result<Option<ServerError>, WireError> {
    let mut fields: [Option<String>; 3] = Default::default();
    let mut count = 0;
    backend::text_row(row, |value| {
        if let Some(field) = fields.get_mut(count) {
            *field = value.map(|value| String::from_utf8_lossy(value).into_owned());
        }
        count += 1;
    })?;
    let [level, number, message] = fields.map(Option::unwrap_or_default);
    Ok((level != "Note").then(|| ServerError {
        sqlstate: "HY000".into(),
        number: number.parse().unwrap_or(0),
        message,
        transient: false,
        rolled_back: false,
        closes: false,
    }))
}
