//! The run spec: what the lab (or a person) asks the engine to run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One measured run, complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// Must equal [`crate::SCHEMA`].
    pub schema: u32,
    /// What the script should do: `run`, `prepare`, `cleanup`, or a command it defines.
    #[serde(default = "default_command")]
    pub command: String,
    /// The database under load.
    pub target: Target,
    /// Its groups of clients. At least one; names are distinct.
    pub groups: Vec<Group>,
    /// Seconds of load before measuring; recorded, but not part of the summary's window.
    #[serde(default)]
    pub warm_up_s: f64,
    /// Seconds measured. `None`: until `events` are done or the run is stopped.
    #[serde(default)]
    pub measure_s: Option<f64>,
    /// Stop after this many measured events in all. `None`: no limit.
    #[serde(default)]
    pub events: Option<u64>,
    /// Length of a reporting interval, seconds, [0.001, 3600].
    #[serde(default = "default_interval_s")]
    pub interval_s: f64,
    /// How long to wait after the window for events in flight, seconds. `None`: 5 s, or half a
    /// millisecond per client if that is more, since they queue before the server. After a turn, at
    /// least as long as a lost connection is retried.
    #[serde(default)]
    pub drain_s: Option<f64>,
    /// Seed of everything random.
    #[serde(default)]
    pub seed: u64,
    /// Number of shards of this process; `None`: chosen from the cores and clients, and recorded.
    #[serde(default)]
    pub shards: Option<u32>,
    /// Which event loop to use.
    #[serde(default)]
    pub reactor: ReactorChoice,
    /// How the kernel schedules the shards.
    #[serde(default)]
    pub scheduling: Scheduling,
    /// Whether each shard stays on one processor.
    #[serde(default)]
    pub bind: Bind,
    /// How scripts' bulk inserts reach the server.
    #[serde(default)]
    pub load: LoadBy,
    /// Loader connections: carry the rows of bulk inserts besides the scripts' own connections,
    /// where that can't change what is stored. 0: none. `None`: two per core (one waits for the
    /// log's flush while the other stores), 16 at most. Processes of a run share them.
    #[serde(default)]
    pub loaders: Option<u32>,
    /// Time limit of one connection attempt, seconds.
    #[serde(default = "default_connect_timeout_s")]
    pub connect_timeout_s: f64,
    /// The error policy.
    #[serde(default)]
    pub errors: ErrorPolicy,
    /// The part of a shared run that this process carries out; `None`: all of it.
    #[serde(default)]
    pub part: Option<Part>,
    /// When all clients are ready, emit a `ready` record and wait for a line `begin UNIX_NS` on
    /// standard input: the wall-clock time at which the load begins.
    #[serde(default)]
    pub wait_for_begin: bool,
    /// Run the load in turns, ordered one by one on standard input (see [`crate::Order`]): all
    /// clients connect, the engine emits `ready` and waits. Each turn has its own lead-in and
    /// window, so `warm_up_s`, `measure_s` and `events` must not be set. Clients stay connected
    /// between turns; an arrival plan restarts with each turn.
    #[serde(default)]
    pub turns: bool,
}

/// One of several engine processes that carry out a run together. Client `n` of this process is
/// client `n × count + index` of the run, and the process takes that part of the arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// This process, from 0.
    pub index: u32,
    /// Processes in all.
    pub count: u32,
    /// Clients of all processes.
    pub clients: u32,
}

/// Clients that run one script under one load model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Shown in records; distinct within a run.
    #[serde(default = "default_group")]
    pub name: String,
    /// A file, or a name searched for in `script_path`, then the usual places.
    pub script: String,
    /// Folders searched for `script` and for modules it requires.
    #[serde(default)]
    pub script_path: Vec<PathBuf>,
    /// The script's own options: strings, numbers, booleans or lists of strings.
    #[serde(default)]
    pub options: BTreeMap<String, serde_json::Value>,
    /// Number of clients, at least 1.
    pub clients: u32,
    /// When events start.
    #[serde(default)]
    pub arrival: Arrival,
    /// Connect and stay idle: no event is run.
    #[serde(default)]
    pub idle: bool,
    /// Pause between events of one client, seconds (closed loop only).
    #[serde(default)]
    pub think_time_s: f64,
    /// Reconnect after this many events of one client. 0: never.
    #[serde(default)]
    pub reconnect_every: u64,
    /// Each client reconnects after its first event of every Nth turn, from turn N on (turns are
    /// numbered from 0). 0: never.
    #[serde(default)]
    pub reconnect_every_turns: u32,
    /// Where its clients connect, by the same driver; `None`: where the run's `target` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
}

