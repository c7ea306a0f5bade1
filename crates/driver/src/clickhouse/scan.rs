//! Scans replies packet by packet. Columns are passed by their sizes, not decoded, and fixed ones
//! need not even be received completely.

use wire_clickhouse::backend::{Block, Exception, Packet, packet};
use wire_clickhouse::{Extent, frontend};

use super::error::server_error;
use super::insert::Pending;
use crate::error::{ProtocolError, ServerError};
use crate::reply::{Class, Progress, Reply};
use crate::scanned::Scanned;

/// The server's code for a packet that it does not expect.
const UNEXPECTED_PACKET: i32 = 101;

/// Codes of what the server refuses before it reads the end of the client's data: what it can't
/// parse or is too large, too many queries, a quota.
const EARLY: [i32; 5] = [62, 167, 168, 201, 202];

/// The reply expected.
#[derive(Debug, Default)]
enum Expect {
    /// None: only an exception before the server closes.
    #[default]
    Nothing,
    /// The reply to a statement that inserts no rows of ours.
    Statement,
    /// The columns that an INSERT takes.
    Columns(Box<Pending>),
    /// The reply to its rows.
    Stored(Box<Pending>),
    /// After an exception, the answer to a ping: before it, the server may refuse bytes that it had
    /// not read when it refused the statement.
    Settled,
}

/// The progress through a reply.
#[derive(Debug)]
pub(super) struct Scan {
    expect: Expect,
    /// Up to the next packet, or within a block.
    pub scanned: Scanned,
    extent: Extent,
    /// Within a block's columns.
    in_block: bool,
    reply: Reply,
    /// The server reads and writes times in UTC.
    utc: bool,
    /// Blocks are compressed: the bytes of one that the server has not read may be any packets.
    packed: bool,
}

impl Scan {
    pub fn new(utc: bool, packed: bool) -> Self {
        Self {
            expect: Expect::Nothing,
            scanned: Scanned::default(),
            extent: Extent::default(),
            in_block: false,
            reply: Reply::default(),
            utc,
            packed,
        }
    }

    pub fn check_idle(&self) -> Result<(), ProtocolError> {
        match self.expect {
            Expect::Nothing => Ok(()),
            _ => Err(ProtocolError::Misuse(
                "a reply is still outstanding: the server takes one statement at a time",
            )),
        }
    }

    /// Starts a request, which inserts what is pending.
    pub fn begin(&mut self, pending: Option<Pending>) {
        self.expect = match pending {
            Some(pending) => Expect::Columns(Box::new(pending)),
            None => Expect::Statement,
        };
        self.scanned.begin();
    }

    /// Appends what [`Progress::Wanted`] asked for: the block of an INSERT, or a ping.
    pub fn send_wanted(&mut self, out: &mut Vec<u8>) {
        match &mut self.expect {
            Expect::Stored(pending) if out.is_empty() => *out = pending.take_block(),
            Expect::Stored(pending) => out.append(&mut pending.take_block()),
            Expect::Settled => frontend::ping(out),
            _ => {}
        }
    }

    pub fn feed(&mut self, buffer: &[u8]) -> Result<Progress, ProtocolError> {
        while let Some(rest) = buffer.get(self.scanned.position()..) {
            if self.in_block {
                let (size, ended) = self.extent.advance(rest)?;
                self.scanned.advance(size);
                self.in_block = !ended;
                if !ended {
                    return Ok(Progress::More);
                }
                continue;
            }
            let Some((packet, head)) = packet(rest)? else { return Ok(Progress::More) };
            if let Packet::Exception(exception) = packet {
                self.scanned.advance(head);
                match self.exception(exception) {
                    Some(progress) => return Ok(progress),
                    None => continue,
                }
            }
            if matches!(self.expect, Expect::Nothing) {
                let found = char::from(b'0' + rest[0].min(9));
                return Err(ProtocolError::Unexpected { found, state: "idle" });
            }
            match packet {
                Packet::Data(block) if self.is_header(block) => {
                    let Expect::Columns(pending) = &mut self.expect else { continue };
                    if pending.answer(&rest[head..], block.columns, self.utc)?.is_none() {
                        return Ok(Progress::More);
                    }
                    self.scanned.advance(head);
                    return self.wanted(block, &rest[head..]);
                }
                Packet::Data(block) => self.data(block, head),
                Packet::Totals(block) | Packet::Extremes(block) => self.enter(block, head),
                Packet::Pong if matches!(self.expect, Expect::Settled) => {
                    self.scanned.advance(head);
                    return Ok(self.finish());
                }
                Packet::Progress(_) | Packet::Profile(_) | Packet::Pong => {
                    self.scanned.advance(head);
                }
                Packet::EndOfStream => {
                    self.scanned.advance(head);
                    return Ok(self.finish());
                }
                Packet::Hello(_) | Packet::Exception(_) => {
                    return Err(ProtocolError::Unexpected {
                        found: '0',
                        state: "answering a statement",
                    });
                }
            }
        }
        Ok(Progress::More)
    }

