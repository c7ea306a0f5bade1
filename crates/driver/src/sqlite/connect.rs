//! Opens a target's file.

use std::thread;
use std::time::{Duration, Instant};

use record::SqliteTarget;
use rusqlite::{Connection, OpenFlags};

use super::raw;
use super::session::SqliteSession;
use crate::connect_error::ConnectError;
use crate::error::ServerError;
use crate::reply::{Reply, RowCursor};
use crate::transport::{Opened, Transport};

/// Pause before retrying a pragma that met a lock.
const LOCK_PAUSE: Duration = Duration::from_millis(2);

/// Opens the file and applies the pragmas in order; `timeout` bounds how long they wait for locks.
pub(crate) fn connect(
    target: &SqliteTarget,
    timeout: Duration,
) -> Result<Opened<SqliteSession>, ConnectError> {
    let address = target.path.display().to_string();
    let mut session =
        open(target).map_err(|error| ConnectError::Refused { address: address.clone(), error })?;
    let deadline = Instant::now() + timeout;
    for (name, value) in &target.pragmas {
        if !is_known(&mut session, name) {
            let what = format!("SQLite {} has no pragma `{name}`", rusqlite::version());
            return Err(ConnectError::Unsupported { address, what });
        }
        let refused = |error| ConnectError::Refused { address: address.clone(), error };
        let reply = apply(&mut session, name, value, deadline).map_err(refused)?;
        if name.eq_ignore_ascii_case("journal_mode") {
            check_journal_mode(&session, &reply, value)
                .map_err(|what| ConnectError::Unsupported { address: address.clone(), what })?;
        }
    }
    Ok(Opened { session, transport: Transport::None, server_version: rusqlite::version().into() })
}

fn open(target: &SqliteTarget) -> Result<SqliteSession, ServerError> {
    // No mutex: a session is used by one thread at a time.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(&target.path, flags).and_then(|connection| {
        let limit = target.busy_timeout_ms.min(i32::MAX as u32);
        connection.busy_timeout(Duration::from_millis(u64::from(limit)))?;
        Ok(connection)
    });
    match opened {
        Ok(connection) => Ok(SqliteSession::new(connection)),
        Err(error) => {
            let code = error
                .sqlite_error()
                .map_or(rusqlite::ffi::SQLITE_ERROR, |error| error.extended_code);
            Err(raw::failure(code, error.to_string()))
        }
    }
}

/// SQLite ignores unknown pragmas; a study that sets one would compare nothing.
fn is_known(session: &mut SqliteSession, name: &str) -> bool {
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name {
        return false;
    }
    let sql = format!("SELECT 1 FROM pragma_pragma_list WHERE name = lower('{name}')");
    session.query(sql.as_bytes()).rows > 0
}

/// Some pragmas (`journal_mode`) fail on a lock without calling the busy handler.
fn apply(
    session: &mut SqliteSession,
    name: &str,
    value: &str,
    deadline: Instant,
) -> Result<Reply, ServerError> {
    let sql = format!("PRAGMA {name} = {value}");
    loop {
        let mut reply = session.query(sql.as_bytes());
        match reply.error.take() {
            None => return Ok(reply),
            Some(error) if error.transient && Instant::now() < deadline => {
                thread::sleep(LOCK_PAUSE);
            }
            Some(error) => {
                let message = format!("{sql}: {}", error.message);
                return Err(ServerError { message, ..*error });
            }
        }
    }
}

/// The pragma returns the mode in effect, which may be the old one.
fn check_journal_mode(session: &SqliteSession, reply: &Reply, wanted: &str) -> Result<(), String> {
    let mut found = String::new();
    session.row(&mut RowCursor::default(), |value| {
        found = String::from_utf8_lossy(value.unwrap_or_default()).into_owned();
    });
    let wanted = wanted.trim_matches(['\'', '"']);
    if reply.rows == 1 && !found.eq_ignore_ascii_case(wanted) {
        return Err(format!("journal_mode is `{found}`; expected `{wanted}`"));
    }
    Ok(())
}
