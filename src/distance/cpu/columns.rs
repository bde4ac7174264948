//! The second and third pass: along a column, the least of what its pixels hold plus their distance.
//!
//! [`LANES`] neighbouring columns go together, a vector to each row. The distance is convex, so the best source moves one
//! way along a column: what lies between two rows whose sources are known finds its own between these two (as in the
//! algorithms for totally monotone matrices). So every other of the rows that are left is searched, coarse to fine, each
//! within what the sources of its neighbours in all lanes span, and from its own place outwards until the distance alone
//! is more than what is known. Near a boundary this ends after a few steps, far from it the span is narrow.
//!
//! A source of the other class counts as 0, at its own place, so a pixel's search may end there, and a neighbour of the
//! other class is a bound by itself.

use super::{Benches, Finish, term, zeroed};
use crate::error::{Error, Result};
use crate::progress::Ticker;
use ndarray::{ArrayViewMut2, Axis};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// Columns that are computed together: a cache line of floats.
const LANES: usize = 16;
/// Columns of one task.
const TASK_COLUMNS: usize = 4 * LANES;
/// Rows computed between two looks at the ticker.
const ROWS_A_LOOK: usize = 1024;
/// Steps between two looks at whether the search may end.
const STEPS_A_LOOK: usize = 2;

/// What a thread has in hand.
pub(super) struct Bench {
    /// One row of the mask.
    pub(super) inside: Vec<u8>,
    /// A row of each has [`LANES`] numbers.
    columns: Vec<f32>,
    result: Vec<f32>,
    sources: Vec<f32>,
}

impl Bench {
    pub(super) fn new(width: usize, length: usize) -> Result<Self> {
        let count = length * LANES;
        Ok(Self { inside: zeroed(width)?, columns: zeroed(count)?, result: zeroed(count)?, sources: zeroed(count)? })
    }
}

/// Columns of one length.
pub(super) struct Columns<'a> {
    length: usize,
    /// Set where this pass is the last.
    finish: Option<&'a Finish>,
    /// The terms of 0, 1, 2, … steps.
    terms: Vec<f32>,
}

impl<'a> Columns<'a> {
    pub(super) fn new(length: usize, weight: f64, finish: Option<&'a Finish>) -> Result<Self> {
        if length > i32::MAX as usize {
            return Err(Error::size(format!("a column of {length} pixels is too long; cut the image")));
        }
        let mut terms: Vec<f32> = zeroed(length + STEPS_A_LOOK)?;
        terms.iter_mut().enumerate().skip(1).for_each(|(steps, to)| *to = term(weight, steps));
        Ok(Self { length, finish, terms })
    }

    /// All columns of `field`, which has [`length`](Self::length) rows.
    pub(super) fn run(&self, field: &mut [f32], benches: &Benches, ticker: &Ticker) -> Result<()> {
        let shape = (self.length, field.len() / self.length);
        let mut field =
            ArrayViewMut2::from_shape(shape, field).unwrap_or_else(|_| unreachable!("a view of its own size"));
        let arch = Arch::new();
        field.axis_chunks_iter_mut(Axis(1), TASK_COLUMNS).into_par_iter().try_for_each(|mut columns| {
            benches.at(|bench| {
                columns.axis_chunks_iter_mut(Axis(1), LANES).try_for_each(|columns| {
                    let pixels = columns.len() as u64;
                    arch.dispatch(Work { columns: self, field: columns, bench, ticker })?;
                    ticker.add(pixels);
                    Ok(())
                })
            })
        })
    }
}

/// Up to [`LANES`] columns, for the vector unit that is there.
struct Work<'w, 'f> {
    columns: &'w Columns<'w>,
    field: ArrayViewMut2<'f, f32>,
    bench: &'w mut Bench,
    ticker: &'w Ticker,
}

