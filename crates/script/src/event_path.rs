//! What a script's `event` reads, as far as its text tells: itself, the functions that it calls by
//! a global or an upvalue, and the entries of the client's tables whose names are in their text.
//!
//! Each client has globals and functions of its own, so with hundreds of clients none of this is in
//! the processor's cache when a reply arrives.

use crate::layout::{Function, Table, TaggedValue, Text, Upvalue};
use crate::lines::Lines;

/// Calls, or tables within tables, that are followed at most.
const DEPTH_MAX: usize = 6;
/// Names in tables that are read at most.
const NODES_MAX: usize = 2048;
/// A table of at most this many names is read as a whole: names that it lacks, and that are then
/// found through its metatable, may be anywhere in it.
const NODES_FEW: usize = 4;

/// Adds what `event` reads, if `globals` has a function of this name.
///
/// # Safety
/// `globals` is a live table, and no Lua runs.
pub(crate) unsafe fn find(globals: *const Table, lines: &mut Lines) {
    // SAFETY: upheld by the caller: what a live table refers to is live.
    unsafe {
        // A value first: the name of one that was set to nil may be dead.
        let event = (*globals).nodes().find_map(|node| {
            let function = (*node).value.function()?;
            let name = (*node).key.text()? as *const Text;
            (Text::bytes(name) == b"event").then_some(function)
        });
        if let Some(event) = event {
            let mut search = Search { globals, lines, called: Vec::new(), left: NODES_MAX };
            search.function(event as *const Function, DEPTH_MAX);
        }
    }
}

struct Search<'a> {
    globals: *const Table,
    lines: &'a mut Lines,
    /// Functions that have been followed.
    called: Vec<*const Function>,
    /// Names that may still be read.
    left: usize,
}

impl Search<'_> {
    /// Follows a function of the client's own.
    unsafe fn function(&mut self, function: *const Function, depth: usize) {
        // SAFETY: upheld by the caller of `find`: the function is live, and so is what it refers
        // to.
        unsafe {
            let own = (*function).is_lua() && (*function).globals == self.globals;
            if !own || depth == 0 || self.called.contains(&function) {
                return;
            }
            self.called.push(function);
            self.lines.add((*function).memory());
            let names: Vec<_> = (*function).constants().collect();
            for upvalue in (*function).upvalues() {
                self.lines.add_object::<Upvalue>(upvalue);
                self.value(*(*upvalue).value, &names, depth);
            }
            self.names_in(self.globals, &names, depth);
        }
    }

    /// Follows a value that a function reads.
    unsafe fn value(&mut self, value: TaggedValue, names: &[usize], depth: usize) {
        // SAFETY: as above.
        unsafe {
            if let Some(function) = value.function() {
                self.function(function as *const Function, depth - 1);
            } else if let Some(table) = value.table()
                && depth > 1
                && table != self.globals.addr()
            {
                self.table(table as *const Table, names, depth - 1);
            }
        }
    }

    /// Follows a table of which a function reads some of these names.
    unsafe fn table(&mut self, table: *const Table, names: &[usize], depth: usize) {
        self.lines.add_object(table);
        // SAFETY: as above.
        unsafe {
            let nodes = || (*table).nodes();
            if nodes().count() <= NODES_FEW {
                nodes().for_each(|node| self.lines.add_object(node));
            }
            self.names_in(table, names, depth);
        }
    }

    /// Follows the entries of a table that have these names.
    unsafe fn names_in(&mut self, table: *const Table, names: &[usize], depth: usize) {
        // SAFETY: as above.
        unsafe {
            for node in (*table).nodes().take(self.left) {
                self.left = self.left.saturating_sub(1);
                if (*node).key.text().is_some_and(|name| names.contains(&name)) {
                    self.lines.add_object(node);
                    self.value((*node).value, names, depth);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mlua_sys as ffi;
    use runtime::CACHE_LINE;

    use super::*;
    use crate::arena::Lua;
    use crate::lua::{self, State};

    /// Runs `source`, which returns a table of globals.
    unsafe fn path_in(state: *mut State, source: &str) -> Vec<usize> {
        // SAFETY: upheld by the caller: a live state that runs nothing.
        unsafe {
            ffi::luaL_openlibs(state);
            lua::load(state, source.as_bytes(), c"test").unwrap();
            ffi::lua_call(state, 0, 1);
            let mut lines = Lines::default();
            find(ffi::lua_topointer(state, 1).cast(), &mut lines);
            lines.addresses().to_vec()
        }
    }

    /// Whether the first line of the named global is among them.
    unsafe fn covers(state: *mut State, lines: &[usize], names: &[&std::ffi::CStr]) -> bool {
        // SAFETY: upheld by the caller: a live state, with the globals at the bottom of its stack.
        unsafe {
            ffi::lua_pushvalue(state, 1);
            for name in names {
                ffi::lua_getfield(state, -1, name.as_ptr());
            }
            let address = ffi::lua_topointer(state, -1).addr();
            ffi::lua_settop(state, 1);
            lines.contains(&(address / CACHE_LINE * CACHE_LINE))
        }
    }

    #[test]
    fn it_follows_calls_and_named_tables_and_nothing_else() {
        let lua = Lua::new().unwrap();
        let source = "local globals = setmetatable({}, { __index = _G })
            setfenv(1, globals)
            -- Each on lines of its own.
            local function apart() return string.rep('x', 4000) .. tostring({}) end
            options = { deep = { size = { 1 } }, aside = { 1 } }; apart()
            function other() return elsewhere end; kept = apart()
            elsewhere = { 1 }; kept2 = apart()
            local function number() return options.deep.size end
            function get() return number() end; kept3 = apart()
            function event() return get() end
            rawset(globals, 'number', number)
            return globals";
        // SAFETY: a state of our own that runs nothing.
        unsafe {
            let state = lua.state;
            let lines = path_in(state, source);
            for names in [
                &[c"event"][..],
                &[c"get"],
                &[c"number"],
                &[c"options"],
                &[c"options", c"deep"],
                &[c"options", c"deep", c"size"],
            ] {
                assert!(covers(state, &lines, names), "{names:?}");
            }
            assert!(!covers(state, &lines, &[c"other"]));
            assert!(!covers(state, &lines, &[c"elsewhere"]));
        }
    }

    #[test]
    fn it_ends_where_functions_call_each_other_and_tables_hold_themselves() {
        let lua = Lua::new().unwrap();
        let source = "local globals = setmetatable({}, { __index = _G })
            setfenv(1, globals)
            all = {}; all.all = all
            function back() return event, all.all end
            function event() return back() end
            for at = 1, 5000 do globals['name' .. at] = at end
            return globals";
        // SAFETY: a state of our own that runs nothing.
        let lines = unsafe { path_in(lua.state, source) };
        assert!(lines.len() <= 20, "{}", lines.len());
    }

    #[test]
    fn without_a_function_of_this_name_there_is_nothing() {
        for source in ["return {}", "return { event = 7 }", "return { event = print }"] {
            let lua = Lua::new().unwrap();
            // SAFETY: a state of our own that runs nothing.
            assert_eq!(unsafe { path_in(lua.state, source) }, [0; 0], "{source}");
        }
    }
}
