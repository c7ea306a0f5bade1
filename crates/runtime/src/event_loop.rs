//! Chooses and opens the shards' event loop.

use engine::Failure;
use reactor::{Choice, Reactor};
use record::{FatalKind, ReactorChoice, RunSpec};

use crate::shard_count::each_client_has_a_shard;
use crate::share::Share;
use crate::sizing::{Machine, share_of};

/// The event loop of shards that carry out such a share of a spec.
pub(crate) fn choice(spec: &RunSpec, share: Share, cores: u32) -> Choice {
    match spec.reactor {
        // io_uring is cheaper by what it does for several replies at once. A shard with one client
        // never has several, and beside its backend epoll was faster (`bench/notes.md`).
        ReactorChoice::Auto if each_client_has_a_shard(spec, share, cores) => Choice::Epoll,
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
        Some(_) => {
            let share = share_of(spec, machine, processes);
            open(choice(spec, share, machine.cores)).map(|reactor| reactor.name())
        }
        None => Ok("none"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Machine = Machine { cores: 8, open_files_limit: None };
    const LOCAL: &str = r#"{"unix": "/s"}"#;
    const FAR: &str = r#"{"tcp": {"host": "db.example", "port": 1}}"#;

    fn chosen(
        driver: &str,
        endpoint: &str,
        clients: u32,
        more: &str,
        processes: Option<u32>,
    ) -> Choice {
        let spec = RunSpec::from_json(&format!(
            r#"{{"schema": 2, {more} "groups": [{{"script": "s", "clients": {clients}}}],
                "target": {{"driver": "{driver}", "user": "u", "database": "d",
                            "endpoints": [{endpoint}]}}}}"#
        ))
        .unwrap();
        choice(&spec, share_of(&spec, ANY, processes), ANY.cores)
    }

    #[test]
    fn shards_with_one_client_beside_its_backend_wait_by_epoll() {
        let beside =
            |clients, more, processes| chosen("postgresql", LOCAL, clients, more, processes);
        assert_eq!([1, 16].map(|n| beside(n, "", None)), [Choice::Epoll; 2]);
        assert_eq!([17, 1000].map(|n| beside(n, "", None)), [Choice::Auto; 2], "come together");
        let of_two = |processes| beside(4, r#""shards": 2,"#, processes);
        assert_eq!([of_two(None), of_two(Some(2))], [Choice::Auto, Choice::Epoll]);
        assert_eq!(chosen("postgresql", FAR, 1, "", None), Choice::Auto);
        assert_eq!(chosen("mysql", LOCAL, 1, "", None), Choice::Auto);
    }

    #[test]
    fn what_is_asked_for_goes_before_the_rule() {
        let asked = |driver, name: &str| {
            chosen(driver, LOCAL, 1, &format!(r#""reactor": "{name}","#), None)
        };
        assert_eq!(asked("postgresql", "io-uring"), Choice::IoUring);
        assert_eq!(asked("mysql", "epoll"), Choice::Epoll);
    }
}
