//! The region term: a range of intensities that is computed from the pixels on both sides of the front (Chan and Vese 2001;
//! Zhu and Yuille 1996 for other distributions of the pixels).
//!
//! The front separates two regions whose pixels have the same kind of distribution with different parameters. A voxel
//! belongs inside if its intensity is more likely with the parameters of the inside. For every kind of distribution here,
//! these intensities form a range: above one limit, below one limit, between two limits, or outside of two limits. So the
//! iterations are the same as for a given range. At the start of every check interval both sides are summed again, and the
//! range is computed anew.
//!
//! Pixels are summed as integers, so that the sums depend neither on the order of voxels nor on the device.

use super::{Regions, Side, TargetRange};
use crate::device::kernels::level_set::{REGION_LEVELS, RegionLevels};
use crate::error::{Error, Result, number};
use crate::image::PixelType;

/// The least standard deviation that is assumed for a region, as a share of the range of the image's pixels. It is used
/// even for a region without noise, where the pixels of the other region would otherwise be infinitely unlikely.
const LEAST_DEVIATION: f64 = 1e-3;
/// The least standard deviation that is assumed for a region, as a share of the difference of the means. Without it, the
/// limit would be at the mean of a uniform region, whose pixels would then hardly move the front.
const LEAST_DEVIATION_OF_CONTRAST: f64 = 0.1;
/// Two variances are equal if they differ by at most this share.
const EQUAL_VARIANCES: f64 = 1e-6;
/// The least mean that is assumed for a region before its logarithm is taken, as a share of the largest pixel.
const LEAST_MEAN: f64 = 1e-6;

/// In heavy noise, pixels inside count with their full value up to this many standard deviations beyond their mean.
/// Clipping normal noise there shifts its mean by less than a hundredth of a standard deviation.
const WIDTH: f64 = 2.0;
/// The front is judged again after the number of voxels inside has changed by this share.
const JUDGED_AFTER: f64 = 0.05;
/// A front still approaches the object if the ratio of two relative changes is at least this: the gain in the variance
/// between both sides, and the change of the number of voxels inside. The ratio is 1 if all voxels that the front leaves
/// are background, and −1 if all of them are object.
const LEAST_GAIN: f64 = 0.25;

/// The sums of the finite pixels of one side of the front, in levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RegionSums {
    pub count: u64,
    pub sum: u64,
    pub squares: u128,
}

/// The number of pixels whose sum of squares surely fits in 64 bits.
const PART: usize = 1 << 24;

/// Adds the finite pixels to the sums of the inside and of the outside.
pub(super) fn add_pixels<T: Copy>(
    [inside, outside]: &mut [RegionSums; 2],
    levels: &RegionLevels,
    phi: &[f32],
    pixels: &[T],
    value: impl Fn(T) -> f32,
) {
    for (phi, pixels) in phi.chunks(PART).zip(pixels.chunks(PART)) {
        let [mut of_all, mut of_inside] = [[0u64; 3]; 2];
        for (phi, pixel) in phi.iter().zip(pixels) {
            let pixel = value(*pixel);
            let (counts, is_inside) = (u64::from(pixel.is_finite()), u64::from(*phi < 0.0));
            let level = counts * u64::from(level(levels, pixel));
            for (sums, taken) in [(&mut of_all, 1), (&mut of_inside, is_inside)] {
                sums[0] += taken * counts;
                sums[1] += taken * level;
                sums[2] += taken * level * level;
            }
        }
        for (side, [count, sum, squares]) in
            [(&mut *inside, of_inside), (&mut *outside, std::array::from_fn(|i| of_all[i] - of_inside[i]))]
        {
            *side = side.merged(RegionSums { count, sum, squares: squares.into() });
        }
    }
}

impl RegionSums {
    pub(super) fn merged(self, other: Self) -> Self {
        Self { count: self.count + other.count, sum: self.sum + other.sum, squares: self.squares + other.squares }
    }
}

/// Returns the level of a finite pixel. `region_level` in `kernels/level_set_support.cuh` computes the same.
#[inline(always)]
fn level(levels: &RegionLevels, pixel: f32) -> u32 {
    if levels.binary != 0 { u32::from(pixel > 0.0) } else { ((pixel - levels.low) * levels.scale + 0.5) as u32 }
}

