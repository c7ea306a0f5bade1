//! Scripts that do not come back: the run ends, says where they were, and keeps what was measured.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::program::{Ended, Folder, end, end_after, interrupt, read_until, run, spec, start};
use record::{Fatal, PhaseName, Record};
use serde_json::{Value, json};

/// The script's second client does events, in a shard of its own.
fn beside_another(name: &str, text: &str, changes: Value) -> Ended {
    let folder = Folder::new(name);
    let script = folder.script("stuck.lua", text);
    let mut whole = spec(&script, json!({"groups": [{"clients": 2}], "shards": 2, "drain_s": 0.1}));
    crate::program::merge(&mut whole, changes);
    run(&whole)
}

fn fatal(ended: &Ended) -> &Fatal {
    let found = ended.records.iter().find_map(|record| match record {
        Record::Fatal(fatal) => Some(fatal),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no failure; standard error: {}", ended.stderr))
}

#[track_caller]
fn check_place(text: &str, line: u32) {
    let ended = beside_another("stuck", text, json!({}));
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let Fatal { message, traceback, .. } = fatal(&ended);
    let place = format!("stuck.lua:{line}: event() did not return within ");
    assert!(message.contains(&place), "{message}");
    assert!(traceback.as_ref().unwrap().contains("stuck.lua"), "{traceback:?}");
    assert!(ended.stderr.contains(&place), "{}", ended.stderr);
    let total = &ended.summary().total;
    assert!(ended.summary().measured.events > 0, "the other client's events count");
    assert_eq!(total.unfinished, 1, "and so does the one that was ended");
    assert_eq!(total.begun, total.events + total.unfinished);
}

#[test]
fn an_endless_loop_in_an_event_is_told_with_its_line_and_spares_the_others() {
    check_place("function event(id)\n  if id == 0 then\n    while true do end\n  end\nend", 3);
    // Whatever the script catches, and wherever it runs.
    let caught = "local function turn() for i = 1, 1e18 do x = i end end\n\
                  function event(id) if id == 0 then while true do pcall(turn) end end end";
    check_place(caught, 1);
    let within = "function event(id)\n\
                    if id > 0 then return end\n\
                    local own = coroutine.wrap(function()\n\
                      repeat local n = #tostring(id) until n < 0\n\
                    end)\n\
                    while true do own() end\n\
                  end";
    check_place(within, 4);
}

#[test]
fn a_script_that_is_slow_and_returns_is_not_accused() {
    let slow = "function event(id)\n\
                  local to = os.clock() + 0.5\n\
                  while id == 0 and os.clock() < to do end\n\
                end";
    let ended = beside_another("slow", slow, json!({"drain_s": 60.0}));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(ended.summary().total.unfinished, 0);
}

/// No hook reaches a function of C's: nothing of its thread can be had, but all of the others'.
#[test]
fn a_call_that_does_not_return_is_given_up() {
    let asleep = "ffi.cdef 'int pause(void);'\n\
                  function event(id) if id == 0 then ffi.C.pause() end end";
    let ended = beside_another("asleep", asleep, json!({}));
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let message = &fatal(&ended).message;
    assert!(message.starts_with("1 of 2 threads did not return within "), "{message}");
    assert!(ended.summary().measured.events > 0, "the other client's events count");
}

#[test]
fn a_turn_whose_event_does_not_return_ends_the_run() {
    let folder = Folder::new("turn");
    let text = "function event(id) while id == 0 do end end";
    let script = folder.script("stuck.lua", text);
    let changes = json!({
        "groups": [{"clients": 2}], "shards": 2, "drain_s": 0.1, "measure_s": null, "turns": true,
    });
    let (child, mut input) = crate::program::start_open(&spec(&script, changes));
    std::io::Write::write_all(&mut input, b"turn 0 0 0.2\n").unwrap();
    let ended = crate::program::end(child);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(fatal(&ended).message.contains("stuck.lua:1: event() did not return"));
    let turn = ended
        .records
        .iter()
        .any(|record| matches!(record, Record::Turn(turn) if turn.measured.events > 0));
    assert!(turn, "what the other client did is kept");
}

/// Before and after the load there is no limit, until somebody loses patience.
#[test]
fn ctrl_c_ends_what_does_not_return_outside_of_events() {
    for (text, place) in [
        ("HANG function event() end", ":1: the script did not return"),
        ("function init() HANG end function event() end", ":1: the script did not"),
        ("function event() end\nfunction thread_init() HANG end", ":2: the script"),
        ("function event() end\nfunction done() HANG end", ":2: the script did not"),
    ] {
        let folder = Folder::new("outside");
        let mark = folder.script("mark", "");
        std::fs::remove_file(&mark).unwrap();
        let hang = format!("io.open('{mark}', 'w'):close() while true do end");
        let script = folder.script("stuck.lua", &text.replace("HANG", &hang));
        let child = start(&spec(&script, json!({"measure_s": 0.05, "drain_s": 0.1})));
        wait_for(&mark);
        interrupt(&child);
        let ended = end(child);
        assert_eq!(ended.code, 3, "{}", ended.stderr);
        assert!(fatal(&ended).message.contains(place), "{}", fatal(&ended).message);
    }
}

/// A script makes the file right before it hangs.
#[track_caller]
fn wait_for(file: &str) {
    let began = Instant::now();
    while !Path::new(file).exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "the script does not come to {file}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Nobody would ever resume such a client.
#[test]
fn a_client_that_yields_outside_of_a_coroutine_fails_at_once() {
    let ended = beside_another(
        "yields",
        "function event(id)\n  if id == 0 then coroutine.yield() end\nend",
        json!({"measure_s": 600.0}),
    );
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let message = &fatal(&ended).message;
    assert!(
        message.contains("stuck.lua:2: attempt to yield from outside a coroutine"),
        "{message}"
    );
}

/// The second signal ends the process, whatever it is busy with.
#[test]
fn a_second_ctrl_c_does_not_wait_for_what_hangs() {
    let folder = Folder::new("hangs");
    let script = folder.script("hangs.lua", "function event() while true do end end");
    let limits = json!({"measure_s": 0.1, "drain_s": 1e6, "shards": 1});
    let mut child = start(&spec(&script, limits));
    let drains =
        |record: &Record| matches!(record, Record::Phase(some) if some.phase == PhaseName::Drain);
    let records = read_until(&mut child, drains);
    let began = Instant::now();
    // Two signals of a kind that are pending at once are one.
    while child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(60), "it waits for what hangs");
        interrupt(&child);
        std::thread::sleep(Duration::from_millis(5));
    }
    let ended = end_after(records, child);
    assert_eq!(ended.code, 130);
}
