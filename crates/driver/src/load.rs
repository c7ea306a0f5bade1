//! Parses the rows of a multi-row INSERT, to send them by a native load with the same effect.
//!
//! An INSERT qualifies if it is `INSERT INTO table [(columns)] VALUES (literals), …` and nothing
//! else. A literal's meaning may depend on the server's settings or the column's type; any doubt
//! disqualifies the text, which is then sent as an INSERT.

use memchr::{memchr2, memchr3};

use crate::error::ServerError;

/// A literal in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Literal<'a> {
    /// `NULL`.
    Null,
    /// Digits as any server would write the number: no sign but `-`, no leading zeros.
    Integer(&'a [u8]),
    /// The same with a fraction.
    Decimal(&'a [u8]),
    /// The text between single quotes, undecoded.
    Text(&'a [u8]),
}

/// How a column's values can be sent so that they mean what the literal in an INSERT means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Only as that literal.
    Literal,
    /// Texts as text, which the column's type reads as it reads the literal; numbers only as
    /// literals.
    Quoted,
    /// The same, and numbers as their digits.
    Number,
    /// As text: digits are stored as their number, ASCII bytes as text.
    Text,
    /// As a binary integer of this many bytes (2, 4 or 8), big-endian.
    Integer(usize),
}

impl Form {
    /// Whether all forms of a row are known and such that rows can be sent in binary.
    pub(crate) fn are_plain(forms: &[Self]) -> bool {
        let plain = |form: &Self| matches!(form, Self::Text | Self::Integer(_));
        !forms.is_empty() && forms.iter().all(plain)
    }
}

/// The parts of an INSERT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Insert<'a> {
    /// The table's name, as written.
    pub table: &'a [u8],
    /// The columns' names, as written; empty: all columns.
    pub columns: Vec<&'a [u8]>,
    /// PostgreSQL's OVERRIDING SYSTEM VALUE.
    pub overriding: bool,
    /// What follows VALUES.
    pub rows: &'a [u8],
}

impl<'a> Insert<'a> {
    /// `None`: it isn't plain. `quote` is the server's quote for names: `"` or `` ` ``.
    pub fn parse(sql: &'a [u8], quote: u8) -> Option<Self> {
        let mut text = Text(sql);
        text.word(b"INSERT")?;
        text.word(b"INTO")?;
        text.space();
        let start = text.0;
        text.name(quote)?;
        while text.byte(b'.') {
            text.name(quote)?;
        }
        let table = start[..start.len() - text.0.len()].trim_ascii_end();
        let mut columns = Vec::new();
        text.space();
        if text.byte(b'(') {
            loop {
                text.space();
                columns.push(text.name(quote)?);
                text.space();
                if text.byte(b')') {
                    break;
                }
                text.byte(b',').then_some(())?;
            }
        }
        let words: [&[u8]; 3] = [b"OVERRIDING", b"SYSTEM", b"VALUE"];
        let overriding = quote == b'"' && text.word(words[0]).is_some();
        if overriding {
            words[1..].iter().try_for_each(|word| text.word(word))?;
        }
        text.word(b"VALUES")?;
        Some(Self { table, columns, overriding, rows: text.0 })
    }

    /// Calls `value` for each value with its column index, from 0, and whether it ends its row;
    /// stops when that returns `None`. Returns the number of rows; `None`: they aren't plain.
    /// `escapes`: a backslash in a text escapes the next character.
    pub fn rows(
        &self,
        escapes: bool,
        mut value: impl FnMut(usize, Literal<'a>, bool) -> Option<()>,
    ) -> Option<u64> {
        let mut text = Text(self.rows);
        let mut columns = self.columns.len();
        let mut rows = 0;
        loop {
            text.space();
            text.byte(b'(').then_some(())?;
            let mut column = 0;
            loop {
                text.space();
                let literal = text.literal(escapes)?;
                text.space();
                let last = text.byte(b')');
                value(column, literal, last)?;
                column += 1;
                if last {
                    break;
                }
                text.byte(b',').then_some(())?;
            }
            rows += 1;
            if columns == 0 {
                columns = column;
            }
            (column == columns).then_some(())?;
            text.space();
            if text.0.is_empty() {
                return Some(rows);
            }
            text.byte(b',').then_some(())?;
        }
    }
}

/// What is left of the text.
struct Text<'a>(&'a [u8]);

