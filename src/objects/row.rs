//! The update of a row in parts, with SIMD vectors of voxels.
//!
//! Every voxel gets the operations of `scalar.rs` in the same order. Where `scalar.rs` branches, all branches are computed
//! and one result is selected. Labels are represented by floats that sort in the same order; see [`float_of`].

use super::scalar::{
    Around, BACKGROUND, Constants, FALL, Pixel, SMALLEST_CHANGE, Score, Voxel, share_of_step, updated,
};
use crate::vector::{Floats, Truths};
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// The voxels of a part of a row.
pub(super) const PART: usize = 16;

/// The number of voxels around a voxel; see [`Around`].
const AROUND: usize = 6;

/// The index of the voxel itself; the voxels around it have the following indices.
const OWN: usize = 0;

/// The bits of the smallest normal float. Labels are added to them, because operations on smaller (subnormal) floats are
/// slow.
const SMALLEST_NORMAL: u32 = 1 << 23;

/// A part of a row, before and after an iteration.
#[derive(Default)]
struct Part {
    /// The labels and distances of the voxels themselves and of those around them.
    labels: [[f32; PART]; 1 + AROUND],
    distances: [[f32; PART]; 1 + AROUND],
    /// The scores of these labels, computed only if a front passes.
    gains: [[f32; PART]; 1 + AROUND],
    offsets: [[f32; PART]; 1 + AROUND],
    levels: [f32; PART],
    shares: [f32; PART],
    /// 1 for a voxel that keeps its label, else 0.
    kept: [f32; PART],
    /// For each neighbour position true if any voxel of the part has another label than its neighbour there.
    differs: [bool; 1 + AROUND],
    new_labels: [f32; PART],
    new_distances: [f32; PART],
}

/// Returns a float for a label. Floats compare as their labels do.
#[inline(always)]
fn float_of(label: u32) -> f32 {
    f32::from_bits(label + SMALLEST_NORMAL)
}

/// Returns the label of a float.
#[inline(always)]
fn label_of(float: f32) -> u32 {
    float.to_bits() - SMALLEST_NORMAL
}

impl Part {
    /// Loads a whole part, from voxel `x` on, of a row and the rows next to it. Returns the number of voxels next to a
    /// front.
    #[inline(always)]
    fn load(&mut self, labels: &[&[u32]; 5], distances: &[&[f32]; 5], x: usize) -> u8 {
        let (mut others, mut spare) = ([0u32; PART], [0u32; PART]);
        let own: &[u32] = &labels[0][x..x + PART];
        for place in OWN..=AROUND {
            let around = in_place(labels, place, x, &mut spare);
            let mut differs = 0;
            for i in 0..PART {
                differs |= around[i] ^ own[i];
                others[i] |= around[i] ^ own[i];
                self.labels[place][i] = float_of(around[i]);
            }
            self.differs[place] = differs != 0;
            self.distances[place] = *in_place(distances, place, x, &mut [0.0; PART]);
        }
        others.iter().map(|differences| u8::from(*differences != 0)).sum()
    }

    /// Loads the additional data that voxels next to a front need, from `scores` of all objects.
    #[inline(always)]
    fn load_fronts(&mut self, levels: &[u16], changes: &[u8], starts: Option<&[u32]>, scores: &[Score]) {
        let (levels, changes) = (&levels[..PART], &changes[..PART]);
        for i in 0..PART {
            self.levels[i] = f32::from(levels[i]);
            self.shares[i] = share_of_step(changes[i]);
        }
        self.kept = [0.0; PART];
        if let Some(starts) = starts {
            for (kept, start) in self.kept.iter_mut().zip(&starts[..PART]) {
                *kept = if *start == BACKGROUND { 0.0 } else { 1.0 };
            }
        }
        for place in OWN..=AROUND {
            if place == OWN || self.differs[place] {
                for i in 0..PART {
                    let Score { gain, offset } = scores[label_of(self.labels[place][i]) as usize];
                    (self.gains[place][i], self.offsets[place][i]) = (gain, offset);
                }
            }
        }
    }

