//! The parameters of a level set, checked and resolved: what every device computes with.

use super::parameters::{self, LARGEST_PIXEL};
use super::scalar::ROOT_UNIT;
use super::{Params, TargetRange, Variant};
use crate::error::{Error, Result, finite};
use crate::image::{Dimensions, Image};
use ndarray::ArrayView3;
use rayon::prelude::*;

/// Side of a tile of the band along x, y, z.
pub(super) const VOLUME_TILE: [usize; 3] = [8, 8, 8];
/// Likewise of a slice.
pub(super) const SLICE_TILE: [usize; 3] = [16, 16, 1];

/// The band keeps a tile up to date while φ within so many of the largest spacing changes in it or beside it.
const BAND_WIDTH: f64 = 3.0;
/// A change of φ above this share of the smallest spacing keeps a tile awake.
const WAKING_CHANGE: f64 = 1e-5;
/// φ from outside is bounded by so many of the largest spacing; squares of differences are then far from an overflow.
const LARGEST_PHI: f64 = 65536.0;
/// Iterations of one reinitialisation. Each carries the distance half a voxel further from the front.
pub(super) const REINITIALISING_STEPS: u32 = 6;
/// The bounds of α·Δt, unless it is 0: it is multiplied by differences of pixels, which may be large, so it must keep
/// its digits in f32, and so must the quarter of it that CUDA computes with. (What else Δt is a factor of may become
/// subnormal: that is far below a digit of φ.)
pub(super) const GAINS: [f64; 2] = [4.0 * f32::MIN_POSITIVE as f64, f32::MAX as f64];
/// The bounds of the automatic check interval.
const CHECK_INTERVALS: [f64; 2] = [80.0, 1000.0];

/// What is known of the pixels before anything moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Survey {
    /// Voxels inside the initial mask.
    pub inside: u64,
    /// Finite pixels inside the initial mask, their mean and standard deviation.
    pub sample: u64,
    pub mean: f64,
    pub deviation: f64,
    /// The smallest and the largest finite pixel of the whole image; 0 and 0 when there is none.
    pub low: f64,
    pub high: f64,
}

/// The constants of the definition in `scalar.rs`, in f32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Constants {
    /// 1/h along x, y, z.
    pub step: [f32; 3],
    /// T.
    pub target: f32,
    /// Δt·α and −Δt·α·ε: −Δt·α·D(I) = |I − T|·gain + offset.
    pub gain: f32,
    pub offset: f32,
    /// Δt·(1 − α)/2, times [`ROOT_UNIT`], because normals are longer.
    pub bend: f32,
    /// The bound of the normals' divergence, over [`ROOT_UNIT`].
    pub sharpest: f32,
    /// The largest |I − T| of finite pixels; others count as this far from T.
    pub farthest: f32,
    /// The bound of −Δt·α·D(I) where φ approaches 0, see [`largest_terms`].
    pub bound: f32,
    /// |φ| up to this (the largest spacing) is near the front.
    pub near: f32,
    /// |φ| up to this is within the band.
    pub band: f32,
    /// A change of φ above this keeps a tile awake.
    pub waking: f32,
    /// 1 / the smallest spacing.
    pub rms_scale: f32,
    /// Half the smallest spacing: the step of a reinitialisation.
    pub restep: f32,
    /// 3D; else slices.
    pub volume: bool,
}

/// Everything that does not change while a surface evolves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    pub shape: [usize; 3],
    pub dimensions: Dimensions,
    pub spacing: [f64; 3],
    pub range: TargetRange,
    pub alpha: f64,
    pub time_step: f64,
    pub time_step_limit: f64,
    pub check_interval: u32,
    pub change_tolerance: f64,
    pub rms_tolerance: f64,
    pub reinitialise_every: u32,
    /// Never `Default`.
    pub variant: Variant,
    pub constants: Constants,
    /// |φ| where the mask has no boundary: the diagonal of the image, in the spacing's unit.
    pub far: f32,
    /// The bound of φ that comes from outside.
    pub largest_phi: f32,
    /// Voxels inside the initial mask.
    pub inside: u64,
}

impl Params {
    /// What can be said without the pixels.
    pub(super) fn check(&self) -> Result<()> {
        let counted = self.counted_spacing();
        for (axis, &spacing) in ["x", "y", "z"].into_iter().zip(counted) {
            let name = format!("spacing along {axis}");
            let spacing = finite(&name, spacing)?;
            if !(1e-9..=1e9).contains(&spacing) {
                return Err(Error::argument(format!(
                    "{name} must be from 1e-9 to 1e9, but it is {spacing}; choose another unit of length"
                )));
            }
        }
        let [low, high] = extremes(counted);
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
        parameters::CHANGE_TOLERANCE.check(self.change_tolerance)?;
        parameters::RMS_TOLERANCE.check(self.rms_tolerance)?;
        self.check_interval.map_or(Ok(()), |interval| parameters::CHECK_INTERVAL.check_given(f64::from(interval)))
    }

