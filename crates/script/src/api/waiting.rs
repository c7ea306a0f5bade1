//! Whether the running client can wait: not within a callback of a C function (`table.sort`,
//! `string.gsub`), a finaliser or a hook, where Lua can't suspend a coroutine.
//!
//! This is asked before anything is sent. Otherwise the server would do what the script takes for
//! failed, and the reply would answer the next request.

use std::ffi::c_int;

use mlua_sys as ffi;

use crate::host::with;
use crate::lua::{self, State, set_function};

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: upheld by the caller: the table is on top of the stack.
    unsafe {
        set_function(state, c"hold", hold);
        set_function(state, c"finaliser_failed", finaliser_failed);
    }
}

unsafe extern "C-unwind" {
    /// LuaJIT's own; its declaration is missing in `mlua-sys`.
    fn lua_isyieldable(state: *mut State) -> c_int;
}

const REFUSAL: &str = "a client can't wait here, within a callback of a C function (table.sort, \
                       string.gsub), a finaliser or a hook, so nothing was sent: do it before or \
                       after";

/// Raises an error at the script's line if the client would have to wait for a reply and can't.
#[inline]
pub(super) unsafe fn may_wait(state: *mut State) {
    // SAFETY: upheld by the caller: a live state, and nothing with a destructor is alive.
    unsafe {
        if !can_wait(state) && with(|host| !host.is_lent() || host.runtime.waits_for_replies()) {
            refuse(state);
        }
    }
}

/// As [`may_wait`], for what suspends the client whatever the database.
#[inline]
pub(super) unsafe fn may_pause(state: *mut State) {
    // SAFETY: as `may_wait`.
    unsafe {
        if !can_wait(state) {
            refuse(state);
        }
    }
}

/// A coroutine of the script may have no line of its own left: then it is the client's.
#[cold]
unsafe fn refuse(state: *mut State) -> ! {
    // SAFETY: as `may_wait`; a client's coroutine is alive while it runs.
    unsafe {
        let client = with(|host| host.running().thread);
        let own = lua::place(state).is_empty() && !client.is_null();
        let place = lua::place(if own { client } else { state });
        lua::push_bytes(state, place.as_bytes());
        drop(place);
        lua::push_bytes(state, REFUSAL.as_bytes());
        ffi::lua_concat(state, 2);
        ffi::lua_error(state)
    }
}

/// A coroutine that the script made can be suspended only if whoever resumed it can.
#[inline]
unsafe fn can_wait(state: *mut State) -> bool {
    // SAFETY: upheld by the caller.
    unsafe { lua_isyieldable(state) != 0 && !with(|host| host.held > 0) }
}

/// `host.hold(n)`: adds to the number of coroutines that whoever can't be suspended has resumed.
unsafe extern "C-unwind" fn hold(state: *mut State) -> c_int {
    // SAFETY: called by `coroutines.lua`.
    let more = unsafe { ffi::lua_tointeger_(state, 1) } as i32;
    with(|host| host.held = host.held.saturating_add_signed(more));
    0
}

/// `host.finaliser_failed(message)`: ends the client that runs, since a finaliser has no caller
/// that an error could be raised to.
unsafe extern "C-unwind" fn finaliser_failed(state: *mut State) -> c_int {
    // SAFETY: called by LuaJIT with the error value.
    let message = unsafe { lua::describe(state, 1) };
    with(|host| {
        host.finaliser.get_or_insert(message);
    });
    0
}
