//! Values as literals within a statement.

use crate::number::{double, integer};
use crate::quoted::with_backslashes;
use crate::value::Value;

/// Appends a value as a literal. A blank precedes a sign: `a - -1` without it would begin a
/// comment.
pub(super) fn literal(value: Value<'_>, out: &mut Vec<u8>) {
    let negative = match value {
        Value::Int(number) => number < 0,
        Value::Double(number) => number.is_sign_negative(),
        _ => false,
    };
    if negative {
        out.push(b' ');
    }
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(number) => integer(number, out),
        Value::Unsigned(number) => integer(number, out),
        Value::Double(number) => double(number, out),
        Value::Bytes(bytes) => with_backslashes(bytes, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_literals() {
        let check = |value, expected: &str| {
            let mut out = Vec::new();
            literal(value, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected);
        };
        check(Value::Null, "NULL");
        check(Value::Int(-5), " -5");
        check(Value::Unsigned(u64::MAX), "18446744073709551615");
        check(Value::Double(0.5), "0.5");
        check(Value::Bytes(b"it's \\ \0"), "'it\\'s \\\\ \\0'");
    }
}
