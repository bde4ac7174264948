//! The plan of a level set: its parameters after every check, with each automatic one computed. Every device uses it.

use super::parameters::{self, LARGEST_PIXEL};
use super::types::Constants;
use super::{Params, TargetRange, Variant};
use crate::device::kernels::level_set::{RSQRT_SCALE, StoppingCriterion, TILE, TILE_SLICE};
use crate::error::{Error, Result, finite};
use crate::image::{Dimensions, Image};
use ndarray::ArrayView3;
use pulp::Arch;
use rayon::prelude::*;

/// The sides of a tile of a volume along x, y, z.
pub(super) const VOLUME_TILE: [usize; 3] = [TILE; 3];
/// The sides of a tile of a slice along x, y, z.
pub(super) const SLICE_TILE: [usize; 3] = [TILE_SLICE, TILE_SLICE, 1];

/// The half width of the narrow band, in units of the largest spacing. A tile is active, and all its voxels are
/// updated, while φ changes at a voxel of the band that is in the tile or within `BAND_REACH` voxels of it.
const BAND_WIDTH: f64 = 2.0;
/// The change of φ, in units of the smallest spacing, above which a tile stays active.
const ACTIVITY_THRESHOLD: f64 = 1e-5;
/// The bound of |φ| that a caller writes, in units of the largest spacing. Squares of differences are then far from an
/// overflow.
const LARGEST_PHI: f64 = 65536.0;
/// The steps of one reinitialisation. Each carries the distance half a voxel further from the front.
pub(super) const REINITIALISATION_STEPS: u32 = 4;
/// The bounds of α·Δt, unless it is 0: it is multiplied by differences of pixels, which may be large, so it must keep
/// its digits in f32, and so must the quarter of it that CUDA computes with. (Other products with Δt may become
/// subnormal: that is far below a digit of φ.)
pub(super) const INTENSITY_GAIN_BOUNDS: [f64; 2] = [4.0 * f32::MIN_POSITIVE as f64, f32::MAX as f64];
/// The bounds of the automatic check interval.
const CHECK_INTERVAL_BOUNDS: [f64; 2] = [18.0, 1000.0];

/// The statistics of the image that the automatic parameters depend on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ImageStatistics {
    /// The number of voxels inside the initial mask.
    pub inside: u64,
    /// The number of finite pixels inside the initial mask, their mean and their standard deviation.
    pub sample: u64,
    pub mean: f64,
    pub deviation: f64,
    /// The smallest and the largest finite pixel of the whole image; both are 0 where there is none.
    pub low: f64,
    pub high: f64,
}

/// Everything that does not change while a front moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    pub shape: [usize; 3],
    pub dimensions: Dimensions,
    pub spacing: [f64; 3],
    pub range: TargetRange,
    pub alpha: f64,
    pub time_step: f64,
    pub time_step_limit: f64,
    pub criterion: StoppingCriterion,
    pub reinitialise_every: u32,
    /// The variant, which is never `Default`.
    pub variant: Variant,
    pub constants: Constants,
    /// |φ| where the mask has no boundary: the diagonal of the image, in the spacing's unit.
    pub far: f32,
    /// The bound of |φ| that a caller writes.
    pub largest_phi: f32,
    /// The number of voxels inside the initial mask.
    pub inside: u64,
}

impl ImageStatistics {
    /// The range of no pixels.
    pub(super) const NO_RANGE: [f64; 2] = [f64::INFINITY, f64::NEG_INFINITY];

    /// Returns the statistics of an image with the counts of `inside` and `sample`, the range of its pixels (`NO_RANGE` if
    /// there is none), and the sum of the sample. The deviation is not yet known.
    pub(super) fn new([inside, sample]: [u64; 2], [low, high]: [f64; 2], sum: f64) -> Self {
        let [low, high] = if low <= high { [low, high] } else { [0.0, 0.0] };
        let mean = if sample == 0 { 0.0 } else { sum / sample as f64 };
        Self { inside, sample, mean, deviation: 0.0, low, high }
    }

