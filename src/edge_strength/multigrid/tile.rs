//! A tile in cache, with the steps of the smoother and the computation of the residual.

use super::lines::{CoarseLine, ColumnRange, mirror};
use super::{Grid, Problem, Source};

/// A tile in cache: its pixels and a halo of steps + 1 pixels around them. Outside the image the halo holds the mirrored
/// image. It is updated like the image, so it stays its mirror image, which satisfies the border condition without a
/// branch.
///
/// A 2D tile that has whole rows or columns of the image needs no such halo, which would be most of a small image: the
/// mirror image of a row is the row itself, and the pixels beside it are copied after each step. The values have the same
/// bits.
#[derive(Default)]
pub(super) struct Tile {
    /// The first pixel, without the halo.
    pub(super) first: [usize; 3],
    /// The number of pixels along each axis, without the halo.
    pub(super) size: [usize; 3],
    pub(super) halo: [usize; 3],
    /// True if the rows are whole, and end with one pixel of the mirror image on either side.
    pub(super) has_whole_rows: bool,
    /// The number of pixels along each axis, with the halo.
    pub(super) full: [usize; 3],
    pub(super) current: Vec<f32>,
    pub(super) next: Vec<f32>,
    /// The weight of changes: 0 on the shape, else 1.
    pub(super) free: Vec<f32>,
    /// The right-hand side; empty where it is zero.
    pub(super) right: Vec<f32>,
    lines: CoarseLine,
}

impl Tile {
    /// Returns the index of the pixel that has these coordinates without the halo.
    pub(super) fn at(&self, x: usize, y: usize, z: usize) -> usize {
        ((z + self.halo[2]) * self.full[1] + y + self.halo[1]) * self.full[0] + x + self.halo[0]
    }

    /// Loads the tile and computes all steps as a wavefront: each step is one row (3D: slice) behind the previous step, so
    /// that the rows in use stay in the first-level cache. When row r has been loaded, step t computes row r − t; the rows
    /// that it reads have not been overwritten by any other step. The result is in `current`.
    #[inline(always)]
    pub(super) fn smooth(&mut self, problem: &Problem<'_>, source: Source<'_>) {
        let weights = problem.weights;
        let [centre_weight, rest] = problem.grid.centre(if self.halo[2] > 0 { 3 } else { 2 });
        debug_assert!(weights.len().is_multiple_of(2), "the last step must end in `current`");
        let outer = if self.halo[2] > 0 { self.full[2] } else { self.full[1] };
        for arrived in 0..outer + weights.len() {
            if arrived < outer {
                self.load(problem, source, arrived);
            }
            for (step, &weight) in weights.iter().enumerate().take(arrived) {
                let margin = step + 1;
                let row = arrived - margin;
                let outside = if self.has_whole_columns() { 0 } else { margin };
                if row < outside || row + outside >= outer {
                    continue;
                }
                let forward = step % 2 == 0;
                self.sweep(
                    problem.grid,
                    row,
                    margin,
                    forward,
                    #[inline(always)]
                    |sum, centre, free, right| {
                        let change = centre.mul_add(-rest, centre.mul_add(-centre_weight, sum.total())) - right;
                        (weight * free).mul_add(change, centre)
                    },
                );
            }
        }
    }

    /// Fills row `arrived` (3D: slice) of the tile, with its halo.
    #[inline(always)]
    fn load(&mut self, problem: &Problem<'_>, source: Source<'_>, arrived: usize) {
        let [width, height, depth] = problem.grid.shape;
        let columns = ColumnRange { first: self.first[0], halo: self.halo[0], width };
        let rows = if self.halo[2] > 0 { self.full[1] } else { 1 };
        for row in arrived * rows..(arrived + 1) * rows {
            // 1. Find the row of the image, and copy its mask and right-hand side.
            let z = mirror((self.first[2] + row / self.full[1]) as isize - self.halo[2] as isize, depth);
            let y = mirror((self.first[1] + row % self.full[1]) as isize - self.halo[1] as isize, height);
            let from = (z * height + y) * width..(z * height + y + 1) * width;
            let into = row * self.full[0]..(row + 1) * self.full[0];
            let free = &mut self.free[into.clone()];
            columns.spread(&problem.fixed[from.clone()], free, |fixed| if fixed == 0 { 1.0 } else { 0.0 });
            if !problem.right.is_empty() {
                columns.spread(&problem.right[from.clone()], &mut self.right[into.clone()], |value| value);
            }
            // 2. Copy the values.
            let current = &mut self.current[into.clone()];
            match source {
                Source::Zero => current.fill(0.0),
                Source::Values(values) | Source::Corrected(values, ..) => {
                    columns.spread(&values[from], current, |value| value);
                }
                Source::Guess(..) => current.iter_mut().zip(&*free).for_each(|(value, free)| *value = 1.0 - free),
            }
            // 3. Add the interpolated values of the coarser grid.
            if let Source::Corrected(_, coarse, coarse_shape) | Source::Guess(coarse, coarse_shape) = source {
                let finer = problem.grid.shape;
                self.lines.interpolate(coarse, coarse_shape, finer, columns.image(self.full[0]), [y, z]);
                let next = &mut self.next[into];
                columns.spread_from(&self.lines.fine, self.lines.first, next, |value| value);
                for ((value, &free), &correction) in current.iter_mut().zip(&*free).zip(&*next) {
                    *value = free.mul_add(correction, *value);
                }
            }
        }
    }

