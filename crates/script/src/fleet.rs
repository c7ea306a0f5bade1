//! A bulk insert whose rows travel over other connections than the script's own.
//!
//! What is stored must not depend on the order in which batches arrive. So the table is looked up
//! in the server's catalog first, and a row whose number the server would give gets it from us.
//! Whatever can't be told for certain stays on the script's own connection: see
//! [`driver::Table::route`] and [`driver::effect`].

use std::sync::Arc;

use driver::{CarrierError, Effect, Form};
use engine::{Failure, Message};
use record::{ErrorAction, FatalKind};

use crate::conclude::{Conclusion, class};
use crate::host::{Host, HostPointer, fault};
use crate::loaders::{Done, Job, Looked, Numbers, Outcome, Place, Task};
use crate::network::hand_over;
use crate::policy::{Decision, Fault, decide};
use crate::slot::{Bulk, Failed, Purpose};

/// What a session has been told that another one would have to know.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    private: bool,
    settings: Vec<Vec<u8>>,
}

impl Surroundings {
    /// A statement was sent on it.
    pub(crate) fn note(&mut self, sql: &[u8]) {
        match driver::effect(sql) {
            Effect::None => {}
            Effect::Setting => self.settings.push(sql.to_vec()),
            Effect::Private => self.private = true,
        }
    }
}

/// What the script waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    Nothing,
    /// Until not too many batches are under way.
    Room,
    /// Until none is.
    All,
}

/// Batches under way.
#[derive(Debug)]
pub(crate) struct Fleet {
    pub(crate) numbers: Arc<Numbers>,
    /// Rows get their number from us.
    pub(crate) numbered: bool,
    forms: Arc<[Form]>,
    outstanding: u32,
    wait: Wait,
    failed: Option<CarrierError>,
    /// Memory of batches that have arrived.
    spare: Vec<Vec<u8>>,
}

impl Bulk {
    /// The first row decides on the way that all of them take.
    #[inline]
    pub(crate) fn choose_route(&mut self, values: &[u8]) {
        if let Some(looked) = self.looked.take() {
            self.take_route(looked, values);
        }
    }

    fn take_route(&mut self, Looked { table, numbers }: Looked, values: &[u8]) {
        let Some(route) = table.route(&self.text[..self.prefix], values) else { return };
        self.text = route.prefix;
        self.prefix = self.text.len();
        self.fleet = Some(Fleet {
            numbers,
            numbered: route.numbered,
            forms: route.forms.into(),
            outstanding: 0,
            wait: Wait::Nothing,
            failed: None,
            spare: Vec::new(),
        });
    }
}

impl Host {
    /// Has the table of a bulk insert that has just begun looked up, if that can be of use.
    pub(crate) fn look(&mut self, index: u32) -> Conclusion {
        let possible = self.config.loads && self.config.loaders.limit() > 0;
        let parts = self.config.part.count;
        let loaders = Arc::clone(&self.config.loaders);
        let Some(slot) = self.slot(index).filter(|_| possible && parts == 1) else {
            return Conclusion::Nothing;
        };
        if slot.token.is_none() || slot.surroundings.private || slot.session.in_transaction() {
            return Conclusion::Nothing;
        }
        let prefix = slot.bulk.text.clone();
        let settings = slot.surroundings.settings.clone();
        let place = Arc::new(Place { endpoint: loaders.endpoint(slot.ordinal), settings });
        slot.bulk.place = Some(Arc::clone(&place));
        self.tickets += 1;
        let ticket = self.tickets;
        if let Some(slot) = self.slot(index) {
            slot.bulk.ticket = ticket;
        }
        self.submit(index, Task::Look(prefix));
        Conclusion::Later
    }

    fn submit(&mut self, index: u32, task: Task) {
        let done = self.done.0.clone();
        let Some(waker) = self.reactor.as_ref().map(reactor::Reactor::waker) else { return };
        let Some(bulk) = self.slot(index).map(|slot| &slot.bulk) else { return };
        let Some(place) = bulk.place.clone() else { return };
        let job = Job { task, place, slot: index, ticket: bulk.ticket, done, waker };
        self.config.loaders.submit(job);
    }

