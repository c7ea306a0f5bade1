//! The error policy: what happens to an event whose statement failed.

use record::{BackOff, ErrorAction, ErrorPolicy, ErrorRule};

/// Longest pause between reconnect attempts: a quarter of the usual interval, so that an outage
/// seems longer than it was by less than an interval.
const LONGEST_BACK_OFF_MS: u64 = 250;

/// An error as the policy matches it.
#[derive(Debug, Clone)]
pub(crate) struct Fault<'a> {
    pub(crate) sqlstate: &'a str,
    pub(crate) number: i64,
    pub(crate) transient: bool,
    /// The connection is lost.
    pub(crate) lost: bool,
}

impl Fault<'_> {
    /// By the code that a rule could name.
    pub(crate) fn name(&self) -> String {
        match (self.lost, self.number) {
            (true, _) => "connection lost".to_owned(),
            (false, 0) => format!("SQLSTATE {}", self.sqlstate),
            (false, number) => format!("number {number}"),
        }
    }
}

/// What to do, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// What to do.
    pub action: ErrorAction,
    /// Retries at most.
    pub limit: u32,
}

/// The first rule that matches, otherwise the default: a lost connection is reconnected, an error
/// that the driver calls transient restarts the event, any other stops the run.
pub(crate) fn decide(policy: &ErrorPolicy, fault: &Fault<'_>) -> Decision {
    let rule = policy.rules.iter().find(|rule| rule.codes.iter().any(|code| matches(code, fault)));
    match rule {
        Some(ErrorRule { action, limit, .. }) => {
            // Without a connection the event can't go on.
            let hopeless = fault.lost && matches!(action, ErrorAction::Ignore);
            let action = if hopeless { ErrorAction::Reconnect } else { *action };
            Decision { action, limit: *limit }
        }
        None if fault.lost => Decision { action: ErrorAction::Reconnect, limit: u32::MAX },
        None if fault.transient => Decision { action: ErrorAction::RestartEvent, limit: u32::MAX },
        None => Decision { action: ErrorAction::Stop, limit: 0 },
    }
}

fn matches(code: &str, fault: &Fault<'_>) -> bool {
    match code {
        "all" => true,
        "connection" => fault.lost,
        // Two digits may be a class, or a number of SQLite's.
        code => {
            code == fault.sqlstate
                || code.len() == 2 && fault.sqlstate.starts_with(code)
                || fault.number != 0 && code.parse() == Ok(fault.number)
        }
    }
}

/// Pauses between attempts to reconnect.
pub(crate) fn back_off(policy: &ErrorPolicy) -> BackOff {
    BackOff {
        first_ms: policy.back_off_ms.clamp(1, LONGEST_BACK_OFF_MS),
        longest_ms: LONGEST_BACK_OFF_MS,
        give_up_s: policy.reconnect_s,
    }
}

/// The pause before attempt `number` (from 1), nanoseconds, without jitter.
pub(crate) fn pause_ns(back_off: BackOff, number: u32) -> u64 {
    back_off_ns(back_off.first_ms * 1_000_000, number, back_off.longest_ms * 1_000_000)
}

/// The pause before attempt `number` (from 1): starts at `first_ns`, doubles, at most `most_ns`.
pub(crate) fn back_off_ns(first_ns: u64, number: u32, most_ns: u64) -> u64 {
    first_ns.saturating_mul(1 << number.saturating_sub(1).min(20)).min(most_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_from_the_first_to_the_longest() {
        let pauses: Vec<_> = (1..=6).map(|number| back_off_ns(10, number, 250)).collect();
        assert_eq!(pauses, [10, 20, 40, 80, 160, 250]);
        assert_eq!(back_off_ns(u64::MAX, u32::MAX, 250), 250);
    }

    #[test]
    fn a_connection_s_first_pause_is_the_one_set_and_the_longest_a_quarter_of_a_second() {
        let pauses_ms = |back_off_ms| {
            let policy = ErrorPolicy { back_off_ms, ..ErrorPolicy::default() };
            let pause_ms = |number| pause_ns(back_off(&policy), number) / 1_000_000;
            [1, 2, 3, 9].map(pause_ms)
        };
        assert_eq!(pauses_ms(ErrorPolicy::default().back_off_ms), [10, 20, 40, 250]);
        assert_eq!(pauses_ms(0), [1, 2, 4, 250]);
        assert_eq!(pauses_ms(1_000), [250; 4]);
        assert_eq!(pauses_ms(u64::MAX), [250; 4]);
    }

    fn check(rules: &[(&str, ErrorAction)], fault: Fault<'_>, expected: ErrorAction) {
        let rules = rules
            .iter()
            .map(|(code, action)| ErrorRule {
                codes: vec![(*code).to_owned()],
                action: *action,
                limit: 3,
            })
            .collect();
        let policy = ErrorPolicy { rules, ..ErrorPolicy::default() };
        assert_eq!(decide(&policy, &fault).action, expected);
    }

    const DEADLOCK: Fault<'static> =
        Fault { sqlstate: "40P01", number: 0, transient: true, lost: false };
    const SYNTAX: Fault<'static> =
        Fault { sqlstate: "42601", number: 1064, transient: false, lost: false };
    const CONSTRAINT: Fault<'static> =
        Fault { sqlstate: "23000", number: 19, transient: false, lost: false };
    const LOST: Fault<'static> =
        Fault { sqlstate: "08006", number: 0, transient: false, lost: true };

    #[test]
    fn without_rules_the_drivers_opinion_counts() {
        check(&[], DEADLOCK, ErrorAction::RestartEvent);
        check(&[], SYNTAX, ErrorAction::Stop);
        check(&[], LOST, ErrorAction::Reconnect);
    }

    #[test]
    fn rules_match_states_classes_numbers_and_all() {
        check(&[("40P01", ErrorAction::Retry)], DEADLOCK, ErrorAction::Retry);
        check(&[("40", ErrorAction::Ignore)], DEADLOCK, ErrorAction::Ignore);
        check(&[("1064", ErrorAction::Ignore)], SYNTAX, ErrorAction::Ignore);
        check(&[("19", ErrorAction::Ignore)], CONSTRAINT, ErrorAction::Ignore);
        check(&[("23", ErrorAction::Ignore)], CONSTRAINT, ErrorAction::Ignore);
        check(&[("all", ErrorAction::RestartEvent)], SYNTAX, ErrorAction::RestartEvent);
        check(&[("connection", ErrorAction::Stop)], LOST, ErrorAction::Stop);
        check(&[("connection", ErrorAction::Ignore)], SYNTAX, ErrorAction::Stop);
    }

    #[test]
    fn a_lost_connection_can_not_be_ignored() {
        check(&[("all", ErrorAction::Ignore)], LOST, ErrorAction::Reconnect);
    }
}
