//! Prepared statements and their parameters.
//!
//! A parameter is a small block of memory that the script sets and the host reads when the
//! statement is executed: nothing is allocated on the way.

use std::ffi::c_int;
use std::ptr;

use driver::{StatementId, Value};
use mlua_sys as ffi;

use super::connection::transmit;
use super::slot_argument;
use crate::host::{Host, current};
use crate::lua::{self, State, set_function};
use crate::slot::Purpose;

/// Tells our blocks from any other userdata.
const STATEMENT: u32 = 0xd817_0001;
const PARAMETER: u32 = 0xd817_0002;

/// The memory of a statement object.
#[repr(C)]
struct Statement {
    kind: u32,
    slot: u32,
    id: u32,
    /// Bound parameters; the objects are kept alive by the statement's environment table.
    parameters: Vec<*const Parameter>,
}

/// What a parameter holds.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Content {
    Null,
    Int,
    Double,
    Bytes,
}

/// The memory of a parameter object; text follows behind it.
#[repr(C)]
struct Parameter {
    kind: u32,
    /// A type of `sysbench.sql.type`.
    sql_type: u8,
    content: Content,
    len: u32,
    capacity: u32,
    int: i64,
    double: f64,
}

impl Parameter {
    fn text(&self) -> *mut u8 {
        // The object was allocated with `capacity` bytes behind the header.
        ptr::from_ref(self).wrapping_add(1).cast_mut().cast()
    }

    #[inline]
    fn value(&self) -> Value<'_> {
        match self.content {
            Content::Null => Value::Null,
            Content::Int => Value::Int(self.int),
            Content::Double => Value::Double(self.double),
            // SAFETY: `len` bytes were written behind the header and `len` is at most `capacity`.
            Content::Bytes => {
                Value::Bytes(unsafe { std::slice::from_raw_parts(self.text(), self.len as usize) })
            }
        }
    }
}

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: the caller's: the table is on top of the stack.
    unsafe {
        set_function(state, c"statement_parameter", create_parameter);
        set_function(state, c"statement_bind", bind);
        set_function(state, c"statement_execute", execute);
        set_function(state, c"statement_close", close);
        set_function(state, c"statement_slot", slot);
        set_function(state, c"statement_collect", collect);
        set_function(state, c"parameter_set", set);
        set_function(state, c"parameter_set_pattern", set_pattern);
    }
}

/// Pushes a new statement object.
pub(crate) unsafe fn push(host: &mut Host, state: *mut State, slot: u32, id: StatementId) {
    // SAFETY: the caller's; the block is written before anyone sees it.
    unsafe {
        let block = ffi::lua_newuserdata(state, size_of::<Statement>()).cast::<Statement>();
        ptr::write(block, Statement { kind: STATEMENT, slot, id: id.0, parameters: Vec::new() });
        lua::push_kept(state, host.metatables.statement);
        ffi::lua_setmetatable(state, -2);
    }
}

#[inline]
unsafe fn statement<'a>(state: *mut State) -> &'a mut Statement {
    // SAFETY: a userdata of at least a word; its kind says what it is.
    unsafe {
        let block = ffi::lua_touserdata(state, 1).cast::<Statement>();
        if block.is_null() || (*block).kind != STATEMENT {
            lua::raise(state, "a statement is called with a colon: stmt:execute()");
        }
        &mut *block
    }
}

#[inline]
unsafe fn parameter<'a>(state: *mut State, index: c_int) -> &'a mut Parameter {
    // SAFETY: as `statement`.
    unsafe {
        let block = ffi::lua_touserdata(state, index).cast::<Parameter>();
        if block.is_null() || (*block).kind != PARAMETER {
            lua::raise(state, "expected a parameter made by stmt:bind_create()");
        }
        &mut *block
    }
}

/// `stmt:bind_create(type[, max_len])`.
unsafe extern "C-unwind" fn create_parameter(state: *mut State) -> c_int {
    // SAFETY: called by the script; arguments are checked.
    unsafe {
        statement(state);
        let sql_type = ffi::lua_tointeger_(state, 2);
        if !(1..=12).contains(&sql_type) {
            lua::raise(state, "Unsupported argument type: expected one of sysbench.sql.type");
        }
        let textual = sql_type >= 7;
        let capacity =
            if textual { (ffi::lua_tointeger_(state, 3)).clamp(0, 1 << 24) as u32 } else { 0 };
        let capacity = if textual && capacity == 0 { 255 } else { capacity };
        let size = size_of::<Parameter>() + capacity as usize;
        let block = ffi::lua_newuserdata(state, size).cast::<Parameter>();
        ptr::write(
            block,
            Parameter {
                kind: PARAMETER,
                sql_type: sql_type as u8,
                content: Content::Null,
                len: 0,
                capacity,
                int: 0,
                double: 0.0,
            },
        );
        lua::push_kept(state, current().metatables.parameter);
        ffi::lua_setmetatable(state, -2);
    }
    1
}

