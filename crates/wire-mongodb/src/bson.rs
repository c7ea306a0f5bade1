//! Reads documents of BSON: each element is its type byte, its name up to a zero byte, its value.
//!
//! Values are found by their own sizes and not looked into. Nothing here allocates.

use crate::WireError;

/// The smallest document: its size and the zero byte that ends it.
pub const EMPTY_SIZE: usize = 5;

/// Type bytes, by the names of the specification.
pub mod kind {
    #![expect(missing_docs, reason = "the names of the specification")]
    pub const DOUBLE: u8 = 0x01;
    pub const STRING: u8 = 0x02;
    pub const DOCUMENT: u8 = 0x03;
    pub const ARRAY: u8 = 0x04;
    pub const BINARY: u8 = 0x05;
    pub const UNDEFINED: u8 = 0x06;
    pub const OBJECT_ID: u8 = 0x07;
    pub const BOOLEAN: u8 = 0x08;
    pub const DATE: u8 = 0x09;
    pub const NULL: u8 = 0x0a;
    pub const REGEX: u8 = 0x0b;
    pub const DB_POINTER: u8 = 0x0c;
    pub const CODE: u8 = 0x0d;
    pub const SYMBOL: u8 = 0x0e;
    pub const CODE_WITH_SCOPE: u8 = 0x0f;
    pub const INT32: u8 = 0x10;
    pub const TIMESTAMP: u8 = 0x11;
    pub const INT64: u8 = 0x12;
    pub const DECIMAL: u8 = 0x13;
    pub const MIN_KEY: u8 = 0xff;
    pub const MAX_KEY: u8 = 0x7f;
}

