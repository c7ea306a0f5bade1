//! Columns of a block from literals, as the server's own client makes them of VALUES.

use std::ops::Range;

use memchr::memchr2;

use crate::civil::{date_of, days_of};
use crate::frontend;
use crate::kind::{Kind, Typed, typed};
use crate::value::names;

/// A literal of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Literal<'a> {
    /// `NULL`.
    Null,
    /// Digits, with a sign and a fraction or without.
    Number(&'a [u8]),
    /// What stands between single quotes.
    Quoted(&'a [u8]),
}

/// The values of a column.
#[derive(Debug)]
pub struct Builder {
    type_name: Box<[u8]>,
    /// What values are, and where the arguments stand in the type's name. `None`: nobody knows.
    kind: Option<(Kind, Range<usize>)>,
    nullable: bool,
    /// Times written as text are those of the server's zone, and that is UTC.
    utc: bool,
    nulls: Vec<u8>,
    data: Vec<u8>,
    unquoted: Vec<u8>,
}

impl Builder {
    /// For a column of this type. `utc`: the server's time zone is UTC.
    pub fn new(type_name: &[u8], utc: bool) -> Self {
        let typed = typed(type_name);
        let kind = typed.map(|typed| {
            // The innermost arguments end where the parentheses around them close.
            let closed = if typed.nullable { 2 } else { 1 };
            let end = type_name.len().saturating_sub(closed);
            (typed.kind, end.saturating_sub(typed.arguments.len())..end)
        });
        let nullable = typed.is_some_and(|typed| typed.nullable);
        let (nulls, data, unquoted) = (Vec::new(), Vec::new(), Vec::new());
        Self { type_name: type_name.into(), kind, nullable, utc, nulls, data, unquoted }
    }

    /// Adds a value; `None`: this literal is none of this type, or the server alone knows what it
    /// means.
    pub fn push(&mut self, literal: Literal<'_>) -> Option<()> {
        let (kind, arguments) = self.kind.as_ref()?;
        let arguments = &self.type_name[arguments.clone()];
        let typed = Typed { kind: *kind, nullable: self.nullable, arguments };
        if typed.nullable {
            self.nulls.push(u8::from(literal == Literal::Null));
        }
        match literal {
            Literal::Null if typed.nullable => match typed.kind.size() {
                Some(size) => self.data.resize(self.data.len() + size as usize, 0),
                None => self.data.push(0),
            },
            Literal::Null => return None,
            Literal::Number(digits) => number(&typed, digits, &mut self.data)?,
            // Most texts stand for themselves.
            Literal::Quoted(quoted) if memchr2(b'\\', b'\'', quoted).is_none() => {
                quoted_value(&typed, quoted, self.utc, &mut self.data)?;
            }
            Literal::Quoted(quoted) => {
                self.unquoted.clear();
                unquote(quoted, &mut self.unquoted)?;
                quoted_value(&typed, &self.unquoted, self.utc, &mut self.data)?;
            }
        }
        Some(())
    }

    /// Appends the values.
    pub fn finish(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.nulls);
        out.extend_from_slice(&self.data);
    }

    /// The type's name.
    pub fn type_name(&self) -> &[u8] {
        &self.type_name
    }
}

fn quoted_value(typed: &Typed<'_>, text: &[u8], utc: bool, out: &mut Vec<u8>) -> Option<()> {
    match typed.kind {
        Kind::Text => frontend::text(text, out),
        Kind::Fixed(size) => {
            let free = (size as usize).checked_sub(text.len())?;
            out.extend_from_slice(text);
            out.resize(out.len() + free, 0);
        }
        Kind::Date => {
            let days = u16::try_from(days(text)?).ok()?;
            out.extend_from_slice(&days.to_le_bytes());
        }
        Kind::DateTime if utc && typed.arguments.is_empty() => {
            let (date, time) = text.split_at_checked(10)?;
            let seconds = days(date)? * 86_400 + second_of_day(time)?;
            out.extend_from_slice(&u32::try_from(seconds).ok()?.to_le_bytes());
        }
        Kind::Enum(size) => {
            let (_, number) = names(typed.arguments).find(|(name, _)| *name == text)?;
            out.extend_from_slice(&number.to_le_bytes()[..size.into()]);
        }
        Kind::Int(_) | Kind::UInt(_) | Kind::Float32 | Kind::Float64 | Kind::Decimal { .. } => {
            number(typed, text, out)?;
        }
        _ => return None,
    }
    Some(())
}

