//! One task: a piece of the field goes through all iterations of a pass while it is in cache.
//!
//! The task marches along the last axis, two *slabs* (rows in 2D, planes in 3D) at a time. When slabs `q` and `q + 1`
//! arrive, iteration 1 can do `q − 1` and `q`, iteration 2 `q − 2` and `q − 1`, and so on down to the last, which leaves
//! for memory. Between two arrivals only two slabs per iteration are alive. The halo shrinks by a pixel an iteration.
//!
//! In 2D a slice is taken as a volume of height 1: what is called z here is its y axis.

use super::super::prepare::zeroed;
use crate::error::Result;
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// Rows in cache start on a cache line, of so many bytes and floats.
const LINE_BYTES: usize = 64;
const LINE: usize = LINE_BYTES / size_of::<f32>();

/// Some iterations over the whole field.
pub(super) struct Pass<'a> {
    pub source: &'a [f32],
    pub fixed: &'a [u8],
    pub shape: [usize; 3],
    pub time_step: f32,
    pub centre_weights: &'a [f32],
}

/// A piece of the field and where its result goes.
pub(super) struct Task<'a> {
    pub spans: [Span; 3],
    /// Slab by slab.
    pub rows: Vec<&'a mut [f32]>,
}

impl Task<'_> {
    pub(super) fn pixels(&self) -> usize {
        self.spans.iter().map(|span| span.own.len()).product()
    }
}

/// One axis of a task.
#[derive(Clone, Debug)]
pub(super) struct Span {
    /// The pixels to compute.
    own: Range<usize>,
    /// With the halo, inside the image.
    window: Range<usize>,
    size: usize,
}

impl Span {
    pub(super) fn new(own: Range<usize>, halo: usize, size: usize) -> Self {
        let window = own.start.saturating_sub(halo)..(own.end + halo).min(size);
        Self { own, window, size }
    }

    fn at_start(&self) -> bool {
        self.window.start == 0
    }

    fn at_end(&self) -> bool {
        self.window.end == self.size
    }

    /// The positions in the window that are still right after `level` iterations.
    fn right(&self, level: usize) -> Range<usize> {
        let from = if self.at_start() { 0 } else { level };
        let to = self.window.len() - if self.at_end() { 0 } else { level };
        from..to
    }

    /// The coordinates that `later` more iterations need.
    fn needed(&self, later: usize) -> Range<isize> {
        self.own.start.saturating_sub(later) as isize..(self.own.end + later).min(self.size) as isize
    }
}

/// The work of one [`Task`], for the vector unit that is there.
pub(super) struct March<'p, 't, const VOLUME: bool> {
    pub pass: &'p Pass<'p>,
    pub task: Task<'t>,
}

impl<const VOLUME: bool> WithSimd for March<'_, '_, VOLUME> {
    type Output = Result<()>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Result<()> {
        let Task { spans, mut rows } = self.task;
        let mut window = Window::<VOLUME>::new(self.pass, spans)?;
        let last = window.zs.own.end as isize + self.pass.centre_weights.len() as isize;
        let mut top = window.zs.window.start as isize;
        while top < last {
            window.arrive(top);
            if window.iterate(simd, top) {
                window.leave(top, &mut rows);
            }
            top += 2;
        }
        Ok(())
    }
}

/// Slabs of equal size in cache.
struct Slabs<T> {
    store: Vec<T>,
    /// The first on a cache line.
    first: usize,
    len: usize,
}

impl<T: bytemuck::Zeroable + Copy> Slabs<T> {
    fn new(count: usize, len: usize) -> Result<Self> {
        let store: Vec<T> = zeroed(count * len + LINE_BYTES)?;
        let first = store.as_ptr().align_offset(LINE_BYTES).min(LINE_BYTES);
        Ok(Self { store, first, len })
    }

