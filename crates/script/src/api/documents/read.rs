//! Documents as Lua's values: tables by name, arrays with their length in `n`, nulls as holes.

use std::ffi::c_int;

use driver::bson::{DEPTH_MAX, Value, WireError, elements, kind};
use mlua_sys as ffi;

use crate::api::keys::push_integer;
use crate::documents::Marks;
use crate::lua::{self, State};

const DEEP: WireError = WireError::Malformed("answer: it nests more than 100 deep");

/// Adds an array's values to the table at `index`, behind those that its `n` counts.
///
/// # Safety
/// A live state.
pub(super) unsafe fn append(
    state: *mut State,
    index: c_int,
    array: &[u8],
    marks: Marks,
) -> Result<(), WireError> {
    if array.is_empty() {
        return Ok(());
    }
    // SAFETY: upheld by the caller.
    unsafe {
        ffi::lua_checkstack(state, 4);
        ffi::lua_getfield_(state, index, c"n".as_ptr());
        let mut place = ffi::lua_tonumber(state, -1) as c_int;
        ffi::lua_settop(state, -2);
        for element in elements(array)? {
            place += 1;
            push_value(state, element?.value, marks, 0)?;
            ffi::lua_rawseti_(state, index, place);
        }
        ffi::lua_pushnumber(state, f64::from(place));
        ffi::lua_setfield(state, index, c"n".as_ptr());
    }
    Ok(())
}

/// Pushes a document as a table. After an error, values are left on the stack.
///
/// # Safety
/// A live state.
pub(super) unsafe fn push_document(
    state: *mut State,
    document: &[u8],
    marks: Marks,
    depth: u32,
) -> Result<(), WireError> {
    if depth == DEPTH_MAX {
        return Err(DEEP);
    }
    // SAFETY: upheld by the caller; the stack is grown for what is pushed.
    unsafe {
        ffi::lua_checkstack(state, 5);
        ffi::lua_createtable(state, 0, 4);
        for element in elements(document)? {
            let element = element?;
            lua::push_bytes(state, element.name);
            push_value(state, element.value, marks, depth + 1)?;
            ffi::lua_rawset(state, -3);
        }
    }
    Ok(())
}

/// Pushes an array, with the metatable of arrays.
unsafe fn push_array(
    state: *mut State,
    array: &[u8],
    marks: Marks,
    depth: u32,
) -> Result<(), WireError> {
    if depth == DEPTH_MAX {
        return Err(DEEP);
    }
    // SAFETY: as `push_document`.
    unsafe {
        ffi::lua_checkstack(state, 5);
        ffi::lua_createtable(state, 4, 1);
        let mut place = 0;
        for element in elements(array)? {
            place += 1;
            push_value(state, element?.value, marks, depth + 1)?;
            ffi::lua_rawseti_(state, -2, place);
        }
        ffi::lua_pushnumber(state, f64::from(place));
        ffi::lua_setfield(state, -2, c"n".as_ptr());
        lua::push_kept(state, marks.array_kept);
        ffi::lua_setmetatable(state, -2);
    }
    Ok(())
}

unsafe fn push_value(
    state: *mut State,
    value: Value<'_>,
    marks: Marks,
    depth: u32,
) -> Result<(), WireError> {
    // SAFETY: upheld by the callers, who have grown the stack.
    unsafe {
        match value {
            Value::Double(value) => ffi::lua_pushnumber(state, value),
            Value::Text(text) => lua::push_bytes(state, text),
            Value::Document(inside) => push_document(state, inside, marks, depth)?,
            Value::Array(inside) => push_array(state, inside, marks, depth)?,
            Value::Boolean(value) => ffi::lua_pushboolean(state, c_int::from(value)),
            Value::Null => ffi::lua_pushnil(state),
            Value::Integer(value) => push_integer(state, value),
            Value::Date(value) => {
                typed(state, marks, kind::DATE, |state| push_integer(state, value));
            }
            Value::ObjectId(id) => {
                typed(state, marks, kind::OBJECT_ID, |state| lua::push_bytes(state, id));
            }
            Value::Binary(subtype, bytes) => {
                typed(state, marks, kind::BINARY, |state| lua::push_bytes(state, bytes));
                third(state, |state| ffi::lua_pushnumber(state, f64::from(subtype)));
            }
            Value::Regex(pattern, options) => {
                typed(state, marks, kind::REGEX, |state| lua::push_bytes(state, pattern));
                third(state, |state| lua::push_bytes(state, options));
            }
            Value::Timestamp(value) => {
                let bytes = value.to_le_bytes();
                typed(state, marks, kind::TIMESTAMP, |state| lua::push_bytes(state, &bytes));
            }
            Value::Decimal(digits) => {
                typed(state, marks, kind::DECIMAL, |state| lua::push_bytes(state, digits));
            }
            Value::MinKey => typed(state, marks, kind::MIN_KEY, |state| ffi::lua_pushnil(state)),
            Value::MaxKey => typed(state, marks, kind::MAX_KEY, |state| ffi::lua_pushnil(state)),
            Value::Other(kind, bytes) => {
                typed(state, marks, kind, |state| lua::push_bytes(state, bytes));
            }
        }
    }
    Ok(())
}

/// Pushes a value that Lua has no type for: a table of BSON's type and a value.
unsafe fn typed(state: *mut State, marks: Marks, kind: u8, push: impl FnOnce(*mut State)) {
    // SAFETY: upheld by the caller; `push` pushes one value.
    unsafe {
        ffi::lua_checkstack(state, 4);
        ffi::lua_createtable(state, 3, 0);
        ffi::lua_pushnumber(state, f64::from(kind));
        ffi::lua_rawseti_(state, -2, 1);
        push(state);
        ffi::lua_rawseti_(state, -2, 2);
        lua::push_kept(state, marks.typed_kept);
        ffi::lua_setmetatable(state, -2);
    }
}

/// Sets a third part of the value on top.
unsafe fn third(state: *mut State, push: impl FnOnce(*mut State)) {
    // SAFETY: as `typed`.
    unsafe {
        push(state);
        ffi::lua_rawseti_(state, -2, 3);
    }
}
