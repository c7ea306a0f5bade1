//! The built-in tests: what they are called, what they take, what they report.

mod client;
mod cpu;
mod fileio;
mod locks;
mod memory;

use std::sync::Arc;

use crate::command_line::{CommandLine, Refusal};
use crate::options::Kind;
use crate::value::{Values, read};

pub use client::{BuiltinWorkload, Client};
use cpu::Cpu;
use fileio::{FileClient, FileIo, Settings};
pub use fileio::{cleanup, prepare};
use locks::{Mutexes, Threads};
use memory::Memory;

/// Names, and what they are about.
pub const TESTS: [(&str, &str); 5] = [
    ("fileio", "reads and writes of files"),
    ("cpu", "whole numbers: a search for primes"),
    ("memory", "reads and writes of memory"),
    ("threads", "the scheduler: yields between locks"),
    ("mutex", "locks that nobody else holds for long"),
];

/// An option of a built-in test.
#[derive(Debug, Clone, Copy)]
pub struct TestOption {
    /// With underscores.
    pub name: &'static str,
    /// How its value is written.
    pub kind: Kind,
    /// As it would be written; empty: none.
    pub default: &'static str,
    /// For people.
    pub help: &'static str,
}

const fn option(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    help: &'static str,
) -> TestOption {
    TestOption { name, kind, default, help }
}

use Kind::{Bool, Int, List, Size, Text};

const CPU: &[TestOption] = &[option("cpu_max_prime", Int, "10000", "largest number looked at")];

const MEMORY: &[TestOption] = &[
    option("memory_block_size", Size, "1K", "size of a block"),
    option("memory_total_size", Size, "100G", "bytes to go through in all"),
    option("memory_scope", Text, "global", "whose block it is {global,local}"),
    option("memory_hugetlb", Bool, "off", "take the block from huge pages"),
    option("memory_oper", Text, "write", "what is done to it {read,write,none}"),
    option("memory_access_mode", Text, "seq", "in which order {seq,rnd}"),
];

const THREADS: &[TestOption] = &[
    option("thread_yields", Int, "1000", "yields in an event"),
    option("thread_locks", Int, "8", "number of locks"),
];

const MUTEX: &[TestOption] = &[
    option("mutex_num", Int, "4096", "number of locks"),
    option("mutex_locks", Int, "50000", "locks taken by each client"),
    option("mutex_loops", Int, "10000", "empty loops before each"),
];

const FILEIO: &[TestOption] = &[
    option("file_num", Int, "128", "number of files"),
    option("file_block_size", Size, "16384", "size of a read or write"),
    option("file_total_size", Size, "2G", "size of all files together"),
    option("file_test_mode", Text, "", "{seqwr,seqrewr,seqrd,rndrd,rndwr,rndrw}"),
    option("file_io_mode", Text, "sync", "how {sync,async,mmap}"),
    option("file_async_backlog", Int, "128", "operations under way at once, a client"),
    option("file_extra_flags", List, "", "how files are opened {sync,dsync,direct}"),
    option("file_fsync_freq", Int, "100", "fsync after so many operations; 0: never"),
    option("file_fsync_all", Bool, "off", "fsync after each write"),
    option("file_fsync_end", Bool, "on", "fsync at the end"),
    option("file_fsync_mode", Text, "fsync", "{fsync,fdatasync}"),
    option("file_merged_requests", Int, "0", "operations made one, at most; 0: none"),
    option("file_rw_ratio", Kind::Double, "1.5", "reads for each write in rndrw"),
];

/// The options of a test.
pub fn options(name: &str) -> &'static [TestOption] {
    match name {
        "cpu" => CPU,
        "memory" => MEMORY,
        "threads" => THREADS,
        "mutex" => MUTEX,
        "fileio" => FILEIO,
        _ => &[],
    }
}

/// What a built-in test adds to the report.
pub trait Figures: Send + Sync {
    /// What it does, for those who want to know more.
    fn subject(&self) -> String {
        String::new()
    }

    /// Before the clients are made: its settings.
    fn header(&self) -> String {
        String::new()
    }

