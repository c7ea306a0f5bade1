//! Where a window ends, and what is its own: events in flight at its end, and hooks behind it.

use crate::program::{Ended, Folder, run, spec};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use record::{HistogramRecord, Interval, PhaseName, Record, Subject};
use serde_json::{Value, json};

fn intervals(ended: &Ended, phase: PhaseName) -> Vec<&Interval> {
    let found = ended.records.iter().filter_map(|record| match record {
        Record::Interval(interval) if interval.phase == phase => Some(interval.as_ref()),
        _ => None,
    });
    found.collect()
}

/// The window's distribution of events: how many, and the longest in seconds.
fn events(ended: &Ended) -> (u64, f64) {
    let of_events = |one: &&HistogramRecord| one.subject == Subject::Event;
    let found = ended.summary().histograms.iter().find(of_events).unwrap();
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(&found.hdr).unwrap();
    let values: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
    assert_eq!(values.len(), found.count);
    (found.count, values.max() as f64 / 1e9)
}

/// Begun is ended, given up or uncounted.
fn check_balance(ended: &Ended) {
    let total = &ended.summary().total;
    assert_eq!(total.begun, total.events + total.uncounted + total.unfinished);
    assert!(!ended.stderr.contains("miscounted"), "{}", ended.stderr);
}

const CHECKED: &str = "function thread_init() con = sysbench.sql.driver():connect() end\n\
    function event() con:query('SELECT 1') end\n\
    function thread_done() con:query('UPDATE t SET a = 1') end\n\
    function done()\n\
      local own = sysbench.sql.driver():connect()\n\
      for i = 1, 15 do own:query('SELECT 2') end\n\
    end";

/// The checks behind a window take long and send statements: they are none of its own.
#[test]
fn a_window_bounded_by_a_number_of_events_ends_with_the_last() {
    let folder = Folder::new("bounded");
    let script = folder.script("checked.lua", CHECKED);
    let target = json!({"driver": "scripted", "plan": {"service_us": 20_000}});
    for (clients, shards) in [(1, 1), (3, 2), (8, 4)] {
        let ended = run(&spec(
            &script,
            json!({
                "groups": [{"clients": clients}], "shards": shards, "target": target,
                "measure_s": 60.0, "events": 24,
            }),
        ));
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let summary = ended.summary();
        assert!(!summary.interrupted);
        assert_eq!((summary.measured.events, summary.measured.reads), (24, 24));
        assert_eq!(summary.measured.writes + summary.measured.other, 0, "thread_done's are not");
        let rounds = f64::from(24_u32.div_ceil(clients));
        let window_s = summary.measured_ns as f64 / 1e9;
        assert!(window_s >= rounds * 0.02, "{window_s} s for {rounds} rounds");
        let last = intervals(&ended, PhaseName::Measure).last().unwrap().end_ns;
        assert_eq!(summary.end_ns, last);
        let drained: u64 = intervals(&ended, PhaseName::Drain)
            .iter()
            .map(|one| {
                assert!(one.start_ns >= last, "the drain begins where the window ends");
                one.counters.reads + one.counters.writes + one.counters.other
            })
            .sum();
        assert_eq!(drained, u64::from(clients), "of thread_done");
        let finish = intervals(&ended, PhaseName::Finish);
        let [finish] = finish.as_slice() else { panic!("{} intervals of done", finish.len()) };
        assert_eq!(finish.counters.reads, 15);
        assert!(finish.end_ns - finish.start_ns >= 15 * 20_000_000);
        let statements = summary.total.reads + summary.total.writes + summary.total.other;
        assert_eq!(statements, 24 + drained + 15);
        check_balance(&ended);
    }
}

/// With a limit in time too, or an end by Ctrl-C, the hooks are none of the window's either.
#[test]
fn hooks_after_a_window_bounded_by_time_are_none_of_it() {
    let folder = Folder::new("timed");
    let script = folder.script("checked.lua", CHECKED);
    let ended = run(&spec(&script, json!({"measure_s": 0.1})));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(ended.summary().measured_ns, 100_000_000);
    assert_eq!(intervals(&ended, PhaseName::Finish).len(), 1);
    check_balance(&ended);
}

const ONE_STATEMENT: &str = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                             function event() con:query('SELECT 1') end";

/// A closed loop whose server stalls as planned, with a window of 0.4 s.
fn stalled(changes: Value) -> Ended {
    let folder = Folder::new("stalled");
    let script = folder.script("one.lua", ONE_STATEMENT);
    let mut whole = spec(
        &script,
        json!({
            "groups": [{"clients": 4}], "shards": 2, "measure_s": 0.4, "drain_s": 0.3,
            "target": {"driver": "scripted", "plan": {"service_us": 10_000}},
        }),
    );
    crate::program::merge(&mut whole, changes);
    let ended = run(&whole);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    check_balance(&ended);
    ended
}

fn stall(at_s: f64, for_s: f64) -> Value {
    json!({"target": {"plan": {"stalls": [{"at_s": at_s, "for_s": for_s}]}}})
}

#[test]
fn a_stall_that_outlasts_a_closed_loop_and_its_drain_is_in_the_distribution() {
    let ended = stalled(stall(0.1, 600.0));
    let summary = ended.summary();
    assert_eq!((summary.censored, summary.total.unfinished), (4, 4));
    let (count, longest_s) = events(&ended);
    assert_eq!(count, summary.measured.events + 4);
    assert!(longest_s > 0.3, "until it was given up: {longest_s} s");
}

#[test]
fn an_event_that_ends_in_the_drain_of_a_closed_loop_has_its_full_time() {
    let ended = stalled(json!({
        "drain_s": 60.0,
        "target": {"plan": {"stalls": [{"at_s": 0.1, "for_s": 0.8}]}},
    }));
    let summary = ended.summary();
    assert_eq!((summary.censored, summary.total.unfinished), (0, 0));
    let (count, longest_s) = events(&ended);
    assert_eq!(count, summary.total.events, "those of window and drain");
    assert_eq!(count, summary.measured.events + 4);
    assert!(longest_s > 0.8, "{longest_s} s");
}

#[test]
fn a_stall_that_begins_in_the_warm_up_and_outlasts_the_window_is_seen() {
    let mut changes = stall(0.05, 600.0);
    changes["warm_up_s"] = json!(0.2);
    let ended = stalled(changes.clone());
    assert_eq!((ended.summary().measured.events, ended.summary().censored), (0, 4));
    let (count, longest_s) = events(&ended);
    assert_eq!(count, 4);
    assert!(longest_s > 0.5, "{longest_s} s");
    // Nor can it hide in the open loop: the clients are busy with events of the warm-up.
    changes["groups"] = json!([{"arrival": {"kind": "constant", "rate_per_s": 100.0}}]);
    let open = stalled(changes);
    let summary = open.summary();
    assert_eq!(summary.censored, 40 + 4, "due in the window, and under way all through it");
    assert!(events(&open).1 > 0.4);
}

/// With a number of events, whatever its end, an event under way is not forgotten either.
#[test]
fn an_event_under_way_when_the_time_of_a_bounded_window_is_up_is_seen() {
    let mut changes = stall(0.1, 600.0);
    changes["events"] = json!(1_000_000);
    let ended = stalled(changes);
    assert_eq!(ended.summary().censored, 4);
}
