//! One task in 2D: a tile of a slice goes through all iterations of a pass while it is in cache.
//!
//! **Order.** The task proceeds down the rows, [`ROWS`] at a time. When rows `q` to `q + 3` have been loaded, iteration 1
//! can compute rows `q − 1` to `q + 2`, iteration 2 can compute `q − 2` to `q + 1`, and so on up to the last iteration,
//! whose rows are written to memory. From one step to the next only two rows per iteration are kept.
//!
//! **The layout.** A row of `n` vectors is *lifted*: column `lane · n + i` is in lane `lane` of vector `i`. So the left and
//! right neighbours of vector `i` are the aligned vectors `i − 1` and `i + 1`; only at the ends of the row must lanes be
//! shifted by one. A loop along a row loads each vector once.
//!
//! **The mask** has one bit per pixel. A byte has the bits of eight rows of its column, with the first row in the highest
//! bit, so that a shift moves the bit of any row to the sign of a word. A new byte begins at every [`ROWS`]th row, so each
//! bit is stored in two bytes, and any [`ROWS`] consecutive rows are together in one byte.

use super::{LINE, LINE_BYTES, Pass, Span, Task, flush};
use bytemuck::Pod;
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// The number of rows that arrive at a time.
const ROWS: usize = 4;
const _: () = assert!(2 * ROWS == u8::BITS as usize);

/// One [`Task`], compiled for each vector unit.
pub(super) struct RowTask<'p, 'i, 't> {
    pub pass: &'p Pass<'p, 'i>,
    pub task: Task<'t>,
    /// The buffer of the thread: at least [`buffer_len`] floats.
    pub buffer: &'t mut [f32],
}

impl WithSimd for RowTask<'_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Task { spans, mut rows } = self.task;
        let mut window = Window::new::<S>(self.pass, spans, self.buffer);
        let levels = self.pass.centre_weights.len() as isize;
        // `top` is a multiple of ROWS, so that the rows that arrive together are in the same bytes.
        let mut top = (window.ys.window.start - window.ys.window.start % ROWS) as isize;
        while top - levels < window.ys.own.end as isize {
            window.arrive::<S>(top);
            if window.iterate(simd, top) {
                window.leave::<S>(top, &mut rows);
            }
            top += ROWS as isize;
        }
    }
}

/// Returns the number of floats that the buffer of a task needs in a pass of `levels` iterations.
pub(super) fn buffer_len(width: usize, levels: usize) -> usize {
    let bytes = mask_count(levels) + 3;
    LINE + (row_count(levels) + 2 + bytes.div_ceil(size_of::<f32>())) * stride(width + 2 * levels)
}

/// Returns the number of rows in the buffer: two for each iteration, and those that arrive.
fn row_count(levels: usize) -> usize {
    2 * levels + ROWS
}

/// Returns the number of rows of mask bytes: enough for the rows that some iteration still has to compute.
fn mask_count(levels: usize) -> usize {
    levels.div_ceil(ROWS) + 3
}

/// Returns the floats from row to row: an odd number of cache lines, so that rows do not compete for the same cache
/// sets.
fn stride(columns: usize) -> usize {
    (columns.div_ceil(LINE) | 1) * LINE
}

