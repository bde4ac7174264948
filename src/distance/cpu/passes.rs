//! The passes along rows and along columns.
//!
//! The first pass is along a row: the squared distance to the nearest pixel of the other class, from the runs of equal
//! pixels.
//!
//! The second and third pass are along a column: the minimum of the values that its pixels hold plus their squared
//! distance.
//!
//! [`LANES`] neighbouring columns are computed together, with one vector for each row. The pixel at which the minimum
//! is found is called the source. The squared distance is convex, so the source moves monotonically along a column: for
//! a row between two rows with known sources, the source is between these two (as in the algorithms for totally
//! monotone matrices). Rows are therefore searched from coarse to fine: first every other row at a large step, then the
//! rows between them. A row is searched within the span of the sources of its neighbours in all lanes, from the row
//! itself outwards, until the distance alone exceeds the minimum found. Near a boundary the search ends after a few
//! steps; far from a boundary the span is narrow.
//!
//! A source of the other class contributes 0, so the search of a pixel may end there, and a neighbour of the other
//! class bounds the search by its own position.

use super::{Finish, Mask, term, zeroed};
use crate::device::PerThread;
use crate::error::{Error, Result};
use crate::parallel::try_par_each;
use crate::progress::Ticker;
use crate::threshold::Pixel;
use ndarray::{ArrayViewMut2, Axis};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// The length up to which ramps are copied; longer ones are computed.
const LONGEST_COPY: usize = 4096;
/// The approximate number of pixels of one task along rows.
pub(super) const TASK_PIXELS: usize = 1 << 15;
/// The number of columns that are computed together: a cache line of floats.
const LANES: usize = 16;
/// The number of columns of one task.
const TASK_COLUMNS: usize = 4 * LANES;
/// The number of columns a multiple of which may be computed by themselves: the bits stay the same.
pub(in super::super) const ALIGNED_COLUMNS: usize = LANES;
/// The number of rows that are computed between two checks for cancellation.
const ROWS_PER_CHECK: usize = 1024;
/// The number of steps between two checks of whether the search may end.
const STEPS_PER_CHECK: usize = 2;

/// A pass along rows of one width.
pub(super) struct RowPass<'a> {
    width: usize,
    weight: f64,
    /// The last step, set if this pass is the last.
    finish: Option<&'a Finish>,
    /// For the classes outside and inside, the squared distances of 1, 2, 3, … steps.
    rising: [Vec<f32>; 2],
    /// For the classes outside and inside, the squared distances of …, 3, 2, 1 steps.
    falling: [Vec<f32>; 2],
}

impl<'a> RowPass<'a> {
    pub(super) fn new(width: usize, weight: f64, finish: Option<&'a Finish>) -> Result<Self> {
        let length = width.min(LONGEST_COPY);
        let table = |value: &dyn Fn(usize) -> f32| -> Result<Vec<f32>> {
            let mut table = zeroed(length)?;
            table.iter_mut().enumerate().for_each(|(index, to)| *to = value(index));
            Ok(table)
        };
        Ok(Self {
            width,
            weight,
            finish,
            rising: [table(&|k| term(weight, k + 1))?, table(&|k| -term(weight, k + 1))?],
            falling: [table(&|k| term(weight, length - k))?, table(&|k| -term(weight, length - k))?],
        })
    }

    /// Computes all rows of slice `z`, packed in `slice`.
    pub(super) fn run<T: Pixel>(
        &self,
        mask: &Mask<'_, T>,
        z: usize,
        slice: &mut [f32],
        workspaces: &PerThread<Workspace>,
        ticker: &Ticker,
    ) -> Result<()> {
        let rows = TASK_PIXELS.div_ceil(self.width);
        let arch = Arch::new();
        try_par_each(slice.chunks_mut(rows * self.width), ticker, |task, field| {
            let pixels = field.len() as u64;
            workspaces.with(|workspace| {
                arch.dispatch(RowTask {
                    rows: self,
                    mask,
                    position: [task * rows, z],
                    field,
                    inside: &mut workspace.inside,
                });
            });
            ticker.add(pixels);
            Ok(())
        })
    }

