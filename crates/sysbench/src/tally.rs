//! Counts since the last report.

use measure::Distribution;
use record::{ClientTotal, Counters, HistogramRecord, Interval, Subject, TimeKind};

/// Counters and latencies over some intervals.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) counters: Counters,
    pub(crate) errors: std::collections::BTreeMap<String, u64>,
    pub(crate) latency: Distribution,
    /// Service times of reads, writes and other statements.
    pub(crate) statements: [Distribution; 3],
    /// Length of the intervals, nanoseconds.
    pub(crate) length_ns: u64,
    pub(crate) backlog: u64,
    pub(crate) busy: u32,
    pub(crate) clients: u32,
}

/// Statement classes, labelled as in records.
pub(crate) const CLASSES: [&str; 3] = ["read", "write", "other"];

impl Tally {
    pub(crate) fn add(&mut self, interval: &Interval) {
        self.add_counters(&interval.counters);
        for (code, count) in &interval.errors {
            *self.errors.entry(code.clone()).or_default() += count;
        }
        self.length_ns += interval.end_ns.saturating_sub(interval.start_ns);
        self.backlog = interval.backlog;
        self.busy = interval.busy;
        self.clients = interval.clients;
        // With intended starts, latency is the response time; otherwise the service time.
        let open = interval.histograms.iter().any(|histogram| {
            histogram.subject == Subject::Event && histogram.time == TimeKind::Response
        });
        let time = if open { TimeKind::Response } else { TimeKind::Service };
        for histogram in &interval.histograms {
            if histogram.subject == Subject::Event && histogram.time == time {
                merge(&mut self.latency, histogram);
            }
            if histogram.subject == Subject::Statement
                && histogram.time == TimeKind::Service
                && let Some(class) = CLASSES.iter().position(|class| *class == histogram.label)
            {
                merge(&mut self.statements[class], histogram);
            }
        }
    }

    pub(crate) fn add_counters(&mut self, from: &Counters) {
        add_counters(&mut self.counters, from);
    }

    /// Subtracts failures that ended the run from the errors: sysbench counts only ignored ones.
    /// The failures may arrive before or after the interval that counts them.
    pub(crate) fn leave_out(&mut self, fatal: &mut u64) {
        let counted = (*fatal).min(self.counters.errors);
        self.counters.errors -= counted;
        *fatal -= counted;
    }

    pub(crate) fn statements(&self) -> u64 {
        self.counters.reads + self.counters.writes + self.counters.other
    }

    pub(crate) fn percentile_ms(&self, rank: f64) -> f64 {
        self.latency.percentile(rank).unwrap_or(0) as f64 / 1e6
    }
}

fn merge(into: &mut Distribution, histogram: &HistogramRecord) {
    if let Some(read) = Distribution::decode(&histogram.hdr) {
        into.merge(&read);
    }
}

fn add_counters(into: &mut Counters, from: &Counters) {
    into.begun += from.begun;
    into.events += from.events;
    into.uncounted += from.uncounted;
    into.reads += from.reads;
    into.writes += from.writes;
    into.other += from.other;
    into.errors += from.errors;
    into.unfinished += from.unfinished;
    into.restarts += from.restarts;
    into.reconnects += from.reconnects;
    into.redirects += from.redirects;
    into.bytes_sent += from.bytes_sent;
    into.bytes_received += from.bytes_received;
}

/// Mean and standard deviation over clients.
pub(crate) fn spread(clients: &[ClientTotal], of: impl Fn(&ClientTotal) -> f64) -> (f64, f64) {
    if clients.is_empty() {
        return (0.0, 0.0);
    }
    let count = clients.len() as f64;
    let mean = clients.iter().map(&of).sum::<f64>() / count;
    let variance = clients.iter().map(|client| (of(client) - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt())
}

/// Figures for scripts' report hooks. Times in seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stat {
    /// Field names and values.
    pub fields: Vec<(&'static str, f64)>,
}

impl Stat {
    /// Of some intervals, `seconds` long, that end `total_s` after the load began. `rank`: the
    /// percentile. `clients`: of the last report.
    pub(crate) fn new(
        tally: &Tally,
        rank: Option<f64>,
        total_s: f64,
        seconds: f64,
        clients: Option<&[ClientTotal]>,
    ) -> Self {
        let counters = &tally.counters;
        let running = if clients.is_none() { f64::from(tally.clients) } else { 0.0 };
        let mut fields = vec![
            ("threads_running", running),
            ("time_interval", seconds),
            ("time_total", total_s),
            ("latency_pct", rank.map_or(0.0, |rank| tally.percentile_ms(rank) / 1e3)),
            ("events", counters.events as f64),
            ("reads", counters.reads as f64),
            ("writes", counters.writes as f64),
            ("other", counters.other as f64),
            ("errors", counters.errors as f64),
            ("reconnects", counters.reconnects as f64),
        ];
        match clients {
            None => {
                fields.push(("queue_length", tally.backlog as f64));
                fields.push(("concurrency", f64::from(tally.busy)));
            }
            Some(clients) => {
                let least = clients.iter().filter(|client| client.events > 0);
                let least = least.map(|client| client.min_ns).min().unwrap_or(0);
                let most = clients.iter().map(|client| client.max_ns).max().unwrap_or(0);
                let sum: u64 = clients.iter().map(|client| client.busy_ns).sum();
                let events = counters.events.max(1) as f64;
                fields.push(("latency_min", least as f64 / 1e9));
                fields.push(("latency_max", most as f64 / 1e9));
                fields.push(("latency_avg", sum as f64 / 1e9 / events));
                fields.push(("latency_sum", sum as f64 / 1e9));
            }
        }
        Self { fields }
    }
}
