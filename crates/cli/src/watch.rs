//! Reasons besides signals for which the verb `sysbench` ends a run.

use std::cell::Cell;
use std::time::{Duration, Instant};

use engine::Probe;
use record::{Order, OrderError, PhaseName, Record};
use sysbench::Values;

use crate::exit::{FAILED, FORCED};
use crate::process::Process;

/// The process, a deadline for clients to be ready, and a limit of queued events.
pub struct Watch {
    process: Process,
    /// How long clients may take to be ready; `None`: no limit, because the command is not `run`.
    patience: Option<Duration>,
    /// Events of `--rate` that may be queued; 0: any number.
    queue: u64,
    /// When clients have to be ready; `None` before they are made and after they are ready.
    deadline: Cell<Option<Instant>>,
    late: Cell<bool>,
    overflow: Cell<bool>,
}

impl Watch {
    /// For the options of a command.
    pub fn new(process: Process, values: &Values, command: Option<&str>) -> Self {
        let patience = values.number("thread_init_timeout").max(1) as u64;
        Self {
            process,
            patience: (command == Some("run")).then(|| Duration::from_secs(patience)),
            queue: u64::try_from(values.number("rate_queue")).unwrap_or(0),
            deadline: Cell::new(None),
            late: Cell::new(false),
            overflow: Cell::new(false),
        }
    }

    /// Processes a record.
    pub fn see(&self, record: &Record) {
        match record {
            Record::Progress(progress) if progress.done == 0 => {
                self.deadline.set(self.patience.map(|patience| Instant::now() + patience));
            }
            Record::Phase(phase) if phase.phase != PhaseName::Connect => self.deadline.set(None),
            Record::Interval(interval) if self.queue > 0 && interval.backlog > self.queue => {
                self.overflow.set(true);
            }
            _ => {}
        }
    }

    /// Why the run was ended, if it was, and the exit code.
    pub fn verdict(&self) -> Option<(String, u8)> {
        if self.late.get() {
            let seconds = self.patience.unwrap_or_default().as_secs();
            let message = format!("Worker threads failed to initialize within {seconds} seconds!");
            return Some((message, FORCED));
        }
        let message = format!(
            "The event queue is full. This means the worker threads are unable to keep up with \
             the specified event generation rate: more than {} events wait",
            self.queue
        );
        self.overflow.get().then_some((message, FAILED))
    }
}

impl Probe for Watch {
    fn settle(&self) {
        self.process.settle();
    }

    fn rss_kb(&self) -> (u64, u64) {
        self.process.rss_kb()
    }

    fn interrupted(&self) -> bool {
        if self.deadline.get().is_some_and(|deadline| Instant::now() > deadline) {
            self.late.set(true);
        }
        self.late.get() || self.overflow.get() || self.process.interrupted()
    }

    fn impatient(&self) -> bool {
        self.late.get() || self.process.impatient()
    }

    fn order(&self) -> Option<Result<Order, OrderError>> {
        None
    }

    fn unix_ns(&self) -> u64 {
        self.process.unix_ns()
    }
}
