//! One task in 3D: a tile of the volume goes through all iterations of a pass while it is in cache.
//!
//! The task proceeds along z, two planes at a time. When planes `q` and `q + 1` have been loaded, iteration 1 can compute
//! planes `q − 1` and `q`, iteration 2 can compute `q − 2` and `q − 1`, and so on up to the last iteration, whose planes
//! are written to memory. From one step to the next only two planes per iteration are kept. The halo shrinks by one pixel
//! per iteration.

use super::{LINE, LINE_BYTES, Pass, Plan, Span, Task, flush};
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// One [`Task`], compiled for each vector unit.
pub(super) struct PlaneTask<'p, 'i, 't> {
    pub pass: &'p Pass<'p, 'i>,
    pub task: Task<'t>,
    /// The buffer of the thread: at least [`buffer_len`] floats.
    pub buffer: &'t mut [f32],
}

impl WithSimd for PlaneTask<'_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Task { spans, mut rows } = self.task;
        let mut window = Window::new(self.pass, spans, self.buffer);
        let last = window.zs.own.end as isize + self.pass.centre_weights.len() as isize;
        let mut top = window.zs.window.start as isize;
        while top < last {
            window.arrive(top);
            if window.iterate(simd, top) {
                window.leave(top, &mut rows);
            }
            top += 2;
        }
    }
}

/// Returns the number of floats that the buffer of a task needs in a pass of `levels` iterations.
pub(super) fn buffer_len([width, height]: [usize; 2], levels: usize) -> usize {
    let len = slab(width + 2 * levels, height + 2 * levels);
    LINE + slab_count(levels) * len + (mask_count(levels) * len).div_ceil(size_of::<f32>())
}

/// Returns the number of slabs of values: two for each iteration, two for the planes that arrive, and a spare one.
fn slab_count(levels: usize) -> usize {
    2 * levels + 3
}

/// Returns the number of slabs of masks.
fn mask_count(levels: usize) -> usize {
    levels + 2
}

/// Returns the floats from row to row of a slab.
fn stride(columns: usize) -> usize {
    // The cache line before the pixels holds the border on the left. The space after them holds the border on the right,
    // and room for an incomplete last vector.
    (LINE + columns + 1).next_multiple_of(LINE) + LINE
}

/// Returns the floats of a slab, which has a border row above and one below.
fn slab(columns: usize, rows: usize) -> usize {
    (rows + 2) * stride(columns)
}

/// Slabs (planes with their borders) of equal size. The handle of a slab is its number.
struct Slabs<'t, T> {
    store: &'t mut [T],
    len: usize,
}

impl<T: Copy> Slabs<'_, T> {
    #[inline(always)]
    fn range(&self, handle: usize) -> Range<usize> {
        handle * self.len..(handle + 1) * self.len
    }

    #[inline(always)]
    fn get(&self, handle: usize) -> &[T] {
        &self.store[self.range(handle)]
    }

    #[inline(always)]
    fn get_mut(&mut self, handle: usize) -> &mut [T] {
        let range = self.range(handle);
        &mut self.store[range]
    }

    fn copy(&mut self, from: usize, to: usize) {
        let (from, to) = (self.range(from), self.range(to));
        self.store.copy_within(from, to.start);
    }

    #[inline(always)]
    fn get_five_mut(&mut self, handles: [usize; 5]) -> [&mut [T]; 5] {
        let ranges = handles.map(|handle| self.range(handle));
        self.store.get_disjoint_mut(ranges).unwrap_or_else(|_| unreachable!("no handle is given out twice"))
    }
}

/// The slabs of a task that are in cache.
struct Window<'p, 'i, 't> {
    pass: &'p Pass<'p, 'i>,
    xs: Span,
    ys: Span,
    zs: Span,
    /// Floats from row to row of a slab.
    stride: usize,
    /// The index of the first pixel of a slab. There is one border pixel on either side of a row, and one border row
    /// above and one below.
    first: usize,
    slabs: Slabs<'t, f32>,
    /// The masks of the slabs that some iteration still has to compute, with all bits set for a pixel that changes: slab z
    /// is `masks[z % mask_count]`. They are bytes because the second-level cache limits the speed of the iterations.
    masks: Slabs<'t, u8>,
    mask_count: usize,
    /// For the initial values and each iteration 1, 2, …, the two slabs that wait for the next two of the same
    /// iteration.
    waiting: Vec<[usize; 2]>,
    /// Before an arrival, the slabs to fill; after the last iteration, its results.
    fresh: [usize; 2],
    /// A slab that is not in use.
    spare: usize,
}

