//! Detects the kind of server at an address by the first bytes it sends.
//!
//! A MySQL client waits for the server's greeting, and a PostgreSQL server waits for the client's:
//! without this check a mismatched pair waits until the deadline.

use std::fmt;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use record::Endpoint;

use crate::socket::{open_socket, time_left};

/// Time limit for each probe.
const ANSWER_LIMIT: Duration = Duration::from_millis(500);
/// PostgreSQL's SSLRequest, which its server answers with one letter.
const SSL_REQUEST: &[u8] = &[0, 0, 0, 8, 4, 210, 22, 47];
/// HTTP servers answer it with a page, Redis with an error.
const GET: &[u8] = b"GET / HTTP/1.0\r\n\r\n";

/// MongoDB's hello, as a command for `admin`: request 1, by OP_MSG.
const HELLO: &[u8] = b"\x34\0\0\0\x01\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0\0\
    \x1f\0\0\0\x10hello\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0";

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// PostgreSQL, or a pooler that speaks its protocol.
    Postgresql,
    /// MySQL or MariaDB, or a proxy that speaks their protocol.
    Mysql,
    /// MySQL's X protocol, usually at port 33060.
    MysqlX,
    /// A web server.
    Http,
    /// A server for SSH.
    Ssh,
    /// Redis or Valkey.
    Redis,
    /// MongoDB, or a server that speaks its protocol.
    Mongodb,
    /// ClickHouse, at the port of its native protocol.
    Clickhouse,
    /// Mail or FTP: they greet in the same way.
    Mail,
    /// It expects TLS from the first byte on.
    Tls,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Postgresql => "a PostgreSQL server",
            Self::Mysql => "a MySQL or MariaDB server",
            Self::MysqlX => "MySQL's X protocol",
            Self::Http => "an HTTP server",
            Self::Ssh => "an SSH server",
            Self::Redis => "a Valkey or Redis server",
            Self::Mongodb => "a MongoDB server",
            Self::Clickhouse => "a ClickHouse server (native protocol)",
            Self::Mail => "a mail or FTP server",
            Self::Tls => "a server that expects TLS from the first byte on",
        })
    }
}

/// The kind of server whose first bytes these are; `None`: unknown.
pub(crate) fn recognise(first: &[u8]) -> Option<Peer> {
    let begins = |words: &[&[u8]]| words.iter().any(|word| first.starts_with(word));
    match first {
        _ if begins(&[b"SSH-"]) => Some(Peer::Ssh),
        // To a web browser, MongoDB says so in words.
        _ if begins(&[b"HTTP/"]) && memchr::memmem::find(first, b"MongoDB").is_some() => {
            Some(Peer::Mongodb)
        }
        // So does ClickHouse, whose HTTP port is another.
        _ if begins(&[b"HTTP/"]) && memchr::memmem::find(first, b"clickhouse-client").is_some() => {
            Some(Peer::Clickhouse)
        }
        // Its Hello, or an exception: tag, code, class.
        _ if begins(&[b"\0\x0aClickHouse"]) => Some(Peer::Clickhouse),
        [2, _, _, 0, 0, _, b'D', b'B', b':', b':', ..] => Some(Peer::Clickhouse),
        _ if begins(&[b"HTTP/", b"<html", b"<HTML", b"<!DOCTYPE"]) => Some(Peer::Http),
        _ if begins(&[b"-ERR ", b"-NOAUTH ", b"-DENIED "]) => Some(Peer::Redis),
        _ if begins(&[b"220 ", b"220-"]) => Some(Peer::Mail),
        // OP_MSG, in a header of 16 bytes.
        [_, _, _, 0..=2, _, _, _, _, _, _, _, _, 0xdd, 7, 0, 0, ..] => Some(Peer::Mongodb),
        // An alert, version 3.x.
        [21, 3, ..] => Some(Peer::Tls),
        // A frame of 5 bytes (little-endian): a notice sent as greeting.
        [5, 0, 0, 0, 11, ..] => Some(Peer::MysqlX),
        // Protocol 10 and the version's first digit, or an error numbered from 768 to 4095.
        [_, _, 0, 0, 10, b'0'..=b'9', ..] | [_, _, 0, 0, 0xff, _, 3..=15, ..] => Some(Peer::Mysql),
        // An error with a plausible length (big-endian), whose first field is the severity.
        [b'E', 0, 0, _, _, b'S', ..] => Some(Peer::Postgresql),
        _ => None,
    }
}

