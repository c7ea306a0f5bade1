//! Several statements of one connection under way at once, where a script asks for it.
//!
//! Statements of a pipeline travel in batches: they are put together until there are as many as the
//! script wants under way, sent as one, and their replies counted one by one. The client goes on
//! when the last one is in; until then nothing is written to the connection, so that its output
//! buffer may lie with the kernel.

use std::collections::VecDeque;

use driver::{ProtocolError, Reply, RowCursor, Sent, Session};
use reactor::SILENT_SEND_MAX;
use record::ErrorAction;

use crate::conclude::Conclusion;
use crate::host::Host;
use crate::slot::{Failed, Purpose, RowBytes, Slot};

/// A connection's pipeline, from its beginning to its end.
#[derive(Debug)]
pub(crate) struct Pipeline {
    /// Statements under way at once.
    depth: usize,
    /// Requests of the batch, where nothing lies between them and the socket.
    requests: Vec<u8>,
    /// Statements put together or under way; for planned replies, when each is due.
    under_way: VecDeque<u64>,
    /// Statements so far, for messages.
    begun: u64,
    /// The first failure that isn't to be ignored.
    failed: Option<Failed>,
}

impl Pipeline {
    pub(crate) fn new(depth: usize) -> Self {
        let under_way = VecDeque::with_capacity(depth);
        Self { depth, requests: Vec::new(), under_way, begun: 0, failed: None }
    }

    /// Nothing is put together or under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }
}

/// What became of a statement of a pipeline.
#[derive(Debug)]
pub(crate) enum Joined {
    /// There is room for more.
    Room,
    /// The batch is full: it is to be sent.
    Full,
    /// Answered at once: in process there is nothing to be gained.
    Done(Reply),
}

impl Slot {
    /// Statements are under way in a pipeline.
    #[inline]
    pub(crate) fn is_pipelining(&self) -> bool {
        self.pipeline.as_ref().is_some_and(|pipeline| !pipeline.is_empty())
    }
}

impl Host {
    /// Puts a statement to the others of the slot's pipeline.
    ///
    /// # Errors
    /// The session's own objection.
    pub(crate) fn join(
        &mut self,
        index: u32,
        request: impl FnOnce(&mut Session, &mut Vec<u8>) -> Result<Sent, ProtocolError>,
    ) -> Result<Joined, ProtocolError> {
        let Some(slot) = self.slots[index as usize].as_deref_mut() else { return Ok(Joined::Room) };
        let Some(pipeline) = &mut slot.pipeline else { return Ok(Joined::Room) };
        let out = match &mut slot.channel {
            None => &mut pipeline.requests,
            Some(channel) => channel.request(),
        };
        pipeline.begun += 1;
        match request(&mut slot.session, out)? {
            Sent::Done(reply) => Ok(Joined::Done(reply)),
            Sent::Waiting => {
                pipeline.under_way.push_back(0);
                let full = pipeline.under_way.len() >= pipeline.depth;
                Ok(if full { Joined::Full } else { Joined::Room })
            }
        }
    }

    /// Sends the batch; the client waits for its replies. `Err`: it can't be sent.
    pub(crate) fn send_batch(&mut self, index: u32) -> Result<(), ProtocolError> {
        let load = self.load();
        let now = load.now();
        let Some(slot) = self.slots[index as usize].as_deref_mut() else { return Ok(()) };
        let Some(pipeline) = &mut slot.pipeline else { return Ok(()) };
        slot.purpose = Purpose::Statement;
        slot.started_ns = now;
        slot.rows = RowBytes::None;
        slot.reply = Reply::default();
        slot.cursor = RowCursor::default();
        slot.input.clear();
        let (Some(token), Some(reactor)) = (slot.token, self.reactor.as_mut()) else {
            let since = load.since_begin(now);
            for due in &mut pipeline.under_way {
                let at = slot.session.due_ns(since).unwrap_or(since);
                *due = now + at.saturating_sub(since);
            }
            if let Some(first) = pipeline.under_way.front() {
                load.reply_at(slot.client, *first);
            }
            return Ok(());
        };
        let out = reactor.output(token);
        out.clear();
        match &mut slot.channel {
            None => std::mem::swap(out, &mut pipeline.requests),
            Some(channel) => channel.seal(out)?,
        }
        slot.sending = out.len() > SILENT_SEND_MAX;
        load.recorder().counters.bytes_sent += out.len() as u64;
        reactor.submit(token);
        Ok(())
    }

    /// Counts the reply to the first statement under way, and says what becomes of the client:
    /// `None` while it waits for more of them.
    pub(crate) fn land(&mut self, index: u32, mut reply: Reply, now: u64) -> Option<Conclusion> {
        self.count(index, &reply, now);
        let slot = self.slots[index as usize].as_deref_mut()?;
        let pipeline = slot.pipeline.as_mut()?;
        pipeline.under_way.pop_front();
        let left = pipeline.under_way.len() as u64;
        let next_due = pipeline.under_way.front().copied();
        if let Some(mut error) = reply.error.take() {
            let place = pipeline.begun - left;
            error.message = format!("statement {place} of the pipeline: {}", error.message);
            if error.closes {
                self.forget_under_way(index, 0);
                return Some(self.object(index, Purpose::Statement, &error));
            }
            let failed = self.judge(Purpose::Statement, &error);
            let pipeline = self.slot(index)?.pipeline.as_mut()?;
            if failed.decision.action != ErrorAction::Ignore {
                pipeline.failed.get_or_insert(failed);
            }
        }
        if left == 0 {
            return Some(self.settle(index));
        }
        if let Some(due) = next_due.filter(|due| *due > 0) {
            let client = self.slot(index)?.client;
            self.load().reply_at(client, due);
        }
        None
    }

    /// The batch is answered.
    fn settle(&mut self, index: u32) -> Conclusion {
        let Some(slot) = self.slot(index) else { return Conclusion::Nothing };
        slot.purpose = Purpose::Idle;
        match slot.pipeline.as_mut().and_then(|pipeline| pipeline.failed.take()) {
            None => Conclusion::Nothing,
            Some(failed) => self.act_on(index, Purpose::Statement, failed),
        }
    }

    /// The connection is gone, and with it the replies to the statements under way: each is an
    /// error, but for those of them that are `counted` already.
    pub(crate) fn forget_under_way(&mut self, index: u32, counted: usize) {
        let load = self.load();
        let Some(slot) = self.slots[index as usize].as_deref_mut() else { return };
        if let Some(pipeline) = &mut slot.pipeline {
            let sent = slot.purpose != Purpose::Idle;
            let lost = if sent { pipeline.under_way.len() } else { 0 };
            (counted..lost).for_each(|_| load.recorder().error("connection"));
            pipeline.under_way.clear();
            pipeline.requests.clear();
            pipeline.failed = None;
        }
    }
}
