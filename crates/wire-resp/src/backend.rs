//! Replies: elements by their type bytes.
//!
//! Incomplete input is `Ok(None)`, never an error. Nothing here allocates.

use crate::{COUNT_MAX, LINE_SIZE_MAX, TEXT_SIZE_MAX, WireError};

/// Simple string: a line.
pub const SIMPLE_STRING: u8 = b'+';
/// Simple error: a line, whose first word says which.
pub const SIMPLE_ERROR: u8 = b'-';
/// Integer of 64 bits.
pub const INTEGER: u8 = b':';
/// Bulk string: its size, then so many bytes. Size -1 is version 2's null.
pub const BULK_STRING: u8 = b'$';
/// Array: its count, then so many elements. Count -1 is version 2's null array.
pub const ARRAY: u8 = b'*';
/// Null of version 3.
pub const NULL: u8 = b'_';
/// Boolean: `t` or `f`.
pub const BOOLEAN: u8 = b'#';
/// Floating-point number, `inf` and `nan` among them.
pub const DOUBLE: u8 = b',';
/// Integer of any size, as digits.
pub const BIG_NUMBER: u8 = b'(';
/// Error as a bulk string.
pub const BULK_ERROR: u8 = b'!';
/// Bulk string that begins with its format, three letters and a colon.
pub const VERBATIM_STRING: u8 = b'=';
/// Map: its count of pairs, then so many keys and values.
pub const MAP: u8 = b'%';
/// Attributes: a map of metadata about the element behind it.
pub const ATTRIBUTE: u8 = b'|';
/// Set: as an array.
pub const SET: u8 = b'~';
/// Push: as an array; the server sends it unasked, before a reply.
pub const PUSH: u8 = b'>';

/// The head of an element. Strings follow it, [`Element::body_size`] bytes; aggregates' elements
/// follow it as elements of their own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Element<'a> {
    /// A simple string.
    Line(&'a [u8]),
    /// A simple error.
    Error(&'a [u8]),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Double(f64),
    /// An integer of any size, as digits.
    BigNumber(&'a [u8]),
    /// A boolean.
    Boolean(bool),
    /// A null of either version.
    Null,
    /// A string that follows.
    Text {
        /// [`BULK_STRING`], [`BULK_ERROR`] or [`VERBATIM_STRING`].
        kind: u8,
        /// Its bytes, without the line end behind them.
        size: usize,
    },
    /// Elements that follow.
    Aggregate {
        /// [`ARRAY`], [`SET`], [`MAP`], [`PUSH`] or [`ATTRIBUTE`].
        kind: u8,
        /// Elements, or pairs of a [`MAP`] or [`ATTRIBUTE`].
        count: u64,
    },
}

impl Element<'_> {
    /// Bytes between its head and the next element.
    #[inline]
    pub fn body_size(&self) -> usize {
        match self {
            Self::Text { size, .. } => size + 2,
            _ => 0,
        }
    }

    /// A push or an attribute: it comes before a value and is no part of it.
    #[inline]
    pub fn is_aside(&self) -> bool {
        matches!(self, Self::Aggregate { kind: PUSH | ATTRIBUTE, .. })
    }

    /// Elements that belong to it and follow it.
    #[inline]
    pub fn children(&self) -> u64 {
        match self {
            Self::Aggregate { kind: MAP | ATTRIBUTE, count } => count * 2,
            Self::Aggregate { count, .. } => *count,
            _ => 0,
        }
    }
}

/// Reads the element at the front of `bytes`; returns it and the size of its head. `None`: the head
/// is incomplete.
///
/// # Errors
/// [`WireError`] if no element begins like that.
#[inline]
pub fn element(bytes: &[u8]) -> Result<Option<(Element<'_>, usize)>, WireError> {
    let Some((&kind, rest)) = bytes.split_first() else { return Ok(None) };
    // Refused before its line is complete: no more bytes can make it an element.
    if !is_type(kind) {
        return Err(WireError::NoType(kind));
    }
    let Some(line) = line(rest)? else { return Ok(None) };
    let head = line.len() + 3;
    let element = match kind {
        BULK_STRING => match size(line)? {
            None => Element::Null,
            Some(size) => Element::Text { kind, size },
        },
        SIMPLE_STRING => Element::Line(line),
        INTEGER => Element::Integer(integer(line)?),
        ARRAY => match count(line)? {
            None => Element::Null,
            Some(count) => Element::Aggregate { kind, count },
        },
        _ => less_common(kind, line)?,
    };
    Ok(Some((element, head)))
}

fn less_common(kind: u8, line: &[u8]) -> Result<Element<'_>, WireError> {
    Ok(match kind {
        SIMPLE_ERROR => Element::Error(line),
        NULL if line.is_empty() => Element::Null,
        NULL => return Err(WireError::Malformed("null")),
        BOOLEAN => Element::Boolean(match line {
            b"t" => true,
            b"f" => false,
            _ => return Err(WireError::Malformed("boolean")),
        }),
        DOUBLE => Element::Double(double(line)?),
        BIG_NUMBER => {
            let digits = line.strip_prefix(b"-").unwrap_or(line);
            if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
                return Err(WireError::Malformed("big number"));
            }
            Element::BigNumber(line)
        }
        BULK_ERROR => match required(size(line)?)? {
            size if size > LINE_SIZE_MAX => {
                let (found, limit) = (size as u64, LINE_SIZE_MAX as u64);
                return Err(WireError::TooLong { found, limit });
            }
            size => Element::Text { kind, size },
        },
        VERBATIM_STRING => match required(size(line)?)? {
            ..4 => return Err(WireError::Malformed("verbatim string")),
            size => Element::Text { kind, size },
        },
        MAP | ATTRIBUTE | SET | PUSH => Element::Aggregate { kind, count: required(count(line)?)? },
        _ => return Err(WireError::NoType(kind)),
    })
}

