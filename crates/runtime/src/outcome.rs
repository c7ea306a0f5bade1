//! What a statement is to the runtime, and how it ends for the client.

use driver::StatementId;

use crate::policy::Decision;

/// What a reply on a slot means to the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Nothing is outstanding.
    Idle,
    /// A statement of the client's.
    Statement,
    /// A prepare of the client's.
    Prepare(StatementId),
    /// A close of the client's.
    Close,
    /// Rows of a bulk insert, by the server's own way of loading.
    Load,
    /// Rows of a bulk insert, by INSERT.
    Insert,
    /// The runtime's own ROLLBACK after an error; the failure goes to the client behind it.
    RollBack,
    /// Statements prepared again after a reconnect; the failure goes to the client behind it.
    Adopt,
}

/// A failed statement, until the client hears of it.
#[derive(Debug, Clone)]
pub struct Failed {
    /// What the error policy says.
    pub decision: Decision,
    /// What the statement was for.
    pub(crate) purpose: Purpose,
    /// SQLSTATE.
    pub sqlstate: String,
    /// The server's own number; 0: it has none.
    pub number: i64,
    /// The server's words.
    pub message: String,
}

/// How a request ends for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// With a result set.
    Rows,
    /// With success and without a result set.
    Nothing,
    /// With a new prepared statement.
    Prepared(StatementId),
    /// With a failure: [`crate::Runtime::failure`] says which.
    Failed,
    /// Not yet: the client waits, and [`crate::Runtime::next`] names it.
    Later,
    /// As one of a pipeline that has not been sent; the client goes on.
    Joined,
}