    /// Returns the same statistics, with the deviation that the sum of the squared differences from the mean gives.
    pub(super) fn with_squares(self, squares: f64) -> Self {
        Self { deviation: if self.sample == 0 { 0.0 } else { (squares / self.sample as f64).sqrt() }, ..self }
    }
}

impl Params {
    /// Checks the parameters as far as this is possible without the pixels.
    pub(super) fn check(&self) -> Result<()> {
        let used = self.used_spacing();
        for (axis, &spacing) in ["x", "y", "z"].into_iter().zip(used) {
            let name = format!("spacing along {axis}");
            let spacing = finite(&name, spacing)?;
            if !(1e-9..=1e9).contains(&spacing) {
                return Err(Error::argument(format!(
                    "{name} must be from 1e-9 to 1e9, but it is {spacing}; choose another unit of length"
                )));
            }
        }
        let [low, high] = extremes(used);
        if high / low > 1000.0 {
            return Err(Error::argument(format!(
                "the largest spacing must be at most 1000 times the smallest, but they are {high} and {low}"
            )));
        }
        if let Some(TargetRange { target, epsilon }) = self.range {
            parameters::TARGET.check(target)?;
            parameters::EPSILON.check_given(epsilon)?;
        }
        if let Some(alpha) = self.alpha {
            parameters::ALPHA.check_given(alpha)?;
        }
        if let Some(step) = self.time_step {
            parameters::TIME_STEP.check_given(step)?;
        }
        parameters::CFL.check(self.cfl)?;
        self.criterion().map(|_| ())
    }

    /// Returns the spacings that are used: in slices those along x and y.
    fn used_spacing(&self) -> &[f64] {
        &self.spacing[..if self.dimensions == Dimensions::Volume { 3 } else { 2 }]
    }

    /// Computes the automatic parameters. The given ones have been checked.
    pub(super) fn resolve(&self, shape: [usize; 3], statistics: &ImageStatistics) -> Result<Plan> {
        let volume = self.dimensions == Dimensions::Volume;
        let used = self.used_spacing();
        let [h_min, h_max] = extremes(used);
        // In slices nothing depends on the spacing along z. It may be anything, even NaN, and is not used beyond this
        // line.
        let spacing = if volume { self.spacing } else { [self.spacing[0], self.spacing[1], 1.0] };
        let range = self.range.map_or_else(|| automatic_range(statistics), Ok)?;
        let TargetRange { target, epsilon } = range;
        if statistics.high.max(-statistics.low) > LARGEST_PIXEL {
            return Err(Error::argument(format!(
                "the image's pixels must be within ±{LARGEST_PIXEL:e}, but they are from {:e} to {:e}; scale them",
                statistics.low, statistics.high
            )));
        }
        let alpha = self.alpha.unwrap_or_else(|| (1.0 + epsilon * h_min).recip());
        let inverse_squares: f64 = used.iter().map(|h| (h * h).recip()).sum();
        let max_divergence = (2.0 * inverse_squares).sqrt();
        let [max_image_term, bounded_image_term] = image_term_bounds(statistics, range, alpha, max_divergence / 2.0);
        let rate = bounded_image_term * alpha * inverse_squares.sqrt() + (1.0 - alpha) * inverse_squares;
        let limit = rate.recip();
        let time_step = match self.time_step {
            None => self.cfl * limit,
            Some(step) if step <= limit => step,
            Some(step) => {
                return Err(Error::argument(format!(
                    "time_step must be at most {limit:e}, the stable limit for this image and these parameters, but it \
                     is {step}; lower it, or leave it automatic"
                )));
            }
        };
        let gain = time_step * alpha;
        check_gain(alpha, time_step)?;
        let check_interval = self.check_interval.unwrap_or_else(|| {
            let speed = alpha * epsilon + (1.0 - alpha) / h_min;
            let interval =
                (h_min / (speed * time_step)).ceil().clamp(CHECK_INTERVAL_BOUNDS[0], CHECK_INTERVAL_BOUNDS[1]) as u32;
            // An interval holds whole periods of the reinitialisation, with which the front may oscillate.
            interval.checked_next_multiple_of(self.reinitialise_every.clamp(1, 1000)).unwrap_or(interval)
        });
        let diagonal = shape.iter().zip(used).map(|(n, h)| (*n as f64 * h).powi(2)).sum::<f64>().sqrt();
        let constants = Constants {
            inverse_spacing: spacing.map(|h| h.recip() as f32),
            intensity_centre: target as f32,
            intensity_gain: gain as f32,
            intensity_offset: (-gain * epsilon) as f32,
            max_divergence: (max_divergence / RSQRT_SCALE) as f32,
            curvature_weight: (time_step * (1.0 - alpha) / 2.0 * RSQRT_SCALE) as f32,
            max_deviation: (epsilon + max_image_term) as f32,
            max_inward_term: (gain * bounded_image_term) as f32,
            max_spacing: h_max as f32,
            band_width: (BAND_WIDTH * h_max) as f32,
            activity_threshold: (ACTIVITY_THRESHOLD * h_min) as f32,
            rms_scale: h_min.recip() as f32,
            reinit_time_step: (h_min / 2.0) as f32,
            volume,
        };
        Ok(Plan {
            shape,
            dimensions: self.dimensions,
            spacing,
            range,
            alpha,
            time_step,
            time_step_limit: limit,
            criterion: StoppingCriterion { check_interval, ..self.criterion()? },
            reinitialise_every: self.reinitialise_every,
            variant: if self.variant == Variant::Default { Variant::Band } else { self.variant },
            constants,
            far: diagonal as f32,
            largest_phi: (LARGEST_PHI * h_max) as f32,
            inside: statistics.inside,
        })
    }
}