fn number(typed: &Typed<'_>, digits: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let text = str::from_utf8(digits).ok()?;
    let whole = |bits: u32, signed: bool| {
        let value: i128 = match text.len() {
            // Cannot be beyond 64 bits, whose arithmetic is quicker.
            ..=18 => text.parse::<i64>().ok()?.into(),
            _ => text.parse().ok()?,
        };
        let (least, most) = match signed {
            true => (-(1_i128 << (bits - 1)), (1 << (bits - 1)) - 1),
            false => (0, (1 << bits) - 1),
        };
        (least..=most).contains(&value).then_some(value.to_le_bytes())
    };
    match typed.kind {
        Kind::UInt(size) if size <= 8 => {
            out.extend_from_slice(&whole(8 * u32::from(size), false)?[..size.into()]);
        }
        Kind::Int(size) if size <= 8 => {
            out.extend_from_slice(&whole(8 * u32::from(size), true)?[..size.into()]);
        }
        Kind::Date => out.extend_from_slice(&whole(16, false)?[..2]),
        Kind::DateTime => out.extend_from_slice(&whole(32, false)?[..4]),
        Kind::Bool => out.extend_from_slice(&whole(1, false)?[..1]),
        Kind::Float32 => out.extend_from_slice(&text.parse::<f32>().ok()?.to_le_bytes()),
        Kind::Float64 => out.extend_from_slice(&text.parse::<f64>().ok()?.to_le_bytes()),
        Kind::Decimal { size, scale } => decimal(text, size, scale, out)?,
        _ => return None,
    }
    Some(())
}

/// `None` also for more digits than the fraction has.
fn decimal(text: &str, size: u8, scale: u8, out: &mut Vec<u8>) -> Option<()> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let missing = usize::from(scale).checked_sub(part.len())?;
    let digits = part.bytes().all(|byte| byte.is_ascii_digit());
    let value: i128 =
        digits.then(|| format!("{whole}{part}{}", "0".repeat(missing)))?.parse().ok()?;
    let bytes = value.to_le_bytes();
    let (kept, rest) = bytes.split_at(size.into());
    let fill = if value < 0 { 0xff } else { 0 };
    let fits = rest.iter().all(|byte| *byte == fill) && (kept.last()? >> 7 == fill >> 7);
    fits.then(|| out.extend_from_slice(kept))
}

/// Of `2000-02-29`.
fn days(text: &[u8]) -> Option<i64> {
    let [year, month, day] = numbers(text, b'-', [4, 2, 2])?;
    let days = days_of(year, month, day);
    (date_of(days) == (year, month, day)).then_some(days)
}

/// Of ` 23:59:59`.
fn second_of_day(text: &[u8]) -> Option<i64> {
    let [hour, minute, second] = numbers(text.strip_prefix(b" ")?, b':', [2, 2, 2])?;
    (hour < 24 && minute < 60 && second < 60).then_some(hour * 3600 + minute * 60 + second)
}

fn numbers(text: &[u8], between: u8, sizes: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(|byte| *byte == between);
    let mut found = [0; 3];
    for (number, size) in found.iter_mut().zip(sizes) {
        let part = parts.next()?;
        let plain = part.len() == size && part.iter().all(u8::is_ascii_digit);
        *number = str::from_utf8(part).ok().filter(|_| plain)?.parse().ok()?;
    }
    parts.next().is_none().then_some(found)
}