/// The intended start times of events. Rates are events per second over the whole group.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrival {
    /// The next event of a client follows the completion of its last.
    #[default]
    Closed,
    /// Evenly spaced.
    Constant {
        /// Events per second.
        rate_per_s: f64,
    },
    /// Exponential gaps.
    Poisson {
        /// Events per second, mean.
        rate_per_s: f64,
    },
    /// Linear change of rate over `over_s`, then constant.
    Ramp {
        /// Rate at the beginning.
        from_per_s: f64,
        /// Rate at the end.
        to_per_s: f64,
        /// Duration of the change, seconds.
        over_s: f64,
    },
    /// A list of (seconds, rate): each rate holds for its duration; the last one for ever.
    Steps {
        /// Pairs of duration and rate.
        steps: Vec<(f64, f64)>,
    },
    /// `mean + amplitude × sin(2πt / period)`.
    Sine {
        /// Mean rate.
        mean_per_s: f64,
        /// At most the mean.
        amplitude_per_s: f64,
        /// Seconds.
        period_s: f64,
    },
    /// Start times in seconds, one per line, ascending.
    Replay {
        /// The file of times.
        file: PathBuf,
    },
}

/// The database under load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "driver", rename_all = "kebab-case")]
pub enum Target {
    /// Answers at once: measures the engine's own cost.
    Null,
    /// Follows a written plan of delays, errors and disconnects.
    Scripted {
        /// The plan.
        plan: crate::ScriptedPlan,
    },
    /// A database file, in process.
    Sqlite(SqliteTarget),
    /// A DuckDB file, in process.
    Duckdb(DuckdbTarget),
    /// A PostgreSQL server.
    Postgresql(ServerTarget),
    /// A MySQL or MariaDB server.
    Mysql(ServerTarget),
    /// A Valkey or Redis server. `database` is a number; empty: 0.
    Redis(ServerTarget),
    /// MongoDB, or a server that speaks its protocol. `database` is that of commands that name
    /// none; empty: `test`. Its session has one setting, `authSource`: the database that has the
    /// user, `admin` unless set.
    Mongodb(ServerTarget),
    /// A ClickHouse server, by its native protocol.
    Clickhouse(ServerTarget),
}

/// A SQLite database file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SqliteTarget {
    /// The file; created if missing.
    pub path: PathBuf,
    /// `PRAGMA name = value`, applied in order to every connection.
    #[serde(default)]
    pub pragmas: Vec<(String, String)>,
    /// How long a connection waits for a lock before `SQLITE_BUSY`, milliseconds.
    #[serde(default = "default_busy_timeout_ms")]
    pub busy_timeout_ms: u32,
}

/// A DuckDB database file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DuckdbTarget {
    /// The library, a file that has DuckDB's C interface; loaded when the run begins.
    pub library: PathBuf,
    /// The file; created if missing.
    pub path: PathBuf,
    /// Settings by DuckDB's own names (`memory_limit`, `threads`): of the instance that all
    /// clients share, or of each connection where DuckDB has them so.
    #[serde(default)]
    pub settings: Vec<(String, String)>,
}

/// A server reached over a socket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerTarget {
    /// Used round-robin by connections. At least one.
    pub endpoints: Vec<Endpoint>,
    /// Role to connect as.
    pub user: String,
    /// Never written to a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Database to use.
    pub database: String,
    /// `false`: prepared statements of scripts are sent as plain text.
    #[serde(default = "default_true")]
    pub prepared_statements: bool,
    /// Encryption over TCP. A Unix socket never leaves the machine and is not encrypted.
    #[serde(default)]
    pub tls: Tls,
    /// Protocol compression: `zlib` (MySQL, MariaDB, MongoDB), `zstd` (MySQL from 8.0.18, MongoDB,
    /// ClickHouse), `snappy` (MongoDB) or `lz4` (ClickHouse). An error if the server lacks it.
    #[serde(default)]
    pub compression: Option<String>,
    /// Over TCP without TLS, a MySQL server that wants the password is asked for its public key and
    /// gets it encrypted for that, whoever it is. Without, such a connection is refused.
    #[serde(default)]
    pub asks_for_public_key: bool,
    /// Settings of every session, by the server's own names: set before it is used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub session: Vec<(String, String)>,
}

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Endpoint {
    /// A TCP address.
    Tcp {
        /// Name or address.
        host: String,
        /// Port.
        port: u16,
    },
    /// A Unix socket's path.
    Unix(PathBuf),
}

