//! What the built-in tests are called and what they take.

use crate::options::Kind;

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
