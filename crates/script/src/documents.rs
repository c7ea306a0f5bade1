//! Lua's values as documents. Names of a table are written in the order of their bytes, so that the
//! same table is the same document; `documents.ordered` keeps the order given.

use std::ffi::{CStr, c_int, c_void};

use driver::bson::{self, DEPTH_MAX, kind};
use mlua_sys as ffi;

use crate::lua::{self, State};

/// Metatables by which the prelude marks values: those without a type in Lua, and arrays.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marks {
    pub(crate) typed: *const c_void,
    pub(crate) array: *const c_void,
    pub(crate) typed_kept: c_int,
    pub(crate) array_kept: c_int,
}

impl Default for Marks {
    fn default() -> Self {
        let none = std::ptr::null();
        Self { typed: none, array: none, typed_kept: 0, array_kept: 0 }
    }
}

/// LuaJIT's type of 64-bit integers and other values of C.
const LUA_TCDATA: c_int = 10;
/// Where a command's name is among the arguments; its value and the other fields follow.
const NAME: c_int = 4;

/// What is wrong with a value, in words.
type Fault = String;

/// A name of a table, which Lua owns.
#[derive(Debug, Clone, Copy)]
struct Name {
    start: *const u8,
    size: usize,
}

impl Name {
    /// # Safety
    /// Its table is on the stack, unchanged.
    unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: upheld by the caller.
        unsafe { std::slice::from_raw_parts(self.start, self.size) }
    }
}

/// Memory for commands, used again.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    out: Vec<u8>,
    names: Vec<Name>,
    marks: Marks,
}

impl Scratch {
    /// The command written last.
    pub(crate) fn document(&self) -> &[u8] {
        &self.out
    }

    /// Writes the command on the stack: options, a database, then names and values in turn.
    ///
    /// # Safety
    /// A live state. Nothing here raises an error.
    pub(crate) unsafe fn command(&mut self, state: *mut State, marks: Marks) -> Result<(), Fault> {
        self.out.clear();
        self.names.clear();
        self.marks = marks;
        let whole = bson::begin(&mut self.out);
        // SAFETY: upheld by the caller.
        unsafe {
            let end = ffi::lua_gettop(state);
            let mut at = NAME;
            while at < end {
                let name = if ffi::lua_type(state, at) == ffi::LUA_TSTRING {
                    lua::bytes(state, at).unwrap_or_default()
                } else {
                    return Err("a command begins with its name".into());
                };
                check_name(name)?;
                if ffi::lua_type(state, at + 1) != ffi::LUA_TNIL {
                    self.element(state, name, at + 1, 0)?;
                }
                at += 2;
            }
            match ffi::lua_type(state, 2) {
                ffi::LUA_TNIL => {}
                ffi::LUA_TTABLE => self.fields(state, 2, 0)?,
                _ => return Err(format!("options are a {}; expected a table", type_of(state, 2))),
            }
        }
        bson::end(whole, &mut self.out);
        Ok(())
    }

    /// Writes the value at `index`, an absolute one, under a name.
    unsafe fn element(
        &mut self,
        state: *mut State,
        name: &[u8],
        index: c_int,
        depth: u32,
    ) -> Result<(), Fault> {
        // SAFETY: upheld by the caller; the bytes stay while their value is on the stack.
        unsafe {
            match ffi::lua_type(state, index) {
                ffi::LUA_TNUMBER => {
                    bson::number(name, ffi::lua_tonumber(state, index), &mut self.out);
                }
                ffi::LUA_TSTRING => {
                    let text = lua::bytes(state, index).unwrap_or_default();
                    if std::str::from_utf8(text).is_err() {
                        return Err(format!(
                            "`{}` is a string that is not UTF-8: use documents.binary()",
                            String::from_utf8_lossy(name)
                        ));
                    }
                    bson::text(name, text, &mut self.out);
                }
                ffi::LUA_TBOOLEAN => {
                    let value = ffi::lua_toboolean(state, index) != 0;
                    bson::boolean(name, value, &mut self.out);
                }
                ffi::LUA_TTABLE => self.table(state, name, index, depth)?,
                LUA_TCDATA => {
                    return Err(format!(
                        "`{}` is a value of C: use documents.int64()",
                        String::from_utf8_lossy(name)
                    ));
                }
                _ => {
                    return Err(format!(
                        "`{}` is a {}; expected a string, number, boolean, table or a value of \
                         dbdyno.documents",
                        String::from_utf8_lossy(name),
                        type_of(state, index)
                    ));
                }
            }
        }
        Ok(())
    }