/// A value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// A floating-point number.
    Double(f64),
    /// Text, a symbol, or code without its scope.
    Text(&'a [u8]),
    /// A document, its size and end included.
    Document(&'a [u8]),
    /// An array: a document whose names are its indices.
    Array(&'a [u8]),
    /// Bytes of a subtype.
    Binary(u8, &'a [u8]),
    /// An identifier of twelve bytes.
    ObjectId(&'a [u8]),
    /// A boolean.
    Boolean(bool),
    /// Milliseconds since 1970.
    Date(i64),
    /// Null, or the older `undefined`.
    Null,
    /// A pattern and its options.
    Regex(&'a [u8], &'a [u8]),
    /// An integer of 32 or 64 bits.
    Integer(i64),
    /// An increment (low half) and seconds since 1970.
    Timestamp(u64),
    /// A decimal number of sixteen bytes.
    Decimal(&'a [u8]),
    /// Less than anything.
    MinKey,
    /// More than anything.
    MaxKey,
    /// A type no longer written by anybody, by its type byte; its bytes.
    Other(u8, &'a [u8]),
}

/// An element of a document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Element<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its value.
    pub value: Value<'a>,
}

/// The size that the document at the front of `bytes` claims; `None`: it has not arrived.
///
/// # Errors
/// [`WireError`] if no document has that size.
#[inline]
pub fn size(bytes: &[u8]) -> Result<Option<usize>, WireError> {
    let Some(head) = bytes.first_chunk() else { return Ok(None) };
    let claimed = i32::from_le_bytes(*head);
    let size = usize::try_from(claimed).map_err(|_| WireError::Malformed("document's size"))?;
    if size < EMPTY_SIZE {
        return Err(WireError::Malformed("document's size"));
    }
    Ok(Some(size))
}

/// The elements of a document, whose bytes are exactly `document`. An error is the last.
///
/// # Errors
/// [`WireError`] if it has another size or no end.
#[inline]
pub fn elements(document: &[u8]) -> Result<Elements<'_>, WireError> {
    if size(document)? != Some(document.len()) {
        return Err(WireError::Malformed("document's size"));
    }
    match &document[4..] {
        [inside @ .., 0] => Ok(Elements { rest: inside }),
        _ => Err(WireError::Malformed("document's end")),
    }
}

/// The elements that are left.
#[derive(Debug, Clone)]
pub struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, WireError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (&kind, rest) = self.rest.split_first()?;
        let element = cstring(rest).and_then(|(name, rest)| {
            let (value, rest) = value(kind, rest)?;
            self.rest = rest;
            Ok(Element { name, value })
        });
        if element.is_err() {
            self.rest = &[];
        }
        Some(element)
    }
}

/// Text up to a zero byte, and what is behind it.
#[inline]
fn cstring(bytes: &[u8]) -> Result<(&[u8], &[u8]), WireError> {
    let end = bytes.iter().position(|byte| *byte == 0).ok_or(WireError::Malformed("name"))?;
    Ok((&bytes[..end], &bytes[end + 1..]))
}

#[inline]
fn take<const SIZE: usize>(bytes: &[u8]) -> Result<([u8; SIZE], &[u8]), WireError> {
    let (head, rest) = bytes.split_first_chunk().ok_or(WireError::Malformed("value"))?;
    Ok((*head, rest))
}

#[inline]
fn split(bytes: &[u8], size: usize) -> Result<(&[u8], &[u8]), WireError> {
    bytes.split_at_checked(size).ok_or(WireError::Malformed("value's size"))
}

#[inline]
fn value(kind: u8, bytes: &[u8]) -> Result<(Value<'_>, &[u8]), WireError> {
    Ok(match kind {
        kind::INT32 => {
            let (head, rest) = take(bytes)?;
            (Value::Integer(i64::from(i32::from_le_bytes(head))), rest)
        }
        kind::STRING | kind::SYMBOL | kind::CODE => {
            let (text, rest) = text(bytes)?;
            (Value::Text(text), rest)
        }
        kind::DOUBLE => {
            let (head, rest) = take(bytes)?;
            (Value::Double(f64::from_le_bytes(head)), rest)
        }
        kind::DOCUMENT | kind::ARRAY => {
            let size = size(bytes)?.ok_or(WireError::Malformed("value's size"))?;
            let (document, rest) = split(bytes, size)?;
            let is_array = kind == kind::ARRAY;
            (if is_array { Value::Array(document) } else { Value::Document(document) }, rest)
        }
        kind::INT64 | kind::DATE => {
            let (head, rest) = take(bytes)?;
            let number = i64::from_le_bytes(head);
            let is_date = kind == kind::DATE;
            (if is_date { Value::Date(number) } else { Value::Integer(number) }, rest)
        }
        _ => less_common(kind, bytes)?,
    })
}

fn less_common(kind: u8, bytes: &[u8]) -> Result<(Value<'_>, &[u8]), WireError> {
    Ok(match kind {
        kind::NULL | kind::UNDEFINED => (Value::Null, bytes),
        kind::BOOLEAN => match take(bytes)? {
            ([flag @ (0 | 1)], rest) => (Value::Boolean(flag == 1), rest),
            _ => return Err(WireError::Malformed("boolean")),
        },
        kind::OBJECT_ID => {
            let (id, rest) = split(bytes, 12)?;
            (Value::ObjectId(id), rest)
        }
        kind::BINARY => {
            let (size, rest) = length(bytes)?;
            let ([subtype], rest) = take(rest)?;
            let (data, rest) = split(rest, size)?;
            (Value::Binary(subtype, data), rest)
        }
        kind::REGEX => {
            let (pattern, rest) = cstring(bytes)?;
            let (options, rest) = cstring(rest)?;
            (Value::Regex(pattern, options), rest)
        }
        kind::TIMESTAMP => {
            let (head, rest) = take(bytes)?;
            (Value::Timestamp(u64::from_le_bytes(head)), rest)
        }
        kind::DECIMAL => {
            let (digits, rest) = split(bytes, 16)?;
            (Value::Decimal(digits), rest)
        }
        kind::MIN_KEY => (Value::MinKey, bytes),
        kind::MAX_KEY => (Value::MaxKey, bytes),
        kind::DB_POINTER => {
            let (_, behind) = text(bytes)?;
            let (_, rest) = split(behind, 12)?;
            (Value::Other(kind, &bytes[..bytes.len() - rest.len()]), rest)
        }
        kind::CODE_WITH_SCOPE => {
            let (size, _) = length(bytes)?;
            let (whole, rest) = split(bytes, size.max(4))?;
            (Value::Other(kind, whole), rest)
        }
        _ => return Err(WireError::Malformed("type of a value")),
    })
}

/// A size that is not negative.
#[inline]
fn length(bytes: &[u8]) -> Result<(usize, &[u8]), WireError> {
    let (head, rest) = take(bytes)?;
    let size = usize::try_from(i32::from_le_bytes(head));
    Ok((size.map_err(|_| WireError::Malformed("value's size"))?, rest))
}

/// A string with its size, which counts the zero byte behind it.
#[inline]
fn text(bytes: &[u8]) -> Result<(&[u8], &[u8]), WireError> {
    let (size, rest) = length(bytes)?;
    let (text, rest) = split(rest, size)?;
    match text {
        [text @ .., 0] => Ok((text, rest)),
        _ => Err(WireError::Malformed("text")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `bson.encode` of pymongo 4.20 wrote it, of: d 1.5, s "é", o {a 1}, l [True, None], b
    /// Binary(b"\x01\x02", 5), i ObjectId("0102…0c"), t datetime(1970, 1, 1, second=1), r
    /// Regex("^a", "i"), c Code("x"), n 7, z Timestamp(5, 6), q Int64(1 << 40), p
    /// Decimal128("1.1"), m MinKey, x MaxKey.
    const ALL: &[u8] = include_bytes!("../tests/pymongo/all.bson");

    fn read(document: &[u8]) -> Result<Vec<Element<'_>>, WireError> {
        elements(document)?.collect()
    }

    #[test]
    fn what_pymongo_wrote_is_read() {
        let found = read(ALL).unwrap();
        let names: Vec<_> = found.iter().map(|element| element.name).collect();
        let expected = b"dsolbitrcnzqpmx".chunks(1).collect::<Vec<_>>();
        assert_eq!(names, expected);
        let values: Vec<_> = found.iter().map(|element| element.value).collect();
        assert_eq!(values[0], Value::Double(1.5));
        assert_eq!(values[1], Value::Text("é".as_bytes()));
        let Value::Document(inner) = values[2] else { panic!("{:?}", values[2]) };
        assert_eq!(read(inner).unwrap(), [Element { name: b"a", value: Value::Integer(1) }]);
        let Value::Array(inner) = values[3] else { panic!("{:?}", values[3]) };
        let items: Vec<_> = read(inner).unwrap().iter().map(|element| element.value).collect();
        assert_eq!(items, [Value::Boolean(true), Value::Null]);
        assert_eq!(values[4], Value::Binary(5, &[1, 2]));
        assert_eq!(values[5], Value::ObjectId(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]));
        assert_eq!(values[6], Value::Date(1000));
        assert_eq!(values[7], Value::Regex(b"^a", b"i"));
        assert_eq!(values[8], Value::Text(b"x"));
        assert_eq!(values[9], Value::Integer(7));
        assert_eq!(values[10], Value::Timestamp(5 << 32 | 6));
        assert_eq!(values[11], Value::Integer(1 << 40));
        assert!(matches!(values[12], Value::Decimal(_)));
        assert_eq!(values[13..], [Value::MinKey, Value::MaxKey]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for end in 0..ALL.len() {
            assert!(elements(&ALL[..end]).is_err(), "cut at {end}");
        }
        for bad in [
            &b"\x04\0\0\0"[..],
            b"\x05\0\0\0\x01",
            b"\xff\xff\xff\xff\0",
            b"\x07\0\0\0\x0aa\0",
            b"\x09\0\0\0\x08a\0\x02\0",
            b"\x08\0\0\0\x63a\0\0",
            b"\x0d\0\0\0\x02a\0\0\0\0\0x\0",
            b"\x0c\0\0\0\x03a\0\x04\0\0\0\0",
        ] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            cases: if cfg!(miri) { 8 } else { 256 },
            ..ProptestConfig::default()
        })]

        /// Whatever bytes come, they are read or refused.
        #[test]
        fn no_bytes_are_too_much(mut bytes in prop::collection::vec(any::<u8>(), 4..200)) {
            let size = bytes.len() as u32;
            bytes[..4].copy_from_slice(&size.to_le_bytes());
            if let Some(end) = bytes.last_mut() {
                *end = 0;
            }
            let _ = read(&bytes);
        }
    }
}
