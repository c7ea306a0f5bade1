//! Hand-written replies of servers that do and do not deprecate EOF, cut anywhere.

use proptest::prelude::*;

use super::*;
use crate::reply::{Class, Tally};

const OK: &[u8] = b"\0\0\0\x02\0\0\0";
const DEFINITION: &[u8] = b"\x03def\0\x01t\x01t\x01a\x01a\x0c\x3f\0\x0b\0\0\0\xfd\0\0\0\0\0";

const MYSQL: Agreed = Agreed {
    deprecates_eof: true,
    caches_metadata: false,
    bulk_executes: false,
    loads: true,
    status: 2,
    compression: None,
};

/// A packet from the server.
pub(in crate::mysql) fn packet(payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes().to_vec();
    bytes[3] = 1;
    bytes.extend_from_slice(payload);
    bytes
}

/// The end of rows, or of definitions, with these flags.
pub(in crate::mysql) fn end(deprecates_eof: bool, status: u8) -> Vec<u8> {
    if deprecates_eof {
        packet(&[0xfe, 0, 0, status, 0, 0, 0])
    } else {
        packet(&[0xfe, 0, 0, status, 0])
    }
}

/// A text result set of one column.
fn result_set(deprecates_eof: bool, rows: &[Option<Vec<u8>>], status: u8) -> Vec<u8> {
    let mut bytes = [packet(b"\x01"), packet(DEFINITION)].concat();
    if !deprecates_eof {
        bytes.extend(end(false, status));
    }
    for row in rows {
        match row {
            None => bytes.extend(packet(b"\xfb")),
            Some(value) => bytes.extend(packet(&[&[value.len() as u8], &value[..]].concat())),
        }
    }
    bytes.extend(end(deprecates_eof, status));
    bytes
}

fn idle_session(deprecates_eof: bool) -> MysqlSession {
    agreed_session(deprecates_eof, false)
}

pub(in crate::mysql) fn agreed_session(
    deprecates_eof: bool,
    caches_metadata: bool,
) -> MysqlSession {
    MysqlSession::new(true, Agreed { deprecates_eof, caches_metadata, ..MYSQL })
}

/// A session that waits for the reply to a query.
fn asked(deprecates_eof: bool) -> MysqlSession {
    let mut session = idle_session(deprecates_eof);
    session.query(b"SELECT 1", &mut Vec::new()).unwrap();
    session
}

pub(in crate::mysql) fn done(session: &mut MysqlSession, bytes: &[u8]) -> (Reply, usize) {
    match session.feed(bytes) {
        Ok(Progress::Done { reply, consumed }) => (reply, consumed),
        other => panic!("{other:?}"),
    }
}

#[test]
fn preparing_reads_past_all_definitions() {
    for deprecates_eof in [true, false] {
        for (values, columns) in [(0, 0), (2, 0), (0, 1), (2, 3)] {
            let mut session = idle_session(deprecates_eof);
            let (id, _) = session.prepare(b"SELECT ?", &mut Vec::new()).unwrap();
            let mut bytes = packet(&[0, 7, 0, 0, 0, columns, 0, values, 0, 0, 0, 0]);
            for count in [values, columns] {
                bytes.extend((0..count).flat_map(|_| packet(DEFINITION)));
                if count > 0 && !deprecates_eof {
                    bytes.extend(end(false, 2));
                }
            }
            assert_eq!(done(&mut session, &bytes), (Reply::default(), bytes.len()));
            let mut out = Vec::new();
            let given = vec![Value::Null; usize::from(values)];
            session.execute(id, given.into_iter(), &mut out).unwrap();
            assert_eq!(&out[4..9], b"\x17\x07\0\0\0");
        }
    }
}

