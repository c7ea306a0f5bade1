//! One distribution of times: an HdrHistogram with fixed bounds.

use std::borrow::Cow;

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::iterators::IterationValue;
use hdrhistogram::serialization::{
    Deserializer, Serializer as _, V2DeflateSerializeError, V2DeflateSerializer,
};

/// Times above this are counted as this, and as out of range: one hour.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Relative error of a recorded value stays below 10⁻³.
const SIGNIFICANT_DIGITS: u8 = 3;
/// The same of a rough distribution: below 10⁻².
const ROUGH_DIGITS: u8 = 2;
/// So many values are kept one by one before they are moved into the histogram.
const RECENT: usize = 512;

/// Times in nanoseconds, [1, [`HIGHEST_NS`]], to three significant digits, or to two
/// ([`Self::rough`]). The newest values, up to 512 (4 KB), are kept one by one and then moved into
/// the histogram together. Its counts are in no cache between two replies of many clients, and the
/// misses of values that are moved together overlap. An interval in which a shard did little needs
/// no histogram, so it costs little to merge and to keep: with a thousand shards, merging a
/// thousand histograms would take longer than a short interval lasts. The histogram (270 KB, rough
/// 37 KB) is allocated when values are first moved. Unused distributions cost nothing.
#[derive(Debug, Clone)]
pub struct Distribution {
    recent: Vec<u64>,
    /// The values that are no longer in `recent`.
    histogram: Option<Box<Histogram<u64>>>,
    digits: u8,
    out_of_range: u64,
}

/// The distribution can't be encoded.
#[derive(Debug, thiserror::Error)]
#[error("a histogram could not be encoded: {0:?}")]
pub struct EncodeError(V2DeflateSerializeError);

fn new_histogram(digits: u8) -> Box<Histogram<u64>> {
    Box::new(Histogram::new_with_bounds(1, HIGHEST_NS, digits).expect("constant bounds are valid"))
}

impl Default for Distribution {
    fn default() -> Self {
        Self { recent: Vec::new(), histogram: None, digits: SIGNIFICANT_DIGITS, out_of_range: 0 }
    }
}

impl Distribution {
    /// A distribution with two significant digits, which takes a seventh of the memory.
    pub fn rough() -> Self {
        Self { digits: ROUGH_DIGITS, ..Self::default() }
    }

    #[inline]
    fn histogram(&mut self) -> &mut Histogram<u64> {
        let digits = self.digits;
        self.histogram.get_or_insert_with(|| new_histogram(digits))
    }

