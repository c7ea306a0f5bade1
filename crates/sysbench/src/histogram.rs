//! The latency histogram as text.

use measure::Distribution;

/// Number of buckets, and their range in milliseconds, on a logarithmic scale.
const SIZE: usize = 1024;
const LOW_MS: f64 = 0.001;
const HIGH_MS: f64 = 100_000.0;
/// Stars for the fullest bucket.
const STARS: u64 = 40;

/// A heading, then one line per bucket that is not empty.
pub(crate) fn text(latency: &Distribution) -> String {
    let scale = (SIZE - 1) as f64 / (HIGH_MS.ln() - LOW_MS.ln());
    let mut buckets = vec![0u64; SIZE];
    for (ns, count) in latency.values() {
        let ms = (ns as f64 / 1e6).clamp(LOW_MS, HIGH_MS);
        let index = ((ms.ln() - LOW_MS.ln()) * scale + 0.5).floor() as usize;
        buckets[index.min(SIZE - 1)] += count;
    }
    let highest = buckets.iter().copied().max().unwrap_or(0).max(1);
    let mut text = String::from("       value  ------------- distribution ------------- count\n");
    for (index, count) in buckets.iter().enumerate().filter(|(_, count)| **count > 0) {
        let value = (index as f64 / scale + LOW_MS.ln()).exp();
        let stars = (*count as f64 / highest as f64 * STARS as f64 + 0.5).floor() as usize;
        let stars = "*".repeat(stars);
        text.push_str(&format!("{value:12.3} |{stars:<40} {count}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_where_parsers_look() {
        let mut latency = Distribution::default();
        (1..=2).for_each(|_| latency.record(1_000_000));
        latency.record(2_000_000);
        let lines: Vec<_> = text(&latency).lines().map(str::to_owned).collect();
        assert_eq!(lines[1], format!("       1.007 |{} 2", "*".repeat(40)));
        assert_eq!(lines[2], format!("       1.996 |{:<40} 1", "*".repeat(20)));
    }
}
