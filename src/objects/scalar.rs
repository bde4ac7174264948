//! The update of one voxel: the definition, which every backend computes.
//!
//! Every operation on f32 is written out, with its rounding, in the order that stands here, and no product is fused with a
//! sum, so that every backend gives the same bits. Lengths are in units of the smallest spacing.

/// The distance of voxels beside a front of the starts, as a share of the spacing across it.
pub(super) const START_DISTANCE: f32 = 0.5;

/// The change of a distance that is left out, so that voxels at rest keep their bits.
const SMALLEST_CHANGE: f32 = 1e-3;

/// The slope at which the score falls where a voxel is brighter than its object's mean, as a share of the slope at which
/// it grows below. Without it a dim object would take bright neighbours, all of whose voxels are more than bright enough.
const FALL: f32 = 0.5;

/// The label of the background.
pub(super) const BACKGROUND: u32 = 0;

/// The numbers of the formulas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Constants {
    /// The spacing along x, y, z; infinite along z of an image of one slice.
    pub spacing: [f32; 3],
    /// The inverse squares of the spacing.
    pub inverse_squares: [f32; 3],
    /// The distance from a front beyond which distances are not computed.
    pub far: f32,
    /// The weight of the score in one iteration: twice the way of a front that nothing but the image moves.
    pub image_weight: f32,
    /// The weight of the Laplacian in one iteration.
    pub curvature_weight: f32,
}

/// The line on which an object's score lies: score = level · gain + offset, before it is bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Score {
    pub gain: f32,
    pub offset: f32,
}

impl Score {
    /// Returns how well a level fits the object rather than its background, −1 to 1: −1 at the background's mean and below,
    /// 1 at the object's, and 0 where both fit equally.
    #[inline(always)]
    fn at(self, level: u16) -> f32 {
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

/// Returns a voxel after an iteration. `around` are the neighbours along x, y and z, the one before and the one behind,
/// each; beyond the border of the image they are the voxel itself.
#[inline(always)]
pub(super) fn updated(
    constants: &Constants,
    old: Voxel,
    around: [[Voxel; 2]; 3],
    level: u16,
    is_start: impl FnOnce() -> bool,
    scores: &[Score],
) -> Voxel {
    let is_front = around.as_flattened().iter().any(|voxel| voxel.label != old.label);
    let mut new = if is_front {
        evolved(constants, old, around, level, is_start, scores)
    } else if old.distance >= constants.far && around.as_flattened().iter().all(|voxel| voxel.distance >= constants.far)
    {
        old
    } else {
        Voxel { distance: distance_from(constants, around), ..old }
    };
    if new.label == old.label && (new.distance - old.distance).abs() <= SMALLEST_CHANGE {
        new.distance = old.distance;
    }
    new
}

/// Returns a voxel beside a front after an iteration.
///
/// Each label c that the voxel or a neighbour has is a candidate. With φ_c, the distance from the front of c, negative
/// inside, q_c = φ_c + Δt · ½(1 − α) · ∇²φ_c − Δt · α · 2 · score_c. The smallest q wins, and the new distance is half of
/// that by which it wins, so that both sides of a front have the same one. Of equal ones the voxel's own label wins, then the
/// smallest.
fn evolved(
    constants: &Constants,
    old: Voxel,
    around: [[Voxel; 2]; 3],
    level: u16,
    is_start: impl FnOnce() -> bool,
    scores: &[Score],
) -> Voxel {
    let q = |label: u32| {
        let along = |axis: usize| {
            let difference = |voxel: Voxel| {
                let phi = if voxel.label == label { -voxel.distance } else { voxel.distance };
                if old.label == label { phi + old.distance } else { phi - old.distance }
            };
            let [before, behind] = around[axis];
            (difference(before) + difference(behind)) * constants.inverse_squares[axis]
        };
        let laplacian = along(0) + along(1) + along(2);
        let phi = if old.label == label { -old.distance } else { old.distance };
        let score = if label == BACKGROUND { 0.0 } else { scores[label as usize].at(level) };
        phi + constants.curvature_weight * laplacian - constants.image_weight * score
    };
    let (mut best, mut least, mut second) = (old.label, q(old.label), f32::INFINITY);
    // The front is at most as far from the voxel as the neighbour on its other side.
    let mut most = f32::INFINITY;
    let mut seen = [old.label; 6];
    for (place, neighbour) in around.as_flattened().iter().enumerate() {
        let label = neighbour.label;
        if label == old.label {
            continue;
        }
        let spacing = constants.spacing[place / 2];
        most = if spacing < most { spacing } else { most };
        if seen[..place].contains(&label) {
            continue;
        }
        seen[place] = label;
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

/// Returns the distance of a voxel that is not beside a front, from the distances around it: the solution of |∇d| = 1 with
/// differences towards the front (Rouy and Tourin 1992), at most [`Constants::far`].
fn distance_from(constants: &Constants, around: [[Voxel; 2]; 3]) -> f32 {
    let mut axes: [(f32, usize); 3] = std::array::from_fn(|axis| {
        let [before, behind] = around[axis].map(|voxel| voxel.distance);
        let near = if before < behind { before } else { behind };
        // An image of one slice has no neighbours along z.
        (if constants.inverse_squares[axis] > 0.0 { near } else { constants.far }, axis)
    });
    // The nearest first; of equal ones the order of the axes.
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
        let around = |near: [f32; 3]| near.map(|near| [voxel(0, near), voxel(0, FAR)]);
        let tests: [([f32; 3], f32); 4] = [
            ([0.5, FAR, FAR], 1.5),
            ([FAR, 0.25, 2.0], 1.25),
            ([1.0, 1.0, FAR], 1.0 + 0.5f32.sqrt()),
            ([0.5, 0.5, 0.5], 0.5 + (1.0f32 / 3.0).sqrt()),
        ];
        for (near, expected) in tests {
            assert!((distance_from(&CONSTANTS, around(near)) - expected).abs() < 1e-6, "{near:?}");
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
        let around = [[voxel(1, 0.5), voxel(2, 0.5)], [voxel(2, 0.5); 2], [voxel(2, 0.5); 2]];
        let old = voxel(2, 0.01);
        let taken = updated(&CONSTANTS, old, around, 7, || false, &scores);
        assert_eq!(taken.label, 1);
        assert!(taken.distance > 0.0);
        assert_eq!(updated(&CONSTANTS, old, around, 7, || true, &scores), voxel(2, 0.0).with_old(old));
    }

    impl Voxel {
        /// Returns the voxel, or the old one where the change is left out.
        fn with_old(self, old: Voxel) -> Voxel {
            if (self.distance - old.distance).abs() <= SMALLEST_CHANGE { old } else { self }
        }
    }

    #[test]
    fn a_flat_front_in_an_even_image_stays() {
        let scores = [Score::default(); 3];
        let around = [[voxel(1, 1.3), voxel(2, 0.7)], [voxel(1, 0.3); 2], [voxel(1, 0.3); 2]];
        let old = voxel(1, 0.3);
        assert_eq!(updated(&CONSTANTS, old, around, 7, || false, &scores), old);
    }
}
