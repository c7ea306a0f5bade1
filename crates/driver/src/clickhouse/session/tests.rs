//! Hand-written replies, cut anywhere.

use wire_clickhouse::frontend::text;

use super::*;
use crate::reply::{Class, Tally};

const END: &[u8] = b"\x05";

/// A block of the server's: its columns have a name, a type and values.
fn block(rows: u8, columns: &[(&str, &str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"\x01\0\x01\0\x02\xff\xff\xff\xff\0".to_vec();
    bytes.extend([columns.len() as u8, rows]);
    for (name, type_name, values) in columns {
        text(name.as_bytes(), &mut bytes);
        text(type_name.as_bytes(), &mut bytes);
        bytes.extend_from_slice(values);
    }
    bytes
}

fn exception(code: u8, message: &str) -> Vec<u8> {
    let mut bytes = vec![2, code, 0, 0, 0];
    text(b"DB::Exception", &mut bytes);
    text(message.as_bytes(), &mut bytes);
    text(b"", &mut bytes);
    bytes.push(0);
    bytes
}

fn asked(sql: &str) -> ClickhouseSession {
    let mut session = ClickhouseSession::new(true, false);
    session.query(sql.as_bytes(), &mut Vec::new()).unwrap();
    session
}

fn done(session: &mut ClickhouseSession, bytes: &[u8]) -> Reply {
    match session.feed(bytes) {
        Ok(Progress::Done { reply, consumed }) if consumed == bytes.len() => reply,
        other => panic!("{other:?}"),
    }
}

fn rows(session: &ClickhouseSession, bytes: &[u8]) -> Vec<Vec<Option<String>>> {
    let (mut rows, mut cursor) = (Vec::new(), RowCursor::default());
    loop {
        let mut row = Vec::new();
        let show = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        if !session.row(bytes, &mut cursor, |value| row.push(value.map(show))).unwrap() {
            return rows;
        }
        rows.push(row);
    }
}

fn two_blocks() -> Vec<u8> {
    let [head, first, second] = [
        block(0, &[("a", "UInt8", b""), ("b", "Nullable(String)", b"")]),
        block(2, &[("a", "UInt8", &[1, 2]), ("b", "Nullable(String)", b"\0\x01\x02hi\0")]),
        block(1, &[("a", "UInt8", &[3]), ("b", "Nullable(String)", b"\0\x01x")]),
    ];
    [&head[..], b"\x03\x03\x03\0", &first, &second, &block(0, &[]), END].concat()
}

/// The error of a reply; the server has read all when it answers a ping.
fn failed(session: &mut ClickhouseSession, bytes: &[u8]) -> Box<crate::ServerError> {
    let wanted = session.feed(bytes).unwrap();
    assert!(matches!(wanted, Progress::Wanted { consumed } if consumed == bytes.len()));
    let mut out = Vec::new();
    session.send_rows(&mut out);
    assert_eq!(out, [4]);
    done(session, &[4]).error.unwrap()
}

#[test]
fn rows_of_all_blocks_are_read_in_order() {
    let mut session = asked("SELECT a, b FROM t");
    let bytes = two_blocks();
    let reply = done(&mut session, &bytes);
    assert_eq!((reply.rows, reply.columns, reply.class), (3, 2, Some(Class::Read)));
    assert_eq!(reply.tally, Tally { reads: 1, ..Tally::default() });
    let read = rows(&session, &bytes);
    let some = |text: &str| Some(text.to_owned());
    let expected = [[some("1"), some("hi")], [some("2"), None], [some("3"), some("x")]];
    assert_eq!(read, expected);
    // Again, and from the middle: each has its own cursor.
    assert_eq!(rows(&session, &bytes), expected);
    let (mut first, mut second) = (RowCursor::default(), RowCursor::default());
    for cursor in [&mut first, &mut second] {
        assert!(session.row(&bytes, cursor, |_| ()).unwrap());
    }
    assert!(session.row(&bytes, &mut first, |value| assert!(value != Some(b"1"))).unwrap());
}

#[test]
fn a_reply_is_the_same_however_it_is_cut() {
    let bytes = two_blocks();
    for cut in 0..bytes.len() {
        let mut session = asked("SELECT a, b FROM t");
        assert!(matches!(session.feed(&bytes[..cut]), Ok(Progress::More)), "{cut}");
        assert_eq!(done(&mut session, &bytes).rows, 3, "{cut}");
    }
    // What has been scanned may be dropped; the rows are then gone, the counts are not.
    let mut session = asked("SELECT a, b FROM t");
    session.feed(&bytes[..60]).unwrap();
    let dropped = session.discard_scanned(60);
    assert!(dropped > 0);
    assert_eq!(done(&mut session, &bytes[dropped..]).rows, 3);
    assert!(session.row(&bytes, &mut RowCursor::default(), |_| ()).is_err());
}

#[test]
fn an_insert_sends_its_rows_when_the_server_has_named_the_columns() {
    let mut session = ClickhouseSession::new(true, false);
    let mut out = Vec::new();
    session.query(b"INSERT INTO t (a, b) VALUES (1, 'x'), (2, NULL)", &mut out).unwrap();
    let sent = b"\x1bINSERT INTO t (a, b) VALUES\x02\0\0\0\0";
    assert!(out.ends_with(sent), "{out:?}");
    let head = block(0, &[("a", "Int8", b""), ("b", "Nullable(String)", b"")]);
    for cut in 0..head.len() {
        assert!(matches!(session.feed(&head[..cut]), Ok(Progress::More)), "{cut}");
    }
    let wanted = session.feed(&head).unwrap();
    assert!(matches!(wanted, Progress::Wanted { consumed } if consumed == head.len()));
    out.clear();
    session.send_rows(&mut out);
    let mut expected =
        block(2, &[("a", "Int8", &[1, 2]), ("b", "Nullable(String)", b"\0\x01\x01x\0")]);
    expected[0] = 2;
    frontend::end_of_data(&mut expected);
    assert_eq!(out, expected);
    let reply = done(&mut session, END);
    assert_eq!((reply.affected, reply.class), (2, Some(Class::Write)));
}

#[test]
fn rows_that_are_no_literals_of_their_columns_are_an_error_and_none_is_sent() {
    for (sql, expected) in [
        ("INSERT INTO t VALUES (now())", "or no literals"),
        ("INSERT INTO t VALUES (300)", "column a (UInt8): 300 is no value of it"),
        ("INSERT INTO t VALUES (1, 2)", "other columns"),
        ("INSERT INTO t FORMAT CSV", "have to be literals"),
    ] {
        let mut session = asked(sql);
        let head = block(0, &[("a", "UInt8", b"")]);
        assert!(matches!(session.feed(&head), Ok(Progress::Wanted { .. })), "{sql}");
        let (mut out, mut end) = (Vec::new(), Vec::new());
        session.send_rows(&mut out);
        frontend::end_of_data(&mut end);
        assert_eq!(out, end);
        let reply = done(&mut session, END);
        let error = reply.error.unwrap();
        assert!(error.message.contains(expected), "{sql}: {error}");
        assert_eq!((reply.affected, reply.tally, error.number), (0, Tally::default(), 62));
        assert!(!error.closes);
    }
}

#[test]
fn exceptions_are_counted_by_their_code() {
    let mut session = asked("SELECT");
    let error = failed(&mut session, &exception(62, "DB::Exception: Syntax error"));
    assert_eq!((error.code(), error.transient, error.closes), ("62".into(), false, false));
    // While nothing is expected, the server says why it closes.
    let error = done(&mut session, &exception(3, "DB::Exception: bye")).error.unwrap();
    assert!(error.closes);
    assert!(session.feed(END).is_err(), "a reply that nobody asked for");
}

#[test]
fn what_the_server_had_not_read_when_it_refused_is_refused_before_the_ping_is_answered() {
    let unexpected = exception(101, "DB::NetException: Unexpected packet Data");
    let mut session = asked("SELEC");
    session.feed(&exception(62, "no")).unwrap();
    session.send_rows(&mut Vec::new());
    let error = done(&mut session, &[&unexpected[..], &unexpected, &[4]].concat()).error.unwrap();
    assert_eq!((error.number, error.closes), (62, false));

    // Anything else: nobody knows where the server is in what was sent.
    let mut session = asked("SELEC");
    session.feed(&exception(62, "no")).unwrap();
    let error = done(&mut session, &exception(100, "Unknown packet")).error.unwrap();
    assert_eq!((error.number, error.closes), (62, true));
}

#[test]
fn a_compressed_block_that_the_server_has_not_read_ends_the_connection() {
    let mut session = ClickhouseSession::new(true, true);
    session.query(b"SELEC", &mut Vec::new()).unwrap();
    let error = done(&mut session, &exception(62, "no")).error.unwrap();
    assert_eq!((error.number, error.closes), (62, true));

    let mut session = ClickhouseSession::new(true, true);
    session.query(b"SELECT * FROM absent", &mut Vec::new()).unwrap();
    assert!(!failed(&mut session, &exception(60, "no")).closes);
}

#[test]
fn a_prepared_statement_is_text_with_its_values() {
    let mut session = ClickhouseSession::new(true, false);
    let id = session.prepare(b"SELECT c FROM t WHERE id=? AND k=?");
    let mut out = Vec::new();
    let values = [Value::Int(-7), Value::Bytes(b"it's")];
    assert!(matches!(session.execute(id, values.into_iter(), &mut out), Ok(Sent::Waiting)));
    let sent = b"SELECT c FROM t WHERE id= -7 AND k='it\\'s'";
    assert!(out.windows(sent.len()).any(|part| part == sent));
    assert!(session.execute(id, values.into_iter(), &mut out).is_err(), "one at a time");
    done(&mut session, END);
    let Ok(Sent::Done(reply)) = session.execute(id, [].into_iter(), &mut out) else { panic!() };
    assert!(reply.error.unwrap().message.contains("2 placeholders"));
}
