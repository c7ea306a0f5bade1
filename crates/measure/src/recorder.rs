//! The recorder of one shard and one interval.

use std::collections::BTreeMap;

use crate::counters::Counters;
use crate::distribution::Distribution;

/// The class of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementClass {
    /// Returned a result set.
    Read = 0,
    /// Changed rows.
    Write = 1,
    /// Neither.
    Other = 2,
}

/// The three times of an event or a statement. In a closed loop wait is zero and response equals
/// service, so only service is recorded.
#[derive(Debug, Clone, Default)]
pub struct Times {
    /// Start minus intended start. A statement starts as late as its event, and may then lie
    /// queued.
    pub wait: Distribution,
    /// End minus start.
    pub service: Distribution,
    /// End minus intended start.
    pub response: Distribution,
}

impl Times {
    #[inline]
    fn record(&mut self, wait_ns: u64, service_ns: u64) {
        self.wait.record(wait_ns);
        self.service.record(service_ns);
        self.response.record(wait_ns.saturating_add(service_ns));
    }

    fn record_many(&mut self, wait_ns: u64, service_ns: u64, count: u64) {
        self.wait.record_many(wait_ns, count);
        self.service.record_many(service_ns, count);
        self.response.record_many(wait_ns.saturating_add(service_ns), count);
    }

    fn merge(&mut self, other: &Self) {
        self.wait.merge(&other.wait);
        self.service.merge(&other.service);
        self.response.merge(&other.response);
    }

    fn clear(&mut self) {
        self.wait.clear();
        self.service.clear();
        self.response.clear();
    }
}

