//! The binary as a program: specs in, records and exit codes out, with drivers that need no server.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{
    Folder, end_after, interrupt, read_until, run, spec, start, start_by, start_open,
};
use record::{Record, TimeKind};
use serde_json::{Value, json};

fn workloads() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads")
}

fn sqlite(file: &Path, clients: u32, command: &str) -> Value {
    json!({
        "command": command,
        "target": {"driver": "sqlite", "path": file, "pragmas": [["journal_mode", "wal"]]},
        "groups": [{
            "clients": clients,
            "script_path": [workloads()],
            "options": {"tables": 3, "table_size": 200},
        }],
    })
}

#[test]
fn the_window_is_the_sum_of_its_intervals_and_the_total_of_all() {
    let folder = Folder::new("sum");
    let script = folder.script("empty.lua", "function event() end");
    let changes = json!({"groups": [{"clients": 5}], "shards": 2, "warm_up_s": 0.2});
    let ended = run(&spec(&script, changes));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(matches!(ended.records[0], Record::Hello(_)));
    let (mut window, mut late, mut total) = (0, 0, 0);
    let mut last = None;
    for record in &ended.records {
        if let Record::Interval(interval) = record {
            total += interval.counters.events;
            if interval.phase == record::PhaseName::Drain {
                late += interval.counters.events;
            }
            if interval.phase == record::PhaseName::Measure {
                window += interval.counters.events;
            }
            assert!(last.is_none_or(|index| index + 1 == interval.index), "intervals in order");
            last = Some(interval.index);
        }
    }
    let summary = ended.summary();
    assert_eq!(summary.measured.events, window);
    assert_eq!(summary.total.events, total);
    assert_eq!(summary.histograms[0].count, window + late, "with those in flight at its end");
    assert_eq!(summary.end_ns - summary.start_ns, 300_000_000);
    assert!(window > 0);
}

#[test]
fn an_event_limit_is_exact_over_all_shards() {
    let folder = Folder::new("limit");
    let script = folder.script("empty.lua", "function event() end");
    let changes = json!({
        "events": 12_345, "measure_s": null, "shards": 2, "groups": [{"clients": 7}],
    });
    let ended = run(&spec(&script, changes));
    assert_eq!(ended.code, 0);
    assert_eq!(ended.summary().measured.events, 12_345);
    assert!(!ended.summary().interrupted);
}

#[test]
fn an_event_limit_is_exact_though_events_span_the_end_of_the_warm_up() {
    let folder = Folder::new("span");
    let sleeping = folder.script("sleeping.lua", "function event() ffi.C.usleep(3000) end");
    for limit in [2, 100] {
        let changes = json!({
            "events": limit, "measure_s": null, "shards": 2, "groups": [{"clients": 9}],
            "warm_up_s": 0.1,
        });
        let ended = run(&spec(&sleeping, changes));
        assert_eq!(ended.code, 0);
        assert_eq!(ended.summary().measured.events, limit);
        assert!(ended.summary().total.events > limit, "there was a warm-up");
    }
}

#[test]
fn a_script_without_the_command_is_named_with_what_to_do() {
    let folder = Folder::new("without");
    let script = folder.script("without.lua", "function event() end function more() end");
    let prepare = spec(&script, json!({"command": "prepare"}));
    check_failure(&prepare, 2, &["without.lua has no `prepare`", "define `function prepare()"]);
}

#[test]
fn hooks_run_in_their_order_and_prints_become_records() {
    let folder = Folder::new("hooks");
    let script = folder.script(
        "hooks.lua",
        r#"
        function init() print("init", sysbench.tid) end
        function thread_init(id) print("thread_init", id) end
        function event(id) print("event") return true end
        function thread_done(id) io.write("thread_", "done\n") end
        function done() print("done") end
        "#,
    );
    let ended = run(&spec(&script, json!({})));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(ended.output(), ["init\t0", "thread_init\t0", "event", "thread_done", "done"]);
    assert_eq!(ended.summary().measured.events, 0, "an event that returns true is not counted");
}

