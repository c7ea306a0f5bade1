//! Results: one object a connection, made once, showing its last reply.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::slot_argument;
use crate::host::{Host, current};
use crate::lua::{self, State, set_function};
use crate::slot::RowBytes;

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: the caller's: the table is on top of the stack.
    unsafe {
        set_function(state, c"result_index", index);
        set_function(state, c"fetch_row", fetch_row);
        set_function(state, c"free_result", free);
        set_function(state, c"affected_rows", affected_rows);
        set_function(state, c"more_results", more_results);
        set_function(state, c"next_result", next_result);
    }
}

/// Makes a result object and keeps it: its reference.
pub(crate) unsafe fn make(host: &mut Host) -> c_int {
    // SAFETY: the caller's: the main state has room.
    unsafe {
        ffi::lua_newuserdata(host.main, size_of::<u32>());
        lua::push_kept(host.main, host.metatables.result);
        ffi::lua_setmetatable(host.main, -2);
        lua::keep(host.main)
    }
}

/// Says which slot a result object shows.
pub(crate) unsafe fn bind(host: &mut Host, reference: c_int, slot: u32) {
    // SAFETY: the reference is one of `make`'s, whose block holds a u32.
    unsafe {
        lua::push_kept(host.main, reference);
        ffi::lua_touserdata(host.main, -1).cast::<u32>().write(slot);
        ffi::lua_settop(host.main, -2);
    }
}

/// `host.keep_nothing(value)`: what a statement without rows returns.
pub(crate) unsafe extern "C-unwind" fn keep_nothing(state: *mut State) -> c_int {
    // SAFETY: called by the prelude with a value.
    unsafe {
        ffi::lua_settop(state, 1);
        current().metatables.nothing = lua::keep(state);
    }
    0
}

/// `host.result_methods{…}`: what `rs:name()` finds.
pub(crate) unsafe extern "C-unwind" fn set_methods(state: *mut State) -> c_int {
    // SAFETY: called by the prelude with a table.
    unsafe {
        ffi::lua_settop(state, 1);
        current().metatables.result_methods = lua::keep(state);
    }
    0
}

unsafe fn slot_of(state: *mut State) -> u32 {
    // SAFETY: the block is one of `make`'s: only result objects have these methods.
    unsafe {
        let block = ffi::lua_touserdata(state, 1).cast::<u32>();
        if block.is_null() || ffi::lua_objlen(state, 1) != size_of::<u32>() {
            lua::raise(state, "a result is called with a colon: rs:fetch_row()");
        }
        block.read()
    }
}

/// `rs.nrows`, `rs.nfields`, `rs.affected_rows`, or a method.
unsafe extern "C-unwind" fn index(state: *mut State) -> c_int {
    // SAFETY: called by Lua with the object and a key.
    unsafe {
        let slot = slot_of(state);
        let host = current();
        let reply =
            host.slot(slot).map(|slot| (slot.reply.rows, slot.reply.columns, slot.reply.affected));
        let (rows, columns, affected) = reply.unwrap_or_default();
        match lua::bytes(state, 2) {
            Some(b"nrows") => ffi::lua_pushnumber(state, rows as f64),
            Some(b"nfields") => ffi::lua_pushnumber(state, f64::from(columns)),
            Some(b"affected_rows") => ffi::lua_pushnumber(state, affected as f64),
            _ => {
                lua::push_kept(state, host.metatables.result_methods);
                ffi::lua_pushvalue(state, 2);
                ffi::lua_rawget_(state, -2);
            }
        }
    }
    1
}

/// `host.fetch_row(rs)`: an array of strings, nil at the end, false once it is freed.
unsafe extern "C-unwind" fn fetch_row(state: *mut State) -> c_int {
    // SAFETY: called by Lua; the row is copied before the client can be suspended.
    let failed = unsafe {
        let number = slot_of(state);
        let Some(slot) = current().slot(number) else {
            lua::raise(state, "SQL API error: attempt to use an already closed connection")
        };
        if slot.reply.columns == 0 {
            ffi::lua_pushboolean(state, 0);
            return 1;
        }
        ffi::lua_createtable(state, c_int::from(slot.reply.columns.min(1000) as i16), 0);
        let mut cursor = slot.cursor;
        let mut column = 0;
        let found = slot.session.row(slot.row_bytes(), &mut cursor, |value| {
            column += 1;
            match value {
                None => ffi::lua_pushnil(state),
                Some(text) => lua::push_bytes(state, text),
            }
            ffi::lua_rawseti_(state, -2, column);
        });
        slot.cursor = cursor;
        match found {
            Ok(true) => return 1,
            Ok(false) => {
                ffi::lua_pushnil(state);
                return 1;
            }
            Err(error) => {
                lua::push_bytes(state, format!("SQL API error: {error}").as_bytes());
                state
            }
        }
    };
    // SAFETY: the message is on the stack; nothing with a destructor is alive.
    unsafe { ffi::lua_error(failed) }
}

/// `host.free_result(rs)`: true, or false if it is freed already. Only a result without columns is
/// none: those of statements that return no rows are another object.
unsafe extern "C-unwind" fn free(state: *mut State) -> c_int {
    // SAFETY: called by Lua.
    let number = unsafe { slot_of(state) };
    let freed = current().slot(number).is_some_and(|slot| {
        slot.rows = RowBytes::None;
        std::mem::take(&mut slot.reply.columns) > 0
    });
    // SAFETY: a live state.
    unsafe { ffi::lua_pushboolean(state, c_int::from(freed)) };
    1
}

/// `con:affected_rows()`: of the last statement.
unsafe extern "C-unwind" fn affected_rows(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let number = slot_argument(state, 1);
        let affected = current().slot(number).map_or(0, |slot| slot.reply.affected);
        ffi::lua_pushnumber(state, affected as f64);
    }
    1
}

/// `con:more_results()`.
unsafe extern "C-unwind" fn more_results(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let number = slot_argument(state, 1);
        let more = current().slot(number).is_some_and(|slot| slot.reply.more);
        ffi::lua_pushboolean(state, c_int::from(more));
    }
    1
}

/// `con:next_result()`: the next result set of the same reply, or nil.
unsafe extern "C-unwind" fn next_result(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let number = slot_argument(state, 1);
        let Some(slot) = current().slot(number) else { return 0 };
        let mut cursor = slot.cursor;
        let bytes: *const [u8] = slot.row_bytes();
        match slot.session.next_result(&*bytes, &mut cursor) {
            Ok(Some(reply)) => {
                slot.cursor = cursor;
                slot.reply = reply;
                let result = slot.result;
                lua::push_kept(state, result);
                1
            }
            Ok(None) => 0,
            Err(_) => lua::raise(state, "SQL API error: the reply's rows are gone"),
        }
    }
}
