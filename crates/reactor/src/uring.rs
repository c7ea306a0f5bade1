//! The event loop on io_uring: multishot receives into a shared ring of buffers, sends that
//! complete silently, one system call for a whole batch of both.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};

use crate::buffer_ring::{BUFFERS, BufferRing};
use crate::chunk::Pool;
use crate::send_time::SendTime;
use crate::slots::Slots;
use crate::waker::Waker;
use crate::{Event, EventKind, SILENT_SEND_MAX, Token};

const ENTRIES: u32 = 2048;
const COMPLETIONS: u32 = 8192;
const BUFFER_BYTES: usize = 8 * 1024;
const GROUP: u16 = 0;

/// The operation of a completion, in the low bits of its user data; the token is above.
const RECEIVE: u64 = 0;
const SEND: u64 = 1;
const SEND_LOUD: u64 = 2;
const WAKE: u64 = 3;
const CANCEL: u64 = 4;
const SILENT_CANCEL: u64 = 5;
const KIND_BITS: u32 = 3;
const TOKEN_BITS: u32 = 32;

#[derive(Debug)]
struct Socket {
    fd: OwnedFd,
    output: Vec<u8>,
    /// Distinguishes late completions for an earlier owner of the token.
    generation: u32,
    /// Removed by the caller; kept until the kernel has finished with it.
    dying: bool,
    /// Bytes sent of a send that reports its completion.
    sent: usize,
    given_ns: u64,
}

/// What a completion is of, from its user data; see `UringReactor::user_data`.
fn kind_of(data: u64) -> u64 {
    data & ((1 << KIND_BITS) - 1)
}

/// The socket it is of.
fn token_of(data: u64) -> Token {
    (data >> KIND_BITS) as Token
}

/// See the crate's page.
pub struct UringReactor {
    ring: IoUring,
    waker: Waker,
    sockets: Slots<Socket>,
    generation: u32,
    pool: Rc<Pool>,
    buffers: BufferRing,
    ready: VecDeque<cqueue::Entry>,
    pending: VecDeque<Event>,
    /// Sockets whose multishot receive ended because buffers ran out.
    starved: Vec<Token>,
    /// Sockets whose bytes go to the kernel with the next system call, in order.
    unsent: Vec<Token>,
    /// The time of the last submission.
    now_ns: u64,
    send_time: SendTime,
    /// What the sends of the last wait took.
    sending_ns: u64,
}

impl std::fmt::Debug for UringReactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UringReactor").field("ready", &self.ready.len()).finish_non_exhaustive()
    }
}

impl UringReactor {
    pub(crate) fn new() -> io::Result<Self> {
        Self::with_entries(ENTRIES)
    }

