//! The paper profile on the CPU: anchors and edge tracing on all threads, 64 pixels at a time.
//!
//! The next step of a trace depends only on the gradients around its pixel. So it is computed once for every pixel, with
//! vector instructions, and stored as one bit in each of a few *planes*: whether the pixel is traced vertically or
//! horizontally, and to which side each of its two headings leads. Traces then need not be followed one by one. A trace
//! downwards moves to the next row with every step, so all such traces proceed together, 64 per word: the marks of a row,
//! shifted as the planes say, are the arrivals in the next row. Traces upwards sweep up the rows in the same way. Traces to
//! the left and right sweep over columns, for which the planes of 64 rows, a *strip*, are transposed.
//!
//! Strips are linked independently, in parallel. At the end, the few traces that enter another strip at an unmarked pixel
//! are followed one by one, and so are the traces across edges with `follow_turns`. A mark is a pair (pixel, heading), and
//! the set of marks depends on the image alone, so neither the order nor the division into strips changes the result.

mod codes;
mod strip;
mod trace;

use super::edge_map::{EdgeMap, WORD};
use super::gradient::{self, Border, Pixel, Rows, Sink, Source};
use super::prepare::Plan;
use crate::device::{self, PooledBuffer};
use crate::error::Result;
use crate::memory::{reserved, zeroed};
use crate::progress::Ticker;
pub(super) use codes::CodedGradient;
use codes::{BitPacker, PLANES};
use rayon::prelude::*;
use strip::Strip;

/// The number of rows that are linked together: the bits of a word.
const STRIP: usize = WORD;

/// The number of tasks per thread: several, so that one with many edges does not delay all.
const TASKS_PER_THREAD: usize = 4;

/// The planes of a row. Their words are stored one plane after the other, as a record.
///
/// On a horizontal edge the minus heading is left, on a vertical edge it is up; plus is the opposite heading. The low side
/// is up or left of straight ahead, the high side down or right of it.
#[derive(Clone, Copy)]
#[repr(usize)]
enum Plane {
    /// The pixel is on a vertical edge.
    Vertical,
    /// The pixel is on a horizontal edge.
    Horizontal,
    /// The minus heading leads to the low side ahead.
    MinusLow,
    /// The minus heading leads to the high side ahead. If neither bit is set, it leads straight ahead.
    MinusHigh,
    /// The plus heading leads to the low side ahead.
    PlusLow,
    /// The plus heading leads to the high side ahead.
    PlusHigh,
    /// The pixel is marked in the minus heading.
    MinusMark,
    /// The pixel is marked in the plus heading.
    PlusMark,
    /// With `follow_turns`: a trace has arrived that must turn here.
    Turn,
}

/// The planes of all rows.
struct Planes<'a> {
    width: usize,
    height: usize,
    /// The number of words of a plane in a row: width / 64 + 1, so that every row ends with at least one 0.
    stride: usize,
    /// The number of planes in a record.
    count: usize,
    words: &'a mut [u64],
}

impl Planes<'_> {
    /// Returns the edge map: all pixels with a mark in any heading.
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

/// The workspace of a slice, to be used again for the next one.
pub(super) struct Scratch<'a> {
    buffers: &'a device::BufferPool,
    planes: Option<PooledBuffer<'a>>,
    exits: Vec<u64>,
}

impl<'a> Scratch<'a> {
    /// Returns a workspace whose larger part comes from the pool `buffers`, which keeps it between calls.
    pub(super) fn new(buffers: &'a device::BufferPool) -> Self {
        Self { buffers, planes: None, exits: Vec::new() }
    }
}

/// Sets the length of `list`. Its items may be left over from the last use.
fn resize<T: bytemuck::Zeroable + Send>(list: &mut Vec<T>, length: usize) -> Result<()> {
    if list.len() != length {
        // Free the old memory before the new memory is allocated.
        *list = Vec::new();
        *list = zeroed(length)?;
    }
    Ok(())
}

/// Draws the edges of one slice on the current thread pool.
pub(super) fn draw<P: Pixel<Gradient: CodedGradient>>(
    source: &impl Source<P>,
    plan: &Plan,
    scratch: &mut Scratch<'_>,
    ticker: &Ticker,
) -> Result<EdgeMap> {
    // 1. Allocate the planes and the exits of all strips.
    let [width, height] = source.size();
    let stride = width / WORD + 1;
    let count = if plan.follow_turns { Plane::Turn as usize + 1 } else { Plane::Turn as usize };
    let strips = height.div_ceil(STRIP);
    let exit_words = strip::EXITS * stride;
    resize(&mut scratch.exits, strips * exit_words)?;
    let needed = height * count * stride;
    if scratch.planes.is_none() {
        // The pool counts in floats. One more word is requested, because the buffer may begin in the middle of a word.
        scratch.planes = Some(scratch.buffers.acquire(2 * (needed + 1))?);
    }
    let Some(floats) = &mut scratch.planes else { unreachable!("it was borrowed just now") };
    let words: &mut [u64] = bytemuck::pod_align_to_mut(&mut floats[..]).1;
    let planes = Planes { width, height, stride, count, words: &mut words[..needed] };

    // 2. Divide the rows into bands of whole strips, and link each strip once its gradients are computed.
    let rows = rows_per_task(height);
    let mut bands = reserved(height.div_ceil(rows))?;
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
                packer: BitPacker::new(),
                strip: Strip::new(width, stride, count)?,
            },
        ));
    }
    gradient::compute(source, &method(plan), bands, ticker)?;
    // 3. Follow the traces that leave their strip.
    trace::finish(planes, &scratch.exits, plan.follow_turns, ticker)?.edges(ticker)
}

