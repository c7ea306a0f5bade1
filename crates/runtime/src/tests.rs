//! A client's statements over a socket whose other end is in the test, in PostgreSQL's protocol.
//!
//! Nothing leaves the process, so Miri can check the event loop, the memory it lends and who reads
//! it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use driver::{Connected, Session, Transport};
use engine::{Control, Group, Message, Plan, ShardView, System};

use crate::outcome::Conclusion;
use crate::reconnect::fresh;
use crate::runtime::Runtime;
use crate::settings::Settings;
use crate::{Wake, Woken};

/// A text column named `n`.
const DESCRIPTION: &[u8] =
    b"T\0\0\0\x1a\0\x01n\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";
const READY: &[u8] = b"Z\0\0\0\x05I";

/// A runtime with one client and its connection.
struct Client {
    runtime: Runtime,
    view: ShardView,
    slot: u32,
    /// The server's end, written as a file because Miri supports files.
    server: File,
    /// The event loop has returned all it had.
    drained: bool,
    _inbox: Receiver<Message>,
}

/// A complete reply to a statement, with these rows.
fn reply(rows: &[&str]) -> Vec<u8> {
    let mut out = DESCRIPTION.to_vec();
    for row in rows {
        out.push(b'D');
        out.extend_from_slice(&(10 + row.len() as u32).to_be_bytes());
        out.extend_from_slice(&[0, 1]);
        out.extend_from_slice(&(row.len() as u32).to_be_bytes());
        out.extend_from_slice(row.as_bytes());
    }
    let tag = format!("SELECT {}\0", rows.len());
    out.push(b'C');
    out.extend_from_slice(&(4 + tag.len() as u32).to_be_bytes());
    out.extend_from_slice(tag.as_bytes());
    out.extend_from_slice(READY);
    out
}

fn plan() -> Plan {
    Plan {
        warm_up_ns: 0,
        measure_ns: None,
        interval_ns: 1_000_000_000,
        drain_ns: 0,
        patience_ns: 0,
        hurried_drain_ns: 0,
        events: Some(1),
        seed: 1,
        part: (0, 1),
        wait_for_begin: false,
        turns: false,
        groups: vec![Group {
            name: "one".into(),
            clients: 1,
            arrivals: None,
            idle: false,
            think_ns: 0,
        }],
        client_totals_at: None,
    }
}

impl Client {
    /// `rules`: the error policy's rules, as in a spec.
    fn new(rules: &str) -> Self {
        let target = r#"{"driver":"postgresql","endpoints":[{"unix":"none"}],
            "user":"u","database":"d"}"#;
        let text = format!(
            r#"{{"schema":{},"target":{target},"reactor":"epoll","loaders":0,
            "errors":{{"rules":[{rules}]}},
            "groups":[{{"name":"one","script":"-","clients":1}}]}}"#,
            record::SCHEMA
        );
        let settings = Settings::new(&record::RunSpec::from_json(&text).unwrap(), None);
        let plan = plan();
        let control = Arc::new(Control::new(&plan, System::default()));
        let (messages, inbox) = channel();
        let mut view = ShardView::new(&plan, control, 0, 1, messages, channel().1);
        let mut runtime = Runtime::new(Arc::new(settings), 0, 1, 1).unwrap();
        let client = runtime.add_client(0, 0);
        runtime.clients[0].waiting = crate::Waiting::Connection;
        let (ours, server) = UnixStream::pair().unwrap();
        // SAFETY: plain system call on a live descriptor; the result is checked.
        let done = unsafe { libc::fcntl(ours.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        assert_eq!(done, 0);
        let connected = Connected {
            session: Session::unconnected_postgres(),
            transport: Transport::Plain(OwnedFd::from(ours)),
            server_version: "18".into(),
        };
        runtime.attempts.inline.push_back((fresh(client), 0, Ok(connected)));
        let Ok(Some(Woken { why: Wake::Connected(slot), .. })) = runtime.next(&mut view) else {
            panic!("no connection")
        };
        let server = File::from(OwnedFd::from(server));
        Self { runtime, view, slot, server, drained: false, _inbox: inbox }
    }

    /// Sends a statement; the server receives it.
    fn query(&mut self, sql: &str) {
        let asked = self.runtime.query(&mut self.view, self.slot, sql.as_bytes());
        assert_eq!(asked.unwrap(), Conclusion::Later);
        let mut received = vec![0; 6 + sql.len()];
        self.server.read_exact(&mut received).unwrap();
        assert_eq!(received[0], b'Q');
        assert_eq!(&received[5..], format!("{sql}\0").as_bytes());
    }

    /// Reads what has arrived, up to a conclusion, and frees the rows of the last one.
    fn look(&mut self) -> Option<Conclusion> {
        if std::mem::take(&mut self.drained) {
            self.runtime.wait(&mut self.view, Duration::from_millis(1)).unwrap();
        }
        let next = self.runtime.next(&mut self.view).unwrap();
        self.drained = next.is_none();
        match next? {
            Woken { why: Wake::Concluded(_, conclusion), .. } => Some(conclusion),
            other => panic!("{other:?}"),
        }
    }

    /// Waits until the statement has ended.
    fn conclusion(&mut self) -> Conclusion {
        (0..10_000).find_map(|_| self.look()).expect("it ends")
    }

    fn row(&mut self) -> Option<String> {
        let mut found = String::new();
        let more = self.runtime.row(self.slot, |value| {
            found = String::from_utf8(value.unwrap().to_vec()).unwrap();
        });
        more.unwrap().then_some(found)
    }
}

