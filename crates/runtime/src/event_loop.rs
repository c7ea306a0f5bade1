//! Opens the shards' event loop.

use engine::Failure;
use reactor::{Choice, Reactor};
use record::{FatalKind, RunSpec};

use crate::sizing::{Machine, planned_event_loop};

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

/// The name of the event loop that a spec's shards will use here, divided as `plan` says:
/// `io_uring`, `epoll`, or `none` for an in-process database. Opens and closes it to be sure.
///
/// # Errors
/// The machine does not support the event loop that the spec asks for.
pub fn reactor_name(
    spec: &RunSpec,
    machine: Machine,
    processes: Option<u32>,
) -> Result<&'static str, Failure> {
    match spec.target.server() {
        Some(_) => open(planned_event_loop(spec, machine, processes)).map(|reactor| reactor.name()),
        None => Ok("none"),
    }
}
