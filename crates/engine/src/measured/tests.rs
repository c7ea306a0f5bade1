//! Whatever shards report, each record's totals equal the sum of their parts.

use measure::StatementClass;
use proptest::prelude::*;
use record::{HistogramRecord, Subject, TimeKind};

use super::*;

const SECOND_NS: u64 = 1_000_000_000;
const SHARDS: usize = 3;
/// Of the intervals, by number.
const PHASES: [PhaseName; 5] = [
    PhaseName::WarmUp,
    PhaseName::Measure,
    PhaseName::Measure,
    PhaseName::Measure,
    PhaseName::Drain,
];
/// Groups by number: an event of a group is recorded in its own way.
const CLOSED: usize = 0;
const OPEN: usize = 1;

/// Something that a shard records in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fact {
    ClosedEvent,
    OpenEvent,
    /// Intended before the window.
    ForeignEvent,
    ClosedStatement,
    OpenStatement,
    FailedStatement(&'static str),
    /// Begun, and the load was over before it ended.
    AbandonedEvent,
    /// Open and under way at the end of the window.
    CensoredEvent,
    /// Closed and abandoned.
    CensoredClosedEvent,
    /// This many were due and had not begun.
    CensoredBacklog(u64),
}

use Fact::*;

/// What can be recorded in any phase.
fn anywhere() -> impl Strategy<Value = Fact> {
    prop::sample::select(vec![
        ClosedEvent,
        OpenEvent,
        ClosedStatement,
        OpenStatement,
        FailedStatement("40001"),
        FailedStatement("1213"),
        AbandonedEvent,
    ])
}

/// What is recorded only once a window has begun.
fn of_a_window() -> impl Strategy<Value = Fact> {
    prop_oneof![
        prop::sample::select(vec![ForeignEvent, CensoredEvent, CensoredClosedEvent]),
        (1u64..9).prop_map(CensoredBacklog),
    ]
}

/// (shard, interval, fact)
fn reported() -> impl Strategy<Value = (usize, usize, Fact)> {
    prop_oneof![
        2 => (0..SHARDS, 0..PHASES.len(), anywhere()),
        1 => (0..SHARDS, 1..PHASES.len(), of_a_window()),
    ]
}

fn record(fact: Fact, ns: u64, recorder: &mut Recorder) {
    let begun = &mut recorder.counters.begun;
    *begun += u64::from(matches!(fact, ClosedEvent | OpenEvent | ForeignEvent | AbandonedEvent));
    match fact {
        ClosedEvent => recorder.closed_event(CLOSED, ns),
        OpenEvent => recorder.open_event(OPEN, ns, ns),
        ForeignEvent => recorder.foreign_event(OPEN, ns, ns),
        ClosedStatement => {
            recorder.counters.reads += 1;
            recorder.closed_statement(StatementClass::Read, ns);
        }
        OpenStatement => {
            recorder.counters.writes += 1;
            recorder.open_statement(StatementClass::Write, ns, ns);
        }
        FailedStatement(code) => {
            recorder.error(code);
            recorder.failed_statements.record(ns);
        }
        AbandonedEvent => {
            recorder.counters.unfinished += 1;
            recorder.failed_events.record(ns);
        }
        CensoredEvent => recorder.censored_event(OPEN, ns, ns),
        CensoredClosedEvent => recorder.censored_closed_event(CLOSED, ns),
        CensoredBacklog(count) => {
            recorder.censored_backlog(OPEN, ns, count);
            recorder.backlog += count;
        }
    }
}

/// The number of values in all histograms of a subject and time.
fn values(histograms: &[HistogramRecord], subject: Subject, time: TimeKind) -> u64 {
    let wanted = |one: &&HistogramRecord| (one.subject, one.time) == (subject, time);
    histograms.iter().filter(wanted).map(|one| one.count).sum()
}

/// Everything but events: the same rule for intervals, turns and the summary.
fn assert_statements_add_up(
    counters: &record::Counters,
    errors: &BTreeMap<String, u64>,
    histograms: &[HistogramRecord],
) {
    let statements = values(histograms, Subject::Statement, TimeKind::Service);
    assert_eq!(counters.reads + counters.writes + counters.other, statements);
    assert_eq!(counters.errors, errors.values().sum::<u64>());
    let failed = |label: &str| {
        let of = histograms.iter().filter(|one| one.subject == Subject::Failed);
        of.filter(|one| one.label == label).map(|one| one.count).sum::<u64>()
    };
    assert_eq!(counters.errors, failed("statement"));
    assert_eq!(counters.unfinished, failed("event"));
}

/// The numbers of a window's events: counted in it, and in its distributions.
#[derive(Debug, PartialEq, Eq)]
struct Events {
    counted: u64,
    censored: u64,
    /// Begun, ended or not.
    served: u64,
    /// With an intended start.
    responded: u64,
}

impl Events {
    /// What the facts come to. With turns, the drain's events are the window's.
    fn expected(facts: &[(usize, usize, Fact)], in_turns: bool) -> Self {
        let mut all = Self { counted: 0, censored: 0, served: 0, responded: 0 };
        for (_, interval, fact) in facts {
            let (measured, late) = match PHASES[*interval] {
                PhaseName::Measure => (1, 1),
                PhaseName::Drain => (0, u64::from(in_turns)),
                _ => continue,
            };
            // (counted, censored, served, responded)
            let (counted, censored, served, responded) = match fact {
                // One that ends in the drain was in flight at the window's end.
                ClosedEvent => (measured, 0, 1, 0),
                OpenEvent => (measured, 0, late, late),
                ForeignEvent => (measured, 0, 0, 0),
                CensoredEvent => (0, 1, 1, 1),
                CensoredClosedEvent => (0, 1, 1, 0),
                CensoredBacklog(count) => (0, *count, 0, *count),
                _ => continue,
            };
            all.counted += counted;
            all.censored += censored;
            all.served += served;
            all.responded += responded;
        }
        all
    }