#[test]
fn every_client_has_globals_and_random_numbers_of_its_own() {
    let folder = Folder::new("globals");
    let script = folder.script(
        "globals.lua",
        r#"
        count = 0
        function thread_init(id) mine = id end
        function event(id)
           count = count + 1
           assert(mine == id and sysbench.tid == id and _G.mine == id)
           if count == 3 then print(id, sysbench.rand.uniform(1, 1000000)) return true end
        end
        "#,
    );
    let lines = |clients: u32, shards: u32| {
        // The run ends with its last client.
        let group = json!({"clients": clients});
        let changes = json!({"groups": [group], "shards": shards, "measure_s": 60.0});
        let ended = run(&spec(&script, changes));
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let mut lines: Vec<_> = ended.output().into_iter().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let four = lines(4, 1);
    assert_eq!(four.len(), 4);
    assert_eq!(four, lines(4, 2), "the same seed gives the same numbers on any number of shards");
    assert_eq!(four[0], lines(1, 1)[0], "and whoever else runs");
    let numbers: std::collections::BTreeSet<_> =
        four.iter().map(|line| line.split('\t').nth(1).unwrap()).collect();
    assert_eq!(numbers.len(), 4);
}

#[test]
fn loaded_rows_depend_on_the_seed_and_not_on_the_number_of_clients() {
    let folder = Folder::new("rows");
    let rows = |clients: u32| {
        let file = folder.0.join(format!("{clients}.db"));
        let ended = run(&spec("kv_update", sqlite(&file, clients, "prepare")));
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let reader = folder.script(
            "reader.lua",
            r#"
            function event()
               local con = sysbench.sql.driver():connect()
               for number = 1, 3 do
                  local rs = con:query("SELECT id, value FROM kv" .. number .. " ORDER BY id")
                  for _ = 1, rs.nrows do print(unpack(rs:fetch_row())) end
               end
               return true
            end
            "#,
        );
        let mut read = spec(&reader, sqlite(&file, 1, "run"));
        read["groups"][0]["options"] = json!({});
        let ended = run(&read);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        ended.output().join("\n")
    };
    let one = rows(1);
    assert_eq!(one.lines().count(), 600);
    assert_eq!(one, rows(3));
}

#[test]
fn an_open_loop_starts_every_intended_event() {
    let folder = Folder::new("open");
    let script = folder.script("empty.lua", "function event() end");
    let arrival = json!({"kind": "constant", "rate_per_s": 1000.0});
    let changes = json!({
        "groups": [{"clients": 4, "arrival": arrival}], "shards": 2, "measure_s": 0.5,
    });
    let ended = run(&spec(&script, changes));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    // Arrivals at 0, 1, 2 … 500 ms: each has started or stands in the backlog at the end.
    let summary = ended.summary();
    assert_eq!(summary.total.events + ended.backlog(), 501);
    assert!(summary.total.events > 100, "nothing but a slow machine is in the way");
    // The one due at the very end is not the window's; whatever did not end in time is censored.
    let begun = summary.total.begun;
    for (time, expected) in
        [(TimeKind::Wait, 500), (TimeKind::Service, begun), (TimeKind::Response, 500)]
    {
        let histogram = summary.histograms.iter().find(|histogram| histogram.time == time);
        assert_eq!(histogram.unwrap().count, expected);
    }
}

#[test]
fn ctrl_c_still_yields_the_summary() {
    let folder = Folder::new("signal");
    let script = folder.script("empty.lua", "function event() end");
    let mut child = start(&spec(&script, json!({"measure_s": 600.0})));
    let some =
        |record: &Record| matches!(record, Record::Interval(some) if some.counters.events > 0);
    let records = read_until(&mut child, some);
    interrupt(&child);
    let ended = end_after(records, child);
    assert_eq!(ended.code, 130);
    let summary = ended.summary();
    assert!(summary.interrupted);
    assert!(summary.measured.events > 0);
    assert!(summary.end_ns - summary.start_ns < 300_000_000_000);
}

#[test]
fn a_hang_up_that_was_to_be_ignored_is_ignored() {
    let folder = Folder::new("nohup");
    let script = folder.script("empty.lua", "function event() end");
    let some =
        |record: &Record| matches!(record, Record::Interval(some) if some.counters.events > 0);
    let mut child = start_by("trap '' HUP; ", &spec(&script, json!({"measure_s": 1.0})));
    let records = read_until(&mut child, some);
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-HUP", &id]).status().unwrap().success());
    let ended = end_after(records, child);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(!ended.summary().interrupted);
}

#[test]
fn a_run_that_waits_to_begin_ends_with_its_input() {
    let folder = Folder::new("waits");
    let script = folder.script("empty.lua", "function event() end");
    let (mut child, input) = start_open(&spec(&script, json!({"wait_for_begin": true})));
    let records = read_until(&mut child, |record| matches!(record, Record::Ready(_)));
    drop(input);
    let ended = end_after(records, child);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("standard input ended before `begin`"), "{}", ended.stderr);
}

#[test]
fn memory_at_the_window_s_end_is_none_of_the_drain_s() {
    let folder = Folder::new("memory");
    let script = folder.script(
        "grows.lua",
        "function event() end\n\
         function thread_done() ffi.C.usleep(300000) grown = ('x'):rep(1e8) end",
    );
    let ended = run(&spec(&script, json!({"drain_s": 60.0})));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let summary = ended.summary();
    assert!(summary.rss_kb + 50_000 < summary.rss_peak_kb, "{} KiB at the end", summary.rss_kb);
}

