//! Measurements so far: shards' intervals merged, then added up to turns and to the window.

use std::collections::BTreeMap;

use measure::{Counters, Recorder};
use record::{ClientTotal, CpuTime, Interval, PhaseName, Summary, Turn};

use crate::labels::Labels;
use crate::message::ShardInterval;
use crate::report::{Merged, counters, histograms};

/// A stretch of time whose measurements are reported.
#[derive(Debug, Default)]
struct Window {
    recorder: Recorder,
    span_ns: Option<(u64, u64)>,
    length_ns: u64,
    cpu: CpuTime,
    clients: u32,
    censored: u64,
}

impl Window {
    /// Adds an interval within it.
    fn add(&mut self, merged: &Merged, cpu: CpuTime) {
        let before = self.recorder.backlog;
        self.recorder.merge(&merged.recorder);
        self.recorder.backlog -= before;
        let start = self.span_ns.map_or(merged.start_ns, |(start, _)| start);
        self.span_ns = Some((start, merged.end_ns));
        self.length_ns += merged.end_ns.saturating_sub(merged.start_ns);
        self.cpu = plus(self.cpu, cpu);
        self.clients = self.clients.max(merged.clients);
    }

    /// Adds events that were in flight at its end and ended, or were abandoned, after it. Those of
    /// the open loop outside of turns are among the censored, whether they ended or not.
    fn add_late(&mut self, drain: &Recorder, in_turns: bool) {
        for (label, times) in drain.events.iter().enumerate() {
            let open = times.response.count() > 0;
            if in_turns || !open {
                self.recorder.merge_events_of(label, times);
            }
        }
        self.recorder.merge_censored(&drain.censored);
    }

    /// Counts events that had not ended as at least as slow as they were at its end.
    fn close(&mut self) {
        let censored = std::mem::take(&mut self.recorder.censored);
        self.censored += censored
            .iter()
            .map(|times| {
                // A backlog has had no service; in a closed loop there is only service.
                times.response.count().max(times.service.count())
            })
            .sum::<u64>();
        self.recorder.merge_events(&censored);
    }

    /// Appends a later one.
    fn merge(&mut self, other: &Self) {
        self.recorder.merge(&other.recorder);
        let start = self.span_ns.or(other.span_ns).map(|(start, _)| start);
        self.span_ns = start.zip(other.span_ns.map(|(_, end)| end)).or(self.span_ns);
        self.length_ns += other.length_ns;
        self.cpu = plus(self.cpu, other.cpu);
        self.clients = self.clients.max(other.clients);
        self.censored += other.censored;
    }
}

fn plus(one: CpuTime, other: CpuTime) -> CpuTime {
    CpuTime { user_us: one.user_us + other.user_us, system_us: one.system_us + other.system_us }
}

/// The current turn.
#[derive(Debug)]
struct TurnParts {
    index: u32,
    begin_ns: u64,
    window: Window,
    total: Counters,
    cpu: CpuTime,
}

/// An interval for which shards' parts may still be missing.
#[derive(Debug)]
struct Gathered {
    merged: Merged,
    parts: usize,
    /// Parts of shards on which no event is left that counts, and when the last one ended.
    rested: usize,
    last_event_ns: u64,
    /// CPU time so far at its end.
    cpu: Option<CpuTime>,
    totals: Option<Vec<ClientTotal>>,
}

/// Measurements reported by the shards.
#[derive(Debug)]
pub(crate) struct Measured {
    shards: usize,
    /// By number.
    gathered: BTreeMap<u64, Gathered>,
    /// Intervals returned so far.
    told: u64,
    /// End of the last interval since the window ended with its last event.
    over_ns: Option<u64>,
    over: bool,
    total: Recorder,
    window: Window,
    turn: Option<TurnParts>,
    cpu_before: CpuTime,
    /// Resident memory at the end of the window so far, KiB.
    rss_kb: u64,
    last_totals: Vec<ClientTotal>,
}

