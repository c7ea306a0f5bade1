//! Prints failures that end a run, at once, in the words of whoever runs the workload.

use driver::{ConnectError, Traits as _};
use engine::ShardView;

use crate::outcome::{Failed, Purpose};
use crate::runtime::Runtime;
use crate::telling::{FailedConnection, FailedStatement, SentAs};

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
        if self.failures.printed == lines {
            return;
        }
        for line in &lines {
            view.send(engine::Message::Output(format!("FATAL: {line}")));
        }
        self.failures.printed = lines;
    }
}
