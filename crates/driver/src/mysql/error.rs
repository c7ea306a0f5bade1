//! Converts errors of the server and of the wire protocol.

use wire_mysql::{WireError, backend};

use crate::connect_error::ConnectError;
use crate::error::{ProtocolError, ServerError};

/// The server's error for a deadlock: it has rolled the transaction back.
const DEADLOCK: u16 = 1213;

// Numbers of MySQL's client library for failures that no server reported.
const UNREACHABLE: i64 = 2002;
const NO_TLS: i64 = 2026;
const NO_PASSWORD: i64 = 1045;
/// The connection was lost during a statement.
pub(crate) const LOST: i64 = 2013;

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
        transient: matches!(fields.number, DEADLOCK | 1020 | 1205),
        rolled_back: fields.number == DEADLOCK,
        // Shutdown in progress; MariaDB's "connection was killed"; MySQL's "disconnected for
        // idling".
        closes: matches!(fields.number, 1053 | 1927 | 4031),
    })
}

/// The number of a failed connection: the server's own, or the client library's.
pub(crate) fn connect_number(error: &ConnectError) -> i64 {
    match error {
        ConnectError::Refused { error, .. } => error.number,
        ConnectError::Tls { .. } => NO_TLS,
        ConnectError::PasswordNeeded { .. } => NO_PASSWORD,
        ConnectError::Unreachable { .. }
        | ConnectError::Timeout { .. }
        | ConnectError::Silent { .. }
        | ConnectError::OtherServer { .. }
        | ConnectError::Unsupported { .. }
        | ConnectError::Protocol { .. } => UNREACHABLE,
    }
}

/// The error that the server would have sent.
pub(super) fn wrong_value_count(needed: usize, given: usize) -> ServerError {
    ServerError {
        sqlstate: "HY000".into(),
        number: 1210,
        message: format!("the statement has {needed} placeholders, but {given} values are given"),
        transient: false,
        rolled_back: false,
        closes: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of MySQL's error packet after its first byte: number, SQLSTATE, message.
    fn read(number: u16) -> ServerError {
        let mut payload = vec![0xff];
        payload.extend_from_slice(&number.to_le_bytes());
        payload.extend_from_slice(b"#40001why");
        server_error(&payload).unwrap()
    }

    #[test]
    fn only_a_deadlock_has_rolled_the_transaction_back() {
        let kinds = [1213, 1205, 1020, 1064].map(|number| {
            let ServerError { transient, rolled_back, .. } = read(number);
            (transient, rolled_back)
        });
        assert_eq!(kinds, [(true, true), (true, false), (true, false), (false, false)]);
    }
}
