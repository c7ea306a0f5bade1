//! How many shards a process has, and whether each stays on one processor.

use driver::Traits as _;
use record::{Bind, RunSpec};

use crate::share::Share;

/// Clients a shard should have before another one pays, with a server elsewhere.
const CLIENTS_A_SHARD: u32 = 8;
/// Most backends per core for which one shard per core was faster; above it, one per two cores.
const BACKENDS_A_CORE_MAX: u32 = 512;

/// Shards of this process: as configured; one per client in process; otherwise by clients and
/// cores. What is best where the server shares the cores was measured on two of them, at 1 to 1,024
/// clients (`bench/notes.md`). Processes of one run share the cores and have the same number, since
/// arrivals are dealt out over all shards.
pub fn shards(spec: &RunSpec, cores: u32) -> u32 {
    shards_of(spec, Share::of(spec), cores)
}

pub(crate) fn shards_of(spec: &RunSpec, share: Share, cores: u32) -> u32 {
    if spec.target.blocks() {
        return share.own;
    }
    let clients = share.least();
    if let Some(shards) = spec.shards {
        return shards.min(clients);
    }
    let most = (cores / share.processes).max(1);
    let half = (cores / 2 / share.processes).max(1);
    match spec.target.server() {
        Some(_) if !spec.target.is_local() => clients.div_ceil(CLIENTS_A_SHARD).min(most),
        Some(_) if share.clients <= alone(spec, cores) => clients,
        Some(_) if is_beside_backends(spec, share, cores) => clients.min(most),
        // Threads of MySQL and MariaDB, with a pool or without, stay busy: shards on all cores are
        // in their way.
        Some(_) => clients.min(half),
        None => clients.div_ceil(CLIENTS_A_SHARD).min(half),
    }
}

/// Up to this many clients each get a shard: their replies rarely arrive together.
fn alone(spec: &RunSpec, cores: u32) -> u32 {
    if spec.target.has_backends() && cores > 1 { cores.saturating_mul(2) } else { cores }
}

/// Whether the clients' sessions are backends on the same cores, and not too many. A backend sleeps
/// as soon as it has replied, so a core whose shard has nothing to read has nothing to do.
fn is_beside_backends(spec: &RunSpec, share: Share, cores: u32) -> bool {
    spec.target.has_backends()
        && spec.target.is_local()
        && share.clients <= cores.saturating_mul(BACKENDS_A_CORE_MAX)
}

/// Whether each client has a shard of its own, beside its backend on the same cores.
pub(crate) fn each_client_has_a_shard(spec: &RunSpec, share: Share, cores: u32) -> bool {
    is_beside_backends(spec, share, cores)
        && share.processes * shards_of(spec, share, cores) == share.clients
}

/// Whether each shard stays on one processor, of as many cores. Commands that only fill tables
/// leave the processors to the loaders.
pub fn shards_bound(spec: &RunSpec, cores: u32) -> bool {
    bound_of(spec, Share::of(spec), cores)
}

pub(crate) fn bound_of(spec: &RunSpec, share: Share, cores: u32) -> bool {
    let wanted = match spec.bind {
        Bind::None => false,
        Bind::Each => true,
        // A shard on every core keeps both ends of a connection on one.
        Bind::Auto => {
            let shards = shards_of(spec, share, cores) * share.processes;
            shards == cores && cores > 1 && is_beside_backends(spec, share, cores)
        }
    };
    wanted && spec.command == "run"
}
