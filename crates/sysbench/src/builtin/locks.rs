//! `threads` and `mutex`: contention for locks.

use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};

use super::client::Client;
use super::figures::Figures;
use crate::value::Values;

type Locks = Arc<Vec<Mutex<u64>>>;

fn locks(values: &Values, name: &str) -> Result<Locks, String> {
    match values.number(name) {
        count @ 1.. => Ok(Arc::new((0..count).map(|_| Mutex::new(0)).collect())),
        other => Err(format!("Invalid value for --{}: {other}", name.replace('_', "-"))),
    }
}

fn take(lock: &Mutex<u64>, inside: impl FnOnce(&mut u64)) {
    inside(&mut lock.lock().unwrap_or_else(PoisonError::into_inner));
}

/// `threads`: repeatedly takes a lock and yields the processor while holding it.
pub(crate) struct Threads {
    locks: Locks,
    yields: u64,
}

impl Threads {
    pub(crate) fn new(values: &Values) -> Result<Self, String> {
        let yields = values.number("thread_yields").max(0) as u64;
        Ok(Self { locks: locks(values, "thread_locks")?, yields })
    }

    pub(crate) fn client(&self, number: u32) -> ThreadsClient {
        let (locks, yields) = (Arc::clone(&self.locks), self.yields);
        ThreadsClient { locks, yields, next: number as usize }
    }
}

pub(crate) struct ThreadsClient {
    locks: Locks,
    yields: u64,
    next: usize,
}

impl Client for ThreadsClient {
    fn event(&mut self) -> Result<bool, String> {
        let first = self.next;
        self.next += 1;
        for round in 0..self.yields as usize {
            let lock = &self.locks[(first + round) % self.locks.len()];
            take(lock, |_| std::thread::yield_now());
        }
        Ok(true)
    }
}

impl Figures for Threads {
    fn subject(&self) -> String {
        let (yields, locks) = (self.yields, self.locks.len());
        format!(
            "Doing thread subsystem performance test\n\
             Thread yields per test: {yields} Locks used: {locks}\n"
        )
    }
}

/// `mutex`: takes a random lock after some empty loops; a client runs just one event.
pub(crate) struct Mutexes {
    locks: Locks,
    times: u64,
    loops: u64,
}

impl Mutexes {
    pub(crate) fn new(values: &Values) -> Result<Self, String> {
        Ok(Self {
            locks: locks(values, "mutex_num")?,
            times: values.number("mutex_locks").max(0) as u64,
            loops: values.number("mutex_loops").max(0) as u64,
        })
    }

    pub(crate) fn client(&self, number: u32) -> MutexClient {
        let state = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
        MutexClient { locks: Arc::clone(&self.locks), times: self.times, loops: self.loops, state }
    }
}

pub(crate) struct MutexClient {
    locks: Locks,
    times: u64,
    loops: u64,
    state: u64,
}

impl Client for MutexClient {
    fn event(&mut self) -> Result<bool, String> {
        for _ in 0..self.times {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            let index = (self.state % self.locks.len() as u64) as usize;
            for step in 0..self.loops {
                black_box(step);
            }
            take(&self.locks[index], |held| *held = held.wrapping_add(1));
        }
        Ok(false)
    }
}

impl Figures for Mutexes {
    fn subject(&self) -> String {
        "Doing mutex performance test\n".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    #[test]
    fn a_mutex_client_takes_its_locks_and_is_done() {
        let numbers = [("mutex_num", 4), ("mutex_locks", 100), ("mutex_loops", 1)];
        let values = Values(numbers.map(|(name, n)| (name.to_owned(), Value::Int(n))).into());
        let test = Mutexes::new(&values).unwrap();
        assert_eq!(test.client(0).event(), Ok(false));
        let taken: u64 = test.locks.iter().map(|lock| *lock.lock().unwrap()).sum();
        assert_eq!(taken, 100);
    }
}