/// Undoes what quotes need: doubled quotes and backslashes. `None`: a backslash before a character
/// that releases read in different ways.
fn unquote(quoted: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut rest = quoted;
    while let Some(at) = memchr2(b'\\', b'\'', rest) {
        out.extend_from_slice(&rest[..at]);
        let meant = match (rest[at], *rest.get(at + 1)?) {
            (b'\'', b'\'') => b'\'',
            (b'\\', byte @ (b'\\' | b'\'')) => byte,
            (b'\\', b'n') => b'\n',
            (b'\\', b't') => b'\t',
            (b'\\', b'r') => b'\r',
            (b'\\', b'0') => 0,
            _ => return None,
        };
        out.push(meant);
        rest = &rest[at + 2..];
    }
    out.extend_from_slice(rest);
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text;

    fn built(type_name: &str, literal: Literal<'_>) -> Option<Vec<u8>> {
        let mut builder = Builder::new(type_name.as_bytes(), true);
        builder.push(literal)?;
        let mut out = Vec::new();
        builder.finish(&mut out);
        Some(out)
    }

    #[test]
    fn literals_become_values() {
        let check = |type_name, literal, expected: &[u8]| {
            assert_eq!(built(type_name, literal).as_deref(), Some(expected), "{type_name}");
        };
        check("UInt8", Literal::Number(b"255"), &[255]);
        check("Int16", Literal::Number(b"-2"), &[0xfe, 0xff]);
        check("Int32", Literal::Quoted(b"7"), &[7, 0, 0, 0]);
        check("Float64", Literal::Number(b"-0.5"), &(-0.5_f64).to_le_bytes());
        check("Decimal(9, 2)", Literal::Number(b"-1.5"), &(-150_i32).to_le_bytes());
        check("String", Literal::Quoted(b"it''s \\'\\\\"), b"\x07it's '\\");
        check("FixedString(3)", Literal::Quoted(b"ab"), b"ab\0");
        check("Nullable(UInt16)", Literal::Null, &[1, 0, 0]);
        check("Nullable(String)", Literal::Null, &[1, 0]);
        check("Nullable(String)", Literal::Quoted(b"a"), b"\0\x01a");
        check("Date", Literal::Quoted(b"1970-01-02"), &[1, 0]);
        check("DateTime", Literal::Quoted(b"1970-01-01 00:01:00"), &[60, 0, 0, 0]);
        check("Enum8('a' = 1, 'b' = -1)", Literal::Quoted(b"b"), &[0xff]);
        check("Nullable(Enum8('a' = 1, 'b' = -1))", Literal::Quoted(b"b"), &[0, 0xff]);
        check("Nullable(Decimal(9, 2))", Literal::Number(b"0.5"), &[0, 50, 0, 0, 0]);
    }

    #[test]
    fn what_is_no_value_of_the_type_is_refused() {
        for (type_name, literal) in [
            ("UInt8", Literal::Number(b"256")),
            ("UInt8", Literal::Number(b"-1")),
            ("Int8", Literal::Number(b"1.5")),
            ("Int8", Literal::Null),
            ("String", Literal::Number(b"1")),
            ("String", Literal::Quoted(b"\\q")),
            ("FixedString(1)", Literal::Quoted(b"ab")),
            ("Date", Literal::Quoted(b"2001-02-29")),
            ("Date", Literal::Quoted(b"1900-01-01")),
            ("DateTime", Literal::Quoted(b"2001-01-01")),
            ("DateTime('Asia/Tokyo')", Literal::Quoted(b"2001-01-01 00:00:00")),
            ("Decimal(9, 2)", Literal::Number(b"1.234")),
            ("Decimal(9, 0)", Literal::Number(b"99999999999")),
            ("Enum8('a' = 1)", Literal::Quoted(b"b")),
            ("Array(UInt8)", Literal::Quoted(b"[1]")),
        ] {
            assert_eq!(built(type_name, literal), None, "{type_name} {literal:?}");
        }
        let mut elsewhere = Builder::new(b"DateTime", false);
        assert_eq!(elsewhere.push(Literal::Quoted(b"2001-01-01 00:00:00")), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            cases: if cfg!(miri) { 16 } else { 2048 },
            ..ProptestConfig::default()
        })]

        #[test]
        fn numbers_read_back(value in any::<i64>(), number in prop::num::f64::NORMAL) {
            for (type_name, digits) in [
                ("Int64", value.to_string()),
                ("Decimal(18, 3)", format!("{:.3}", value / 1_000_000)),
                ("Float64", number.to_string()),
            ] {
                let bytes = built(type_name, Literal::Number(digits.as_bytes())).unwrap();
                let mut read = Vec::new();
                text(&typed(type_name.as_bytes()).unwrap(), &bytes, &mut read).unwrap();
                let read = String::from_utf8(read).unwrap();
                prop_assert_eq!(read.parse::<f64>().unwrap(), digits.parse::<f64>().unwrap());
            }
        }
    }
}