    fn with_entries(entries: u32) -> io::Result<Self> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_cqsize(COMPLETIONS)
            .build(entries)?;
        let pool = Pool::new(BUFFERS, BUFFER_BYTES);
        let mut buffers = BufferRing::new()?;
        // SAFETY: the ring memory lives as long as the reactor.
        unsafe {
            ring.submitter().register_buf_ring_with_flags(buffers.address(), BUFFERS, GROUP, 0)?;
        }
        buffers.grow(&pool);
        let mut reactor = Self {
            ring,
            waker: Waker::new()?,
            sockets: Slots::default(),
            generation: 0,
            pool,
            buffers,
            ready: VecDeque::with_capacity(COMPLETIONS as usize),
            pending: VecDeque::new(),
            starved: Vec::new(),
            unsent: Vec::new(),
            now_ns: 0,
            send_time: SendTime::default(),
            sending_ns: 0,
        };
        reactor.watch_waker();
        Ok(reactor)
    }

    pub(crate) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn watch_waker(&mut self) {
        let poll = opcode::PollAdd::new(Fd(self.waker.fd()), libc::POLLIN as u32)
            .multi(true)
            .build()
            .user_data(WAKE);
        self.push(poll);
    }

    fn push(&mut self, entry: squeue::Entry) {
        loop {
            // SAFETY: every buffer an entry points to (output, ring memory) outlives its
            // completion: sockets are kept as `dying` until the kernel is done with them.
            if unsafe { self.ring.submission().push(&entry) }.is_ok() {
                return;
            }
            // Full: submit what is there. An error shows again at the next wait.
            self.stamp_unsent(self.now_ns);
            if self.ring.submit().is_err() {
                std::thread::yield_now();
            }
        }
    }

    fn user_data(generation: u32, token: Token, kind: u64) -> u64 {
        let generation = u64::from(generation) << (TOKEN_BITS + KIND_BITS);
        generation | (u64::from(token) << KIND_BITS) | kind
    }

    fn receive(&mut self, token: Token) {
        let Some(socket) = self.sockets.get_mut(token) else { return };
        let fd = Fd(socket.fd.as_raw_fd());
        let data = Self::user_data(socket.generation, token, RECEIVE);
        self.push(opcode::RecvMulti::new(fd, GROUP).build().user_data(data));
    }

    pub(crate) fn add(&mut self, fd: OwnedFd) -> io::Result<Token> {
        // 29 bits are left for the generation in the user data.
        self.generation = (self.generation + 1) & 0x1fff_ffff;
        let generation = self.generation;
        let token = self.sockets.insert(Socket {
            fd,
            output: Vec::new(),
            generation,
            dying: false,
            sent: 0,
            given_ns: 0,
        });
        self.receive(token);
        Ok(token)
    }

    pub(crate) fn remove(&mut self, token: Token) {
        let Some(socket) = self.sockets.get_mut(token) else { return };
        if socket.dying {
            return;
        }
        socket.dying = true;
        let send = if socket.output.len() <= SILENT_SEND_MAX { SEND } else { SEND_LOUD };
        let data = |kind| Self::user_data(socket.generation, token, kind);
        // Cancel by user data: to find a descriptor, the kernel searches everything in flight on
        // the ring, which took 2 ms for each of 16,000 sockets.
        let cancel =
            |kind, says| opcode::AsyncCancel::new(data(kind)).build().user_data(data(says));
        let cancels = [cancel(send, SILENT_CANCEL), cancel(RECEIVE, CANCEL)];
        // SAFETY: plain system call on an open descriptor. It ends outstanding sends and receives,
        // so that the cancellation need not wait for any.
        unsafe { libc::shutdown(socket.fd.as_raw_fd(), libc::SHUT_RDWR) };
        cancels.into_iter().for_each(|entry| self.push(entry));
        self.pending.retain(|event| event.token != token);
    }

    #[inline]
    pub(crate) fn output(&mut self, token: Token) -> &mut Vec<u8> {
        &mut self.sockets.get_mut(token).expect("the caller holds a live token").output
    }

    #[inline]
    pub(crate) fn submit(&mut self, token: Token, now_ns: u64) {
        let Some(socket) = self.sockets.get_mut(token) else { return };
        socket.given_ns = now_ns;
        self.now_ns = now_ns;
        self.send(token);
        self.unsent.push(token);
    }

    #[inline]
    pub(crate) fn given_ns(&mut self, token: Token) -> u64 {
        self.sockets.get_mut(token).map_or(0, |socket| socket.given_ns)
    }

    /// What the sends of the last [`Self::wait`] took, nanoseconds.
    pub(crate) fn sending_ns(&self) -> u64 {
        self.sending_ns
    }

    /// Stamps what goes out with the following system call, which sends one after the other.
    #[inline]
    fn stamp_unsent(&mut self, begin_ns: u64) {
        for (place, token) in (0..).zip(self.unsent.drain(..)) {
            if let Some(socket) = self.sockets.get_mut(token) {
                socket.given_ns = begin_ns + place * self.send_time.ns();
            }
        }
    }

    /// Stamps what goes out with this wait.
    #[inline]
    fn stamp(&mut self, begin_ns: u64) {
        let count = self.unsent.len() as u64;
        if count > 1 {
            if self.send_time.is_due() {
                // A call without the wait. An error shows again at the wait.
                self.send_time.measure(count, || drop(self.ring.submit()));
            }
            self.sending_ns = count * self.send_time.ns();
        }
        self.stamp_unsent(begin_ns);
    }

    #[inline]
    pub(crate) fn send(&mut self, token: Token) {
        let Some(socket) = self.sockets.get_mut(token) else { return };
        let rest = &socket.output[socket.sent..];
        if rest.is_empty() {
            return;
        }
        let fd = Fd(socket.fd.as_raw_fd());
        let send = opcode::Send::new(fd, rest.as_ptr(), rest.len() as u32)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL);
        let entry = if socket.output.len() <= SILENT_SEND_MAX {
            let data = Self::user_data(socket.generation, token, SEND);
            send.build().flags(squeue::Flags::SKIP_SUCCESS).user_data(data)
        } else {
            send.build().user_data(Self::user_data(socket.generation, token, SEND_LOUD))
        };
        self.push(entry);
    }

    pub(crate) fn wait(
        &mut self,
        timeout: Duration,
        clock: &mut impl FnMut() -> u64,
    ) -> io::Result<()> {
        debug_assert!(self.ready.is_empty(), "all events are taken before waiting");
        self.buffers.give_back(&self.pool);
        self.sending_ns = 0;
        if !self.unsent.is_empty() {
            self.stamp(clock());
        }
        if !self.starved.is_empty() {
            self.feed();
        }
        if !self.pending.is_empty() {
            self.ring.submit()?;
            return Ok(());
        }
        // Waiting for one completion, even for no time, makes the kernel run its deferred work.
        let timespec = Timespec::from(timeout);
        let args = SubmitArgs::new().timespec(&timespec);
        if let Err(error) = self.ring.submitter().submit_with_args(1, &args) {
            let expected = [libc::ETIME, libc::EINTR, libc::EBUSY, libc::EAGAIN];
            if !error.raw_os_error().is_some_and(|code| expected.contains(&code)) {
                return Err(error);
            }
        }
        self.ready.extend(self.ring.completion());
        Ok(())
    }

    /// Receives again on the sockets for which there was no buffer, after adding buffers.
    #[cold]
    fn feed(&mut self) {
        self.buffers.grow(&self.pool);
        for token in std::mem::take(&mut self.starved) {
            self.receive(token);
        }
    }

    #[inline]
    pub(crate) fn upcoming(&self, ahead: usize) -> Option<Token> {
        let data = self.ready.get(ahead)?.user_data();
        (kind_of(data) == RECEIVE).then_some(token_of(data))
    }

    pub(crate) fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            let completion = self.ready.pop_front()?;
            if let Some(event) = self.interpret(&completion) {
                return Some(event);
            }
        }
    }

    fn interpret(&mut self, completion: &cqueue::Entry) -> Option<Event> {
        let data = completion.user_data();
        let kind = kind_of(data);
        if kind == WAKE {
            self.waker.drain();
            if !cqueue::more(completion.flags()) {
                self.watch_waker();
            }
            return None;
        }
        let token = token_of(data);
        let generation = (data >> (TOKEN_BITS + KIND_BITS)) as u32;
        // A buffer must return to the ring, whoever it was for.
        let chunk = cqueue::buffer_select(completion.flags())
            .map(|index| self.pool.lend(index, completion.result().max(0) as usize));
        let socket = self.sockets.get_mut(token)?;
        if socket.generation != generation {
            return None;
        }
        let result = completion.result();
        if socket.dying {
            if kind == CANCEL {
                // Everything in flight has been shut down and then cancelled.
                self.sockets.take(token);
            }
            return None;
        }
        match kind {
            RECEIVE => self.received(token, result, chunk, completion.flags()),
            SEND if result < 0 => Some(failed(token, result)),
            SEND_LOUD if result < 0 => Some(failed(token, result)),
            SEND_LOUD => {
                socket.sent += result as usize;
                if socket.sent < socket.output.len() {
                    self.send(token);
                    return None;
                }
                socket.output.clear();
                socket.sent = 0;
                Some(Event { token, kind: EventKind::Sent })
            }
            _ => None,
        }
    }

    fn received(
        &mut self,
        token: Token,
        result: i32,
        chunk: Option<crate::Chunk>,
        flags: u32,
    ) -> Option<Event> {
        if result > 0 {
            if !cqueue::more(flags) {
                self.receive(token);
            }
            return chunk.map(|chunk| Event { token, kind: EventKind::Received(chunk) });
        }
        match -result {
            0 => Some(Event { token, kind: EventKind::Closed(None) }),
            libc::ENOBUFS => {
                self.starved.push(token);
                None
            }
            libc::EINTR | libc::EAGAIN => {
                self.receive(token);
                None
            }
            _ => Some(failed(token, result)),
        }
    }
}