    /// Computes the pixels `from..to` of a row, which are a run of one class.
    #[inline(always)]
    fn ramps(&self, field: &mut [f32], from: usize, to: usize, class: usize) {
        let middle = match (from > 0, to < self.width) {
            // The row has no pixel of the other class.
            (false, false) => {
                field.fill(if class == 0 { f32::INFINITY } else { f32::NEG_INFINITY });
                return;
            }
            (false, true) => from,
            (true, false) => to,
            (true, true) => from + (to - from).div_ceil(2),
        };
        let (rising, falling) = field[from..to].split_at_mut(middle - from);
        let sign = if class == 0 { 1.0 } else { -1.0 };
        match self.rising[class].get(..rising.len()) {
            Some(ramp) => rising.copy_from_slice(ramp),
            None => rising.iter_mut().enumerate().for_each(|(k, to)| *to = sign * term(self.weight, k + 1)),
        }
        let length = falling.len();
        match self.falling[class].len().checked_sub(length) {
            Some(first) => falling.copy_from_slice(&self.falling[class][first..]),
            None => falling.iter_mut().enumerate().for_each(|(k, to)| *to = sign * term(self.weight, length - k)),
        }
    }
}

/// Some rows of a slice, compiled for each vector unit.
struct RowTask<'w, 'i, T: Pixel> {
    rows: &'w RowPass<'w>,
    mask: &'w Mask<'i, T>,
    /// The y and z of the first row.
    position: [usize; 2],
    field: &'w mut [f32],
    inside: &'w mut [u8],
}

impl<T: Pixel> WithSimd for RowTask<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let [first, z] = self.position;
        let inside = &mut self.inside[..self.rows.width];
        for (y, field) in (first..).zip(self.field.chunks_exact_mut(self.rows.width)) {
            self.mask.row([y, z], inside);
            let mut from = 0;
            while from < inside.len() {
                let class = inside[from];
                let to = end_of_run(inside, from);
                self.rows.ramps(field, from, to, class.into());
                from = to;
            }
            if let Some(finish) = self.rows.finish {
                finish.apply(field);
            }
        }
    }
}

/// Returns the end of the run of equal bytes (0 or 1) that begins at `from`.
#[inline(always)]
fn end_of_run(inside: &[u8], from: usize) -> usize {
    const STEP: usize = 8;
    let class = inside[from];
    let all = u64::from_le_bytes([class; STEP]);
    let mut at = from + 1;
    while let Some(eight) = inside[at..].first_chunk::<STEP>() {
        let other = u64::from_le_bytes(*eight) ^ all;
        if other != 0 {
            return at + other.trailing_zeros() as usize / STEP;
        }
        at += STEP;
    }
    inside[at..].iter().position(|byte| *byte != class).map_or(inside.len(), |more| at + more)
}

/// The buffers of one thread.
pub(super) struct Workspace {
    /// One row of the mask.
    pub(super) inside: Vec<u8>,
    /// The values of [`LANES`] columns; a row of this buffer, and of the next two, has [`LANES`] numbers.
    columns: Vec<f32>,
    result: Vec<f32>,
    sources: Vec<f32>,
}

impl Workspace {
    /// Allocates the buffers for rows of `width` and columns of `length`.
    pub(super) fn new(width: usize, length: usize) -> Result<Self> {
        let count = length * LANES;
        Ok(Self { inside: zeroed(width)?, columns: zeroed(count)?, result: zeroed(count)?, sources: zeroed(count)? })
    }
}

/// A pass along columns of one length.
pub(super) struct ColumnPass<'a> {
    length: usize,
    /// The last step, set if this pass is the last.
    finish: Option<&'a Finish>,
    /// The squared distances of 0, 1, 2, … steps.
    terms: Vec<f32>,
}

