//! Counts requests and replies: what a finished statement gives the script, and what the error
//! policy makes of an error.

use driver::{Class, ProtocolError, Reply, Sent, ServerError, Tally, Traits};
use engine::ShardView;
use measure::{Counters, StatementClass};
use reactor::SILENT_SEND_MAX;
use record::{ErrorAction, FatalKind};

use crate::outcome::{Conclusion, Failed, Purpose};
use crate::policy::{Decision, Fault, decide};
use crate::runtime::{Runtime, fault};

/// Hint for an error without a hint of its own.
pub const POLICY_HINT: &str = "an error policy can ignore, retry or restart on such errors";

pub(crate) fn class(class: Class) -> StatementClass {
    match class {
        Class::Read => StatementClass::Read,
        Class::Write => StatementClass::Write,
        Class::Other => StatementClass::Other,
    }
}

#[inline]
fn add(tally: Tally, counters: &mut Counters) {
    counters.reads += u64::from(tally.reads);
    counters.writes += u64::from(tally.writes);
    counters.other += u64::from(tally.other);
}

/// Leaves it to the script to ask the other node.
fn redirected(error: ServerError) -> Failed {
    Failed {
        decision: Decision { action: ErrorAction::Ignore, limit: u32::MAX },
        purpose: Purpose::Statement,
        sqlstate: error.sqlstate,
        number: 0,
        rolled_back: true,
        message: error.message,
    }
}

impl Runtime {
    /// Counts a reply and decides how the request ends for the client.
    #[inline]
    pub(crate) fn conclude(
        &mut self,
        view: &mut ShardView,
        index: u32,
        reply: Reply,
        now: u64,
    ) -> Conclusion {
        if reply.error.is_some() && self.is_given_up(view) {
            return Conclusion::Later;
        }
        self.count(view, index, &reply, now);
        let Some(slot) = self.slot(index) else { return Conclusion::Nothing };
        let purpose = std::mem::replace(&mut slot.purpose, Purpose::Idle);
        if reply.error.is_some() {
            return self.conclude_error(view, index, purpose, reply);
        }
        let Some(slot) = self.slots.get_mut(index) else {
            return Conclusion::Nothing;
        };
        match purpose {
            Purpose::RollBack | Purpose::Adopt => {
                self.failures.failed = slot.failed.take();
                if purpose == Purpose::Adopt {
                    self.recorder(view, index).counters.reconnects += 1;
                }
                // Without a failure, the script asked for the new connection.
                let failed = self.failures.failed.is_some();
                return if failed { Conclusion::Failed } else { Conclusion::Nothing };
            }
            Purpose::Prepare(id) => return Conclusion::Prepared(id),
            Purpose::Close => return Conclusion::Nothing,
            Purpose::Insert => {
                let rows = std::mem::take(&mut slot.bulk.sent);
                // A trigger or rule may drop rows; where INSERTs were asked for, that is theirs.
                // More are stored where the script passes several at once.
                let plain = slot.bulk.into.is_some() && self.reactor.is_some();
                if self.settings.loads && plain && reply.affected < rows {
                    let error = driver::wrong_row_count(rows, reply.affected);
                    return self.object(view, index, purpose, &error);
                }
                view.send(engine::Message::RowsLoaded(rows, slot.bulk.into.clone()));
                self.failures.cause = None;
                return Conclusion::Nothing;
            }
            Purpose::Statement | Purpose::Idle => {}
        }
        self.failures.cause = None;
        slot.cursor = driver::RowCursor::default();
        let rows = reply.columns > 0;
        slot.reply = reply;
        if rows { Conclusion::Rows } else { Conclusion::Nothing }
    }

    /// Whether nobody waits for statements in process any more: their clients never go on, and what
    /// became of the last one is not its own doing.
    fn is_given_up(&self, view: &ShardView) -> bool {
        self.reactor.is_none() && view.control().abandoned()
    }

    /// Counts replies to statements of a pipeline, read at once, that all succeeded.
    pub(crate) fn count_plain(&mut self, view: &mut ShardView, index: u32, tally: Tally, now: u64) {
        let any_open = view.any_open();
        let recorder = self.recorder(view, index);
        add(tally, &mut recorder.counters);
        let Some(slot) = self.slots.get(index) else { return };
        let (Some(token), Some(reactor)) = (slot.token, &mut self.reactor) else { return };
        let start_ns = reactor.given_ns(token);
        let queued = start_ns.saturating_sub(slot.ready_ns);
        let unread = now.saturating_sub(self.polled.unread_since_ns());
        recorder.many_on_the_way(queued, unread, u64::from(tally.sum()));
        let service = now.saturating_sub(start_ns);
        let event = self.clients[slot.client as usize].event;
        let wait = event.map_or(0, |event| event.start_ns.saturating_sub(event.intended_ns));
        let wait = any_open.then_some(wait + queued);
        for (of, count) in
            [(Class::Read, tally.reads), (Class::Write, tally.writes), (Class::Other, tally.other)]
        {
            if count > 0 {
                recorder.statements(class(of), wait, service, u64::from(count));
            }
        }
    }

