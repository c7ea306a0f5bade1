//! Text as a literal within SQL.

/// Appends a text in quotes, with a backslash before what would end or change it: as ClickHouse
/// reads it, and MySQL and MariaDB while `NO_BACKSLASH_ESCAPES` is off.
pub(crate) fn with_backslashes(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for &byte in bytes {
        match byte {
            b'\'' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0 => out.extend_from_slice(b"\\0"),
            _ => out.push(byte),
        }
    }
    out.push(b'\'');
}
