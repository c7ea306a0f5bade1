//! A multi-row INSERT as one execution of a prepared single-row INSERT with many rows of values
//! (MariaDB's COM_STMT_BULK_EXECUTE). The server runs it as the same INSERT, with the same errors,
//! but does not parse the rows.

use wire_mysql::frontend::Batch;

use super::load::decode;
use crate::load::{Insert, Literal};

/// Smaller than the smallest `max_allowed_packet` in use.
const SIZE_MAX: usize = 1_000_000;

/// A batch of rows, and the statement to prepare for it.
#[derive(Debug, PartialEq)]
pub(super) struct Rows {
    /// The single-row INSERT.
    pub sql: Vec<u8>,
    /// Number of rows.
    pub count: u32,
    pub batch: Batch,
}

/// Encodes an INSERT's rows for columns that store ASCII bytes as text and numbers as they are.
/// `None`: the text isn't plain, or becomes too long.
pub(super) fn batch(sql: &[u8]) -> Option<Rows> {
    let insert = Insert::parse(sql, b'`')?;
    let mut batch = Batch::with_capacity(insert.rows.len());
    let count = insert.rows(true, |column, literal, _| match literal {
        Literal::Null => batch.null(column),
        Literal::Integer(digits) => batch.int(column, str::from_utf8(digits).ok()?.parse().ok()?),
        Literal::Text(quoted) if quoted.is_ascii() => match memchr::memchr2(b'\\', b'\'', quoted) {
            None => batch.bytes(column, quoted),
            Some(_) => {
                let mut text = Vec::with_capacity(quoted.len());
                decode(quoted, |piece| text.extend_from_slice(piece))?;
                batch.bytes(column, &text)
            }
        },
        Literal::Text(_) | Literal::Decimal(_) => None,
    })?;
    let count = u32::try_from(count).ok().filter(|_| batch.size() <= SIZE_MAX)?;
    let mut sql = [b"INSERT INTO ", insert.table].concat();
    if !insert.columns.is_empty() {
        sql.push(b'(');
        sql.extend_from_slice(&insert.columns.join(&b","[..]));
        sql.push(b')');
    }
    sql.extend_from_slice(b" VALUES (");
    sql.extend_from_slice(&vec![&b"?"[..]; batch.columns()].join(&b","[..]));
    sql.push(b')');
    Some(Rows { sql, count, batch })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_insert_becomes_a_batch() {
        let sql = br"INSERT INTO t(a, `b`) VALUES (1, 'x'), (-2, NULL), (NULL, 'it''s\t\0\%')";
        let rows = batch(sql).unwrap();
        assert_eq!(rows.sql, b"INSERT INTO t(a,`b`) VALUES (?,?)");
        assert_eq!(rows.count, 3);
        let mut expected = Batch::with_capacity(0);
        expected.int(0, 1).and_then(|()| expected.bytes(1, b"x")).unwrap();
        expected.int(0, -2).and_then(|()| expected.null(1)).unwrap();
        expected.null(0).and_then(|()| expected.bytes(1, b"it's\t\0\\%")).unwrap();
        assert_eq!(rows.batch, expected);
        let all = batch(b"INSERT INTO t VALUES (1, 2, 3)").unwrap();
        assert_eq!(all.sql, b"INSERT INTO t VALUES (?,?,?)");
    }

    #[test]
    fn what_is_not_certain_is_none() {
        for sql in [
            "INSERT INTO t(a) VALUES (0.5)",
            "INSERT INTO t(a) VALUES (12345678901234567890)",
            "INSERT INTO t(a) VALUES ('1'), (1)",
            "INSERT INTO t(a) VALUES ('é')",
            "INSERT INTO t(a) VALUES (now())",
        ] {
            assert_eq!(batch(sql.as_bytes()), None, "{sql:.60}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "looks at millions of bytes")]
    fn what_is_too_long_is_none() {
        let long = format!("INSERT INTO t(a) VALUES ('{}')", "x".repeat(SIZE_MAX));
        assert_eq!(batch(long.as_bytes()), None);
    }
}
