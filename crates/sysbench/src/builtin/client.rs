//! Runs a built-in test with one client per shard: these tests keep a processor or disk busy, so
//! each client needs its own thread.

use std::time::Duration;

use engine::{Failure, Go, Message, OpenEvent, ShardView, Workload};
use record::FatalKind;

/// A client of a built-in test.
pub trait Client {
    /// Runs one event; `false`: the client has done all its work.
    ///
    /// # Errors
    /// The message of the error that ends the test.
    fn event(&mut self) -> Result<bool, String>;

    /// Called after the client's last event.
    ///
    /// # Errors
    /// The message of the error that ends the test.
    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// A client as the engine's workload.
pub struct BuiltinWorkload {
    client: Box<dyn Client>,
    /// Waiting for the engine to wake the client for its next event.
    parked: bool,
    done: bool,
}

fn failure(message: String) -> Failure {
    Failure { kind: FatalKind::Environment, message, hint: None, traceback: None }
}

impl BuiltinWorkload {
    /// Runs the only client of a shard.
    pub fn new(client: Box<dyn Client>) -> Self {
        Self { client, parked: false, done: false }
    }

    /// Runs one event that begins at `start`; returns its end, when the next may begin.
    fn event(
        &mut self,
        view: &mut ShardView,
        intended_ns: u64,
        start: u64,
    ) -> Result<u64, Failure> {
        let more = self.client.event().map_err(failure)?;
        let end = view.now();
        view.end_event(0, 0, OpenEvent { intended_ns, start_ns: start, label: 0 }, end);
        if !more {
            self.end(view)?;
        }
        Ok(end)
    }

    fn end(&mut self, view: &mut ShardView) -> Result<(), Failure> {
        if !self.done {
            self.done = true;
            view.clients = 0;
            self.client.finish().map_err(failure)?;
        }
        Ok(())
    }

    /// Runs events until none is due, or for `length`.
    fn run(&mut self, view: &mut ShardView, length: Duration) -> Result<(), Failure> {
        let mut now = view.now();
        let until = now.saturating_add(length.as_nanos() as u64);
        loop {
            match view.next_event(0, 0, now) {
                Go::Start { intended_ns } => now = self.event(view, intended_ns, now)?,
                Go::Wait => {
                    self.parked = true;
                    return Ok(());
                }
                Go::Stop => self.end(view)?,
            }
            if self.done || now >= until {
                return Ok(());
            }
        }
    }
}

impl Workload for BuiltinWorkload {
    fn initialise(&mut self, _load: &mut ShardView) -> Result<(), Failure> {
        Ok(())
    }

    fn launch(&mut self, view: &mut ShardView) -> Result<(), Failure> {
        view.clients = 1;
        view.send(Message::ClientsReady(1));
        Ok(())
    }

    fn ready(&self) -> bool {
        true
    }

    fn begin(&mut self, view: &mut ShardView) -> Result<(), Failure> {
        self.run(view, Duration::ZERO)
    }

    fn poll(&mut self, view: &mut ShardView, timeout: Duration) -> Result<(), Failure> {
        let begun = view.phase() != record::PhaseName::Connect;
        if begun && !self.done && !self.parked {
            return self.run(view, timeout);
        }
        std::thread::sleep(timeout.min(Duration::from_millis(1)));
        Ok(())
    }

    fn wake(&mut self, view: &mut ShardView, _client: u32) -> Result<(), Failure> {
        self.parked = false;
        if self.done { Ok(()) } else { self.run(view, Duration::ZERO) }
    }

    /// No event is ever under way here: each ends before the load is checked again.
    fn give_up(&mut self, view: &mut ShardView) {
        view.clients = 0;
    }

    fn finish(&mut self, _load: &mut ShardView) -> Result<(), Failure> {
        Ok(())
    }
}
