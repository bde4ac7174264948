//! Finds the crossings of isolines on the CPU, on all threads. Bit masks of the pixels' classes give bit masks of the
//! crossings, and prefix sums of their bit counts give the index of each crossing in the list.

use super::link::{Crossings, NONE, check_count, link};
use super::{Connect, Plan, Polylines, STAGE, joined};
use crate::device::{Context, HostCopy, slices_side_by_side};
use crate::error::Result;
use crate::image::{Image, packed_row};
use crate::memory::{extend, push, try_par_collected, zeroed};
use crate::parallel::{take_first, try_par_each};
use crate::progress::{Progress, Ticker, part, run as run_with_progress};
use crate::report::{Parts, Report};
use crate::threshold::{Pixel, WORD, bits, for_each_bit};
use ndarray::{ArrayView2, ArrayView3, Axis};
use rayon::prelude::*;
use std::time::Instant;

/// The pixels of one task.
const TASK_PIXELS: usize = 1 << 16;

/// Computes all slices and levels; see [`super::run`]. Slices in device memory are copied a few at a time.
pub(super) fn run(
    context: &Context,
    plan: &Plan,
    input: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
) -> Result<(Report, Polylines)> {
    match input {
        Image::U8(view) => slices(context, plan, *view, progress),
        Image::U16(view) => slices(context, plan, *view, progress),
        Image::F32(view) => slices(context, plan, *view, progress),
        Image::Device(pixels) => {
            let depth = pixels.shape[2];
            let together = slices_side_by_side(context.pool(), plan.size.iter().product());
            let mut parts = Vec::new();
            for first in (0..depth).step_by(together) {
                let end = depth.min(first + together);
                let shares = [first, end].map(|slices| slices as f64 / depth as f64);
                let found = part(progress, shares, STAGE, |progress| {
                    let copy = HostCopy::new(context, &pixels.slices(&(first..end)))?;
                    run(context, plan, &copy.view(), progress)
                });
                push(&mut parts, (first, found?))?;
            }
            run_with_progress(context.pool(), progress, &Ticker::at_the_end(STAGE), || joined(parts, Parts::InTurn))
        }
    }
}

fn slices<T: Pixel + Into<f64>>(
    context: &Context,
    plan: &Plan,
    view: ArrayView3<'_, T>,
    progress: &mut Option<&mut Progress<'_>>,
) -> Result<(Report, Polylines)> {
    let started = Instant::now();
    let pool = context.pool();
    let ticker = Ticker::new(STAGE);
    let levels = plan.levels.len();
    let depth = view.dim().0;
    let tasks = depth * levels;
    let together = slices_side_by_side(pool, plan.size.iter().product()).min(tasks);
    let mut parts = Vec::new();
    for first in (0..tasks).step_by(together) {
        let tasks_now = first..tasks.min(first + together);
        ticker.section(first / together, tasks.div_ceil(together));
        // The crossings of all rows are found, and then linked.
        ticker.expect((2 * tasks_now.len() * plan.size[1]) as u64);
        let made = run_with_progress(pool, progress, &ticker, || {
            let task = |task: usize| {
                let (slice, level) = (task / levels, plan.levels[task % levels]);
                let found = crossings(plan, view.index_axis(Axis(0), slice), level, &ticker)?;
                let linked = link(plan, slice, level, &found, &ticker)?;
                ticker.add(plan.size[1] as u64);
                Ok(linked)
            };
            try_par_collected(tasks_now.into_par_iter().with_max_len(1).map(task))
        })?;
        extend(&mut parts, made)?;
    }
    let found = run_with_progress(pool, progress, &ticker, || Polylines::joined(parts))?;
    // The last call of the callback: a cancellation, however late, leaves the result untouched.
    ticker.report(progress)?;
    Ok((Report::on_cpu(context, started, depth), found))
}

/// The bits of an image of classes: which pixels are high, and which are finite.
struct Classes {
    /// The words of a row.
    pitch: usize,
    height: usize,
    high: Vec<u32>,
    finite: Vec<u32>,
}

