//! A blocking connection that carries batches of rows for a loader.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use record::Target;
use socket2::Socket;

use crate::channel::Channel;
use crate::connect::{Connected, connect};
use crate::connect_error::ConnectError;
use crate::error::{ProtocolError, ServerError};
use crate::load::{Form, wrong_row_count};
use crate::reply::{Class, Progress, Reply, RowCursor, Sent, Tally};
use crate::session::Session;
use crate::table::{Rows, Table};
use crate::{clickhouse, mysql, postgres};

/// Bytes read at once.
const PIECE: usize = 16 * 1024;

/// Why a batch could not be carried.
#[derive(Debug, thiserror::Error)]
pub enum CarrierError {
    /// The connection could not be made.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection broke, or the server's bytes make no sense.
    #[error("connection lost: {0}")]
    Lost(String),
    /// The server refused the batch.
    #[error("{0}")]
    Refused(Box<ServerError>),
}

impl From<ProtocolError> for CarrierError {
    fn from(error: ProtocolError) -> Self {
        Self::Lost(error.to_string())
    }
}

impl From<std::io::Error> for CarrierError {
    fn from(error: std::io::Error) -> Self {
        Self::Lost(error.to_string())
    }
}

/// A batch of rows, as a multi-row INSERT.
#[derive(Debug)]
pub struct Batch {
    /// The INSERT.
    pub sql: Vec<u8>,
    /// Number of its rows.
    pub rows: u64,
    /// Try the server's native load first.
    pub loads: bool,
    /// Forms of a row's values.
    pub forms: Arc<[Form]>,
    /// The statement that sets the table's counter back ([`crate::Route::reset`]).
    pub reset: Option<Arc<str>>,
    /// How to take the numbers out again, if the engine numbers the rows.
    pub numbered: Option<Numbered>,
}

/// Rows that begin with a number from the engine, and how to write them without.
#[derive(Debug)]
pub struct Numbered {
    /// The text before the rows as the script wrote it.
    pub prefix: Arc<[u8]>,
    /// Where each row begins in the INSERT.
    pub rows: Vec<u32>,
}

impl Numbered {
    /// The INSERT as the script wrote it.
    fn plain(&self, sql: &[u8]) -> Vec<u8> {
        let mut plain = self.prefix.to_vec();
        for (index, start) in self.rows.iter().enumerate() {
            let end = self.rows.get(index + 1).map_or(sql.len(), |next| *next as usize);
            let row = &sql[*start as usize..end];
            let number = memchr::memchr(b',', row).map_or(0, |comma| comma + 1);
            plain.push(b'(');
            plain.extend_from_slice(&row[number..]);
        }
        plain
    }
}

/// The result of one batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Carried {
    /// Statements.
    pub tally: Tally,
    /// Class of the statement that is counted.
    pub class: Option<Class>,
    /// The server refused its native load: the batch went as an INSERT.
    pub refused: bool,
    /// Bytes on the wire.
    pub bytes_sent: u64,
    /// Bytes on the wire.
    pub bytes_received: u64,
}

/// A session and its socket, used for one batch at a time.
#[derive(Debug)]
pub struct Carrier {
    session: Session,
    socket: Socket,
    channel: Option<Box<Channel>>,
    out: Vec<u8>,
    received: Vec<u8>,
    carried: Carried,
}

impl Carrier {
    /// Connects to the endpoint that connection `ordinal` goes to, and sets the session up.
    ///
    /// # Errors
    /// [`CarrierError`].
    pub fn connect(
        target: &Target,
        ordinal: u64,
        timeout: Duration,
        settings: &[Vec<u8>],
    ) -> Result<Self, CarrierError> {
        let Connected { session, transport, .. } = connect(target, ordinal, timeout)?;
        let (socket, channel) = transport.into_parts();
        let socket = socket.ok_or(ProtocolError::Misuse("the database has no connections"))?;
        let socket = Socket::from(socket);
        socket.set_nonblocking(false)?;
        // Connecting leaves its own timeouts on the socket; a batch may take any time.
        socket.set_read_timeout(None)?;
        socket.set_write_timeout(None)?;
        let mut carrier = Self {
            session,
            socket,
            channel,
            out: Vec::new(),
            received: Vec::new(),
            carried: Carried::default(),
        };
        for setting in settings {
            carrier.rows(setting)?;
        }
        Ok(carrier)
    }

