//! The event loop on epoll: level-triggered, one `read` per wake-up, writes at once.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use crate::chunk::Pool;
#[cfg(miri)]
use crate::emulated::{Poll, send};
use crate::slots::Slots;
#[cfg(not(miri))]
use crate::system::{Poll, send};
use crate::waker::Waker;
use crate::{Event, EventKind, SILENT_SEND_MAX, Token};

const EVENTS_MAX: usize = 512;
const READ_BYTES: usize = 64 * 1024;
/// Chunks that may be on loan at once.
const READ_SLICES: u16 = 4;
const WAKER: u64 = u64::MAX;

#[derive(Debug)]
struct Socket {
    fd: OwnedFd,
    output: Vec<u8>,
    /// Bytes of `output` that the kernel has taken.
    sent: usize,
    /// Waiting for room in the socket's buffer.
    blocked: bool,
    given_ns: u64,
}

/// See the crate's page.
#[derive(Debug)]
pub struct EpollReactor {
    poll: Poll,
    waker: Waker,
    sockets: Slots<Socket>,
    pool: Rc<Pool>,
    free: Vec<u16>,
    ready: Box<[libc::epoll_event]>,
    ready_len: usize,
    ready_next: usize,
    /// Results of sends, noticed while submitting.
    pending: VecDeque<Event>,
}

impl EpollReactor {
    pub(crate) fn new() -> io::Result<Self> {
        let mut poll = Poll::new()?;
        let waker = Waker::new()?;
        poll.add(waker.fd(), libc::EPOLLIN as u32, WAKER)?;
        Ok(Self {
            poll,
            waker,
            sockets: Slots::default(),
            pool: Pool::new(READ_SLICES, READ_BYTES),
            free: (0..READ_SLICES).collect(),
            ready: vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX].into_boxed_slice(),
            ready_len: 0,
            ready_next: 0,
            pending: VecDeque::new(),
        })
    }

    pub(crate) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    pub(crate) fn add(&mut self, socket: OwnedFd) -> io::Result<Token> {
        let fd = socket.as_raw_fd();
        let token = self.sockets.insert(Socket {
            fd: socket,
            output: Vec::new(),
            sent: 0,
            blocked: false,
            given_ns: 0,
        });
        if let Err(error) = self.poll.add(fd, libc::EPOLLIN as u32, u64::from(token)) {
            self.sockets.take(token);
            return Err(error);
        }
        Ok(token)
    }

    pub(crate) fn remove(&mut self, token: Token) {
        // Closing the descriptor removes it from the interest list. Events already fetched for it
        // must not reach the next owner of the token.
        self.sockets.take(token);
        self.pending.retain(|event| event.token != token);
        for event in &mut self.ready[self.ready_next..self.ready_len] {
            if event.u64 == u64::from(token) {
                event.events = 0;
            }
        }
    }

    #[inline]
    pub(crate) fn output(&mut self, token: Token) -> &mut Vec<u8> {
        &mut self.sockets.get_mut(token).expect("the caller holds a live token").output
    }

    #[inline]
    pub(crate) fn submit(&mut self, token: Token, now_ns: u64) {
        if let Some(socket) = self.sockets.get_mut(token) {
            socket.given_ns = now_ns;
        }
        self.send(token);
    }

    #[inline]
    pub(crate) fn given_ns(&mut self, token: Token) -> u64 {
        self.sockets.get_mut(token).map_or(0, |socket| socket.given_ns)
    }

    #[inline]
    pub(crate) fn send(&mut self, token: Token) {
        let Some(socket) = self.sockets.get_mut(token) else { return };
        loop {
            let rest = &socket.output[socket.sent..];
            if rest.is_empty() {
                break;
            }
            let done = send(socket.fd.as_raw_fd(), rest);
            if done >= 0 {
                socket.sent += done as usize;
                continue;
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => {
                    if !socket.blocked {
                        socket.blocked = true;
                        let fd = socket.fd.as_raw_fd();
                        let interest = (libc::EPOLLIN | libc::EPOLLOUT) as u32;
                        if let Err(error) = self.poll.modify(fd, interest, u64::from(token)) {
                            self.closed(token, Some(error));
                        }
                    }
                    return;
                }
                _ => {
                    self.closed(token, Some(error));
                    return;
                }
            }
        }
        let loud = socket.output.len() > SILENT_SEND_MAX;
        socket.output.clear();
        socket.sent = 0;
        if socket.blocked {
            socket.blocked = false;
            let fd = socket.fd.as_raw_fd();
            let interest = libc::EPOLLIN as u32;
            if let Err(error) = self.poll.modify(fd, interest, u64::from(token)) {
                self.closed(token, Some(error));
                return;
            }
        }
        if loud {
            self.pending.push_back(Event { token, kind: EventKind::Sent });
        }
    }

    fn closed(&mut self, token: Token, error: Option<io::Error>) {
        self.pending.push_back(Event { token, kind: EventKind::Closed(error) });
    }

    pub(crate) fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        debug_assert!(self.ready_next == self.ready_len, "all events are taken before waiting");
        if !self.pending.is_empty() {
            return Ok(());
        }
        self.ready_next = 0;
        self.ready_len = 0;
        match self.poll.wait(&mut self.ready, timeout) {
            Ok(count) => self.ready_len = count,
            Err(libc::EINTR) => {}
            Err(code) => return Err(io::Error::from_raw_os_error(code)),
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn upcoming(&self, ahead: usize) -> Option<Token> {
        let ready = self.ready[..self.ready_len].get(self.ready_next + ahead)?;
        (ready.u64 != WAKER).then_some(ready.u64 as Token)
    }

    pub(crate) fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            if self.ready_next == self.ready_len {
                return None;
            }
            let ready = self.ready[self.ready_next];
            self.ready_next += 1;
            let (events, data) = (ready.events, ready.u64);
            if data == WAKER {
                self.waker.drain();
                continue;
            }
            if events == 0 {
                continue;
            }
            let token = data as Token;
            if events & libc::EPOLLOUT as u32 != 0 {
                self.send(token);
            }
            if events & !(libc::EPOLLOUT as u32) != 0
                && let Some(event) = self.read(token)
            {
                return Some(event);
            }
        }
    }

    fn read(&mut self, token: Token) -> Option<Event> {
        let socket = self.sockets.get_mut(token)?;
        let free = &mut self.free;
        self.pool.take_returned(|index| free.push(index));
        let index = self.free.pop().expect("the caller holds few chunks");
        // SAFETY: the slice is not lent out, so it may be written; the length is its own.
        let got = unsafe {
            libc::read(
                socket.fd.as_raw_fd(),
                self.pool.address(index).cast(),
                self.pool.slice_len(),
            )
        };
        if got > 0 {
            let chunk = self.pool.lend(index, got as usize);
            return Some(Event { token, kind: EventKind::Received(chunk) });
        }
        self.free.push(index);
        if got == 0 {
            return Some(Event { token, kind: EventKind::Closed(None) });
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => None,
            _ => Some(Event { token, kind: EventKind::Closed(Some(error)) }),
        }
    }
}
