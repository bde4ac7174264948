//! The converged mode: (∇² − λ)v = 0 off the shape, v = 1 on it, zero normal derivative at the border, by multigrid.
//!
//! **Method.** V-cycles on cell-centred grids, each half as fine as the one before. A coarse cell is fixed when any of
//! its children is, so a coarse correction never leaks through a line one pixel wide and never overshoots. The price,
//! corrections that miss a fringe along the shape, is paid by the smoother: a Chebyshev polynomial of the plain
//! five-point (seven-point) update, whose steps run inside a tile while it is in the cache, so that many steps cost
//! one pass over memory. Coarse right sides are sums of the children's residuals; corrections are interpolated
//! linearly. Coarsening stops when the mass term dominates (cells wider than 2ρ) or every cell is fixed. The first guess
//! is the coarse grids' own solution, made from coarse to fine by one cycle on each (nested iteration).
//!
//! **Accuracy.** Values are float32. Residuals are summed from differences, Σ(v_n − v) − λv, so λ is not lost beside
//! 4 + λ however large ρ is; what remains is the rounding of the smoother, about 1e-6.
//!
//! **Same on every device.** Tiles, grids and order of operations are pure functions of the image's shape, and the only
//! reduction is a maximum: any number of threads gives the same bits. The CUDA kernels do the same operations.
//!
//! `docs/edge_strength_converged.md` has the reasons, the measured rates and what did not pay.

use super::prepare::zeroed;
use crate::error::Result;
use crate::progress::Ticker;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Mutex;

/// What a solve reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Solution {
    pub cycles: u64,
    /// The estimated largest error of any pixel; see [`Watch`].
    pub residual: f64,
    pub converged: bool,
}

/// What a solve is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    /// 1/ρ².
    pub lambda: f64,
    /// Stop when the estimated largest error of any pixel is at most this.
    pub tolerance: f64,
    pub max_cycles: u64,
}

/// A smoother: the steps, before and after each coarse correction, that damp the errors whose eigenvalue of −∇² is
/// between `from` and `to`. `from` is well below the 2 (2D) that coarse grids demand, because near the shape the coarse
/// grids cannot help.
struct Smoother {
    /// The order of the polynomial's roots, largest first, that keeps both intermediate values and rounding errors
    /// within 5×.
    order: &'static [usize],
    from: f64,
    to: f64,
}

/// On the finest grid, where steps are dearest, and for the first guess.
const FINEST: Smoother = Smoother { order: &[1, 5, 0, 3, 4, 2], from: 0.3, to: 8.0 };
const COARSE: Smoother = Smoother { order: &[2, 6, 3, 5, 0, 7, 1, 4], from: 0.15, to: 8.0 };
/// On all grids of a volume.
const VOLUME: Smoother = Smoother { order: &[1, 3, 0, 2], from: 0.6, to: 12.0 };

/// The most steps of a smoother.
pub(super) const MOST_STEPS: usize = 8;

/// Coarsening stops when λ in units of the grid reaches this (cells are 2ρ wide): smoothing alone then converges.
const COARSEST_LAMBDA: f64 = 4.0;

/// Smoothings that solve the coarsest grid.
pub(super) const COARSEST_SMOOTHINGS: usize = 2;

/// Above this λ every value but the shape's is below any tolerance, and float32 would overflow.
const LARGEST_LAMBDA: f64 = 1e12;

/// One grid's numbers, the same on all devices.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    pub shape: [usize; 3],
    pub lambda: f32,
    /// The smoother's step widths, in order; an even number of them. When it corrects a finer grid:
    pub weights: Vec<f32>,
    /// When it is the finest, or makes the first guess:
    pub own_weights: Vec<f32>,
}

/// All grids that `lambda` and the shape call for, finest first; fixed cells may end the list earlier.
pub(super) fn grids(shape: [usize; 3], lambda: f64) -> Vec<Grid> {
    let mut lambda = lambda.min(LARGEST_LAMBDA);
    let (own, coarse) = if shape[2] > 1 { (&VOLUME, &VOLUME) } else { (&FINEST, &COARSE) };
    let grid = |shape, lambda: f64| Grid {
        shape,
        lambda: lambda as f32,
        weights: weights(coarse, lambda),
        own_weights: weights(own, lambda),
    };
    let mut grids = vec![grid(shape, lambda)];
    let mut cells = shape;
    while cells.iter().any(|&n| n > 1) && lambda < COARSEST_LAMBDA {
        lambda *= 4.0;
        cells = std::array::from_fn(|axis| half(cells[axis], shape[axis], grids.len()));
        grids.push(grid(cells, lambda));
    }
    grids
}