#[test]
fn events_that_a_script_counts_by_itself_are_begun_as_well() {
    let folder = Folder::new("counts");
    let script = folder.script(
        "counts.lua",
        "ffi.cdef 'void sb_counter_inc(int, sb_counter_type);'\n\
         function event(id) ffi.C.sb_counter_inc(id, ffi.C.SB_CNT_TRX) end",
    );
    let ended = run(&spec(&script, json!({"measure_s": null, "events": 10})));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!((ended.summary().total.begun, ended.summary().total.events), (20, 20));
    let warned = ended.records.iter().any(|record| matches!(record, Record::Warning(_)));
    assert!(!warned, "nothing is miscounted");
}

#[track_caller]
fn check_failure(spec: &Value, code: i32, expected: &[&str]) {
    let ended = run(spec);
    assert_eq!(ended.code, code, "{}", ended.stderr);
    let fatal = ended.records.iter().find_map(|record| match record {
        Record::Fatal(fatal) => Some(format!("{fatal:?}")),
        _ => None,
    });
    let fatal = fatal.expect("a record of the failure");
    for words in expected {
        assert!(fatal.contains(words), "expected {words:?} in {fatal}");
        assert!(ended.stderr.contains(words), "expected {words:?} in {}", ended.stderr);
    }
}

#[test]
fn what_the_user_gets_wrong_is_said_with_its_place_and_cure() {
    let folder = Folder::new("wrong");
    let script = folder.script(
        "options.lua",
        "sysbench.cmdline.options = { table_size = {'rows', 10}, flag = {'on or off', true} }\n\
         function event() end",
    );
    let options = |options: Value| spec(&script, json!({"groups": [{"options": options}]}));
    check_failure(&options(json!({"table_sise": "1"})), 2, &["table_sise", "`table_size`"]);
    check_failure(&options(json!({"table_size": "many"})), 2, &["table_size", "many", "a number"]);
    check_failure(&options(json!({"flag": "perhaps"})), 2, &["flag", "perhaps", "on or off"]);
    check_failure(&options(json!({"rand_type": "normal"})), 2, &["rand_type", "zipfian"]);
    check_failure(&spec("no_such_script", json!({})), 2, &["no_such_script.lua"]);
    check_failure(&spec(&script, json!({"command": "prepair"})), 2, &["prepair"]);
    check_failure(&spec(&script, json!({"interval_s": 0.0})), 2, &["interval_s", "0.001 to 3600"]);
    check_failure(&spec(&script, json!({"mesure_s": 1})), 2, &["mesure_s", "measure_s"]);
    check_failure(&spec(&script, json!({"schema": 99})), 2, &["99"]);
    let syntax = folder.script("syntax.lua", "function event()\n  local x = = 1\nend");
    check_failure(&spec(&syntax, json!({})), 3, &["syntax.lua:2:"]);
    let runtime = folder.script("runtime.lua", "function event()\n  local x = nil + 1\nend");
    check_failure(&spec(&runtime, json!({})), 3, &["runtime.lua:2:", "stack traceback"]);
    let no_event = folder.script("no_event.lua", "function evnt() end");
    check_failure(&spec(&no_event, json!({})), 3, &["event() function"]);
}

#[test]
fn an_error_without_words_and_a_call_misused_have_the_script_s_line() {
    let folder = Folder::new("line");
    let database = json!({"driver": "sqlite", "path": folder.0.join("a.db")});
    for (source, told) in [
        ("function event()\n  error({})\nend", ":2: error() was called with a value"),
        ("function event()\n  error(nil)\nend", ":2: error() was called with a value"),
        (
            "function thread_init()\n  error({})\nend function event() end",
            ":2: error() was called with a value",
        ),
        (
            "function event()\n  local con = sysbench.sql.driver():connect()\n  con:query()\nend",
            ":3: con:query() needs the statement's text",
        ),
    ] {
        let script = folder.script("line.lua", source);
        let told = format!("line.lua{told}");
        check_failure(&spec(&script, json!({"target": database.clone()})), 3, &[&told]);
    }
}

#[test]
fn servers_that_are_not_there_and_statements_that_fail_have_codes_of_their_own() {
    let folder = Folder::new("codes");
    let script = folder.script(
        "connect.lua",
        "function thread_init() con = sysbench.sql.driver():connect() end\n\
         function event() con:query('SELECT 1 FROM nowhere') end",
    );
    let server = json!({
        "driver": "postgresql", "user": "u", "database": "d",
        "endpoints": [{"unix": folder.0.join("no.socket")}],
    });
    check_failure(&spec(&script, json!({"target": server})), 4, &["no.socket", "running"]);
    let file = json!({"driver": "sqlite", "path": folder.0.join("a.db")});
    check_failure(&spec(&script, json!({"target": file})), 5, &["nowhere", "connect.lua:2"]);
}

