//! The driver that follows a plan of delays, errors and outages: its input is known, so the
//! engine's measurements can be checked.
//!
//! It has no clock. The host says when a request is sent and asks when its reply is due; at that
//! time it calls `feed` with nothing and gets the reply.

use std::collections::VecDeque;
use std::sync::Arc;

use record::ScriptedPlan;

use crate::error::ServerError;
use crate::null::NullSession;
use crate::reply::{Progress, Reply, StatementId};
use crate::value::Value;

/// A session with a simulated server.
#[derive(Debug)]
pub struct ScriptedSession {
    plan: Arc<ScriptedPlan>,
    answers: NullSession,
    statements: u64,
    replies: VecDeque<Reply>,
    /// How many of them have a time.
    timed: usize,
    /// When the server finishes the last of these.
    busy_until_ns: u64,
}

impl ScriptedSession {
    pub(crate) fn new(plan: &ScriptedPlan) -> Self {
        let plan = Arc::new(plan.clone());
        Self {
            plan,
            answers: NullSession::default(),
            statements: 0,
            replies: VecDeque::new(),
            timed: 0,
            busy_until_ns: 0,
        }
    }

    pub(crate) fn query(&mut self, sql: &[u8]) {
        let reply = self.answers.answer(sql);
        self.plan_reply(reply);
    }

    pub(crate) fn command<'a>(&mut self, words: impl Iterator<Item = Value<'a>>) {
        let reply = self.answers.command(words);
        self.plan_reply(reply);
    }

    pub(crate) fn document(&mut self, command: &[u8]) {
        let reply = self.answers.document(command);
        self.plan_reply(reply);
    }

    pub(crate) fn prepare(&mut self, sql: &[u8]) -> StatementId {
        self.answers.prepare(sql)
    }

    pub(crate) fn execute(&mut self, statement: StatementId) {
        let reply = self.answers.execute(statement);
        self.plan_reply(reply);
    }

    pub(crate) fn adopt(&mut self, dead: Self) {
        self.answers = dead.answers;
        self.statements = dead.statements;
        self.replies.push_back(Reply::default());
    }

    fn plan_reply(&mut self, reply: Reply) {
        self.statements += 1;
        let failing = self
            .plan
            .errors
            .iter()
            .find(|error| error.every > 0 && self.statements.is_multiple_of(error.every));
        self.replies.push_back(match failing {
            None => reply,
            Some(error) => failure(&error.sqlstate, "a planned error", error.transient, false),
        });
    }

    /// When the reply to the first request without a time is due, if it was sent at `sent_ns`; both
    /// count from the start of the load. Requests are served one after the other.
    pub(crate) fn due_ns(&mut self, sent_ns: u64) -> u64 {
        self.busy_until_ns = self.served_by(sent_ns.max(self.busy_until_ns));
        self.timed += 1;
        self.busy_until_ns
    }

    fn served_by(&mut self, sent_ns: u64) -> u64 {
        let service_ns = self.plan.service_us * 1_000;
        let mut due = sent_ns + service_ns;
        for stall in &self.plan.stalls {
            let (from, to) = stall.span_ns();
            if due >= from && sent_ns < to {
                due = to + service_ns;
            }
        }
        for outage in &self.plan.outages {
            let (from, to) = outage.span_ns();
            if due >= from && sent_ns < to {
                let failure = failure("57P01", "the planned outage", false, true);
                if let Some(reply) = self.replies.get_mut(self.timed) {
                    *reply = failure;
                }
                return from.max(sent_ns);
            }
        }
        due
    }

    pub(crate) fn feed(&mut self) -> Progress {
        match self.replies.pop_front() {
            Some(reply) => {
                self.timed = self.timed.saturating_sub(1);
                Progress::Done { reply, consumed: 0 }
            }
            None => Progress::More,
        }
    }
}

fn failure(sqlstate: &str, message: &str, transient: bool, closes: bool) -> Reply {
    let error = ServerError {
        sqlstate: sqlstate.to_owned(),
        number: 0,
        message: message.to_owned(),
        transient,
        rolled_back: false,
        closes,
    };
    Reply { error: Some(Box::new(error)), ..Reply::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Stretch;

    #[test]
    fn what_is_under_way_when_a_stall_begins_is_answered_behind_it() {
        let stalls = vec![Stretch { at_s: 1.0, for_s: 2.0 }];
        let plan = ScriptedPlan { service_us: 1_000, stalls, ..ScriptedPlan::default() };
        let due = |sent_ns| ScriptedSession::new(&plan).due_ns(sent_ns);
        assert_eq!(due(0), 1_000_000);
        assert_eq!(due(999_500_000), 3_001_000_000, "under way when it begins");
        assert_eq!(due(2_000_000_000), 3_001_000_000, "sent within it");
        assert_eq!(due(3_000_000_000), 3_001_000_000, "sent when it is over");
    }

    #[test]
    fn what_is_sent_together_is_served_one_by_one() {
        let outages = vec![Stretch { at_s: 0.0025, for_s: 1.0 }];
        let plan = ScriptedPlan { service_us: 1_000, outages, ..ScriptedPlan::default() };
        let mut session = ScriptedSession::new(&plan);
        (0..3).for_each(|_| session.query(b"SELECT 1"));
        let due = [0; 3].map(|sent_ns| session.due_ns(sent_ns));
        assert_eq!(due, [1_000_000, 2_000_000, 2_500_000]);
        let lost = [(); 3].map(|()| match session.feed() {
            Progress::Done { reply, .. } => reply.error.is_some(),
            other => panic!("{other:?}"),
        });
        assert_eq!(lost, [false, false, true], "the third is under way when the server goes");
    }
}
