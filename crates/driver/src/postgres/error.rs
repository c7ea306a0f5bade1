//! Converts errors of the server and of the wire protocol.

use wire_postgres::WireError;

use crate::error::{ProtocolError, ServerError};

impl From<WireError> for ProtocolError {
    fn from(error: WireError) -> Self {
        match error {
            WireError::TooLong { found, limit } => Self::TooLong { found, limit },
            WireError::Malformed(what) => Self::Malformed(what),
        }
    }
}

/// An ErrorResponse's body as the driver's own error.
pub(super) fn server_error(body: &[u8]) -> Result<ServerError, WireError> {
    let fields = wire_postgres::backend::error_fields(body)?;
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Ok(ServerError {
        sqlstate: if fields.code.is_empty() { "HY000".into() } else { text(fields.code) },
        number: 0,
        message: text(fields.message),
        // sysbench restarts events for these: serialisation failure, deadlock, and a duplicate key
        // (two clients that delete and insert the same row).
        transient: matches!(fields.code, b"40001" | b"40P01" | b"23505"),
        // The session's status says that the transaction has failed; it waits for a ROLLBACK.
        rolled_back: false,
        closes: fields.is_fatal() || matches!(fields.code, b"57P01" | b"57P02" | b"57P03"),
    })
}

/// The error that the server would have sent.
pub(super) fn wrong_value_count(needed: usize, given: usize) -> ServerError {
    ServerError {
        sqlstate: "08P01".into(),
        number: 0,
        message: format!("the statement has {needed} placeholders, but {given} values are given"),
        transient: false,
        rolled_back: false,
        closes: false,
    }
}