impl Plan {
    /// Returns the sides of a tile along x, y, z.
    pub(super) fn tile(&self) -> [usize; 3] {
        tile(self.dimensions)
    }

    /// Returns the number of tiles along x, y, z.
    pub(super) fn tiles(&self) -> [usize; 3] {
        tiles(self.shape, self.dimensions)
    }

    /// Tells whether φ is reinitialised after the iteration with this number.
    pub(super) fn reinitialises_after(&self, iteration: u64) -> bool {
        self.reinitialise_every > 0 && iteration.is_multiple_of(u64::from(self.reinitialise_every))
    }

    pub(super) fn voxels(&self) -> usize {
        self.shape.iter().product()
    }
}

/// Returns the sides of a tile along x, y, z.
fn tile(dimensions: Dimensions) -> [usize; 3] {
    if dimensions == Dimensions::Volume { VOLUME_TILE } else { SLICE_TILE }
}

/// Returns the number of tiles along x, y, z.
pub(super) fn tiles(shape: [usize; 3], dimensions: Dimensions) -> [usize; 3] {
    let tile = tile(dimensions);
    std::array::from_fn(|axis| shape[axis].div_ceil(tile[axis]))
}

/// Returns the largest |D(I)| of the image's pixels, and the bound of |D| for voxels that approach the front where H is
/// at most `curvature`. The bound is the largest |D(I)|, or the least with which the sign of the speed is everywhere
/// that of the unbounded D, if that is smaller. If α·|D| exceeds the largest (1 − α)·H, a larger |D| changes how fast
/// the front recedes but not the place where it rests, and it would shorten Δt for all voxels.
fn image_term_bounds(statistics: &ImageStatistics, range: TargetRange, alpha: f64, curvature: f64) -> [f64; 2] {
    let TargetRange { target, epsilon } = range;
    let of_image = epsilon.max((statistics.low - target).abs().max((statistics.high - target).abs()) - epsilon);
    let sign_keeping = epsilon.max((1.0 - alpha) / alpha * curvature);
    [of_image, of_image.min(sign_keeping)]
}

