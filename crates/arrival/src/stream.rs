//! The arrivals of one part of a plan, in order.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::plan::Plan;

/// How many arrivals of a Poisson process are drawn one by one to count those due.
const WALKED_MAX: u32 = 100_000;
/// Above that, arrivals are put into this many groups: a percentile is right to 10⁻⁴.
const GROUPS_MAX: u64 = 10_000;

/// A part's arrivals; determined by plan, seed, part and number of parts.
#[derive(Debug, Clone)]
pub struct Arrivals {
    plan: Plan,
    parts: u64,
    index: u64,
    next: Option<u64>,
    random: Xoshiro256PlusPlus,
}

impl Arrivals {
    /// Part `part` (from 0) of `parts`.
    ///
    /// # Panics
    /// If `part` is not below `parts`.
    pub fn new(plan: Plan, seed: u64, part: u32, parts: u32) -> Self {
        assert!(part < parts, "part {part} of {parts}");
        // The golden ratio keeps neighbouring parts' seeds far apart.
        let seed = seed ^ u64::from(part + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut arrivals = Self {
            plan,
            parts: u64::from(parts),
            index: u64::from(part),
            next: None,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        };
        arrivals.next = match arrivals.plan {
            Plan::Poisson { .. } => Some(arrivals.gap_ns()),
            _ => arrivals.plan.time_ns(arrivals.index),
        };
        arrivals
    }

    /// The next intended start, nanoseconds from the plan's start; `None`: there is none.
    #[inline]
    pub fn peek(&self) -> Option<u64> {
        self.next
    }

    /// Advances to the next arrival.
    pub fn advance(&mut self) {
        self.index += self.parts;
        self.next = match self.plan {
            Plan::Poisson { .. } => self.next.map(|last| last + self.gap_ns()),
            _ => self.plan.time_ns(self.index),
        };
    }

    /// How many arrivals of this part are due by `now` and not yet taken. Takes milliseconds at
    /// most, whatever the number: a Poisson process is drawn up to a hundred thousand arrivals, the
    /// rest is estimated from its mean rate.
    pub fn due_by(&self, now_ns: u64) -> u64 {
        let mut count = 0;
        self.due(now_ns, &mut |_, more| count += more);
        count
    }

    /// The same arrivals with their times, ascending: (nanoseconds, count). If they are many,
    /// neighbours share the time of the first.
    pub fn due(&self, now_ns: u64, each: &mut dyn FnMut(u64, u64)) {
        match self.plan {
            Plan::Poisson { rate } => self.walk(now_ns, rate / self.parts as f64, each),
            _ => self.look_up(now_ns, each),
        }
    }

    fn walk(&self, now_ns: u64, rate: f64, each: &mut dyn FnMut(u64, u64)) {
        let mut ahead = self.clone();
        for _ in 0..WALKED_MAX {
            let Some(next) = ahead.next.filter(|next| *next <= now_ns) else { return };
            each(next, 1);
            ahead.advance();
        }
        let Some(next) = ahead.next.filter(|next| *next <= now_ns) else { return };
        let length_s = (now_ns - next) as f64 / 1e9;
        let count = 1 + (length_s * rate) as u64;
        groups(count, &mut |first, size| each(next + (first as f64 / rate * 1e9) as u64, size));
    }

    /// Bisects for the first arrival that is not due: times never decrease.
    fn look_up(&self, now_ns: u64, each: &mut dyn FnMut(u64, u64)) {
        let time = |place: u64| {
            let index = self.parts.checked_mul(place)?.checked_add(self.index)?;
            self.plan.time_ns(index)
        };
        let is_due = |place: u64| time(place).is_some_and(|at| at <= now_ns);
        let mut beyond = 1;
        while is_due(beyond - 1) && beyond < u64::MAX / 2 {
            beyond *= 2;
        }
        let mut due = 0;
        while due < beyond {
            let middle = due + (beyond - due) / 2;
            if is_due(middle) { due = middle + 1 } else { beyond = middle }
        }
        groups(due, &mut |first, size| {
            if let Some(at) = time(first) {
                each(at, size);
            }
        });
    }

    /// An exponential gap by inversion; 53 random bits, never zero.
    fn gap_ns(&mut self) -> u64 {
        let Plan::Poisson { rate } = self.plan else { return 0 };
        let uniform = ((self.random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        (-uniform.ln() * self.parts as f64 / rate * 1e9).round() as u64
    }
}

/// Splits this many consecutive numbers, from 0, into groups: (first, count).
fn groups(count: u64, each: &mut dyn FnMut(u64, u64)) {
    let size = count.div_ceil(GROUPS_MAX).max(1);
    let mut first = 0;
    while first < count {
        let taken = size.min(count - first);
        each(first, taken);
        first += taken;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(arrivals: &mut Arrivals, count: usize) -> Vec<u64> {
        (0..count)
            .map(|_| {
                let next = arrivals.peek().unwrap();
                arrivals.advance();
                next
            })
            .collect()
    }

    #[test]
    fn the_parts_of_a_plan_add_up_to_the_whole() {
        let plan = Plan::Ramp { from: 10.0, to: 1000.0, over: 3.0 };
        let mut parts: Vec<_> = (0..3)
            .flat_map(|part| times(&mut Arrivals::new(plan.clone(), 1, part, 3), 100))
            .collect();
        parts.sort_unstable();
        assert_eq!(parts, times(&mut Arrivals::new(plan, 1, 0, 1), 300));
    }

    #[test]
    #[cfg_attr(miri, ignore = "statistics of 200,000 draws")]
    fn a_poisson_process_has_its_mean_rate_and_spread() {
        let mut arrivals = Arrivals::new(Plan::Poisson { rate: 1000.0 }, 42, 0, 1);
        let times = times(&mut arrivals, 200_000);
        let gaps: Vec<_> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.01, "mean gap {mean} ns");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "exponential: deviation equals mean");
    }

    #[test]
    fn the_same_seed_gives_the_same_times_and_another_seed_others() {
        let draw = |seed| times(&mut Arrivals::new(Plan::Poisson { rate: 5.0 }, seed, 0, 2), 50);
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn the_backlog_counts_what_is_due() {
        let arrivals = Arrivals::new(Plan::Constant { rate: 10.0 }, 0, 0, 1);
        assert_eq!(arrivals.due_by(1_000_000_000), 11);
    }

    #[test]
    #[cfg_attr(miri, ignore = "a million draws")]
    fn a_backlog_beyond_all_measure_is_counted_at_once() {
        for plan in [Plan::Constant { rate: 2e9 }, Plan::Poisson { rate: 2e9 }] {
            let arrivals = Arrivals::new(plan, 0, 0, 2);
            let mut last = 0;
            let mut count = 0;
            arrivals.due(3_000_000_000, &mut |at, more| {
                assert!(last <= at && at <= 3_000_000_000);
                (last, count) = (at, count + more);
            });
            assert!((count as f64 / 3e9 - 1.0).abs() < 1e-3, "{count} of 3e9");
        }
    }

    #[test]
    fn what_is_due_is_what_taking_it_would_find() {
        for plan in [
            Plan::Constant { rate: 997.0 },
            Plan::Poisson { rate: 997.0 },
            Plan::Ramp { from: 1000.0, to: 0.0, over: 0.5 },
            Plan::Steps(vec![(0.2, 100.0), (0.3, 0.0), (1.0, 500.0)]),
            Plan::Sine { mean: 500.0, amplitude: 500.0, period: 0.3 },
            Plan::Replay(vec![0, 5, 5, 900_000_000, 2_000_000_000].into()),
        ] {
            let mut arrivals = Arrivals::new(plan.clone(), 3, 1, 2);
            arrivals.advance();
            let mut found = Vec::new();
            arrivals.due(1_000_000_000, &mut |at, count| found.push((at, count)));
            let mut taken = Vec::new();
            while let Some(at) = arrivals.peek().filter(|at| *at <= 1_000_000_000) {
                taken.push((at, 1));
                arrivals.advance();
            }
            assert_eq!(found, taken, "{plan:?}");
        }
    }
}
