//! `dbdyno-engine`: one measured run, from a spec to a stream of records.
//!
//! The only crate that prints, reads the environment, handles signals or exits. Records go to
//! standard output, messages for people to standard error.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the one crate that prints")]

mod binding;
mod endpoint;
mod exit;
mod files;
mod libpq;
mod memory;
mod output;
mod plan;
mod process;
mod run;
mod scheduling;
mod shards;
mod speed;
mod sysbench;
mod terminal;
mod watch;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The load engine of dbdyno.
#[derive(Parser)]
#[command(name = "dbdyno-engine", version, about, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run a spec (JSON) and write records, one JSON object per line.
    ///
    /// With `-` the spec is read from standard input, and the engine ends with its parent.
    Run {
        /// The spec's file, or `-`.
        spec: PathBuf,
    },
    /// Print what `run` would do with specs on this machine, each as one JSON object: processes,
    /// shards, connections, open files, memory.
    ///
    /// It connects to no server, and executes scripts only with `--scripts`. A spec that `run`
    /// would refuse is answered with a `fatal` record.
    Plan {
        /// Read the scripts too, and print what they say of their data (`dbdyno.volume`).
        #[arg(long)]
        scripts: bool,
        /// Engine processes that share the run; default: as few as may open all their files.
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
        processes: Option<u32>,
        /// The spec's file, or `-` for specs on standard input, one after the other.
        spec: PathBuf,
    },
    /// Measure how fast each processor is, in bursts of some 8 µs every 20 ms, until standard
    /// input ends.
    ///
    /// Each line `FROM_UNIX_NS TO_UNIX_NS` is answered with a JSON list: the mean speed of each
    /// processor in that stretch, in rounds of known work per µs.
    Speed,
    /// Behave as the sysbench command with the same arguments.
    ///
    /// The program also does so when called by the name `sysbench`.
    #[command(disable_help_flag = true)]
    Sysbench {
        /// As for sysbench.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Print the engine's version, the schema of its specs and records and the versions of what is
    /// part of it, as JSON.
    Version,
}

/// Threads that connect and load report a failure of their own as their request's error, in its
/// words: nothing else is printed for them.
fn leave_to_their_requests() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let thread = std::thread::current();
        if !matches!(thread.name(), Some("connector" | "loader")) {
            usual(panic);
        }
    }));
}

fn main() -> ExitCode {
    memory::keep_freed();
    leave_to_their_requests();
    let mut words = std::env::args();
    let called = words.next().unwrap_or_default();
    if called.rsplit('/').next() == Some("sysbench") {
        return sysbench::run(&words.collect::<Vec<_>>());
    }
    match Arguments::parse().verb {
        Verb::Run { spec } => run::run(&spec),
        Verb::Plan { scripts, processes, spec } => {
            plan::plan(&spec, plan::Asked { processes, scripts })
        }
        Verb::Speed => speed::speed(),
        Verb::Sysbench { arguments } => sysbench::run(&arguments),
        Verb::Version => {
            println!(
                "{}",
                serde_json::json!({
                    "engine_version": env!("CARGO_PKG_VERSION"),
                    "schema": record::SCHEMA,
                    "luajit_version": script::luajit_version(),
                    "embedded": BTreeMap::from(driver::embedded()),
                })
            );
            ExitCode::SUCCESS
        }
    }
}
