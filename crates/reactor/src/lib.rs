//! Bytes in and out of many sockets on one thread, by io_uring or by epoll.
//!
//! A [`Reactor`] owns its sockets. The caller writes into a socket's output buffer and submits it;
//! [`Reactor::wait`] then [`Reactor::next`] hand out what happened, with received bytes in memory
//! that belongs to the reactor until the [`Chunk`] is dropped. It knows no protocol: a request is
//! some bytes, and the caller promises not to touch a submitted buffer before the peer has answered
//! or [`EventKind::Sent`] came.
//!
//! Why received bytes live in shared memory: a connection that waits for a reply then holds no
//! receive buffer, which is most of what 100,000 connections would cost.

mod chunk;
#[cfg(miri)]
mod emulated;
mod epoll;
mod event;
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
    /// What the kernel says against it; with [`Choice::Auto`] only if epoll fails too.
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

    /// Takes a connected, non-blocking stream socket over and begins to receive.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn add(&mut self, socket: OwnedFd) -> io::Result<Token> {
        each!(self, reactor => reactor.add(socket))
    }

    /// Closes a socket. Nothing is heard of its token until `add` hands it out again.
    pub fn remove(&mut self, token: Token) {
        each!(self, reactor => reactor.remove(token))
    }

    /// The socket's output buffer. It may still hold the last request: clear it, then write the
    /// next one, and only when the last one has been answered.
    #[inline]
    pub fn output(&mut self, token: Token) -> &mut Vec<u8> {
        each!(self, reactor => reactor.output(token))
    }

    /// Sends the output buffer, now (epoll) or with the next [`Reactor::wait`] (io_uring):
    /// [`Reactor::given_ns`] tells. `now_ns` is the caller's time. Errors come as
    /// [`EventKind::Closed`].
    #[inline]
    pub fn submit(&mut self, token: Token, now_ns: u64) {
        each!(self, reactor => reactor.submit(token, now_ns))
    }

    /// Sends the output buffer as a further part of what was submitted last:
    /// [`Reactor::given_ns`] stays as it is.
    pub fn submit_more(&mut self, token: Token) {
        each!(self, reactor => reactor.send(token))
    }

    /// When the bytes submitted last were given to the kernel, on the caller's clock.
    #[inline]
    pub fn given_ns(&mut self, token: Token) -> u64 {
        each!(self, reactor => reactor.given_ns(token))
    }

    /// Waits until something happened, at most for `timeout`. Hand out all of it with
    /// [`Reactor::next`] before waiting again. `clock` is asked once, if bytes go out.
    ///
    /// # Errors
    /// What the kernel says; an interrupted wait is not an error.
    #[inline]
    pub fn wait(&mut self, timeout: Duration, clock: &mut impl FnMut() -> u64) -> io::Result<()> {
        match self {
            Self::Uring(reactor) => reactor.wait(timeout, clock),
            Self::Epoll(reactor) => reactor.wait(timeout),
        }
    }

    /// The next thing that happened. (Not an iterator: the caller uses the reactor between events.)
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator would keep the reactor borrowed"
    )]
    pub fn next(&mut self) -> Option<Event> {
        each!(self, reactor => reactor.next())
    }
}
