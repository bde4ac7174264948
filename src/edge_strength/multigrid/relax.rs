//! One smoothing of a grid on all threads, in bands of tiles, with the interpolation of the coarse correction before it
//! and the residuals for the coarse right-hand side after it.

use super::tile::Tile;
use super::{Grid, Problem, Source, stride};
use crate::error::Result;
use crate::image::{collected, resize};
use crate::progress::Ticker;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Mutex;

/// The tiles that are not in use, kept between bands.
pub(super) type Tiles = Mutex<Vec<Tile>>;

/// The size of a 3D tile without its halo; a band has the slices of one tile. Sizes along y and z are even, because
/// cells have pairs of children.
const TILE_VOLUME: [usize; 3] = [128, 32, 16];
/// The width of a 2D tile without its halo.
const TILE_X: usize = 512;

/// Returns the number of rows of a 2D tile. Many rows, for large images, compute less halo; few rows, for small images,
/// occupy all cores.
fn tile_rows(height: usize) -> usize {
    if height < 2048 { 32 } else { 128 }
}

/// Smooths `source` into `target`, and sums the residuals of children into the coarser right-hand side if there is one.
/// If `result` is set, the new `target` is the result of a whole cycle: it is clamped to 0..1, and its largest
/// difference from the old one is returned. Otherwise 0 is returned.
pub(super) fn relax(
    problem: &Problem<'_>,
    source: Source<'_>,
    target: &mut [f32],
    coarse: Option<(&mut [f32], &Grid)>,
    result: bool,
    ticker: &Ticker,
) -> Result<f32> {
    let shape = problem.grid.shape;
    let volume = shape[2] > 1;
    // 1. Divide the target into bands along the slowest axis, which are independent.
    let (axis, thickness) = if volume { (2, TILE_VOLUME[2]) } else { (1, tile_rows(shape[1])) };
    let plane = |shape: [usize; 3]| shape[0] * if volume { shape[1] } else { 1 };
    let (mut rights, coarse) = match coarse {
        Some((right, coarse)) => {
            let cells = thickness / stride(coarse.shape[axis], shape[axis]);
            (Some(right.chunks_mut(plane(coarse.shape) * cells)), Some(coarse))
        }
        None => (None, None),
    };
    // A last band of a single row has no coarse cells of its own.
    let bands = target.chunks_mut(plane(shape) * thickness);
    let bands = collected(bands.map(|target| (target, rights.as_mut().and_then(Iterator::next))))?;
    // 2. Smooth the bands in parallel.
    let largest_change = bands
        .into_par_iter()
        .enumerate()
        .map(|(index, (target, right))| {
            let first = index * thickness;
            let band = Band {
                problem,
                source,
                result,
                ticker,
                target,
                right,
                coarse,
                axis,
                along: first..(first + thickness).min(shape[axis]),
            };
            Arch::new().dispatch(band)
        })
        .try_reduce(|| 0.0, |a, b| Ok(a.max(b)))?;
    ticker.check()?;
    Ok(largest_change)
}

/// The rows (2D) or slices (3D) that one worker computes at a time, tile by tile.
struct Band<'a> {
    problem: &'a Problem<'a>,
    source: Source<'a>,
    result: bool,
    ticker: &'a Ticker,
    target: &'a mut [f32],
    right: Option<&'a mut [f32]>,
    coarse: Option<&'a Grid>,
    axis: usize,
    along: Range<usize>,
}

impl WithSimd for Band<'_> {
    type Output = Result<f32>;

    /// All functions below are inlined here, and so are compiled for each vector unit.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _simd: S) -> Result<f32> {
        self.relax()
    }
}

