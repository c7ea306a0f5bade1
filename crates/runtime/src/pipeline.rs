//! Pipelining: several statements of one connection in flight at once, where a script asks for it.
//!
//! Statements are collected until the batch is as large as the script's depth, sent in one write,
//! and their replies counted one by one. The client continues when the last reply is in; until then
//! nothing is written to the connection, so the kernel may keep its output buffer.

use driver::{ProtocolError, Reply, RowCursor, Sent, Session, Tally, Traits, Value};
use engine::ShardView;
use reactor::SILENT_SEND_MAX;
use record::ErrorAction;

use crate::outcome::{Conclusion, Purpose};
use crate::runtime::Runtime;
use crate::slot::RowBytes;

/// Statements in flight at once on one connection, at most.
pub const DEPTH_MAX: usize = 1024;

impl Runtime {
    /// Allows `depth` statements, 1 to [`DEPTH_MAX`], in flight on a connection. Until the pipeline
    /// ends it takes only [`Self::query`] and [`Self::execute`].
    ///
    /// # Panics
    /// With a depth of 0.
    pub fn begin_pipeline(&mut self, index: u32, depth: usize) {
        assert!(depth > 0, "a pipeline holds a statement at least");
        if let Some(slot) = self.slots.get_mut(index) {
            let mut pipeline = self.pipelines.pop().unwrap_or_default();
            pipeline.begin(depth);
            slot.session.pipelined(true);
            slot.pipeline = Some(pipeline);
        }
    }

    /// Whether the connection has a pipeline.
    pub fn is_pipelined(&self, index: u32) -> bool {
        let slot = self.slots.get(index);
        slot.is_some_and(|slot| slot.pipeline.is_some())
    }

    /// Sends the rest of a pipeline and waits for it. [`Conclusion::Nothing`]: all replies are in
    /// and the pipeline is over; otherwise call it again.
    pub fn end_pipeline(&mut self, view: &mut ShardView, index: u32) -> Conclusion {
        let Some(slot) = self.slots.get_mut(index) else { return Conclusion::Nothing };
        if slot.is_pipelining() {
            return self.flush_pipeline(view, index);
        }
        slot.session.pipelined(false);
        self.pipelines.extend(slot.pipeline.take());
        Conclusion::Nothing
    }

    /// The next statement of a pipeline that another node of the cluster has to be sent: its number
    /// in the pipeline, from 1, and what the server said. `None`: there are no more.
    pub fn redirected(&mut self, index: u32) -> Option<(u64, String)> {
        self.slot(index)?.pipeline.as_mut()?.redirected.pop_front()
    }

    /// Adds a statement to the slot's pipeline.
    ///
    /// # Errors
    /// The session rejects the request.
    pub(crate) fn join(
        &mut self,
        view: &mut ShardView,
        index: u32,
        purpose: Purpose,
        request: impl FnOnce(&mut Session, &mut Vec<u8>) -> Result<Sent, ProtocolError>,
    ) -> Result<Conclusion, ProtocolError> {
        if purpose != Purpose::Statement {
            return Err(ProtocolError::Misuse("a pipeline takes only statements"));
        }
        let Some(slot) = self.slots.get_mut(index) else {
            return Ok(Conclusion::Joined);
        };
        let Some(pipeline) = &mut slot.pipeline else { return Ok(Conclusion::Joined) };
        let out = match &mut slot.channel {
            None => &mut pipeline.requests,
            Some(channel) => channel.request(),
        };
        pipeline.begun += 1;
        // An in-process driver executes it now; otherwise it is sent with its batch.
        slot.sent = slot.token.is_none();
        if slot.sent {
            slot.ready_ns = view.now();
        }
        match request(&mut slot.session, out)? {
            Sent::Done(reply) => {
                // In process, batching gains nothing.
                let conclusion = self.concluded(view, index, Ok(Some(reply)));
                Ok(self.awaited(index, conclusion))
            }
            Sent::Waiting => {
                pipeline.under_way.push_back(0);
                let full = pipeline.under_way.len() >= pipeline.depth;
                Ok(if full { self.flush_pipeline(view, index) } else { Conclusion::Joined })
            }
        }
    }

