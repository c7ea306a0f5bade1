//! The table of a bulk insert: its catalog entry, and whether its rows may arrive in any order.

use std::sync::Arc;

use crate::load::{Form, Insert, Literal};

/// What one statement carries well of most servers.
pub const BATCH_BYTES: usize = 512 * 1024;
const VALUES: &[u8] = b"VALUES";
/// Lets an INSERT number rows whose numbers are the server's alone.
const OVERRIDING: &[u8] = b"OVERRIDING SYSTEM VALUE ";

/// Values of a result set's rows, as text.
pub(crate) type Rows = Vec<Vec<Option<String>>>;

/// A table, as its server's catalog describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Identifies the table, however its name is written.
    pub key: String,
    pub(crate) quote: u8,
    /// In the table's order.
    pub(crate) columns: Vec<Column>,
    /// The next number of the column that the server numbers, if there is one.
    pub(crate) next: i64,
    /// The sequence that gives the numbers, if there is a separate one.
    pub(crate) sequence: Option<String>,
    /// Rows of a batch can be removed again if the server refuses one of them.
    pub(crate) undoes: bool,
    /// A batch of its rows is sent once its text has this size, bytes.
    pub(crate) batch_bytes: usize,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    /// As in the catalog.
    pub name: String,
    /// The server numbers rows that have no value for it.
    pub numbered: bool,
    /// An INSERT may not name it, or only with OVERRIDING SYSTEM VALUE.
    pub computed: bool,
    /// How its values can be sent.
    pub form: Form,
}

/// How a bulk insert's rows are sent over loader connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The text before the rows. With `numbered`, each row begins with one more value.
    pub prefix: Vec<u8>,
    /// The engine numbers the rows.
    pub numbered: bool,
    /// Forms of a row's values ([`crate::Session::load`]).
    pub forms: Vec<Form>,
    /// The server's native load would mean the same as the INSERT.
    pub loads: bool,
    /// The statement that sets the table's counter back after rows were refused; `None`: the table
    /// has no counter that can be set.
    pub reset: Option<String>,
    /// A batch is sent once its text has this size, bytes.
    pub batch_bytes: usize,
}

impl Table {
    /// The first free number.
    pub fn next(&self) -> i64 {
        self.next
    }

    /// The sequence to advance past the numbers given.
    pub fn sequence(&self) -> Option<&str> {
        self.sequence.as_deref()
    }

    /// How rows like `row`, the first one, can be sent in any order; `None`: what is stored might
    /// depend on the order, or the row is not plain.
    pub fn route(&self, prefix: &[u8], row: &[u8]) -> Option<Route> {
        let insert = Insert::parse(prefix, self.quote)?;
        let named: Vec<_> = insert.columns.iter().map(|name| self.position(name)).collect();
        let places: Vec<usize> = match named.is_empty() {
            true => (0..self.columns.len()).collect(),
            false => named.into_iter().collect::<Option<_>>()?,
        };
        let numbered = self.columns.iter().position(|column| column.numbered);
        let mut values = 0;
        let mut numbers_itself = false;
        let row = Insert { columns: Vec::new(), rows: row, ..insert.clone() };
        let rows = row.rows(true, |column, literal, _| {
            values += 1;
            let unset = matches!(literal, Literal::Null | Literal::Integer(b"0"));
            numbers_itself |= unset && places.get(column).copied() == numbered;
            Some(())
        })?;
        if rows != 1 || values != places.len() || numbers_itself {
            return None;
        }
        let left_out = numbered.filter(|place| !places.contains(place));
        let sent = left_out.iter().chain(&places);
        let forms: Vec<_> = sent.map(|place| self.columns[*place].form).collect();
        let names_computed = places.iter().any(|place| self.columns[*place].computed);
        let loads = self.undoes && !forms.contains(&Form::Literal);
        let loads = loads && (insert.overriding || !names_computed);
        let mut text = prefix.to_vec();
        if left_out.is_some_and(|place| self.columns[place].computed) && !insert.overriding {
            let values = prefix.trim_ascii_end().len().checked_sub(VALUES.len())?;
            text.splice(values..values, OVERRIDING.iter().copied());
        }
        if let Some(place) = left_out {
            let first = insert.columns.first()?;
            let at = first.as_ptr().addr() - prefix.as_ptr().addr();
            let quote = [self.quote];
            let name = [&quote, self.columns[place].name.as_bytes(), &quote, b", "].concat();
            text.splice(at..at, name);
        }
        let counted = self.undoes && self.sequence.is_none() && numbered.is_some();
        let reset = counted.then(|| str::from_utf8(insert.table).ok()).flatten().map(|name| {
            // If the table holds a larger number, the server continues after that one instead.
            format!("ALTER TABLE {name} AUTO_INCREMENT = {}", self.next)
        });
        let (numbered, batch_bytes) = (left_out.is_some(), self.batch_bytes);
        Some(Route { prefix: text, numbered, forms, loads, reset, batch_bytes })
    }

    fn position(&self, written: &[u8]) -> Option<usize> {
        let bare = written.strip_prefix(&[self.quote]);
        let bare = bare.and_then(|name| name.strip_suffix(&[self.quote]));
        self.columns.iter().position(|column| match bare {
            Some(name) if self.quote == b'"' => column.name.as_bytes() == name,
            name => column.name.as_bytes().eq_ignore_ascii_case(name.unwrap_or(written)),
        })
    }
}

