//! Replies: framing by tag and length, and bodies decoded on demand.
//!
//! Incomplete input is `Ok(None)`, never an error. Nothing here allocates.

use crate::{MESSAGE_SIZE_MAX, SHORT_MESSAGE_SIZE_MAX, WireError};

/// Authentication…: what the server wants to know of us next.
pub const AUTHENTICATION: u8 = b'R';
/// BackendKeyData: what a cancel request must show.
pub const BACKEND_KEY_DATA: u8 = b'K';
/// BindComplete.
pub const BIND_COMPLETE: u8 = b'2';
/// CloseComplete.
pub const CLOSE_COMPLETE: u8 = b'3';
/// CommandComplete: one statement has ended well.
pub const COMMAND_COMPLETE: u8 = b'C';
/// CopyData.
pub const COPY_DATA: u8 = b'd';
/// CopyDone.
pub const COPY_DONE: u8 = b'c';
/// CopyInResponse: the server waits for our data.
pub const COPY_IN_RESPONSE: u8 = b'G';
/// CopyOutResponse: the server's data follows.
pub const COPY_OUT_RESPONSE: u8 = b'H';
/// DataRow.
pub const DATA_ROW: u8 = b'D';
/// EmptyQueryResponse: the text held no statement.
pub const EMPTY_QUERY_RESPONSE: u8 = b'I';
/// ErrorResponse.
pub const ERROR_RESPONSE: u8 = b'E';
/// NegotiateProtocolVersion: the server is older than we are.
pub const NEGOTIATE_PROTOCOL_VERSION: u8 = b'v';
/// NoData: the described statement returns no rows.
pub const NO_DATA: u8 = b'n';
/// NoticeResponse. May come at any time.
pub const NOTICE_RESPONSE: u8 = b'N';
/// NotificationResponse. May come at any time.
pub const NOTIFICATION_RESPONSE: u8 = b'A';
/// ParameterDescription.
pub const PARAMETER_DESCRIPTION: u8 = b't';
/// ParameterStatus. May come at any time.
pub const PARAMETER_STATUS: u8 = b'S';
/// ParseComplete.
pub const PARSE_COMPLETE: u8 = b'1';
/// ReadyForQuery: the reply is over.
pub const READY_FOR_QUERY: u8 = b'Z';
/// RowDescription: a result set begins.
pub const ROW_DESCRIPTION: u8 = b'T';

/// Bytes before a message's body: the tag and the length.
pub const HEADER_SIZE: usize = 5;

/// A message's tag and the size of its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What kind of message.
    pub tag: u8,
    /// Bytes behind the header, at most [`MESSAGE_SIZE_MAX`].
    pub body_size: usize,
}

/// Decodes the header at the front of `bytes`; `None`: there are too few bytes.
///
/// # Errors
/// [`WireError`] for an impossible length, by the limit for that tag.
#[inline]
pub fn header(bytes: &[u8]) -> Result<Option<Header>, WireError> {
    let [tag, a, b, c, d, ..] = *bytes else { return Ok(None) };
    let claimed = u32::from_be_bytes([a, b, c, d]);
    if claimed < 4 {
        return Err(WireError::Malformed("message length"));
    }
    let limit = size_limit(tag);
    if claimed as usize > limit {
        return Err(WireError::TooLong { found: u64::from(claimed), limit: limit as u64 });
    }
    Ok(Some(Header { tag, body_size: claimed as usize - 4 }))
}

/// Returns the whole message at the front of `bytes`; `None`: it is incomplete.
///
/// # Errors
/// [`WireError`] for an impossible length.
#[inline]
pub fn message(bytes: &[u8]) -> Result<Option<(u8, &[u8])>, WireError> {
    let Some(header) = header(bytes)? else { return Ok(None) };
    let body = bytes.get(HEADER_SIZE..HEADER_SIZE + header.body_size);
    Ok(body.map(|body| (header.tag, body)))
}

/// Messages that carry data or text may be long; the others are limited.
fn size_limit(tag: u8) -> usize {
    match tag {
        DATA_ROW
        | COPY_DATA
        | ROW_DESCRIPTION
        | PARAMETER_DESCRIPTION
        | ERROR_RESPONSE
        | NOTICE_RESPONSE
        | NOTIFICATION_RESPONSE => MESSAGE_SIZE_MAX,
        _ => SHORT_MESSAGE_SIZE_MAX,
    }
}

