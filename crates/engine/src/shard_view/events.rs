//! Records events as they end, and assigns them to windows.
//!
//! In the open loop and in turns, a window consists of the events intended to start in it, whenever
//! they end; in any other closed loop, of those that end in it. To these come the events that were
//! in flight at its end, and those that were so all through it: otherwise a stall that outlasts the
//! window would leave no trace. In a closed loop they are recorded with their full time if they end
//! in the drain, otherwise with the time until they were given up; in the open loop, where more
//! events wait behind them, with their time at the window's end.

use record::PhaseName;

use super::{OpenEvent, ShardView};

impl ShardView {
    /// Whether an event that ends now is counted. One that began in the warm-up and ends in the
    /// window takes from the budget like any other that ends there; if the budget is used up, it is
    /// not counted.
    #[inline]
    fn counts(&mut self) -> bool {
        let early = matches!(self.course.slice.phase, PhaseName::Connect | PhaseName::WarmUp);
        if early || !self.control.limited() {
            return true;
        }
        if self.account.taken == 0 && !self.take() {
            return false;
        }
        self.account.taken -= 1;
        true
    }

    /// Records an event that ends now. `place`: the client's index among this shard's, from 0.
    #[inline]
    pub fn end_event(&mut self, group: usize, place: u32, event: OpenEvent, now: u64) {
        if !self.counts() {
            self.account.recorder.counters.uncounted += 1;
            self.look_for_rest();
            return;
        }
        let service = now.saturating_sub(event.start_ns);
        self.client_event(place, event.intended_ns, now);
        if self.is_open(group) {
            let wait = event.start_ns.saturating_sub(event.intended_ns);
            if self.is_foreign(event, self.course.slice.phase) {
                self.account.recorder.foreign_event(event.label, wait, service);
            } else {
                self.account.recorder.open_event(event.label, wait, service);
            }
            if self.course.slice.phase == PhaseName::Drain && self.course.turns.is_none() {
                self.censor(group, event, now);
            }
        } else if self.course.turns.is_some() && self.is_foreign(event, self.course.slice.phase) {
            self.account.recorder.foreign_closed_event(event.label, service);
        } else {
            self.account.recorder.closed_event(event.label, service);
        }
        if self.control.limited() {
            self.account.rest.last_ns = now;
            self.look_for_rest();
        }
    }

    /// Ends an event that the script excluded from counting.
    #[inline]
    pub fn drop_event(&mut self) {
        self.account.recorder.counters.uncounted += 1;
        self.look_for_rest();
    }

    /// Abandons an event, because the load is over.
    pub fn give_up_event(&mut self, group: usize, event: OpenEvent) {
        let now = self.now();
        self.account.recorder.counters.unfinished += 1;
        self.account.recorder.failed_events.record(now.saturating_sub(event.intended_ns));
        self.censor(group, event, now);
        self.look_for_rest();
    }

    /// Starts an event without a turn: its script measures by itself.
    pub fn begin_event(&mut self) {
        self.account.recorder.counters.begun += 1;
    }

    /// Whether an event that ends in this phase, or later, was intended before the window. One that
    /// was in flight all through the window is the window's: nothing else shows that its client
    /// stood still.
    #[inline]
    pub(super) fn is_foreign(&self, event: OpenEvent, ends_in: PhaseName) -> bool {
        let start = self.course.timeline.measure_start();
        ends_in >= PhaseName::Measure
            && event.intended_ns < start
            && (ends_in == PhaseName::Measure || event.start_ns >= start)
    }

    /// Records the time so far of an event of the window that is not waited for: up to the window's
    /// end where more events wait behind it, otherwise up to now.
    pub(super) fn censor(&mut self, group: usize, event: OpenEvent, now: u64) {
        let open = self.is_open(group);
        let foreign =
            (open || self.course.turns.is_some()) && self.is_foreign(event, PhaseName::Drain);
        if self.course.slice.phase < PhaseName::Measure || foreign {
            return;
        }
        if !open {
            let service = now.saturating_sub(event.start_ns);
            self.account.recorder.censored_closed_event(event.label, service);
            return;
        }
        let end = match self.course.turns {
            None => now.min(self.course.timeline.measure_end()),
            Some(_) => now,
        };
        let service = end.saturating_sub(event.start_ns);
        let wait = event.start_ns.saturating_sub(event.intended_ns);
        self.account.recorder.censored_event(event.label, wait, service);
    }

    /// Records how long the window's backlog has waited, at the end of the window.
    pub(super) fn censor_backlog(&mut self, end: u64) {
        let over = end >= self.course.timeline.measure_end() || self.course.closing;
        if self.course.slice.phase != PhaseName::Measure || !over {
            return;
        }
        let (begin, warm_up) = (self.course.timeline.begin, self.course.timeline.warm_up);
        let until = end.min(self.course.timeline.measure_end()).saturating_sub(begin);
        let mut left = self.control.left();
        for (label, group) in self.groups.iter().enumerate().filter(|(_, group)| !group.idle) {
            let Some(arrivals) = &group.arrivals else { continue };
            let recorder = &mut self.account.recorder;
            arrivals.due(until, &mut |offset, count| {
                if (warm_up..until).contains(&offset) {
                    let count = count.min(left);
                    left -= count;
                    recorder.censored_backlog(label, until.saturating_sub(offset), count);
                }
            });
        }
    }
}
