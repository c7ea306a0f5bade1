//! What a request is for, and how it ends for the client.

use driver::StatementId;
use engine::Failure;

use crate::policy::Decision;

/// What the reply expected on a slot is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Nothing is outstanding.
    Idle,
    /// A statement of the client.
    Statement,
    /// A prepare of the client.
    Prepare(StatementId),
    /// A close of the client.
    Close,
    /// Rows of a bulk insert.
    Insert,
    /// The runtime's own ROLLBACK after an error: of a transaction that takes nothing else, before
    /// the client is told of the error; of any other, before its event restarts.
    RollBack,
    /// Statements prepared again after a reconnect; the client is told of the failure afterwards.
    Adopt,
}

/// A failed statement, until the client is told.
#[derive(Debug, Clone)]
pub struct Failed {
    /// The error policy's decision.
    pub decision: Decision,
    /// What the statement was for.
    pub(crate) purpose: Purpose,
    /// SQLSTATE.
    pub sqlstate: String,
    /// The server's own error number; 0: none.
    pub number: i64,
    /// The server has rolled the transaction back.
    pub(crate) rolled_back: bool,
    /// The server's message.
    pub message: String,
}

impl Failed {
    /// The error with the code it is counted under, for people.
    pub(crate) fn told(&self) -> String {
        let number = (self.number != 0).then(|| self.number.to_string());
        format!("error {} ({})", number.as_deref().unwrap_or(&self.sqlstate), self.message)
    }
}

/// How a request ends for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// With a result set.
    Rows,
    /// With success and no result set.
    Nothing,
    /// With a new prepared statement.
    Prepared(StatementId),
    /// With a failure: [`crate::Runtime::failure`] says which.
    Failed,
    /// Not yet: the client waits, and [`crate::Runtime::next`] returns it later.
    Later,
    /// Added to a pipeline that has not been sent; the client continues.
    Joined,
}

/// Failures of a shard that nobody has taken yet.
#[derive(Default)]
pub(crate) struct Failures {
    /// What the next [`Runtime::failure`](crate::Runtime::failure) returns.
    pub(crate) failed: Option<Failed>,
    /// What caused the error that the running client may end with.
    pub(crate) cause: Option<Failure>,
    /// The lines printed last.
    pub(crate) printed: Vec<String>,
}
