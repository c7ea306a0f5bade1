//! The data plane allocates nothing, and a peer can't make it allocate.

#![expect(clippy::unwrap_used, reason = "a test's helper fails the test")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use driver::{Progress, RowCursor, Sent, Session, StatementId, Value, connect};
use proptest::test_runner::{Config, TestRunner};
use record::{Endpoint, ServerTarget, SqliteTarget, Target, Tls};

struct Counting;

thread_local! {
    /// Bytes this thread has asked for.
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: passes on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get() + layout.size());
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes allocated while `work` is done.
fn allocated(work: impl FnOnce()) -> usize {
    let before = ALLOCATED.get();
    work();
    ALLOCATED.get() - before
}

/// A session that a peer let in without a question, and that peer's part in it is over.
fn session() -> Session {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let peer = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]).unwrap();
        stream.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").unwrap();
    });
    let target = Target::Postgresql(ServerTarget {
        endpoints: vec![Endpoint::Tcp { host: "127.0.0.1".into(), port }],
        user: "u".into(),
        password: None,
        database: "d".into(),
        prepared_statements: true,
        tls: Tls::default(),
        compression: None,
        asks_for_public_key: false,
        session: Vec::new(),
    });
    let connected = connect(&target, 0, Duration::from_secs(60)).unwrap();
    peer.join().unwrap();
    connected.session
}

fn prepare(session: &mut Session) -> StatementId {
    let (id, _) = session.prepare(b"SELECT c FROM t WHERE id = ?", &mut Vec::new()).unwrap();
    let reply = b"1\0\0\0\x04t\0\0\0\x0a\0\x01\0\0\0\x17T\0\0\0\x06\0\x01Z\0\0\0\x05I";
    assert!(matches!(session.feed(reply), Ok(Progress::Done { .. })));
    id
}

#[test]
fn executing_a_prepared_statement_allocates_nothing() {
    let mut session = session();
    let id = prepare(&mut session);
    let mut out = Vec::with_capacity(256);
    let answer = b"2\0\0\0\x04D\0\0\0\x0b\0\x01\0\0\0\x01xC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
    let bytes = allocated(|| {
        for number in 0..100 {
            out.clear();
            let values = [Value::Int(number << 32)];
            session.execute(id, values.into_iter(), &mut out).unwrap();
            assert!(matches!(session.feed(&answer[..20]), Ok(Progress::More)));
            let Ok(Progress::Done { reply, consumed }) = session.feed(answer) else { panic!() };
            assert_eq!((reply.rows, consumed), (1, answer.len()));
            let mut found = 0;
            let mut cursor = RowCursor::default();
            session.row(answer, &mut cursor, |value| found += value.unwrap().len()).unwrap();
            assert_eq!(found, 1);
        }
    });
    assert_eq!(bytes, 0);
}

#[test]
fn commands_and_their_replies_allocate_nothing_once_warm() {
    let mut session = Session::unconnected_redis();
    let mut out = Vec::with_capacity(256);
    let mut round = |session: &mut Session| {
        for (name, answer) in [
            (&b"GET"[..], &b"$5\r\nhello\r\n"[..]),
            (b"HGETALL", b"%1\r\n$1\r\na\r\n:1\r\n"),
            (b"MULTI", b"+OK\r\n"),
            (b"SET", b"+QUEUED\r\n"),
            (b"EXEC", b"*1\r\n+OK\r\n"),
        ] {
            out.clear();
            let words =
                [Value::Bytes(name), Value::Bytes(b"key"), Value::Int(7), Value::Double(0.5)];
            session.command(words.into_iter(), &mut out).unwrap();
            assert!(matches!(session.feed(&answer[..3]), Ok(Progress::More)));
            let Ok(Progress::Done { reply, .. }) = session.feed(answer) else { panic!() };
            assert!(reply.error.is_none());
            let mut cursor = RowCursor::default();
            while session.item(answer, &mut cursor).unwrap().is_some() {}
        }
    };
    round(&mut session);
    assert_eq!(allocated(|| (0..100).for_each(|_| round(&mut session))), 0);
}

