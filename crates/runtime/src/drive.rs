//! Waits for events and names the clients that can continue.

use std::time::Duration;

use engine::{Failure, ShardView};
use record::FatalKind;

use crate::client::Waiting;
use crate::outcome::Conclusion;
use crate::runtime::{Runtime, fault};

/// A client that can continue.
#[derive(Debug)]
pub struct Woken {
    /// Its number.
    pub client: u32,
    /// The reason.
    pub why: Wake,
}

/// Why a client continues.
#[derive(Debug)]
pub enum Wake {
    /// A request on this connection has ended.
    Concluded(u32, Conclusion),
    /// The connection it asked for is open.
    Connected(u32),
    /// The connection failed; [`Runtime::take_cause`] says why.
    NotConnected,
    /// Its pause is over.
    Slept,
    /// Its event begins; `false`: the load has ended.
    Event(bool),
    /// The runtime has ended it: its connection is lost and the load is over.
    Ended,
}

impl Runtime {
    /// Waits at most `timeout` for anything that wakes a client; [`Self::next`] returns who.
    ///
    /// # Errors
    /// The event loop fails.
    pub fn wait(&mut self, view: &mut ShardView, timeout: Duration) -> Result<(), Failure> {
        self.give_back();
        let Some(reactor) = &mut self.reactor else {
            let busy = !self.runnable.is_empty()
                || !self.attempts.inline.is_empty()
                || !self.attempts.unwelcome.is_empty();
            if !timeout.is_zero() && !busy {
                std::thread::sleep(timeout);
            }
            return Ok(());
        };
        let timeout = if self.runnable.is_empty() { timeout } else { Duration::ZERO };
        let asked_ns = view.now();
        reactor.wait(timeout, &mut || view.now()).map_err(|error| {
            fault(FatalKind::Environment, format!("the event loop failed: {error}"), None)
        })?;
        let now = view.now();
        self.polled.note(asked_ns, reactor.sending_ns(), now);
        self.look_ahead_after_wait();
        Ok(())
    }

    /// The next client to continue; `None`: wait. Run it before asking again: its rows stay valid
    /// only until then.
    ///
    /// # Errors
    /// A failure that ends the run.
    #[inline]
    pub fn next(&mut self, view: &mut ShardView) -> Result<Option<Woken>, Failure> {
        self.give_back();
        self.look_ahead();
        while let Some(event) = self.reactor.as_mut().and_then(reactor::Reactor::next) {
            if let Some(woken) = self.take_event(view, event)? {
                return Ok(Some(woken));
            }
        }
        self.next_attempt(view)
    }

    /// The next client whose connection attempt or loader job has finished.
    fn next_attempt(&mut self, view: &mut ShardView) -> Result<Option<Woken>, Failure> {
        while let Some((index, why)) = self.attempts.unwelcome.pop() {
            if let Some(woken) = self.retry_later(view, index, &why)? {
                return Ok(Some(woken));
            }
        }
        while let Some(attempt) = self.finished_attempt(view) {
            if let Some(woken) = self.take_attempt(view, attempt)? {
                return Ok(Some(woken));
            }
        }
        while let Some(done) = self.filling.next_done() {
            let index = done.slot;
            let conclusion = self.arrived(view, done);
            if let Some(woken) = self.hand_over(index, conclusion) {
                return Ok(Some(woken));
            }
        }
        Ok(None)
    }

    /// Clients of in-process databases that have yielded to the others.
    pub fn runnable(&self) -> usize {
        self.runnable.len()
    }

    /// The next of [`Self::runnable`], if its event begins or the load has ended.
    pub fn next_runnable(&mut self, view: &mut ShardView) -> Option<Woken> {
        let client = self.runnable.pop_front()?;
        self.ask_again(view, client)
    }

    /// Wakes a client that [`ShardView::due`] named; `None`: it goes on waiting.
    ///
    /// # Errors
    /// A failure that ends the run.
    pub fn wake(&mut self, view: &mut ShardView, client: u32) -> Result<Option<Woken>, Failure> {
        match self.clients[client as usize].waiting {
            Waiting::Event => Ok(self.ask_again(view, client)),
            Waiting::Sleep => Ok(Some(Woken { client, why: Wake::Slept })),
            Waiting::Planned(slot) => Ok(self.planned(view, slot)),
            Waiting::Reconnect(slot) => Ok(self.try_again(view, client, slot)),
            _ => Ok(None),
        }
    }

    /// Passes a conclusion to the client that waits for it.
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
