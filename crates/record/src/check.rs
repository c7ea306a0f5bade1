//! Checks ranges of a run spec that its types can't express.

use crate::spec::{Part, RunSpec};

/// Clients of a run at most.
pub const CLIENTS_MAX: u32 = 1_000_000;
/// The shortest reporting interval, seconds.
const INTERVAL_MIN_S: f64 = 0.001;
/// Longer than any run: 31 years.
const SECONDS_MAX: f64 = 1e9;

/// Why a spec is invalid.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// Not JSON, or not of this structure.
    #[error("the run spec is not valid: {0}")]
    Json(#[from] serde_json::Error),
    /// Another schema version.
    #[error("the run spec has schema {found}; this engine reads schema {}", crate::SCHEMA)]
    Schema {
        /// The version found.
        found: u32,
    },
    /// A value outside its range.
    #[error("`{field}` is {found}; expected {expected}")]
    Range {
        /// Path of the field.
        field: &'static str,
        /// The value found.
        found: String,
        /// The values allowed.
        expected: &'static str,
    },
}

impl RunSpec {
    /// Parses and checks a spec.
    ///
    /// # Errors
    /// [`SpecError`] names the field, what was found and what was expected.
    pub fn from_json(text: &str) -> Result<Self, SpecError> {
        let spec: Self = serde_json::from_str(text)?;
        spec.check()?;
        Ok(spec)
    }

    /// Checks ranges that the types can't express.
    ///
    /// # Errors
    /// The first [`SpecError`] found.
    pub fn check(&self) -> Result<(), SpecError> {
        if self.schema != crate::SCHEMA {
            return Err(SpecError::Schema { found: self.schema });
        }
        let seconds = [
            ("warm_up_s", self.warm_up_s),
            ("drain_s", self.drain_s.unwrap_or(0.0)),
            ("measure_s", self.measure_s.unwrap_or(1.0)),
            ("connect_timeout_s", self.connect_timeout_s),
            ("errors.reconnect_s", self.errors.reconnect_s),
        ];
        for (field, value) in seconds {
            if !(0.0..=SECONDS_MAX).contains(&value) {
                return Err(range(field, value, "seconds from 0 to 1e9"));
            }
        }
        for (field, value) in &seconds[2..4] {
            if *value <= 0.0 {
                return Err(range(field, value, "seconds above 0"));
            }
        }
        if !(INTERVAL_MIN_S..=3600.0).contains(&self.interval_s) {
            return Err(range("interval_s", self.interval_s, "seconds from 0.001 to 3600"));
        }
        self.check_groups()?;
        if let Some(Part { index, count, clients }) = self.part
            && (index >= count || clients < self.clients())
        {
            let found = format!("index {index} of {count}, {clients} clients in all");
            let expected = "an index below the count, and no fewer clients than here";
            return Err(range("part", found, expected));
        }
        if self.turns {
            self.check_turns()?;
        }
        if self.shards == Some(0) {
            return Err(range("shards", 0, "1 or more"));
        }
        match self.target.server() {
            Some(server) if server.endpoints.is_empty() => {
                Err(range("target.endpoints", "empty", "at least one endpoint"))
            }
            _ => Ok(()),
        }
    }

    fn check_groups(&self) -> Result<(), SpecError> {
        if self.groups.is_empty() {
            return Err(range("groups", "empty", "at least one group of clients"));
        }
        for (index, group) in self.groups.iter().enumerate() {
            if group.clients == 0 {
                return Err(range("groups[].clients", 0, "1 or more"));
            }
            if !(0.0..=SECONDS_MAX).contains(&group.think_time_s) {
                let expected = "seconds from 0 to 1e9";
                return Err(range("groups[].think_time_s", group.think_time_s, expected));
            }
            if let Some(target) = &group.target {
                let expected = "endpoints of the run's own driver";
                if target.name() != self.target.name() {
                    return Err(range("groups[].target.driver", target.name(), expected));
                }
                if target.server().is_none_or(|server| server.endpoints.is_empty()) {
                    return Err(range("groups[].target.endpoints", "empty", expected));
                }
            }
            if self.groups[..index].iter().any(|other| other.name == group.name) {
                return Err(range("groups[].name", &group.name, "distinct names"));
            }
        }
        let clients = self.groups.iter().map(|group| u64::from(group.clients)).sum::<u64>();
        if clients > u64::from(CLIENTS_MAX) {
            return Err(range("groups[].clients", clients, "1,000,000 over all groups at most"));
        }
        Ok(())
    }

