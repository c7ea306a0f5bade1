//! The words for failures that end a run: whoever runs the workload has them, for programs that
//! parse the output.

use std::fmt::Debug;

/// The words for failures.
pub trait Telling: Debug + Send + Sync {
    /// Lines for a failed statement.
    fn statement(&self, failed: &FailedStatement<'_>) -> Vec<String>;

    /// Lines for a connection that failed.
    fn connection(&self, failed: &FailedConnection<'_>) -> Vec<String>;
}

/// How a statement was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentAs {
    /// To be prepared.
    Prepare,
    /// As a prepared one.
    Execute,
    /// As text.
    Text,
}

/// A statement that the server refused.
#[derive(Debug, Clone, Copy)]
pub struct FailedStatement<'a> {
    /// The driver's name, as scripts know it.
    pub driver: &'static str,
    /// How it was sent.
    pub sent_as: SentAs,
    /// Its text, if known.
    pub text: Option<&'a [u8]>,
    /// SQLSTATE.
    pub sqlstate: &'a str,
    /// The server's own error number; 0: none.
    pub number: i64,
    /// The server's message.
    pub message: &'a str,
}

/// A connection that could not be made.
#[derive(Debug, Clone)]
pub struct FailedConnection<'a> {
    /// The driver's name, as scripts know it.
    pub driver: &'static str,
    /// The address.
    pub address: &'a str,
    /// The server's error number, or that of its client library; 0: none.
    pub number: i64,
    /// The server's message, if it refused the connection.
    pub refusal: Option<&'a str>,
    /// What failed, with the address.
    pub message: String,
}
