//! The plan of a level set: its parameters after every check, with each automatic one computed. Every device uses it.

use super::intensities::Intensities;
use super::parameters::{self, LARGEST_PIXEL};
use super::types::Constants;
use super::{Params, Side, TargetRange, Variant};
use crate::device::kernels::level_set::{RSQRT_SCALE, StoppingCriterion, TILE, TILE_SLICE};
use crate::error::{Error, Result, number};
use crate::image::{Dimensions, check_spacing_within, smallest_and_largest};

/// The sides of a tile of a volume along x, y, z.
pub(super) const VOLUME_TILE: [usize; 3] = [TILE; 3];
/// The sides of a tile of a slice along x, y, z.
pub(super) const SLICE_TILE: [usize; 3] = [TILE_SLICE, TILE_SLICE, 1];

/// The half width of the narrow band, in units of the largest spacing. A tile is active, and all its voxels are
/// updated, while φ changes at a voxel of the band that is in the tile or within `BAND_REACH` voxels of it.
const BAND_WIDTH: f64 = 2.0;
/// The change of φ, in units of the smallest spacing, above which a tile stays active.
const ACTIVITY_THRESHOLD: f64 = 1e-5;
/// The bound of |φ| that a caller writes, and of the change of φ by the image term in one iteration, in units of the
/// largest spacing. It keeps squares of differences far from an overflow.
const LARGEST_PHI: f64 = 65536.0;
/// The steps of one reinitialisation. Each carries the distance half a voxel further from the front.
pub(super) const REINITIALISATION_STEPS: u32 = 4;
/// The bounds of α·Δt, unless it is 0. It is multiplied by differences of pixels, which may be large, so it must be a
/// normal f32 number, and so must the quarter of it with which CUDA computes. (Other products with Δt may be subnormal;
/// they are then far below the last digit of φ.)
pub(super) const INTENSITY_GAIN_BOUNDS: [f64; 2] = [4.0 * f32::MIN_POSITIVE as f64, f32::MAX as f64];
/// The largest standard deviation of the edges' Gaussian, in units of the smallest spacing.
const MAX_EDGE_SIGMA: f64 = 100.0;
/// With the automatic α between two regions, a deviation from the limit by this many standard deviations of the noise
/// balances the curvature of a feature of one voxel. A larger number suppresses single voxels better, but also erodes small
/// objects more.
pub(super) const NOISE_BALANCE: f64 = 1.5;
/// The bounds of the automatic check interval.
const CHECK_INTERVAL_BOUNDS: [f64; 2] = [12.0, 1000.0];

/// Everything that stays the same while a front moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    pub shape: [usize; 3],
    pub dimensions: Dimensions,
    pub spacing: [f64; 3],
    pub range: TargetRange,
    pub side: Side,
    pub alpha: f64,
    pub time_step: f64,
    pub time_step_limit: f64,
    pub criterion: StoppingCriterion,
    pub reinitialise_every: u32,
    pub edges: Option<EdgePlan>,
    /// The variant, which is never `Default`.
    pub variant: Variant,
    pub constants: Constants,
    /// |φ| where the mask has no boundary: the diagonal of the image, in the spacing's unit.
    pub far: f32,
    /// The bound of |φ| that a caller writes.
    pub largest_phi: f32,
}

/// The edge term: how edges are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EdgePlan {
    /// The standard deviation of the Gaussian, in the unit of the spacing.
    pub sigma: f64,
    /// The contrast, unless it is measured.
    pub contrast: Option<f64>,
}

impl Params {
    /// Tells whether there is an edge term.
    fn has_edges(&self) -> bool {
        self.edge_weight > 0.0
    }

    /// Tells whether the CUDA kernels read an image with edges. The kernels for second order always do, even without an
    /// edge term.
    pub(super) fn has_edge_pixels(&self) -> bool {
        self.has_edges() || self.upwind_order > 1
    }