/// The table name in an INSERT's prefix, as written; `None`: it isn't plain.
pub fn table_of(prefix: &[u8]) -> Option<Arc<str>> {
    let found = [b'"', b'`'].into_iter().find_map(|quote| Insert::parse(prefix, quote))?;
    str::from_utf8(found.table).ok().map(Arc::from)
}

/// Whether `values` is exactly one row in parentheses.
pub fn is_one_row(values: &[u8]) -> bool {
    let values = values.trim_ascii();
    let one = || {
        let insert = Insert { table: b"", columns: Vec::new(), overriding: false, rows: values };
        insert.rows(true, |_, _, _| Some(())) == Some(1)
    };
    let closes = memchr::memchr(b')', values);
    values.first() == Some(&b'(') && (closes.map(|at| at + 1) == Some(values.len()) || one())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(quote: u8) -> Table {
        let column = |name: &str, form| {
            let numbered = name == "id";
            Column { name: name.into(), numbered, computed: false, form }
        };
        let columns = vec![
            column("id", Form::Integer(8)),
            column("k", Form::Text),
            column("bits", Form::Literal),
        ];
        let (next, sequence, undoes) = (1, None, true);
        let (key, batch_bytes) = ("t".into(), BATCH_BYTES);
        Table { key, quote, columns, next, sequence, undoes, batch_bytes }
    }

    #[track_caller]
    fn check(prefix: &str, row: &str, expected: Option<(&str, bool, &[Form])>) {
        let found = table(b'"').route(prefix.as_bytes(), row.as_bytes());
        let found = found
            .map(|route| (String::from_utf8(route.prefix).unwrap(), route.numbered, route.forms));
        let expected =
            expected.map(|(text, numbered, forms)| (text.to_owned(), numbered, forms.to_vec()));
        assert_eq!(found, expected, "{prefix} {row}");
    }

    #[test]
    fn rows_without_a_number_get_one() {
        let (number, text) = (Form::Integer(8), Form::Text);
        let numbered = "INSERT INTO t(\"id\", k) VALUES";
        check("INSERT INTO t(k) VALUES", "(1)", Some((numbered, true, &[number, text])));
        let all = "INSERT INTO t VALUES";
        check(all, "(1, 2, 3)", Some((all, false, &[number, text, Form::Literal])));
        let named = "INSERT INTO t (K, \"id\") VALUES";
        check(named, "(1, 2)", Some((named, false, &[text, number])));
    }

    #[test]
    fn a_load_means_what_the_insert_means_or_there_is_none() {
        let check = |table: &Table, prefix: &str, expected: (&str, bool)| {
            let route = table.route(prefix.as_bytes(), b"(5)").unwrap();
            assert_eq!((str::from_utf8(&route.prefix).unwrap(), route.loads), expected);
        };
        let mut known = table(b'"');
        let named = "INSERT INTO t(id) VALUES";
        check(&known, named, (named, true));
        known.columns[0].computed = true;
        check(&known, named, (named, false));
        let own = "INSERT INTO t(id) OVERRIDING SYSTEM VALUE VALUES";
        check(&known, own, (own, true));
        let given = "INSERT INTO t(\"id\", k) OVERRIDING SYSTEM VALUE VALUES ";
        check(&known, "INSERT INTO t(k) VALUES ", (given, true));
        let literal = "INSERT INTO t(\"id\", bits) OVERRIDING SYSTEM VALUE VALUES";
        check(&known, "INSERT INTO t(bits) VALUES", (literal, false));
        known.undoes = false;
        check(&known, "INSERT INTO t(k) VALUES ", (given, false));
    }

    #[test]
    fn what_depends_on_the_order_stays() {
        check("INSERT INTO t VALUES", "(NULL, 2, 3)", None);
        check("INSERT INTO t(id) VALUES", "(0)", None);
        check("INSERT INTO t(k) VALUES", "(now())", None);
        check("INSERT INTO t(k) VALUES", "(1), (2)", None);
        check("INSERT INTO t(k, k2) VALUES", "(1, 2)", None);
        check("INSERT INTO t VALUES", "(1, 2)", None);
        check("INSERT IGNORE INTO t VALUES", "(1, 2, 3)", None);
    }

    #[test]
    fn a_table_is_named_as_the_script_wrote_it() {
        let check = |prefix: &str, expected: Option<&str>| {
            assert_eq!(table_of(prefix.as_bytes()).as_deref(), expected, "{prefix}");
        };
        check("INSERT INTO t(k) VALUES", Some("t"));
        check("insert into a.\"B\" values", Some("a.\"B\""));
        check("INSERT INTO `a b` (k) VALUES", Some("`a b`"));
        check("INSERT IGNORE INTO t VALUES", None);
        check("INSERT INTO t SELECT", None);
    }

    #[test]
    fn one_row_is_told_from_several() {
        assert!(is_one_row(b" (1, 'a') "));
        assert!(is_one_row(b"(1, 'a)')"));
        assert!(!is_one_row(b"(1, now())"));
        assert!(!is_one_row(b"(1), (2)"));
        assert!(!is_one_row(b"1, 2"));
    }
}
