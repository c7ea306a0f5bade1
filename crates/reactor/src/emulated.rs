//! What Miri has in place of `system`: its epoll is not level-triggered, and it knows no `send`.
//!
//! The event loop above runs unchanged, over pairs of sockets that exist in Miri's memory. Every
//! descriptor is said to be ready at any time; one that is not is nothing new to the loop.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

/// What is waited for: events by `data`.
#[derive(Debug)]
pub(crate) struct Poll(BTreeMap<u64, u32>);

impl Poll {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(BTreeMap::new()))
    }

    pub(crate) fn add(&mut self, _fd: RawFd, events: u32, data: u64) -> io::Result<()> {
        self.0.insert(data, events);
        Ok(())
    }

    pub(crate) fn modify(&mut self, fd: RawFd, events: u32, data: u64) -> io::Result<()> {
        self.add(fd, events, data)
    }

    pub(crate) fn wait(
        &mut self,
        ready: &mut [libc::epoll_event],
        _timeout: Duration,
    ) -> Result<usize, i32> {
        // Other threads may be what is waited for.
        std::thread::yield_now();
        let all =
            self.0.iter().map(|(data, events)| libc::epoll_event { events: *events, u64: *data });
        Ok(ready.iter_mut().zip(all).map(|(place, event)| *place = event).count())
    }
}

pub(crate) fn send(socket: RawFd, bytes: &[u8]) -> isize {
    // SAFETY: the pointer and length are those of a live slice.
    unsafe { libc::write(socket, bytes.as_ptr().cast(), bytes.len()) }
}
