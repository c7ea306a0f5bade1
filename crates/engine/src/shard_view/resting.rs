//! The end of a window bounded by a number of events: the end of the last event that counts.
//!
//! Clients go on after it: `thread_done` may send statements, and another shard may still have an
//! event under way. What a shard records once it has no event left that counts is kept for the
//! drain; the coordinator ends the window once all shards are that far.

use measure::Recorder;
use record::PhaseName;

use super::ShardView;

impl ShardView {
    /// Notes if no event is left that counts. Called whenever one ends, and before a client is told
    /// to stop.
    #[inline]
    pub(super) fn look_for_rest(&mut self) {
        if self.control.limited() && self.course.slice.phase == PhaseName::Measure {
            self.look_closely();
        }
    }

    fn look_closely(&mut self) {
        let none_left = || self.account.taken == 0 || self.events_under_way() == 0;
        if self.account.rest.since_ns.is_some() || !self.control.spent() || !none_left() {
            return;
        }
        self.account.rest.since_ns = Some(self.account.rest.last_ns);
        if !self.account.recorder.is_empty() {
            self.account.rest.window = Some(self.change_recorder());
        }
        self.bring_in_outside();
    }

    /// The recorder for what a client does; `stopped`: it was told to stop. What its `thread_done`
    /// sends is no part of a window bounded by events, even if events of other clients still count.
    #[inline]
    pub fn recorder_of(&mut self, stopped: bool) -> &mut Recorder {
        if stopped { self.recorder_after_stop() } else { &mut self.account.recorder }
    }

    fn recorder_after_stop(&mut self) -> &mut Recorder {
        let apart = self.control.limited()
            && self.course.slice.phase == PhaseName::Measure
            && self.account.rest.since_ns.is_none();
        if apart {
            return self.account.rest.outside.get_or_insert_with(|| Box::new(Recorder::new(0)));
        }
        &mut self.account.recorder
    }

    /// Adds to the recorder what was recorded outside of the window, once that is over.
    pub(super) fn bring_in_outside(&mut self) {
        if let Some(outside) = self.account.rest.outside.take() {
            self.account.recorder.merge(&outside);
        }
    }

    /// Events that have begun and not ended, whatever becomes of them.
    pub(super) fn events_under_way(&self) -> i64 {
        self.account.rest.under_way + self.account.recorder.counters.under_way()
    }

    /// Whether what is recorded now is no longer of the window.
    pub(super) fn is_kept_for_later(&self) -> bool {
        self.account.rest.since_ns.is_some() && self.course.slice.phase == PhaseName::Measure
    }
}
