//! A plan of arrivals, and the time of its k-th arrival.

use std::f64::consts::TAU;
use std::sync::Arc;

/// Events per second at most: more than any machine can start, and small enough that the number of
/// events in any run fits its type.
const RATE_MAX: f64 = 1e10;

/// When events are due. Rates are events per second, durations seconds, all finite.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// Evenly spaced.
    Constant {
        /// Above 0.
        rate: f64,
    },
    /// Exponential gaps with this mean rate.
    Poisson {
        /// Above 0.
        rate: f64,
    },
    /// The rate changes linearly, then stays.
    Ramp {
        /// At the beginning; 0 or more.
        from: f64,
        /// At the end; 0 or more, not both 0.
        to: f64,
        /// Above 0.
        over: f64,
    },
    /// (duration, rate) pairs; the last rate stays.
    Steps(Vec<(f64, f64)>),
    /// `mean + amplitude × sin(2πt / period)`.
    Sine {
        /// Above 0.
        mean: f64,
        /// At most the mean.
        amplitude: f64,
        /// Above 0.
        period: f64,
    },
    /// Explicit times, nanoseconds, ascending.
    Replay(Arc<[u64]>),
}

/// An invalid plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{field} is {found}; expected {expected}")]
pub struct PlanError {
    /// The field.
    pub field: &'static str,
    /// Its value.
    pub found: f64,
    /// The values allowed.
    pub expected: &'static str,
}

impl Plan {
    /// Checks that all values are in range.
    ///
    /// # Errors
    /// The first value out of range.
    pub fn check(&self) -> Result<(), PlanError> {
        let positive = |field, found: f64| {
            let fine = found.is_finite() && found > 0.0;
            if fine {
                Ok(())
            } else {
                Err(PlanError { field, found, expected: "a number above 0" })
            }
        };
        let rate = |field, found: f64| {
            let fine = (0.0..=RATE_MAX).contains(&found);
            if fine { Ok(()) } else { Err(PlanError { field, found, expected: "0 to 1e10" }) }
        };
        match self {
            Self::Constant { rate: mean } | Self::Poisson { rate: mean } => {
                rate("rate_per_s", *mean)?;
                positive("rate_per_s", *mean)
            }
            Self::Ramp { from, to, over } => {
                rate("from_per_s", *from)?;
                rate("to_per_s", *to)?;
                positive("over_s", *over)?;
                positive("the larger of from_per_s and to_per_s", from.max(*to))
            }
            Self::Steps(steps) => {
                positive("the number of steps", steps.len() as f64)?;
                steps.iter().try_for_each(|(duration, per_s)| {
                    positive("a step's duration", *duration)?;
                    rate("a step's rate", *per_s)
                })
            }
            Self::Sine { mean, amplitude, period } => {
                rate("mean_per_s", *mean)?;
                positive("mean_per_s", *mean)?;
                positive("period_s", *period)?;
                let fine = amplitude.is_finite() && (0.0..=*mean).contains(amplitude);
                let expected = "between 0 and the mean";
                let wrong = PlanError { field: "amplitude_per_s", found: *amplitude, expected };
                if fine { Ok(()) } else { Err(wrong) }
            }
            Self::Replay(times) => match times.windows(2).position(|pair| pair[0] > pair[1]) {
                None => Ok(()),
                Some(index) => Err(PlanError {
                    field: "a time to replay (in seconds)",
                    found: times[index + 1] as f64 / 1e9,
                    expected: "times in ascending order",
                }),
            },
        }
    }

    /// Time of arrival `k` (from 0), nanoseconds; `None`: it never comes. For a Poisson process
    /// this is the mean time; [`crate::Arrivals`] draws the actual ones.
    pub fn time_ns(&self, k: u64) -> Option<u64> {
        let due = k as f64;
        let seconds = match self {
            Self::Constant { rate } | Self::Poisson { rate } => due / rate,
            Self::Ramp { from, to, over } => ramp(due, *from, *to, *over)?,
            Self::Steps(steps) => step(due, steps)?,
            Self::Sine { mean, amplitude, period } => sine(due, *mean, *amplitude, *period),
            Self::Replay(times) => return times.get(usize::try_from(k).ok()?).copied(),
        };
        Some((seconds * 1e9).round() as u64)
    }
}

