//! One session: requests out, replies in.

use std::mem::MaybeUninit;

use crate::clickhouse::ClickhouseSession;
use crate::duckdb::DuckdbSession;
use crate::error::ProtocolError;
use crate::mongodb::MongodbSession;
use crate::mysql::MysqlSession;
use crate::null::NullSession;
use crate::over::Over;
use crate::postgres::PostgresSession;
use crate::redis::RedisSession;
use crate::reply::{Item, Progress, Reply, RowCursor, Sent, StatementId, Tally};
use crate::scripted::ScriptedSession;
use crate::sqlite::SqliteSession;
use crate::value::Value;

/// A session with any kind of database. An enum, not a trait object: the hot path is a jump.
#[derive(Debug)]
pub enum Session {
    /// Answers at once.
    Null(NullSession),
    /// Follows a written plan.
    Scripted(ScriptedSession),
    /// A SQLite file, in process.
    Sqlite(SqliteSession),
    /// A DuckDB file, in process. Boxed: it holds rows of its own, and other sessions are many.
    Duckdb(Box<DuckdbSession>),
    /// A PostgreSQL server.
    Postgres(PostgresSession),
    /// A MySQL or MariaDB server.
    Mysql(MysqlSession),
    /// A Valkey or Redis server.
    Redis(RedisSession),
    /// A server that speaks MongoDB's protocol.
    Mongodb(MongodbSession),
    /// A ClickHouse server. Boxed: it holds where it is in a reply's columns.
    Clickhouse(Box<ClickhouseSession>),
}

const NO_STATEMENTS: ProtocolError = ProtocolError::Misuse(
    "this server takes no statements: send commands (dbdyno.keys, dbdyno.documents)",
);
const NO_COMMANDS: ProtocolError = ProtocolError::Misuse(
    "this database takes no commands on keys: send what it has (sysbench.sql.driver, \
     dbdyno.documents)",
);
const NO_DOCUMENTS: ProtocolError = ProtocolError::Misuse(
    "this database takes no documents: send what it has (sysbench.sql.driver, dbdyno.keys)",
);

