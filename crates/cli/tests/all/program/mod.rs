//! The binary as a program: specs in, records and exit codes out.

#![allow(dead_code, reason = "each program that has this uses its own part of it")]
#![expect(clippy::unwrap_used, reason = "a test's helper fails the test")]

use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use record::{Record, Summary};
use serde_json::{Value, json};

/// A folder of the test's own, removed with it.
pub struct Folder(pub PathBuf);

impl Folder {
    /// A folder of the caller's own: tests of one file run side by side.
    pub fn new(name: &str) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let unique = format!("dbdyno-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(unique);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn script(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub struct Ended {
    pub code: i32,
    pub records: Vec<Record>,
    pub stderr: String,
}

impl Ended {
    pub fn summary(&self) -> &Summary {
        self.records
            .iter()
            .find_map(|record| match record {
                Record::Summary(summary) => Some(summary.as_ref()),
                _ => None,
            })
            .unwrap_or_else(|| panic!("no summary; standard error: {}", self.stderr))
    }

    /// Events due and not started at the end of the window.
    pub fn backlog(&self) -> u64 {
        let last = self.records.iter().rev().find_map(|record| match record {
            Record::Interval(interval) if interval.phase == record::PhaseName::Measure => {
                Some(interval.backlog)
            }
            _ => None,
        });
        last.unwrap()
    }

    /// Rows loaded, by the last record of progress.
    pub fn rows_loaded(&self) -> u64 {
        let rows = self.records.iter().filter_map(|record| match record {
            Record::Progress(progress) if progress.what == "rows" => Some(progress.done),
            _ => None,
        });
        rows.max().unwrap_or(0)
    }

    pub fn output(&self) -> Vec<&str> {
        self.records
            .iter()
            .filter_map(|record| match record {
                Record::Output(output) => Some(output.text.as_str()),
                _ => None,
            })
            .collect()
    }
}

pub fn spec(script: &str, changes: Value) -> Value {
    let mut spec = json!({
        "schema": 2,
        "target": {"driver": "null"},
        "groups": [{"script": script, "clients": 1}],
        "measure_s": 0.3,
        "interval_s": 0.1,
        "seed": 7,
    });
    merge(&mut spec, changes);
    spec
}

pub fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (Value::Array(into), Value::Array(from)) => {
            into.resize(into.len().max(from.len()), json!({}));
            into.iter_mut().zip(from).for_each(|(into, from)| merge(into, from));
        }
        (into, from) => *into = from,
    }
}

pub fn start(spec: &Value) -> Child {
    start_open(spec).0
}

/// The same by a shell that does something before.
pub fn start_by(before: &str, spec: &Value) -> Child {
    let mut shell = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_dbdyno-engine");
    shell.args(["-c", &format!("{before}exec \"$0\" run -"), program]);
    start_as(shell, spec).0
}

/// The same, with standard input left open.
pub fn start_open(spec: &Value) -> (Child, ChildStdin) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dbdyno-engine"));
    command.args(["run", "-"]);
    start_as(command, spec)
}

fn start_as(mut command: Command, spec: &Value) -> (Child, ChildStdin) {
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{spec}").unwrap();
    (child, input)
}

/// Reads records until one is as wanted; they all belong before those of `end_after`.
pub fn read_until(child: &mut Child, wanted: impl Fn(&Record) -> bool) -> Vec<Record> {
    let mut records = Vec::new();
    // A byte at a time: what lies behind the record is for others to read.
    let mut lines = BufReader::with_capacity(1, child.stdout.as_mut().unwrap()).lines();
    while !records.last().is_some_and(&wanted) {
        let line = lines.next().expect("the wanted record").unwrap();
        records.push(serde_json::from_str(&line).unwrap());
    }
    records
}

pub fn end(child: Child) -> Ended {
    end_after(Vec::new(), child)
}

/// The end of a program some of whose records were read.
pub fn end_after(mut records: Vec<Record>, child: Child) -> Ended {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    records.extend(text.lines().map(|line| serde_json::from_str::<Record>(line).unwrap()));
    Ended {
        code: output.status.code().unwrap_or(-1),
        records,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub fn interrupt(child: &Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
}

/// Measures until the figures are as expected, ten times at most: another program may have had the
/// processor at the wrong moment. A fault of ours shows every time; what must hold however late
/// the machine is belongs into `measure`.
pub fn undisturbed(measure: impl Fn() -> Ended, expected: impl Fn(&Ended)) {
    for attempts_left in (0..10).rev() {
        let ended = measure();
        match catch_unwind(AssertUnwindSafe(|| expected(&ended))) {
            Ok(()) => return,
            Err(failed) if attempts_left == 0 => resume_unwind(failed),
            Err(_) => {}
        }
    }
}

pub fn run(spec: &Value) -> Ended {
    end(start(spec))
}
