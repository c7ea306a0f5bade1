//! An engine that is process 1, and SQLite statements that only Ctrl-C can end.

#![expect(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test's helper fails the test, or says why it is left out"
)]

use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::{Ended, Folder, end, interrupt, run, spec, start};
use serde_json::{Value, json};

/// By `unshare`, in a namespace of processes; `None`: it is not allowed here.
fn in_a_namespace(command: &str, spec: &Value) -> Option<i32> {
    let namespace = ["-pf", "--mount-proc"];
    let mut trial = Command::new("unshare");
    let allowed = trial.args(namespace).arg("true").stderr(Stdio::null()).status();
    if !allowed.is_ok_and(|status| status.success()) {
        eprintln!("skipped: unshare -pf is not allowed here");
        return None;
    }
    let program = env!("CARGO_BIN_EXE_dbdyno-engine");
    let mut unshare = Command::new("unshare");
    unshare.args(namespace).args(["sh", "-c", command, program]);
    let pipes = unshare.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), spec.to_string().as_bytes()).unwrap();
    Some(end(child).code)
}

#[test]
fn it_runs_as_process_1_and_as_the_child_of_one() {
    let folder = Folder::new("first");
    let script = folder.script("empty.lua", "function event() end");
    let spec = spec(&script, json!({"events": 10}));
    for command in ["exec \"$0\" run -", "\"$0\" run -; exit $?"] {
        assert!(in_a_namespace(command, &spec).is_none_or(|code| code == 0), "{command}");
    }
}

const ENDLESS: &str = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) \
    SELECT count(*) FROM c";

/// Starts a script on SQLite, and interrupts it when it has made the file `mark`.
fn interrupted(text: &str, changes: Value) -> Ended {
    let folder = Folder::new("sqlite");
    let mark = folder.0.join("mark");
    let begun = format!("io.open('{}', 'w'):close()", mark.display());
    let text = text.replace("BEGUN", &begun).replace("ENDLESS", ENDLESS);
    let script = folder.script("endless.lua", &text);
    let target = json!({"driver": "sqlite", "path": folder.0.join("a.db")});
    let mut whole = spec(&script, json!({"target": target, "measure_s": 600.0}));
    crate::program::merge(&mut whole, changes);
    let child = start(&whole);
    wait_for(&mark);
    interrupt(&child);
    end(child)
}

fn wait_for(file: &Path) {
    for _ in 0..12_000 {
        if file.exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("the script does not come to {}", file.display());
}

const CONNECTED: &str = "function thread_init() con = sysbench.sql.driver():connect() end\n";

#[test]
fn ctrl_c_ends_a_sqlite_statement_of_an_event() {
    let text = format!("{CONNECTED}function event() BEGUN con:query(\"ENDLESS\") end");
    let ended = interrupted(&text, json!({}));
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    let summary = ended.summary();
    assert_eq!((summary.total.begun, summary.total.unfinished, summary.censored), (1, 1, 1));
    assert_eq!(summary.total.errors, 0, "the interruption is no error of the statement");
}

#[test]
fn ctrl_c_ends_commands_that_load_sqlite() {
    let load = "local con = sysbench.sql.driver():connect()\n\
        con:query('CREATE TABLE t (a INTEGER)')";
    for body in [
        "BEGUN con:query(\"ENDLESS\")",
        "BEGUN while true do con:query('INSERT INTO t VALUES (1)') end",
        "BEGUN while true do pcall(con.query, con, 'INSERT INTO t VALUES (1)') end",
        "local s = con:prepare('INSERT INTO t VALUES (?)')\n\
         local p = s:bind_create(sysbench.sql.type.INT)\n\
         s:bind_param(p) BEGUN while true do p:set(1) s:execute() end",
        "con:bulk_insert_init('INSERT INTO t VALUES')\n\
         BEGUN while true do con:bulk_insert_next('(1)') end",
    ] {
        let text = format!("function event() end\nfunction prepare()\n{load}\n{body}\nend");
        let ended = interrupted(&text, json!({"command": "prepare"}));
        assert_eq!(ended.code, 130, "{body}: {}", ended.stderr);
    }
}

#[test]
fn ctrl_c_ends_a_wait_for_a_lock_of_sqlite() {
    let text = "function thread_init(id)\n\
          con = sysbench.sql.driver():connect()\n\
          if id > 0 then return end\n\
          con:query('CREATE TABLE t (a INTEGER)') con:query('BEGIN EXCLUSIVE')\n\
        end\n\
        function event(id)\n\
          if id == 1 then BEGUN con:query('INSERT INTO t VALUES (1)') end\n\
          sysbench.sql.driver()\n\
        end";
    let groups = json!([{"clients": 2}]);
    let target = json!({"busy_timeout_ms": 600_000});
    let ended = interrupted(text, json!({"groups": groups, "target": target}));
    assert_eq!(ended.code, 130, "{}", ended.stderr);
}

/// The window's end does what Ctrl-C does, after the drain.
#[test]
fn a_sqlite_statement_that_outlasts_the_window_is_given_up() {
    let folder = Folder::new("outlasts");
    let text = format!("{CONNECTED}function event() con:query(\"{ENDLESS}\") end");
    let script = folder.script("endless.lua", &text);
    let target = json!({"driver": "sqlite", "path": folder.0.join("a.db")});
    let ended = run(&spec(&script, json!({"target": target, "drain_s": 0.1})));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!((ended.summary().total.unfinished, ended.summary().censored), (1, 1));
}