impl<'p, 'i, 't> Window<'p, 'i, 't> {
    fn new(pass: &'p Pass<'p, 'i>, [xs, ys, zs]: [Span; 3], buffer: &'t mut [f32]) -> Self {
        let levels = pass.centre_weights.len();
        let stride = stride(xs.window.len());
        let len = slab(xs.window.len(), ys.window.len());
        let buffer = &mut buffer[..buffer_len([xs.own.len(), ys.own.len()], levels)];
        // Rows start at a cache line.
        let first = buffer.as_ptr().align_offset(LINE_BYTES).min(LINE);
        let (slabs, masks) = buffer[first..].split_at_mut(slab_count(levels) * len);
        Self {
            pass,
            xs,
            ys,
            zs,
            stride,
            first: stride + LINE,
            slabs: Slabs { store: slabs, len },
            masks: Slabs { store: bytemuck::cast_slice_mut(masks), len },
            mask_count: mask_count(levels),
            waiting: (0..levels).map(|t| [2 * t, 2 * t + 1]).collect(),
            fresh: [2 * levels, 2 * levels + 1],
            spare: 2 * levels + 2,
        }
    }

    /// Loads slabs `top` and `top + 1` with the values before the pass, and the masks that iteration 1 will need: `top − 1`
    /// and `top`.
    #[inline(always)]
    fn arrive(&mut self, top: isize) {
        let columns = self.xs.window.clone();
        for (i, handle) in self.fresh.into_iter().enumerate() {
            let (z, mask) = (top + i as isize, top + i as isize - 1);
            let inside = 0..self.zs.window.end as isize;
            for (j, y) in self.ys.window.clone().enumerate() {
                let at = self.first + j * self.stride;
                let at = at..at + columns.len();
                if inside.contains(&z) {
                    self.pass.values([y, z as usize], columns.clone(), &mut self.slabs.get_mut(handle)[at.clone()]);
                }
                if inside.contains(&mask) {
                    let marks = &mut self.masks.get_mut(mask as usize % self.mask_count)[at];
                    marks.fill(0);
                    self.pass.pixels.mark_changing([y, mask as usize], columns.clone(), u8::MAX, marks);
                }
            }
            self.extend_borders(handle);
        }
    }

    /// Advances every iteration by the two slabs whose neighbours have arrived. Returns true if the last iteration has
    /// computed slabs.
    #[inline(always)]
    fn iterate<S: Simd>(&mut self, simd: S, top: isize) -> bool {
        let levels = self.pass.centre_weights.len();
        let depth = self.pass.shape[2] as isize;
        let [mut c, mut d] = self.fresh;
        for level in 1..=levels {
            // 1. Slabs p and p + 1 of the previous iteration have arrived; p − 2 and p − 1 wait. This iteration
            // computes p − 1 and p; p and p + 1 wait in their place.
            let p = top + 1 - level as isize;
            let needed = self.zs.needed(levels - level);
            let [a, b] = std::mem::replace(&mut self.waiting[level - 1], [c, d]);
            // 2. Skip slabs that no later iteration needs.
            if p < needed.start {
                self.fresh = [a, b];
                return false;
            }
            if p - 1 < needed.end {
                // 3. The slab beyond either end of the axis is a copy of the last slab.
                match p {
                    0 => self.slabs.copy(c, b),
                    1 => self.slabs.copy(b, a),
                    _ => {}
                }
                match depth - p {
                    1 => self.slabs.copy(c, d),
                    0 => self.slabs.copy(b, c),
                    _ => {}
                }
                // 4. Compute both slabs, and their borders for the next iteration.
                self.two_slabs(simd, level, p, [a, b, c, d]);
                if level < levels {
                    self.extend_borders(a);
                    self.extend_borders(self.spare);
                }
            }
            // 5. The results are the slabs that arrive for the next iteration.
            [c, d] = [a, self.spare];
            self.spare = b;
        }
        self.fresh = [c, d];
        true
    }