    /// Counts a reply's statements and, if it succeeded, its times.
    #[inline]
    pub(crate) fn count(&mut self, view: &mut ShardView, index: u32, reply: &Reply, now: u64) {
        let any_open = view.any_open();
        let recorder = self.recorder(view, index);
        add(reply.tally, &mut recorder.counters);
        let Some(slot) = self.slots.get(index) else { return };
        if !slot.sent {
            return;
        }
        let mut queued = 0;
        let mut start_ns = slot.ready_ns;
        if let (Some(token), Some(reactor)) = (slot.token, &mut self.reactor)
            && !slot.continued
        {
            start_ns = reactor.given_ns(token);
            queued = start_ns.saturating_sub(slot.ready_ns);
            recorder.on_the_way(queued, now.saturating_sub(self.polled.unread_since_ns()));
        }
        let service = now.saturating_sub(start_ns);
        if let Some(error) = &reply.error {
            if slot.session.is_redirected(error) {
                recorder.counters.redirects += 1;
            } else {
                recorder.failed_statements.record(service);
            }
            return;
        }
        let Some(of) = reply.class else { return };
        if any_open {
            let event = self.clients[slot.client as usize].event;
            let wait = event.map_or(0, |event| event.start_ns.saturating_sub(event.intended_ns));
            recorder.open_statement(class(of), wait + queued, service);
        } else {
            recorder.closed_statement(class(of), service);
        }
    }

    #[cold]
    fn conclude_error(
        &mut self,
        view: &mut ShardView,
        index: u32,
        purpose: Purpose,
        mut reply: Reply,
    ) -> Conclusion {
        let Some(error) = reply.error.take() else { return Conclusion::Nothing };
        if self.slot(index).is_some_and(|slot| slot.session.is_redirected(&error)) {
            self.failures.failed = Some(redirected(*error));
            return Conclusion::Failed;
        }
        self.object(view, index, purpose, &error)
    }

    /// Applies the error policy to a statement that the server refused.
    pub(crate) fn object(
        &mut self,
        view: &mut ShardView,
        index: u32,
        purpose: Purpose,
        error: &ServerError,
    ) -> Conclusion {
        let failed = self.judge(view, index, purpose, error);
        if purpose == Purpose::Adopt && error.closes {
            // The server is still shutting down or starting: the earlier failure stands.
            self.drop_socket(index);
            self.attempts.unwelcome.push((index, error.message.clone()));
            return Conclusion::Later;
        }
        if purpose == Purpose::RollBack && !error.closes {
            // The script must end the transaction itself, as with XA: the first failure stands.
            self.failures.failed = self.slot(index).and_then(|slot| slot.failed.take());
            let failed = self.failures.failed.is_some();
            return if failed { Conclusion::Failed } else { Conclusion::Nothing };
        }
        self.act_on(view, index, purpose, failed)
    }

    /// Counts an error and asks the policy.
    pub(crate) fn judge(
        &mut self,
        view: &mut ShardView,
        index: u32,
        purpose: Purpose,
        error: &ServerError,
    ) -> Failed {
        self.recorder(view, index).error(&error.code());
        let fault_seen = Fault {
            sqlstate: &error.sqlstate,
            number: error.number,
            transient: error.transient,
            lost: error.closes,
        };
        let decision = if matches!(purpose, Purpose::Adopt | Purpose::Prepare(_)) && !error.closes {
            // Preparing it again would fail in the same way.
            Decision { action: ErrorAction::Stop, limit: 0 }
        } else {
            self.decide(view, &fault_seen, &error.message)
        };
        Failed {
            decision,
            purpose,
            sqlstate: error.sqlstate.clone(),
            number: error.number,
            rolled_back: error.rolled_back,
            message: error.message.clone(),
        }
    }

    /// Asks the policy. Where it says so, the load ends here.
    pub(crate) fn decide(
        &self,
        view: &mut ShardView,
        fault: &Fault<'_>,
        message: &str,
    ) -> Decision {
        let decision = decide(&self.settings.errors, fault);
        if decision.action != ErrorAction::EndLoad {
            return decision;
        }
        match view.end_load(&format!("{message} ({})", fault.name())) {
            true => decision,
            false => Decision { action: ErrorAction::Stop, limit: 0 },
        }
    }

