//! The `reference` profile: the same segments, in the same order, and the same edge map as OpenCV's `ximgproc.EdgeDrawing`,
//! identical to the pixel.
//!
//! These are the rules; the tests compare all of them with OpenCV 5.0:
//!
//! * An edge pixel has G ≥ T and is not an outermost pixel. Anchors are at least two pixels from the border.
//! * Anchors are processed in the order of falling gradient, equal ones in raster order. An anchor that a trace has cleared
//!   before its turn is skipped.
//! * An anchor pushes two traces on a stack: down and up on a vertical edge, right and left on a horizontal one; the last
//!   one is popped first. A trace marks its pixel, clears anchors on both sides of it, and steps to one of the three pixels
//!   ahead. If any of them is an anchor or marked, it takes the first such pixel in this order: straight; the diagonal on
//!   the minus side (up or left) for traces to the left or up, and on the plus side for the others; the other diagonal.
//!   Otherwise it takes the largest gradient; of equal ones straight, then the plus side. The trace ends before a marked
//!   pixel and at G < T. It also ends where the edge's direction changes; it then pushes two traces across, which start at
//!   that pixel.
//! * The traces of one anchor form a tree. Its length is the number of its pixels, minus the number of traces that started
//!   on an unmarked pixel. If the length is below the minimum length, which is at least three, all marks of the tree are
//!   removed, so that later anchors may trace there again.
//! * Otherwise the longest path through the tree, from one end via the anchor to the other end, becomes a segment, and so
//!   does each remaining branch of at least [`BRANCH_LENGTH`] pixels ([`assemble`]). The edge map holds all marks,
//!   including those of short branches.
//!
//! Linking is sequential by definition: the traces of an anchor depend on those before it. One thread links a slice; the
//! steps before and after use the pool.

mod anchors;
mod assemble;
mod trace;

use super::gradient::{self, Border, Pixel, Source};
use super::prepare::Plan;
use super::segments::{Point, Segments};
use crate::device::kernels::edge_drawing::{GRADIENT_SHIFT, TRACED};
use crate::device::{self, PooledBuffer};
use crate::error::Result;
use crate::levels::finite_f32;
use crate::progress::Ticker;
use rayon::prelude::*;

/// A branch of a kept tree becomes a segment if it has at least this length, whatever the minimum length is.
pub(super) const BRANCH_LENGTH: usize = 10;

/// The least minimum length; smaller values act as this one.
pub(super) const MIN_LENGTH: usize = 3;

/// The state of one pixel during linking, in one word of the type of gradients: the two lowest bits are the state, above
/// them is the gradient, and the top bit is the direction. The CUDA kernel uses the same words.
///
/// The gradient is 0 if it is below the threshold, and on the outermost pixels. Every trace ends there, so no trace leaves
/// the image, and no step has to test for that.
pub(super) trait Word: bytemuck::Pod + Send + Sync {
    /// The bit that is set where |gx| ≥ |gy|.
    const VERTICAL: u32;
    /// The bits of |gx| + |gy|, shifted by [`GRADIENT_SHIFT`].
    const GRADIENT: u32;

    fn bits(self) -> u32;
    fn from_bits(bits: u32) -> Self;
    /// Makes a pixel's word from its gradient (0 if below the threshold), its direction (1: vertical), and `anchor`.
    fn new(gradient: Self, vertical: u8, anchor: bool) -> Self;
    /// Returns the smallest gradient that makes a pixel an anchor if its two neighbours have the gradients `a` and `b`;
    /// `more` is the anchor threshold.
    fn above(a: Self, b: Self, more: Self) -> Self;
}

/// The state of an anchor that has not been processed or cleared.
const ANCHOR: u32 = TRACED as u32;
/// The bit of the state that only anchors have.
const ANCHOR_ONLY: u32 = 1;
/// The state of a marked pixel.
const EDGE: u32 = 2;
/// The mask of the two bits of the state.
const STATE: u32 = 3;