/// Solves `from·t + (to − from)·t²/(2·over) = due` in a form without cancellation.
fn ramp(due: f64, from: f64, to: f64, over: f64) -> Option<f64> {
    let within = (from + to) / 2.0 * over;
    if due <= within {
        let slope = (to - from) / over;
        let root = (from * from + 2.0 * slope * due).max(0.0).sqrt();
        return Some(if due == 0.0 { 0.0 } else { 2.0 * due / (from + root) });
    }
    (to > 0.0).then(|| over + (due - within) / to)
}

fn step(due: f64, steps: &[(f64, f64)]) -> Option<f64> {
    let (mut elapsed, mut done) = (0.0, 0.0);
    for (index, (duration, rate)) in steps.iter().enumerate() {
        let in_step = rate * duration;
        let last = index + 1 == steps.len();
        if *rate > 0.0 && (due < done + in_step || last) {
            return Some(elapsed + (due - done) / rate);
        }
        elapsed += duration;
        done += in_step;
    }
    None
}

/// Bisects `mean·t + amplitude·period/2π·(1 − cos(2πt/period)) = due`, whose left side never
/// decreases.
fn sine(due: f64, mean: f64, amplitude: f64, period: f64) -> f64 {
    let swing = amplitude * period / TAU;
    let events = |t: f64| mean * t + swing * (1.0 - (TAU * t / period).cos());
    let (mut low, mut high) = (((due - 2.0 * swing) / mean).max(0.0), due / mean);
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if events(middle) < due { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ten_million_arrivals_keep_the_exact_mean_rate() {
        let plan = Plan::Constant { rate: 33_333.3 };
        let last = plan.time_ns(10_000_000).unwrap() as f64 / 1e9;
        assert!((last - 10_000_000.0 / 33_333.3).abs() < 2e-9);
    }

    #[test]
    fn a_ramp_reaches_its_rate_and_keeps_it() {
        let plan = Plan::Ramp { from: 0.0, to: 100.0, over: 10.0 };
        // 500 events in the ramp, then 100 a second.
        assert_eq!(plan.time_ns(500), Some(10_000_000_000));
        assert_eq!(plan.time_ns(600), Some(11_000_000_000));
    }

    #[test]
    fn a_ramp_to_zero_ends() {
        let plan = Plan::Ramp { from: 10.0, to: 0.0, over: 2.0 };
        assert!(plan.time_ns(10).is_some());
        assert_eq!(plan.time_ns(11), None);
    }

    #[test]
    fn a_pause_between_steps_is_a_pause() {
        let plan = Plan::Steps(vec![(1.0, 10.0), (5.0, 0.0), (1.0, 10.0)]);
        assert_eq!(plan.time_ns(9), Some(900_000_000));
        assert_eq!(plan.time_ns(10), Some(6_000_000_000));
    }

    proptest! {
        #[test]
        fn times_never_go_back(
            k in 0u64..1_000_000, from in 0.0f64..1e5, to in 1.0f64..1e5, over in 0.1f64..1e3,
        ) {
            let plans = [
                Plan::Constant { rate: to },
                Plan::Ramp { from, to, over },
                Plan::Steps(vec![(over, from), (over, to)]),
                Plan::Sine { mean: to, amplitude: to * 0.9, period: over },
            ];
            for plan in plans {
                prop_assert!(plan.check().is_ok());
                prop_assert!(plan.time_ns(k) <= plan.time_ns(k + 1), "{plan:?}");
            }
        }

        #[test]
        fn a_sine_has_its_mean_rate_over_whole_periods(mean in 1.0f64..1e4, share in 0.0f64..1.0) {
            let plan = Plan::Sine { mean, amplitude: mean * share, period: 2.0 };
            let k = (mean * 20.0).floor();
            let found = plan.time_ns(k as u64).unwrap() as f64 / 1e9;
            prop_assert!((found - k / mean).abs() <= 2.0 * share / std::f64::consts::PI + 1e-6);
        }
    }
}
