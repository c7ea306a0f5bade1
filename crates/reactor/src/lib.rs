//! Bytes in and out of many sockets on one thread, by io_uring or by epoll.
//!
//! A [`Reactor`] owns its sockets. The caller writes into a socket's output buffer and submits it;
//! [`Reactor::wait`] and then [`Reactor::next`] return events, with received bytes in memory that
//! belongs to the reactor until the [`Chunk`] is dropped. It knows no protocol: a request is a
//! number of bytes, and the caller must not touch a submitted buffer before the peer has answered
//! or [`EventKind::Sent`] came.
//!
//! Received bytes live in shared memory so that a connection that waits for a reply holds no
//! receive buffer, which would be most of the cost of 100,000 connections.

mod buffer_ring;
mod chunk;
#[cfg(miri)]
mod emulated;
mod epoll;
mod event;
mod preload;
mod send_time;
mod slots;
#[cfg(not(miri))]
mod system;
mod uring;
mod waker;

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

pub use chunk::Chunk;
pub use event::{Event, EventKind, SILENT_SEND_MAX, Token};
pub use preload::{CACHE_LINE, cache_lines, preload, preload_memory};
pub use waker::Waker;

use epoll::EpollReactor;
use uring::UringReactor;

/// Which mechanism to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// io_uring if the kernel has and allows what we need, else epoll.
    Auto,
    /// io_uring or an error.
    IoUring,
    /// epoll.
    Epoll,
}

/// The event loop of one thread.
#[derive(Debug)]
pub enum Reactor {
    /// On io_uring.
    Uring(Box<UringReactor>),
    /// On epoll.
    Epoll(Box<EpollReactor>),
}

macro_rules! each {
    ($self:ident, $reactor:ident => $body:expr) => {
        match $self {
            Reactor::Uring($reactor) => $body,
            Reactor::Epoll($reactor) => $body,
        }
    };
}

impl Reactor {
    /// Makes an event loop.
    ///
    /// # Errors
    /// The kernel's error; with [`Choice::Auto`] only if epoll fails too.
    pub fn new(choice: Choice) -> io::Result<Self> {
        match choice {
            Choice::Epoll => Ok(Self::Epoll(Box::new(EpollReactor::new()?))),
            Choice::IoUring => Ok(Self::Uring(Box::new(UringReactor::new()?))),
            Choice::Auto => match UringReactor::new() {
                Ok(reactor) => Ok(Self::Uring(Box::new(reactor))),
                Err(_) => Ok(Self::Epoll(Box::new(EpollReactor::new()?))),
            },
        }
    }

    /// `io_uring` or `epoll`: recorded with every run.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Uring(_) => "io_uring",
            Self::Epoll(_) => "epoll",
        }
    }

    /// A handle that makes [`Reactor::wait`] return, from any thread.
    pub fn waker(&self) -> Waker {
        each!(self, reactor => reactor.waker())
    }

    /// Takes over a connected, non-blocking stream socket and starts receiving.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn add(&mut self, socket: OwnedFd) -> io::Result<Token> {
        each!(self, reactor => reactor.add(socket))
    }

    /// Closes a socket. Its token causes no events until `add` hands it out again.
    pub fn remove(&mut self, token: Token) {
        each!(self, reactor => reactor.remove(token))
    }

    /// The socket's output buffer. It may still hold the last request: once that has been answered,
    /// clear it and write the next one.
    #[inline]
    pub fn output(&mut self, token: Token) -> &mut Vec<u8> {
        each!(self, reactor => reactor.output(token))
    }

    /// Sends the output buffer, at once (epoll) or with the next [`Reactor::wait`] (io_uring); see
    /// [`Reactor::given_ns`]. `now_ns` is the caller's time. Errors come as [`EventKind::Closed`].
    #[inline]
    pub fn submit(&mut self, token: Token, now_ns: u64) {
        each!(self, reactor => reactor.submit(token, now_ns))
    }

    /// Sends the output buffer as a continuation of the last submission: [`Reactor::given_ns`]
    /// stays unchanged.
    pub fn submit_more(&mut self, token: Token) {
        each!(self, reactor => reactor.send(token))
    }

    /// When the bytes submitted last were given to the kernel, on the caller's clock.
    #[inline]
    pub fn given_ns(&mut self, token: Token) -> u64 {
        each!(self, reactor => reactor.given_ns(token))
    }

    /// An estimate of what the sends of the last [`Reactor::wait`] took before it waited,
    /// nanoseconds.
    #[inline]
    pub fn sending_ns(&self) -> u64 {
        match self {
            Self::Uring(reactor) => reactor.sending_ns(),
            Self::Epoll(_) => 0,
        }
    }

    /// Waits at most `timeout` for events. Take all of them with [`Reactor::next`] before waiting
    /// again. `clock` is read once, if bytes are sent.
    ///
    /// # Errors
    /// The kernel's error; an interrupted wait is not one.
    #[inline]
    pub fn wait(&mut self, timeout: Duration, clock: &mut impl FnMut() -> u64) -> io::Result<()> {
        match self {
            Self::Uring(reactor) => reactor.wait(timeout, clock),
            Self::Epoll(reactor) => reactor.wait(timeout),
        }
    }

    /// The next event. (Not an iterator: the caller uses the reactor between events.)
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator would keep the reactor borrowed"
    )]
    pub fn next(&mut self) -> Option<Event> {
        each!(self, reactor => reactor.next())
    }

    /// The socket of an event that [`Self::next`] is likely to return, `ahead` events after the
    /// next one; `None`: not known.
    #[inline]
    pub fn upcoming(&self, ahead: usize) -> Option<Token> {
        each!(self, reactor => reactor.upcoming(ahead))
    }
}
