//! Pushes what API functions return to scripts.

use std::ffi::c_int;

use driver::ProtocolError;
use mlua_sys as ffi;
use runtime::Conclusion;

use super::objects;
use crate::host::with;
use crate::lua::{self, State};

/// Pushes a conclusion as one Lua value.
///
/// # Safety
/// A live state.
pub(crate) unsafe fn push_conclusion(state: *mut State, slot: u32, conclusion: Conclusion) {
    // SAFETY: upheld by the caller.
    unsafe {
        match conclusion {
            Conclusion::Rows => {
                let object = with(|host| host.results[slot as usize]);
                lua::push_kept(state, object);
            }
            Conclusion::Prepared(id) => objects::push_statement(state, slot, id),
            Conclusion::Failed => ffi::lua_pushboolean(state, 0),
            Conclusion::Nothing => {
                let nothing = with(|host| host.metatables.nothing);
                lua::push_kept(state, nothing);
            }
            Conclusion::Later | Conclusion::Joined => ffi::lua_pushnil(state),
        }
    }
}

/// Pushes a new connection for the script.
///
/// # Safety
/// A live state.
pub(crate) unsafe fn push_connection(state: *mut State, slot: u32) {
    // SAFETY: upheld by the caller.
    unsafe {
        objects::make_result(slot);
        ffi::lua_pushinteger(state, slot as ffi::lua_Integer);
    }
}

/// Returns from a function that Lua called: with the conclusion's value, or by suspending the
/// client until there is one. Raises a Lua error if the session rejects the request.
#[inline]
pub(super) unsafe fn finish(
    state: *mut State,
    slot: u32,
    concluded: Result<Conclusion, ProtocolError>,
) -> c_int {
    // SAFETY: upheld by the caller: within a function that Lua called, in a coroutine.
    unsafe {
        match concluded {
            Ok(Conclusion::Later) => ffi::lua_yield(state, 0),
            Ok(Conclusion::Joined) => 0,
            Ok(conclusion) => {
                push_conclusion(state, slot, conclusion);
                1
            }
            // The error holds no memory of its own.
            Err(error) => lua::raise_message(state, format!("SQL API error: {error}")),
        }
    }
}