impl Classes {
    fn new<T: Pixel + Into<f64>>(view: ArrayView2<'_, T>, level: f64, ticker: &Ticker) -> Result<Self> {
        let (height, width) = view.dim();
        let pitch = width.div_ceil(WORD);
        let mut classes = Self { pitch, height, high: zeroed(pitch * height)?, finite: zeroed(pitch * height)? };
        let threshold = T::threshold(level);
        let rows = (TASK_PIXELS / width).max(1);
        let chunks = classes.high.par_chunks_mut(pitch * rows).zip(classes.finite.par_chunks_mut(pitch * rows));
        chunks.enumerate().try_for_each(|(chunk, (high, finite))| {
            ticker.check()?;
            let mut packed = Vec::new();
            for (index, (high, finite)) in high.chunks_mut(pitch).zip(finite.chunks_mut(pitch)).enumerate() {
                let row = view.row(chunk * rows + index);
                let pixels = packed_row(&row, &mut packed)?;
                for ((high, finite), pixels) in high.iter_mut().zip(finite).zip(pixels.chunks(WORD)) {
                    *high = bits(pixels, |pixel| pixel.is_above(threshold));
                    *finite = bits(pixels, |pixel| pixel.to_f32().is_finite());
                }
            }
            Ok(())
        })?;
        Ok(classes)
    }

    /// Returns a word of a row, shifted by one pixel, so that each bit is that of the pixel's right neighbour.
    fn neighbours(&self, bits: &[u32], y: usize, w: usize) -> u32 {
        let at = y * self.pitch + w;
        let beyond = if w + 1 < self.pitch { bits[at + 1] << (WORD - 1) } else { 0 };
        bits[at] >> 1 | beyond
    }

    /// Returns a bit for each pixel of a word: set if all four pixels of the cell of which it is the upper left one are
    /// finite.
    fn cells(&self, y: usize, w: usize) -> u32 {
        if y + 1 >= self.height {
            return 0;
        }
        let pairs = |y: usize| self.finite[y * self.pitch + w] & self.neighbours(&self.finite, y, w);
        pairs(y) & pairs(y + 1)
    }

    /// Returns the crossings between the pixels of a word and their right neighbours, and those with their lower
    /// neighbours. A crossing counts only on an edge of a cell whose pixels are all finite.
    fn crossings(&self, y: usize, w: usize) -> [u32; 2] {
        let (at, cells) = (y * self.pitch + w, self.cells(y, w));
        let above = if y > 0 { self.cells(y - 1, w) } else { 0 };
        let across = (self.high[at] ^ self.neighbours(&self.high, y, w)) & (cells | above);
        if y + 1 >= self.height {
            return [across, 0];
        }
        let before = if w > 0 { self.cells(y, w - 1) >> (WORD - 1) } else { 0 };
        let down = (self.high[at] ^ self.high[at + self.pitch]) & (cells | cells << 1 | before);
        [across, down]
    }

    /// Returns the bits of a row from the pixel before a word up to the one after it; 0 beyond the image.
    fn window(&self, y: Option<usize>, w: usize) -> u64 {
        let Some(y) = y.filter(|y| *y < self.height) else { return 0 };
        let at = y * self.pitch + w;
        let before = if w > 0 { self.high[at - 1] >> (WORD - 1) } else { 0 };
        let after = if w + 1 < self.pitch { self.high[at + 1] & 1 } else { 0 };
        u64::from(before) | u64::from(self.high[at]) << 1 | u64::from(after) << (WORD + 1)
    }
}

/// The crossings as bits, in the order of the list, and the number of crossings before each word. Each row has the words of
/// the crossings between left and right pixels, then the words of those between upper and lower ones.
struct Marks {
    pitch: usize,
    words: Vec<u32>,
    before: Vec<u32>,
    /// The crossings before each row of words, and all of them.
    rows: Vec<u32>,
}