    /// Stores the voxels after the iteration, and counts the changes of their labels. Returns true if anything has changed.
    #[inline(always)]
    fn store(&self, labels: &mut [u32], distances: &mut [f32], changes: &mut [u8]) -> bool {
        let (labels, changes) = (&mut labels[..PART], &mut changes[..PART]);
        distances[..PART].copy_from_slice(&self.new_distances);
        let mut changed = false;
        for i in 0..PART {
            let is_other = self.new_labels[i].to_bits() != self.labels[OWN][i].to_bits();
            labels[i] = label_of(self.new_labels[i]);
            changes[i] = changes[i].saturating_add(u8::from(is_other));
            changed |= is_other | (self.new_distances[i] != self.distances[OWN][i]);
        }
        changed
    }
}

/// Returns the values of [`PART`] voxels of a row, or of their neighbours at one position. At the ends of a row the values
/// are assembled in `spare`.
#[inline(always)]
fn in_place<'a, T: Copy>(rows: &[&'a [T]; 5], place: usize, x: usize, spare: &'a mut [T; PART]) -> &'a [T; PART] {
    let width = rows[0].len();
    let (row, from) = match place {
        OWN => (rows[0], x),
        1 if x == 0 => {
            spare[0] = rows[0][0];
            spare[1..].copy_from_slice(&rows[0][..PART - 1]);
            return spare;
        }
        1 => (rows[0], x - 1),
        2 if x + PART == width => {
            spare[..PART - 1].copy_from_slice(&rows[0][x + 1..]);
            spare[PART - 1] = rows[0][width - 1];
            return spare;
        }
        2 => (rows[0], x + 1),
        _ => (rows[place - 2], x),
    };
    row[from..from + PART].try_into().unwrap_or_else(|_| unreachable!("it has as many voxels"))
}

/// The update of the active parts of a row.
pub(super) struct Row<'a> {
    pub constants: &'a Constants,
    pub scores: &'a [Score],
    /// The labels and distances of the row, and of the rows before and behind it along y and z.
    pub labels: [&'a [u32]; 5],
    pub distances: [&'a [f32]; 5],
    pub levels: &'a [u16],
    /// The labels of the starts, if their voxels keep them.
    pub starts: Option<&'a [u32]>,
    pub new_labels: &'a mut [u32],
    pub new_distances: &'a mut [f32],
    /// The number of changes of each voxel's label.
    pub changes: &'a mut [u8],
    /// 1 for a part that is to be updated; and 1 for a part in which something has changed.
    pub active: &'a [u8],
    pub changed: &'a mut [u8],
}

impl WithSimd for Row<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let mut vectors = Part::default();
        for part in 0..self.active.len() {
            self.changed[part] = 0;
            if self.active[part] == 0 {
                continue;
            }
            let columns = part * PART..((part + 1) * PART).min(self.levels.len());
            // A whole part is updated with vectors, the rest of a row voxel by voxel.
            if columns.len() == PART {
                self.update_part(simd, part, &mut vectors);
            } else {
                self.update_rest(part, columns);
            }
        }
    }
}

impl Row<'_> {
    /// Updates a whole part.
    #[inline(always)]
    fn update_part<S: Simd>(&mut self, simd: S, part: usize, vectors: &mut Part) {
        let x = part * PART;
        let fronts = vectors.load(&self.labels, &self.distances, x);
        if fronts > 0 {
            let starts = self.starts.map(|starts| &starts[x..]);
            vectors.load_fronts(&self.levels[x..], &self.changes[x..], starts, self.scores);
        }
        for at in (0..PART).step_by(S::F32_LANES) {
            let lanes = Lanes { simd, at, constants: self.constants, part: vectors };
            let (label, distance) = lanes.updated(fronts);
            label.store(&mut vectors.new_labels, at);
            distance.store(&mut vectors.new_distances, at);
        }
        let changed = vectors.store(&mut self.new_labels[x..], &mut self.new_distances[x..], &mut self.changes[x..]);
        self.changed[part] = u8::from(changed);
    }

    /// Updates a part that has fewer voxels than a whole one.
    fn update_rest(&mut self, part: usize, columns: Range<usize>) {
        for x in columns {
            let old = Voxel { label: self.labels[0][x], distance: self.distances[0][x] };
            let around =
                Around { labels: values_around(&self.labels, x), distances: values_around(&self.distances, x) };
            let pixel = Pixel { level: self.levels[x], changes: self.changes[x] };
            let is_start = || self.starts.is_some_and(|starts| starts[x] != BACKGROUND);
            let new = updated(self.constants, old, &around, pixel, is_start, self.scores);
            self.changes[x] = self.changes[x].saturating_add(u8::from(new.label != old.label));
            self.new_labels[x] = new.label;
            self.new_distances[x] = new.distance;
            self.changed[part] |= u8::from(new != old);
        }
    }
}

