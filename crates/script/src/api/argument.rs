//! Reads the arguments of API functions.

use std::ffi::c_int;

use mlua_sys as ffi;

use crate::host::with;
use crate::lua::{self, State};

/// The slot number in an argument. Raises a Lua error if the connection is closed.
#[inline]
pub(super) unsafe fn slot_argument(state: *mut State, index: c_int) -> u32 {
    // SAFETY: upheld by the caller.
    unsafe {
        let number = ffi::lua_tointeger_(state, index);
        let open = ffi::lua_type(state, index) == ffi::LUA_TNUMBER
            && u32::try_from(number).is_ok_and(|number| with(|host| host.runtime.has(number)));
        if !open {
            lua::raise(state, CLOSED);
        }
        number as u32
    }
}

pub(super) const CLOSED: &str = "SQL API error: attempt to use an already closed connection";