    /// Records one time; 0 counts as 1 ns.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        if ns > HIGHEST_NS {
            self.out_of_range += 1;
        }
        if self.recent.len() == self.recent.capacity() {
            self.make_room();
        }
        self.recent.push(ns.clamp(1, HIGHEST_NS));
    }

    #[cold]
    fn make_room(&mut self) {
        if self.recent.len() < RECENT {
            self.recent.reserve_exact(RECENT - self.recent.len());
            return;
        }
        let mut recent = std::mem::take(&mut self.recent);
        let histogram = self.histogram();
        recent.drain(..).for_each(|ns| histogram.saturating_record(ns));
        self.recent = recent;
    }

    /// Records the same time `count` times.
    pub fn record_many(&mut self, ns: u64, count: u64) {
        let filled = self.histogram.as_ref().is_some_and(|histogram| !histogram.is_empty());
        if !filled && count <= (RECENT - self.recent.len()) as u64 {
            // So few need no histogram yet.
            return (0..count).for_each(|_| self.record(ns));
        }
        if ns > HIGHEST_NS {
            self.out_of_range += count;
        }
        self.histogram().saturating_record_n(ns.clamp(1, HIGHEST_NS), count);
    }

    /// Adds all values of another distribution.
    pub fn merge(&mut self, other: &Self) {
        self.out_of_range += other.out_of_range;
        if !other.recent.is_empty() {
            // A sum of distributions soon has many values, and one in which all are in the
            // histogram can be read without a copy.
            let histogram = self.histogram();
            other.recent.iter().for_each(|ns| histogram.saturating_record(*ns));
        }
        if let Some(theirs) = &other.histogram
            && !theirs.is_empty()
        {
            self.histogram().add(theirs.as_ref()).expect("both have the same constant bounds");
        }
    }

    /// Clears the values, keeps the memory.
    pub fn clear(&mut self) {
        self.out_of_range = 0;
        self.recent.clear();
        if let Some(histogram) = &mut self.histogram
            && !histogram.is_empty()
        {
            histogram.reset();
        }
    }

    /// Values recorded.
    pub fn count(&self) -> u64 {
        self.recent.len() as u64 + self.histogram.as_ref().map_or(0, |histogram| histogram.len())
    }

    /// All values; `None` without any.
    fn whole(&self) -> Option<Cow<'_, Histogram<u64>>> {
        if self.recent.is_empty() {
            let filled = self.histogram.as_deref().filter(|histogram| !histogram.is_empty());
            return filled.map(Cow::Borrowed);
        }
        let mut whole =
            self.histogram.as_deref().cloned().unwrap_or_else(|| *new_histogram(self.digits));
        self.recent.iter().for_each(|ns| whole.saturating_record(*ns));
        Some(Cow::Owned(whole))
    }

    /// Values above [`HIGHEST_NS`].
    pub fn out_of_range(&self) -> u64 {
        self.out_of_range
    }

    /// The value at a percentile in [0, 100], nanoseconds; `None` without values.
    pub fn percentile(&self, percentile: f64) -> Option<u64> {
        self.whole().map(|histogram| histogram.value_at_percentile(percentile))
    }

    /// The smallest value recorded, to the histogram's precision; `None` without values.
    pub fn min(&self) -> Option<u64> {
        self.whole().map(|histogram| histogram.min())
    }

    /// The largest value recorded, to the histogram's precision; `None` without values.
    pub fn max(&self) -> Option<u64> {
        self.whole().map(|histogram| histogram.max())
    }

    /// Mean of the values; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        self.whole().map(|histogram| histogram.mean())
    }

    /// Decodes the output of [`Self::encode`]; `None` if it is something else.
    pub fn decode(text: &str) -> Option<Self> {
        let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
        let histogram: Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
        let digits = histogram.sigfig();
        let histogram = Some(Box::new(histogram));
        Some(Self { recent: Vec::new(), histogram, digits, out_of_range: 0 })
    }

    /// Every recorded value, to the histogram's precision, with its count; ascending.
    pub fn values(&self) -> Vec<(u64, u64)> {
        let step = |step: IterationValue<u64>| (step.value_iterated_to(), step.count_at_value());
        self.whole().map_or_else(Vec::new, |all| all.iter_recorded().map(step).collect())
    }

    /// HdrHistogram V2, zlib-compressed, base64: what other HdrHistogram tools read.
    ///
    /// # Errors
    /// [`EncodeError`] if the library can't encode it (a count above 2⁶³).
    pub fn encode(&self) -> Result<String, EncodeError> {
        let whole = self.whole().unwrap_or_else(|| Cow::Owned(*new_histogram(self.digits)));
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(whole.as_ref(), &mut bytes).map_err(EncodeError)?;
        Ok(base64::engine::general_purpose::STANDARD.encode(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_beyond_the_bounds_are_counted_not_lost() {
        let mut distribution = Distribution::default();
        distribution.record(0);
        distribution.record(HIGHEST_NS + 1);
        assert_eq!(distribution.count(), 2);
        assert_eq!(distribution.out_of_range(), 1);
        assert_eq!(distribution.min(), Some(1));
    }

    #[test]
    fn an_empty_distribution_has_no_percentile() {
        assert_eq!(Distribution::default().percentile(50.0), None);
        assert!(Distribution::default().encode().unwrap().starts_with("HISTF"));
    }

    proptest! {
        #[test]
        #[cfg_attr(miri, ignore = "walks through a whole histogram again and again")]
        fn a_percentile_is_the_sorted_values_own_within_its_digits(
            mut values in prop::collection::vec(1u64..10_000_000_000, 1..2 * RECENT),
            percentile in 0.1f64..100.0,
            rough in any::<bool>(),
        ) {
            let error = if rough { 0.01 } else { 0.001 };
            let mut distribution =
                if rough { Distribution::rough() } else { Distribution::default() };
            for value in &values {
                distribution.record(*value);
            }
            values.sort_unstable();
            let rank = ((percentile / 100.0) * values.len() as f64).ceil().max(1.0) as usize;
            let expected = values[rank - 1] as f64;
            let found = distribution.percentile(percentile).unwrap() as f64;
            prop_assert!((found - expected).abs() <= expected * error + 1.0, "{found} {expected}");
        }

        #[test]
        #[cfg_attr(miri, ignore = "walks through whole histograms again and again")]
        fn many_at_once_are_as_many_one_by_one(
            runs in prop::collection::vec((0u64..2 * HIGHEST_NS, 0u64..RECENT as u64), 0..20),
        ) {
            let (mut at_once, mut one_by_one) = (Distribution::default(), Distribution::default());
            for (value, count) in &runs {
                at_once.record_many(*value, *count);
                (0..*count).for_each(|_| one_by_one.record(*value));
            }
            prop_assert_eq!(at_once.count(), one_by_one.count());
            prop_assert_eq!(at_once.out_of_range(), one_by_one.out_of_range());
            prop_assert_eq!(at_once.encode().unwrap(), one_by_one.encode().unwrap());
        }

        #[test]
        #[cfg_attr(miri, ignore = "walks through whole histograms again and again")]
        fn merging_loses_nothing(
            left in prop::collection::vec(1u64..u64::MAX, 0..2 * RECENT),
            right in prop::collection::vec(1u64..u64::MAX, 0..2 * RECENT),
        ) {
            let (mut a, mut b, mut all) =
                (Distribution::default(), Distribution::default(), Distribution::default());
            left.iter().for_each(|value| { a.record(*value); all.record(*value) });
            right.iter().for_each(|value| { b.record(*value); all.record(*value) });
            a.merge(&b);
            prop_assert_eq!(a.count(), all.count());
            prop_assert_eq!(a.out_of_range(), all.out_of_range());
            prop_assert_eq!(a.percentile(99.0), all.percentile(99.0));
            prop_assert_eq!(a.encode().unwrap(), all.encode().unwrap());
        }
    }
}