/// Returns the values around position `x` of a row, from that row and the rows next to it: before and after along x, y, z.
#[inline(always)]
pub(super) fn values_around<T: Copy>([own, above, below, front, back]: &[&[T]; 5], x: usize) -> [T; 6] {
    [own[x.saturating_sub(1)], own[(x + 1).min(own.len() - 1)], above[x], below[x], front[x], back[x]]
}

/// The voxels of a part that are in one vector, from `at` on.
#[derive(Clone, Copy)]
struct Lanes<'a, S: Simd> {
    simd: S,
    at: usize,
    constants: &'a Constants,
    part: &'a Part,
}

impl<S: Simd> Lanes<'_, S> {
    #[inline(always)]
    fn load(self, values: &[f32; PART]) -> Floats<S> {
        Floats::load(self.simd, values, self.at)
    }

    #[inline(always)]
    fn splat(self, value: f32) -> Floats<S> {
        Floats::splat(self.simd, value)
    }

    #[inline(always)]
    fn label(self, place: usize) -> Floats<S> {
        self.load(&self.part.labels[place])
    }

    #[inline(always)]
    fn distance(self, place: usize) -> Floats<S> {
        self.load(&self.part.distances[place])
    }

    /// Returns labels and distances after an iteration; see [`updated`].
    #[inline(always)]
    fn updated(self, fronts: u8) -> (Floats<S>, Floats<S>) {
        let (own, old) = (self.label(OWN), self.distance(OWN));
        let far = self.splat(self.constants.far);
        let mut beyond = far.at_most(old);
        for place in 1..=AROUND {
            beyond = beyond.and(far.at_most(self.distance(place)));
        }
        let (mut label, mut distance) = (own, old);
        if usize::from(fronts) < PART {
            distance = beyond.select(old, self.distance_from());
        }
        if fronts > 0 {
            let mut front = own.less_than(own);
            for place in 1..=AROUND {
                if self.part.differs[place] {
                    front = front.or(self.label(place).equals(own).not());
                }
            }
            let evolved = self.evolved();
            label = front.select(evolved.0, own);
            distance = front.select(evolved.1, distance);
        }
        let small = (distance - old).abs().at_most(self.splat(SMALLEST_CHANGE));
        (label, label.equals(own).and(small).select(old, distance))
    }

    /// Returns the same as [`evolved`](super::scalar::evolved).
    #[inline(always)]
    fn evolved(self) -> (Floats<S>, Floats<S>) {
        let own = self.label(OWN);
        let (mut best, mut least, mut second) = (own, self.q(OWN), self.splat(f32::INFINITY));
        let mut most = second;
        for place in 1..=AROUND {
            if !self.part.differs[place] {
                continue;
            }
            let label = self.label(place);
            let mut candidate = label.equals(own).not();
            let spacing = self.splat(self.constants.spacing[(place - 1) / 2]);
            most = candidate.and(spacing.less_than(most)).select(spacing, most);
            for before in 1..place {
                if self.part.differs[before] {
                    candidate = candidate.and(label.equals(self.label(before)).not());
                }
            }
            let q = self.q(place);
            let equal = q.equals(least).and(best.equals(own).not()).and(label.less_than(best));
            let wins = candidate.and(q.less_than(least).or(equal));
            let follows = candidate.and(q.less_than(second));
            second = wins.select(least, follows.select(q, second));
            least = wins.select(q, least);
            best = wins.select(label, best);
        }
        let zero = self.splat(0.0);
        let kept = best.equals(own).not().and(zero.less_than(self.load(&self.part.kept)));
        let distance = self.splat(0.5) * (second - least);
        let distance = distance.less_than(most).select(distance, most);
        (kept.select(own, best), kept.select(zero, distance))
    }

    /// Returns q of the label at a position.
    #[inline(always)]
    fn q(self, place: usize) -> Floats<S> {
        let constants = self.constants;
        let label = self.label(place);
        let phi = self.phi(label, OWN);
        let mut laplacian = self.second_difference(label, phi, 0);
        laplacian = laplacian + self.second_difference(label, phi, 1);
        laplacian = laplacian + self.second_difference(label, phi, 2);
        let share = self.load(&self.part.shares);
        let [image_weight, curvature_weight] =
            [self.splat(constants.image_weight) * share, self.splat(constants.curvature_weight) * share];
        phi + curvature_weight * laplacian - image_weight * self.score(place)
    }

    /// Returns the distance from the front of a label, negative inside, at a position.
    #[inline(always)]
    fn phi(self, label: Floats<S>, place: usize) -> Floats<S> {
        let distance = self.distance(place);
        self.label(place).equals(label).select(distance.negated(), distance)
    }

    /// Returns the second difference of that distance along an axis.
    #[inline(always)]
    fn second_difference(self, label: Floats<S>, phi: Floats<S>, axis: usize) -> Floats<S> {
        let before = self.phi(label, 2 * axis + 1) - phi;
        let behind = self.phi(label, 2 * axis + 2) - phi;
        (before + behind) * self.splat(self.constants.inverse_squares[axis])
    }

    /// Returns the same as [`Score::at`] for the label at a position. The background's score has no gain and no offset.
    #[inline(always)]
    fn score(self, place: usize) -> Floats<S> {
        const { assert!(BACKGROUND == 0, "the score of the background is the first, and 0") };
        let [zero, one] = [0.0, 1.0].map(|value| Floats::splat(self.simd, value));
        let score =
            self.load(&self.part.levels) * self.load(&self.part.gains[place]) + self.load(&self.part.offsets[place]);
        let falling = one - (score - one) * self.splat(FALL);
        let falling = zero.less_than(falling).select(falling, zero);
        let lowest = self.splat(-1.0);
        one.less_than(score).select(falling, lowest.less_than(score).select(score, lowest))
    }

    /// Returns the same as [`distance_from`](super::scalar::distance_from).
    #[inline(always)]
    fn distance_from(self) -> Floats<S> {
        let constants = self.constants;
        let far = self.splat(constants.far);
        // 1. Take the nearer neighbour along each axis, and sort the axes.
        let [x, y, z] = [self.nearer(0), self.nearer(1), self.nearer(2)];
        let [x, y] = sorted(x, y);
        let [y, z] = sorted(y, z);
        let [x, y] = sorted(x, y);
        // 2. Solve the equation with one axis, then add further axes as long as their neighbour is nearer than the
        //    solution.
        let mut distance = x.near + x.spacing;
        let mut squares = self.splat(0.0);
        let (mut linear, mut constant) = (squares, self.splat(-1.0));
        let mut goes_on = x.near.less_than(distance);
        for axis in [x, y, z] {
            goes_on = goes_on.and(axis.near.less_than(distance));
            squares = squares + axis.weight;
            linear = linear + axis.near * axis.weight;
            constant = constant + axis.near * axis.near * axis.weight;
            let discriminant = linear * linear - squares * constant;
            goes_on = goes_on.and(self.splat(0.0).at_most(discriminant));
            distance = goes_on.select((linear + discriminant.sqrt()) / squares, distance);
        }
        distance.less_than(far).select(distance, far)
    }

    /// Returns the nearer neighbour along an axis. An image of one slice has none along z.
    #[inline(always)]
    fn nearer(self, axis: usize) -> Axis<S> {
        let [before, behind] = [self.distance(2 * axis + 1), self.distance(2 * axis + 2)];
        let is_there = self.constants.inverse_squares[axis] > 0.0;
        Axis {
            near: if is_there {
                before.less_than(behind).select(before, behind)
            } else {
                self.splat(self.constants.far)
            },
            spacing: self.splat(self.constants.spacing[axis]),
            weight: self.splat(self.constants.inverse_squares[axis]),
        }
    }
}

