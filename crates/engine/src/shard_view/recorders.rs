//! A shard's recorders: one is being filled, the others are with the coordinator.

use std::sync::mpsc::Receiver;

use measure::Recorder;

/// Most recorders of a shard where there are few shards. The coordinator returns a recorder as soon
/// as it has merged it, so a shard needs two or three. It needs more while the coordinator is late,
/// because the processors are busy or the reader of the records has stopped; without a limit, every
/// interval would then take more memory.
const RECORDERS_MAX: u32 = 64;
/// Most recorders of all shards, unless that is less than `RECORDERS_MIN` for each.
const RECORDERS_OF_ALL: u32 = 2_048;
/// Fewest that a shard may have.
const RECORDERS_MIN: u32 = 3;

#[derive(Debug)]
pub(super) struct Recorders {
    returned: Receiver<Box<Recorder>>,
    made: u32,
    most: u32,
    labels: usize,
}

/// An empty recorder.
pub(super) struct Fresh {
    pub(super) recorder: Box<Recorder>,
    /// The shard had to wait for it.
    pub(super) waited: bool,
}

impl Recorders {
    /// `labels`: the number of event labels known from the start. `shards`: of the process.
    /// `returned`: where recorders come back empty.
    pub(super) fn new(labels: usize, shards: u32, returned: Receiver<Box<Recorder>>) -> Self {
        let most = (RECORDERS_OF_ALL / shards).clamp(RECORDERS_MIN, RECORDERS_MAX);
        Self { returned, made: 0, most, labels }
    }

    /// Intervals that may be with the coordinator.
    pub(super) fn ahead(&self) -> u32 {
        self.most - 1
    }

    /// A new one.
    pub(super) fn make(&mut self) -> Box<Recorder> {
        self.made += 1;
        Box::new(Recorder::new(self.labels))
    }

    /// One that came back, or a new one; waits for one if there are as many as there may be.
    pub(super) fn fresh(&mut self) -> Fresh {
        if let Ok(recorder) = self.returned.try_recv() {
            return Fresh { recorder, waited: false };
        }
        if self.made < self.most {
            return Fresh { recorder: self.make(), waited: false };
        }
        // A coordinator that has exited returns none.
        let recorder = self.returned.recv().unwrap_or_else(|_| self.make());
        Fresh { recorder, waited: true }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_shard_waits_for_a_recorder_only_when_it_has_as_many_as_there_may_be() {
        let (back, returned) = channel();
        let mut recorders = Recorders::new(1, 1_000, returned);
        let mut sent = vec![recorders.make()];
        while (sent.len() as u32) < RECORDERS_MIN {
            let fresh = recorders.fresh();
            assert!(!fresh.waited);
            sent.push(fresh.recorder);
        }
        let coordinator = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(10));
            sent.into_iter().for_each(|recorder| back.send(recorder).unwrap());
        });
        assert!(recorders.fresh().waited);
        coordinator.join().unwrap();
        assert!(!recorders.fresh().waited, "others are back too");
        assert!(!recorders.fresh().waited);
        assert!(recorders.fresh().waited, "a coordinator that has exited returns none");
    }

    #[test]
    fn few_shards_may_be_far_ahead_and_many_not() {
        let ahead = |shards| Recorders::new(1, shards, channel().1).ahead();
        assert_eq!([1, 2, 64, 1_000, 20_000].map(ahead), [63, 63, 31, 2, 2]);
    }
}