fn failed(token: Token, result: i32) -> Event {
    Event { token, kind: EventKind::Closed(Some(io::Error::from_raw_os_error(-result))) }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no io_uring")]
    fn the_kernel_gets_more_buffers_only_when_they_run_out() {
        let mut reactor = UringReactor::new().expect("the kernel has io_uring");
        let first = reactor.buffers.given;
        let (few, sockets) = (usize::from(first) / 2, usize::from(first) + 1);
        let mut peers = Vec::new();
        for _ in 0..sockets {
            let (ours, theirs) = UnixStream::pair().expect("there are descriptors");
            reactor.add(ours.into()).expect("it takes a socket");
            peers.push(theirs);
        }
        let mut receive = |reactor: &mut UringReactor, count: usize| {
            for peer in &mut peers[..count] {
                peer.write_all(b"reply").expect("it takes five bytes");
            }
            let mut kept = Vec::new();
            while kept.len() < count {
                reactor.wait(Duration::from_secs(5), &mut || 0).expect("it waits");
                kept.extend(std::iter::from_fn(|| reactor.next()));
            }
        };
        for _ in 0..3 {
            receive(&mut reactor, few);
        }
        assert_eq!(reactor.buffers.given, first);
        for _ in 0..3 {
            receive(&mut reactor, sockets);
        }
        assert_eq!(reactor.buffers.given, 2 * first);
    }

    /// If the ring is full, the kernel gets its content before the next wait.
    #[test]
    #[cfg_attr(miri, ignore = "Miri has no io_uring")]
    fn bytes_are_stamped_when_the_kernel_gets_them() {
        let mut reactor = UringReactor::with_entries(4).expect("the kernel has io_uring");
        let mut peers = Vec::new();
        let tokens: Vec<_> = (0..8)
            .map(|_| {
                let (ours, theirs) = UnixStream::pair().expect("there are descriptors");
                peers.push(theirs);
                reactor.add(ours.into()).expect("it takes a socket")
            })
            .collect();
        reactor.wait(Duration::ZERO, &mut || 0).expect("it waits");
        for (place, token) in (1..).zip(&tokens) {
            reactor.output(*token).push(0);
            reactor.submit(*token, place * 100);
        }
        reactor.wait(Duration::ZERO, &mut || 1000).expect("it waits");
        let given: Vec<_> = tokens.iter().map(|token| reactor.given_ns(*token)).collect();
        assert_eq!(given[..4], [500; 4], "nobody knows yet what a send takes");
        let send_ns = reactor.send_time.ns();
        assert!(send_ns > 0);
        assert_eq!(given[4..], [0, 1, 2, 3].map(|place| 1000 + place * send_ns));
        assert_eq!(reactor.sending_ns(), 4 * send_ns);
    }
}
