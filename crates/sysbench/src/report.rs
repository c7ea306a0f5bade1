//! Turns records into sysbench's text output.

use std::fmt::Write as _;
use std::sync::Arc;

use record::{ClientTotal, Clients, Fatal, FatalKind, Interval, PhaseName, Record, Summary};

use crate::builtin::Figures;
use crate::command_line::{CommandLine, Refusal};
use crate::failure::{self, Course};
use crate::narration::{self, DEBUG, End, INFO, NOTICE};
use crate::plan::percentiles;
use crate::tally::{Stat, Tally};
use crate::value::Values;
use crate::{histogram, layout};

/// Width of latency values after the labels, in the usual and in the narrower block.
const WIDTHS: (usize, usize) = (40, 38);

/// One output of the report.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// On standard output.
    Text(String),
    /// On standard error.
    Error(String),
    /// Call the script's hook for intermediate reports; if it fails, print the text.
    Intermediate(Stat, String),
    /// Call the script's hook for full reports, during the load; if it fails, print the text.
    Checkpoint(Stat, String),
    /// The same, at the end of the load; the text is [`Report::take_instead`].
    Cumulative(Stat),
}

/// What the script handles itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hooks {
    /// It defines the command in `sysbench.cmdline.commands`.
    pub command: bool,
    /// `sysbench.hooks.report_intermediate`.
    pub intermediate: bool,
    /// `sysbench.hooks.report_cumulative`.
    pub cumulative: bool,
}

/// The report of one run so far.
pub struct Report {
    values: Values,
    new_layout: bool,
    percentiles: Vec<f64>,
    forced_shutdown_s: Option<f64>,
    figures: Option<Arc<dyn Figures>>,
    hooks: Hooks,
    /// The command is `run`; any other prints only its own output.
    load: bool,
    /// `None`: only the script's body runs.
    command: Option<String>,
    /// Statements were executed: use the database layout.
    sql: bool,
    headed: bool,
    /// Beginning of the window; `None` until it begins.
    begin_ns: Option<u64>,
    /// End of the window.
    over_ns: Option<u64>,
    report_ns: u64,
    /// Events counted so far.
    events: u64,
    since_line: Tally,
    since_report: Tally,
    /// Statements that ended the run and are still counted as errors.
    fatal_statements: u64,
    forced: bool,
    reported: bool,
    /// The last report as it is without the script's hook, until the hook has made its own.
    instead: String,
    said: Vec<Said>,
}

impl Report {
    /// For a command line; `figures` are those of a built-in test.
    ///
    /// # Errors
    /// Percentiles are invalid.
    pub fn new(
        line: &CommandLine,
        forced_shutdown_s: Option<f64>,
        figures: Option<Arc<dyn Figures>>,
        hooks: Hooks,
    ) -> Result<Self, Refusal> {
        Ok(Self {
            percentiles: percentiles(&line.values)?,
            values: line.values.clone(),
            new_layout: line.is_new(),
            forced_shutdown_s,
            figures,
            hooks,
            load: line.command.as_deref() == Some("run"),
            command: line.command.clone(),
            sql: false,
            headed: false,
            begin_ns: None,
            over_ns: None,
            report_ns: 0,
            events: 0,
            since_line: Tally::default(),
            since_report: Tally::default(),
            fatal_statements: 0,
            forced: false,
            reported: false,
            instead: String::new(),
            said: Vec::new(),
        })
    }

    /// Processes a record; returns what to print.
    pub fn record(&mut self, record: &Record) -> Vec<Said> {
        match record {
            Record::Output(output) => {
                self.said.push(Said::Text(format!("{}\n", output.text)));
            }
            Record::Fatal(fatal) => self.fatal(fatal),
            Record::Warning(warning) if warning.code != "unfinished" => {
                self.said.push(Said::Error(format!("WARNING: {}\n", warning.message)));
            }
            _ if !self.load => {}
            Record::Progress(progress) if progress.what == "connections" && !self.headed => {
                self.headed = true;
                let header = self.header();
                self.say(header);
            }
            Record::Phase(phase) => self.phase(phase.phase, phase.at_ns),
            Record::Interval(interval) => self.interval(interval),
            Record::Clients(clients) => self.clients(clients),
            Record::Warning(_) => self.unfinished(),
            Record::Summary(summary) => self.summary(summary),
            Record::Hello(_)
            | Record::Ready(_)
            | Record::Progress(_)
            | Record::Loaded(_)
            | Record::Turn(_) => {}
        }
        std::mem::take(&mut self.said)
    }

