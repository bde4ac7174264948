//! Anchors: their positions, and the order in which they are linked.

use super::{ANCHOR_ONLY, GRADIENT_SHIFT, Word, acquire, gradient_of};
use crate::device::{self, PooledBuffer};
use crate::edge_drawing::gradient::{self, Pixel, Rows, Sink, Source};
use crate::edge_drawing::prepare::Plan;
use crate::error::Result;
use crate::memory::{collected, par_collected, resize};
use crate::progress::Ticker;
use rayon::prelude::*;

/// The distance from the border that anchors keep.
const MARGIN: usize = 2;

/// An anchor threshold above every gradient of 8-bit images, which leaves no anchors. Its sum with a gradient fits u16.
const ABOVE_ALL_U8: u32 = 1 << 13;
/// The same for 16-bit images.
const ABOVE_ALL_U16: u32 = 1 << 21;

/// The number of bits that each of the two passes sorts by, for gradients of 16-bit images. Between the passes an entry is
/// gradient · 2⁴³ + position.
const DIGIT_BITS: u32 = 11;
const POSITION_BITS: u32 = 43;
/// Gradients of 8-bit images are below this, and are sorted in one pass.
const NARROW: usize = 1 << 13;

/// The anchors of a slice.
pub(super) struct Lists<'a> {
    buffers: &'a device::BufferPool,
    /// The positions in raster order, band by band; they are counted from the band's first pixel. Each band has memory for
    /// as many positions as it has pixels, but touches only what it needs, so the system does not have to provide the rest.
    listed: Option<PooledBuffer<'a>>,
    /// The number of pixels of a band.
    band: usize,
    /// The number of anchors of each band.
    found: Vec<usize>,
    sorted: Option<PooledBuffer<'a>>,
    half_sorted: Option<PooledBuffer<'a>>,
    counts: Vec<usize>,
}

impl<'a> Lists<'a> {
    pub(super) fn new(buffers: &'a device::BufferPool) -> Self {
        Self { buffers, listed: None, band: 1, found: Vec::new(), sorted: None, half_sorted: None, counts: Vec::new() }
    }

    /// Computes the gradients of a slice, marks its anchors in `words`, and lists them.
    pub(super) fn mark<P>(
        &mut self,
        source: &impl Source<P>,
        method: &gradient::Method,
        plan: &Plan,
        words: &mut [P::Gradient],
        ticker: &Ticker,
    ) -> Result<()>
    where
        P: Pixel,
        P::Gradient: Word,
    {
        let [width, height] = source.size();
        let rows = rows_per_band(width, height);
        self.band = rows * width;
        let above_all = if P::Gradient::VERTICAL < ABOVE_ALL_U16 { ABOVE_ALL_U8 } else { ABOVE_ALL_U16 };
        let lists: &mut [u32] = bytemuck::cast_slice_mut(acquire(&mut self.listed, self.buffers, words.len())?);
        let bands =
            words.chunks_mut(self.band).zip(lists.chunks_mut(self.band)).enumerate().map(|(band, (words, list))| {
                let sink = Marker {
                    words,
                    list,
                    found: 0,
                    position: 0,
                    height,
                    threshold: P::threshold(plan.threshold),
                    more: P::Gradient::from_bits(plan.anchor.min(above_all)),
                    scan: plan.scan,
                };
                (band * rows..height.min((band + 1) * rows), sink)
            });
        let bands = collected(bands)?;
        let bands = gradient::compute(source, method, bands, ticker)?;
        self.found = collected(bands.into_iter().map(|sink| sink.found))?;
        Ok(())
    }

    /// Lists the anchors of words that the caller has computed.
    pub(super) fn list<W: Word>(&mut self, words: &[W], width: usize) -> Result<()> {
        self.band = rows_per_band(width, words.len() / width) * width;
        let lists: &mut [u32] = bytemuck::cast_slice_mut(acquire(&mut self.listed, self.buffers, words.len())?);
        let bands = words.par_chunks(self.band).zip(lists.par_chunks_mut(self.band));
        self.found = par_collected(bands.map(|(words, list)| collect(words, 0, list)))?;
        Ok(())
    }

    /// Returns the anchors' positions y·width + x in the order in which they are linked: by falling gradient, equal ones in
    /// raster order.
    pub(super) fn sort<W: Word>(&mut self, words: &[W], ticker: &Ticker) -> Result<&[u64]> {
        let Self { buffers, listed, band, found, sorted, half_sorted, counts } = self;
        let band = *band;
        let lists: &[u32] = bytemuck::cast_slice(listed.as_ref().map_or(&[][..], |listed| &listed[..]));
        let anchors = || {
            let bands = found.iter().zip(lists.chunks(band)).enumerate();
            bands.flat_map(|(number, (found, list))| {
                list[..*found].iter().map(move |position| {
                    let index = number * band + *position as usize;
                    (gradient_of(words[index]) as usize, index as u64)
                })
            })
        };
        // 1. Gradients of 8-bit images are sorted in one pass.
        let total = found.iter().sum();
        let sorted = longs(sorted, buffers, total)?;
        if W::GRADIENT >> GRADIENT_SHIFT < NARROW as u32 {
            counting_sort(anchors, counts, NARROW, sorted, ticker)?;
            return Ok(sorted);
        }
        // 2. Those of 16-bit images are sorted by their low bits, then stably by their high bits.
        const DIGIT: usize = 1 << DIGIT_BITS;
        const POSITION: u64 = (1 << POSITION_BITS) - 1;
        let half_sorted = longs(half_sorted, buffers, total)?;
        let low = || anchors().map(|(key, index)| (key % DIGIT, (key as u64) << POSITION_BITS | index));
        counting_sort(low, counts, DIGIT, half_sorted, ticker)?;
        let high = || {
            let digit = |entry: u64| (entry >> (POSITION_BITS + DIGIT_BITS)) as usize;
            half_sorted.iter().map(move |entry| (digit(*entry), entry & POSITION))
        };
        counting_sort(high, counts, DIGIT, sorted, ticker)?;
        Ok(sorted)
    }
}