    /// Looks up the table that an INSERT's prefix names. `None`: the INSERT isn't plain, or what is
    /// stored may depend on the order in which rows arrive.
    ///
    /// # Errors
    /// [`CarrierError`], also if the table does not exist.
    pub fn look(&mut self, prefix: &[u8]) -> Result<Option<Table>, CarrierError> {
        match self.session {
            Session::Postgres(_) => postgres::look(prefix, |sql| self.rows(sql.as_bytes())),
            Session::Mysql(_) => mysql::look(prefix, |sql| self.rows(sql.as_bytes())),
            Session::Clickhouse(_) => clickhouse::look(prefix, |sql| self.rows(sql.as_bytes())),
            _ => Ok(None),
        }
    }

    /// Advances a sequence to `last`. The log records it before the rows that follow, so it needs
    /// no flush of its own.
    ///
    /// # Errors
    /// [`CarrierError`].
    pub fn advance(&mut self, sequence: &str, last: i64) -> Result<(), CarrierError> {
        let name = sequence.replace('\'', "''");
        let sql = format!(
            "SELECT set_config('synchronous_commit', 'off', true), setval('{name}', {last}) \
             FROM {sequence} WHERE last_value < {last} OR NOT is_called"
        );
        self.rows(sql.as_bytes()).map(|_| ())
    }

    /// Carries a batch; with `loads`, by the server's native load if possible.
    ///
    /// # Errors
    /// [`CarrierError`], also if the server stores another number of rows than was sent.
    pub fn carry(&mut self, batch: &Batch) -> Result<Carried, CarrierError> {
        self.carried = Carried::default();
        if batch.loads {
            if let Some(reply) = self.load(&batch.sql, &batch.forms)? {
                return Ok(self.carried(&reply));
            }
            self.reset(batch.reset.as_deref())?;
        }
        let rows = batch.rows;
        let sent = self.request(|session, out| session.query(&batch.sql, out))?;
        let reply = self.reply(sent)?;
        match reply.error {
            Some(error) => {
                if !error.closes {
                    self.count_as_plain(batch)?;
                }
                Err(CarrierError::Refused(error))
            }
            None if reply.affected < rows => {
                Err(CarrierError::Refused(Box::new(wrong_row_count(rows, reply.affected))))
            }
            None => Ok(self.carried(&reply)),
        }
    }

    /// Stores all rows by the native load; `None`: no row is stored, and the INSERT is to be sent,
    /// whose error is the server's own.
    fn load(&mut self, sql: &[u8], forms: &[Form]) -> Result<Option<Reply>, CarrierError> {
        let in_parts = self.session.loads_in_parts();
        if in_parts && self.run(b"START TRANSACTION")?.is_some() {
            return Ok(None);
        }
        let sent = self.request(|session, out| session.load(sql, forms, out))?;
        let mut stored = None;
        if let Some(sent) = sent {
            let reply = self.reply(sent)?;
            if let Some(error) = &reply.error {
                let nothing_stored = self.session.refused_load() || in_parts;
                if error.closes || !nothing_stored {
                    return Err(CarrierError::Refused(error.clone()));
                }
            } else if !self.has_bent()? {
                stored = Some(reply);
            }
            self.carried.refused = stored.is_none();
        }
        if in_parts && stored.is_some() && self.run(b"COMMIT")?.is_some() {
            self.carried.refused = true;
            stored = None;
        }
        if in_parts && stored.is_none() {
            self.run(b"ROLLBACK")?;
        }
        Ok(stored)
    }

    /// Sets the table's counter back. If another transaction holds the table or a privilege is
    /// missing, the counter stays as it is.
    fn reset(&mut self, reset: Option<&str>) -> Result<(), CarrierError> {
        let Some(reset) = reset else { return Ok(()) };
        self.run(b"SET @dbdyno_wait = @@lock_wait_timeout, lock_wait_timeout = 1")?;
        self.run(reset.as_bytes())?;
        self.run(b"SET lock_wait_timeout = @dbdyno_wait").map(|_| ())
    }

