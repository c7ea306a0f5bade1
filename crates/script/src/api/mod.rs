//! The functions that the prelude is built on, in the table `host`.
//!
//! Each is called by Lua on the thread of its host and may raise a Lua error or suspend the client;
//! nothing with a destructor may be alive when it does. The host is never accessed while Lua is
//! called (`crate::host::with`).

mod bulk;
mod connection;
mod counter;
pub(crate) mod life;
mod native;
mod pipeline;
mod result;
mod statement;

use std::ffi::c_int;

use driver::ProtocolError;
use mlua_sys as ffi;
use runtime::Conclusion;

use crate::host::with;
use crate::lua::{self, State, set_function};

/// Leaves the table `host` on the stack.
pub(crate) unsafe fn push_host_table(state: *mut State) {
    // SAFETY: the caller's: a fresh state.
    unsafe {
        ffi::lua_createtable(state, 0, 48);
        set_function(state, c"set_metatable", set_metatable);
        set_function(state, c"keep_nothing", result::keep_nothing);
        set_function(state, c"result_methods", result::set_methods);
        connection::register(state);
        bulk::register(state);
        statement::register(state);
        result::register(state);
        life::register(state);
        pipeline::register(state);
        counter::register(state);
        native::push(state);
        ffi::lua_setfield(state, -2, c"natives".as_ptr());
    }
}

/// `host.set_metatable(name, table)`: keeps the metatable of one of our objects.
unsafe extern "C-unwind" fn set_metatable(state: *mut State) -> c_int {
    // SAFETY: called by the prelude with a string and a table.
    unsafe {
        let name = lua::text(state, 1).unwrap_or_default();
        ffi::lua_settop(state, 2);
        let reference = lua::keep(state);
        with(|host| match name.as_str() {
            "statement" => host.metatables.statement = reference,
            _ => host.metatables.result = reference,
        });
    }
    0
}

/// The slot number in an argument; raises an error if the connection is closed.
#[inline]
unsafe fn slot_argument(state: *mut State, index: c_int) -> u32 {
    // SAFETY: the caller's.
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

const CLOSED: &str = "SQL API error: attempt to use an already closed connection";

/// Pushes a conclusion for the script: one value.
///
/// # Safety
/// A live state.
pub(crate) unsafe fn push_conclusion(state: *mut State, slot: u32, conclusion: Conclusion) {
    // SAFETY: the caller's.
    unsafe {
        match conclusion {
            Conclusion::Rows => {
                let object = with(|host| host.results[slot as usize]);
                lua::push_kept(state, object);
            }
            Conclusion::Prepared(id) => statement::push(state, slot, id),
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
    // SAFETY: the caller's.
    unsafe {
        result::make(slot);
        ffi::lua_pushinteger(state, slot as ffi::lua_Integer);
    }
}

/// What a function that Lua called returns for a request: its conclusion's value, or the client is
/// suspended until there is one. Raises the session's objection, if it has one.
#[inline]
unsafe fn finish(
    state: *mut State,
    slot: u32,
    concluded: Result<Conclusion, ProtocolError>,
) -> c_int {
    // SAFETY: the caller's: within a function that Lua called, in a coroutine.
    unsafe {
        match concluded {
            Ok(Conclusion::Later) => ffi::lua_yield(state, 0),
            Ok(Conclusion::Joined) => 0,
            Ok(conclusion) => {
                push_conclusion(state, slot, conclusion);
                1
            }
            // It holds no memory of its own.
            Err(error) => {
                let message = format!("SQL API error: {error}");
                lua::push_bytes(state, message.as_bytes());
                drop(message);
                ffi::lua_error(state)
            }
        }
    }
}
