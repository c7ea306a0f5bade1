//! What is fuzzed: one function a target, all bytes from a server nobody trusts. They may object to
//! anything, but they come back, ask for no more memory than the protocol lets a packet hold, and
//! say the same however the bytes are cut.
//!
//! Shared by the fuzz project and by `crates/driver/tests/fuzz.rs`, which runs them on stable Rust.

use driver::{Form, Progress, Reply, RowCursor, Session, StatementId, Tally, Value};
use wire_mysql::{Algorithm, Compression, Wishes};

/// Memory one input may ask for at once: one packed packet of MySQL's holds 16 MiB, and the buffer
/// it goes into grows by doubling.
#[allow(dead_code, reason = "whoever runs the targets looks after it")]
pub const ALLOCATION_MAX: usize = 64 << 20;

/// A target and its name.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
#[allow(dead_code, reason = "the fuzz project names them one by one")]
pub const TARGETS: [Target; 10] = [
    ("postgres_handshake", postgres_handshake),
    ("mysql_handshake", mysql_handshake),
    ("postgres_reply", postgres_reply),
    ("mysql_reply", mysql_reply),
    ("mysql_compression", mysql_compression),
    ("resp_reply", resp_reply),
    ("mongodb_reply", mongodb_reply),
    ("mongodb_compression", mongodb_compression),
    ("clickhouse_reply", clickhouse_reply),
    ("clickhouse_compression", clickhouse_compression),
];

/// Messages of a PostgreSQL that shakes hands.
pub fn postgres_handshake(data: &[u8]) {
    use wire_postgres::{Credentials, Handshake, backend};
    let credentials = Credentials { user: "u", password: Some("secret"), database: "d" };
    let mut out = Vec::new();
    let Ok(mut handshake) = Handshake::begin(credentials, &[], &mut out) else { return };
    let mut rest = data;
    while let Ok(Some((tag, body))) = backend::message(rest) {
        out.clear();
        if handshake.step(tag, body, &mut out).is_err() {
            return;
        }
        rest = &rest[backend::HEADER_SIZE + body.len()..];
    }
}

/// Packets of a MySQL that shakes hands; the first byte says what the client wishes for.
pub fn mysql_handshake(data: &[u8]) {
    use wire_mysql::{Credentials, Handshake, Step, backend};
    let Some((&wishes, mut rest)) = data.split_first() else { return };
    let credentials = Credentials { user: "u", password: Some("secret"), database: "d" };
    let compression = [None, Some(Algorithm::Zlib), Some(Algorithm::Zstd)];
    let compression = compression[usize::from(wishes >> 2) % 3];
    let wishing = Wishes { tls: wishes & 1 > 0, compression, public_key: wishes & 8 > 0 };
    let mut handshake = Handshake::new(credentials, wishes & 2 > 0, wishing);
    let mut out = Vec::new();
    while let Some(header) = backend::header(rest) {
        let packet = &rest[backend::HEADER_SIZE..];
        let Some((payload, next)) = packet.split_at_checked(header.size) else { return };
        out.clear();
        match handshake.step(header.sequence, payload, &mut out) {
            Ok(Step::Encrypt) if handshake.encrypted(&mut out).is_err() => return,
            Ok(_) => rest = next,
            Err(_) => return,
        }
    }
}

/// The reply to a request; the first byte says to which, the second where the bytes are cut.
pub fn postgres_reply(data: &[u8]) {
    reply(data, Session::unconnected_postgres);
}

/// The same for MySQL, which ends rows in either of two ways, and for MariaDB, which may leave out
/// what it has said of columns before and loads rows in a way of its own.
pub fn mysql_reply(data: &[u8]) {
    let [newer, mariadb] = [0x80, 0x40].map(|bit| data.first().is_some_and(|byte| byte & bit > 0));
    reply(data, || Session::unconnected_mysql(newer, mariadb));
}