/// The grid on which the first guess starts, of the `grids` in use: the first with cells of ρ/8 or more, as wider cells
/// would tell nothing, but never the coarsest. `None`: the solver starts from the shape alone.
pub(super) fn first_guess<'a>(grids: impl ExactSizeIterator<Item = &'a Grid>) -> Option<usize> {
    const LEAST_LAMBDA: f32 = 1.0 / 64.0;
    let last = grids.len().checked_sub(2).filter(|&last| last > 0)?;
    Some(grids.take(last).skip(1).position(|grid| grid.lambda >= LEAST_LAMBDA).map_or(last, |index| index + 1))
}

/// Half of `n` cells, rounded to where `level` grids down the border stays closest to the image's: always rounding up
/// would let it drift outwards by up to a cell, and convergence suffers (0.64 instead of 0.2 a cycle at 513²).
fn half(n: usize, image: usize, level: usize) -> usize {
    let (down, up) = ((n / 2).max(1), n.div_ceil(2));
    let miss = |cells: usize| ((cells as u128) << level).abs_diff(image as u128);
    if miss(down) <= miss(up) { down } else { up }
}

/// The reciprocal roots of the Chebyshev polynomial of the smoothed part of the spectrum, in a stable order.
fn weights(smoother: &Smoother, lambda: f64) -> Vec<f32> {
    let Smoother { order, from, to } = smoother;
    let (middle, radius) = ((from + to) / 2.0 + lambda, (to - from) / 2.0);
    let steps = order.len() as f64;
    let root = |index: usize| middle + radius * (std::f64::consts::PI * (index as f64 + 0.5) / steps).cos();
    order.iter().map(|&index| (1.0 / root(index)) as f32).collect()
}

/// Estimates the largest error from how much each cycle changes: when changes δ shrink by a factor q, what is left to
/// change after a cycle is δ·q/(1 − q). The worst of the last two factors and [`SMALLEST_FACTOR`] is taken.
pub(super) struct Watch {
    cycles: u64,
    change: f64,
    factor: f64,
    worst: f64,
    /// The estimate.
    pub(super) residual: f64,
}

/// Taken as long as there are no two changes to compare.
const FIRST_FACTOR: f64 = 0.9;

/// The first cycles can be quicker than the later ones, which still have the slowest errors to work on.
const SMALLEST_FACTOR: f64 = 0.2;
const LARGEST_FACTOR: f64 = 0.999;

/// Of smaller changes rounding may be a large part: they tell nothing of the factor, which is kept from before.
const ROUNDING: f64 = 2e-5;

impl Watch {
    pub(super) fn new() -> Self {
        Self { cycles: 0, change: 0.0, factor: 0.0, worst: FIRST_FACTOR, residual: f64::INFINITY }
    }

    /// Takes note of the largest change of any pixel in one whole cycle.
    pub(super) fn note(&mut self, change: f64) {
        self.cycles += 1;
        // What the first cycle changed is mostly the start.
        if self.cycles <= 2 {
            self.worst = FIRST_FACTOR;
        } else if self.change > ROUNDING {
            let factor = change / self.change;
            self.worst = factor.max(self.factor).clamp(SMALLEST_FACTOR, LARGEST_FACTOR);
            self.factor = factor;
        }
        self.change = change;
        self.residual = change * self.worst / (1.0 - self.worst);
    }

    /// How far the logarithm of the error has come, in 0..=1.
    pub(super) fn fraction(&self, goal: &Goal) -> f64 {
        (self.residual.min(1.0).ln() / goal.tolerance.ln()).clamp(0.0, 1.0)
    }
}

