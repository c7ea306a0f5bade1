//! Looks up a table in PostgreSQL's catalog before rows are loaded into it.

use crate::load::{Form, Insert};
use crate::table::{BATCH_BYTES, Column, Rows, Table};

/// See [`crate::Carrier::look`]; `rows` queries the server. Triggers and rules may do anything, and
/// so may functions in defaults and checks; rows that refer to rows of the same table have an
/// order. Such tables are not plain.
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
         AND NOT EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = c.oid AND NOT tgisinternal) \
         AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = c.oid \
             AND confrelid = c.oid) \
         AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE refclassid = 'pg_proc'::regclass \
             AND (classid = 'pg_constraint'::regclass \
                  AND objid IN (SELECT oid FROM pg_constraint WHERE conrelid = c.oid) \
                  OR classid = 'pg_attrdef'::regclass \
                  AND objid IN (SELECT oid FROM pg_attrdef WHERE adrelid = c.oid)))"
    );
    let Some(oid) = first_value(rows(&plain)?) else { return Ok(None) };
    let described = rows(&format!(
        "SELECT a.attname, pg_get_serial_sequence('{literal}', a.attname), \
             a.attidentity <> '' OR coalesce(pg_get_expr(adbin, adrelid), '') LIKE '%nextval(%', \
             attidentity = 'a', CASE WHEN t.oid < 16384 AND typtype <> 'd' THEN t.oid::text \
             ELSE typtype::text END, typdefault IS NULL \
             FROM pg_attribute a JOIN pg_type t ON t.oid = atttypid \
             LEFT JOIN pg_attrdef d ON adrelid = attrelid AND adnum = attnum \
             WHERE attrelid = {oid} AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
    ))?;
    let (quote, columns) = (b'"', Vec::new());
    let (next, sequence, undoes, batch_bytes) = (0, None, true, BATCH_BYTES);
    let mut table = Table { key: oid, quote, columns, next, sequence, undoes, batch_bytes };
    for row in described {
        let [Some(name), sequence, Some(numbered), Some(always), Some(kind), Some(no_default)] =
            &row[..]
        else {
            return Ok(None);
        };
        // A domain's own default may number rows, too.
        if no_default != "t" {
            return Ok(None);
        }
        let (numbered, computed) = (numbered == "t", always == "t");
        if numbered {
            // Two such columns, or a sequence that other tables may share.
            let Some(sequence) = sequence.clone().filter(|_| table.sequence.is_none()) else {
                return Ok(None);
            };
            table.sequence = Some(sequence);
        }
        table.columns.push(Column { name: name.clone(), numbered, computed, form: form(kind) });
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

/// The form for a type: the number of a built-in one, otherwise what kind of type it is.
///
/// A text in an INSERT is read by the type's input function, as COPY does. A number is a constant
/// of its own type that is then cast, if there is a cast: its digits mean the same only to numbers
/// and texts. The binary format of integers and texts is as old as COPY and holds just the value.
/// Types of extensions may have casts of their own, and domains checks.
fn form(kind: &str) -> Form {
    match kind {
        "21" => Form::Integer(2),
        "23" => Form::Integer(4),
        "20" => Form::Integer(8),
        // text, character, character varying
        "25" | "1042" | "1043" => Form::Text,
        // real, double precision, numeric
        "700" | "701" | "1700" => Form::Number,
        // An enumeration, or another built-in type.
        "e" => Form::Quoted,
        kind if kind.parse::<u32>().is_ok() => Form::Quoted,
        _ => Form::Literal,
    }
}

fn first_value(rows: Rows) -> Option<String> {
    rows.into_iter().next().and_then(|row| row.into_iter().next()).flatten()
}
