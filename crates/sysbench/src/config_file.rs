//! Parses option files: `name=value` lines.

/// Longest line, bytes.
const LINE_MAX: usize = 256;

/// The options of a file, in order.
///
/// The first invalid line, with its number.
/// What is wrong, with its line.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut options = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if line.len() > LINE_MAX {
            return Err(format!("line {number} is longer than {LINE_MAX} bytes"));
        }
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            return Err(format!("line {number}: `{line}`; expected name=value"));
        };
        let value = value.trim();
        let quoted = value.len() >= 2
            && [b'"', b'\''].contains(&value.as_bytes()[0])
            && value.as_bytes().last() == value.as_bytes().first();
        let value = if quoted { &value[1..value.len() - 1] } else { value };
        options.push((name.trim().trim_start_matches("--").to_owned(), value.to_owned()));
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_quotes_and_lists_are_read() {
        let text = "# load\nthreads=4\nmysql-user=\"a b\"\n\nreport-checkpoints=1,2\n";
        let found = parse(text).unwrap();
        let expected = [("threads", "4"), ("mysql-user", "a b"), ("report-checkpoints", "1,2")];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn what_is_no_option_is_named_with_its_line() {
        assert!(parse("threads=1\nfoo\n").unwrap_err().starts_with("line 2: `foo`"));
        assert!(parse(&"x".repeat(300)).is_err());
    }
}
