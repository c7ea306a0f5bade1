//! A blocking client to drive a session with.

#![allow(dead_code, reason = "each program that has this uses its own part of it")]
#![expect(clippy::unwrap_used, reason = "a test's helper fails the test")]

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

use driver::{
    Channel, ConnectError, Connected, Form, Item, Progress, ProtocolError, Reply, RowCursor, Sent,
    Session, StatementId, Value, connect,
};
use record::Target;
use socket2::Socket;

/// Time limit for everything here, for slow machines.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A row of text values, as `Client::rows` returns it.
pub fn row(values: &[&str]) -> Vec<Option<String>> {
    values.iter().map(|value| Some((*value).into())).collect()
}

/// A session with its socket and buffers, as in the engine but blocking and a piece at a time.
pub struct Client {
    pub session: Session,
    pub version: String,
    /// The last reply's bytes.
    pub reply: Vec<u8>,
    /// How many bytes one read asks for.
    pub piece: usize,
    /// The layer between session and socket, if there is one.
    pub channel: Option<Box<Channel>>,
    socket: Socket,
    unread: Vec<u8>,
    out: Vec<u8>,
}

impl Client {
    pub fn connect(target: &Target) -> Result<Self, ConnectError> {
        connect(target, 0, PATIENCE).map(Self::new)
    }

