//! Frequent operations on the Lua C API, by name.
//!
//! These are raw on purpose: a call from Lua costs tens of nanoseconds here, and a statement may
//! cost only a few hundred in all. Every function's contract is Lua's own: a valid state, with room
//! on its stack.

use std::ffi::{CStr, c_char, c_int};
use std::mem::MaybeUninit;

use mlua_sys as ffi;

pub(crate) use ffi::lua_State as State;

/// A function that Lua can call.
pub(crate) type Function = unsafe extern "C-unwind" fn(*mut State) -> c_int;

/// Pushes a string of any bytes.
#[inline]
pub(crate) unsafe fn push_bytes(state: *mut State, bytes: &[u8]) {
    // SAFETY: upheld by the caller; Lua copies the bytes.
    unsafe { ffi::lua_pushlstring_(state, bytes.as_ptr().cast::<c_char>(), bytes.len()) }
}

/// The bytes of a string or number on the stack; `None` for any other type. They are valid while
/// the value stays on the stack.
#[inline]
pub(crate) unsafe fn bytes<'a>(state: *mut State, index: c_int) -> Option<&'a [u8]> {
    let mut len = 0usize;
    // SAFETY: upheld by the caller; the result is checked before use.
    unsafe {
        let start = ffi::lua_tolstring(state, index, &mut len);
        if start.is_null() { None } else { Some(std::slice::from_raw_parts(start.cast(), len)) }
    }
}

/// As [`bytes`], as text; invalid UTF-8 is replaced.
pub(crate) unsafe fn text(state: *mut State, index: c_int) -> Option<String> {
    // SAFETY: upheld by the caller.
    unsafe { bytes(state, index) }.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// Any value as text: strings and numbers as they are, others as their type.
pub(crate) unsafe fn describe(state: *mut State, index: c_int) -> String {
    // SAFETY: upheld by the caller; type names are static C strings.
    unsafe {
        match ffi::lua_type(state, index) {
            ffi::LUA_TBOOLEAN => (ffi::lua_toboolean(state, index) != 0).to_string(),
            _ => text(state, index).unwrap_or_else(|| {
                let name = ffi::lua_typename(state, ffi::lua_type(state, index));
                CStr::from_ptr(name).to_string_lossy().into_owned()
            }),
        }
    }
}

/// Raises a Lua error with this message, prefixed with the calling script's line.
pub(crate) unsafe fn raise(state: *mut State, message: &str) -> ! {
    // SAFETY: upheld by the caller; the message is copied before the stack is left.
    unsafe {
        push_bytes(state, place(state).as_bytes());
        push_bytes(state, message.as_bytes());
        ffi::lua_concat(state, 2);
        ffi::lua_error(state)
    }
}

/// Raises a Lua error with exactly this message, which is dropped before the stack is left.
#[cold]
pub(crate) unsafe fn raise_message(state: *mut State, message: String) -> ! {
    // SAFETY: upheld by the caller: nothing with a destructor is alive.
    unsafe {
        push_bytes(state, message.as_bytes());
        drop(message);
        ffi::lua_error(state)
    }
}

/// File and line of the innermost function that comes from a file, in the form of Lua's own
/// messages; empty if none runs. Lua code built into this crate has no file.
pub(crate) unsafe fn place(state: *mut State) -> String {
    let mut record = MaybeUninit::<ffi::lua_Debug>::zeroed();
    for level in 0.. {
        // SAFETY: upheld by the caller; the record is filled by the calls before it is read.
        let record = unsafe {
            if ffi::lua_getstack(state, level, record.as_mut_ptr()) == 0
                || ffi::lua_getinfo(state, c"Sl".as_ptr(), record.as_mut_ptr()) == 0
            {
                break;
            }
            record.assume_init_ref()
        };
        // SAFETY: Lua's own C strings, valid as long as the function.
        let (source, short) =
            unsafe { (CStr::from_ptr(record.source), CStr::from_ptr(record.short_src.as_ptr())) };
        if source.to_bytes().starts_with(b"@") && record.currentline > 0 {
            return format!("{}:{}: ", short.to_string_lossy(), record.currentline);
        }
    }
    String::new()
}

/// Puts a function into the table on top of the stack.
pub(crate) unsafe fn set_function(state: *mut State, name: &CStr, function: Function) {
    // SAFETY: upheld by the caller.
    unsafe {
        ffi::lua_pushcclosure(state, function, 0);
        ffi::lua_setfield(state, -2, name.as_ptr());
    }
}

/// Pops a value and keeps it in the registry; returns its reference.
pub(crate) unsafe fn keep(state: *mut State) -> c_int {
    // SAFETY: upheld by the caller.
    unsafe { ffi::luaL_ref(state, ffi::LUA_REGISTRYINDEX) }
}

/// Pushes a kept value.
#[inline]
pub(crate) unsafe fn push_kept(state: *mut State, reference: c_int) {
    // SAFETY: upheld by the caller.
    unsafe { ffi::lua_rawgeti_(state, ffi::LUA_REGISTRYINDEX, reference) }
}

/// Releases a kept value.
pub(crate) unsafe fn forget(state: *mut State, reference: c_int) {
    // SAFETY: upheld by the caller.
    unsafe { ffi::luaL_unref(state, ffi::LUA_REGISTRYINDEX, reference) }
}

/// Compiles a chunk and leaves it on the stack; on a syntax error leaves nothing.
pub(crate) unsafe fn load(state: *mut State, source: &[u8], name: &CStr) -> Result<(), String> {
    // SAFETY: upheld by the caller; pointers live through the call.
    unsafe {
        let status = ffi::luaL_loadbuffer(
            state,
            source.as_ptr().cast::<c_char>(),
            source.len(),
            name.as_ptr(),
        );
        if status == ffi::LUA_OK {
            return Ok(());
        }
        let message = describe(state, -1);
        ffi::lua_settop(state, -2);
        Err(message)
    }
}

/// A traceback of a thread that failed, without a message.
pub(crate) unsafe fn traceback(main: *mut State, failed: *mut State) -> String {
    // SAFETY: upheld by the caller.
    unsafe {
        ffi::luaL_traceback(main, failed, std::ptr::null(), 0);
        let text = describe(main, -1);
        ffi::lua_settop(main, -2);
        text
    }
}
