//! Orders to a running engine, one per line of standard input.

use std::fmt;
use std::str::FromStr;

/// One line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Order {
    /// `begin UNIX_NS`: the load begins then (`wait_for_begin`).
    Begin {
        /// Wall clock, nanoseconds since 1970.
        at_unix_ns: u64,
    },
    /// `turn UNIX_NS LEAD_IN_S MEASURE_S`: one more turn. If its start time is past or too near, it
    /// begins as soon as all shards can know of it; the turn's record has the actual time.
    Turn(TurnOrder),
    /// `end`: no more turns; the summary follows. The end of standard input means the same.
    End,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begin { at_unix_ns } => write!(f, "begin {at_unix_ns}"),
            Self::Turn(TurnOrder { at_unix_ns, lead_in_s, measure_s }) => {
                write!(f, "turn {at_unix_ns} {lead_in_s} {measure_s}")
            }
            Self::End => f.write_str("end"),
        }
    }
}

/// When a turn begins, and how long it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TurnOrder {
    /// Wall clock, nanoseconds since 1970.
    pub at_unix_ns: u64,
    /// Load that is discarded, seconds, 0 or more.
    pub lead_in_s: f64,
    /// Load that is measured, seconds, above 0.
    pub measure_s: f64,
}

/// A line that is not an order.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "standard input says `{0}`; expected `begin UNIX_NS`, `turn UNIX_NS LEAD_IN_S MEASURE_S` or \
     `end`, with times in nanoseconds since 1970 and a measured length above 0 seconds"
)]
pub struct OrderError(pub String);

impl FromStr for Order {
    type Err = OrderError;

    fn from_str(line: &str) -> Result<Self, OrderError> {
        let words: Vec<_> = line.split_whitespace().collect();
        let order = match words[..] {
            ["begin", at] => at.parse().ok().map(|at_unix_ns| Self::Begin { at_unix_ns }),
            ["turn", at, lead_in, measure] => turn(at, lead_in, measure).map(Self::Turn),
            ["end"] => Some(Self::End),
            _ => None,
        };
        order.ok_or_else(|| OrderError(line.trim().to_owned()))
    }
}

fn turn(at: &str, lead_in: &str, measure: &str) -> Option<TurnOrder> {
    let seconds = |text: &str| -> Option<f64> {
        text.parse().ok().filter(|seconds| (0.0..=1e9).contains(seconds))
    };
    let (lead_in_s, measure_s) = (seconds(lead_in)?, seconds(measure)?);
    // An empty window would report figures that measure nothing.
    let at_unix_ns = at.parse().ok()?;
    (measure_s >= 1e-9).then_some(TurnOrder { at_unix_ns, lead_in_s, measure_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_and_anything_else_is_told_what_was_expected() {
        assert_eq!("begin 17".parse(), Ok(Order::Begin { at_unix_ns: 17 }));
        assert_eq!(" end ".parse(), Ok(Order::End));
        let turn = TurnOrder { at_unix_ns: 5, lead_in_s: 0.0, measure_s: 2.5 };
        assert_eq!("turn 5 0 2.5".parse(), Ok(Order::Turn(turn)));
        for line in ["begin 17", "turn 5 0 2.5", "end"] {
            assert_eq!(line.parse::<Order>().unwrap().to_string(), line);
        }
        for wrong in [
            "",
            "turn",
            "turn 5 0",
            "turn 5 0 0",
            "turn 5 -1 1",
            "turn x 0 1",
            "stop",
            "turn 5 0 nan",
            "turn 5 0 1 2",
            "begin -1",
        ] {
            let said = wrong.parse::<Order>().map_err(|error| error.to_string());
            assert!(said.is_err_and(|text| text.contains("LEAD_IN_S")), "{wrong}");
        }
    }
}