impl<'a> ColumnPass<'a> {
    pub(super) fn new(length: usize, weight: f64, finish: Option<&'a Finish>) -> Result<Self> {
        if length > i32::MAX as usize {
            return Err(Error::size(format!(
                "cannot compute the distance: a column may have at most {} pixels (got {length}); process the image in \
                 parts",
                i32::MAX
            )));
        }
        let mut terms: Vec<f32> = zeroed(length + STEPS_PER_CHECK)?;
        terms.iter_mut().enumerate().skip(1).for_each(|(steps, to)| *to = term(weight, steps));
        Ok(Self { length, finish, terms })
    }

    /// Computes all columns of `field`, which has [`length`](Self::length) rows.
    pub(super) fn run(&self, field: &mut [f32], workspaces: &PerThread<Workspace>, ticker: &Ticker) -> Result<()> {
        let shape = (self.length, field.len() / self.length);
        let mut field =
            ArrayViewMut2::from_shape(shape, field).unwrap_or_else(|_| unreachable!("a view of its own size"));
        let arch = Arch::new();
        field.axis_chunks_iter_mut(Axis(1), TASK_COLUMNS).into_par_iter().try_for_each(|mut columns| {
            workspaces.with(|workspace| {
                columns.axis_chunks_iter_mut(Axis(1), LANES).try_for_each(|columns| {
                    let pixels = columns.len() as u64;
                    arch.dispatch(ColumnTask { columns: self, field: columns, workspace, ticker })?;
                    ticker.add(pixels);
                    Ok(())
                })
            })
        })
    }
}

/// Up to [`LANES`] columns, compiled for each vector unit.
struct ColumnTask<'w, 'f> {
    columns: &'w ColumnPass<'w>,
    field: ArrayViewMut2<'f, f32>,
    workspace: &'w mut Workspace,
    ticker: &'w Ticker,
}

impl WithSimd for ColumnTask<'_, '_> {
    type Output = Result<()>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Result<()> {
        match LANES / S::F32_LANES {
            1 => self.run::<S, 1>(simd),
            2 => self.run::<S, 2>(simd),
            4 => self.run::<S, 4>(simd),
            _ => self.run::<pulp::Scalar, LANES>(pulp::Scalar),
        }
    }
}

impl ColumnTask<'_, '_> {
    /// Computes the columns with `N` vectors per row.
    #[inline(always)]
    fn run<S: Simd, const N: usize>(mut self, simd: S) -> Result<()> {
        // 1. Copy the columns to the buffer.
        let ColumnPass { length, finish, terms } = self.columns;
        let lanes = self.field.ncols();
        let count = *length * LANES;
        let columns = &mut self.workspace.columns[..count];
        for (row, from) in columns.as_chunks_mut::<LANES>().0.iter_mut().zip(self.field.rows()) {
            let Some(from) = from.to_slice() else { unreachable!("rows are contiguous") };
            match from.first_chunk::<LANES>() {
                Some(from) => *row = *from,
                None => {
                    // Rows of fewer than LANES pixels repeat their last pixel.
                    row[..lanes].copy_from_slice(from);
                    row[lanes..].fill(from[lanes - 1]);
                }
            }
        }
        let (columns, result, sources) = (
            vectors::<S, N>(&self.workspace.columns[..count]),
            vectors_mut::<S, N>(&mut self.workspace.result[..count]),
            vectors_mut::<S, N>(&mut self.workspace.sources[..count]),
        );
        // 2. Find the minimum and the maximum.
        let first = columns[0][0];
        let (mut least, mut most) = (first, first);
        for row in columns {
            for vector in row {
                least = simd.min_f32s(least, *vector);
                most = simd.max_f32s(most, *vector);
            }
        }
        // 3. Search, unless all values are equal. Then no pixel improves another, most often because the columns have
        // only one class.
        if simd.reduce_min_f32s(least) == simd.reduce_max_f32s(most) {
            result.copy_from_slice(columns);
        } else {
            let slack = length >> (f32::MANTISSA_DIGITS - 1);
            Search { simd, terms, columns, result, sources, slack }.run(self.ticker)?;
        }
        // 4. Copy the result back.
        let result = self.workspace.result[..count].as_chunks_mut::<LANES>().0;
        for (row, mut to) in result.iter_mut().zip(self.field.rows_mut()) {
            if let Some(finish) = finish {
                finish.apply(row);
            }
            let Some(to) = to.as_slice_mut() else { unreachable!("rows are contiguous") };
            match to.first_chunk_mut::<LANES>() {
                Some(to) => *to = *row,
                None => to.copy_from_slice(&row[..lanes]),
            }
        }
        Ok(())
    }
}

