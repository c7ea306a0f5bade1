//! What one of several processes carries out of a run.

use record::RunSpec;

/// What one process carries out of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    pub(crate) processes: u32,
    /// Of all processes.
    pub(crate) clients: u32,
    /// Of this process; of a whole run those of the first, which has most.
    pub(crate) own: u32,
}

impl Share {
    pub(crate) fn of(spec: &RunSpec) -> Self {
        let own = spec.clients();
        spec.part.map_or(Self { processes: 1, clients: own, own }, |part| Self {
            processes: part.count,
            clients: part.clients,
            own,
        })
    }

    /// The first of so many processes that share a run's clients.
    pub(crate) fn first_of(processes: u32, clients: u32) -> Self {
        Self { processes, clients, own: clients.div_ceil(processes) }
    }

    /// Clients of the process that has fewest: all processes go by them.
    pub(crate) fn least(self) -> u32 {
        (self.clients / self.processes).clamp(1, self.own)
    }
}
