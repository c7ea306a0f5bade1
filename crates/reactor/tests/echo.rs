//! Both event loops against real sockets: bytes of any size arrive unchanged.
#![expect(clippy::unwrap_used, reason = "a test's helper fails the test")]

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use reactor::{Choice, EventKind, Reactor, Token};

/// Miri has no io_uring.
const BOTH: &[Choice] = match cfg!(miri) {
    true => &[Choice::Epoll],
    false => &[Choice::Epoll, Choice::IoUring],
};
/// Time limit for everything here, for slow machines.
const PATIENCE: Duration = Duration::from_secs(60);

/// More than a socket's buffers hold.
const BYTES: usize = if cfg!(miri) { 251_000 } else { 6_000_000 };
/// More than there are buffers to receive in.
const SOCKETS: usize = if cfg!(miri) { 10 } else { 1_500 };

fn pair(reactor: &mut Reactor) -> (Token, File) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    // As `set_nonblocking`, in a way that Miri knows.
    // SAFETY: plain system call on a live descriptor; the result is checked.
    let done = unsafe { libc::fcntl(ours.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    assert_eq!(done, 0);
    // Read and written as a file, which Miri knows too.
    (reactor.add(OwnedFd::from(ours)).unwrap(), File::from(OwnedFd::from(theirs)))
}

/// Runs the loop until `enough` returns true.
fn poll_until(reactor: &mut Reactor, mut enough: impl FnMut(Token, EventKind) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        reactor.wait(Duration::from_millis(10), &mut || 0).unwrap();
        let mut done = false;
        while let Some(event) = reactor.next() {
            done |= enough(event.token, event.kind);
        }
        if done {
            return;
        }
    }
    panic!("nothing more happened within {} s", PATIENCE.as_secs());
}

#[test]
fn a_statement_goes_out_and_its_reply_comes_in() {
    for choice in BOTH {
        let mut reactor = Reactor::new(*choice).unwrap();
        let (token, mut peer) = pair(&mut reactor);
        for round in 0..100u8 {
            reactor.output(token).clear();
            reactor.output(token).extend_from_slice(&[round; 64]);
            reactor.submit(token, 0);
            reactor.wait(Duration::ZERO, &mut || 0).unwrap();
            while reactor.next().is_some() {}
            let mut request = [0; 64];
            peer.read_exact(&mut request).unwrap();
            assert_eq!(request, [round; 64]);
            peer.write_all(&request[..10]).unwrap();
            let mut got = Vec::new();
            poll_until(&mut reactor, |_, kind| {
                if let EventKind::Received(chunk) = kind {
                    got.extend_from_slice(chunk.bytes());
                }
                got.len() == 10
            });
            assert_eq!(got, [round; 10]);
        }
    }
}

#[test]
fn many_megabytes_pass_both_ways_in_order() {
    for choice in BOTH {
        let mut reactor = Reactor::new(*choice).unwrap();
        let (token, mut peer) = pair(&mut reactor);
        let sent: Vec<u8> = (0..250).collect::<Vec<_>>().repeat(BYTES / 250);
        let expected = sent.clone();
        let echo = std::thread::spawn(move || {
            let mut got = vec![0; BYTES];
            peer.read_exact(&mut got).unwrap();
            peer.write_all(&got).unwrap();
        });
        reactor.output(token).extend_from_slice(&sent);
        reactor.submit(token, 0);
        let (mut got, mut sent_events) = (Vec::new(), 0);
        poll_until(&mut reactor, |_, kind| {
            match kind {
                EventKind::Received(chunk) => got.extend_from_slice(chunk.bytes()),
                EventKind::Sent => sent_events += 1,
                // The peer closes when it has echoed everything.
                EventKind::Closed(None) => {}
                EventKind::Closed(error) => panic!("closed: {error:?}"),
            }
            got.len() == expected.len()
        });
        assert!(got == expected, "bytes came back changed");
        assert_eq!(sent_events, 1);
        echo.join().unwrap();
    }
}

#[test]
fn more_sockets_than_buffers_all_get_their_bytes() {
    for choice in BOTH {
        let mut reactor = Reactor::new(*choice).unwrap();
        let mut peers: Vec<_> = (0..SOCKETS).map(|_| pair(&mut reactor)).collect();
        for (index, (_, peer)) in peers.iter_mut().enumerate() {
            peer.write_all(&vec![7; 9_000 + index]).unwrap();
        }
        let mut got = vec![0; peers.len()];
        poll_until(&mut reactor, |token, kind| {
            if let EventKind::Received(chunk) = kind {
                got[token as usize] += chunk.bytes().len();
            }
            got.iter().enumerate().all(|(index, len)| *len == 9_000 + index)
        });
    }
}

