//! Exit codes: one a kind of failure, the same as the lab's.

use std::process::ExitCode;

use engine::Outcome;
use record::FatalKind;

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

/// The code of a whole run.
pub fn of(outcome: &Outcome) -> ExitCode {
    match outcome {
        Outcome::Done => ExitCode::SUCCESS,
        Outcome::Interrupted => ExitCode::from(130),
        Outcome::Failed(failure) => ExitCode::from(code_of(failure.kind)),
    }
}