/// `stmt:bind_param(p1, p2, …)`.
unsafe extern "C-unwind" fn bind(state: *mut State) -> c_int {
    // SAFETY: called by the prelude; every argument is checked.
    unsafe {
        let count = ffi::lua_gettop(state);
        let bound = statement(state);
        bound.parameters.clear();
        ffi::lua_createtable(state, count - 1, 0);
        for index in 2..=count {
            let made = parameter(state, index);
            bound.parameters.push(made);
            ffi::lua_pushvalue(state, index);
            ffi::lua_rawseti_(state, -2, index - 1);
        }
        ffi::lua_setfenv(state, 1);
    }
    0
}

/// `param:set(value)`.
unsafe extern "C-unwind" fn set(state: *mut State) -> c_int {
    // SAFETY: called by the script; arguments are checked.
    unsafe {
        let made = parameter(state, 1);
        let given = ffi::lua_type(state, 2);
        if given == ffi::LUA_TNIL || given == ffi::LUA_TNONE {
            made.content = Content::Null;
            return 0;
        }
        match made.sql_type {
            1..=4 => {
                made.int = ffi::lua_tonumber(state, 2) as i64;
                made.content = Content::Int;
            }
            5 | 6 => {
                made.double = ffi::lua_tonumber(state, 2);
                made.content = Content::Double;
            }
            _ => {
                let Some(text) = lua::bytes(state, 2) else {
                    lua::raise(state, "param:set() of a text parameter needs a string or nil")
                };
                set_text(made, text);
            }
        }
        if made.sql_type <= 6 && given != ffi::LUA_TNUMBER && ffi::lua_isnumber(state, 2) == 0 {
            lua::raise(state, "param:set() of a number parameter needs a number or nil");
        }
    }
    0
}

/// Text beyond the capacity is cut off, as the field's API has it.
unsafe fn set_text(made: &mut Parameter, text: &[u8]) {
    let len = text.len().min(made.capacity as usize);
    // SAFETY: `len` is within the block; the source is elsewhere.
    unsafe { ptr::copy_nonoverlapping(text.as_ptr(), made.text(), len) };
    made.len = len as u32;
    made.content = Content::Bytes;
}

/// `param:set_rand_str(pattern)`.
unsafe extern "C-unwind" fn set_pattern(state: *mut State) -> c_int {
    // SAFETY: called by the script; arguments are checked.
    unsafe {
        let made = parameter(state, 1);
        let Some(pattern) = lua::bytes(state, 2) else {
            lua::raise(state, "param:set_rand_str() needs a pattern")
        };
        let host = current();
        let client = &mut host.clients[host.current];
        host.scratch.clear();
        client.random.pattern(pattern, &mut host.scratch);
        set_text(made, &host.scratch);
    }
    0
}

/// `stmt:execute()` but for errors, which the prelude raises.
unsafe extern "C-unwind" fn execute(state: *mut State) -> c_int {
    // SAFETY: called by the prelude; parameters live in the statement's environment.
    unsafe {
        let bound = statement(state);
        if current().slot(bound.slot).is_none() {
            lua::raise(state, "SQL API error: attempt to use an already closed connection");
        }
        let id = StatementId(bound.id);
        transmit(state, bound.slot, Purpose::Statement, |session, out| {
            session.execute(id, bound.parameters.iter().map(|made| (**made).value()), out)
        })
    }
}

/// `stmt:close()`.
unsafe extern "C-unwind" fn close(state: *mut State) -> c_int {
    // SAFETY: called by the script.
    unsafe {
        let bound = statement(state);
        let id = StatementId(bound.id);
        if current().slot(bound.slot).is_none() {
            return 0;
        }
        transmit(state, bound.slot, Purpose::Close, |session, out| session.close_statement(id, out))
    }
}

/// The slot a statement belongs to.
unsafe extern "C-unwind" fn slot(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let bound = statement(state);
        ffi::lua_pushinteger(state, bound.slot as ffi::lua_Integer);
        slot_argument(state, -1);
    }
    1
}

/// Lua has collected the object.
unsafe extern "C-unwind" fn collect(state: *mut State) -> c_int {
    // SAFETY: called once by Lua's collector with our own block.
    unsafe {
        let bound = statement(state);
        bound.kind = 0;
        ptr::drop_in_place(&raw mut bound.parameters);
    }
    0
}