impl WithSimd for Work<'_, '_> {
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

impl Work<'_, '_> {
    /// With `N` vectors to a row.
    #[inline(always)]
    fn run<S: Simd, const N: usize>(mut self, simd: S) -> Result<()> {
        let Columns { length, finish, terms } = self.columns;
        let lanes = self.field.ncols();
        let count = *length * LANES;
        let columns = &mut self.bench.columns[..count];
        for (row, from) in columns.as_chunks_mut::<LANES>().0.iter_mut().zip(self.field.rows()) {
            let Some(from) = from.to_slice() else { unreachable!("rows are contiguous") };
            match from.first_chunk::<LANES>() {
                Some(from) => *row = *from,
                None => {
                    // Rows of less than a line repeat their last pixel.
                    row[..lanes].copy_from_slice(from);
                    row[lanes..].fill(from[lanes - 1]);
                }
            }
        }
        let (columns, result, sources) = (
            vectors::<S, N>(&self.bench.columns[..count]),
            vectors_mut::<S, N>(&mut self.bench.result[..count]),
            vectors_mut::<S, N>(&mut self.bench.sources[..count]),
        );
        let first = columns[0][0];
        let (mut least, mut most) = (first, first);
        for row in columns {
            for vector in row {
                least = simd.min_f32s(least, *vector);
                most = simd.max_f32s(most, *vector);
            }
        }
        // All of one class, and nothing to gain from each other: most often because there is no other class here.
        if simd.reduce_min_f32s(least) == simd.reduce_max_f32s(most) {
            result.copy_from_slice(columns);
        } else {
            let slack = length >> (f32::MANTISSA_DIGITS - 1);
            Search { simd, terms, columns, result, sources, slack }.run(self.ticker)?;
        }
        let result = self.bench.result[..count].as_chunks_mut::<LANES>().0;
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

/// Rows of `N` vectors.
#[inline(always)]
fn vectors<S: Simd, const N: usize>(values: &[f32]) -> &[[S::f32s; N]] {
    S::as_simd_f32s(values).0.as_chunks().0
}

/// Likewise.
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
    /// Of each pixel that is done, the row that gave the least, as a float.
    sources: &'s mut [[S::f32s; N]],
    /// By how much a row as a float may be off.
    slack: usize,
}

/// The best so far for the pixels of one row.
struct Best<S: Simd, const N: usize> {
    values: [S::f32s; N],
    sources: [S::f32s; N],
    /// The sign bit of each pixel.
    signs: [S::f32s; N],
}

impl<S: Simd, const N: usize> Best<S, N> {
    /// Considers what the row `place` holds, `term` away.
    #[inline(always)]
    fn consider(&mut self, simd: S, row: &[S::f32s; N], term: f32, place: usize) {
        let (term, place, zero) = (simd.splat_f32s(term), simd.splat_f32s(place as f32), simd.splat_f32s(0.0));
        for (k, held) in row.iter().enumerate() {
            // Negative, and so 0, for a pixel of the other class.
            let held = simd.xor_f32s(*held, self.signs[k]);
            let value = simd.add_f32s(simd.max_f32s(held, zero), term);
            let better = simd.less_than_f32s(value, self.values[k]);
            self.values[k] = simd.min_f32s(value, self.values[k]);
            self.sources[k] = simd.select_f32s(better, place, self.sources[k]);
        }
    }

    /// Whether a source so far away could be better for any pixel.
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
    #[inline(always)]
    fn run(&mut self, ticker: &Ticker) -> Result<()> {
        let length = self.columns.len();
        let mut step = length.next_power_of_two();
        while step > 0 {
            let mut look = 0;
            let mut y = step - 1;
            while y < length {
                if look == 0 {
                    ticker.check()?;
                    look = ROWS_A_LOOK;
                }
                look -= 1;
                self.row(y, step);
                y += 2 * step;
            }
            step /= 2;
        }
        Ok(())
    }

    /// Row `y`, between the rows `y - step` and `y + step`, which are done.
    #[inline(always)]
    fn row(&mut self, y: usize, step: usize) {
        let simd = self.simd;
        let here = self.columns[y];
        let mut best = Best::<S, N> { values: here, sources: [simd.splat_f32s(y as f32); N], signs: here };
        for (k, own) in here.iter().enumerate() {
            best.values[k] = simd.abs_f32s(*own);
            best.signs[k] = simd.and_f32s(*own, simd.splat_f32s(-0.0));
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

    /// The first or last source that pixels of the classes of `here` may have, seen from row `y`, which is done.
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

    /// Looks at the rows `low..=high`, the nearest first.
    #[inline(always)]
    fn search(&self, y: usize, low: usize, high: usize, best: &mut Best<S, N>) {
        let simd = self.simd;
        let up = if low < y { 1.max(y.saturating_sub(high))..y - low + 1 } else { 1..1 };
        let down = if high > y { 1.max(low.saturating_sub(y))..high - y + 1 } else { 1..1 };
        let both = if up.start == 1 && down.start == 1 { up.end.min(down.end) } else { 1 };
        let mut steps = 1;
        while steps < both {
            if !best.may_gain(simd, self.terms[steps]) {
                return;
            }
            let until = both.min(steps + STEPS_A_LOOK);
            while steps < until {
                best.consider(simd, &self.columns[y - steps], self.terms[steps], y - steps);
                best.consider(simd, &self.columns[y + steps], self.terms[steps], y + steps);
                steps += 1;
            }
        }
        let mut steps = both.max(up.start);
        while steps < up.end && best.may_gain(simd, self.terms[steps]) {
            let until = up.end.min(steps + STEPS_A_LOOK);
            while steps < until {
                best.consider(simd, &self.columns[y - steps], self.terms[steps], y - steps);
                steps += 1;
            }
        }
        let mut steps = both.max(down.start);
        while steps < down.end && best.may_gain(simd, self.terms[steps]) {
            let until = down.end.min(steps + STEPS_A_LOOK);
            while steps < until {
                best.consider(simd, &self.columns[y + steps], self.terms[steps], y + steps);
                steps += 1;
            }
        }
    }
}
