//! Is what is measured what happened? Runs against the scripted driver, whose every delay is known,
//! held against figures worked out from its plan.

use crate::program::{Ended, Folder, run, spec, undisturbed};
use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use record::{PhaseName, Record, Subject, TimeKind};
use serde_json::{Value, json};

const SCRIPT: &str = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                      function event() con:query('SELECT 1') end";

/// How late the machine may be now and then; the times looked for are hundreds of times longer.
const JITTER_NS: f64 = 50e6;

fn scripted(plan: Value, group: Value, measure_s: f64) -> Ended {
    let folder = Folder::new(&format!("instrument-{measure_s}"));
    let script = folder.script("select.lua", SCRIPT);
    let changes = json!({
        "target": {"driver": "scripted", "plan": plan},
        "groups": [group],
        "measure_s": measure_s,
        "shards": 1,
    });
    let ended = run(&spec(&script, changes));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    ended
}

fn histogram(ended: &Ended, subject: Subject, time: TimeKind) -> Histogram<u64> {
    let records = &ended.summary().histograms;
    let record = records.iter().find(|found| found.subject == subject && found.time == time);
    let bytes = base64::engine::general_purpose::STANDARD.decode(&record.unwrap().hdr).unwrap();
    Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
}

/// A server that stalls for two seconds under a fixed rate: each event that was meant to start in
/// the stall waits for its end, and the response times say so, however few events were under way.
#[test]
fn a_stall_under_a_fixed_rate_shows_in_the_response_times_of_all_it_held_up() {
    let (rate, seconds, service_ns) = (200.0, 4.0, 1_000_000u64);
    let plan = json!({"service_us": 1000, "stalls": [{"at_s": 1.0, "for_s": 2.0}]});
    let arrival = json!({"kind": "constant", "rate_per_s": rate});
    for (clients, few) in [(1000, false), (4, true)] {
        let measure = || {
            let group = json!({"clients": clients, "arrival": arrival});
            let ended = scripted(plan.clone(), group, seconds);
            let started = ended.summary().total.events + ended.backlog();
            assert_eq!(started, (rate * seconds) as u64 + 1, "intended events equal rate × time");
            ended
        };
        let expected = expected_responses(rate, seconds, service_ns, clients);
        undisturbed(measure, |ended| {
            let response = histogram(ended, Subject::Event, TimeKind::Response);
            assert!(response.len().abs_diff(expected.len() as u64) <= 2);
            for percentile in [25.0, 60.0, 75.0, 90.0, 99.0, 100.0] {
                let rank = ((percentile / 100.0 * expected.len() as f64).ceil() as usize).max(1);
                let (found, due) = (response.value_at_percentile(percentile), expected[rank - 1]);
                assert!(
                    (found as f64 - due as f64).abs() < JITTER_NS + due as f64 * 0.002,
                    "{clients} clients, p{percentile}: {found} ns, by the plan {due} ns"
                );
            }
            let longest = histogram(ended, Subject::Event, TimeKind::Wait).max() as f64;
            if few {
                assert!(longest > 1.9e9, "with four clients the others waited: {longest}");
            } else {
                assert!(longest < JITTER_NS, "with enough clients nobody waited: {longest}");
            }
        });
    }
}

/// Response times by the plan, sorted: `clients` servers in turn, first come first served.
fn expected_responses(rate: f64, seconds: f64, service_ns: u64, clients: usize) -> Vec<u64> {
    let (from, to) = (1_000_000_000u64, 3_000_000_000u64);
    let mut free = vec![0u64; clients];
    let mut responses: Vec<_> = (0..(rate * seconds) as u64)
        .map(|k| {
            let intended = (k as f64 / rate * 1e9) as u64;
            let first = (0..clients).min_by_key(|client| free[*client]).unwrap();
            let start = intended.max(free[first]);
            let end = start + service_ns;
            let held = end >= from && start < to;
            free[first] = if held { to + service_ns } else { end };
            free[first] - intended
        })
        .collect();
    responses.sort_unstable();
    responses
}

