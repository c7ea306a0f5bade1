//! Failures that end a run, printed at once for programs that parse the output. Whoever runs the
//! workload has the words; what failed is said here.

use std::fmt::Debug;

use driver::{ConnectError, Traits as _};
use engine::ShardView;

use crate::outcome::{Failed, Purpose};
use crate::runtime::Runtime;

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

impl Runtime {
    /// Prints a failed statement that ends the run, if failures are printed. `executed`: it was
    /// prepared.
    pub fn tell_statement(
        &mut self,
        view: &mut ShardView,
        failed: &Failed,
        text: Option<&[u8]>,
        executed: bool,
    ) {
        let Some(telling) = &self.settings.telling else { return };
        let Failed { number, sqlstate, message, .. } = failed;
        let sent_as = match (failed.purpose, executed) {
            (Purpose::Prepare(_), _) => SentAs::Prepare,
            (_, true) => SentAs::Execute,
            _ => SentAs::Text,
        };
        let driver = self.settings.target.name();
        let number = *number;
        let lines = telling.statement(&FailedStatement {
            driver,
            sent_as,
            text,
            sqlstate,
            number,
            message,
        });
        self.tell(view, lines);
    }

    /// Prints a connection that failed, if failures are printed.
    pub(crate) fn tell_connection(&mut self, view: &mut ShardView, error: &ConnectError) {
        let Some(telling) = &self.settings.telling else { return };
        let target = &self.settings.target;
        let lines = telling.connection(&FailedConnection {
            driver: target.name(),
            address: error.address(),
            number: target.connect_number(error),
            refusal: match error {
                ConnectError::Refused { error, .. } => Some(&error.message),
                _ => None,
            },
            message: error.to_string(),
        });
        self.tell(view, lines);
    }

    /// The same lines in a row are printed only once.
    fn tell(&mut self, view: &mut ShardView, lines: Vec<String>) {
        if self.told == lines {
            return;
        }
        for line in &lines {
            view.send(engine::Message::Output(format!("FATAL: {line}")));
        }
        self.told = lines;
    }
}
