//! Bulk inserts whose rows travel over loader connections instead of the script's own.
//!
//! What is stored must not depend on the order in which batches arrive. So the table is looked up
//! in the server's catalog first, and where the server would number the rows, the engine does; not
//! where other processes may fill the same table: each would number them from the beginning. Any
//! doubt keeps the rows on the script's own connection: see [`driver::Table::route`] and
//! [`driver::effect`].

use std::sync::Arc;

use driver::{Batch, CarrierError, Numbered};
use engine::{Message, ShardView};
use record::{ErrorAction, FatalKind};

use crate::bulk::{Bulk, Wait};
use crate::conclude::class;
use crate::loaders::{Done, Job, Outcome, Place, Task};
use crate::outcome::{Conclusion, Failed, Purpose};
use crate::policy::{Decision, Fault};
use crate::runtime::{Runtime, fault};

impl Runtime {
    /// Looks up the table of a bulk insert that has just started, if loaders could carry it.
    pub(crate) fn look(&mut self, index: u32) -> Conclusion {
        let possible = self.settings.loads && self.settings.loaders.limit() > 0;
        let loaders = Arc::clone(&self.settings.loaders);
        let Some(slot) = self.slot(index).filter(|_| possible) else {
            return Conclusion::Nothing;
        };
        if slot.token.is_none() || slot.session_state.private || slot.session.in_transaction() {
            return Conclusion::Nothing;
        }
        let prefix = slot.bulk.text.clone();
        let settings = slot.session_state.settings.clone();
        let place = Arc::new(Place { endpoint: loaders.endpoint(slot.ordinal), settings });
        slot.bulk.place = Some(Arc::clone(&place));
        let ticket = self.filling.next_ticket();
        if let Some(slot) = self.slot(index) {
            slot.bulk.ticket = ticket;
        }
        self.submit(index, Task::Look(prefix));
        Conclusion::Later
    }

    fn submit(&mut self, index: u32, task: Task) {
        let done = self.filling.sender();
        let Some(waker) = self.reactor.as_ref().map(reactor::Reactor::waker) else { return };
        let Some(bulk) = self.slot(index).map(|slot| &slot.bulk) else { return };
        let Some(place) = bulk.place.clone() else { return };
        let job = Job { task, place, slot: index, ticket: bulk.ticket, done, waker };
        self.settings.loaders.submit(job);
    }

    /// Sends the collected batch to the loaders.
    pub(crate) fn dispatch(&mut self, index: u32) {
        let Some(bulk) = self.slot(index).map(|slot| &mut slot.bulk) else { return };
        let Some(fleet) = &mut bulk.fleet else { return };
        let mut text = fleet.spare.pop().unwrap_or_default();
        text.clear();
        text.extend_from_slice(&bulk.text[..bulk.prefix]);
        fleet.outstanding += 1;
        let numbers = fleet.numbered.then(|| Arc::clone(&fleet.numbers));
        let numbered = fleet.numbered.then(|| Numbered {
            prefix: Arc::clone(&fleet.prefix),
            rows: std::mem::take(&mut fleet.starts),
        });
        let batch = Batch {
            sql: std::mem::replace(&mut bulk.text, text),
            rows: std::mem::take(&mut bulk.rows),
            loads: fleet.loads,
            forms: Arc::clone(&fleet.forms),
            reset: fleet.reset.clone(),
            numbered,
        };
        self.submit(index, Task::Carry(batch, numbers));
    }

    /// Decides whether the script has to wait for batches in flight.
    pub(crate) fn await_fleet(
        &mut self,
        view: &mut ShardView,
        index: u32,
        wait: Wait,
    ) -> Conclusion {
        let (loaders, clients) = (self.settings.loaders.limit(), self.settings.clients);
        let most = 1 + loaders.div_ceil(clients.max(1));
        let Some(bulk) = self.slot(index).map(|slot| &mut slot.bulk) else {
            return Conclusion::Nothing;
        };
        let Some(fleet) = &mut bulk.fleet else { return Conclusion::Nothing };
        fleet.wait = Wait::Nothing;
        if let Some(error) = fleet.failed.take() {
            return self.not_carried(view, index, &error);
        }
        let room = match wait {
            Wait::Nothing | Wait::Room => most,
            Wait::All => 1,
        };
        if fleet.outstanding >= room {
            fleet.wait = wait;
            return Conclusion::Later;
        }
        if wait != Wait::All {
            return Conclusion::Nothing;
        }
        *bulk = Bulk::default();
        self.tell_shortage(view);
        Conclusion::Nothing
    }

