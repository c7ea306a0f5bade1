//! The time, for the cost of reading the processor's counter.
//!
//! An event is timed at its start and end, and asking the kernel costs as much as the rest of an
//! event that does nothing. So the kernel's clock is read once per millisecond, and in between the
//! processor's counter measures the time since. The counter's rate is calibrated against the
//! kernel's clock again and again: an error of the rate affects one millisecond and never adds up,
//! and a counter that jumps (when a virtual machine moves) is corrected by the next reading.

use std::time::Instant;

/// How long the counter is followed before the kernel's clock is asked again, nanoseconds.
const FOLLOWED_NS: u64 = 1_000_000;
/// The rate is measured over at least this long, nanoseconds. Both readings are good to some 50 ns,
/// so that a millisecond by the counter is right within 5 ns.
const RATED_NS: u64 = 20_000_000;
/// Rates a processor's counter can have, in [`Clock::rate`]'s unit: 10 GHz to 100 MHz.
const RATES: std::ops::RangeInclusive<u64> = (1 << 32) / 10..=10 << 32;
/// If reading both clocks took more ticks than this (most of a microsecond), the thread was
/// interrupted, and the readings don't belong together.
const INTERRUPTED_TICKS: u64 = 2_000;

/// The clocks that a [`Clock`] reads.
pub trait Sources {
    /// The processor's counter; a constant if it can't be used.
    fn ticks(&self) -> u64;
    /// The kernel's monotonic clock, nanoseconds since some origin.
    fn kernel_ns(&self) -> u64;
}

/// The clocks of this machine.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    origin: Instant,
    uses_counter: bool,
}

impl Machine {
    /// Times since `origin`. `uses_counter`: the kernel itself uses the processor's counter, which
    /// it does only if the counter has a constant rate and is the same on all processors.
    /// Elsewhere, and on processors whose counter isn't known here, the kernel's clock is read each
    /// time.
    pub fn new(origin: Instant, uses_counter: bool) -> Self {
        Self { origin, uses_counter: uses_counter && cfg!(target_arch = "x86_64") }
    }

    /// Whether the counter is used.
    pub fn uses_counter(&self) -> bool {
        self.uses_counter
    }
}

impl Sources for Machine {
    #[inline]
    fn ticks(&self) -> u64 {
        if self.uses_counter { counter() } else { 0 }
    }

    fn kernel_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[expect(unsafe_code, reason = "no safe function reads the processor's counter")]
fn counter() -> u64 {
    // SAFETY: every x86-64 has it; a process whose clock is the counter may read it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    0
}

/// Readings of both clocks at one moment.
#[derive(Debug, Clone, Copy)]
struct Moment {
    ticks: u64,
    ns: u64,
}

/// The clock of one thread. It never goes back.
#[derive(Debug)]
pub struct Clock<S: Sources = Machine> {
    sources: S,
    /// The last reading of the kernel's clock.
    last: Moment,
    /// Start of the current rate measurement; `None`: the clocks were never read together.
    rated_from: Option<Moment>,
    /// Nanoseconds a tick, times 2³²; 0: not known yet.
    rate: u64,
    /// Ticks after `last` for which the counter is used.
    followed: u64,
    /// The latest time returned before `last`.
    least_ns: u64,
}

impl<S: Sources> Clock<S> {
    /// A clock on these sources.
    pub fn new(sources: S) -> Self {
        let last = Moment { ticks: 0, ns: 0 };
        Self { sources, last, rated_from: None, rate: 0, followed: 0, least_ns: 0 }
    }

    /// Nanoseconds since the origin of the kernel's clock.
    #[inline]
    pub fn now_ns(&mut self) -> u64 {
        let since = self.sources.ticks().wrapping_sub(self.last.ticks);
        if since < self.followed {
            // At most a millisecond: 20 bits of nanoseconds, few more of ticks, and the rate has
            // about 32.
            return (self.last.ns + ((since * self.rate) >> 32)).max(self.least_ns);
        }
        self.ask()
    }

    #[cold]
    fn ask(&mut self) -> u64 {
        let before = self.sources.ticks();
        let ns = self.sources.kernel_ns();
        let took = self.sources.ticks().wrapping_sub(before);
        // The last time returned lies within what was followed.
        self.least_ns = self.least_ns.max(self.last.ns + ((self.followed * self.rate) >> 32));
        self.last = Moment { ticks: before.wrapping_add(took / 2), ns };
        self.followed = 0;
        if took <= INTERRUPTED_TICKS {
            self.take_rate();
        }
        ns.max(self.least_ns)
    }