    /// Writes a table: a typed value, an array or a document.
    unsafe fn table(
        &mut self,
        state: *mut State,
        name: &[u8],
        index: c_int,
        depth: u32,
    ) -> Result<(), Fault> {
        // SAFETY: upheld by the caller.
        unsafe {
            if depth >= DEPTH_MAX {
                return Err("a document nests more than 100 deep".into());
            }
            if ffi::lua_checkstack(state, 6) == 0 {
                return Err("no memory for the document".into());
            }
            let mut mark = std::ptr::null();
            if ffi::lua_getmetatable(state, index) != 0 {
                mark = ffi::lua_topointer(state, -1);
                ffi::lua_settop(state, -2);
            }
            if mark == self.marks.typed && !mark.is_null() {
                return self.typed(state, name, index, depth);
            }
            let length = if mark == self.marks.array && !mark.is_null() {
                Some(integer_field(state, index, c"n"))
            } else {
                let length = ffi::lua_objlen(state, index) as i64;
                (length > 0).then_some(length)
            };
            let Some(length) = length else {
                bson::head(kind::DOCUMENT, name, &mut self.out);
                let inside = bson::begin(&mut self.out);
                self.fields(state, index, depth + 1)?;
                bson::end(inside, &mut self.out);
                return Ok(());
            };
            self.array(state, name, index, length, depth)
        }
    }

    unsafe fn array(
        &mut self,
        state: *mut State,
        name: &[u8],
        index: c_int,
        length: i64,
        depth: u32,
    ) -> Result<(), Fault> {
        bson::head(kind::ARRAY, name, &mut self.out);
        let inside = bson::begin(&mut self.out);
        for place in 0..length {
            let mut digits = itoa::Buffer::new();
            let digits = digits.format(place).as_bytes();
            // SAFETY: upheld by the caller.
            unsafe {
                ffi::lua_rawgeti_(state, index, (place + 1) as c_int);
                let value = ffi::lua_gettop(state);
                if ffi::lua_type(state, value) == ffi::LUA_TNIL {
                    bson::head(kind::NULL, digits, &mut self.out);
                } else {
                    self.element(state, digits, value, depth + 1)?;
                }
                ffi::lua_settop(state, value - 1);
            }
        }
        bson::end(inside, &mut self.out);
        Ok(())
    }

    /// Writes the fields of a table, by name.
    unsafe fn fields(&mut self, state: *mut State, index: c_int, depth: u32) -> Result<(), Fault> {
        let first = self.names.len();
        // SAFETY: upheld by the caller; no key is changed meanwhile.
        unsafe {
            ffi::lua_checkstack(state, 4);
            ffi::lua_pushnil(state);
            while ffi::lua_next(state, index) != 0 {
                ffi::lua_settop(state, -2);
                // A number is not converted: that would confuse `lua_next`.
                if ffi::lua_type(state, -1) != ffi::LUA_TSTRING {
                    let what = type_of(state, -1);
                    return Err(format!("a name in a document is a {what}; expected a string"));
                }
                let name = lua::bytes(state, -1).unwrap_or_default();
                check_name(name)?;
                self.names.push(Name { start: name.as_ptr(), size: name.len() });
            }
            self.names[first..].sort_unstable_by(|one, other| one.bytes().cmp(other.bytes()));
            for place in first..self.names.len() {
                let name = self.names[place].bytes();
                lua::push_bytes(state, name);
                ffi::lua_rawget(state, index);
                let value = ffi::lua_gettop(state);
                self.element(state, name, value, depth)?;
                ffi::lua_settop(state, value - 1);
            }
        }
        self.names.truncate(first);
        Ok(())
    }

