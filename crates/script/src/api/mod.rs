//! The functions that the prelude is built on, in the table `host`.
//!
//! Each is called by Lua on the thread of its host and may raise a Lua error or suspend the client;
//! nothing with a destructor may be alive when it does.

mod bulk;
mod connection;
pub(crate) mod counter;
pub(crate) mod life;
pub(crate) mod native;
pub(crate) mod pipeline;
pub(crate) mod result;
pub(crate) mod statement;

use std::ffi::c_int;

use mlua_sys as ffi;

use crate::host::current;
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
        let metatables = &mut current().metatables;
        match name.as_str() {
            "statement" => metatables.statement = reference,
            _ => metatables.result = reference,
        }
    }
    0
}

/// The slot number in an argument; raises an error if the connection is closed.
#[inline]
pub(crate) unsafe fn slot_argument(state: *mut State, index: c_int) -> u32 {
    // SAFETY: the caller's.
    unsafe {
        let number = ffi::lua_tointeger_(state, index);
        let open = ffi::lua_type(state, index) == ffi::LUA_TNUMBER
            && u32::try_from(number).is_ok_and(|number| current().slot(number).is_some());
        if !open {
            lua::raise(state, "SQL API error: attempt to use an already closed connection");
        }
        number as u32
    }
}
