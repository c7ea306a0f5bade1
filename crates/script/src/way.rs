//! The way from a client's globals to a statement that it executes again and again.

use std::ops::Range;
use std::ptr;

use runtime::prefetch;

use crate::layout::{Table, Value};

/// Bytes of a line of the processor's cache.
const LINE: usize = 64;
/// Lines that a way has at most.
const LINES_MAX: usize = 24;
/// Values that are looked at to find one.
const VALUES_MAX: usize = 2048;

/// The cache lines that lie on the way, by address; empty: not known.
#[derive(Debug, Default)]
pub(crate) struct Way(Box<[usize]>);

/// A table on the way, and how it was found.
struct Found {
    table: usize,
    /// The table that refers to it, by its place among those found, and where it does.
    by: Option<(usize, *const Value)>,
}

impl Way {
    #[inline]
    pub(crate) fn is_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// Finds the way from `globals` through tables to `objects`, the memory of userdata and FFI
    /// objects, heads included; other memory may be among them.
    ///
    /// # Safety
    /// `globals` is a live table, and no Lua runs.
    pub(crate) unsafe fn find(globals: *const Table, objects: &[Range<usize>]) -> Self {
        let mut lines = Vec::with_capacity(LINES_MAX);
        objects.iter().for_each(|object| add(&mut lines, object.clone()));
        let mut found = vec![Found { table: globals as usize, by: None }];
        let (mut at, mut left) = (0, VALUES_MAX);
        while at < found.len() && left > 0 {
            // SAFETY: upheld by the caller: tables that a live table refers to are live.
            let table = unsafe { &*(found[at].table as *const Table) };
            for place in table.values().take(left) {
                left -= 1;
                // SAFETY: a value of a live table.
                let value = unsafe { *place };
                if let Some(table) = value.table() {
                    if found.iter().all(|one| one.table != table) {
                        found.push(Found { table, by: Some((at, place)) });
                    }
                } else if let Some(address) = value.object()
                    && objects.iter().any(|object| object.start == address)
                {
                    add_way(&mut lines, &found, at, place);
                }
            }
            at += 1;
        }
        Self(lines.into_boxed_slice())
    }

    /// Prefetches the list of lines.
    #[inline]
    pub(crate) fn prefetch_list(&self) {
        prefetch(self.0.as_ptr(), size_of_val(&*self.0));
    }

    /// Prefetches the lines.
    #[inline]
    pub(crate) fn prefetch_lines(&self) {
        for line in &self.0 {
            prefetch(ptr::without_provenance::<u8>(*line), 1);
        }
    }
}

/// Adds the way to a value of the table found at `at`; the globals are prefetched anyway.
fn add_way(lines: &mut Vec<usize>, found: &[Found], mut at: usize, mut place: *const Value) {
    while let Some((by, place_there)) = found[at].by {
        let table = found[at].table;
        add(lines, table..table + size_of::<Table>());
        add(lines, place as usize..place as usize + size_of::<Value>());
        (at, place) = (by, place_there);
    }
}

fn add(lines: &mut Vec<usize>, memory: Range<usize>) {
    if memory.is_empty() {
        return;
    }
    for line in (memory.start / LINE..memory.end.div_ceil(LINE)).map(|line| line * LINE) {
        if lines.len() < LINES_MAX && !lines.contains(&line) {
            lines.push(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use mlua_sys as ffi;

    use super::*;
    use crate::arena::Lua;
    use crate::layout::USERDATA_HEAD_BYTES;
    use crate::lua::{self, State};

    /// Runs `source`, which returns a table and a userdata in it; returns the way to it.
    unsafe fn way_in(state: *mut State, source: &str) -> (Way, Range<usize>) {
        // SAFETY: upheld by the caller: a live state that runs nothing.
        unsafe {
            ffi::luaL_openlibs(state);
            lua::load(state, source.as_bytes(), c"test").unwrap();
            ffi::lua_call(state, 0, 2);
            let start = ffi::lua_touserdata(state, 2) as usize - USERDATA_HEAD_BYTES;
            let object = start..start + USERDATA_HEAD_BYTES;
            let globals = ffi::lua_topointer(state, 1).cast();
            (Way::find(globals, std::slice::from_ref(&object)), object)
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
            let (Way(lines), object) = way_in(lua.state, source);
            let covers = |start: usize, bytes: usize| {
                (start / LINE..(start + bytes).div_ceil(LINE))
                    .all(|at| lines.contains(&(at * LINE)))
            };
            assert!(covers(object.start, object.len()));
            ffi::lua_getfield(lua.state, 1, c"stmt".as_ptr());
            assert!(covers(ffi::lua_topointer(lua.state, -1) as usize, size_of::<Table>()));
            ffi::lua_rawgeti_(lua.state, -1, 1);
            let first = ffi::lua_topointer(lua.state, -1).cast::<Table>();
            assert!(covers(first as usize, size_of::<Table>()));
            let place = (*first).values().find(|at| (**at).object() == Some(object.start));
            assert!(covers(place.unwrap() as usize, size_of::<Value>()));
            let most = [size_of::<Table>(), 8, size_of::<Table>(), 8, object.len()];
            let most: usize = most.iter().map(|bytes| bytes / LINE + 1).sum();
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
            let (Way(lines), object) = way_in(lua.state, source);
            assert!(lines.len() <= object.len() / LINE + 1, "it is too far: {lines:x?}");
        }
    }

    #[test]
    fn a_way_is_bounded() {
        let mut lines = Vec::new();
        add(&mut lines, 100..300);
        assert_eq!(lines, [64, 128, 192, 256]);
        add(&mut lines, 8..8);
        assert_eq!(lines.len(), 4, "nothing has no line");
        add(&mut lines, 256..100_000);
        assert_eq!(lines.len(), LINES_MAX);
    }
}