impl Session {
    /// The name that scripts use: `pgsql`, `mysql`, `sqlite`, `duckdb`, `redis`, `mongodb`,
    /// `clickhouse`, `null`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Null(_) => "null",
            Self::Scripted(_) => "scripted",
            Self::Sqlite(_) => "sqlite",
            Self::Duckdb(_) => "duckdb",
            Self::Postgres(_) => "pgsql",
            Self::Mysql(_) => "mysql",
            Self::Redis(_) => "redis",
            Self::Mongodb(_) => "mongodb",
            Self::Clickhouse(_) => "clickhouse",
        }
    }

    /// Whether replies come over a socket, through [`Session::feed`].
    pub fn is_network(&self) -> bool {
        let in_process =
            matches!(self, Self::Null(_) | Self::Scripted(_) | Self::Sqlite(_) | Self::Duckdb(_));
        !in_process
    }

    /// Whether a request blocks the calling thread, so that clients that run concurrently need a
    /// thread each.
    pub fn blocking(&self) -> bool {
        matches!(self, Self::Sqlite(_) | Self::Duckdb(_))
    }

    /// Ends statements that run in process, and waiting for locks, as soon as `over` says so. The
    /// statement then fails, and whoever asked for it is not expected to go on.
    pub fn end_statements_when(&mut self, over: Over) {
        match self {
            Self::Sqlite(session) => session.end_statements_when(over),
            Self::Duckdb(session) => session.end_statements_when(over),
            _ => {}
        }
    }

    /// Sends statement text, which may hold several statements.
    ///
    /// # Errors
    /// [`ProtocolError`] if a reply is still outstanding, or the database takes no statements.
    pub fn query(&mut self, sql: &[u8], out: &mut Vec<u8>) -> Result<Sent, ProtocolError> {
        match self {
            Self::Null(session) => Ok(Sent::Done(session.answer(sql))),
            Self::Scripted(session) => {
                session.query(sql);
                Ok(Sent::Waiting)
            }
            Self::Sqlite(session) => Ok(Sent::Done(session.query(sql))),
            Self::Duckdb(session) => Ok(Sent::Done(session.query(sql))),
            Self::Postgres(session) => session.query(sql, out),
            Self::Mysql(session) => session.query(sql, out),
            Self::Clickhouse(session) => session.query(sql, out),
            Self::Redis(_) | Self::Mongodb(_) => Err(NO_STATEMENTS),
        }
    }

    /// Sends a command to a server of keys: its name, then its arguments.
    ///
    /// # Errors
    /// [`ProtocolError`] if a reply is still outstanding, the words are no command that a load can
    /// send, or the database has no commands.
    #[inline]
    pub fn command<'a>(
        &mut self,
        words: impl ExactSizeIterator<Item = Value<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<Sent, ProtocolError> {
        match self {
            Self::Redis(session) => session.command(words, out),
            Self::Null(session) => Ok(Sent::Done(session.command(words))),
            Self::Scripted(session) => {
                session.command(words);
                Ok(Sent::Waiting)
            }
            Self::Sqlite(_)
            | Self::Duckdb(_)
            | Self::Postgres(_)
            | Self::Mysql(_)
            | Self::Mongodb(_)
            | Self::Clickhouse(_) => Err(NO_COMMANDS),
        }
    }

    /// Rolls the open transaction back, so that what failed in it can be tried again.
    ///
    /// # Errors
    /// [`ProtocolError`] if a reply is still outstanding.
    pub fn roll_back(&mut self, out: &mut Vec<u8>) -> Result<Sent, ProtocolError> {
        match self {
            Self::Redis(_) => self.command([Value::Bytes(b"DISCARD")].into_iter(), out),
            _ => self.query(b"ROLLBACK", out),
        }
    }

    /// Prepares a statement with `?` placeholders. The reply's error says whether it worked.
    ///
    /// For PostgreSQL a `?` within quotes or comments is not a placeholder, and `??` stands for a
    /// single question mark.
    ///
    /// # Errors
    /// [`ProtocolError`] if a reply is still outstanding.
    pub fn prepare(
        &mut self,
        sql: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(StatementId, Sent), ProtocolError> {
        match self {
            Self::Null(session) => Ok((session.prepare(sql), Sent::Done(Reply::default()))),
            Self::Scripted(session) => Ok((session.prepare(sql), Sent::Done(Reply::default()))),
            Self::Sqlite(session) => {
                let (id, reply) = session.prepare(sql);
                Ok((id, Sent::Done(reply)))
            }
            Self::Duckdb(session) => {
                let (id, reply) = session.prepare(sql);
                Ok((id, Sent::Done(reply)))
            }
            Self::Postgres(session) => session.prepare(sql, out),
            Self::Mysql(session) => session.prepare(sql, out),
            Self::Clickhouse(session) => Ok((session.prepare(sql), Sent::Done(Reply::default()))),
            Self::Redis(_) | Self::Mongodb(_) => Err(NO_STATEMENTS),
        }
    }

    /// Sends a command to a server of documents: a document of BSON whose first name is the
    /// command's, for a database; `None`: the target's.
    ///
    /// # Errors
    /// [`ProtocolError`] if a reply is still outstanding, the document is no command or too long,
    /// or the database has no documents.
    #[inline]
    pub fn document(
        &mut self,
        command: &[u8],
        database: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<Sent, ProtocolError> {
        match self {
            Self::Null(session) => Ok(Sent::Done(session.document(command))),
            Self::Scripted(session) => {
                session.document(command);
                Ok(Sent::Waiting)
            }
            Self::Mongodb(session) => session.document(command, database, out),
            _ => Err(NO_DOCUMENTS),
        }
    }

    /// The document that answers a command, in the bytes of its reply. `None`: there is none.
    ///
    /// # Errors
    /// [`ProtocolError`] if the bytes are no answer.
    pub fn answer<'a>(&self, reply: &'a [u8]) -> Result<Option<&'a [u8]>, ProtocolError> {
        match self {
            Self::Mongodb(session) => session.answer(reply),
            _ => Ok(None),
        }
    }

    /// Executes a prepared statement.
    ///
    /// # Errors
    /// [`ProtocolError`] if a reply is still outstanding, or the statement isn't prepared.
    pub fn execute<'a>(
        &mut self,
        statement: StatementId,
        values: impl ExactSizeIterator<Item = Value<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<Sent, ProtocolError> {
        match self {
            Self::Null(session) => Ok(Sent::Done(session.execute(statement))),
            Self::Scripted(session) => {
                session.execute(statement);
                Ok(Sent::Waiting)
            }
            Self::Sqlite(session) => session.execute(statement, values).map(Sent::Done),
            Self::Duckdb(session) => session.execute(statement, values).map(Sent::Done),
            Self::Postgres(session) => session.execute(statement, values, out),
            Self::Mysql(session) => session.execute(statement, values, out),
            Self::Clickhouse(session) => session.execute(statement, values, out),
            Self::Redis(_) | Self::Mongodb(_) => Err(NO_STATEMENTS),
        }
    }

    /// Closes a statement.
    ///
    /// # Errors
    /// [`ProtocolError`] if a reply is still outstanding, or the statement isn't prepared.
    pub fn close_statement(
        &mut self,
        statement: StatementId,
        out: &mut Vec<u8>,
    ) -> Result<Sent, ProtocolError> {
        match self {
            Self::Null(session) => {
                session.close(statement);
                Ok(Sent::Done(Reply::default()))
            }
            Self::Scripted(_) => Ok(Sent::Done(Reply::default())),
            Self::Sqlite(session) => session.close(statement).map(Sent::Done),
            Self::Duckdb(session) => session.close(statement).map(Sent::Done),
            Self::Postgres(session) => session.close_statement(statement, out),
            Self::Mysql(session) => session.close_statement(statement),
            Self::Clickhouse(session) => session.close_statement(statement),
            Self::Redis(_) | Self::Mongodb(_) => Err(NO_STATEMENTS),
        }
    }

    /// The text a statement was prepared from, if it is sent again after a reconnect.
    pub fn statement_text(&self, statement: StatementId) -> Option<&[u8]> {
        match self {
            Self::Mysql(session) => session.statement_text(statement),
            _ => None,
        }
    }

    /// Allows [`Session::query`], [`Session::execute`] and [`Session::command`] while replies are
    /// outstanding, or ends that. The server answers in order, each reply is one of
    /// [`Session::feed`], and only the last one's rows can be read. In-process databases answer at
    /// once and have nothing outstanding.
    pub fn pipelined(&mut self, pipelined: bool) {
        match self {
            Self::Postgres(session) => session.pipelined(pipelined),
            Self::Mysql(session) => session.pipelined(pipelined),
            Self::Redis(session) => session.pipelined(pipelined),
            _ => {}
        }
    }

    /// Scans received bytes. `buffer` begins with the first byte of the reply each time; the
    /// session remembers how far it has scanned.
    ///
    /// Bytes may also come while no reply is outstanding (notices, or a last message before the
    /// server closes): feed them too, and keep what is not consumed at the front of the next reply.
    ///
    /// # Errors
    /// [`ProtocolError`] if the bytes can't be a reply.
    pub fn feed(&mut self, buffer: &[u8]) -> Result<Progress, ProtocolError> {
        match self {
            Self::Null(_) | Self::Sqlite(_) | Self::Duckdb(_) => Ok(Progress::More),
            Self::Scripted(session) => Ok(session.feed()),
            Self::Postgres(session) => session.feed(buffer),
            Self::Mysql(session) => session.feed(buffer),
            Self::Redis(session) => session.feed(buffer),
            Self::Mongodb(session) => session.feed(buffer),
            Self::Clickhouse(session) => session.feed(buffer),
        }
    }

    /// Passes replies of a pipeline at the front of `buffer`, all but the last outstanding, which
    /// only say that a statement each succeeded: adds them to `tally` and returns their size. What
    /// follows is for [`Session::feed`], and with some protocols everything.
    #[inline]
    pub fn pass_plain(&mut self, buffer: &[u8], tally: &mut Tally) -> usize {
        match self {
            Self::Redis(session) => session.pass_plain(buffer, tally),
            _ => 0,
        }
    }

    /// Drops scanned bytes of an unfinished reply that grows too large to keep: returns how many of
    /// the buffer's `buffer_size` bytes the caller must now drop from its front. The reply's counts
    /// stay right, but its rows can no longer be read: [`Session::row`] and
    /// [`Session::next_result`] fail until the next request.
    pub fn discard_scanned(&mut self, buffer_size: usize) -> usize {
        match self {
            // An answer is one message, of a size that servers limit.
            Self::Null(_)
            | Self::Scripted(_)
            | Self::Sqlite(_)
            | Self::Duckdb(_)
            | Self::Mongodb(_) => 0,
            Self::Postgres(session) => session.discard_scanned(buffer_size),
            Self::Mysql(session) => session.discard_scanned(buffer_size),
            Self::Redis(session) => session.discard_scanned(buffer_size),
            Self::Clickhouse(session) => session.discard_scanned(buffer_size),
        }
    }

    /// Reads the row after `cursor` from a reply's bytes: calls `column` for each column, with
    /// `None` for NULL and values as text. Returns `false` when there are no more rows.
    ///
    /// # Errors
    /// [`ProtocolError`] if the bytes aren't a row, or were discarded.
    pub fn row(
        &self,
        reply: &[u8],
        cursor: &mut RowCursor,
        column: impl FnMut(Option<&[u8]>),
    ) -> Result<bool, ProtocolError> {
        match self {
            Self::Null(_) | Self::Scripted(_) | Self::Redis(_) | Self::Mongodb(_) => Ok(false),
            Self::Sqlite(session) => Ok(session.row(cursor, column)),
            Self::Duckdb(session) => session.row(cursor, column),
            Self::Postgres(session) => session.row(reply, cursor, column),
            Self::Mysql(session) => session.row(reply, cursor, column),
            Self::Clickhouse(session) => session.row(reply, cursor, column),
        }
    }

    /// Reads the value after `cursor` from the bytes of a command's reply. An array or a map comes
    /// first, then the values in it. `None`: there are no more.
    ///
    /// # Errors
    /// [`ProtocolError`] if the bytes aren't a value, or were discarded.
    pub fn item<'a>(
        &self,
        reply: &'a [u8],
        cursor: &mut RowCursor,
    ) -> Result<Option<Item<'a>>, ProtocolError> {
        match self {
            Self::Redis(session) => session.item(reply, cursor),
            _ => Ok(None),
        }
    }

    /// Moves to the next result set of the same reply; `None`: there is none. The tally is zero,
    /// because the reply itself counted the statements.
    ///
    /// # Errors
    /// [`ProtocolError`] if the bytes aren't a result set, or were discarded.
    pub fn next_result(
        &mut self,
        reply: &[u8],
        cursor: &mut RowCursor,
    ) -> Result<Option<Reply>, ProtocolError> {
        match self {
            // ClickHouse has one statement in a text.
            Self::Null(_)
            | Self::Scripted(_)
            | Self::Redis(_)
            | Self::Mongodb(_)
            | Self::Clickhouse(_) => Ok(None),
            Self::Sqlite(session) => Ok(session.next_result(cursor)),
            Self::Duckdb(session) => Ok(session.next_result(cursor)),
            Self::Postgres(session) => session.next_result(reply, cursor),
            Self::Mysql(session) => session.next_result(reply, cursor),
        }
    }

    /// Takes over a dead session's prepared statements: their ids stay valid, and the requests that
    /// prepare them again are appended to `out`; one reply answers all of them.
    ///
    /// # Errors
    /// [`ProtocolError`] if a reply is still outstanding, or the sessions are of different kinds.
    pub fn adopt(&mut self, dead: Self, out: &mut Vec<u8>) -> Result<Sent, ProtocolError> {
        match (self, dead) {
            (Self::Null(session), Self::Null(dead)) => {
                *session = dead;
                Ok(Sent::Done(Reply::default()))
            }
            (Self::Scripted(session), Self::Scripted(dead)) => {
                session.adopt(dead);
                Ok(Sent::Waiting)
            }
            (Self::Sqlite(session), Self::Sqlite(dead)) => Ok(Sent::Done(session.adopt(dead))),
            (Self::Duckdb(session), Self::Duckdb(dead)) => Ok(Sent::Done(session.adopt(*dead))),
            (Self::Postgres(session), Self::Postgres(dead)) => session.adopt(dead, out),
            (Self::Mysql(session), Self::Mysql(dead)) => session.adopt(dead, out),
            (Self::Clickhouse(session), Self::Clickhouse(dead)) => Ok(session.adopt(*dead)),
            // They have no statements to take over.
            (Self::Redis(_), Self::Redis(_)) | (Self::Mongodb(_), Self::Mongodb(_)) => {
                Ok(Sent::Done(Reply::default()))
            }
            _ => Err(ProtocolError::Misuse("the sessions are of different kinds")),
        }
    }

    /// The memory of its prepared statements, which executing one reads.
    #[inline]
    pub fn statements_memory(&self) -> &[MaybeUninit<u8>] {
        match self {
            Self::Postgres(session) => session.statements_memory(),
            Self::Mysql(session) => session.statements_memory(),
            Self::Clickhouse(session) => session.statements_memory(),
            _ => &[],
        }
    }

    /// Whether a transaction is open, failed or not, as of the last reply. The host then sends
    /// `ROLLBACK` before it restarts an event: otherwise the event's own `BEGIN` meets the old
    /// transaction.
    pub fn in_transaction(&self) -> bool {
        match self {
            Self::Null(_) | Self::Scripted(_) | Self::Mongodb(_) | Self::Clickhouse(_) => false,
            Self::Sqlite(session) => session.in_transaction(),
            Self::Duckdb(session) => session.in_transaction(),
            Self::Postgres(session) => session.in_transaction(),
            Self::Mysql(session) => session.in_transaction(),
            Self::Redis(session) => session.in_transaction(),
        }
    }

    /// Whether the open transaction accepts only `ROLLBACK`: any other statement would fail
    /// (PostgreSQL's SQLSTATE 25P02). SQLite and MySQL have no such state.
    pub fn in_failed_transaction(&self) -> bool {
        match self {
            Self::Null(_)
            | Self::Scripted(_)
            | Self::Sqlite(_)
            | Self::Mysql(_)
            | Self::Redis(_)
            | Self::Mongodb(_)
            | Self::Clickhouse(_) => false,
            Self::Postgres(session) => session.in_failed_transaction(),
            Self::Duckdb(session) => session.in_failed_transaction(),
        }
    }

    /// For a session that answers by plan, not by bytes: when the reply to the first request not
    /// yet asked about is due, if it was sent at `sent_ns`; both count from the start of the load.
    /// Then feed it nothing.
    pub fn due_ns(&mut self, sent_ns: u64) -> Option<u64> {
        match self {
            Self::Scripted(session) => Some(session.due_ns(sent_ns)),
            _ => None,
        }
    }

    /// Appends the protocol's closing message, if it has one.
    pub fn terminate(&mut self, out: &mut Vec<u8>) {
        match self {
            Self::Postgres(session) => session.terminate(out),
            Self::Mysql(session) => session.terminate(out),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_made_on_one_thread_and_used_on_another() {
        fn check<T: Send>() {}
        check::<Session>();
    }

    #[test]
    fn a_session_is_small_enough_to_have_a_hundred_thousand() {
        assert!(size_of::<Session>() <= 256, "{} bytes", size_of::<Session>());
    }
}
