//! Complete examples of a spec and of every record, held in `tests/golden`.
//!
//! The lab's tests compare its own types with those files (`tests/formats/test_shapes.py`), so that
//! no field can be added on one side alone: without a new field or variant this does not compile.
//! `DBDYNO_UPDATE=1 cargo test -p record --test shapes` writes the files anew.
#![expect(clippy::unwrap_used, reason = "a test's helper fails the test")]

use std::collections::BTreeMap;
use std::path::Path;

use record::{
    Arrival, BackOff, Bind, ClientTotal, Clients, Counters, CpuTime, EnginePlan, ErrorAction,
    ErrorPolicy, ErrorRule, Fatal, FatalKind, Group, Hello, HistogramRecord, Interval, LoadBy,
    Loaded, Output, Part, Phase, PhaseName, Progress, ReactorChoice, Ready, Record, RunSpec,
    Scheduling, Subject, Summary, Target, TimeKind, Turn, Volume, Warning,
};

/// All values of an enum. `after` matches on it without a wildcard: a new variant does not compile.
fn all<T: Copy>(first: T, after: fn(T) -> Option<T>) -> Vec<T> {
    std::iter::successors(Some(first), |&value| after(value)).collect()
}

fn phases() -> Vec<PhaseName> {
    use PhaseName::{Connect, Drain, Finish, Measure, Pause, WarmUp};
    all(Connect, |phase| match phase {
        Connect => Some(WarmUp),
        WarmUp => Some(Measure),
        Measure => Some(Drain),
        Drain => Some(Pause),
        Pause => Some(Finish),
        Finish => None,
    })
}

fn subjects() -> Vec<Subject> {
    use Subject::{Event, Failed, Lag, Statement};
    all(Event, |subject| match subject {
        Event => Some(Statement),
        Statement => Some(Lag),
        Lag => Some(Failed),
        Failed => None,
    })
}

fn times() -> Vec<TimeKind> {
    use TimeKind::{Response, Service, Wait};
    all(Wait, |time| match time {
        Wait => Some(Service),
        Service => Some(Response),
        Response => None,
    })
}

fn faults() -> Vec<FatalKind> {
    use FatalKind::{Connection, Environment, Internal, Script, Statement, Usage};
    all(Usage, |kind| match kind {
        Usage => Some(Script),
        Script => Some(Connection),
        Connection => Some(Statement),
        Statement => Some(Environment),
        Environment => Some(Internal),
        Internal => None,
    })
}

fn counters() -> Counters {
    Counters {
        begun: 12,
        events: 8,
        uncounted: 1,
        reads: 6,
        writes: 5,
        other: 4,
        errors: 2,
        restarts: 1,
        unfinished: 3,
        reconnects: 1,
        redirects: 7,
        bytes_sent: 4096,
        bytes_received: 8192,
    }
}

fn cpu() -> CpuTime {
    CpuTime { user_us: 10, system_us: 20 }
}

fn errors() -> BTreeMap<String, u64> {
    BTreeMap::from([("40001".to_owned(), 2)])
}

/// One distribution of each subject and of each time.
fn histograms() -> Vec<HistogramRecord> {
    let histogram = |subject, time| HistogramRecord {
        subject,
        label: "main".to_owned(),
        time,
        count: 1,
        out_of_range: 0,
        hdr: "HISTF".to_owned(),
    };
    let by_subject = subjects().into_iter().map(|subject| histogram(subject, TimeKind::Service));
    let others = times().into_iter().filter(|time| *time != TimeKind::Service);
    by_subject.chain(others.map(|time| histogram(Subject::Event, time))).collect()
}

fn hello() -> Hello {
    Hello {
        schema: record::SCHEMA,
        engine_version: "1.2.3".to_owned(),
        luajit_version: "LuaJIT 2.1".to_owned(),
        reactor: "epoll".to_owned(),
        scheduling: "batch".to_owned(),
        clock: "processor".to_owned(),
        shards: 2,
        shards_bound: true,
        pid: 7,
        start_unix_ns: 1_700_000_000_000_000_000,
        seed: 42,
    }
}

fn interval(phase: PhaseName) -> Interval {
    Interval {
        index: 1,
        phase,
        turn: Some(0),
        start_ns: 1_000,
        end_ns: 2_000,
        clients: 4,
        busy: 3,
        counters: counters(),
        errors: errors(),
        backlog: 5,
        cpu: cpu(),
        histograms: histograms(),
    }
}

