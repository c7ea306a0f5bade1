//! Load in turns: windows asked for one by one, with nothing under way between them.

use std::io::Write;
use std::process::{Child, ChildStdin};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::program::{Ended, Folder, end_after, interrupt, merge, read_until, spec, start_open};
use record::{Counters, Hello, PhaseName, Record, Subject, TimeKind, Turn};
use serde_json::{Value, json};

fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

/// An engine that has been told to load in turns.
struct InTurns {
    child: Child,
    input: Option<ChildStdin>,
    records: Vec<Record>,
}

impl InTurns {
    fn open(spec: &Value) -> Self {
        let (child, input) = start_open(spec);
        let mut engine = Self { child, input: Some(input), records: Vec::new() };
        engine.until(|record| matches!(record, Record::Ready(_)));
        engine
    }

    fn until(&mut self, wanted: impl Fn(&Record) -> bool) {
        self.records.extend(read_until(&mut self.child, wanted));
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn turn(&mut self, lead_in_s: f64, measure_s: f64) -> Turn {
        self.say(&format!("turn {} {lead_in_s} {measure_s}", unix_ns() + 60_000_000));
        self.until(|record| matches!(record, Record::Turn(_)));
        turns(&self.records).pop().unwrap()
    }

    fn end(self) -> Ended {
        let Self { child, input, records } = self;
        drop(input);
        end_after(records, child)
    }
}

fn turns(records: &[Record]) -> Vec<Turn> {
    let found = records.iter().filter_map(|record| match record {
        Record::Turn(turn) => Some(turn.as_ref().clone()),
        _ => None,
    });
    found.collect()
}

fn turned(script: &str, changes: Value) -> Value {
    let mut spec = spec(script, json!({"turns": true}));
    spec.as_object_mut().unwrap().remove("measure_s");
    merge(&mut spec, changes);
    spec
}

fn sum(counters: impl IntoIterator<Item = Counters>) -> Value {
    let mut whole = serde_json::to_value(Counters::default()).unwrap();
    for part in counters {
        for (name, count) in serde_json::to_value(part).unwrap().as_object().unwrap() {
            let sum = whole[name].as_u64().unwrap() + count.as_u64().unwrap();
            whole[name] = json!(sum);
        }
    }
    whole
}

fn count(turn: &Turn, time: TimeKind) -> u64 {
    let of_events = turn.histograms.iter().filter(|one| one.subject == Subject::Event);
    of_events.filter(|one| one.time == time).map(|one| one.count).sum()
}

/// All that was counted is counted in one place: intervals make turns, turns make the summary.
fn check_sums(ended: &Ended) {
    let turns = turns(&ended.records);
    let summary = ended.summary();
    let whole = |counters: &Counters| serde_json::to_value(counters).unwrap();
    assert_eq!(whole(&summary.measured), sum(turns.iter().map(|turn| turn.measured.clone())));
    assert_eq!(
        summary.measured_ns,
        turns.iter().map(|turn| turn.end_ns - turn.measure_ns).sum::<u64>()
    );
    assert_eq!(summary.backlog, turns.iter().map(|turn| turn.backlog).sum::<u64>());
    assert_eq!(summary.censored, turns.iter().map(|turn| turn.censored).sum::<u64>());
    let intervals: Vec<_> = ended
        .records
        .iter()
        .filter_map(|record| match record {
            Record::Interval(interval) => Some(interval.as_ref().clone()),
            _ => None,
        })
        .collect();
    assert_eq!(whole(&summary.total), sum(intervals.iter().map(|one| one.counters.clone())));
    for turn in &turns {
        let own = || intervals.iter().filter(|one| one.turn == Some(turn.index));
        let measured = own().filter(|one| one.phase == PhaseName::Measure);
        assert_eq!(whole(&turn.measured), sum(measured.map(|one| one.counters.clone())));
        assert_eq!(whole(&turn.total), sum(own().map(|one| one.counters.clone())));
        let Counters { begun, events, uncounted, unfinished, .. } = turn.total;
        assert_eq!(begun, events + uncounted + unfinished, "what began in a turn ends in it");
    }
    for interval in intervals.iter().filter(|one| one.turn.is_none()) {
        assert_eq!(interval.counters.begun + interval.counters.events, 0, "{:?}", interval.phase);
    }
    let time = summary.histograms.iter().find(|one| one.subject == Subject::Event).unwrap();
    let counts = turns.iter().map(|turn| {
        let same = turn.histograms.iter().find(|one| {
            (one.subject, &one.label, one.time) == (time.subject, &time.label, time.time)
        });
        same.map_or(0, |one| one.count)
    });
    assert_eq!(time.count, counts.sum::<u64>());
}

#[test]
fn turns_are_begun_when_asked_for_and_add_up_to_the_summary() {
    let folder = Folder::new("turns");
    let script = folder.script("empty.lua", "function event() end");
    let mut engine =
        InTurns::open(&turned(&script, json!({"groups": [{"clients": 5}], "shards": 2})));
    let begin = unix_ns() + 200_000_000;
    engine.say(&format!("turn {begin} 0.1 0.2"));
    engine.until(|record| matches!(record, Record::Turn(_)));
    let second = engine.turn(0.0, 0.25);
    let ended = engine.end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    check_sums(&ended);
    let both = turns(&ended.records);
    let Record::Hello(Hello { start_unix_ns, .. }) = &ended.records[0] else { panic!("hello") };
    let begun = start_unix_ns + both[0].begin_ns;
    assert!(begun.abs_diff(begin) < 20_000_000, "{} ns away", begun.abs_diff(begin));
    assert_eq!((both[0].index, both[1].index), (0, 1));
    assert_eq!(both[0].measure_ns - both[0].begin_ns, 100_000_000);
    assert_eq!(both[0].end_ns - both[0].measure_ns, 200_000_000);
    assert_eq!(second.measure_ns, second.begin_ns);
    assert!(both[0].drained_ns <= second.begin_ns);
    assert!(both.iter().all(|turn| !turn.interrupted && turn.clients == 5));
    assert!(both.iter().all(|turn| turn.measured.events > 100 && turn.censored == 0));
    let phases = ended.records.iter().filter_map(|record| match record {
        Record::Phase(phase) => Some(phase.phase),
        _ => None,
    });
    use PhaseName::{Connect, Drain, Measure, Pause, WarmUp};
    let expected = [Connect, WarmUp, Measure, Drain, Pause, Measure, Drain, Pause];
    assert_eq!(phases.collect::<Vec<_>>(), expected);
}

/// A statement of 150 ms: many are under way when a window of 200 ms ends.
fn slow_plan() -> Value {
    json!({"driver": "scripted", "plan": {"service_us": 150_000}})
}

const ONE_STATEMENT: &str = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                             function event() con:query('SELECT 1') end";

#[test]
fn what_is_in_flight_belongs_to_the_turn_it_began_in() {
    let folder = Folder::new("flight");
    let script = folder.script("one.lua", ONE_STATEMENT);
    let changes = json!({"groups": [{"clients": 4}], "shards": 2, "target": slow_plan()});
    let mut engine = InTurns::open(&turned(&script, changes));
    for _ in 0..2 {
        let turn = engine.turn(0.1, 0.2);
        assert!(turn.drained_ns > turn.end_ns, "some had to be waited for");
        assert_eq!(turn.total.begun, turn.total.events);
        // Begun at 0, 150 and 300 ms; the first lies in the lead-in, the last at the very end.
        assert!(turn.total.events > turn.measured.events, "the drain's are not the window's");
        assert_eq!(count(&turn, TimeKind::Service) % 4, 0);
        assert!(count(&turn, TimeKind::Service) < turn.total.events, "the lead-in's have no time");
    }
    check_sums(&engine.end());
}

#[test]
fn an_open_loop_begins_its_plan_anew_and_carries_no_backlog_over() {
    let folder = Folder::new("open");
    let script = folder.script("one.lua", ONE_STATEMENT);
    let arrival = json!({"kind": "constant", "rate_per_s": 100.0});
    let changes = json!({
        "groups": [{"clients": 2, "arrival": arrival}], "target": slow_plan(), "shards": 2,
    });
    let mut engine = InTurns::open(&turned(&script, changes));
    for _ in 0..2 {
        let turn = engine.turn(0.1, 0.4);
        // Due at 0, 10 … 500 ms, and two clients end fourteen a second.
        assert_eq!(turn.total.begun + turn.backlog, 51, "{turn:?}");
        assert!(turn.backlog > 30, "{}", turn.backlog);
        assert_eq!(count(&turn, TimeKind::Wait), 40, "all of the window's: due at 100 … 490 ms");
        assert_eq!(count(&turn, TimeKind::Response), 40);
        assert!(turn.censored > 30 && turn.censored <= turn.backlog);
    }
    check_sums(&engine.end());
}

#[test]
fn clients_that_think_or_idle_come_along() {
    let folder = Folder::new("think");
    let script = folder.script("one.lua", ONE_STATEMENT);
    let group = |name: &str, changes: Value| {
        let mut group = json!({"name": name, "script": script, "clients": 2});
        merge(&mut group, changes);
        group
    };
    let groups = [
        group("thinking", json!({"think_time_s": 0.05})),
        group("idle", json!({"idle": true})),
        group("open", json!({"arrival": {"kind": "poisson", "rate_per_s": 200.0}})),
    ];
    let mut engine = InTurns::open(&turned(&script, json!({"groups": groups, "shards": 2})));
    for _ in 0..3 {
        let turn = engine.turn(0.05, 0.2);
        assert_eq!(turn.clients, 6);
        assert!(turn.measured.events > 8, "{}", turn.measured.events);
    }
    let ended = engine.end();
    assert_eq!(ended.code, 0);
    check_sums(&ended);
}

#[test]
fn events_that_fail_in_a_drain_are_begun_again() {
    let folder = Folder::new("fails");
    let script = folder.script("one.lua", ONE_STATEMENT);
    let errors = json!([{"every": 7, "sqlstate": "40001", "transient": true}]);
    let mut target = slow_plan();
    target["plan"]["service_us"] = json!(30_000);
    target["plan"]["errors"] = errors;
    let mut engine = InTurns::open(&turned(
        &script,
        json!({"groups": [{"clients": 3}], "target": target, "shards": 1}),
    ));
    let first = engine.turn(0.0, 0.2);
    let second = engine.turn(0.0, 0.2);
    assert_eq!((first.clients, second.clients), (3, 3), "no client is lost");
    check_sums(&engine.end());
}

#[test]
fn ctrl_c_in_a_pause_and_in_a_turn_yields_the_summary() {
    let folder = Folder::new("signal");
    let script = folder.script("empty.lua", "function event() end");
    for in_turn in [false, true] {
        let mut engine = InTurns::open(&turned(&script, json!({"shards": 1})));
        engine.turn(0.0, 0.1);
        if in_turn {
            engine.say(&format!("turn {} 0 600", unix_ns()));
            engine.until(|record| matches!(record, Record::Interval(one) if one.turn == Some(1)));
        }
        interrupt(&engine.child);
        // Standard input stays open: it is the signal that ends the run.
        let InTurns { child, input, records } = engine;
        let ended = end_after(records, child);
        drop(input);
        assert_eq!(ended.code, 130);
        assert!(ended.summary().interrupted);
        let cut: Vec<_> = turns(&ended.records).iter().map(|turn| turn.interrupted).collect();
        assert_eq!(cut, if in_turn { vec![false, true] } else { vec![false] });
        check_sums(&ended);
    }
}

/// Whatever the engine looks at first, what was said later comes too late.
#[test]
fn a_turn_asked_for_behind_ctrl_c_does_not_begin() {
    let folder = Folder::new("behind");
    let script = folder.script("empty.lua", "function event() end");
    for _ in 0..20 {
        let mut engine = InTurns::open(&turned(&script, json!({})));
        interrupt(&engine.child);
        // It may be gone already.
        let _ = writeln!(engine.input.as_mut().unwrap(), "turn 0 0 0.01");
        let ended = engine.end();
        assert_eq!(ended.code, 130, "{}", ended.stderr);
        assert!(turns(&ended.records).is_empty());
    }
}

#[test]
fn a_word_that_is_none_ends_the_run_and_is_named() {
    let folder = Folder::new("word");
    let script = folder.script("empty.lua", "function event() end");
    for wrong in ["trun 0 0 1", "turn 0 0 0", "begin 0"] {
        let mut engine = InTurns::open(&turned(&script, json!({})));
        engine.say(wrong);
        let ended = engine.end();
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        assert!(ended.stderr.contains("standard input says"), "{}", ended.stderr);
    }
    for (field, value) in [("warm_up_s", json!(1)), ("events", json!(5)), ("measure_s", json!(1))] {
        let ended = crate::program::run(&turned(&script, json!({field: value})));
        assert_eq!(ended.code, 2);
        assert!(ended.stderr.contains("each turn says its own length"), "{}", ended.stderr);
    }
}
