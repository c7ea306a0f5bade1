//! `cpu`: counts the primes up to a number by trial division, so that it measures divisions and
//! square roots.

use std::hint::black_box;

use super::client::Client;
use super::figures::Figures;
use crate::value::Values;

#[derive(Debug, Clone)]
pub(crate) struct Cpu {
    highest: u64,
}

impl Cpu {
    pub(crate) fn new(values: &Values) -> Result<Self, String> {
        match values.number("cpu_max_prime") {
            highest @ 1.. => Ok(Self { highest: highest as u64 }),
            other => Err(format!("Invalid value of cpu-max-prime: {other}.")),
        }
    }

    fn primes(&self) -> u64 {
        let prime = |number: &u64| {
            let root = (*number as f64).sqrt() as u64;
            (2..=root).all(|divisor| !number.is_multiple_of(divisor))
        };
        (3..black_box(self.highest)).filter(prime).count() as u64
    }
}

impl Client for Cpu {
    fn event(&mut self) -> Result<bool, String> {
        black_box(self.primes());
        Ok(true)
    }
}

impl Figures for Cpu {
    fn subject(&self) -> String {
        "Doing CPU performance benchmark\n\n".to_owned()
    }

    fn header(&self) -> String {
        format!("Prime numbers limit: {}\n\n", self.highest)
    }

    fn cumulative(&self, events: u64, seconds: f64, _new: bool) -> String {
        format!("CPU speed:\n    events per second: {:8.2}\n", events as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_counted() {
        // There are 25 below 100; 2 is not tested.
        assert_eq!(Cpu { highest: 100 }.primes(), 24);
    }
}
