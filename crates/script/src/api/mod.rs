//! The functions that the prelude is built on, in the table `host`.
//!
//! Lua calls each on its host's thread. Each may raise a Lua error or suspend the client, and then
//! nothing with a destructor may be alive. The host is never accessed while Lua is called
//! (`crate::host::with`).

mod argument;
mod bulk;
mod cluster;
mod connection;
mod counter;
mod documents;
mod keys;
mod life;
mod native;
mod objects;
pub(crate) mod output;
mod pipeline;
mod result;
mod returned;
mod statement;
mod waiting;

use std::ffi::c_int;

use mlua_sys as ffi;

use crate::host::with;
use crate::lua::{self, State, set_function};

pub(crate) use returned::{push_conclusion, push_connection};

/// Leaves the table `host` on the stack.
pub(crate) unsafe fn push_host_table(state: *mut State) {
    // SAFETY: upheld by the caller: a fresh state.
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
        output::register(state);
        pipeline::register(state);
        counter::register(state);
        keys::register(state);
        cluster::register(state);
        documents::register(state);
        waiting::register(state);
        native::push(state);
        ffi::lua_setfield(state, -2, c"natives".as_ptr());
    }
}

/// `host.set_metatable(name, table)`: registers the metatable of one of our object types.
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