impl Marks {
    fn new(classes: &Classes, level: f64, ticker: &Ticker) -> Result<Self> {
        let Classes { pitch, height, .. } = *classes;
        let mut words = zeroed(2 * pitch * height)?;
        let mut before: Vec<u32> = zeroed(2 * pitch * height)?;
        let mut rows: Vec<u32> = zeroed(2 * height + 1)?;
        let task_rows = (TASK_PIXELS / (pitch * WORD)).max(1);
        words
            .par_chunks_mut(2 * pitch)
            .zip(before.par_chunks_mut(2 * pitch))
            .zip(rows.par_chunks_mut(2))
            .enumerate()
            .with_min_len(task_rows)
            .try_for_each(|(y, ((words, before), counts))| {
                ticker.check()?;
                let (across, down) = words.split_at_mut(pitch);
                for (w, (across, down)) in across.iter_mut().zip(down).enumerate() {
                    [*across, *down] = classes.crossings(y, w);
                }
                for (line, count) in counts.iter_mut().enumerate() {
                    for w in line * pitch..(line + 1) * pitch {
                        before[w] = *count;
                        *count += words[w].count_ones();
                    }
                }
                Ok(())
            })?;
        let mut total = 0;
        for count in &mut rows {
            let own = u64::from(*count);
            check_count(total + own, level)?;
            *count = total as u32;
            total += own;
        }
        before
            .par_chunks_mut(pitch)
            .zip(&rows)
            .with_min_len(task_rows)
            .for_each(|(before, first)| before.iter_mut().for_each(|count| *count += first));
        Ok(Self { pitch, words, before, rows })
    }

    /// Returns the number of the crossing between the pixel (x, y) and the right (0) or the lower (1) one.
    fn number(&self, x: usize, y: usize, line: usize) -> u32 {
        let at = (2 * y + line) * self.pitch + x / WORD;
        self.before[at] + (self.words[at] & ((1 << (x % WORD)) - 1)).count_ones()
    }
}

/// Returns the crossings of one slice and level.
fn crossings<T: Pixel + Into<f64>>(
    plan: &Plan,
    view: ArrayView2<'_, T>,
    level: f64,
    ticker: &Ticker,
) -> Result<Crossings> {
    let classes = Classes::new(view, level, ticker)?;
    let marks = Marks::new(&classes, level, ticker)?;
    let count = marks.rows[marks.rows.len() - 1] as usize;
    let (mut points, mut next): (Vec<[f64; 2]>, Vec<u32>) = (zeroed(count)?, zeroed(count)?);
    let exits = [Connect::Low, Connect::High].map(Exits::new);
    let exits_of = |cell| &exits[usize::from(joins_high(plan, &view, level, cell))];
    // Each task has some rows and their crossings.
    let mut tasks = Vec::new();
    let rows = (TASK_PIXELS / plan.size[0]).max(1);
    let (mut points_left, mut next_left) = (&mut points[..], &mut next[..]);
    for first in (0..classes.height).step_by(rows) {
        let end = classes.height.min(first + rows);
        let own = (marks.rows[2 * end] - marks.rows[2 * first]) as usize;
        push(&mut tasks, (first..end, take_first(&mut points_left, own), take_first(&mut next_left, own)))?;
    }
    try_par_each(tasks.into_iter(), ticker, |_, (rows, points, next)| {
        let mut at = 0;
        for y in rows.clone() {
            for line in 0..2 {
                let words = &marks.words[(2 * y + line) * marks.pitch..][..marks.pitch];
                for (w, word) in words.iter().enumerate() {
                    if *word == 0 {
                        continue;
                    }
                    let around = Surroundings::new(&classes, y, w);
                    for_each_bit(*word, |bit| {
                        let x = w * WORD + bit;
                        let end = if line == 0 { [y, x + 1] } else { [y + 1, x] };
                        let [a, b] = [view[[y, x]].into(), view[end].into()];
                        let share = (level - a) / (b - a);
                        let [px, py] = [x as f64, y as f64];
                        points[at] = if line == 0 { [px + share, py] } else { [px, py + share] };
                        next[at] = around.follower(&exits_of, &marks, [x, y], bit, line);
                        at += 1;
                    });
                }
            }
        }
        ticker.add(rows.len() as u64);
        Ok(())
    })?;
    Ok(Crossings { points, next, rows: marks.rows })
}