/// Views values as rows of `N` vectors.
#[inline(always)]
fn vectors<S: Simd, const N: usize>(values: &[f32]) -> &[[S::f32s; N]] {
    S::as_simd_f32s(values).0.as_chunks().0
}

/// Views mutable values as rows of `N` vectors.
#[inline(always)]
fn vectors_mut<S: Simd, const N: usize>(values: &mut [f32]) -> &mut [[S::f32s; N]] {
    S::as_mut_simd_f32s(values).0.as_chunks_mut().0
}

/// The search in [`LANES`] columns.
struct Search<'s, S: Simd, const N: usize> {
    simd: S,
    terms: &'s [f32],
    columns: &'s [[S::f32s; N]],
    result: &'s mut [[S::f32s; N]],
    /// For each pixel that is done, its source: the row that gave the minimum, as a float.
    sources: &'s mut [[S::f32s; N]],
    /// The largest rounding error of a row number as a float.
    slack: usize,
}

/// The smallest values found so far for the pixels of one row, with their sources.
struct Best<S: Simd, const N: usize> {
    values: [S::f32s; N],
    sources: [S::f32s; N],
    /// The sign bit of each pixel.
    signs: [S::f32s; N],
}

impl<S: Simd, const N: usize> Best<S, N> {
    /// Considers the values of row `y` as sources, whose squared distance is `term`.
    #[inline(always)]
    fn consider(&mut self, simd: S, row: &[S::f32s; N], term: f32, y: usize) {
        let (term, y, zero) = (simd.splat_f32s(term), simd.splat_f32s(y as f32), simd.splat_f32s(0.0));
        for (k, held) in row.iter().enumerate() {
            // A pixel of the other class becomes negative here, and so contributes 0.
            let held = simd.xor_f32s(*held, self.signs[k]);
            let value = simd.add_f32s(simd.max_f32s(held, zero), term);
            let better = simd.less_than_f32s(value, self.values[k]);
            self.values[k] = simd.min_f32s(value, self.values[k]);
            self.sources[k] = simd.select_f32s(better, y, self.sources[k]);
        }
    }

    /// Returns whether a source at the squared distance `term` could improve any pixel.
    #[inline(always)]
    fn may_gain(&self, simd: S, term: f32) -> bool {
        let mut most = self.values[0];
        for k in 1..N {
            most = simd.max_f32s(most, self.values[k]);
        }
        simd.reduce_max_f32s(most) > term
    }
}

