//! Hand-written replies, cut anywhere.

use proptest::prelude::*;

use super::*;
use crate::reply::{Class, Tally};

/// A message from the server.
fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn data_row(values: &[Option<&[u8]>]) -> Vec<u8> {
    let mut body = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        let size = value.map_or(-1, |value| value.len() as i32);
        body.extend_from_slice(&size.to_be_bytes());
        body.extend_from_slice(value.unwrap_or_default());
    }
    message(b'D', &body)
}

fn ready(status: u8) -> Vec<u8> {
    message(b'Z', &[status])
}

fn error(fields: &[u8]) -> Vec<u8> {
    message(b'E', fields)
}

/// A session that waits for the reply to a query.
fn asked() -> PostgresSession {
    let mut session = PostgresSession::new(true);
    session.query(b"SELECT 1", &mut Vec::new()).unwrap();
    session
}

/// A session with one prepared statement that returns `columns`.
fn prepared(columns: u16) -> (PostgresSession, StatementId) {
    let mut session = PostgresSession::new(true);
    let (id, _) = session.prepare(b"SELECT ?", &mut Vec::new()).unwrap();
    let mut reply = [message(b'1', b""), message(b't', &[0, 1, 0, 0, 0, 23])].concat();
    reply.extend(match columns {
        0 => message(b'n', b""),
        columns => message(b'T', &columns.to_be_bytes()),
    });
    reply.extend(ready(b'I'));
    assert_eq!(done(&mut session, &reply), (Reply::default(), reply.len()));
    (session, id)
}

