//! The rows of prepared statements (the manual's "Binary Protocol Resultset"), as the text the
//! server would have sent for the same value. Written on the stack.

use std::io::{Cursor, Write};

use crate::WireError;
use crate::backend::{self, Column};

const MALFORMED: WireError = WireError::Malformed("binary row");

/// Enough for the longest value that isn't text already: `f64::MIN` in full, or a time.
const TEXT_SIZE_MAX: usize = 352;

/// Reads a row: calls `value` for each column, with `None` for NULL.
///
/// # Errors
/// [`WireError::Malformed`] if the values don't fill it; `value` may have been called before.
pub fn row(
    payload: &[u8],
    columns: impl ExactSizeIterator<Item = Result<Column, WireError>>,
    mut value: impl FnMut(Option<&[u8]>),
) -> Result<(), WireError> {
    // One byte, then the NULL bits, which begin at bit 2.
    let nulls = payload.get(1..1 + (columns.len() + 2).div_ceil(8)).ok_or(MALFORMED)?;
    let mut rest = &payload[1 + nulls.len()..];
    for (index, column) in columns.enumerate() {
        let column = column?;
        let bit = index + 2;
        if nulls[bit / 8] & (1 << (bit % 8)) != 0 {
            value(None);
        } else {
            rest = read(column, rest, &mut value).ok_or(MALFORMED)?;
        }
    }
    if rest.is_empty() { Ok(()) } else { Err(MALFORMED) }
}

/// Reads one value and returns what follows it.
fn read<'a>(
    column: Column,
    bytes: &'a [u8],
    value: &mut impl FnMut(Option<&[u8]>),
) -> Option<&'a [u8]> {
    let Column { kind, is_unsigned } = column;
    match kind {
        // TINY, SHORT, LONG, LONGLONG, INT24, YEAR: by their size.
        1 | 2 | 3 | 8 | 9 | 13 => {
            let size = match kind {
                1 => 1,
                2 | 13 => 2,
                3 | 9 => 4,
                _ => 8,
            };
            let (digits, rest) = bytes.split_at_checked(size)?;
            let negative = !is_unsigned && kind != 13 && digits[size - 1] & 0x80 != 0;
            let mut wide = if negative { [0xff; 8] } else { [0; 8] };
            wide[..size].copy_from_slice(digits);
            let mut buffer = itoa::Buffer::new();
            let text = if is_unsigned {
                buffer.format(u64::from_le_bytes(wide))
            } else {
                buffer.format(i64::from_le_bytes(wide))
            };
            value(Some(text.as_bytes()));
            Some(rest)
        }
        4 => {
            let (digits, rest) = bytes.split_first_chunk()?;
            written(|out| write!(out, "{}", f32::from_le_bytes(*digits)), value)?;
            Some(rest)
        }
        5 => {
            let (digits, rest) = bytes.split_first_chunk()?;
            written(|out| write!(out, "{}", f64::from_le_bytes(*digits)), value)?;
            Some(rest)
        }
        // NULL has no value behind it.
        6 => {
            value(None);
            Some(bytes)
        }
        // TIMESTAMP, DATE, DATETIME.
        7 | 10 | 12 => {
            let (parts, rest) = sized(bytes)?;
            written(|out| date(parts, kind == 10, out), value)?;
            Some(rest)
        }
        // TIME.
        11 => {
            let (parts, rest) = sized(bytes)?;
            written(|out| time(parts, out), value)?;
            Some(rest)
        }
        // Everything else is text of its own length.
        _ => {
            let (text, rest) = backend::text(bytes)?;
            value(text);
            Some(rest)
        }
    }
}

/// A value preceded by its size in one byte.
fn sized(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&size, rest) = bytes.split_first()?;
    rest.split_at_checked(usize::from(size))
}

type Out<'a> = Cursor<&'a mut [u8]>;