fn turn() -> Turn {
    Turn {
        index: 0,
        begin_ns: 500,
        measure_ns: 1_000,
        end_ns: 2_000,
        drained_ns: 2_100,
        interrupted: true,
        clients: 4,
        measured: counters(),
        total: counters(),
        errors: errors(),
        backlog: 5,
        censored: 6,
        cpu: cpu(),
        total_cpu: cpu(),
        histograms: histograms(),
    }
}

fn summary() -> Summary {
    Summary {
        interrupted: true,
        start_ns: 1_000,
        end_ns: 2_000,
        measured_ns: 900,
        measured: counters(),
        total: counters(),
        errors: errors(),
        backlog: 5,
        censored: 6,
        cpu: cpu(),
        rss_peak_kb: 2048,
        rss_kb: 1024,
        clients: 4,
        histograms: histograms(),
    }
}

fn fatal(kind: FatalKind) -> Record {
    let (hint, traceback) = (Some("try this".to_owned()), Some("line 1".to_owned()));
    Record::Fatal(Fatal {
        kind,
        message: "it failed".to_owned(),
        hint,
        traceback,
        callback: Some("done".to_owned()),
    })
}

/// The examples of the kind behind the one given; `None` asks for the first.
fn after(record: Option<&Record>) -> Vec<Record> {
    match record {
        None => vec![Record::Hello(hello())],
        Some(Record::Hello(_)) => {
            phases().into_iter().map(|phase| Record::Phase(Phase { phase, at_ns: 1 })).collect()
        }
        Some(Record::Phase(_)) => {
            let what = "rows".to_owned();
            vec![Record::Progress(Progress { what, done: 1, total: 2, at_ns: 1 })]
        }
        Some(Record::Progress(_)) => vec![Record::Ready(Ready { at_ns: 1 })],
        Some(Record::Ready(_)) => vec![Record::Output(Output { text: "hello".to_owned() })],
        Some(Record::Output(_)) => vec![Record::Loaded(Loaded { table: "t".to_owned(), rows: 3 })],
        Some(Record::Loaded(_)) => {
            phases().into_iter().map(|phase| Record::Interval(Box::new(interval(phase)))).collect()
        }
        Some(Record::Interval(_)) => vec![Record::Turn(Box::new(turn()))],
        Some(Record::Turn(_)) => {
            let busy = ClientTotal {
                number: 0,
                events: 2,
                busy_ns: 30,
                min_ns: 10,
                max_ns: 20,
                last_ns: 40,
            };
            vec![Record::Clients(Clients { at_ns: 50, last: true, clients: vec![busy] })]
        }
        Some(Record::Clients(_)) => {
            let (code, message) = ("client-bound".to_owned(), "it is".to_owned());
            vec![Record::Warning(Warning { code, message, hint: Some("try this".to_owned()) })]
        }
        Some(Record::Warning(_)) => faults().into_iter().map(fatal).collect(),
        Some(Record::Fatal(_)) => vec![Record::Summary(Box::new(summary()))],
        Some(Record::Summary(_)) => Vec::new(),
    }
}

