//! A session against bytes as servers send them.

use wire_mongodb::writer;

use super::*;
use crate::bytewise::fed_bytewise;
use crate::session::Session;

/// A document with one number by this name, and `more`.
fn document(name: &[u8], more: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    let whole = writer::begin(&mut out);
    writer::number(name, 1.0, &mut out);
    more(&mut out);
    writer::end(whole, &mut out);
    out
}

/// A message that answers a request.
fn answered(request: i32, document: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 8];
    out.extend_from_slice(&request.to_le_bytes());
    out.extend_from_slice(&message::OP_MSG.to_le_bytes());
    out.extend_from_slice(&[0; 5]);
    out.extend_from_slice(document);
    let size = out.len() as u32;
    out[..4].copy_from_slice(&size.to_le_bytes());
    out
}

fn send(session: &mut MongodbSession, name: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    session.document(&document(name, |_| ()), None, &mut out).unwrap();
    out
}

fn receive(session: &mut MongodbSession, bytes: &[u8]) -> Reply {
    fed_bytewise(|bytes| session.feed(bytes), bytes)
}

#[test]
fn commands_count_as_what_their_names_say() {
    let mut session = MongodbSession::new("d", 0);
    for (request, name, class) in
        [(1, &b"find"[..], Class::Read), (2, b"insert", Class::Write), (3, b"ping", Class::Other)]
    {
        let sent = send(&mut session, name);
        assert!(sent.ends_with(b"\x02$db\0\x02\0\0\0d\0\0"), "{sent:?}");
        let answer = answered(request, &document(b"ok", |_| ()));
        assert_eq!(receive(&mut session, &answer).class, Some(class));
        assert_eq!(session.answer(&answer).unwrap(), Some(&answer[21..]));
    }
}

#[test]
fn an_error_is_data_by_number_and_name() {
    let mut session = MongodbSession::new("d", 0);
    send(&mut session, b"find");
    let refused = document(b"n", |out| {
        writer::double(b"ok", 0.0, out);
        writer::text(b"errmsg", b"no", out);
        writer::integer(b"code", 26, out);
        writer::text(b"codeName", b"NamespaceNotFound", out);
    });
    let error = receive(&mut session, &answered(1, &refused)).error.unwrap();
    assert_eq!((error.sqlstate.as_str(), error.number), ("NamespaceNotFound", 26));
}

#[test]
fn a_command_may_name_its_database() {
    let (mut session, mut out) = (MongodbSession::new("d", 0), Vec::new());
    session.document(&document(b"ping", |_| ()), Some(b"admin"), &mut out).unwrap();
    assert!(out.ends_with(b"\x02$db\0\x06\0\0\0admin\0\0"));
    let again = session.document(&document(b"ping", |_| ()), None, &mut out);
    assert!(again.is_err(), "a reply is outstanding");
}

#[test]
fn what_nobody_asked_for_is_an_error() {
    let ok = document(b"ok", |_| ());
    let mut session = MongodbSession::new("d", 0);
    assert!(session.feed(&answered(0, &ok)).is_err(), "no command");
    send(&mut session, b"ping");
    assert!(session.feed(&answered(7, &ok)).is_err(), "another command's");
    let mut session = MongodbSession::new("d", 0);
    send(&mut session, b"ping");
    assert!(session.feed(b"HTTP/1.0 200 OK\r\n").is_err(), "another protocol");
    let mut out = Vec::new();
    assert!(session.document(b"ping", None, &mut out).is_err(), "no document");
    assert!(Session::unconnected_mongodb().query(b"SELECT 1", &mut out).is_err());
    assert!(out.is_empty());
}
