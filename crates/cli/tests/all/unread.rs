//! Records that nobody reads: the load pauses so that the engine's memory does not grow, and CPU
//! time is still counted in the interval that used it.

use std::time::{Duration, Instant};

use crate::program::{Folder, end_after, interrupt, read_until, spec, start};
use record::{Interval, PhaseName, Record, Warning};
use serde_json::json;

const INTERVAL_NS: u64 = 20_000_000;
/// A client that never waits needs the processor all the time, unless it pauses.
const IDLE: Duration = Duration::from_millis(500);
/// How late the shard may read the CPU time on a busy machine. Far less than the 63 intervals that
/// the coordinator is behind, so a coordinator that read it would be noticed.
const LATE_NS: u64 = 400_000_000;

/// CPU time of a process so far, clock ticks.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let tick = |field: usize| fields.split(' ').nth(field).unwrap().parse::<u64>().unwrap();
    tick(11) + tick(12)
}

/// Waits until a process has used no CPU time for a while.
fn await_pause(pid: u32) {
    let give_up = Instant::now() + Duration::from_secs(60);
    let (mut ticks, mut since) = (cpu_ticks(pid), Instant::now());
    while since.elapsed() < IDLE {
        assert!(Instant::now() < give_up, "the load goes on although nobody reads its records");
        std::thread::sleep(Duration::from_millis(20));
        let now = cpu_ticks(pid);
        if now != ticks {
            (ticks, since) = (now, Instant::now());
        }
    }
}

#[test]
fn the_load_pauses_and_every_figure_is_its_own_intervals() {
    let folder = Folder::new("unread");
    let script = folder.script("empty.lua", "function event() end");
    let changes = json!({"measure_s": null, "interval_s": INTERVAL_NS as f64 / 1e9});
    let mut child = start(&spec(&script, changes));
    await_pause(child.id());

    let paused = |record: &Record| matches!(record, Record::Warning(told) if told.code == "paused");
    let mut records = read_until(&mut child, paused);
    let Some(Record::Warning(Warning { message, hint, .. })) = records.last() else {
        unreachable!("it ends with a warning")
    };
    assert!(message.contains("63 intervals"), "{message}");
    assert!(hint.as_ref().unwrap().contains("longer intervals"), "{hint:?}");

    // Read again, the load goes on.
    let paused_at = events(&records).last().unwrap().end_ns;
    let later = |record: &Record| {
        matches!(record, Record::Interval(interval)
        if interval.counters.events > 0 && interval.start_ns > paused_at + 100 * INTERVAL_NS)
    };
    records.extend(read_until(&mut child, later));
    interrupt(&child);
    let ended = end_after(records, child);

    let intervals = events(&ended.records);
    let counted: u64 = intervals.iter().map(|interval| interval.counters.events).sum();
    assert_eq!(counted, ended.summary().total.events, "no event is lost");
    // The shard's thread, and the coordinator's, which does little.
    let (begin, mut used_ns) = (intervals[0].start_ns, 0);
    for Interval { end_ns, cpu, .. } in intervals {
        used_ns += (cpu.user_us + cpu.system_us) * 1_000;
        let most_ns = (end_ns - begin) * 3 / 2 + LATE_NS;
        assert!(used_ns <= most_ns, "{used_ns} ns of CPU by {} ns", end_ns - begin);
    }
}

/// Intervals in which events ended, from the window's begin.
fn events(records: &[Record]) -> Vec<&Interval> {
    let intervals = records.iter().filter_map(|record| match record {
        Record::Interval(interval) if interval.phase != PhaseName::Connect => Some(&**interval),
        _ => None,
    });
    intervals.filter(|interval| interval.counters.events > 0).collect()
}