#[test]
fn documents_and_their_answers_allocate_nothing_once_warm() {
    use driver::bson;
    let mut session = Session::unconnected_mongodb();
    let (mut out, mut command, mut answer) = (Vec::new(), Vec::new(), Vec::new());
    let mut request = 0i32;
    let mut round = |session: &mut Session| {
        for buffer in [&mut out, &mut command, &mut answer] {
            buffer.clear();
        }
        let whole = bson::begin(&mut command);
        bson::text(b"find", b"c", &mut command);
        bson::head(bson::kind::DOCUMENT, b"filter", &mut command);
        let filter = bson::begin(&mut command);
        bson::number(b"_id", f64::from(request), &mut command);
        bson::end(filter, &mut command);
        bson::end(whole, &mut command);
        assert!(matches!(session.document(&command, None, &mut out), Ok(Sent::Waiting)));
        request += 1;
        // The head of an OP_MSG that answers it, and `{"ok": 1}`.
        for field in [21 + 13, 0, request, 2013, 0] {
            answer.extend_from_slice(&field.to_le_bytes());
        }
        answer.push(0);
        let whole = bson::begin(&mut answer);
        bson::number(b"ok", 1.0, &mut answer);
        bson::end(whole, &mut answer);
        match session.feed(&answer) {
            Ok(Progress::Done { reply, consumed }) => {
                assert_eq!((consumed, reply.columns), (answer.len(), 1));
                let read = session.answer(&answer).ok().flatten();
                assert!(read.is_some_and(|read| bson::answer(read).is_ok_and(|read| read.ok)));
            }
            other => panic!("{other:?}"),
        }
    };
    round(&mut session);
    assert_eq!(allocated(|| (0..100).for_each(|_| round(&mut session))), 0);
}

#[test]
fn sqlite_keeps_rows_without_allocating_once_it_is_warm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let target = Target::Sqlite(SqliteTarget { path, pragmas: vec![], busy_timeout_ms: 0 });
    let mut session = connect(&target, 0, Duration::from_secs(60)).unwrap().session;
    let mut out = Vec::new();
    let text = b"CREATE TABLE t (id INTEGER PRIMARY KEY, c TEXT); INSERT INTO t VALUES (1, 'x')";
    session.query(text, &mut out).unwrap();
    let (id, _) = session.prepare(b"SELECT id, c FROM t WHERE id = ?", &mut out).unwrap();
    let mut execute = || {
        session.execute(id, [Value::Int(1)].into_iter(), &mut out).unwrap();
        assert!(session.row(&[], &mut RowCursor::default(), |_| ()).unwrap());
    };
    execute();
    assert_eq!(allocated(|| (0..100).for_each(|_| execute())), 0);
}

/// Whatever length a peer claims, only the bytes it has sent take memory.
#[test]
fn nonsense_costs_no_more_memory_than_its_own_size() {
    let config = Config { failure_persistence: None, cases: 512, ..Config::default() };
    let tag = proptest::sample::select(b"123CDEGHIKNRSTZcdnstv".as_slice());
    let body = proptest::collection::vec(proptest::num::u8::ANY, 0..512);
    let framed = proptest::bool::ANY;
    let outcome = TestRunner::new(config).run(&(tag, body, framed), |(tag, body, framed)| {
        let mut bytes = vec![tag];
        if framed {
            bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        }
        bytes.extend_from_slice(&body);
        let mut session = session();
        session.query(b"SELECT 1", &mut Vec::new()).unwrap();
        let used = allocated(|| drop(session.feed(&bytes)));
        assert!(used <= 4 * bytes.len() + 256, "{used} bytes for {}", bytes.len());
        Ok(())
    });
    outcome.unwrap();
}

/// A query's way out and its reply's way in, in two pieces, through ClickHouse's compression.
#[test]
fn compressed_blocks_are_unpacked_without_allocating() {
    use wire_clickhouse::{Compression, Method, frame, frontend};
    let (mut request, mut block, mut reply) = (Vec::new(), Vec::new(), vec![1, 0]);
    frontend::query_with(|out| out.extend_from_slice(b"SELECT c FROM t"), &mut request);
    frontend::block(1, 100, &mut block);
    frontend::column(b"c", b"Nullable(UInt64)", &mut block);
    block.resize(block.len() + 900, 7);
    for method in [Method::Lz4, Method::Zstd] {
        reply.truncate(2);
        // The block's tag and name are in the reply already.
        block[2..].chunks(300).for_each(|part| frame(method, part, &mut reply));
        reply.push(5);
        let mut compression = Compression::new(method);
        let (mut out, mut plain) = (Vec::new(), Vec::new());
        let mut once = || {
            out.clear();
            plain.clear();
            compression.pack(&request, &mut out);
            let (first, second) = reply.split_at(reply.len() / 2);
            compression.unpack(first, &mut plain).unwrap();
            compression.unpack(second, &mut plain).unwrap();
            assert_eq!(plain.len(), block.len() + 1);
        };
        once();
        once();
        assert_eq!(allocated(once), 0, "{method:?}");
    }
}