#[test]
fn closing_goes_before_the_next_command() {
    let mut session = idle_session(true);
    let (id, _) = session.prepare(b"DO 1", &mut Vec::new()).unwrap();
    let bytes = packet(&[0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    done(&mut session, &bytes);
    assert!(matches!(session.close_statement(id), Ok(Sent::Done(_))));
    let mut out = Vec::new();
    session.query(b"DO 2", &mut out).unwrap();
    assert_eq!(out, b"\x05\0\0\0\x19\x09\0\0\0\x05\0\0\0\x03DO 2");
}

#[test]
fn a_farewell_may_come_while_idle() {
    let mut session = idle_session(true);
    let (reply, _) = done(&mut session, &packet(b"\xff\x87\x07#70100Connection was killed"));
    assert!(reply.error.unwrap().closes);
    let mut session = idle_session(true);
    assert!(session.feed(&packet(b"\xff\x28\x04#42000no")).is_err());
    assert!(session.feed(&packet(OK)).is_err());
}

#[test]
fn a_wish_for_a_file_is_refused() {
    let error = asked(true).feed(&packet(b"\xfb/etc/passwd")).unwrap_err();
    assert_eq!(error.to_string(), "unexpected message `û` while answering a statement");
}

/// A preparation's last packet says nothing and is skipped, but must have arrived.
#[test]
fn a_preparation_is_answered_when_all_of_the_answer_is_there() {
    let mut session = idle_session(false);
    session.prepare(b"SELECT ?", &mut Vec::new()).unwrap();
    let mut bytes = packet(b"\0\x01\0\0\0\0\0\x01\0\0\0\0");
    bytes.extend(packet(b"\x03def a definition"));
    bytes.extend(packet(b"\xfe\0\0\x02\0"));
    for size in 0..bytes.len() {
        let progress = session.feed(&bytes[..size]).unwrap();
        assert!(matches!(progress, Progress::More), "{size} of {}: {progress:?}", bytes.len());
    }
    assert_eq!(done(&mut session, &bytes).1, bytes.len());
}

#[test]
fn an_error_among_the_rows_ends_the_reply() {
    for deprecates_eof in [true, false] {
        let mut session = asked(deprecates_eof);
        let mut bytes = result_set(deprecates_eof, &[Some(b"a".to_vec())], 2);
        bytes.truncate(bytes.len() - end(deprecates_eof, 2).len());
        bytes.extend(packet(b"\xff\xbd\x04#40001Deadlock found"));
        let (reply, consumed) = done(&mut session, &bytes);
        assert_eq!((reply.rows, reply.tally, consumed), (1, Tally::default(), bytes.len()));
        assert!(reply.error.unwrap().transient);
    }
}

proptest! {
    #[test]
    fn a_reply_is_the_same_however_it_is_cut(
        sets in prop::collection::vec(
            prop::option::of(prop::collection::vec(
                prop::option::of(prop::collection::vec(any::<u8>(), 0..30)), 0..5)), 1..4),
        deprecates_eof in any::<bool>(),
        cuts in prop::collection::vec(1..40usize, 1..50),
        discards in any::<bool>(),
    ) {
        let mut bytes = Vec::new();
        let mut tally = Tally::default();
        for (index, set) in sets.iter().enumerate() {
            let status = if index + 1 < sets.len() { 2 | 8 } else { 2 };
            match set {
                Some(rows) => {
                    bytes.extend(result_set(deprecates_eof, rows, status));
                    tally.count(Class::Read);
                }
                None => {
                    bytes.extend(packet(&[0, 1, 0, status, 0, 0, 0]));
                    tally.count(Class::Write);
                }
            }
        }
        let mut session = asked(deprecates_eof);
        let (whole, consumed) = done(&mut session, &bytes);
        prop_assert_eq!((consumed, whole.tally, whole.more), (bytes.len(), tally, tally.reads > 1));

        let mut cursor = RowCursor::default();
        for (index, rows) in sets.iter().flatten().enumerate() {
            if index > 0 {
                let next = session.next_result(&bytes, &mut cursor).unwrap().unwrap();
                prop_assert_eq!(next.rows, rows.len() as u64);
            }
            for row in rows {
                let mut found = None;
                let take = |value: Option<&[u8]>| found = value.map(<[u8]>::to_vec);
                prop_assert!(session.row(&bytes, &mut cursor, take).unwrap());
                prop_assert_eq!(&found, row);
            }
            prop_assert!(!session.row(&bytes, &mut cursor, |_| ()).unwrap());
        }
        prop_assert_eq!(session.next_result(&bytes, &mut cursor).unwrap(), None);

        let mut session = asked(deprecates_eof);
        let (mut dropped, mut end) = (0, 0);
        for cut in cuts.iter().cycle() {
            end = (end + cut).min(bytes.len());
            match session.feed(&bytes[dropped..end]).unwrap() {
                Progress::More => prop_assert!(end < bytes.len()),
                Progress::Wanted { .. } => prop_assert!(false, "nothing is loaded"),
                Progress::Done { reply, consumed } => {
                    prop_assert_eq!((dropped + consumed, reply), (bytes.len(), whole));
                    break;
                }
            }
            if discards {
                dropped += session.discard_scanned(end - dropped);
            }
        }
    }

    /// Invalid bytes lead to an error or a wait, never to a panic or an endless loop; also when
    /// rows are read.
    #[test]
    fn any_bytes_can_be_fed(
        payloads in prop::collection::vec(
            (prop::sample::select(&[0u8, 1, 2, 0xfb, 0xfe, 0xff][..]),
             prop::collection::vec(any::<u8>(), 0..14)), 0..8),
        raw in prop::collection::vec(any::<u8>(), 0..64),
        framed in any::<bool>(),
        deprecates_eof in any::<bool>(),
        caches_metadata in any::<bool>(),
    ) {
        let bytes: Vec<u8> = if framed {
            let whole = payloads.iter().map(|(first, rest)| [&[*first], &rest[..]].concat());
            whole.flat_map(|payload| packet(&payload)).collect()
        } else {
            raw
        };
        let idle_session = |deprecates_eof| agreed_session(deprecates_eof, caches_metadata);
        let asked = |deprecates_eof| {
            let mut session = idle_session(deprecates_eof);
            session.query(b"SELECT 1", &mut Vec::new()).unwrap();
            session
        };
        let mut preparing = idle_session(deprecates_eof);
        preparing.prepare(b"SELECT 1", &mut Vec::new()).unwrap();
        let mut executing = idle_session(deprecates_eof);
        let (id, _) = executing.prepare(b"DO 1", &mut Vec::new()).unwrap();
        done(&mut executing, &packet(&[0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
        executing.execute(id, [].into_iter(), &mut Vec::new()).unwrap();
        let idle = idle_session(deprecates_eof);
        for mut session in [asked(deprecates_eof), preparing, executing, idle] {
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

const INSERT: &[u8] = b"INSERT INTO t(a) VALUES (1), (2)";

/// A session whose rows have been asked for.
fn loading() -> MysqlSession {
    let mut session = idle_session(true);
    assert!(matches!(session.load(INSERT, &[], &mut Vec::new()), Ok(Some(Sent::Waiting))));
    let asked = packet(b"\xfbrows");
    let Ok(Progress::Wanted { consumed }) = session.feed(&asked) else { panic!() };
    assert_eq!(consumed, asked.len());
    session
}

#[test]
fn rows_are_sent_when_they_are_asked_for() {
    let mut session = loading();
    let mut out = Vec::new();
    session.send_rows(&mut out);
    assert_eq!(out, b"\x04\0\0\x021\n2\n\0\0\0\x03");
    let (level, rows) = (b"\x04Note\x041265\x01n", b"\0\x02\0\x0a\0\0\0");
    let mut reply = [packet(rows), packet(b"\x03")].concat();
    (0..3).for_each(|_| reply.extend(packet(DEFINITION)));
    reply.extend([packet(level), end(true, 2)].concat());
    let (reply, _) = done(&mut session, &reply);
    assert_eq!(reply.tally, Tally { writes: 1, ..Tally::default() });
    assert_eq!((reply.affected, reply.columns, reply.error), (2, 0, None));
    assert!(!session.refused_load());
}

#[test]
fn a_load_that_is_not_whole_is_an_error() {
    let (reply, _) = done(&mut loading(), &packet(b"\0\x01\0\x02\0\0\0"));
    assert_eq!(reply.error.unwrap().message, "of 2 rows sent in bulk the server stored 1");
    let mut reply = [packet(b"\0\x01\0\x0a\0\x01\0"), packet(b"\x03")].concat();
    (0..3).for_each(|_| reply.extend(packet(DEFINITION)));
    reply.extend([packet(b"\x07Warning\x041062\x09Duplicate"), end(true, 2)].concat());
    let error = done(&mut loading(), &reply).0.error.unwrap();
    assert_eq!((error.number, error.message.as_str()), (1062, "Duplicate"));
}

#[test]
fn a_refused_load_can_still_be_an_insert() {
    let mut session = idle_session(true);
    session.load(INSERT, &[], &mut Vec::new()).unwrap();
    let (reply, _) = done(&mut session, &packet(b"\xff\x56\x10#42000no"));
    assert_eq!(reply.error.unwrap().number, 4182);
    assert!(session.refused_load() && !session.refused_load());
    // Without the capability nothing is tried, and no file is sent that wasn't offered.
    let mut session = MysqlSession::new(true, Agreed { loads: false, ..MYSQL });
    assert!(session.load(INSERT, &[], &mut Vec::new()).unwrap().is_none());
    session.query(b"SELECT 1", &mut Vec::new()).unwrap();
    assert!(session.feed(&packet(b"\xfb/etc/passwd")).is_err());
}

/// An INSERT is prepared once, then executed with the rows of each batch.
#[test]
fn a_batch_is_executed_once_its_insert_is_prepared() {
    for deprecates_eof in [true, false] {
        let agreed = Agreed { bulk_executes: true, loads: false, deprecates_eof, ..MYSQL };
        let mut session = MysqlSession::new(true, agreed);
        let mut out = Vec::new();
        assert!(session.load(INSERT, &[], &mut out).unwrap().is_none(), "columns of any kind");
        assert!(matches!(session.load(INSERT, &[Form::Text], &mut out), Ok(Some(Sent::Waiting))));
        assert_eq!(&out[4..], b"\x16INSERT INTO t(a) VALUES (?)");
        let mut prepared = packet(&[0, 9, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
        prepared.extend(packet(DEFINITION));
        if !deprecates_eof {
            prepared.extend(end(false, 2));
        }
        let Ok(Progress::More) = session.feed(&prepared[..prepared.len() - 1]) else { panic!() };
        let Ok(Progress::Wanted { consumed }) = session.feed(&prepared) else { panic!() };
        assert_eq!(consumed, prepared.len());
        out.clear();
        session.send_rows(&mut out);
        let first = out.clone();
        assert_eq!(first[4..9], [0xfa, 9, 0, 0, 0]);
        let (reply, _) = done(&mut session, &packet(b"\0\x02\0\x02\0\0\0"));
        assert_eq!((reply.tally.writes, reply.affected, reply.error), (1, 2, None));
        out.clear();
        session.load(INSERT, &[Form::Text], &mut out).unwrap();
        assert_eq!(out, first, "it is prepared already");
        let (reply, _) = done(&mut session, &packet(b"\0\x01\0\x02\0\0\0"));
        assert_eq!(reply.error.unwrap().message, "of 2 rows sent in bulk the server stored 1");
        out.clear();
        session.load(b"INSERT INTO u(a) VALUES (1)", &[Form::Text], &mut out).unwrap();
        assert_eq!(&out[..9], b"\x05\0\0\0\x19\x09\0\0\0", "the other one is closed");
        let (reply, _) = done(&mut session, &packet(b"\xff\x0e\x05#HY000not this one"));
        assert!(reply.error.is_some() && session.refused_load());
        assert!(matches!(session.load(INSERT, &[Form::Text], &mut out), Ok(Some(Sent::Waiting))));
    }
}