    /// With turns, fields that limit the run's length are not allowed.
    fn check_turns(&self) -> Result<(), SpecError> {
        if self.command != "run" {
            return Err(range("turns", &self.command, "turns in the command `run` only"));
        }
        let given = [
            ("warm_up_s", self.warm_up_s > 0.0),
            ("measure_s", self.measure_s.is_some()),
            ("events", self.events.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((field, _)) => Err(range(field, "given", "none: each turn says its own length")),
            None => Ok(()),
        }
    }

    /// Clients over all groups.
    pub fn clients(&self) -> u32 {
        self.groups.iter().map(|group| group.clients).sum()
    }
}

fn range(field: &'static str, found: impl ToString, expected: &'static str) -> SpecError {
    let found = found.to_string();
    // 1e300 has three hundred digits: print it in exponent form.
    let found = match found.parse::<f64>() {
        Ok(number) if found.len() > 20 => format!("{number:e}"),
        _ => found,
    };
    SpecError::Range { field, found, expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_its_range() {
        let refused = |key: &str, value: &str| {
            let text = format!(
                r#"{{"schema": 2, "target": {{"driver": "null"}}, "{key}": {value},
                    "groups": [{{"script": "s", "clients": 1}}]}}"#
            );
            RunSpec::from_json(&text).unwrap_err().to_string()
        };
        let huge = "`measure_s` is 1e300; expected seconds from 0 to 1e9";
        assert_eq!(refused("measure_s", "1e300"), huge);
        assert_eq!(refused("measure_s", "0"), "`measure_s` is 0; expected seconds above 0");
        assert!(refused("interval_s", "1e-9").contains("from 0.001 to 3600"));
        assert!(refused("connect_timeout_s", "1e300").contains("from 0 to 1e9"));
        assert!(refused("errors", r#"{"reconnect_s": -1}"#).contains("`errors.reconnect_s` is -1"));
        let crowd = RunSpec::from_json(
            r#"{"schema": 2, "target": {"driver": "null"},
                "groups": [{"script": "s", "clients": 4000000000}]}"#,
        );
        assert!(crowd.unwrap_err().to_string().contains("is 4000000000; expected 1,000,000"));
        // The sum exceeds 32 bits, and the part's share still fits in.
        let crowds = RunSpec::from_json(
            r#"{"schema": 2, "target": {"driver": "null"},
                "part": {"index": 0, "count": 2, "clients": 4},
                "groups": [{"name": "a", "script": "s", "clients": 4294967295},
                           {"name": "b", "script": "s", "clients": 2}]}"#,
        );
        assert!(crowds.unwrap_err().to_string().contains("is 4294967297; expected 1,000,000"));
    }

    #[test]
    fn a_group_connects_by_the_driver_of_its_run() {
        let refused = |target: &str| {
            let text = format!(
                r#"{{"schema": 2, "target": {{"driver": "mysql", "user": "u", "database": "d",
                    "endpoints": [{{"unix": "/s"}}]}},
                    "groups": [{{"script": "s", "clients": 1, "target": {target}}}]}}"#
            );
            RunSpec::from_json(&text).unwrap_err().to_string()
        };
        let other = refused(r#"{"driver": "null"}"#);
        assert!(other.contains("`groups[].target.driver` is null; expected endpoints"));
        let nowhere =
            refused(r#"{"driver": "mysql", "user": "u", "database": "d", "endpoints": []}"#);
        assert!(nowhere.contains("`groups[].target.endpoints` is empty"));
    }
}
