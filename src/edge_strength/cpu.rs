//! The fast path on the CPU: several iterations per pass over memory, in vector registers, on all cores.
//!
//! A pass does up to [`Tuning::levels`] iterations at once. The field is cut into *panels* (columns in 2D, beams in 3D),
//! and each task carries one panel, or a stretch of it, through all iterations of the pass while the data is in cache:
//! it marches along the last axis, and when slab `q` (a row in 2D, a plane in 3D) arrives, iteration 1 can do slab
//! `q − 1`, iteration 2 slab `q − 2`, and so on. Only two slabs per iteration are alive. A panel takes in a halo as wide
//! as the pass has iterations and computes it in vain, which makes the tasks independent of each other.
//!
//! Every pixel is computed by the same operations in the same order whatever the cutting, so the result does not depend
//! on the number of threads or on [`Tuning`]. See `docs/edge_strength_cpu.md` for the reasons and the measurements.

use super::Steps;
use super::prepare::zeroed;
use crate::error::Result;
use crate::progress::Ticker;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use std::ops::Range;

/// Floats in a cache line: rows in cache start on one.
const LINE: usize = 16;

/// The shape of the work, chosen so that a task's slabs stay in the first- or second-level cache.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    /// The most iterations in one pass.
    levels: usize,
    /// The widest panel, without its halo.
    panel: [usize; 2],
}

/// Measured on two cores with 512 KiB of second-level cache each: the slabs of a task take 3 · 32 · 4.3 KiB = 410 KiB.
const TUNING_2D: Tuning = Tuning { levels: 32, panel: [1024, 1] };
/// Likewise: 3 · 4 · 42 KiB. The halo costs more here, so fewer levels pay.
const TUNING_3D: Tuning = Tuning { levels: 4, panel: [256, 32] };
/// The shortest stretch of the last axis that a task is made for.
const MIN_STRETCH: usize = 16;
/// How many times longer than its halo a stretch is.
const HALO_SHARE: usize = 8;

/// A field cut into panels, each contiguous: x fastest, then y within the panel, then the whole z axis.
/// One panel of the whole size is the usual order.
#[derive(Clone, Copy)]
struct Panels<'a> {
    data: &'a [f32],
    shape: [usize; 3],
    panel: [usize; 2],
}

impl Panels<'_> {
    /// Copies pixels `x` of row (y, z).
    #[inline(always)]
    fn copy_row(&self, x: Range<usize>, y: usize, z: usize, out: &mut [f32]) {
        let [width, height, depth] = self.shape;
        let top = y - y % self.panel[1];
        let rows = self.panel[1].min(height - top);
        let mut from = x.start;
        while from < x.end {
            let left = from - from % self.panel[0];
            let columns = self.panel[0].min(width - left);
            let to = x.end.min(left + columns);
            let row = (top * width + left * rows) * depth + (z * rows + y - top) * columns;
            out[from - x.start..to - x.start].copy_from_slice(&self.data[row + from - left..row + to - left]);
            from = to;
        }
    }
}

/// One axis of a task.
#[derive(Clone, Debug)]
struct Span {
    /// The pixels to compute.
    own: Range<usize>,
    /// With the halo, inside the image.
    window: Range<usize>,
    size: usize,
}

impl Span {
    fn new(own: Range<usize>, halo: usize, size: usize) -> Self {
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
    fn needed(&self, later: usize) -> Range<usize> {
        self.own.start.saturating_sub(later)..(self.own.end + later).min(self.size)
    }
}

/// Some iterations over the whole field.
struct Pass<'a> {
    source: Panels<'a>,
    fixed: &'a [u8],
    time_step: f32,
    centre_weights: &'a [f32],
}

/// A stretch of a panel and where its result goes.
struct Task<'a> {
    spans: [Span; 3],
    out: &'a mut [f32],
}

/// Where the pixels of a slab in cache are: rows of `stride`, the first pixel at `first`, with room for one pixel of
/// border all round (no rows above and below in 2D).
#[derive(Clone, Copy)]
struct Slab {
    stride: usize,
    first: usize,
    len: usize,
}

struct March<'p, 'o, const VOLUME: bool> {
    pass: &'p Pass<'p>,
    task: Task<'o>,
}

