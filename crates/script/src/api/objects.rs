//! Objects that scripts hold: statements, parameters and results, in Lua's memory.
//!
//! A parameter is a small block of memory that the script sets (`native.lua`) and the host reads
//! when the statement is executed; nothing is allocated in between.

use std::ptr;

use driver::{StatementId, Value};
use mlua_sys as ffi;
use smallvec::SmallVec;

use crate::host::with;
use crate::lua::{self, State};

/// Distinguishes our blocks from other userdata.
pub(super) const STATEMENT: u32 = 0xd817_0001;
pub(super) const PARAMETER: u32 = 0xd817_0002;

/// Memory layout of a statement object.
#[repr(C)]
pub(super) struct Statement {
    pub(super) kind: u32,
    pub(super) slot: u32,
    pub(super) id: u32,
    /// Bound parameters; the objects are kept alive by the statement's environment table.
    pub(super) parameters: SmallVec<[*const Parameter; 4]>,
}

/// The type of a parameter's value; anything else is NULL.
const INTEGER: u8 = 1;
const NUMBER: u8 = 2;
const TEXT: u8 = 3;
const UNSIGNED: u8 = 4;

/// Memory layout of a parameter object: `dbdyno_parameter` of `native.lua`, which writes it. Text
/// follows directly after it.
#[repr(C)]
pub(super) struct Parameter {
    pub(super) mark: u32,
    sql_type: u8,
    content: u8,
    length: u32,
    capacity: u32,
    integer: i64,
    number: f64,
}

impl Parameter {
    #[inline]
    pub(super) fn value(&self) -> Value<'_> {
        match self.content {
            INTEGER => Value::Int(self.integer),
            NUMBER => Value::Double(self.number),
            UNSIGNED => Value::Unsigned(self.integer.cast_unsigned()),
            TEXT => {
                let text = ptr::from_ref(self).wrapping_add(1).cast::<u8>();
                let length = self.length.min(self.capacity) as usize;
                // SAFETY: the object was made with `capacity` bytes behind this header.
                Value::Bytes(unsafe { std::slice::from_raw_parts(text, length) })
            }
            _ => Value::Null,
        }
    }
}

/// Pushes a new statement object.
pub(super) unsafe fn push_statement(state: *mut State, slot: u32, id: StatementId) {
    let metatable = with(|host| host.metatables.statement);
    // SAFETY: upheld by the caller; the block is written before anyone sees it.
    unsafe {
        let block = ffi::lua_newuserdata(state, size_of::<Statement>()).cast::<Statement>();
        ptr::write(
            block,
            Statement { kind: STATEMENT, slot, id: id.0, parameters: SmallVec::new() },
        );
        lua::push_kept(state, metatable);
        ffi::lua_setmetatable(state, -2);
    }
}

/// Makes the object that shows a connection's results, unless it exists.
pub(super) unsafe fn make_result(slot: u32) {
    let place = slot as usize;
    let (main, metatable, made) = with(|host| {
        if host.results.len() <= place {
            host.results.resize(place + 1, 0);
        }
        (host.main, host.metatables.result, host.results[place])
    });
    if made != 0 {
        return;
    }
    // SAFETY: the main state has room; the block holds a u32.
    let object = unsafe {
        ffi::lua_newuserdata(main, size_of::<u32>()).cast::<u32>().write(slot);
        lua::push_kept(main, metatable);
        ffi::lua_setmetatable(main, -2);
        lua::keep(main)
    };
    with(|host| host.results[place] = object);
}
