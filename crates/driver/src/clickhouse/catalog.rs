//! Looks up a table in the server's catalog before rows are loaded into it.

use crate::load::{Form, Insert};
use crate::table::{Column, Rows, Table};

/// Each INSERT makes a part of the table, which the server then merges with others: fewer and
/// larger ones cost it less.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// See [`crate::Carrier::look`]; `rows` queries the server. Only engines that keep all rows as
/// they are: others merge or drop some by the order in which they came.
pub(crate) fn look<E>(
    prefix: &[u8],
    mut rows: impl FnMut(&str) -> Result<Rows, E>,
) -> Result<Option<Table>, E> {
    let quote = if prefix.contains(&b'`') { b'`' } else { b'"' };
    let Some(insert) = Insert::parse(prefix, quote) else { return Ok(None) };
    let Ok(name) = str::from_utf8(insert.table) else { return Ok(None) };
    if name.contains(['.', '`', '"', '\'', '\\']) {
        return Ok(None);
    }
    let of_table = "database = currentDatabase() AND";
    let engine =
        rows(&format!("SELECT engine FROM system.tables WHERE {of_table} name = '{name}'"))?;
    let engine = engine.into_iter().flatten().next().flatten();
    if !matches!(engine.as_deref(), Some("MergeTree" | "Memory")) {
        return Ok(None);
    }
    let described = rows(&format!(
        "SELECT name, default_kind FROM system.columns WHERE {of_table} table = '{name}'"
    ))?;
    let mut columns = Vec::new();
    for row in described {
        let [Some(name), Some(default)] = &row[..] else { return Ok(None) };
        if matches!(default.as_str(), "MATERIALIZED" | "ALIAS") {
            return Ok(None);
        }
        let (numbered, computed, form) = (false, false, Form::Literal);
        columns.push(Column { name: name.clone(), numbered, computed, form });
    }
    let (key, next, sequence, undoes, batch_bytes) = (name.into(), 0, None, false, BATCH_BYTES);
    Ok(Some(Table { key, quote, columns, next, sequence, undoes, batch_bytes }))
}