    /// Whether unfinished events were abandoned after `--forced-shutdown`.
    pub fn forced(&self) -> bool {
        self.forced
    }

    /// The last report as it is without the script's hook; empty if it was printed.
    pub fn take_instead(&mut self) -> String {
        std::mem::take(&mut self.instead)
    }

    /// Whether the load has begun.
    pub fn begun(&self) -> bool {
        self.begin_ns.is_some()
    }

    fn verbosity(&self) -> i64 {
        if self.values.on("debug") { DEBUG } else { self.values.number("verbosity") }
    }

    fn say(&mut self, text: String) {
        self.say_from(NOTICE, text);
    }

    fn say_from(&mut self, verbosity: i64, text: String) {
        if self.verbosity() >= verbosity {
            self.said.push(Said::Text(text));
        }
    }

    fn header(&self) -> String {
        let mut text = narration::header(&self.values, self.forced_shutdown_s);
        if let Some(figures) = &self.figures {
            if self.verbosity() >= INFO {
                text.push_str(&figures.subject());
            }
            text.push_str(&figures.header());
        }
        text.push_str("Initializing worker threads...\n\n");
        text
    }

    fn phase(&mut self, phase: PhaseName, at_ns: u64) {
        match phase {
            PhaseName::WarmUp => {
                self.say_workers();
                let seconds = self.values.number("warmup_time");
                let words = "Threads started!\n\n";
                self.say(format!("{words}Warming up for {seconds} seconds...\n\n"));
            }
            PhaseName::Measure => {
                if self.values.number("warmup_time") <= 0 {
                    self.say_workers();
                    self.say("Threads started!\n\n".to_owned());
                }
                self.begin_ns = Some(at_ns);
                self.report_ns = at_ns;
            }
            PhaseName::Drain => self.over_ns = Some(at_ns),
            _ => {}
        }
    }

    fn say_workers(&mut self) {
        let clients = self.values.number("threads");
        self.say_from(DEBUG, narration::workers(clients));
    }

    fn say_over(&mut self) {
        let limit = self.values.number("events").max(0) as u64;
        let end = match self.over_ns {
            Some(_) => End::Time,
            None if limit > 0 && self.events >= limit => End::Events,
            None => End::Work,
        };
        let clients = self.values.number("threads");
        self.say_from(INFO, narration::over(end, clients));
    }

    fn interval(&mut self, interval: &Interval) {
        let counters = &interval.counters;
        let statements = counters.reads + counters.writes + counters.other + counters.errors;
        self.sql |= statements + counters.bytes_sent > 0;
        if interval.phase == PhaseName::Connect && self.values.number("warmup_time") <= 0 {
            // sysbench also counts statements of `init` and `thread_init`.
            self.since_report.add_counters(counters);
            self.since_line.add_counters(counters);
        }
        if !matches!(interval.phase, PhaseName::Measure | PhaseName::Drain) {
            return;
        }
        self.events += counters.events;
        // After the window events still end; they are counted, but get no line of their own.
        self.since_report.add(interval);
        self.since_report.leave_out(&mut self.fatal_statements);
        let (Some(begin), PhaseName::Measure) = (self.begin_ns, interval.phase) else { return };
        self.since_line.add(interval);
        let every = self.values.number("report_interval").max(0) as u64 * 1_000_000_000;
        let elapsed = interval.end_ns.saturating_sub(begin);
        if every > 0 && elapsed > 0 && elapsed.is_multiple_of(every) {
            self.intermediate(elapsed as f64 / 1e9);
            self.since_line = Tally::default();
        }
    }

