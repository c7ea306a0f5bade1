//! Replies: framing by length, and payloads decoded on demand. Nothing here allocates.

use crate::WireError;

/// Bytes before a packet's payload: its size and its place in the sequence.
pub const HEADER_SIZE: usize = 4;

/// First byte of an OK payload.
pub const OK: u8 = 0x00;
/// First byte of an EOF payload, or of the OK that ends the rows where EOF is deprecated.
pub const EOF: u8 = 0xfe;
/// First byte of an error.
pub const ERR: u8 = 0xff;
/// First byte of a request for a client file.
pub const LOCAL_INFILE: u8 = 0xfb;

/// SERVER_STATUS_IN_TRANS.
pub const STATUS_IN_TRANSACTION: u16 = 0x0001;
/// SERVER_MORE_RESULTS_EXISTS.
pub const STATUS_MORE_RESULTS: u16 = 0x0008;
/// SERVER_STATUS_NO_BACKSLASH_ESCAPES.
pub const STATUS_NO_BACKSLASH_ESCAPES: u16 = 0x0200;

/// A packet's size and its place in the sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Bytes after the header; 0xffffff: the payload continues in the next packet.
    pub size: usize,
    /// Counts the packets of one command and its reply, modulo 256.
    pub sequence: u8,
}

/// Reads the header at the front of `bytes`; `None`: there are too few.
#[inline]
pub fn header(bytes: &[u8]) -> Option<Header> {
    let [a, b, c, sequence, ..] = *bytes else { return None };
    Some(Header { size: u32::from_le_bytes([a, b, c, 0]) as usize, sequence })
}

/// Reads a length-encoded integer: its value (`None`: it is the mark of NULL) and what follows.
#[inline]
pub fn length(bytes: &[u8]) -> Option<(Option<u64>, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    let size = match first {
        0xfb => return Some((None, rest)),
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        0xff => return None,
        small => return Some((Some(u64::from(small)), rest)),
    };
    let (digits, rest) = rest.split_at_checked(size)?;
    let mut value = [0; 8];
    value[..size].copy_from_slice(digits);
    Some((Some(u64::from_le_bytes(value)), rest))
}

/// Reads a length-encoded text: the text (`None`: NULL) and what follows.
#[inline]
pub fn text(bytes: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let (size, rest) = length(bytes)?;
    let Some(size) = size else { return Some((None, rest)) };
    let (value, rest) = rest.split_at_checked(usize::try_from(size).ok()?)?;
    Some((Some(value), rest))
}

/// The content of an OK packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Rows changed.
    pub affected: u64,
    /// `STATUS_…` flags.
    pub status: u16,
}

/// Reads an OK payload, its first byte included.
///
/// # Errors
/// [`WireError::Malformed`].
#[inline]
pub fn ok(payload: &[u8]) -> Result<Completion, WireError> {
    let read = || {
        let (affected, rest) = length(payload.get(1..)?)?;
        let (_last_insert_id, rest) = length(rest)?;
        let status = u16::from_le_bytes(*rest.first_chunk()?);
        Some(Completion { affected: affected?, status })
    };
    read().ok_or(WireError::Malformed("OK packet"))
}

/// Reads the number of warnings and notes in an OK payload, its first byte included.
///
/// # Errors
/// [`WireError::Malformed`].
pub fn warnings(payload: &[u8]) -> Result<u16, WireError> {
    let read = || {
        let (_affected, rest) = length(payload.get(1..)?)?;
        let (_last_insert_id, rest) = length(rest)?;
        Some(u16::from_le_bytes(*rest.get(2..)?.first_chunk()?))
    };
    read().ok_or(WireError::Malformed("OK packet"))
}

/// Reads the status in an EOF payload, its first byte included.
///
/// # Errors
/// [`WireError::Malformed`].
#[inline]
pub fn eof(payload: &[u8]) -> Result<u16, WireError> {
    match payload {
        [_, _, _, low, high] => Ok(u16::from_le_bytes([*low, *high])),
        _ => Err(WireError::Malformed("EOF packet")),
    }
}

/// The fields of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorFields<'a> {
    /// The server's own number.
    pub number: u16,
    /// SQLSTATE; empty in errors before the handshake is complete.
    pub sqlstate: &'a [u8],
    /// The message text.
    pub message: &'a [u8],
}

/// Reads an error's payload, its first byte included.
///
/// # Errors
/// [`WireError::Malformed`].
pub fn error_fields(payload: &[u8]) -> Result<ErrorFields<'_>, WireError> {
    let [_, low, high, rest @ ..] = payload else {
        return Err(WireError::Malformed("error packet"));
    };
    let number = u16::from_le_bytes([*low, *high]);
    let (sqlstate, message) = match rest {
        [b'#', rest @ ..] if rest.len() >= 5 => rest.split_at(5),
        message => (&[][..], message),
    };
    Ok(ErrorFields { number, sqlstate, message })
}

/// The first packet of a reply to COM_STMT_PREPARE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepared {
    /// The server's number for the statement.
    pub statement: u32,
    /// Columns of its result set; 0: it returns none.
    pub columns: u16,
    /// Placeholders.
    pub values: u16,
}

