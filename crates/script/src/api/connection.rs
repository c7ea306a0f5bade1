//! Connections: `drv:connect`, `con:query`, `con:prepare`.

use std::ffi::c_int;

use mlua_sys as ffi;
use record::Endpoint;

use super::argument::slot_argument;
use super::pipeline;
use super::returned::{finish, push_connection};
use super::waiting::{may_pause, may_wait};
use crate::host::{with, with_view};
use crate::lua::{self, State, set_function};

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: upheld by the caller: the table is on top of the stack.
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

/// The driver's name, as scripts know it.
unsafe extern "C-unwind" fn driver_name(state: *mut State) -> c_int {
    let config = with(|host| std::sync::Arc::clone(&host.config));
    let known = config.connections.target.name();
    let name = config.context.driver.as_deref().unwrap_or(known);
    // SAFETY: a live state.
    unsafe { lua::push_bytes(state, name.as_bytes()) };
    1
}

/// `host.connect(address)`: opens a connection, to a server like the target's at another address
/// (`host:port`) if one is given; returns its slot, or false.
unsafe extern "C-unwind" fn connect(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    let endpoint = unsafe {
        may_wait(state);
        if ffi::lua_type(state, 1) == ffi::LUA_TSTRING {
            let Some(endpoint) = lua::bytes(state, 1).and_then(endpoint_of) else {
                lua::raise(state, "an address is `host:port`")
            };
            Some(endpoint)
        } else {
            None
        }
    };
    let connected = with_view(|host, view| match endpoint {
        Some(endpoint) => host.runtime.connect_elsewhere(view, host.current, endpoint),
        None => host.runtime.connect(view, host.current),
    });
    // SAFETY: called from a coroutine.
    unsafe {
        match connected {
            None => return ffi::lua_yield(state, 0),
            Some(Ok(slot)) => push_connection(state, slot),
            Some(Err(())) => ffi::lua_pushboolean(state, 0),
        }
    }
    1
}

/// The address that a node of a cluster names another by. One that does not know its own host names
/// none; then it is this machine.
fn endpoint_of(address: &[u8]) -> Option<Endpoint> {
    let (host, port) = std::str::from_utf8(address).ok()?.rsplit_once(':')?;
    let host = if host.is_empty() { "127.0.0.1" } else { host };
    Some(Endpoint::Tcp { host: host.to_owned(), port: port.parse().ok()? })
}

unsafe extern "C-unwind" fn disconnect(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    let slot = unsafe { slot_argument(state, 1) };
    // SAFETY: as above.
    unsafe { pipeline::forbid(state, slot) };
    with(|host| host.runtime.disconnect(slot));
    0
}

/// Drops the connection and reconnects, preparing its statements again; the event goes on. Even on
/// SQLite the client is suspended meanwhile.
unsafe extern "C-unwind" fn reconnect(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let index = slot_argument(state, 1);
        may_pause(state);
        pipeline::forbid(state, index);
        let conclusion = with_view(|host, view| host.runtime.reconnect(view, index));
        finish(state, index, Ok(conclusion))
    }
}

/// `host.query(slot, text)`.
unsafe extern "C-unwind" fn query(state: *mut State) -> c_int {
    // SAFETY: called by the prelude; the text stays on the stack until it has been copied.
    unsafe {
        let index = slot_argument(state, 1);
        may_wait(state);
        let Some(sql) = lua::bytes(state, 2) else {
            lua::raise(state, "con:query() needs the statement's text")
        };
        let concluded = with_view(|host, view| host.runtime.query(view, index, sql));
        finish(state, index, concluded)
    }
}

/// `host.prepare(slot, text)`: returns a statement or false.
unsafe extern "C-unwind" fn prepare(state: *mut State) -> c_int {
    // SAFETY: as `query`.
    unsafe {
        let index = slot_argument(state, 1);
        may_wait(state);
        let Some(sql) = lua::bytes(state, 2) else {
            lua::raise(state, "con:prepare() needs the statement's text")
        };
        pipeline::forbid(state, index);
        let conclusion = with_view(|host, view| host.runtime.prepare(view, index, sql));
        finish(state, index, Ok(conclusion))
    }
}

/// `host.failure(text, executed)`: what to do about the statement that just failed: action, number,
/// state, message. `text` is nil where the statement's text is unknown.
unsafe extern "C-unwind" fn failure(state: *mut State) -> c_int {
    use record::ErrorAction;
    // SAFETY: a live state with room for four values; the text stays on the stack.
    unsafe {
        let (text, executed) = (lua::bytes(state, 1), ffi::lua_toboolean(state, 2) != 0);
        let failed = with_view(|host, view| {
            let failed = host.runtime.failure(host.current)?;
            if failed.decision.action == ErrorAction::Stop {
                host.runtime.tell_statement(view, &failed, text, executed);
            }
            Some(failed)
        });
        let Some(failed) = failed else {
            lua::raise(state, "SQL API error: nothing has failed");
        };
        let action: &[u8] = match failed.decision.action {
            ErrorAction::Ignore => b"ignore",
            ErrorAction::Stop => b"stop",
            // Once the load is over, an event that begins anew is given up.
            ErrorAction::RestartEvent
            | ErrorAction::Retry
            | ErrorAction::Reconnect
            | ErrorAction::EndLoad => b"restart",
        };
        lua::push_bytes(state, action);
        ffi::lua_pushinteger(state, failed.number as ffi::lua_Integer);
        lua::push_bytes(state, failed.sqlstate.as_bytes());
        lua::push_bytes(state, failed.message.as_bytes());
    }
    4
}
