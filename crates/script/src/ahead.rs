//! Looks ahead in Lua, as `runtime/ahead.rs` does for connections: prefetches the coroutines of the
//! next clients, their stacks, their globals and the path to the statement they execute.

use runtime::prefetch;

use crate::host::{Coroutine, Host};
use crate::layout::{Table, Thread};

/// How many replies ahead our record of a coroutine is prefetched, then the headers of its Lua
/// objects, then the stack and the names that the headers point to.
const COROUTINE: usize = 3;
const HEADERS: usize = 2;
const CONTENTS: usize = 1;
/// Of a deep stack or a large table only this much is prefetched, bytes.
const MOST: usize = 1536;
/// Part of the stack above its top, which the next function call uses, bytes.
const ABOVE: usize = 128;

/// Prefetches what the clients of the next replies need. Call it before each reply is taken.
///
/// It reads only the headers of Lua objects, whose memory the arena keeps as long as the state
/// lives.
#[inline]
pub(crate) fn look_ahead(host: &Host) {
    if !host.runtime.looks_ahead() {
        return;
    }
    prefetch_coroutine(host, COROUTINE);
    prefetch_headers(host, HEADERS);
    prefetch_contents(host, CONTENTS);
}

/// The same for the first replies of a wait.
#[inline]
pub(crate) fn look_ahead_after_wait(host: &Host) {
    if !host.runtime.looks_ahead() {
        return;
    }
    (0..COROUTINE).for_each(|ahead| prefetch_coroutine(host, ahead));
    (0..HEADERS).for_each(|ahead| prefetch_headers(host, ahead));
    (0..CONTENTS).for_each(|ahead| prefetch_contents(host, ahead));
}

#[inline]
fn prefetch_coroutine(host: &Host, ahead: usize) {
    if let Some(coroutine) = upcoming(host, ahead) {
        prefetch(coroutine, size_of_val(coroutine));
    }
}

#[inline]
fn prefetch_headers(host: &Host, ahead: usize) {
    if let Some(Coroutine { thread, globals, path, .. }) = upcoming(host, ahead) {
        prefetch(*thread, size_of::<Thread>());
        prefetch(*globals, size_of::<Table>());
        path.prefetch_list();
    }
}

#[inline]
fn prefetch_contents(host: &Host, ahead: usize) {
    let Some(Coroutine { thread, globals, path, .. }) = upcoming(host, ahead) else { return };
    path.prefetch_lines();
    if thread.is_null() || globals.is_null() {
        return;
    }
    // SAFETY: both are live or in the arena, as described above, and no Lua runs.
    let (thread, globals) = unsafe { (&*thread.cast::<Thread>(), &*globals.cast::<Table>()) };
    let used = (thread.top as usize).saturating_sub(thread.stack as usize);
    prefetch(thread.stack, (used + ABOVE).min(MOST));
    prefetch(globals.nodes, globals.nodes_bytes().min(MOST));
}

#[inline]
fn upcoming(host: &Host, ahead: usize) -> Option<&Coroutine> {
    host.runtime.upcoming(ahead).map(|client| &host.coroutines[client as usize])
}