    /// Checks the parameters as far as this is possible without the pixels.
    pub(super) fn check(&self) -> Result<()> {
        let used = self.used_spacing();
        check_spacing_within([1e-9, 1e9], used, 1000.0)?;
        let [low, _] = smallest_and_largest(used);
        if let Some(regions) = self.regions
            && (self.range.is_some() || self.side.is_some() || self.time_step.is_some())
        {
            return Err(Error::argument(format!(
                "the range between two regions is measured while the front moves, so with regions {} neither target, \
                 epsilon, side nor time_step may be given; leave them automatic, or set regions to off",
                regions.name()
            )));
        }
        if self.side == Some(Side::Outside) {
            return Err(Error::argument("the side of a range cannot be outside; choose within, above or below"));
        }
        if let Some(TargetRange { target, epsilon }) = self.range {
            parameters::TARGET.check(target)?;
            parameters::EPSILON.check_given(epsilon)?;
        }
        parameters::ALPHA.check_if_given(self.alpha)?;
        parameters::TIME_STEP.check_if_given(self.time_step)?;
        parameters::EDGE_WEIGHT.check(self.edge_weight)?;
        if let Some(sigma) = self.edge_sigma {
            parameters::EDGE_SIGMA.check_given(sigma)?;
            if sigma > MAX_EDGE_SIGMA * low {
                return Err(Error::argument(format!(
                    "edge_sigma must be at most {MAX_EDGE_SIGMA} times the smallest spacing, {}, but it is {}",
                    number(low),
                    number(sigma)
                )));
            }
        }
        parameters::EDGE_CONTRAST.check_if_given(self.edge_contrast)?;
        parameters::CFL.check(self.cfl)?;
        parameters::UPWIND_ORDER.check(f64::from(self.upwind_order))?;
        parameters::PYRAMID_LEVELS.check(f64::from(self.pyramid_levels))?;
        self.criterion().map(|_| ())
    }

    /// Returns the spacings that are used: in slices those along x and y.
    pub(super) fn used_spacing(&self) -> &[f64] {
        &self.spacing[..if self.dimensions == Dimensions::Volume { 3 } else { 2 }]
    }