    /// Applies the decision, or leaves it to the script.
    pub(crate) fn act_on(
        &mut self,
        view: &mut ShardView,
        index: u32,
        purpose: Purpose,
        failed: Failed,
    ) -> Conclusion {
        let action = failed.decision.action;
        if action == ErrorAction::Stop {
            let target = &self.settings.target;
            let numbers = match target.has_sqlstates() {
                true => format!(" (SQLSTATE {}, number {})", failed.sqlstate, failed.number),
                false => String::new(),
            };
            let (request, refusal) = (target.request(), &failed.message);
            let message = format!("the server refused a {request}: {refusal}{numbers}");
            let own = driver::advice(target, &failed.sqlstate, failed.number);
            let hint = own.unwrap_or(POLICY_HINT);
            self.failures.cause = Some(fault(FatalKind::Statement, message, Some(hint)));
        }
        let Some(slot) = self.slot(index) else { return Conclusion::Nothing };
        let client = slot.client as usize;
        if action == ErrorAction::Reconnect {
            slot.failed = Some(failed);
            self.drop_socket(index);
            return self.begin_reconnect(view, index);
        }
        let again =
            matches!(action, ErrorAction::RestartEvent | ErrorAction::Retry | ErrorAction::EndLoad);
        if again && slot.session.in_failed_transaction() && purpose != Purpose::RollBack {
            slot.failed = Some(failed);
            return self.send_rollback(view, index);
        }
        let failed_on = &mut self.clients[client].failed_on;
        failed_on.retain(|other| *other != index);
        if !failed.rolled_back {
            failed_on.push(index);
        }
        self.failures.failed = Some(failed);
        Conclusion::Failed
    }

    /// Rolls back what is left of a failed event's transaction on a connection, so that the event
    /// can restart. [`Conclusion::Failed`]: the connection was lost meanwhile.
    pub fn roll_back(&mut self, view: &mut ShardView, index: u32) -> Conclusion {
        let Some(slot) = self.slot(index) else { return Conclusion::Nothing };
        if slot.broken || slot.is_pipelining() || !slot.session.in_transaction() {
            return Conclusion::Nothing;
        }
        let conclusion = self.send_rollback(view, index);
        self.awaited(index, conclusion)
    }

    fn send_rollback(&mut self, view: &mut ShardView, index: u32) -> Conclusion {
        let sent = self.send(view, index, Purpose::RollBack, |session, out| session.roll_back(out));
        self.concluded(view, index, sent)
    }

    /// Turns the result of sending into a conclusion: answered at once, answered later, or not sent
    /// because the connection is unusable.
    #[inline]
    pub(crate) fn concluded(
        &mut self,
        view: &mut ShardView,
        index: u32,
        sent: Result<Option<Reply>, ProtocolError>,
    ) -> Conclusion {
        match sent {
            Ok(None) => Conclusion::Later,
            Ok(Some(reply)) => {
                let now = view.now();
                self.conclude(view, index, reply, now)
            }
            Err(error) => self.lost(view, index, &error.to_string()),
        }
    }

    /// When the kernel took the last request, or the in-process driver began it; `None`: not sent.
    pub(crate) fn given_ns(&mut self, index: u32) -> Option<u64> {
        let slot = self.slots.get(index).filter(|slot| slot.sent)?;
        Some(match (slot.token, &mut self.reactor) {
            (Some(token), Some(reactor)) if !slot.continued => reactor.given_ns(token),
            _ => slot.ready_ns,
        })
    }

    /// Sends a request. `Ok(Some)`: an in-process database answered at once.
    ///
    /// # Errors
    /// The session rejects the request.
    #[inline]
    pub(crate) fn send(
        &mut self,
        view: &mut ShardView,
        index: u32,
        purpose: Purpose,
        request: impl FnOnce(&mut driver::Session, &mut Vec<u8>) -> Result<Sent, ProtocolError>,
    ) -> Result<Option<Reply>, ProtocolError> {
        let Some(slot) = self.slots.get_mut(index) else { return Ok(None) };
        slot.purpose = purpose;
        (slot.sent, slot.continued) = (false, false);
        slot.release_rows();
        let (Some(token), Some(reactor)) = (slot.token, self.reactor.as_mut()) else {
            if view.control().abandoned() {
                return Ok(None);
            }
            let now = view.now();
            (slot.ready_ns, slot.sent) = (now, true);
            self.sink.clear();
            return match request(&mut slot.session, &mut self.sink)? {
                Sent::Done(reply) => Ok(Some(reply)),
                Sent::Waiting => {
                    let since = view.since_begin(now);
                    let due = slot.session.due_ns(since).unwrap_or(since);
                    view.reply_at(slot.client, now + due.saturating_sub(since));
                    Ok(None)
                }
            };
        };
        let out = reactor.output(token);
        out.clear();
        let sent = match &mut slot.channel {
            None => request(&mut slot.session, out)?,
            Some(channel) => {
                let sent = request(&mut slot.session, channel.request())?;
                channel.seal(out)?;
                sent
            }
        };
        let len = out.len() as u64;
        match sent {
            Sent::Done(reply) => Ok(Some(reply)),
            Sent::Waiting => {
                slot.sending = out.len() > SILENT_SEND_MAX;
                (slot.ready_ns, slot.sent) = (view.now(), true);
                reactor.submit(token, slot.ready_ns);
                let stopped = self.clients[slot.client as usize].stopped;
                view.recorder_of(stopped).counters.bytes_sent += len;
                Ok(None)
            }
        }
    }
}
