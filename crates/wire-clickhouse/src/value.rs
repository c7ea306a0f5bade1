//! Values as text, as the server's TabSeparated has them, without its escapes. Times are in UTC.

use std::io::Write;

use crate::civil::date_of;
use crate::kind::{Kind, Typed, elements};
use crate::reader::{Reader, complete};
use crate::{TEXT_SIZE_MAX, WireError};

const SECONDS_OF_DAY: i64 = 86_400;

/// The string at the front of `bytes`: the bytes of its size, and the size; `None`: it is
/// incomplete.
///
/// # Errors
/// [`WireError::TooLong`].
#[inline]
pub fn cell(bytes: &[u8]) -> Result<Option<(usize, usize)>, WireError> {
    let mut reader = Reader::new(bytes);
    let size = complete(reader.text_size(TEXT_SIZE_MAX))?;
    Ok(size.map(|size| (reader.at, size)))
}

/// Appends a value, whose bytes these are, as text; `None`: values of this type are not read.
pub fn text(typed: &Typed<'_>, bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    match typed.kind {
        Kind::Text | Kind::Fixed(_) => out.extend_from_slice(bytes),
        Kind::UInt(size) if size <= 8 => integer(signed(bytes) as u64 & mask(size), out),
        Kind::Int(size) if size <= 8 => integer(signed(bytes) as i64, out),
        Kind::UInt(_) => integer(signed(bytes) as u128, out),
        Kind::Int(_) => integer(signed(bytes), out),
        Kind::Bool => out.extend_from_slice(if bytes == [0] { b"false" } else { b"true" }),
        Kind::Float32 => float(f32::from_le_bytes(bytes.try_into().ok()?), out),
        Kind::Float64 => float(f64::from_le_bytes(bytes.try_into().ok()?), out),
        Kind::Date => date((signed(bytes) as u16).into(), out),
        Kind::Date32 => date(signed(bytes) as i64, out),
        Kind::DateTime => time((signed(bytes) as u32).into(), out),
        Kind::DateTime64(scale) => {
            let (units, unit) = (signed(bytes) as i64, 10_i64.pow(scale.into()));
            time(units.div_euclid(unit), out);
            if scale > 0 {
                written(
                    out,
                    format_args!(".{:0width$}", units.rem_euclid(unit), width = scale.into()),
                );
            }
        }
        Kind::Decimal { scale, .. } => decimal(signed(bytes), scale, out),
        Kind::Uuid => uuid(bytes, out)?,
        Kind::Enum(_) => out.extend_from_slice(name_of(typed.arguments, signed(bytes) as i64)?),
        Kind::Opaque(_) | Kind::Array | Kind::Map | Kind::Tuple => return None,
    }
    Some(())
}

/// An integer of up to 16 bytes, the least byte first.
fn signed(bytes: &[u8]) -> i128 {
    let fill = if bytes.last().is_some_and(|byte| *byte > 0x7f) { 0xff } else { 0 };
    let mut whole = [fill; 16];
    let size = bytes.len().min(16);
    whole[..size].copy_from_slice(&bytes[..size]);
    i128::from_le_bytes(whole)
}

fn mask(size: u8) -> u64 {
    u64::MAX >> (64 - 8 * u32::from(size))
}

