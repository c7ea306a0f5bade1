//! A multi-row INSERT sent as COPY … FROM STDIN.

use memchr::memchr;
use wire_postgres::frontend;

use crate::error::ProtocolError;
use crate::load::{Insert, Literal, escape};

/// Appends the statement, its data and their end; PostgreSQL drops the data of a COPY it refuses,
/// so nothing has to be waited for. Returns the number of rows; `None`: the text isn't plain, and
/// `out` is as it was.
///
/// # Errors
/// [`ProtocolError::TooLong`].
pub(super) fn copy(sql: &[u8], out: &mut Vec<u8>) -> Result<Option<u64>, ProtocolError> {
    let Some(insert) = Insert::parse(sql, b'"') else { return Ok(None) };
    let start = out.len();
    frontend::query_with(|out| statement(&insert, out), out)?;
    let mut rows = None;
    let sent = frontend::copy_data_with(|out| rows = data(&insert, out), out);
    if rows.is_none() || sent.is_err() {
        out.truncate(start);
    }
    sent?;
    if rows.is_some() {
        frontend::copy_done(out);
    }
    Ok(rows)
}

fn statement(insert: &Insert<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"COPY ");
    out.extend_from_slice(insert.table);
    if !insert.columns.is_empty() {
        out.push(b'(');
        out.extend_from_slice(&insert.columns.join(&b","[..]));
        out.push(b')');
    }
    out.extend_from_slice(b" FROM STDIN");
}

fn data(insert: &Insert<'_>, out: &mut Vec<u8>) -> Option<u64> {
    insert.rows(true, |_, literal, last| {
        match literal {
            Literal::Null => out.extend_from_slice(b"\\N"),
            Literal::Integer(digits) | Literal::Decimal(digits) => out.extend_from_slice(digits),
            Literal::Text(text) => self::text(text, out)?,
        }
        out.push(if last { b'\n' } else { b'\t' });
        Some(())
    })
}

/// What a backslash means depends on `standard_conforming_strings`: such texts are left alone.
fn text(quoted: &[u8], out: &mut Vec<u8>) -> Option<()> {
    memchr(b'\\', quoted).is_none().then_some(())?;
    let mut rest = quoted;
    while let Some(quote) = memchr(b'\'', rest) {
        escape(&rest[..=quote], out);
        rest = &rest[quote + 2..];
    }
    escape(rest, out);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_insert_becomes_a_copy() {
        let sql = b"INSERT INTO t(a, b) VALUES (1, 'x'), (-2.5, 'it''s\t''' ), (NULL, '')";
        let mut out = Vec::new();
        assert_eq!(copy(sql, &mut out), Ok(Some(3)));
        let expected = b"Q\0\0\0\x1bCOPY t(a,b) FROM STDIN\0\
                         d\0\0\0\x191\tx\n-2.5\tit's\\t'\n\\N\t\nc\0\0\0\x04";
        assert_eq!(out.escape_ascii().to_string(), expected.escape_ascii().to_string());
    }

    #[test]
    fn what_is_not_plain_leaves_nothing_behind() {
        let mut out = b"kept".to_vec();
        for sql in ["INSERT INTO t VALUES (1), (now())", r"INSERT INTO t VALUES ('\n')", "VACUUM"] {
            assert_eq!(copy(sql.as_bytes(), &mut out), Ok(None), "{sql}");
            assert_eq!(out, b"kept");
        }
    }
}
