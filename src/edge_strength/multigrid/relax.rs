//! One smoothing of a grid on all threads, in blocks of tiles. Each tile also interpolates the coarse correction before the
//! smoothing, and computes the residuals for the coarse right-hand side after it.

use super::tile::Tile;
use super::{Grid, Problem, Source, stride};
use crate::error::Result;
use crate::memory::{collected, push, resize};
use crate::progress::Ticker;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Mutex;

/// Unused tiles, which are kept for other blocks.
pub(super) type Tiles = Mutex<Vec<Tile>>;

/// The size of a 3D tile without its halo. Sizes along y and z are even, because cells have pairs of children.
const TILE_VOLUME: [usize; 3] = [256, 32, 16];
/// The width of a 2D tile without its halo.
const TILE_X: usize = 512;

/// Returns the number of rows of a 2D tile: many rows for large images, because the halo is then smaller in proportion; few
/// rows for small images, to use all cores.
fn tile_rows(height: usize) -> usize {
    if height < 2048 { 32 } else { 128 }
}

/// Smooths `source` into `target`, and sums the residuals of children into the coarser right-hand side if there is one. If
/// `result` is set, the new `target` is the result of a whole cycle: it is clamped to 0..1, and the largest difference from
/// its old values is returned. Otherwise returns 0.
pub(super) fn relax(
    problem: &Problem<'_>,
    source: Source<'_>,
    target: &mut [f32],
    coarse: Option<(&mut [f32], &Grid)>,
    result: bool,
    ticker: &Ticker,
) -> Result<f32> {
    let shape = problem.grid.shape;
    let extent = if shape[2] > 1 { TILE_VOLUME } else { [TILE_X, tile_rows(shape[1]), 1] };
    // 1. Divide the target into blocks of rows, which are independent, and with it the right-hand side.
    let counts = [1, 2].map(|axis| shape[axis].div_ceil(extent[axis]));
    let targets = blocks(target, shape, extent, counts)?;
    let (rights, coarse) = match coarse {
        Some((right, coarse)) => {
            let cells = std::array::from_fn(|axis| extent[axis] / stride(coarse.shape[axis], shape[axis]));
            (blocks(right, coarse.shape, cells, counts)?, Some(coarse))
        }
        None => (collected(targets.iter().map(|_| Vec::new()))?, None),
    };
    // 2. Smooth the blocks in parallel.
    let largest_change = targets
        .into_par_iter()
        .zip(rights)
        .enumerate()
        .map(|(index, (target, right))| {
            let first = [index % counts[0] * extent[1], index / counts[0] * extent[2]];
            let size = [extent[1].min(shape[1] - first[0]), extent[2].min(shape[2] - first[1])];
            let block = Block { problem, source, result, ticker, extent, target, right, coarse, first, size };
            Arch::new().dispatch(block)
        })
        .try_reduce(|| 0.0, |a, b| Ok(a.max(b)))?;
    ticker.check()?;
    Ok(largest_change)
}

/// Rows of a grid.
type Rows<'a> = Vec<&'a mut [f32]>;

/// Divides the rows of a grid into blocks: `counts` blocks along y and z, each of at most `extent` rows and slices. A last
/// block of a single row has no coarse cells of its own.
fn blocks<'a>(
    values: &'a mut [f32],
    shape: [usize; 3],
    extent: [usize; 3],
    counts: [usize; 2],
) -> Result<Vec<Rows<'a>>> {
    let mut blocks = collected((0..counts[0] * counts[1]).map(|_| Vec::new()))?;
    for (row, values) in values.chunks_mut(shape[0]).enumerate() {
        let (y, z) = (row % shape[1], row / shape[1]);
        push(&mut blocks[z / extent[2] * counts[0] + y / extent[1]], values)?;
    }
    Ok(blocks)
}

/// The rows that one worker computes at a time, tile by tile along x.
struct Block<'a> {
    problem: &'a Problem<'a>,
    source: Source<'a>,
    result: bool,
    ticker: &'a Ticker,
    /// The size of a tile.
    extent: [usize; 3],
    target: Rows<'a>,
    right: Rows<'a>,
    coarse: Option<&'a Grid>,
    /// The first row and slice.
    first: [usize; 2],
    /// The number of rows and of slices.
    size: [usize; 2],
}

impl WithSimd for Block<'_> {
    type Output = Result<f32>;

    /// All functions below are inlined here, so that they are compiled with the vector instructions of each target.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _simd: S) -> Result<f32> {
        self.relax()
    }
}

