//! Runs a built-in test with one client per shard: these tests keep a processor or disk busy, so
//! each client needs its own thread.

use std::time::Duration;

use engine::{Failure, Load, Message, OpenEvent, Turn, Workload};
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
    fn event(&mut self, load: &mut Load, intended_ns: u64, start: u64) -> Result<u64, Failure> {
        let more = self.client.event().map_err(failure)?;
        let end = load.now();
        load.end_event(0, 0, OpenEvent { intended_ns, start_ns: start, label: 0 }, end);
        if !more {
            self.end(load)?;
        }
        Ok(end)
    }

    fn end(&mut self, load: &mut Load) -> Result<(), Failure> {
        if !self.done {
            self.done = true;
            load.clients = 0;
            self.client.finish().map_err(failure)?;
        }
        Ok(())
    }

    /// Runs events until none is due, or for `length`.
    fn run(&mut self, load: &mut Load, length: Duration) -> Result<(), Failure> {
        let mut now = load.now();
        let until = now.saturating_add(length.as_nanos() as u64);
        loop {
            match load.turn(0, 0, now) {
                Turn::Start { intended_ns } => now = self.event(load, intended_ns, now)?,
                Turn::Wait => {
                    self.parked = true;
                    return Ok(());
                }
                Turn::Stop => self.end(load)?,
            }
            if self.done || now >= until {
                return Ok(());
            }
        }
    }
}

impl Workload for BuiltinWorkload {
    fn initialise(&mut self, _load: &mut Load) -> Result<(), Failure> {
        Ok(())
    }

    fn launch(&mut self, load: &mut Load) -> Result<(), Failure> {
        load.clients = 1;
        load.send(Message::ClientsReady(1));
        Ok(())
    }

    fn ready(&self) -> bool {
        true
    }

    fn begin(&mut self, load: &mut Load) -> Result<(), Failure> {
        self.run(load, Duration::ZERO)
    }

    fn turn(&mut self, load: &mut Load, timeout: Duration) -> Result<(), Failure> {
        let begun = load.phase() != record::PhaseName::Connect;
        if begun && !self.done && !self.parked {
            return self.run(load, timeout);
        }
        std::thread::sleep(timeout.min(Duration::from_millis(1)));
        Ok(())
    }

    fn wake(&mut self, load: &mut Load, _client: u32) -> Result<(), Failure> {
        self.parked = false;
        if self.done { Ok(()) } else { self.run(load, Duration::ZERO) }
    }

    /// No event is ever under way here: each ends before the load is checked again.
    fn give_up(&mut self, load: &mut Load) {
        load.clients = 0;
    }

    fn finish(&mut self, _load: &mut Load) -> Result<(), Failure> {
        Ok(())
    }
}