    /// Leaves the table's counter where the script's own INSERT would have left it: the server
    /// refuses that INSERT too, but has then counted the rows that it was about to number.
    fn count_as_plain(&mut self, batch: &Batch) -> Result<(), CarrierError> {
        let (Some(numbered), Some(reset)) = (&batch.numbered, &batch.reset) else { return Ok(()) };
        self.reset(Some(reset))?;
        self.run(b"START TRANSACTION")?;
        self.run(&numbered.plain(&batch.sql))?;
        self.run(b"ROLLBACK").map(|_| ())
    }

    /// Whether the load just done may have changed a value. A note tells of what an INSERT does,
    /// too. The server lists only as many as a variable says.
    fn has_bent(&mut self) -> Result<bool, CarrierError> {
        let warnings = usize::from(self.session.load_warnings());
        if warnings == 0 {
            return Ok(false);
        }
        let listed = self.rows(b"SHOW WARNINGS")?;
        let is_note = |row: &Vec<_>| matches!(row.first(), Some(Some(level)) if level == "Note");
        Ok(listed.len() < warnings || !listed.iter().all(is_note))
    }

    /// Runs a statement; returns the server's error.
    fn run(&mut self, sql: &[u8]) -> Result<Option<Box<ServerError>>, CarrierError> {
        let sent = self.request(|session, out| session.query(sql, out))?;
        match self.reply(sent)?.error {
            Some(error) if error.closes => Err(CarrierError::Refused(error)),
            error => Ok(error),
        }
    }

    fn carried(&self, reply: &Reply) -> Carried {
        Carried { tally: reply.tally, class: reply.class, ..self.carried }
    }

    /// The rows of a statement's first result set.
    fn rows(&mut self, sql: &[u8]) -> Result<Rows, CarrierError> {
        let sent = self.request(|session, out| session.query(sql, out))?;
        let reply = self.reply(sent)?;
        if let Some(error) = reply.error {
            return Err(CarrierError::Refused(error));
        }
        let mut rows = Rows::new();
        let mut cursor = RowCursor::default();
        if reply.columns == 0 {
            return Ok(rows);
        }
        loop {
            let mut row = Vec::new();
            let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
            let more = self.session.row(&self.received, &mut cursor, |value| {
                row.push(value.map(text));
            })?;
            if !more {
                return Ok(rows);
            }
            rows.push(row);
        }
    }

    /// Encodes a request, leaving it in `out`.
    fn request<T>(
        &mut self,
        encode: impl FnOnce(&mut Session, &mut Vec<u8>) -> Result<T, ProtocolError>,
    ) -> Result<T, CarrierError> {
        self.received.clear();
        self.out.clear();
        Ok(encode(&mut self.session, &mut self.out)?)
    }

    /// Sends what is in `out` and reads the complete reply.
    fn reply(&mut self, sent: Sent) -> Result<Reply, CarrierError> {
        if let Sent::Done(reply) = sent {
            return Ok(reply);
        }
        self.flush()?;
        let mut piece = vec![0; PIECE];
        loop {
            match self.session.feed(&self.received)? {
                Progress::Done { reply, .. } => return Ok(reply),
                Progress::Wanted { consumed } => {
                    self.received.drain(..consumed);
                    self.out.clear();
                    self.session.send_rows(&mut self.out);
                    self.flush()?;
                    continue;
                }
                Progress::More => {}
            }
            let size = self.socket.read(&mut piece)?;
            if size == 0 {
                return Err(CarrierError::Lost("the server closed it".into()));
            }
            self.carried.bytes_received += size as u64;
            match &mut self.channel {
                None => self.received.extend_from_slice(&piece[..size]),
                Some(channel) => channel.open(&piece[..size], &mut self.received)?,
            }
        }
    }

    fn flush(&mut self) -> Result<(), CarrierError> {
        if let Some(channel) = &mut self.channel {
            channel.request().append(&mut self.out);
            channel.seal(&mut self.out)?;
        }
        self.carried.bytes_sent += self.out.len() as u64;
        Ok(self.socket.write_all(&self.out)?)
    }
}
