//! Which processor each shard stays on, where shards are bound.
//!
//! The thread of a shard is bound once it has made its workload. Its connectors exist by then, so
//! they keep all processors: a handshake that computes would otherwise hold up the shard's clients.
//! Loaders are made later and only outside of `run`, where no shard is bound.

use record::RunSpec;

/// Processors for the shards of this process.
pub struct Binding {
    processors: Vec<usize>,
    /// The run's number of this process's first shard.
    first: usize,
    /// Shards of all processes.
    total: usize,
}

impl Binding {
    /// For so many shards in each of a run's processes; `None`: the kernel places them.
    pub fn of(spec: &RunSpec, shards: u32) -> Option<Self> {
        let (index, count) = spec.part.map_or((0, 1), |part| (part.index, part.count));
        runtime::shards_bound(spec, runtime::cores()).then(|| Self {
            processors: allowed(),
            first: index as usize * shards as usize,
            total: count as usize * shards as usize,
        })
    }

    /// Has the calling thread, which is this shard's, stay on the shard's processor. `false`: the
    /// kernel refused.
    pub fn bind(&self, shard: u32) -> bool {
        let place = place(&self.processors, self.first + shard as usize, self.total);
        place.is_some_and(|processor| set(&[processor]))
    }
}

/// The processor of the `n`th of `total` shards: spread evenly while there are fewer shards than
/// processors, in turn after that.
fn place(processors: &[usize], n: usize, total: usize) -> Option<usize> {
    let count = processors.len();
    let position = if total < count { n * count / total } else { n % count.max(1) };
    processors.get(position).copied()
}

/// Processors that the calling thread may use; none if the kernel has more than the type holds.
pub fn allowed() -> Vec<usize> {
    // SAFETY: the set is plain data, filled by the call; 0 is the calling thread.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        set
    };
    // SAFETY: every number is below the set's size.
    (0..libc::CPU_SETSIZE as usize).filter(|n| unsafe { libc::CPU_ISSET(*n, &set) }).collect()
}

/// Has the calling thread stay on these processors. `false`: the kernel refused.
pub fn set(processors: &[usize]) -> bool {
    // SAFETY: the set is plain data, the numbers came out of such a set, and 0 is the calling
    // thread.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        processors.iter().for_each(|processor| libc::CPU_SET(*processor, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_spread_over_the_processors_and_then_dealt_out_in_turn() {
        let places = |processors: &[usize], total| -> Vec<_> {
            (0..total).map(|n| place(processors, n, total).unwrap()).collect()
        };
        assert_eq!(places(&[0, 1, 2, 3], 1), [0]);
        assert_eq!(places(&[0, 1, 2, 3], 2), [0, 2]);
        assert_eq!(places(&[1, 3, 5, 7], 4), [1, 3, 5, 7]);
        assert_eq!(places(&[0, 1, 2, 3, 4, 5, 6, 7], 3), [0, 2, 5]);
        assert_eq!(places(&[4, 6], 5), [4, 6, 4, 6, 4]);
        assert_eq!(place(&[], 0, 1), None);
    }

    #[test]
    fn only_the_thread_that_asks_is_bound() {
        let all = allowed();
        let last = *all.last().unwrap();
        let binding = Binding { processors: all.clone(), first: all.len() - 1, total: all.len() };
        let bound = std::thread::spawn(move || (binding.bind(0), allowed())).join().unwrap();
        assert_eq!(bound, (true, vec![last]));
        assert_eq!(allowed(), all);
    }
}
