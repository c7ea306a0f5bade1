//! All options of both versions of the command, as data.

/// The type of an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `on` or `off`; without a value, on.
    Bool,
    /// A 32-bit whole number.
    Int,
    /// A number with an optional suffix K, M, G or T.
    Size,
    /// Any number.
    Double,
    /// Text.
    Text,
    /// Words separated by commas.
    List,
    /// A file of options.
    File,
}

/// The section of `--help` that lists an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Threads, time, reports.
    General,
    /// Random numbers.
    Random,
    /// Verbosity.
    Log,
    /// Latency reports.
    Latency,
    /// Databases of any kind.
    Database,
    /// MySQL and MariaDB.
    Mysql,
    /// PostgreSQL.
    Pgsql,
    /// Options that sysbench does not have.
    Ours,
}

/// Which versions of sysbench have an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// Both.
    Both,
    /// 1.0 only.
    Old,
    /// 1.1 only.
    New,
    /// Neither: the option is ours.
    Ours,
}

/// How a given value is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// It takes effect.
    Honoured,
    /// It sets another option.
    Alias(&'static str),
    /// A value other than the default ends the program, for this reason.
    Refused(&'static str),
    /// It is ignored with a warning, for this reason.
    NoEffect(&'static str),
}

/// One option.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    /// The name that scripts see, with underscores.
    pub name: &'static str,
    /// The type of its value.
    pub kind: Kind,
    /// The default as text.
    pub default: &'static str,
    /// Where help lists it.
    pub section: Section,
    /// Which versions have it.
    pub since: Since,
    /// How a given value is treated.
    pub treatment: Treatment,
    /// Description for `--help`.
    pub help: &'static str,
}

const fn option(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    section: Section,
    help: &'static str,
) -> Variable {
    let (since, treatment) = (Since::Both, Treatment::Honoured);
    Variable { name, kind, default, section, since, treatment, help }
}

impl Variable {
    const fn only(self, since: Since) -> Self {
        Self { since, ..self }
    }

    const fn but(self, treatment: Treatment) -> Self {
        Self { treatment, ..self }
    }

    const fn alias(
        name: &'static str,
        of: &'static str,
        default: &'static str,
        help: &'static str,
    ) -> Self {
        option(name, Kind::Int, default, Section::General, help)
            .only(Since::Old)
            .but(Treatment::Alias(of))
    }
}

use Kind::{Bool, Double, File, Int, List, Size, Text};
use Section::{Database, General, Latency, Log, Mysql, Ours, Pgsql, Random};
use Since::{New, Old};
use Treatment::{NoEffect, Refused};

const ITS_OWN_LIBRARY: &str = "it traces calls of a client library, and the engine uses \
    none; --db-debug shows times of statements, and the server's statement log shows what is sent";

/// All options, by section, in the order of `--help`.
pub const OPTIONS: &[Variable] = &[
    option("threads", Int, "1", General, "number of clients"),
    option("events", Int, "0", General, "stop after this many events; 0: no limit"),
    option("time", Int, "10", General, "stop after this many seconds; 0: no limit"),
    option("warmup_time", Int, "0", General, "seconds of load before counting begins").only(New),
    option(
        "forced_shutdown",
        Text,
        "off",
        General,
        "seconds after --time (or N% of it) after which unfinished events are abandoned, or 'off'",
    ),
    option("thread_stack_size", Size, "64K", General, "size of a thread's stack")
        .but(NoEffect("clients are coroutines without a stack of their own")),
    option("thread_init_timeout", Int, "30", General, "seconds allowed for all clients to connect")
        .only(New),
    option("rate", Int, "0", General, "average events started per second; 0: unlimited"),
    option("report_interval", Int, "0", General, "seconds between intermediate reports; 0: none"),
    option(
        "report_checkpoints",
        List,
        "",
        General,
        "times (seconds) of full reports that reset the counters",
    ),
    option("debug", Bool, "off", General, "print more, such as statistics of each client"),
    option("validate", Bool, "off", General, "validate results where possible (fileio)"),
    option("help", Bool, "off", General, "print this help and exit"),
    option("version", Bool, "off", General, "print the version and exit"),
    option("config_file", File, "", General, "file of options, one name=value per line"),
    option("luajit_cmd", Text, "", General, "option for LuaJIT's -j: on, off or flush").only(New),
    Variable::alias("tx_rate", "rate", "0", "old name of --rate"),
    Variable::alias("max_requests", "events", "0", "old name of --events"),
    Variable::alias("max_time", "time", "0", "old name of --time"),
    Variable::alias("num_threads", "threads", "1", "old name of --threads"),
    option("test", Text, "", General, "old way to name the script").only(Old),
    option(
        "rand_type",
        Text,
        "special",
        Random,
        "distribution of random numbers {uniform,gaussian,special,pareto,zipfian}",
    ),
    option("rand_spec_iter", Int, "12", Random, "uniform numbers averaged into a gaussian one")
        .only(Old),
    option("rand_spec_pct", Int, "1", Random, "width of the special range, percent of the whole")
        .only(Old),
    option("rand_spec_res", Int, "75", Random, "percentage of numbers in the special range")
        .only(Old),
    option("rand_seed", Int, "0", Random, "seed of random numbers; 0: the current time"),
    option("rand_pareto_h", Double, "0.2", Random, "h of the pareto distribution"),
    option("rand_zipfian_exp", Double, "0.8", Random, "exponent of the zipfian distribution")
        .only(New),
    option("verbosity", Int, "3", Log, "from 0 (fatal errors only) to 5 (debug)"),
    option(
        "percentile",
        Text,
        "95",
        Latency,
        "latency percentile, or several separated by commas; 0: none",
    ),
    option("histogram", Bool, "off", Latency, "show a histogram of latencies"),
    option("db_driver", Text, "mysql", Database, "mysql, pgsql, sqlite or null"),
    option("db_ps_mode", Text, "auto", Database, "prepared statements {auto, disable}"),
    option("db_debug", Bool, "off", Database, "print minimum, mean and maximum time of statements"),
    option("mysql_host", List, "localhost", Mysql, "hosts, used in turn"),
    option("mysql_port", List, "3306", Mysql, "ports, used in turn"),
    option("mysql_socket", List, "", Mysql, "Unix sockets, used in turn"),
    option("mysql_user", Text, "sbtest", Mysql, "user"),
    option("mysql_password", Text, "", Mysql, "password"),
    option("mysql_db", Text, "sbtest", Mysql, "database"),
    option(
        "mysql_ssl",
        Text,
        "off",
        Mysql,
        "encryption {off,on,disabled,preferred,required,verify_ca,verify_identity}",
    ),
    option("mysql_ssl_key", Text, "", Mysql, "PEM file of the client's key").only(New),
    option("mysql_ssl_ca", Text, "", Mysql, "PEM file of trusted authorities").only(New),
    option("mysql_ssl_cert", Text, "", Mysql, "PEM file of the client's certificate").only(New),
    option("mysql_ssl_cipher", Text, "", Mysql, "cipher suites, separated by colons"),
    option("mysql_compression", Bool, "off", Mysql, "compress the connection"),
    option("mysql_compression_algorithms", Text, "zlib", Mysql, "{zlib,zstd,uncompressed}")
        .only(New),
    option("mysql_debug", Bool, "off", Mysql, "trace the client library")
        .but(Refused(ITS_OWN_LIBRARY)),
    option(
        "mysql_ignore_errors",
        List,
        "1213,1020,1205",
        Mysql,
        "error numbers that restart the event, or 'all'",
    ),
    option("mysql_dry_run", Bool, "off", Mysql, "pretend that every statement succeeds"),
    option("pgsql_host", List, "localhost", Pgsql, "hosts or Unix socket folders, used in turn"),
    option("pgsql_port", List, "5432", Pgsql, "ports, used in turn"),
    option("pgsql_user", Text, "sbtest", Pgsql, "user"),
    option("pgsql_password", Text, "", Pgsql, "password"),
    option("pgsql_db", Text, "sbtest", Pgsql, "database"),
    option(
        "pgsql_sslmode",
        Text,
        "prefer",
        Pgsql,
        "encryption {disable,allow,prefer,require,verify-ca,verify-full}",
    )
    .only(New),
    option(
        "compat",
        Text,
        "1.0",
        Ours,
        "version whose defaults and report apply: 1.0 (General statistics) or 1.1 (Throughput)",
    )
    .only(Since::Ours),
    option(
        "seed",
        Int,
        "0",
        Ours,
        "seed of all random numbers, also in prepare: repeats a run's statements",
    )
    .only(Since::Ours),
    option(
        "pgsql_ignore_errors",
        List,
        "40P01,23505,40001",
        Ours,
        "SQLSTATEs that restart the event, 'connection' or 'all'",
    )
    .only(Since::Ours),
    option("sqlite_path", Text, "", Ours, "database file for --db-driver=sqlite").only(Since::Ours),
    option("shards", Int, "0", Ours, "engine threads; 0: automatic").only(Since::Ours),
    option(
        "loaders",
        Int,
        "-1",
        Ours,
        "connections that load rows in prepare; 0: INSERTs like sysbench; -1: two per core",
    )
    .only(Since::Ours),
    option(
        "rate_queue",
        Int,
        "0",
        Ours,
        "stop when this many events are queued by --rate (sysbench: 100000); 0: never",
    )
    .only(Since::Ours),
    option("statement_latency", Bool, "off", Ours, "show latencies of statements by class")
        .only(Since::Ours),
    option("error_codes", Bool, "off", Ours, "show errors by code").only(Since::Ours),
    option("json", Text, "", Ours, "write options and figures to this file").only(Since::Ours),
    option("hlog", Text, "", Ours, "write an HdrHistogram log to this file").only(Since::Ours),
    option("prometheus", Text, "", Ours, "serve live figures at this address ([host:]port)")
        .only(Since::Ours),
];

/// The option with this name, in underscores.
pub fn find(name: &str) -> Option<&'static Variable> {
    OPTIONS.iter().find(|option| option.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::read;

    #[test]
    fn names_are_distinct_and_defaults_are_of_their_kind() {
        for (index, option) in OPTIONS.iter().enumerate() {
            assert!(read(option.kind, option.default).is_some(), "{}", option.name);
            assert!(!option.name.contains('-'), "{}", option.name);
            assert!(OPTIONS[..index].iter().all(|other| other.name != option.name));
        }
    }

    #[test]
    fn aliases_point_to_options_of_the_same_kind() {
        for option in OPTIONS {
            if let Treatment::Alias(of) = option.treatment {
                assert_eq!(find(of).map(|target| target.kind), Some(option.kind));
            }
        }
    }
}
