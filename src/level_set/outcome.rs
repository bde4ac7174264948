//! The outcome of a level set, the same for every device.
//!
//! A range suits an object if its limits lie between the object's intensities and those around it. This is judged by the
//! share of the object's voxels whose intensity is at the limits: for normally distributed intensities it is 11 % if ε is
//! two standard deviations, and 1.6 % if it is three. Voxels beside the front do not count: they lie partly outside, so
//! that their intensities are at the limits of any range.

use super::plan::Plan;
use super::types::{Constants, Fit};
use crate::report::Outcome;

/// An intensity is at the limits if it is farther from T than this share of ε: in the outer tenth of the range's width at
/// either end, or outside the range. On an open side no intensity is at the limits.
const INNER: f64 = 0.8;
/// The outcome is that the object is at the range's limits if more than this share of the voxels in its middle are.
const LARGEST_SHARE: f64 = 0.1;

impl Plan {
    /// Returns the largest distance from T of an intensity that is not at the limits.
    pub(super) fn inner_deviation(&self) -> f32 {
        (INNER * self.range.epsilon) as f32
    }
}

/// Tells whether an intensity is at the range's limits. `count_fit` in `kernels/level_set_support.cuh` computes the same.
pub(super) fn is_at_limits(constants: &Constants, inner: f32, pixel: f32) -> bool {
    let difference = pixel - constants.intensity_centre;
    let apart = if difference * constants.open_side > 0.0 { 0.0 } else { difference.abs() };
    // NaN is outside of every range.
    apart.is_nan() || apart > inner
}

/// Returns the outcome of a converged level set whose front has vanished; `None` if there is a front, so that the outcome
/// depends on the intensities inside.
pub(super) fn without_front(plan: &Plan, inside: u64) -> Option<Outcome> {
    match inside {
        0 => Some(Outcome::Lost),
        _ if inside == plan.voxels() as u64 => Some(Outcome::Filled),
        _ => None,
    }
}

/// Returns the outcome of a front at rest, and the share of the voxels in the middle of the object that are at the limits.
/// The share is `None` if the object is so thin that it has no middle.
pub(super) fn of_front(fit: Fit) -> (Outcome, Option<f64>) {
    let share = (fit.middle > 0).then(|| fit.at_limits as f64 / fit.middle as f64);
    (if share.is_some_and(|share| share > LARGEST_SHARE) { Outcome::AtLimit } else { Outcome::Front }, share)
}
