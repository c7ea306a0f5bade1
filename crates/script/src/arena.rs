//! The memory allocator of a Lua state.
//!
//! Scripts make small, short-lived blocks, mostly a text for each row, and one thread makes and
//! frees them. Lua passes each block's size when freeing it, so a block needs no header and no
//! search: it comes from its size's free list and returns there, and the next allocation finds it
//! still in the processor's cache. Large blocks come from the system.

use std::alloc::{self, Layout};
use std::ffi::c_void;
use std::ptr;

use mlua_sys as ffi;

use crate::lua::{self, State};

/// Sizes are rounded up to this, bytes; it is also the alignment Lua asks for.
const GRAIN: usize = 16;
/// Larger blocks come from the system, bytes. Smaller ones stay in the arena: the names of a
/// client's globals (1.5 KB for sysbench's own scripts) too.
pub(crate) const LARGEST: usize = 4096;
/// Chunks that blocks are cut from grow with what is already allocated, within these bounds, bytes.
const CHUNK: (usize, usize) = (64 * 1024, 2 * 1024 * 1024);

/// The head of a free block.
struct Free {
    next: *mut Free,
}

/// A Lua state and its memory.
pub(crate) struct Lua {
    /// The main thread of the state.
    pub(crate) state: *mut State,
    /// Lua holds its address, so it stays in place.
    arena: *mut Arena,
}

impl Lua {
    /// A state without libraries; `None`: out of memory.
    pub(crate) fn new() -> Option<Self> {
        let arena = Box::into_raw(Box::new(Arena::default()));
        // SAFETY: the arena lives until the state is closed.
        let lua = unsafe { Self { state: ffi::lua_newstate(allocate, arena.cast()), arena } };
        if lua.state.is_null() {
            return None;
        }
        // SAFETY: a live state.
        unsafe { ffi::lua_atpanic(lua.state, panic) };
        Some(lua)
    }
}

impl Drop for Lua {
    fn drop(&mut self) {
        // SAFETY: nothing runs in the state any more; after closing it nothing refers to the arena.
        unsafe {
            if !self.state.is_null() {
                ffi::lua_close(self.state);
            }
            drop(Box::from_raw(self.arena));
        }
    }
}

/// A state's arena.
///
/// # Safety
/// A live state made by [`Lua::new`]; no Lua runs while the result is used.
pub(crate) unsafe fn of<'a>(state: *mut State) -> &'a Arena {
    let mut arena = ptr::null_mut();
    // SAFETY: upheld by the caller.
    unsafe {
        ffi::lua_getallocf(state, &raw mut arena);
        &*arena.cast::<Arena>()
    }
}

/// Called for an error that nothing in Lua catches: a bug of ours.
unsafe extern "C-unwind" fn panic(state: *mut State) -> std::ffi::c_int {
    // SAFETY: the error is on the stack.
    panic!("an error that Lua does not catch: {}", unsafe { lua::describe(state, -1) })
}

/// The memory of a state.
pub(crate) struct Arena {
    /// Free lists, by size in grains minus one.
    lists: [*mut Free; LARGEST / GRAIN],
    /// The unused rest of the newest chunk.
    next: *mut u8,
    left: usize,
    chunks: Vec<(*mut u8, Layout)>,
}

impl Default for Arena {
    fn default() -> Self {
        Self {
            lists: [ptr::null_mut(); LARGEST / GRAIN],
            next: ptr::null_mut(),
            left: 0,
            chunks: Vec::new(),
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for (start, layout) in self.chunks.drain(..) {
            // SAFETY: made with this layout, and its blocks are no longer in use.
            unsafe { alloc::dealloc(start, layout) };
        }
    }
}

/// The free list for blocks of this size, 1 to [`LARGEST`].
#[inline]
fn class(size: usize) -> usize {
    (size - 1) / GRAIN
}

/// The layout of a large block, aligned like small ones.
fn large(size: usize) -> Option<Layout> {
    Layout::from_size_align(size, GRAIN).ok()
}

impl Arena {
    /// A block of 1 to [`LARGEST`] bytes; null: out of memory.
    #[inline]
    fn take(&mut self, size: usize) -> *mut u8 {
        let class = class(size);
        let first = self.lists[class];
        if first.is_null() {
            return self.cut((class + 1) * GRAIN);
        }
        // SAFETY: the head of a free block, written by `give`.
        self.lists[class] = unsafe { (*first).next };
        first.cast()
    }

    #[inline]
    unsafe fn give(&mut self, block: *mut u8, size: usize) {
        let class = class(size);
        let block = block.cast::<Free>();
        // SAFETY: a block of at least a grain, no longer in use.
        unsafe { (*block).next = self.lists[class] };
        self.lists[class] = block;
    }

    #[cold]
    fn cut(&mut self, bytes: usize) -> *mut u8 {
        if self.left < bytes && !self.grow() {
            return ptr::null_mut();
        }
        let block = self.next;
        // SAFETY: the chunk has this much left.
        self.next = unsafe { block.add(bytes) };
        self.left -= bytes;
        block
    }

    /// Whether the byte at an address stays mapped as long as the state lives.
    pub(crate) fn keeps(&self, address: usize) -> bool {
        let holds = |(start, layout): &(*mut u8, Layout)| {
            (start.addr()..start.addr() + layout.size()).contains(&address)
        };
        self.chunks.iter().any(holds)
    }