/// The nearer neighbour along an axis: its distance from the front, the spacing, and the inverse of its square.
#[derive(Clone, Copy)]
struct Axis<S: Simd> {
    near: Floats<S>,
    spacing: Floats<S>,
    weight: Floats<S>,
}

/// Returns two axes, the nearer one first.
#[inline(always)]
fn sorted<S: Simd>(one: Axis<S>, other: Axis<S>) -> [Axis<S>; 2] {
    let swaps: Truths<S> = other.near.less_than(one.near);
    [selected(swaps, other, one), selected(swaps, one, other)]
}

#[inline(always)]
fn selected<S: Simd>(which: Truths<S>, yes: Axis<S>, no: Axis<S>) -> Axis<S> {
    Axis {
        near: which.select(yes.near, no.near),
        spacing: which.select(yes.spacing, no.spacing),
        weight: which.select(yes.weight, no.weight),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns pseudorandom numbers below 2²⁴.
    fn numbers() -> impl FnMut() -> u32 {
        let mut state = 1u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as u32
        }
    }

    #[test]
    fn vectors_have_the_bits_of_single_voxels() {
        let mut next = numbers();
        let mut fronts_seen = 0;
        for (spacing, labels) in
            [([1.0f32; 3], 1), ([1.0, 1.0, f32::INFINITY], 3), ([1.0, 1.5, 2.5], 5), ([2.0, 1.0, 1.0], 2)]
        {
            let inverse_squares = spacing.map(|step| 1.0 / (step * step));
            let constants = Constants { spacing, inverse_squares, far: 3.5, image_weight: 0.4, curvature_weight: 0.2 };
            let scores: Vec<Score> =
                (0..=labels).map(|label| Score { gain: 0.01 * label as f32, offset: -0.3 * label as f32 }).collect();
            for width in [5usize, 16, 17, 48, 61] {
                // Few labels, in runs, so that there are parts without a front, and far ones.
                let rows: [(Vec<u32>, Vec<f32>); 5] = std::array::from_fn(|_| {
                    let (mut label, mut is_far) = (0, false);
                    let voxel = |_| {
                        if next().is_multiple_of(6) {
                            (label, is_far) = (next() % (labels + 1), next().is_multiple_of(2));
                        }
                        (label, if is_far { 3.5 } else { next() as f32 / 4_194_304.0 })
                    };
                    (0..width).map(voxel).unzip()
                });
                let levels: Vec<u16> = (0..width).map(|_| next() as u16).collect();
                let starts: Vec<u32> = (0..width).map(|_| next() % 3).collect();
                let changes: Vec<u8> = (0..width).map(|_| (next() % 40) as u8).collect();
                for starts in [None, Some(&starts[..])] {
                    let count = width.div_ceil(PART);
                    let of_row = |is_whole: bool| {
                        let (mut new_labels, mut new_distances) = (vec![9; width], vec![-1.0; width]);
                        let (mut new_changes, mut changed) = (changes.clone(), vec![7; count]);
                        let mut row = Row {
                            constants: &constants,
                            scores: &scores,
                            labels: rows.each_ref().map(|row| &row.0[..]),
                            distances: rows.each_ref().map(|row| &row.1[..]),
                            levels: &levels,
                            starts,
                            new_labels: &mut new_labels,
                            new_distances: &mut new_distances,
                            changes: &mut new_changes,
                            active: &vec![1; count],
                            changed: &mut changed,
                        };
                        if is_whole {
                            pulp::Arch::new().dispatch(row);
                        } else {
                            for part in 0..count {
                                row.changed[part] = 0;
                                row.update_rest(part, part * PART..((part + 1) * PART).min(width));
                            }
                        }
                        let bits: Vec<u32> = new_distances.iter().map(|distance: &f32| distance.to_bits()).collect();
                        (new_labels, bits, new_changes, changed)
                    };
                    let (got, expected) = (of_row(true), of_row(false));
                    assert_eq!(got, expected, "{spacing:?}, {width} voxels, {}", starts.is_some());
                    let labels = rows.each_ref().map(|row| &row.0[..]);
                    let is_front = |x: &usize| values_around(&labels, *x).iter().any(|label| *label != labels[0][*x]);
                    fronts_seen += (0..width).filter(is_front).count();
                }
            }
        }
        assert!(fronts_seen > 500, "{fronts_seen}");
    }
}