impl<'a> Text<'a> {
    fn space(&mut self) {
        self.0 = self.0.trim_ascii_start();
    }

    fn byte(&mut self, byte: u8) -> bool {
        let found = self.0.first() == Some(&byte);
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    /// A whole keyword.
    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.space();
        let (found, rest) = self.0.split_at_checked(word.len())?;
        let ends = rest.first().is_none_or(|byte| !is_name(*byte));
        (found.eq_ignore_ascii_case(word) && ends).then_some(())?;
        self.0 = rest;
        Some(())
    }

    /// One name, quoted or not.
    fn name(&mut self, quote: u8) -> Option<&'a [u8]> {
        let size = if self.0.first() == Some(&quote) {
            let end = self.0[1..].iter().position(|byte| *byte == quote)?;
            // A name with a doubled quote is not supported.
            (self.0.get(end + 2) != Some(&quote)).then_some(end + 2)?
        } else {
            let size = self.0.iter().position(|byte| !is_name(*byte)).unwrap_or(self.0.len());
            self.0.first().is_some_and(|byte| !byte.is_ascii_digit()).then_some(size)?
        };
        let (name, rest) = self.0.split_at(size);
        self.0 = rest;
        (!name.is_empty()).then_some(name)
    }

    fn literal(&mut self, escapes: bool) -> Option<Literal<'a>> {
        match self.0.first()? {
            b'\'' => self.quoted(escapes),
            b'-' | b'0'..=b'9' => self.number(),
            _ => self.word(b"NULL").map(|()| Literal::Null),
        }
    }

    fn number(&mut self) -> Option<Literal<'a>> {
        let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let sign = usize::from(self.0[0] == b'-');
        let whole = digits(&self.0[sign..]);
        let leads = self.0[sign..].first() == Some(&b'0');
        let is_integer = self.0.get(sign + whole) != Some(&b'.');
        let fraction = if is_integer { 0 } else { digits(&self.0[sign + whole + 1..]) };
        // `007`, `-0`, `-0.00`, `1.`: a load would keep them as written, an INSERT would not.
        let odd =
            whole == 0 || (leads && (whole > 1 || sign == 1)) || (!is_integer && fraction == 0);
        let size = sign + whole + if is_integer { 0 } else { 1 + fraction };
        let (number, rest) = self.0.split_at(size);
        (!odd && rest.first().is_none_or(|byte| !is_name(*byte))).then_some(())?;
        self.0 = rest;
        Some(if is_integer { Literal::Integer(number) } else { Literal::Decimal(number) })
    }

    fn quoted(&mut self, escapes: bool) -> Option<Literal<'a>> {
        let start = &self.0[1..];
        let mut position = 0;
        loop {
            let found = &start[position..];
            let next = memchr2(b'\'', b'\\', found)?;
            position += next;
            match (start[position], start.get(position + 1)) {
                (b'\\', _) if !escapes => position += 1,
                (b'\\', Some(_)) | (b'\'', Some(b'\'')) => position += 2,
                (b'\\', None) => return None,
                _ => break,
            }
        }
        self.0 = &start[position + 1..];
        Some(Literal::Text(&start[..position]))
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

/// Appends text as both COPY and LOAD DATA read it: backslash, tab and line ends escaped.
pub(crate) fn escape(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    // Carriage returns are rare: search for them only where the other three are absent.
    while let Some(at) = memchr3(b'\\', b'\t', b'\n', rest) {
        no_returns(&rest[..at], out);
        out.extend_from_slice(match rest[at] {
            b'\\' => b"\\\\",
            b'\t' => b"\\t",
            _ => b"\\n",
        });
        rest = &rest[at + 1..];
    }
    no_returns(rest, out);
}

fn no_returns(text: &[u8], out: &mut Vec<u8>) {
    for (index, part) in text.split(|byte| *byte == b'\r').enumerate() {
        if index > 0 {
            out.extend_from_slice(b"\\r");
        }
        out.extend_from_slice(part);
    }
}