    /// Instead of the usual line: so many events in an interval of so many seconds, which ends at
    /// `elapsed_s`; `latency` gives ranks and the first of them in milliseconds.
    fn intermediate(
        &self,
        _events: u64,
        _interval_s: f64,
        _elapsed_s: f64,
        _latency: &dyn Fn() -> (String, f64),
    ) -> Option<String> {
        None
    }

    /// Whether the full report of the layout of 1.1 has neither general statistics nor fairness,
    /// and a narrower block of latencies.
    fn narrow(&self) -> bool {
        false
    }

    /// Above the general statistics: so many events in so many seconds; `new` is the layout of 1.1.
    fn cumulative(&self, _events: u64, _seconds: f64, _new: bool) -> String {
        String::new()
    }
}

/// Makes the client of this number, of so many.
pub type MakeClient = Arc<dyn Fn(u32, u32) -> Result<Box<dyn Client>, String> + Send + Sync>;

/// A built-in test, ready to run.
pub struct BuiltinTest {
    /// Its clients.
    pub make: MakeClient,
    /// Its part of the report.
    pub figures: Arc<dyn Figures>,
}

/// The test's options on top of the command's own.
///
/// # Errors
/// An option that the test does not have, or a value that is none.
pub fn values(line: &CommandLine, name: &str) -> Result<Values, Refusal> {
    let mut values = line.values.clone();
    for given in &line.others {
        let known = options(name).iter().find(|option| option.name == given.name);
        let Some(option) = known else {
            return Err(Refusal(format!("invalid option: {}", given.written)));
        };
        let text = given.value.as_deref().unwrap_or_default();
        let Some(value) = read(option.kind, text) else {
            let dashed = option.name.replace('_', "-");
            return Err(Refusal(format!("Invalid value for the '{dashed}' option: '{text}'")));
        };
        values.0.insert(option.name.to_owned(), value);
    }
    for option in options(name) {
        if let Some(value) = read(option.kind, option.default) {
            values.0.entry(option.name.to_owned()).or_insert(value);
        }
    }
    Ok(values)
}

/// The test of this name; `seed` is for when none is given.
///
/// # Errors
/// A value that makes no sense.
pub fn test(name: &str, values: &Values, seed: u64) -> Result<BuiltinTest, Refusal> {
    let fatal = |message: String| Refusal(format!("FATAL: {message}"));
    match name {
        "cpu" => {
            let cpu = Arc::new(Cpu::new(values).map_err(fatal)?);
            let make = Arc::clone(&cpu);
            Ok(BuiltinTest {
                make: Arc::new(move |_, _| Ok(Box::new((*make).clone()))),
                figures: cpu,
            })
        }
        "memory" => {
            let memory = Arc::new(Memory::new(values).map_err(fatal)?);
            let make = Arc::clone(&memory);
            Ok(BuiltinTest {
                make: Arc::new(move |number, clients| Ok(Box::new(make.client(number, clients)?))),
                figures: memory,
            })
        }
        "threads" => {
            let threads = Arc::new(Threads::new(values).map_err(fatal)?);
            let make = Arc::clone(&threads);
            Ok(BuiltinTest {
                make: Arc::new(move |number, _| Ok(Box::new(make.client(number)))),
                figures: threads,
            })
        }
        "mutex" => {
            let mutexes = Arc::new(Mutexes::new(values).map_err(fatal)?);
            let make = Arc::clone(&mutexes);
            Ok(BuiltinTest {
                make: Arc::new(move |number, _| Ok(Box::new(make.client(number)))),
                figures: mutexes,
            })
        }
        "fileio" => {
            let settings = Settings::new(values, seed).map_err(fatal)?;
            if settings.mode.is_none() {
                let help = crate::help::test_help(name);
                let message = "FATAL: Missing required argument: --file-test-mode";
                return Err(Refusal(format!("{message}\n\n{help}")));
            }
            let test = Arc::new(FileIo::new(settings));
            let make = Arc::clone(&test);
            Ok(BuiltinTest {
                make: Arc::new(move |number, _| Ok(Box::new(FileClient::new(&make, number)?))),
                figures: test,
            })
        }
        other => Err(fatal(format!("there is no built-in test '{other}'"))),
    }
}
