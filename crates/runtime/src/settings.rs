//! Connection settings shared by all shards of a run.

use std::sync::Arc;
use std::time::Duration;

use driver::Traits as _;
use record::{ErrorPolicy, Part, Target};

use crate::event_loop::choice;
use crate::loaders::Loaders;
use crate::share::Share;
use crate::sizing::{cores, loaders, loads};
use crate::telling::Telling;

/// The connection settings of a run's spec.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where connections go, but for those of groups with a target of their own.
    pub target: Target,
    /// Targets of the groups, in the spec's order; `None`: the run's.
    pub targets_of_groups: Vec<Option<Target>>,
    /// The error policy.
    pub errors: ErrorPolicy,
    /// How long a connection may take to be ready.
    pub connect_timeout: Duration,
    /// The event loop.
    pub reactor: reactor::Choice,
    /// Bulk inserts use the server's native load.
    pub loads: bool,
    /// Seed for the jitter between reconnect attempts.
    pub seed: u64,
    /// Which part of the run this process is.
    pub part: Part,
    /// Clients of this process, over all groups.
    pub clients: u32,
    /// The words for failures that end the run, which are printed at once unless the script catches
    /// them: a script that retries for ever still says why. `None`: they are not printed.
    pub telling: Option<Arc<dyn Telling>>,
    pub(crate) loaders: Arc<Loaders>,
}

impl Settings {
    /// The connections of a spec.
    pub fn new(spec: &record::RunSpec, telling: Option<Arc<dyn Telling>>) -> Self {
        let connect_timeout = Duration::from_secs_f64(spec.connect_timeout_s);
        let share = Share::of(spec);
        let (loaders, shared) = (loaders(spec, cores()), share.processes > 1);
        Self {
            target: spec.target.clone(),
            targets_of_groups: spec.groups.iter().map(|group| group.target.clone()).collect(),
            errors: spec.errors.clone(),
            connect_timeout,
            reactor: choice(spec, share, cores()),
            loads: loads(spec),
            seed: spec.seed,
            part: spec.part.unwrap_or(Part { index: 0, count: 1, clients: spec.clients() }),
            clients: spec.clients(),
            telling,
            loaders: Loaders::new(loaders, shared, &spec.target, connect_timeout),
        }
    }

    /// Where the clients of a group connect.
    pub fn target_of(&self, group: u16) -> &Target {
        let own = self.targets_of_groups.get(usize::from(group));
        own.and_then(Option::as_ref).unwrap_or(&self.target)
    }

    /// Whether sessions have sockets.
    pub fn networked(&self) -> bool {
        self.target.server().is_some()
    }

    /// In-process databases block the caller, so each client needs a thread of its own.
    pub fn one_client_a_shard(&self) -> bool {
        self.target.blocks()
    }
}
