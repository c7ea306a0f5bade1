//! Exit codes: one per kind of failure, the same as the lab's; and those of the verb `sysbench`.

use std::process::ExitCode;

use engine::Outcome;
use record::FatalKind;

/// Ended by a signal.
pub const INTERRUPTED: u8 = 130;
/// Under the verb `sysbench`, for any failure.
pub const FAILED: u8 = 1;
/// Also there: clients were not ready in time, or events were abandoned.
pub const FORCED: u8 = 2;

/// The code of a failure.
pub fn code_of(kind: FatalKind) -> u8 {
    match kind {
        FatalKind::Usage => 2,
        FatalKind::Script => 3,
        FatalKind::Connection => 4,
        FatalKind::Statement => 5,
        FatalKind::Environment => 6,
        FatalKind::Internal => 70,
    }
}

/// Reports that standard output is closed.
pub fn without_output(error: &std::io::Error) -> ExitCode {
    eprintln!("error: standard output is closed: {error}");
    ExitCode::from(code_of(FatalKind::Environment))
}

/// The code of a whole run.
pub fn of(outcome: &Outcome) -> ExitCode {
    match outcome {
        Outcome::Done => ExitCode::SUCCESS,
        Outcome::Interrupted => ExitCode::from(INTERRUPTED),
        Outcome::Failed(failure) => ExitCode::from(code_of(failure.kind)),
    }
}