/// Refuses an α·Δt that is not 0 and loses digits in the numbers of the kernels.
fn check_gain(alpha: f64, time_step: f64) -> Result<()> {
    let ([least, most], gain) = (INTENSITY_GAIN_BOUNDS, alpha * time_step);
    if alpha == 0.0 || (least..=most).contains(&gain) {
        return Ok(());
    }
    let advice = if gain < least {
        "raise time_step or cfl, scale the pixels down, choose a smaller unit of length, or set alpha to 0"
    } else {
        "lower time_step or cfl, scale the pixels up, or choose a larger unit of length"
    };
    Err(Error::argument(format!(
        "alpha times time_step must be 0 or from {least:.3e} to {most:.3e}, what 32-bit numbers hold with all their \
         digits, but it is {gain:e} (alpha {alpha}, time_step {time_step:e}); {advice}"
    )))
}

fn extremes(spacing: &[f64]) -> [f64; 2] {
    let low = spacing.iter().copied().fold(f64::INFINITY, f64::min);
    [low, spacing.iter().copied().fold(0.0, f64::max)]
}

/// Returns the mean and twice the standard deviation of the pixels inside the mask. If all are equal (twice the
/// deviation is at most 1e-6 of the mean), ε is 1/1000 of the image's range, and if that is 0 too, 1/1000 of the mean
/// (or 1).
fn automatic_range(statistics: &ImageStatistics) -> Result<TargetRange> {
    if statistics.sample == 0 {
        let what = if statistics.inside == 0 { "the mask is empty" } else { "no pixel inside the mask is finite" };
        return Err(Error::argument(format!(
            "the automatic range (target and epsilon) is measured inside the initial mask, but {what}; give target and \
             epsilon, or another mask"
        )));
    }
    let spread =
        [2.0 * statistics.deviation, (statistics.high - statistics.low) / 1000.0, statistics.mean.abs() / 1000.0, 1.0];
    let tiny = statistics.mean.abs() * 1e-6;
    let epsilon = spread.into_iter().find(|epsilon| *epsilon > tiny).unwrap_or(1.0);
    Ok(TargetRange { target: statistics.mean, epsilon })
}

/// Computes the statistics of images in host memory, on the threads of the current pool. The result does not depend on
/// their number. The deviation takes a second look at the pixels, and is 0 where it is not wanted.
pub(super) fn image_statistics(input: &Image<'_>, mask: &Image<'_>, want_deviation: bool) -> ImageStatistics {
    match input {
        Image::U8(view) => measure_pixels(*view, mask, want_deviation),
        Image::U16(view) => measure_pixels(*view, mask, want_deviation),
        Image::F32(view) => measure_pixels(*view, mask, want_deviation),
        Image::Device(_) => unreachable!("device images are measured on the device"),
    }
}

fn measure_pixels<T: Pixel>(input: ArrayView3<'_, T>, mask: &Image<'_>, want_deviation: bool) -> ImageStatistics {
    match mask {
        Image::U8(view) => measure_inside(input, *view, want_deviation),
        Image::U16(view) => measure_inside(input, *view, want_deviation),
        Image::F32(view) => measure_inside(input, *view, want_deviation),
        Image::Device(_) => unreachable!("device images are measured on the device"),
    }
}

fn measure_inside<T: Pixel, M: Mark>(
    input: ArrayView3<'_, T>,
    mask: ArrayView3<'_, M>,
    want_deviation: bool,
) -> ImageStatistics {
    let (depth, height, _) = input.dim();
    // The sums are computed by rows, and the rows' sums are added in order.
    let rows: Vec<Row> = (0..depth * height)
        .into_par_iter()
        .with_min_len(16)
        .map(|row| with_row(input, mask, row, T::measure))
        .collect();
    let statistics = ImageStatistics::new(
        [rows.iter().map(|row| row.inside).sum(), rows.iter().map(|row| row.sample).sum()],
        rows.iter()
            .map(|row| row.range)
            .reduce(|[a, b], [c, d]| [a.min(c), b.max(d)])
            .unwrap_or(ImageStatistics::NO_RANGE),
        rows.iter().map(|row| row.sum).sum(),
    );
    if !want_deviation {
        return statistics;
    }
    let squares: Vec<f64> = rows
        .into_par_iter()
        .enumerate()
        .with_min_len(16)
        .map(|(index, row)| {
            let squares = |pixels: &[T], marks: &[M]| squares_of(pixels, marks, statistics.mean);
            if row.sample == 0 { 0.0 } else { with_row(input, mask, index, squares) }
        })
        .collect();
    statistics.with_squares(squares.iter().sum())
}

