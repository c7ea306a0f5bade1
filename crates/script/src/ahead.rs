//! Looks ahead in Lua, as `runtime/ahead.rs` does for connections: prefetches the coroutines of the
//! next clients, their stacks and their globals.

use std::ffi::c_void;

use runtime::prefetch;

use crate::host::{Coroutine, Host};

/// How many replies ahead our record of a coroutine is prefetched, then the heads of its Lua
/// objects, then the stack and the names that the heads point to.
const COROUTINE: usize = 3;
const HEADS: usize = 2;
const CONTENTS: usize = 1;
/// Of a deep stack or a large table only this much is prefetched, bytes.
const MOST: usize = 1536;
/// Part of the stack above its top, which the next function call uses, bytes.
const ABOVE: usize = 128;
/// A name and its value in a LuaJIT table, bytes.
const NODE: usize = 24;
/// LuaJIT's whole `lua_State`, bytes.
const THREAD_BYTES: usize = 96;

/// The head of LuaJIT's `lua_State` (`lj_obj.h`, 64 bits).
#[repr(C)]
struct Thread {
    header: [usize; 4],
    base: *const c_void,
    top: *const c_void,
    stack_end: *const c_void,
    stack: *const c_void,
}

/// The same of its `GCtab`.
#[repr(C)]
struct Table {
    header: [usize; 5],
    nodes: *const c_void,
    array_size: u32,
    last_node: u32,
}

/// Prefetches what the clients of the next replies need. Call it before each reply is taken.
///
/// It reads only the heads of Lua objects, whose memory the arena keeps as long as the state lives.
/// If another version of LuaJIT lays them out differently, the wrong memory is prefetched, which
/// does no harm.
#[inline]
pub(crate) fn look_ahead(host: &Host) {
    if let Some(coroutine) = upcoming(host, COROUTINE) {
        prefetch(coroutine, size_of_val(coroutine));
    }
    if let Some(Coroutine { thread, globals, .. }) = upcoming(host, HEADS) {
        prefetch(*thread, THREAD_BYTES);
        prefetch(*globals, size_of::<Table>());
    }
    if let Some(Coroutine { thread, globals, .. }) = upcoming(host, CONTENTS)
        && !thread.is_null()
        && !globals.is_null()
    {
        let (thread, globals) = (thread.cast::<Thread>(), globals.cast::<Table>());
        // SAFETY: both are live or in the arena, as described above, and no Lua runs.
        let (stack, top, names, last) =
            unsafe { ((*thread).stack, (*thread).top, (*globals).nodes, (*globals).last_node) };
        let used = (top as usize).saturating_sub(stack as usize);
        prefetch(stack, (used + ABOVE).min(MOST));
        prefetch(names, ((last as usize + 1) * NODE).min(MOST));
    }
}

#[inline]
fn upcoming(host: &Host, ahead: usize) -> Option<&Coroutine> {
    host.runtime.upcoming(ahead).map(|client| &host.coroutines[client as usize])
}

#[cfg(test)]
mod tests {
    use mlua_sys as ffi;

    use super::{Table, Thread};
    use crate::arena::Lua;

    #[test]
    fn luajit_has_its_stack_and_its_names_where_they_are_looked_for() {
        let lua = Lua::new().unwrap();
        // SAFETY: a state of our own that runs nothing.
        unsafe {
            let thread = ffi::lua_newthread(lua.state);
            let seen = thread.cast_const().cast::<Thread>();
            let top = (*seen).top as usize;
            ffi::lua_pushnumber(thread, 0.5);
            assert_eq!((*seen).top as usize, top + 8);
            assert_eq!((top as *const f64).read(), 0.5);
            let order = [(*seen).stack, (*seen).base, (*seen).top, (*seen).stack_end];
            assert!(order.is_sorted_by_key(|place| *place as usize), "{order:?}");

            ffi::lua_createtable(thread, 3, 8);
            let table = ffi::lua_topointer(thread, -1).cast::<Table>();
            assert_eq!((*table).last_node, 7);
            assert_eq!((*table).array_size, 4, "with element 0");
            ffi::lua_pushnumber(thread, 0.25);
            ffi::lua_setfield(thread, -2, c"name".as_ptr());
            let nodes = std::slice::from_raw_parts((*table).nodes.cast::<f64>(), 8 * 3);
            assert_eq!(nodes.iter().filter(|word| **word == 0.25).count(), 1);
        }
    }
}