/// Returns memory for `count` numbers in a pooled buffer of floats.
fn longs<'p, 'a>(
    slot: &'p mut Option<PooledBuffer<'a>>,
    buffers: &'a device::BufferPool,
    count: usize,
) -> Result<&'p mut [u64]> {
    // Take one more number, because the buffer may begin in the middle of one.
    let floats = acquire(slot, buffers, 2 * (count + 1))?;
    Ok(&mut bytemuck::pod_align_to_mut(floats).1[..count])
}

fn rows_per_band(width: usize, height: usize) -> usize {
    /// The smallest number of rows: a band computes six more as its halo.
    const MIN: usize = 32;
    const MAX: usize = 256;
    let rows = height.div_ceil(2 * rayon::current_num_threads()).clamp(MIN, MAX);
    // Limit the rows so that positions in a band fit 32 bits.
    rows.min(u32::MAX as usize / width).max(1)
}

/// Makes the words of a band of rows and lists its anchors.
struct Marker<'a, W> {
    /// The words of the remaining rows.
    words: &'a mut [W],
    list: &'a mut [u32],
    /// The number of anchors listed so far.
    found: usize,
    /// The position in the band of the next row's first pixel.
    position: usize,
    height: usize,
    /// The gradient threshold T: edge pixels have at least this gradient.
    threshold: W,
    /// The anchor threshold A: anchors exceed both neighbours across the edge by at least this.
    more: W,
    /// The scan interval: rows that are a multiple of it are scanned in every column, the others in columns that are a
    /// multiple of it.
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
        let position = self.position;
        self.position += width;
        let y = rows.y;
        // 1. The outermost rows have no edges.
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
        // 2. Make the words. A scanned row is computed without branches, so that it can be vectorised; in other rows only
        //    the scanned columns are tested.
        if scanned && y.is_multiple_of(self.scan) {
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
            // Remove the anchors that the loop may have made in the margin.
            for x in [0, 1, width - 2, width - 1] {
                out[x] = P::Gradient::new(edge(here[x]), vertical[x], false);
            }
        } else {
            for (x, out) in out.iter_mut().enumerate() {
                *out = P::Gradient::new(edge(here[x + 1]), rows.vertical[x], false);
            }
            if scanned {
                // The first scanned column inside the margin is `scan` itself, which is at least 2.
                for x in (self.scan..width - MARGIN).step_by(self.scan) {
                    if is_anchor(x, rows.vertical[x]) {
                        out[x] = P::Gradient::new(here[x + 1], rows.vertical[x], true);
                    }
                }
            }
        }
        // 3. The outermost columns have no edges. List the anchors.
        out[0] = nothing;
        out[width - 1] = nothing;
        if scanned {
            self.found += collect(out, position, &mut self.list[self.found..]);
        }
    }
}

/// Lists the anchors of some words, the first of which is at `position`; returns their number.
#[inline(always)]
fn collect<W: Word>(words: &[W], position: usize, list: &mut [u32]) -> usize {
    /// The number of words that are read together, as a bit each.
    const GROUP: usize = 64;
    /// The factor that gathers eight bytes of 0 or 1 into the bits of the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut found = 0;
    for (group, words) in words.chunks(GROUP).enumerate() {
        let mut flags = [0; GROUP];
        for (flag, word) in flags.iter_mut().zip(words) {
            *flag = (word.bits() & ANCHOR_ONLY) as u8;
        }
        let (bytes, _) = flags.as_chunks::<8>();
        let mut bits = 0;
        for (byte, flags) in bytes.iter().enumerate() {
            bits |= (u64::from_le_bytes(*flags).wrapping_mul(GATHER) >> 56) << (8 * byte);
        }
        let start = position + group * GROUP;
        while bits != 0 {
            list[found] = (start + bits.trailing_zeros() as usize) as u32;
            found += 1;
            bits &= bits - 1;
        }
    }
    found
}

/// Sorts (key, value) pairs stably by falling key, which is below `keys`, and writes the values to `sorted`. The ticker can
/// cancel it.
fn counting_sort<I: Iterator<Item = (usize, u64)>>(
    entries: impl Fn() -> I,
    counts: &mut Vec<usize>,
    keys: usize,
    sorted: &mut [u64],
    ticker: &Ticker,
) -> Result<()> {
    const PART: usize = 1 << 20;
    let is_due = |index: usize| index.is_multiple_of(PART);
    counts.clear();
    resize(counts, keys, 0)?;
    entries().enumerate().try_for_each(|(index, (key, _))| {
        counts[keys - 1 - key] += 1;
        if is_due(index) { ticker.check() } else { Ok(()) }
    })?;
    let mut first = 0;
    for count in counts.iter_mut() {
        first += std::mem::replace(count, first);
    }
    entries().enumerate().try_for_each(|(index, (key, value))| {
        let next = &mut counts[keys - 1 - key];
        sorted[*next] = value;
        *next += 1;
        if is_due(index) { ticker.check() } else { Ok(()) }
    })
}