/// Returns whether the two high pixels of a saddle cell are connected through its centre.
#[inline(always)]
fn joins_high<T: Pixel + Into<f64>>(plan: &Plan, view: &ArrayView2<'_, T>, level: f64, [x, y]: [usize; 2]) -> bool {
    if let Some(connect) = plan.connect {
        return connect == Connect::High;
    }
    let [a, b, c, d] = [[y, x], [y, x + 1], [y + 1, x + 1], [y + 1, x]].map(|at| view[at].into() - level);
    // Products of f32 values are exact in double precision. If the field changes its sign, both factors change theirs, so
    // that the decision is the same.
    (a * c - b * d) * (a + c - b - d) > 0.0
}

/// The edge through which a curve leaves a cell, by the edge through which it enters and the bits of the high corners.
///
/// The corners of a cell, and the edges that begin with them, are numbered clockwise from the upper left one. A curve enters
/// a cell through an edge whose first corner is high, and leaves it through one whose first corner is low.
struct Exits([[u8; 16]; 4]);

impl Exits {
    fn new(connect: Connect) -> Self {
        let turns = match connect {
            Connect::Low => [3, 2, 1],
            Connect::High => [1, 2, 3],
        };
        let is_exit = |edge: usize, high: usize| high >> edge & 1 == 0 && high >> ((edge + 1) % 4) & 1 == 1;
        // Edges through which no curve enters are never looked up: 0 fills their places.
        let exit =
            |edge: usize, high| turns.map(|turn| (edge + turn) % 4).into_iter().find(|edge| is_exit(*edge, high));
        Self(std::array::from_fn(|edge| std::array::from_fn(|high| exit(edge, high).unwrap_or(0) as u8)))
    }
}

/// The surroundings of a word of crossings: the bits of the pixels in the rows above, of the word and below, and of the
/// cells that begin in the row above and in its own. Bit 0 is the pixel left of the word.
struct Surroundings {
    high: [u64; 3],
    cells: [u64; 2],
}

impl Surroundings {
    fn new(classes: &Classes, y: usize, w: usize) -> Self {
        let above = y.checked_sub(1);
        let cells = |y: usize| {
            let before = if w > 0 { classes.cells(y, w - 1) >> (WORD - 1) } else { 0 };
            u64::from(before) | u64::from(classes.cells(y, w)) << 1
        };
        Self {
            high: [above, Some(y), Some(y + 1)].map(|y| classes.window(y, w)),
            cells: [above.map_or(0, cells), cells(y)],
        }
    }

    /// Returns the crossing that follows on the curve after the one between the pixel (x, y), at `bit` of the word, and its
    /// right (`line` 0) or lower (`line` 1) neighbour.
    #[inline(always)]
    fn follower<'a>(
        &self,
        exits: &impl Fn([usize; 2]) -> &'a Exits,
        marks: &Marks,
        [x, y]: [usize; 2],
        bit: usize,
        line: usize,
    ) -> u32 {
        let first_is_high = self.high[1] >> (bit + 1) & 1 == 1;
        // The cell that the curve enters, as steps to the left and up from the pixel's own cell, and the edge of that cell
        // through which it enters.
        let ([left, up], edge) = match (line, first_is_high) {
            (0, true) => ([0, 0], 0),
            (0, false) => ([0, 1], 2),
            (_, true) => ([1, 0], 1),
            (_, false) => ([0, 0], 3),
        };
        let place = bit + 1 - left;
        if self.cells[1 - up] >> place & 1 == 0 {
            return NONE;
        }
        let [upper, lower] = [self.high[1 - up], self.high[2 - up]].map(|row| row >> place & 3);
        let high = upper | (lower >> 1) << 2 | (lower & 1) << 3;
        let [x, y] = [x - left, y - up];
        match exits([x, y]).0[edge][high as usize] {
            0 => marks.number(x, y, 0),
            1 => marks.number(x + 1, y, 1),
            2 => marks.number(x, y + 1, 0),
            _ => marks.number(x, y, 1),
        }
    }
}