/// The mean, the mean square and the variance of the pixels of a region.
#[derive(Clone, Copy, Debug)]
struct Moments {
    mean: f64,
    mean_square: f64,
    variance: f64,
}

/// A range of intensities, and the side that it is open to.
type Range = (TargetRange, Side);

/// The measurement of the range from the sums of both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    regions: Regions,
    pub levels: RegionLevels,
    /// The smallest and the largest finite pixel of the image.
    pub extremes: [f64; 2],
}

impl Measure {
    /// # Errors
    /// Pixels below 0 where the kind of distribution has none.
    pub(super) fn new(regions: Regions, pixel_type: PixelType, extremes: [f64; 2]) -> Result<Self> {
        let [low, high] = extremes;
        if matches!(regions, Regions::Poisson | Regions::Gamma | Regions::Rayleigh) && low < 0.0 {
            return Err(Error::argument(format!(
                "cannot use the regions {}: its pixels are at least 0, but the image's smallest is {}; subtract the \
                 camera's offset, or choose chan_vese or gaussian",
                regions.name(),
                number(low)
            )));
        }
        // Integer pixels are their own levels. The scale must be finite in f32, so an image whose pixels hardly differ does
        // not use all levels.
        let scale = || ((REGION_LEVELS - 1) as f64 / (high - low)).min(f32::MAX.into()) as f32;
        let (low, scale) = match pixel_type {
            PixelType::F32 if high > low => (low as f32, scale()),
            PixelType::F32 => (low as f32, 0.0),
            _ => (0.0, 1.0),
        };
        let levels = RegionLevels { low, scale, binary: u32::from(regions == Regions::Bernoulli) };
        Ok(Self { regions, levels, extremes })
    }

    fn moments(&self, sums: &RegionSums) -> Option<Moments> {
        if sums.count == 0 {
            return None;
        }
        let RegionLevels { low, scale, binary } = self.levels;
        let (mean, square) = (sums.sum as f64 / sums.count as f64, sums.squares as f64 / sums.count as f64);
        let (low, unit) = match scale {
            _ if binary != 0 => (0.0, 1.0),
            0.0 => (f64::from(low), 0.0),
            scale => (f64::from(low), f64::from(scale).recip()),
        };
        let variance = (square - mean * mean).max(0.0) * unit * unit;
        let mean = low + mean * unit;
        Some(Moments { mean, mean_square: mean * mean + variance, variance })
    }

    /// Returns the range of intensities that are likelier inside than outside, from the sums of both; `None` where one
    /// side is empty or both are alike.
    pub(super) fn range(&self, [inside, outside]: [RegionSums; 2]) -> Option<Range> {
        let (inside, outside) = (self.moments(&inside)?, self.moments(&outside)?);
        let [low, high] = self.extremes;
        let least_mean = LEAST_MEAN * high;
        let [a, b] = [inside.mean, outside.mean];
        let logarithms = [a, b].map(|mean| mean.max(least_mean));
        match self.regions {
            Regions::ChanVese => one_sided((a + b) / 2.0, [a, b]),
            Regions::Gaussian => self.gaussian(inside, outside),
            Regions::Poisson => {
                let [a, b] = logarithms;
                one_sided((a - b) / (a / b).ln(), [a, b])
            }
            Regions::Gamma => {
                let [a, b] = logarithms;
                one_sided((a / b).ln() / (b.recip() - a.recip()), [a, b])
            }
            Regions::Rayleigh => {
                let [a, b] = [inside, outside].map(|side| side.mean_square.max(least_mean * least_mean));
                one_sided(((a / b).ln() / (b.recip() - a.recip())).sqrt(), [a.sqrt(), b.sqrt()])
            }
            Regions::Bernoulli => {
                // A share of 0 or 1 would have an infinite logarithm.
                let [p, q] = [a, b].map(|share| share.clamp(LEAST_MEAN, 1.0 - LEAST_MEAN));
                let of_zero = ((1.0 - q) / (1.0 - p)).ln();
                let limit = of_zero / (of_zero + (p / q).ln());
                // Pixels above 0 count as the largest pixel, all others as 0.
                one_sided(high * limit, if p > q { [high, low.max(0.0)] } else { [low.max(0.0), high] })
            }
        }
    }

