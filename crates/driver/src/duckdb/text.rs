//! Values of DuckDB's vectors as its own text (`CAST(x AS VARCHAR)`).

use std::ffi::c_int;
use std::io::Write as _;

use super::library::{Handle, Library};
use super::raw::Outcome;
use super::words::text_of;

/// How a column's values are read.
#[derive(Debug)]
pub(super) enum Kind {
    Boolean,
    Signed(usize),
    Unsigned(usize),
    Float,
    Double,
    Text,
    Blob,
    Date,
    Time,
    /// Digits of a second, and whether the text ends with UTC's offset.
    Timestamp(u32, bool),
    Interval,
    Uuid,
    /// Bytes of a value, digits behind the point, and whether there are any in front.
    Decimal(usize, u32, bool),
    /// Bytes of an index, and the words.
    Enum(usize, Box<[Box<str>]>),
    /// Nested types, and those that are newer than this program: never as text.
    Unread,
}

impl Kind {
    /// By the `duckdb_type` of a result's column.
    pub fn of(outcome: &mut Outcome, column: u64) -> Self {
        match outcome.type_of(column) {
            1 => Self::Boolean,
            19 => outcome.logical(column, |library, logical| {
                // SAFETY: the type is alive, and a DECIMAL.
                let (width, scale, inner) = unsafe {
                    (
                        (library.decimal_width)(logical),
                        (library.decimal_scale)(logical),
                        (library.decimal_internal_type)(logical),
                    )
                };
                let size = size_of_integer(inner).unwrap_or(16);
                Self::Decimal(size, u32::from(scale), width > scale)
            }),
            23 => outcome.logical(column, words_of),
            10 => Self::Float,
            11 => Self::Double,
            12 => Self::Timestamp(6, false),
            13 => Self::Date,
            14 => Self::Time,
            15 => Self::Interval,
            17 => Self::Text,
            18 => Self::Blob,
            20 => Self::Timestamp(0, false),
            21 => Self::Timestamp(3, false),
            22 => Self::Timestamp(9, false),
            27 => Self::Uuid,
            31 => Self::Timestamp(6, true),
            // All its values are NULL.
            36 => Self::Signed(4),
            kind @ (6..=9 | 32) => size_of_integer(kind).map_or(Self::Unread, Self::Unsigned),
            kind => size_of_integer(kind).map_or(Self::Unread, Self::Signed),
        }
    }
}

fn size_of_integer(kind: c_int) -> Option<usize> {
    match kind {
        2 | 6 => Some(1),
        3 | 7 => Some(2),
        4 | 8 => Some(4),
        5 | 9 => Some(8),
        16 | 32 => Some(16),
        _ => None,
    }
}

fn words_of(library: &Library, logical: Handle) -> Kind {
    // SAFETY: the type is alive, and an ENUM; its words are copied before they are freed.
    unsafe {
        let size = size_of_integer((library.enum_internal_type)(logical)).unwrap_or(4);
        let words = (0..u64::from((library.enum_dictionary_size)(logical))).map(|place| {
            let word = (library.enum_dictionary_value)(logical, place);
            let text = text_of(word).unwrap_or_default();
            (library.free)(word.cast());
            text.into_boxed_str()
        });
        Kind::Enum(size, words.collect())
    }
}

/// `duckdb_string_t`: up to 12 bytes within, or a pointer to more.
const STRING_SIZE: usize = 16;
const INLINE_MAX: usize = 12;