/// Solves in place. `field` is packed, x fastest; in: the start, out: v. `fixed` is 1 on the shape. A `shape` of
/// depth 1 is 2D.
pub(super) fn solve(
    field: &mut [f32],
    fixed: &[u8],
    shape: [usize; 3],
    goal: &Goal,
    ticker: &Ticker,
) -> Result<Solution> {
    if !fixed.contains(&1) {
        field.fill(0.0);
        return Ok(Solution { cycles: 0, residual: 0.0, converged: true });
    }
    let mut levels = levels(fixed, shape, goal.lambda)?;
    let finest = &mut levels[0];
    finest.values.copy_from_slice(field);
    finest.values.iter_mut().zip(fixed).filter(|(_, f)| **f != 0).for_each(|(v, _)| *v = 1.0);
    let tiles = Tiles::default();
    let mut entry = Entry::Values;
    if let Some(first) = first_guess(levels.iter().map(|level| &level.grid)) {
        let Level { values, fixed, .. } = &mut levels[first];
        values.iter_mut().zip(&*fixed).for_each(|(value, &fixed)| *value = f32::from(fixed));
        for index in (1..=first).rev() {
            cycle(&mut levels[index..], entry, &tiles, ticker)?;
            entry = Entry::Guess;
        }
    }
    let mut watch = Watch::new();
    let mut cycles = 0;
    while cycles < goal.max_cycles && watch.residual > goal.tolerance {
        watch.note(f64::from(cycle(&mut levels, entry, &tiles, ticker)?));
        entry = Entry::Values;
        cycles += 1;
        ticker.set(watch.fraction(goal));
    }
    field.copy_from_slice(&levels[0].values);
    Ok(Solution { cycles, residual: watch.residual, converged: watch.residual <= goal.tolerance })
}

/// A grid and its fields.
struct Level {
    grid: Grid,
    fixed: Vec<u8>,
    /// The finest grid: v. Others: the correction of the grid above.
    values: Vec<f32>,
    /// The values after the first smoothing.
    smoothed: Vec<f32>,
    /// The right side; empty (zero) on the finest grid.
    right: Vec<f32>,
}

fn levels(fixed: &[u8], shape: [usize; 3], lambda: f64) -> Result<Vec<Level>> {
    let mut levels: Vec<Level> = Vec::new();
    for grid in grids(shape, lambda) {
        let fixed = match levels.last() {
            None => {
                let mut copy = zeroed(fixed.len())?;
                copy.copy_from_slice(fixed);
                copy
            }
            Some(finer) => coarsen(&finer.fixed, finer.grid.shape, grid.shape)?,
        };
        if !levels.is_empty() && !fixed.contains(&0) {
            break;
        }
        let cells = fixed.len();
        let right = if levels.is_empty() { Vec::new() } else { zeroed(cells)? };
        levels.push(Level { grid, fixed, values: zeroed(cells)?, smoothed: zeroed(cells)?, right });
    }
    Ok(levels)
}

/// The children of coarse cell `index` along one axis. When the count was rounded down, the last cell has three.
fn children(index: usize, coarse: usize, fine: usize) -> Range<usize> {
    2 * index..if index + 1 == coarse { fine } else { 2 * index + 2 }
}

fn coarsen(fixed: &[u8], fine: [usize; 3], coarse: [usize; 3]) -> Result<Vec<u8>> {
    let mut cells: Vec<u8> = zeroed(coarse.iter().product())?;
    cells.par_chunks_mut(coarse[0]).enumerate().for_each(|(row, cells)| {
        for z in children(row / coarse[1], coarse[2], fine[2]) {
            for y in children(row % coarse[1], coarse[1], fine[1]) {
                let line = &fixed[(z * fine[1] + y) * fine[0]..][..fine[0]];
                for (x, cell) in cells.iter_mut().enumerate() {
                    *cell |= line[children(x, coarse[0], fine[0])].iter().fold(0, |any, f| any | f);
                }
            }
        }
    });
    Ok(cells)
}

/// What a cycle does on the first of its grids.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// Solves for v, from the values there.
    Values,
    /// Solves for v, from the values of the next grid, interpolated.
    Guess,
    /// Solves for the correction of the grid above, from zero.
    Correction,
}

