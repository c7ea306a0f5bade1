//! Memory management: freed memory is kept, and resident memory moves into large pages before the
//! load begins.
//!
//! With thousands of clients, each reply touches memory last used thousands of replies ago, and
//! with 4 KiB pages its TLB entry is gone too: at 16,000 clients this was a twelfth of the client's
//! CPU. Systems that give large pages only on request (`transparent_hugepage/enabled` is `madvise`)
//! give them neither to the allocator nor to LuaJIT.

const LARGE: usize = 2 << 20;
const SMALL: usize = 4 << 10;
/// So many small pages of a large one must be in use: the others take memory once it is moved.
const USED: usize = LARGE / SMALL / 2;
/// Mappings larger than this are reserved by a sanitizer, terabytes of them: looking at each page
/// takes a minute.
const MOST: usize = 256 << 30;
/// Freed memory to keep, bytes per thread.
const KEPT: libc::c_int = 64 << 20;

/// Lets the allocator keep freed memory. A bulk insert's request is allocated and freed with each
/// statement, and would come from the kernel page by page each time.
pub fn keep_freed() {
    // SAFETY: they set limits of the allocator's, before other threads run. Refused, all goes on as
    // before.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, KEPT / 2);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
    }
}

/// Asks the kernel to move this process's memory into large pages. Kernels before 6.1 can't; then
/// nothing changes.
pub fn into_large_pages() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for (start, end) in maps.lines().filter_map(large_part) {
        // One at a time: the kernel stops at the first that it can't move.
        for page in (start..end).step_by(LARGE) {
            if small_pages_used(page) >= USED {
                // Part of it may be in use elsewhere for a moment.
                let _moved = collapse(page) || collapse(page);
            }
        }
    }
}

/// Moves the memory at an address into one large page; `false`: it can't be.
fn collapse(page: usize) -> bool {
    // SAFETY: the advice changes where memory lies, not what is in it or who may use it.
    unsafe { libc::madvise(page as *mut libc::c_void, LARGE, libc::MADV_COLLAPSE) == 0 }
}

/// Small pages of a large one that are in memory; 0: not known.
fn small_pages_used(page: usize) -> usize {
    let mut used = [0_u8; LARGE / SMALL];
    // SAFETY: a byte is written for each small page; any address is allowed.
    let told = unsafe { libc::mincore(page as *mut libc::c_void, LARGE, used.as_mut_ptr()) };
    if told != 0 {
        return 0;
    }
    used.iter().filter(|one| *one & 1 == 1).count()
}

/// The whole large pages in a line of `maps`, if it is private memory not backed by a file.
fn large_part(line: &str) -> Option<(usize, usize)> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let private = words.next()? == "rw-p";
    let inode = words.nth(2)?;
    let name = words.next().unwrap_or_default();
    let start = usize::from_str_radix(start, 16).ok()?.next_multiple_of(LARGE);
    let end = usize::from_str_radix(end, 16).ok()? / LARGE * LARGE;
    let ours = private && inode == "0" && (name.is_empty() || name == "[heap]");
    (ours && start < end && end - start <= MOST).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::{LARGE, SMALL, large_part, small_pages_used};

    #[test]
    fn memory_that_was_never_used_does_not_count() {
        // SAFETY: new memory of our own.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let start = libc::mmap(std::ptr::null_mut(), 2 * LARGE, access, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            let page = (start as usize).next_multiple_of(LARGE);
            libc::madvise(start, 2 * LARGE, libc::MADV_NOHUGEPAGE);
            assert_eq!(small_pages_used(page), 0);
            for at in [0, 7, 500] {
                ((page + at * SMALL) as *mut u8).write(1);
            }
            assert_eq!(small_pages_used(page), 3);
            libc::munmap(start, 2 * LARGE);
            assert_eq!(small_pages_used(0), 0, "nothing is there");
        }
    }

    #[test]
    fn only_whole_pages_of_private_memory_are_moved() {
        let check = |line, expected| assert_eq!(large_part(line), expected, "{line}");
        check(
            "7f2200100000-7f2200600000 rw-p 00000000 00:00 0 ",
            Some((0x7f22_0020_0000, 0x7f22_0060_0000)),
        );
        check("00400000-00900000 rw-p 00000000 00:00 0   [heap]", Some((0x40_0000, 0x80_0000)));
        check("7f2200100000-7f2200300000 rw-p 00000000 00:00 0", None);
        check("7f2200000000-7f2200600000 r--p 00000000 00:00 0", None);
        check("7f2200000000-7f2200600000 rw-s 00000000 00:01 7 anon_inode:[io_uring]", None);
        check("100000000000-200000000000 rw-p 00000000 00:00 0", None);
        check("7ffc00000000-7ffc00600000 rw-p 00000000 00:00 0 [stack]", None);
    }
}