impl<S: Simd, const N: usize> Search<'_, S, N> {
    /// Searches all rows, from coarse to fine.
    #[inline(always)]
    fn run(&mut self, ticker: &Ticker) -> Result<()> {
        let length = self.columns.len();
        let mut step = length.next_power_of_two();
        while step > 0 {
            let mut rows_to_check = 0;
            let mut y = step - 1;
            while y < length {
                if rows_to_check == 0 {
                    ticker.check()?;
                    rows_to_check = ROWS_PER_CHECK;
                }
                rows_to_check -= 1;
                self.row(y, step);
                y += 2 * step;
            }
            step /= 2;
        }
        Ok(())
    }

    /// Searches the sources of row `y`; the rows `y - step` and `y + step` are done.
    #[inline(always)]
    fn row(&mut self, y: usize, step: usize) {
        let simd = self.simd;
        let here = self.columns[y];
        let mut best = Best::<S, N> { values: here, sources: [simd.splat_f32s(y as f32); N], signs: here };
        for (k, own) in here.iter().enumerate() {
            best.signs[k] = simd.and_f32s(*own, simd.splat_f32s(-0.0));
            // The value without its sign. pulp's function for it is not compiled for the vector unit.
            best.values[k] = simd.xor_f32s(*own, best.signs[k]);
        }
        if best.may_gain(simd, self.terms[1]) {
            let length = self.columns.len();
            let low = if y >= step { self.bound(y - step, &here, false) } else { 0 };
            let high = if y + step < length { self.bound(y + step, &here, true) } else { length - 1 };
            let (low, high) = (low.saturating_sub(self.slack), (high + self.slack).min(length - 1));
            self.search(y, low, high, &mut best);
        }
        for k in 0..N {
            self.result[y][k] = simd.or_f32s(best.values[k], best.signs[k]);
        }
        self.sources[y] = best.sources;
    }

    /// Returns the first (or the last) source that pixels of the classes of `here` may have, according to row `y`,
    /// which is done.
    #[inline(always)]
    fn bound(&self, y: usize, here: &[S::f32s; N], last: bool) -> usize {
        let simd = self.simd;
        let (zero, own) = (simd.splat_f32s(0.0), simd.splat_f32s(y as f32));
        let mut bound = own;
        for (k, here) in here.iter().enumerate() {
            let inside = simd.less_than_f32s(*here, zero);
            let there = simd.less_than_f32s(self.columns[y][k], zero);
            let differ = simd.xor_m32s(inside, there);
            let source = simd.select_f32s(differ, own, self.sources[y][k]);
            bound = match (k, last) {
                (0, _) => source,
                (_, false) => simd.min_f32s(bound, source),
                (_, true) => simd.max_f32s(bound, source),
            };
        }
        let bound = if last { simd.reduce_max_f32s(bound) } else { simd.reduce_min_f32s(bound) };
        bound as usize
    }

    /// Considers the rows `low..=high` as sources of row `y`, the nearest first.
    #[inline(always)]
    fn search(&self, y: usize, low: usize, high: usize, best: &mut Best<S, N>) {
        let simd = self.simd;
        let up = if low < y { 1.max(y.saturating_sub(high))..y - low + 1 } else { 1..1 };
        let down = if high > y { 1.max(low.saturating_sub(y))..high - y + 1 } else { 1..1 };
        // 1. Both directions at once, as far as both have rows.
        let both = if up.start == 1 && down.start == 1 { up.end.min(down.end) } else { 1 };
        let mut steps = 1;
        while steps < both {
            if !best.may_gain(simd, self.terms[steps]) {
                return;
            }
            let until = both.min(steps + STEPS_PER_CHECK);
            while steps < until {
                best.consider(simd, &self.columns[y - steps], self.terms[steps], y - steps);
                best.consider(simd, &self.columns[y + steps], self.terms[steps], y + steps);
                steps += 1;
            }
        }
        // 2. The remaining rows above.
        let mut steps = both.max(up.start);
        while steps < up.end && best.may_gain(simd, self.terms[steps]) {
            let until = up.end.min(steps + STEPS_PER_CHECK);
            while steps < until {
                best.consider(simd, &self.columns[y - steps], self.terms[steps], y - steps);
                steps += 1;
            }
        }
        // 3. The remaining rows below.
        let mut steps = both.max(down.start);
        while steps < down.end && best.may_gain(simd, self.terms[steps]) {
            let until = down.end.min(steps + STEPS_PER_CHECK);
            while steps < until {
                best.consider(simd, &self.columns[y + steps], self.terms[steps], y + steps);
                steps += 1;
            }
        }
    }
}
