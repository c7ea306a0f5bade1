//! Ends of intervals and phases. Pure, so that every shard computes the same ones.

use record::PhaseName;

/// The phases of a run on its clock, nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeline {
    pub(crate) begin: u64,
    pub(crate) warm_up: u64,
    pub(crate) measure: Option<u64>,
    pub(crate) interval: u64,
}

/// A stretch of time reported as one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) phase: PhaseName,
    pub(crate) start: u64,
    /// `u64::MAX`: open.
    pub(crate) end: u64,
}

impl Timeline {
    pub(crate) fn measure_start(&self) -> u64 {
        self.begin.saturating_add(self.warm_up)
    }

    pub(crate) fn measure_end(&self) -> u64 {
        self.measure.map_or(u64::MAX, |length| self.measure_start().saturating_add(length))
    }

    /// The slice that starts at `start`: the load's start or another slice's end.
    pub(crate) fn slice_at(&self, start: u64) -> Slice {
        let (measure_start, measure_end) = (self.measure_start(), self.measure_end());
        let next = start.saturating_add(self.interval);
        if start < measure_start {
            Slice { phase: PhaseName::WarmUp, start, end: next.min(measure_start) }
        } else if start < measure_end {
            Slice { phase: PhaseName::Measure, start, end: next.min(measure_end) }
        } else {
            Slice { phase: PhaseName::Drain, start, end: u64::MAX }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_fill_each_phase_and_never_span_two() {
        let timeline = Timeline { begin: 100, warm_up: 25, measure: Some(30), interval: 10 };
        let mut start = 100;
        let mut slices = Vec::new();
        while start < u64::MAX {
            let slice = timeline.slice_at(start);
            slices.push((slice.phase, slice.start, slice.end));
            start = slice.end;
        }
        use PhaseName::{Drain, Measure, WarmUp};
        assert_eq!(
            slices,
            [
                (WarmUp, 100, 110),
                (WarmUp, 110, 120),
                (WarmUp, 120, 125),
                (Measure, 125, 135),
                (Measure, 135, 145),
                (Measure, 145, 155),
                (Drain, 155, u64::MAX),
            ]
        );
    }
}