    /// Returns the range for two normal distributions. Its limits, where both are equally likely, are the roots of a
    /// quadratic polynomial.
    fn gaussian(&self, inside: Moments, outside: Moments) -> Option<Range> {
        let [low, high] = self.extremes;
        let (a, b) = (inside.mean, outside.mean);
        let least = (LEAST_DEVIATION * (high - low)).max(LEAST_DEVIATION_OF_CONTRAST * (a - b).abs()).powi(2);
        let [of_a, of_b] = [inside, outside].map(|side| side.variance.max(least));
        if (of_a - of_b).abs() <= EQUAL_VARIANCES * of_a.max(of_b) {
            return one_sided((a + b) / 2.0, [a, b]);
        }
        // (x - a)²/of_a - (x - b)²/of_b + ln(of_a/of_b) = 0, for x - a.
        let apart = b - a;
        let quadratic = of_a.recip() - of_b.recip();
        let half_linear = apart / of_b;
        let constant = (of_a / of_b).ln() - apart * apart / of_b;
        let root = (half_linear * half_linear - quadratic * constant).max(0.0).sqrt();
        let [x, y] = [-root, root].map(|root| a + (root - half_linear) / quadratic);
        let (x, y) = (x.min(y), x.max(y));
        // A root beyond all pixels is not a limit.
        match (x > low, y < high, quadratic > 0.0) {
            (true, false, narrow) => one_limit(x, narrow, [a, b]),
            (false, true, narrow) => one_limit(y, !narrow, [a, b]),
            (_, _, narrow) => {
                let (x, y) = (x.max(2.0 * low - high), y.min(2.0 * high - low));
                let range = TargetRange { target: (x + y) / 2.0, epsilon: (y - x) / 2.0 };
                (range.epsilon > 0.0).then_some((range, if narrow { Side::Within } else { Side::Outside }))
            }
        }
    }
}

/// The stage of a front in heavy noise: noise whose deviation is more than half the difference of the means.
///
/// On the inside's side of the limit, deviations of pixels from it are clipped at half the difference of the means; on the
/// other side they count with their full value. So heavy noise alone drives the front inwards. That brings a start that is
/// too large to the object, but would then erode the object. Therefore the front goes inwards only as long as the
/// separation of both sides improves. After that the range is widened permanently, so that noise on both sides of the limit
/// counts and averages out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeavyNoise {
    /// The share of the voxels that were inside, and the variance between both sides, when the front was last judged.
    judged: Option<[f64; 2]>,
    /// True while heavy noise drives the front inwards.
    goes_inwards: bool,
    /// True once the range is widened so that noise on both sides of the limit counts; it never becomes false again.
    is_balanced: bool,
}

impl HeavyNoise {
    /// Returns the range to continue with, and the standard deviation of the noise. That is taken from the side that varies
    /// less, because the other side may hold several things.
    pub(super) fn range(
        &mut self,
        measure: &Measure,
        (range, side): Range,
        sums: [RegionSums; 2],
    ) -> Option<(Range, f64)> {
        // 1. Find the mean and the deviation of both sides, in the image's own units.
        let [inside, outside] = [measure.moments(&sums[0])?, measure.moments(&sums[1])?];
        // Binary pixels count as 0 and 1.
        let unit = if measure.levels.binary != 0 { measure.extremes[1] } else { 1.0 };
        let [mean, mean_outside] = [inside.mean * unit, outside.mean * unit];
        let [deviation, deviation_outside] = [inside, outside].map(|side| side.variance.sqrt() * unit);
        let noise = deviation.min(deviation_outside);
        // 2. Compare the noise with the contrast, and measure how well the front separates both sides: by the variance
        //    between them. Noise is never heavy for a range with two limits, whose sign is 0.
        let (apart, sign) = (mean - mean_outside, f64::from(side.sign()));
        let is_heavy = sign != 0.0 && noise > apart.abs() / 2.0;
        let [n, m] = sums.map(|side| side.count as f64);
        let share = n / (n + m);
        let separation = apart * apart * share * (1.0 - share);
        // 3. Judge the front once the inside has changed enough. If in heavy noise the separation has grown too little for
        //    that change, the front no longer approaches the object, and the range is balanced from now on.
        let [share_before, separation_before] = *self.judged.get_or_insert([share, separation]);
        let moved = (share / share_before - 1.0).abs();
        if moved >= JUDGED_AFTER {
            self.is_balanced |= is_heavy && separation < (1.0 + LEAST_GAIN * moved) * separation_before;
            self.judged = Some([share, separation]);
        }
        // 4. Leave the range as it is where noise neither drives the front inwards nor is to be balanced.
        self.goes_inwards = is_heavy && !self.is_balanced;
        if !(self.goes_inwards || self.is_balanced && sign != 0.0) {
            return Some(((range, side), noise));
        }
        // 5. Keep the limit, and choose the distance from it up to which intensities on the inside's side count with their
        //    full value: half the difference of the means for a front that goes inwards, otherwise so far that nearly all
        //    noise of the inside counts.
        let mut limit = range.target - sign * range.epsilon;
        let mut epsilon = range.epsilon;
        if self.goes_inwards {
            // Only the range of binary pixels has another width than half the difference of the means.
            epsilon = epsilon.min(apart.abs() / 2.0);
        } else {
            if measure.regions == Regions::Rayleigh {
                // In heavy noise the front rests where the mean deviations of both sides balance. For amplitudes that is
                // half way between the means, while the limit for single pixels is higher if the contrast is low.
                limit = limit.min((mean + mean_outside) / 2.0);
            }
            let [low, high] = measure.extremes;
            let farthest = if sign > 0.0 { high - limit } else { limit - low };
            let wide = sign * (mean - limit) + WIDTH * deviation;
            epsilon = wide.min(farthest).max(epsilon);
        }
        Some(((TargetRange { target: limit + sign * epsilon, epsilon }, side), noise))
    }