fn integer(number: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn written(out: &mut Vec<u8>, what: std::fmt::Arguments<'_>) {
    let written = out.write_fmt(what);
    debug_assert!(written.is_ok(), "a Vec takes all bytes");
}

/// The fewest digits that read back as the same number.
fn float(
    number: impl Into<f64> + std::fmt::Display + std::fmt::LowerExp + Copy,
    out: &mut Vec<u8>,
) {
    let value: f64 = number.into();
    let size = value.abs();
    if value.is_nan() {
        out.extend_from_slice(b"nan");
    } else if size != 0.0 && size.is_finite() && !(1e-6..1e21).contains(&size) {
        written(out, format_args!("{number:e}"));
    } else {
        written(out, format_args!("{number}"));
    }
}

fn date(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = date_of(days);
    written(out, format_args!("{year:04}-{month:02}-{day:02}"));
}

fn time(seconds: i64, out: &mut Vec<u8>) {
    date(seconds.div_euclid(SECONDS_OF_DAY), out);
    let second = seconds.rem_euclid(SECONDS_OF_DAY);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    written(out, format_args!(" {hour:02}:{minute:02}:{:02}", second % 60));
}

fn decimal(units: i128, scale: u8, out: &mut Vec<u8>) {
    let unit = 10_u128.pow(scale.into());
    let sign = if units < 0 { "-" } else { "" };
    let (whole, part) = (units.unsigned_abs() / unit, units.unsigned_abs() % unit);
    written(out, format_args!("{sign}{whole}"));
    if scale > 0 {
        written(out, format_args!(".{part:0width$}", width = scale.into()));
    }
}

fn uuid(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (high, low) = bytes.split_first_chunk::<8>()?;
    let high = u64::from_le_bytes(*high);
    let low = u64::from_le_bytes(low.try_into().ok()?);
    let (first, second, third) = (high >> 32, high >> 16 & 0xffff, high & 0xffff);
    let (fourth, fifth) = (low >> 48, low & 0xffff_ffff_ffff);
    written(out, format_args!("{first:08x}-{second:04x}-{third:04x}-{fourth:04x}-{fifth:012x}"));
    Some(())
}

/// A name of an enumeration, `'a' = 1`, without its quotes; one with a backslash is not read.
fn name_of(arguments: &[u8], wanted: i64) -> Option<&[u8]> {
    names(arguments).find(|(_, number)| *number == wanted).map(|(name, _)| name)
}

/// The names of an enumeration with their numbers.
pub(crate) fn names(arguments: &[u8]) -> impl Iterator<Item = (&[u8], i64)> {
    elements(arguments).filter_map(|element| {
        let equals = element.iter().rposition(|byte| *byte == b'=')?;
        let number = str::from_utf8(&element[equals + 1..]).ok()?.trim().parse().ok()?;
        let name = element[..equals].trim_ascii().strip_prefix(b"'")?.strip_suffix(b"'")?;
        (!name.contains(&b'\\')).then_some((name, number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::typed;

    fn shown(type_name: &str, bytes: &[u8]) -> Option<String> {
        let mut out = Vec::new();
        text(&typed(type_name.as_bytes()).unwrap(), bytes, &mut out)?;
        Some(String::from_utf8(out).unwrap())
    }

    #[test]
    fn values_are_written_as_the_server_writes_them() {
        let check = |type_name, bytes: &[u8], expected: &str| {
            assert_eq!(shown(type_name, bytes).as_deref(), Some(expected), "{type_name}");
        };
        check("UInt8", &[0xff], "255");
        check("Int8", &[0xff], "-1");
        check("UInt64", &[0xff; 8], "18446744073709551615");
        check("Int64", &i64::MIN.to_le_bytes(), "-9223372036854775808");
        check("Int128", &[0xff; 16], "-1");
        check("Float64", &0.1_f64.to_le_bytes(), "0.1");
        check("Float32", &0.1_f32.to_le_bytes(), "0.1");
        check("Float64", &1e300_f64.to_le_bytes(), "1e300");
        check("Float64", &f64::NAN.to_le_bytes(), "nan");
        check("Date", &[0xff, 0xff], "2149-06-06");
        check("DateTime", &u32::MAX.to_le_bytes(), "2106-02-07 06:28:15");
        check("DateTime64(3)", &(-1_i64).to_le_bytes(), "1969-12-31 23:59:59.999");
        check("Decimal(9, 2)", &(-5_i32).to_le_bytes(), "-0.05");
        check("Decimal(18, 0)", &12_i64.to_le_bytes(), "12");
        check("FixedString(2)", b"a\0", "a\0");
        check("Enum8('a' = 1, 'b=2' = -2)", &[0xfe], "b=2");
        check("Bool", &[1], "true");
        let halves = [0x0123_4567_89ab_cdef_u64, 0xfedc_ba98_7654_3210].map(u64::to_le_bytes);
        check("UUID", &halves.concat(), "01234567-89ab-cdef-fedc-ba9876543210");
        assert_eq!(shown("IPv4", &[0; 4]), None);
        assert_eq!(shown("Enum8('a' = 1)", &[2]), None);
    }
}