impl<const VOLUME: bool> WithSimd for March<'_, '_, VOLUME> {
    type Output = Result<()>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Result<()> {
        let Self { pass, task } = self;
        let Task { spans: [xs, ys, zs], out } = task;
        let levels = pass.centre_weights.len();
        let [width, height, depth] = pass.source.shape;
        let (columns, rows) = (xs.window.len(), ys.window.len());
        let border = usize::from(VOLUME);
        let stride = (LINE + columns + 1).next_multiple_of(LINE) + LINE;
        let slab = Slab { stride, first: border * stride + LINE, len: (rows + 2 * border) * stride };
        // Two slabs per level, two that arrive, one spare; two more masks than levels.
        let slabs = 2 * levels + 3;
        let masks = levels + 2;
        let mut store: Vec<f32> = zeroed((slabs + masks) * slab.len + LINE)?;
        let aligned = store.as_ptr().align_offset(64).min(LINE);
        let (ring, mask_ring) = store[aligned..].split_at_mut(slabs * slab.len);
        let range = |handle: usize| handle * slab.len..(handle + 1) * slab.len;

        let mut waiting: Vec<[usize; 2]> = (0..levels).map(|t| [2 * t, 2 * t + 1]).collect();
        let mut fresh = [2 * levels, 2 * levels + 1];
        let mut spare = 2 * levels + 2;
        let depth = depth as isize;
        let mut top = zs.window.start as isize;
        loop {
            // Slabs `top` and `top + 1` arrive.
            for (i, handle) in fresh.into_iter().enumerate() {
                let z = top as usize + i;
                if z < zs.window.end {
                    let values = &mut ring[range(handle)];
                    for j in 0..rows {
                        let row = &mut values[slab.first + j * stride..][..columns];
                        pass.source.copy_row(xs.window.clone(), ys.window.start + j, z, row);
                    }
                    extend_borders::<VOLUME>(values, slab, &xs, &ys);
                }
                // The first iteration does `top - 1` and `top`.
                let z = top + i as isize - 1;
                if z >= 0 && z < zs.window.end as isize {
                    let values = &mut mask_ring[range(z as usize % masks)];
                    for j in 0..rows {
                        let first = (z as usize * height + ys.window.start + j) * width;
                        let fixed = &pass.fixed[first + xs.window.start..first + xs.window.end];
                        weigh(fixed, pass.time_step, &mut values[slab.first + j * stride..][..columns]);
                    }
                }
            }
            let [mut c, mut d] = fresh;
            let mut finished = true;
            for t in 1..=levels {
                // Slabs p and p+1 of iteration t-1 have arrived; p-2 and p-1 wait. Iteration t does p-1 and p.
                let p = top + 1 - t as isize;
                let needed = zs.needed(levels - t);
                let [a, b] = std::mem::replace(&mut waiting[t - 1], [c, d]);
                if p < needed.start as isize {
                    fresh = [a, b];
                    finished = false;
                    break;
                }
                if p - 1 < needed.end as isize {
                    // Beyond the ends of the axis the field goes on with its last slab.
                    if p == 0 {
                        ring.copy_within(range(c), range(b).start);
                    }
                    if p == 1 {
                        ring.copy_within(range(b), range(a).start);
                    }
                    if p + 1 == depth {
                        ring.copy_within(range(c), range(d).start);
                    }
                    if p == depth {
                        ring.copy_within(range(b), range(c).start);
                    }
                    let slabs = ring.get_disjoint_mut([range(a), range(b), range(c), range(d), range(spare)]);
                    let [a, b, c, d, e] = slabs.unwrap_or_else(|_| unreachable!("the handles are different"));
                    let mask = [p - 1, p].map(|z| &mask_ring[range((z + masks as isize) as usize % masks)]);
                    let x = xs.right(t);
                    let x = x.start - x.start % S::F32_LANES..x.end.next_multiple_of(S::F32_LANES);
                    for j in ys.right(t) {
                        let at = |shift: isize| {
                            let first = (slab.first + j * stride + x.start).wrapping_add_signed(shift);
                            first..first + x.len()
                        };
                        let (up, down) = if VOLUME { (-(stride as isize), stride as isize) } else { (0, 0) };
                        two_rows::<S, VOLUME>(
                            simd,
                            pass.centre_weights[t - 1],
                            &mut a[at(0)],
                            [&b[at(-1)], &b[at(0)], &b[at(1)], &b[at(up)], &b[at(down)]],
                            [&c[at(-1)], &c[at(0)], &c[at(1)], &c[at(up)], &c[at(down)]],
                            &d[at(0)],
                            &mut e[at(0)],
                            mask.map(|m| &m[at(0)]),
                        );
                    }
                    if t < levels {
                        extend_borders::<VOLUME>(a, slab, &xs, &ys);
                        extend_borders::<VOLUME>(e, slab, &xs, &ys);
                    }
                }
                [c, d] = [a, spare];
                spare = b;
            }
            if finished {
                fresh = [c, d];
                for (i, handle) in fresh.into_iter().enumerate() {
                    let z = top - levels as isize + i as isize;
                    if z < zs.own.start as isize || z >= zs.own.end as isize {
                        continue;
                    }
                    let values = &ring[range(handle)];
                    let (columns, rows) = (xs.own.len(), ys.own.len());
                    for j in 0..rows {
                        let to = ((z as usize - zs.own.start) * rows + j) * columns;
                        let from =
                            slab.first + (ys.own.start - ys.window.start + j) * stride + xs.own.start - xs.window.start;
                        out[to..to + columns].copy_from_slice(&values[from..from + columns]);
                    }
                }
            }
            top += 2;
            if top - levels as isize >= zs.own.end as isize {
                return Ok(());
            }
        }
    }
}

