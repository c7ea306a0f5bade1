//! Prefetching memory that will be needed soon.

/// Length of a line of the processor's cache, bytes.
pub const CACHE_LINE: usize = 64;

/// Prefetches `bytes` of memory from `start` on into the processor's cache, without waiting. Any
/// address is allowed. Does nothing on processors other than x86-64.
#[inline]
pub fn prefetch<T>(start: *const T, bytes: usize) {
    let start = start.cast::<i8>();
    for at in (0..bytes).step_by(CACHE_LINE) {
        load(start.wrapping_add(at));
    }
}

#[inline]
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn load(address: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

    // SAFETY: a hint, which neither reads nor writes and never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
}

#[inline]
#[cfg(any(not(target_arch = "x86_64"), miri))]
fn load(_address: *const i8) {}
