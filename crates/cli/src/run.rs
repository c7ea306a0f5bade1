//! The verb `run`: a spec in, records out.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use engine::{Control, Failure, Outcome, Plan};
use record::{Arrival, Fatal, FatalKind, Hello, Record, RunSpec, SpecError};
use script::{CommandContext, Config, ConfigError, ScriptWorkload};

use crate::binding::Binding;
use crate::exit;
use crate::files::read_text;
use crate::output::Output;
use crate::process::{self, Process};
use crate::scheduling::{schedule, shard_scheduling};
use crate::shards::{Make, drive};
use crate::terminal::complain;

/// How long the first shard may take to open its event loop and compile the script; it needs far
/// less.
const OPENING: Duration = Duration::from_secs(10);

/// How long to wait for events in flight, at least; longer with many clients.
const DRAIN_S: f64 = 5.0;
const DRAIN_A_CLIENT_S: f64 = 0.000_5;
/// How long an interrupted load in process, or any other command, may go on.
const HURRIED_S: f64 = 0.3;

/// Runs a spec.
pub fn run(path: &Path) -> ExitCode {
    let from_parent = path == Path::new("-");
    if from_parent {
        process::end_with_parent();
    }
    let mut output = match Output::take() {
        Ok(output) => output,
        Err(error) => return exit::without_output(&error),
    };
    match prepare(path) {
        Ok(run) => {
            let outcome = run.carry_out(&mut output);
            if let Outcome::Failed(failure) = &outcome {
                explain(failure);
            }
            exit::of(&outcome)
        }
        Err(failure) => refuse(&mut output, failure),
    }
}

/// Reports why nothing was done, as a record and on standard error.
pub fn refuse(output: &mut Output, failure: Failure) -> ExitCode {
    explain(&failure);
    let Failure { kind, message, hint, traceback } = failure;
    output.write(&Record::Fatal(Fatal { kind, message, hint, traceback, callback: None }));
    ExitCode::from(exit::code_of(kind))
}

/// Prints a failure on standard error.
fn explain(failure: &Failure) {
    complain(&format!("error: {}\n", failure.message));
    if let Some(traceback) = &failure.traceback {
        complain(&format!("{traceback}\n"));
    }
    if let Some(hint) = &failure.hint {
        complain(&format!("\nhint: {hint}\n"));
    }
}

/// A run ready to begin.
struct Run {
    spec: RunSpec,
    plan: Plan,
    config: Arc<Config>,
    shards: u32,
    process: Process,
}

/// A failure caused by the spec or the arguments.
pub fn usage(message: String, hint: Option<String>) -> Failure {
    Failure { kind: FatalKind::Usage, message, hint, traceback: None }
}

fn prepare(path: &Path) -> Result<Run, Failure> {
    process::raise_open_files();
    let spec = read_spec(path)?;
    let config = Config::new(&spec, CommandContext::default()).map_err(config_failure)?;
    let plan = plan(&spec)?;
    let shards = runtime::shards(&spec, runtime::cores());
    let mut process = Process::watch().map_err(|error| Failure {
        kind: FatalKind::Environment,
        message: format!("signals can't be handled: {error}"),
        hint: None,
        traceback: None,
    })?;
    if spec.wait_for_begin || spec.turns {
        process.hear_orders();
    }
    Ok(Run { spec, plan, config: Arc::new(config), shards, process })
}

/// Reads one JSON document. Standard input may continue after it, with orders.
pub fn read_spec(path: &Path) -> Result<RunSpec, Failure> {
    if path == Path::new("-") {
        let mut documents = serde_json::Deserializer::from_reader(std::io::stdin()).into_iter();
        let document = documents
            .next()
            .ok_or_else(|| usage("standard input holds no run spec".to_owned(), None))?;
        return checked(document);
    }
    let text = read_text(path).map_err(|error| {
        usage(format!("cannot read the spec {}: {error}", path.display()), None)
    })?;
    RunSpec::from_json(&text).map_err(|error| usage(error.to_string(), None))
}

/// A spec that was read and makes sense.
pub fn checked(document: serde_json::Result<RunSpec>) -> Result<RunSpec, Failure> {
    let spec =
        document.map_err(SpecError::from).and_then(|spec: RunSpec| spec.check().map(|()| spec));
    spec.map_err(|error| usage(error.to_string(), None))
}

