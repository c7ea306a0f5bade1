//! Scans replies by type bytes and sizes. Strings are skipped, not decoded, and need not even be
//! received completely before the last one.

use std::collections::VecDeque;

use wire_resp::Extent;
use wire_resp::backend::{self, BULK_ERROR, Element, element};

use super::command::{Command, Kind};
use super::error::server_error;
use crate::error::{ProtocolError, ServerError};
use crate::reply::{Class, Progress, Reply, Tally};
use crate::scanned::Scanned;

/// Ends every element.
const LINE_END: &[u8] = b"\r\n";

/// The progress through a reply.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The command whose reply is scanned; `None`: none is outstanding.
    expect: Option<Command>,
    /// Those behind it, in a pipeline.
    behind: VecDeque<Command>,
    /// Commands may be sent while replies are outstanding.
    pipelined: bool,
    /// The head of the reply itself has passed; pushes and attributes may precede it.
    begun: bool,
    /// The head of its last element has passed: only the bytes of a string may be missing.
    ended: bool,
    /// Up to the next element.
    pub scanned: Scanned,
    extent: Extent,
    reply: Reply,
    /// Between MULTI and EXEC.
    in_transaction: bool,
    /// Classes of the commands queued in the transaction.
    queued: Vec<Class>,
    /// Results in EXEC's reply.
    results: u64,
    /// How many of them have begun.
    result: u64,
}

impl Scan {
    /// Fails unless a command may be sent now.
    pub fn check_free(&self) -> Result<(), ProtocolError> {
        if self.pipelined || self.expect.is_none() {
            return Ok(());
        }
        Err(ProtocolError::Misuse("a reply is still outstanding"))
    }

    /// See [`crate::Session::pipelined`].
    pub fn set_pipelined(&mut self, pipelined: bool) {
        self.pipelined = pipelined;
    }

    pub fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// Starts a request. What was scanned since the last reply (pushes) stays at the front of this
    /// one.
    pub fn begin(&mut self, command: Command) {
        if self.expect.is_some() {
            self.behind.push_back(command);
            return;
        }
        self.expect = Some(command);
        self.scanned.begin();
    }

    pub fn feed(&mut self, buffer: &[u8]) -> Result<Progress, ProtocolError> {
        while !self.ended {
            let Some(rest) = buffer.get(self.scanned.position()..) else {
                return Ok(Progress::More);
            };
            let Some((element, head)) = element(rest)? else { return Ok(Progress::More) };
            let body = rest.get(head..head + element.body_size());
            // The text of an error is read; other strings are skipped.
            if let Element::Text { kind: BULK_ERROR, size } = element {
                let Some(text) = body.and_then(|body| body.get(..size)) else {
                    return Ok(Progress::More);
                };
                self.pass(&Element::Error(text))?;
            } else {
                self.pass(&element)?;
            }
            self.scanned.advance(head + element.body_size());
        }
        let position = self.scanned.position();
        if buffer.len() < position {
            return Ok(Progress::More);
        }
        // A string longer than its size: its remaining bytes would be taken for the next reply.
        let end = position.checked_sub(2).and_then(|start| buffer.get(start..position));
        if end.is_some_and(|end| end != LINE_END) {
            return Err(ProtocolError::Malformed("string: more bytes than its size"));
        }
        Ok(self.finish())
    }

    /// See [`crate::Session::pass_plain`]. Errors, aggregates, transactions and bytes that are no
    /// reply are left to [`Self::feed`].
    pub fn pass_plain(&mut self, buffer: &[u8], tally: &mut Tally) -> usize {
        let between = !self.begun && self.scanned.position() == 0;
        if !between || self.in_transaction {
            return 0;
        }
        let mut at = 0;
        while let (Some(command), Some(next)) = (self.expect, self.behind.front())
            && command.kind == Kind::Plain
            && let Some(size) = plain_size(&buffer[at..])
        {
            at += size;
            tally.count(command.class);
            self.expect = Some(*next);
            self.behind.pop_front();
        }
        if at > 0 {
            self.scanned.begin();
        }
        at
    }

