//! The sysbench command: its arguments, its report, its built-in tests.
//!
//! Arguments become a [`record::RunSpec`]; records become the text that sysbench's parsers read.
//! The engine in between is the same as for any other run. Nothing here prints or reads the
//! environment: `cli` does. Names, defaults and layouts are sysbench's; code and sentences are
//! ours.

pub mod builtin;
mod command_line;
mod config_file;
mod extras;
mod failure;
mod help;
mod histogram;
mod layout;
mod narration;
mod options;
mod plan;
mod report;
mod tally;
mod telling;
mod value;

pub use command_line::{CommandLine, Given, Refusal, Test};
pub use extras::Extras;
pub use help::{ScriptOption, global_help, script_help, test_help};
pub use options::{Kind, OPTIONS, Section, Since, Treatment, Variable};
pub use plan::{Found, Job, check, job};
pub use report::{Hooks, Report, Said};
pub use tally::Stat;
pub use telling::Words;
pub use value::{Value, Values, read};

/// The sysbench version whose command line and texts are the default.
pub const VERSION: &str = "1.0.20";