macro_rules! word {
    ($type:ty) => {
        impl Word for $type {
            const VERTICAL: u32 = 1 << (<$type>::BITS - 1);
            const GRADIENT: u32 = Self::VERTICAL - 1 - STATE;

            #[inline(always)]
            fn bits(self) -> u32 {
                u32::from(self)
            }

            #[inline(always)]
            fn from_bits(bits: u32) -> Self {
                bits as Self
            }

            #[inline(always)]
            fn new(gradient: Self, vertical: u8, anchor: bool) -> Self {
                let state = if anchor { ANCHOR as Self } else { 0 };
                gradient << GRADIENT_SHIFT | Self::from(vertical) << (Self::BITS - 1) | state
            }

            #[inline(always)]
            fn above(a: Self, b: Self, more: Self) -> Self {
                a.max(b).wrapping_add(more)
            }
        }
    };
}

// Images of 8 bits have gradients up to 32·255 = 8160 < 2^13.
word!(u16);
// Images of 16 bits have gradients up to 32·65535 = 2097120 < 2^29.
word!(u32);

fn gradient_of<W: Word>(word: W) -> u32 {
    (word.bits() & W::GRADIENT) >> GRADIENT_SHIFT
}

/// The workspace of a slice, which is reused for the next one. Its larger part comes from the context's pool, which keeps
/// it between calls.
pub(super) struct Scratch<'a, W> {
    buffers: &'a device::BufferPool,
    words: Option<PooledBuffer<'a>>,
    /// The number of words in use; the pooled buffer may be larger.
    count: usize,
    anchors: anchors::Lists<'a>,
    trees: Trees,
    word: std::marker::PhantomData<W>,
}

impl<'a, W: Word> Scratch<'a, W> {
    pub(super) fn new(buffers: &'a device::BufferPool) -> Self {
        Self {
            buffers,
            words: None,
            count: 0,
            anchors: anchors::Lists::new(buffers),
            trees: Trees::default(),
            word: std::marker::PhantomData,
        }
    }

    /// Returns the words of a slice of `count` pixels, rows packed, with any content.
    pub(super) fn words(&mut self, count: usize) -> Result<&mut [W]> {
        let floats = acquire(&mut self.words, self.buffers, (count * size_of::<W>()).div_ceil(size_of::<f32>()))?;
        self.count = count;
        Ok(&mut bytemuck::cast_slice_mut(floats)[..count])
    }

    fn parts(&mut self) -> (&mut [W], &mut anchors::Lists<'a>, &mut Trees) {
        let floats = self.words.as_mut().map_or(&mut [][..], |words| &mut words[..]);
        (&mut bytemuck::cast_slice_mut(floats)[..self.count], &mut self.anchors, &mut self.trees)
    }

    /// Writes row `y` of the edge map of the slice that was drawn last.
    pub(super) fn write_row(&self, y: usize, row: &mut [u8]) {
        let floats = self.words.as_ref().map_or(&[][..], |words| &words[..]);
        edge_map(&bytemuck::cast_slice::<f32, W>(floats)[y * row.len()..][..row.len()], row);
    }
}

/// Returns at least `count` floats with arbitrary values from `slot`, whose buffer is replaced if it is too small.
fn acquire<'p, 'a>(
    slot: &'p mut Option<PooledBuffer<'a>>,
    buffers: &'a device::BufferPool,
    count: usize,
) -> Result<&'p mut [f32]> {
    if slot.as_ref().is_none_or(|buffer| buffer.len() < count) {
        // Return the old buffer to the pool before taking the new one.
        *slot = None;
        *slot = Some(buffers.acquire(count)?);
    }
    Ok(slot.as_mut().map_or(&mut [], |buffer| &mut buffer[..]))
}

