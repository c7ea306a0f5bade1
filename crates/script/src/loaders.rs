//! Connections that carry bulk inserts: a few threads for all clients of the process.
//!
//! The script's coroutine stays the only maker of rows, so they are the same whatever carries them;
//! whatever would depend on their order of arrival is settled before they leave (`fleet`).

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use driver::{Carried, Carrier, CarrierError, Table};
use reactor::Waker;
use record::Target;

/// What makes one carrier as good as another.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Chooses the endpoint: that of the script's own connection.
    pub(crate) ordinal: u64,
    /// Statements that set the script's own session up.
    pub(crate) settings: Vec<Vec<u8>>,
}

/// Numbers that rows of one table get, whoever makes the rows.
#[derive(Debug)]
pub(crate) struct Numbers {
    pub(crate) next: AtomicI64,
    /// What has to be told of them afterwards.
    pub(crate) sequence: Option<String>,
}

/// A table that may be loaded over several connections.
#[derive(Debug)]
pub(crate) struct Looked {
    pub(crate) table: Table,
    pub(crate) numbers: Arc<Numbers>,
}

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Task {
    /// Look the table of an INSERT's beginning up.
    Look(Vec<u8>),
    /// Carry a batch.
    Carry { sql: Vec<u8>, rows: u64, loads: bool, plain: bool },
    /// Tell the table's sequence which numbers were given.
    Settle(Arc<Numbers>),
}

/// For whom.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) task: Task,
    pub(crate) place: Arc<Place>,
    pub(crate) slot: u32,
    /// Of the bulk insert.
    pub(crate) ticket: u64,
    pub(crate) done: Sender<Done>,
    pub(crate) waker: Waker,
}

/// What became of a task.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// `None`: the rows have to go over the script's own connection.
    Looked(Option<Looked>),
    Carried {
        /// The batch's memory, to be used again.
        text: Vec<u8>,
        rows: u64,
        took_ns: u64,
        result: Result<Carried, CarrierError>,
    },
    Settled(Result<(), CarrierError>),
}

/// A finished job.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) slot: u32,
    pub(crate) ticket: u64,
    pub(crate) outcome: Outcome,
}

/// See the module's page.
#[derive(Debug)]
pub(crate) struct Loaders {
    /// Threads, each with its connections, at most.
    limit: u32,
    target: Target,
    timeout: Duration,
    jobs: Sender<Job>,
    queue: Mutex<Receiver<Job>>,
    started: Mutex<u32>,
    /// Tables being loaded, by their key.
    tables: Mutex<HashMap<String, Weak<Numbers>>>,
}

impl Loaders {
    pub(crate) fn new(limit: u32, target: &Target, timeout: Duration) -> Arc<Self> {
        let (jobs, queue) = channel();
        Arc::new(Self {
            limit,
            target: target.clone(),
            timeout,
            jobs,
            queue: Mutex::new(queue),
            started: Mutex::new(0),
            tables: Mutex::default(),
        })
    }

    /// Connections at most; 0: there are none.
    pub(crate) fn limit(&self) -> u32 {
        self.limit
    }

    /// Queues a job, and makes one more thread for it while there may be more.
    pub(crate) fn submit(self: &Arc<Self>, job: Job) {
        let _ = self.jobs.send(job);
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if *started < self.limit {
            let own = Arc::clone(self);
            // A thread that can't be made leaves the work to the others; the first must exist.
            let spawned =
                std::thread::Builder::new().name("loader".into()).spawn(move || own.work());
            *started += u32::from(spawned.is_ok());
        }
    }

    fn work(&self) {
        let mut carriers: Vec<(Arc<Place>, Carrier)> = Vec::new();
        loop {
            let next = self.queue.lock().map(|queue| queue.recv());
            let Ok(Ok(job)) = next else { return };
            let outcome = self.do_job(job.task, &job.place, &mut carriers);
            let _ = job.done.send(Done { slot: job.slot, ticket: job.ticket, outcome });
            job.waker.wake();
        }
    }

    fn do_job(
        &self,
        task: Task,
        place: &Arc<Place>,
        carriers: &mut Vec<(Arc<Place>, Carrier)>,
    ) -> Outcome {
        let known = carriers.iter().position(|(other, _)| other == place);
        let connected = match known {
            Some(index) => Ok(carriers.swap_remove(index).1),
            None => Carrier::connect(&self.target, place.ordinal, self.timeout, &place.settings),
        };
        let began = Instant::now();
        let mut kept = None;
        let with = |work: &mut dyn FnMut(&mut Carrier) -> Result<(), CarrierError>| {
            let mut carrier = connected?;
            work(&mut carrier)?;
            // After an error its connection is not used again.
            kept = Some(carrier);
            Ok(())
        };
        let outcome = match task {
            Task::Look(prefix) => {
                let mut looked = None;
                let found = with(&mut |carrier| {
                    looked = self.look(carrier, &prefix)?;
                    Ok(())
                });
                Outcome::Looked(found.ok().and(looked))
            }
            Task::Carry { sql, rows, loads, plain } => {
                let mut carried = Carried::default();
                let result = with(&mut |carrier| {
                    carried = carrier.carry(&sql, rows, loads, plain)?;
                    Ok(())
                });
                let took_ns = began.elapsed().as_nanos() as u64;
                Outcome::Carried { text: sql, rows, took_ns, result: result.map(|()| carried) }
            }
            Task::Settle(numbers) => Outcome::Settled(with(&mut |carrier| {
                let last = numbers.next.load(Ordering::Relaxed) - 1;
                match &numbers.sequence {
                    Some(sequence) => carrier.advance(sequence, last),
                    None => Ok(()),
                }
            })),
        };
        carriers.extend(kept.map(|carrier| (Arc::clone(place), carrier)));
        outcome
    }

    /// Clients that load the same table at the same time share its numbers.
    fn look(&self, carrier: &mut Carrier, prefix: &[u8]) -> Result<Option<Looked>, CarrierError> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(table) = carrier.look(prefix)? else { return Ok(None) };
        let shared = tables.get(&table.key).and_then(Weak::upgrade);
        let numbers = shared.unwrap_or_else(|| {
            Arc::new(Numbers {
                next: AtomicI64::new(table.next()),
                sequence: table.sequence().map(str::to_owned),
            })
        });
        tables.insert(table.key.clone(), Arc::downgrade(&numbers));
        Ok(Some(Looked { table, numbers }))
    }
}
