//! Statement text with `?` placeholders, for databases that use another syntax.

/// Whose lexical rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// PostgreSQL's (its manual's chapter "Lexical Structure", with `standard_conforming_strings`
    /// on).
    Postgres,
    /// MySQL's and MariaDB's, without `NO_BACKSLASH_ESCAPES`.
    Mysql,
    /// ClickHouse's: MySQL's, but that nothing has to follow the dashes of a comment.
    Clickhouse,
}

/// Statement text, split at its placeholders.
///
/// A `?` within a literal, a quoted identifier, a dollar quote or a comment is no placeholder. In
/// PostgreSQL texts `??` stands for a single question mark (some operators contain it).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    text: Box<[u8]>,
    /// Offsets in `text` where the values go, ascending.
    marks: Box<[usize]>,
}

impl Template {
    /// Splits a text.
    pub fn new(sql: &[u8], dialect: Dialect) -> Self {
        let mut text = Vec::with_capacity(sql.len());
        let mut marks = Vec::new();
        let mut position = 0;
        while let Some(&byte) = sql.get(position) {
            let rest = &sql[position..];
            if byte == b'?' {
                if dialect == Dialect::Postgres && rest.get(1) == Some(&b'?') {
                    text.push(b'?');
                    position += 2;
                } else {
                    marks.push(text.len());
                    position += 1;
                }
                continue;
            }
            let size = match dialect {
                Dialect::Postgres => protected_in_postgres(&sql[..position], rest),
                Dialect::Clickhouse if rest.starts_with(b"--") => line(rest),
                Dialect::Mysql | Dialect::Clickhouse => protected_in_mysql(rest),
            };
            text.extend_from_slice(&rest[..size]);
            position += size;
        }
        Self { text: text.into(), marks: marks.into() }
    }

    /// Whether the text begins with this word, in capitals or not.
    pub fn begins_with(&self, word: &[u8]) -> bool {
        let text = self.text.trim_ascii_start();
        text.get(..word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word))
    }

    /// Number of placeholders.
    pub fn values(&self) -> usize {
        self.marks.len()
    }

    /// Appends the text with `write`'s output for each value, separated from adjacent words.
    pub fn render<V>(
        &self,
        values: impl Iterator<Item = V>,
        mut write: impl FnMut(V, &mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        let mut done = 0;
        for (&mark, value) in self.marks.iter().zip(values) {
            out.extend_from_slice(&self.text[done..mark]);
            if done < mark && is_word(self.text[mark - 1]) {
                out.push(b' ');
            }
            write(value, out);
            if self.text.get(mark).is_some_and(|byte| is_word(*byte)) {
                out.push(b' ');
            }
            done = mark;
        }
        out.extend_from_slice(&self.text[done..]);
    }
}

/// The size of the lexical unit at the front of `rest`: a literal, a quoted name, a comment, or a
/// single byte.
fn protected_in_postgres(before: &[u8], rest: &[u8]) -> usize {
    match rest {
        [b'\'', ..] => quoted(rest, is_escape_literal(before)),
        [b'"', ..] => quoted(rest, false),
        [b'-', b'-', ..] => line(rest),
        [b'/', b'*', ..] => nested_comment(rest),
        [b'$', ..] if !before.last().is_some_and(|byte| is_word(*byte)) => dollar_quoted(rest),
        _ => 1,
    }
}

/// The same for MySQL: double quotes also hold literals, with escapes; a `--` comment needs a blank
/// after the dashes.
fn protected_in_mysql(rest: &[u8]) -> usize {
    match rest {
        [b'\'' | b'"', ..] => quoted(rest, true),
        [b'`', ..] => quoted(rest, false),
        [b'#', ..] => line(rest),
        [b'-', b'-', blank, ..] if blank.is_ascii_whitespace() => line(rest),
        [b'/', b'*', ..] => {
            memchr::memmem::find(&rest[2..], b"*/").map_or(rest.len(), |end| end + 4)
        }
        _ => 1,
    }
}

/// To the end of the line.
fn line(rest: &[u8]) -> usize {
    memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1)
}

/// To the closing quote; a doubled quote reads as two adjacent literals, with the same result.
fn quoted(rest: &[u8], escapes: bool) -> usize {
    let quote = rest[0];
    let mut position = 1;
    while let Some(&byte) = rest.get(position) {
        position += 1;
        if byte == quote {
            return position;
        }
        if byte == b'\\' && escapes {
            position += 1;
        }
    }
    rest.len()
}