    #[inline(always)]
    fn range(&self, handle: usize) -> Range<usize> {
        self.first + handle * self.len..self.first + (handle + 1) * self.len
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

/// The slabs of a task that are in cache, each known by a handle.
struct Window<'p, const VOLUME: bool> {
    pass: &'p Pass<'p>,
    xs: Span,
    ys: Span,
    zs: Span,
    /// Floats from row to row of a slab.
    stride: usize,
    /// The first pixel of a slab. A pixel of border is on either side of its rows, and in 3D a row above and below.
    first: usize,
    slabs: Slabs<f32>,
    /// All bits set where the pixel changes, for the slabs that some iteration still has to do: slab z is
    /// `masks[z % mask_count]`. Bytes, because the second-level cache is what the iterations wait for.
    masks: Slabs<u8>,
    mask_count: usize,
    /// The two slabs that wait for the next two of their iteration: of the start, iteration 1, 2, …
    waiting: Vec<[usize; 2]>,
    /// Before an arrival, room for it; after the last iteration, its result.
    fresh: [usize; 2],
    /// Room for one more.
    spare: usize,
}

impl<'p, const VOLUME: bool> Window<'p, VOLUME> {
    fn new(pass: &'p Pass<'p>, [xs, ys, zs]: [Span; 3]) -> Result<Self> {
        let levels = pass.centre_weights.len();
        let border = usize::from(VOLUME);
        // A line before the pixels for the border on the left; after them for that on the right, and so that the last
        // vector may be broken.
        let stride = (LINE + xs.window.len() + 1).next_multiple_of(LINE) + LINE;
        let len = (ys.window.len() + 2 * border) * stride;
        let mask_count = levels + 2;
        Ok(Self {
            pass,
            xs,
            ys,
            zs,
            stride,
            first: border * stride + LINE,
            slabs: Slabs::new(2 * levels + 3, len)?,
            masks: Slabs::new(mask_count, len)?,
            mask_count,
            waiting: (0..levels).map(|t| [2 * t, 2 * t + 1]).collect(),
            fresh: [2 * levels, 2 * levels + 1],
            spare: 2 * levels + 2,
        })
    }

    /// Fetches slabs `top` and `top + 1` of the start, and the masks that iteration 1 will need: `top − 1` and `top`.
    #[inline(always)]
    fn arrive(&mut self, top: isize) {
        let [width, height, _] = self.pass.shape;
        let columns = self.xs.window.len();
        for (i, handle) in self.fresh.into_iter().enumerate() {
            let (z, mask) = (top + i as isize, top + i as isize - 1);
            let inside = 0..self.zs.window.end as isize;
            for j in 0..self.ys.window.len() {
                let at = self.first + j * self.stride;
                let from = |z: isize| (z as usize * height + self.ys.window.start + j) * width + self.xs.window.start;
                if inside.contains(&z) {
                    let row = &self.pass.source[from(z)..][..columns];
                    self.slabs.get_mut(handle)[at..at + columns].copy_from_slice(row);
                }
                if inside.contains(&mask) {
                    let fixed = &self.pass.fixed[from(mask)..][..columns];
                    let mask = self.masks.get_mut(mask as usize % self.mask_count);
                    for (changes, fixed) in mask[at..at + columns].iter_mut().zip(fixed) {
                        *changes = u8::from(*fixed == 0).wrapping_neg();
                    }
                }
            }
            self.extend_borders(handle);
        }
    }

    /// Every iteration does the two slabs that it now can. Says whether the last one had any to do.
    #[inline(always)]
    fn iterate<S: Simd>(&mut self, simd: S, top: isize) -> bool {
        let levels = self.pass.centre_weights.len();
        let depth = self.pass.shape[2] as isize;
        let [mut c, mut d] = self.fresh;
        for level in 1..=levels {
            // Slabs p and p + 1 of the iteration before have arrived; p − 2 and p − 1 wait. This one does p − 1 and p.
            let p = top + 1 - level as isize;
            let needed = self.zs.needed(levels - level);
            let [a, b] = std::mem::replace(&mut self.waiting[level - 1], [c, d]);
            if p < needed.start {
                self.fresh = [a, b];
                return false;
            }
            if p - 1 < needed.end {
                // Beyond the ends of the axis the field goes on with its last slab.
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
                self.two_slabs(simd, level, p, [a, b, c, d]);
                if level < levels {
                    self.extend_borders(a);
                    self.extend_borders(self.spare);
                }
            }
            [c, d] = [a, self.spare];
            self.spare = b;
        }
        self.fresh = [c, d];
        true
    }