/// Whether the message may come at any time and answers nothing.
#[inline]
pub fn is_asynchronous(tag: u8) -> bool {
    matches!(tag, NOTICE_RESPONSE | PARAMETER_STATUS | NOTIFICATION_RESPONSE)
}

/// What a CommandComplete reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// `SELECT n`; also of `CREATE TABLE … AS`, which returns no rows.
    Select,
    /// `INSERT 0 n`, `UPDATE n`, `DELETE n`, `MERGE n`.
    Change,
    /// `COPY n`.
    Copy,
    /// Any other, e.g. `BEGIN`, `FETCH n`, `CREATE TABLE`.
    Other,
}

/// A CommandComplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The command.
    pub verb: Verb,
    /// The number of rows; 0 if the tag has none.
    pub rows: u64,
}

/// Reads the body of a CommandComplete.
///
/// # Errors
/// [`WireError::Malformed`] if the tag or its number is invalid.
#[inline]
pub fn command_complete(body: &[u8]) -> Result<Completion, WireError> {
    const MALFORMED: WireError = WireError::Malformed("CommandComplete");
    let [tag @ .., 0] = body else { return Err(MALFORMED) };
    let verb = match tag {
        [b'S', b'E', b'L', b'E', b'C', b'T', b' ', ..] => Verb::Select,
        [b'I', b'N', b'S', b'E', b'R', b'T', b' ', ..]
        | [b'U', b'P', b'D', b'A', b'T', b'E', b' ', ..]
        | [b'D', b'E', b'L', b'E', b'T', b'E', b' ', ..]
        | [b'M', b'E', b'R', b'G', b'E', b' ', ..] => Verb::Change,
        [b'C', b'O', b'P', b'Y', b' ', ..] => Verb::Copy,
        _ => return Ok(Completion { verb: Verb::Other, rows: 0 }),
    };
    let digits = tag.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return Err(MALFORMED);
    }
    let mut rows = 0u64;
    for digit in &tag[tag.len() - digits..] {
        rows = rows
            .checked_mul(10)
            .and_then(|rows| rows.checked_add(u64::from(digit - b'0')))
            .ok_or(MALFORMED)?;
    }
    Ok(Completion { verb, rows })
}

/// The fields of an ErrorResponse or NoticeResponse that we use. Missing ones are empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ErrorFields<'a> {
    /// `ERROR`, `FATAL` or `PANIC`, never translated (before PostgreSQL 9.6: maybe translated).
    pub severity: &'a [u8],
    /// SQLSTATE.
    pub code: &'a [u8],
    /// The primary text.
    pub message: &'a [u8],
}

impl ErrorFields<'_> {
    /// Whether the server ends the session with this message.
    pub fn is_fatal(&self) -> bool {
        matches!(self.severity, b"FATAL" | b"PANIC")
    }
}

/// Reads the body of an ErrorResponse.
///
/// # Errors
/// [`WireError::Malformed`] if its fields don't fill it.
pub fn error_fields(body: &[u8]) -> Result<ErrorFields<'_>, WireError> {
    const MALFORMED: WireError = WireError::Malformed("ErrorResponse");
    let mut fields = ErrorFields::default();
    let mut rest = body;
    loop {
        let (&kind, after) = rest.split_first().ok_or(MALFORMED)?;
        if kind == 0 {
            return if after.is_empty() { Ok(fields) } else { Err(MALFORMED) };
        }
        let (value, after) = split_text(after).ok_or(MALFORMED)?;
        match kind {
            b'V' => fields.severity = value,
            b'S' if fields.severity.is_empty() => fields.severity = value,
            b'C' => fields.code = value,
            b'M' => fields.message = value,
            _ => {}
        }
        rest = after;
    }
}

/// Reads the body of a ParameterStatus: name and value.
///
/// # Errors
/// [`WireError::Malformed`].
pub fn parameter_status(body: &[u8]) -> Result<(&[u8], &[u8]), WireError> {
    let parts = || {
        let (name, rest) = split_text(body)?;
        let (value, rest) = split_text(rest)?;
        rest.is_empty().then_some((name, value))
    };
    parts().ok_or(WireError::Malformed("ParameterStatus"))
}

/// Reads the number of columns at the front of a RowDescription or DataRow.
///
/// # Errors
/// [`WireError::Malformed`].
#[inline]
pub fn column_count(body: &[u8]) -> Result<u16, WireError> {
    match body {
        [high, low, ..] => Ok(u16::from_be_bytes([*high, *low])),
        _ => Err(WireError::Malformed("column count")),
    }
}