#[test]
fn an_error_policy_decides_what_an_error_means() {
    let folder = Folder::new("policy");
    let script = folder.script(
        "fails.lua",
        "function thread_init() con = sysbench.sql.driver():connect() end\n\
         function event() con:query('SELECT 1 FROM nowhere') end",
    );
    let policy = |action: &str| {
        spec(
            &script,
            json!({
                "target": {"driver": "sqlite", "path": folder.0.join("a.db")},
                "errors": {"rules": [{"codes": ["all"], "action": action, "limit": 2}]},
                "events": 50,
                "measure_s": null,
            }),
        )
    };
    let ended = run(&policy("ignore"));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(ended.summary().measured.events, 50);
    assert_eq!(ended.summary().measured.errors, 50);
    assert_eq!(ended.summary().errors.values().sum::<u64>(), 50);
    for action in ["retry", "restart-event"] {
        let ended = run(&policy(action));
        assert_ne!(ended.code, 0, "restarts have a limit");
        assert_eq!(ended.summary().measured.errors, 3);
        assert_eq!(ended.summary().measured.restarts, 2);
    }
}

#[test]
fn an_event_that_fails_too_often_is_told_with_its_error_limit_and_label() {
    let folder = Folder::new("too-often");
    let tell = |label: &str| {
        let script = folder.script(
            "fails.lua",
            &format!(
                "function thread_init() con = sysbench.sql.driver():connect() end\n\
                 function event() {label} con:query('SELECT 1 FROM nowhere') end",
            ),
        );
        let ended = run(&spec(
            &script,
            json!({
                "target": {"driver": "sqlite", "path": folder.0.join("a.db")},
                "errors": {"rules": [{"codes": ["1"], "action": "restart-event", "limit": 2}]},
                "events": 50,
                "measure_s": null,
            }),
        ));
        assert_eq!(ended.code, 3);
        ended.stderr
    };
    let told = "failed more often than the error policy allows: error 1 (no such table: nowhere); \
                `limit` of its rule is 2";
    let plain = tell("");
    assert!(plain.contains(&format!("an event {told}")), "{plain}");
    let labelled = tell("dbdyno.label('payment')");
    assert!(labelled.contains(&format!("an event labelled `payment` {told}")), "{labelled}");
}

#[test]
fn parts_of_a_run_begin_together_and_add_up_to_the_whole() {
    let folder = Folder::new("parts");
    let script = folder.script(
        "unique.lua",
        "function thread_init(id) print(id, sysbench.opt.threads, sysbench.rand.unique()) end\n\
         function event() end",
    );
    let part = |index: u32, clients: u32| {
        let arrival = json!({"kind": "constant", "rate_per_s": 1000.0});
        let changes = json!({
            "part": {"index": index, "count": 2, "clients": 5},
            "wait_for_begin": true,
            "groups": [{"clients": clients, "arrival": arrival}],
        });
        spec(&script, changes)
    };
    let mut children: Vec<_> = [part(0, 3), part(1, 2)].iter().map(start_open).collect();
    let is_ready = |record: &Record| matches!(record, Record::Ready(_));
    let mut before: Vec<_> =
        children.iter_mut().map(|(child, _)| read_until(child, is_ready)).collect();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let begin = now.as_nanos() as u64 + 1_000_000_000;
    children.iter_mut().for_each(|(_, input)| writeln!(input, "begin {begin}").unwrap());
    let ended: Vec<_> = children
        .into_iter()
        .zip(before.drain(..))
        .map(|((child, _input), records)| end_after(records, child))
        .collect();
    let mut started = 0;
    let mut lines = Vec::new();
    for part in &ended {
        assert_eq!(part.code, 0, "{}", part.stderr);
        let summary = part.summary();
        let Record::Hello(hello) = &part.records[0] else { panic!("hello comes first") };
        let late = (hello.start_unix_ns + summary.start_ns).abs_diff(begin);
        assert!(late < 50_000_000, "begun {late} ns away from the instant");
        started += summary.total.events + part.backlog();
        lines.extend(part.output().into_iter().map(str::to_owned));
    }
    assert_eq!(started, 301, "arrivals at 0, 1, 2 … 300 ms, each in one part");
    lines.sort();
    let column = |index: usize| -> Vec<_> {
        lines.iter().map(|line| line.split('\t').nth(index).unwrap()).collect()
    };
    assert_eq!(column(0), ["0", "1", "2", "3", "4"]);
    assert_eq!(column(1), ["5"; 5]);
    let unique: std::collections::BTreeSet<_> = column(2).into_iter().collect();
    assert_eq!(unique.len(), 5);
}
