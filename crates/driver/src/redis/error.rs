//! Converts errors of the server and of the wire protocol.

use wire_resp::{WireError, backend};

use crate::error::{ProtocolError, ServerError};

impl From<WireError> for ProtocolError {
    fn from(error: WireError) -> Self {
        match error {
            WireError::TooLong { found, limit } => Self::TooLong { found, limit },
            WireError::NoType(byte) => {
                Self::Unexpected { found: char::from(byte), state: "reading a reply" }
            }
            WireError::Malformed(what) => Self::Malformed(what),
        }
    }
}

/// An error reply as the driver's own error. Its first word is the code; one without is an `ERR`.
pub(super) fn server_error(text: &[u8]) -> ServerError {
    let code = match backend::error_code(text) {
        b"" => "ERR".into(),
        code => String::from_utf8_lossy(code).into_owned(),
    };
    ServerError {
        // What passes by itself: slots on the move, a server that loads its data, a script that
        // another client runs.
        transient: matches!(code.as_str(), "TRYAGAIN" | "LOADING" | "BUSY"),
        sqlstate: code,
        number: 0,
        message: String::from_utf8_lossy(text).into_owned(),
        rolled_back: false,
        closes: false,
    }
}