impl Block<'_> {
    #[inline(always)]
    fn relax(&mut self) -> Result<f32> {
        // 1. Take a tile and make its buffers large enough.
        let shape = self.problem.grid.shape;
        let steps = self.problem.weights.len();
        let volume = shape[2] > 1;
        let is_whole = [0, 1].map(|axis| !volume && shape[axis] <= self.extent[axis]);
        let halo = [
            if is_whole[0] { 1 } else { steps + 1 },
            if is_whole[1] { 0 } else { steps + 1 },
            if volume { steps + 1 } else { 0 },
        ];
        let largest: usize = (0..3).map(|axis| self.extent[axis].min(shape[axis]) + 2 * halo[axis]).product();
        let lock = || self.problem.tiles.lock().unwrap_or_else(|e| e.into_inner());
        let mut tile = lock().pop().unwrap_or_default();
        (tile.halo, tile.has_whole_rows) = (halo, is_whole[0]);
        for values in [&mut tile.current, &mut tile.next, &mut tile.free] {
            resize(values, largest.max(values.len()), 0.0)?;
        }
        resize(&mut tile.right, if self.problem.right.is_empty() { 0 } else { largest }, 0.0)?;
        // 2. Smooth the block tile by tile.
        let mut change = 0f32;
        for x in (0..shape[0]).step_by(self.extent[0]) {
            if self.ticker.check().is_err() {
                // The caller checks the ticker, too, and does not use these values.
                return Ok(change);
            }
            tile.first = [x, self.first[0], self.first[1]];
            tile.size = [self.extent[0].min(shape[0] - x), self.size[0], self.size[1]];
            tile.full = std::array::from_fn(|axis| tile.size[axis] + 2 * tile.halo[axis]);
            tile.smooth(self.problem, self.source);
            change = change.max(self.store(&tile));
            if let Some(coarse) = self.coarse {
                tile.residual(self.problem.grid);
                self.restrict(&tile, coarse);
            }
        }
        lock().push(tile);
        Ok(change)
    }

    /// Copies the tile to the target. With `result` it clamps the values to 0..1 and returns their largest change.
    #[inline(always)]
    fn store(&mut self, tile: &Tile) -> f32 {
        /// The number of partial maxima, with which the compiler can vectorise the loop.
        const MAXIMA: usize = 16;
        let mut largest = [0f32; MAXIMA];
        for z in 0..tile.size[2] {
            for y in 0..tile.size[1] {
                let target = &mut self.target[z * tile.size[1] + y][tile.first[0]..][..tile.size[0]];
                let values = &tile.current[tile.at(0, y, z)..][..target.len()];
                if !self.result {
                    target.copy_from_slice(values);
                    continue;
                }
                let (targets, targets_rest) = target.as_chunks_mut::<MAXIMA>();
                let (values, values_rest) = values.as_chunks::<MAXIMA>();
                for (target, value) in targets.iter_mut().zip(values) {
                    for i in 0..MAXIMA {
                        let new = clamp_to_unit(value[i]);
                        largest[i] = larger(largest[i], (new - target[i]).abs());
                        target[i] = new;
                    }
                }
                for (target, value) in targets_rest.iter_mut().zip(values_rest) {
                    let new = clamp_to_unit(*value);
                    largest[0] = larger(largest[0], (new - *target).abs());
                    *target = new;
                }
            }
        }
        largest.into_iter().fold(0.0, f32::max)
    }

    /// Computes the right-hand side of coarse cells: the mean of the residuals of their children, times the grid's factor,
    /// which is 4 if all axes are halved (the square of the ratio of cell widths). The third child of a last cell counts
    /// only for the mask.
    #[inline(always)]
    fn restrict(&mut self, tile: &Tile, coarse: &Grid) {
        let shape = self.problem.grid.shape;
        let volume = shape[2] > 1;
        let strides: [usize; 3] = std::array::from_fn(|axis| stride(coarse.shape[axis], shape[axis]));
        let [columns, rows, slices]: [Range<usize>; 3] = std::array::from_fn(|axis| {
            let end = tile.first[axis] + tile.size[axis];
            tile.first[axis] / strides[axis]..end.div_ceil(strides[axis]).min(coarse.shape[axis])
        });
        let line = |y: usize, z: usize| &tile.next[tile.at(0, y, z)..][..tile.size[0]];
        // A second child beyond the border is the mirror image of the one at the border. If the axis is not halved, the
        // only child counts twice.
        let both = |index: usize, axis: usize| {
            let first = strides[axis] * index;
            [first, (first + strides[axis] - 1).min(shape[axis] - 1)].map(|child| child - tile.first[axis])
        };
        // The sum is over eight children; in 2D over four.
        let factor = coarse.residual_factor / if volume { 8.0 } else { 4.0 };
        for (slice, z) in slices.enumerate() {
            for (row, y) in rows.clone().enumerate() {
                let lines = both(z, 2).map(|z| both(y, 1).map(|y| line(y, z)));
                let target = &mut self.right[slice * rows.len() + row][columns.clone()];
                let sum =
                    |[first, second]: [&[f32]; 2], a: usize, b: usize| (first[a] + first[b]) + (second[a] + second[b]);
                let whole_sum = |a: usize, b: usize| {
                    let [front, back] = lines.map(|lines| sum(lines, a, b));
                    (if volume { front + back } else { front }) * factor
                };
                if strides[0] == 1 {
                    for (index, to) in target.iter_mut().enumerate() {
                        *to = whole_sum(index, index);
                    }
                    continue;
                }
                let pairs = lines.map(|lines| lines.map(|line| line.as_chunks::<2>().0));
                let (whole, rest) = target.split_at_mut(target.len().min(pairs[0][0].len()));
                if volume {
                    for (index, to) in whole.iter_mut().enumerate() {
                        *to = whole_sum(2 * index, 2 * index + 1);
                    }
                } else {
                    let [above, below] = pairs[0];
                    for (to, (above, below)) in whole.iter_mut().zip(above.iter().zip(below)) {
                        *to = ((above[0] + above[1]) + (below[0] + below[1])) * factor;
                    }
                }
                if let [to] = rest {
                    *to = whole_sum(tile.size[0] - 1, tile.size[0] - 1);
                }
            }
        }
    }
}

/// Clamps a value to 0..1. The solution is in this range, so clamping moves a value towards it.
#[inline(always)]
#[allow(clippy::manual_clamp, reason = "it would leave -0.0")]
fn clamp_to_unit(value: f32) -> f32 {
    // A NaN remains NaN.
    if value <= 0.0 {
        0.0
    } else if value >= 1.0 {
        1.0
    } else {
        value
    }
}

/// Returns the larger value. This takes one instruction, unlike `f32::max`, because it need not handle NaN.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}
