//! Converts errors of the server and of the wire protocol.

use wire_mysql::{WireError, backend};

use crate::error::{ProtocolError, ServerError};

impl From<WireError> for ProtocolError {
    fn from(error: WireError) -> Self {
        match error {
            WireError::TooLong { found, limit } => Self::TooLong { found, limit },
            WireError::Malformed(what) => Self::Malformed(what),
        }
    }
}

/// An error packet as the driver's own error.
pub(super) fn server_error(payload: &[u8]) -> Result<ServerError, WireError> {
    let fields = backend::error_fields(payload)?;
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Ok(ServerError {
        sqlstate: if fields.sqlstate.is_empty() { "HY000".into() } else { text(fields.sqlstate) },
        number: i64::from(fields.number),
        message: text(fields.message),
        // Deadlock, changed since it was read, lock wait timeout: sysbench restarts events for
        // these by default.
        transient: matches!(fields.number, 1213 | 1020 | 1205),
        // Shutdown in progress; MariaDB's "connection was killed"; MySQL's "disconnected for
        // idling".
        closes: matches!(fields.number, 1053 | 1927 | 4031),
    })
}

/// The error that the server would have sent.
pub(super) fn wrong_value_count(needed: usize, given: usize) -> ServerError {
    ServerError {
        sqlstate: "HY000".into(),
        number: 1210,
        message: format!("the statement has {needed} placeholders, but {given} values are given"),
        transient: false,
        closes: false,
    }
}
