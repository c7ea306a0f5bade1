//! Random numbers for scripts: one generator per client, derived from the run's seed.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// How `sysbench.rand.default` draws from a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Uniform,
    Gaussian,
    Pareto,
    Zipfian,
    Special,
}

/// The parameters of all distributions; the defaults are sysbench's.
#[derive(Debug, Clone)]
pub struct Distributions {
    pub(crate) kind: Kind,
    pub(crate) pareto_h: f64,
    pub(crate) zipfian_exponent: f64,
    /// Uniform draws averaged for a Gaussian one, at least 1.
    pub(crate) iterations: u32,
    /// Share of values in the special range, percent.
    pub(crate) special_percent: f64,
    /// Width of the special range, percent of the whole.
    pub(crate) special_width: f64,
}

impl Default for Distributions {
    fn default() -> Self {
        Self {
            kind: Kind::Uniform,
            pareto_h: 0.2,
            zipfian_exponent: 0.8,
            iterations: 12,
            special_percent: 75.0,
            special_width: 1.0,
        }
    }
}

/// One client's generator.
#[derive(Debug, Clone)]
pub struct Random(Xoshiro256PlusPlus);

/// Mixes a stream number into a seed (splitmix64's finaliser), so that neighbouring streams differ.
pub(crate) fn mix(seed: u64, stream: u64) -> u64 {
    let mut z = seed ^ stream.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// FNV-1a hash of a name, the same on every machine.
pub(crate) fn name_number(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A permutation of the 32-bit numbers (each step is invertible): turns a counter into unique
/// values without order.
pub(crate) fn permute(counter: u32) -> u32 {
    let mut x = counter;
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

impl Random {
    /// The generator of one stream, such as a client's number.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(mix(seed, stream)))
    }

    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// In [0, 1), 53 bits.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// In [low, high], all equally likely; `low` if the range is empty.
    #[inline]
    pub(crate) fn uniform(&mut self, low: i64, high: i64) -> i64 {
        if high <= low {
            return low;
        }
        let width = high.wrapping_sub(low) as u64;
        let below = match width.checked_add(1) {
            None => self.bits(),
            // Lemire's multiplication; the bias is below width / 2⁶⁴.
            Some(count) => ((u128::from(self.bits()) * u128::from(count)) >> 64) as u64,
        };
        low.wrapping_add(below as i64)
    }

    /// Scales a number in [0, 1) to [low, high].
    fn scale(unit: f64, low: i64, high: i64) -> i64 {
        let width = (high - low).max(0) as f64 + 1.0;
        (low + (unit * width) as i64).clamp(low, high.max(low))
    }

    /// The mean of `iterations` uniform draws: bell-shaped around the middle (Irwin–Hall).
    pub(crate) fn gaussian(&mut self, low: i64, high: i64, iterations: u32) -> i64 {
        let count = iterations.max(1);
        let sum: f64 = (0..count).map(|_| self.unit()).sum();
        Self::scale(sum / f64::from(count), low, high)
    }

    /// `u^(ln h / ln(1 − h))`: a share 1 − h of the draws falls into the lowest share h of the
    /// range.
    pub(crate) fn pareto(&mut self, low: i64, high: i64, h: f64) -> i64 {
        let power = h.ln() / (1.0 - h).ln();
        Self::scale(self.unit().powf(power), low, high)
    }

    /// `special_percent` of the draws are uniform over the middle `special_width` percent, the
    /// others Gaussian over the whole range. One number decides both, so only the upper
    /// `special_percent` of the middle is used, as measured with sysbench 1.0.20.
    pub(crate) fn special(&mut self, low: i64, high: i64, with: &Distributions) -> i64 {
        let unit = self.unit();
        if unit < 1.0 - with.special_percent / 100.0 {
            return self.gaussian(low, high, with.iterations);
        }
        let width = (high - low).max(0) as f64 + 1.0;
        let narrow = width * with.special_width / 100.0 + 1.0;
        let offset = (width - narrow) / 2.0 + unit * narrow;
        (low + offset as i64).clamp(low, high.max(low))
    }

    /// Rank 1 is `low`. Rejection-inversion (Hörmann and Derflinger, 1996): constant time, exact.
    pub(crate) fn zipfian(&mut self, low: i64, high: i64, exponent: f64) -> i64 {
        let count = (high - low).max(0) as f64 + 1.0;
        let integral = |x: f64| {
            let log = x.ln();
            helper_exp((1.0 - exponent) * log) * log
        };
        let density = |x: f64| (-exponent * x.ln()).exp();
        let inverse = |x: f64| {
            let t = (x * (1.0 - exponent)).max(-1.0);
            (helper_log(t) * x).exp()
        };
        let (first, last) = (integral(1.5) - 1.0, integral(count + 0.5));
        let squeeze = 2.0 - inverse(integral(2.5) - density(2.0));
        loop {
            let u = last + self.unit() * (first - last);
            let x = inverse(u);
            let k = (x + 0.5).floor().clamp(1.0, count);
            if k - x <= squeeze || u >= integral(k + 0.5) - density(k) {
                return low + (k as i64 - 1);
            }
        }
    }

    /// Draws from the distribution behind `sysbench.rand.default`.
    #[inline]
    pub fn draw(&mut self, low: i64, high: i64, with: &Distributions) -> i64 {
        match with.kind {
            Kind::Uniform => self.uniform(low, high),
            Kind::Gaussian => self.gaussian(low, high, with.iterations),
            Kind::Pareto => self.pareto(low, high, with.pareto_h),
            Kind::Zipfian => self.zipfian(low, high, with.zipfian_exponent),
            Kind::Special => self.special(low, high, with),
        }
    }

    /// In [0, count), exactly uniform (Lemire, 2019).
    #[inline]
    fn below(&mut self, count: u64) -> u64 {
        loop {
            let product = u128::from(self.bits()) * u128::from(count);
            if product as u64 >= count.wrapping_neg() % count {
                return (product >> 64) as u64;
            }
        }
    }

    /// Replaces each `#` of a pattern by a digit and each `@` by a letter a–z.
    pub(crate) fn fill(&mut self, pattern: &mut [u8]) {
        let (mut digits, mut letters) = (Ahead::<10, b'0', 4>::new(), Ahead::<26, b'a', 3>::new());
        for byte in pattern {
            match *byte {
                b'#' => *byte = digits.next(self),
                b'@' => *byte = letters.next(self),
                _ => {}
            }
        }
    }

    /// Appends `min` to `max` characters from '0' to 'z' in ASCII order.
    pub(crate) fn text(&mut self, min: usize, max: usize, out: &mut Vec<u8>) {
        let len = self.uniform(min as i64, max.max(min) as i64) as usize;
        out.extend((0..len).map(|_| b'0' + self.uniform(0, i64::from(b'z' - b'0')) as u8));
    }
}

/// Characters drawn ahead, `4 × PAIRS` from one random number: all strings are equally likely.
struct Ahead<const BASE: u32, const FIRST: u8, const PAIRS: usize> {
    ready: [u8; 16],
    left: usize,
}

impl<const BASE: u32, const FIRST: u8, const PAIRS: usize> Ahead<BASE, FIRST, PAIRS> {
    const HALF: u64 = (BASE as u64).pow(2 * PAIRS as u32);
    const STRINGS: u64 = Self::HALF * Self::HALF;

    fn new() -> Self {
        Self { ready: [0; 16], left: 0 }
    }

    #[inline]
    fn next(&mut self, random: &mut Random) -> u8 {
        if self.left == 0 {
            self.draw(random);
        }
        self.left -= 1;
        self.ready[self.left]
    }

    /// Divides two halves side by side, two characters at a time: shorter dependency chains.
    fn draw(&mut self, random: &mut Random) {
        let number = random.below(Self::STRINGS);
        let mut halves = [(number / Self::HALF) as u32, (number % Self::HALF) as u32];
        for pair in 0..PAIRS {
            for (half, rest) in halves.iter_mut().enumerate() {
                let two = *rest % (BASE * BASE);
                *rest /= BASE * BASE;
                let place = 2 * (half * PAIRS + pair);
                self.ready[place] = FIRST + (two / BASE) as u8;
                self.ready[place + 1] = FIRST + (two % BASE) as u8;
            }
        }
        self.left = 4 * PAIRS;
    }
}

/// (eˣ − 1) / x, stable near 0.
fn helper_exp(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x * 0.5 * (1.0 + x / 3.0 * (1.0 + 0.25 * x)) }
}

/// ln(1 + x) / x, stable near 0.
fn helper_log(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x * (0.5 - x * (1.0 / 3.0 - 0.25 * x)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(kind: Kind, count: usize) -> Vec<i64> {
        let with = Distributions { kind, ..Distributions::default() };
        let mut random = Random::new(1, 0);
        (0..count).map(|_| random.draw(1, 1000, &with)).collect()
    }

    #[test]
    fn every_distribution_stays_in_its_range() {
        for kind in [Kind::Uniform, Kind::Gaussian, Kind::Pareto, Kind::Zipfian, Kind::Special] {
            assert!(draws(kind, 20_000).iter().all(|value| (1..=1000).contains(value)), "{kind:?}");
        }
    }

    #[test]
    fn uniform_reaches_both_ends_of_small_and_of_huge_ranges() {
        let mut random = Random::new(3, 0);
        let seen: std::collections::BTreeSet<_> = (0..100).map(|_| random.uniform(4, 6)).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [4, 5, 6]);
        assert!((0..100).any(|_| random.uniform(0, i64::MAX) > i64::MAX / 2));
        assert_eq!(random.uniform(9, 9), 9);
        assert_eq!(random.uniform(9, 3), 9);
    }

    #[test]
    fn pareto_puts_four_fifths_into_the_lowest_fifth() {
        let low = draws(Kind::Pareto, 100_000).iter().filter(|value| **value <= 200).count();
        assert!((low as f64 / 1e5 - 0.8).abs() < 0.01, "{low}");
    }

    #[test]
    fn special_puts_three_quarters_into_the_middle_hundredth() {
        let values = draws(Kind::Special, 100_000);
        let middle =
            values.iter().filter(|value| (495..=506).contains(*value)).count() as f64 / 1e5;
        assert!((0.74..0.82).contains(&middle), "{middle}");
    }

    #[test]
    fn zipfian_frequencies_follow_the_power_law() {
        let values = draws(Kind::Zipfian, 400_000);
        let weight: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-0.8)).sum();
        for rank in [1i64, 2, 10, 100] {
            let expected = (rank as f64).powf(-0.8) / weight;
            let found = values.iter().filter(|value| **value == rank).count() as f64 / 4e5;
            assert!((found / expected - 1.0).abs() < 0.1, "rank {rank}: {found} {expected}");
        }
    }

    #[test]
    fn patterns_keep_their_shape() {
        let mut out = *b"##-@@.#";
        Random::new(5, 0).fill(&mut out);
        assert!(out[0].is_ascii_digit() && out[3].is_ascii_lowercase() && out[2] == b'-');
    }

    /// χ² over all values must stay below a bound that chance exceeds once in 10⁶.
    fn even(counts: &[u32], bound: f64) {
        let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
        let chi2: f64 = counts.iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
        assert!(chi2 < bound, "{chi2}: {counts:?}");
    }

    #[test]
    fn characters_of_patterns_are_even_in_every_place_and_in_neighbouring_pairs() {
        let mut random = Random::new(6, 0);
        let mut digits = vec![[0u32; 10]; 20];
        let mut letters = vec![[0u32; 26]; 20];
        let mut pairs = [0u32; 100];
        for _ in 0..20_000 {
            let mut out = *b"####################@@@@@@@@@@@@@@@@@@@@";
            random.fill(&mut out);
            for place in 0..20 {
                digits[place][usize::from(out[place] - b'0')] += 1;
                letters[place][usize::from(out[place + 20] - b'a')] += 1;
            }
            for two in out[..20].windows(2) {
                pairs[usize::from(two[0] - b'0') * 10 + usize::from(two[1] - b'0')] += 1;
            }
        }
        // χ² with 9, 25 and 99 degrees of freedom.
        digits.iter().for_each(|counts| even(counts, 45.0));
        letters.iter().for_each(|counts| even(counts, 76.0));
        even(&pairs, 182.0);
    }

    #[test]
    fn a_pattern_depends_on_seed_and_stream_alone() {
        let text = |seed, stream| {
            let mut out = *b"###########-@@@@@@@@@@@-###########";
            Random::new(seed, stream).fill(&mut out);
            out
        };
        assert_eq!(text(1, 0), text(1, 0));
        assert_ne!(text(1, 0), text(1, 1));
        assert_ne!(text(1, 0), text(2, 0));
    }

    #[test]
    fn permuted_counters_never_repeat() {
        let seen: std::collections::HashSet<_> = (0..200_000).map(permute).collect();
        assert_eq!(seen.len(), 200_000);
    }

    #[test]
    fn clients_have_streams_of_their_own_that_the_seed_decides() {
        let first = |seed, stream| Random::new(seed, stream).bits();
        assert_eq!(first(1, 1), first(1, 1));
        assert_ne!(first(1, 1), first(1, 2));
        assert_ne!(first(1, 1), first(2, 1));
    }
}
