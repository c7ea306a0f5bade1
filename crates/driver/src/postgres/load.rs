//! A multi-row INSERT sent as COPY … FROM STDIN.

use memchr::memchr;
use wire_postgres::frontend;

use crate::error::ProtocolError;
use crate::load::{Form, Insert, Literal, escape};

/// Header of binary data: the signature, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// End of binary data: -1 in place of a row's number of values.
const TRAILER: [u8; 2] = (-1_i16).to_be_bytes();
/// Length of a NULL value.
const NULL: [u8; 4] = (-1_i32).to_be_bytes();

/// Appends the statement, its data and their end; PostgreSQL drops the data of a COPY it refuses,
/// so there is nothing to wait for. The data are binary, which spares the server parsing, if
/// `forms` allow it. Returns the number of rows; `None`: the text isn't plain, and `out` is
/// unchanged.
///
/// # Errors
/// [`ProtocolError::TooLong`].
pub(super) fn copy(
    sql: &[u8],
    forms: &[Form],
    out: &mut Vec<u8>,
) -> Result<Option<u64>, ProtocolError> {
    let Some(insert) = Insert::parse(sql, b'"') else { return Ok(None) };
    if forms.contains(&Form::Literal) {
        return Ok(None);
    }
    if Form::are_plain(forms) {
        let how = " WITH (FORMAT binary)";
        let rows = send(&insert, how, |insert, out| binary(insert, forms, out), out)?;
        if rows.is_some() {
            return Ok(rows);
        }
    }
    send(&insert, "", |insert, out| text(insert, forms, out), out)
}