/// What a session said of some bytes: replies or its objection, rows, and how it ended.
fn reply(data: &[u8], session: impl Fn() -> Session) {
    let [request, cut, bytes @ ..] = data else { return };
    let whole = answers(session(), *request, &[bytes]);
    let cut = usize::from(*cut).min(bytes.len());
    let pieces = [&bytes[..cut], &bytes[cut..]];
    let cut = answers(session(), *request, &pieces);
    assert_eq!(whole, cut, "the same, however the bytes are cut");
}

fn answers(mut session: Session, request: u8, pieces: &[&[u8]]) -> Vec<String> {
    let mut out = Vec::new();
    session.pipelined(request & 4 > 0);
    let sent = match request & 3 {
        0 => session.query(b"SELECT 1", &mut out).err(),
        1 => session.load(b"INSERT INTO t(a) VALUES (1)", &[Form::Text], &mut out).err(),
        2 => session.prepare(b"SELECT ?", &mut out).err(),
        _ => None,
    };
    assert!(sent.is_none(), "{sent:?}");
    if request & 4 > 0 && request & 3 == 0 {
        let second = session.query(b"SELECT 2", &mut out);
        assert!(second.is_ok(), "behind the first one");
    }
    let read_rows = |session: &mut Session, reply: &Reply, bytes: &[u8], said: &mut Vec<String>| {
        read(session, bytes, said);
        if request & 3 == 2 && reply.error.is_none() {
            let sent = session.execute(StatementId(0), [Value::Int(1)].into_iter(), &mut out);
            said.push(sent.is_ok().to_string());
        }
    };
    replies(&mut session, pieces, read_rows)
}

/// Feeds a session these pieces, one after the other: every reply and what `read` says of it, or
/// the error that ends it.
fn replies(
    session: &mut Session,
    pieces: &[&[u8]],
    mut read: impl FnMut(&mut Session, &Reply, &[u8], &mut Vec<String>),
) -> Vec<String> {
    let (mut said, mut rows, mut buffer) = (Vec::new(), Vec::new(), Vec::new());
    for piece in pieces {
        buffer.extend_from_slice(piece);
        // A reply ends within the bytes there are, so this does too.
        loop {
            let consumed = match session.feed(&buffer) {
                Err(error) => {
                    said.push(error.to_string());
                    return said;
                }
                Ok(Progress::More) => break,
                Ok(Progress::Wanted { consumed }) => {
                    session.send_rows(&mut rows);
                    consumed
                }
                Ok(Progress::Done { reply, consumed }) => {
                    said.push(format!("{reply:?}"));
                    read(session, &reply, &buffer[..consumed], &mut said);
                    consumed
                }
            };
            buffer.drain(..consumed);
            if consumed == 0 {
                break;
            }
        }
    }
    said
}

/// All rows of all result sets of a reply.
fn read(session: &mut Session, reply: &[u8], said: &mut Vec<String>) {
    let mut cursor = RowCursor::default();
    loop {
        let (mut columns, mut size) = (0, 0);
        loop {
            let row = session.row(reply, &mut cursor, |value| {
                columns += 1;
                size += value.map_or(0, <[u8]>::len);
            });
            match row {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return said.push(error.to_string()),
            }
        }
        said.push(format!("{columns} values of {size} bytes"));
        match session.next_result(reply, &mut cursor) {
            Ok(Some(next)) => said.push(format!("{next:?}")),
            Ok(None) => return,
            Err(error) => return said.push(error.to_string()),
        }
    }
}

/// Replies of a ClickHouse: the first byte says to what, the second where the bytes are cut.
pub fn clickhouse_reply(data: &[u8]) {
    let [request, cut, bytes @ ..] = data else { return };
    let whole = answers_to_queries(*request, &[bytes]);
    let (first, second) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    let cut = answers_to_queries(*request, &[first, second]);
    assert_eq!(whole, cut, "the same, however the bytes are cut");
}

