//! The path from a client's globals to a statement that it executes again and again: part of what
//! its next event reads.

use std::ops::Range;

use crate::layout::{Table, TaggedValue};
use crate::lines::Lines;

/// Values that the search reads at most.
const VALUES_MAX: usize = 2048;

/// A table that the search has reached.
struct Reached {
    table: usize,
    /// Index of the table that refers to it, and the value that does; `None`: the globals.
    from: Option<(usize, *const TaggedValue)>,
}

/// Finds the path from `globals` through tables to `objects`, the memory of userdata and FFI
/// objects, headers included; other memory may be among them.
///
/// # Safety
/// `globals` is a live table, and no Lua runs.
pub(crate) unsafe fn find(globals: *const Table, objects: &[Range<usize>], lines: &mut Lines) {
    let mut reached = vec![Reached { table: globals as usize, from: None }];
    let (mut at, mut left) = (0, VALUES_MAX);
    while at < reached.len() && left > 0 {
        // SAFETY: upheld by the caller: tables that a live table refers to are live.
        let table = unsafe { &*(reached[at].table as *const Table) };
        for place in table.values().take(left) {
            left -= 1;
            // SAFETY: a value of a live table.
            let value = unsafe { *place };
            if let Some(table) = value.table() {
                if reached.iter().all(|one| one.table != table) {
                    reached.push(Reached { table, from: Some((at, place)) });
                }
            } else if let Some(address) = value.object()
                && objects.iter().any(|object| object.start == address)
            {
                add_path(lines, &reached, at, place);
            }
        }
        at += 1;
    }
    objects.iter().for_each(|object| lines.add(object.clone()));
}

/// Adds the path to a value of the table at `at`.
fn add_path(lines: &mut Lines, reached: &[Reached], mut at: usize, place: *const TaggedValue) {
    lines.add_object(place);
    while let Some((parent, value)) = reached[at].from {
        lines.add_object(reached[at].table as *const Table);
        lines.add_object(value);
        at = parent;
    }
}

#[cfg(test)]
mod tests {
    use mlua_sys as ffi;
    use runtime::CACHE_LINE;

    use super::*;
    use crate::arena::Lua;
    use crate::layout::USERDATA_HEADER_BYTES;
    use crate::lua::{self, State};

    /// Runs `source`, which returns a table and a userdata in it; returns the path to it.
    unsafe fn path_in(state: *mut State, source: &str) -> (Vec<usize>, Range<usize>) {
        // SAFETY: upheld by the caller: a live state that runs nothing.
        unsafe {
            ffi::luaL_openlibs(state);
            lua::load(state, source.as_bytes(), c"test").unwrap();
            ffi::lua_call(state, 0, 2);
            let start = ffi::lua_touserdata(state, 2) as usize - USERDATA_HEADER_BYTES;
            let object = start..start + USERDATA_HEADER_BYTES;
            let globals = ffi::lua_topointer(state, 1).cast();
            let mut lines = Lines::default();
            find(globals, std::slice::from_ref(&object), &mut lines);
            (lines.addresses().to_vec(), object)
        }
    }

    #[test]
    fn it_leads_through_nested_tables_and_nowhere_else() {
        let lua = Lua::new().unwrap();
        let source = "local wanted = newproxy()
            local globals = {
              aside = { newproxy() }, stmt = { { begin = newproxy(), selects = wanted } }, 1, 'two',
            }
            globals.stmt.back = globals
            return globals, wanted";
        // SAFETY: a state of our own that runs nothing.
        unsafe {
            let (lines, object) = path_in(lua.state, source);
            let covers = |start: usize, bytes: usize| {
                (start / CACHE_LINE..(start + bytes).div_ceil(CACHE_LINE))
                    .all(|at| lines.contains(&(at * CACHE_LINE)))
            };
            assert!(covers(object.start, object.len()));
            ffi::lua_getfield(lua.state, 1, c"stmt".as_ptr());
            assert!(covers(ffi::lua_topointer(lua.state, -1) as usize, size_of::<Table>()));
            ffi::lua_rawgeti_(lua.state, -1, 1);
            let first = ffi::lua_topointer(lua.state, -1).cast::<Table>();
            assert!(covers(first as usize, size_of::<Table>()));
            let place = (*first).values().find(|at| (**at).object() == Some(object.start));
            assert!(covers(place.unwrap() as usize, size_of::<TaggedValue>()));
            let most = [size_of::<Table>(), 8, size_of::<Table>(), 8, object.len()];
            let most: usize = most.iter().map(|bytes| bytes / CACHE_LINE + 1).sum();
            assert!(lines.len() <= most, "{lines:x?}");
        }
    }

    #[test]
    fn the_search_ends() {
        let lua = Lua::new().unwrap();
        let source = "local wanted, globals = newproxy(), {}
            for at = 1, 5000 do globals[at] = { globals } end
            globals[5001] = wanted
            return globals, wanted";
        // SAFETY: a state of our own that runs nothing.
        unsafe {
            let (lines, object) = path_in(lua.state, source);
            // Those of the object itself: one, or two where it lies across a border.
            let own = object.end.div_ceil(CACHE_LINE) - object.start / CACHE_LINE;
            assert!(lines.len() <= own, "it is too far: {lines:x?}");
        }
    }
}
