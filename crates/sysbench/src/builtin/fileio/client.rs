//! One client of the test.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use script::Random;

use super::block::{self, Buffer};
use super::files;
use super::ring::Ring;
use super::settings::{Mode, Settings, Way};
use super::shared::{InUse, Rounds};
use super::state::{Done, FileIo};
use crate::builtin::Client;

/// One file in memory.
struct Mapping {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: a mapping is used only by its client; other clients map the file themselves.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(file: &File, size: usize) -> Result<Self, String> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let shared = libc::MAP_SHARED;
        // SAFETY: a fresh mapping of an open file; the result is checked.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), size, protection, shared, file.as_raw_fd(), 0)
        };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { start, size }),
            _ => Err(format!("mmap failed: {}", std::io::Error::last_os_error())),
        }
    }

    fn sync(&self) -> std::io::Result<()> {
        // SAFETY: the mapping is ours.
        let failed = unsafe { libc::msync(self.start.as_ptr().cast(), self.size, libc::MS_SYNC) };
        if failed == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and goes with this.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
    }
}

pub(crate) struct FileClient {
    settings: Arc<Settings>,
    done: Arc<Done>,
    next: Arc<AtomicU64>,
    mode: Mode,
    // Declared before the files, so that it is drained while they are open.
    ring: Option<Ring>,
    mappings: Vec<Mapping>,
    files: Vec<File>,
    buffer: Buffer,
    random: Random,
    rounds: Arc<Rounds>,
    in_use: Arc<InUse>,
    reads: u64,
    writes: u64,
}

impl FileClient {
    pub(crate) fn new(test: &FileIo, number: u32) -> Result<Self, String> {
        let settings = Arc::clone(&test.settings);
        let mode = settings.mode.ok_or("Missing required argument: --file-test-mode")?;
        let files = files::open(&settings)?;
        let size = settings.operation_size() as usize;
        let ring = match settings.way {
            Way::Async => {
                let block = settings.block_size as usize;
                let in_use = settings.validate.then(|| Arc::clone(&test.in_use));
                Some(Ring::new(settings.backlog, size, block, in_use)?)
            }
            _ => None,
        };
        let mappings = match settings.way {
            Way::Mapped => files
                .iter()
                .map(|file| Mapping::new(file, settings.file_size as usize))
                .collect::<Result<_, _>>()?,
            _ => Vec::new(),
        };
        Ok(Self {
            done: Arc::clone(&test.done),
            next: Arc::clone(&test.next),
            mode,
            ring,
            mappings,
            files,
            buffer: Buffer::new(size),
            random: Random::new(settings.seed, u64::from(number)),
            rounds: Arc::clone(&test.rounds),
            in_use: Arc::clone(&test.in_use),
            reads: 0,
            writes: 0,
            settings,
        })
    }

    /// Whether the next operation writes.
    fn writes(&self) -> bool {
        match self.mode {
            Mode::RandomBoth => {
                (self.reads + 1) as f64 >= self.settings.ratio * (self.writes + 1) as f64
            }
            mode => mode.writes(),
        }
    }

    /// Position of the next operation over all files. With validation the blocks are reserved, so
    /// that no other client writes one that this one reads.
    fn choose(&mut self) -> Result<u64, String> {
        loop {
            let position = self.draw();
            if !self.settings.validate || self.in_use.take(position) {
                return Ok(position);
            }
            // The reserved block may be this client's own, still in flight in the ring.
            if let Some(ring) = &mut self.ring {
                ring.drain()?;
            }
        }
    }