/// An invalid configuration as a failure.
pub fn config_failure(error: ConfigError) -> Failure {
    match error {
        ConfigError::NoScript { name, tried } => {
            let places: Vec<_> = tried.iter().map(|path| path.display().to_string()).collect();
            usage(
                format!("no script `{name}`"),
                Some(format!("looked for:\n  {}", places.join("\n  "))),
            )
        }
        ConfigError::Unreadable { path, error } => {
            usage(format!("cannot read the script {}: {error}", path.display()), None)
        }
        ConfigError::Option { name, found, expected } => {
            usage(format!("option `{name}` is `{found}`; expected {expected}"), None)
        }
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// How long to wait for events in flight, seconds. Those of other parts of the run wait in the same
/// queue.
fn drain_s(spec: &RunSpec) -> f64 {
    let own = || spec.groups.iter().map(|group| group.clients).sum();
    let clients: u32 = spec.part.map_or_else(own, |part| part.clients);
    // A turn waits for clients that lost their connection; the end of a run need not.
    let least = if spec.turns { DRAIN_S.max(spec.errors.reconnect_s) } else { DRAIN_S };
    spec.drain_s.unwrap_or_else(|| (f64::from(clients) * DRAIN_A_CLIENT_S).max(least))
}

/// The same after Ctrl-C or a failure, at most. A statement in process keeps its thread until it is
/// interrupted, and what a command has not done by then would not be whole either way.
fn hurried_drain_s(spec: &RunSpec) -> f64 {
    let waits = spec.command == "run" && !runtime::blocks(&spec.target);
    if waits { DRAIN_S } else { HURRIED_S }
}

/// The spec in the engine's units. A command other than `run` has no time limit.
pub fn plan(spec: &RunSpec) -> Result<Plan, Failure> {
    let load = spec.command == "run";
    let groups = spec
        .groups
        .iter()
        .map(|group| {
            let arrivals = arrivals(&group.arrival)?;
            Ok(engine::Group {
                name: group.name.clone(),
                clients: group.clients,
                arrivals,
                idle: group.idle,
                think_ns: nanoseconds(group.think_time_s),
            })
        })
        .collect::<Result<_, Failure>>()?;
    Ok(Plan {
        warm_up_ns: if load { nanoseconds(spec.warm_up_s) } else { 0 },
        measure_ns: spec.measure_s.filter(|length| load && *length > 0.0).map(nanoseconds),
        interval_ns: nanoseconds(spec.interval_s),
        drain_ns: nanoseconds(drain_s(spec)),
        patience_ns: nanoseconds(spec.drain_s.unwrap_or(DRAIN_S)),
        hurried_drain_ns: nanoseconds(hurried_drain_s(spec)),
        events: spec.events.filter(|events| load && *events > 0),
        seed: spec.seed,
        part: spec.part.map_or((0, 1), |part| (part.index, part.count)),
        wait_for_begin: spec.wait_for_begin,
        turns: spec.turns,
        groups,
        client_totals_at: None,
    })
}

fn arrivals(arrival: &Arrival) -> Result<Option<arrival::Plan>, Failure> {
    let plan = match arrival {
        Arrival::Closed => return Ok(None),
        Arrival::Constant { rate_per_s } => arrival::Plan::Constant { rate: *rate_per_s },
        Arrival::Poisson { rate_per_s } => arrival::Plan::Poisson { rate: *rate_per_s },
        Arrival::Ramp { from_per_s, to_per_s, over_s } => {
            arrival::Plan::Ramp { from: *from_per_s, to: *to_per_s, over: *over_s }
        }
        Arrival::Steps { steps } => arrival::Plan::Steps(steps.clone()),
        Arrival::Sine { mean_per_s, amplitude_per_s, period_s } => arrival::Plan::Sine {
            mean: *mean_per_s,
            amplitude: *amplitude_per_s,
            period: *period_s,
        },
        Arrival::Replay { file } => arrival::Plan::Replay(times(file)?.into()),
    };
    plan.check().map_err(|error| usage(format!("arrival: {error}"), None))?;
    Ok(Some(plan))
}

/// Reads a file of start times: seconds, one per line; empty lines and `#` comments are skipped.
fn times(file: &Path) -> Result<Vec<u64>, Failure> {
    let text = read_text(file).map_err(|error| {
        usage(format!("cannot read the times to replay, {}: {error}", file.display()), None)
    })?;
    text.lines()
        .enumerate()
        .map(|(number, line)| (number + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| match line.parse::<f64>() {
            Ok(seconds) if seconds.is_finite() && seconds >= 0.0 => Ok(nanoseconds(seconds)),
            _ => Err(usage(
                format!("{}:{number}: `{line}` is not a time in seconds", file.display()),
                None,
            )),
        })
        .collect()
}

/// What the first shard reports when it is open.
struct Chosen {
    reactor: &'static str,
    scheduling: &'static str,
    shards_bound: bool,
}

impl Default for Chosen {
    fn default() -> Self {
        Self { reactor: "none", scheduling: "other", shards_bound: false }
    }
}

impl Run {
    fn carry_out(&self, output: &mut Output) -> Outcome {
        let control = Arc::new(Control::new(&self.plan, process::system()));
        let (opened, chosen) = channel();
        let process = &self.process;
        if self.spec.turns {
            output.begin_turns();
        }
        let mut greets = true;
        let mut emit = |record: Record| {
            if std::mem::take(&mut greets) {
                // A shard that can't be made reports the reason itself.
                let chosen = chosen.recv_timeout(OPENING).unwrap_or_default();
                output.write(&self.hello(&control, chosen));
            }
            output.write(&record);
            if output.broken {
                process.interrupt();
            }
        };
        let config = Arc::clone(&self.config);
        let scheduling = shard_scheduling(&config, self.spec.scheduling);
        let binding = Binding::of(&self.spec, self.shards);
        let make: Make<ScriptWorkload> = Arc::new(move |shard, shards| {
            let scheduling = schedule(scheduling);
            let made = ScriptWorkload::new(Arc::clone(&config), shard, shards);
            let shards_bound = binding.as_ref().is_some_and(|binding| binding.bind(shard));
            if shard == 0 {
                let reactor = made.as_ref().map_or("none", ScriptWorkload::reactor_name);
                let _ = opened.send(Chosen { reactor, scheduling, shards_bound });
            }
            made
        });
        drive(&self.plan, self.shards, &control, &make, process, &mut emit)
    }

    fn hello(&self, control: &Control, chosen: Chosen) -> Record {
        Record::Hello(Hello {
            schema: record::SCHEMA,
            engine_version: env!("CARGO_PKG_VERSION").to_owned(),
            luajit_version: script::luajit_version(),
            reactor: chosen.reactor.to_owned(),
            scheduling: chosen.scheduling.to_owned(),
            clock: if control.uses_counter() { "processor" } else { "kernel" }.to_owned(),
            shards: self.shards,
            shards_bound: chosen.shards_bound,
            pid: std::process::id(),
            start_unix_ns: process::unix_ns() - control.now_ns(),
            seed: self.spec.seed,
        })
    }
}