fn send(
    insert: &Insert<'_>,
    how: &str,
    data: impl FnOnce(&Insert<'_>, &mut Vec<u8>) -> Option<u64>,
    out: &mut Vec<u8>,
) -> Result<Option<u64>, ProtocolError> {
    let start = out.len();
    frontend::query_with(|out| statement(insert, how, out), out)?;
    let mut rows = None;
    let sent = frontend::copy_data_with(|out| rows = data(insert, out), out);
    if rows.is_none() || sent.is_err() {
        out.truncate(start);
    }
    sent?;
    if rows.is_some() {
        frontend::copy_done(out);
    }
    Ok(rows)
}

fn statement(insert: &Insert<'_>, how: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"COPY ");
    out.extend_from_slice(insert.table);
    if !insert.columns.is_empty() {
        out.push(b'(');
        out.extend_from_slice(&insert.columns.join(&b","[..]));
        out.push(b')');
    }
    out.extend_from_slice(b" FROM STDIN");
    out.extend_from_slice(how.as_bytes());
}

/// `None` also for a number whose digits the column would read in another way.
fn text(insert: &Insert<'_>, forms: &[Form], out: &mut Vec<u8>) -> Option<u64> {
    insert.rows(true, |column, literal, last| {
        match (literal, *forms.get(column)?) {
            (Literal::Null, _) => out.extend_from_slice(b"\\N"),
            (Literal::Text(quoted), _) => unquoted(quoted, |part| escape(part, out))?,
            (Literal::Integer(digits), Form::Number | Form::Text | Form::Integer(_))
            | (Literal::Decimal(digits), Form::Number) => out.extend_from_slice(digits),
            (Literal::Integer(_) | Literal::Decimal(_), _) => return None,
        }
        out.push(if last { b'\n' } else { b'\t' });
        Some(())
    })
}

/// `None` also where a number does not fit its column.
fn binary(insert: &Insert<'_>, forms: &[Form], out: &mut Vec<u8>) -> Option<u64> {
    let values = i16::try_from(forms.len()).ok()?.to_be_bytes();
    out.extend_from_slice(HEADER);
    let rows = insert.rows(true, |column, literal, last| {
        if column == 0 {
            out.extend_from_slice(&values);
        }
        let form = *forms.get(column)?;
        (last == (column + 1 == forms.len())).then_some(())?;
        if literal == Literal::Null {
            out.extend_from_slice(&NULL);
            return Some(());
        }
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        match (form, literal) {
            (Form::Text, Literal::Integer(digits)) => out.extend_from_slice(digits),
            (Form::Text, Literal::Text(quoted)) => {
                unquoted(quoted, |part| out.extend_from_slice(part))?;
            }
            (Form::Integer(bytes), Literal::Integer(digits)) => integer(digits, bytes, out)?,
            _ => return None,
        }
        let size = i32::try_from(out.len() - start - 4).ok()?;
        out[start..start + 4].copy_from_slice(&size.to_be_bytes());
        Some(())
    })?;
    out.extend_from_slice(&TRAILER);
    Some(rows)
}

/// In two's complement; `None`: it does not fit.
fn integer(digits: &[u8], bytes: usize, out: &mut Vec<u8>) -> Option<()> {
    let number: i64 = str::from_utf8(digits).ok()?.parse().ok()?;
    let unused = 64 - 8 * bytes as u32;
    (number << unused >> unused == number).then_some(())?;
    out.extend_from_slice(&number.to_be_bytes()[8 - bytes..]);
    Some(())
}

/// Calls `part` for each part of a text, with doubled quotes undone. A backslash's meaning depends
/// on `standard_conforming_strings`: such texts are not loaded.
fn unquoted(quoted: &[u8], mut part: impl FnMut(&[u8])) -> Option<()> {
    memchr(b'\\', quoted).is_none().then_some(())?;
    let mut rest = quoted;
    while let Some(quote) = memchr(b'\'', rest) {
        part(&rest[..=quote]);
        rest = &rest[quote + 2..];
    }
    part(rest);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_insert_becomes_a_copy() {
        let sql = b"INSERT INTO t(a, b) VALUES (1, 'x'), (-2.5, 'it''s\t''' ), (NULL, '')";
        let mut out = Vec::new();
        assert_eq!(copy(sql, &[Form::Number, Form::Quoted], &mut out), Ok(Some(3)));
        let expected = b"Q\0\0\0\x1bCOPY t(a,b) FROM STDIN\0\
                         d\0\0\0\x191\tx\n-2.5\tit's\\t'\n\\N\t\nc\0\0\0\x04";
        assert_eq!(out.escape_ascii().to_string(), expected.escape_ascii().to_string());
    }

    #[test]
    fn what_the_columns_take_is_sent_in_binary() {
        let forms = [Form::Integer(4), Form::Text];
        let mut out = Vec::new();
        let sql = b"INSERT INTO t VALUES (-2, 'it''s'), (NULL, 70)";
        assert_eq!(copy(sql, &forms, &mut out), Ok(Some(2)));
        let expected = b"Q\0\0\0\x2bCOPY t FROM STDIN WITH (FORMAT binary)\0\
                         d\0\0\0\x37PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\
                         \0\x02\0\0\0\x04\xff\xff\xff\xfe\0\0\0\x04it's\
                         \0\x02\xff\xff\xff\xff\0\0\0\x0270\xff\xffc\0\0\0\x04";
        assert_eq!(out.escape_ascii().to_string(), expected.escape_ascii().to_string());
    }

    #[test]
    fn what_is_not_of_the_column_s_kind_goes_as_text() {
        let forms = [Form::Integer(2), Form::Text];
        for sql in [
            "INSERT INTO t VALUES (1, 'a'), (32768, 'a')",
            "INSERT INTO t VALUES (-32769, 'a')",
            "INSERT INTO t VALUES ('1', 'a')",
            "INSERT INTO t VALUES (1)",
        ] {
            let (mut out, mut expected) = (Vec::new(), Vec::new());
            let as_text = [Form::Number, Form::Quoted];
            assert_eq!(
                copy(sql.as_bytes(), &as_text, &mut expected),
                copy(sql.as_bytes(), &forms, &mut out)
            );
            assert_eq!(
                out.escape_ascii().to_string(),
                expected.escape_ascii().to_string(),
                "{sql}"
            );
        }
        let mut out = Vec::new();
        assert_eq!(integer(b"-32768", 2, &mut out), Some(()));
        assert_eq!(integer(b"-9223372036854775808", 8, &mut out), Some(()));
        assert_eq!(integer(b"9223372036854775808", 8, &mut out), None);
        assert_eq!(out, b"\x80\0\x80\0\0\0\0\0\0\0");
    }

    /// An INSERT has a typed constant where COPY would read digits as the column's type.
    #[test]
    fn what_copy_would_read_differently_stays_an_insert() {
        let mut out = Vec::new();
        for (forms, values) in [
            (vec![], "(1)"),
            (vec![Form::Literal], "('a')"),
            (vec![Form::Quoted], "(1)"),
            (vec![Form::Quoted], "('5'), (0.5)"),
            (vec![Form::Text], "(1.50)"),
            (vec![Form::Integer(4)], "(1.5)"),
            (vec![Form::Number], "(1, 2)"),
        ] {
            let sql = format!("INSERT INTO t VALUES {values}");
            assert_eq!(copy(sql.as_bytes(), &forms, &mut out), Ok(None), "{forms:?} {values}");
            assert!(out.is_empty());
        }
    }

    #[test]
    fn what_is_not_plain_leaves_nothing_behind() {
        let mut out = b"kept".to_vec();
        for sql in ["INSERT INTO t VALUES (1), (now())", r"INSERT INTO t VALUES ('\n')", "VACUUM"] {
            assert_eq!(copy(sql.as_bytes(), &[Form::Text], &mut out), Ok(None), "{sql}");
            assert_eq!(out, b"kept");
        }
    }
}
