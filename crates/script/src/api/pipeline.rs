//! `dbdyno.pipeline`: several statements of a connection under way at once.

use std::ffi::c_int;

use driver::{ProtocolError, Sent, Session};
use mlua_sys as ffi;

use super::connection::{finish, object};
use super::slot_argument;
use crate::host::current;
use crate::lua::{self, State, set_function};
use crate::pipeline::{Joined, Pipeline};
use crate::slot::Purpose;

/// Statements under way at once on one connection.
const DEPTH_MAX: i64 = 1024;

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: the caller's: the table is on top of the stack.
    unsafe {
        set_function(state, c"pipeline_begin", begin);
        set_function(state, c"pipeline_end", end);
    }
}

/// `host.pipeline_begin(slot, depth)`.
unsafe extern "C-unwind" fn begin(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let index = slot_argument(state, 1);
        forbid(state, index);
        let depth = ffi::lua_tonumber(state, 2);
        if !(1.0..=DEPTH_MAX as f64).contains(&depth) || depth.fract() != 0.0 {
            lua::raise(state, "dbdyno.pipeline() needs a depth from 1 to 1024");
        }
        if let Some(slot) = current().slot(index) {
            slot.session.pipelined(true);
            slot.pipeline = Some(Box::new(Pipeline::new(depth as usize)));
        }
    }
    0
}

/// `host.pipeline_end(slot)`: sends what is left and waits for it; false if a statement failed.
unsafe extern "C-unwind" fn end(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let index = slot_argument(state, 1);
        if current().slot(index).is_some_and(|slot| slot.is_pipelining()) {
            return send(state, index);
        }
        if let Some(slot) = current().slot(index) {
            slot.session.pipelined(false);
            slot.pipeline = None;
        }
    }
    0
}

/// A request of a slot with a pipeline; see [`finish`] for what it returns.
pub(crate) unsafe fn join(
    state: *mut State,
    index: u32,
    purpose: Purpose,
    encode: impl FnOnce(&mut Session, &mut Vec<u8>) -> Result<Sent, ProtocolError>,
) -> c_int {
    // SAFETY: the caller's; nothing with a destructor is alive at an error or a yield.
    unsafe {
        if purpose != Purpose::Statement {
            forbid(state, index);
        }
        let host = current();
        match host.join(index, encode) {
            Ok(Joined::Room) => 0,
            Ok(Joined::Full) => send(state, index),
            Ok(Joined::Done(reply)) => {
                let now = host.load().now();
                let conclusion = host.conclude(index, reply, now);
                finish(state, index, conclusion)
            }
            Err(error) => object(state, &error),
        }
    }
}

/// Sends the batch and suspends the client until it is answered.
unsafe fn send(state: *mut State, index: u32) -> c_int {
    let host = current();
    let sent = if host.slot(index).is_some_and(|slot| slot.broken) {
        Err("the server closed it between two statements".to_owned())
    } else {
        host.send_batch(index).map_err(|error| error.to_string())
    };
    if let Err(why) = sent {
        let conclusion = host.lost(index, &why);
        drop(why);
        // SAFETY: the caller's.
        return unsafe { finish(state, index, conclusion) };
    }
    host.wait_for_reply(index);
    // SAFETY: the caller's: within a coroutine.
    unsafe { ffi::lua_yield(state, 0) }
}

/// Raises an error if the slot has a pipeline: only statements can be under way together.
pub(crate) unsafe fn forbid(state: *mut State, index: u32) {
    if current().slot(index).is_some_and(|slot| slot.pipeline.is_some()) {
        // SAFETY: the caller's; nothing with a destructor is alive.
        unsafe {
            lua::raise(
                state,
                "dbdyno.pipeline(): between its beginning and its end the connection takes \
                 con:query() and stmt:execute() alone",
            );
        }
    }
}
