//! Progress messages besides the reports, at higher verbosity.

use std::fmt::Write as _;

use crate::value::Values;

/// Verbosity from which reports are printed.
pub(crate) const NOTICE: i64 = 3;
/// Progress of the run.
pub(crate) const INFO: i64 = 4;
/// Progress of each client.
pub(crate) const DEBUG: i64 = 5;

/// The options of a load, printed before it begins.
pub(crate) fn header(values: &Values, forced_shutdown_s: Option<f64>) -> String {
    let mut text = String::from("Running the test with following options:\n");
    let mut line = |words: String| {
        text.push_str(&words);
        text.push('\n');
    };
    line(format!("Number of threads: {}", values.number("threads")));
    if values.number("warmup_time") > 0 {
        line(format!("Warmup time: {}s", values.number("warmup_time")));
    }
    if values.number("rate") > 0 {
        line(format!("Target transaction rate: {}/sec", values.number("rate")));
    }
    let seconds = values.number("report_interval");
    if seconds > 0 {
        line(format!("Report intermediate results every {seconds} second(s)"));
    }
    let checkpoints = values.list("report_checkpoints");
    if !checkpoints.is_empty() {
        line(format!("Report checkpoint(s) at {} seconds", checkpoints.join(", ")));
    }
    if values.on("debug") {
        line("Debug mode enabled.\n".to_owned());
    }
    if values.on("validate") {
        line("Validation checks: on.\n".to_owned());
    }
    let seed = values.number("rand_seed").max(values.number("seed"));
    match seed {
        0 => line("Initializing random number generator from current time\n".to_owned()),
        seed => line(format!("Initializing random number generator from seed ({seed}).\n")),
    }
    if let Some(seconds) = forced_shutdown_s {
        let after = values.number("time") as f64 + seconds;
        line(format!("Forcing shutdown in {after:.0} seconds"));
    }
    text.push('\n');
    text
}

/// Lines for clients that have started.
pub(crate) fn workers(clients: i64) -> String {
    let mut text = String::new();
    for number in 0..clients {
        let _ = writeln!(text, "DEBUG: Worker thread (#{number}) started");
        let _ = writeln!(text, "DEBUG: Worker thread (#{number}) initialized");
    }
    text
}

/// Why a load ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// `--time`.
    Time,
    /// `--events`.
    Events,
    /// Clients had no more work.
    Work,
}

/// Lines for the end of a load, which each client reports.
pub(crate) fn over(end: End, clients: i64) -> String {
    let limit = match end {
        End::Time => "Time",
        End::Events => "Event",
        End::Work => return "Done.\n\n".to_owned(),
    };
    let mut text = format!("{limit} limit exceeded, exiting...\n");
    if clients > 1 {
        let _ = writeln!(text, "(last message repeated {} times)", clients - 1);
    }
    text + "Done.\n\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_clients_say_is_said_once() {
        assert_eq!(over(End::Time, 1), "Time limit exceeded, exiting...\nDone.\n\n");
        let lines = "Event limit exceeded, exiting...\n(last message repeated 2 times)\nDone.\n\n";
        assert_eq!(over(End::Events, 3), lines);
    }
}