    fn intermediate(&mut self, elapsed_s: f64) {
        let line = std::mem::take(&mut self.since_line);
        let seconds = line.length_ns as f64 / 1e9;
        let before = self.said.len();
        self.usual_line(&line, elapsed_s, seconds);
        if self.hooks.intermediate {
            let usual = self.said_since(before);
            let rank = self.percentiles.first().copied();
            let stat = Stat::new(&line, rank, elapsed_s, seconds, None);
            self.said.push(Said::Intermediate(stat, usual));
        }
    }

    /// Takes back what was said last.
    fn said_since(&mut self, place: usize) -> String {
        let texts = self.said.drain(place..).map(|said| match said {
            Said::Text(text) => text,
            _ => String::new(),
        });
        texts.collect()
    }

    fn usual_line(&mut self, line: &Tally, elapsed_s: f64, seconds: f64) {
        let first = || {
            let ranks: Vec<_> = self.percentiles.iter().map(|rank| format!("{rank}%")).collect();
            let first = self.percentiles.first().map_or(0.0, |rank| line.percentile_ms(*rank));
            (ranks.join("/"), first)
        };
        let events = line.counters.events;
        let own = self.figures.as_ref();
        if let Some(text) =
            own.and_then(|figures| figures.intermediate(events, seconds, elapsed_s, &first))
        {
            self.say(text);
            return;
        }
        let per_s = |count: u64| count as f64 / seconds;
        let latency = layout::latencies(line, &self.percentiles);
        let counters = &line.counters;
        let mut text = format!("[ {elapsed_s:.0}s ] thds: {} ", line.clients);
        if self.sql {
            let _ = write!(
                text,
                "tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) {latency} err/s: {:.2} \
                 reconn/s: {:.2}",
                per_s(counters.events),
                per_s(line.statements()),
                per_s(counters.reads),
                per_s(counters.writes),
                per_s(counters.other),
                per_s(counters.errors),
                per_s(counters.reconnects),
            );
        } else {
            let _ = write!(text, "eps: {:.2} {latency}", per_s(counters.events));
        }
        text.push('\n');
        if self.values.number("rate") > 0 {
            let comma = if self.sql { "," } else { "" };
            let _ = writeln!(
                text,
                "[ {elapsed_s:.0}s ] queue length: {}{comma} concurrency: {}",
                line.backlog, line.busy
            );
        }
        self.say(text);
    }

    fn clients(&mut self, record: &Clients) {
        let Some(begin) = self.begin_ns else { return };
        if record.last {
            self.say_over();
            self.cumulative(&record.clients);
            return;
        }
        let elapsed = record.at_ns.saturating_sub(begin) as f64 / 1e9;
        self.say(format!("[ {elapsed:.0}s ] Checkpoint report:\n"));
        let seconds = record.at_ns.saturating_sub(self.report_ns) as f64 / 1e9;
        self.full(seconds, &record.clients, false);
        self.report_ns = record.at_ns;
        self.since_report = Tally::default();
    }

    /// The last report. It extends to the end of the last event, or of the window if that is later.
    fn cumulative(&mut self, clients: &[ClientTotal]) {
        let last = clients.iter().map(|client| client.last_ns).max().unwrap_or(0);
        let end = match (last, self.over_ns) {
            (0, None) => self.report_ns + self.since_report.length_ns,
            _ if self.forced => self.report_ns + self.since_report.length_ns,
            (last, over) => last.max(over.unwrap_or(0)),
        };
        let seconds = end.saturating_sub(self.report_ns) as f64 / 1e9;
        self.full(seconds, clients, true);
        self.reported = true;
    }

    fn full(&mut self, seconds: f64, clients: &[ClientTotal], last: bool) {
        let before = self.said.len();
        self.usual_report(seconds, clients);
        if !self.hooks.cumulative {
            return;
        }
        let usual = self.said_since(before);
        let begin = self.begin_ns.unwrap_or(0);
        let total_s = self.report_ns.saturating_sub(begin) as f64 / 1e9 + seconds;
        let rank = self.percentiles.first().copied();
        let stat = Stat::new(&self.since_report, rank, total_s, seconds, Some(clients));
        if last {
            self.instead = usual;
            self.said.push(Said::Cumulative(stat));
        } else {
            self.said.push(Said::Checkpoint(stat, usual));
        }
    }