/// An interval of all shards.
pub(crate) struct Done {
    pub(crate) interval: Interval,
    /// Totals of each client up to its end, if requested.
    pub(crate) totals: Option<Vec<ClientTotal>>,
}

impl Measured {
    pub(crate) fn new(shards: usize) -> Self {
        Self {
            shards,
            gathered: BTreeMap::new(),
            told: 0,
            over_ns: None,
            over: false,
            total: Recorder::default(),
            window: Window::default(),
            turn: None,
            cpu_before: CpuTime::default(),
            rss_kb: 0,
            last_totals: Vec::new(),
        }
    }

    /// Adds a shard's part of an interval. Returns its recorder, cleared.
    pub(crate) fn take(&mut self, mut part: ShardInterval) -> Option<Box<Recorder>> {
        let gathered = self.gathered.entry(part.index).or_insert_with(|| Gathered {
            merged: Merged::new(&part),
            parts: 0,
            rested: 0,
            last_event_ns: 0,
            cpu: None,
            totals: None,
        });
        gathered.merged.add(&part);
        gathered.parts += 1;
        gathered.rested += usize::from(part.rested_ns.is_some());
        gathered.last_event_ns = gathered.last_event_ns.max(part.rested_ns.unwrap_or(0));
        gathered.cpu = gathered.cpu.or(part.cpu);
        match part.totals.take() {
            Some(clients) if part.last => self.last_totals.extend(clients),
            Some(clients) => gathered.totals.get_or_insert_with(Vec::new).extend(clients),
            None => {}
        }
        let mut recorder = part.recorder?;
        recorder.clear();
        Some(recorder)
    }

    /// The next complete interval; with `all`, also an incomplete one. `rss_kb` reads the resident
    /// memory now.
    pub(crate) fn next(
        &mut self,
        all: bool,
        labels: &Labels,
        rss_kb: impl FnOnce() -> u64,
    ) -> Option<Done> {
        let first = self.gathered.first_entry()?;
        if !all && first.get().parts < self.shards {
            return None;
        }
        let Gathered { mut merged, cpu, totals, rested, last_event_ns, .. } = first.remove();
        self.end_with_the_last_event(&mut merged, rested == self.shards, last_event_ns);
        merged.index = self.told;
        self.told += 1;
        let cpu = self.cpu_until(cpu);
        if merged.phase == PhaseName::Measure {
            self.rss_kb = rss_kb();
        }
        self.add(&merged, cpu);
        Some(Done { interval: merged.record(cpu, &labels.names()), totals })
    }

    /// Ends the window with its last event, if it is bounded by a number of events: the interval in
    /// which all shards are `rested` is cut there, and what follows is drain.
    fn end_with_the_last_event(&mut self, merged: &mut Merged, rested: bool, last_ns: u64) {
        if !self.over && rested && merged.phase == PhaseName::Measure {
            self.over = true;
            if last_ns > merged.start_ns {
                merged.end_ns = merged.end_ns.min(last_ns);
                self.over_ns = Some(merged.end_ns);
            } else if self.window.span_ns.is_some() {
                merged.phase = PhaseName::Drain;
            }
        } else if self.over && matches!(merged.phase, PhaseName::Measure | PhaseName::Drain) {
            merged.phase = PhaseName::Drain;
            // Shards close theirs one by one: intervals follow one another nevertheless.
            merged.start_ns = self.over_ns.unwrap_or(merged.start_ns);
            merged.end_ns = merged.end_ns.max(merged.start_ns);
            self.over_ns = Some(merged.end_ns);
        }
    }

