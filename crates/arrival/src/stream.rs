//! The arrivals of one part of a plan, one after the other.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::plan::Plan;

/// A part's arrivals; the same for the same plan, seed, part and number of parts.
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

    /// The next intended start, nanoseconds from the plan's beginning; `None`: there is none.
    #[inline]
    pub fn peek(&self) -> Option<u64> {
        self.next
    }

    /// Goes on to the one after.
    pub fn advance(&mut self) {
        self.index += self.parts;
        self.next = match self.plan {
            Plan::Poisson { .. } => self.next.map(|last| last + self.gap_ns()),
            _ => self.plan.time_ns(self.index),
        };
    }

    /// How many arrivals of this part are due by `now` and not taken yet. Walks them: call it once
    /// an interval.
    pub fn due_by(&self, now_ns: u64) -> u64 {
        let mut ahead = self.clone();
        let mut count = 0;
        while ahead.next.is_some_and(|next| next <= now_ns) {
            count += 1;
            ahead.advance();
        }
        count
    }

    /// An exponential gap by inversion; 53 random bits, never zero.
    fn gap_ns(&mut self) -> u64 {
        let Plan::Poisson { rate } = self.plan else { return 0 };
        let uniform = ((self.random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        (-uniform.ln() * self.parts as f64 / rate * 1e9).round() as u64
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
}