/// The rows of a task that are in cache. Each is identified by a handle, its number in `rows`.
struct Window<'p, 'i, 't> {
    pass: &'p Pass<'p, 'i>,
    xs: Span,
    ys: Span,
    /// The number of vectors in a row.
    vectors: usize,
    /// The number of floats in a row: vectors times lanes.
    len: usize,
    /// Floats from row to row.
    stride: usize,
    rows: &'t mut [f32],
    masks: &'t mut [u8],
    mask_count: usize,
    /// Two temporary rows of values, as their bits, for lifting and lowering.
    lines: [&'t mut [u32]; 2],
    /// The mask of the rows that arrived last: one bit for each pixel of a column, the first row highest, 1 where the
    /// pixel changes.
    marks: &'t mut [u8],
    mark_lines: [&'t mut [u8]; 2],
    /// For the initial values and each iteration 1, 2, …, the two rows that wait for the next rows of the same
    /// iteration.
    waiting: Vec<[usize; 2]>,
    /// Before an arrival, the rows to fill; after the last iteration, its results.
    fresh: [usize; ROWS],
}

impl<'p, 'i, 't> Window<'p, 'i, 't> {
    #[inline(always)]
    fn new<S: Simd>(pass: &'p Pass<'p, 'i>, [xs, _, ys]: [Span; 3], buffer: &'t mut [f32]) -> Self {
        let levels = pass.centre_weights.len();
        let vectors = xs.window.len().div_ceil(S::F32_LANES);
        let len = vectors * S::F32_LANES;
        let stride = stride(len);
        // Rows start at a cache line.
        let first = buffer.as_ptr().align_offset(LINE_BYTES).min(LINE);
        let (rows, buffer) = buffer[first..].split_at_mut(row_count(levels) * stride);
        let (line, buffer) = buffer.split_at_mut(stride);
        let (other, buffer) = buffer.split_at_mut(stride);
        let (masks, buffer) = bytemuck::cast_slice_mut(buffer).split_at_mut(mask_count(levels) * stride);
        // Rows that arrive also set bits in the bytes before their own. For the first rows these bytes must be clear.
        masks.fill(0);
        let (marks, buffer) = buffer.split_at_mut(stride);
        let (mark_line, other_mark_line) = buffer.split_at_mut(stride);
        Self {
            pass,
            xs,
            ys,
            vectors,
            len,
            stride,
            rows,
            masks,
            mask_count: mask_count(levels),
            lines: [bytemuck::cast_slice_mut(&mut line[..len]), bytemuck::cast_slice_mut(&mut other[..len])],
            marks: &mut marks[..len],
            mark_lines: [&mut mark_line[..len], &mut other_mark_line[..len]],
            waiting: (0..levels).map(|t| [2 * t, 2 * t + 1]).collect(),
            fresh: std::array::from_fn(|i| 2 * levels + i),
        }
    }

    /// Returns the range of a row in `rows`.
    #[inline(always)]
    fn row(&self, handle: usize) -> Range<usize> {
        handle * self.stride..handle * self.stride + self.len
    }

    /// Returns the range of the mask bytes that begin at row `block * ROWS`. That row may be before the first row.
    #[inline(always)]
    fn mask(&self, block: isize) -> Range<usize> {
        let from = block.rem_euclid(self.mask_count as isize) as usize * self.stride;
        from..from + self.len
    }

    /// Loads rows `top..top + ROWS` with the values before the pass, and their masks.
    #[inline(always)]
    fn arrive<S: Simd>(&mut self, top: isize) {
        let columns = self.xs.window.clone();
        let rows = top as usize..(top as usize + ROWS).min(self.ys.window.end);
        // 1. Compute the masks, lift them, and add them to the mask bytes.
        let marks = &mut *self.mark_lines[0];
        marks.fill(0);
        for (i, y) in rows.clone().enumerate() {
            self.pass.pixels.mark_changing([y, 0], columns.clone(), first_bit(i), &mut marks[..columns.len()]);
        }
        lift(S::F32_LANES, &mut self.mark_lines, self.marks);
        let marks = &*self.marks;
        let block = top / ROWS as isize;
        let (now, before) = (self.mask(block), self.mask(block - 1));
        for (mask, mark) in self.masks[now].iter_mut().zip(marks) {
            *mask = mark << ROWS;
        }
        for (mask, mark) in self.masks[before].iter_mut().zip(marks) {
            *mask |= mark;
        }
        // 2. Copy the values and lift them. Initial values that depend on the mask alone are made from its lifted bits.
        let targets = self.fresh.map(|handle| self.row(handle));
        for ((i, y), to) in rows.enumerate().zip(targets) {
            if self.pass.field.is_none() && self.pass.pixels.start_is_mask() {
                for (value, mark) in self.rows[to].iter_mut().zip(marks) {
                    *value = if mark & first_bit(i) == 0 { 1.0 } else { 0.0 };
                }
            } else {
                let line = bytemuck::cast_slice_mut(&mut self.lines[0][..columns.len()]);
                self.pass.values([y, 0], columns.clone(), line);
                lift(S::F32_LANES, &mut self.lines, bytemuck::cast_slice_mut(&mut self.rows[to]));
            }
        }
    }

    /// Advances every iteration by the rows whose neighbours have arrived. Returns true if the last iteration has computed
    /// rows.
    #[inline(always)]
    fn iterate<S: Simd>(&mut self, simd: S, top: isize) -> bool {
        let levels = self.pass.centre_weights.len();
        let height = self.ys.size as isize;
        for level in 1..=levels {
            // 1. Rows p to p + 3 of the previous iteration have arrived; rows a = p − 2 and b = p − 1 wait. This
            // iteration computes b to e; e and f wait in their place.
            let p = top + 1 - level as isize;
            let needed = self.ys.needed(levels - level);
            let [c, d, e, f] = self.fresh;
            let [a, b] = std::mem::replace(&mut self.waiting[level - 1], [e, f]);
            self.fresh = [a, b, c, d];
            // 2. Skip rows that no later iteration needs.
            if p - 1 + ROWS as isize <= needed.start {
                return false;
            }
            if p - 1 < needed.end {
                let rows = [a, b, c, d, e, f];
                // 3. The row beyond either end of the axis is a copy of the last row.
                if let Ok(i) = usize::try_from(1 - p)
                    && i <= ROWS
                {
                    self.copy(rows[i + 1], rows[i]);
                }
                if let Ok(i @ 1..) = usize::try_from(height + 2 - p)
                    && i < rows.len()
                {
                    self.copy(rows[i - 1], rows[i]);
                }
                self.four_rows(simd, level, p, rows);
            }
        }
        true
    }

    fn copy(&mut self, from: usize, to: usize) {
        let (from, to) = (self.row(from), self.row(to));
        self.rows.copy_within(from, to.start);
    }

    /// Computes iteration `level` on rows b to e = p − 1 to p + 2. The results replace a to d.
    #[inline(always)]
    fn four_rows<S: Simd>(&mut self, simd: S, level: usize, p: isize, handles: [usize; ROWS + 2]) {
        // 1. The column beyond the right border is a copy of the last column. If the last column is the last element of the
        //    last lane, `after` makes that copy.
        let columns = self.xs.window.len();
        if self.xs.at_end() && columns < self.len {
            let place = |x: usize| x % self.vectors * S::F32_LANES + x / self.vectors;
            let (to, from) = (place(columns), place(columns - 1));
            for handle in &handles[1..=ROWS] {
                let row = handle * self.stride;
                self.rows[row + to] = self.rows[row + from];
            }
        }
        // 2. Find the mask bytes that hold rows b to e, and the bit of row b in them.
        let (block, row) = ((p - 1).div_euclid(ROWS as isize), (p - 1).rem_euclid(ROWS as isize) as u32);
        let masks = &self.masks[self.mask(block)];
        let ranges = handles.map(|handle| self.row(handle));
        let rows = self.rows.get_disjoint_mut(ranges).unwrap_or_else(|_| unreachable!("no handle is given out twice"));
        let (centre_weight, time_step) = (self.pass.centre_weights[level - 1], self.pass.plan.time_step);
        if self.pass.is_flushed(level) {
            four_rows::<S, true>(simd, centre_weight, time_step, rows, masks, row);
        } else {
            four_rows::<S, false>(simd, centre_weight, time_step, rows, masks, row);
        }
    }

    /// Writes the results of the last iteration to memory.
    #[inline(always)]
    fn leave<S: Simd>(&mut self, top: isize, rows: &mut [&mut [f32]]) {
        let skipped = self.xs.own.start - self.xs.window.start;
        for (i, handle) in self.fresh.into_iter().enumerate() {
            let y = top - self.pass.centre_weights.len() as isize + i as isize - self.ys.own.start as isize;
            if (0..self.ys.own.len() as isize).contains(&y) {
                let from = bytemuck::cast_slice(&self.rows[self.row(handle)]);
                let line = lower(S::F32_LANES, from, &mut self.lines);
                let row = &mut *rows[y as usize];
                row.copy_from_slice(&bytemuck::cast_slice(line)[skipped..skipped + row.len()]);
            }
        }
    }
}

/// Returns the bit of the `i`th of the rows that arrive together.
#[inline(always)]
fn first_bit(i: usize) -> u8 {
    1 << (ROWS - 1 - i)
}

/// An element of a row that is lifted. Two elements together are one number of twice the size, for which the compiler
/// has vector instructions.
trait Lane: Pod {
    type Pair: Pod;

    /// Joins two elements so that `first` comes first in memory.
    fn pair(first: Self, second: Self) -> Self::Pair;
    /// Separates two elements, the inverse of [`pair`](Self::pair).
    fn parts(pair: Self::Pair) -> [Self; 2];
}

macro_rules! lane {
    ($lane:ty, $pair:ty) => {
        impl Lane for $lane {
            type Pair = $pair;

            #[inline(always)]
            fn pair(first: Self, second: Self) -> $pair {
                let [low, high] = if cfg!(target_endian = "little") { [first, second] } else { [second, first] };
                <$pair>::from(low) | <$pair>::from(high) << <$lane>::BITS
            }

            #[inline(always)]
            fn parts(pair: $pair) -> [Self; 2] {
                let [low, high] = [pair as $lane, (pair >> <$lane>::BITS) as $lane];
                if cfg!(target_endian = "little") { [low, high] } else { [high, low] }
            }
        }
    };
}
lane!(u8, u16);
lane!(u32, u64);

/// Lifts the first of `lines` into `row`; both lines are overwritten.
///
/// A line is a matrix with one row per lane, which is transposed. Each step interleaves the two halves of the line: in
/// the index of an element, the highest bit of the lane becomes the lowest bit of all.
#[inline(always)]
fn lift<T: Lane>(lanes: usize, lines: &mut [&mut [T]; 2], row: &mut [T]) {
    let [from, to] = lines;
    let (mut from, mut to) = (&mut **from, &mut **to);
    let Some(steps) = lanes.ilog2().checked_sub(1) else {
        row.copy_from_slice(from);
        return;
    };
    for _ in 0..steps {
        interleave(from, to);
        std::mem::swap(&mut from, &mut to);
    }
    interleave(from, row);
}

/// Interleaves the elements of the two halves of `from`.
#[inline(always)]
fn interleave<T: Lane>(from: &[T], to: &mut [T]) {
    let (first, second) = from.split_at(from.len() / 2);
    for ((pair, first), second) in bytemuck::cast_slice_mut(to).iter_mut().zip(first).zip(second) {
        *pair = T::pair(*first, *second);
    }
}

/// Lowers `row`, the inverse of [`lift`]; the result is one of `lines`, or the row itself.
#[inline(always)]
fn lower<'a, T: Lane>(lanes: usize, row: &'a [T], lines: &'a mut [&mut [T]; 2]) -> &'a [T] {
    let [from, to] = lines;
    let (mut from, mut to) = (&mut **from, &mut **to);
    let Some(steps) = lanes.ilog2().checked_sub(1) else { return row };
    separate(row, from);
    for _ in 0..steps {
        separate(from, to);
        std::mem::swap(&mut from, &mut to);
    }
    from
}

/// Writes the elements of `from` to the two halves in alternation, the inverse of [`interleave`].
#[inline(always)]
fn separate<T: Lane>(from: &[T], to: &mut [T]) {
    let (first, second) = to.split_at_mut(from.len() / 2);
    for ((pair, first), second) in bytemuck::cast_slice(from).iter().zip(first).zip(second) {
        [*first, *second] = T::parts(*pair);
    }
}

/// Computes one iteration on lifted rows b to e, between a and f. The results replace a to d, whose old values are no
/// longer needed, because the loop along the rows keeps the left neighbours in registers.
///
/// From bit `row` on, counted from the highest, `masks` has one bit each for b to e: 1 where the pixel changes. Without
/// fused multiply-add the products are rounded, too. If `FLUSH` is set, results below `FLUSH_THRESHOLD` become 0.
#[inline(always)]
fn four_rows<S: Simd, const FLUSH: bool>(
    simd: S,
    centre_weight: f32,
    time_step: f32,
    [a, b, c, d, e, f]: [&mut [f32]; ROWS + 2],
    masks: &[u8],
    row: u32,
) {
    let k = simd.splat_f32s(-centre_weight);
    let dt = simd.splat_f32s(time_step);
    let shift = simd.splat_u32s(u32::BITS - u8::BITS + row);
    let a = S::as_mut_simd_f32s(a).0;
    // Equal lengths that the compiler sees avoid bounds checks in the loop.
    let n = a.len();
    let b = &mut S::as_mut_simd_f32s(b).0[..n];
    let c = &mut S::as_mut_simd_f32s(c).0[..n];
    let d = &mut S::as_mut_simd_f32s(d).0[..n];
    let e = &S::as_simd_f32s(e).0[..n];
    let f = &S::as_simd_f32s(f).0[..n];
    let Some(last) = n.checked_sub(1) else { return };
    let end = [after(simd, b), after(simd, c), after(simd, d), after(simd, e)];
    let mut left = [before(simd, b), before(simd, c), before(simd, d), before(simd, e)];
    // The loop body is a macro because a closure would be compiled without the target's vector instructions. Each shift of
    // `word` by one moves the mask bit of the next row to the sign.
    macro_rules! update_column {
        ($i:expr, $right:expr, $masks:expr) => {
            let (i, right) = ($i, $right);
            let centre = [b[i], c[i], d[i], e[i]];
            let word = simd.wrapping_dyn_shl_u32s(widen(simd, $masks), shift);
            a[i] = update::<S, FLUSH>(simd, k, dt, word, left[0], right[0], a[i], centre[0], centre[1]);
            let word = simd.add_u32s(word, word);
            b[i] = update::<S, FLUSH>(simd, k, dt, word, left[1], right[1], centre[0], centre[1], centre[2]);
            let word = simd.add_u32s(word, word);
            c[i] = update::<S, FLUSH>(simd, k, dt, word, left[2], right[2], centre[1], centre[2], centre[3]);
            let word = simd.add_u32s(word, word);
            d[i] = update::<S, FLUSH>(simd, k, dt, word, left[3], right[3], centre[2], centre[3], f[i]);
            left = centre;
        };
    }
    for (i, masks) in (0..last).zip(masks.chunks_exact(S::F32_LANES)) {
        update_column!(i, [b[i + 1], c[i + 1], d[i + 1], e[i + 1]], masks);
    }
    update_column!(last, end, &masks[last * S::F32_LANES..]);
    let _ = left;
}

/// Converts a vector of bytes to words.
#[inline(always)]
fn widen<S: Simd>(simd: S, bytes: &[u8]) -> S::u32s {
    let mut words = [simd.splat_u32s(0)];
    // The compiler turns this loop into one vector instruction.
    for (word, byte) in bytemuck::cast_slice_mut::<_, u32>(&mut words).iter_mut().zip(bytes) {
        *word = u32::from(*byte);
    }
    words[0]
}

/// Returns the left neighbours of the first vector of a lifted row: the last vector, shifted by one lane. The neighbour
/// of the first column is that column itself, which matters only at the image border.
#[inline(always)]
fn before<S: Simd>(simd: S, row: &[S::f32s]) -> S::f32s {
    let first = simd.mask_between_m32s(0, 1).mask();
    simd.select_f32s(first, row[0], simd.rotate_right_f32s(row[row.len() - 1], 1))
}

/// Returns the right neighbours of the last vector of a lifted row: the first vector, shifted by one lane. The
/// neighbour of the last column is that column itself, which matters only at the image border.
#[inline(always)]
fn after<S: Simd>(simd: S, row: &[S::f32s]) -> S::f32s {
    let lanes = S::F32_LANES as u32;
    let last = simd.mask_between_m32s(lanes - 1, lanes).mask();
    simd.select_f32s(last, row[row.len() - 1], simd.rotate_left_f32s(row[0], 1))
}

/// Returns the new values of a vector: the result of eq. 3 where the sign bit of the word is set, and the old value
/// elsewhere.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "all belong to one stencil")]
fn update<S: Simd, const FLUSH: bool>(
    simd: S,
    k: S::f32s,
    dt: S::f32s,
    word: S::u32s,
    left: S::f32s,
    right: S::f32s,
    up: S::f32s,
    centre: S::f32s,
    down: S::f32s,
) -> S::f32s {
    let sum = simd.add_f32s(simd.add_f32s(left, right), simd.add_f32s(up, down));
    let change = simd.mul_add_e_f32s(k, centre, sum);
    let mut changed = simd.mul_add_e_f32s(dt, change, centre);
    if FLUSH {
        changed = flush(simd, changed);
    }
    let zero = simd.transmute_i32s_u32s(simd.splat_u32s(0));
    simd.select_f32s(simd.less_than_i32s(simd.transmute_i32s_u32s(word), zero), changed, centre)
}
