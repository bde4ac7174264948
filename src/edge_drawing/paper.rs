//! The paper profile on the CPU: anchors and linking on all threads, 64 pixels at a time.
//!
//! What a walk does at a pixel follows from the gradients around it, so it is computed once for every pixel, in vector
//! registers, as one bit in each of a few *planes*: whether the pixel is walked vertically or horizontally, and to which
//! side each of its two headings goes. Linking then needs no walkers. A walk downwards is one row further with every
//! step, so all of them go down together: the marks of a row, moved by these planes, are the arrivals in the next row,
//! and a word holds 64 of them. Walks upwards go up the rows likewise. Walks to the left and right do the same on columns,
//! for which the planes of 64 rows, a *strip*, are transposed.
//!
//! Strips are linked apart from each other, in parallel; the few walks that come into a strip unmet, and with
//! `follow_turns` those across, are walked one by one at the end. A mark is a (pixel, heading), and what is marked follows
//! from the image alone, so neither the order nor the strips change the result.

mod codes;
mod strip;
mod walk;

use super::edge_map::{EdgeMap, WORD};
use super::front::{self, Border, Pixel, Rows, Sink, Source};
use super::prepare::Plan;
use crate::device::{self, PooledBuffer};
use crate::error::Result;
use crate::image::zeroed;
use crate::progress::Ticker;
pub(super) use codes::Slope;
use codes::{PLANES, Packer};
use rayon::prelude::*;
use strip::Strip;

/// Rows that are linked together: the bits of a word.
const STRIP: usize = WORD;

/// Tasks for each thread, so that one with many edges does not hold up all.
const TASKS_A_THREAD: usize = 4;

/// The planes of a row: a record has the words of each, one plane after the other.
///
/// Minus is the heading to the left on a horizontal edge and up on a vertical one, plus the other way; a step to the low
/// side goes up or left.
#[derive(Clone, Copy)]
#[repr(usize)]
enum Plane {
    /// An edge passes, vertically.
    Vertical,
    /// An edge passes, horizontally.
    Horizontal,
    /// The minus heading goes to the low side ahead, or to the high side, else straight.
    MinusLow,
    MinusHigh,
    /// Likewise the plus heading.
    PlusLow,
    PlusHigh,
    /// Walked in the minus heading, in the plus heading.
    MinusMark,
    PlusMark,
    /// With `follow_turns`: a walk arrived that had to turn here.
    Turn,
}

/// The planes of all rows.
struct Planes<'a> {
    width: usize,
    height: usize,
    /// Words of a plane in a row: one more than whole words, so that every row ends with a 0.
    stride: usize,
    /// Planes in a record.
    count: usize,
    words: &'a mut [u64],
}

impl Planes<'_> {
    /// The edge map: what is marked in any heading.
    fn edges(&self, ticker: &Ticker) -> Result<EdgeMap> {
        let mut map = EdgeMap::new(self.width, self.height)?;
        map.rows_mut().zip(self.words.par_chunks(self.count * self.stride)).with_min_len(STRIP).try_for_each(
            |(row, record)| {
                ticker.check()?;
                let plane = |plane: Plane| &record[plane as usize * self.stride..][..self.stride];
                for ((word, minus), plus) in row.iter_mut().zip(plane(Plane::MinusMark)).zip(plane(Plane::PlusMark)) {
                    *word = minus | plus;
                }
                Ok(())
            },
        )?;
        Ok(map)
    }
}

/// The memory that a slice takes, to be used again for the next one.
pub(super) struct Scratch<'a> {
    home: &'a device::BufferPool,
    planes: Option<PooledBuffer<'a>>,
    exits: Vec<u64>,
}

impl<'a> Scratch<'a> {
    /// Borrows the larger part from `home`, which keeps it between calls.
    pub(super) fn new(home: &'a device::BufferPool) -> Self {
        Self { home, planes: None, exits: Vec::new() }
    }
}

/// Gives `list` this length; what it holds is left over from the last use.
fn resize<T: bytemuck::Zeroable>(list: &mut Vec<T>, length: usize) -> Result<()> {
    if list.len() != length {
        // The old one goes before the new one comes.
        *list = Vec::new();
        *list = zeroed(length)?;
    }
    Ok(())
}

/// Draws the edges of one slice on the current thread pool.
pub(super) fn draw<P: Pixel<Gradient: Slope>>(
    source: &impl Source<P>,
    plan: &Plan,
    scratch: &mut Scratch<'_>,
    ticker: &Ticker,
) -> Result<EdgeMap> {
    let [width, height] = source.size();
    let stride = width / WORD + 1;
    let count = if plan.follow_turns { Plane::Turn as usize + 1 } else { Plane::Turn as usize };
    let strips = height.div_ceil(STRIP);
    let exit_words = strip::EXITS * stride;
    resize(&mut scratch.exits, strips * exit_words)?;
    let needed = height * count * stride;
    if scratch.planes.is_none() {
        // In floats, and one word more: it may begin in the middle of a word.
        scratch.planes = Some(scratch.home.acquire(2 * (needed + 1))?);
    }
    let Some(floats) = &mut scratch.planes else { unreachable!("it was borrowed just now") };
    let words: &mut [u64] = bytemuck::pod_align_to_mut(&mut floats[..]).1;
    let planes = Planes { width, height, stride, count, words: &mut words[..needed] };

    let rows = rows_a_task(height);
    let mut bands = Vec::with_capacity(height.div_ceil(rows));
    for (words, exits) in
        planes.words.chunks_mut(rows * count * stride).zip(scratch.exits.chunks_mut(rows / STRIP * exit_words))
    {
        let start = bands.len() * rows;
        bands.push((
            start..height.min(start + rows),
            Linker {
                height,
                scan: plan.scan,
                more: P::Gradient::more(plan.anchor),
                columns: scanned_columns(width, stride, plan.scan)?,
                words,
                exits,
                packer: Packer::new(),
                strip: Strip::new(width, stride, count)?,
            },
        ));
    }
    front::march(source, &rule(plan), bands, ticker)?;
    walk::finish(planes, &scratch.exits, plan.follow_turns, ticker)?.edges(ticker)
}

