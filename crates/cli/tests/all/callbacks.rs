//! Functions of a script that follow the measurement: their failure is told by their name, and the
//! results stand.

use std::process::Command;

use crate::program::{Folder, run, spec};
use record::{Fatal, Record};
use serde_json::json;

#[test]
fn a_hook_that_fails_after_the_load_cuts_nothing_short() {
    for (name, text) in [
        ("thread_done", "function thread_done() nothing.x = 1 end"),
        ("done", "function done() nothing.x = 1 end"),
    ] {
        let folder = Folder::new(name);
        let script = folder.script("hooks.lua", &format!("function event() end\n{text}"));
        let ended = run(&spec(&script, json!({"groups": [{"clients": 3}], "events": 300})));
        assert_eq!(ended.code, 3, "{name}: {}", ended.stderr);
        let told: Vec<&Fatal> = ended
            .records
            .iter()
            .filter_map(|record| match record {
                Record::Fatal(fatal) => Some(fatal),
                _ => None,
            })
            .collect();
        let [fatal] = told.as_slice() else { panic!("{name}: {told:?}") };
        assert_eq!(fatal.callback.as_deref(), Some(name));
        let start = format!("`{name}` failed: ");
        assert!(fatal.message.starts_with(&start), "{}", fatal.message);
        assert!(fatal.message.contains("hooks.lua:2: "), "{}", fatal.message);
        let summary = ended.summary();
        assert!(!summary.interrupted, "{name}");
        assert_eq!(summary.measured.events, 300, "the other clients' events are all there");
        assert_eq!(summary.total.unfinished, 0);
    }
}

/// What the sysbench command prints, and its exit code.
fn sysbench(text: &str, more: &[&str]) -> (String, i32) {
    let folder = Folder::new("sysbench");
    let script = folder.script("input.lua", text);
    let mut command = Command::new(env!("CARGO_BIN_EXE_dbdyno-engine"));
    command.args(["sysbench", &script, "--events=20", "--time=0", "--threads=2"]);
    let output = command.args(more).arg("run").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (text.replace(&script, "input.lua"), output.status.code().unwrap_or(-1))
}

#[track_caller]
fn check_told(text: &str, name: &str) -> String {
    let (told, code) = sysbench(&format!("function event() end\n{text}"), &[]);
    let line = format!("FATAL: `{name}' function failed: input.lua:2: ");
    let place = told.find(&line).unwrap_or_else(|| panic!("{name}: {told}"));
    assert_eq!(told.matches("FATAL").count(), 1, "{told}");
    assert_eq!(told.matches("total number of events:              20").count(), 1, "{told}");
    assert_eq!(code, 1, "{told}");
    told[place..].to_owned()
}

#[test]
fn the_sysbench_command_names_the_function_and_prints_the_usual_report() {
    let hook =
        "function sysbench.hooks.report_cumulative(stat) io.write('half ') missing.x = 1 end";
    let told = check_told(hook, "report_cumulative");
    assert!(told.contains("General statistics:"), "the usual report follows: {told}");
    check_told("function thread_done() missing.x = 1 end", "thread_done");
    check_told("function done() missing.x = 1 end", "done");
}

#[test]
fn a_failed_report_costs_neither_the_files_nor_the_hooks_behind_it() {
    let folder = Folder::new("files");
    let path = |name: &str| folder.0.join(name).display().to_string();
    let (json, hlog) = (path("out.json"), path("out.hlog"));
    let text = "function event() end\n\
        function sysbench.hooks.report_cumulative(stat) missing.x = 1 end\n\
        function done() print('done was run') end";
    let (told, code) = sysbench(text, &[&format!("--json={json}"), &format!("--hlog={hlog}")]);
    assert_eq!(code, 1);
    assert!(told.contains("done was run"), "{told}");
    let document: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(document["result"]["events"], 20);
    assert!(document["failure"].as_str().unwrap().contains("missing"));
    assert!(std::fs::read_to_string(&hlog).unwrap().contains("Tag=event."));
}

#[test]
fn a_failed_intermediate_report_is_told_once_and_its_lines_are_the_usual_ones() {
    let text = "function event() sysbench.rand.uniform(1, 2) end\n\
        function sysbench.hooks.report_intermediate(stat) missing.x = 1 end";
    let more = ["--events=0", "--time=3", "--report-interval=1"];
    let (told, code) = sysbench(text, &more);
    assert_eq!(code, 1, "{told}");
    let line = "FATAL: `report_intermediate' function failed: input.lua:2: ";
    assert_eq!(told.matches(line).count(), 1, "{told}");
    assert!(told.matches("s ] thds: 2 ").count() >= 2, "{told}");
    assert!(told.contains("General statistics:"), "{told}");
}
