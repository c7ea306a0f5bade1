//! Looks up a table in PostgreSQL's catalog before rows are loaded into it.

use crate::load::{Form, Insert};
use crate::table::{Column, Rows, Table};

/// See [`crate::Carrier::look`]; `rows` queries the server. Triggers and rules may do anything, so
/// tables with them are not plain.
pub(crate) fn look<E>(
    prefix: &[u8],
    mut rows: impl FnMut(&str) -> Result<Rows, E>,
) -> Result<Option<Table>, E> {
    let Some(insert) = Insert::parse(prefix, b'"') else { return Ok(None) };
    let Ok(name) = str::from_utf8(insert.table) else { return Ok(None) };
    let literal = name.replace('\'', "''");
    let plain = format!(
        "SELECT c.oid FROM pg_class c WHERE c.oid = '{literal}'::regclass \
         AND relkind IN ('r', 'p') AND relpersistence <> 't' AND NOT relhasrules \
         AND NOT EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = c.oid AND NOT tgisinternal)"
    );
    let Some(oid) = first_value(rows(&plain)?) else { return Ok(None) };
    let described = rows(&format!(
        "SELECT a.attname, pg_get_serial_sequence('{literal}', a.attname), \
             a.attidentity <> '' OR coalesce(pg_get_expr(adbin, adrelid), '') LIKE '%nextval(%', \
             atttypid::regtype \
             FROM pg_attribute a LEFT JOIN pg_attrdef d ON adrelid = attrelid AND adnum = attnum \
             WHERE attrelid = {oid} AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
    ))?;
    let mut table = Table { key: oid, quote: b'"', columns: Vec::new(), next: 0, sequence: None };
    for row in described {
        let [Some(name), sequence, Some(numbered), Some(kind)] = &row[..] else { return Ok(None) };
        let numbered = numbered == "t";
        if numbered {
            // Two such columns, or a sequence that other tables may share.
            let Some(sequence) = sequence.clone().filter(|_| table.sequence.is_none()) else {
                return Ok(None);
            };
            table.sequence = Some(sequence);
        }
        table.columns.push(Column { name: name.clone(), numbered, form: form(kind) });
    }
    if let Some(sequence) = &table.sequence {
        let literal = sequence.replace('\'', "''");
        let next = format!(
            "SELECT last_value + is_called::int FROM {sequence}, pg_sequence \
             WHERE seqrelid = '{literal}'::regclass AND seqincrement = 1 AND NOT seqcycle \
             AND has_sequence_privilege(seqrelid, 'UPDATE')"
        );
        let next = first_value(rows(&next)?).and_then(|next| next.parse().ok());
        let Some(next) = next else { return Ok(None) };
        table.next = next;
    }
    Ok(Some(table))
}

/// The form for types whose binary format is as old as COPY and holds just the value.
fn form(kind: &str) -> Form {
    match kind {
        "smallint" => Form::Integer(2),
        "integer" => Form::Integer(4),
        "bigint" => Form::Integer(8),
        "text" | "character varying" | "character" => Form::Text,
        _ => Form::Literal,
    }
}

fn first_value(rows: Rows) -> Option<String> {
    rows.into_iter().next().and_then(|row| row.into_iter().next()).flatten()
}
