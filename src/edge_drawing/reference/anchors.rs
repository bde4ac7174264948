//! Anchors: where they are, and the order in which they are linked.

use super::{ANCHOR_ONLY, Word, gradient, no_memory};
use crate::edge_drawing::front::{self, Pixel, Rows, Sink, Source};
use crate::edge_drawing::prepare::Plan;
use crate::error::Result;
use crate::progress::Ticker;
use rayon::prelude::*;
use std::collections::TryReserveError;

/// Anchors keep this far off the border.
const MARGIN: usize = 2;

/// More than any gradient: an anchor threshold of this and above leaves no anchors. Sums of it and a gradient fit u16.
const TOO_MUCH_U8: u32 = 1 << 13;
const TOO_MUCH_U16: u32 = 1 << 21;

/// An entry of a list is gradient · 2⁴³ + position: a gradient has at most 21 bits.
const POSITION_BITS: u32 = 43;
const POSITION: u64 = (1 << POSITION_BITS) - 1;

/// Gradients below this are sorted in one pass, larger ones in two of [`DIGIT_BITS`] bits.
const ONE_PASS: usize = 1 << 13;
const DIGIT_BITS: u32 = 11;

/// The anchors of a slice.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// In raster order, one list for each band of rows.
    bands: Vec<Vec<u64>>,
    sorted: Vec<u64>,
    other: Vec<u64>,
    counts: Vec<usize>,
}

impl Lists {
    /// Computes the gradients of a slice, marks its anchors in `words`, and lists them.
    pub(super) fn mark<P>(
        &mut self,
        source: &impl Source<P>,
        rule: &front::Rule,
        plan: &Plan,
        words: &mut [P::Gradient],
        ticker: &Ticker,
    ) -> Result<()>
    where
        P: Pixel,
        P::Gradient: Word,
    {
        let [width, height] = source.size();
        let rows = rows_a_band(height);
        self.bands.resize_with(height.div_ceil(rows), Vec::new);
        let too_much = if P::Gradient::VERTICAL < TOO_MUCH_U16 { TOO_MUCH_U8 } else { TOO_MUCH_U16 };
        let bands = words
            .chunks_mut(rows * width)
            .zip(&mut self.bands)
            .enumerate()
            .map(|(band, (words, list))| {
                list.clear();
                let sink = Marker {
                    words,
                    list,
                    failed: None,
                    height,
                    threshold: P::threshold(plan.threshold),
                    more: P::Gradient::from_bits(plan.anchor.min(too_much)),
                    scan: plan.scan,
                };
                (band * rows..height.min((band + 1) * rows), sink)
            })
            .collect();
        for sink in front::march(source, rule, bands, ticker)? {
            sink.failed.map_or(Ok(()), |error| Err(no_memory(error)))?;
        }
        Ok(())
    }

    /// Lists the anchors of words that were made elsewhere.
    pub(super) fn list<W: Word>(&mut self, words: &[W], width: usize) -> Result<(), TryReserveError> {
        let rows = rows_a_band(words.len() / width);
        self.bands.clear();
        self.bands.resize_with(words.len().div_ceil(rows * width), Vec::new);
        words
            .par_chunks(rows * width)
            .zip(&mut self.bands)
            .enumerate()
            .try_for_each(|(band, (words, list))| collect(words, band * rows * width, list))
    }

    /// Sorts the list by falling gradient, equal ones in raster order.
    pub(super) fn sort(&mut self) -> Result<(), TryReserveError> {
        let key = |entry: u64| (entry >> POSITION_BITS) as usize;
        let entries = || self.bands.iter().flatten().copied();
        let total = self.bands.iter().map(Vec::len).sum();
        let maximum = entries().max().map_or(0, key);
        resize(&mut self.sorted, total)?;
        if maximum < ONE_PASS {
            counting_sort(entries, &mut self.counts, maximum, &mut self.sorted, key);
            return Ok(());
        }
        const DIGIT: usize = (1 << DIGIT_BITS) - 1;
        resize(&mut self.other, total)?;
        counting_sort(entries, &mut self.counts, DIGIT, &mut self.other, |entry| key(entry) & DIGIT);
        let half_sorted = || self.other.iter().copied();
        counting_sort(half_sorted, &mut self.counts, DIGIT, &mut self.sorted, |entry| key(entry) >> DIGIT_BITS);
        Ok(())
    }

    /// The positions y·width + x in the order in which they are linked.
    pub(super) fn sorted(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.sorted.iter().map(|entry| (entry & POSITION) as usize)
    }
}

fn rows_a_band(height: usize) -> usize {
    /// A band computes six rows more than it gives.
    const LEAST: usize = 32;
    const MOST: usize = 256;
    height.div_ceil(2 * rayon::current_num_threads()).clamp(LEAST, MOST)
}

fn resize(list: &mut Vec<u64>, length: usize) -> Result<(), TryReserveError> {
    list.clear();
    list.try_reserve_exact(length)?;
    list.resize(length, 0);
    Ok(())
}