    /// Warns if fewer loaders are connected than configured.
    fn tell_shortage(&mut self, view: &mut ShardView) {
        if let Some(shortage) = self.settings.loaders.shortage() {
            let hint = "let the server take more connections, or set `loaders` to fewer";
            view.send(Message::Warning("loaders", shortage, Some(hint.to_owned())));
        }
    }

    /// Counts a batch that failed, and applies the error policy.
    fn not_carried(
        &mut self,
        view: &mut ShardView,
        index: u32,
        error: &CarrierError,
    ) -> Conclusion {
        let rolled_back = matches!(error, CarrierError::Refused(error) if error.rolled_back);
        let (sqlstate, number, kind, lost) = match error {
            CarrierError::Refused(error) => {
                (error.sqlstate.clone(), error.number, FatalKind::Statement, error.closes)
            }
            _ => ("08006".to_owned(), 0, FatalKind::Connection, true),
        };
        let code = match error {
            CarrierError::Refused(error) => error.code(),
            _ => "connection".to_owned(),
        };
        self.recorder(view, index).error(&code);
        let transient = matches!(error, CarrierError::Refused(error) if error.transient);
        let seen = Fault { sqlstate: &sqlstate, number, transient, lost };
        let mut decision = self.decide(view, &seen, &error.to_string());
        let into = self.slot(index).map_or_else(String::new, |slot| {
            let prefix = &slot.bulk.text[..slot.bulk.prefix.min(slot.bulk.text.len())];
            String::from_utf8_lossy(prefix).trim().to_owned()
        });
        // The script gets the server's own words, as for an INSERT.
        let message = match error {
            CarrierError::Refused(error) => error.message.clone(),
            other => other.to_string(),
        };
        if decision.action != ErrorAction::Ignore {
            // Nothing of ours tries it again: its rows are gone. The script may, as with an INSERT.
            if decision.action == ErrorAction::Reconnect {
                decision = Decision { action: ErrorAction::Stop, limit: 0 };
            }
            let hint = "other batches may have been: drop the table and prepare it anew";
            let told = format!("a batch of rows of `{into} …` was not loaded: {error}");
            self.failures.cause = Some(fault(kind, told, Some(hint)));
        }
        let purpose = Purpose::Insert;
        self.failures.failed =
            Some(Failed { decision, purpose, sqlstate, number, rolled_back, message });
        Conclusion::Failed
    }

    /// Handles a finished loader job.
    pub(crate) fn arrived(&mut self, view: &mut ShardView, done: Done) -> Conclusion {
        let Done { slot: index, ticket, outcome } = done;
        let slot = self.slots.get_mut(index).filter(|slot| slot.bulk.ticket == ticket);
        let Some(slot) = slot else { return Conclusion::Later };
        let stopped = self.clients[slot.client as usize].stopped;
        let bulk = &mut slot.bulk;
        let (text, rows, took_ns, result) = match outcome {
            Outcome::Looked(looked) => {
                if looked.is_none() {
                    self.tell_shortage(view);
                    return Conclusion::Nothing;
                }
                bulk.looked = looked;
                return Conclusion::Nothing;
            }
            Outcome::Carried { text, rows, took_ns, result } => (text, rows, took_ns, result),
        };
        let Some(fleet) = &mut bulk.fleet else { return Conclusion::Later };
        fleet.outstanding -= 1;
        fleet.spare.push(text);
        match result {
            Ok(carried) => {
                fleet.loads &= !carried.refused;
                let any_open = view.any_open();
                let recorder = view.recorder_of(stopped);
                recorder.counters.reads += u64::from(carried.tally.reads);
                recorder.counters.writes += u64::from(carried.tally.writes);
                recorder.counters.other += u64::from(carried.tally.other);
                recorder.counters.bytes_sent += carried.bytes_sent;
                recorder.counters.bytes_received += carried.bytes_received;
                if let Some(of) = carried.class {
                    match any_open {
                        true => recorder.open_statement(class(of), 0, took_ns),
                        false => recorder.closed_statement(class(of), took_ns),
                    }
                }
                view.send(Message::RowsLoaded(rows, bulk.into.clone()));
            }
            Err(error) => {
                fleet.failed.get_or_insert(error);
            }
        }
        match fleet.wait {
            Wait::Nothing => Conclusion::Later,
            wait => self.await_fleet(view, index, wait),
        }
    }
}