/// One V-cycle from the first of `levels` down; returns the largest change of its values, but for a correction.
fn cycle(levels: &mut [Level], entry: Entry, tiles: &Tiles, ticker: &Ticker) -> Result<f32> {
    let Some((level, coarser)) = levels.split_first_mut() else { return Ok(0.0) };
    let Level { grid, fixed, values, smoothed, right } = level;
    let own = entry != Entry::Correction;
    let problem = Problem {
        grid,
        weights: if own { &grid.own_weights } else { &grid.weights },
        fixed,
        right: if own { &[] } else { right },
        tiles,
    };
    let Some(below) = coarser.first_mut() else {
        const { assert!(COARSEST_SMOOTHINGS == 2, "one into each field") };
        let start = if own { Source::Values(values) } else { Source::Zero };
        relax(&problem, start, smoothed, None, false, ticker)?;
        return relax(&problem, Source::Values(smoothed), values, None, own, ticker);
    };
    let start = match entry {
        Entry::Values => Source::Values(values),
        Entry::Guess => Source::Guess(&below.values, below.grid.shape),
        Entry::Correction => Source::Zero,
    };
    relax(&problem, start, smoothed, Some((&mut below.right, below.grid.shape)), false, ticker)?;
    cycle(coarser, Entry::Correction, tiles, ticker)?;
    let correction = Source::Corrected(smoothed, &coarser[0].values, coarser[0].grid.shape);
    relax(&problem, correction, values, None, own, ticker)
}

/// The workers' tiles between bands.
type Tiles = Mutex<Vec<Tile>>;

/// What stays the same in all passes over one grid.
struct Problem<'a> {
    grid: &'a Grid,
    weights: &'a [f32],
    fixed: &'a [u8],
    right: &'a [f32],
    tiles: &'a Tiles,
}

/// What a pass starts from.
#[derive(Clone, Copy)]
enum Source<'a> {
    Zero,
    Values(&'a [f32]),
    /// A coarser grid's values, interpolated, and 1 on the shape.
    Guess(&'a [f32], [usize; 3]),
    /// Values, and a coarser grid's values to be added by linear interpolation.
    Corrected(&'a [f32], &'a [f32], [usize; 3]),
}

/// A tile's extent without its halo; in 3D bands are TILE_Z slices. All but the first even, as children are pairs.
const TILE_VOLUME: [usize; 3] = [128, 32, 16];
const TILE_X: usize = 512;

/// Rows of a 2D tile: more of them for large images waste less on the halo, fewer for small ones feed all cores.
fn tile_rows(height: usize) -> usize {
    if height < 2048 { 32 } else { 128 }
}

/// Smooths `source` into `target`, and sums the children's residuals into the coarser right side if there is one.
/// Returns the largest difference between the new and the old `target` when `measured`, else 0.
fn relax(
    problem: &Problem<'_>,
    source: Source<'_>,
    target: &mut [f32],
    coarse: Option<(&mut [f32], [usize; 3])>,
    measured: bool,
    ticker: &Ticker,
) -> Result<f32> {
    let shape = problem.grid.shape;
    let volume = shape[2] > 1;
    // Bands along the slowest axis are independent pieces of the target.
    let (axis, thickness) = if volume { (2, TILE_VOLUME[2]) } else { (1, tile_rows(shape[1])) };
    let plane = |shape: [usize; 3]| shape[0] * if volume { shape[1] } else { 1 };
    let (right, coarse_shape) = coarse.unwrap_or((&mut [], [0; 3]));
    let mut right = if right.is_empty() {
        Vec::new()
    } else {
        right.chunks_mut(plane(coarse_shape) * thickness / 2).map(Some).collect()
    };
    let bands: Vec<_> = target.chunks_mut(plane(shape) * thickness).collect();
    // A last band of one leftover row has no coarse cells of its own.
    right.resize_with(bands.len(), || None);
    let changes = bands
        .into_par_iter()
        .zip(right)
        .enumerate()
        .map(|(index, (target, right))| {
            let first = index * thickness;
            let band = Band {
                problem,
                source,
                measured,
                ticker,
                target,
                right,
                coarse: coarse_shape,
                axis,
                along: first..(first + thickness).min(shape[axis]),
            };
            Arch::new().dispatch(band)
        })
        .collect::<Vec<f32>>();
    ticker.check()?;
    Ok(changes.into_iter().fold(0.0, f32::max))
}

/// The rows (2D) or slices (3D) that one worker computes at a time, tile after tile.
struct Band<'a> {
    problem: &'a Problem<'a>,
    source: Source<'a>,
    measured: bool,
    ticker: &'a Ticker,
    target: &'a mut [f32],
    right: Option<&'a mut [f32]>,
    coarse: [usize; 3],
    axis: usize,
    along: Range<usize>,
}