fn rule(plan: &Plan) -> front::Rule {
    front::Rule { operator: plan.operator, border: Border::Mirror, threshold: plan.threshold, clear_below: true }
}

/// A whole number of strips.
fn rows_a_task(height: usize) -> usize {
    STRIP * height.div_ceil(STRIP).div_ceil(TASKS_A_THREAD * rayon::current_num_threads())
}

/// |gx| + |gy| of the pixels of an edge map, in raster order. They are computed once more, which takes less time than to
/// keep those of all pixels until it is known which are edges.
pub(super) fn gradients<P: Pixel>(
    source: &impl Source<P>,
    plan: &Plan,
    map: &EdgeMap,
    ticker: &Ticker,
) -> Result<Vec<P::Gradient>> {
    let height = map.height();
    let mut list: Vec<P::Gradient> = zeroed(map.count(0..height))?;
    let mut rest = &mut list[..];
    let rows = rows_a_task(height);
    let mut bands = Vec::with_capacity(height.div_ceil(rows));
    for start in (0..height).step_by(rows) {
        let range = start..height.min(start + rows);
        let (gradients, later) = std::mem::take(&mut rest).split_at_mut(map.count(range.clone()));
        rest = later;
        bands.push((range, Gather::<P> { map, gradients }));
    }
    front::march(source, &rule(plan), bands, ticker)?;
    Ok(list)
}

/// Takes the gradients of edge pixels.
struct Gather<'a, P: Pixel> {
    map: &'a EdgeMap,
    /// Of the pixels still to come.
    gradients: &'a mut [P::Gradient],
}

impl<P: Pixel> Sink<P> for Gather<'_, P> {
    #[inline(always)]
    fn row(&mut self, rows: &Rows<'_, P>) {
        let gradient = &rows.gradient[1][1..];
        let mut count = 0;
        for (index, word) in self.map.row(rows.y).iter().enumerate() {
            let mut bits = *word;
            while bits != 0 {
                self.gradients[count] = gradient[index * WORD + bits.trailing_zeros() as usize];
                bits &= bits - 1;
                count += 1;
            }
        }
        self.gradients = &mut std::mem::take(&mut self.gradients)[count..];
    }
}

/// The columns whose pixels may be anchors in any row.
fn scanned_columns(width: usize, stride: usize, scan: usize) -> Result<Vec<u64>> {
    let mut columns: Vec<u64> = zeroed(stride)?;
    for x in (0..width).step_by(scan) {
        columns[x / WORD] |= 1 << (x % WORD);
    }
    Ok(columns)
}

/// Takes the gradients of some strips and links each strip when it is complete.
struct Linker<'a, G> {
    height: usize,
    scan: usize,
    /// What an anchor has more than its neighbours.
    more: G,
    columns: Vec<u64>,
    /// The records of the strips not yet linked, and where their exits go.
    words: &'a mut [u64],
    exits: &'a mut [u64],
    packer: Packer,
    strip: Strip,
}

impl<P: Pixel<Gradient: Slope>> Sink<P> for Linker<'_, P::Gradient> {
    #[inline(always)]
    fn row(&mut self, rows: &Rows<'_, P>) {
        let width = rows.vertical.len();
        let [stride, count] = [self.strip.stride(), self.strip.count()];
        let record = stride * count;
        let row = rows.y % STRIP;
        let anchors = self.strip.anchors(row);
        let planes = &mut self.words[row * record..][..record];
        for (index, anchors) in anchors.iter_mut().enumerate() {
            let from = index * WORD;
            let bits = if from + WORD <= width {
                word_of_codes(rows, from, WORD, self.more, &self.packer)
            } else {
                word_of_codes(rows, from, width - from, self.more, &self.packer)
            };
            for plane in 0..PLANES {
                planes[plane * stride + index] = bits[plane];
            }
            *anchors = bits[PLANES];
        }
        if !rows.y.is_multiple_of(self.scan) {
            anchors.iter_mut().zip(&self.columns).for_each(|(anchors, columns)| *anchors &= columns);
        }
        if row + 1 == STRIP || rows.y + 1 == self.height {
            let (strip, words) = std::mem::take(&mut self.words).split_at_mut((row + 1) * record);
            let (exits, later) = std::mem::take(&mut self.exits).split_at_mut(strip::EXITS * self.strip.stride());
            self.strip.link(strip, exits);
            self.words = words;
            self.exits = later;
        }
    }
}

/// The codes of up to 64 pixels, as planes.
#[inline(always)]
fn word_of_codes<P: Pixel<Gradient: Slope>>(
    rows: &Rows<'_, P>,
    from: usize,
    count: usize,
    more: P::Gradient,
    packer: &Packer,
) -> [u64; PLANES + 1] {
    let [above, here, below] = rows.gradient;
    // Most of an image has no edges.
    if !Slope::any(&here[from + 1..][..count]) {
        return [0; PLANES + 1];
    }
    let mut codes = [0; WORD];
    let gradient = [&above[from..][..count + 2], &here[from..][..count + 2], &below[from..][..count + 2]];
    Slope::codes(gradient, &rows.vertical[from..][..count], more, &mut codes[..count]);
    packer.bits(&codes)
}

#[cfg(test)]
mod tests;
