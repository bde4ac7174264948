//! The update of one voxel. This is its definition: every backend computes the same.
//!
//! The order and the rounding of every operation on f32 are part of the definition, and no product is fused with a sum, so
//! that every backend gives the same bits. Lengths are in units of the smallest spacing.

use crate::device::kernels::objects::{
    OB_BACKGROUND, OB_FALL, OB_FREE_CHANGES, OB_MOST_CHANGES, OB_SMALLEST_CHANGE, OB_START_DISTANCE, OB_WAY_PARTS,
};

pub(super) const START_DISTANCE: f32 = OB_START_DISTANCE as f32;
pub(super) const SMALLEST_CHANGE: f32 = OB_SMALLEST_CHANGE as f32;
pub(super) const FALL: f32 = OB_FALL as f32;
const FREE_CHANGES: u8 = OB_FREE_CHANGES as u8;
const MOST_CHANGES: u8 = OB_MOST_CHANGES as u8;

/// Ways are counted in units of the smallest spacing divided by this number.
pub(super) const WAY_PARTS: f32 = OB_WAY_PARTS as f32;

/// The label of the background.
pub(super) const BACKGROUND: u32 = OB_BACKGROUND as u32;

/// The numbers of the formulas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Constants {
    /// The spacing along x, y, z; infinite along z of an image of one slice.
    pub spacing: [f32; 3],
    /// The inverse squares of the spacing.
    pub inverse_squares: [f32; 3],
    /// The distance from a front beyond which distances are not computed.
    pub far: f32,
    /// The weight of the score in one iteration: twice the distance that a front moves if only the image acts on it.
    pub image_weight: f32,
    /// The weight of the Laplacian in one iteration.
    pub curvature_weight: f32,
}

/// The score of an object as a function of the level: level · gain + offset, clamped to −1..1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Score {
    pub gain: f32,
    pub offset: f32,
}

impl Score {
    /// Returns how well a level fits the object rather than its background, from −1 at the background's mean and below to 1
    /// at the object's mean and above; 0 if both fit equally.
    #[inline(always)]
    pub(super) fn at(self, level: u16) -> f32 {
        let score = f32::from(level) * self.gain + self.offset;
        if score > 1.0 {
            let score = 1.0 - (score - 1.0) * FALL;
            if score > 0.0 { score } else { 0.0 }
        } else if score > -1.0 {
            score
        } else {
            -1.0
        }
    }
}

/// A voxel: its label, and its distance from the nearest front.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Voxel {
    pub label: u32,
    pub distance: f32,
}

/// The six voxels that share a face with a voxel: before and after it along x, then along y and z. At the border of the
/// image the voxel itself stands for a missing neighbour.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around {
    pub labels: [u32; 6],
    pub distances: [f32; 6],
}

impl Around {
    /// Tells whether a front passes between a voxel with this label and a neighbour.
    #[inline(always)]
    pub(super) fn has_other(&self, label: u32) -> bool {
        self.labels.iter().fold(0, |differences, other| differences | (other ^ label)) != 0
    }

    /// Tells whether all neighbours are at least this far from the front.
    #[inline(always)]
    fn are_beyond(&self, far: f32) -> bool {
        self.distances.iter().fold(true, |beyond, distance| beyond & (*distance >= far))
    }
}

/// The data of a voxel that its neighbours do not need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pixel {
    pub level: u16,
    /// The number of times that its label has changed.
    pub changes: u8,
}

/// Returns the share of the full step that a voxel takes, a power of two. After a few changes of the label it halves with
/// each further change, down to a limit, so that oscillating voxels come to rest.
#[inline(always)]
pub(super) fn share_of_step(changes: u8) -> f32 {
    let halvings = changes.saturating_sub(FREE_CHANGES).min(MOST_CHANGES);
    f32::from_bits((127 - u32::from(halvings)) << 23)
}

/// Returns how far the front of a voxel's object has moved at the voxel in the iteration from `old` to `new`, in units of
/// 1/[`WAY_PARTS`] of the smallest spacing, and at most one smallest spacing.
#[inline(always)]
pub(super) fn way(new: Voxel, old: Voxel) -> u64 {
    let before = if new.label == old.label { old.distance } else { -old.distance };
    ((new.distance - before).abs().min(1.0) * WAY_PARTS) as u64
}

