//! The path from a client's globals to a statement that it executes again and again: the memory to
//! prefetch before it does so.

use std::ops::Range;
use std::ptr;

use runtime::{CACHE_LINE, prefetch};

use crate::layout::{Table, TaggedValue};

/// Cache lines that a path has at most.
const LINES_MAX: usize = 24;
/// Values that the search reads at most.
const VALUES_MAX: usize = 2048;

/// Addresses of the cache lines on the path; empty: not known.
#[derive(Debug, Default)]
pub(crate) struct StatementPath(Box<[usize]>);

/// A table that the search has reached.
struct Reached {
    table: usize,
    /// Index of the table that refers to it, and the value that does; `None`: the globals.
    from: Option<(usize, *const TaggedValue)>,
}

impl StatementPath {
    #[inline]
    pub(crate) fn is_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// Finds the path from `globals` through tables to `objects`, the memory of userdata and FFI
    /// objects, headers included; other memory may be among them.
    ///
    /// # Safety
    /// `globals` is a live table, and no Lua runs.
    pub(crate) unsafe fn find(globals: *const Table, objects: &[Range<usize>]) -> Self {
        let mut lines = Vec::with_capacity(LINES_MAX);
        objects.iter().for_each(|object| add(&mut lines, object.clone()));
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
                    add_path(&mut lines, &reached, at, place);
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

/// Adds the path to a value of the table at `at`; the globals are prefetched anyway.
fn add_path(
    lines: &mut Vec<usize>,
    reached: &[Reached],
    mut at: usize,
    mut place: *const TaggedValue,
) {
    while let Some((parent, value)) = reached[at].from {
        let table = reached[at].table;
        add(lines, table..table + size_of::<Table>());
        add(lines, place as usize..place as usize + size_of::<TaggedValue>());
        (at, place) = (parent, value);
    }
}

/// Adds the lines that some memory lies in.
fn add(lines: &mut Vec<usize>, memory: Range<usize>) {
    if memory.is_empty() {
        return;
    }
    let first = memory.start / CACHE_LINE * CACHE_LINE;
    for line in (first..memory.end).step_by(CACHE_LINE) {
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
    use crate::layout::USERDATA_HEADER_BYTES;
    use crate::lua::{self, State};

    /// Runs `source`, which returns a table and a userdata in it; returns the path to it.
    unsafe fn path_in(state: *mut State, source: &str) -> (StatementPath, Range<usize>) {
        // SAFETY: upheld by the caller: a live state that runs nothing.
        unsafe {
            ffi::luaL_openlibs(state);
            lua::load(state, source.as_bytes(), c"test").unwrap();
            ffi::lua_call(state, 0, 2);
            let start = ffi::lua_touserdata(state, 2) as usize - USERDATA_HEADER_BYTES;
            let object = start..start + USERDATA_HEADER_BYTES;
            let globals = ffi::lua_topointer(state, 1).cast();
            (StatementPath::find(globals, std::slice::from_ref(&object)), object)
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
            let (StatementPath(lines), object) = path_in(lua.state, source);
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
            let (StatementPath(lines), object) = path_in(lua.state, source);
            assert!(lines.len() <= object.len() / CACHE_LINE + 1, "it is too far: {lines:x?}");
        }
    }

    #[test]
    fn a_path_is_bounded() {
        let mut lines = Vec::new();
        add(&mut lines, 100..300);
        assert_eq!(lines, [64, 128, 192, 256]);
        add(&mut lines, 8..8);
        assert_eq!(lines.len(), 4, "empty memory has no line");
        add(&mut lines, 256..100_000);
        assert_eq!(lines.len(), LINES_MAX);
    }
}
