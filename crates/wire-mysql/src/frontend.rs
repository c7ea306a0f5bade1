//! Encodes commands, one function each, straight into the caller's buffer.
//!
//! A command that can't be sent (longer than [`PAYLOAD_SIZE_MAX`], too many values) leaves the
//! buffer unchanged.

use crate::{PACKET_SIZE_MAX, PAYLOAD_SIZE_MAX, WireError};

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;
/// MariaDB's.
const COM_STMT_BULK_EXECUTE: u8 = 0xfa;

const TYPE_NULL: u8 = 0x06;
const TYPE_LONGLONG: u8 = 0x08;
/// Beside a type: its numbers have no sign.
const UNSIGNED: u8 = 0x80;
/// Bytes that are stored as they are, in whatever character set.
const TYPE_BLOB: u8 = 0xfc;

/// Far below the smallest `max_allowed_packet` in use.
const FILE_PACKET_SIZE: usize = 256 * 1024;

/// The protocol counts values in 16 bits.
const VALUES_MAX: usize = u16::MAX as usize;

/// A bound value as the protocol types it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound<'a> {
    /// MYSQL_TYPE_NULL.
    Null,
    /// MYSQL_TYPE_LONGLONG.
    Int(i64),
    /// The same, marked as unsigned.
    Unsigned(u64),
    /// MYSQL_TYPE_DOUBLE.
    Double(f64),
    /// MYSQL_TYPE_VAR_STRING.
    Bytes(&'a [u8]),
}

/// COM_QUERY: statement text.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn query(sql: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    command(COM_QUERY, |out| out.extend_from_slice(sql), out)
}

/// COM_QUERY, with its text written in place by the caller.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn query_with(write: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) -> Result<(), WireError> {
    command(COM_QUERY, write, out)
}

/// COM_STMT_PREPARE.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn prepare(sql: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    command(COM_STMT_PREPARE, |out| out.extend_from_slice(sql), out)
}

/// COM_STMT_EXECUTE without a cursor; `statement` is the server's own number.
///
/// # Errors
/// [`WireError::TooLong`], also for more values than the protocol can count.
pub fn execute<'a>(
    statement: u32,
    values: impl ExactSizeIterator<Item = Bound<'a>>,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let count = values.len();
    if count > VALUES_MAX {
        return Err(WireError::TooLong { found: count as u64, limit: VALUES_MAX as u64 });
    }
    let write = |out: &mut Vec<u8>| {
        out.extend_from_slice(&statement.to_le_bytes());
        // No cursor, one iteration.
        out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if count == 0 {
            return;
        }
        let nulls = out.len();
        out.resize(nulls + count.div_ceil(8), 0);
        // The types follow: the server keeps none between executions that could be outdated.
        out.push(1);
        let types = out.len();
        out.resize(types + 2 * count, 0);
        for (index, value) in values.enumerate() {
            out[types + 2 * index] = match value {
                Bound::Null => {
                    out[nulls + index / 8] |= 1 << (index % 8);
                    TYPE_NULL
                }
                Bound::Int(number) => {
                    out.extend_from_slice(&number.to_le_bytes());
                    TYPE_LONGLONG
                }
                Bound::Unsigned(number) => {
                    out[types + 2 * index + 1] = UNSIGNED;
                    out.extend_from_slice(&number.to_le_bytes());
                    TYPE_LONGLONG
                }
                Bound::Double(number) => {
                    out.extend_from_slice(&number.to_le_bytes());
                    0x05
                }
                Bound::Bytes(bytes) => {
                    length(bytes.len(), out);
                    out.extend_from_slice(bytes);
                    0xfd
                }
            };
        }
    };
    command(COM_STMT_EXECUTE, write, out)
}

/// COM_STMT_CLOSE. It has no reply.
pub fn close(statement: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&[5, 0, 0, 0, COM_STMT_CLOSE]);
    out.extend_from_slice(&statement.to_le_bytes());
}

/// Rows of values for one execution of a prepared statement.
#[derive(Debug, PartialEq)]
pub struct Batch {
    /// Of each column.
    types: Vec<u8>,
    rows: Vec<u8>,
}

impl Batch {
    /// No rows yet, with capacity for this many bytes.
    pub fn with_capacity(size: usize) -> Self {
        Self { types: Vec::new(), rows: Vec::with_capacity(size) }
    }