    fn usual_report(&mut self, seconds: f64, clients: &[ClientTotal]) {
        let tally = &self.since_report;
        let seconds = seconds.max(1e-9);
        let mut text = String::new();
        if self.values.on("histogram") {
            let lines = histogram::text(&tally.latency);
            if self.verbosity() < NOTICE {
                // The histogram is shown at any verbosity; its heading is not.
                self.said.push(Said::Text(lines));
                return;
            }
            text.push_str("Latency histogram (values are in milliseconds)\n");
            text.push_str(&lines);
            text.push_str(" \n");
        }
        match &self.figures {
            Some(figures) => {
                text.push_str(&figures.cumulative(tally.counters.events, seconds, self.new_layout))
            }
            None if self.sql => text.push_str(&layout::sql(tally, seconds)),
            None => {}
        }
        if self.values.on("error_codes") {
            text.push_str(&layout::error_codes(tally));
        }
        if self.values.on("db_debug") && self.sql {
            text.push_str(&layout::database(tally));
        }
        text.push('\n');
        if self.forced {
            let _ = writeln!(
                text,
                "Number of unfinished transactions on forced shutdown: {}\n",
                tally.counters.unfinished.max(u64::from(tally.busy))
            );
        }
        let narrow = self.new_layout && self.figures.as_ref().is_some_and(|own| own.narrow());
        let width = if narrow { WIDTHS.1 } else { WIDTHS.0 };
        if !narrow {
            text.push_str(&layout::general(tally.counters.events, seconds, self.new_layout));
        }
        text.push_str(&layout::latency(tally, clients, &self.percentiles, width));
        if self.values.on("statement_latency") {
            text.push_str(&layout::statement_latency(tally, &self.percentiles));
        }
        if !narrow {
            text.push_str(&layout::fairness(clients));
        }
        if self.values.on("debug") {
            text.push_str(&layout::verbose(clients));
        }
        self.say(text);
    }

    fn fatal(&mut self, fatal: &Fatal) {
        if fatal.kind == FatalKind::Statement && !self.reported {
            self.fatal_statements += 1;
            self.since_report.leave_out(&mut self.fatal_statements);
        }
        let course = Course {
            command: self.command.as_deref(),
            own_command: self.hooks.command,
            load: self.load,
            headed: self.headed,
            begun: self.begun(),
        };
        let during = failure::function(fatal, &course);
        let text = failure::line(fatal, during, &course);
        let in_thread_init = during == "thread_init";
        let of_the_report = during == "report_cumulative";
        self.said.push(Said::Text(text));
        if of_the_report {
            let usual = self.take_instead();
            self.said.push(Said::Text(usual));
        }
        if in_thread_init {
            self.said.push(Said::Text("FATAL: Thread initialization failed!\n".to_owned()));
        }
        if let Some(traceback) = &fatal.traceback
            && self.verbosity() > NOTICE
        {
            self.said.push(Said::Error(format!("{traceback}\n")));
        }
        let ignore = "--mysql-ignore-errors and --pgsql-ignore-errors name errors that \
            restart the event";
        let hint = match fatal.hint.as_deref() {
            Some(script::POLICY_HINT) => Some(ignore).filter(|_| self.load),
            other => other,
        };
        if let Some(hint) = hint {
            self.said.push(Said::Error(format!("hint: {hint}\n")));
        }
    }

    fn unfinished(&mut self) {
        if self.forced_shutdown_s.is_some() && self.over_ns.is_some() {
            self.forced = true;
            let text = "FATAL: The --max-time limit has expired, forcing shutdown...\n";
            self.said.push(Said::Text(text.to_owned()));
        }
    }

    /// If no shard could report its clients, the summary still has the counts.
    fn summary(&mut self, _summary: &Summary) {
        if !self.reported && self.begun() {
            self.cumulative(&[]);
        }
    }
}
