//! The cache lines that a client's next event reads.

use std::ops::Range;
use std::ptr;

use runtime::{cache_lines, preload, preload_memory};

use crate::arena;
use crate::lua::State;

/// Lines that are kept for a client at most.
const LINES_MAX: usize = 48;

/// Collects the addresses of lines, in the order in which they are read.
#[derive(Debug, Default)]
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    /// Adds the lines that some memory lies in.
    pub(crate) fn add(&mut self, memory: Range<usize>) {
        for line in cache_lines(memory) {
            if self.0.len() < LINES_MAX && !self.0.contains(&line) {
                self.0.push(line);
            }
        }
    }

    /// Adds the lines of an object at this address.
    pub(crate) fn add_object<T>(&mut self, object: *const T) {
        self.add(object.addr()..object.addr() + size_of::<T>());
    }

    /// The addresses.
    #[cfg(test)]
    pub(crate) fn addresses(&self) -> &[usize] {
        &self.0
    }

    /// Keeps what lies in the arena of a state.
    ///
    /// # Safety
    /// A live state.
    pub(crate) unsafe fn kept_by(mut self, state: *mut State) -> KeptLines {
        // SAFETY: upheld by the caller.
        unsafe {
            let arena = arena::of(state);
            self.0.retain(|line| arena.keeps(*line));
        }
        KeptLines(self.0.into_boxed_slice())
    }
}

/// Lines in a state's arena that a client's next event will read; empty: not known.
#[derive(Debug, Default)]
pub(crate) struct KeptLines(Box<[usize]>);

impl KeptLines {
    #[inline]
    pub(crate) fn is_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// Preloads the list of lines.
    #[inline]
    pub(crate) fn preload_list(&self) {
        preload(&*self.0, usize::MAX);
    }

    /// Preloads the lines.
    ///
    /// # Safety
    /// The state lives.
    #[inline]
    pub(crate) unsafe fn preload_lines(&self) {
        for line in &self.0 {
            // SAFETY: the arena keeps its memory as long as the state lives.
            unsafe { preload_memory(ptr::without_provenance::<u8>(*line), 1) };
        }
    }
}

#[cfg(test)]
mod tests {
    use mlua_sys as ffi;

    use super::*;
    use crate::arena::Lua;

    #[test]
    fn lines_are_listed_once_and_bounded() {
        let mut lines = Lines::default();
        lines.add(100..300);
        assert_eq!(lines.addresses(), [64, 128, 192, 256]);
        lines.add(8..8);
        assert_eq!(lines.addresses().len(), 4, "empty memory has no line");
        lines.add(256..100_000);
        assert_eq!(lines.addresses().len(), LINES_MAX);
    }

    #[test]
    fn memory_outside_of_the_arena_is_not_kept() {
        let lua = Lua::new().unwrap();
        let outside = [0_u8; 256];
        // SAFETY: a state of our own that runs nothing.
        unsafe {
            ffi::lua_createtable(lua.state, 0, 0);
            let table = ffi::lua_topointer(lua.state, -1).cast::<[u8; 128]>();
            let mut lines = Lines::default();
            lines.add_object(&raw const outside);
            assert!(!lines.kept_by(lua.state).is_known());
            let mut lines = Lines::default();
            lines.add_object(&raw const outside);
            lines.add_object(table);
            let all = lines.addresses().len();
            let kept = lines.kept_by(lua.state);
            assert!(kept.is_known());
            assert!(kept.0.len() < all);
            kept.preload_list();
            kept.preload_lines();
        }
    }
}