/// Decodes the first packet of a reply to COM_STMT_PREPARE.
///
/// # Errors
/// [`WireError::Malformed`].
pub fn prepared(payload: &[u8]) -> Result<Prepared, WireError> {
    match *payload {
        [OK, a, b, c, d, columns_low, columns_high, values_low, values_high, ..] => Ok(Prepared {
            statement: u32::from_le_bytes([a, b, c, d]),
            columns: u16::from_le_bytes([columns_low, columns_high]),
            values: u16::from_le_bytes([values_low, values_high]),
        }),
        _ => Err(WireError::Malformed("reply to COM_STMT_PREPARE")),
    }
}

/// The first packet of a result set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetHead {
    /// Columns.
    pub columns: u16,
    /// Definitions follow; otherwise those last sent for the statement hold.
    pub defined: bool,
}

/// Decodes the first packet of a result set. `caches_metadata`: as agreed in the handshake.
///
/// # Errors
/// [`WireError::Malformed`].
#[inline]
pub fn set_head(payload: &[u8], caches_metadata: bool) -> Result<SetHead, WireError> {
    let read = || {
        let (columns, rest) = length(payload)?;
        let defined = if caches_metadata { *rest.first()? != 0 } else { true };
        Some(SetHead { columns: u16::try_from(columns?).ok()?, defined })
    };
    read().ok_or(WireError::Malformed("column count"))
}

/// The parts of a column definition needed to read values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// MYSQL_TYPE_….
    pub kind: u8,
    /// UNSIGNED_FLAG.
    pub is_unsigned: bool,
}

/// Reads a column definition.
///
/// # Errors
/// [`WireError::Malformed`].
pub fn column(payload: &[u8]) -> Result<Column, WireError> {
    let read = || {
        // Catalogue, schema, table, original table, name, original name.
        let mut rest = payload;
        for _ in 0..6 {
            rest = text(rest)?.1;
        }
        // Size of what follows, character set, length, type, flags.
        let [_, _, _, _, _, _, _, kind, flags, ..] = rest else { return None };
        Some(Column { kind: *kind, is_unsigned: flags & 0x20 != 0 })
    };
    read().ok_or(WireError::Malformed("column definition"))
}

/// Reads a row of the text protocol: calls `value` for each column, with `None` for NULL.
///
/// # Errors
/// [`WireError::Malformed`] if the values don't fill it; `value` may have been called before.
pub fn text_row(payload: &[u8], mut value: impl FnMut(Option<&[u8]>)) -> Result<(), WireError> {
    let mut rest = payload;
    while !rest.is_empty() {
        let (found, after) = text(rest).ok_or(WireError::Malformed("text row"))?;
        value(found);
        rest = after;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ok_and_eof_give_their_status() {
        let completion = ok(b"\0\xfc\x2c\x01\x05\x03\0\0\0").unwrap();
        assert_eq!(completion, Completion { affected: 300, status: 3 });
        assert_eq!(eof(b"\xfe\0\0\x0a\0"), Ok(0x0a));
        for bad in [&b""[..], b"\0", b"\0\x01\0\x02", b"\0\xfb\0\0\0"] {
            assert!(ok(bad).is_err(), "{bad:?}");
        }
        assert!(eof(b"\xfe\0\0").is_err());
    }

    #[test]
    fn errors_come_with_or_without_a_state() {
        let fields = error_fields(b"\xff\xbd\x04#40001Deadlock").unwrap();
        assert_eq!((fields.number, fields.sqlstate), (1213, &b"40001"[..]));
        assert_eq!(fields.message, b"Deadlock");
        let early = error_fields(b"\xff\x10\x04Too many connections").unwrap();
        assert_eq!((early.number, early.sqlstate), (1040, &b""[..]));
        assert!(error_fields(b"\xff\x10").is_err());
    }

    #[test]
    fn columns_tell_how_to_read_their_values() {
        let definition = b"\x03def\0\x01t\x01t\x01a\x01a\x0c\x3f\0\x0b\0\0\0\x03\x21\0\0\0\0";
        assert_eq!(column(definition), Ok(Column { kind: 3, is_unsigned: true }));
        assert!(column(&definition[..12]).is_err());
    }

    #[test]
    fn a_set_says_whether_definitions_follow_only_where_that_was_agreed_on() {
        let head = |columns, defined| Ok(SetHead { columns, defined });
        assert_eq!(set_head(b"\x02", false), head(2, true));
        assert_eq!(set_head(b"\x02\x01", true), head(2, true));
        assert_eq!(set_head(b"\xfc\x00\x01\x00", true), head(256, false));
        for (payload, caches_metadata) in [(&b"\x02"[..], true), (b"\xfb\x01", true), (b"", false)]
        {
            assert!(set_head(payload, caches_metadata).is_err());
        }
        assert!(set_head(b"\xfd\0\0\x01\x01", true).is_err(), "more columns than there can be");
    }

    #[test]
    fn text_rows_give_their_values() {
        let mut found = Vec::new();
        text_row(b"\x01a\xfb\0", |value| found.push(value.map(<[u8]>::to_vec))).unwrap();
        assert_eq!(found, [Some(b"a".to_vec()), None, Some(vec![])]);
        assert!(text_row(b"\x02a", |_| ()).is_err());
    }
}
