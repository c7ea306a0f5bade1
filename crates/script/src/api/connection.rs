//! Connections: `drv:connect`, `con:query`, `con:prepare`.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::{pipeline, slot_argument};
use crate::client::Waiting;
use crate::conclude::{Conclusion, push_conclusion};
use crate::host::current;
use crate::lua::{self, State, set_function};
use crate::reconnect::{connect_failure, fresh};
use crate::slot::Purpose;
use crate::telling;

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: the caller's: the table is on top of the stack.
    unsafe {
        set_function(state, c"driver_name", driver_name);
        set_function(state, c"connect", connect);
        set_function(state, c"disconnect", disconnect);
        set_function(state, c"reconnect", reconnect);
        set_function(state, c"query", query);
        set_function(state, c"prepare", prepare);
        set_function(state, c"failure", failure);
    }
}

/// The name scripts know the driver by.
unsafe extern "C-unwind" fn driver_name(state: *mut State) -> c_int {
    use record::Target;
    let config = &current().config;
    let name = match config.target {
        Target::Null => "null",
        Target::Scripted { .. } => "scripted",
        Target::Sqlite(_) => "sqlite",
        Target::Postgresql(_) => "pgsql",
        Target::Mysql(_) => "mysql",
    };
    let name = config.surroundings.driver.as_deref().unwrap_or(name);
    // SAFETY: a live state.
    unsafe { lua::push_bytes(state, name.as_bytes()) };
    1
}

/// Returns the new connection's slot, or false.
unsafe extern "C-unwind" fn connect(state: *mut State) -> c_int {
    let host = current();
    let ordinal = host.connections * u64::from(host.shards) + u64::from(host.shard);
    host.connections += 1;
    let client = host.current_id();
    if let Some(connector) = &host.connector {
        connector.connect(fresh(client), ordinal);
        host.clients[client as usize].waiting = Waiting::Connection;
        // SAFETY: called from a coroutine.
        return unsafe { ffi::lua_yield(state, 0) };
    }
    let outcome = driver::connect(&host.config.target, ordinal, host.config.connect_timeout)
        .map_err(|error| {
            host.tell(|target| telling::connection(target, &error));
            connect_failure(&error)
        })
        .and_then(|connected| host.adopt_connection(client, ordinal, connected));
    // SAFETY: a live state.
    unsafe {
        match outcome {
            Ok(slot) => ffi::lua_pushinteger(state, slot as ffi::lua_Integer),
            Err(failure) => {
                host.cause = Some(failure);
                ffi::lua_pushboolean(state, 0);
            }
        }
    }
    1
}

unsafe extern "C-unwind" fn disconnect(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    let slot = unsafe { slot_argument(state, 1) };
    // SAFETY: as above.
    unsafe { pipeline::forbid(state, slot) };
    current().drop_slot(slot);
    0
}

/// Drops the connection and makes it anew, statements included; the event goes on.
unsafe extern "C-unwind" fn reconnect(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let index = slot_argument(state, 1);
        pipeline::forbid(state, index);
        let host = current();
        host.reconnect_at_will(index);
        finish(state, index, Conclusion::Later)
    }
}

/// Returns the conclusion's value, or suspends the client until there is one.
pub(crate) unsafe fn finish(state: *mut State, slot: u32, conclusion: Conclusion) -> c_int {
    let host = current();
    // SAFETY: the caller's: within a function that Lua called.
    unsafe {
        if conclusion == Conclusion::Later {
            host.wait_for_reply(slot);
            return ffi::lua_yield(state, 0);
        }
        push_conclusion(host, state, slot, conclusion);
    }
    1
}

/// Sends a request on a slot; see [`finish`] for what it returns.
#[inline]
pub(crate) unsafe fn transmit(
    state: *mut State,
    index: u32,
    purpose: Purpose,
    encode: impl FnOnce(
        &mut driver::Session,
        &mut Vec<u8>,
    ) -> Result<driver::Sent, driver::ProtocolError>,
) -> c_int {
    let host = current();
    if host.slot(index).is_some_and(|slot| slot.broken) {
        let conclusion = host.lost(index, "the server closed it between two statements");
        // SAFETY: the caller's.
        return unsafe { finish(state, index, conclusion) };
    }
    if host.slot(index).is_some_and(|slot| slot.pipeline.is_some()) {
        // SAFETY: the caller's.
        return unsafe { pipeline::join(state, index, purpose, encode) };
    }
    match host.send(index, purpose, encode) {
        Ok(None) => {
            host.wait_for_reply(index);
            // SAFETY: the caller's: within a coroutine.
            unsafe { ffi::lua_yield(state, 0) }
        }
        Ok(Some(reply)) => {
            let now = host.load().now();
            let conclusion = host.conclude(index, reply, now);
            // SAFETY: the caller's.
            unsafe { finish(state, index, conclusion) }
        }
        // SAFETY: the caller's; nothing with a destructor is alive.
        Err(error) => unsafe { object(state, &error) },
    }
}