    /// Takes an exception, which has passed. `None`: the reply goes on.
    fn exception(&mut self, exception: Exception<'_>) -> Option<Progress> {
        match &self.expect {
            Expect::Settled if exception.code == UNEXPECTED_PACKET => return None,
            // What it makes of the bytes is not known: another connection is needed.
            Expect::Settled => {
                if let Some(error) = &mut self.reply.error {
                    error.closes = true;
                }
            }
            Expect::Nothing => self.reply.error = Some(closing(exception)),
            _ if self.packed && EARLY.contains(&exception.code) => {
                self.reply.error = Some(closing(exception));
            }
            _ => {
                self.reply.error = Some(Box::new(server_error(exception)));
                self.expect = Expect::Settled;
                return Some(Progress::Wanted { consumed: self.scanned.take_position() });
            }
        }
        Some(self.finish())
    }

    /// Whether a block names the columns that an INSERT takes.
    fn is_header(&self, block: Block) -> bool {
        matches!(self.expect, Expect::Columns(_)) && block.rows == 0 && block.columns > 0
    }

    /// The server asks for rows: its reply goes on when it has them.
    fn wanted(&mut self, block: Block, columns: &[u8]) -> Result<Progress, ProtocolError> {
        self.extent.begin(block);
        let (size, _) = self.extent.advance(columns)?;
        self.scanned.advance(size);
        if let Expect::Columns(pending) = std::mem::take(&mut self.expect) {
            self.expect = Expect::Stored(pending);
        }
        Ok(Progress::Wanted { consumed: self.scanned.take_position() })
    }

    fn data(&mut self, block: Block, head: usize) {
        if self.reply.columns == 0 {
            self.reply.columns = block.columns as u16;
        }
        self.reply.rows = self.reply.rows.saturating_add(block.rows);
        self.enter(block, head);
    }

    fn enter(&mut self, block: Block, head: usize) {
        self.scanned.advance(head);
        self.extent.begin(block);
        self.in_block = true;
    }

    /// The reply is complete.
    fn finish(&mut self) -> Progress {
        let consumed = self.scanned.take_position();
        let mut reply = std::mem::take(&mut self.reply);
        // INSERT … SELECT: it asks for no rows, and says nothing of those it stored.
        let inserts = matches!(self.expect, Expect::Columns(_));
        if let Expect::Stored(mut pending) = std::mem::take(&mut self.expect) {
            reply.error = pending.error.take().or(reply.error);
            reply.affected = pending.rows;
        }
        if reply.error.is_some() {
            let error = reply.error;
            return Progress::Done { reply: Reply { error, ..Reply::default() }, consumed };
        }
        let class = match &reply {
            _ if inserts => Class::Write,
            Reply { columns: 1.., .. } => Class::Read,
            Reply { affected: 1.., .. } => Class::Write,
            _ => Class::Other,
        };
        reply.tally.count(class);
        reply.class = Some(class);
        Progress::Done { reply, consumed }
    }
}

/// An error after which the connection is of no use.
fn closing(exception: Exception<'_>) -> Box<ServerError> {
    Box::new(ServerError { closes: true, ..server_error(exception) })
}