impl WithSimd for Band<'_> {
    type Output = f32;

    /// Everything below is inlined into this, and so compiled for the vector unit that was found.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _simd: S) -> f32 {
        self.relax()
    }
}

/// A tile in the cache: its pixels and a halo of steps + 1 around them. Outside the image the halo holds the image
/// mirrored, whose update is the mirror of the update: that is the border condition, without a branch.
#[derive(Default)]
struct Tile {
    /// First pixel, and pixels, without the halo.
    first: [usize; 3],
    size: [usize; 3],
    halo: [usize; 3],
    /// The extent with the halo.
    full: [usize; 3],
    current: Vec<f32>,
    next: Vec<f32>,
    /// 0 on the shape, else 1.
    free: Vec<f32>,
    /// Empty where the right side is zero.
    right: Vec<f32>,
    lines: Lines,
}

impl Band<'_> {
    #[inline(always)]
    fn relax(&mut self) -> f32 {
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
            values.resize(largest.max(values.len()), 0.0);
        }
        tile.right.resize(if self.problem.right.is_empty() { 0 } else { largest }, 0.0);
        let mut change = 0f32;
        let rows = if self.axis == 1 { self.along.clone() } else { 0..shape[1] };
        let slices = if self.axis == 2 { self.along.clone() } else { 0..1 };
        for y in rows.clone().step_by(extent[1]) {
            for x in (0..shape[0]).step_by(extent[0]) {
                if self.ticker.check().is_err() {
                    // The caller sees it too, and what is here is not used.
                    return change;
                }
                tile.first = [x, y, slices.start];
                tile.size = [extent[0].min(shape[0] - x), extent[1].min(rows.end - y), slices.len()];
                tile.full = std::array::from_fn(|axis| tile.size[axis] + 2 * tile.halo[axis]);
                tile.smooth(self.problem, self.source);
                change = change.max(self.store(&tile));
                if self.right.is_some() {
                    tile.residual(self.problem.grid.lambda);
                    self.restrict(&tile);
                }
            }
        }
        lock().push(tile);
        change
    }

    /// Where a row of the tile lies in the band's target.
    fn row(&self, tile: &Tile, y: usize, z: usize) -> Range<usize> {
        let [width, height, _] = self.problem.grid.shape;
        let origin = if self.axis == 2 { [0, self.along.start] } else { [self.along.start, 0] };
        let at = ((tile.first[2] + z - origin[1]) * height + tile.first[1] + y - origin[0]) * width + tile.first[0];
        at..at + tile.size[0]
    }

    #[inline(always)]
    fn store(&mut self, tile: &Tile) -> f32 {
        /// Maxima kept side by side, so that the loop is vectorised.
        const SIDE_BY_SIDE: usize = 16;
        let mut largest = [0f32; SIDE_BY_SIDE];
        for z in 0..tile.size[2] {
            for y in 0..tile.size[1] {
                let range = self.row(tile, y, z);
                let target = &mut self.target[range];
                let values = &tile.current[tile.at(0, y, z)..][..target.len()];
                if self.measured {
                    let (old, old_rest) = target.as_chunks::<SIDE_BY_SIDE>();
                    let (new, new_rest) = values.as_chunks::<SIDE_BY_SIDE>();
                    for (old, new) in old.iter().zip(new) {
                        for i in 0..SIDE_BY_SIDE {
                            largest[i] = larger(largest[i], (new[i] - old[i]).abs());
                        }
                    }
                    for (old, new) in old_rest.iter().zip(new_rest) {
                        largest[0] = larger(largest[0], (new - old).abs());
                    }
                }
                target.copy_from_slice(values);
            }
        }
        largest.into_iter().fold(0.0, f32::max)
    }

    /// Right side of a coarse cell: 4 × the mean of its children's residuals (a coarse pixel's unit of area is 4 fine
    /// ones). The third child of a last cell only counts for the mask.
    #[inline(always)]
    fn restrict(&mut self, tile: &Tile) {
        let Some(right) = &mut self.right else { return };
        let shape = self.problem.grid.shape;
        let volume = shape[2] > 1;
        let [columns, rows, slices]: [Range<usize>; 3] = std::array::from_fn(|axis| {
            tile.first[axis] / 2..(tile.first[axis] + tile.size[axis]).div_ceil(2).min(self.coarse[axis])
        });
        let base = self.along.start / 2;
        let line = |y: usize, z: usize| &tile.next[tile.at(0, y, z)..][..tile.size[0]];
        // A child beyond the border is the mirror of the one at the border.
        let second = |index: usize, axis: usize| (2 * index + 1).min(shape[axis] - 1) - tile.first[axis];
        for z in slices {
            let depths = [2 * z - tile.first[2], second(z, 2)];
            for y in rows.clone() {
                let heights = [2 * y - tile.first[1], second(y, 1)];
                let lines = depths.map(|z| heights.map(|y| line(y, z)));
                let row = if volume { (z - base) * self.coarse[1] + y } else { y - base };
                let target = &mut right[row * self.coarse[0]..][columns.clone()];
                let sum =
                    |[first, second]: [&[f32]; 2], a: usize, b: usize| (first[a] + first[b]) + (second[a] + second[b]);
                let pairs = lines.map(|lines| lines.map(|line| line.as_chunks::<2>().0));
                let (whole, rest) = target.split_at_mut(target.len().min(pairs[0][0].len()));
                if volume {
                    for (index, to) in whole.iter_mut().enumerate() {
                        let [front, back] = lines.map(|lines| sum(lines, 2 * index, 2 * index + 1));
                        *to = (front + back) * 0.5;
                    }
                } else {
                    let [above, below] = pairs[0];
                    for (to, (above, below)) in whole.iter_mut().zip(above.iter().zip(below)) {
                        *to = (above[0] + above[1]) + (below[0] + below[1]);
                    }
                }
                if let [to] = rest {
                    let last = tile.size[0] - 1;
                    let [front, back] = lines.map(|lines| sum(lines, last, last));
                    *to = if volume { (front + back) * 0.5 } else { front };
                }
            }
        }
    }
}