/// Calls `work` with a row of the image, and the same row of the mask.
fn with_row<T: Pixel, M: Mark, R>(
    input: ArrayView3<'_, T>,
    mask: ArrayView3<'_, M>,
    row: usize,
    work: impl FnOnce(&[T], &[M]) -> R,
) -> R {
    let (z, y) = (row / input.dim().1, row % input.dim().1);
    let (pixels, marks) = (input.slice(ndarray::s![z, y, ..]), mask.slice(ndarray::s![z, y, ..]));
    // Pixels with gaps between them are copied.
    let (pixels, marks) = (pixels.as_standard_layout(), marks.as_standard_layout());
    let (Some(pixels), Some(marks)) = (pixels.as_slice(), marks.as_slice()) else {
        unreachable!("the standard layout has no gaps")
    };
    work(pixels, marks)
}

/// Returns the sum of the squares of the differences from `mean`, of the finite pixels inside.
fn squares_of<T: Pixel, M: Mark>(pixels: &[T], marks: &[M], mean: f64) -> f64 {
    let mut sum = 0.0;
    for (pixel, mark) in pixels.iter().zip(marks) {
        let pixel: f64 = (*pixel).into();
        if mark.is_inside() && pixel.is_finite() {
            sum += (pixel - mean) * (pixel - mean);
        }
    }
    sum
}

/// The results of the first pass for a row.
struct Row {
    inside: u64,
    /// The number and the sum of the finite pixels inside.
    sample: u64,
    sum: f64,
    /// The smallest and the largest finite pixel, inside or not.
    range: [f64; 2],
}

/// A pixel of a mask.
trait Mark: Copy + Into<f64> + Send + Sync {
    #[inline(always)]
    fn is_inside(self) -> bool {
        self.into() > 0.0
    }
}

impl<T: Copy + Into<f64> + Send + Sync> Mark for T {}

/// A pixel of an image.
trait Pixel: Copy + Into<f64> + Send + Sync {
    /// Measures a row of pixels, of which some are inside.
    fn measure<M: Mark>(pixels: &[Self], marks: &[M]) -> Row;
}

macro_rules! integer_pixel {
    ($pixel:ty) => {
        impl Pixel for $pixel {
            fn measure<M: Mark>(pixels: &[Self], marks: &[M]) -> Row {
                /// The largest number of pixels whose sum has 32 bits.
                const PART: usize = 1 << 16;
                // All sums are whole numbers below 2^53, so that in floats they would be the same, in any order.
                Arch::new().dispatch(|| {
                    let [mut inside, mut sum, mut low, mut high] = [0, 0, u64::from(<$pixel>::MAX), 0];
                    for (pixels, marks) in pixels.chunks(PART).zip(marks.chunks(PART)) {
                        let [mut part_inside, mut part_sum] = [0u32; 2];
                        let [mut part_low, mut part_high] = [<$pixel>::MAX, 0];
                        for (pixel, mark) in pixels.iter().zip(marks) {
                            let is_inside = mark.is_inside();
                            part_inside += u32::from(is_inside);
                            part_sum += if is_inside { u32::from(*pixel) } else { 0 };
                            part_low = part_low.min(*pixel);
                            part_high = part_high.max(*pixel);
                        }
                        inside += u64::from(part_inside);
                        sum += u64::from(part_sum);
                        low = low.min(u64::from(part_low));
                        high = high.max(u64::from(part_high));
                    }
                    Row { inside, sample: inside, sum: sum as f64, range: [low, high].map(|pixel| pixel as f64) }
                })
            }
        }
    };
}