    fn add(&mut self, merged: &Merged, cpu: CpuTime) {
        self.total.merge_counts(&merged.recorder);
        let window = match merged.turn {
            None => &mut self.window,
            Some(index) => {
                let turn = self.turn.get_or_insert_with(|| TurnParts {
                    index,
                    begin_ns: merged.start_ns,
                    window: Window::default(),
                    total: Counters::default(),
                    cpu: CpuTime::default(),
                });
                debug_assert_eq!(turn.index, index, "a turn is done before the next begins");
                turn.total += merged.recorder.counters;
                turn.cpu = plus(turn.cpu, cpu);
                &mut turn.window
            }
        };
        match merged.phase {
            PhaseName::Measure => window.add(merged, cpu),
            PhaseName::Drain => window.add_late(&merged.recorder, merged.turn.is_some()),
            PhaseName::Connect | PhaseName::WarmUp | PhaseName::Pause | PhaseName::Finish => {}
        }
    }

    /// CPU time used in an interval, from the reading at its `end`. Zero if there is no reading
    /// (the shard that took it was cut off) or if it was taken before the previous interval's, by
    /// another shard; that CPU time is then counted in a neighbouring interval.
    fn cpu_until(&mut self, end: Option<CpuTime>) -> CpuTime {
        let before = self.cpu_before;
        let end = end.unwrap_or(before);
        self.cpu_before = CpuTime {
            user_us: end.user_us.max(before.user_us),
            system_us: end.system_us.max(before.system_us),
        };
        CpuTime {
            user_us: self.cpu_before.user_us - before.user_us,
            system_us: self.cpu_before.system_us - before.system_us,
        }
    }

    /// Final totals of each client.
    pub(crate) fn last_totals(&mut self) -> Vec<ClientTotal> {
        std::mem::take(&mut self.last_totals)
    }

    /// Ends the current turn. `None`: there is none, or its window has not begun. `interrupted`: it
    /// was cut short.
    pub(crate) fn end_turn(
        &mut self,
        drained_ns: u64,
        interrupted: bool,
        labels: &[String],
    ) -> Option<Turn> {
        let mut turn = self.turn.take()?;
        let (measure_ns, end_ns) = turn.window.span_ns?;
        turn.window.close();
        self.window.merge(&turn.window);
        let recorder = &turn.window.recorder;
        Some(Turn {
            index: turn.index,
            begin_ns: turn.begin_ns,
            measure_ns,
            end_ns,
            drained_ns: drained_ns.max(end_ns),
            interrupted,
            clients: turn.window.clients,
            measured: counters(&recorder.counters),
            total: counters(&turn.total),
            errors: recorder.errors.clone(),
            backlog: recorder.backlog,
            censored: turn.window.censored,
            cpu: turn.window.cpu,
            total_cpu: turn.cpu,
            histograms: histograms(recorder, labels),
        })
    }

    /// Begun events missing from all counts. Once all clients have ended there must be none.
    pub(crate) fn astray(&self) -> u64 {
        let Counters { begun, events, uncounted, unfinished, .. } = self.total.counters;
        begun.abs_diff(events + uncounted + unfinished)
    }

    /// The whole window; `None`: it has not begun. `peak_kb` is the kernel's figure.
    pub(crate) fn summary(
        &mut self,
        interrupted: bool,
        peak_kb: u64,
        labels: &[String],
    ) -> Option<Summary> {
        let (start_ns, end_ns) = self.window.span_ns?;
        self.window.close();
        let window = &self.window;
        Some(Summary {
            interrupted,
            start_ns,
            end_ns,
            measured_ns: window.length_ns,
            measured: counters(&window.recorder.counters),
            total: counters(&self.total.counters),
            errors: window.recorder.errors.clone(),
            backlog: window.recorder.backlog,
            censored: window.censored,
            cpu: window.cpu,
            // The kernel's peak figure lags a little behind.
            rss_peak_kb: peak_kb.max(self.rss_kb),
            rss_kb: self.rss_kb,
            clients: window.clients,
            histograms: histograms(&window.recorder, labels),
        })
    }
}

#[cfg(test)]
mod tests;
