//! Connects to a target and returns a ready session. Blocks; call it on a connector thread.

use std::time::Duration;

use record::Target;

use crate::connect_error::ConnectError;
use crate::mysql;
use crate::null::NullSession;
use crate::postgres;
use crate::scripted::ScriptedSession;
use crate::session::Session;
use crate::sqlite;
use crate::transport::{Opened, Transport};

/// A ready session with any kind of database.
pub type Connected = Opened<Session>;

/// Connects, authenticates and sets the session up.
///
/// `ordinal` is the connection's number within the run, from 0: it chooses the endpoint
/// (round-robin). `timeout` is for the whole attempt, authentication included.
///
/// # Errors
/// [`ConnectError`], with the address tried.
pub fn connect(
    target: &Target,
    ordinal: u64,
    timeout: Duration,
) -> Result<Connected, ConnectError> {
    connect_as(target, ordinal, timeout, None)
}

/// [`connect`], which may be the run's first connection to its endpoint, by its ordinal: if that
/// server keeps us waiting, it is probed for its kind, and `tell` gets messages about the wait.
///
/// # Errors
/// As [`connect`].
pub fn connect_telling(
    target: &Target,
    ordinal: u64,
    timeout: Duration,
    tell: &mut dyn FnMut(String),
) -> Result<Connected, ConnectError> {
    let endpoints = target.server().map_or(0, |server| server.endpoints.len() as u64);
    let tell: &mut dyn FnMut(String) = tell;
    connect_as(target, ordinal, timeout, (ordinal < endpoints).then_some(tell))
}

fn connect_as<'a>(
    target: &'a Target,
    ordinal: u64,
    timeout: Duration,
    tell: Option<&'a mut (dyn FnMut(String) + 'a)>,
) -> Result<Connected, ConnectError> {
    match target {
        Target::Null => Ok(Connected {
            session: Session::Null(NullSession::default()),
            transport: Transport::None,
            server_version: "null".into(),
        }),
        Target::Sqlite(target) => Ok(sqlite::connect(target, timeout)?.map(Session::Sqlite)),
        Target::Postgresql(target) => {
            let opened = postgres::connect(target, ordinal, timeout, tell)?;
            Ok(opened.map(Session::Postgres))
        }
        Target::Mysql(target) => {
            Ok(mysql::connect(target, ordinal, timeout, tell)?.map(Session::Mysql))
        }
        Target::Scripted { plan } => Ok(Connected {
            session: Session::Scripted(ScriptedSession::new(plan)),
            transport: Transport::None,
            server_version: "scripted".into(),
        }),
    }
}
