//! Received bytes in memory the reactor lends out.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::ptr::NonNull;
use std::rc::Rc;

/// Equal slices of one allocation, lent out one at a time.
///
/// Each slice is written only while no [`Chunk`] of it exists: by the kernel while the slice is in
/// the ring (io_uring), or by `read` while it is not lent out (epoll).
pub(crate) struct Pool {
    /// One allocation, as an address: a reference to all of it would alias lent slices.
    memory: NonNull<[u8]>,
    slice: usize,
    /// Slices returned since the owner last checked; it puts them back into the ring.
    returned: UnsafeCell<Vec<u16>>,
    lent: Cell<u32>,
}

impl Pool {
    pub(crate) fn new(slices: u16, slice: usize) -> Rc<Self> {
        Rc::new(Self {
            memory: NonNull::from(Box::leak(
                vec![0; usize::from(slices) * slice].into_boxed_slice(),
            )),
            slice,
            returned: UnsafeCell::new(Vec::with_capacity(usize::from(slices))),
            lent: Cell::new(0),
        })
    }

    /// Start of a slice, for the kernel or `read` to write to.
    pub(crate) fn address(&self, index: u16) -> *mut u8 {
        // SAFETY: the pointer stays inside the allocation: indices come from the constructor's
        // range.
        unsafe { self.memory.cast::<u8>().as_ptr().add(usize::from(index) * self.slice) }
    }

    pub(crate) fn slice_len(&self) -> usize {
        self.slice
    }

    /// Lends the first `len` bytes of a slice.
    pub(crate) fn lend(self: &Rc<Self>, index: u16, len: usize) -> Chunk {
        debug_assert!(len <= self.slice);
        self.lent.set(self.lent.get() + 1);
        Chunk { pool: Rc::clone(self), index, len }
    }

    /// Returns the slices that came back. Single-threaded (`Rc`); no reference outlives this call.
    pub(crate) fn take_returned(&self, mut give: impl FnMut(u16)) {
        // SAFETY: only this method and `Chunk::drop` touch the list, neither calls the other.
        let returned = unsafe { &mut *self.returned.get() };
        returned.drain(..).for_each(&mut give);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: the constructor's allocation; chunks hold the pool, so none is left.
        drop(unsafe { Box::from_raw(self.memory.as_ptr()) });
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("slice", &self.slice).field("lent", &self.lent).finish()
    }
}

/// Bytes received on one socket. Drop it soon: the reactor has a limited number of them.
pub struct Chunk {
    pool: Rc<Pool>,
    index: u16,
    len: usize,
}

impl Chunk {
    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the slice is lent to this chunk, so nobody writes to it until the chunk is
        // dropped.
        unsafe { std::slice::from_raw_parts(self.pool.address(self.index), self.len) }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.pool.lent.set(self.pool.lent.get() - 1);
        // SAFETY: see `take_returned`. The capacity is the number of slices, so this never grows.
        unsafe { (*self.pool.returned.get()).push(self.index) };
    }
}

impl fmt::Debug for Chunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunk").field("len", &self.len).finish()
    }
}
