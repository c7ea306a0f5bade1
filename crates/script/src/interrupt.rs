//! Ends a script that does not return: another thread sets this hook, the script's thread runs it.
//!
//! LuaJIT is built to check for hooks in compiled loops (.cargo/config.toml); C functions and what
//! they call are not interrupted.

use std::ptr;

use engine::Failure;
use mlua_sys as ffi;
use record::FatalKind;
use runtime::fault;

use crate::host::{Host, with, with_view};
use crate::lua::{self, State};

/// Raises an error that says where the script was, unless the shard is neither abandoned nor late.
/// A script that catches it gets no further: the next instruction raises it again.
pub(crate) unsafe extern "C-unwind" fn end(state: *mut State, _: *mut ffi::lua_Debug) {
    // SAFETY: called by Lua between two instructions; nothing with a destructor is alive when the
    // error is raised.
    unsafe {
        // Client preparation runs on the main state, unprotected: it is left to finish.
        if with(|host| ptr::eq(host.main, state)) {
            return;
        }
        if with(|host| host.stuck.is_none()) {
            if !with_view(|_, view| view.control().abandoned() || view.is_late()) {
                ffi::lua_sethook(state, None, 0, 0);
                return;
            }
            let stuck = describe(state);
            with(|host| host.stuck = Some(stuck));
        }
        ffi::lua_sethook(state, Some(end), ffi::LUA_MASKCOUNT, 1);
        lua::raise(state, "the script did not return");
    }
}

unsafe fn describe(state: *mut State) -> Failure {
    let (what, waited) = with(|host| (host.what_runs(), host.interrupter.waited()));
    // SAFETY: upheld by the caller.
    let (place, traceback) =
        unsafe { (lua::place(state), lua::traceback(state, state).trim().to_owned()) };
    let seconds = waited.as_secs_f64();
    let message =
        format!("{place}{what} did not return within {seconds:.1} s of the end of the load");
    let hint = "an endless loop? no other client of its thread can run meanwhile";
    let traceback = Some(traceback);
    Failure { traceback, ..fault(FatalKind::Script, message, Some(hint)) }
}

impl Host {
    /// What the running client is executing, in the script's terms.
    fn what_runs(&self) -> String {
        let command = self.config.command.as_str();
        if self.runtime.in_event(self.current) {
            "event()".to_owned()
        } else if command == "run" || self.looking {
            "the script".to_owned()
        } else {
            format!("`{command}`")
        }
    }
}
