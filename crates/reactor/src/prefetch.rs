//! Brings memory that will be needed soon into the processor's cache.

/// Length of a line of the processor's cache, bytes.
pub const CACHE_LINE: usize = 64;

/// Brings the first `most` bytes of a value into the cache. The processor does not wait for them
/// before it goes on.
///
/// It loads a byte of each line. AMD's Zen 4 drops prefetch instructions whose page is not in its
/// TLB, and with hundreds of clients few pages are. Does nothing on processors other than x86-64.
#[inline]
pub fn preload<T: ?Sized>(value: &T, most: usize) {
    // SAFETY: a live value.
    unsafe { preload_memory(std::ptr::from_ref(value).cast::<u8>(), size_of_val(value).min(most)) };
}

/// As [`preload`], for memory by its address.
///
/// # Safety
/// The memory is mapped. What is in it does not matter.
#[inline]
pub unsafe fn preload_memory<T>(start: *const T, bytes: usize) {
    // SAFETY: upheld by the caller; a line lies within a page.
    lines(start, bytes, |line| unsafe { load(line) });
}

/// As [`preload`], for memory that may be mapped no longer. It prefetches, which is less reliable.
#[inline]
pub fn prefetch<T>(start: *const T, bytes: usize) {
    lines(start, bytes, hint);
}

/// Calls `take` with the address of each line that the memory lies in.
#[inline]
fn lines<T>(start: *const T, bytes: usize, take: impl Fn(*const u8)) {
    let before = start.addr() % CACHE_LINE;
    let first = start.cast::<u8>().wrapping_sub(before);
    if bytes > 0 {
        (0..before + bytes).step_by(CACHE_LINE).for_each(|at| take(first.wrapping_add(at)));
    }
}

#[inline]
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn load(address: *const u8) {
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
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn hint(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

    // SAFETY: a hint, which neither reads nor writes and never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

#[inline]
#[cfg(any(not(target_arch = "x86_64"), miri))]
unsafe fn load(_address: *const u8) {}

#[inline]
#[cfg(any(not(target_arch = "x86_64"), miri))]
fn hint(_address: *const u8) {}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::ptr;

    use super::*;

    fn lines_of(start: usize, bytes: usize) -> Vec<usize> {
        let seen = RefCell::new(Vec::new());
        lines(ptr::without_provenance::<u8>(start), bytes, |line| {
            seen.borrow_mut().push(line.addr());
        });
        seen.into_inner()
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
        prefetch(ptr::null::<u8>(), 128);
        assert_eq!(value, [7; 40]);
    }
}