    /// Writes a value that Lua has no type for.
    unsafe fn typed(
        &mut self,
        state: *mut State,
        name: &[u8],
        index: c_int,
        depth: u32,
    ) -> Result<(), Fault> {
        // SAFETY: upheld by the caller; parts stay on the stack until they are copied.
        unsafe {
            ffi::lua_rawgeti_(state, index, 1);
            let kind = ffi::lua_tonumber(state, -1) as u8;
            if kind == kind::DOCUMENT {
                ffi::lua_settop(state, -2);
                return self.ordered(state, name, index, depth);
            }
            ffi::lua_rawgeti_(state, index, 2);
            ffi::lua_rawgeti_(state, index, 3);
            let base = ffi::lua_gettop(state);
            let number = ffi::lua_tonumber(state, base - 1);
            let part = |at: c_int| lua::bytes(state, at).unwrap_or_default();
            let out = &mut self.out;
            match kind {
                kind::DOUBLE => bson::double(name, number, out),
                kind::DATE => bson::date(name, number as i64, out),
                kind::NULL | kind::MIN_KEY | kind::MAX_KEY => bson::head(kind, name, out),
                kind::BINARY => {
                    let subtype = ffi::lua_tonumber(state, base) as u8;
                    bson::binary(name, subtype, part(base - 1), out);
                }
                kind::REGEX => bson::regex(name, part(base - 1), part(base), out),
                kind::INT64 => match std::str::from_utf8(part(base - 1)).map(str::parse) {
                    Ok(Ok(value)) => bson::int64(name, value, out),
                    _ => return Err("documents.int64() has more than 64 bits".into()),
                },
                // Their bytes as they are: identifiers, timestamps, decimals and older types.
                _ => {
                    bson::head(kind, name, out);
                    out.extend_from_slice(part(base - 1));
                }
            }
            ffi::lua_settop(state, base - 3);
        }
        Ok(())
    }

    /// Writes a document of names and values in turn.
    unsafe fn ordered(
        &mut self,
        state: *mut State,
        name: &[u8],
        index: c_int,
        depth: u32,
    ) -> Result<(), Fault> {
        bson::head(kind::DOCUMENT, name, &mut self.out);
        let inside = bson::begin(&mut self.out);
        // SAFETY: upheld by the caller; a name stays on the stack while its value is written.
        unsafe {
            let count = integer_field(state, index, c"n") as c_int;
            for place in (2..2 + count).step_by(2) {
                ffi::lua_rawgeti_(state, index, place);
                ffi::lua_rawgeti_(state, index, place + 1);
                let value = ffi::lua_gettop(state);
                if ffi::lua_type(state, value - 1) != ffi::LUA_TSTRING {
                    return Err("documents.ordered() takes names, which are strings".into());
                }
                let field = lua::bytes(state, value - 1).unwrap_or_default();
                check_name(field)?;
                if ffi::lua_type(state, value) != ffi::LUA_TNIL {
                    self.element(state, field, value, depth + 1)?;
                }
                ffi::lua_settop(state, value - 2);
            }
        }
        bson::end(inside, &mut self.out);
        Ok(())
    }
}

fn check_name(name: &[u8]) -> Result<(), Fault> {
    match name.contains(&0) {
        false => Ok(()),
        true => Err("a name in a document has a zero byte".into()),
    }
}

unsafe fn type_of(state: *mut State, index: c_int) -> String {
    // SAFETY: upheld by the caller; type names are static C strings.
    unsafe {
        let name = ffi::lua_typename(state, ffi::lua_type(state, index));
        CStr::from_ptr(name).to_string_lossy().into_owned()
    }
}

/// A field of a table that is a number; 0 if it is none.
unsafe fn integer_field(state: *mut State, index: c_int, name: &CStr) -> i64 {
    // SAFETY: upheld by the caller.
    unsafe {
        lua::push_bytes(state, name.to_bytes());
        ffi::lua_rawget(state, index);
        let value = ffi::lua_tonumber(state, -1) as i64;
        ffi::lua_settop(state, -2);
        value
    }
}