/// Probes the server over connections of its own, until `deadline`, after a client has waited in
/// vain. `None`: no answer, or an unknown one.
pub(crate) fn ask(endpoint: &Endpoint, deadline: Instant) -> Option<Peer> {
    [SSL_REQUEST, GET, HELLO].iter().find_map(|question| {
        let deadline = deadline.min(Instant::now() + ANSWER_LIMIT);
        let mut socket = open_socket(endpoint, deadline).ok()?;
        socket.set_write_timeout(Some(time_left(deadline).ok()?)).ok()?;
        socket.write_all(question).ok()?;
        socket.set_read_timeout(Some(time_left(deadline).ok()?)).ok()?;
        let mut first = [0; 256];
        let size = socket.read(&mut first).ok()?;
        match &first[..size] {
            b"S" | b"N" if *question == SSL_REQUEST => Some(Peer::Postgresql),
            answer => recognise(answer),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn each_kind_is_known_by_its_first_bytes() {
        let check = |first: &[u8], expected| assert_eq!(recognise(first), expected, "{first:?}");
        check(b"SSH-2.0-OpenSSH_9.2\r\n", Some(Peer::Ssh));
        check(b"HTTP/1.1 400 Bad Request\r\n", Some(Peer::Http));
        check(b"-ERR wrong number of arguments for 'get' command\r\n", Some(Peer::Redis));
        let browser =
            b"HTTP/1.0 200 OK\r\nContent-Length: 85\r\n\r\nIt looks like you are trying to \
            access MongoDB over HTTP on the native driver port.\r\n";
        check(browser, Some(Peer::Mongodb));
        check(b"\x21\x01\0\0\x01\0\0\0\x01\0\0\0\xdd\x07\0\0", Some(Peer::Mongodb));
        check(b"\0\x0aClickHouse\x12\x10", Some(Peer::Clickhouse));
        check(b"\x02\xc1\0\0\0\x0dDB::Exception", Some(Peer::Clickhouse));
        let wrong_port = b"HTTP/1.0 400 Bad Request\r\n\r\nPort 9000 is for clickhouse-client \
            program.\r\n";
        check(wrong_port, Some(Peer::Clickhouse));
        check(b"220 mail.example ESMTP\r\n", Some(Peer::Mail));
        check(&[21, 3, 1, 0, 2, 2, 40], Some(Peer::Tls));
        check(b"\x05\0\0\0\x0b\x08\x05\x1a\0", Some(Peer::MysqlX));
        check(b"\x5b\0\0\0\x0a5.5.5-10.11.6-MariaDB\0", Some(Peer::Mysql));
        check(b"\x4a\0\0\0\x0a9.4.0\0", Some(Peer::Mysql));
        check(b"\x17\0\0\0\xff\x10\x04Too many connections", Some(Peer::Mysql));
        check(b"E\0\0\0\x60SFATAL\0", Some(Peer::Postgresql));
        check(b"", None);
        check(b"N", None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "connects by TCP")]
    fn nobody_is_asked_when_there_is_no_time_left() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        listener.set_nonblocking(true).expect("it is a socket");
        let port = listener.local_addr().expect("it is bound").port();
        let endpoint = Endpoint::Tcp { host: "127.0.0.1".into(), port };
        assert_eq!(ask(&endpoint, Instant::now()), None);
        assert!(listener.accept().is_err(), "nobody has called");
        let soon = Instant::now() + Duration::from_millis(20);
        assert_eq!(ask(&endpoint, soon), None);
        assert!(Instant::now() >= soon, "the silent one was waited for");
        assert!(listener.accept().is_ok(), "and was called");
    }

    #[test]
    fn postgresqls_authentication_is_no_greeting_of_mysqls() {
        for message in [&b"R\0\0\0\x08\0\0\0\0"[..], b"R\0\0\0\x0c\0\0\0\x05salt", b"R\0\0\0\x17\0"]
        {
            assert_eq!(recognise(message), None, "{message:?}");
        }
    }
}