    /// Columns seen so far.
    pub fn columns(&self) -> usize {
        self.types.len()
    }

    /// Bytes of the rows.
    pub fn size(&self) -> usize {
        self.rows.len()
    }

    /// Adds NULL.
    pub fn null(&mut self, column: usize) -> Option<()> {
        self.typed(column, TYPE_NULL)?;
        self.rows.push(1);
        Some(())
    }

    /// Adds a number; `None`: the column holds texts.
    pub fn int(&mut self, column: usize, value: i64) -> Option<()> {
        self.typed(column, TYPE_LONGLONG)?;
        self.rows.push(0);
        self.rows.extend_from_slice(&value.to_le_bytes());
        Some(())
    }

    /// Adds a text; `None`: the column holds numbers.
    pub fn bytes(&mut self, column: usize, value: &[u8]) -> Option<()> {
        self.typed(column, TYPE_BLOB)?;
        self.rows.push(0);
        length(value.len(), &mut self.rows);
        self.rows.extend_from_slice(value);
        Some(())
    }

    /// A column has one type in all rows, or NULL.
    fn typed(&mut self, column: usize, kind: u8) -> Option<()> {
        if column == self.types.len() {
            self.types.push(kind);
        }
        match self.types.get_mut(column)? {
            known if *known == kind || kind == TYPE_NULL => {}
            known if *known == TYPE_NULL => *known = kind,
            _ => return None,
        }
        Some(())
    }
}

/// COM_STMT_BULK_EXECUTE, if agreed in the handshake; `statement` is the server's id.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn bulk_execute(statement: u32, batch: &Batch, out: &mut Vec<u8>) -> Result<(), WireError> {
    /// The types follow.
    const SEND_TYPES: u16 = 128;
    let write = |out: &mut Vec<u8>| {
        out.extend_from_slice(&statement.to_le_bytes());
        out.extend_from_slice(&SEND_TYPES.to_le_bytes());
        out.extend(batch.types.iter().flat_map(|kind| [*kind, 0]));
        out.extend_from_slice(&batch.rows);
    };
    command(COM_STMT_BULK_EXECUTE, write, out)
}

/// Sets the statement of a [`bulk_execute`] that was encoded beforehand.
pub fn bulk_execute_of(statement: u32, command: &mut [u8]) {
    command[5..9].copy_from_slice(&statement.to_le_bytes());
}

/// A file the server has asked for, in packets below any `max_allowed_packet`, and its end.
/// `sequence` is that of the first packet.
pub fn file(sequence: u8, data: &[u8], out: &mut Vec<u8>) {
    let mut sequence = sequence;
    for part in data.chunks(FILE_PACKET_SIZE).chain([&[][..]]) {
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        header(part.len(), sequence, &mut out[at..]);
        out.extend_from_slice(part);
        sequence = sequence.wrapping_add(1);
    }
}

/// COM_QUIT: ends the session, without a reply.
pub fn quit(out: &mut Vec<u8>) {
    out.extend_from_slice(&[1, 0, 0, 0, COM_QUIT]);
}

/// A command starts a new packet sequence.
fn command(code: u8, write: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) -> Result<(), WireError> {
    let write = |out: &mut Vec<u8>| {
        out.push(code);
        write(out);
    };
    payload(0, write, out)
}

/// Appends what `write` writes as one payload, in as many packets as needed.
pub(crate) fn payload(
    sequence: u8,
    write: impl FnOnce(&mut Vec<u8>),
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let size = out.len() - start - 4;
    if size < PACKET_SIZE_MAX {
        header(size, sequence, &mut out[start..start + 4]);
        return Ok(());
    }
    if size > PAYLOAD_SIZE_MAX {
        out.truncate(start);
        return Err(WireError::TooLong { found: size as u64, limit: PAYLOAD_SIZE_MAX as u64 });
    }
    let long = out.split_off(start + 4);
    out.truncate(start);
    // Full packets, then one that is not full, even if empty.
    for (index, part) in
        (0..=size / PACKET_SIZE_MAX).zip(long.chunks(PACKET_SIZE_MAX).chain([&[][..]]))
    {
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        header(part.len(), sequence.wrapping_add(index as u8), &mut out[at..]);
        out.extend_from_slice(part);
    }
    Ok(())
}

fn header(size: usize, sequence: u8, place: &mut [u8]) {
    let [a, b, c, ..] = (size as u32).to_le_bytes();
    place.copy_from_slice(&[a, b, c, sequence]);
}

