//! Buffers, and blocks whose content can be validated.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

/// Alignment that direct I/O requires, bytes.
const ALIGNMENT: usize = 4096;
/// Size of a block's header: position, then a checksum of the rest.
const HEAD: usize = 16;

/// A buffer aligned for direct I/O.
pub(crate) struct Buffer {
    start: *mut u8,
    layout: Layout,
}

// SAFETY: the buffer owns its bytes.
unsafe impl Send for Buffer {}

impl Buffer {
    pub(crate) fn new(size: usize) -> Self {
        let layout = Layout::from_size_align(size.max(1), ALIGNMENT)
            .expect("a block is far smaller than the address space");
        // SAFETY: the layout's size is not 0.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Self { start, layout }
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the bytes are initialised and borrowed with the buffer.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.layout.size()) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start, self.layout) };
    }
}

/// FNV-1a over whole words.
fn sum(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(0xcbf2_9ce4_8422_2325, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Fills each block of `bytes` so that [`check`] can tell whether it is intact and in its place.
pub(crate) fn fill(bytes: &mut [u8], block_size: usize, position: u64) {
    for (index, block) in bytes.chunks_mut(block_size).enumerate() {
        if block.len() < HEAD {
            continue;
        }
        let at = position + (index * block_size) as u64;
        let mut state = at | 1;
        for chunk in block[HEAD..].chunks_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            chunk.copy_from_slice(&state.to_le_bytes()[..chunk.len()]);
        }
        let sum = sum(&block[HEAD..]);
        block[..8].copy_from_slice(&at.to_le_bytes());
        block[8..HEAD].copy_from_slice(&sum.to_le_bytes());
    }
}

/// Checks blocks that [`fill`] filled.
pub(crate) fn check(bytes: &[u8], block_size: usize, position: u64) -> Result<(), String> {
    for (index, block) in bytes.chunks(block_size).enumerate() {
        if block.len() < HEAD {
            continue;
        }
        let at = position + (index * block_size) as u64;
        let word = |from: usize| block[from..from + 8].try_into().map(u64::from_le_bytes).ok();
        if word(0) != Some(at) {
            return Err(format!(
                "validation failed: the block at {at} belongs elsewhere; were the files prepared \
                 with --validate?"
            ));
        }
        if word(8) != Some(sum(&block[HEAD..])) {
            return Err(format!("validation failed: the block at {at} is damaged"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_and_misplacement_are_found() {
        let mut bytes = vec![0; 1024];
        fill(&mut bytes, 512, 4096);
        assert_eq!(check(&bytes, 512, 4096), Ok(()));
        assert!(check(&bytes, 512, 0).unwrap_err().contains("belongs elsewhere"));
        bytes[700] ^= 1;
        assert!(check(&bytes, 512, 4096).unwrap_err().contains("damaged"));
    }
}