/// As `answers`, to one query or to none.
fn answers_to_queries(request: u8, pieces: &[&[u8]]) -> Vec<String> {
    let mut out = Vec::new();
    let mut session = Session::unconnected_clickhouse();
    let sent = match request & 3 {
        0 => session.query(b"SELECT 1", &mut out).err(),
        1 => session.query(b"INSERT INTO t(a, b) VALUES (1, 'a'), (2, NULL)", &mut out).err(),
        2 => session.query(b"INSERT INTO t SELECT 1", &mut out).err(),
        _ => None,
    };
    assert!(sent.is_none(), "{sent:?}");
    replies(&mut session, pieces, |session, _, bytes, said| read(session, bytes, said))
}

/// Replies of a Valkey or Redis; the first byte says to which commands, the second where the bytes
/// are cut.
pub fn resp_reply(data: &[u8]) {
    let [commands, cut, bytes @ ..] = data else { return };
    let whole = answers_to_commands(*commands, &[bytes]);
    let (first, second) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    let cut = answers_to_commands(*commands, &[first, second]);
    assert_eq!(whole, cut, "the same, however the bytes are cut");
    let one_by_one = counted(*commands, bytes, false);
    assert_eq!(counted(*commands, bytes, true), one_by_one, "the same, if passed together");
}

/// Statements in the replies to commands, errors among them, and what ended them.
fn counted(commands: u8, bytes: &[u8], passing: bool) -> (Tally, u32, Option<String>) {
    let mut session = asked(commands);
    let (mut tally, mut errors, mut at) = (Tally::default(), 0, 0);
    loop {
        if passing {
            at += session.pass_plain(&bytes[at..], &mut tally);
        }
        match session.feed(&bytes[at..]) {
            Ok(Progress::Done { reply, consumed }) if consumed > 0 => {
                at += consumed;
                errors += u32::from(reply.error.is_some());
                tally.reads += reply.tally.reads;
                tally.writes += reply.tally.writes;
                tally.other += reply.tally.other;
            }
            Ok(_) => return (tally, errors, None),
            Err(error) => return (tally, errors, Some(error.to_string())),
        }
    }
}

/// As `answers`, to commands.
fn answers_to_commands(commands: u8, pieces: &[&[u8]]) -> Vec<String> {
    let read = |session: &mut Session, _: &Reply, bytes: &[u8], said: &mut Vec<String>| {
        read_values(session, bytes, said);
    };
    replies(&mut asked(commands), pieces, read)
}

/// A session with commands under way.
fn asked(commands: u8) -> Session {
    let mut out = Vec::new();
    let mut session = Session::unconnected_redis();
    session.pipelined(true);
    let names: &[&[u8]] = match commands & 3 {
        0 => &[],
        1 => &[b"GET"],
        2 => &[b"MULTI", b"SET", b"GET", b"EXEC", b"GET"],
        _ => &[b"GET", b"SET", b"PING", b"GET"],
    };
    for name in names {
        let sent = session.command([Value::Bytes(name)].into_iter(), &mut out);
        assert!(sent.is_ok(), "{sent:?}");
    }
    session
}

/// All values of a reply to a command.
fn read_values(session: &Session, reply: &[u8], said: &mut Vec<String>) {
    let mut cursor = RowCursor::default();
    loop {
        match session.item(reply, &mut cursor) {
            Ok(Some(item)) => said.push(format!("{item:?}")),
            Ok(None) => return,
            Err(error) => return said.push(error.to_string()),
        }
    }
}

/// Answers of a MongoDB: their heads, and every value in them.
pub fn mongodb_reply(data: &[u8]) {
    let [cut, bytes @ ..] = data else { return };
    let whole = answers_to_documents(&[bytes]);
    let (first, second) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    let cut = answers_to_documents(&[first, second]);
    assert_eq!(whole, cut, "the same, however the bytes are cut");
}

/// As `answers`, to two commands of documents, one after the other.
fn answers_to_documents(pieces: &[&[u8]]) -> Vec<String> {
    let mut out = Vec::new();
    let mut session = Session::unconnected_mongodb();
    let find = b"\x0f\0\0\0\x10find\0\x01\0\0\0\0";
    assert!(session.document(find, None, &mut out).is_ok());
    replies(&mut session, pieces, |session, _, bytes, said| {
        if let Ok(Some(document)) = session.answer(bytes) {
            read_document(document, 0, said);
        }
        assert!(session.document(find, None, &mut out).is_ok());
    })
}

