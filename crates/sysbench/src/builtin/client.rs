//! One client a shard, driving a built-in test: these tests keep a processor or a disk busy, so a
//! client needs a thread of its own.

use std::time::Duration;

use engine::{Failure, Load, Message, OpenEvent, Turn, Workload};
use record::FatalKind;

/// What a test does.
pub trait Client {
    /// One event; `false`: the client has done all that it has to.
    ///
    /// # Errors
    /// What ends the test.
    fn event(&mut self) -> Result<bool, String>;

    /// What comes after all events of this client.
    ///
    /// # Errors
    /// What ends the test.
    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// A client as the engine's workload.
pub struct BuiltinWorkload {
    client: Box<dyn Client>,
    /// The engine names the client when an event is due for it.
    parked: bool,
    done: bool,
}

fn failure(message: String) -> Failure {
    Failure { kind: FatalKind::Environment, message, hint: None, traceback: None }
}

impl BuiltinWorkload {
    /// For a shard's only client.
    pub fn new(client: Box<dyn Client>) -> Self {
        Self { client, parked: false, done: false }
    }

    /// One event that begins at `start`; returns when it ended, which is when the next may begin.
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

    /// Runs events until there is none to run, or for so long.
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

    /// An event is never under way here: it ends before the load is looked at again.
    fn give_up(&mut self, load: &mut Load) {
        load.clients = 0;
    }

    fn finish(&mut self, _load: &mut Load) -> Result<(), Failure> {
        Ok(())
    }
}
