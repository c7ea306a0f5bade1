//! Writes documents into the caller's buffer. Sizes are filled in when a document ends.

use crate::bson::{EMPTY_SIZE, kind};
use crate::{DOCUMENT_SIZE_MAX, WireError};

/// Where a document began, for [`end`].
#[derive(Debug, Clone, Copy)]
#[must_use = "a document needs its end"]
pub struct Begun(usize);

/// Begins a document; its elements follow.
#[inline]
pub fn begin(out: &mut Vec<u8>) -> Begun {
    let begun = Begun(out.len());
    out.extend_from_slice(&[0; 4]);
    begun
}

/// Ends a document.
#[inline]
pub fn end(begun: Begun, out: &mut Vec<u8>) {
    out.push(0);
    let size = (out.len() - begun.0) as u32;
    out[begun.0..begun.0 + 4].copy_from_slice(&size.to_le_bytes());
}

/// Reopens a complete document at the end of `out`, for more elements.
pub fn reopen(size: usize, out: &mut Vec<u8>) -> Begun {
    let begun = Begun(out.len() - size);
    out.pop();
    begun
}

/// Fails for a document that no server takes.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn check_size(document: &[u8]) -> Result<(), WireError> {
    debug_assert!(document.len() >= EMPTY_SIZE, "a document");
    if document.len() > DOCUMENT_SIZE_MAX {
        let (found, limit) = (document.len() as u64, DOCUMENT_SIZE_MAX as u64);
        return Err(WireError::TooLong { found, limit });
    }
    Ok(())
}

/// Begins an element: its type byte ([`kind`]) and its name, which must hold no zero byte.
#[inline]
pub fn head(kind: u8, name: &[u8], out: &mut Vec<u8>) {
    debug_assert!(!name.contains(&0), "a name ends with a zero byte");
    out.push(kind);
    out.extend_from_slice(name);
    out.push(0);
}

/// A value that is a string, with its size: behind [`head`], or on its own.
#[inline]
pub fn text_value(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as u32 + 1).to_le_bytes());
    out.extend_from_slice(text);
    out.push(0);
}

/// An element that is text, which must be UTF-8.
#[inline]
pub fn text(name: &[u8], text: &[u8], out: &mut Vec<u8>) {
    head(kind::STRING, name, out);
    text_value(text, out);
}

/// An element that is bytes.
pub fn binary(name: &[u8], subtype: u8, bytes: &[u8], out: &mut Vec<u8>) {
    head(kind::BINARY, name, out);
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.push(subtype);
    out.extend_from_slice(bytes);
}

/// An element that is a number: an integer of 32 bits where it is one of them, otherwise of 64,
/// otherwise floating-point.
#[inline]
pub fn number(name: &[u8], value: f64, out: &mut Vec<u8>) {
    /// Integers up to this size have an exact `f64`.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        return integer(name, value as i64, out);
    }
    double(name, value, out);
}

/// An element that is an integer, in the fewest of 32 and 64 bits.
#[inline]
pub fn integer(name: &[u8], value: i64, out: &mut Vec<u8>) {
    match i32::try_from(value) {
        Ok(value) => {
            head(kind::INT32, name, out);
            out.extend_from_slice(&value.to_le_bytes());
        }
        Err(_) => int64(name, value, out),
    }
}

/// An element that is an integer of 64 bits.
#[inline]
pub fn int64(name: &[u8], value: i64, out: &mut Vec<u8>) {
    head(kind::INT64, name, out);
    out.extend_from_slice(&value.to_le_bytes());
}

/// An element that is a floating-point number.
#[inline]
pub fn double(name: &[u8], value: f64, out: &mut Vec<u8>) {
    head(kind::DOUBLE, name, out);
    out.extend_from_slice(&value.to_le_bytes());
}

/// An element that is a boolean.
#[inline]
pub fn boolean(name: &[u8], value: bool, out: &mut Vec<u8>) {
    head(kind::BOOLEAN, name, out);
    out.push(u8::from(value));
}

/// An element that is a date, milliseconds since 1970.
pub fn date(name: &[u8], milliseconds: i64, out: &mut Vec<u8>) {
    head(kind::DATE, name, out);
    out.extend_from_slice(&milliseconds.to_le_bytes());
}

/// An element that is a regular expression; neither part may hold a zero byte.
pub fn regex(name: &[u8], pattern: &[u8], options: &[u8], out: &mut Vec<u8>) {
    head(kind::REGEX, name, out);
    for part in [pattern, options] {
        out.extend_from_slice(part);
        out.push(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::{Element, Value, elements};

    #[test]
    fn documents_are_written_as_pymongo_writes_them() {
        // `bson.encode` of pymongo 4.20: {"insert": "c", "documents": [{"_id": 1, "a": 0.5, "b":
        // True, "n": None}], "$db": "t"}.
        let expected = include_bytes!("../tests/pymongo/insert.bson");
        let mut out = b"before".to_vec();
        let whole = begin(&mut out);
        text(b"insert", b"c", &mut out);
        head(kind::ARRAY, b"documents", &mut out);
        let array = begin(&mut out);
        head(kind::DOCUMENT, b"0", &mut out);
        let document = begin(&mut out);
        number(b"_id", 1.0, &mut out);
        number(b"a", 0.5, &mut out);
        boolean(b"b", true, &mut out);
        head(kind::NULL, b"n", &mut out);
        end(document, &mut out);
        end(array, &mut out);
        end(whole, &mut out);
        let size = out.len() - 6;
        let more = reopen(size, &mut out);
        text(b"$db", b"t", &mut out);
        end(more, &mut out);
        assert_eq!(out[6..], expected[..]);
    }

    #[test]
    fn every_value_reads_back_as_itself() {
        let mut out = Vec::new();
        let whole = begin(&mut out);
        for (name, value) in [
            (b"a", 7.0),
            (b"b", -2_147_483_649.0),
            (b"c", 9_007_199_254_740_994.0),
            (b"d", f64::NEG_INFINITY),
        ] {
            number(name, value, &mut out);
        }
        int64(b"e", 5, &mut out);
        date(b"f", -1, &mut out);
        regex(b"g", b"^x", b"i", &mut out);
        binary(b"h", 0, b"\0\xff", &mut out);
        end(whole, &mut out);
        let found: Result<Vec<Element<'_>>, _> = elements(&out).unwrap().collect();
        let values: Vec<_> = found.unwrap().iter().map(|element| element.value).collect();
        let expected = [
            Value::Integer(7),
            Value::Integer(-2_147_483_649),
            Value::Double(9_007_199_254_740_994.0),
            Value::Double(f64::NEG_INFINITY),
            Value::Integer(5),
            Value::Date(-1),
            Value::Regex(b"^x", b"i"),
            Value::Binary(0, b"\0\xff"),
        ];
        assert_eq!(values, expected);
    }

    #[test]
    fn a_document_that_no_server_takes_is_known() {
        assert!(check_size(&[0; 5]).is_ok());
        let long = vec![0; DOCUMENT_SIZE_MAX + 1];
        assert!(matches!(check_size(&long), Err(WireError::TooLong { .. })));
    }
}
