//! Records events as they end, and assigns them to windows.
//!
//! In the open loop and in turns, a window consists of the events intended to start in it, whenever
//! they end. Otherwise a stall at its end would leave no trace: events waiting behind it end later,
//! or never. An event that is not waited for counts as at least as slow as it was at the window's
//! end.

use record::PhaseName;

use super::{OpenEvent, ShardView};

impl ShardView {
    /// Whether an event that ends now is counted. One that began in the warm-up and ends in the
    /// window takes from the budget like any other that ends there; if the budget is used up, it is
    /// not counted.
    #[inline]
    fn counts(&mut self) -> bool {
        let early = matches!(self.slice.phase, PhaseName::Connect | PhaseName::WarmUp);
        if early || !self.control.limited() {
            return true;
        }
        if self.taken == 0 && !self.take() {
            return false;
        }
        self.taken -= 1;
        true
    }

    /// Records an event that ends now. `place`: the client's index among this shard's, from 0.
    #[inline]
    pub fn end_event(&mut self, group: usize, place: u32, event: OpenEvent, now: u64) {
        if !self.counts() {
            self.recorder.counters.uncounted += 1;
            return;
        }
        let service = now.saturating_sub(event.start_ns);
        self.client_event(place, event.intended_ns, now);
        if self.is_open(group) {
            let wait = event.start_ns.saturating_sub(event.intended_ns);
            if self.is_foreign(event.intended_ns) {
                self.recorder.foreign_event(event.label, wait, service);
            } else {
                self.recorder.open_event(event.label, wait, service);
            }
            if self.slice.phase == PhaseName::Drain && self.turns.is_none() {
                self.censor(group, event, now);
            }
        } else if self.turns.is_some() && self.is_foreign(event.intended_ns) {
            self.recorder.foreign_closed_event(event.label, service);
        } else {
            self.recorder.closed_event(event.label, service);
        }
    }

    /// Ends an event that the script excluded from counting.
    #[inline]
    pub fn drop_event(&mut self) {
        self.recorder.counters.uncounted += 1;
    }

    /// Abandons an event, because the load is over.
    pub fn give_up_event(&mut self, group: usize, event: OpenEvent) {
        let now = self.now();
        self.recorder.counters.unfinished += 1;
        self.recorder.failed_events.record(now.saturating_sub(event.intended_ns));
        if self.is_open(group) || self.turns.is_some() {
            self.censor(group, event, now);
        }
    }

    /// Starts an event without a turn: its script measures by itself.
    pub fn begin_event(&mut self) {
        self.recorder.counters.begun += 1;
    }

    /// Whether an event that ends after the window's start was intended before it.
    #[inline]
    pub(super) fn is_foreign(&self, intended_ns: u64) -> bool {
        self.slice.phase >= PhaseName::Measure && intended_ns < self.timeline.measure_start()
    }

    /// Records the time so far of an event of the window that is not waited for; one that ends in
    /// the drain of a turn is recorded with its full time.
    pub(super) fn censor(&mut self, group: usize, event: OpenEvent, now: u64) {
        if self.slice.phase < PhaseName::Measure || self.is_foreign(event.intended_ns) {
            return;
        }
        let end = match self.turns {
            None => now.min(self.timeline.measure_end()),
            Some(_) => now,
        };
        let service = end.saturating_sub(event.start_ns);
        if self.is_open(group) {
            let wait = event.start_ns.saturating_sub(event.intended_ns);
            self.recorder.censored_event(event.label, wait, service);
        } else {
            self.recorder.censored_closed_event(event.label, service);
        }
    }

    /// Records how long the window's backlog has waited, at the end of the window.
    pub(super) fn censor_backlog(&mut self, end: u64) {
        let over = end >= self.timeline.measure_end() || self.closing;
        if self.slice.phase != PhaseName::Measure || !over {
            return;
        }
        let (begin, warm_up) = (self.timeline.begin, self.timeline.warm_up);
        let until = end.min(self.timeline.measure_end()).saturating_sub(begin);
        let mut left = self.control.left();
        for (label, group) in self.groups.iter().enumerate().filter(|(_, group)| !group.idle) {
            let Some(arrivals) = &group.arrivals else { continue };
            let recorder = &mut self.recorder;
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