/// `E'…'`, where the E isn't the end of a longer word.
fn is_escape_literal(before: &[u8]) -> bool {
    match before {
        [.., previous, b'e' | b'E'] => !is_word(*previous),
        [b'e' | b'E'] => true,
        _ => false,
    }
}

/// PostgreSQL's comments nest.
fn nested_comment(rest: &[u8]) -> usize {
    let mut depth = 0u32;
    let mut position = 0;
    while position + 1 < rest.len() {
        match &rest[position..position + 2] {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => {
                position += 1;
                continue;
            }
        }
        position += 2;
        if depth == 0 {
            return position;
        }
    }
    rest.len()
}

/// `$tag$…$tag$`; a `$` that begins no tag (as in `$1`) is a byte like any other.
fn dollar_quoted(rest: &[u8]) -> usize {
    let Some(end) = memchr::memchr(b'$', &rest[1..]) else { return 1 };
    let tag = &rest[..end + 2];
    let name = &tag[1..=end];
    let is_name = name.iter().all(|byte| is_word(*byte))
        && !name.first().is_some_and(|byte| byte.is_ascii_digit());
    if !is_name {
        return 1;
    }
    let body = &rest[tag.len()..];
    memchr::memmem::find(body, tag).map_or(rest.len(), |found| found + 2 * tag.len())
}

/// Whether the byte can continue an identifier or number.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(sql: &str) -> String {
        numbered_in(Dialect::Postgres, sql)
    }

    fn numbered_in(dialect: Dialect, sql: &str) -> String {
        let template = Template::new(sql.as_bytes(), dialect);
        let mut out = Vec::new();
        let write = |n: usize, out: &mut Vec<u8>| out.extend_from_slice(format!("${n}").as_bytes());
        template.render(1..=template.values(), write, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn placeholders_are_numbered_where_they_stand() {
        let check = |sql, expected: &str| assert_eq!(numbered(sql), expected);
        check("SELECT c FROM t WHERE id=?", "SELECT c FROM t WHERE id=$1");
        check("?", "$1");
        check("VALUES (?, ?,?)", "VALUES ($1, $2,$3)");
        check("LIMIT?OFFSET?", "LIMIT $1 OFFSET $2");
        check("a ?? b = ?", "a ? b = $1");
        check("nothing", "nothing");
    }

    #[test]
    fn what_is_quoted_or_commented_stays_as_it_is() {
        let check = |sql: &str| assert_eq!(numbered(&format!("{sql} ?")), format!("{sql} $1"));
        check("'?'");
        check("'it''s ?'");
        check(r"'\' "); // No escape without E: the literal ends here.
        check(r"E'\'?'");
        check(r"some'\' ");
        check("\"a?\"\"?\"");
        check("$$ ? $$");
        check("$tag$ ? $$ ? $tag$");
        check("a$b");
        check("$1");
        check("-- ?\n");
        check("/* ? /* ? */ ? */");
        check("a - b / c");
        check("'é?' é");
    }

    #[test]
    fn what_is_never_closed_reaches_to_the_end() {
        for sql in ["'?", "\"?", "$$?", "-- ?", "/* ?", "/*", "E'\\", "$a?", "$"] {
            let expected = if sql == "$a?" { "$a $1" } else { sql };
            assert_eq!(numbered(sql), expected);
        }
    }

    #[test]
    fn clickhouse_s_comments_begin_at_once() {
        let number = |sql| numbered_in(Dialect::Clickhouse, sql);
        assert_eq!(number("a = ? --?\n ?"), "a = $1 --?\n $2");
        assert_eq!(number(r"'\'?' `?` ?"), r"'\'?' `?` $1");
        let template = Template::new(b" insert INTO t", Dialect::Clickhouse);
        assert!(template.begins_with(b"INSERT") && !template.begins_with(b"SELECT"));
    }

    #[test]
    fn mysql_has_its_own_quotes_and_comments() {
        let check = |sql: &str| {
            assert_eq!(numbered_in(Dialect::Mysql, &format!("{sql} ?")), format!("{sql} $1"));
        };
        check(r"'\'?'");
        check(r#""\"?""#);
        check("`?`");
        check("# ?\n");
        check("-- ?\n");
        check("/* /* ? */");
        check("a$$b");
        assert_eq!(numbered_in(Dialect::Mysql, "5--?"), "5--$1");
        assert_eq!(numbered_in(Dialect::Mysql, "??"), "$1$2");
    }
}
