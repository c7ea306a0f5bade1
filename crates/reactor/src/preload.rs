//! Brings memory that will be needed soon into the processor's cache.

use std::ops::Range;
use std::ptr;

/// Length of a line of the processor's cache, bytes.
pub const CACHE_LINE: usize = 64;

/// Addresses of the lines that some memory lies in.
#[inline]
pub fn cache_lines(memory: Range<usize>) -> impl Iterator<Item = usize> {
    let first = memory.start / CACHE_LINE * CACHE_LINE;
    let end = if memory.is_empty() { first } else { memory.end };
    (first..end).step_by(CACHE_LINE)
}

/// Brings the first `most` bytes of a value into the cache. The processor does not wait for them
/// before it goes on.
///
/// It loads a byte of each line. AMD's Zen 4 drops prefetch instructions whose page is not in its
/// TLB, and with hundreds of clients few pages are. Does nothing on processors other than x86-64.
#[inline]
pub fn preload<T: ?Sized>(value: &T, most: usize) {
    // SAFETY: a live value.
    unsafe { preload_memory(ptr::from_ref(value).cast::<u8>(), size_of_val(value).min(most)) };
}

/// As [`preload`], for memory by its address.
///
/// # Safety
/// The memory is mapped. What is in it does not matter.
#[inline]
pub unsafe fn preload_memory<T>(start: *const T, bytes: usize) {
    for line in cache_lines(start.addr()..start.addr() + bytes) {
        // SAFETY: upheld by the caller; a line lies within a page.
        unsafe { load(line) };
    }
}

#[inline]
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn load(address: usize) {
    // SAFETY: upheld by the caller; nothing is done with the byte, so it may be uninitialised.
    unsafe {
        std::arch::asm!(
            "mov {byte}, [{address}]",
            byte = out(reg_byte) _,
            address = in(reg) address,
            options(nostack, preserves_flags, readonly),
        );
    }
}

#[inline]
#[cfg(any(not(target_arch = "x86_64"), miri))]
unsafe fn load(_address: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(start: usize, bytes: usize) -> Vec<usize> {
        cache_lines(start..start + bytes).collect()
    }

    #[test]
    fn every_line_that_the_memory_lies_in_is_taken_once() {
        assert_eq!(lines_of(128, 64), [128]);
        assert_eq!(lines_of(128, 65), [128, 192]);
        assert_eq!(lines_of(176, 17), [128, 192], "it begins late in a line and ends in the next");
        assert_eq!(lines_of(176, 16), [128]);
        assert_eq!(lines_of(176, 0), [0; 0]);
    }

    #[test]
    fn values_stay_what_they_are() {
        let value = [7_u64; 40];
        preload(&value, usize::MAX);
        preload(&value[..3], 8);
        preload(&(), 64);
        assert_eq!(value, [7; 40]);
    }
}