/// The tree of traces of one anchor, with the lists of its assembly to segments.
#[derive(Debug, Default)]
struct Trees {
    /// The positions y·stride + x of the traced pixels, one trace after the other.
    traced: Vec<usize>,
    traces: Vec<assemble::Trace>,
    /// The traces that have not been followed yet.
    stack: Vec<trace::Start>,
    /// The state of the traces during the assembly.
    links: Vec<assemble::Link>,
    /// The traces on the longest path.
    route: Vec<usize>,
    /// The positions of a segment's pixels.
    segment: Vec<usize>,
}

/// Draws the edges of slice number `slice` on the current thread pool. Appends its segments to `segments`; its edge map
/// stays in the workspace, see [`Scratch::write_row`].
pub(super) fn draw<P>(
    source: &impl Source<P>,
    plan: &Plan,
    slice: u32,
    scratch: &mut Scratch<'_, P::Gradient>,
    ticker: &Ticker,
    segments: &mut Segments,
) -> Result<()>
where
    P: Pixel,
    P::Gradient: Word,
{
    let [width, height] = source.size();
    scratch.words(width * height)?;
    let method = gradient::Method {
        operator: plan.operator,
        taps: plan.taps,
        border: Border::BelowThreshold,
        threshold: plan.threshold,
        // With an anchor threshold of 0, gradients below T are not needed.
        clear_below: plan.anchor == 0,
    };
    let (words, anchors, _) = scratch.parts();
    anchors.mark(source, &method, plan, words, ticker)?;
    link_listed(plan, width, slice, scratch, ticker, segments)
}

/// Does the same with the workspace's [words](Scratch::words), which the caller has computed, and writes the edge map as
/// packed rows to `edges`.
pub(super) fn link<W: Word>(
    plan: &Plan,
    width: usize,
    slice: u32,
    scratch: &mut Scratch<'_, W>,
    ticker: &Ticker,
    segments: &mut Segments,
    edges: Option<&mut [u8]>,
) -> Result<()> {
    let (words, anchors, _) = scratch.parts();
    anchors.list(words, width)?;
    link_listed(plan, width, slice, scratch, ticker, segments)?;
    if let Some(edges) = edges {
        edges.par_chunks_mut(width).enumerate().for_each(|(y, row)| scratch.write_row(y, row));
    }
    Ok(())
}

/// Links the anchors that are listed.
fn link_listed<W: Word>(
    plan: &Plan,
    width: usize,
    slice: u32,
    scratch: &mut Scratch<'_, W>,
    ticker: &Ticker,
    segments: &mut Segments,
) -> Result<()> {
    let (words, anchors, trees) = scratch.parts();
    let anchors = anchors.sort(words, ticker)?;
    let mut added = Ok(());
    trace::link(words, width, plan.min_length.max(MIN_LENGTH), anchors, trees, ticker, |pixels, words| {
        if added.is_ok() {
            added = add(segments, pixels, words, width, plan.unit, slice);
        }
    })?;
    added
}

/// Appends one segment.
fn add<W: Word>(
    segments: &mut Segments,
    pixels: &[usize],
    words: &[W],
    stride: usize,
    unit: f64,
    slice: u32,
) -> Result<()> {
    let points = pixels.iter().map(|index| Point { x: (index % stride) as u32, y: (index / stride) as u32 });
    let sum: u64 = pixels.iter().map(|&index| u64::from(gradient_of(words[index]))).sum();
    let closed = is_closed(pixels[0], pixels[pixels.len() - 1], pixels.len(), stride);
    segments.push(points, closed, slice, finite_f32(sum as f64 * unit / pixels.len() as f64))
}

/// Tells whether a segment of `count` points is closed, given the positions y·stride + x of its first and its last point.
pub(super) fn is_closed(first: usize, last: usize, count: usize, stride: usize) -> bool {
    count >= 4 && assemble::adjacent(first, last, stride)
}

/// Writes the edge map of linked words: 255 on edges, else 0.
fn edge_map<W: Word>(words: &[W], edges: &mut [u8]) {
    for (word, edge) in words.iter().zip(edges) {
        *edge = if word.bits() & STATE == EDGE { 255 } else { 0 };
    }
}

#[cfg(test)]
mod tests;
