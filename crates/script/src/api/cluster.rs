//! Clusters of servers of keys: the host functions that `cluster.lua` uses.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::argument::slot_argument;
use crate::host::{Host, with};
use crate::lua::{self, State, set_function};

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: upheld by the caller: the table is on top of the stack.
    unsafe {
        set_function(state, c"is_clustered", is_clustered);
        set_function(state, c"slot_of_key", slot_of_key);
        set_function(state, c"redirected", redirected);
    }
}

/// `host.is_clustered(slot)`: whether the server is a node of a cluster.
unsafe extern "C-unwind" fn is_clustered(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let slot = slot_argument(state, 1);
        let session =
            |host: &mut Host| host.runtime.session(slot).is_some_and(driver::Session::is_clustered);
        ffi::lua_pushboolean(state, c_int::from(with(session)));
    }
    1
}

/// `host.slot_of_key(key)`: the number of its slot in the cluster.
unsafe extern "C-unwind" fn slot_of_key(state: *mut State) -> c_int {
    // SAFETY: called by the prelude; the text stays on the stack.
    unsafe {
        let key = lua::bytes(state, 1).unwrap_or_default();
        ffi::lua_pushinteger(state, ffi::lua_Integer::from(driver::slot_of(key)));
    }
    1
}

/// `host.redirected(slot)`: the next command of a pipeline that another node has to be sent: its
/// number and what the server said, or nothing.
unsafe extern "C-unwind" fn redirected(state: *mut State) -> c_int {
    // SAFETY: called by the prelude; the text is copied before anything else is done.
    unsafe {
        let slot = slot_argument(state, 1);
        let Some((number, message)) = with(|host| host.runtime.redirected(slot)) else {
            return 0;
        };
        ffi::lua_pushnumber(state, number as f64);
        lua::push_bytes(state, message.as_bytes());
    }
    2
}
