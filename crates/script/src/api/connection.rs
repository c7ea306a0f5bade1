//! Connections: `drv:connect`, `con:query`, `con:prepare`, `con:bulk_insert_*`.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::{pipeline, slot_argument};
use crate::client::Waiting;
use crate::conclude::{Conclusion, push_conclusion};
use crate::host::current;
use crate::lua::{self, State, set_function};
use crate::random::{Random, name_number};
use crate::reconnect::{connect_failure, fresh};
use crate::slot::Purpose;

/// A multi-row INSERT is sent when it has grown to so many bytes.
const BULK_BYTES: usize = 512 * 1024;

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
        set_function(state, c"bulk_begin", bulk_begin);
        set_function(state, c"bulk_append", bulk_append);
        set_function(state, c"bulk_flush", bulk_flush);
        set_function(state, c"bulk_end", bulk_end);
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
        .map_err(|error| connect_failure(&error))
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
        transmit(state, index, Purpose::Statement, |session, out| session.query(sql, out))
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

/// What to do about the statement that just failed: action, number, state, message.
unsafe extern "C-unwind" fn failure(state: *mut State) -> c_int {
    use record::ErrorAction;
    let host = current();
    let failed = host.failed.take();
    // SAFETY: a live state with room for four values.
    unsafe {
        let Some(failed) = failed else {
            lua::raise(state, "SQL API error: nothing has failed");
        };
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

/// `host.bulk_begin(slot, prefix)`. The client's random numbers start anew from the seed and the
/// prefix, so that a table's rows don't depend on how many clients load.
unsafe extern "C-unwind" fn bulk_begin(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let index = slot_argument(state, 1);
        let Some(prefix) = lua::bytes(state, 2) else {
            lua::raise(state, "con:bulk_insert_init() needs the text before the rows")
        };
        let host = current();
        let seed = host.config.seed;
        let id = host.current;
        host.clients[id].random = Random::new(seed, name_number(prefix));
        if let Some(slot) = host.slot(index) {
            let bulk = &mut slot.bulk;
            bulk.text.clear();
            bulk.text.extend_from_slice(prefix);
            bulk.text.push(b' ');
            bulk.prefix = bulk.text.len();
            bulk.rows = 0;
            bulk.refused = false;
        }
    }
    0
}

/// `host.bulk_append(slot, values)`: true when it is time to flush.
unsafe extern "C-unwind" fn bulk_append(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let index = slot_argument(state, 1);
        let Some(values) = lua::bytes(state, 2) else {
            lua::raise(state, "con:bulk_insert_next() needs the values in parentheses")
        };
        let mut full = false;
        if let Some(slot) = current().slot(index) {
            let bulk = &mut slot.bulk;
            if bulk.prefix == 0 {
                lua::raise(state, "con:bulk_insert_next() without con:bulk_insert_init()");
            }
            if bulk.rows > 0 {
                bulk.text.push(b',');
            } else {
                bulk.text.truncate(bulk.prefix);
            }
            bulk.text.extend_from_slice(values);
            bulk.rows += 1;
            full = bulk.text.len() >= BULK_BYTES;
        }
        ffi::lua_pushboolean(state, c_int::from(full));
    }
    1
}

/// Sends what is there: nil, or false if it failed.
unsafe extern "C-unwind" fn bulk_flush(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let index = slot_argument(state, 1);
        let host = current();
        let loads = host.config.loads;
        let Some(slot) = host.slot(index) else { return 0 };
        let bulk = &mut slot.bulk;
        if bulk.rows == 0 {
            return 0;
        }
        bulk.sent = std::mem::take(&mut bulk.rows);
        let text: *const [u8] = bulk.text.as_slice();
        let loads = loads && !bulk.refused;
        let purpose = if loads { Purpose::Load } else { Purpose::Insert };
        // The text stays as it is until the next row, which waits for the reply.
        transmit(state, index, purpose, |session, out| {
            let loaded = if loads { session.load(&*text, out)? } else { None };
            loaded.map_or_else(|| session.query(&*text, out), Ok)
        })
    }
}

unsafe extern "C-unwind" fn bulk_end(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    let index = unsafe { slot_argument(state, 1) };
    if let Some(slot) = current().slot(index) {
        slot.bulk = crate::slot::Bulk::default();
    }
    0
}
