//! The interface between the engine and the lab: a run spec goes in, a stream of records comes out.
//!
//! Both are JSON. A spec is one document; records are one JSON object a line, each with a `record`
//! field that names its kind. The types here are for that border only: they carry units in their
//! names, are versioned by [`SCHEMA`], and are converted to and from inner types at once.
#![forbid(unsafe_code)]

mod answer;
mod check;
mod order;
mod schema;
mod scripted;
mod spec;
mod stream;
mod target;

pub use answer::{BackOff, EnginePlan, Volume};
pub use check::{CLIENTS_MAX, SpecError};
pub use order::{Order, OrderError, TurnOrder};
pub use schema::SCHEMA;
pub use scripted::{PlannedError, ScriptedPlan, Stretch};
pub use spec::{
    Arrival, Bind, DuckdbTarget, Endpoint, ErrorAction, ErrorPolicy, ErrorRule, Group, LoadBy,
    Part, ReactorChoice, RunSpec, Scheduling, ServerTarget, SqliteTarget, Target, Tls, TlsMode,
};
pub use stream::{
    ClientTotal, Clients, Counters, CpuTime, Fatal, FatalKind, Hello, HistogramRecord, Interval,
    Loaded, Output, Phase, PhaseName, Progress, Ready, Record, Subject, Summary, TimeKind, Turn,
    Warning,
};
