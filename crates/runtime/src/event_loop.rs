//! Chooses and opens the shards' event loop.

use engine::Failure;
use reactor::{Choice, Reactor};
use record::{FatalKind, ReactorChoice, RunSpec};

/// The event loop a spec asks for.
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
/// The machine does not support it.
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

/// The name of the event loop that a spec's shards will use here: `io_uring`, `epoll`, or `none`
/// for an in-process database. Opens and closes it to be sure.
///
/// # Errors
/// The machine does not support the event loop that the spec asks for.
pub fn reactor_name(spec: &RunSpec) -> Result<&'static str, Failure> {
    match spec.target.server() {
        Some(_) => open(choice(spec.reactor)).map(|reactor| reactor.name()),
        None => Ok("none"),
    }
}