    /// Tells whether a front at rest continues because its range will now be balanced. This is true at most once.
    pub(super) fn goes_on(&mut self) -> bool {
        let goes_on = std::mem::take(&mut self.goes_inwards);
        self.is_balanced |= goes_on;
        goes_on
    }
}

/// Returns the range from `limit` towards the mean of the inside. `means` are the means of the inside and of the outside.
fn one_sided(limit: f64, means: [f64; 2]) -> Option<Range> {
    one_limit(limit, means[0] > means[1], means)
}

/// Returns the range above or below `limit`. Deviations from the limit are clipped at half the difference of the means.
fn one_limit(limit: f64, above: bool, [a, b]: [f64; 2]) -> Option<Range> {
    let epsilon = (a - b).abs() / 2.0;
    if !(limit.is_finite() && epsilon > 0.0) {
        return None;
    }
    let (target, side) = if above { (limit + epsilon, Side::Above) } else { (limit - epsilon, Side::Below) };
    Some((TargetRange { target, epsilon }, side))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Regions; 6] =
        [Regions::ChanVese, Regions::Gaussian, Regions::Poisson, Regions::Gamma, Regions::Rayleigh, Regions::Bernoulli];

    fn sums(measure: &Measure, pixels: &[f32]) -> RegionSums {
        let mut sums = [RegionSums::default(); 2];
        add_pixels(&mut sums, &measure.levels, &vec![-1.0; pixels.len()], pixels, |pixel| pixel);
        sums[0]
    }

    fn is_in_range((TargetRange { target, epsilon }, side): Range, pixel: f64) -> bool {
        match side {
            Side::Within => (pixel - target).abs() < epsilon,
            Side::Outside => (pixel - target).abs() > epsilon,
            Side::Above => pixel > target - epsilon,
            Side::Below => pixel < target + epsilon,
        }
    }

    #[test]
    fn pixels_that_hardly_differ_have_a_range_between_them() {
        for difference in [1e-3f32, 1e-33, 1e-35] {
            let measure = Measure::new(Regions::ChanVese, PixelType::F32, [0.0, difference.into()]).unwrap();
            let bright = sums(&measure, &[difference, 0.9 * difference]);
            let dark = sums(&measure, &[0.0, 0.1 * difference]);
            let range = measure.range([bright, dark]).unwrap();
            for (pixel, is_bright) in [(0.4, false), (0.6, true)] {
                assert_eq!(is_in_range(range, pixel * f64::from(difference)), is_bright, "{difference} {range:?}");
            }
        }
    }

    /// Returns the logarithm of the likelihood of a pixel in a region, without what is the same in every region.
    fn likelihood(regions: Regions, pixel: f64, of: &[f32], other: &[f32]) -> f64 {
        let mean_of =
            |value: &dyn Fn(f64) -> f64| of.iter().map(|z| value(f64::from(*z))).sum::<f64>() / of.len() as f64;
        let mean = mean_of(&|z| z);
        let apart = mean - f64::from(other.iter().sum::<f32>()) / other.len() as f64;
        match regions {
            Regions::ChanVese => -(pixel - mean).powi(2),
            Regions::Gaussian => {
                let variance = mean_of(&|z| (z - mean).powi(2)).max((LEAST_DEVIATION_OF_CONTRAST * apart).powi(2));
                -(pixel - mean).powi(2) / variance - variance.ln()
            }
            Regions::Poisson => pixel * mean.ln() - mean,
            Regions::Gamma => -pixel / mean - mean.ln(),
            Regions::Rayleigh => {
                let square = mean_of(&|z| z * z);
                -pixel * pixel / square - square.ln()
            }
            Regions::Bernoulli => {
                let share = mean_of(&|z| f64::from(z > 0.0));
                if pixel > 0.0 { share.ln() } else { (1.0 - share).ln() }
            }
        }
    }

    #[test]
    fn the_range_holds_what_is_likelier_inside() {
        let grey: [&[f32]; 4] = [&[90.0, 100.0, 120.0], &[20.0, 60.0, 70.0], &[0.0, 100.0, 200.0], &[95.0, 96.0, 99.0]];
        let binary: [&[f32]; 3] = [&[200.0, 200.0, 0.0], &[0.0, 0.0, 0.0, 200.0], &[200.0, 0.0]];
        for regions in KINDS {
            let images = if regions == Regions::Bernoulli { &binary[..] } else { &grey[..] };
            for (i, inside) in images.iter().enumerate() {
                for (j, outside) in images.iter().enumerate().filter(|(j, _)| *j != i) {
                    for pixel_type in [PixelType::U8, PixelType::F32] {
                        let measure = Measure::new(regions, pixel_type, [0.0, 200.0]).expect("pixels from 0 on");
                        let range = measure.range([inside, outside].map(|pixels| sums(&measure, pixels)));
                        // A mean that is the same leaves no limit where only means count.
                        let likelihoods = |pixel| {
                            [[inside, outside], [outside, inside]]
                                .map(|[of, other]| likelihood(regions, pixel, of, other))
                        };
                        let Some(range) = range else {
                            let [of_inside, of_outside] = likelihoods(77.0);
                            assert!(of_inside == of_outside);
                            continue;
                        };
                        let pixels: &[f64] = if regions == Regions::Bernoulli { &[0.0, 200.0] } else { &[] };
                        let between = (0..100).map(|i| 2.0 * f64::from(i) + 0.31);
                        let between = between.filter(|_| pixels.is_empty());
                        for pixel in pixels.iter().copied().chain(between) {
                            let [of_inside, of_outside] = likelihoods(pixel);
                            let wanted = of_inside > of_outside;
                            let what = format!("{regions:?}, {i} in {j}, {pixel}: {range:?}");
                            assert_eq!(is_in_range(range, pixel), wanted, "{what}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn pixels_that_are_not_finite_do_not_count() {
        let measure = Measure::new(Regions::ChanVese, PixelType::F32, [0.0, 8.0]).expect("good pixels");
        let pixels = [f32::NAN, 8.0, 0.0, f32::INFINITY, f32::NEG_INFINITY, 8.0];
        let mut sums = [RegionSums::default(); 2];
        add_pixels(&mut sums, &measure.levels, &[-1.0, -1.0, 0.0, 2.0, -3.0, 3.0], &pixels, |pixel| pixel);
        let highest = REGION_LEVELS as u64 - 1;
        let wanted = |count| RegionSums { count, sum: highest, squares: u128::from(highest * highest) };
        assert_eq!(sums, [wanted(1), wanted(2)]);
    }

    #[test]
    fn a_side_without_pixels_gives_no_range() {
        for regions in KINDS {
            let measure = Measure::new(regions, PixelType::U16, [0.0, 500.0]).expect("pixels from 0 on");
            let some = sums(&measure, &[3.0, 500.0]);
            assert_eq!(measure.range([some, RegionSums::default()]), None);
            assert_eq!(measure.range([RegionSums::default(), some]), None);
        }
    }

    #[test]
    fn pixels_below_0_are_refused_where_the_distribution_has_none() {
        for regions in KINDS {
            let refused = Measure::new(regions, PixelType::F32, [-1.0, 1.0]).is_err();
            assert_eq!(
                refused,
                matches!(regions, Regions::Poisson | Regions::Gamma | Regions::Rayleigh),
                "{regions:?}"
            );
        }
    }
}