/// The pixel that lies at `index` when the image is mirrored at its borders again and again.
fn mirror(index: isize, count: usize) -> usize {
    let index = index.rem_euclid(2 * count as isize) as usize;
    if index < count { index } else { 2 * count - 1 - index }
}

/// The coarse cells that a fine one is interpolated from: the nearest (3/4) and the next (1/4).
fn parents(index: usize, coarse: usize) -> [usize; 2] {
    let near = index / 2;
    let far = if index.is_multiple_of(2) { near.saturating_sub(1) } else { near + 1 };
    [near.min(coarse - 1), far.min(coarse - 1)]
}

/// Unlike `f32::max` one instruction: there are no NaNs here.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

#[inline(always)]
fn blend(near: f32, far: f32) -> f32 {
    near.mul_add(0.75, 0.25 * far)
}

impl Tile {
    /// The index of a pixel, counted without the halo.
    fn at(&self, x: usize, y: usize, z: usize) -> usize {
        ((z + self.halo[2]) * self.full[1] + y + self.halo[1]) * self.full[0] + x + self.halo[0]
    }

    /// Loads the tile and makes all steps, in a wave: each step follows one row (3D: slice) behind the step before it,
    /// so that the rows in use stay in the fastest cache. Step t makes row r - t when row r arrives, and reads rows
    /// that no step has overwritten yet. The result is in `current`.
    #[inline(always)]
    fn smooth(&mut self, problem: &Problem<'_>, source: Source<'_>) {
        let (weights, lambda) = (problem.weights, problem.grid.lambda);
        debug_assert!(weights.len().is_multiple_of(2), "the last step must end in `current`");
        let outer = if self.halo[2] > 0 { self.full[2] } else { self.full[1] };
        for arrived in 0..outer + weights.len() {
            if arrived < outer {
                self.load(problem, source, arrived);
            }
            for (step, &weight) in weights.iter().enumerate().take(arrived) {
                let margin = step + 1;
                let row = arrived - margin;
                if row < margin || row + margin >= outer {
                    continue;
                }
                let forward = step % 2 == 0;
                self.sweep(
                    row,
                    margin,
                    forward,
                    #[inline(always)]
                    |sum, neighbours, centre, free, right| {
                        let change = centre.mul_add(-lambda, centre.mul_add(-neighbours, sum.total())) - right;
                        (weight * free).mul_add(change, centre)
                    },
                );
            }
        }
    }