/// A length-encoded integer.
pub(crate) fn length(value: usize, out: &mut Vec<u8>) {
    let bytes = (value as u64).to_le_bytes();
    match value {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_one_type_a_column() {
        let mut batch = Batch::with_capacity(0);
        assert_eq!(batch.null(0).and(batch.bytes(1, b"ab")), Some(()));
        assert_eq!(batch.int(0, 7).and(batch.null(1)), Some(()));
        assert_eq!((batch.int(1, 1), batch.bytes(0, b"")), (None, None));
        let mut out = Vec::new();
        bulk_execute(5, &batch, &mut out).unwrap();
        let expected =
            b"\x1a\0\0\0\xfa\x05\0\0\0\x80\0\x08\0\xfc\0\x01\0\x02ab\0\x07\0\0\0\0\0\0\0\x01";
        assert_eq!(out, expected);
        bulk_execute_of(6, &mut out);
        assert_eq!(out[4..9], [0xfa, 6, 0, 0, 0]);
    }
    use crate::backend;

    fn written(write: impl FnOnce(&mut Vec<u8>) -> Result<(), WireError>) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        out
    }

    #[test]
    fn commands_are_as_the_manual_says() {
        assert_eq!(written(|out| query(b"SELECT 1", out)), b"\x09\0\0\0\x03SELECT 1");
        assert_eq!(written(|out| prepare(b"DO 1", out)), b"\x05\0\0\0\x16DO 1");
        assert_eq!(
            written(|out| execute(7, [].into_iter(), out)),
            b"\x0a\0\0\0\x17\x07\0\0\0\0\x01\0\0\0"
        );
        let values = [Bound::Int(-2), Bound::Null, Bound::Bytes(b"ab"), Bound::Double(1.0)];
        let expected = [
            &b"\x28\0\0\0\x17\x07\0\0\0\0\x01\0\0\0\x02\x01\x08\0\x06\0\xfd\0\x05\0"[..],
            b"\xfe\xff\xff\xff\xff\xff\xff\xff\x02ab",
            b"\0\0\0\0\0\0\xf0\x3f",
        ];
        let found = written(|out| execute(7, values.into_iter(), out));
        assert_eq!(&found[4..], &expected.concat()[4..]);
        assert_eq!(usize::from(found[0]), found.len() - 4);
    }

    #[test]
    fn a_number_without_a_sign_says_so() {
        let found = written(|out| execute(7, [Bound::Unsigned(u64::MAX)].into_iter(), out));
        assert_eq!(found[14..], *b"\0\x01\x08\x80\xff\xff\xff\xff\xff\xff\xff\xff");
    }

    #[test]
    fn a_long_payload_goes_on_in_further_packets() {
        for size in
            [PACKET_SIZE_MAX - 2, PACKET_SIZE_MAX - 1, PACKET_SIZE_MAX, 2 * PACKET_SIZE_MAX - 1]
        {
            let out = written(|out| query(&vec![b'x'; size], out));
            let mut rest = &out[..];
            let (mut total, mut sequence) = (0, 0);
            loop {
                let packet = backend::header(rest).unwrap();
                assert_eq!(packet.sequence, sequence);
                total += packet.size;
                sequence += 1;
                rest = &rest[4 + packet.size..];
                if packet.size < PACKET_SIZE_MAX {
                    break;
                }
            }
            assert_eq!((total, rest.len()), (size + 1, 0));
        }
    }

    #[test]
    fn a_file_ends_with_an_empty_packet() {
        let mut out = Vec::new();
        file(255, &vec![b'x'; FILE_PACKET_SIZE + 1], &mut out);
        assert_eq!(out[..5], [0, 0, 4, 255, b'x']);
        assert_eq!(out[4 + FILE_PACKET_SIZE..], [1, 0, 0, 0, b'x', 0, 0, 0, 1]);
        out.clear();
        file(2, b"", &mut out);
        assert_eq!(out, [0, 0, 0, 2]);
    }

    #[test]
    fn lengths_are_as_short_as_they_can_be() {
        for value in [0, 250, 251, 65_535, 65_536, 0xff_ffff, 0x100_0000] {
            let mut out = Vec::new();
            length(value, &mut out);
            assert_eq!(backend::length(&out), Some((Some(value as u64), &[][..])));
        }
    }
}
