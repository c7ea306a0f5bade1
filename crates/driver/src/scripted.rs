//! The driver that follows a written plan of delays, errors and absences: what goes in is known, so
//! what the engine measures can be checked.
//!
//! It has no clock. The host says when a request is sent and asks when its reply is due; at that
//! time it feeds nothing, and gets the reply.

use std::sync::Arc;

use record::ScriptedPlan;

use crate::error::ServerError;
use crate::null::NullSession;
use crate::session::{Progress, Reply, StatementId};

/// A session with a server that exists on paper.
#[derive(Debug)]
pub struct ScriptedSession {
    plan: Arc<ScriptedPlan>,
    answers: NullSession,
    statements: u64,
    reply: Option<Reply>,
}

impl ScriptedSession {
    pub(crate) fn new(plan: &ScriptedPlan) -> Self {
        let plan = Arc::new(plan.clone());
        Self { plan, answers: NullSession::default(), statements: 0, reply: None }
    }

    pub(crate) fn query(&mut self, sql: &[u8]) {
        let reply = self.answers.answer(sql);
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
        self.reply = Some(Reply::default());
    }

    fn plan_reply(&mut self, reply: Reply) {
        self.statements += 1;
        let failing = self
            .plan
            .errors
            .iter()
            .find(|error| error.every > 0 && self.statements.is_multiple_of(error.every));
        self.reply = Some(match failing {
            None => reply,
            Some(error) => failure(&error.sqlstate, "a planned error", error.transient, false),
        });
    }

    /// When the reply to a request sent at `sent_ns` is due; both count from the beginning of the
    /// load.
    pub(crate) fn due_ns(&mut self, sent_ns: u64) -> u64 {
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
                self.reply = Some(failure("57P01", "the planned outage", false, true));
                return from.max(sent_ns);
            }
        }
        due
    }

    pub(crate) fn feed(&mut self) -> Progress {
        match self.reply.take() {
            Some(reply) => Progress::Done { reply, consumed: 0 },
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
        let mut session = ScriptedSession::new(&plan);
        assert_eq!(session.due_ns(0), 1_000_000);
        assert_eq!(session.due_ns(999_500_000), 3_001_000_000, "under way when it begins");
        assert_eq!(session.due_ns(2_000_000_000), 3_001_000_000, "sent within it");
        assert_eq!(session.due_ns(3_000_000_000), 3_001_000_000, "sent when it is over");
    }
}