    /// Computes the residual into `next`, from differences, so that it is free of the rounding error of 4v; 0 on the
    /// shape.
    #[inline(always)]
    pub(super) fn residual(&mut self, grid: &Grid) {
        let lambda = grid.lambda;
        let (outer, margin) =
            if self.halo[2] > 0 { (self.full[2], self.halo[2]) } else { (self.full[1], self.halo[1]) };
        for row in margin..outer - margin {
            self.sweep(
                grid,
                row,
                self.halo[0],
                true,
                #[inline(always)]
                |sum, centre, free, right| free * (right - centre.mul_add(-lambda, sum.differences(centre))),
            );
        }
    }

    /// Tells whether the columns of a 2D tile are whole, and have no halo.
    fn has_whole_columns(&self) -> bool {
        self.halo[1] == 0
    }

    /// Applies `update` to one row of the tile (3D: slice), except for the outer `margin` pixels, from `current` into
    /// `next` if `forward`, else from `next` into `current`. Of whole rows only the outermost pixels are excepted.
    #[inline(always)]
    fn sweep(
        &mut self,
        grid: &Grid,
        outer: usize,
        margin: usize,
        forward: bool,
        update: impl Fn(Neighbours, f32, f32, f32) -> f32,
    ) {
        let [width, height, _] = self.full;
        let weights = grid.weights;
        let volume = self.halo[2] > 0;
        let (source, target) = if forward { (&self.current, &mut self.next) } else { (&self.next, &mut self.current) };
        let margin = if self.has_whole_rows { 1 } else { margin };
        let n = width - 2 * margin;
        let rows_in_all = height * self.full[2];
        let rows = if volume { outer * height + margin..(outer + 1) * height - margin } else { outer..outer + 1 };
        for row in rows {
            let at = row * width + margin;
            let line = |from: usize| &source[from..from + n];
            // The first and the last of whole columns are their own neighbours.
            let above = if row == 0 { at } else { at - width };
            let below = if row + 1 == rows_in_all { at } else { at + width };
            let (left, right, up, down) = (line(at - 1), line(at + 1), line(above), line(below));
            let centre = line(at);
            let free = &self.free[at..at + n];
            let whole = &mut target[at - 1..at + n + 1];
            let target = &mut whole[1..=n];
            if volume {
                let (front, back) = (line(at - width * height), line(at + width * height));
                let pairs = |i: usize| {
                    let pairs = [[left[i], right[i]], [up[i], down[i]], [front[i], back[i]]];
                    Neighbours { pairs, weights, volume }
                };
                if self.right.is_empty() {
                    for i in 0..n {
                        target[i] = update(pairs(i), centre[i], free[i], 0.0);
                    }
                } else {
                    let side = &self.right[at..at + n];
                    for i in 0..n {
                        target[i] = update(pairs(i), centre[i], free[i], side[i]);
                    }
                }
            } else {
                let pairs = |i: usize| {
                    let pairs = [[left[i], right[i]], [up[i], down[i]], [0.0; 2]];
                    Neighbours { pairs, weights, volume }
                };
                if self.right.is_empty() {
                    for i in 0..n {
                        target[i] = update(pairs(i), centre[i], free[i], 0.0);
                    }
                } else {
                    let side = &self.right[at..at + n];
                    for i in 0..n {
                        target[i] = update(pairs(i), centre[i], free[i], side[i]);
                    }
                }
            }
            if self.has_whole_rows {
                (whole[0], whole[n + 1]) = (whole[1], whole[n]);
            }
        }
    }
}

/// The neighbours of a pixel in pairs, with a weight for each pair; the first weight is 1. The third pair, front and back,
/// is used in 3D only.
struct Neighbours {
    pairs: [[f32; 2]; 3],
    weights: [f32; 3],
    volume: bool,
}

impl Neighbours {
    /// Returns the weighted sum of the neighbours.
    #[inline(always)]
    fn total(&self) -> f32 {
        self.sum(|[before, after]| before + after)
    }

    /// Returns the weighted sum of the differences between the neighbours and the pixel.
    #[inline(always)]
    fn differences(&self, c: f32) -> f32 {
        self.sum(|[before, after]| (before - c) + (after - c))
    }

    #[inline(always)]
    fn sum(&self, of: impl Fn([f32; 2]) -> f32) -> f32 {
        let ([x, y, z], [_, weight_y, weight_z]) = (self.pairs, self.weights);
        let sum = of(y).mul_add(weight_y, of(x));
        if self.volume { of(z).mul_add(weight_z, sum) } else { sum }
    }
}
