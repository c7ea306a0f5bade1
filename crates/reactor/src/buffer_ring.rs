//! The ring of receive buffers of an io_uring.

use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;

use crate::chunk::Pool;

/// Receive buffers at most, a power of two. 4 MiB per shard hold one large reply each for 512
/// connections, or one small reply for as many at once; when they run out, receives are re-armed.
pub(crate) const BUFFERS: u16 = 512;
/// Receive buffers that the kernel gets at first; as many again whenever they run out. It fills
/// them in turn: with all of them in use, each reply would go to memory that no cache holds.
const FIRST_BUFFERS: u16 = 32;

/// The ring of receive buffers, shared with the kernel.
#[derive(Debug)]
pub(crate) struct BufferRing {
    memory: *mut BufRingEntry,
    layout: std::alloc::Layout,
    tail: u16,
    /// Buffers that the kernel has, or that are lent: the pool's first ones.
    pub(crate) given: u16,
}

impl BufferRing {
    pub(crate) fn new() -> io::Result<Self> {
        let size = usize::from(BUFFERS) * size_of::<BufRingEntry>();
        let layout = std::alloc::Layout::from_size_align(size, 4096)
            .map_err(|error| io::Error::other(error.to_string()))?;
        // SAFETY: the layout has a size above zero; null is checked.
        let memory = unsafe { std::alloc::alloc_zeroed(layout) };
        if memory.is_null() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(Self { memory: memory.cast(), layout, tail: 0, given: 0 })
    }

    /// Where it lies, for the kernel.
    pub(crate) fn address(&self) -> u64 {
        self.memory as u64
    }

    /// Gives the kernel further buffers: the first ones, then as many again.
    pub(crate) fn grow(&mut self, pool: &Pool) {
        let more = (2 * self.given).clamp(FIRST_BUFFERS, BUFFERS);
        for index in self.given..more {
            self.give(pool, index);
        }
        self.given = more;
        self.publish();
    }

    /// Gives buffers that came back to the kernel again.
    pub(crate) fn give_back(&mut self, pool: &Pool) {
        let before = self.tail;
        pool.take_returned(|index| self.give(pool, index));
        if self.tail != before {
            self.publish();
        }
    }

    /// Visible to the kernel with the next [`Self::publish`].
    fn give(&mut self, pool: &Pool, index: u16) {
        let slot = usize::from(self.tail & (BUFFERS - 1));
        // SAFETY: the slot lies inside the allocation; the kernel reads it only behind `tail`.
        let entry = unsafe { &mut *self.memory.add(slot) };
        entry.set_addr(pool.address(index) as u64);
        entry.set_len(pool.slice_len() as u32);
        entry.set_bid(index);
        self.tail = self.tail.wrapping_add(1);
    }

    fn publish(&self) {
        // SAFETY: the tail's address lies inside the allocation and is aligned for a u16; kernel
        // and program share it as an atomic.
        unsafe {
            let tail = BufRingEntry::tail(self.memory).cast::<AtomicU16>();
            (*tail).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for BufferRing {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout. The reactor's ring is dropped first (field order), so
        // the kernel no longer uses it.
        unsafe { std::alloc::dealloc(self.memory.cast(), self.layout) };
    }
}
