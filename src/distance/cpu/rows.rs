//! The first pass: along a row, the squared distance to the nearest pixel of the other class, from the runs of equal
//! pixels.

use super::{Finish, Mask, Workspace, term, zeroed};
use crate::device::PerThread;
use crate::error::Result;
use crate::progress::Ticker;
use crate::threshold::Pixel;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// The length up to which ramps are copied; longer ones are computed.
const LONGEST_COPY: usize = 4096;
/// The approximate number of pixels of one task.
const TASK_PIXELS: usize = 1 << 15;

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
        slice.par_chunks_mut(rows * self.width).enumerate().try_for_each(|(task, field)| {
            ticker.check()?;
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
