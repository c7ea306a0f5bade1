//! What all shards of a run know of its connections.

use std::sync::Arc;
use std::time::Duration;

use record::{ErrorPolicy, Part, Target};

use crate::event_loop::choice;
use crate::loaders::Loaders;
use crate::sizing::{cores, loaders, loads, one_client_a_shard};

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
        let loaders = loaders(spec, cores());
        Self {
            target: spec.target.clone(),
            errors: spec.errors.clone(),
            connect_timeout,
            reactor: choice(spec.reactor),
            loads: loads(spec),
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
        one_client_a_shard(&self.target)
    }
}
