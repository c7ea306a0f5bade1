//! Texts for DuckDB, and its own: names, and errors by their messages.

use std::ffi::{CStr, CString, c_char};

use crate::error::ServerError;

/// A text for DuckDB, which ends with NUL.
pub(super) fn c_text(text: &[u8]) -> Result<CString, ServerError> {
    CString::new(text).map_err(|_| error_of("Parser Error: the text holds a NUL byte"))
}

/// A copy of a text of DuckDB's; `None`: there is none.
///
/// # Safety
/// The pointer is null, or what it points to ends with NUL.
pub(super) unsafe fn text_of(text: *const c_char) -> Option<String> {
    // SAFETY: upheld by the caller.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// An error by DuckDB's message, which begins with its type: `Constraint Error: Duplicate key …`.
/// The type without blanks is what it is counted under: `Constraint`, `OutOfMemory`. The message
/// ends before the statement, which DuckDB repeats in it.
pub(super) fn error_of(message: &str) -> ServerError {
    let message = message.split("\n\nLINE ").next().unwrap_or(message).trim_end();
    let kind = message.split_once(" Error: ").map_or("Unknown", |(kind, _)| kind);
    let kind: String = match kind.contains([':', '\n']) {
        true => "Unknown".into(),
        false => kind.split_whitespace().map(capitalised).collect(),
    };
    ServerError {
        transient: kind.starts_with("Transaction") && message.to_lowercase().contains("conflict"),
        rolled_back: false,
        // DuckDB refuses whatever follows until the file is opened again.
        closes: kind.eq_ignore_ascii_case("FATAL"),
        sqlstate: kind,
        number: 0,
        message: message.replace('\n', " "),
    }
}

fn capitalised(word: &str) -> String {
    let mut rest = word.chars();
    rest.next()
        .map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + rest.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_known_by_the_type_in_front() {
        let kind = |message| error_of(message).sqlstate;
        assert_eq!(kind("Constraint Error: Duplicate key \"id: 1\""), "Constraint");
        assert_eq!(kind("Out of Memory Error: could not allocate"), "OutOfMemory");
        assert_eq!(kind("the statement failed"), "Unknown");
        assert_eq!(kind("a: b\nInternal Error: c"), "Unknown");
        let conflict = error_of("TransactionContext Error: Failed to commit: write-write conflict");
        assert!(conflict.transient && !conflict.closes);
        assert!(!error_of("Transaction Error: no transaction is active").transient);
        let marked = error_of("Parser Error: syntax error\n\nLINE 1: SELEC 1\n        ^");
        assert_eq!(marked.message, "Parser Error: syntax error");
        assert!(error_of("FATAL Error: the database has been invalidated").closes);
    }
}