#[test]
fn planned_errors_are_counted_one_by_one_and_their_events_begun_again() {
    let plan = json!({
        "service_us": 100,
        "errors": [{"every": 10, "sqlstate": "40001", "transient": true}],
    });
    let ended = scripted(plan, json!({"clients": 3}), 0.5);
    let total = &ended.summary().total;
    let statements = total.reads + total.errors;
    assert_eq!(total.reads, total.events, "every event ends with a statement that succeeded");
    assert_eq!(total.restarts + total.unfinished, total.errors, "begun again, or given up");
    let tenths = statements as f64 / 10.0;
    assert!((total.errors as f64 - tenths).abs() <= 3.0, "{} of {statements}", total.errors);
    assert_eq!(ended.summary().errors.keys().collect::<Vec<_>>(), ["40001"]);
}

#[test]
fn an_event_limit_is_exact_though_events_begin_again() {
    let folder = Folder::new("instrument-limit");
    let script = folder.script("select.lua", SCRIPT);
    let errors = json!([{"every": 3, "sqlstate": "40001", "transient": true}]);
    let changes = json!({
        "target": {"driver": "scripted", "plan": {"service_us": 300, "errors": errors}},
        "groups": [{"clients": 7}],
        "measure_s": null,
        "events": 200,
        "shards": 1,
    });
    let ended = run(&spec(&script, changes));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(ended.summary().total.events, 200);
    assert_eq!(ended.summary().total.unfinished, 0);
    assert!(ended.summary().total.restarts > 50);
}

/// What was due when the last event of the limit had begun was never to begin.
#[test]
fn an_event_limit_leaves_no_backlog() {
    let plan = json!({"service_us": 20_000});
    let arrival = json!({"kind": "constant", "rate_per_s": 1000.0});
    let folder = Folder::new("instrument-backlog");
    let script = folder.script("select.lua", SCRIPT);
    let changes = json!({
        "target": {"driver": "scripted", "plan": plan},
        "groups": [{"clients": 2, "arrival": arrival}],
        "measure_s": null,
        "events": 20,
        "interval_s": 0.01,
        "shards": 1,
    });
    let ended = run(&spec(&script, changes));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let mut begun = 0;
    for record in &ended.records {
        if let Record::Interval(interval) = record {
            begun += interval.counters.begun;
            assert!(begun + interval.backlog <= 20, "{begun} and {} more", interval.backlog);
        }
    }
    assert_eq!((ended.summary().backlog, ended.summary().total.events), (0, 20));
    let waits = histogram(&ended, Subject::Event, TimeKind::Wait);
    assert_eq!(waits.len(), 20, "one time for each event that was to begin");
}

#[test]
fn an_outage_is_as_long_in_the_intervals_as_in_the_plan() {
    let plan = json!({"service_us": 500, "outages": [{"at_s": 0.5, "for_s": 0.8}]});
    let arrival = json!({"kind": "constant", "rate_per_s": 300.0});
    let measure = || {
        let ended = scripted(plan.clone(), json!({"clients": 20, "arrival": arrival}), 2.5);
        let started = ended.summary().total.events + ended.backlog();
        assert_eq!(started, 751, "no intended event is lost");
        ended
    };
    undisturbed(measure, |ended| {
        let intervals = ended.records.iter().filter_map(|record| match record {
            Record::Interval(interval) if interval.phase == PhaseName::Measure => Some(interval),
            _ => None,
        });
        let begin = ended.summary().start_ns;
        let empty: Vec<_> = intervals
            .filter(|interval| interval.counters.events == 0)
            .map(|interval| (interval.start_ns - begin) / 100_000_000)
            .collect();
        // Clients come back with back-off: the outage may seem longer by a pause, never shorter.
        assert!(empty.starts_with(&[5, 6, 7, 8, 9, 10, 11, 12]), "{empty:?}");
        assert!(empty.len() <= 12, "{empty:?}");
        let total = &ended.summary().total;
        assert!(total.reconnects > 0 && total.reconnects <= 20);
    });
}
