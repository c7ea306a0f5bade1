//! Converts errors of the server and of the wire protocol.

use wire_clickhouse::WireError;
use wire_clickhouse::backend::Exception;

use crate::error::{ProtocolError, ServerError};

/// The server's code for a statement that it can't parse.
const SYNTAX_ERROR: i64 = 62;
/// Too many queries at once, too many parts of a table: both pass by themselves.
const PASSING: [i32; 2] = [202, 252];

impl From<WireError> for ProtocolError {
    fn from(error: WireError) -> Self {
        match error {
            WireError::TooLong { found, limit } => Self::TooLong { found, limit },
            WireError::NoPacket(tag) => {
                let found = u8::try_from(tag).map_or('?', char::from);
                Self::Unexpected { found, state: "reading a packet" }
            }
            WireError::Malformed(what) => Self::Malformed(what),
            WireError::UnknownType => Self::Malformed(
                "block: a column of a type that is not supported; select it by toString()",
            ),
        }
    }
}

/// An exception as the driver's own error.
pub(super) fn server_error(exception: Exception<'_>) -> ServerError {
    ServerError {
        transient: PASSING.contains(&exception.code),
        ..our_error(exception.code.into(), &String::from_utf8_lossy(exception.message))
    }
}

/// For an INSERT whose rows the server's own client would have to make sense of, too.
pub(super) fn not_plain(what: &str) -> ServerError {
    our_error(SYNTAX_ERROR, &format!("{what}: nothing was stored"))
}

/// The error that the server would have sent.
pub(super) fn wrong_value_count(needed: usize, given: usize) -> ServerError {
    let what = format!("the statement has {needed} placeholders, but {given} values are given");
    our_error(SYNTAX_ERROR, &what)
}

fn our_error(number: i64, message: &str) -> ServerError {
    ServerError {
        sqlstate: "HY000".into(),
        number,
        message: message.into(),
        transient: false,
        rolled_back: false,
        closes: false,
    }
}
