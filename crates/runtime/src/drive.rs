//! Waiting, and who goes on after it.

use std::time::Duration;

use engine::{Failure, Load};
use record::FatalKind;

use crate::client::Waiting;
use crate::outcome::Conclusion;
use crate::runtime::{Runtime, fault};

/// A client that goes on.
#[derive(Debug)]
pub struct Woken {
    /// Which.
    pub client: u32,
    /// With what.
    pub why: Wake,
}

/// Why a client goes on.
#[derive(Debug)]
pub enum Wake {
    /// A request on this connection has ended.
    Concluded(u32, Conclusion),
    /// It has the connection it asked for.
    Connected(u32),
    /// It does not; [`Runtime::take_cause`] says why.
    NotConnected,
    /// Its pause is over.
    Slept,
    /// Its event begins; `false`: the load is over.
    Turn(bool),
    /// It doesn't: the runtime has ended it, because its connection is gone and the load over.
    Ended,
}

impl Runtime {
    /// Waits for what wakes clients, at most for `timeout`; [`Self::next`] then hands it out.
    ///
    /// # Errors
    /// An event loop that fails.
    pub fn wait(&mut self, load: &mut Load, timeout: Duration) -> Result<(), Failure> {
        self.give_back();
        let Some(reactor) = &mut self.reactor else {
            let busy = !self.runnable.is_empty()
                || !self.inline_attempts.is_empty()
                || !self.unwelcome.is_empty();
            if !timeout.is_zero() && !busy {
                std::thread::sleep(timeout);
            }
            return Ok(());
        };
        let timeout = if self.runnable.is_empty() { timeout } else { Duration::ZERO };
        let asked_ns = load.now();
        reactor.wait(timeout, &mut || load.now()).map_err(|error| {
            fault(FatalKind::Environment, format!("the event loop failed: {error}"), None)
        })?;
        // What the kernel has now may have come since it was last asked, while clients ran; or
        // during the wait, and then it is not as old.
        let now = load.now();
        let ran_ns = asked_ns.saturating_sub(self.asked_ns.min(asked_ns));
        self.unread_since_ns = now.saturating_sub(ran_ns);
        self.asked_ns = now;
        Ok(())
    }

    /// The next client to go on; `None`: wait. Run it before asking again: its rows are there for
    /// so long.
    ///
    /// # Errors
    /// A failure that the run can't go on after.
    #[inline]
    pub fn next(&mut self, load: &mut Load) -> Result<Option<Woken>, Failure> {
        self.give_back();
        while let Some(event) = self.reactor.as_mut().and_then(reactor::Reactor::next) {
            if let Some(woken) = self.take_event(load, event)? {
                return Ok(Some(woken));
            }
        }
        self.next_attempt(load)
    }

    /// What came of connections and loaders.
    fn next_attempt(&mut self, load: &mut Load) -> Result<Option<Woken>, Failure> {
        while let Some((index, why)) = self.unwelcome.pop() {
            if let Some(woken) = self.retry_later(load, index, &why)? {
                return Ok(Some(woken));
            }
        }
        while let Some(attempt) = self.finished_attempt(load) {
            if let Some(woken) = self.take_attempt(load, attempt)? {
                return Ok(Some(woken));
            }
        }
        while let Ok(done) = self.done.1.try_recv() {
            let index = done.slot;
            let conclusion = self.arrived(load, done);
            if let Some(woken) = self.hand_over(index, conclusion) {
                return Ok(Some(woken));
            }
        }
        Ok(None)
    }

    /// Clients of in-process databases that let the others have their turn.
    pub fn runnable(&self) -> usize {
        self.runnable.len()
    }

    /// The next of [`Self::runnable`], if its event begins or it is over.
    pub fn next_runnable(&mut self, load: &mut Load) -> Option<Woken> {
        let client = self.runnable.pop_front()?;
        self.take_turn(load, client)
    }

    /// A client that [`Load::due`] named; `None`: it does not go on yet.
    ///
    /// # Errors
    /// A failure that the run can't go on after.
    pub fn wake(&mut self, load: &mut Load, client: u32) -> Result<Option<Woken>, Failure> {
        match self.clients[client as usize].waiting {
            Waiting::Turn => Ok(self.take_turn(load, client)),
            Waiting::Sleep => Ok(Some(Woken { client, why: Wake::Slept })),
            Waiting::Planned(slot) => Ok(self.planned(load, slot)),
            Waiting::Reconnect(slot) => Ok(self.try_again(load, client, slot)),
            _ => Ok(None),
        }
    }

    /// Gives a conclusion to the client that waits for it.
    #[inline]
    pub(crate) fn hand_over(&mut self, index: u32, conclusion: Conclusion) -> Option<Woken> {
        if conclusion == Conclusion::Later {
            return None;
        }
        let client = self.slot(index)?.client;
        if self.clients[client as usize].waiting == Waiting::Ended {
            return None;
        }
        Some(Woken { client, why: Wake::Concluded(index, conclusion) })
    }
}