fn done(session: &mut PostgresSession, bytes: &[u8]) -> (Reply, usize) {
    match session.feed(bytes) {
        Ok(Progress::Done { reply, consumed }) => (reply, consumed),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_prepared_statement_is_one_request_of_three_messages() {
    let (mut session, id) = prepared(1);
    let mut out = Vec::with_capacity(64);
    let memory = out.as_ptr();
    session.execute(id, [Value::Int(42)].into_iter(), &mut out).unwrap();
    let bind = b"B\0\0\0\x14\0s0\0\0\0\0\x01\0\0\0\x0242\0\0";
    let expected = [&bind[..], b"E\0\0\0\x09\0\0\0\0\0", b"S\0\0\0\x04"].concat();
    assert_eq!(out, expected);
    assert_eq!(out.as_ptr(), memory);
}

#[test]
fn a_reply_without_rows_still_has_the_columns_it_was_prepared_with() {
    let (mut session, id) = prepared(3);
    session.execute(id, [Value::Null].into_iter(), &mut Vec::new()).unwrap();
    let bytes = [message(b'2', b""), message(b'C', b"SELECT 0\0"), ready(b'T')].concat();
    let (reply, _) = done(&mut session, &bytes);
    assert_eq!((reply.columns, reply.rows, reply.class), (3, 0, Some(Class::Read)));
    assert!(session.in_transaction());
}

#[test]
fn a_fatal_error_is_the_last_message() {
    let bytes = error(b"SFATAL\0VFATAL\0C57P01\0Mterminating\0\0");
    for mut session in [asked(), PostgresSession::new(true)] {
        let (reply, consumed) = done(&mut session, &bytes);
        assert_eq!(consumed, bytes.len());
        assert!(reply.error.unwrap().closes);
    }
    let mut idle = PostgresSession::new(true);
    let harmless = error(b"SERROR\0VERROR\0C42601\0Mno\0\0");
    assert!(matches!(idle.feed(&harmless), Err(ProtocolError::Unexpected { .. })));
}

#[test]
fn bytes_that_come_while_idle_stay_at_the_front_of_the_next_reply() {
    let notice = message(b'N', b"SNOTICE\0Mhi\0\0");
    let mut session = PostgresSession::new(true);
    assert!(matches!(session.feed(&notice), Ok(Progress::More)));
    session.query(b"BEGIN", &mut Vec::new()).unwrap();
    let bytes = [notice, message(b'C', b"BEGIN\0"), ready(b'T')].concat();
    assert_eq!(done(&mut session, &bytes).1, bytes.len());
}

#[test]
fn messages_out_of_place_are_named() {
    let check = |mut session: PostgresSession, bytes: Vec<u8>, expected: &str| {
        let error = session.feed(&bytes).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    let place = "while answering statement text";
    check(asked(), message(b'2', b""), &format!("unexpected message `2` {place}"));
    check(asked(), data_row(&[]), &format!("unexpected message `D` {place}"));
    check(asked(), message(b'?', b""), &format!("unexpected message `?` {place}"));
    check(PostgresSession::new(true), ready(b'I'), "unexpected message `Z` while idle");
    check(asked(), message(b'Z', b"x"), "malformed ReadyForQuery");
    check(asked(), b"C\0\x01\0\0".to_vec(), "message of 65536 bytes; the limit is 30000");
    check(
        asked(),
        b"D\xff\xff\xff\xff".to_vec(),
        "message of 4294967295 bytes; the limit is 1073741823",
    );
}

#[test]
fn a_request_too_long_leaves_the_session_as_it_was() {
    let (mut session, id) = prepared(1);
    let values = vec![Value::Null; 70_000];
    let mut out = Vec::new();
    let error = session.execute(id, values.into_iter(), &mut out).unwrap_err();
    assert_eq!(error, ProtocolError::TooLong { found: 70_000, limit: 65_535 });
    assert!(out.is_empty());
    assert!(session.query(b"SELECT 1", &mut out).is_ok());
}

/// One statement of a reply, and what it counts.
fn arbitrary_statement() -> impl Strategy<Value = (Vec<u8>, Tally)> {
    let value = proptest::option::of(proptest::collection::vec(any::<u8>(), 0..20));
    let rows = proptest::collection::vec(proptest::collection::vec(value, 2), 0..5);
    prop_oneof![
        rows.prop_map(|rows| {
            let mut bytes = message(b'T', &[0, 2]);
            for row in &rows {
                let values: Vec<_> = row.iter().map(Option::as_deref).collect();
                bytes.extend(data_row(&values));
            }
            bytes.extend(message(b'C', format!("SELECT {}\0", rows.len()).as_bytes()));
            (bytes, Tally { reads: 1, ..Tally::default() })
        }),
        (0..3u64).prop_map(|rows| {
            let bytes = message(b'C', format!("UPDATE {rows}\0").as_bytes());
            let changed = u32::from(rows > 0);
            (bytes, Tally { writes: changed, other: 1 - changed, reads: 0 })
        }),
        Just((message(b'N', b"SNOTICE\0Mhi\0\0"), Tally::default())),
    ]
}

proptest! {
    #[test]
    fn a_reply_is_the_same_however_it_is_cut(
        statements in proptest::collection::vec(arbitrary_statement(), 0..6),
        cuts in proptest::collection::vec(1..40usize, 1..50),
        discards in any::<bool>(),
    ) {
        let mut bytes = Vec::new();
        let mut tally = Tally::default();
        for (part, counts) in statements {
            bytes.extend(part);
            tally.reads += counts.reads;
            tally.writes += counts.writes;
            tally.other += counts.other;
        }
        bytes.extend(ready(b'I'));
        let (whole, consumed) = done(&mut asked(), &bytes);
        prop_assert_eq!(consumed, bytes.len());
        prop_assert_eq!(whole.tally, tally);
        prop_assert_eq!(whole.more, tally.reads > 1);

        let mut session = asked();
        let (mut dropped, mut end) = (0, 0);
        for cut in cuts.iter().cycle() {
            end = (end + cut).min(bytes.len());
            match session.feed(&bytes[dropped..end]).unwrap() {
                Progress::More => prop_assert!(end < bytes.len()),
                Progress::Wanted { .. } => prop_assert!(false, "nothing is loaded"),
                Progress::Done { reply, consumed } => {
                    prop_assert_eq!(dropped + consumed, bytes.len());
                    prop_assert_eq!(&reply, &whole);
                    break;
                }
            }
            if discards {
                dropped += session.discard_scanned(end - dropped);
            }
        }
        let read = session.row(&bytes, &mut RowCursor::default(), |_| ());
        prop_assert_eq!(read.is_err(), dropped > 0);
    }

    #[test]
    fn rows_read_are_rows_sent(
        rows in proptest::collection::vec(
            proptest::collection::vec(
                proptest::option::of(proptest::collection::vec(any::<u8>(), 0..20)), 3), 0..5),
    ) {
        let mut bytes = message(b'T', &[0, 3]);
        for row in &rows {
            let values: Vec<_> = row.iter().map(Option::as_deref).collect();
            bytes.extend(data_row(&values));
        }
        bytes.extend(message(b'C', format!("SELECT {}\0", rows.len()).as_bytes()));
        bytes.extend(ready(b'I'));
        let mut session = asked();
        prop_assert_eq!(done(&mut session, &bytes).0.rows, rows.len() as u64);
        let mut cursor = RowCursor::default();
        for row in &rows {
            let mut found = Vec::new();
            let column = |value: Option<&[u8]>| found.push(value.map(<[u8]>::to_vec));
            prop_assert!(session.row(&bytes, &mut cursor, column).unwrap());
            prop_assert_eq!(&found, row);
        }
        prop_assert!(!session.row(&bytes, &mut cursor, |_| ()).unwrap());
    }

    /// Invalid bytes lead to an error or a wait, never to a panic or an endless loop; also when
    /// rows are read.
    #[test]
    fn any_bytes_can_be_fed(
        tags in proptest::collection::vec("[123CDEGHIKNRSTZcdnstv]", 0..8),
        bodies in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..12), 8),
        raw in proptest::collection::vec(any::<u8>(), 0..64),
        framed in any::<bool>(),
    ) {
        let framed_bytes = || {
            let messages = tags.iter().zip(&bodies);
            messages.flat_map(|(tag, body)| message(tag.as_bytes()[0], body)).collect()
        };
        let bytes: Vec<u8> = if framed { framed_bytes() } else { raw.clone() };
        let (mut executing, id) = prepared(1);
        executing.execute(id, [Value::Null].into_iter(), &mut Vec::new()).unwrap();
        let mut preparing = PostgresSession::new(true);
        preparing.prepare(b"SELECT 1", &mut Vec::new()).unwrap();
        for mut session in [asked(), executing, preparing, PostgresSession::new(true)] {
            if let Ok(Progress::Done { consumed, .. }) = session.feed(&bytes) {
                prop_assert!(consumed <= bytes.len());
            }
            let mut cursor = RowCursor::default();
            while let Ok(true) = session.row(&bytes, &mut cursor, |_| ()) {}
            let mut cursor = RowCursor::default();
            while let Ok(Some(_)) = session.next_result(&bytes, &mut cursor) {}
        }
    }
}