    /// Fills row `arrived` (3D: slice) of the tile with its halo.
    #[inline(always)]
    fn load(&mut self, problem: &Problem<'_>, source: Source<'_>, arrived: usize) {
        let [width, height, depth] = problem.grid.shape;
        let columns = Columns { first: self.first[0], halo: self.halo[0], width };
        let rows = if self.halo[2] > 0 { self.full[1] } else { 1 };
        for row in arrived * rows..(arrived + 1) * rows {
            let z = mirror((self.first[2] + row / self.full[1]) as isize - self.halo[2] as isize, depth);
            let y = mirror((self.first[1] + row % self.full[1]) as isize - self.halo[1] as isize, height);
            let from = (z * height + y) * width..(z * height + y + 1) * width;
            let into = row * self.full[0]..(row + 1) * self.full[0];
            let free = &mut self.free[into.clone()];
            columns.spread(&problem.fixed[from.clone()], free, |fixed| if fixed == 0 { 1.0 } else { 0.0 });
            if !problem.right.is_empty() {
                columns.spread(&problem.right[from.clone()], &mut self.right[into.clone()], |value| value);
            }
            let current = &mut self.current[into.clone()];
            match source {
                Source::Zero => current.fill(0.0),
                Source::Values(values) | Source::Corrected(values, ..) => {
                    columns.spread(&values[from], current, |value| value);
                }
                Source::Guess(..) => current.iter_mut().zip(&*free).for_each(|(value, free)| *value = 1.0 - free),
            }
            if let Source::Corrected(_, coarse, coarse_shape) | Source::Guess(coarse, coarse_shape) = source {
                self.lines.interpolate(coarse, coarse_shape, columns.image(self.full[0]), [y, z]);
                let next = &mut self.next[into];
                columns.spread_from(&self.lines.fine, self.lines.first, next, |value| value);
                for ((value, &free), &correction) in current.iter_mut().zip(&*free).zip(&*next) {
                    *value = free.mul_add(correction, *value);
                }
            }
        }
    }

    /// The residual, from differences so that no rounding of 4v is left in it, into `next`; 0 on the shape.
    #[inline(always)]
    fn residual(&mut self, lambda: f32) {
        let (outer, margin) =
            if self.halo[2] > 0 { (self.full[2], self.halo[2]) } else { (self.full[1], self.halo[1]) };
        for row in margin..outer - margin {
            self.sweep(
                row,
                margin,
                true,
                #[inline(always)]
                |sum, _, centre, free, right| free * (right - centre.mul_add(-lambda, sum.differences(centre))),
            );
        }
    }

    /// Applies `update` to one row of the tile, in 3D to one slice, but for the outer `margin` pixels: from `current`
    /// into `next` when `forward`, else back.
    #[inline(always)]
    fn sweep(&mut self, outer: usize, margin: usize, forward: bool, update: impl Fn(Sum, f32, f32, f32, f32) -> f32) {
        let [width, height, _] = self.full;
        let volume = self.halo[2] > 0;
        let (source, target) = if forward { (&self.current, &mut self.next) } else { (&self.next, &mut self.current) };
        let n = width - 2 * margin;
        let rows = if volume { outer * height + margin..(outer + 1) * height - margin } else { outer..outer + 1 };
        for row in rows {
            let at = row * width + margin;
            let line = |from: usize| &source[from..from + n];
            let (left, right, up, down) = (line(at - 1), line(at + 1), line(at - width), line(at + width));
            let centre = line(at);
            let free = &self.free[at..at + n];
            let target = &mut target[at..at + n];
            if volume {
                let (front, back) = (line(at - width * height), line(at + width * height));
                let pairs = |i: usize| Sum([[left[i], right[i]], [up[i], down[i]], [front[i], back[i]]], true);
                if self.right.is_empty() {
                    for i in 0..n {
                        target[i] = update(pairs(i), 6.0, centre[i], free[i], 0.0);
                    }
                } else {
                    let side = &self.right[at..at + n];
                    for i in 0..n {
                        target[i] = update(pairs(i), 6.0, centre[i], free[i], side[i]);
                    }
                }
            } else {
                let pairs = |i: usize| Sum([[left[i], right[i]], [up[i], down[i]], [0.0; 2]], false);
                if self.right.is_empty() {
                    for i in 0..n {
                        target[i] = update(pairs(i), 4.0, centre[i], free[i], 0.0);
                    }
                } else {
                    let side = &self.right[at..at + n];
                    for i in 0..n {
                        target[i] = update(pairs(i), 4.0, centre[i], free[i], side[i]);
                    }
                }
            }
        }
    }
}