    /// Computes the automatic parameters. The given ones have been checked.
    pub(super) fn resolve(&self, shape: [usize; 3], intensities: &Intensities) -> Result<Plan> {
        let volume = self.dimensions == Dimensions::Volume;
        let used = self.used_spacing();
        let [h_min, h_max] = smallest_and_largest(used);
        // In slices nothing depends on the spacing along z, which may be anything, even NaN. It is not used beyond this
        // line.
        let spacing = if volume { self.spacing } else { [self.spacing[0], self.spacing[1], 1.0] };
        let Intensities { range, side, balance, extremes: [low, high] } = *intensities;
        let TargetRange { target, epsilon } = range;
        if high.max(-low) > LARGEST_PIXEL {
            return Err(Error::argument(format!(
                "the image's pixels must be within ±{LARGEST_PIXEL:e}, but they are from {low:e} to {high:e}; scale them"
            )));
        }
        // An α of −0 would change the sign of the bound of the image term.
        let alpha = self.alpha.map_or_else(|| (1.0 + balance * h_min).recip(), f64::abs);
        let inverse_squares: f64 = used.iter().map(|h| (h * h).recip()).sum();
        let max_divergence = (2.0 * inverse_squares).sqrt();
        let [max_image_term, bounded_image_term] = image_term_bounds(intensities, alpha, max_divergence / 2.0);
        let edge_weight = self.edge_weight * (1.0 - alpha) / 2.0;
        // A difference of second order may be one and a half times that of first order.
        let upwind = if self.upwind_order == 1 { 1.0 } else { 1.5 };
        let moving = upwind * alpha * bounded_image_term;
        let limit = stable_time_step(moving, 1.0 - alpha, upwind * edge_weight, inverse_squares, h_max);
        let time_step = match self.time_step {
            None => self.cfl * limit,
            Some(step) if step <= limit => step,
            Some(step) => {
                return Err(Error::argument(format!(
                    "time_step must be at most {limit:e}, the stable limit for this image and these parameters, but it \
                     is {}; lower it, or leave it automatic",
                    number(step)
                )));
            }
        };
        let gain = time_step * alpha;
        check_gain(alpha, time_step)?;
        let check_interval = self.check_interval.unwrap_or_else(|| {
            let speed = alpha * epsilon + (1.0 - alpha) / h_min;
            let interval =
                (h_min / (speed * time_step)).ceil().clamp(CHECK_INTERVAL_BOUNDS[0], CHECK_INTERVAL_BOUNDS[1]) as u32;
            // The front may oscillate with the period of the reinitialisation, so an interval holds whole periods.
            interval.checked_next_multiple_of(self.reinitialise_every.clamp(1, 1000)).unwrap_or(interval)
        });
        let diagonal = shape.iter().zip(used).map(|(n, h)| (*n as f64 * h).powi(2)).sum::<f64>().sqrt();
        // If the object has the intensities outside of the range, the image term has the opposite sign. Its outward part is
        // then bounded as its inward part is otherwise.
        let (sign, max_deviation) =
            if side == Side::Outside { (-1.0, bounded_image_term) } else { (1.0, max_image_term) };
        // Nothing else bounds the image term where φ is steep; for pixels far out of the range φ would overflow within a
        // few iterations.
        let max_deviation = max_deviation.min(LARGEST_PHI * h_max / gain);
        let constants = Constants {
            inverse_spacing: spacing.map(|h| h.recip() as f32),
            intensity_centre: target as f32,
            open_side: side.sign(),
            intensity_gain: (sign * gain) as f32,
            intensity_offset: (-sign * gain * epsilon) as f32,
            max_divergence: (max_divergence / RSQRT_SCALE) as f32,
            edge_weight: (time_step * edge_weight) as f32,
            curvature_weight: (time_step * (1.0 - alpha) / 2.0 * RSQRT_SCALE) as f32,
            max_deviation: (epsilon + max_deviation) as f32,
            max_inward_term: (gain * bounded_image_term) as f32,
            max_spacing: h_max as f32,
            band_width: (BAND_WIDTH * h_max) as f32,
            second_order_width: if self.upwind_order == 1 { -1.0 } else { (BAND_WIDTH * h_max) as f32 },
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
            side,
            alpha,
            time_step,
            time_step_limit: limit,
            criterion: StoppingCriterion { check_interval, ..self.criterion()? },
            reinitialise_every: self.reinitialise_every,
            edges: self
                .has_edges()
                .then(|| EdgePlan { sigma: self.edge_sigma.unwrap_or(h_min), contrast: self.edge_contrast }),
            variant: if self.variant == Variant::Default { Variant::Band } else { self.variant },
            constants,
            far: diagonal as f32,
            largest_phi: (LARGEST_PHI * h_max) as f32,
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

    /// Returns the number of all tiles.
    pub(super) fn tile_count(&self) -> u64 {
        self.tiles().into_iter().map(|n| n as u64).product()
    }

    /// Tells whether φ is reinitialised after the iteration with this number.
    pub(super) fn reinitialises_after(&self, iteration: u64) -> bool {
        self.reinitialise_every > 0 && iteration.is_multiple_of(u64::from(self.reinitialise_every))
    }

    pub(super) fn voxels(&self) -> usize {
        self.shape.iter().product()
    }

    /// Tells whether no voxel is inside any more, or none outside: nothing can move then.
    pub(super) fn front_vanished(&self, inside: u64) -> bool {
        inside == 0 || inside == self.voxels() as u64
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

/// Returns the largest |D(I)| of the image's pixels, and the bound of |D| at voxels where φ approaches 0; H is at most
/// `curvature`. The bound is the largest |D(I)| or, if that is smaller, the least bound that keeps the sign of the speed
/// everywhere. Once α·|D| exceeds the largest (1 − α)·H, a larger |D| makes the front recede faster but does not change
/// where it comes to rest, and it would shorten Δt for all voxels.
fn image_term_bounds(intensities: &Intensities, alpha: f64, curvature: f64) -> [f64; 2] {
    let Intensities { range: TargetRange { target, epsilon }, side, extremes: [low, high], .. } = *intensities;
    let farthest = match side {
        Side::Within | Side::Outside => (low - target).abs().max((high - target).abs()),
        Side::Above => target - low,
        Side::Below => high - target,
    };
    let of_image = epsilon.max(farthest - epsilon);
    let sign_keeping = epsilon.max((1.0 - alpha) / alpha * curvature);
    [of_image, of_image.min(sign_keeping)]
}

/// Returns the largest stable Δt, from the largest image term of the speed and the weights of curvature and of edges.
///
/// The worst case is an oscillation of φ from voxel to voxel along every axis, which must not grow. Per unit of time and of
/// amplitude, the terms reduce it by the following amounts, where n is the normal. The upwind gradient:
/// 2·`image_term`·Σ|n_i|/h_i, whose sum is at most √Σh⁻². Curvature, which acts only along the front:
/// 2·`curvature_weight`·Σ(1 − n_i²)/h_i², which is largest where n is along the axis with the largest spacing. (At an
/// extremum of φ, which has no normal, curvature acts along all axes.) The edge term: 2·`edge_weight`·Σ|∂g|/h_i, where a
/// central difference of g, which is between 0 and 1, is at most 1/(2 h_i).
fn stable_time_step(image_term: f64, curvature_weight: f64, edge_weight: f64, inverse_squares: f64, h_max: f64) -> f64 {
    let along_front = inverse_squares - (h_max * h_max).recip();
    let moving = image_term * inverse_squares.sqrt() + curvature_weight * along_front;
    let edges = edge_weight / 2.0 * inverse_squares;
    (moving.max(curvature_weight * inverse_squares) + edges).recip()
}

/// Refuses an α·Δt that would lose digits in f32; 0 is allowed.
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
         digits, but it is {gain:e} (alpha {}, time_step {time_step:e}); {advice}",
        number(alpha)
    )))
}