/// Makes the words of a band of rows and lists its anchors.
struct Marker<'a, W> {
    /// Those of the rows still to come.
    words: &'a mut [W],
    list: &'a mut Vec<u64>,
    failed: Option<TryReserveError>,
    height: usize,
    /// T: edge pixels have at least this gradient.
    threshold: W,
    /// A: anchors have this much more than both neighbours across the edge.
    more: W,
    /// Rows that are a multiple of it are scanned in every column, the others in columns that are a multiple of it.
    scan: usize,
}

impl<P: Pixel> Sink<P> for Marker<'_, P::Gradient>
where
    P::Gradient: Word,
{
    #[inline(always)]
    fn row(&mut self, rows: &Rows<'_, P>) {
        let width = rows.vertical.len();
        let (out, rest) = std::mem::take(&mut self.words).split_at_mut(width);
        self.words = rest;
        let y = rows.y;
        if y == 0 || y + 1 == self.height || width < 3 {
            out.fill(bytemuck::Zeroable::zeroed());
            return;
        }
        // Column x of the image is x + 1 of the rows.
        let [above, here, below] = rows.gradient;
        let scanned = y >= MARGIN && y + MARGIN < self.height && width > 2 * MARGIN;
        let (threshold, more) = (self.threshold, self.more);
        let nothing = <P::Gradient as bytemuck::Zeroable>::zeroed();
        let edge = |g: P::Gradient| if g >= threshold { g } else { nothing };
        let is_anchor = |x: usize, vertical: u8| {
            let across = if vertical != 0 { [here[x], here[x + 2]] } else { [above[x + 1], below[x + 1]] };
            here[x + 1] >= threshold && here[x + 1] >= P::Gradient::above(across[0], across[1], more)
        };
        if scanned && (self.scan == 1 || y % self.scan == 0) {
            let [left, here, right] = [&here[..width], &here[1..][..width], &here[2..][..width]];
            let [above, below] = [&above[1..][..width], &below[1..][..width]];
            let vertical = &rows.vertical[..width];
            let out = &mut out[..width];
            for x in 0..width {
                let beside = P::Gradient::above(left[x], right[x], more);
                let along = P::Gradient::above(above[x], below[x], more);
                let across = if vertical[x] != 0 { beside } else { along };
                let g = edge(here[x]);
                out[x] = P::Gradient::new(g, vertical[x], (g > nothing) & (g >= across));
            }
            // What the loop made anchors of in the margin is none.
            for x in [0, 1, width - 2, width - 1] {
                out[x] = P::Gradient::new(edge(here[x]), vertical[x], false);
            }
        } else {
            for (x, out) in out.iter_mut().enumerate() {
                *out = P::Gradient::new(edge(here[x + 1]), rows.vertical[x], false);
            }
            if scanned {
                // The first of these columns is `scan` itself, at least 2.
                for x in (self.scan..width - MARGIN).step_by(self.scan) {
                    if is_anchor(x, rows.vertical[x]) {
                        out[x] = P::Gradient::new(here[x + 1], rows.vertical[x], true);
                    }
                }
            }
        }
        out[0] = nothing;
        out[width - 1] = nothing;
        if scanned && self.failed.is_none() {
            self.failed = collect(out, y * width, self.list).err();
        }
    }
}

/// Lists the anchors of some words, the first of which is at `start`.
#[inline(always)]
fn collect<W: Word>(words: &[W], start: usize, list: &mut Vec<u64>) -> Result<(), TryReserveError> {
    /// Words looked at in one go, a bit each.
    const GROUP: usize = 64;
    /// Multiplied by it, eight bytes of 0 or 1 become the bits of the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut start = start;
    for words in words.chunks(GROUP) {
        let mut flags = [0; GROUP];
        for (flag, word) in flags.iter_mut().zip(words) {
            *flag = (word.bits() & ANCHOR_ONLY) as u8;
        }
        let (bytes, _) = flags.as_chunks::<8>();
        let mut bits = 0;
        for (byte, flags) in bytes.iter().enumerate() {
            bits |= (u64::from_le_bytes(*flags).wrapping_mul(GATHER) >> 56) << (8 * byte);
        }
        list.try_reserve(bits.count_ones() as usize)?;
        while bits != 0 {
            let index = bits.trailing_zeros() as usize;
            list.push(u64::from(gradient(words[index])) << POSITION_BITS | (start + index) as u64);
            bits &= bits - 1;
        }
        start += GROUP;
    }
    Ok(())
}

/// A stable counting sort by falling `key`, which is at most `maximum`.
fn counting_sort<I: Iterator<Item = u64>>(
    entries: impl Fn() -> I,
    counts: &mut Vec<usize>,
    maximum: usize,
    sorted: &mut [u64],
    key: impl Fn(u64) -> usize,
) {
    counts.clear();
    counts.resize(maximum + 1, 0);
    entries().for_each(|entry| counts[maximum - key(entry)] += 1);
    let mut first = 0;
    for count in counts.iter_mut() {
        first += std::mem::replace(count, first);
    }
    entries().for_each(|entry| {
        let place = &mut counts[maximum - key(entry)];
        sorted[*place] = entry;
        *place += 1;
    });
}
