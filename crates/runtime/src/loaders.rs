//! Loader threads: a few connections that carry the bulk inserts of all clients of the process.
//!
//! Only the script's coroutine makes rows, so they are the same whichever connection carries them;
//! anything that depends on their order of arrival is decided before they are sent (`fleet`).
//!
//! A loader has one connection at a time. Loaders that cannot connect exit; the others take over
//! their work.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use driver::{Batch, Carried, Carrier, CarrierError, Table};
use reactor::Waker;
use record::Target;

/// Why a connection is given up on which the loader itself failed.
const UNWORKABLE: &str = "what the server sent could not be worked with";

/// Where and how a loader has to connect; loaders with equal places are interchangeable.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The endpoint of the script's own connection.
    pub(crate) endpoint: u64,
    /// Statements that set up the script's own session.
    pub(crate) settings: Vec<Vec<u8>>,
}

/// The numbers for rows of one table, shared by all clients that load it.
#[derive(Debug)]
pub(crate) struct Numbers {
    pub(crate) next: AtomicI64,
    /// The sequence to advance, if the table has one.
    sequence: Option<String>,
    /// The last number the sequence was advanced to.
    claimed: Mutex<i64>,
}

impl Numbers {
    fn new(table: &Table) -> Self {
        Self {
            next: AtomicI64::new(table.next()),
            sequence: table.sequence().map(str::to_owned),
            claimed: Mutex::new(table.next() - 1),
        }
    }

    /// Advances the sequence past the numbers given so far. This precedes the rows that have them:
    /// however the load ends, the server gives none of them out again.
    fn claim(&self, carrier: &mut Carrier) -> Result<(), CarrierError> {
        let Some(sequence) = &self.sequence else { return Ok(()) };
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        let last = self.next.load(Ordering::Relaxed) - 1;
        if last > *claimed {
            carrier.advance(sequence, last)?;
            *claimed = last;
        }
        Ok(())
    }
}

/// A table that may be loaded over several connections.
#[derive(Debug)]
pub(crate) struct Looked {
    pub(crate) table: Table,
    /// Whether this process may number the table's rows.
    pub(crate) may_number: bool,
    pub(crate) numbers: Arc<Numbers>,
}

/// A loader's task.
#[derive(Debug)]
pub(crate) enum Task {
    /// Look up the table that an INSERT's prefix names.
    Look(Vec<u8>),
    /// Carry a batch whose rows have these numbers, if the engine numbers them.
    Carry(Batch, Option<Arc<Numbers>>),
}

/// A task and who waits for it.
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

/// The result of a task.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// `None`: the rows must go over the script's own connection.
    Looked(Option<Looked>),
    Carried {
        /// The batch's buffer, for reuse.
        text: Vec<u8>,
        rows: u64,
        took_ns: u64,
        result: Result<Carried, CarrierError>,
    },
}

/// A finished job.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) slot: u32,
    pub(crate) ticket: u64,
    pub(crate) outcome: Outcome,
}

/// The loader threads' state.
#[derive(Debug, Default)]
struct Crew {
    started: u32,
    /// Loaders that could not connect and have exited.
    gone: u32,
    /// Loaders connected, or connected when they last needed it.
    connected: u32,
    /// Why the last one could not connect.
    reason: Option<String>,
    /// The number connected when the shortage was last reported.
    told: Option<u32>,
}

/// Threads that carry the bulk inserts of the whole process, each with its own connection.
#[derive(Debug)]
pub(crate) struct Loaders {
    /// Threads at most.
    limit: u32,
    /// Other processes fill tables of the run, too.
    shared: bool,
    target: Target,
    timeout: Duration,
    jobs: Sender<Job>,
    queue: Mutex<Receiver<Job>>,
    crew: Mutex<Crew>,
    /// Tables being loaded, by key.
    tables: Mutex<HashMap<String, Weak<Numbers>>>,
}

impl Loaders {
    /// `shared`: among processes that fill the run's tables together.
    pub(crate) fn new(limit: u32, shared: bool, target: &Target, timeout: Duration) -> Arc<Self> {
        let (jobs, queue) = channel();
        Arc::new(Self {
            limit,
            shared,
            target: target.clone(),
            timeout,
            jobs,
            queue: Mutex::new(queue),
            crew: Mutex::default(),
            tables: Mutex::default(),
        })
    }

    /// Connections at most; 0: loaders are off.
    pub(crate) fn limit(&self) -> u32 {
        self.limit
    }

    /// Which of the target's endpoints connection `ordinal` of the run uses.
    pub(crate) fn endpoint(&self, ordinal: u64) -> u64 {
        let count = self.target.server().map_or(1, |server| server.endpoints.len());
        ordinal % count.max(1) as u64
    }

    /// A warning, once, that loaders can't connect.
    pub(crate) fn shortage(&self) -> Option<String> {
        let mut crew = self.crew();
        let reason = crew.reason.as_ref()?;
        let told = match crew.connected {
            left if crew.told == Some(left) => return None,
            0 => format!(
                "no loader can connect, so rows go over the script's own connections: {reason}"
            ),
            left => format!("{left} of {} loaders load, no more can connect: {reason}", self.limit),
        };
        crew.told = Some(crew.connected);
        Some(told)
    }