    /// Computes iteration `level` on slabs p − 1 = b and p = c, between a and d. The results go to a and to the spare
    /// slab.
    #[inline(always)]
    fn two_slabs<S: Simd>(&mut self, simd: S, level: usize, p: isize, [a, b, c, d]: [usize; 4]) {
        let [a, b, c, d, e] = self.slabs.get_five_mut([a, b, c, d, self.spare]);
        // p − 1 may be −1; nothing computed for that slab is used.
        let count = self.mask_count as isize;
        let masks = [p - 1, p].map(|z| self.masks.get((z + count) as usize % self.mask_count));
        let columns = self.xs.valid(level);
        // Whole vectors are computed; the values beyond the columns are not used.
        let columns = columns.start - columns.start % S::F32_LANES..columns.end.next_multiple_of(S::F32_LANES);
        let flushed = self.pass.is_flushed(level);
        let weighted = self.pass.plan.weights != [1.0; 3];
        for j in self.ys.valid(level) {
            let at = |shift: isize| {
                let start = (self.first + j * self.stride + columns.start).wrapping_add_signed(shift);
                start..start + columns.len()
            };
            let row = self.stride as isize;
            let rows = Rows {
                a: &mut a[at(0)],
                b: [&b[at(-1)], &b[at(0)], &b[at(1)], &b[at(-row)], &b[at(row)]],
                c: [&c[at(-1)], &c[at(0)], &c[at(1)], &c[at(-row)], &c[at(row)]],
                d: &d[at(0)],
                e: &mut e[at(0)],
                masks: masks.map(|mask| &mask[at(0)]),
            };
            let Plan { weights, time_step, .. } = *self.pass.plan;
            let centre_weight = self.pass.centre_weights[level - 1];
            if weighted {
                two_rows::<S, true>(simd, centre_weight, weights, time_step, rows);
            } else {
                two_rows::<S, false>(simd, centre_weight, weights, time_step, rows);
            }
            // The flush is a separate loop, because a second version of the update would cost more.
            if flushed {
                for row in [&mut a[at(0)], &mut e[at(0)]] {
                    for values in S::as_mut_simd_f32s(row).0 {
                        *values = flush(simd, *values);
                    }
                }
            }
        }
    }

    /// Writes the border pixels where the window ends at the image border: each is a copy of the pixel beside it.
    #[inline(always)]
    fn extend_borders(&mut self, handle: usize) {
        let (columns, rows, stride) = (self.xs.window.len(), self.ys.window.len(), self.stride);
        let values = self.slabs.get_mut(handle);
        for j in 0..rows {
            let first = self.first + j * stride;
            if self.xs.at_start() {
                values[first - 1] = values[first];
            }
            if self.xs.at_end() {
                values[first + columns] = values[first + columns - 1];
            }
        }
        if self.ys.at_start() {
            values.copy_within(stride..2 * stride, 0);
        }
        if self.ys.at_end() {
            values.copy_within(rows * stride..(rows + 1) * stride, (rows + 1) * stride);
        }
    }

    /// Writes the results of the last iteration to memory.
    #[inline(always)]
    fn leave(&self, top: isize, rows: &mut [&mut [f32]]) {
        let skipped = [self.xs.own.start - self.xs.window.start, self.ys.own.start - self.ys.window.start];
        let height = self.ys.own.len();
        for (i, handle) in self.fresh.into_iter().enumerate() {
            let z = top - self.pass.centre_weights.len() as isize + i as isize - self.zs.own.start as isize;
            if (0..self.zs.own.len() as isize).contains(&z) {
                let values = self.slabs.get(handle);
                for (j, row) in rows[z as usize * height..][..height].iter_mut().enumerate() {
                    let from = self.first + (skipped[1] + j) * self.stride + skipped[0];
                    row.copy_from_slice(&values[from..from + row.len()]);
                }
            }
        }
    }
}

