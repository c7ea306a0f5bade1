//! Values as PostgreSQL reads them: as text parameters, and as literals within a statement.

use crate::number::{double, integer, signed};
use crate::value::Value;

/// Appends a parameter's name, `$n`.
pub(super) fn parameter(number: usize, out: &mut Vec<u8>) {
    out.push(b'$');
    integer(number, out);
}

/// Appends a value in text format; `false`: it is NULL, and nothing was appended.
pub(super) fn text(value: Value<'_>, out: &mut Vec<u8>) -> bool {
    match value {
        Value::Null => return false,
        Value::Int(number) => integer(number, out),
        Value::Unsigned(number) => integer(number, out),
        Value::Double(number) => double(number, out),
        Value::Bytes(bytes) => out.extend_from_slice(bytes),
    }
    true
}

/// Appends a value as a literal.
pub(super) fn literal(value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(number) => signed(number < 0, |out| integer(number, out), out),
        Value::Unsigned(number) => integer(number, out),
        Value::Double(number) if number.is_finite() => {
            signed(number.is_sign_negative(), |out| double(number, out), out);
        }
        Value::Double(number) => {
            out.push(b'\'');
            double(number, out);
            out.extend_from_slice(b"'::float8");
        }
        Value::Bytes(bytes) => string(bytes, out),
    }
}

/// Doubles quotes. A literal with a backslash is written as an escape string, so it doesn't depend
/// on `standard_conforming_strings`; the blank separates the E from a preceding word.
fn string(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.contains(&b'\\') {
        out.extend_from_slice(b" E");
    }
    out.push(b'\'');
    for &byte in bytes {
        if matches!(byte, b'\'' | b'\\') {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: Value<'_>, expected_text: &str, expected_literal: &str) {
        let mut out = Vec::new();
        assert!(text(value, &mut out));
        assert_eq!(String::from_utf8_lossy(&out), expected_text);
        out.clear();
        literal(value, &mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected_literal);
    }

    #[test]
    fn values_are_written_for_both_protocols() {
        check(Value::Int(42), "42", "42");
        check(Value::Int(i64::MIN), "-9223372036854775808", "(-9223372036854775808)");
        check(Value::Unsigned(u64::MAX), "18446744073709551615", "18446744073709551615");
        check(Value::Double(0.5), "0.5", "0.5");
        check(Value::Double(0.0), "0", "0");
        check(Value::Double(-2.0), "-2", "(-2)");
        check(Value::Double(1e300), "1e300", "1e300");
        check(Value::Double(2.5e-9), "2.5e-9", "2.5e-9");
        check(Value::Double(f64::NAN), "NaN", "'NaN'::float8");
        check(Value::Double(f64::NEG_INFINITY), "-inf", "'-inf'::float8");
        check(Value::Bytes(b"it's"), "it's", "'it''s'");
        check(Value::Bytes(br"a\'b"), r"a\'b", r" E'a\\''b'");
        check(Value::Bytes(b""), "", "''");
    }

    #[test]
    fn null_has_no_text_of_its_own() {
        let mut out = Vec::new();
        assert!(!text(Value::Null, &mut out) && out.is_empty());
        literal(Value::Null, &mut out);
        assert_eq!(out, b"NULL");
    }
}
