//! What a session keeps of a prepared statement.

use crate::placeholder::Template;

/// What is known of a prepared statement.
#[derive(Debug)]
pub(super) struct Statement {
    /// Columns of its result set; 0: it returns none.
    pub(super) columns: u16,
    pub(super) text: Text,
}

/// How a statement is executed, and prepared again after a reconnect.
#[derive(Debug)]
pub(super) enum Text {
    /// By the server, under its id: the text with `$n`.
    Prepared(Box<[u8]>),
    /// By us: the values are written into the text.
    Plain(Template),
}