/// Returns the weights of the changes of pixels: Δt where all bits of the mask are set, 0 where none is.
#[inline(always)]
fn weights<S: Simd>(simd: S, mask: &[u8], time_step: f32) -> S::f32s {
    let mut weights = [simd.splat_f32s(0.0)];
    // The compiler turns this loop into two vector instructions.
    for (weight, mask) in bytemuck::cast_slice_mut::<_, f32>(&mut weights).iter_mut().zip(mask) {
        *weight = f32::from_bits(time_step.to_bits() & i32::from(mask.cast_signed()).cast_unsigned());
    }
    weights[0]
}

/// The same row of four neighbouring slabs a to d, of a fifth slab for results, and of the masks of b and c. For `b` and
/// `c` there are five views: left, centre, right, up and down. All consist of whole vectors.
struct Rows<'a> {
    a: &'a mut [f32],
    b: [&'a [f32]; 5],
    c: [&'a [f32]; 5],
    d: &'a [f32],
    e: &'a mut [f32],
    masks: [&'a [u8]; 2],
}

/// Computes one iteration on the same row of two neighbouring slabs, b and c, between a and d. The result for b replaces a,
/// whose old values are no longer needed; the result for c goes to e. Two slabs are computed together because each needs
/// the other's values, which takes ten loads instead of twelve.
///
/// Unless `WEIGHTED` is set, all neighbours have the weight 1. Without fused multiply-add the products are rounded, too.
#[inline(always)]
fn two_rows<S: Simd, const WEIGHTED: bool>(
    simd: S,
    centre_weight: f32,
    [_, weight_y, weight_z]: [f32; 3],
    time_step: f32,
    Rows { a, b, c, d, e, masks: [b_mask, c_mask] }: Rows<'_>,
) {
    let k = simd.splat_f32s(-centre_weight);
    let [weight_y, weight_z] = [weight_y, weight_z].map(|weight| simd.splat_f32s(weight));
    let one = simd.splat_f32s(1.0);
    let a = S::as_mut_simd_f32s(a).0;
    // Show the compiler that the lengths are equal, so that the loop has no bounds checks.
    let n = a.len();
    let e = &mut S::as_mut_simd_f32s(e).0[..n];
    let vectors = |row| &S::as_simd_f32s(row).0[..n];
    let ([bl, bc, br, bu, bd], [cl, cc, cr, cu, cd]) = (b.map(vectors), c.map(vectors));
    let d = vectors(d);
    let masks = b_mask.chunks_exact(S::F32_LANES).zip(c_mask.chunks_exact(S::F32_LANES));
    // These are macros, because closures would be compiled without the target's vector instructions.
    macro_rules! add_pair {
        ($sum:expr, $weight:expr, $pair:expr) => {
            if WEIGHTED { simd.mul_add_e_f32s($weight, $pair, $sum) } else { simd.add_f32s($sum, $pair) }
        };
    }
    // With weights that are not integers the sum is rounded, and may slightly exceed the weight of the centre.
    macro_rules! bounded {
        ($value:expr) => {
            if WEIGHTED { simd.min_f32s($value, one) } else { $value }
        };
    }
    for (i, (b_mask, c_mask)) in (0..n).zip(masks) {
        let (b, c) = (bc[i], cc[i]);
        let mut b_sum = simd.add_f32s(bl[i], br[i]);
        let mut c_sum = simd.add_f32s(cl[i], cr[i]);
        b_sum = add_pair!(b_sum, weight_y, simd.add_f32s(bu[i], bd[i]));
        c_sum = add_pair!(c_sum, weight_y, simd.add_f32s(cu[i], cd[i]));
        b_sum = add_pair!(b_sum, weight_z, simd.add_f32s(a[i], c));
        c_sum = add_pair!(c_sum, weight_z, simd.add_f32s(b, d[i]));
        let b_change = simd.mul_add_e_f32s(k, b, b_sum);
        let c_change = simd.mul_add_e_f32s(k, c, c_sum);
        a[i] = bounded!(simd.mul_add_e_f32s(weights(simd, b_mask, time_step), b_change, b));
        e[i] = bounded!(simd.mul_add_e_f32s(weights(simd, c_mask, time_step), c_change, c));
    }
}
