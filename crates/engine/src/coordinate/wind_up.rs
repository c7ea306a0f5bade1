//! The end of a run: how long shards may take to finish, and what happens to late ones.

use std::time::Duration;

use record::{FatalKind, PhaseName};

use super::{Coordinator, Reached, failure};

/// A shard is interrupted if it has not returned this long after its events were abandoned.
const INTERRUPT_NS: u64 = 500_000_000;
/// A shard hangs if it has not returned this long after its events were abandoned.
const HANGS_NS: u64 = 5_000_000_000;

const SLOW_TURN: &str = "is a statement waiting for a lock, or slower than a turn is long? \
    `[design] order = \"runs\"` drives each cell in one window";

impl Coordinator<'_> {
    /// Takes the steps that are due: stop, drain, abandon, interrupt.
    pub(super) fn wind_up(&mut self, now: u64) {
        let end = self.course.timeline.map_or(u64::MAX, |timeline| timeline.measure_end());
        if now.saturating_sub(end) > self.plan.patience_ns
            && self.reached.measured < self.shards
            && !std::mem::replace(&mut self.course.nudged, true)
        {
            self.interrupt(now);
        }
        if self.probe.interrupted() && !self.ending.interrupted {
            self.ending.interrupted = true;
            self.control.stop();
        }
        if self.probe.impatient() {
            self.abandon(now);
        }
        let over = self.control.stopping() || self.course.phase == Some(PhaseName::Drain);
        if over {
            self.ending.over_at.get_or_insert(now);
            // An interruption during the drain can only shorten it.
            let end = now.saturating_add(self.drain_ns());
            self.ending.stop_at = Some(self.ending.stop_at.map_or(end, |planned| planned.min(end)));
        }
        if self.ending.stop_at.is_some_and(|at| now >= at) && self.ending.abandoned_at.is_none() {
            if self.reached.closed < self.shards {
                self.give_up(now);
            } else if self.ending.interrupted {
                self.abandon(now);
            }
        }
    }

    /// Whether a shard hangs although it was interrupted; the run then fails.
    pub(super) fn is_stuck(&mut self, now: u64) -> bool {
        let late_by = self.ending.abandoned_at.map_or(0, |at| now.saturating_sub(at));
        if late_by > INTERRUPT_NS && !std::mem::replace(&mut self.ending.interrupts, true) {
            self.interrupt(now);
        }
        // A blocking call into the database can't be interrupted; the other shards are reported.
        let hangs = late_by > HANGS_NS;
        if hangs {
            self.hangs(now);
        }
        hangs
    }

    /// How long to wait for events in flight.
    fn drain_ns(&self) -> u64 {
        let hurried = self.ending.interrupted || self.ending.failure.is_some();
        let most = if hurried { self.plan.hurried_drain_ns } else { u64::MAX };
        self.plan.drain_ns.min(most)
    }

    fn give_up(&mut self, now: u64) {
        self.abandon(now);
        let drain_s = self.drain_ns() as f64 / 1e9;
        let message = format!("events in flight did not end within {drain_s} s and were given up");
        if self.course.turn.is_none() || self.ending.failure.is_some() || self.ending.interrupted {
            self.warn("unfinished", message, None);
            return;
        }
        // No turn can follow: clients in the abandoned events have ended.
        let mut failure = failure(FatalKind::Statement, format!("at the end of a turn, {message}"));
        failure.hint = Some(SLOW_TURN.into());
        self.ending.given_up = Some(failure);
    }

    fn abandon(&mut self, now: u64) {
        self.control.abandon();
        self.ending.abandoned_at.get_or_insert(now);
    }

    /// Time since events must not begin any more.
    fn waited(&self, now: u64) -> Duration {
        Duration::from_nanos(now.saturating_sub(self.ending.over_at.unwrap_or(now)))
    }

    /// Interrupts each shard.
    fn interrupt(&self, now: u64) {
        let waited = self.waited(now);
        self.interrupters.iter().for_each(|shard| shard.interrupt(waited));
    }

    /// Fails the run: shards did not return even when interrupted.
    fn hangs(&mut self, now: u64) {
        let Reached { closed, finished, .. } = self.reached;
        let back = if closed < self.shards { closed } else { finished };
        let (lost, shards) = (self.shards - back, self.shards);
        let message = format!(
            "{lost} of {shards} threads did not return within {:.1} s of the end of the load: what \
             their clients did last is not counted",
            self.waited(now).as_secs_f64()
        );
        let mut failure = failure(FatalKind::Script, message);
        let hint = "a script that blocks other than on its connections (os.execute, \
                    io.read) or a long statement of an in-process database";
        failure.hint = Some(hint.into());
        self.fail(failure);
    }
}
