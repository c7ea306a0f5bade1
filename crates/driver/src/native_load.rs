//! A session's native load of rows, where the database has one.

use crate::error::ProtocolError;
use crate::load::Form;
use crate::reply::Sent;
use crate::session::Session;

impl Session {
    /// Sends a multi-row INSERT by the server's native load, if the effect is the same: the rows
    /// are literals and no transaction is open. `None`: nothing was sent; use [`Session::query`].
    /// Storing another number of rows is an error. `forms`: those of a row's values, if known.
    ///
    /// # Errors
    /// [`ProtocolError`] if a reply is still outstanding.
    pub fn load(
        &mut self,
        sql: &[u8],
        forms: &[Form],
        out: &mut Vec<u8>,
    ) -> Result<Option<Sent>, ProtocolError> {
        match self {
            Self::Null(_)
            | Self::Sqlite(_)
            | Self::Scripted(_)
            | Self::Redis(_)
            | Self::Mongodb(_)
            | Self::Clickhouse(_) => Ok(None),
            Self::Duckdb(session) => Ok(session.load(sql).map(Sent::Done)),
            Self::Postgres(session) => session.load(sql, forms, out),
            Self::Mysql(session) => session.load(sql, forms, out),
        }
    }

    /// Appends what [`Progress::Wanted`] asks for: the rows of [`Session::load`], or what another
    /// request still needs ([`Session::continues_requests`]).
    pub fn send_rows(&mut self, out: &mut Vec<u8>) {
        match self {
            Self::Mysql(session) => session.send_rows(out),
            Self::Clickhouse(session) => session.send_rows(out),
            _ => {}
        }
    }

    /// Whether any request may need more than was sent first ([`Progress::Wanted`]): ClickHouse
    /// names a table's columns before it takes rows for them, and after an error is asked whether
    /// it has read all.
    pub fn continues_requests(&self) -> bool {
        matches!(self, Self::Clickhouse(_))
    }

    /// Whether a native load that goes wrong may leave rows behind, so that it needs a transaction
    /// around it: MySQL's LOCAL turns errors into warnings.
    pub fn loads_in_parts(&self) -> bool {
        matches!(self, Self::Mysql(_))
    }

    /// Warnings and notes of the last [`Session::load`].
    pub fn load_warnings(&self) -> u16 {
        match self {
            Self::Mysql(session) => session.load_warnings(),
            Self::Null(_)
            | Self::Sqlite(_)
            | Self::Duckdb(_)
            | Self::Scripted(_)
            | Self::Postgres(_)
            | Self::Redis(_)
            | Self::Mongodb(_)
            | Self::Clickhouse(_) => 0,
        }
    }

    /// Whether the last [`Session::load`] failed without storing a row, so that the INSERT can
    /// still be sent: the server may not allow such a load, or not for this table.
    pub fn refused_load(&mut self) -> bool {
        match self {
            Self::Null(_)
            | Self::Sqlite(_)
            | Self::Duckdb(_)
            | Self::Scripted(_)
            | Self::Redis(_)
            | Self::Mongodb(_)
            | Self::Clickhouse(_) => false,
            Self::Postgres(session) => session.refused_load(),
            Self::Mysql(session) => session.refused_load(),
        }
    }
}
