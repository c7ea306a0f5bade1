//! The state that all clients share, and the test's report.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::settings::Settings;
use super::shared::{InUse, Rounds};
use crate::builtin::figures::Figures;

/// Operations done by all clients.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) reads: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) fsyncs: AtomicU64,
    pub(crate) bytes_read: AtomicU64,
    pub(crate) bytes_written: AtomicU64,
}

/// A snapshot: reads, writes, fsyncs, bytes read, bytes written.
type Counts = [u64; 5];

impl Done {
    fn counts(&self) -> Counts {
        [&self.reads, &self.writes, &self.fsyncs, &self.bytes_read, &self.bytes_written]
            .map(|count| count.load(Ordering::Relaxed))
    }
}

/// The test, shared by all its clients.
pub(crate) struct FileIo {
    pub(crate) settings: Arc<Settings>,
    pub(crate) done: Arc<Done>,
    /// The next block of a sequential test, shared by all clients.
    pub(crate) next: Arc<AtomicU64>,
    pub(crate) rounds: Arc<Rounds>,
    pub(crate) in_use: Arc<InUse>,
    line: std::sync::Mutex<Counts>,
    report: std::sync::Mutex<Counts>,
}

impl FileIo {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings: Arc::new(settings),
            done: Arc::default(),
            next: Arc::default(),
            rounds: Arc::default(),
            in_use: Arc::default(),
            line: std::sync::Mutex::default(),
            report: std::sync::Mutex::default(),
        }
    }

    /// Rates per second since the last call with the same mark.
    fn rates(&self, mark: &std::sync::Mutex<Counts>, seconds: f64) -> [f64; 5] {
        let now = self.done.counts();
        let mut before = mark.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let since = std::array::from_fn(|index| (now[index] - before[index]) as f64 / seconds);
        *before = now;
        since
    }
}

const MIB: f64 = 1_048_576.0;

impl Figures for FileIo {
    fn header(&self) -> String {
        self.settings.describe()
    }

    fn narrow(&self) -> bool {
        true
    }

    fn intermediate(
        &self,
        _events: u64,
        interval_s: f64,
        elapsed_s: f64,
        latency: &dyn Fn() -> (String, f64),
    ) -> Option<String> {
        let [_, _, fsyncs, read, written] = self.rates(&self.line, interval_s);
        let (ranks, first) = latency();
        Some(format!(
            "[ {elapsed_s:.0}s ] reads: {:4.2} MiB/s writes: {:4.2} MiB/s fsyncs: {fsyncs:4.2}/s \
             latency (ms,{ranks}): {first:4.3}\n",
            read / MIB,
            written / MIB
        ))
    }

    fn cumulative(&self, _events: u64, seconds: f64, new: bool) -> String {
        let [reads, writes, fsyncs, read, written] = self.rates(&self.report, seconds);
        if new {
            let line = |name: &str, times: f64, bytes: f64| {
                let (mib, mb) = (bytes / MIB, bytes / 1e6);
                format!("         {name:<6} IOPS={times:.2} {mib:.2} MiB/s ({mb:.2} MB/s)\n")
            };
            return format!(
                "\nThroughput:\n{}{}         fsync: IOPS={fsyncs:.2}\n",
                line("read:", reads, read),
                line("write:", writes, written)
            );
        }
        format!(
            "\nFile operations:\n    reads/s:                      {reads:.2}\n    \
             writes/s:                     {writes:.2}\n    \
             fsyncs/s:                     {fsyncs:.2}\n\nThroughput:\n    \
             read, MiB/s:                  {:.2}\n    written, MiB/s:               {:.2}\n",
            read / MIB,
            written / MIB
        )
    }
}
