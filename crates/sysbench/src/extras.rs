//! Machine-readable results that sysbench lacks, during and after the load.
//!
//! Everything here turns records into text; `cli` writes it where requested.

use std::fmt::Write as _;

use record::{Interval, PhaseName, Record, Subject, Summary};
use serde_json::{Value, json};

use crate::command_line::{CommandLine, Test};
use crate::plan::percentiles;
use crate::tally::{CLASSES, Tally};

/// Figures of one run, for other programs.
pub struct Extras {
    line: CommandLine,
    seed: u64,
    start_unix_ns: u64,
    window: Tally,
    /// One row per reporting interval of one second.
    series: Vec<Value>,
    /// Lines of the HdrHistogram log.
    log: String,
    summary: Option<Box<Summary>>,
    failure: Option<String>,
}

impl Extras {
    /// For a command line; `seed` is the effective one, `start_unix_ns` the wall clock at time 0 of
    /// the records.
    pub fn new(line: &CommandLine, seed: u64, start_unix_ns: u64) -> Self {
        Self {
            line: line.clone(),
            seed,
            start_unix_ns,
            window: Tally::default(),
            series: Vec::new(),
            log: String::new(),
            summary: None,
            failure: None,
        }
    }

    /// Adds a record.
    pub fn record(&mut self, record: &Record) {
        match record {
            Record::Interval(interval) => self.interval(interval),
            Record::Summary(summary) => self.summary = Some(summary.clone()),
            Record::Fatal(fatal) => self.failure = Some(fatal.message.clone()),
            _ => {}
        }
    }

    fn interval(&mut self, interval: &Interval) {
        if !matches!(interval.phase, PhaseName::Measure | PhaseName::Drain) {
            return;
        }
        self.window.add(interval);
        let mut alone = Tally::default();
        alone.add(interval);
        let mut row = self.figures(&alone);
        row["start_s"] = json!(interval.start_ns as f64 / 1e9);
        row["end_s"] = json!(interval.end_ns as f64 / 1e9);
        row["clients"] = json!(interval.clients);
        row["backlog"] = json!(interval.backlog);
        self.series.push(row);
        for histogram in &interval.histograms {
            let subject = match histogram.subject {
                Subject::Event => "event",
                Subject::Statement => "statement",
                Subject::Lag => "lag",
                Subject::Failed => "failed",
            };
            let time = format!("{:?}", histogram.time).to_lowercase();
            let length_s = interval.end_ns.saturating_sub(interval.start_ns) as f64 / 1e9;
            let start_s = (self.start_unix_ns + interval.start_ns) as f64 / 1e9;
            let most = measure::Distribution::decode(&histogram.hdr)
                .and_then(|values| values.max())
                .unwrap_or(0) as f64;
            let _ = writeln!(
                self.log,
                "Tag={subject}.{}.{time},{start_s:.3},{length_s:.3},{:.3},{}",
                histogram.label,
                most / 1e6,
                histogram.hdr
            );
        }
    }

    /// Counts, rates and latencies as JSON.
    fn figures(&self, tally: &Tally) -> Value {
        let seconds = (tally.length_ns as f64 / 1e9).max(1e-9);
        let counters = &tally.counters;
        let ranks = percentiles(&self.line.values).unwrap_or_default();
        let latency = |values: &measure::Distribution| {
            let mut found = serde_json::Map::new();
            for rank in &ranks {
                let ms = values.percentile(*rank).map(|ns| ns as f64 / 1e6);
                found.insert(format!("p{rank}"), json!(ms));
            }
            found.insert("mean".into(), json!(values.mean().map(|ns| ns / 1e6)));
            found.insert("max".into(), json!(values.max().map(|ns| ns as f64 / 1e6)));
            Value::Object(found)
        };
        let classes = CLASSES.iter().zip(&tally.statements);
        let by_class: serde_json::Map<_, _> =
            classes.map(|(class, values)| ((*class).to_owned(), latency(values))).collect();
        json!({
            "events": counters.events,
            "events_per_s": counters.events as f64 / seconds,
            "statements": tally.statements(),
            "statements_per_s": tally.statements() as f64 / seconds,
            "reads": counters.reads,
            "writes": counters.writes,
            "other": counters.other,
            "errors": counters.errors,
            "errors_by_code": tally.errors,
            "restarts": counters.restarts,
            "reconnects": counters.reconnects,
            "unfinished": counters.unfinished,
            "latency_ms": latency(&tally.latency),
            "statement_latency_ms": by_class,
        })
    }

    /// Content of the `--json` file: options, figures, and one row per second.
    pub fn json(&self) -> String {
        let test = match &self.line.test {
            Test::Builtin(name) | Test::Script(name) => name.as_str(),
            Test::Standard => "-",
        };
        let options = self.line.values.0.iter().filter(|(name, _)| !name.ends_with("password"));
        let options: serde_json::Map<_, _> =
            options.map(|(name, value)| (name.clone(), value.json())).collect();
        let own = self.line.others.iter();
        let own: serde_json::Map<_, _> =
            own.map(|given| (given.name.clone(), json!(given.value))).collect();
        let mut document = json!({
            "version": 1,
            "test": test,
            "options": options,
            "script_options": own,
            "seed": self.seed,
            "window_s": self.window.length_ns as f64 / 1e9,
            "result": self.figures(&self.window),
            "series": self.series,
            "failure": self.failure,
        });
        if let Some(summary) = &self.summary {
            document["client_cpu_us"] = json!(summary.cpu.user_us + summary.cpu.system_us);
            document["client_rss_peak_kb"] = json!(summary.rss_peak_kb);
            document["censored"] = json!(summary.censored);
        }
        format!("{document:#}\n")
    }

    /// Content of the `--hlog` file: an HdrHistogram log, one line per interval and tag.
    pub fn hlog(&self) -> String {
        let start_s = self.start_unix_ns as f64 / 1e9;
        format!(
            "#[Histogram log format version 1.3]\n\
             #[StartTime: {start_s:.3} (seconds since epoch)]\n\
             \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
             \"Interval_Compressed_Histogram\"\n{}",
            self.log
        )
    }

    /// Figures of the load so far, in Prometheus text format.
    pub fn prometheus(&self) -> String {
        let counters = &self.window.counters;
        let mut text = String::new();
        let counts = [
            ("events", "Events completed.", counters.events),
            ("statements", "Statements answered.", self.window.statements()),
            ("errors", "Statements that failed.", counters.errors),
            ("restarts", "Events restarted.", counters.restarts),
            ("reconnects", "Reconnects.", counters.reconnects),
        ];
        for (name, help, count) in counts {
            let name = format!("sysbench_{name}_total");
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {count}");
        }
        let gauges = [
            ("clients", "Clients alive.", f64::from(self.window.clients)),
            ("busy_clients", "Clients executing an event.", f64::from(self.window.busy)),
            ("backlog", "Events due and not yet begun.", self.window.backlog as f64),
        ];
        for (name, help, value) in gauges {
            let name = format!("sysbench_{name}");
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        }
        let name = "sysbench_event_latency_seconds";
        let _ = writeln!(text, "# HELP {name} Latency of events.\n# TYPE {name} summary");
        for rank in [50.0, 90.0, 95.0, 99.0, 99.9] {
            let value = self.window.percentile_ms(rank) / 1e3;
            let _ = writeln!(text, "{name}{{quantile=\"{}\"}} {value}", rank / 100.0);
        }
        let sum_s = self.window.latency.mean().unwrap_or(0.0) * counters.events as f64 / 1e9;
        let _ = writeln!(text, "{name}_sum {sum_s}\n{name}_count {}", counters.events);
        text
    }
}
