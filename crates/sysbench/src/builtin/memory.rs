//! `memory`: reads or writes a block of memory, in order or at random.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{Ordering, compiler_fence};

use super::client::Client;
use super::figures::Figures;
use crate::value::Values;

const WORD: usize = size_of::<usize>();

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Read,
    Write,
    None,
}

/// A memory mapping, in huge pages if requested.
struct Block {
    start: NonNull<usize>,
    size: usize,
}

// SAFETY: clients access a shared block by volatile words; the values read do not matter.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    fn new(size: usize, huge: bool) -> Result<Self, String> {
        let pages = if huge { libc::MAP_HUGETLB } else { 0 };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | pages;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping of our own; the result is checked.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
        match NonNull::new(start.cast::<usize>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => {
                // SAFETY: the mapping has this size.
                unsafe { std::ptr::write_bytes(start.as_ptr().cast::<u8>(), 0, size) };
                Ok(Self { start, size })
            }
            _ => Err(format!(
                "Failed to allocate a block of {size} bytes: {}",
                std::io::Error::last_os_error()
            )),
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and no longer in use.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
    }
}

/// State shared by all clients.
pub(crate) struct Memory {
    block_size: usize,
    total_size: u64,
    operation: Operation,
    random: bool,
    huge: bool,
    shared: Option<Arc<Block>>,
}

pub(crate) struct MemoryClient {
    block: Arc<Block>,
    operation: Operation,
    random: bool,
    left: u64,
    state: u64,
}

impl Memory {
    pub(crate) fn new(values: &Values) -> Result<Self, String> {
        let refuse = |name: &str, found: &str| Err(format!("Invalid value for {name}: {found}"));
        let block_size = values.number("memory_block_size");
        if block_size < WORD as i64 || !(block_size as u64).is_power_of_two() {
            return refuse("memory-block-size", &block_size.to_string());
        }
        let operation = match values.text("memory_oper") {
            "read" => Operation::Read,
            "write" => Operation::Write,
            "none" => Operation::None,
            other => return refuse("memory-oper", other),
        };
        let random = match values.text("memory_access_mode") {
            "seq" => false,
            "rnd" => true,
            other => return refuse("memory-access-mode", other),
        };
        let (size, huge) = (block_size as usize, values.on("memory_hugetlb"));
        let shared = match values.text("memory_scope") {
            "global" => Some(Arc::new(Block::new(size, huge)?)),
            "local" => None,
            other => return refuse("memory-scope", other),
        };
        let total_size = values.number("memory_total_size").max(0) as u64;
        Ok(Self { block_size: size, total_size, operation, random, huge, shared })
    }

    pub(crate) fn client(&self, number: u32, clients: u32) -> Result<MemoryClient, String> {
        let block = match &self.shared {
            Some(block) => Arc::clone(block),
            None => Arc::new(Block::new(self.block_size, self.huge)?),
        };
        let left = self.total_size / self.block_size as u64 / u64::from(clients);
        let state = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
        Ok(MemoryClient { block, operation: self.operation, random: self.random, left, state })
    }
}

impl MemoryClient {
    /// Xorshift: cheap compared with a cache miss.
    fn next(&mut self) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state as usize
    }

    /// Accesses every word of the block once, or as many random words.
    fn pass(&mut self) {
        let words = self.block.size / WORD;
        let start = self.block.start.as_ptr();
        match (self.operation, self.random) {
            (Operation::Read, false) => (0..words).for_each(|index| {
                // SAFETY: the index is below the number of words in the block; also below.
                unsafe { start.add(index).read_volatile() };
            }),
            (Operation::Write, false) => {
                // SAFETY: as above.
                (0..words).for_each(|index| unsafe { start.add(index).write_volatile(index) });
            }
            (Operation::Read, true) => (0..words).for_each(|_| {
                let index = self.next() & (words - 1);
                // SAFETY: the number of words is a power of two.
                unsafe { start.add(index).read_volatile() };
            }),
            (Operation::Write, true) => (0..words).for_each(|value| {
                let index = self.next() & (words - 1);
                // SAFETY: as above.
                unsafe { start.add(index).write_volatile(value) };
            }),
            (Operation::None, _) => (0..words).for_each(|_| compiler_fence(Ordering::SeqCst)),
        }
    }
}

impl Client for MemoryClient {
    fn event(&mut self) -> Result<bool, String> {
        self.pass();
        self.left = self.left.saturating_sub(1);
        Ok(self.left > 0)
    }
}

impl Figures for Memory {
    fn header(&self) -> String {
        let operation = match self.operation {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::None => "none",
        };
        let scope = if self.shared.is_some() { "global" } else { "local" };
        format!(
            "Running memory speed test with the following options:\n  block size: {}KiB\n  \
             total size: {}MiB\n  operation: {operation}\n  scope: {scope}\n\n",
            self.block_size / 1024,
            self.total_size >> 20
        )
    }

    fn intermediate(
        &self,
        events: u64,
        interval_s: f64,
        elapsed_s: f64,
        _latency: &dyn Fn() -> (String, f64),
    ) -> Option<String> {
        let mib = events as f64 * self.block_size as f64 / 1_048_576.0;
        Some(format!("[ {elapsed_s:.0}s ] {:4.2} MiB/sec\n", mib / interval_s))
    }

    fn cumulative(&self, events: u64, seconds: f64, _new: bool) -> String {
        let mut text =
            format!("Total operations: {events} ({:8.2} per second)\n\n", events as f64 / seconds);
        if self.operation != Operation::None {
            let mib = events as f64 * self.block_size as f64 / 1_048_576.0;
            let rate = mib / seconds;
            text.push_str(&format!("{mib:4.2} MiB transferred ({rate:4.2} MiB/sec)\n\n"));
        }
        text
    }
}