fn method(plan: &Plan) -> gradient::Method {
    gradient::Method {
        operator: plan.operator,
        taps: plan.taps,
        border: Border::Mirror,
        threshold: plan.threshold,
        clear_below: true,
    }
}

/// Returns the number of rows per task, a whole number of strips.
fn rows_per_task(height: usize) -> usize {
    STRIP * height.div_ceil(STRIP).div_ceil(TASKS_PER_THREAD * rayon::current_num_threads())
}

/// Returns |gx| + |gy| of the pixels of an edge map, in raster order. They are computed again here, because that is faster
/// than storing the gradients of all pixels until the edges are known.
pub(super) fn gradients<P: Pixel>(
    source: &impl Source<P>,
    plan: &Plan,
    map: &EdgeMap,
    ticker: &Ticker,
) -> Result<Vec<P::Gradient>> {
    let height = map.height();
    let mut list: Vec<P::Gradient> = zeroed(map.count(0..height))?;
    let mut rest = &mut list[..];
    let rows = rows_per_task(height);
    let mut bands = reserved(height.div_ceil(rows))?;
    for start in (0..height).step_by(rows) {
        let range = start..height.min(start + rows);
        let (gradients, later) = std::mem::take(&mut rest).split_at_mut(map.count(range.clone()));
        rest = later;
        bands.push((range, Gather::<P> { map, gradients }));
    }
    gradient::compute(source, &method(plan), bands, ticker)?;
    Ok(list)
}

/// Collects the gradients of edge pixels.
struct Gather<'a, P: Pixel> {
    map: &'a EdgeMap,
    /// The memory for the gradients of the remaining pixels.
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

/// Returns the scanned columns as bits: their pixels may be anchors in every row.
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
    /// The anchor threshold: an anchor exceeds its neighbours by at least this.
    more: G,
    columns: Vec<u64>,
    /// The records of the strips not yet linked.
    words: &'a mut [u64],
    /// The memory for the exits of these strips.
    exits: &'a mut [u64],
    packer: BitPacker,
    strip: Strip,
}

impl<P: Pixel<Gradient: CodedGradient>> Sink<P> for Linker<'_, P::Gradient> {
    #[inline(always)]
    fn row(&mut self, rows: &Rows<'_, P>) {
        let width = rows.vertical.len();
        let [stride, count] = [self.strip.stride(), self.strip.count()];
        let record = stride * count;
        let row = rows.y % STRIP;
        let anchors = self.strip.anchors(row);
        let planes = &mut self.words[row * record..][..record];
        // 1. Compute the codes of 64 pixels at a time, and store them as planes.
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
        // 2. Keep the anchors on scanned rows and columns.
        if !rows.y.is_multiple_of(self.scan) {
            anchors.iter_mut().zip(&self.columns).for_each(|(anchors, columns)| *anchors &= columns);
        }
        // 3. Link the strip when it is complete.
        if row + 1 == STRIP || rows.y + 1 == self.height {
            let (strip, words) = std::mem::take(&mut self.words).split_at_mut((row + 1) * record);
            let (exits, later) = std::mem::take(&mut self.exits).split_at_mut(strip::EXITS * self.strip.stride());
            self.strip.link(strip, exits);
            self.words = words;
            self.exits = later;
        }
    }
}

/// Returns the codes of up to 64 pixels, as planes.
#[inline(always)]
fn word_of_codes<P: Pixel<Gradient: CodedGradient>>(
    rows: &Rows<'_, P>,
    from: usize,
    count: usize,
    more: P::Gradient,
    packer: &BitPacker,
) -> [u64; PLANES + 1] {
    let [above, here, below] = rows.gradient;
    // Most of an image has no edges, so this shortcut is common.
    if !CodedGradient::any(&here[from + 1..][..count]) {
        return [0; PLANES + 1];
    }
    let mut codes = [0; WORD];
    let gradient = [&above[from..][..count + 2], &here[from..][..count + 2], &below[from..][..count + 2]];
    CodedGradient::codes(gradient, &rows.vertical[from..][..count], more, &mut codes[..count]);
    packer.bits(&codes)
}

#[cfg(test)]
mod tests;
