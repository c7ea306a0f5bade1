//! Connects to a target and returns a ready session. Blocks; call it on a connector thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use record::Target;

use crate::clickhouse;
use crate::connect_error::ConnectError;
use crate::dial::{address_of, endpoint_of};
use crate::duckdb;
use crate::error::ProtocolError;
use crate::mongodb;
use crate::mysql;
use crate::null::NullSession;
use crate::postgres;
use crate::redis;
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

/// A server can send what makes a library fail instead of refusing it, such as a key that is none.
/// That is this connection's error, not the end of its thread.
fn connect_as<'a>(
    target: &'a Target,
    ordinal: u64,
    timeout: Duration,
    tell: Option<&'a mut (dyn FnMut(String) + 'a)>,
) -> Result<Connected, ConnectError> {
    let connected = catch_unwind(AssertUnwindSafe(|| connect_to(target, ordinal, timeout, tell)));
    connected.unwrap_or_else(|_| {
        let endpoint = target.server().and_then(|server| endpoint_of(server, ordinal).ok());
        let address = endpoint.map_or_else(|| target.name().to_owned(), address_of);
        let source = ProtocolError::Malformed("log-in: what it sent could not be worked with");
        Err(ConnectError::Protocol { address, source })
    })
}

fn connect_to<'a>(
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
        Target::Duckdb(target) => {
            Ok(duckdb::connect(target)?.map(|session| Session::Duckdb(Box::new(session))))
        }
        Target::Postgresql(target) => {
            let opened = postgres::connect(target, ordinal, timeout, tell)?;
            Ok(opened.map(Session::Postgres))
        }
        Target::Mysql(target) => {
            Ok(mysql::connect(target, ordinal, timeout, tell)?.map(Session::Mysql))
        }
        Target::Redis(target) => {
            Ok(redis::connect(target, ordinal, timeout, tell)?.map(Session::Redis))
        }
        Target::Mongodb(target) => {
            Ok(mongodb::connect(target, ordinal, timeout, tell)?.map(Session::Mongodb))
        }
        Target::Clickhouse(target) => {
            let opened = clickhouse::connect(target, ordinal, timeout, tell)?;
            Ok(opened.map(|session| Session::Clickhouse(Box::new(session))))
        }
        Target::Scripted { plan } => Ok(Connected {
            session: Session::Scripted(ScriptedSession::new(plan)),
            transport: Transport::None,
            server_version: "scripted".into(),
        }),
    }
}