#[inline]
fn is_type(kind: u8) -> bool {
    matches!(
        kind,
        SIMPLE_STRING
            | SIMPLE_ERROR
            | INTEGER
            | BULK_STRING
            | ARRAY
            | NULL
            | BOOLEAN
            | DOUBLE
            | BIG_NUMBER
            | BULK_ERROR
            | VERBATIM_STRING
            | MAP
            | ATTRIBUTE
            | SET
            | PUSH
    )
}

/// The bytes before the first line end; `None`: it has not arrived.
#[inline]
fn line(bytes: &[u8]) -> Result<Option<&[u8]>, WireError> {
    let within = &bytes[..bytes.len().min(LINE_SIZE_MAX)];
    match memchr::memchr(b'\r', within) {
        Some(end) => match bytes.get(end + 1) {
            Some(b'\n') => Ok(Some(&bytes[..end])),
            Some(_) => Err(WireError::Malformed("line end")),
            None => Ok(None),
        },
        None if within.len() < LINE_SIZE_MAX => Ok(None),
        None => {
            let (found, limit) = (bytes.len() as u64, LINE_SIZE_MAX as u64);
            Err(WireError::TooLong { found, limit })
        }
    }
}

#[inline]
fn integer(line: &[u8]) -> Result<i64, WireError> {
    const MALFORMED: WireError = WireError::Malformed("integer");
    let (negative, digits) = match line {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return Err(MALFORMED);
    }
    // Summed as a negative number: the smallest has no positive counterpart.
    let mut value = 0i64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return Err(MALFORMED);
        }
        value = value
            .checked_mul(10)
            .and_then(|value| value.checked_sub(i64::from(digit)))
            .ok_or(MALFORMED)?;
    }
    if negative { Ok(value) } else { value.checked_neg().ok_or(MALFORMED) }
}

fn double(line: &[u8]) -> Result<f64, WireError> {
    let text = std::str::from_utf8(line).ok();
    text.and_then(|text| text.parse().ok()).ok_or(WireError::Malformed("double"))
}

/// A string's size; `None`: null.
#[inline]
fn size(line: &[u8]) -> Result<Option<usize>, WireError> {
    Ok(claimed(line, TEXT_SIZE_MAX as u64, "string size")?.map(|size| size as usize))
}

/// An aggregate's count; `None`: null.
#[inline]
fn count(line: &[u8]) -> Result<Option<u64>, WireError> {
    claimed(line, COUNT_MAX, "count")
}

#[inline]
fn claimed(line: &[u8], limit: u64, what: &'static str) -> Result<Option<u64>, WireError> {
    match integer(line).map_err(|_| WireError::Malformed(what))? {
        -1 => Ok(None),
        found => {
            let found = u64::try_from(found).map_err(|_| WireError::Malformed(what))?;
            if found > limit {
                return Err(WireError::TooLong { found, limit });
            }
            Ok(Some(found))
        }
    }
}

