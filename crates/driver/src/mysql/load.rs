//! A multi-row INSERT sent as LOAD DATA LOCAL INFILE; the file's content is the rows we send.
//!
//! LOAD DATA LOCAL turns errors into warnings, so the same request asks for them: any but a note
//! fails the statement. Some columns (BIT, YEAR, ENUM, SET) read a number differently from the same
//! digits as text, so numbers go through a variable and a cast, except where no such column exists.

use wire_mysql::frontend;

use crate::error::ProtocolError;
use crate::load::{Insert, Literal, escape};

/// The type of a column's values, the same in all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Only NULL so far.
    Unknown,
    Integer,
    Text,
}

/// Rows to send.
#[derive(Debug)]
pub(super) struct Rows {
    /// Number of rows.
    pub count: u64,
    /// The file's content.
    pub data: Vec<u8>,
}

/// Appends the statement. The rows follow when the server asks for them. `None`: the text isn't
/// plain, and `out` is unchanged. `plain`: no column needs a cast for numbers.
///
/// # Errors
/// [`ProtocolError::TooLong`].
pub(super) fn load(
    sql: &[u8],
    plain: bool,
    out: &mut Vec<u8>,
) -> Result<Option<Rows>, ProtocolError> {
    let Some(insert) = Insert::parse(sql, b'`') else { return Ok(None) };
    let Some((rows, mut kinds)) = data(&insert) else { return Ok(None) };
    if plain {
        kinds.fill(Kind::Text);
    }
    // A cast needs a column name.
    if insert.columns.is_empty() && kinds.contains(&Kind::Integer) {
        return Ok(None);
    }
    frontend::query_with(|out| statement(&insert, &kinds, out), out)?;
    Ok(Some(rows))
}

fn statement(insert: &Insert<'_>, kinds: &[Kind], out: &mut Vec<u8>) {
    let integers = || (0..kinds.len()).filter(|index| kinds[*index] == Kind::Integer);
    out.extend_from_slice(b"LOAD DATA LOCAL INFILE 'rows' INTO TABLE ");
    out.extend_from_slice(insert.table);
    // Only ASCII is sent, which is the same in all character sets; the server reads single-byte
    // ones faster.
    out.extend_from_slice(b" CHARACTER SET latin1 FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\'");
    out.extend_from_slice(b" LINES TERMINATED BY '\\n'");
    if !insert.columns.is_empty() {
        let places = insert.columns.iter().enumerate().map(|(index, column)| match kinds[index] {
            Kind::Integer => format!("@dbdyno_{index}").into_bytes(),
            Kind::Text | Kind::Unknown => column.to_vec(),
        });
        out.extend_from_slice(b" (");
        out.extend_from_slice(&places.collect::<Vec<_>>().join(&b","[..]));
        out.push(b')');
    }
    for (position, index) in integers().enumerate() {
        out.extend_from_slice(if position == 0 { b" SET " } else { b"," });
        out.extend_from_slice(insert.columns[index]);
        out.extend_from_slice(format!("=CAST(@dbdyno_{index} AS SIGNED)").as_bytes());
    }
    out.extend_from_slice(b";SHOW WARNINGS");
}

fn data(insert: &Insert<'_>) -> Option<(Rows, Vec<Kind>)> {
    let mut data = Vec::with_capacity(insert.rows.len());
    let mut kinds = vec![Kind::Unknown; insert.columns.len()];
    let count = insert.rows(true, |column, literal, last| {
        if column == kinds.len() {
            kinds.push(Kind::Unknown);
        }
        let kind = match literal {
            Literal::Null => {
                data.extend_from_slice(b"\\N");
                kinds[column]
            }
            Literal::Integer(digits) if is_bigint(digits) => {
                data.extend_from_slice(digits);
                Kind::Integer
            }
            Literal::Text(quoted) => {
                text(quoted, &mut data)?;
                Kind::Text
            }
            // Text and numbers are rounded to the column by different rules.
            Literal::Integer(_) | Literal::Decimal(_) => return None,
        };
        if kinds[column] == Kind::Unknown {
            kinds[column] = kind;
        }
        data.push(if last { b'\n' } else { b'\t' });
        (kinds[column] == kind).then_some(())
    })?;
    Some((Rows { count, data }, kinds))
}

