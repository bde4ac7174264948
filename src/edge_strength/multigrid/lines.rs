//! Rows of an image that are copied into a tile with mirrored ends, or interpolated from a coarser grid.

use super::stride;
use crate::device::kernels::edge_strength::{MG_FAR, MG_NEAR};
use std::ops::Range;

/// Returns the pixel at `index` of an image that is repeatedly mirrored at its borders.
pub(super) fn mirror(index: isize, count: usize) -> usize {
    let index = index.rem_euclid(2 * count as isize) as usize;
    if index < count { index } else { 2 * count - 1 - index }
}

/// Returns the coarse cells from which one of `fine` cells is interpolated: the nearest (weight 3/4) and the next (1/4); the
/// same cell twice if the axis was not halved.
fn parents(index: usize, coarse: usize, fine: usize) -> [usize; 2] {
    if stride(coarse, fine) == 1 {
        return [index; 2];
    }
    let near = index / 2;
    let far = if index.is_multiple_of(2) { near.saturating_sub(1) } else { near + 1 };
    [near.min(coarse - 1), far.min(coarse - 1)]
}

/// Interpolates linearly: 3/4 of the nearest cell and 1/4 of the next.
#[inline(always)]
fn interpolate(near: f32, far: f32) -> f32 {
    near.mul_add(MG_NEAR, MG_FAR * far)
}

/// The position of the rows of a tile in the rows of the image.
#[derive(Clone, Copy)]
pub(super) struct ColumnRange {
    /// The image column of the first pixel of the tile, without its halo.
    pub(super) first: usize,
    pub(super) halo: usize,
    /// The width of the image.
    pub(super) width: usize,
}

impl ColumnRange {
    /// Returns the image columns that a row of `full` pixels needs, its halo included.
    pub(super) fn image(&self, full: usize) -> Range<usize> {
        // The pixels of a mirrored halo come from inside the image.
        let mirrored = self.first < self.halo || self.first + full > self.width + self.halo;
        if mirrored && self.width < 2 * full {
            return 0..self.width;
        }
        let last = (self.first + full - self.halo).min(self.width);
        self.first.saturating_sub(self.halo)..last
    }

    /// Copies a row of the image, with mirrored ends.
    #[inline(always)]
    pub(super) fn spread<T: Copy>(&self, line: &[T], into: &mut [f32], map: impl Fn(T) -> f32) {
        self.spread_from(line, 0, into, map);
    }

    /// Copies a row of the image, whose first element is column `origin`, with mirrored ends.
    #[inline(always)]
    pub(super) fn spread_from<T: Copy>(&self, line: &[T], origin: usize, into: &mut [f32], map: impl Fn(T) -> f32) {
        let left = self.halo.saturating_sub(self.first);
        let right = (self.width + self.halo - self.first).min(into.len());
        let from = self.first + left - self.halo - origin;
        for (to, &value) in into[left..right].iter_mut().zip(&line[from..from + right - left]) {
            *to = map(value);
        }
        for index in (0..left).chain(right..into.len()) {
            into[index] = map(line[mirror((self.first + index) as isize - self.halo as isize, self.width) - origin]);
        }
    }
}

/// The interpolation of a coarser grid to one row of a tile, with its buffers.
#[derive(Default)]
pub(super) struct CoarseLine {
    coarse: Vec<f32>,
    pub(super) fine: Vec<f32>,
    /// The image column of `fine[0]`.
    pub(super) first: usize,
}

impl CoarseLine {
    /// Interpolates row (`y`, `z`) of the finer grid of shape `finer` on `columns`, along z, then y, then x, into `fine`.
    #[inline(always)]
    pub(super) fn interpolate(
        &mut self,
        values: &[f32],
        coarse: [usize; 3],
        finer: [usize; 3],
        columns: Range<usize>,
        [y, z]: [usize; 2],
    ) {
        let stride = stride(coarse[0], finer[0]);
        let cells = columns.start / stride..columns.end.div_ceil(stride);
        // 1. Find the four coarse rows, with one more cell at each end. At the border the last cell is repeated.
        let inner = cells.start.saturating_sub(1)..(cells.end + 1).min(coarse[0]);
        let lead = usize::from(cells.start == 0);
        self.coarse.resize(cells.len() + 2, 0.0);
        let rows = parents(z, coarse[2], finer[2]).map(|z| {
            parents(y, coarse[1], finer[1]).map(|y| &values[(z * coarse[1] + y) * coarse[0]..][inner.clone()])
        });
        // 2. Interpolate along z and y.
        let line = &mut self.coarse[lead..lead + inner.len()];
        let [[near, far], [near_behind, far_behind]] = rows;
        if coarse[2] > 1 {
            let slices = near.iter().zip(near_behind).zip(far.iter().zip(far_behind));
            for (to, ((a, b), (c, d))) in line.iter_mut().zip(slices) {
                *to = interpolate(interpolate(*a, *b), interpolate(*c, *d));
            }
        } else {
            for (to, (near, far)) in line.iter_mut().zip(near.iter().zip(far)) {
                *to = interpolate(*near, *far);
            }
        }
        // 3. Repeat the cells at the border.
        let (first, last) = (self.coarse[lead], self.coarse[lead + inner.len() - 1]);
        self.coarse[..lead].fill(first);
        self.coarse[lead + inner.len()..].fill(last);
        // 4. Interpolate along x.
        self.first = stride * cells.start;
        self.fine.resize(stride * cells.len(), 0.0);
        let n = cells.len();
        if stride == 1 {
            self.fine.copy_from_slice(&self.coarse[1..n + 1]);
            return;
        }
        let (before, here, after) = (&self.coarse[..n], &self.coarse[1..n + 1], &self.coarse[2..n + 2]);
        for (i, pair) in self.fine.chunks_exact_mut(2).enumerate() {
            pair[0] = interpolate(here[i], before[i]);
            pair[1] = interpolate(here[i], after[i]);
        }
    }
}