    fn grow(&mut self) -> bool {
        let have: usize = self.chunks.iter().map(|(_, layout)| layout.size()).sum();
        let bytes = have.next_power_of_two().clamp(CHUNK.0, CHUNK.1);
        let Ok(layout) = Layout::from_size_align(bytes, GRAIN) else { return false };
        // SAFETY: the size isn't 0.
        let start = unsafe { alloc::alloc(layout) };
        if start.is_null() {
            return false;
        }
        // The rest of the previous chunk, smaller than the largest block, is lost.
        self.chunks.push((start, layout));
        self.next = start;
        self.left = bytes;
        true
    }

    #[inline]
    unsafe fn make(&mut self, size: usize) -> *mut u8 {
        if size <= LARGEST {
            return self.take(size);
        }
        // SAFETY: the size isn't 0.
        large(size).map_or(ptr::null_mut(), |layout| unsafe { alloc::alloc(layout) })
    }

    #[inline]
    unsafe fn free(&mut self, block: *mut u8, size: usize) {
        // SAFETY: the caller passes a block of this size, made here.
        unsafe {
            if size <= LARGEST {
                self.give(block, size);
            } else if let Some(layout) = large(size) {
                alloc::dealloc(block, layout);
            }
        }
    }

    unsafe fn resize(&mut self, block: *mut u8, old: usize, new: usize) -> *mut u8 {
        if old <= LARGEST && new <= LARGEST && class(old) == class(new) {
            return block;
        }
        // SAFETY: the caller passes a block of this size, made here.
        unsafe {
            if old > LARGEST && new > LARGEST {
                return match (large(old), large(new)) {
                    (Some(layout), Some(_)) => alloc::realloc(block, layout, new),
                    _ => ptr::null_mut(),
                };
            }
            let moved = self.make(new);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, old.min(new));
                self.free(block, old);
            }
            moved
        }
    }
}

/// `lua_Alloc`: makes, frees or resizes a block; null: freed, or out of memory.
unsafe extern "C" fn allocate(
    arena: *mut c_void,
    block: *mut c_void,
    old: usize,
    new: usize,
) -> *mut c_void {
    let block = block.cast::<u8>();
    // SAFETY: the state's own arena, on the state's own thread; Lua passes a block's true size, and
    // 0 for none.
    let made = unsafe {
        let arena = &mut *arena.cast::<Arena>();
        match (old, new) {
            (0, 0) => ptr::null_mut(),
            (0, new) => arena.make(new),
            (old, 0) => {
                arena.free(block, old);
                ptr::null_mut()
            }
            (old, new) => arena.resize(block, old, new),
        }
    };
    made.cast()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A block, its size, and the byte it is filled with.
    struct Held {
        block: *mut u8,
        size: usize,
        with: u8,
    }

    impl Held {
        unsafe fn resize(&mut self, arena: &mut Arena, size: usize) {
            let whole = self.bytes(self.size.min(size)).iter().all(|byte| *byte == self.with);
            assert!(whole, "another block was written over this one");
            let arena = ptr::from_mut(arena).cast();
            // SAFETY: the block is of this size, and the arena's.
            let block = unsafe { allocate(arena, self.block.cast(), self.size, size) };
            (self.block, self.size) = (block.cast(), size);
            assert_eq!(self.block.is_null(), size == 0);
            assert_eq!(self.block.addr() % GRAIN, 0);
        }

        fn bytes(&self, size: usize) -> &[u8] {
            // SAFETY: this many bytes were written.
            if size == 0 { &[] } else { unsafe { std::slice::from_raw_parts(self.block, size) } }
        }

        fn fill(&mut self, with: u8) {
            self.with = with;
            // SAFETY: its own memory.
            unsafe { ptr::write_bytes(self.block, with, self.size) };
        }
    }

    proptest! {
        /// Blocks made, freed and resized in any order do not overlap and keep their content.
        #[test]
        fn blocks_keep_what_is_in_them(
            steps in prop::collection::vec((0usize..24, 0usize..2 * LARGEST, any::<u8>()), 1..400),
        ) {
            let mut arena = Arena::default();
            let mut held: Vec<_> =
                (0..24).map(|_| Held { block: ptr::null_mut(), size: 0, with: 0 }).collect();
            for (which, size, with) in steps {
                // SAFETY: `held` knows each block's size.
                unsafe { held[which].resize(&mut arena, size) };
                let kept = held[which].size;
                held[which].fill(with);
                prop_assert_eq!(kept, size);
            }
            for block in &mut held {
                // SAFETY: as above; this is the last free.
                unsafe { block.resize(&mut arena, 0) };
            }
        }
    }

    #[test]
    fn what_was_freed_is_used_again() {
        let mut arena = Arena::default();
        let mut chunks = 0;
        for round in 0..20 {
            for size in 1..=LARGEST {
                // SAFETY: just made.
                unsafe {
                    let block = arena.make(size);
                    assert!(arena.keeps(block.addr()) && arena.keeps(block.addr() + size - 1));
                    arena.free(block, size);
                }
            }
            if round == 0 {
                chunks = arena.chunks.len();
            }
        }
        assert_eq!(arena.chunks.len(), chunks, "one block of each size");
        assert!(!arena.keeps(0) && !arena.keeps(chunks));
    }

    #[test]
    fn a_state_runs_in_it_and_is_gone_with_it() {
        let lua = Lua::new().expect("there is memory");
        // SAFETY: a live state; the text is a constant.
        unsafe {
            ffi::luaL_openlibs(lua.state);
            let text = c"local t = {} for i = 1, 1e5 do t[i % 99] = ('x'):rep(i % 700) .. i end";
            assert_eq!(ffi::luaL_loadstring(lua.state, text.as_ptr()), ffi::LUA_OK);
            assert_eq!(ffi::lua_pcall(lua.state, 0, 0, 0), ffi::LUA_OK);
        }
    }
}
