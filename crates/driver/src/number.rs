//! Numbers as SQL text.

use std::io::Write;

pub(crate) fn integer(number: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// The shortest text that reads back as the same number.
pub(crate) fn double(number: f64, out: &mut Vec<u8>) {
    let size = number.abs();
    let written = if size != 0.0 && size.is_finite() && !(1e-5..1e16).contains(&size) {
        write!(out, "{number:e}")
    } else {
        write!(out, "{number}")
    };
    debug_assert!(written.is_ok(), "a Vec takes all bytes");
}

/// In parentheses if negative: `a - -1` without its blank would begin a comment.
pub(crate) fn signed(negative: bool, write: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    if negative {
        out.push(b'(');
    }
    write(out);
    if negative {
        out.push(b')');
    }
}
