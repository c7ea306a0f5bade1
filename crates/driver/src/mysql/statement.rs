//! What a session keeps of a prepared statement.

use wire_mysql::backend::Column;

use crate::placeholder::{Dialect, Template};
use crate::reply::StatementId;
use crate::statements::Statements;

/// What is known of a prepared statement.
#[derive(Debug)]
pub(super) struct Statement {
    /// The server's id.
    pub(super) number: u32,
    /// It returns a result set of its own. (What a procedure returns is not known beforehand.)
    pub(super) selects: bool,
    pub(super) text: Text,
    /// Columns of that set, as the server last defined them; empty if it defines them each time.
    pub(super) columns: Box<[Column]>,
}

impl Statement {
    pub(super) fn new(text: Text) -> Self {
        Self { number: 0, selects: false, text, columns: Box::default() }
    }

    /// From now on it is sent as text with the values written into it.
    pub(super) fn send_as_text(&mut self) {
        if let Text::Prepared { sql, .. } = &self.text {
            self.text = Text::Plain(Template::new(sql, Dialect::Mysql));
        }
    }
}

/// The first statement from `id` on that the server has to prepare.
pub(super) fn next_prepared(statements: &Statements<Statement>, id: u32) -> Option<StatementId> {
    let mut next = statements.next_live(id);
    while let Some(id) = next {
        if matches!(statements.get(id), Ok(Statement { text: Text::Prepared { .. }, .. })) {
            break;
        }
        next = statements.next_live(id.0 + 1);
    }
    next
}

/// How a statement is executed, and prepared again after a reconnect.
#[derive(Debug)]
pub(super) enum Text {
    /// By the server, under its id.
    Prepared {
        /// As the script gave it.
        sql: Box<[u8]>,
        /// Number of placeholders.
        values: u16,
    },
    /// By us: the values are written into the text.
    Plain(Template),
}