    fn take_rate(&mut self) {
        let from = *self.rated_from.get_or_insert(self.last);
        let ns = self.last.ns - from.ns;
        if ns >= RATED_NS {
            let ticks = self.last.ticks.wrapping_sub(from.ticks);
            let rate = (u128::from(ns) << 32).checked_div(u128::from(ticks)).unwrap_or(0);
            self.rate = u64::try_from(rate).ok().filter(|rate| RATES.contains(rate)).unwrap_or(0);
            self.rated_from = Some(self.last);
        }
        self.followed = (FOLLOWED_NS << 32).checked_div(self.rate).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    /// Clocks set by hand.
    #[derive(Debug, Default)]
    struct Set {
        ticks: Cell<u64>,
        ns: Cell<u64>,
        asked: Cell<u64>,
        /// Kernel readings during which the thread does not run for a while, nanoseconds.
        interrupted: Cell<(u64, u64)>,
    }

    impl Set {
        fn pass(&self, ns: u64, ticks_a_us: u64) {
            self.ns.set(self.ns.get() + ns);
            self.ticks.set(self.ticks.get().wrapping_add(ns * ticks_a_us / 1000));
        }
    }

    impl Sources for &Set {
        fn ticks(&self) -> u64 {
            self.ticks.get()
        }

        fn kernel_ns(&self) -> u64 {
            self.asked.set(self.asked.get() + 1);
            let told = self.ns.get();
            let (questions, ns) = self.interrupted.get();
            if self.asked.get() <= questions {
                self.pass(ns, 2_000);
            }
            told
        }
    }

    #[test]
    fn the_kernel_is_asked_once_a_millisecond() {
        let set = Set::default();
        let mut clock = Clock::new(&set);
        for _ in 0..2_000 {
            set.pass(100_000, 2_300);
            assert!(clock.now_ns().abs_diff(set.ns.get()) <= 1);
        }
        // 200 times until the rate is known; then once in ten or eleven.
        assert!((360..=400).contains(&set.asked.get()), "{}", set.asked.get());
    }

    #[test]
    fn the_rate_is_taken_from_questions_that_were_not_interrupted() {
        let set = Set::default();
        set.interrupted.set((7, 3_000_000));
        let mut clock = Clock::new(&set);
        for round in 0..1_000 {
            set.pass(100_000, 2_000);
            let before = set.ns.get();
            let told = clock.now_ns();
            assert!(told + 10 >= before && told <= set.ns.get() + 10, "{told} in round {round}");
        }
        assert!(set.asked.get() < 400, "{} questions", set.asked.get());
    }

    #[test]
    fn a_counter_that_stands_still_is_not_used() {
        let set = Set::default();
        let mut clock = Clock::new(&set);
        for _ in 0..1_000 {
            set.pass(100_000, 0);
            assert_eq!(clock.now_ns(), set.ns.get());
        }
    }

    #[test]
    fn a_counter_that_jumps_is_put_right() {
        for jump in [u64::MAX / 2, 1_000_000_000, 1_000_000, 1_000_000_u64.wrapping_neg()] {
            let set = Set::default();
            let mut clock = Clock::new(&set);
            for round in 0..3_000 {
                set.pass(50_000, 3_000);
                if round == 1_500 {
                    set.ticks.set(set.ticks.get().wrapping_add(jump));
                }
                let error = clock.now_ns().abs_diff(set.ns.get());
                // Never off by more than the followed time; two calibrations later by nothing.
                let most = if (1_500..2_400).contains(&round) { FOLLOWED_NS } else { 10 };
                assert!(error <= most, "{error} ns off in round {round} after {jump}");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads the processor's counter")]
    fn the_machine_s_clocks_agree() {
        for uses_counter in [true, false] {
            let machine = Machine::new(Instant::now(), uses_counter);
            let mut clock = Clock::new(machine);
            let mut last = 0;
            while machine.kernel_ns() < 60_000_000 {
                let before = machine.kernel_ns();
                let told = clock.now_ns();
                let after = machine.kernel_ns();
                // However long the interruption; 5 µs for the counter's error.
                assert!(told + 5_000 >= before && told <= after + 5_000, "{before} {told} {after}");
                assert!(told >= last);
                last = told;
            }
        }
    }

    proptest! {
        /// Whatever the counter does, time goes forward.
        #[test]
        fn it_never_goes_back(
            steps in prop::collection::vec((0u64..40_000_000, 0u64..20_000, any::<u64>()), 1..200),
        ) {
            let set = Set::default();
            let mut clock = Clock::new(&set);
            let mut last = 0;
            for (ns, rate, jump) in steps {
                set.pass(ns, rate);
                if jump % 8 == 0 {
                    set.ticks.set(set.ticks.get().wrapping_add(jump));
                }
                let told = clock.now_ns();
                prop_assert!(told >= last);
                last = told;
            }
        }
    }
}