impl Band<'_> {
    #[inline(always)]
    fn relax(&mut self) -> Result<f32> {
        // 1. Take a tile and make its buffers large enough.
        let shape = self.problem.grid.shape;
        let steps = self.problem.weights.len();
        let volume = shape[2] > 1;
        let extent = if volume { TILE_VOLUME } else { [TILE_X, tile_rows(shape[1]), 1] };
        let halo = [steps + 1, steps + 1, if volume { steps + 1 } else { 0 }];
        let largest: usize = (0..3).map(|axis| extent[axis].min(shape[axis]) + 2 * halo[axis]).product();
        let lock = || self.problem.tiles.lock().unwrap_or_else(|e| e.into_inner());
        let mut tile = lock().pop().unwrap_or_default();
        tile.halo = halo;
        for values in [&mut tile.current, &mut tile.next, &mut tile.free] {
            resize(values, largest.max(values.len()), 0.0)?;
        }
        resize(&mut tile.right, if self.problem.right.is_empty() { 0 } else { largest }, 0.0)?;
        // 2. Smooth the band tile by tile.
        let mut change = 0f32;
        let rows = if self.axis == 1 { self.along.clone() } else { 0..shape[1] };
        let slices = if self.axis == 2 { self.along.clone() } else { 0..1 };
        for y in rows.clone().step_by(extent[1]) {
            for x in (0..shape[0]).step_by(extent[0]) {
                if self.ticker.check().is_err() {
                    // The caller checks too, and does not use these values.
                    return Ok(change);
                }
                tile.first = [x, y, slices.start];
                tile.size = [extent[0].min(shape[0] - x), extent[1].min(rows.end - y), slices.len()];
                tile.full = std::array::from_fn(|axis| tile.size[axis] + 2 * tile.halo[axis]);
                tile.smooth(self.problem, self.source);
                change = change.max(self.store(&tile));
                if let Some(coarse) = self.coarse {
                    tile.residual(self.problem.grid);
                    self.restrict(&tile, coarse);
                }
            }
        }
        lock().push(tile);
        Ok(change)
    }

    /// Returns the range of a row of the tile in the target of the band.
    fn row(&self, tile: &Tile, y: usize, z: usize) -> Range<usize> {
        let [width, height, _] = self.problem.grid.shape;
        let origin = if self.axis == 2 { [0, self.along.start] } else { [self.along.start, 0] };
        let at = ((tile.first[2] + z - origin[1]) * height + tile.first[1] + y - origin[0]) * width + tile.first[0];
        at..at + tile.size[0]
    }

    /// Copies the tile to the target. A result is clamped to 0..1, and its largest change returned.
    #[inline(always)]
    fn store(&mut self, tile: &Tile) -> f32 {
        /// The number of maxima that are kept side by side, so that the compiler vectorises the loop.
        const MAXIMA: usize = 16;
        let mut largest = [0f32; MAXIMA];
        for z in 0..tile.size[2] {
            for y in 0..tile.size[1] {
                let range = self.row(tile, y, z);
                let target = &mut self.target[range];
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

    /// Computes the right-hand side of coarse cells: the mean of the residuals of their children, times the grid's
    /// factor, which is 4 where all axes are halved (the area of a coarse cell is that of 4 fine ones). The third child
    /// of a last cell counts only for the mask.
    #[inline(always)]
    fn restrict(&mut self, tile: &Tile, coarse: &Grid) {
        let Some(right) = &mut self.right else { return };
        let shape = self.problem.grid.shape;
        let volume = shape[2] > 1;
        let strides: [usize; 3] = std::array::from_fn(|axis| stride(coarse.shape[axis], shape[axis]));
        let [columns, rows, slices]: [Range<usize>; 3] = std::array::from_fn(|axis| {
            let end = tile.first[axis] + tile.size[axis];
            tile.first[axis] / strides[axis]..end.div_ceil(strides[axis]).min(coarse.shape[axis])
        });
        let base = self.along.start / strides[self.axis];
        let line = |y: usize, z: usize| &tile.next[tile.at(0, y, z)..][..tile.size[0]];
        // A second child beyond the border is the mirror image of the one at the border; where an axis is not halved it is the
        // only one.
        let both = |index: usize, axis: usize| {
            let first = strides[axis] * index;
            [first, (first + strides[axis] - 1).min(shape[axis] - 1)].map(|child| child - tile.first[axis])
        };
        // The sum is that of eight children, in 2D of four.
        let factor = coarse.residual_factor / if volume { 8.0 } else { 4.0 };
        for z in slices {
            for y in rows.clone() {
                let lines = both(z, 2).map(|z| both(y, 1).map(|y| line(y, z)));
                let row = if volume { (z - base) * coarse.shape[1] + y } else { y - base };
                let target = &mut right[row * coarse.shape[0]..][columns.clone()];
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
    // A NaN would stay NaN.
    if value <= 0.0 {
        0.0
    } else if value >= 1.0 {
        1.0
    } else {
        value
    }
}

/// Returns the larger value in one instruction, unlike `f32::max`, because there are no NaNs here.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}
