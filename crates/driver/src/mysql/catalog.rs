//! Looks up a table in the catalog of MySQL or MariaDB before rows are loaded into it.

use crate::load::{Form, Insert};
use crate::table::{BATCH_BYTES, Column, Rows, Table};

/// Types for which a number and the same digits as text, and bytes and text, are stored alike.
const PLAIN: [&str; 12] = [
    "tinyint",
    "smallint",
    "mediumint",
    "int",
    "bigint",
    "decimal",
    "char",
    "varchar",
    "tinytext",
    "text",
    "mediumtext",
    "longtext",
];

/// See [`crate::Carrier::look`]; `rows` queries the server. Triggers may do anything, and rows that
/// refer to rows of the same table have an order: such tables are not plain.
pub(crate) fn look<E>(
    prefix: &[u8],
    mut rows: impl FnMut(&str) -> Result<Rows, E>,
) -> Result<Option<Table>, E> {
    let Some(insert) = Insert::parse(prefix, b'`') else { return Ok(None) };
    let Ok(name) = str::from_utf8(insert.table) else { return Ok(None) };
    let (schema, bare) = match name.rsplit_once('.') {
        Some((schema, bare)) => (literal(schema), bare),
        None => ("DATABASE()".to_owned(), name),
    };
    let bare = literal(bare);
    let sql = format!(
        "SELECT concat({schema}, '.', {bare}), @@auto_increment_increment, (SELECT count(*) FROM \
         information_schema.triggers WHERE event_object_schema = {schema} \
         AND event_object_table = {bare}) + (SELECT count(*) FROM \
         information_schema.referential_constraints WHERE constraint_schema = {schema} \
         AND table_name = {bare} AND referenced_table_name = {bare}), (SELECT transactions FROM \
         information_schema.tables t JOIN information_schema.engines e ON e.engine = t.engine \
         WHERE table_schema = {schema} AND table_name = {bare} AND table_type = 'BASE TABLE')"
    );
    let surroundings = rows(&sql)?;
    let Some([Some(key), Some(increment), Some(obstacles), undoes]) =
        surroundings.first().map(|row| &row[..])
    else {
        return Ok(None);
    };
    if increment != "1" || obstacles != "0" {
        return Ok(None);
    }
    let undoes = undoes.as_deref() == Some("YES");
    let mut columns = Vec::new();
    for row in rows(&format!("SHOW FULL COLUMNS FROM {name}"))? {
        let (Some(Some(field)), Some(Some(kind))) = (row.first(), row.get(1)) else {
            return Ok(None);
        };
        let extra = row.get(6).cloned().flatten().unwrap_or_default();
        if row.get(5).and_then(Option::as_deref).is_some_and(draws_a_number) {
            return Ok(None);
        }
        let collation = row.get(2).and_then(Option::as_deref).unwrap_or_default();
        let end = kind.find(|byte: char| !byte.is_ascii_lowercase()).unwrap_or(kind.len());
        columns.push(Column {
            name: field.clone(),
            numbered: extra.contains("auto_increment"),
            computed: ["VIRTUAL", "STORED", "PERSISTENT"].iter().any(|word| extra.contains(word)),
            form: match PLAIN.contains(&&kind[..end]) && !is_wide(collation) {
                true => Form::Text,
                false => Form::Quoted,
            },
        });
    }
    let (key, quote) = (key.clone(), b'`');
    let (next, sequence, batch_bytes) = (0, None, BATCH_BYTES);
    let mut table = Table { key, quote, columns, next, sequence, undoes, batch_bytes };
    if table.columns.iter().any(|column| column.numbered) {
        let made = rows(&format!("SHOW CREATE TABLE {name}"))?;
        let made = made.into_iter().next().and_then(|row| row.into_iter().nth(1)).flatten();
        let Some(next) = made.and_then(|text| next_number(&text)) else { return Ok(None) };
        table.next = next;
    }
    Ok(Some(table))
}

/// Whether a default draws from a sequence, as MariaDB's may.
fn draws_a_number(default: &str) -> bool {
    let default = default.to_ascii_lowercase();
    default.contains("nextval") || default.contains("next value")
}

/// Whether the collation's character set does not encode ASCII in single bytes.
fn is_wide(collation: &str) -> bool {
    ["ucs2", "utf16", "utf32"].iter().any(|set| collation.starts_with(set))
}

/// Reads the option after the columns of CREATE TABLE, present unless it is 1.
fn next_number(made: &str) -> Option<i64> {
    let (_, options) = made.rsplit_once("\n)")?;
    match options.split_once(" AUTO_INCREMENT=") {
        None => Some(1),
        Some((_, rest)) => rest.split(|byte: char| !byte.is_ascii_digit()).next()?.parse().ok(),
    }
}

fn literal(name: &str) -> String {
    format!("'{}'", name.trim().trim_matches('`').replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_number_stands_behind_the_columns() {
        let made = |options: &str| {
            format!(
                "CREATE TABLE `t` (\n  `a` int COMMENT ' AUTO_INCREMENT=3'\n) ENGINE=X{options}"
            )
        };
        assert_eq!(next_number(&made("")), Some(1));
        assert_eq!(next_number(&made(" AUTO_INCREMENT=42 DEFAULT CHARSET=x")), Some(42));
        assert_eq!(next_number("CREATE VIEW"), None);
    }

    #[test]
    fn bytes_of_ascii_are_no_text_in_wide_character_sets() {
        for collation in ["ucs2_general_ci", "utf16le_bin", "utf32_unicode_ci"] {
            assert!(is_wide(collation), "{collation}");
        }
        for collation in ["", "latin1_swedish_ci", "utf8mb4_general_ci", "utf8mb3_bin"] {
            assert!(!is_wide(collation), "{collation}");
        }
    }
}