/// Counters and distributions of one shard and one interval.
#[derive(Debug, Clone)]
pub struct Recorder {
    /// Counts.
    pub counters: Counters,
    /// Errors by code.
    pub errors: BTreeMap<String, u64>,
    /// Times of events, by label number.
    pub events: Vec<Times>,
    /// Times of events that ended in this interval but were intended before the window: they belong
    /// to the interval, not to the window.
    pub foreign: Vec<Times>,
    /// Times so far of events of the window that had not ended.
    pub censored: Vec<Times>,
    /// Times of statements, by [`StatementClass`].
    pub statements: [Times; 3],
    /// Times of failed statements, until they failed.
    pub failed_statements: Distribution,
    /// Times of abandoned events, until they were.
    pub failed_events: Distribution,
    /// How late open-loop events were started although a client was free.
    pub lag: Distribution,
    /// How long statements were ready before the kernel got their bytes; to two digits.
    pub queued: Distribution,
    /// How long replies lay unread, at most; to two digits.
    pub unread: Distribution,
    /// Open-loop events due and not started at the end of the interval.
    pub backlog: u64,
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Recorder {
    /// A recorder for this many event labels; it grows as needed.
    pub fn new(labels: usize) -> Self {
        Self {
            counters: Counters::default(),
            errors: BTreeMap::new(),
            events: vec![Times::default(); labels],
            foreign: Vec::new(),
            censored: Vec::new(),
            statements: Default::default(),
            failed_statements: Distribution::default(),
            failed_events: Distribution::default(),
            lag: Distribution::default(),
            queued: Distribution::rough(),
            unread: Distribution::rough(),
            backlog: 0,
        }
    }

    /// Counts a successful statement's time in a run without intended starts.
    #[inline]
    pub fn closed_statement(&mut self, class: StatementClass, service_ns: u64) {
        self.statements[class as usize].service.record(service_ns);
    }

    /// Counts a successful statement's times in a run with intended starts. `wait_ns`: how late its
    /// event started, 0 in a closed group or outside of events.
    #[inline]
    pub fn open_statement(&mut self, class: StatementClass, wait_ns: u64, service_ns: u64) {
        self.statements[class as usize].record(wait_ns, service_ns);
    }

    /// `count` statements that ended together; `wait_ns`: `None` without intended starts.
    pub fn statements(&mut self, of: StatementClass, wait_ns: Option<u64>, ns: u64, count: u64) {
        let times = &mut self.statements[of as usize];
        match wait_ns {
            None => times.service.record_many(ns, count),
            Some(wait_ns) => times.record_many(wait_ns, ns, count),
        }
    }

    /// Records how long a statement lay queued before it was sent, and its reply unread at most.
    #[inline]
    pub fn on_the_way(&mut self, queued_ns: u64, unread_ns: u64) {
        self.queued.record(queued_ns);
        self.unread.record(unread_ns);
    }

    /// [`Self::on_the_way`] of `count` statements.
    pub fn many_on_the_way(&mut self, queued_ns: u64, unread_ns: u64, count: u64) {
        self.queued.record_many(queued_ns, count);
        self.unread.record_many(unread_ns, count);
    }

    /// Counts a failed statement.
    pub fn error(&mut self, code: &str) {
        self.counters.errors += 1;
        match self.errors.get_mut(code) {
            Some(count) => *count += 1,
            None => {
                self.errors.insert(code.to_owned(), 1);
            }
        }
    }

    /// Counts a completed closed-loop event.
    #[inline]
    pub fn closed_event(&mut self, label: usize, service_ns: u64) {
        self.counters.events += 1;
        of(&mut self.events, label).service.record(service_ns);
    }

    /// Counts a completed open-loop event.
    #[inline]
    pub fn open_event(&mut self, label: usize, wait_ns: u64, service_ns: u64) {
        self.counters.events += 1;
        of(&mut self.events, label).record(wait_ns, service_ns);
    }

    /// An event whose time is not part of the window.
    pub fn foreign_event(&mut self, label: usize, wait_ns: u64, service_ns: u64) {
        self.counters.events += 1;
        of(&mut self.foreign, label).record(wait_ns, service_ns);
    }

    /// The same in a closed loop.
    pub fn foreign_closed_event(&mut self, label: usize, service_ns: u64) {
        self.counters.events += 1;
        of(&mut self.foreign, label).service.record(service_ns);
    }

    /// Records the time so far of an open-loop event that is under way or abandoned.
    pub fn censored_event(&mut self, label: usize, wait_ns: u64, service_ns: u64) {
        of(&mut self.censored, label).record(wait_ns, service_ns);
    }

    /// The same in a closed loop.
    pub fn censored_closed_event(&mut self, label: usize, service_ns: u64) {
        of(&mut self.censored, label).service.record(service_ns);
    }

    /// Records that `count` events not yet started have waited this long.
    pub fn censored_backlog(&mut self, label: usize, wait_ns: u64, count: u64) {
        let times = of(&mut self.censored, label);
        times.wait.record_many(wait_ns, count);
        times.response.record_many(wait_ns, count);
    }

    /// Adds another recorder: another shard's of the same interval, or a later interval's. The
    /// backlog adds up over shards; over intervals use the last one's instead.
    pub fn merge(&mut self, other: &Self) {
        self.merge_counts(other);
        self.merge_events(&other.events);
        merge_all(&mut self.foreign, &other.foreign);
        self.merge_censored(&other.censored);
        self.failed_statements.merge(&other.failed_statements);
        self.failed_events.merge(&other.failed_events);
        for (mine, theirs) in self.statements.iter_mut().zip(&other.statements) {
            mine.merge(theirs);
        }
        self.lag.merge(&other.lag);
        self.queued.merge(&other.queued);
        self.unread.merge(&other.unread);
        self.backlog += other.backlog;
    }

    /// Adds another recorder's counters but not its times.
    pub fn merge_counts(&mut self, other: &Self) {
        self.counters += other.counters;
        for (code, count) in &other.errors {
            *self.errors.entry(code.clone()).or_default() += count;
        }
    }

    /// Adds times of events.
    pub fn merge_events(&mut self, times: &[Times]) {
        merge_all(&mut self.events, times);
    }

    /// Adds times of events with this label.
    pub fn merge_events_of(&mut self, label: usize, times: &Times) {
        of(&mut self.events, label).merge(times);
    }

    /// Adds times of events that had not ended.
    pub fn merge_censored(&mut self, times: &[Times]) {
        merge_all(&mut self.censored, times);
    }

    /// Whether nothing has been recorded.
    pub fn is_empty(&self) -> bool {
        let times = |times: &Times| times.service.count() == 0 && times.wait.count() == 0;
        self.counters == Counters::default()
            && self.errors.is_empty()
            && [&self.events, &self.foreign, &self.censored].iter().all(|all| all.iter().all(times))
            && self.failed_statements.count() + self.failed_events.count() == 0
            && self.statements.iter().all(times)
            && self.lag.count() + self.queued.count() + self.unread.count() == 0
            && self.backlog == 0
    }

    /// Clears everything, keeps the memory.
    pub fn clear(&mut self) {
        self.counters = Counters::default();
        self.errors.clear();
        for all in [&mut self.events, &mut self.foreign, &mut self.censored] {
            all.iter_mut().for_each(Times::clear);
        }
        self.failed_statements.clear();
        self.failed_events.clear();
        self.statements.iter_mut().for_each(Times::clear);
        self.lag.clear();
        self.queued.clear();
        self.unread.clear();
        self.backlog = 0;
    }
}

#[inline]
fn of(times: &mut Vec<Times>, label: usize) -> &mut Times {
    if label >= times.len() {
        times.resize_with(label + 1, Times::default);
    }
    &mut times[label]
}

fn merge_all(into: &mut Vec<Times>, from: &[Times]) {
    if into.len() < from.len() {
        into.resize_with(from.len(), Times::default);
    }
    for (mine, theirs) in into.iter_mut().zip(from) {
        mine.merge(theirs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    #[cfg_attr(miri, ignore = "walks through whole histograms again and again")]
    fn a_cleared_recorder_equals_a_new_one() {
        let mut recorder = Recorder::new(1);
        recorder.open_event(0, 5, 7);
        recorder.error("40001");
        recorder.foreign_event(0, 1, 2);
        recorder.censored_backlog(0, 3, 4);
        recorder.failed_events.record(1);
        recorder.closed_statement(StatementClass::Read, 9);
        recorder.open_statement(StatementClass::Read, 2, 9);
        recorder.on_the_way(3, 4);
        recorder.clear();
        assert_eq!(recorder.counters, Counters::default());
        assert_eq!(recorder.events[0].response.count(), 0);
        assert_eq!(recorder.statements[0].service.count(), 0);
        assert_eq!(recorder.statements[0].response.count(), 0);
        assert!(recorder.errors.is_empty());
        assert!(recorder.is_empty());
    }

    /// Anything recorded makes a recorder non-empty, until it is cleared.
    #[test]
    #[cfg_attr(miri, ignore = "walks through whole histograms again and again")]
    fn nothing_that_is_recorded_goes_unseen() {
        let each: [fn(&mut Recorder); 11] = [
            |recorder| recorder.error("40001"),
            |recorder| recorder.closed_event(0, 1),
            |recorder| recorder.foreign_event(0, 1, 2),
            |recorder| recorder.censored_event(0, 1, 2),
            |recorder| recorder.closed_statement(StatementClass::Other, 1),
            |recorder| recorder.failed_statements.record(1),
            |recorder| recorder.failed_events.record(1),
            |recorder| recorder.lag.record(1),
            |recorder| recorder.queued.record(1),
            |recorder| recorder.unread.record(1),
            |recorder| recorder.backlog = 1,
        ];
        for (place, record) in each.iter().enumerate() {
            let mut recorder = Recorder::new(1);
            assert!(recorder.is_empty());
            record(&mut recorder);
            assert!(!recorder.is_empty(), "{place}");
            recorder.clear();
            assert!(recorder.is_empty(), "{place}");
        }
    }

    /// Something that a shard records; times in nanoseconds.
    #[derive(Debug, Clone, Copy)]
    enum Fact {
        Closed(u64),
        Open(u64, u64),
        Foreign(u64, u64),
        ForeignClosed(u64),
        Censored(u64, u64),
        CensoredClosed(u64),
        CensoredBacklog(u64, u64),
        Abandoned(u64),
        ClosedStatement(StatementClass, u64),
        OpenStatement(StatementClass, u64, u64),
        FailedStatement(&'static str, u64),
        OnTheWay(u64, u64),
    }

    impl Fact {
        /// Records it as the engine and the runtime do.
        fn record(self, label: usize, recorder: &mut Recorder) {
            match self {
                Self::Closed(ns) => recorder.closed_event(label, ns),
                Self::Open(wait, ns) => recorder.open_event(label, wait, ns),
                Self::Foreign(wait, ns) => recorder.foreign_event(label, wait, ns),
                Self::ForeignClosed(ns) => recorder.foreign_closed_event(label, ns),
                Self::Censored(wait, ns) => recorder.censored_event(label, wait, ns),
                Self::CensoredClosed(ns) => recorder.censored_closed_event(label, ns),
                Self::CensoredBacklog(wait, count) => {
                    recorder.censored_backlog(label, wait, count);
                    recorder.backlog += count;
                }
                Self::Abandoned(ns) => {
                    recorder.counters.unfinished += 1;
                    recorder.failed_events.record(ns);
                }
                Self::ClosedStatement(class, ns) => {
                    *statements(recorder, class) += 1;
                    recorder.closed_statement(class, ns);
                }
                Self::OpenStatement(class, wait, ns) => {
                    *statements(recorder, class) += 1;
                    recorder.open_statement(class, wait, ns);
                }
                Self::FailedStatement(code, ns) => {
                    recorder.error(code);
                    recorder.failed_statements.record(ns);
                }
                Self::OnTheWay(queued, unread) => recorder.on_the_way(queued, unread),
            }
        }
    }

    fn statements(recorder: &mut Recorder, class: StatementClass) -> &mut u64 {
        match class {
            StatementClass::Read => &mut recorder.counters.reads,
            StatementClass::Write => &mut recorder.counters.writes,
            StatementClass::Other => &mut recorder.counters.other,
        }
    }

    fn any_fact() -> impl Strategy<Value = Fact> {
        // Some times lie beyond the histograms' bounds.
        let ns = || prop_oneof![9 => 1u64..1_000_000_000, 1 => Just(u64::MAX)];
        let class = || {
            let all = [StatementClass::Read, StatementClass::Write, StatementClass::Other];
            prop::sample::select(all.to_vec())
        };
        let code = prop::sample::select(vec!["40001", "23505", "1213"]);
        prop_oneof![
            ns().prop_map(Fact::Closed),
            (ns(), ns()).prop_map(|(wait, ns)| Fact::Open(wait, ns)),
            (ns(), ns()).prop_map(|(wait, ns)| Fact::Foreign(wait, ns)),
            ns().prop_map(Fact::ForeignClosed),
            (ns(), ns()).prop_map(|(wait, ns)| Fact::Censored(wait, ns)),
            ns().prop_map(Fact::CensoredClosed),
            (ns(), 1u64..50).prop_map(|(wait, count)| Fact::CensoredBacklog(wait, count)),
            ns().prop_map(Fact::Abandoned),
            (class(), ns()).prop_map(|(class, ns)| Fact::ClosedStatement(class, ns)),
            (class(), ns(), ns())
                .prop_map(|(class, wait, ns)| { Fact::OpenStatement(class, wait, ns) }),
            (code, ns()).prop_map(|(code, ns)| Fact::FailedStatement(code, ns)),
            (ns(), ns()).prop_map(|(queued, unread)| Fact::OnTheWay(queued, unread)),
        ]
    }

    fn three(times: &Times) -> [&Distribution; 3] {
        [&times.wait, &times.service, &times.response]
    }

    /// Every distribution of a recorder for two labels, in a fixed order: its values with their
    /// counts, and how many were out of range.
    fn distributions(recorder: &Recorder) -> Vec<(Vec<(u64, u64)>, u64)> {
        let none = Times::default();
        let labels = [&recorder.events, &recorder.foreign, &recorder.censored];
        let labels = labels.map(|all| [0, 1].map(|label| all.get(label).unwrap_or(&none)));
        let times = labels.as_flattened().iter().copied().chain(&recorder.statements);
        let Recorder { failed_statements, failed_events, lag, queued, unread, .. } = recorder;
        times
            .flat_map(three)
            .chain([failed_statements, failed_events, lag, queued, unread])
            .map(|one| (one.values(), one.out_of_range()))
            .collect()
    }

    /// Each counter equals the number of times that stand for it.
    fn assert_adds_up(recorder: &Recorder) {
        let Recorder { counters, .. } = recorder;
        let served = |all: &[Times]| all.iter().map(|times| times.service.count()).sum::<u64>();
        assert_eq!(counters.events, served(&recorder.events) + served(&recorder.foreign));
        assert_eq!(counters.statements(), served(&recorder.statements));
        assert_eq!(counters.errors, recorder.errors.values().sum::<u64>());
        assert_eq!(counters.errors, recorder.failed_statements.count());
        assert_eq!(counters.unfinished, recorder.failed_events.count());
        for (class, of) in
            recorder.statements.iter().zip([counters.reads, counters.writes, counters.other])
        {
            assert_eq!(class.service.count(), of);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// However events, statements and failures are spread over shards and intervals, every
        /// interval and the whole have what their parts have: each counter, error code and time.
        #[test]
        #[cfg_attr(miri, ignore = "walks through whole histograms again and again")]
        fn totals_equal_the_sum_of_their_parts(
            facts in prop::collection::vec((0usize..4, 0usize..3, 0usize..2, any_fact()), 0..200),
        ) {
            // Some recorders have not seen the second label, or any.
            let of_shard = |shard: usize| Recorder::new(shard.min(2));
            let mut parts: Vec<Vec<Recorder>> =
                (0..3).map(|_| (0..4).map(of_shard).collect()).collect();
            let mut whole = Recorder::new(2);
            for (shard, interval, label, fact) in &facts {
                fact.record(*label, &mut parts[*interval][*shard]);
                fact.record(*label, &mut whole);
            }
            let mut merged = Recorder::default();
            for shards in &parts {
                let mut interval = Recorder::default();
                shards.iter().for_each(|part| interval.merge(part));
                assert_adds_up(&interval);
                merged.merge(&interval);
            }
            assert_adds_up(&merged);
            prop_assert_eq!(merged.counters, whole.counters);
            prop_assert_eq!(&merged.errors, &whole.errors);
            prop_assert_eq!(merged.backlog, whole.backlog);
            prop_assert_eq!(distributions(&merged), distributions(&whole));
        }
    }
}
