//! Names and options of the built-in tests.

use crate::options::Kind;

/// Names and descriptions.
pub const TESTS: [(&str, &str); 5] = [
    ("fileio", "reads and writes of files"),
    ("cpu", "whole numbers: a search for primes"),
    ("memory", "reads and writes of memory"),
    ("threads", "the scheduler: threads that yield while holding a lock"),
    ("mutex", "short-held locks"),
];

/// An option of a built-in test.
#[derive(Debug, Clone, Copy)]
pub struct TestOption {
    /// With underscores.
    pub name: &'static str,
    /// The type of its value.
    pub kind: Kind,
    /// The default as text; empty: none.
    pub default: &'static str,
    /// Description for `help`.
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

const CPU: &[TestOption] = &[option("cpu_max_prime", Int, "10000", "largest number tested")];

const MEMORY: &[TestOption] = &[
    option("memory_block_size", Size, "1K", "size of a block"),
    option("memory_total_size", Size, "100G", "bytes to access in total"),
    option("memory_scope", Text, "global", "one block for all threads or one each {global,local}"),
    option("memory_hugetlb", Bool, "off", "allocate the block in huge pages"),
    option("memory_oper", Text, "write", "operation {read,write,none}"),
    option("memory_access_mode", Text, "seq", "access order {seq,rnd}"),
];

const THREADS: &[TestOption] = &[
    option("thread_yields", Int, "1000", "yields per event"),
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
    option("file_async_backlog", Int, "128", "operations in flight per client"),
    option("file_extra_flags", List, "", "flags for opening files {sync,dsync,direct}"),
    option("file_fsync_freq", Int, "100", "operations between fsyncs; 0: no fsync"),
    option("file_fsync_all", Bool, "off", "fsync after each write"),
    option("file_fsync_end", Bool, "on", "fsync at the end"),
    option("file_fsync_mode", Text, "fsync", "{fsync,fdatasync}"),
    option("file_merged_requests", Int, "0", "operations merged into one, at most; 0: none"),
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