#[test]
fn a_peer_that_leaves_is_reported_and_its_token_used_again_safely() {
    for choice in BOTH {
        let mut reactor = Reactor::new(*choice).unwrap();
        let (first, peer) = pair(&mut reactor);
        drop(peer);
        poll_until(&mut reactor, |token, kind| {
            assert_eq!(token, first);
            matches!(kind, EventKind::Closed(_))
        });
        reactor.remove(first);
        let (second, mut peer) = pair(&mut reactor);
        peer.write_all(b"hello").unwrap();
        poll_until(&mut reactor, |token, kind| {
            assert_eq!(token, second);
            matches!(kind, EventKind::Received(chunk) if chunk.bytes() == b"hello")
        });
    }
}

#[test]
fn a_waker_ends_the_wait_from_another_thread() {
    for choice in BOTH {
        let mut reactor = Reactor::new(*choice).unwrap();
        let waker = reactor.waker();
        let waking = std::thread::spawn(move || waker.wake());
        let begin = Instant::now();
        reactor.wait(2 * PATIENCE, &mut || 0).unwrap();
        while reactor.next().is_some() {}
        assert!(begin.elapsed() < PATIENCE, "the wait outlasted the wake-up");
        waking.join().unwrap();
    }
}

/// A clock that advances by one each time it is read.
fn steps(now: &mut u64) -> u64 {
    *now += 100;
    *now
}

#[test]
fn bytes_are_stamped_when_the_kernel_gets_them() {
    let mut reactor = Reactor::new(Choice::Epoll).unwrap();
    let (token, _theirs) = pair(&mut reactor);
    reactor.output(token).extend_from_slice(b"now");
    reactor.submit(token, 7);
    let mut now = 1000;
    reactor.wait(Duration::ZERO, &mut || steps(&mut now)).unwrap();
    assert_eq!(reactor.given_ns(token), 7);

    if !BOTH.contains(&Choice::IoUring) {
        return;
    }
    let mut reactor = Reactor::new(Choice::IoUring).unwrap();
    let pairs: Vec<_> = (0..4).map(|_| pair(&mut reactor)).collect();
    let mut now = 1000;
    reactor.wait(Duration::ZERO, &mut || steps(&mut now)).unwrap();
    while reactor.next().is_some() {}
    assert_eq!(now, 1000, "nobody asks for the time if nothing goes out");
    for (token, _) in &pairs {
        reactor.output(*token).extend_from_slice(b"later");
        reactor.submit(*token, 7);
    }
    reactor.wait(Duration::ZERO, &mut || steps(&mut now)).unwrap();
    let given: Vec<_> = pairs.iter().map(|(token, _)| reactor.given_ns(*token)).collect();
    assert_eq!((given[0], now), (1100, 1100));
    assert!(given.is_sorted_by(|one, next| one < next), "one goes out after the other: {given:?}");
}

#[test]
fn a_further_part_keeps_the_stamp_of_the_first() {
    for choice in BOTH {
        let mut reactor = Reactor::new(*choice).unwrap();
        let (token, mut theirs) = pair(&mut reactor);
        reactor.output(token).extend_from_slice(b"first");
        reactor.submit(token, 50);
        reactor.wait(Duration::ZERO, &mut || 50).unwrap();
        while reactor.next().is_some() {}
        theirs.read_exact(&mut [0; 5]).unwrap();
        reactor.output(token).clear();
        reactor.output(token).extend_from_slice(b"second");
        reactor.submit_more(token);
        reactor.wait(Duration::ZERO, &mut || 99).unwrap();
        assert_eq!(reactor.given_ns(token), 50);
    }
}

#[test]
fn what_comes_next_is_known_before_it_is_taken() {
    for choice in BOTH {
        let mut reactor = Reactor::new(*choice).unwrap();
        let (tokens, mut peers): (Vec<Token>, Vec<File>) =
            (0..8).map(|_| pair(&mut reactor)).unzip();
        // What was to be submitted has been.
        reactor.wait(Duration::ZERO, &mut || 0).unwrap();
        while reactor.next().is_some() {}
        peers.iter_mut().for_each(|peer| peer.write_all(b"x").unwrap());
        let mut got = Vec::new();
        let deadline = Instant::now() + PATIENCE;
        while got.len() < tokens.len() {
            assert!(Instant::now() < deadline, "{choice:?}: {got:?}");
            reactor.wait(Duration::from_millis(10), &mut || 0).unwrap();
            let foretold: Vec<Token> = (0..).map_while(|ahead| reactor.upcoming(ahead)).collect();
            let taken: Vec<Token> =
                std::iter::from_fn(|| reactor.next()).map(|event| event.token).collect();
            assert_eq!(foretold, taken, "{choice:?}");
            got.extend(taken);
        }
        got.sort_unstable();
        assert_eq!(got, tokens, "{choice:?}");
    }
}
