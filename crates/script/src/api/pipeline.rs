//! `dbdyno.pipeline`: several statements of a connection in flight at once.

use std::ffi::c_int;

use mlua_sys as ffi;
use runtime::{Conclusion, DEPTH_MAX};

use super::argument::slot_argument;
use super::returned::finish;
use super::waiting::may_wait;
use crate::host::{with, with_view};
use crate::lua::{self, State, set_function};

// The message below names this limit.
const _: () = assert!(DEPTH_MAX == 1024);

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: upheld by the caller: the table is on top of the stack.
    unsafe {
        set_function(state, c"pipeline_begin", begin);
        set_function(state, c"pipeline_end", end);
    }
}

/// `host.pipeline_begin(slot, depth)`.
unsafe extern "C-unwind" fn begin(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let index = slot_argument(state, 1);
        may_wait(state);
        forbid(state, index);
        let depth = ffi::lua_tonumber(state, 2);
        if !(1.0..=DEPTH_MAX as f64).contains(&depth) || depth.fract() != 0.0 {
            lua::raise(state, "dbdyno.pipeline() needs a depth from 1 to 1024");
        }
        with(|host| host.runtime.begin_pipeline(index, depth as usize));
    }
    0
}

/// `host.pipeline_end(slot)`: sends the rest and waits for it; false if a statement failed. True:
/// nothing was left, and the pipeline is over.
unsafe extern "C-unwind" fn end(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let index = slot_argument(state, 1);
        may_wait(state);
        let conclusion = with_view(|host, view| host.runtime.end_pipeline(view, index));
        if conclusion == Conclusion::Nothing {
            ffi::lua_pushboolean(state, 1);
            return 1;
        }
        finish(state, index, Ok(conclusion))
    }
}

/// Raises an error if the slot has a pipeline, which takes only statements.
pub(super) unsafe fn forbid(state: *mut State, index: u32) {
    if with(|host| host.runtime.is_pipelined(index)) {
        // SAFETY: upheld by the caller; nothing with a destructor is alive.
        unsafe {
            lua::raise(
                state,
                "dbdyno.pipeline(): until it ends, the connection takes only con:query() \
                 and stmt:execute()",
            );
        }
    }
}
