//! Wakes a reactor from another thread.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// Makes the reactor's `wait` return. Cheap to clone; harmless after the reactor is gone.
#[derive(Debug, Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: plain system call; the result is checked.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` is a fresh descriptor nobody else owns.
        Ok(Self(Arc::new(unsafe { OwnedFd::from_raw_fd(fd) })))
    }

    /// Makes `wait` return, now or the next time it is called.
    pub fn wake(&self) {
        let one = 1u64;
        // SAFETY: writes eight bytes from a live variable. A full counter is as good as a wake-up.
        unsafe { libc::write(self.fd(), (&raw const one).cast(), 8) };
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Consumes pending wake-ups.
    pub(crate) fn drain(&self) {
        let mut count = 0u64;
        // SAFETY: reads eight bytes into a live variable; the descriptor is non-blocking.
        unsafe { libc::read(self.fd(), (&raw mut count).cast(), 8) };
    }
}