    /// Connects to a server that is starting; an error: it doesn't take clients within `PATIENCE`.
    pub fn connect_when_ready(target: &Target) -> Result<Self, ConnectError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match Self::connect(target) {
                Err(_) if Instant::now() < deadline => thread::sleep(Duration::from_millis(20)),
                outcome => return outcome,
            }
        }
    }

    pub fn new(connected: Connected) -> Self {
        let (socket, channel) = connected.transport.into_parts();
        let socket = socket.expect("a socket");
        // SAFETY: the descriptor is open.
        let flags = unsafe { libc::fcntl(socket.as_raw_fd(), libc::F_GETFL) };
        assert!(flags & libc::O_NONBLOCK != 0, "the socket is handed over non-blocking");
        let socket = Socket::from(socket);
        socket.set_nonblocking(false).unwrap();
        // Connecting has left its own, shorter time limits on the socket.
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        Self {
            session: connected.session,
            version: connected.server_version,
            reply: Vec::new(),
            piece: 65_536,
            channel,
            socket,
            unread: Vec::new(),
            out: Vec::new(),
        }
    }

    pub fn try_query(&mut self, sql: &str) -> Result<Reply, ProtocolError> {
        let sent = self.session.query(sql.as_bytes(), &mut self.out)?;
        self.finish(sent)
    }

    /// Sends a command of words separated by spaces.
    pub fn command(&mut self, text: &str) -> Reply {
        let words: Vec<_> = text.split(' ').map(|word| Value::Bytes(word.as_bytes())).collect();
        let sent = self.session.command(words.into_iter(), &mut self.out).unwrap();
        self.finish(sent).unwrap()
    }

    /// Sends a command to a server of documents.
    pub fn document(&mut self, command: &[u8]) -> Reply {
        let sent = self.session.document(command, None, &mut self.out).unwrap();
        self.finish(sent).unwrap()
    }

    /// The values in the last command's reply.
    pub fn items(&self) -> Vec<Item<'_>> {
        let mut cursor = RowCursor::default();
        let next = || self.session.item(&self.reply, &mut cursor).unwrap();
        std::iter::from_fn(next).collect()
    }

    pub fn query(&mut self, sql: &str) -> Reply {
        self.try_query(sql).unwrap()
    }

    /// Sends a multi-row INSERT as a load; `None`: it does not qualify.
    pub fn load(&mut self, sql: &str) -> Option<Reply> {
        self.load_into(sql, &[])
    }

    /// The same into columns of these forms.
    pub fn load_into(&mut self, sql: &str, forms: &[Form]) -> Option<Reply> {
        let sent = self.session.load(sql.as_bytes(), forms, &mut self.out).unwrap()?;
        Some(self.finish(sent).unwrap())
    }

    /// A query that has to work.
    pub fn ok(&mut self, sql: &str) -> Reply {
        let reply = self.query(sql);
        assert_eq!(reply.error, None, "{sql}");
        reply
    }

    /// The SQLSTATE a query fails with.
    pub fn fails(&mut self, sql: &str) -> String {
        self.query(sql).error.expect(sql).sqlstate
    }

    pub fn try_prepare(&mut self, sql: &str) -> (StatementId, Reply) {
        let (id, sent) = self.session.prepare(sql.as_bytes(), &mut self.out).unwrap();
        (id, self.finish(sent).unwrap())
    }

    pub fn prepare(&mut self, sql: &str) -> StatementId {
        let (id, reply) = self.try_prepare(sql);
        assert_eq!(reply, Reply::default(), "{sql}");
        id
    }

    pub fn execute(&mut self, id: StatementId, values: &[Value<'_>]) -> Reply {
        let sent = self.session.execute(id, values.iter().copied(), &mut self.out).unwrap();
        self.finish(sent).unwrap()
    }

    pub fn close(&mut self, id: StatementId) {
        let sent = self.session.close_statement(id, &mut self.out).unwrap();
        assert_eq!(self.finish(sent).unwrap(), Reply::default());
    }

    pub fn adopt(&mut self, dead: Session) -> Reply {
        let sent = self.session.adopt(dead, &mut self.out).unwrap();
        self.finish(sent).unwrap()
    }

    /// Sends without waiting for the reply.
    pub fn send(&mut self, sql: &str) {
        let sent = self.session.query(sql.as_bytes(), &mut self.out).unwrap();
        assert!(matches!(sent, Sent::Waiting));
        self.flush();
    }

    fn finish(&mut self, sent: Sent) -> Result<Reply, ProtocolError> {
        match sent {
            Sent::Done(reply) => Ok(reply),
            Sent::Waiting => {
                self.flush();
                self.wait()
            }
        }
    }

    fn flush(&mut self) {
        if let Some(channel) = &mut self.channel {
            channel.request().append(&mut self.out);
            channel.seal(&mut self.out).unwrap();
        }
        self.socket.write_all(&self.out).unwrap();
        self.out.clear();
    }

    /// Reads until the reply is whole.
    pub fn wait(&mut self) -> Result<Reply, ProtocolError> {
        loop {
            match self.session.feed(&self.unread)? {
                Progress::Done { reply, consumed } => {
                    let rest = self.unread.split_off(consumed);
                    self.reply = std::mem::replace(&mut self.unread, rest);
                    return Ok(reply);
                }
                Progress::Wanted { consumed } => {
                    self.unread.drain(..consumed);
                    self.session.send_rows(&mut self.out);
                    self.flush();
                }
                Progress::More => {}
            }
            let received = self.receive();
            assert!(received > 0, "the server closed the connection within a reply");
        }
    }

    /// Waits for the connection's end, with or without an error message.
    pub fn wait_for_end(&mut self) {
        loop {
            match self.try_receive() {
                Ok(0) => return,
                // It was killed before it had read the statement.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return,
                received => drop(received.unwrap()),
            }
            if let Progress::Done { reply, .. } = self.session.feed(&self.unread).unwrap() {
                assert!(reply.error.unwrap().closes);
                return;
            }
        }
    }

    /// Reads until the reply is whole, but keeps no byte it needn't; returns the most it held.
    pub fn wait_and_discard(&mut self) -> (Reply, usize) {
        let mut most = 0;
        loop {
            most = most.max(self.unread.len());
            if let Progress::Done { reply, consumed } = self.session.feed(&self.unread).unwrap() {
                self.reply = self.unread.drain(..consumed).collect();
                return (reply, most);
            }
            let scanned = self.session.discard_scanned(self.unread.len());
            self.unread.drain(..scanned);
            assert!(self.receive() > 0);
        }
    }

    fn receive(&mut self) -> usize {
        self.try_receive().unwrap()
    }

    fn try_receive(&mut self) -> std::io::Result<usize> {
        let start = self.unread.len();
        self.unread.resize(start + self.piece, 0);
        let read = self.socket.read(&mut self.unread[start..]);
        let received = *read.as_ref().unwrap_or(&0);
        self.unread.truncate(start + received);
        if let Some(channel) = &mut self.channel {
            let sealed = self.unread.split_off(start);
            channel.open(&sealed, &mut self.unread).unwrap();
        }
        read
    }

    /// The rows of the set behind `cursor`, as text; NULL is `None`.
    pub fn rows_of(&self, cursor: &mut RowCursor) -> Vec<Vec<Option<String>>> {
        let mut rows = Vec::new();
        loop {
            let mut row = Vec::new();
            let column = |value: Option<&[u8]>| {
                row.push(value.map(|value| String::from_utf8(value.to_vec()).unwrap()));
            };
            if !self.session.row(&self.reply, cursor, column).unwrap() {
                return rows;
            }
            rows.push(row);
        }
    }

    pub fn rows(&self) -> Vec<Vec<Option<String>>> {
        self.rows_of(&mut RowCursor::default())
    }

    /// The only value of a query's only row.
    pub fn value(&mut self, sql: &str) -> String {
        self.ok(sql);
        self.rows()[0][0].clone().unwrap()
    }
}