    /// Iteration `level` on slabs p − 1 = b and p = c, between a and d. The results go to a and to the spare one.
    #[inline(always)]
    fn two_slabs<S: Simd>(&mut self, simd: S, level: usize, p: isize, [a, b, c, d]: [usize; 4]) {
        let [a, b, c, d, e] = self.slabs.get_five_mut([a, b, c, d, self.spare]);
        // p − 1 may be −1, of which nothing is used.
        let count = self.mask_count as isize;
        let masks = [p - 1, p].map(|z| self.masks.get((z + count) as usize % self.mask_count));
        let columns = self.xs.right(level);
        // Whole vectors: what is computed besides is not used.
        let columns = columns.start - columns.start % S::F32_LANES..columns.end.next_multiple_of(S::F32_LANES);
        for j in self.ys.right(level) {
            let at = |shift: isize| {
                let start = (self.first + j * self.stride + columns.start).wrapping_add_signed(shift);
                start..start + columns.len()
            };
            let row = if VOLUME { self.stride as isize } else { 0 };
            two_rows::<S, VOLUME>(
                simd,
                self.pass.centre_weights[level - 1],
                &mut a[at(0)],
                [&b[at(-1)], &b[at(0)], &b[at(1)], &b[at(-row)], &b[at(row)]],
                [&c[at(-1)], &c[at(0)], &c[at(1)], &c[at(-row)], &c[at(row)]],
                &d[at(0)],
                &mut e[at(0)],
                masks.map(|mask| &mask[at(0)]),
                self.pass.time_step,
            );
        }
    }

    /// Writes the border pixels where the window ends at the image's border: each equals the pixel beside it.
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
        if VOLUME {
            if self.ys.at_start() {
                values.copy_within(stride..2 * stride, 0);
            }
            if self.ys.at_end() {
                values.copy_within(rows * stride..(rows + 1) * stride, (rows + 1) * stride);
            }
        }
    }

    /// Writes the slabs that are done to memory.
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

/// The weights of the pixels' changes: Δt where all bits of the mask are set, 0 where none is.
#[inline(always)]
fn weights<S: Simd>(simd: S, mask: &[u8], time_step: f32) -> S::f32s {
    let mut weights = [simd.splat_f32s(0.0)];
    // A loop that becomes two vector instructions.
    for (weight, mask) in bytemuck::cast_slice_mut::<_, f32>(&mut weights).iter_mut().zip(mask) {
        *weight = f32::from_bits(time_step.to_bits() & i32::from(mask.cast_signed()).cast_unsigned());
    }
    weights[0]
}

/// One iteration on the same row of two neighbouring slabs, b and c, between a and d. The result of b replaces a, which
/// is not needed any more; that of c goes to e. Two at once because each needs the other: ten loads instead of twelve.
///
/// `b` and `c`: left, centre, right, up, down. All of whole vectors. Without fused multiply-add the products are
/// rounded, too.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "all are rows of one stencil")]
fn two_rows<S: Simd, const VOLUME: bool>(
    simd: S,
    centre_weight: f32,
    a: &mut [f32],
    b: [&[f32]; 5],
    c: [&[f32]; 5],
    d: &[f32],
    e: &mut [f32],
    [b_mask, c_mask]: [&[u8]; 2],
    time_step: f32,
) {
    let k = simd.splat_f32s(-centre_weight);
    let a = S::as_mut_simd_f32s(a).0;
    // Equal lengths, seen by the compiler: no bounds checks in the loop.
    let n = a.len();
    let e = &mut S::as_mut_simd_f32s(e).0[..n];
    let vectors = |row| &S::as_simd_f32s(row).0[..n];
    let ([bl, bc, br, bu, bd], [cl, cc, cr, cu, cd]) = (b.map(vectors), c.map(vectors));
    let d = vectors(d);
    let masks = b_mask.chunks_exact(S::F32_LANES).zip(c_mask.chunks_exact(S::F32_LANES));
    for (i, (b_mask, c_mask)) in (0..n).zip(masks) {
        let (b, c) = (bc[i], cc[i]);
        let mut b_sum = simd.add_f32s(bl[i], br[i]);
        let mut c_sum = simd.add_f32s(cl[i], cr[i]);
        if VOLUME {
            b_sum = simd.add_f32s(b_sum, simd.add_f32s(bu[i], bd[i]));
            c_sum = simd.add_f32s(c_sum, simd.add_f32s(cu[i], cd[i]));
        }
        b_sum = simd.add_f32s(b_sum, simd.add_f32s(a[i], c));
        c_sum = simd.add_f32s(c_sum, simd.add_f32s(b, d[i]));
        let b_change = simd.mul_add_e_f32s(k, b, b_sum);
        let c_change = simd.mul_add_e_f32s(k, c, c_sum);
        a[i] = simd.mul_add_e_f32s(weights(simd, b_mask, time_step), b_change, b);
        e[i] = simd.mul_add_e_f32s(weights(simd, c_mask, time_step), c_change, c);
    }
}
