//! What all shards of a run know of its connections.

use std::sync::Arc;
use std::time::Duration;

use record::{ErrorPolicy, Part, Target};

use crate::loaders::Loaders;

/// However many cores there are: so many connections carry what a few scripts can make.
const MOST_LOADERS: u32 = 16;

/// The connections' part of a run's spec.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where connections go.
    pub target: Target,
    /// What failed statements lead to.
    pub errors: ErrorPolicy,
    /// For a connection to be ready to use.
    pub connect_timeout: Duration,
    /// The event loop.
    pub reactor: reactor::Choice,
    /// Bulk inserts go in the server's own way of loading rows.
    pub loads: bool,
    /// Of the jitter between attempts to reconnect.
    pub seed: u64,
    /// Which part of the run this process is.
    pub part: Part,
    /// Clients of this process, over all groups.
    pub clients: u32,
    /// A statement's failure that ends the run, unless the script catches it, is told at once: a
    /// script that tries again for ever is not silent about why.
    pub tells_failures: bool,
    pub(crate) loaders: Arc<Loaders>,
}

impl Settings {
    /// The connections of a spec.
    pub fn new(spec: &record::RunSpec, tells_failures: bool) -> Self {
        let connect_timeout = Duration::from_secs_f64(spec.connect_timeout_s);
        let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        let loaders = spec.loaders.unwrap_or_else(|| (2 * cores()).min(MOST_LOADERS));
        Self {
            target: spec.target.clone(),
            errors: spec.errors.clone(),
            connect_timeout,
            reactor: match spec.reactor {
                record::ReactorChoice::Auto => reactor::Choice::Auto,
                record::ReactorChoice::IoUring => reactor::Choice::IoUring,
                record::ReactorChoice::Epoll => reactor::Choice::Epoll,
            },
            loads: spec.load == record::LoadBy::Auto && spec.command != "run",
            seed: spec.seed,
            part: spec.part.unwrap_or(Part { index: 0, count: 1, clients: spec.clients() }),
            clients: spec.clients(),
            tells_failures,
            loaders: Loaders::new(loaders, &spec.target, connect_timeout),
        }
    }

    /// Whether sessions have sockets.
    pub fn networked(&self) -> bool {
        self.target.server().is_some()
    }

    /// In-process databases block the caller, so each client needs a thread of its own.
    pub fn one_client_a_shard(&self) -> bool {
        matches!(self.target, Target::Sqlite(_))
    }
}
