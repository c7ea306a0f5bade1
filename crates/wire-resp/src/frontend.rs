//! Commands: an array of bulk strings, `*N`, then `$SIZE` and the bytes of each.

use std::io::Write;

use crate::{TEXT_SIZE_MAX, WireError};

/// Room for the longest finite number: 309 digits before the point, and a sign.
const NUMBER_SIZE_MAX: usize = 352;

/// Appends the head of a command of so many words, its name included.
#[inline]
pub fn begin(words: usize, out: &mut Vec<u8>) {
    number_line(b'*', words, out);
}

/// Appends a word.
///
/// # Errors
/// [`WireError::TooLong`]; nothing was appended.
#[inline]
pub fn text(word: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    if word.len() > TEXT_SIZE_MAX {
        let (found, limit) = (word.len() as u64, TEXT_SIZE_MAX as u64);
        return Err(WireError::TooLong { found, limit });
    }
    append(word, out);
    Ok(())
}

/// Appends a word that is an integer.
#[inline]
pub fn integer(value: impl itoa::Integer, out: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    append(digits.format(value).as_bytes(), out);
}

/// Appends a word that is a number: a whole one without a point, others in the fewest digits that
/// read back as the same number.
pub fn number(value: f64, out: &mut Vec<u8>) {
    /// Integers up to this size have an exact `f64`.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        return integer(value as i64, out);
    }
    let mut room = [0; NUMBER_SIZE_MAX];
    let mut rest = &mut room[..];
    // Without an exponent, a small number would begin with up to 300 zeros.
    let formatted =
        if value.abs() < 1e-9 { write!(rest, "{value:e}") } else { write!(rest, "{value}") };
    debug_assert!(formatted.is_ok(), "{value:e} has more than {NUMBER_SIZE_MAX} characters");
    let size = NUMBER_SIZE_MAX - rest.len();
    append(&room[..size], out);
}

#[inline]
fn append(word: &[u8], out: &mut Vec<u8>) {
    number_line(b'$', word.len(), out);
    out.extend_from_slice(word);
    out.extend_from_slice(b"\r\n");
}

#[inline]
fn number_line(kind: u8, number: usize, out: &mut Vec<u8>) {
    out.push(kind);
    let mut digits = itoa::Buffer::new();
    out.extend_from_slice(digits.format(number).as_bytes());
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::backend::{Element, element};

    #[test]
    fn a_command_is_an_array_of_bulk_strings() {
        let mut out = Vec::new();
        begin(4, &mut out);
        text(b"SET", &mut out).unwrap();
        text(b"", &mut out).unwrap();
        integer(-7, &mut out);
        number(0.5, &mut out);
        assert_eq!(out, b"*4\r\n$3\r\nSET\r\n$0\r\n\r\n$2\r\n-7\r\n$3\r\n0.5\r\n");
    }

    fn written(value: f64) -> String {
        let mut out = Vec::new();
        number(value, &mut out);
        let Ok(Some((Element::Text { size, .. }, head))) = element(&out) else { panic!("{out:?}") };
        assert_eq!(out.len(), head + size + 2);
        String::from_utf8(out[head..head + size].to_vec()).unwrap()
    }

    #[test]
    fn whole_numbers_have_no_point() {
        assert_eq!(written(3.0), "3");
        assert_eq!(written(-0.0), "0");
        assert_eq!(written(1e15), "1000000000000000");
        assert_eq!(written(9_007_199_254_740_993.0), "9007199254740992");
        assert_eq!(written(f64::INFINITY), "inf");
        assert_eq!(written(5e-324), "5e-324");
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn a_number_reads_back_as_itself(value in proptest::num::f64::NORMAL) {
            prop_assert_eq!(written(value).parse::<f64>(), Ok(value));
        }
    }
}