/// The value in a row of a vector as text, in the vector or written to `out`; `None`: its type is
/// not read.
///
/// # Safety
/// `data` has values of this kind up to `row`, which is not NULL, and lives for `'a`.
pub(super) unsafe fn text<'a>(
    kind: &Kind,
    data: *const u8,
    row: usize,
    out: &'a mut Vec<u8>,
) -> Option<&'a [u8]> {
    out.clear();
    // SAFETY: upheld by the caller: the kind's size is that of a value.
    unsafe {
        match kind {
            Kind::Boolean => out.extend_from_slice(match *data.add(row) {
                0 => b"false",
                _ => b"true",
            }),
            Kind::Signed(16) => decimal(read(data, row), 0, true, out),
            Kind::Signed(size) => integer(signed(data, row, *size), out),
            Kind::Unsigned(16) => {
                let _ = write!(out, "{}", read::<u128>(data, row));
            }
            Kind::Unsigned(size) => integer(unsigned(data, row, *size), out),
            Kind::Float => {
                let value: f32 = read(data, row);
                floating(f64::from(value), &format!("{value:e}"), out);
            }
            Kind::Double => {
                let value: f64 = read(data, row);
                floating(value, &format!("{value:e}"), out);
            }
            Kind::Text => return Some(string(data, row)),
            Kind::Blob => blob(string(data, row), out),
            Kind::Date => match read::<i32>(data, row) {
                i32::MAX => out.extend_from_slice(b"infinity"),
                days if days == -i32::MAX => out.extend_from_slice(b"-infinity"),
                days => date(i64::from(days), out),
            },
            Kind::Time => time(read(data, row), 6, out),
            Kind::Timestamp(digits, has_offset) => {
                timestamp(read(data, row), *digits, *has_offset, out);
            }
            Kind::Interval => interval(read(data, row), out),
            Kind::Uuid => uuid(read::<u128>(data, row) ^ 1 << 127, out),
            Kind::Decimal(16, scale, is_led) => decimal(read(data, row), *scale, *is_led, out),
            Kind::Decimal(size, scale, is_led) => {
                decimal(i128::from(signed(data, row, *size)), *scale, *is_led, out);
            }
            Kind::Enum(size, words) => {
                let word = words.get(unsigned(data, row, *size) as usize)?;
                out.extend_from_slice(word.as_bytes());
            }
            Kind::Unread => return None,
        }
    }
    Some(out)
}

/// # Safety
/// `data` has a value of this type at `row`.
unsafe fn read<T: Copy>(data: *const u8, row: usize) -> T {
    // SAFETY: upheld by the caller; a vector's values may lie at any address.
    unsafe { data.add(row * size_of::<T>()).cast::<T>().read_unaligned() }
}

/// # Safety
/// As for `read`, with integers of this many bytes.
unsafe fn signed(data: *const u8, row: usize, size: usize) -> i64 {
    // SAFETY: upheld by the caller.
    unsafe {
        match size {
            1 => i64::from(read::<i8>(data, row)),
            2 => i64::from(read::<i16>(data, row)),
            4 => i64::from(read::<i32>(data, row)),
            _ => read(data, row),
        }
    }
}

/// # Safety
/// As for `signed`.
unsafe fn unsigned(data: *const u8, row: usize, size: usize) -> u64 {
    // SAFETY: upheld by the caller.
    unsafe {
        match size {
            1 => u64::from(read::<u8>(data, row)),
            2 => u64::from(read::<u16>(data, row)),
            4 => u64::from(read::<u32>(data, row)),
            _ => read(data, row),
        }
    }
}

/// # Safety
/// `data` has a string at `row`, which lives for `'a`.
unsafe fn string<'a>(data: *const u8, row: usize) -> &'a [u8] {
    // SAFETY: upheld by the caller.
    unsafe {
        let start = data.add(row * STRING_SIZE);
        let size = start.cast::<u32>().read_unaligned() as usize;
        let text = match size {
            0..=INLINE_MAX => start.add(4),
            _ => start.add(8).cast::<*const u8>().read_unaligned(),
        };
        std::slice::from_raw_parts(text, size)
    }
}

