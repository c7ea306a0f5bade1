//! Values as literals within a statement, as MySQL and MariaDB read them by default.

use crate::number::{double, integer, signed};
use crate::quoted::with_backslashes;
use crate::value::Value;

/// Appends a value as a literal.
pub(super) fn literal(value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(number) => signed(number < 0, |out| integer(number, out), out),
        Value::Unsigned(number) => integer(number, out),
        Value::Double(number) if number.is_finite() => {
            signed(number.is_sign_negative(), |out| double(number, out), out);
        }
        // There is no such value: a prepared statement would be refused, and so is this.
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
        check(Value::Int(-5), "(-5)");
        check(Value::Int(i64::MIN), "(-9223372036854775808)");
        check(Value::Unsigned(u64::MAX), "18446744073709551615");
        check(Value::Double(0.5), "0.5");
        check(Value::Bytes(b"it's \\ \0"), "'it\\'s \\\\ \\0'");
    }
}