/// The weight of a pixel's change: 0 on the shape, else Δt.
#[inline(always)]
fn weigh(fixed: &[u8], time_step: f32, weights: &mut [f32]) {
    for (weight, fixed) in weights.iter_mut().zip(fixed) {
        // No branch, so that this becomes vector code.
        *weight = f32::from_bits(time_step.to_bits() & u32::from(*fixed == 0).wrapping_neg());
    }
}

/// Writes the border pixels where the window ends at the image's border: each equals the pixel beside it.
#[inline(always)]
fn extend_borders<const VOLUME: bool>(values: &mut [f32], slab: Slab, xs: &Span, ys: &Span) {
    let (columns, rows) = (xs.window.len(), ys.window.len());
    for j in 0..rows {
        let first = slab.first + j * slab.stride;
        if xs.at_start() {
            values[first - 1] = values[first];
        }
        if xs.at_end() {
            values[first + columns] = values[first + columns - 1];
        }
    }
    if VOLUME {
        let row = |j: usize| j * slab.stride..(j + 1) * slab.stride;
        if ys.at_start() {
            values.copy_within(row(1), 0);
        }
        if ys.at_end() {
            values.copy_within(row(rows), row(rows + 1).start);
        }
    }
}

/// One iteration on the same row of two neighbouring slabs, b and c, between a and d. The result of b replaces a, where
/// it is not needed any more; that of c goes to e. Two at once because each needs the other: ten loads instead of twelve.
///
/// `b` and `c`: left, centre, right, up, down.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn two_rows<S: Simd, const VOLUME: bool>(
    simd: S,
    centre_weight: f32,
    a: &mut [f32],
    b: [&[f32]; 5],
    c: [&[f32]; 5],
    d: &[f32],
    e: &mut [f32],
    mask: [&[f32]; 2],
) {
    let k = simd.splat_f32s(-centre_weight);
    let a = S::as_mut_simd_f32s(a).0;
    let n = a.len();
    let e = &mut S::as_mut_simd_f32s(e).0[..n];
    let d = &S::as_simd_f32s(d).0[..n];
    let b0 = &S::as_simd_f32s(b[0]).0[..n];
    let b1 = &S::as_simd_f32s(b[1]).0[..n];
    let b2 = &S::as_simd_f32s(b[2]).0[..n];
    let b3 = &S::as_simd_f32s(b[3]).0[..n];
    let b4 = &S::as_simd_f32s(b[4]).0[..n];
    let c0 = &S::as_simd_f32s(c[0]).0[..n];
    let c1 = &S::as_simd_f32s(c[1]).0[..n];
    let c2 = &S::as_simd_f32s(c[2]).0[..n];
    let c3 = &S::as_simd_f32s(c[3]).0[..n];
    let c4 = &S::as_simd_f32s(c[4]).0[..n];
    let m0 = &S::as_simd_f32s(mask[0]).0[..n];
    let m1 = &S::as_simd_f32s(mask[1]).0[..n];
    for i in 0..n {
        let (b, c) = (b1[i], c1[i]);
        let mut sb = simd.add_f32s(b0[i], b2[i]);
        let mut sc = simd.add_f32s(c0[i], c2[i]);
        if VOLUME {
            sb = simd.add_f32s(sb, simd.add_f32s(b3[i], b4[i]));
            sc = simd.add_f32s(sc, simd.add_f32s(c3[i], c4[i]));
        }
        sb = simd.add_f32s(sb, simd.add_f32s(a[i], c));
        sc = simd.add_f32s(sc, simd.add_f32s(b, d[i]));
        let tb = simd.mul_add_e_f32s(k, b, sb);
        let tc = simd.mul_add_e_f32s(k, c, sc);
        a[i] = simd.mul_add_e_f32s(m0[i], tb, b);
        e[i] = simd.mul_add_e_f32s(m1[i], tc, c);
    }
}

