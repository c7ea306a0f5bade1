//! Commands on keys: the host functions that `keys.lua` uses.

use std::ffi::c_int;
use std::slice;

use driver::{Family, Item, ProtocolError, Traits, Value};
use mlua_sys as ffi;

use super::argument::slot_argument;
use super::returned::finish;
use super::waiting::may_wait;
use crate::host::{Host, with, with_view};
use crate::lua::{self, State, set_function};

/// How deep aggregates may nest; the replies of the server's own commands nest less deeply.
const DEPTH_MAX: u32 = 64;
/// How many values a new table has room for at most: a server may claim any number.
const ROOM_MAX: u64 = 4096;
/// Integers up to this are Lua numbers exactly.
const EXACT: u64 = 1 << 53;

const DEEP: ProtocolError = ProtocolError::Malformed("reply: it nests more than 64 deep");
const CUT_SHORT: ProtocolError =
    ProtocolError::Malformed("reply: it has fewer values than it says");

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: upheld by the caller: the table is on top of the stack.
    unsafe {
        set_function(state, c"answers_sql", answers_sql);
        set_function(state, c"answers_keys", answers_keys);
        set_function(state, c"command", command);
        set_function(state, c"value", value);
        set_function(state, c"keep_integer", keep_integer);
    }
}

unsafe extern "C-unwind" fn answers_sql(state: *mut State) -> c_int {
    // SAFETY: a live state.
    unsafe { push_answers(state, Family::Sql) }
}

unsafe extern "C-unwind" fn answers_keys(state: *mut State) -> c_int {
    // SAFETY: a live state.
    unsafe { push_answers(state, Family::Keys) }
}

pub(super) unsafe fn push_answers(state: *mut State, family: Family) -> c_int {
    let answers = with(|host| host.config.connections.target.answers(family));
    // SAFETY: upheld by the caller.
    unsafe { ffi::lua_pushboolean(state, c_int::from(answers)) };
    1
}

/// `host.keep_integer(f)`: sets the function that makes a 64-bit integer from its digits.
unsafe extern "C-unwind" fn keep_integer(state: *mut State) -> c_int {
    // SAFETY: called by the prelude with a function.
    unsafe {
        ffi::lua_settop(state, 1);
        let function = lua::keep(state);
        with(|host| host.metatables.integer = function);
    }
    0
}

/// The words of a command on Lua's stack, all of them strings or numbers.
struct Words {
    state: *mut State,
    next: c_int,
    end: c_int,
}

impl Iterator for Words {
    type Item = Value<'static>;