/// How a connection is encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// How strictly TLS is required.
    #[serde(default)]
    pub mode: TlsMode,
    /// PEM file of trusted authorities; needed for verification.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// PEM file of the client's certificate.
    #[serde(default)]
    pub certificate: Option<PathBuf>,
    /// PEM file of the client's key.
    #[serde(default)]
    pub key: Option<PathBuf>,
    /// Cipher suites by their IANA names (`TLS_AES_128_GCM_SHA256`); empty: all that the library
    /// supports.
    #[serde(default)]
    pub ciphers: Vec<String>,
}

/// Names as in libpq; MySQL's modes map onto them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    /// No TLS.
    #[default]
    Disable,
    /// TLS if the server has it.
    Prefer,
    /// TLS, without checking the certificate.
    Require,
    /// TLS with a certificate signed by an authority.
    VerifyCa,
    /// The same, and the certificate names the host.
    VerifyFull,
}

/// Which event loop the shards use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReactorChoice {
    /// io_uring where the kernel allows it, else epoll; epoll, too, where each client has its own
    /// shard beside a PostgreSQL server. Recorded.
    #[default]
    Auto,
    /// io_uring or an error.
    IoUring,
    /// epoll.
    Epoll,
}

/// How the kernel schedules the threads of shards that wait for servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// As batch threads (`SCHED_BATCH`): waking up, they preempt no other thread.
    #[default]
    Batch,
    /// As inherited from the process that started the engine.
    Inherit,
}

/// Whether shards are bound to processors while they run the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bind {
    /// Where that was measured to pay: a shard on every core beside a PostgreSQL server. Recorded.
    #[default]
    Auto,
    /// The kernel places them.
    None,
    /// Each stays on one of the processors that the process may use, over which they are spread.
    Each,
}

/// How the rows of a script's bulk insert (`bulk_insert_init`, `_next`, `_done`) reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadBy {
    /// In every command but `run`: by COPY … FROM STDIN (PostgreSQL), LOAD DATA LOCAL INFILE
    /// (MySQL, MariaDB) or the appender (DuckDB) where the result is the same and the server allows
    /// it; otherwise as multi-row INSERT. In `run` the INSERT itself is measured.
    #[default]
    Auto,
    /// Always as multi-row INSERT.
    Insert,
}

/// What happens to an event whose statement failed. The first matching rule decides; without one,
/// errors that the driver calls transient restart the event, lost connections are reconnected, and
/// any other error stops the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorPolicy {
    /// Tried in order.
    #[serde(default)]
    pub rules: Vec<ErrorRule>,
    /// How long to keep reconnecting before giving up, seconds.
    #[serde(default = "default_reconnect_s")]
    pub reconnect_s: f64,
    /// First pause between attempts to reconnect, milliseconds, at least 1; doubles up to 250 ms.
    /// Each pause varies at random by up to a quarter.
    #[serde(default = "default_back_off_ms")]
    pub back_off_ms: u64,
}

impl Default for ErrorPolicy {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            reconnect_s: default_reconnect_s(),
            back_off_ms: default_back_off_ms(),
        }
    }
}

/// A rule of an [`ErrorPolicy`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorRule {
    /// SQLSTATEs, server error numbers (`1213`), a SQLSTATE class (`40`), `connection`, or `all`.
    pub codes: Vec<String>,
    /// What to do.
    pub action: ErrorAction,
    /// For actions that restart the event: how often one event is, before the run stops.
    #[serde(default = "default_retries")]
    pub limit: u32,
}

/// What to do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorAction {
    /// Count it; the statement returns nothing and the event continues.
    Ignore,
    /// Count it; restart the event at once, up to the limit.
    RestartEvent,
    /// Count it; restart the event after a pause, up to the limit. The first pause is 1 ms; it
    /// doubles up to a second.
    Retry,
    /// Count it; reconnect, then restart the event, up to the limit.
    Reconnect,
    /// Count it; end the load as if its time were over: what was measured until then is the result,
    /// and a warning `ended` says when and why. Outside of a window, and in turns, the same as
    /// `stop`.
    EndLoad,
    /// Count it; stop the run, which has failed, and report what was measured.
    Stop,
}

fn default_command() -> String {
    "run".into()
}
fn default_group() -> String {
    "main".into()
}
fn default_interval_s() -> f64 {
    1.0
}
fn default_connect_timeout_s() -> f64 {
    10.0
}
fn default_busy_timeout_ms() -> u32 {
    5_000
}
fn default_true() -> bool {
    true
}
fn default_reconnect_s() -> f64 {
    60.0
}
fn default_back_off_ms() -> u64 {
    10
}
fn default_retries() -> u32 {
    10
}