integer_pixel!(u8);
integer_pixel!(u16);

impl Pixel for f32 {
    fn measure<M: Mark>(pixels: &[Self], marks: &[M]) -> Row {
        const INFINITY_BITS: i32 = f32::INFINITY.to_bits() as i32;
        let (mut sample, mut sum) = (0, 0.0);
        let (inside, range) = Arch::new().dispatch(|| {
            let inside = marks.iter().map(|mark| u64::from(mark.is_inside())).sum();
            // Integers that sort as the floats do, unlike these in one instruction each.
            let [mut low, mut high] = [i32::MAX, i32::MIN];
            for pixel in pixels {
                let bits = pixel.to_bits() as i32;
                let key = bits ^ (bits >> 31 & i32::MAX);
                // This is `is_finite` without a comparison of floats, in which valgrind takes NaN for a number.
                let finite = bits & i32::MAX < INFINITY_BITS;
                low = low.min(if finite { key } else { i32::MAX });
                high = high.max(if finite { key } else { i32::MIN });
            }
            let pixel = |key: i32| f64::from(Self::from_bits((key ^ (key >> 31 & i32::MAX)) as u32));
            (inside, if low <= high { [low, high].map(pixel) } else { ImageStatistics::NO_RANGE })
        });
        if inside > 0 {
            for (pixel, mark) in pixels.iter().zip(marks) {
                if mark.is_inside() && pixel.is_finite() {
                    sample += 1;
                    sum += f64::from(*pixel);
                }
            }
        }
        Row { inside, sample, sum, range }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array3;

    /// Returns the statistics by their definition: the sums of rows, in the order of x, are added in their order.
    fn by_definition(input: &Array3<f64>, mask: &Array3<u8>) -> ImageStatistics {
        let sum = |weigh: &dyn Fn(f64) -> f64| -> f64 {
            let row = |(pixels, marks): (ndarray::ArrayView1<'_, f64>, ndarray::ArrayView1<'_, u8>)| -> f64 {
                let sample = pixels.iter().zip(marks).filter(|(pixel, mark)| pixel.is_finite() && **mark > 0);
                sample.fold(0.0, |sum, (pixel, _)| sum + weigh(*pixel))
            };
            input.rows().into_iter().zip(mask.rows()).map(row).fold(0.0, |sum, row| sum + row)
        };
        let inside = mask.iter().filter(|mark| **mark > 0).count() as u64;
        let finite = || input.iter().copied().filter(|pixel| pixel.is_finite());
        let [low, high] = [finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max)];
        let sample = sum(&|_| 1.0);
        let mean = sum(&|pixel| pixel) / sample;
        let deviation = (sum(&|pixel| (pixel - mean) * (pixel - mean)) / sample).sqrt();
        ImageStatistics { inside, sample: sample as u64, mean, deviation, low, high }
    }

    #[test]
    fn statistics_are_their_definition() {
        let mut seed = 1u32;
        for dim in [(1, 1, 1), (2, 3, 70), (1, 1, 140_000)] {
            let words = Array3::from_shape_simple_fn(dim, || {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                65535 - (seed >> 18) as u16
            });
            let floats = words.mapv(|n| match n % 32 {
                0 => f32::NAN,
                1 => f32::NEG_INFINITY,
                _ => (f32::from(n) - 60_000.0) / 777.0,
            });
            let bytes = words.mapv(|n| n as u8);
            let mask = Array3::from_shape_fn(dim, |(z, y, x)| u8::from((x / 5 + y + z) % 3 < 2));
            assert_eq!(measure_inside(bytes.view(), mask.view(), true), by_definition(&bytes.mapv(f64::from), &mask));
            assert_eq!(measure_inside(words.view(), mask.view(), true), by_definition(&words.mapv(f64::from), &mask));
            assert_eq!(measure_inside(floats.view(), mask.view(), true), by_definition(&floats.mapv(f64::from), &mask));
        }
    }
}
