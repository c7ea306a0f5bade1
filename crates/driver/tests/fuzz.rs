//! Smoke test of the fuzz targets on stable Rust: the seeds and many small mutations of them, the
//! same ones each time. `make fuzz` continues from there.

#![expect(clippy::unwrap_used, reason = "a test's helper fails the test")]

#[path = "../../../fuzz/targets.rs"]
mod targets;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;
use std::thread;

use targets::{ALLOCATION_MAX, TARGETS};

/// Mutated inputs per target, unless `DBDYNO_FUZZ_ROUNDS` says otherwise.
const ROUNDS: u32 = 20_000;

/// Records the largest allocation of each thread.
struct Watching;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: passes on to the system's allocator.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.with(|largest| largest.set(largest.get().max(layout.size())));
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static WATCHING: Watching = Watching;

/// Numbers that look random and are the same each time (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// One to four changes of the kinds that break decoders.
fn change(input: &mut Vec<u8>, other: &[u8], numbers: &mut Numbers) {
    for _ in 0..=numbers.below(3) {
        let at = numbers.below(input.len());
        match (numbers.below(6), input.get(at).copied()) {
            (0, Some(byte)) => input[at] = byte ^ (1 << numbers.below(8)),
            (1, Some(_)) => input[at] = [0, 1, 0x7f, 0x80, 0xfe, 0xff][numbers.below(6)],
            (2, Some(_)) => drop(input.remove(at)),
            (3, Some(_)) => input.truncate(at),
            (4, _) => input.insert(at, numbers.below(256) as u8),
            _ => {
                let from = numbers.below(other.len());
                input.extend_from_slice(&other[from..]);
            }
        }
    }
}

#[test]
fn whatever_a_server_sends_is_read_or_refused_within_bounds() {
    thread::scope(|threads| {
        for (name, target) in TARGETS {
            threads.spawn(move || try_target(name, target));
        }
    });
}

fn try_target(name: &str, target: fn(&[u8])) {
    let seeds = seeds(name);
    seeds.iter().for_each(|seed| target(seed));
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let rounds = std::env::var("DBDYNO_FUZZ_ROUNDS").map(|rounds| rounds.parse().unwrap());
    for _ in 0..rounds.unwrap_or(ROUNDS) {
        let mut input = seeds[numbers.below(seeds.len())].clone();
        let other = &seeds[numbers.below(seeds.len())];
        change(&mut input, other, &mut numbers);
        if std::panic::catch_unwind(|| target(&input)).is_err() {
            panic!("{name} fails for {input:02x?}: put it into fuzz/seeds/{name}");
        }
    }
    let largest = LARGEST.get();
    assert!(largest <= ALLOCATION_MAX, "{name} asked for {largest} bytes at once");
}