/// The neighbours of a pixel in pairs, and whether the third pair (front and back) counts.
struct Sum([[f32; 2]; 3], bool);

impl Sum {
    #[inline(always)]
    fn total(&self) -> f32 {
        let Self([[l, r], [u, d], [f, b]], volume) = *self;
        let sum = (l + r) + (u + d);
        if volume { sum + (f + b) } else { sum }
    }

    #[inline(always)]
    fn differences(&self, c: f32) -> f32 {
        let Self([[l, r], [u, d], [f, b]], volume) = *self;
        let sum = ((l - c) + (r - c)) + ((u - c) + (d - c));
        if volume { sum + ((f - c) + (b - c)) } else { sum }
    }
}

/// How a tile's rows lie on the image's.
#[derive(Clone, Copy)]
struct Columns {
    first: usize,
    halo: usize,
    width: usize,
}

impl Columns {
    /// The image's columns that a row of `full` pixels needs.
    fn image(&self, full: usize) -> Range<usize> {
        // A mirrored halo reaches back into the image.
        let mirrored = self.first < self.halo || self.first + full > self.width + self.halo;
        if mirrored && self.width < 2 * full {
            return 0..self.width;
        }
        let last = (self.first + full - self.halo).min(self.width);
        self.first.saturating_sub(self.halo)..last
    }

    #[inline(always)]
    fn spread<T: Copy>(&self, line: &[T], into: &mut [f32], map: impl Fn(T) -> f32) {
        self.spread_from(line, 0, into, map);
    }

    /// Copies a row of the image, whose first element is column `origin`, with mirrored ends.
    #[inline(always)]
    fn spread_from<T: Copy>(&self, line: &[T], origin: usize, into: &mut [f32], map: impl Fn(T) -> f32) {
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

/// A coarse correction on its way to one row of a tile.
#[derive(Default)]
struct Lines {
    coarse: Vec<f32>,
    fine: Vec<f32>,
    /// The image column of `fine[0]`.
    first: usize,
}

impl Lines {
    /// Interpolates row (`y`, `z`) of the finer grid on `columns`: along z, then y, then x.
    #[inline(always)]
    fn interpolate(&mut self, values: &[f32], coarse: [usize; 3], columns: Range<usize>, [y, z]: [usize; 2]) {
        let cells = columns.start / 2..columns.end.div_ceil(2);
        // The line of coarse values with one more at each end; at the border the end is repeated.
        let inner = cells.start.saturating_sub(1)..(cells.end + 1).min(coarse[0]);
        let lead = usize::from(cells.start == 0);
        self.coarse.resize(cells.len() + 2, 0.0);
        let rows = parents(z, coarse[2])
            .map(|z| parents(y, coarse[1]).map(|y| &values[(z * coarse[1] + y) * coarse[0]..][inner.clone()]));
        let line = &mut self.coarse[lead..lead + inner.len()];
        let [[near, far], [near_behind, far_behind]] = rows;
        if coarse[2] > 1 {
            let slices = near.iter().zip(near_behind).zip(far.iter().zip(far_behind));
            for (to, ((a, b), (c, d))) in line.iter_mut().zip(slices) {
                *to = blend(blend(*a, *b), blend(*c, *d));
            }
        } else {
            for (to, (near, far)) in line.iter_mut().zip(near.iter().zip(far)) {
                *to = blend(*near, *far);
            }
        }
        let (first, last) = (self.coarse[lead], self.coarse[lead + inner.len() - 1]);
        self.coarse[..lead].fill(first);
        self.coarse[lead + inner.len()..].fill(last);
        self.first = 2 * cells.start;
        self.fine.resize(2 * cells.len(), 0.0);
        let n = cells.len();
        let (before, here, after) = (&self.coarse[..n], &self.coarse[1..n + 1], &self.coarse[2..n + 2]);
        for (i, pair) in self.fine.chunks_exact_mut(2).enumerate() {
            pair[0] = blend(here[i], before[i]);
            pair[1] = blend(here[i], after[i]);
        }
    }
}

#[cfg(test)]
#[path = "multigrid_tests.rs"]
mod tests;
