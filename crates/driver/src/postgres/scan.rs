//! Scans replies by tags and lengths. Rows are skipped, not decoded, and need not even be received
//! completely.

use std::collections::VecDeque;

use wire_postgres::backend::{self, HEADER_SIZE, Header, Verb};

use super::error::server_error;
use super::statement::Statement;
use crate::error::ProtocolError;
use crate::load::wrong_row_count;
use crate::reply::{Class, Progress, Reply, StatementId};
use crate::scanned::Scanned;
use crate::statements::Statements;

/// The reply expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expect {
    /// None: only messages that may come at any time.
    Nothing,
    /// The reply to statement text: any number of statements.
    Text,
    /// The reply to COPY … FROM STDIN, sent together with its data.
    Load {
        /// Number of rows sent.
        rows: u64,
    },
    /// The reply to Bind and Execute. 0 columns: no result set.
    Rows {
        /// From Describe.
        columns: u16,
    },
    /// The reply to one or more pairs of Parse and Describe.
    Prepared {
        /// The statement described next.
        next: Option<StatementId>,
        /// It is new: if it can't be prepared, its id becomes free.
        fresh: bool,
    },
    /// The reply to Close.
    Closed,
}

impl Expect {
    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "idle",
            Self::Text => "answering statement text",
            Self::Load { .. } => "loading rows",
            Self::Rows { .. } => "executing a prepared statement",
            Self::Prepared { .. } => "preparing a statement",
            Self::Closed => "closing a statement",
        }
    }
}

/// Output of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Nothing,
    Rows,
    /// The data of a COPY … TO STDOUT.
    Copy,
}

/// The progress through a reply.
#[derive(Debug)]
pub(super) struct Scan {
    expect: Expect,
    /// What may come behind that, in a pipeline.
    behind: VecDeque<Expect>,
    /// Requests may be sent while replies are outstanding.
    pipelined: bool,
    /// Up to the next message.
    pub scanned: Scanned,
    /// Result sets seen in this reply.
    sets: u32,
    /// Output so far of the statement being answered.
    output: Output,
    reply: Reply,
    transaction_status: u8,
    /// The server refused the last load.
    load_failed: bool,
}

impl Default for Scan {
    fn default() -> Self {
        Self {
            expect: Expect::Nothing,
            behind: VecDeque::new(),
            pipelined: false,
            scanned: Scanned::default(),
            sets: 0,
            output: Output::Nothing,
            reply: Reply::default(),
            transaction_status: b'I',
            load_failed: false,
        }
    }
}

impl Scan {
    /// The status in the last ReadyForQuery.
    pub fn transaction_status(&self) -> u8 {
        self.transaction_status
    }