    fn found(counted: u64, censored: u64, histograms: &[HistogramRecord]) -> Self {
        let of = |time| values(histograms, Subject::Event, time);
        Self { counted, censored, served: of(TimeKind::Service), responded: of(TimeKind::Response) }
    }
}

/// Each counter of one plus the other's.
fn sum(one: &record::Counters, other: &record::Counters) -> record::Counters {
    record::Counters {
        begun: one.begun + other.begun,
        events: one.events + other.events,
        uncounted: one.uncounted + other.uncounted,
        reads: one.reads + other.reads,
        writes: one.writes + other.writes,
        other: one.other + other.other,
        errors: one.errors + other.errors,
        restarts: one.restarts + other.restarts,
        unfinished: one.unfinished + other.unfinished,
        reconnects: one.reconnects + other.reconnects,
        redirects: one.redirects + other.redirects,
        bytes_sent: one.bytes_sent + other.bytes_sent,
        bytes_received: one.bytes_received + other.bytes_received,
    }
}

/// Reports the facts, and returns the intervals made of them.
fn intervals(
    measured: &mut Measured,
    facts: &[(usize, usize, Fact)],
    turn: Option<u32>,
    labels: &Labels,
) -> Vec<Interval> {
    let mut done = Vec::new();
    for (interval, phase) in PHASES.into_iter().enumerate() {
        for shard in 0..SHARDS {
            let mut recorder = Box::new(Recorder::default());
            for (number, (of_shard, at, fact)) in facts.iter().enumerate() {
                if (*of_shard, *at) == (shard, interval) {
                    record(*fact, 1_000 + number as u64, &mut recorder);
                }
            }
            let index = interval as u64;
            let returned = measured.take(ShardInterval {
                shard: shard as u32,
                index,
                phase,
                turn,
                start_ns: index * SECOND_NS,
                end_ns: (index + 1) * SECOND_NS,
                clients: 1,
                busy: 1,
                cpu: None,
                totals: None,
                rested_ns: None,
                last: interval + 1 == PHASES.len(),
                recorder: (!recorder.is_empty()).then_some(recorder),
            });
            let as_new = returned.is_none_or(|recorder| recorder.is_empty());
            assert!(as_new, "a shard gets its recorder back as new");
        }
        let next = measured.next(false, labels, || 0);
        done.push(next.expect("all shards have reported").interval);
    }
    done
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    #[cfg_attr(miri, ignore = "walks through whole histograms again and again")]
    fn totals_of_every_record_equal_the_sum_of_their_parts(
        facts in prop::collection::vec(reported(), 0..150),
        in_turns in any::<bool>(),
    ) {
        let labels = Labels::new(vec!["closed".to_owned(), "open".to_owned()]);
        let names = labels.names();
        let mut measured = Measured::new(SHARDS);
        let turn = in_turns.then_some(0);
        let intervals = intervals(&mut measured, &facts, turn, &labels);

        let (mut window, mut total) = (record::Counters::default(), record::Counters::default());
        for interval in &intervals {
            let Interval { counters, errors, histograms, .. } = interval;
            assert_statements_add_up(counters, errors, histograms);
            let ended = values(histograms, Subject::Event, TimeKind::Service);
            prop_assert_eq!(counters.events, ended, "censored events are the window's only");
            total = sum(&total, counters);
            if interval.phase == PhaseName::Measure {
                window = sum(&window, counters);
            }
        }
        prop_assert_eq!(measured.astray(), 0, "each event begun has ended somehow");

        let expected = Events::expected(&facts, in_turns);
        if in_turns {
            let turn = measured.end_turn(5 * SECOND_NS, false, &names).expect("it has a window");
            assert_statements_add_up(&turn.measured, &turn.errors, &turn.histograms);
            prop_assert_eq!(&turn.measured, &window);
            prop_assert_eq!(&turn.total, &total);
            let found = Events::found(turn.measured.events, turn.censored, &turn.histograms);
            prop_assert_eq!(&found, &expected);
        }
        let summary = measured.summary(false, 0, &names).expect("there was a window");
        assert_statements_add_up(&summary.measured, &summary.errors, &summary.histograms);
        prop_assert_eq!(&summary.measured, &window);
        prop_assert_eq!(&summary.total, &total);
        let found = Events::found(summary.measured.events, summary.censored, &summary.histograms);
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn no_cpu_time_counts_twice_whoever_read_it_when() {
    let labels = Labels::new(vec!["closed".to_owned()]);
    let mut measured = Measured::new(1);
    let read = [Some(30), Some(50), Some(45), None, Some(80)];
    let mut found = Vec::new();
    for (index, user_us) in (0..).zip(read) {
        measured.take(ShardInterval {
            shard: 0,
            index,
            phase: PhaseName::Measure,
            turn: None,
            start_ns: index * SECOND_NS,
            end_ns: (index + 1) * SECOND_NS,
            clients: 1,
            busy: 1,
            cpu: user_us.map(|user_us| CpuTime { user_us, system_us: 0 }),
            totals: None,
            rested_ns: None,
            last: false,
            recorder: None,
        });
        let done = measured.next(false, &labels, || 0).expect("the only shard has reported");
        found.push(done.interval.cpu.user_us);
    }
    assert_eq!(found, [30, 20, 0, 0, 30]);
    assert_eq!(measured.summary(false, 0, &labels.names()).expect("a window").cpu.user_us, 80);
}
