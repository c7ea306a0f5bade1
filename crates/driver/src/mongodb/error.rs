//! Converts errors of the server and of the wire protocol.

use wire_mongodb::answer::{Answer, Refusal};
use wire_mongodb::{DEPTH_MAX, WireError};

use crate::error::{ProtocolError, ServerError};

impl From<WireError> for ProtocolError {
    fn from(error: WireError) -> Self {
        match error {
            WireError::TooLong { found, limit } => Self::TooLong { found, limit },
            WireError::NoMessage(_) => Self::Malformed("message: it is no OP_MSG"),
            WireError::Malformed(what) => Self::Malformed(what),
        }
    }
}

const _: () = assert!(DEPTH_MAX == 100, "what scripts may nest stands in their guide");

/// Names of numbers that write errors come without (MongoDB's "Error Codes").
const NAMES: &[(i64, &str)] = &[
    (2, "BadValue"),
    (9, "FailedToParse"),
    (14, "TypeMismatch"),
    (28, "PathNotViable"),
    (52, "DollarPrefixedFieldName"),
    (56, "EmptyFieldName"),
    (57, "DottedFieldName"),
    (66, "ImmutableField"),
    (112, "WriteConflict"),
    (121, "DocumentValidationFailure"),
    (11000, "DuplicateKey"),
];

/// What passes by itself: a conflict of writes, an election, a server that starts or steps down, a
/// lock not given in time.
const TRANSIENT: &[i64] = &[24, 91, 112, 189, 246, 262, 10107, 11600, 11602, 13435, 13436];

/// A refusal as the driver's own error.
pub(super) fn server_error(answer: &Answer<'_>, refusal: &Refusal<'_>) -> ServerError {
    let named = NAMES.iter().find(|(code, _)| *code == refusal.code);
    let name = match (refusal.name, named) {
        (b"", Some((_, name))) => (*name).to_owned(),
        // As the server itself names numbers without a name.
        (b"", None) => format!("Location{}", refusal.code),
        (name, _) => String::from_utf8_lossy(name).into_owned(),
    };
    ServerError {
        message: format!("{name}: {}", String::from_utf8_lossy(refusal.message)),
        sqlstate: name,
        number: refusal.code,
        transient: answer.transient || TRANSIENT.contains(&refusal.code),
        rolled_back: false,
        closes: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_a_name_and_a_number() {
        let error = |code, name: &'static [u8]| {
            let refusal = Refusal { code, name, message: b"why" };
            server_error(&Answer::default(), &refusal)
        };
        let twice = error(11000, b"");
        assert_eq!((twice.sqlstate.as_str(), twice.code().as_str()), ("DuplicateKey", "11000"));
        assert_eq!(twice.message, "DuplicateKey: why");
        assert!(!twice.transient);
        assert!(error(112, b"WriteConflict").transient);
        assert_eq!(error(51091, b"").sqlstate, "Location51091");
        assert_eq!(error(59, b"CommandNotFound").sqlstate, "CommandNotFound");
    }
}