    /// The spacings that count: those of slices are along x and y.
    fn counted_spacing(&self) -> &[f64] {
        &self.spacing[..if self.dimensions == Dimensions::Volume { 3 } else { 2 }]
    }

    /// Resolves what is automatic. The parameters are checked.
    pub(super) fn resolve(&self, shape: [usize; 3], survey: &Survey) -> Result<Plan> {
        let volume = self.dimensions == Dimensions::Volume;
        let counted = self.counted_spacing();
        let [h_min, h_max] = extremes(counted);
        // Nothing depends on the spacing along z in slices. It may be anything, NaN too, and does not go further than this.
        let spacing = if volume { self.spacing } else { [self.spacing[0], self.spacing[1], 1.0] };
        let range = self.range.map_or_else(|| automatic_range(survey), Ok)?;
        let TargetRange { target, epsilon } = range;
        if survey.high.max(-survey.low) > LARGEST_PIXEL {
            return Err(Error::argument(format!(
                "the image's pixels must be within ±{LARGEST_PIXEL:e}, but they are from {:e} to {:e}; scale them",
                survey.low, survey.high
            )));
        }
        let alpha = self.alpha.unwrap_or_else(|| (1.0 + epsilon * h_min).recip());
        let inverse_squares: f64 = counted.iter().map(|h| (h * h).recip()).sum();
        let sharpest = (2.0 * inverse_squares).sqrt();
        let [of_image, largest] = largest_terms(survey, range, alpha, sharpest / 2.0);
        let rate = largest * alpha * inverse_squares.sqrt() + (1.0 - alpha) * inverse_squares;
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
            let interval = (h_min / (speed * time_step)).ceil().clamp(CHECK_INTERVALS[0], CHECK_INTERVALS[1]) as u32;
            // An interval holds whole periods of the reinitialisation, with which the front may oscillate.
            interval.checked_next_multiple_of(self.reinitialise_every.clamp(1, 1000)).unwrap_or(interval)
        });
        let diagonal = shape.iter().zip(counted).map(|(n, h)| (*n as f64 * h).powi(2)).sum::<f64>().sqrt();
        let constants = Constants {
            step: spacing.map(|h| h.recip() as f32),
            target: target as f32,
            gain: gain as f32,
            offset: (-gain * epsilon) as f32,
            sharpest: (sharpest / ROOT_UNIT) as f32,
            bend: (time_step * (1.0 - alpha) / 2.0 * ROOT_UNIT) as f32,
            farthest: (epsilon + of_image) as f32,
            bound: (gain * largest) as f32,
            near: h_max as f32,
            band: (BAND_WIDTH * h_max) as f32,
            waking: (WAKING_CHANGE * h_min) as f32,
            rms_scale: h_min.recip() as f32,
            restep: (h_min / 2.0) as f32,
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
            check_interval,
            change_tolerance: self.change_tolerance,
            rms_tolerance: self.rms_tolerance,
            reinitialise_every: self.reinitialise_every,
            variant: if self.variant == Variant::Default { Variant::Band } else { self.variant },
            constants,
            far: diagonal as f32,
            largest_phi: (LARGEST_PHI * h_max) as f32,
            inside: survey.inside,
        })
    }
}

impl Plan {
    /// Side of a tile along x, y, z.
    pub(super) fn tile(&self) -> [usize; 3] {
        if self.constants.volume { VOLUME_TILE } else { SLICE_TILE }
    }

    /// Tiles along x, y, z.
    pub(super) fn tiles(&self) -> [usize; 3] {
        let tile = self.tile();
        std::array::from_fn(|axis| self.shape[axis].div_ceil(tile[axis]))
    }

    pub(super) fn voxels(&self) -> usize {
        self.shape.iter().product()
    }
}

/// The largest |D(I)| of the image's pixels, and the bound of it with which voxels approach the front where H is at most
/// `curvature`: that, or the least with which the sign of the speed is everywhere that of the unbounded D, if that is smaller.
/// Where α·|D| exceeds all that (1 − α)·H can be, a larger |D| changes how fast the front recedes but not where it rests, and
/// it would shorten Δt for all voxels.
fn largest_terms(survey: &Survey, range: TargetRange, alpha: f64, curvature: f64) -> [f64; 2] {
    let TargetRange { target, epsilon } = range;
    let of_image = epsilon.max((survey.low - target).abs().max((survey.high - target).abs()) - epsilon);
    let decisive = epsilon.max((1.0 - alpha) / alpha * curvature);
    [of_image, of_image.min(decisive)]
}

