//! How a statement changes the session it is sent on.

/// What a statement changes in its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: it affects only the database.
    None,
    /// A setting, which can be repeated on another session.
    Setting,
    /// Something that another session can't share, such as a transaction, a temporary table or a
    /// lock; or the text does not tell.
    Private,
}

/// First words of statements that change nothing in the session, unless they contain one of
/// [`TELLTALES`].
const HARMLESS: [&str; 17] = [
    "ALTER",
    "ANALYZE",
    "CHECK",
    "CHECKPOINT",
    "COMMENT",
    "CREATE",
    "DELETE",
    "DROP",
    "EXPLAIN",
    "GRANT",
    "INSERT",
    "OPTIMIZE",
    "REPLACE",
    "SELECT",
    "TRUNCATE",
    "UPDATE",
    "VACUUM",
];
const TELLTALES: [&[u8]; 6] = [b"TEMP", b"LOCK", b"SET_CONFIG", b"INTO @", b":=", b"CURSOR"];
const IN_SETTINGS: [&[u8]; 2] = [b"AUTOCOMMIT", b"TRANSACTION"];

/// Judges by the text alone; in doubt [`Effect::Private`].
pub fn effect(sql: &[u8]) -> Effect {
    let text = sql.trim_ascii().to_ascii_uppercase();
    let text = text.strip_suffix(b";").unwrap_or(&text);
    let has = |part: &&[u8]| memchr::memmem::find(text, part).is_some();
    let end = text.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(text.len());
    let word = str::from_utf8(&text[..end]).unwrap_or_default();
    if text.contains(&b';') {
        return Effect::Private;
    }
    match word {
        "SET" | "USE" if !IN_SETTINGS.iter().any(has) => Effect::Setting,
        "SHOW" => Effect::None,
        word if HARMLESS.contains(&word) => {
            // A row's values may contain any word.
            let rows = matches!(word, "INSERT" | "REPLACE" | "UPDATE" | "DELETE");
            if !rows && TELLTALES.iter().any(has) { Effect::Private } else { Effect::None }
        }
        _ => Effect::Private,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_told_by_what_they_leave_behind() {
        for (sql, expected) in [
            ("create table t(id int)", Effect::None),
            ("\n CREATE UNIQUE INDEX k ON t(k);", Effect::None),
            ("INSERT INTO t VALUES ('a locked template')", Effect::None),
            ("SELECT count(*) FROM t", Effect::None),
            ("SET foreign_key_checks = 0", Effect::Setting),
            ("use test", Effect::Setting),
            ("SET autocommit=0", Effect::Private),
            ("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", Effect::Private),
            ("BEGIN", Effect::Private),
            ("START TRANSACTION", Effect::Private),
            ("LOCK TABLES t WRITE", Effect::Private),
            ("CREATE TEMPORARY TABLE t(id int)", Effect::Private),
            ("CREATE LOCAL TEMP TABLE t(id int)", Effect::Private),
            ("SELECT get_lock('a', 1)", Effect::Private),
            ("SELECT set_config('search_path', 'a', false)", Effect::Private),
            ("DROP TABLE t; BEGIN", Effect::Private),
            ("/* why */ BEGIN", Effect::Private),
            ("", Effect::Private),
        ] {
            assert_eq!(effect(sql.as_bytes()), expected, "{sql}");
        }
    }
}
