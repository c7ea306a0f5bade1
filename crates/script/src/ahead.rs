//! Looks ahead in Lua, as `runtime/ahead.rs` does for connections: preloads the coroutines of the
//! next clients, their stacks and what their events read.

use runtime::{preload, preload_memory};

use crate::host::{Coroutine, Host};
use crate::layout::{Table, Thread};

/// How many replies ahead our record of a coroutine is preloaded, then the headers of its Lua
/// objects, then the stack and the names that the headers point to.
const COROUTINE: usize = 3;
const HEADERS: usize = 2;
const CONTENTS: usize = 1;
/// Of a deep stack or a large table only this much is brought in, bytes.
const MOST: usize = 1536;
/// Part of the stack above its top, which the next function call uses, bytes.
const ABOVE: usize = 128;

/// Preloads what the clients of the next replies need. Call it before each reply is taken.
#[inline]
pub(crate) fn look_ahead(host: &Host) {
    if !host.runtime.looks_ahead() {
        return;
    }
    preload_coroutine(host, COROUTINE);
    preload_headers(host, HEADERS);
    preload_contents(host, CONTENTS);
}

/// The same for the first replies of a wait.
#[inline]
pub(crate) fn look_ahead_after_wait(host: &Host) {
    if !host.runtime.looks_ahead() {
        return;
    }
    (0..COROUTINE).for_each(|ahead| preload_coroutine(host, ahead));
    (0..HEADERS).for_each(|ahead| preload_headers(host, ahead));
    (0..CONTENTS).for_each(|ahead| preload_contents(host, ahead));
}

#[inline]
fn preload_coroutine(host: &Host, ahead: usize) {
    if let Some(coroutine) = upcoming(host, ahead) {
        preload(coroutine, usize::MAX);
    }
}

#[inline]
fn preload_headers(host: &Host, ahead: usize) {
    let Some(Coroutine { thread, globals, reads, .. }) = upcoming(host, ahead) else { return };
    reads.preload_list();
    if thread.is_null() || globals.is_null() {
        return;
    }
    // SAFETY: small Lua objects, live or dead: the arena keeps their memory as long as the state
    // lives.
    unsafe {
        preload_memory(*thread, size_of::<Thread>());
        preload_memory(*globals, size_of::<Table>());
    }
}

#[inline]
fn preload_contents(host: &Host, ahead: usize) {
    let Some(Coroutine { thread, reads, .. }) = upcoming(host, ahead) else { return };
    // SAFETY: the state lives.
    unsafe { reads.preload_lines() };
    if thread.is_null() {
        return;
    }
    // SAFETY: no Lua runs. The thread is live, and so are its stack and its globals.
    unsafe {
        let thread = &*thread.cast::<Thread>();
        let start = thread.stack as usize;
        let used = (thread.top as usize).saturating_sub(start);
        let whole = (thread.stack_end as usize).saturating_sub(start);
        preload_memory(thread.stack, (used + ABOVE).min(MOST).min(whole));
        if !reads.is_known() {
            let globals = &*thread.globals;
            preload_memory(globals.nodes, globals.nodes_bytes().min(MOST));
        }
    }
}

#[inline]
fn upcoming(host: &Host, ahead: usize) -> Option<&Coroutine> {
    host.runtime.upcoming(ahead).map(|client| &host.coroutines[client as usize])
}
