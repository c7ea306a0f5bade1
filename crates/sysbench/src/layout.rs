//! The blocks of a full report. Parsers depend on columns and labels: do not move anything.

use std::fmt::Write as _;

use record::ClientTotal;

use crate::tally::{CLASSES, Tally, spread};

/// The column where values begin.
const COLUMN: usize = 41;

/// Time and events; with the rate in the layout of 1.1.
pub(crate) fn general(events: u64, seconds: f64, new_layout: bool) -> String {
    let mut text = String::new();
    if new_layout {
        let rate = events as f64 / seconds;
        let _ = writeln!(text, "Throughput:");
        let _ = writeln!(text, "{:<COLUMN$}{rate:.4}", "    events/s (eps):");
        let _ = writeln!(text, "{:<COLUMN$}{seconds:.4}s", "    time elapsed:");
    } else {
        let _ = writeln!(text, "General statistics:");
        let _ = writeln!(text, "{:<COLUMN$}{seconds:.4}s", "    total time:");
    }
    let _ = writeln!(text, "{:<COLUMN$}{events}\n", "    total number of events:");
    text
}

/// Latencies of events in milliseconds, right-aligned in `width` characters after the labels.
pub(crate) fn latency(
    tally: &Tally,
    clients: &[ClientTotal],
    percentiles: &[f64],
    width: usize,
) -> String {
    let sum_ns: u64 = clients.iter().map(|client| client.busy_ns).sum();
    let events: u64 = clients.iter().map(|client| client.events).sum();
    let least = clients.iter().filter(|client| client.events > 0).map(|client| client.min_ns);
    let most = clients.iter().map(|client| client.max_ns).max().unwrap_or(0);
    let mut text = String::from("Latency (ms):\n");
    let mut line = |label: &str, ns: f64| {
        let _ = writeln!(text, "         {label}{:>width$.2}", ns / 1e6);
    };
    line("min:", least.min().unwrap_or(0) as f64);
    line("avg:", sum_ns as f64 / events.max(1) as f64);
    line("max:", most as f64);
    if percentiles.is_empty() {
        text.push_str("         percentile stats:               disabled\n");
    }
    for rank in percentiles {
        let (width, ms) = (width - 12, tally.percentile_ms(*rank));
        let _ = writeln!(text, "{rank:>11}th percentile:{ms:>width$.2}");
    }
    let _ = writeln!(text, "         sum:{:>width$.2}\n", sum_ns as f64 / 1e6);
    text
}

/// Statement counts and rates.
pub(crate) fn sql(tally: &Tally, seconds: f64) -> String {
    let counters = &tally.counters;
    let mut text = String::from("SQL statistics:\n    queries performed:\n");
    let counts = [
        ("        read:", counters.reads),
        ("        write:", counters.writes),
        ("        other:", counters.other),
        ("        total:", tally.statements()),
    ];
    for (label, count) in counts {
        let _ = writeln!(text, "{label:<COLUMN$}{count}");
    }
    let rates = [
        ("    transactions:", counters.events),
        ("    queries:", tally.statements()),
        ("    ignored errors:", counters.errors),
        ("    reconnects:", counters.reconnects),
    ];
    for (label, count) in rates {
        let rate = count as f64 / seconds;
        let _ = writeln!(text, "{label:<COLUMN$}{count:<6} ({rate:.2} per sec.)");
    }
    text
}

/// Errors by code.
pub(crate) fn error_codes(tally: &Tally) -> String {
    if tally.errors.is_empty() {
        return format!("{:<COLUMN$}none\n", "    errors by code:");
    }
    let mut text = String::from("    errors by code:\n");
    for (code, count) in &tally.errors {
        let _ = writeln!(text, "{:<COLUMN$}{count}", format!("        {code}:"));
    }
    text
}

/// Times of all statements, from sending to the end of the reply, in the driver's debug layout.
pub(crate) fn database(tally: &Tally) -> String {
    let mut all = measure::Distribution::default();
    tally.statements.iter().for_each(|latency| all.merge(latency));
    let mean = all.mean().unwrap_or(0.0);
    let mut text = String::from("DEBUG: \nDEBUG: Query execution statistics:\n");
    let lines = [
        ("min:", all.min().unwrap_or(0) as f64),
        ("avg:", mean),
        ("max:", all.max().unwrap_or(0) as f64),
        ("total:", mean * all.count() as f64),
    ];
    for (label, ns) in lines {
        let _ = writeln!(text, "DEBUG: {label:>8}{:32}{:.6}s", "", ns / 1e9);
    }
    text
}

/// Latencies of statements by class.
pub(crate) fn statement_latency(tally: &Tally, percentiles: &[f64]) -> String {
    let mut text = String::from("Statement latency (ms):\n");
    for (class, latency) in CLASSES.iter().zip(&tally.statements) {
        let Some(mean) = latency.mean() else { continue };
        let _ = write!(text, "{:<COLUMN$}avg {:.2}", format!("    {class}:"), mean / 1e6);
        for rank in percentiles {
            let value = latency.percentile(*rank).unwrap_or(0) as f64 / 1e6;
            let _ = write!(text, "  {rank}% {value:.2}");
        }
        let _ = writeln!(text, "  max {:.2}", latency.max().unwrap_or(0) as f64 / 1e6);
    }
    text.push('\n');
    text
}

/// How evenly the work was spread over the clients.
pub(crate) fn fairness(clients: &[ClientTotal]) -> String {
    let (events, events_deviation) = spread(clients, |client| client.events as f64);
    let (time, time_deviation) = spread(clients, |client| client.busy_ns as f64 / 1e9);
    format!(
        "Threads fairness:\n    \
         events (avg/stddev):           {events:.4}/{events_deviation:.2}\n    \
         execution time (avg/stddev):   {time:.4}/{time_deviation:.2}\n\n"
    )
}

/// Figures of each client.
pub(crate) fn verbose(clients: &[ClientTotal]) -> String {
    let mut text = String::from("DEBUG: Verbose per-thread statistics:\n\n");
    let seconds = |ns: u64| ns as f64 / 1e9;
    for client in clients {
        let mean = seconds(client.busy_ns) / client.events.max(1) as f64;
        let _ = writeln!(
            text,
            "DEBUG:     thread #{:3}: min: {:.4}s  avg: {mean:.4}s  max: {:.4}s  events: {}",
            client.number,
            seconds(client.min_ns),
            seconds(client.max_ns),
            client.events
        );
        let _ = writeln!(
            text,
            "DEBUG:                  total time taken by event execution: {:.4}s",
            seconds(client.busy_ns)
        );
    }
    text.push('\n');
    text
}

/// `lat (ms,95%): 1.23`; several percentiles are separated by slashes.
pub(crate) fn latencies(tally: &Tally, percentiles: &[f64]) -> String {
    if percentiles.is_empty() {
        return "lat (ms,0%): 0.00".to_owned();
    }
    let ranks: Vec<_> = percentiles.iter().map(|rank| format!("{rank}%")).collect();
    let values = percentiles.iter().map(|rank| tally.percentile_ms(*rank));
    let values: Vec<_> = values.map(|value| format!("{value:.2}")).collect();
    format!("lat (ms,{}): {}", ranks.join("/"), values.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_errors_there_are_none() {
        let mut tally = Tally::default();
        assert!(
            error_codes(&tally).trim_end().ends_with("errors by code:                      none")
        );
        tally.errors.insert("1062".to_owned(), 3);
        assert!(error_codes(&tally).contains("        1062:"));
    }
}
