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
    columns: Vec<[f32; LANES]>,
    result: Vec<[f32; LANES]>,
    sources: Vec<[i32; LANES]>,
}

impl Bench {
    pub(super) fn new(width: usize, length: usize) -> Result<Self> {
        Ok(Self { inside: zeroed(width)?, columns: zeroed(length)?, result: zeroed(length)?, sources: zeroed(length)? })
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
    fn with_simd<S: Simd>(mut self, _: S) -> Result<()> {
        let Columns { length, finish, terms } = self.columns;
        let lanes = self.field.ncols();
        let columns = &mut self.bench.columns[..*length];
        let mut least = f32::INFINITY;
        for (row, from) in columns.iter_mut().zip(self.field.rows()) {
            // Rows of less than a vector repeat their last pixel.
            match from.as_slice().and_then(|from| from.first_chunk::<LANES>()) {
                Some(from) => *row = *from,
                None => *row = std::array::from_fn(|lane| from[lane.min(lanes - 1)]),
            }
            least = least.min(fold(row.map(f32::abs), f32::min));
        }
        let result = &mut self.bench.result[..*length];
        if least == f32::INFINITY {
            result.copy_from_slice(columns);
        } else {
            let mut search =
                Search { terms, columns, result: &mut *result, sources: &mut self.bench.sources[..*length] };
            search.run(self.ticker)?;
        }
        for (row, mut to) in result.iter_mut().zip(self.field.rows_mut()) {
            if let Some(finish) = finish {
                finish.apply(row);
            }
            match to.as_slice_mut() {
                Some(to) => to.copy_from_slice(&row[..lanes]),
                None => unreachable!("rows are contiguous"),
            }
        }
        Ok(())
    }
}

/// The least or the largest of all lanes.
#[inline(always)]
fn fold<T: Copy>(mut values: [T; LANES], best: impl Fn(T, T) -> T) -> T {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            values[lane] = best(values[lane], values[lane + half]);
        }
        half /= 2;
    }
    values[0]
}

/// The search in [`LANES`] columns.
struct Search<'s> {
    terms: &'s [f32],
    columns: &'s [[f32; LANES]],
    result: &'s mut [[f32; LANES]],
    /// Of each pixel that is done, the row that gave the least.
    sources: &'s mut [[i32; LANES]],
}

/// The best so far for the pixels of one row.
struct Best {
    values: [f32; LANES],
    sources: [i32; LANES],
    /// The sign bit of each pixel.
    signs: [u32; LANES],
}

impl Best {
    /// Considers what `row` holds, `term` away.
    #[inline(always)]
    fn consider(&mut self, row: &[f32; LANES], term: f32, place: usize) {
        for lane in 0..LANES {
            // Negative, and so 0, for a pixel of the other class.
            let held = f32::from_bits(row[lane].to_bits() ^ self.signs[lane]);
            let value = if held > 0.0 { held } else { 0.0 } + term;
            let better = value < self.values[lane];
            self.values[lane] = if better { value } else { self.values[lane] };
            self.sources[lane] = if better { place as i32 } else { self.sources[lane] };
        }
    }

    /// Whether a source so far away could be better for any pixel.
    #[inline(always)]
    fn may_gain(&self, term: f32) -> bool {
        fold(self.values, |a, b| if a > b { a } else { b }) > term
    }
}

impl Search<'_> {
    #[inline(always)]
    fn run(&mut self, ticker: &Ticker) -> Result<()> {
        let length = self.columns.len();
        let mut step = length.next_power_of_two();
        while step > 0 {
            for (count, y) in (step - 1..length).step_by(2 * step).enumerate() {
                if count % ROWS_A_LOOK == 0 {
                    ticker.check()?;
                }
                self.row(y, step);
            }
            step /= 2;
        }
        Ok(())
    }

    /// Row `y`, between the rows `y - step` and `y + step`, which are done.
    #[inline(always)]
    fn row(&mut self, y: usize, step: usize) {
        let here = self.columns[y];
        let mut best = Best {
            values: here.map(f32::abs),
            sources: [y as i32; LANES],
            signs: here.map(|value| value.to_bits() & 1 << 31),
        };
        if best.may_gain(self.terms[1]) {
            let low = if y >= step { self.bound(y - step, &best.signs, i32::min) } else { 0 };
            let high = if y + step < self.columns.len() {
                self.bound(y + step, &best.signs, i32::max)
            } else {
                self.columns.len() - 1
            };
            self.search(y, low, high, &mut best);
        }
        for lane in 0..LANES {
            self.result[y][lane] = f32::from_bits(best.values[lane].to_bits() | best.signs[lane]);
        }
        self.sources[y] = best.sources;
    }

    /// The first or last source that pixels of these classes may have, seen from row `y`, which is done.
    #[inline(always)]
    fn bound(&self, y: usize, signs: &[u32; LANES], extreme: impl Fn(i32, i32) -> i32) -> usize {
        let (row, sources) = (&self.columns[y], &self.sources[y]);
        let bounds = std::array::from_fn(|lane| {
            let same = (row[lane].to_bits() ^ signs[lane]) >> 31 == 0;
            if same { sources[lane] } else { y as i32 }
        });
        fold(bounds, extreme) as usize
    }

    /// Looks at the rows `low..=high`, the nearest first.
    #[inline(always)]
    fn search(&self, y: usize, low: usize, high: usize, best: &mut Best) {
        let up = if low < y { 1.max(y.saturating_sub(high))..y - low + 1 } else { 1..1 };
        let down = if high > y { 1.max(low.saturating_sub(y))..high - y + 1 } else { 1..1 };
        let both = if up.start == 1 && down.start == 1 { up.end.min(down.end) } else { 1 };
        let mut steps = 1;
        while steps < both {
            if !best.may_gain(self.terms[steps]) {
                return;
            }
            let until = both.min(steps + STEPS_A_LOOK);
            while steps < until {
                best.consider(&self.columns[y - steps], self.terms[steps], y - steps);
                best.consider(&self.columns[y + steps], self.terms[steps], y + steps);
                steps += 1;
            }
        }
        let mut steps = both.max(up.start);
        while steps < up.end && best.may_gain(self.terms[steps]) {
            let until = up.end.min(steps + STEPS_A_LOOK);
            while steps < until {
                best.consider(&self.columns[y - steps], self.terms[steps], y - steps);
                steps += 1;
            }
        }
        let mut steps = both.max(down.start);
        while steps < down.end && best.may_gain(self.terms[steps]) {
            let until = down.end.min(steps + STEPS_A_LOOK);
            while steps < until {
                best.consider(&self.columns[y + steps], self.terms[steps], y + steps);
                steps += 1;
            }
        }
    }
}
