//! Which event loop the shards of a spec have.

use engine::Failure;
use reactor::{Choice, Reactor};
use record::{FatalKind, ReactorChoice, RunSpec};

/// The event loop that a spec asks for.
pub(crate) fn choice(wanted: ReactorChoice) -> Choice {
    match wanted {
        ReactorChoice::Auto => Choice::Auto,
        ReactorChoice::IoUring => Choice::IoUring,
        ReactorChoice::Epoll => Choice::Epoll,
    }
}

/// Opens an event loop.
///
/// # Errors
/// A machine without it.
pub(crate) fn open(wanted: Choice) -> Result<Reactor, Failure> {
    Reactor::new(wanted).map_err(|error| Failure {
        kind: FatalKind::Environment,
        message: format!("no event loop: {error}"),
        hint: Some(
            "choose another one, or raise the limits of open files and locked memory".to_owned(),
        ),
        traceback: None,
    })
}

/// `io_uring`, `epoll`, or `none` where the database is in this process: what the shards of a spec
/// will have here. It is opened, to be sure, and closed.
///
/// # Errors
/// A machine without the one that the spec asks for.
pub fn reactor_name(spec: &RunSpec) -> Result<&'static str, Failure> {
    match spec.target.server() {
        Some(_) => open(choice(spec.reactor)).map(|reactor| reactor.name()),
        None => Ok("none"),
    }
}
