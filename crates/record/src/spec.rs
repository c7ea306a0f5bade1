//! What to run: the document the lab (or a person) hands to the engine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One measured run, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// Must equal [`crate::SCHEMA`].
    pub schema: u32,
    /// What the script is asked to do: `run`, `prepare`, `cleanup`, or a command it defines.
    #[serde(default = "default_command")]
    pub command: String,
    /// The database under load.
    pub target: Target,
    /// Who drives it. At least one; names are distinct.
    pub groups: Vec<Group>,
    /// Seconds of load before measuring; recorded, and left out of the summary's window.
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
    /// How long to wait, after the window, for events in flight; seconds. `None`: 5 s, or half a
    /// millisecond a client where that is more, since they stand in line before the server. After
    /// a turn at least as long as a lost connection is tried to be made anew.
    #[serde(default)]
    pub drain_s: Option<f64>,
    /// Everything random is derived from this.
    #[serde(default)]
    pub seed: u64,
    /// Number of shards of this process; `None`: chosen from the cores and the clients, and
    /// recorded.
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
    /// Connections that carry the rows of bulk inserts at most, besides the scripts' own, where
    /// what is stored can't depend on it; 0: none. None: two a core (one waits for
    /// the log's flush while the other stores), 16 at most.
    #[serde(default)]
    pub loaders: Option<u32>,
    /// Deadline for one connection attempt, seconds.
    #[serde(default = "default_connect_timeout_s")]
    pub connect_timeout_s: f64,
    /// What to do with errors.
    #[serde(default)]
    pub errors: ErrorPolicy,
    /// This process carries out one part of a run that several share; `None`: all of it.
    #[serde(default)]
    pub part: Option<Part>,
    /// When all clients are ready, say so with a `ready` record and wait for a line
    /// `begin UNIX_NS` on standard input: the wall-clock time at which the load begins.
    #[serde(default)]
    pub wait_for_begin: bool,
    /// Load in turns, asked for one by one on standard input (see [`crate::Order`]): all clients
    /// connect, the engine says `ready` and waits. Each turn has its own lead-in and window, so
    /// `warm_up_s`, `measure_s` and `events` have no place beside it. Clients stay connected
    /// between turns; an arrival plan begins anew with each turn.
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
    /// Connect and stay idle: no event is ever run.
    #[serde(default)]
    pub idle: bool,
    /// Pause between events of one client, seconds (closed loop only).
    #[serde(default)]
    pub think_time_s: f64,
    /// Reconnect after this many events of one client. 0: never.
    #[serde(default)]
    pub reconnect_every: u64,
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
    /// Straight change of rate over `over_s`, then constant.
    Ramp {
        /// Rate at the beginning.
        from_per_s: f64,
        /// Rate at the end.
        to_per_s: f64,
        /// Seconds it takes.
        over_s: f64,
    },
    /// A list of (seconds, rate): each rate holds for its seconds; the last one for ever.
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
    /// Start times in seconds, one a line, ascending.
    Replay {
        /// The file of times.
        file: PathBuf,
    },
}

/// The database under load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "driver", rename_all = "kebab-case")]
pub enum Target {
    /// Answers at once: what is left is the engine's own cost.
    Null,
    /// Follows a written plan of delays, errors and disconnects.
    Scripted {
        /// The plan.
        plan: crate::ScriptedPlan,
    },
    /// A database file, in process.
    Sqlite(SqliteTarget),
    /// A PostgreSQL server.
    Postgresql(ServerTarget),
    /// A MySQL or MariaDB server.
    Mysql(ServerTarget),
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

/// A server reached over a socket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerTarget {
    /// Used round-robin, one a connection. At least one.
    pub endpoints: Vec<Endpoint>,
    /// Role to connect as.
    pub user: String,
    /// Never written to a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Database to use.
    pub database: String,
    /// `false`: a script's prepared statements are sent as plain text.
    #[serde(default = "default_true")]
    pub prepared_statements: bool,
    /// Encryption over TCP. A Unix socket never leaves the machine and stays plain.
    #[serde(default)]
    pub tls: Tls,
    /// Protocol compression: `zlib` (MySQL and MariaDB), `zstd` (MySQL from 8.0.18 on). A server
    /// without it is an error.
    #[serde(default)]
    pub compression: Option<String>,
}

/// Where one server listens.
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
    /// How much is demanded.
    #[serde(default)]
    pub mode: TlsMode,
    /// PEM file of authorities; needed to verify anything.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// PEM file of the client's certificate.
    #[serde(default)]
    pub certificate: Option<PathBuf>,
    /// PEM file of the client's key.
    #[serde(default)]
    pub key: Option<PathBuf>,
    /// Cipher suites by their IANA names (`TLS_AES_128_GCM_SHA256`); empty: all the library has.
    #[serde(default)]
    pub ciphers: Vec<String>,
}

/// Names as in libpq; MySQL's modes map onto them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    /// Plain.
    #[default]
    Disable,
    /// TLS if the server has it.
    Prefer,
    /// TLS, whoever answers.
    Require,
    /// TLS, and the certificate is signed by the authority.
    VerifyCa,
    /// The same, and it names the host.
    VerifyFull,
}

/// Which event loop the shards use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReactorChoice {
    /// io_uring where the kernel allows it, else epoll.
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
    /// As batch threads (`SCHED_BATCH`): waking up they interrupt nobody.
    #[default]
    Batch,
    /// As whoever started the engine has it.
    Inherit,
}

/// Whether shards are bound to processors while they run the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bind {
    /// Where that was measured to pay, and recorded.
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
    /// In every command but `run`: as COPY … FROM STDIN (PostgreSQL) or LOAD DATA LOCAL INFILE
    /// (MySQL, MariaDB) where that stores the very same, and the server lets us; otherwise as
    /// multi-row INSERT. In `run` the INSERT is what is measured.
    #[default]
    Auto,
    /// Always as multi-row INSERT.
    Insert,
}

/// What happens to an event whose statement failed. The first rule that matches decides; with none,
/// the driver's own list of transient errors is restarted, lost connections are made anew, and
/// anything else stops the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorPolicy {
    /// Tried in order.
    #[serde(default)]
    pub rules: Vec<ErrorRule>,
    /// Try to re-establish lost connections for so long before giving up, seconds.
    #[serde(default = "default_reconnect_s")]
    pub reconnect_s: f64,
    /// First pause between attempts to reconnect, milliseconds, at least 1; doubles up to 250 ms.
    /// Each pause is shortened or lengthened by up to a quarter, at random.
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

/// One line of an [`ErrorPolicy`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorRule {
    /// SQLSTATEs, vendor numbers (`1213`), a SQLSTATE class (`40`), `connection`, or `all`.
    pub codes: Vec<String>,
    /// What to do.
    pub action: ErrorAction,
    /// For `retry`: how often one event is tried again before the run stops.
    #[serde(default = "default_retries")]
    pub limit: u32,
}

/// What to do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorAction {
    /// Count it; the statement returns nothing and the event goes on.
    Ignore,
    /// Count it; begin the event again, as often as it takes.
    RestartEvent,
    /// Count it; begin the event again after a pause, up to the limit. The first pause is 1 ms; it
    /// doubles up to a second.
    Retry,
    /// Count it; drop the connection, make a new one, begin the event again.
    Reconnect,
    /// Count it; stop the run and report what was measured.
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
