//! System calls of the epoll event loop: readiness and sending.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// An epoll instance, level-triggered.
#[derive(Debug)]
pub(crate) struct Poll {
    epoll: OwnedFd,
    /// The kernel waits only in whole milliseconds.
    coarse: bool,
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

impl Poll {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: plain system call; the result is checked.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh descriptor.
        Ok(Self { epoll: unsafe { OwnedFd::from_raw_fd(fd) }, coarse: false })
    }

    /// Reports `events` of `fd` as `data` from now on, until the descriptor is closed.
    pub(crate) fn add(&mut self, fd: RawFd, events: u32, data: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, events, data)
    }

    /// Changes a descriptor's events.
    pub(crate) fn modify(&mut self, fd: RawFd, events: u32, data: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, events, data)
    }

    fn control(&self, operation: i32, fd: RawFd, events: u32, data: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events, u64: data };
        // SAFETY: `event` lives through the call.
        let done = unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, fd, &mut event) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits at most `timeout`; returns how many entries of `ready` were filled.
    ///
    /// # Errors
    /// The kernel's number.
    pub(crate) fn wait(
        &mut self,
        ready: &mut [libc::epoll_event],
        timeout: Duration,
    ) -> Result<usize, i32> {
        let exactly = if self.coarse { Err(libc::ENOSYS) } else { self.exactly(ready, timeout) };
        if exactly != Err(libc::ENOSYS) {
            return exactly;
        }
        self.coarse = true;
        self.milliseconds(ready, timeout)
    }

    /// epoll_pwait2, by its number: epoll_pwait's milliseconds are too coarse for intended start
    /// times.
    fn exactly(&self, ready: &mut [libc::epoll_event], timeout: Duration) -> Result<usize, i32> {
        let timeout = libc::timespec {
            tv_sec: timeout.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(timeout.subsec_nanos() as i32),
        };
        // SAFETY: the event array and the timeout live through the call.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                ready.as_mut_ptr(),
                ready.len() as i32,
                &raw const timeout,
                std::ptr::null::<libc::sigset_t>(),
                8usize,
            )
        };
        usize::try_from(count).map_err(|_| errno())
    }

    /// For kernels before 5.11: rounds down, so that the last millisecond is busy-polled.
    fn milliseconds(
        &self,
        ready: &mut [libc::epoll_event],
        timeout: Duration,
    ) -> Result<usize, i32> {
        let millis = timeout.as_millis().min(60_000) as i32;
        let (epoll, len) = (self.epoll.as_raw_fd(), ready.len() as i32);
        // SAFETY: the event array lives through the call.
        let count = unsafe { libc::epoll_wait(epoll, ready.as_mut_ptr(), len, millis) };
        usize::try_from(count).map_err(|_| errno())
    }
}

/// Sends bytes to a peer that may have closed. Returns how many the kernel took; below 0: see
/// `errno`.
pub(crate) fn send(socket: RawFd, bytes: &[u8]) -> isize {
    // SAFETY: the pointer and length are those of a live slice.
    unsafe { libc::send(socket, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) }
}