/// Raises the session's own objection to a request. It holds no memory of its own.
pub(crate) unsafe fn object(state: *mut State, error: &driver::ProtocolError) -> ! {
    let message = format!("SQL API error: {error}");
    // SAFETY: the caller's: nothing with a destructor is alive.
    unsafe {
        lua::push_bytes(state, message.as_bytes());
        drop(message);
        ffi::lua_error(state)
    }
}

/// `host.query(slot, text)`.
unsafe extern "C-unwind" fn query(state: *mut State) -> c_int {
    // SAFETY: called by the prelude; the text stays on the stack until it has been copied.
    unsafe {
        let index = slot_argument(state, 1);
        let Some(sql) = lua::bytes(state, 2) else {
            lua::raise(state, "con:query() needs the statement's text")
        };
        note_effect(index, sql);
        transmit(state, index, Purpose::Statement, |session, out| session.query(sql, out))
    }
}

/// Connections that carry rows beside this one have to know what it has done.
fn note_effect(index: u32, sql: &[u8]) {
    let host = current();
    if host.config.loads
        && let Some(slot) = host.slot(index)
    {
        slot.surroundings.note(sql);
    }
}

/// `host.prepare(slot, text)`: returns a statement or false.
unsafe extern "C-unwind" fn prepare(state: *mut State) -> c_int {
    // SAFETY: as `query`.
    unsafe {
        let index = slot_argument(state, 1);
        let Some(sql) = lua::bytes(state, 2) else {
            lua::raise(state, "con:prepare() needs the statement's text")
        };
        pipeline::forbid(state, index);
        note_effect(index, sql);
        let mut prepared = driver::StatementId(0);
        let out = send_prepare(index, sql, &mut prepared);
        match out {
            Prepared::Waiting => {
                current().wait_for_reply(index);
                ffi::lua_yield(state, 0)
            }
            Prepared::Concluded(conclusion) => finish(state, index, conclusion),
        }
    }
}

enum Prepared {
    Waiting,
    Concluded(Conclusion),
}

/// The statement's id is known only when the request is encoded, and the reply needs it.
fn send_prepare(index: u32, sql: &[u8], id: &mut driver::StatementId) -> Prepared {
    let host = current();
    if host.slot(index).is_some_and(|slot| slot.broken) {
        return Prepared::Concluded(host.lost(index, "the server closed it"));
    }
    let sent = host.send(index, Purpose::Close, |session, out| {
        let (prepared, sent) = session.prepare(sql, out)?;
        *id = prepared;
        Ok(sent)
    });
    if let Some(slot) = host.slot(index) {
        slot.purpose = Purpose::Prepare(*id);
    }
    match sent {
        Ok(None) => Prepared::Waiting,
        Ok(Some(reply)) => {
            let now = host.load().now();
            Prepared::Concluded(host.conclude(index, reply, now))
        }
        Err(error) => Prepared::Concluded(host.lost(index, &error.to_string())),
    }
}

/// `host.failure(text, executed)`: what to do about the statement that just failed: action, number,
/// state, message. The statement's text is nil where it is not known.
unsafe extern "C-unwind" fn failure(state: *mut State) -> c_int {
    use record::ErrorAction;
    let host = current();
    let failed = host.failed.take();
    // SAFETY: a live state with room for four values.
    unsafe {
        let Some(failed) = failed else {
            lua::raise(state, "SQL API error: nothing has failed");
        };
        if failed.decision.action == ErrorAction::Stop {
            let (text, executed) = (lua::bytes(state, 1), ffi::lua_toboolean(state, 2) != 0);
            host.tell(|target| telling::statement(target, &failed, text, executed));
        }
        let id = host.current;
        host.clients[id].limit = failed.decision.limit;
        host.clients[id].back_off = failed.decision.action == ErrorAction::Retry;
        let action: &[u8] = match failed.decision.action {
            ErrorAction::Ignore => b"ignore",
            ErrorAction::Stop => b"stop",
            ErrorAction::RestartEvent | ErrorAction::Retry | ErrorAction::Reconnect => b"restart",
        };
        lua::push_bytes(state, action);
        ffi::lua_pushinteger(state, failed.number as ffi::lua_Integer);
        lua::push_bytes(state, failed.sqlstate.as_bytes());
        lua::push_bytes(state, failed.message.as_bytes());
    }
    4
}