fn integer(number: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// `is_led`: the type has digits in front of the point.
fn decimal(number: i128, scale: u32, is_led: bool, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    let (number, whole) = (number.unsigned_abs(), 10_u128.pow(scale));
    if is_led {
        let _ = write!(out, "{}", number / whole);
    }
    if scale > 0 {
        let _ = write!(out, ".{:0width$}", number % whole, width = scale as usize);
    }
}

/// From the fewest digits that are the value, as Rust finds them: with an exponent below 1e-4 and
/// from 1e16 on.
fn floating(value: f64, shortest: &str, out: &mut Vec<u8>) {
    let Some((digits, exponent)) = shortest.split_once('e').filter(|_| value.is_finite()) else {
        out.extend_from_slice(match value {
            _ if value.is_nan() => b"nan",
            _ if value > 0.0 => b"inf",
            _ => b"-inf",
        });
        return;
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{digits}e{sign}{:02}", exponent.unsigned_abs());
        return;
    }
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    out.extend_from_slice(sign.as_bytes());
    let digits = digits.replace('.', "");
    match usize::try_from(exponent) {
        Ok(whole) if whole + 1 >= digits.len() => {
            let _ = write!(out, "{digits:0<width$}.0", width = whole + 1);
        }
        Ok(whole) => {
            let (before, after) = digits.split_at(whole + 1);
            let _ = write!(out, "{before}.{after}");
        }
        Err(_) => {
            let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
            let _ = write!(out, "0.{zeros}{digits}");
        }
    }
}

fn blob(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        match byte {
            b'\\' | b'\'' | b'"' | 0..=31 | 127.. => {
                let _ = write!(out, "\\x{byte:02X}");
            }
            _ => out.push(byte),
        }
    }
}

/// Days since 1970-01-01, in the proleptic Gregorian calendar, by H. Hinnant's
/// "chrono-Compatible Low-Level Date Algorithms".
fn date(days: i64, out: &mut Vec<u8>) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (year, era_name) = if year > 0 { (year, "") } else { (1 - year, " (BC)") };
    let _ = write!(out, "{year:04}-{month:02}-{day:02}{era_name}");
}

/// Of a day, in parts of a second with this many digits.
fn time(parts: i64, digits: u32, out: &mut Vec<u8>) {
    let whole = 10_i64.pow(digits);
    let (seconds, part) = (parts / whole, parts % whole);
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    let _ = write!(out, "{hours:02}:{minutes:02}:{:02}", seconds % 60);
    if part > 0 {
        let _ = write!(out, ".{part:0width$}", width = digits as usize);
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
}

fn timestamp(parts: i64, digits: u32, has_offset: bool, out: &mut Vec<u8>) {
    match parts {
        i64::MAX => return out.extend_from_slice(b"infinity"),
        _ if parts == -i64::MAX => return out.extend_from_slice(b"-infinity"),
        _ => {}
    }
    let a_day = 86_400 * 10_i64.pow(digits);
    date(parts.div_euclid(a_day), out);
    out.push(b' ');
    time(parts.rem_euclid(a_day), digits, out);
    if has_offset {
        out.extend_from_slice(b"+00");
    }
}

/// `duckdb_interval`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Interval {
    months: i32,
    days: i32,
    micros: i64,
}

fn interval(value: Interval, out: &mut Vec<u8>) {
    let units = [(value.months / 12, "year"), (value.months % 12, "month"), (value.days, "day")];
    for (count, unit) in units {
        if count != 0 {
            let blank = if out.is_empty() { "" } else { " " };
            let plural = if count.abs() == 1 { "" } else { "s" };
            let _ = write!(out, "{blank}{count} {unit}{plural}");
        }
    }
    if value.micros != 0 || out.is_empty() {
        if !out.is_empty() {
            out.push(b' ');
        }
        if value.micros < 0 {
            out.push(b'-');
        }
        time(value.micros.saturating_abs(), 6, out);
    }
}

fn uuid(value: u128, out: &mut Vec<u8>) {
    let digits = format!("{value:032x}");
    let groups = [0..8, 8..12, 12..16, 16..20, 20..32].map(|group| &digits[group]);
    out.extend_from_slice(groups.join("-").as_bytes());
}
