//! Compressed messages against a peer that sends what pymongo's own compression made: no server of
//! the tests' own compresses.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use driver::ConnectError;
use record::{Endpoint, ServerTarget, Target, Tls, TlsMode};
use wire_mongodb::message::{HEADER_SIZE, message};
use wire_mongodb::{Algorithm, Compression, writer};

use crate::client::Client;

/// `{"cursor": {"firstBatch": [{"_id": 1, "a": "b" * 300}], "id": 0, "ns": "d.c"}, "ok": 1}` by
/// pymongo 4.20's `message._op_msg` and `_compress`.
const FOUND: [(&str, &[u8]); 3] = [
    ("snappy", include_bytes!("../../../wire-mongodb/tests/pymongo/found.snappy.msg")),
    ("zlib", include_bytes!("../../../wire-mongodb/tests/pymongo/found.zlib.msg")),
    ("zstd", include_bytes!("../../../wire-mongodb/tests/pymongo/found.zstd.msg")),
];

fn received(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_SIZE];
    stream.read_exact(&mut bytes).unwrap();
    let size = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
    bytes.resize(size, 0);
    stream.read_exact(&mut bytes[HEADER_SIZE..]).unwrap();
    bytes
}

/// The bytes of an answer, now to this request.
fn answering(bytes: &[u8], request: &[u8]) -> Vec<u8> {
    let mut answer = bytes.to_vec();
    answer[8..12].copy_from_slice(&request[4..8]);
    answer
}

/// `{"ok": 1, "maxWireVersion": 21, "compression": [offered]}`, as a plain answer.
fn greeting(offered: &str) -> Vec<u8> {
    let (mut document, mut out) = (Vec::new(), Vec::new());
    let whole = writer::begin(&mut document);
    writer::number(b"ok", 1.0, &mut document);
    writer::number(b"maxWireVersion", 21.0, &mut document);
    writer::head(wire_mongodb::bson::kind::ARRAY, b"compression", &mut document);
    let algorithms = writer::begin(&mut document);
    writer::text(b"0", offered.as_bytes(), &mut document);
    writer::end(algorithms, &mut document);
    writer::end(whole, &mut document);
    wire_mongodb::message::command(1, &document, b"admin", &mut out).unwrap();
    out
}

/// Lets a client in that asks for `offered`, then answers two of its commands in pieces of so many
/// bytes; returns the two as they came.
fn serve(offered: &'static str, found: Vec<u8>, piece: usize) -> (u16, JoinHandle<[Vec<u8>; 2]>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let peer = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        for _ in ["hello", "buildInfo"] {
            let request = received(&mut stream);
            assert!(message(&request).unwrap().is_some(), "neither is compressed");
            stream.write_all(&answering(&greeting(offered), &request)).unwrap();
        }
        [(); 2].map(|()| {
            let request = received(&mut stream);
            for part in answering(&found, &request).chunks(piece) {
                stream.write_all(part).unwrap();
            }
            request
        })
    });
    (port, peer)
}

fn target(port: u16, compression: &str) -> Target {
    Target::Mongodb(ServerTarget {
        endpoints: vec![Endpoint::Tcp { host: "127.0.0.1".into(), port }],
        user: String::new(),
        password: None,
        database: "d".into(),
        prepared_statements: true,
        tls: Tls { mode: TlsMode::Disable, ..Tls::default() },
        compression: Some(compression.into()),
        asks_for_public_key: false,
        session: Vec::new(),
    })
}

/// `{"find": "c", "comment": "a" * 500}`.
fn find() -> Vec<u8> {
    let mut document = Vec::new();
    let whole = writer::begin(&mut document);
    writer::text(b"find", b"c", &mut document);
    writer::text(b"comment", &[b'a'; 500], &mut document);
    writer::end(whole, &mut document);
    document
}

#[test]
fn commands_and_answers_are_compressed_as_agreed() {
    for (name, found) in FOUND {
        for piece in [1, 30, found.len()] {
            let (port, peer) = serve(name, found.to_vec(), piece);
            let mut client = Client::connect(&target(port, name)).unwrap();
            for _ in 0..2 {
                let reply = client.document(&find());
                assert_eq!((reply.error, reply.rows), (None, 1), "{name}");
                let document = client.session.answer(&client.reply).unwrap().unwrap();
                let text = String::from_utf8_lossy(document);
                assert!(text.contains(&"b".repeat(300)), "{name}: {text}");
            }
            for request in peer.join().unwrap() {
                assert!(request.len() < 300, "{name}: {} bytes", request.len());
                let mut plain = Vec::new();
                let algorithm = Algorithm::named(name).unwrap();
                Compression::new(algorithm).unpack(&request, &mut plain).unwrap();
                let command = message(&plain).unwrap().unwrap();
                let sent = String::from_utf8_lossy(command.document);
                assert!(sent.contains(&"a".repeat(500)), "{name}: {sent}");
            }
        }
    }
}

#[test]
fn a_server_without_the_algorithm_is_not_talked_to() {
    let (port, _) = serve("snappy", Vec::new(), 1);
    let refused = Client::connect(&target(port, "zstd")).err();
    assert!(
        matches!(
            &refused,
            Some(ConnectError::Unsupported { what, .. })
                if what == "the server does not offer compression by zstd"
        ),
        "{refused:?}"
    );
    let unknown = Client::connect(&target(port, "lz4")).err();
    assert!(
        matches!(
            &unknown,
            Some(ConnectError::Unsupported { what, .. })
                if what == "compression `lz4` is not supported; `snappy`, `zlib` and `zstd` are"
        ),
        "{unknown:?}"
    );
}