    /// Sends the batch that has been put together.
    pub(crate) fn dispatch(&mut self, index: u32) {
        let Some(bulk) = self.slot(index).map(|slot| &mut slot.bulk) else { return };
        let Some(fleet) = &mut bulk.fleet else { return };
        let mut text = fleet.spare.pop().unwrap_or_default();
        text.clear();
        text.extend_from_slice(&bulk.text[..bulk.prefix]);
        let sql = std::mem::replace(&mut bulk.text, text);
        let rows = std::mem::take(&mut bulk.rows);
        fleet.outstanding += 1;
        let (loads, forms) = (!bulk.refused, Arc::clone(&fleet.forms));
        let numbers = fleet.numbered.then(|| Arc::clone(&fleet.numbers));
        self.submit(index, Task::Carry { sql, rows, numbers, loads, forms });
    }

    /// What the script hears, if it need not wait.
    pub(crate) fn await_fleet(&mut self, index: u32, wait: Wait) -> Conclusion {
        let (loaders, clients) = (self.config.loaders.limit(), self.config.clients());
        let most = 1 + loaders.div_ceil(clients.max(1));
        let Some(bulk) = self.slot(index).map(|slot| &mut slot.bulk) else {
            return Conclusion::Nothing;
        };
        let Some(fleet) = &mut bulk.fleet else { return Conclusion::Nothing };
        fleet.wait = Wait::Nothing;
        if let Some(error) = fleet.failed.take() {
            return self.not_carried(index, &error);
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
        self.tell_shortage();
        Conclusion::Nothing
    }

    /// Says so if there are fewer loaders than there should be.
    fn tell_shortage(&mut self) {
        if let Some(shortage) = self.config.loaders.shortage() {
            let hint = "let the server take more connections, or set `loaders` to fewer";
            self.load().send(Message::Warning("loaders", shortage, Some(hint.to_owned())));
        }
    }

    /// Counts a batch that did not arrive, and says what is to become of the script.
    fn not_carried(&mut self, index: u32, error: &CarrierError) -> Conclusion {
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
        let load = self.load();
        load.recorder().error(&code);
        let seen = Fault { sqlstate: &sqlstate, number, transient: false, lost };
        let mut decision = decide(&self.config.errors, &seen);
        let into = self.slot(index).map_or_else(String::new, |slot| {
            let prefix = &slot.bulk.text[..slot.bulk.prefix.min(slot.bulk.text.len())];
            String::from_utf8_lossy(prefix).trim().to_owned()
        });
        let message = format!("a batch of rows of `{into} …` was not loaded: {error}");
        if decision.action != ErrorAction::Ignore {
            // The batch can't be made again: its rows are gone.
            decision = Decision { action: ErrorAction::Stop, limit: 0 };
            let hint = "other batches may have been: drop the table and prepare it anew";
            self.cause = Some(fault(kind, message.clone(), Some(hint)));
        }
        self.failed = Some(Failed { decision, purpose: Purpose::Load, sqlstate, number, message });
        Conclusion::Failed
    }

    fn arrived(&mut self, Done { slot: index, ticket, outcome }: Done) -> Conclusion {
        let load = self.load();
        let Some(slot) = self.slot(index).filter(|slot| slot.bulk.ticket == ticket) else {
            return Conclusion::Later;
        };
        let bulk = &mut slot.bulk;
        let (text, rows, took_ns, result) = match outcome {
            Outcome::Looked(looked) => {
                if looked.is_none() {
                    self.tell_shortage();
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
                bulk.refused |= carried.refused;
                let any_open = load.any_open();
                let recorder = load.recorder();
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
                load.send(Message::RowsLoaded(rows, bulk.into.clone()));
            }
            Err(error) => {
                fleet.failed.get_or_insert(error);
            }
        }
        match fleet.wait {
            Wait::Nothing => Conclusion::Later,
            wait => self.await_fleet(index, wait),
        }
    }
}

/// Looks at the jobs that have been done since.
pub(crate) fn arrivals(pointer: HostPointer) -> Result<(), Failure> {
    while let Ok(done) = pointer.get().done.1.try_recv() {
        let index = done.slot;
        let conclusion = pointer.get().arrived(done);
        hand_over(pointer, index, conclusion)?;
    }
    Ok(())
}