/// The error for a server that stored another number of rows than was sent.
pub fn wrong_row_count(sent: u64, stored: u64) -> ServerError {
    ServerError {
        sqlstate: "HY000".into(),
        number: 0,
        message: format!("of {sent} rows sent in bulk the server stored {stored}"),
        transient: false,
        rolled_back: false,
        closes: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(sql: &str, escapes: bool) -> Option<(u64, Vec<String>)> {
        let insert = Insert::parse(sql.as_bytes(), b'"')?;
        let mut found = Vec::new();
        let rows = insert.rows(escapes, |column, literal, last| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let literal = match literal {
                Literal::Null => "NULL".into(),
                Literal::Integer(digits) => format!("i{}", text(digits)),
                Literal::Decimal(digits) => format!("d{}", text(digits)),
                Literal::Text(bytes) => format!("'{}'", text(bytes)),
            };
            found.push(format!("{column}{literal}{}", if last { ";" } else { "" }));
            Some(())
        })?;
        Some((rows, found))
    }

    #[test]
    fn plain_inserts_are_taken_apart() {
        let insert =
            Insert::parse(b"insert INTO s.\"t 1\" (a, \"b c\") Values (1,2)", b'"').unwrap();
        assert_eq!(insert.table, b"s.\"t 1\"");
        assert_eq!(insert.columns, [&b"a"[..], b"\"b c\""]);
        assert_eq!(insert.rows, b" (1,2)");
        let insert = Insert::parse(b"INSERT INTO sbtest1 VALUES(1)", b'`').unwrap();
        assert_eq!((insert.table, insert.columns.len()), (&b"sbtest1"[..], 0));
        let own = b"INSERT INTO t(a) overriding SYSTEM VALUE VALUES (1)";
        assert!(Insert::parse(own, b'"').unwrap().overriding);
        assert_eq!(Insert::parse(own, b'`'), None);
        let (rows, found) =
            values("INSERT INTO t VALUES (1, -20,NULL), ('a', 'it''s', 0.5)", false).unwrap();
        assert_eq!(rows, 2);
        assert_eq!(found, ["0i1", "1i-20", "2NULL;", "0'a'", "1'it''s'", "2d0.5;"]);
    }

    #[test]
    fn what_may_mean_something_else_is_left_alone() {
        for sql in [
            "INSERT IGNORE INTO t VALUES (1)",
            "REPLACE INTO t VALUES (1)",
            "INSERT INTO t SELECT 1",
            "INSERT INTO t AS x VALUES (1)",
            "INSERT INTO \"a\"\"b\" VALUES (1)",
            "INSERT INTO t(a) SET a = 1",
            "INSERT INTO t(a) OVERRIDING USER VALUE VALUES (1)",
            "INSERT INTO t(a) OVERRIDING VALUES (1)",
            "INSERT INTO t VALUES (now())",
            "INSERT INTO t VALUES (DEFAULT)",
            "INSERT INTO t VALUES (1 + 1)",
            "INSERT INTO t VALUES ('a' 'b')",
            "INSERT INTO t VALUES ('a' || 'b')",
            "INSERT INTO t VALUES (E'a')",
            "INSERT INTO t VALUES (x'00')",
            "INSERT INTO t VALUES (0x00)",
            "INSERT INTO t VALUES (1e5)",
            "INSERT INTO t VALUES (007)",
            "INSERT INTO t VALUES (-0)",
            "INSERT INTO t VALUES (1.)",
            "INSERT INTO t VALUES (.5)",
            "INSERT INTO t VALUES (+1)",
            "INSERT INTO t VALUES (NULLS)",
            "INSERT INTO t VALUES ('a)",
            "INSERT INTO t VALUES (1), (1, 2)",
            "INSERT INTO t(a, b) VALUES (1)",
            "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
            "INSERT INTO t VALUES (1); DROP TABLE t",
            "INSERT INTO t VALUES (1),",
            "INSERT INTO t VALUES",
            "INSERT INTO t VALUES ()",
        ] {
            assert_eq!(values(sql, true), None, "{sql}");
        }
    }

    #[test]
    fn a_backslash_hides_a_quote_only_where_it_escapes() {
        let sql = r"INSERT INTO t VALUES ('a\'b', '\\')";
        assert_eq!(values(sql, true).unwrap().1, [r"0'a\'b'", r"1'\\';"]);
        assert_eq!(values(sql, false), None);
        let (_, found) = values(r"INSERT INTO t VALUES ('a\', 'b')", false).unwrap();
        assert_eq!(found, [r"0'a\'", "1'b';"]);
    }

    #[test]
    fn text_is_escaped_for_the_load() {
        let mut out = Vec::new();
        escape(b"a\\b\tc\nd\re\r\n", &mut out);
        assert_eq!(out, b"a\\\\b\\tc\\nd\\re\\r\\n");
    }
}