    #[inline]
    fn next(&mut self) -> Option<Value<'static>> {
        if self.next == self.end {
            return None;
        }
        let index = self.next;
        self.next += 1;
        // SAFETY: a live state; the strings stay on its stack until the command is encoded.
        unsafe {
            if ffi::lua_type(self.state, index) == ffi::LUA_TNUMBER {
                return Some(Value::Double(ffi::lua_tonumber(self.state, index)));
            }
            Some(Value::Bytes(lua::bytes(self.state, index).unwrap_or_default()))
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.end - self.next) as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Words {}

/// `host.command(slot, name, …)`.
unsafe extern "C-unwind" fn command(state: *mut State) -> c_int {
    // SAFETY: called by the prelude; the words are checked, and stay on the stack until they have
    // been copied.
    unsafe {
        let slot = slot_argument(state, 1);
        may_wait(state);
        let end = ffi::lua_gettop(state) + 1;
        if ffi::lua_type(state, 2) != ffi::LUA_TSTRING {
            lua::raise(state, "a command begins with its name: con:command(\"GET\", key)");
        }
        for index in 3..end {
            match ffi::lua_type(state, index) {
                ffi::LUA_TSTRING | ffi::LUA_TNUMBER => {}
                ffi::LUA_TUSERDATA if is_buffer(state, index) => as_string(state, index),
                _ => refuse_word(state, index),
            }
        }
        let words = Words { state, next: 2, end };
        let concluded = with_view(|host, view| host.runtime.command(view, slot, words));
        match concluded {
            // The error holds no memory of its own.
            Err(error) => lua::raise_message(state, format!("{}{error}", lua::place(state))),
            concluded => finish(state, slot, concluded),
        }
    }
}

/// Whether a userdata is a buffer of LuaJIT's `string.buffer`.
unsafe fn is_buffer(state: *mut State, index: c_int) -> bool {
    // SAFETY: upheld by the caller: a userdata.
    unsafe {
        if ffi::luaL_getmetafield_(state, index, c"__metatable".as_ptr()) == 0 {
            return false;
        }
        let found = lua::bytes(state, -1) == Some(b"buffer");
        ffi::lua_settop(state, -2);
        found
    }
}

/// Puts the text of a buffer in its place.
unsafe fn as_string(state: *mut State, index: c_int) {
    // SAFETY: upheld by the caller: a buffer, which has `__tostring`.
    unsafe {
        ffi::luaL_callmeta(state, index, c"__tostring".as_ptr());
        ffi::lua_replace(state, index);
    }
}

/// Adds a command of one to three texts to a pipeline; called by compiled scripts (`native.lua`).
/// A text that is null ends them.
///
/// 1: added; 0: nothing was done, and `host.command` takes it.
pub(super) unsafe extern "C" fn join_command(
    slot: u32,
    name: *const u8,
    name_len: usize,
    first: *const u8,
    first_len: usize,
    second: *const u8,
    second_len: usize,
) -> c_int {
    let words = [(name, name_len), (first, first_len), (second, second_len)];
    let count = words.iter().position(|(text, _)| text.is_null()).unwrap_or(words.len());
    let words = words[..count].iter().map(|(text, len)| {
        // SAFETY: Lua strings, which live through the call.
        Value::Bytes(unsafe { slice::from_raw_parts(*text, *len) })
    });
    c_int::from(with(|host| host.runtime.join_command(slot, words)))
}

#[cold]
unsafe fn refuse_word(state: *mut State, index: c_int) -> ! {
    // SAFETY: upheld by the caller.
    unsafe {
        let message = format!(
            "{}argument {} of the command is a {}; expected a string, a buffer or a number",
            lua::place(state),
            index - 2,
            lua::describe(state, index)
        );
        lua::raise_message(state, message)
    }
}

/// The next value of a reply; the bytes of a text or an error are in the host's row.
enum Next {
    Null,
    Text,
    Error,
    Integer(i64),
    Number(f64),
    Boolean(bool),
    Array(u64),
    Map(u64),
}

impl Host {
    fn next_value(&mut self, slot: u32) -> Result<Option<Next>, ProtocolError> {
        let bytes = &mut self.row.bytes;
        self.runtime.item(slot, |item| match item {
            Item::Null => Next::Null,
            Item::Integer(value) => Next::Integer(value),
            Item::Number(value) => Next::Number(value),
            Item::Boolean(value) => Next::Boolean(value),
            Item::Array(count) => Next::Array(count),
            Item::Map(count) => Next::Map(count),
            Item::Text(text) => {
                bytes.clear();
                bytes.extend_from_slice(text);
                Next::Text
            }
            Item::Error(text) => {
                bytes.clear();
                bytes.extend_from_slice(text);
                Next::Error
            }
        })
    }
}

/// `host.value(slot)`: the last command's reply as Lua's values.
unsafe extern "C-unwind" fn value(state: *mut State) -> c_int {
    // SAFETY: called by the prelude; nothing with a destructor is alive when an error is raised.
    unsafe {
        let slot = slot_argument(state, 1);
        if let Err(error) = push_value(state, slot, 0) {
            lua::raise_message(state, error.to_string());
        }
    }
    1
}

/// Pushes the next value, with all values nested in it.
unsafe fn push_value(state: *mut State, slot: u32, depth: u32) -> Result<(), ProtocolError> {
    let next = with(|host| host.next_value(slot))?.ok_or(CUT_SHORT)?;
    // SAFETY: upheld by the caller: a live state.
    unsafe {
        match next {
            Next::Null => ffi::lua_pushnil(state),
            Next::Text => push_text(state),
            Next::Number(value) => ffi::lua_pushnumber(state, value),
            Next::Boolean(value) => ffi::lua_pushboolean(state, c_int::from(value)),
            Next::Integer(value) => push_integer(state, value),
            Next::Error => {
                ffi::lua_createtable(state, 0, 1);
                push_text(state);
                ffi::lua_setfield(state, -2, c"err".as_ptr());
            }
            Next::Array(_) | Next::Map(_) if depth == DEPTH_MAX => return Err(DEEP),
            Next::Array(count) => push_array(state, slot, depth, count)?,
            Next::Map(count) => push_map(state, slot, depth, count)?,
        }
    }
    Ok(())
}

/// Pushes the text read last. Its memory is taken out of the host meanwhile: a finaliser of the
/// script may read something else.
unsafe fn push_text(state: *mut State) {
    let bytes = with(|host| std::mem::take(&mut host.row.bytes));
    // SAFETY: upheld by the caller.
    unsafe { lua::push_bytes(state, &bytes) };
    with(|host| host.row.bytes = bytes);
}

/// Pushes an integer: a Lua number where it holds it exactly, otherwise one of FFI's.
pub(super) unsafe fn push_integer(state: *mut State, value: i64) {
    // SAFETY: upheld by the caller; the function takes a text and returns a value.
    unsafe {
        if value.unsigned_abs() <= EXACT {
            return ffi::lua_pushnumber(state, value as f64);
        }
        let function = with(|host| host.metatables.integer);
        lua::push_kept(state, function);
        lua::push_bytes(state, value.to_string().as_bytes());
        ffi::lua_call(state, 1, 1);
    }
}

/// Pushes a table of values; its `n` is their number, since nulls leave holes.
unsafe fn push_array(
    state: *mut State,
    slot: u32,
    depth: u32,
    count: u64,
) -> Result<(), ProtocolError> {
    // SAFETY: upheld by the caller; the stack is grown for what is pushed.
    unsafe {
        ffi::lua_checkstack(state, 4);
        ffi::lua_createtable(state, count.min(ROOM_MAX) as c_int, 1);
        for place in 1..=count {
            push_value(state, slot, depth + 1)?;
            ffi::lua_rawseti_(state, -2, place as c_int);
        }
        ffi::lua_pushnumber(state, count as f64);
        ffi::lua_setfield(state, -2, c"n".as_ptr());
    }
    Ok(())
}

/// Pushes a table of values by their keys.
unsafe fn push_map(
    state: *mut State,
    slot: u32,
    depth: u32,
    count: u64,
) -> Result<(), ProtocolError> {
    // SAFETY: as `push_array`.
    unsafe {
        ffi::lua_checkstack(state, 5);
        ffi::lua_createtable(state, 0, count.min(ROOM_MAX) as c_int);
        for _ in 0..count {
            push_value(state, slot, depth + 1)?;
            push_value(state, slot, depth + 1)?;
            if is_key(state, -2) {
                ffi::lua_rawset(state, -3);
            } else {
                ffi::lua_settop(state, -3);
            }
        }
    }
    Ok(())
}

/// Whether it can be a key of a table: not nil, not NaN.
unsafe fn is_key(state: *mut State, index: c_int) -> bool {
    // SAFETY: upheld by the caller.
    unsafe {
        match ffi::lua_type(state, index) {
            ffi::LUA_TNIL => false,
            ffi::LUA_TNUMBER => !ffi::lua_tonumber(state, index).is_nan(),
            _ => true,
        }
    }
}