fn records() -> Vec<Record> {
    let mut found = after(None);
    loop {
        let more = after(found.last());
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

fn actions() -> Vec<ErrorAction> {
    use ErrorAction::{EndLoad, Ignore, Reconnect, RestartEvent, Retry, Stop};
    all(Ignore, |action| match action {
        Ignore => Some(RestartEvent),
        RestartEvent => Some(Retry),
        Retry => Some(Reconnect),
        Reconnect => Some(EndLoad),
        EndLoad => Some(Stop),
        Stop => None,
    })
}

fn arrivals() -> Vec<Arrival> {
    let after = |arrival: &Arrival| match arrival {
        Arrival::Closed => Some(Arrival::Constant { rate_per_s: 10.0 }),
        Arrival::Constant { .. } => Some(Arrival::Poisson { rate_per_s: 10.0 }),
        Arrival::Poisson { .. } => {
            Some(Arrival::Ramp { from_per_s: 1.0, to_per_s: 2.0, over_s: 3.0 })
        }
        Arrival::Ramp { .. } => Some(Arrival::Steps { steps: vec![(1.0, 10.0), (2.0, 20.0)] }),
        Arrival::Steps { .. } => {
            Some(Arrival::Sine { mean_per_s: 10.0, amplitude_per_s: 5.0, period_s: 2.0 })
        }
        Arrival::Sine { .. } => Some(Arrival::Replay { file: "/times".into() }),
        Arrival::Replay { .. } => None,
    };
    std::iter::successors(Some(Arrival::Closed), after).collect()
}

fn group(arrival: Arrival) -> Group {
    Group {
        name: "main".to_owned(),
        script: "script".to_owned(),
        script_path: vec!["/folder".into()],
        options: BTreeMap::from([("tables".to_owned(), 1.into())]),
        clients: 4,
        arrival,
        idle: true,
        think_time_s: 0.5,
        reconnect_every: 9,
        reconnect_every_turns: 3,
        target: Some(Target::Null),
    }
}

/// Complete but for the target, of which only a real server can tell.
fn spec() -> RunSpec {
    let rule = |action| ErrorRule { codes: vec!["40".to_owned()], action, limit: 3 };
    RunSpec {
        schema: record::SCHEMA,
        command: "run".to_owned(),
        target: Target::Null,
        groups: arrivals().into_iter().map(group).collect(),
        warm_up_s: 1.0,
        measure_s: Some(2.0),
        events: Some(10),
        interval_s: 1.0,
        drain_s: Some(5.0),
        seed: 1,
        shards: Some(2),
        reactor: ReactorChoice::Auto,
        scheduling: Scheduling::Batch,
        bind: Bind::Auto,
        load: LoadBy::Auto,
        loaders: Some(2),
        connect_timeout_s: 10.0,
        errors: ErrorPolicy {
            rules: actions().into_iter().map(rule).collect(),
            reconnect_s: 60.0,
            back_off_ms: 10,
        },
        part: Some(Part { index: 0, count: 2, clients: 8 }),
        wait_for_begin: true,
        turns: true,
    }
}

fn specs() -> Vec<RunSpec> {
    let reactors = all(ReactorChoice::Auto, |reactor| match reactor {
        ReactorChoice::Auto => Some(ReactorChoice::IoUring),
        ReactorChoice::IoUring => Some(ReactorChoice::Epoll),
        ReactorChoice::Epoll => None,
    });
    let schedulings = all(Scheduling::Batch, |scheduling| match scheduling {
        Scheduling::Batch => Some(Scheduling::Inherit),
        Scheduling::Inherit => None,
    });
    let reactors = reactors.into_iter().map(|reactor| RunSpec { reactor, ..spec() });
    let schedulings = schedulings.into_iter().map(|scheduling| RunSpec { scheduling, ..spec() });
    let binds = all(Bind::Auto, |bind| match bind {
        Bind::Auto => Some(Bind::None),
        Bind::None => Some(Bind::Each),
        Bind::Each => None,
    });
    let binds = binds.into_iter().map(|bind| RunSpec { bind, ..spec() });
    reactors.chain(schedulings).chain(binds).collect()
}

fn volume() -> Volume {
    Volume {
        rows: Some(10_000),
        bytes: Some(2_600_000),
        event_bytes: 260.5,
        event_s: Some(0.002),
        statements: 9,
    }
}

fn plan() -> EnginePlan {
    EnginePlan {
        schema: record::SCHEMA,
        engine_version: "1.2.3".to_owned(),
        clients: 1000,
        processes: 2,
        shards: 4,
        shards_bound: true,
        reactor: "epoll".to_owned(),
        loaders: 3,
        connectors: 16,
        connecting: 128,
        connections: 1003,
        open_files: 1500,
        open_files_limit: Some(2000),
        open_files_of_all: 3000,
        memory_bytes_per_client: 20_000,
        memory_bytes: 40_000_000,
        is_local: true,
        back_off: BackOff { first_ms: 10, longest_ms: 250, give_up_s: 60.0 },
        volumes: vec![None, Some(volume())],
    }
}

fn check(name: &str, lines: &[String]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    if std::env::var_os("DBDYNO_UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(kept == text, "{name} is not what the types say: write it anew with DBDYNO_UPDATE=1");
}

#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn the_files_that_the_lab_compares_itself_with_are_what_these_types_write() {
    let json = |value| serde_json::to_string(&value).unwrap();
    let records = records();
    let specs = specs();
    check(
        "records.ndjson",
        &records.iter().map(|r| json(serde_json::json!(r))).collect::<Vec<_>>(),
    );
    check("plans.ndjson", &[json(serde_json::json!(plan()))]);
    check("specs.ndjson", &specs.iter().map(|s| json(serde_json::json!(s))).collect::<Vec<_>>());
}

#[test]
fn every_example_is_read_back_as_it_was() {
    for record in records() {
        let line = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record, "{line}");
    }
    for spec in specs() {
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<RunSpec>(&text).unwrap(), spec, "{text}");
    }
}