    fn draw(&mut self) -> u64 {
        let settings = &self.settings;
        let size = settings.operation_size();
        if self.mode.sequential() {
            let steps = settings.file_size.div_ceil(size) * settings.files;
            let step = self.next.fetch_add(1, Relaxed) % steps;
            let per_file = settings.file_size.div_ceil(size);
            let offset = (step % per_file * size).min(settings.file_size - size);
            return step / per_file * settings.file_size + offset;
        }
        let last = settings.blocks() as i64 - 1;
        let block = self.random.draw(0, last, &settings.random) as u64;
        let position = block * settings.block_size;
        let offset = (position % settings.file_size).min(settings.file_size - size);
        position / settings.file_size * settings.file_size + offset
    }

    fn operate(&mut self, position: u64, write: bool) -> Result<(), String> {
        let settings = Arc::clone(&self.settings);
        let (number, offset) = (position / settings.file_size, position % settings.file_size);
        let file = &self.files[number as usize];
        let size = settings.operation_size();
        let block = settings.block_size as usize;
        if let Some(ring) = &mut self.ring {
            ring.submit(file.as_raw_fd(), write, offset, position)?;
        } else {
            let bytes = self.buffer.bytes();
            if write && settings.validate {
                block::fill(bytes, block, position);
            }
            let outcome = match (self.mappings.get(number as usize), write) {
                (Some(mapping), write) => {
                    copy(mapping, offset as usize, bytes, write);
                    Ok(())
                }
                (None, true) => file.write_all_at(bytes, offset),
                (None, false) => file.read_exact_at(bytes, offset),
            };
            let verb = if write { "write" } else { "read" };
            outcome.map_err(|error| {
                format!("Failed to {verb} file '{}' at {offset}: {error}", files::name(number))
            })?;
            if settings.validate {
                self.in_use.give_back(position);
                if !write {
                    block::check(bytes, block, position)?;
                }
            }
        }
        let (times, bytes) = match write {
            true => (&self.done.writes, &self.done.bytes_written),
            false => (&self.done.reads, &self.done.bytes_read),
        };
        times.fetch_add(1, Relaxed);
        bytes.fetch_add(size, Relaxed);
        if write {
            self.writes += 1;
        } else {
            self.reads += 1;
        }
        if write && settings.fsync_all {
            self.fsync(number)?;
        }
        Ok(())
    }

    fn fsync(&mut self, number: u64) -> Result<(), String> {
        if let Some(ring) = &mut self.ring {
            ring.drain()?;
        }
        let file = &self.files[number as usize];
        let outcome = match self.mappings.get(number as usize) {
            Some(mapping) => mapping.sync(),
            None if self.settings.data_only => file.sync_data(),
            None => file.sync_all(),
        };
        outcome.map_err(|error| format!("Failed to fsync '{}': {error}", files::name(number)))?;
        self.done.fsyncs.fetch_add(1, Relaxed);
        Ok(())
    }
}

/// Copies between a mapping and a buffer of the operation's size.
fn copy(mapping: &Mapping, offset: usize, bytes: &mut [u8], write: bool) {
    assert!(offset + bytes.len() <= mapping.size, "an operation lies within its file");
    // SAFETY: checked above; mapping and buffer don't overlap.
    unsafe {
        let place = mapping.start.as_ptr().add(offset);
        match write {
            true => std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()),
            false => std::ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), bytes.len()),
        }
    }
}

impl Client for FileClient {
    /// A read, a write, or the fsync of one file.
    fn event(&mut self) -> Result<bool, String> {
        let settings = &self.settings;
        let every = if settings.fsync_all { 0 } else { settings.fsync_every };
        let write = self.writes();
        match self.rounds.next(every, settings.files, write) {
            Some(number) => self.fsync(number)?,
            None => {
                let position = self.choose()?;
                self.operate(position, write)?;
            }
        }
        Ok(true)
    }

    fn finish(&mut self) -> Result<(), String> {
        if let Some(ring) = &mut self.ring {
            ring.drain()?;
        }
        let settings = &self.settings;
        if settings.fsync_end && !settings.fsync_all && self.mode.writes() {
            for number in 0..settings.files {
                self.fsync(number)?;
            }
        }
        Ok(())
    }
}