/// All values of a document, and of those within it.
fn read_document(document: &[u8], depth: u32, said: &mut Vec<String>) {
    use driver::bson::{DEPTH_MAX, Value, elements};
    let elements = match elements(document) {
        Ok(elements) => elements,
        Err(error) => return said.push(error.to_string()),
    };
    for element in elements {
        said.push(format!("{element:?}"));
        if let Ok(Value::Document(inside) | Value::Array(inside)) =
            element.map(|element| element.value)
            && depth < DEPTH_MAX
        {
            read_document(inside, depth + 1, said);
        }
    }
}

/// Packed packets; the first byte says by what, the second where the bytes are cut.
pub fn mysql_compression(data: &[u8]) {
    let [algorithm, cut, bytes @ ..] = data else { return };
    let algorithm = if algorithm & 1 > 0 { Algorithm::Zstd } else { Algorithm::Zlib };
    let (mut whole, mut plain) = (Compression::new(algorithm), Vec::new());
    let unpacked = whole.unpack(bytes, &mut plain);
    let (mut cut_up, mut same) = (Compression::new(algorithm), Vec::new());
    let (first, second) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    let mut cut = cut_up.unpack(first, &mut same);
    if cut.is_ok() {
        cut = cut_up.unpack(second, &mut same);
    }
    assert_eq!(unpacked.is_ok(), cut.is_ok());
    assert!(unpacked.is_err() || plain == same, "the same, however the bytes are cut");
}

/// Compressed blocks of a ClickHouse; the first byte says how the rest is to be taken, the second
/// where the bytes are cut: as received, or as a block's content in frames whose checksums fit.
pub fn clickhouse_compression(data: &[u8]) {
    use wire_clickhouse::{Compression, Method, frame};
    let [how, cut, rest @ ..] = data else { return };
    let method = if how & 1 > 0 { Method::Zstd } else { Method::Lz4 };
    let mut framed = vec![1, 0];
    rest.chunks(1 + usize::from(*cut)).for_each(|part| frame(method, part, &mut framed));
    let bytes = if how & 2 > 0 { &framed } else { rest };
    let (mut whole, mut plain) = (Compression::new(method), Vec::new());
    let unpacked = whole.unpack(bytes, &mut plain);
    let (mut cut_up, mut same) = (Compression::new(method), Vec::new());
    let (first, second) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    let cut = cut_up.unpack(first, &mut same).and_then(|()| cut_up.unpack(second, &mut same));
    assert_eq!(unpacked.is_ok(), cut.is_ok());
    assert!(unpacked.is_err() || plain == same, "the same, however the bytes are cut");
}

/// Packed messages; the first byte says by what, the second where the bytes are cut.
pub fn mongodb_compression(data: &[u8]) {
    use wire_mongodb::{Algorithm, Compression};
    let [algorithm, cut, bytes @ ..] = data else { return };
    let algorithms = [Algorithm::Snappy, Algorithm::Zlib, Algorithm::Zstd];
    let algorithm = algorithms[usize::from(*algorithm) % 3];
    let (mut whole, mut plain) = (Compression::new(algorithm), Vec::new());
    let unpacked = whole.unpack(bytes, &mut plain);
    let (mut cut_up, mut same) = (Compression::new(algorithm), Vec::new());
    let (first, second) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    let cut = cut_up.unpack(first, &mut same).and_then(|()| cut_up.unpack(second, &mut same));
    assert_eq!(unpacked, cut);
    assert!(unpacked.is_err() || plain == same, "the same, however the bytes are cut");
    if unpacked.is_ok() {
        let (mut packed, mut again) = (Vec::new(), Vec::new());
        let mut packing = Compression::new(algorithm);
        packing.pack(&plain, &mut packed);
        assert_eq!(packing.unpack(&packed, &mut again), Ok(()));
        assert!(again == plain, "packed and unpacked again");
    }
}
