//! How long one send takes where a single system call sends on several sockets.

/// One in this many calls is measured.
const MEASURED_EVERY: u32 = 64;

/// A moving average of measured calls.
#[derive(Debug, Default)]
pub(crate) struct SendTime {
    ns: u64,
    calls_left: u32,
}

impl SendTime {
    /// The average, nanoseconds; 0: nothing was measured yet.
    #[inline]
    pub(crate) fn ns(&self) -> u64 {
        self.ns
    }

    /// Whether the next call is to be measured.
    #[inline]
    pub(crate) fn is_due(&mut self) -> bool {
        let due = self.calls_left == 0;
        self.calls_left = if due { MEASURED_EVERY } else { self.calls_left } - 1;
        due
    }

    /// Measures a call that sends `sends` times. It takes this thread's processor time: a process
    /// woken by a send may run in its place before the call returns.
    pub(crate) fn measure(&mut self, sends: u64, call: impl FnOnce()) {
        let begin_ns = thread_ns();
        call();
        self.add(thread_ns().saturating_sub(begin_ns) / sends);
    }

    /// An interrupt or a page fault within a call counts for twice the average at most: stamps
    /// must not lie behind the replies.
    fn add(&mut self, share_ns: u64) {
        let first = self.ns == 0;
        self.ns = if first { share_ns } else { (3 * self.ns + share_ns.min(2 * self.ns)) / 4 };
    }
}

/// Processor time of this thread.
fn thread_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: plain system call that fills `time`, which stays zero should it fail.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_call_is_measured_and_then_one_in_many() {
        let mut time = SendTime::default();
        let due = (0..=MEASURED_EVERY).filter(|_| time.is_due()).count();
        assert_eq!(due, 2);
    }

    #[test]
    fn one_slow_call_moves_the_average_by_a_quarter_at_most() {
        let mut time = SendTime::default();
        time.add(2000);
        time.add(1_000_000);
        assert_eq!(time.ns(), 2500);
        time.add(500);
        assert_eq!(time.ns(), 2000);
    }
}
