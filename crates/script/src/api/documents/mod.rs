//! Commands of documents: the host functions that `documents.lua` uses.

mod read;

use std::ffi::c_int;

use driver::bson::{self, Answer, WireError};
use driver::{Family, ProtocolError};
use mlua_sys as ffi;

use super::argument::slot_argument;
use super::keys::push_answers;
use super::returned::finish;
use super::waiting::may_wait;
use crate::documents::Marks;
use crate::host::{Host, with, with_view};
use crate::lua::{self, State, set_function};

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: upheld by the caller: the table is on top of the stack.
    unsafe {
        set_function(state, c"answers_documents", answers_documents);
        set_function(state, c"keep_document_types", keep_types);
        set_function(state, c"document_command", command);
        set_function(state, c"document_counts", counts);
        set_function(state, c"document_batch", batch);
        set_function(state, c"document_answer", whole_answer);
    }
}

unsafe extern "C-unwind" fn answers_documents(state: *mut State) -> c_int {
    // SAFETY: a live state.
    unsafe { push_answers(state, Family::Documents) }
}

/// `host.keep_document_types(typed, array)`: the metatables that mark values.
unsafe extern "C-unwind" fn keep_types(state: *mut State) -> c_int {
    // SAFETY: called by the prelude with two tables, which are kept, so that their addresses are
    // theirs for good.
    unsafe {
        ffi::lua_settop(state, 2);
        let array = ffi::lua_topointer(state, 2);
        let array_kept = lua::keep(state);
        let typed = ffi::lua_topointer(state, 1);
        let typed_kept = lua::keep(state);
        with(|host| host.marks = Marks { typed, array, typed_kept, array_kept });
    }
    0
}

/// `host.document_command(slot, options, database, name, value, …)`: sends a command of these
/// fields; nil fields are left out, and the options' own fields follow.
unsafe extern "C-unwind" fn command(state: *mut State) -> c_int {
    // SAFETY: called by the prelude; what is encoded stays on the stack until it has been, and
    // nothing with a destructor is alive when an error is raised.
    unsafe {
        let slot = slot_argument(state, 1);
        may_wait(state);
        let (mut scratch, marks) = with(|host| (std::mem::take(&mut host.documents), host.marks));
        let written = scratch.command(state, marks);
        let database = lua::bytes(state, 3);
        let concluded = written.map(|()| {
            with_view(|host, view| host.runtime.document(view, slot, scratch.document(), database))
        });
        with(|host| host.documents = scratch);
        match concluded {
            Ok(Ok(conclusion)) => finish(state, slot, Ok(conclusion)),
            Ok(Err(error)) => {
                let message = format!("{}{error}", lua::place(state));
                lua::raise_message(state, message)
            }
            Err(what) => {
                let message = format!("{}{what}", lua::place(state));
                drop(what);
                lua::raise_message(state, message)
            }
        }
    }
}

impl Host {
    /// Copies the last answer to where no request of a finaliser can change it.
    fn copied_answer(&mut self, slot: u32) -> Result<Vec<u8>, ProtocolError> {
        let mut bytes = std::mem::take(&mut self.row.bytes);
        bytes.clear();
        self.runtime.answer(slot, |document| bytes.extend_from_slice(document))?;
        Ok(bytes)
    }

    /// Reads the last answer where it is.
    fn answer<R>(
        &self,
        slot: u32,
        read: impl FnOnce(Answer<'_>) -> Result<R, WireError>,
    ) -> Result<Option<R>, ProtocolError> {
        let read = self.runtime.answer(slot, |document| bson::answer(document).and_then(read))?;
        Ok(read.transpose()?)
    }
}

/// `host.document_counts(slot)`: documents inserted, matched or deleted; changed; upserted.
unsafe extern "C-unwind" fn counts(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let slot = slot_argument(state, 1);
        let read = with(|host| {
            host.answer(slot, |answer| {
                Ok((answer.count, answer.modified.unwrap_or(answer.count), answer.upserted))
            })
        });
        let (count, modified, upserted) = match read {
            Ok(found) => found.unwrap_or_default(),
            Err(error) => lua::raise_message(state, error.to_string()),
        };
        ffi::lua_pushnumber(state, count as f64);
        ffi::lua_pushnumber(state, modified as f64);
        ffi::lua_pushnumber(state, upserted as f64);
    }
    3
}