/// Refuses an α·Δt that is not 0 and has not all its digits in the kernels' numbers.
fn check_gain(alpha: f64, time_step: f64) -> Result<()> {
    let ([least, most], gain) = (GAINS, alpha * time_step);
    if alpha == 0.0 || (least..=most).contains(&gain) {
        return Ok(());
    }
    let advice = if gain < least {
        "raise time_step or cfl, scale the pixels down, choose a smaller unit of length, or set alpha to 0"
    } else {
        "lower time_step or cfl, scale the pixels up, or choose a larger unit of length"
    };
    Err(Error::argument(format!(
        "alpha times time_step must be 0 or from {least:.3e} to {most:.3e}, what 32-bit numbers hold with all their digits, \
         but it is {gain:e} (alpha {alpha}, time_step {time_step:e}); {advice}"
    )))
}

fn extremes(spacing: &[f64]) -> [f64; 2] {
    let low = spacing.iter().copied().fold(f64::INFINITY, f64::min);
    [low, spacing.iter().copied().fold(0.0, f64::max)]
}

/// Mean and twice the standard deviation of the pixels inside the mask; where all are equal, 1/1000 of the image's range
/// stands for ε, and where that is 0 too, 1/1000 of the value itself (or 1).
fn automatic_range(survey: &Survey) -> Result<TargetRange> {
    if survey.sample == 0 {
        let what = if survey.inside == 0 { "the mask is empty" } else { "no pixel inside the mask is finite" };
        return Err(Error::argument(format!(
            "the automatic range (target and epsilon) is measured inside the initial mask, but {what}; give target and \
             epsilon, or another mask"
        )));
    }
    let spread = [2.0 * survey.deviation, (survey.high - survey.low) / 1000.0, survey.mean.abs() / 1000.0, 1.0];
    let tiny = survey.mean.abs() * 1e-6;
    let epsilon = spread.into_iter().find(|epsilon| *epsilon > tiny).unwrap_or(1.0);
    Ok(TargetRange { target: survey.mean, epsilon })
}

/// Measures images in host memory, on the threads of the current pool. The result does not depend on their number.
pub(super) fn survey(input: &Image<'_>, mask: &Image<'_>) -> Survey {
    match input {
        Image::U8(view) => survey_pixels(*view, mask),
        Image::U16(view) => survey_pixels(*view, mask),
        Image::F32(view) => survey_pixels(*view, mask),
        Image::Device(_) => unreachable!("device images are measured on the device"),
    }
}

fn survey_pixels<T: Copy + Into<f64> + Send + Sync>(input: ArrayView3<'_, T>, mask: &Image<'_>) -> Survey {
    match mask {
        Image::U8(view) => survey_inside(input, *view),
        Image::U16(view) => survey_inside(input, *view),
        Image::F32(view) => survey_inside(input, *view),
        Image::Device(_) => unreachable!("device images are measured on the device"),
    }
}

fn survey_inside<T, M>(input: ArrayView3<'_, T>, mask: ArrayView3<'_, M>) -> Survey
where
    T: Copy + Into<f64> + Send + Sync,
    M: Copy + Into<f64> + Send + Sync,
{
    let (depth, height, _) = input.dim();
    // By rows, whose sums are added in order.
    let rows = |weigh: &(dyn Fn(f64) -> f64 + Sync)| -> Vec<(u64, u64, f64, [f64; 2])> {
        (0..depth * height)
            .into_par_iter()
            .with_min_len(16)
            .map(|row| {
                let (z, y) = (row / height, row % height);
                let pixels = input.slice(ndarray::s![z, y, ..]);
                let marks = mask.slice(ndarray::s![z, y, ..]);
                let mut found = (0, 0, 0.0, [f64::INFINITY, f64::NEG_INFINITY]);
                for (pixel, mark) in pixels.iter().zip(marks) {
                    let (pixel, mark): (f64, f64) = ((*pixel).into(), (*mark).into());
                    let inside = mark > 0.0;
                    found.0 += u64::from(inside);
                    if pixel.is_finite() {
                        found.3 = [found.3[0].min(pixel), found.3[1].max(pixel)];
                        if inside {
                            found.1 += 1;
                            found.2 += weigh(pixel);
                        }
                    }
                }
                found
            })
            .collect()
    };
    let first = rows(&|pixel| pixel);
    let inside = first.iter().map(|row| row.0).sum();
    let sample: u64 = first.iter().map(|row| row.1).sum();
    let low = first.iter().map(|row| row.3[0]).fold(f64::INFINITY, f64::min);
    let high = first.iter().map(|row| row.3[1]).fold(f64::NEG_INFINITY, f64::max);
    let [low, high] = if low <= high { [low, high] } else { [0.0, 0.0] };
    if sample == 0 {
        return Survey { inside, sample, mean: 0.0, deviation: 0.0, low, high };
    }
    let mean = first.iter().map(|row| row.2).sum::<f64>() / sample as f64;
    let squares: f64 = rows(&|pixel| (pixel - mean) * (pixel - mean)).iter().map(|row| row.2).sum();
    Survey { inside, sample, mean, deviation: (squares / sample as f64).sqrt(), low, high }
}