    /// The server refused the last load, and stored nothing.
    pub fn load_failed(&self) -> bool {
        self.load_failed
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

    /// Starts a request. What was scanned since the last reply (notices) stays at the front of this
    /// one.
    pub fn begin(&mut self, expect: Expect) {
        if self.expect != Expect::Nothing {
            self.behind.push_back(expect);
            return;
        }
        self.expect = expect;
        self.scanned.begin();
        self.load_failed = false;
        self.sets = 0;
        self.output = Output::Nothing;
        if let Expect::Rows { columns } = expect
            && columns > 0
        {
            self.begin_set(columns);
        }
    }

    pub fn feed(
        &mut self,
        buffer: &[u8],
        statements: &mut Statements<Statement>,
    ) -> Result<Progress, ProtocolError> {
        while let Some(rest) = buffer.get(self.scanned.position()..) {
            let Some(header) = backend::header(rest)? else { break };
            let Header { tag, body_size } = header;
            if tag == backend::DATA_ROW || tag == backend::COPY_DATA {
                self.count_row(tag)?;
                self.scanned.advance(HEADER_SIZE + body_size);
                continue;
            }
            let Some(body) = rest.get(HEADER_SIZE..HEADER_SIZE + body_size) else { break };
            let over = self.message(tag, body, statements)?;
            self.scanned.advance(HEADER_SIZE + body_size);
            if over {
                let consumed = self.scanned.take_position();
                let reply = std::mem::take(&mut self.reply);
                self.expect = Expect::Nothing;
                if let Some(next) = self.behind.pop_front() {
                    self.begin(next);
                }
                return Ok(Progress::Done { reply, consumed });
            }
        }
        Ok(Progress::More)
    }

    #[inline]
    fn count_row(&mut self, tag: u8) -> Result<(), ProtocolError> {
        match self.expect {
            Expect::Text | Expect::Rows { .. } => {}
            _ => return Err(self.unexpected(tag)),
        }
        match (tag, self.output) {
            (backend::DATA_ROW, Output::Rows) | (backend::COPY_DATA, Output::Copy) => {}
            _ => return Err(self.unexpected(tag)),
        }
        if self.sets == 1 && tag == backend::DATA_ROW {
            self.reply.rows += 1;
        }
        Ok(())
    }

    /// Reads one message; `true`: it ends the reply.
    fn message(
        &mut self,
        tag: u8,
        body: &[u8],
        statements: &mut Statements<Statement>,
    ) -> Result<bool, ProtocolError> {
        match (tag, self.expect) {
            (tag, _) if backend::is_asynchronous(tag) => {}
            (backend::ERROR_RESPONSE, expect) => {
                let error = server_error(body)?;
                let over = error.closes;
                if expect == Expect::Nothing && !over {
                    return Err(self.unexpected(tag));
                }
                if let Expect::Prepared { next: Some(id), fresh: true } = expect {
                    statements.remove(id)?;
                    self.expect = Expect::Prepared { next: None, fresh: true };
                }
                self.load_failed = matches!(expect, Expect::Load { .. });
                self.output = Output::Nothing;
                self.reply.error.get_or_insert_with(|| Box::new(error));
                return Ok(over);
            }
            (_, Expect::Nothing) => return Err(self.unexpected(tag)),
            (backend::READY_FOR_QUERY, _) => {
                self.ready(body)?;
                return Ok(true);
            }
            (
                backend::COMMAND_COMPLETE,
                Expect::Text | Expect::Load { .. } | Expect::Rows { .. },
            ) => {
                self.complete(body)?;
            }
            (backend::ROW_DESCRIPTION, Expect::Text) => {
                self.begin_set(backend::column_count(body)?);
            }
            (
                backend::ROW_DESCRIPTION | backend::NO_DATA,
                Expect::Prepared { next: Some(id), fresh },
            ) => {
                let returns_rows = tag == backend::ROW_DESCRIPTION;
                statements.get_mut(id)?.columns =
                    if returns_rows { backend::column_count(body)? } else { 0 };
                let next = if fresh { None } else { statements.next_live(id.0 + 1) };
                self.expect = Expect::Prepared { next, fresh };
            }
            (backend::BIND_COMPLETE, Expect::Rows { .. })
            | (backend::PARSE_COMPLETE | backend::PARAMETER_DESCRIPTION, Expect::Prepared { .. })
            | (backend::CLOSE_COMPLETE, Expect::Closed)
            | (backend::EMPTY_QUERY_RESPONSE, Expect::Text | Expect::Rows { .. })
            | (backend::COPY_DONE, Expect::Text)
            | (backend::COPY_IN_RESPONSE, Expect::Load { .. }) => {}
            (backend::COPY_OUT_RESPONSE, Expect::Text) => self.output = Output::Copy,
            (backend::COPY_IN_RESPONSE, _) => {
                return Err(ProtocolError::Unexpected {
                    found: 'G',
                    state: "answering: COPY … FROM STDIN is not supported in statement text",
                });
            }
            _ => return Err(self.unexpected(tag)),
        }
        Ok(false)
    }

    fn ready(&mut self, body: &[u8]) -> Result<(), ProtocolError> {
        self.transaction_status = backend::transaction_status(body)?;
        self.reply.more = self.sets > 1;
        if let Expect::Load { rows } = self.expect
            && self.reply.error.is_none()
            && self.reply.affected != rows
        {
            let error = wrong_row_count(rows, self.reply.affected);
            self.reply.error = Some(Box::new(error));
        }
        Ok(())
    }

    fn begin_set(&mut self, columns: u16) {
        self.output = Output::Rows;
        self.sets += 1;
        if self.sets == 1 {
            self.reply.columns = columns;
        }
    }

    fn complete(&mut self, body: &[u8]) -> Result<(), ProtocolError> {
        let completion = backend::command_complete(body)?;
        let changed = match (completion.verb, self.output) {
            (Verb::Change, _) => completion.rows,
            // CREATE TABLE … AS and COPY … FROM: the rows they read were written.
            (Verb::Select | Verb::Copy, Output::Nothing) => completion.rows,
            (Verb::Select | Verb::Copy | Verb::Other, _) => 0,
        };
        let class = if self.output == Output::Rows {
            Class::Read
        } else if changed > 0 {
            Class::Write
        } else {
            Class::Other
        };
        self.output = Output::Nothing;
        self.reply.affected += changed;
        self.reply.tally.count(class);
        self.reply.class.get_or_insert(class);
        Ok(())
    }

    fn unexpected(&self, tag: u8) -> ProtocolError {
        ProtocolError::Unexpected { found: char::from(tag), state: self.expect.name() }
    }
}