/// Returns a voxel after an iteration.
#[inline(always)]
pub(super) fn updated(
    constants: &Constants,
    old: Voxel,
    around: &Around,
    pixel: Pixel,
    is_start: impl FnOnce() -> bool,
    scores: &[Score],
) -> Voxel {
    let mut new = if around.has_other(old.label) {
        evolved(constants, old, around, pixel, is_start, scores)
    } else if old.distance >= constants.far && around.are_beyond(constants.far) {
        return old;
    } else {
        Voxel { distance: distance_from(constants, &around.distances), ..old }
    };
    if new.label == old.label && (new.distance - old.distance).abs() <= SMALLEST_CHANGE {
        new.distance = old.distance;
    }
    new
}

/// Returns a voxel beside a front after an iteration.
///
/// Each label c that the voxel or a neighbour has is a candidate. With φ_c, the distance from the front of c, negative
/// inside, q_c = φ_c + Δt · ½(1 − α) · ∇²φ_c − Δt · α · 2 · score_c. The smallest q wins, and the new distance is half the
/// difference to the second smallest one, so that both sides of a front get the same distance. Of equal ones the voxel's
/// own label wins, then the smallest label.
pub(super) fn evolved(
    constants: &Constants,
    old: Voxel,
    around: &Around,
    Pixel { level, changes }: Pixel,
    is_start: impl FnOnce() -> bool,
    scores: &[Score],
) -> Voxel {
    let share = share_of_step(changes);
    let [image_weight, curvature_weight] = [constants.image_weight * share, constants.curvature_weight * share];
    let Around { labels, distances } = around;
    let q = |label: u32| {
        let phi_of = |other: u32, distance: f32| if other == label { -distance } else { distance };
        let phi = phi_of(old.label, old.distance);
        let along = |axis: usize| {
            let [before, behind] = [2 * axis, 2 * axis + 1].map(|place| phi_of(labels[place], distances[place]) - phi);
            (before + behind) * constants.inverse_squares[axis]
        };
        let laplacian = along(0) + along(1) + along(2);
        let score = if label == BACKGROUND { 0.0 } else { scores[label as usize].at(level) };
        phi + curvature_weight * laplacian - image_weight * score
    };
    let (mut best, mut least, mut second) = (old.label, q(old.label), f32::INFINITY);
    // The front is at most as far from the voxel as the neighbour on its other side.
    let mut most = f32::INFINITY;
    for (place, &label) in labels.iter().enumerate() {
        if label == old.label {
            continue;
        }
        let spacing = constants.spacing[place / 2];
        most = if spacing < most { spacing } else { most };
        if labels[..place].contains(&label) {
            continue;
        }
        let q = q(label);
        if q < least || (q == least && best != old.label && label < best) {
            (best, least, second) = (label, q, least);
        } else if q < second {
            second = q;
        }
    }
    if best != old.label && is_start() {
        return Voxel { distance: 0.0, ..old };
    }
    let distance = 0.5 * (second - least);
    Voxel { label: best, distance: if distance < most { distance } else { most } }
}

