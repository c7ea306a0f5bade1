//! What scripts print: whole lines, and text that waits for the end of its line.

use std::ffi::c_int;

use engine::{Message, ShardView};

use crate::host::{Host, with_view};
use crate::lua::{self, State, set_function};

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: upheld by the caller: the table is on top of the stack.
    unsafe {
        set_function(state, c"print", print);
        set_function(state, c"write", write);
    }
}

/// Prints a whole line of the script's output.
unsafe extern "C-unwind" fn print(state: *mut State) -> c_int {
    // SAFETY: called by the prelude with a string.
    let text = unsafe { lua::bytes(state, 1) }.unwrap_or_default();
    with_view(|host, view| {
        if !host.muted {
            host.line.extend_from_slice(text);
            host.send_line(view);
        }
    });
    0
}

/// Collects output without a newline until the line ends.
unsafe extern "C-unwind" fn write(state: *mut State) -> c_int {
    // SAFETY: called by the prelude with a string.
    let text = unsafe { lua::bytes(state, 1) }.unwrap_or_default();
    with_view(|host, view| {
        if host.muted {
            return;
        }
        host.line.extend_from_slice(text);
        while let Some(end) = host.line.iter().position(|byte| *byte == b'\n') {
            let rest = host.line.split_off(end + 1);
            host.line.truncate(end);
            host.send_line(view);
            host.line = rest;
        }
    });
    0
}

impl Host {
    /// Prints the collected line.
    fn send_line(&mut self, view: &ShardView) {
        let line = std::mem::take(&mut self.line);
        view.send(Message::Output(String::from_utf8_lossy(&line).into_owned()));
    }
}

/// Prints what the script wrote without ending the line.
pub(crate) fn flush_line() {
    with_view(|host, view| {
        if !host.line.is_empty() {
            host.send_line(view);
        }
    });
}
