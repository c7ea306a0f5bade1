//! Events by the names their scripts give them, and the three times of events and statements.

use std::collections::BTreeMap;

use crate::program::{Ended, Folder, run, spec};
use measure::Distribution;
use record::{Record, Subject, TimeKind};
use serde_json::{Value, json};

fn measured(name: &str, text: &str, changes: Value) -> Ended {
    let folder = Folder::new(name);
    let script = folder.script("labels.lua", text);
    let mut spec = spec(&script, changes);
    spec["groups"].as_array_mut().unwrap().iter_mut().for_each(|group| {
        group["script"] = json!(script);
    });
    run(&spec)
}

fn distribution(ended: &Ended, subject: Subject, label: &str, time: TimeKind) -> Distribution {
    let key = (subject, label, time);
    let histograms = &ended.summary().histograms;
    let of =
        |found: &&record::HistogramRecord| (found.subject, found.label.as_str(), found.time) == key;
    let found = histograms.iter().find(of).unwrap_or_else(|| panic!("no {key:?}"));
    Distribution::decode(&found.hdr).unwrap()
}

/// Events by label over the whole run, warm-up and drain included.
fn events(ended: &Ended) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for record in &ended.records {
        if let Record::Interval(interval) = record {
            for found in &interval.histograms {
                if (found.subject, found.time) == (Subject::Event, TimeKind::Service) {
                    *counts.entry(found.label.clone()).or_default() += found.count;
                }
            }
        }
    }
    counts
}

/// Shards meet the names in different orders, and one name is given in two groups.
#[test]
fn events_are_recorded_under_the_names_their_script_gives_them() {
    let text = r#"
        local names = { "order", "payment" }
        local turn = 0
        function event(id)
          turn = turn + 1
          if turn % 3 > 0 then
            dbdyno.label("overwritten by the next")
            dbdyno.label(names[(id + turn) % 3 % 2 + 1])
          end
        end"#;
    let groups = json!([
        {"name": "many", "clients": 3, "think_time_s": 0.001},
        {"name": "few", "clients": 2, "think_time_s": 0.001},
    ]);
    let changes = json!({"groups": groups, "shards": 2, "measure_s": null, "events": 600});
    let ended = measured("labels-two", text, changes);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let counts = events(&ended);
    let names = ["few", "few/order", "few/payment", "many", "many/order", "many/payment"];
    assert_eq!(counts.keys().collect::<Vec<_>>(), names);
    assert_eq!(counts.values().sum::<u64>(), ended.summary().total.events);
    let third = ended.summary().total.events as f64 / 3.0;
    let unnamed = (counts["few"] + counts["many"]) as f64;
    assert!((unnamed - third).abs() <= 5.0, "{counts:?}");
}

/// One statement an event: in a stall the statements are as late as their events.
#[test]
fn a_statement_is_as_late_as_its_event() {
    let text = r#"
        function thread_init() con = sysbench.sql.driver():connect() end
        function event() dbdyno.label("one") con:query("SELECT 1") end"#;
    let plan = json!({"service_us": 1000, "stalls": [{"at_s": 0.3, "for_s": 0.5}]});
    let changes = json!({
        "target": {"driver": "scripted", "plan": plan},
        "groups": [
            {"clients": 4, "arrival": {"kind": "constant", "rate_per_s": 200.0}},
            {"name": "closed", "clients": 1, "think_time_s": 0.01},
        ],
        "measure_s": 1.2,
        "shards": 1,
    });
    let ended = measured("labels-stall", text, changes);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let of_events = |time| distribution(&ended, Subject::Event, "main/one", time);
    let of_statements = |time| distribution(&ended, Subject::Statement, "read", time);
    let longest_wait = of_statements(TimeKind::Wait).max().unwrap();
    assert!(longest_wait > 400_000_000, "four clients can't take what comes: {longest_wait}");
    assert_eq!(longest_wait, of_events(TimeKind::Wait).max().unwrap());
    let longest = of_statements(TimeKind::Response).max().unwrap();
    // Statements of both groups stand under one name, and a stall holds up each group's.
    let closed = distribution(&ended, Subject::Event, "closed/one", TimeKind::Service);
    let event = of_events(TimeKind::Response).max().max(closed.max()).unwrap();
    // Times are kept to three digits: what differs by microseconds may lie in the next bucket.
    assert!((longest_wait..=event + event / 500).contains(&longest), "{longest} within {event}");
    let counts = [TimeKind::Wait, TimeKind::Service, TimeKind::Response]
        .map(|time| of_statements(time).count());
    assert_eq!(counts, [ended.summary().measured.reads; 3], "those of the closed group too");
    let closed = ended.summary().histograms.iter().filter(|found| found.label == "closed/one");
    assert_eq!(closed.map(|found| found.time).collect::<Vec<_>>(), [TimeKind::Service]);
}

#[test]
fn statements_without_intended_starts_have_a_service_time_alone() {
    let text = r#"
        function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query("SELECT 1") con:query("UPDATE t SET x = 1") end"#;
    let ended = measured("labels-closed", text, json!({"measure_s": 0.2}));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let told: Vec<_> = ended
        .summary()
        .histograms
        .iter()
        .filter(|found| found.subject == Subject::Statement)
        .map(|found| (found.label.as_str(), found.time))
        .collect();
    assert_eq!(told, [("read", TimeKind::Service), ("write", TimeKind::Service)]);
}

#[test]
fn what_is_no_label_says_so() {
    for (text, said) in [
        ("function event(n) i = (i or 0) + 1 dbdyno.label('row ' .. i) end", "64 labels already"),
        ("function thread_init() dbdyno.label('x') end function event() end", "within event()"),
        ("function event() dbdyno.label('a.b') end", "needs a name of 1 to 64"),
        ("function event() dbdyno.label(('x'):rep(65)) end", "needs a name of 1 to 64"),
        ("function event() dbdyno.label() end", "needs a name of 1 to 64"),
    ] {
        let ended = measured("labels-wrong", text, json!({"measure_s": 60.0}));
        assert_eq!(ended.code, 3, "{text}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{text}: {}", ended.stderr);
    }
}