/// `host.document_batch(slot, array)`: how many documents or values the last answer has, and the
/// digits of its cursor if there are more. They are added to the array, unless it is nil.
unsafe extern "C-unwind" fn batch(state: *mut State) -> c_int {
    // SAFETY: called by the prelude with a table or nil; nothing with a destructor is alive when an
    // error is raised.
    unsafe {
        let slot = slot_argument(state, 1);
        ffi::lua_settop(state, 2);
        let outcome = if ffi::lua_type(state, 2) == ffi::LUA_TTABLE {
            add_batch(state, slot)
        } else {
            with(|host| {
                host.answer(slot, |answer| Ok((documents_of(&answer)?.1, cursor_of(&answer))))
            })
            .map(Option::unwrap_or_default)
        };
        with(|host| host.runtime.free_rows(slot));
        let (count, cursor) = match outcome {
            Ok(outcome) => outcome,
            Err(error) => lua::raise_message(state, error.to_string()),
        };
        ffi::lua_pushnumber(state, count as f64);
        if cursor == 0 {
            return 1;
        }
        let digits = cursor.to_string();
        lua::push_bytes(state, digits.as_bytes());
    }
    2
}

/// The array of an answer's documents or values, and how many it has.
fn documents_of<'a>(answer: &Answer<'a>) -> Result<(&'a [u8], u64), WireError> {
    let array = answer.cursor.map(|cursor| cursor.batch).or(answer.values).unwrap_or_default();
    Ok(if array.is_empty() { (array, 0) } else { (array, bson::length(array)?) })
}

fn cursor_of(answer: &Answer<'_>) -> i64 {
    answer.cursor.map_or(0, |cursor| cursor.id)
}

/// Adds the last answer's documents to the array at index 2; returns their number, and the cursor.
unsafe fn add_batch(state: *mut State, slot: u32) -> Result<(u64, i64), ProtocolError> {
    let (copied, marks) = with(|host| (host.copied_answer(slot), host.marks));
    let bytes = copied?;
    let read = || -> Result<(u64, i64), WireError> {
        if bytes.is_empty() {
            return Ok((0, 0));
        }
        let answer = bson::answer(&bytes)?;
        let (array, count) = documents_of(&answer)?;
        // SAFETY: upheld by the caller: a table is at index 2.
        unsafe { read::append(state, 2, array, marks)? };
        Ok((count, cursor_of(&answer)))
    };
    let outcome = read();
    with(|host| host.row.bytes = bytes);
    Ok(outcome?)
}

/// `host.document_answer(slot)`: the last answer as Lua's values.
unsafe extern "C-unwind" fn whole_answer(state: *mut State) -> c_int {
    // SAFETY: called by the prelude; nothing with a destructor is alive when an error is raised.
    unsafe {
        let slot = slot_argument(state, 1);
        let copied = with(|host| host.copied_answer(slot).map(|bytes| (bytes, host.marks)));
        let (bytes, marks) = match copied {
            Ok(copied) => copied,
            Err(error) => lua::raise_message(state, error.to_string()),
        };
        let pushed = if bytes.is_empty() {
            ffi::lua_pushnil(state);
            Ok(())
        } else {
            read::push_document(state, &bytes, marks, 0)
        };
        with(|host| host.row.bytes = bytes);
        if let Err(error) = pushed {
            lua::raise_message(state, ProtocolError::from(error).to_string());
        }
    }
    1
}