    /// The reply is complete.
    fn finish(&mut self) -> Progress {
        let consumed = self.scanned.take_position();
        let reply = std::mem::take(&mut self.reply);
        (self.begun, self.ended, self.extent) = (false, false, Extent::default());
        self.expect = self.behind.pop_front();
        if self.expect.is_some() {
            self.scanned.begin();
        }
        Progress::Done { reply, consumed }
    }

    /// Passes one element.
    #[inline]
    fn pass(&mut self, element: &Element<'_>) -> Result<(), ProtocolError> {
        let (aside, left) = (element.is_aside(), self.extent.left());
        if !aside && !self.begun && left == 1 {
            let Some(command) = self.expect else { return Err(unasked(element)) };
            self.begun = true;
            self.begin_reply(command, element);
        } else if self.results > 0 && !aside && left == self.results - self.result {
            self.begin_result(element);
        }
        self.ended = self.extent.pass(element)?;
        if self.ended {
            self.results = 0;
        }
        Ok(())
    }

    /// Reads the head of the reply itself.
    fn begin_reply(&mut self, command: Command, element: &Element<'_>) {
        match (command.kind, element) {
            (_, Element::Error(text)) => {
                self.reply.error = Some(Box::new(server_error(text)));
                if command.kind == Kind::Exec {
                    self.end_transaction();
                }
                return;
            }
            (Kind::Multi, _) => {
                self.in_transaction = true;
                self.queued.clear();
            }
            (Kind::Discard, _) => self.end_transaction(),
            (Kind::Exec, Element::Aggregate { kind: backend::ARRAY, count }) => {
                self.in_transaction = false;
                (self.results, self.result) = (*count, 0);
            }
            // Null: nothing was carried out, because a watched key was changed.
            (Kind::Exec, _) => self.end_transaction(),
            // EXEC counts it.
            (_, Element::Line(b"QUEUED")) if self.in_transaction => {
                self.queued.push(command.class);
                self.reply.columns = 1;
                self.reply.rows = 1;
                return;
            }
            _ => {}
        }
        let reply = &mut self.reply;
        reply.tally.count(command.class);
        reply.class = Some(command.class);
        (reply.columns, reply.rows) = match element {
            Element::Null => (0, 0),
            Element::Aggregate { count, .. } => (1, *count),
            _ => (1, 1),
        };
    }

    /// Reads the head of a result in EXEC's reply. An error there becomes the error of EXEC: no
    /// other reply reports it.
    fn begin_result(&mut self, element: &Element<'_>) {
        let class = self.queued.get(self.result as usize).copied();
        self.result += 1;
        match element {
            Element::Error(text) => {
                let place = self.result;
                self.reply.error.get_or_insert_with(|| {
                    let error = server_error(text);
                    let message = format!("command {place} of the transaction: {}", error.message);
                    Box::new(ServerError { message, ..error })
                });
            }
            _ => self.reply.tally.count(class.unwrap_or(Class::Other)),
        }
    }

    fn end_transaction(&mut self) {
        self.in_transaction = false;
        self.queued.clear();
    }
}

/// The size of the complete reply at the front of `bytes`, if it is a single value and no error.
#[inline]
fn plain_size(bytes: &[u8]) -> Option<usize> {
    let (element, head) = element(bytes).ok()??;
    if matches!(
        element,
        Element::Error(_) | Element::Aggregate { .. } | Element::Text { kind: BULK_ERROR, .. }
    ) {
        return None;
    }
    let size = head + element.body_size();
    bytes.get(..size)?.ends_with(LINE_END).then_some(size)
}

/// A reply without a command: only pushes may come unasked.
fn unasked(element: &Element<'_>) -> ProtocolError {
    let found = match element {
        Element::Line(_) => '+',
        Element::Error(_) => '-',
        Element::Integer(_) => ':',
        Element::Double(_) => ',',
        Element::BigNumber(_) => '(',
        Element::Boolean(_) => '#',
        Element::Null => '_',
        Element::Text { kind, .. } | Element::Aggregate { kind, .. } => char::from(*kind),
    };
    ProtocolError::Unexpected { found, state: "idle" }
}