fn written(
    write: impl FnOnce(&mut Out<'_>) -> std::io::Result<()>,
    value: &mut impl FnMut(Option<&[u8]>),
) -> Option<()> {
    let mut buffer = [0; TEXT_SIZE_MAX];
    let mut out = Cursor::new(&mut buffer[..]);
    write(&mut out).ok()?;
    let size = out.position() as usize;
    value(Some(&buffer[..size]));
    Some(())
}

/// The server leaves out trailing parts that are zero.
fn date(parts: &[u8], is_date: bool, out: &mut Out<'_>) -> std::io::Result<()> {
    let part = |index: usize| parts.get(index).copied().unwrap_or(0);
    let year = u16::from_le_bytes([part(0), part(1)]);
    write!(out, "{year:04}-{:02}-{:02}", part(2), part(3))?;
    if is_date {
        return Ok(());
    }
    write!(out, " {:02}:{:02}:{:02}", part(4), part(5), part(6))?;
    fraction(parts.get(7..), out)
}

fn time(parts: &[u8], out: &mut Out<'_>) -> std::io::Result<()> {
    let part = |index: usize| parts.get(index).copied().unwrap_or(0);
    let days = u32::from_le_bytes([part(1), part(2), part(3), part(4)]);
    let hours = u64::from(days) * 24 + u64::from(part(5));
    let sign = if part(0) == 0 { "" } else { "-" };
    write!(out, "{sign}{hours:02}:{:02}:{:02}", part(6), part(7))?;
    fraction(parts.get(8..), out)
}

fn fraction(digits: Option<&[u8]>, out: &mut Out<'_>) -> std::io::Result<()> {
    match digits.and_then(|digits| digits.first_chunk()) {
        Some(digits) => write!(out, ".{:06}", u32::from_le_bytes(*digits)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: u8, is_unsigned: bool, bytes: &[u8], expected: &str) {
        let payload = [&[0, 0][..], bytes].concat();
        let mut found = None;
        let column = Ok(Column { kind, is_unsigned });
        row(&payload, [column].into_iter(), |value| found = value.map(<[u8]>::to_vec)).unwrap();
        assert_eq!(String::from_utf8(found.unwrap()).unwrap(), expected);
    }

    #[test]
    fn values_are_written_as_the_text_protocol_writes_them() {
        check(1, false, &[0xff], "-1");
        check(1, true, &[0xff], "255");
        check(3, false, &i32::MIN.to_le_bytes(), "-2147483648");
        check(8, true, &[0xff; 8], "18446744073709551615");
        check(13, true, &[0xe8, 0x07], "2024");
        check(4, false, &1.5f32.to_le_bytes(), "1.5");
        check(5, false, &0.1f64.to_le_bytes(), "0.1");
        check(10, false, &[4, 0xe8, 0x07, 2, 29], "2024-02-29");
        check(12, false, &[4, 0xe8, 0x07, 2, 29], "2024-02-29 00:00:00");
        check(12, false, &[0], "0000-00-00 00:00:00");
        check(
            7,
            false,
            &[11, 0xe8, 0x07, 2, 29, 1, 2, 3, 4, 0, 0, 0],
            "2024-02-29 01:02:03.000004",
        );
        check(11, false, &[8, 1, 2, 0, 0, 0, 3, 4, 5], "-51:04:05");
        check(253, false, b"\x02ab", "ab");
        check(246, false, b"\x041.50", "1.50");
    }

    #[test]
    fn nulls_and_sizes_have_to_fit() {
        let column = || Ok(Column { kind: 1, is_unsigned: false });
        let mut found = Vec::new();
        let columns = [column(), column()];
        let take = |value: Option<&[u8]>| found.push(value.map(<[u8]>::to_vec));
        row(&[0, 0b100, 7], columns.into_iter(), take).unwrap();
        assert_eq!(found, [None, Some(b"7".to_vec())]);
        for bad in [&[][..], &[0], &[0, 0], &[0, 0, 1, 2]] {
            assert_eq!(row(bad, [column()].into_iter(), |_| ()), Err(MALFORMED), "{bad:?}");
        }
        let longest = [&[0, 0][..], &f64::MIN_POSITIVE.to_le_bytes()].concat();
        let double = Ok(Column { kind: 5, is_unsigned: false });
        assert!(row(&longest, [double].into_iter(), |_| ()).is_ok());
    }
}
