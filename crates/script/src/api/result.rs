//! Results: one object per connection, made once, which shows its last reply.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::argument::{CLOSED, slot_argument};
use crate::host::{Host, Row, with};
use crate::lua::{self, State, set_function};

/// Marks a NULL among a row's value ends.
const NULL: u32 = u32::MAX;

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: upheld by the caller: the table is on top of the stack.
    unsafe {
        set_function(state, c"result_index", index);
        set_function(state, c"fetch_row", fetch_row);
        set_function(state, c"free_result", free);
        set_function(state, c"affected_rows", affected_rows);
        set_function(state, c"more_results", more_results);
        set_function(state, c"next_result", next_result);
    }
}

/// `host.keep_nothing(value)`: sets what a statement without rows returns.
pub(super) unsafe extern "C-unwind" fn keep_nothing(state: *mut State) -> c_int {
    // SAFETY: called by the prelude with a value.
    unsafe {
        ffi::lua_settop(state, 1);
        let nothing = lua::keep(state);
        with(|host| host.metatables.nothing = nothing);
    }
    0
}

/// `host.result_methods{…}`: sets the methods of results.
pub(super) unsafe extern "C-unwind" fn set_methods(state: *mut State) -> c_int {
    // SAFETY: called by the prelude with a table.
    unsafe {
        ffi::lua_settop(state, 1);
        let methods = lua::keep(state);
        with(|host| host.metatables.result_methods = methods);
    }
    0
}

unsafe fn slot_of(state: *mut State) -> u32 {
    // SAFETY: the block was made by `make_result`: only result objects have these methods.
    unsafe {
        let block = ffi::lua_touserdata(state, 1).cast::<u32>();
        if block.is_null() || ffi::lua_objlen(state, 1) != size_of::<u32>() {
            lua::raise(state, "call a result's methods with a colon: rs:fetch_row()");
        }
        block.read()
    }
}

/// `rs.nrows`, `rs.nfields`, `rs.affected_rows`, or a method.
unsafe extern "C-unwind" fn index(state: *mut State) -> c_int {
    // SAFETY: called by Lua with the object and a key.
    unsafe {
        let slot = slot_of(state);
        let (rows, columns, affected) = with(|host| {
            let reply = host.runtime.reply(slot);
            reply.map(|reply| (reply.rows, reply.columns, reply.affected)).unwrap_or_default()
        });
        match lua::bytes(state, 2) {
            Some(b"nrows") => ffi::lua_pushnumber(state, rows as f64),
            Some(b"nfields") => ffi::lua_pushnumber(state, f64::from(columns)),
            Some(b"affected_rows") => ffi::lua_pushnumber(state, affected as f64),
            _ => {
                let methods = with(|host| host.metatables.result_methods);
                lua::push_kept(state, methods);
                ffi::lua_pushvalue(state, 2);
                ffi::lua_rawget_(state, -2);
            }
        }
    }
    1
}

/// `host.fetch_row(rs)`: an array of strings; nil after the last row, false once the result is
/// freed.
unsafe extern "C-unwind" fn fetch_row(state: *mut State) -> c_int {
    // SAFETY: called by Lua.
    unsafe {
        let slot = slot_of(state);
        match with(|host| host.read_row(slot)) {
            Some(Ok(Next::Row)) => push_row(state),
            Some(Ok(Next::End)) => ffi::lua_pushnil(state),
            Some(Ok(Next::Freed)) => ffi::lua_pushboolean(state, 0),
            // The error holds no memory of its own.
            Some(Err(error)) => lua::raise_message(state, format!("SQL API error: {error}")),
            None => lua::raise(state, CLOSED),
        }
    }
    1
}

/// The next item of a result.
enum Next {
    Row,
    End,
    Freed,
}

impl Host {
    /// Copies the next row of a connection's result; `None`: the connection is closed.
    fn read_row(&mut self, slot: u32) -> Option<Result<Next, driver::ProtocolError>> {
        if self.runtime.reply(slot)?.columns == 0 {
            return Some(Ok(Next::Freed));
        }
        let Row { bytes, ends } = &mut self.row;
        bytes.clear();
        ends.clear();
        let found = self.runtime.row(slot, |value| match value {
            None => ends.push(NULL),
            Some(text) => {
                bytes.extend_from_slice(text);
                ends.push(bytes.len() as u32);
            }
        });
        Some(found.map(|found| if found { Next::Row } else { Next::End }))
    }
}

/// Pushes the row read last. Its memory is taken out of the host meanwhile: a finaliser of the
/// script may read another row.
unsafe fn push_row(state: *mut State) {
    let row = with(|host| std::mem::take(&mut host.row));
    // SAFETY: upheld by the caller.
    unsafe {
        ffi::lua_createtable(state, row.ends.len() as c_int, 0);
        let mut start = 0;
        for (column, end) in (1..).zip(&row.ends) {
            if *end == NULL {
                continue;
            }
            lua::push_bytes(state, &row.bytes[start..*end as usize]);
            ffi::lua_rawseti_(state, -2, column);
            start = *end as usize;
        }
    }
    with(|host| host.row = row);
}

/// `host.free_result(rs)`: true, or false if it was freed before.
unsafe extern "C-unwind" fn free(state: *mut State) -> c_int {
    // SAFETY: called by Lua.
    let number = unsafe { slot_of(state) };
    let freed = with(|host| host.runtime.free_rows(number));
    // SAFETY: a live state.
    unsafe { ffi::lua_pushboolean(state, c_int::from(freed)) };
    1
}

/// `con:affected_rows()`: for the last statement.
unsafe extern "C-unwind" fn affected_rows(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let number = slot_argument(state, 1);
        let affected = with(|host| host.runtime.reply(number).map_or(0, |reply| reply.affected));
        ffi::lua_pushnumber(state, affected as f64);
    }
    1
}

/// `con:more_results()`.
unsafe extern "C-unwind" fn more_results(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let number = slot_argument(state, 1);
        let more = with(|host| host.runtime.reply(number).is_some_and(|reply| reply.more));
        ffi::lua_pushboolean(state, c_int::from(more));
    }
    1
}

/// `con:next_result()`: the next result set of the same reply, or nil.
unsafe extern "C-unwind" fn next_result(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let number = slot_argument(state, 1);
        match with(|host| host.runtime.next_result(number)) {
            Ok(true) => {
                let object = with(|host| host.results[number as usize]);
                lua::push_kept(state, object);
                1
            }
            Ok(false) => 0,
            Err(_) => lua::raise(state, "SQL API error: the reply's rows are gone"),
        }
    }
}
