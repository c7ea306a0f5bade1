//! Prepared statements and their parameters.

use std::ffi::c_int;
use std::ptr;

use driver::StatementId;
use mlua_sys as ffi;

use super::argument::slot_argument;
use super::objects::{PARAMETER, Parameter, STATEMENT, Statement};
use super::pipeline;
use super::returned::finish;
use super::waiting::may_wait;
use crate::host::{Coroutine, with, with_view};
use crate::layout::{FFI_HEADER_BYTES, USERDATA_HEADER_BYTES};
use crate::lines::{KeptLines, Lines};
use crate::lua::{self, State, set_function};
use crate::{event_path, statement_path};

/// `lua_type` of an FFI object.
const TYPE_FFI: c_int = 10;

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: upheld by the caller: the table is on top of the stack.
    unsafe {
        set_function(state, c"statement_bind", bind);
        set_function(state, c"statement_execute", execute);
        set_function(state, c"statement_close", close);
        set_function(state, c"statement_slot", slot);
        set_function(state, c"statement_text", text);
        set_function(state, c"statement_collect", collect);
    }
}

#[inline]
unsafe fn statement<'a>(state: *mut State) -> &'a mut Statement {
    // SAFETY: a userdata of at least one word; its kind says which object it is.
    unsafe {
        let block = ffi::lua_touserdata(state, 1).cast::<Statement>();
        if block.is_null() || (*block).kind != STATEMENT {
            lua::raise(state, "call a statement's methods with a colon: stmt:execute()");
        }
        &mut *block
    }
}

#[inline]
unsafe fn parameter(state: *mut State, index: c_int) -> *const Parameter {
    // SAFETY: FFI objects are larger than the mark, which says whether it is one of ours.
    unsafe {
        let made = ffi::lua_topointer(state, index).cast::<Parameter>();
        if ffi::lua_type(state, index) != TYPE_FFI || (*made).mark != PARAMETER {
            lua::raise(state, "expected a parameter made by stmt:bind_create()");
        }
        made
    }
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

/// `stmt:execute()` without raising errors, which the prelude does: false for a failure, true if
/// the connection is closed.
unsafe extern "C-unwind" fn execute(state: *mut State) -> c_int {
    // SAFETY: called by the prelude; parameters live in the statement's environment.
    unsafe {
        let bound = statement(state);
        may_wait(state);
        let id = StatementId(bound.id);
        let concluded = with_view(|host, view| {
            if !host.runtime.has(bound.slot) {
                return None;
            }
            note_execution(state, host.running(), bound);
            let values = bound.parameters.iter().map(|made| (**made).value());
            Some(host.runtime.execute(view, bound.slot, id, values))
        });
        match concluded {
            Some(concluded) => finish(state, bound.slot, concluded),
            None => {
                ffi::lua_pushboolean(state, 1);
                1
            }
        }
    }
}

/// Finds what the events of a client read once it executes a statement twice in a row.
#[inline]
unsafe fn note_execution(state: *mut State, client: &mut Coroutine, statement: &Statement) {
    let again = client.executed == ptr::from_ref(statement) as usize;
    client.executed = ptr::from_ref(statement) as usize;
    if again && !client.reads.is_known() {
        // SAFETY: upheld by the caller: a live state, which waits for us.
        client.reads = unsafe { reads_of(state, statement) };
    }
}

#[cold]
unsafe fn reads_of(state: *mut State, statement: &Statement) -> KeptLines {
    let memory = |start: usize, bytes, header: usize| start - header..start + bytes;
    let own =
        memory(ptr::from_ref(statement).addr(), size_of::<Statement>(), USERDATA_HEADER_BYTES);
    let of_parameter =
        |made: *const Parameter| memory(made.addr(), size_of::<Parameter>(), FFI_HEADER_BYTES);
    let parameters = statement.parameters.iter().copied().map(of_parameter);
    let objects: Vec<_> = std::iter::once(own).chain(parameters).collect();
    // SAFETY: upheld by the caller; the globals of a live state are a live table.
    unsafe {
        let globals = ffi::lua_topointer(state, ffi::LUA_GLOBALSINDEX).cast();
        let mut lines = Lines::default();
        event_path::find(globals, &mut lines);
        statement_path::find(globals, &objects, &mut lines);
        lines.kept_by(state)
    }
}

/// `stmt:close()`.
unsafe extern "C-unwind" fn close(state: *mut State) -> c_int {
    // SAFETY: called by the script.
    unsafe {
        let bound = statement(state);
        let id = StatementId(bound.id);
        if !with(|host| host.runtime.has(bound.slot)) {
            return 0;
        }
        may_wait(state);
        pipeline::forbid(state, bound.slot);
        let concluded = with_view(|host, view| host.runtime.close_statement(view, bound.slot, id));
        finish(state, bound.slot, concluded)
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

/// The text that was prepared; false if it is unknown.
unsafe extern "C-unwind" fn text(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let bound = statement(state);
        let text = with(|host| {
            let text = host.runtime.statement_text(bound.slot, StatementId(bound.id));
            text.map(<[u8]>::to_vec)
        });
        match text {
            Some(text) => lua::push_bytes(state, &text),
            None => ffi::lua_pushboolean(state, 0),
        }
    }
    1
}

/// Called when Lua collects the object.
unsafe extern "C-unwind" fn collect(state: *mut State) -> c_int {
    // SAFETY: called once by Lua's collector with our own block.
    unsafe {
        let bound = statement(state);
        bound.kind = 0;
        ptr::drop_in_place(&raw mut bound.parameters);
    }
    0
}
