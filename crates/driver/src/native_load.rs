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
            | Self::Mongodb(_) => Ok(None),
            Self::Duckdb(session) => Ok(session.load(sql).map(Sent::Done)),
            Self::Postgres(session) => session.load(sql, forms, out),
            Self::Mysql(session) => session.load(sql, forms, out),
        }
    }

    /// Appends the rows of [`Session::load`] after [`Progress::Wanted`].
    pub fn send_rows(&mut self, out: &mut Vec<u8>) {
        if let Self::Mysql(session) = self {
            session.send_rows(out);
        }
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
            | Self::Mongodb(_) => 0,
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
            | Self::Mongodb(_) => false,
            Self::Postgres(session) => session.refused_load(),
            Self::Mysql(session) => session.refused_load(),
        }
    }
}
