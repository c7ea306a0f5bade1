//! A session against bytes as servers send them.

use super::*;
use crate::bytewise::fed_bytewise;
use crate::reply::{Class, Reply, Tally};
use crate::session::Session;

fn words<'a>(text: &'a str) -> Vec<Value<'a>> {
    text.split(' ').map(|word| Value::Bytes(word.as_bytes())).collect()
}

/// Sends a command; returns what was written.
fn send(session: &mut RedisSession, text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    session.command(words(text).into_iter(), &mut out).unwrap();
    out
}

fn receive(session: &mut RedisSession, bytes: &[u8]) -> Reply {
    fed_bytewise(|bytes| session.feed(bytes), bytes)
}

fn answer(session: &mut RedisSession, command: &str, bytes: &[u8]) -> Reply {
    send(session, command);
    receive(session, bytes)
}

fn tally(reads: u32, writes: u32, other: u32) -> Tally {
    Tally { reads, writes, other }
}

#[test]
fn commands_count_as_what_their_names_say() {
    let mut session = RedisSession::default();
    assert_eq!(send(&mut session, "GET k"), b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
    let reply = receive(&mut session, b"$5\r\nvalue\r\n");
    assert_eq!((reply.tally, reply.class), (tally(1, 0, 0), Some(Class::Read)));
    assert_eq!((reply.columns, reply.rows), (1, 1));
    let nothing = answer(&mut session, "get k", b"_\r\n");
    assert_eq!((nothing.tally, nothing.columns), (tally(1, 0, 0), 0));
    assert_eq!(answer(&mut session, "SET k v", b"+OK\r\n").tally, tally(0, 1, 0));
    assert_eq!(answer(&mut session, "PING", b"+PONG\r\n").tally, tally(0, 0, 1));
    let many = answer(&mut session, "LRANGE l 0 -1", b"*2\r\n$1\r\na\r\n*1\r\n:1\r\n");
    assert_eq!((many.columns, many.rows), (1, 2));
}

#[test]
fn only_nodes_of_a_cluster_send_commands_on() {
    for (clustered, text, redirected) in [
        (true, "-MOVED 3999 127.0.0.1:6381\r\n", true),
        (true, "-ASK 3999 127.0.0.1:6381\r\n", true),
        (true, "-CLUSTERDOWN Hash slot not served\r\n", false),
        (false, "-MOVED 3999 127.0.0.1:6381\r\n", false),
    ] {
        let mut session = RedisSession::new(clustered);
        let error = answer(&mut session, "GET k", text.as_bytes()).error.unwrap();
        assert_eq!(Session::Redis(session).is_redirected(&error), redirected, "{text}");
    }
}

#[test]
fn an_error_is_data_under_its_first_word() {
    let mut session = RedisSession::default();
    let reply = answer(&mut session, "INCR k", b"-WRONGTYPE Operation against a key\r\n");
    assert_eq!((reply.tally, reply.class), (Tally::default(), None));
    let error = reply.error.unwrap();
    assert_eq!((error.code().as_str(), error.transient), ("WRONGTYPE", false));
    assert_eq!(error.message, "WRONGTYPE Operation against a key");
    let blob = answer(&mut session, "GET k", b"!21\r\nSYNTAX invalid syntax\r\n");
    assert_eq!(blob.error.unwrap().code(), "SYNTAX");
    let error = answer(&mut session, "GET k", b"-TRYAGAIN Multiple keys\r\n").error.unwrap();
    assert!(error.transient);
}

#[test]
fn a_transaction_counts_when_it_is_carried_out() {
    let mut session = RedisSession::default();
    assert_eq!(answer(&mut session, "MULTI", b"+OK\r\n").tally, tally(0, 0, 1));
    assert!(session.in_transaction());
    for command in ["SET k v", "GET k", "LPUSH k 1"] {
        let reply = answer(&mut session, command, b"+QUEUED\r\n");
        assert_eq!((reply.tally, reply.class), (Tally::default(), None));
    }
    let results = b"*3\r\n+OK\r\n*2\r\n:1\r\n:2\r\n-WRONGTYPE no list\r\n";
    let reply = answer(&mut session, "EXEC", results);
    assert_eq!(reply.tally, tally(1, 1, 1), "and EXEC itself");
    let error = reply.error.unwrap();
    assert_eq!(error.message, "command 3 of the transaction: WRONGTYPE no list");
    assert!(!session.in_transaction());

    // A watched key was changed: nothing was carried out.
    for (end, bytes) in
        [("EXEC", &b"_\r\n"[..]), ("DISCARD", b"+OK\r\n"), ("EXEC", b"-EXECABORT\r\n")]
    {
        answer(&mut session, "MULTI", b"+OK\r\n");
        answer(&mut session, "SET k v", b"+QUEUED\r\n");
        let reply = answer(&mut session, end, bytes);
        assert_eq!(reply.tally.writes, 0);
        assert!(!session.in_transaction(), "{end}");
    }
    let late = answer(&mut session, "ECHO QUEUED", b"+QUEUED\r\n");
    assert_eq!(late.tally, tally(0, 0, 1), "outside of one it is a word like any other");
}

#[test]
fn what_is_pipelined_is_answered_in_turn() {
    let mut session = RedisSession::default();
    session.pipelined(true);
    for command in ["SET k v", "GET k", "DEL k"] {
        send(&mut session, command);
    }
    let bytes = b"+OK\r\n>2\r\n+invalidate\r\n*1\r\n+k\r\n$1\r\nv\r\n:1\r\n";
    let (mut at, mut classes) = (0, Vec::new());
    while let Ok(Progress::Done { reply, consumed }) = session.feed(&bytes[at..]) {
        at += consumed;
        classes.push(reply.class);
    }
    assert_eq!(classes, [Class::Write, Class::Read, Class::Write].map(Some));
    assert_eq!(at, bytes.len());
}

/// Feeds replies in two pieces, passing plain ones first or not; returns what was counted, how many
/// replies had an error, and the bytes consumed.
fn counted(sent: &[(&str, &[u8])], cut: usize, passing: bool) -> (Tally, usize, usize) {
    let mut session = RedisSession::default();
    session.pipelined(true);
    sent.iter().for_each(|(command, _)| drop(send(&mut session, command)));
    let bytes: Vec<u8> = sent.iter().flat_map(|(_, reply)| reply.iter().copied()).collect();
    let (mut all, mut errors, mut at) = (Tally::default(), 0, 0);
    for end in [cut.min(bytes.len()), bytes.len()] {
        loop {
            if passing {
                at += session.pass_plain(&bytes[at..end], &mut all);
            }
            let Progress::Done { reply, consumed } = session.feed(&bytes[at..end]).unwrap() else {
                break;
            };
            at += consumed;
            errors += usize::from(reply.error.is_some());
            all.reads += reply.tally.reads;
            all.writes += reply.tally.writes;
            all.other += reply.tally.other;
        }
    }
    (all, errors, at)
}

#[test]
fn replies_passed_together_are_counted_as_those_read_in_turn() {
    let sent: [(&str, &[u8]); 14] = [
        ("GET a", b"$3\r\nabc\r\n"),
        ("SET a b", b"+OK\r\n"),
        ("GET b", b">2\r\n+invalidate\r\n*1\r\n+k\r\n_\r\n"),
        ("INCR n", b":1\r\n"),
        ("GET l", b"-WRONGTYPE no\r\n"),
        ("MGET a b", b"*2\r\n$0\r\n\r\n$-1\r\n"),
        ("GET c", b"$-1\r\n"),
        ("MULTI", b"+OK\r\n"),
        ("SET a b", b"+QUEUED\r\n"),
        ("GET a", b"+QUEUED\r\n"),
        ("EXEC", b"*2\r\n+OK\r\n$1\r\nb\r\n"),
        ("PING", b"+PONG\r\n"),
        ("GET d", b"!5\r\nERR x\r\n"),
        ("GET e", b"$1\r\ne\r\n"),
    ];
    for cut in 0..sent.iter().map(|(_, reply)| reply.len()).sum() {
        let expected = counted(&sent, cut, false);
        assert_eq!(expected.0, tally(6, 3, 3));
        assert_eq!(counted(&sent, cut, true), expected, "cut at {cut}");
    }
}

#[test]
fn a_string_longer_than_it_says_is_not_passed() {
    let mut session = RedisSession::default();
    session.pipelined(true);
    ["GET a", "GET b"].iter().for_each(|command| drop(send(&mut session, command)));
    let mut passed = Tally::default();
    assert_eq!(session.pass_plain(b"$2\r\nabc\r\n", &mut passed), 0);
    assert_eq!(passed, Tally::default());
    assert!(session.feed(b"$2\r\nabc\r\n").is_err());
}

#[test]
fn a_long_string_can_be_dropped_as_it_comes() {
    let mut session = RedisSession::default();
    send(&mut session, "MGET a b");
    let mut reply = b"*2\r\n$1000\r\n".to_vec();
    reply.extend_from_slice(&[b'a'; 500]);
    assert!(matches!(session.feed(&reply), Ok(Progress::More)));
    assert_eq!(session.discard_scanned(reply.len()), reply.len());
    let mut rest = vec![b'a'; 500];
    rest.extend_from_slice(b"\r\n$2\r\nbb\r\n");
    let Ok(Progress::Done { reply, consumed }) = session.feed(&rest) else { panic!() };
    assert_eq!((reply.rows, consumed), (2, rest.len()));
    assert!(session.item(&rest, &mut RowCursor::default()).is_err());
}

#[test]
fn values_are_read_in_turn() {
    let reply = b"|1\r\n+ttl\r\n*1\r\n:1\r\n*6\r\n$1\r\na\r\n_\r\n%1\r\n+k\r\n,0.5\r\n\
        -ERR no\r\n=5\r\ntxt:v\r\n#t\r\n";
    let (session, mut cursor) = (RedisSession::default(), RowCursor::default());
    let mut found = Vec::new();
    while let Some(item) = session.item(reply, &mut cursor).unwrap() {
        found.push(item);
    }
    let expected = [
        Item::Array(6),
        Item::Text(b"a"),
        Item::Null,
        Item::Map(1),
        Item::Text(b"k"),
        Item::Number(0.5),
        Item::Error(b"ERR no"),
        Item::Text(b"v"),
        Item::Boolean(true),
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_would_break_the_order_of_replies_is_not_sent() {
    let mut session = RedisSession::default();
    let mut out = Vec::new();
    for command in ["SUBSCRIBE c", "monitor", "QUIT", "CLIENT REPLY OFF", "client reply skip"] {
        let sent = session.command(words(command).into_iter(), &mut out);
        assert!(matches!(sent, Err(ProtocolError::Misuse(_))), "{command}");
    }
    assert!(session.command([].into_iter(), &mut out).is_err());
    assert!(session.command([Value::Int(1)].into_iter(), &mut out).is_err());
    assert!(Session::unconnected_redis().query(b"GET k", &mut out).is_err());
    assert_eq!(out, b"");
    send(&mut session, "CLIENT SETNAME reply");
    let again = session.command(words("GET k").into_iter(), &mut out);
    assert!(again.is_err(), "a reply is outstanding");
}

#[test]
fn replies_that_nobody_asked_for_are_errors_and_pushes_are_not() {
    let mut session = RedisSession::default();
    assert!(matches!(session.feed(b">1\r\n+x\r\n"), Ok(Progress::More)));
    send(&mut session, "GET k");
    let Ok(Progress::Done { consumed, .. }) = session.feed(b">1\r\n+x\r\n:1\r\n") else { panic!() };
    assert_eq!(consumed, 12);
    assert!(session.feed(b":1\r\n").is_err());
    let mut session = RedisSession::default();
    send(&mut session, "GET k");
    assert!(session.feed(b"$2\r\nabc\r\n").is_err(), "longer than it says");
    let mut session = RedisSession::default();
    send(&mut session, "GET k");
    assert!(session.feed(b"R\0\0\0\x08\0\0\0\0").is_err(), "another protocol");
}