/// Returns the distance of a voxel that is not next to a front, from the distances around it: the solution of |∇d| = 1 with
/// differences towards the front (Rouy and Tourin 1992), at most [`Constants::far`].
pub(super) fn distance_from(constants: &Constants, around: &[f32; 6]) -> f32 {
    let mut axes: [(f32, usize); 3] = [(constants.far, 0), (constants.far, 1), (constants.far, 2)];
    for (axis, (near, _)) in axes.iter_mut().enumerate() {
        let [before, behind] = [around[2 * axis], around[2 * axis + 1]];
        // An image of one slice has no neighbours along z.
        if constants.inverse_squares[axis] > 0.0 {
            *near = if before < behind { before } else { behind };
        }
    }
    // Sort the neighbours by distance; equal ones stay in the order of the axes.
    for (a, b) in [(0, 1), (1, 2), (0, 1)] {
        if axes[b].0 < axes[a].0 {
            axes.swap(a, b);
        }
    }
    let mut distance = axes[0].0 + constants.spacing[axes[0].1];
    let [mut squares, mut linear, mut constant] = [0.0f32, 0.0f32, -1.0f32];
    for (near, axis) in axes {
        if near >= distance {
            break;
        }
        let weight = constants.inverse_squares[axis];
        squares += weight;
        linear += near * weight;
        constant += near * near * weight;
        let discriminant = linear * linear - squares * constant;
        if discriminant < 0.0 {
            break;
        }
        distance = (linear + discriminant.sqrt()) / squares;
    }
    if distance < constants.far { distance } else { constants.far }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: f32 = 3.0;
    const CONSTANTS: Constants =
        Constants { spacing: [1.0; 3], inverse_squares: [1.0; 3], far: FAR, image_weight: 0.3, curvature_weight: 0.15 };

    fn voxel(label: u32, distance: f32) -> Voxel {
        Voxel { label, distance }
    }

    #[test]
    fn a_distance_is_that_from_the_planes_around() {
        let around = |[x, y, z]: [f32; 3]| [x, FAR, y, FAR, z, FAR];
        let tests: [([f32; 3], f32); 4] = [
            ([0.5, FAR, FAR], 1.5),
            ([FAR, 0.25, 2.0], 1.25),
            ([1.0, 1.0, FAR], 1.0 + 0.5f32.sqrt()),
            ([0.5, 0.5, 0.5], 0.5 + (1.0f32 / 3.0).sqrt()),
        ];
        for (near, expected) in tests {
            assert!((distance_from(&CONSTANTS, &around(near)) - expected).abs() < 1e-6, "{near:?}");
        }
    }

    #[test]
    fn a_score_rises_to_the_mean_and_falls_more_slowly_beyond() {
        // The background's mean is 100, the object's 200.
        let score = Score { gain: 0.02, offset: -3.0 };
        for (level, expected) in [(0, -1.0), (100, -1.0), (150, 0.0), (200, 1.0), (250, 0.5), (300, 0.0), (999, 0.0)] {
            assert!((score.at(level) - expected).abs() < 1e-5, "{level}");
        }
    }

    #[test]
    fn the_better_label_takes_a_voxel_and_a_start_stays() {
        let scores = [Score::default(), Score { gain: 0.0, offset: 1.0 }, Score { gain: 0.0, offset: -1.0 }];
        let around = &Around { labels: [1, 1, 2, 2, 2, 2], distances: [0.5; 6] };
        let old = voxel(2, 0.02);
        let pixel = Pixel { level: 7, changes: 0 };
        let taken = updated(&CONSTANTS, old, around, pixel, || false, &scores);
        assert_eq!(taken.label, 1);
        assert!(taken.distance > 0.0);
        assert_eq!(updated(&CONSTANTS, old, around, pixel, || true, &scores), voxel(2, 0.0));
    }

    #[test]
    fn a_way_is_that_of_the_front_of_the_new_label() {
        let tests = [
            (voxel(1, 0.5), voxel(1, 0.25), 16384),
            (voxel(1, 0.25), voxel(1, 0.5), 16384),
            (voxel(2, 0.25), voxel(1, 0.5), 49152),
        ];
        for (new, old, expected) in tests {
            assert_eq!(way(new, old), expected, "{old:?} to {new:?}");
        }
        assert_eq!(way(voxel(1, 9.0), voxel(1, 0.5)), 65536);
        assert!(way(voxel(1, 0.5 + SMALLEST_CHANGE), voxel(1, 0.5)) > 0, "each change counts");
    }

    #[test]
    fn a_flat_front_in_an_even_image_stays() {
        let scores = [Score::default(); 3];
        let around = &Around { labels: [1, 2, 1, 1, 1, 1], distances: [1.3, 0.7, 0.3, 0.3, 0.3, 0.3] };
        let old = voxel(1, 0.3);
        let pixel = Pixel { level: 7, changes: 0 };
        assert_eq!(updated(&CONSTANTS, old, around, pixel, || false, &scores), old);
        let shares = [0, 3, 4, 6, 255].map(share_of_step);
        assert_eq!(shares, [1.0, 1.0, 0.5, 0.125, 0.5f32.powi(30)]);
    }
}