/// Applies one iteration per centre weight to `field` (x fastest, then y, then z); pixels with `fixed` != 0 stay.
pub(super) fn iterate(
    field: &mut Vec<f32>,
    fixed: &[u8],
    shape: [usize; 3],
    steps: &Steps<'_>,
    ticker: &Ticker,
) -> Result<()> {
    let [width, height, depth] = shape;
    if steps.dimensions == 3 {
        passes::<true>(field, fixed, shape, steps, TUNING_3D, ticker)
    } else {
        // Each slice by itself, marching along y.
        debug_assert_eq!(depth, 1);
        passes::<false>(field, fixed, [width, 1, height], steps, TUNING_2D, ticker)
    }
}

/// The cutting of a field into panels, and of panels into stretches of the last axis.
#[derive(Clone, Copy, Debug)]
struct Cut {
    panel: [usize; 2],
    stretch: usize,
    levels: usize,
}

impl Cut {
    fn new(shape: [usize; 3], tuning: Tuning) -> Self {
        let [width, height, depth] = shape;
        let even = |size: usize, most: usize| size.div_ceil(size.div_ceil(most));
        // Panels of equal size, and of whole cache lines.
        let panel = [even(width, tuning.panel[0]).next_multiple_of(LINE).min(width), even(height, tuning.panel[1])];
        let panels = width.div_ceil(panel[0]) * height.div_ceil(panel[1]);
        // Twice as many tasks as threads, so that one that is held up does not hold up all; but where that makes short
        // stretches fewer levels, so that the halo stays small beside the stretch.
        let tasks = 2 * rayon::current_num_threads();
        let stretch = depth.div_ceil(tasks.div_ceil(panels)).clamp(depth.min(MIN_STRETCH), depth);
        let levels = if stretch < depth { (stretch / HALO_SHARE).max(1).min(tuning.levels) } else { tuning.levels };
        Self { panel, stretch, levels }
    }
}

fn passes<const VOLUME: bool>(
    field: &mut Vec<f32>,
    fixed: &[u8],
    shape: [usize; 3],
    steps: &Steps<'_>,
    tuning: Tuning,
    ticker: &Ticker,
) -> Result<()> {
    let [width, height, _] = shape;
    let cut = Cut::new(shape, tuning);
    let arch = Arch::new();
    let mut result = zeroed(field.len())?;
    let mut source_panel = [width, height];
    let mut weights = steps.centre_weights;
    while !weights.is_empty() {
        // The passes left, each of about the same number of iterations.
        let count = weights.len().div_ceil(cut.levels);
        let (now, later) = weights.split_at(weights.len().div_ceil(count));
        weights = later;
        let source = Panels { data: field, shape, panel: source_panel };
        let pass = Pass { source, fixed, time_step: steps.time_step, centre_weights: now };
        tasks(&mut result, shape, cut, now.len()).into_par_iter().with_max_len(1).try_for_each(|task| {
            ticker.check()?;
            let updates = task.out.len() * now.len();
            arch.dispatch(March::<VOLUME> { pass: &pass, task })?;
            ticker.add(updates as u64);
            Ok(())
        })?;
        std::mem::swap(field, &mut result);
        source_panel = cut.panel;
    }
    if source_panel != [width, height] {
        let source = Panels { data: field, shape, panel: source_panel };
        result
            .par_chunks_mut(width)
            .enumerate()
            .for_each(|(row, out)| source.copy_row(0..width, row % height, row / height, out));
        std::mem::swap(field, &mut result);
    }
    Ok(())
}

/// The tasks of a pass of `levels` iterations, in the order of their results in memory.
fn tasks(mut result: &mut [f32], shape: [usize; 3], cut: Cut, levels: usize) -> Vec<Task<'_>> {
    let [width, height, depth] = shape;
    let pieces = |size: usize, step: usize| (0..size).step_by(step).map(move |from| from..(from + step).min(size));
    let mut tasks = Vec::new();
    for y in pieces(height, cut.panel[1]) {
        for x in pieces(width, cut.panel[0]) {
            for z in pieces(depth, cut.stretch) {
                let (out, rest) = result.split_at_mut(x.len() * y.len() * z.len());
                result = rest;
                let spans = [
                    Span::new(x.clone(), levels, width),
                    Span::new(y.clone(), levels, height),
                    Span::new(z, levels, depth),
                ];
                tasks.push(Task { spans, out });
            }
        }
    }
    tasks
}