/// Only strings and arrays have a null of version 2.
fn required<T>(claimed: Option<T>) -> Result<T, WireError> {
    claimed.ok_or(WireError::Malformed("size -1"))
}

/// The bytes of a verbatim string behind its format.
#[inline]
pub fn verbatim(text: &[u8]) -> &[u8] {
    text.get(4..).unwrap_or_default()
}

/// The first word of an error, which says which one it is: `WRONGTYPE`, `ERR`.
pub fn error_code(message: &[u8]) -> &[u8] {
    let end = message.iter().position(|byte| !byte.is_ascii_uppercase() && *byte != b'_');
    &message[..end.unwrap_or(message.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(bytes: &[u8]) -> Element<'_> {
        let (element, head) = element(bytes).unwrap().unwrap();
        assert_eq!(head, bytes.len(), "{bytes:?}");
        element
    }

    #[test]
    fn each_type_byte_begins_its_element() {
        assert_eq!(head(b"+OK\r\n"), Element::Line(b"OK"));
        assert_eq!(head(b"-ERR no\r\n"), Element::Error(b"ERR no"));
        assert_eq!(head(b":-9223372036854775808\r\n"), Element::Integer(i64::MIN));
        assert_eq!(head(b":+7\r\n"), Element::Integer(7));
        assert_eq!(head(b"$0\r\n"), Element::Text { kind: BULK_STRING, size: 0 });
        for null in [&b"$-1\r\n"[..], b"*-1\r\n", b"_\r\n"] {
            assert_eq!(head(null), Element::Null);
        }
        assert_eq!(head(b"*2\r\n"), Element::Aggregate { kind: ARRAY, count: 2 });
        assert_eq!(head(b"~2\r\n").children(), 2);
        assert_eq!(head(b"%2\r\n").children(), 4);
        assert_eq!(head(b"|1\r\n").children(), 2);
        assert_eq!(head(b">3\r\n").children(), 3);
        assert_eq!(head(b"#t\r\n"), Element::Boolean(true));
        assert_eq!(head(b",1.5e3\r\n"), Element::Double(1500.0));
        assert_eq!(head(b",-inf\r\n"), Element::Double(f64::NEG_INFINITY));
        assert_eq!(
            head(b"(-12345678901234567890\r\n"),
            Element::BigNumber(b"-12345678901234567890")
        );
        assert_eq!(head(b"!5\r\n").body_size(), 7);
        assert_eq!(head(b"=7\r\n").body_size(), 9);
        assert_eq!(verbatim(b"txt:abc"), b"abc");
    }

    #[test]
    fn what_is_incomplete_is_no_error_and_what_fits_nothing_is_one() {
        for incomplete in [&b""[..], b"+", b"+OK", b"+OK\r", b"$12", b":1"] {
            assert_eq!(element(incomplete), Ok(None), "{incomplete:?}");
        }
        for bad in [
            &b"E\0"[..],
            b"\x4a\0\0\0\x0a9.4.0",
            b"+a\rb",
            b":\r\n",
            b":1x\r\n",
            b":9223372036854775808\r\n",
            b"$-2\r\n",
            b"$\r\n",
            b"%-1\r\n",
            b"=3\r\n",
            b"_x\r\n",
            b"#y\r\n",
            b",a\r\n",
            b"(\r\n",
        ] {
            assert!(element(bad).is_err(), "{bad:?}");
        }
        let limit = TEXT_SIZE_MAX as u64;
        assert_eq!(
            element(b"$1073741824\r\n"),
            Err(WireError::TooLong { found: 1_073_741_824, limit })
        );
        assert!(element(b"*4294967296\r\n").is_err());
        assert!(element(&vec![b'+'; LINE_SIZE_MAX + 1]).is_err(), "a line without an end");
    }

    #[test]
    fn an_error_is_known_by_its_first_word() {
        assert_eq!(error_code(b"WRONGTYPE Operation against a key"), b"WRONGTYPE");
        assert_eq!(error_code(b"ERR unknown command 'x'"), b"ERR");
        assert_eq!(error_code(b"OOM"), b"OOM");
        assert_eq!(error_code(b"no code"), b"");
    }
}