/// Whether CAST … AS SIGNED keeps the number.
fn is_bigint(digits: &[u8]) -> bool {
    const CERTAIN: usize = 18;
    digits.len() <= CERTAIN
        || str::from_utf8(digits).is_ok_and(|digits| digits.parse::<i64>().is_ok())
}

/// Decodes a literal and encodes it for the load. Beyond ASCII its meaning depends on the
/// connection's character set: such texts are not loaded.
fn text(quoted: &[u8], out: &mut Vec<u8>) -> Option<()> {
    quoted.is_ascii().then_some(())?;
    decode(quoted, |piece| match piece {
        b"\0" => out.extend_from_slice(b"\\0"),
        piece => escape(piece, out),
    })
}

/// Calls `piece` for each part of a literal's content; a zero byte is a part of its own. `None`:
/// the text ends within an escape.
pub(super) fn decode(quoted: &[u8], mut piece: impl FnMut(&[u8])) -> Option<()> {
    let mut rest = quoted;
    while let Some(at) = memchr::memchr3(b'\'', b'\\', 0, rest) {
        piece(&rest[..at]);
        let size = match (rest[at], rest.get(at + 1)) {
            (0, _) => {
                piece(b"\0");
                1
            }
            // For patterns: both characters stay.
            (b'\\', Some(b'%' | b'_')) => {
                piece(&rest[at..at + 2]);
                2
            }
            (b'\\', Some(byte)) => {
                piece(&[escaped(*byte)]);
                2
            }
            (quote, _) => {
                piece(&[quote]);
                2
            }
        };
        rest = rest.get(at + size..)?;
    }
    piece(rest);
    Some(())
}

/// The character that a backslash escape stands for.
fn escaped(byte: u8) -> u8 {
    match byte {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 0x1a,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_insert_becomes_a_load() {
        let sql = br"INSERT INTO t(a, `b`, c) VALUES (1, 'x', NULL), (-2, 'it''s\t\'\\%\%', 'y')";
        let mut out = Vec::new();
        let rows = load(sql, false, &mut out).unwrap().unwrap();
        assert_eq!(rows.count, 2);
        let found = rows.data.escape_ascii().to_string();
        assert_eq!(found, b"1\tx\t\\N\n-2\tit's\\t'\\\\%\\\\%\ty\n".escape_ascii().to_string());
        let statement = String::from_utf8(out.split_off(5)).unwrap();
        let expected = [
            r"LOAD DATA LOCAL INFILE 'rows' INTO TABLE t CHARACTER SET latin1",
            r" FIELDS TERMINATED BY '\t' ESCAPED BY '\\' LINES TERMINATED BY '\n'",
            r" (@dbdyno_0,`b`,c) SET a=CAST(@dbdyno_0 AS SIGNED);SHOW WARNINGS",
        ];
        assert_eq!(statement, expected.concat());
    }

    #[test]
    fn what_is_not_certain_stays_an_insert() {
        let mut out = Vec::new();
        for sql in [
            "INSERT INTO t VALUES (1)",
            "INSERT INTO t(a) VALUES (0.5)",
            "INSERT INTO t(a) VALUES (12345678901234567890)",
            "INSERT INTO t(a) VALUES ('1'), (1)",
            "INSERT INTO t(a) VALUES ('é')",
            "INSERT INTO t(a) VALUES (\"a\")",
        ] {
            assert!(load(sql.as_bytes(), false, &mut out).unwrap().is_none(), "{sql}");
            assert!(out.is_empty());
        }
    }
}
