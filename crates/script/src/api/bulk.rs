//! Bulk inserts: `con:bulk_insert_init`, `_next`, `_done`.

use std::ffi::c_int;
use std::slice;

use mlua_sys as ffi;
use runtime::Row;

use super::argument::slot_argument;
use super::returned::finish;
use super::waiting::may_wait;
use crate::host::{with, with_view};
use crate::lua::{self, State, set_function};
use crate::random::{Random, name_number};

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: upheld by the caller: the table is on top of the stack.
    unsafe {
        set_function(state, c"bulk_begin", bulk_begin);
        set_function(state, c"bulk_flush", bulk_flush);
        set_function(state, c"bulk_end", bulk_end);
        set_function(state, c"bulk_open", bulk_open);
    }
}

/// `host.bulk_begin(slot, prefix)`. Restarts the client's random numbers from the seed and the
/// prefix, so that a table's rows don't depend on how many clients load.
unsafe extern "C-unwind" fn bulk_begin(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let index = slot_argument(state, 1);
        may_wait(state);
        let Some(prefix) = lua::bytes(state, 2) else {
            lua::raise(state, "con:bulk_insert_init() needs the text before the rows")
        };
        let conclusion = with(|host| {
            host.running().random = Random::new(host.config.seed, name_number(prefix));
            host.runtime.begin_rows(index, prefix)
        });
        finish(state, index, Ok(conclusion))
    }
}

/// Adds a row to a bulk insert; called by compiled scripts (`native.lua`).
///
/// 0: added; 1: added, flush now; 2: no bulk insert started; 3: not exactly one row.
pub(super) unsafe extern "C" fn append_row(index: u32, values: *const u8, len: usize) -> c_int {
    // SAFETY: a Lua string, which lives through the call.
    let values = unsafe { slice::from_raw_parts(values, len) };
    match with(|host| host.runtime.append_row(index, values)) {
        Row::Taken => 0,
        Row::Full => 1,
        Row::NoInsert => 2,
        Row::NotOne => 3,
    }
}

/// Sends the collected rows; returns false if that failed.
unsafe extern "C-unwind" fn bulk_flush(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let index = slot_argument(state, 1);
        may_wait(state);
        let concluded = with_view(|host, view| host.runtime.flush_rows(view, index));
        finish(state, index, concluded)
    }
}

/// Waits until all rows are stored; returns false if some are not.
unsafe extern "C-unwind" fn bulk_end(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let index = slot_argument(state, 1);
        may_wait(state);
        let conclusion = with_view(|host, view| host.runtime.end_rows(view, index));
        finish(state, index, Ok(conclusion))
    }
}

/// A slot of the client with a bulk insert not yet waited for, or nil.
unsafe extern "C-unwind" fn bulk_open(state: *mut State) -> c_int {
    let open = with(|host| host.runtime.open_rows(host.current));
    // SAFETY: a live state.
    unsafe {
        match open {
            Some(index) => ffi::lua_pushinteger(state, index as ffi::lua_Integer),
            None => ffi::lua_pushnil(state),
        }
    }
    1
}