/// Reads the status in a ReadyForQuery: `I` idle, `T` in a transaction, `E` in a failed one.
///
/// # Errors
/// [`WireError::Malformed`].
#[inline]
pub fn transaction_status(body: &[u8]) -> Result<u8, WireError> {
    match body {
        [status @ (b'I' | b'T' | b'E')] => Ok(*status),
        _ => Err(WireError::Malformed("ReadyForQuery")),
    }
}

/// Reads the body of a DataRow: calls `column` for each column, with `None` for NULL.
///
/// # Errors
/// [`WireError::Malformed`] if the columns don't fill it; `column` may have been called before.
pub fn data_row(body: &[u8], mut column: impl FnMut(Option<&[u8]>)) -> Result<(), WireError> {
    const MALFORMED: WireError = WireError::Malformed("DataRow");
    let count = column_count(body)?;
    let mut rest = &body[2..];
    for _ in 0..count {
        let (size, after) = rest.split_first_chunk::<4>().ok_or(MALFORMED)?;
        match i32::from_be_bytes(*size) {
            -1 => {
                column(None);
                rest = after;
            }
            size => {
                let size = usize::try_from(size).map_err(|_| MALFORMED)?;
                let (value, after) = after.split_at_checked(size).ok_or(MALFORMED)?;
                column(Some(value));
                rest = after;
            }
        }
    }
    if rest.is_empty() { Ok(()) } else { Err(MALFORMED) }
}

/// A zero-terminated text and what follows it.
pub(crate) fn split_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(0, bytes)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_needs_five_bytes_and_a_possible_length() {
        assert_eq!(header(b"C\0\0\0"), Ok(None));
        assert_eq!(header(b"C\0\0\0\x0eSE"), Ok(Some(Header { tag: b'C', body_size: 10 })));
        assert_eq!(header(b"C\0\0\0\x03"), Err(WireError::Malformed("message length")));
        let limit = SHORT_MESSAGE_SIZE_MAX as u64;
        assert_eq!(header(b"C\0\x01\0\0"), Err(WireError::TooLong { found: 65_536, limit }));
        assert!(header(b"D\0\x01\0\0").is_ok());
        assert!(header(b"D\x7f\xff\xff\xff").is_err());
    }

    #[test]
    fn command_tags_give_verb_and_rows() {
        let check = |tag: &[u8], verb, rows| {
            assert_eq!(command_complete(tag), Ok(Completion { verb, rows }), "{tag:?}");
        };
        check(b"SELECT 100\0", Verb::Select, 100);
        check(b"INSERT 0 3\0", Verb::Change, 3);
        check(b"UPDATE 0\0", Verb::Change, 0);
        check(b"DELETE 18446744073709551615\0", Verb::Change, u64::MAX);
        check(b"MERGE 2\0", Verb::Change, 2);
        check(b"COPY 5\0", Verb::Copy, 5);
        check(b"BEGIN\0", Verb::Other, 0);
        check(b"FETCH 4\0", Verb::Other, 0);
        check(b"\0", Verb::Other, 0);
        for bad in [&b""[..], b"SELECT 1", b"SELECT \0", b"UPDATE 18446744073709551616\0"] {
            assert!(command_complete(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_untranslated_severity_wins() {
        let fields = error_fields(b"SFATAL\xc4L\0VFATAL\0C57P01\0Mbye\0Fpostgres.c\0\0").unwrap();
        assert!(fields.is_fatal());
        assert_eq!((fields.code, fields.message), (&b"57P01"[..], &b"bye"[..]));
        let old = error_fields(b"SERROR\0C42601\0Mno\0\0").unwrap();
        assert!(!old.is_fatal());
        for bad in [&b""[..], b"SERROR", b"SERROR\0", b"\0x"] {
            assert!(error_fields(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn rows_give_their_columns_and_nothing_else_fits() {
        let columns = |body: &[u8]| {
            let mut found = Vec::new();
            data_row(body, |column| found.push(column.map(<[u8]>::to_vec))).map(|()| found)
        };
        let row = b"\0\x03\0\0\0\x011\xff\xff\xff\xff\0\0\0\0";
        assert_eq!(columns(row), Ok(vec![Some(b"1".to_vec()), None, Some(vec![])]));
        for bad in [&row[..5], &row[..row.len() - 1], b"\0", b"\0\0x", b"\0\x01\xff\xff\xff\xfe"] {
            assert!(columns(bad).is_err(), "{bad:?}");
        }
    }
}
