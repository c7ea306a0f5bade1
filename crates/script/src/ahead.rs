//! Looks ahead in Lua, as `runtime/ahead.rs` does for connections: prefetches the coroutines of the
//! next clients, their stacks, their globals and the way to the statement they execute.

use runtime::prefetch;

use crate::host::{Coroutine, Host};
use crate::layout::{Table, Thread};

/// How many replies ahead our record of a coroutine is prefetched, then the heads of its Lua
/// objects, then the stack and the names that the heads point to.
const COROUTINE: usize = 3;
const HEADS: usize = 2;
const CONTENTS: usize = 1;
/// Of a deep stack or a large table only this much is prefetched, bytes.
const MOST: usize = 1536;
/// Part of the stack above its top, which the next function call uses, bytes.
const ABOVE: usize = 128;

/// Prefetches what the clients of the next replies need. Call it before each reply is taken.
///
/// It reads only the heads of Lua objects, whose memory the arena keeps as long as the state lives.
#[inline]
pub(crate) fn look_ahead(host: &Host) {
    if let Some(coroutine) = upcoming(host, COROUTINE) {
        prefetch(coroutine, size_of_val(coroutine));
    }
    if let Some(Coroutine { thread, globals, way, .. }) = upcoming(host, HEADS) {
        prefetch(*thread, size_of::<Thread>());
        prefetch(*globals, size_of::<Table>());
        way.prefetch_list();
    }
    if let Some(Coroutine { thread, globals, way, .. }) = upcoming(host, CONTENTS) {
        way.prefetch_lines();
        if thread.is_null() || globals.is_null() {
            return;
        }
        // SAFETY: both are live or in the arena, as described above, and no Lua runs.
        let (thread, globals) = unsafe { (&*thread.cast::<Thread>(), &*globals.cast::<Table>()) };
        let used = (thread.top as usize).saturating_sub(thread.stack as usize);
        prefetch(thread.stack, (used + ABOVE).min(MOST));
        prefetch(globals.nodes, globals.nodes_bytes().min(MOST));
    }
}

#[inline]
fn upcoming(host: &Host, ahead: usize) -> Option<&Coroutine> {
    host.runtime.upcoming(ahead).map(|client| &host.coroutines[client as usize])
}