#[test]
fn rows_are_read_where_they_were_received_and_kept_when_that_is_given_back() {
    let mut client = Client::new("");
    for round in ["first", "second"] {
        client.query("SELECT n");
        client.server.write_all(&reply(&[round, "b", "c"])).unwrap();
        assert_eq!(client.conclusion(), Conclusion::Rows);
        assert_eq!(client.row().as_deref(), Some(round));
        // The event loop has its memory back and fills it with what comes next.
        assert_eq!(client.look(), None);
        assert_eq!(client.row().as_deref(), Some("b"));
        assert_eq!(client.row().as_deref(), Some("c"));
        assert_eq!(client.row(), None);
    }
}

#[test]
fn a_reply_in_pieces_is_one_reply() {
    let mut client = Client::new("");
    client.query("SELECT n");
    let whole = reply(&["a", "b"]);
    for piece in whole.chunks(7) {
        client.server.write_all(piece).unwrap();
        let last = piece.as_ptr_range().end == whole.as_ptr_range().end;
        let found = if last { Some(client.conclusion()) } else { client.look() };
        assert_eq!(found, last.then_some(Conclusion::Rows));
    }
    assert_eq!(client.row().as_deref(), Some("a"));
    assert_eq!(client.row().as_deref(), Some("b"));
    assert_eq!(client.view.recorder().counters.reads, 1);
    assert_eq!(client.view.recorder().counters.bytes_received, whole.len() as u64);
}

#[test]
fn a_statement_larger_than_the_socket_s_buffers_goes_out_in_pieces() {
    let mut client = Client::new("");
    let sql = " ".repeat(if cfg!(miri) { 300_000 } else { 3_000_000 });
    let asked = client.runtime.query(&mut client.view, client.slot, sql.as_bytes());
    assert_eq!(asked.unwrap(), Conclusion::Later);
    let (mut received, mut piece) = (Vec::new(), vec![0; 100_000]);
    while received.len() < 6 + sql.len() {
        let size = client.server.read(&mut piece).unwrap();
        received.extend_from_slice(&piece[..size]);
        assert_eq!(client.look(), None);
    }
    assert_eq!(received.len(), 6 + sql.len());
    client.server.write_all(&reply(&[])).unwrap();
    assert_eq!(client.conclusion(), Conclusion::Rows);
}

#[test]
fn a_lost_connection_ends_its_statement() {
    let mut client = Client::new(r#"{"codes":["connection"],"action":"stop"}"#);
    client.query("SELECT n");
    client.server.write_all(DESCRIPTION).unwrap();
    assert_eq!(client.look(), None);
    // The server closes: another socket takes its place.
    client.server = File::from(OwnedFd::from(UnixStream::pair().unwrap().0));
    assert_eq!(client.conclusion(), Conclusion::Failed);
    let failed = client.runtime.failure(0).unwrap();
    assert!(failed.message.starts_with("connection lost: "), "{}", failed.message);
    assert_eq!(client.view.recorder().errors.get("connection"), Some(&1));
    assert_eq!(client.row(), None);
}