    /// Adds a command to the slot's pipeline where it neither fills the batch nor is at fault.
    /// `false`: nothing was done, and [`Self::command`] takes it.
    #[inline]
    pub fn join_command<'a>(
        &mut self,
        index: u32,
        words: impl ExactSizeIterator<Item = Value<'a>>,
    ) -> bool {
        let Some(slot) = self.slots.get_mut(index) else { return false };
        let Some(pipeline) = &mut slot.pipeline else { return false };
        let full = pipeline.under_way.len() + 1 >= pipeline.depth;
        if full || slot.broken || slot.token.is_none() {
            return false;
        }
        let out = match &mut slot.channel {
            None => &mut pipeline.requests,
            Some(channel) => channel.request(),
        };
        let joined = matches!(slot.session.command(words, out), Ok(Sent::Waiting));
        if joined {
            slot.sent = false;
            pipeline.begun += 1;
            pipeline.under_way.push_back(0);
        }
        joined
    }

    /// Sends the batch; the client waits until all its replies are in.
    fn flush_pipeline(&mut self, view: &mut ShardView, index: u32) -> Conclusion {
        let sent = if self.slot(index).is_some_and(|slot| slot.broken) {
            Err("the server closed it between two statements".to_owned())
        } else {
            self.send_batch(view, index).map_err(|error| error.to_string())
        };
        let conclusion = match sent {
            Ok(()) => Conclusion::Later,
            Err(why) => self.lost(view, index, &why),
        };
        self.awaited(index, conclusion)
    }

    /// Sends the batch; the client waits for its replies. `Err`: it could not be sent.
    fn send_batch(&mut self, view: &mut ShardView, index: u32) -> Result<(), ProtocolError> {
        let Some(slot) = self.slots.get_mut(index) else { return Ok(()) };
        let Some(pipeline) = &mut slot.pipeline else { return Ok(()) };
        slot.purpose = Purpose::Statement;
        slot.sent = false;
        slot.rows = RowBytes::None;
        slot.reply = Reply::default();
        slot.cursor = RowCursor::default();
        slot.input.clear();
        let (Some(token), Some(reactor)) = (slot.token, self.reactor.as_mut()) else {
            let now = view.now();
            (slot.ready_ns, slot.sent) = (now, true);
            let since = view.since_begin(now);
            for due in &mut pipeline.under_way {
                let at = slot.session.due_ns(since).unwrap_or(since);
                *due = now + at.saturating_sub(since);
            }
            if let Some(first) = pipeline.under_way.front() {
                view.reply_at(slot.client, *first);
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
        let stopped = self.clients[slot.client as usize].stopped;
        view.recorder_of(stopped).counters.bytes_sent += out.len() as u64;
        (slot.ready_ns, slot.sent) = (view.now(), true);
        reactor.submit(token, slot.ready_ns);
        Ok(())
    }

    /// Counts replies to the oldest statements in flight, which all succeeded, a statement each.
    pub(crate) fn land_plain(&mut self, view: &mut ShardView, index: u32, tally: Tally, now: u64) {
        self.count_plain(view, index, tally, now);
        if let Some(slot) = self.slots.get_mut(index)
            && let Some(pipeline) = &mut slot.pipeline
        {
            let answered = pipeline.under_way.len().min(tally.sum() as usize);
            pipeline.under_way.drain(..answered);
        }
    }

    /// Counts the reply to the oldest statement in flight and returns how the client continues;
    /// `None` while it waits for more replies.
    pub(crate) fn land(
        &mut self,
        view: &mut ShardView,
        index: u32,
        mut reply: Reply,
        now: u64,
    ) -> Option<Conclusion> {
        self.count(view, index, &reply, now);
        let slot = self.slots.get_mut(index)?;
        let pipeline = slot.pipeline.as_mut()?;
        pipeline.under_way.pop_front();
        let left = pipeline.under_way.len() as u64;
        let next_due = pipeline.under_way.front().copied();
        if let Some(mut error) = reply.error.take() {
            let place = pipeline.begun - left;
            if slot.session.is_redirected(&error) {
                pipeline.redirected.push_back((place, error.message));
                return (left == 0).then(|| self.settle(view, index));
            }
            let term = self.settings.target.request();
            error.message = format!("{term} {place} of the pipeline: {}", error.message);
            if error.closes {
                self.forget_under_way(view, index, 0);
                return Some(self.object(view, index, Purpose::Statement, &error));
            }
            let failed = self.judge(view, index, Purpose::Statement, &error);
            let pipeline = self.slot(index)?.pipeline.as_mut()?;
            if failed.decision.action != ErrorAction::Ignore {
                pipeline.failed.get_or_insert(failed);
            }
        }
        if left == 0 {
            return Some(self.settle(view, index));
        }
        if let Some(due) = next_due.filter(|due| *due > 0) {
            let client = self.slot(index)?.client;
            view.reply_at(client, due);
        }
        None
    }

    /// Ends a batch whose replies are all in.
    fn settle(&mut self, view: &mut ShardView, index: u32) -> Conclusion {
        let Some(slot) = self.slot(index) else { return Conclusion::Nothing };
        slot.purpose = Purpose::Idle;
        match slot.pipeline.as_mut().and_then(|pipeline| pipeline.failed.take()) {
            None => Conclusion::Nothing,
            Some(failed) => self.act_on(view, index, Purpose::Statement, failed),
        }
    }

    /// Counts an error for each statement in flight on a lost connection, except the first
    /// `counted`.
    pub(crate) fn forget_under_way(&mut self, view: &mut ShardView, index: u32, counted: usize) {
        let Some(slot) = self.slots.get_mut(index) else { return };
        if let Some(pipeline) = &mut slot.pipeline {
            let sent = slot.purpose != Purpose::Idle;
            let lost = if sent { pipeline.under_way.len() } else { 0 };
            let stopped = self.clients[slot.client as usize].stopped;
            (counted..lost).for_each(|_| view.recorder_of(stopped).error("connection"));
            pipeline.under_way.clear();
            pipeline.requests.clear();
            pipeline.failed = None;
        }
    }
}
