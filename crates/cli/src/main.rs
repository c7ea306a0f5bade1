//! `dbdyno-engine`: one measured run, from a spec to a stream of records.
//!
//! The only crate that prints, reads the environment, handles signals or exits. Records go to
//! standard output, everything for people to standard error.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::exit)]

mod exit;
mod output;
mod process;
mod run;

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
    /// Carry out a run spec (JSON) and write records, one JSON object a line.
    ///
    /// With `-` the spec is read from standard input, and the engine ends with its parent.
    Run {
        /// The spec's file, or `-`.
        spec: PathBuf,
    },
    /// Print the engine's version and the schema of its specs and records, as JSON.
    Version,
}

fn main() -> ExitCode {
    match Arguments::parse().verb {
        Verb::Run { spec } => run::run(&spec),
        Verb::Version => {
            println!(
                "{}",
                serde_json::json!({
                    "engine_version": env!("CARGO_PKG_VERSION"),
                    "schema": record::SCHEMA,
                    "luajit_version": script::luajit_version(),
                })
            );
            ExitCode::SUCCESS
        }
    }
}