    fn crew(&self) -> MutexGuard<'_, Crew> {
        self.crew.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a job, starting another thread for it while the limit allows.
    pub(crate) fn submit(self: &Arc<Self>, job: Job) {
        let mut crew = self.crew();
        if crew.started < self.limit {
            let own = Arc::clone(self);
            let spawned =
                std::thread::Builder::new().name("loader".into()).spawn(move || own.work());
            match spawned {
                Ok(_) => crew.started += 1,
                // The other loaders do its work.
                Err(error) => crew.reason = Some(format!("a thread can't be started: {error}")),
            }
        }
        if crew.started == 0 {
            // Only a lookup can get here, being the first job; it falls back to the script's
            // connection.
            return job.answer(Outcome::Looked(None));
        }
        let _ = self.jobs.send(job);
    }

    fn work(&self) {
        let mut carrier: Option<(Arc<Place>, Carrier)> = None;
        let mut connected = false;
        loop {
            let next = self.queue.lock().map(|queue| queue.recv());
            let Ok(Ok(job)) = next else { return };
            let opened = match carrier.take().filter(|(place, _)| *place == job.place) {
                Some((_, open)) => Ok(open),
                None => {
                    let Place { endpoint, settings } = job.place.as_ref();
                    Carrier::connect(&self.target, *endpoint, self.timeout, settings)
                }
            };
            let others = self.count(opened.as_ref().err(), &mut connected);
            if opened.is_err() && others {
                let _ = self.jobs.send(job);
                return;
            }
            carrier = self.do_job(job, opened);
        }
    }

    /// Counts connected loaders; `true`: this one is not, and others can do its work.
    fn count(&self, error: Option<&CarrierError>, connected: &mut bool) -> bool {
        let is_connected = error.is_none();
        if is_connected && *connected {
            return false;
        }
        let mut crew = self.crew();
        crew.connected -= u32::from(std::mem::replace(connected, is_connected));
        crew.connected += u32::from(is_connected);
        let Some(error) = error else { return false };
        crew.reason = Some(error.to_string());
        let others = crew.started - crew.gone > 1;
        crew.gone += u32::from(others);
        others
    }

    /// Does a job; returns the connection unless it failed.
    fn do_job(
        &self,
        mut job: Job,
        opened: Result<Carrier, CarrierError>,
    ) -> Option<(Arc<Place>, Carrier)> {
        let began = Instant::now();
        let mut kept = None;
        let with = |work: &mut dyn FnMut(&mut Carrier) -> Result<(), CarrierError>| {
            let mut carrier = opened?;
            // What the server sends must not end the thread: somebody waits for its answer.
            let done = catch_unwind(AssertUnwindSafe(|| work(&mut carrier)));
            done.unwrap_or_else(|_| Err(CarrierError::Lost(UNWORKABLE.to_owned())))?;
            kept = Some(carrier);
            Ok(())
        };
        let outcome = match &mut job.task {
            Task::Look(prefix) => {
                let mut looked = None;
                let found = with(&mut |carrier| {
                    looked = self.look(carrier, prefix)?;
                    Ok(())
                });
                Outcome::Looked(found.ok().and(looked))
            }
            Task::Carry(batch, numbers) => {
                let mut carried = Carried::default();
                let result = with(&mut |carrier| {
                    numbers.iter().try_for_each(|numbers| numbers.claim(carrier))?;
                    carried = carrier.carry(batch)?;
                    Ok(())
                });
                let took_ns = began.elapsed().as_nanos() as u64;
                let (text, result) = (std::mem::take(&mut batch.sql), result.map(|()| carried));
                Outcome::Carried { text, rows: batch.rows, took_ns, result }
            }
        };
        let place = Arc::clone(&job.place);
        job.answer(outcome);
        kept.map(|carrier| (place, carrier))
    }

    /// Looks up a table; clients that load it at the same time share its numbers.
    fn look(&self, carrier: &mut Carrier, prefix: &[u8]) -> Result<Option<Looked>, CarrierError> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(table) = carrier.look(prefix)? else { return Ok(None) };
        let shared = tables.get(&table.key).and_then(Weak::upgrade);
        let numbers = shared.unwrap_or_else(|| Arc::new(Numbers::new(&table)));
        tables.insert(table.key.clone(), Arc::downgrade(&numbers));
        Ok(Some(Looked { table, may_number: !self.shared, numbers }))
    }
}

impl Job {
    fn answer(self, outcome: Outcome) {
        let _ = self.done.send(Done { slot: self.slot, ticket: self.ticket, outcome });
        self.waker.wake();
    }
}

/// Bulk inserts of a shard whose batches loaders carry.
pub(crate) struct Filling {
    /// Bulk inserts started.
    tickets: u64,
    done: (Sender<Done>, Receiver<Done>),
}

impl Filling {
    pub(crate) fn new() -> Self {
        Self { tickets: 0, done: channel() }
    }

    /// A number for a bulk insert that begins, by which its results are recognised.
    pub(crate) fn next_ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    /// Where a job's result is sent.
    pub(crate) fn sender(&self) -> Sender<Done> {
        self.done.0.clone()
    }

    /// The next finished job, if there is one.
    pub(crate) fn next_done(&self) -> Option<Done> {
        self.done.1.try_recv().ok()
    }
}
