//! Asynchronous operations through io_uring.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use io_uring::{IoUring, opcode, types};

use super::block::{self, Buffer};
use super::shared::InUse;

/// An operation submitted to the kernel.
#[derive(Clone, Copy)]
struct Pending {
    write: bool,
    position: u64,
}

/// A queue of operations, each with a buffer.
pub(super) struct Ring {
    ring: IoUring,
    buffers: Vec<Buffer>,
    pending: Vec<Option<Pending>>,
    free: Vec<usize>,
    size: usize,
    block_size: usize,
    /// With validation: blocks are released here when their operation ends.
    in_use: Option<Arc<InUse>>,
}

impl Ring {
    pub(super) fn new(
        backlog: u32,
        size: usize,
        block_size: usize,
        in_use: Option<Arc<InUse>>,
    ) -> Result<Self, String> {
        let ring = IoUring::new(backlog).map_err(|error| {
            format!("asynchronous I/O needs io_uring, which is not available: {error}")
        })?;
        let count = backlog as usize;
        Ok(Self {
            ring,
            buffers: (0..count).map(|_| Buffer::new(size)).collect(),
            pending: vec![None; count],
            free: (0..count).collect(),
            size,
            block_size,
            in_use,
        })
    }

    /// Submits an operation; first waits for another to end if too many are in flight.
    pub(super) fn submit(
        &mut self,
        file: RawFd,
        write: bool,
        offset: u64,
        position: u64,
    ) -> Result<(), String> {
        while self.free.is_empty() {
            self.wait(1)?;
        }
        let Some(slot) = self.free.pop() else { return Ok(()) };
        if write && self.in_use.is_some() {
            block::fill(self.buffers[slot].bytes(), self.block_size, position);
        }
        let start = self.buffers[slot].bytes().as_mut_ptr();
        let (file, size) = (types::Fd(file.as_raw_fd()), self.size as u32);
        let entry = if write {
            opcode::Write::new(file, start, size).offset(offset).build()
        } else {
            opcode::Read::new(file, start, size).offset(offset).build()
        };
        self.pending[slot] = Some(Pending { write, position });
        // SAFETY: buffer and file outlive the operation: the ring is drained before they are
        // dropped.
        let pushed = unsafe { self.ring.submission().push(&entry.user_data(slot as u64)) };
        pushed.map_err(|error| error.to_string())?;
        self.ring.submit().map_err(|error| format!("io_uring: {error}"))?;
        self.reap()
    }

    /// Waits until at least `count` more operations have ended.
    fn wait(&mut self, count: usize) -> Result<(), String> {
        self.ring.submit_and_wait(count).map_err(|error| format!("io_uring: {error}"))?;
        self.reap()
    }

    fn reap(&mut self) -> Result<(), String> {
        let ended: Vec<_> =
            self.ring.completion().map(|entry| (entry.user_data(), entry.result())).collect();
        for (slot, result) in ended {
            let slot = slot as usize;
            let Some(pending) = self.pending[slot].take() else { continue };
            self.free.push(slot);
            let verb = if pending.write { "write" } else { "read" };
            let position = pending.position;
            if result < 0 {
                let error = std::io::Error::from_raw_os_error(-result);
                return Err(format!("Failed to {verb} at {position}: {error}"));
            }
            if result as usize != self.size {
                return Err(format!("Failed to {verb} at {position}: {result} bytes only"));
            }
            if let Some(in_use) = &self.in_use {
                in_use.give_back(position);
                if !pending.write {
                    block::check(self.buffers[slot].bytes(), self.block_size, position)?;
                }
            }
        }
        Ok(())
    }

    /// Waits for all operations in flight.
    pub(super) fn drain(&mut self) -> Result<(), String> {
        while self.free.len() < self.buffers.len() {
            self.wait(1)?;
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // The kernel may still write into the buffers.
        while self.free.len() < self.buffers.len() {
            if self.ring.submit_and_wait(1).is_err() {
                break;
            }
            for entry in self.ring.completion() {
                if self.pending[entry.user_data() as usize].take().is_some() {
                    self.free.push(entry.user_data() as usize);
                }
            }
        }
    }
}
