//! The `reference` profile: segments and edge map as OpenCV's `ximgproc.EdgeDrawing` gives them, identical to the pixel
//! and to the order.
//!
//! The rules, all of which the tests compare with OpenCV 5.0:
//!
//! * An edge pixel has G ≥ T, and the outermost pixels are none. Anchors keep two pixels off the border.
//! * Anchors are taken by falling gradient, equal ones in raster order, if they are still anchors then.
//! * An anchor puts two walks on a stack: down and up on a vertical edge, right and left on a horizontal one; the last
//!   put is the first taken. A walk marks its pixel, clears anchors on both sides of it and steps ahead: to a neighbour
//!   that is an anchor or marked (straight, then the diagonal on the minus side, up or left, for walks to the left or up,
//!   on the plus side for the others, then the other), else to the one with the largest gradient (of equal ones straight,
//!   then the plus side). It ends before a marked pixel and at G < T. Where the edge's direction changes, it ends too
//!   and puts two walks across on the stack, which start at that pixel.
//! * The walks of one anchor form a tree of chains. Its pixels, less the walks that started on a pixel not yet marked,
//!   count as its length. Below the minimum, or three, all its marks are taken back: later anchors may walk there again.
//! * Else the longest way through the tree from the one end over the anchor to the other becomes a segment, and each
//!   remaining branch of at least [`BRANCH_LENGTH`] pixels another one ([`assemble`]). The edge map holds all marks,
//!   those of short branches as well.
//!
//! Linking is sequential by definition: what an anchor meets depends on those before it. One thread links a slice; all
//! before and after it uses the pool.

mod anchors;
mod assemble;
mod walk;

use super::front::{self, Border, Pixel, Source};
use super::prepare::Plan;
use super::segments::{Point, Segments};
use crate::device::{self, PooledBuffer};
use crate::error::{Error, Result};
use crate::progress::Ticker;
use rayon::prelude::*;

/// A branch of a kept tree becomes a segment of its own from this length on, whatever the minimum length is.
const BRANCH_LENGTH: usize = 10;

/// Smaller minimum lengths act as this one.
const LEAST_LENGTH: usize = 3;

/// What one pixel is to the linking, in one word: the type of its gradient, with two bits for the state below it and one
/// for the direction at the top. The CUDA kernel's words are the same.
///
/// The gradient is 0 where it is below the threshold and on the outermost pixels, which ends every walk there: no walk
/// leaves the image, and needs no test for it.
pub(super) trait Word: bytemuck::Pod + Send + Sync {
    /// Set where |gx| ≥ |gy|.
    const VERTICAL: u32;
    /// The bits of |gx| + |gy|, [`GRADIENT_SHIFT`] up.
    const GRADIENT: u32;

    fn bits(self) -> u32;
    fn from_bits(bits: u32) -> Self;
    /// A pixel's word from its gradient (0 if below the threshold), direction (1: vertical) and whether it is an anchor.
    fn new(gradient: Self, vertical: u8, anchor: bool) -> Self;
    /// The gradient of a pixel at which its two neighbours have `a` and `b`, plus `more`.
    fn above(a: Self, b: Self, more: Self) -> Self;
}

const GRADIENT_SHIFT: u32 = 2;
/// The state of an anchor that is still to be used.
const ANCHOR: u32 = 3;
/// The bit that only anchors have.
const ANCHOR_ONLY: u32 = 1;
/// The state of a pixel of a walk.
const EDGE: u32 = 2;
/// Both bits of the state.
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

// For images of 8 bits: gradients up to 32·255 = 8160 < 2^13.
word!(u16);
// For images of 16 bits: gradients up to 32·65535 = 2097120 < 2^29.
word!(u32);

fn gradient<W: Word>(word: W) -> u32 {
    (word.bits() & W::GRADIENT) >> GRADIENT_SHIFT
}

/// The memory that a slice takes, to be used again for the next one. The larger part is borrowed from a context, which keeps
/// it between calls.
pub(super) struct Scratch<'a, W> {
    home: &'a device::BufferPool,
    words: Option<PooledBuffer<'a>>,
    /// How many words there are: borrowed memory may be larger.
    count: usize,
    anchors: anchors::Lists<'a>,
    trees: Trees,
    word: std::marker::PhantomData<W>,
}

impl<'a, W: Word> Scratch<'a, W> {
    pub(super) fn new(home: &'a device::BufferPool) -> Self {
        Self {
            home,
            words: None,
            count: 0,
            anchors: anchors::Lists::new(home),
            trees: Trees::default(),
            word: std::marker::PhantomData,
        }
    }

    /// The words of a slice of `count` pixels, rows packed; they hold what is left over.
    pub(super) fn words(&mut self, count: usize) -> Result<&mut [W]> {
        let floats = lent(&mut self.words, self.home, (count * size_of::<W>()).div_ceil(size_of::<f32>()))?;
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

/// At least `count` floats of any value in `place`, borrowed from `home` where those there are too few.
fn lent<'p, 'a>(
    place: &'p mut Option<PooledBuffer<'a>>,
    home: &'a device::BufferPool,
    count: usize,
) -> Result<&'p mut [f32]> {
    if place.as_ref().is_none_or(|lent| lent.len() < count) {
        // The old ones go back before the new ones come.
        *place = None;
        *place = Some(home.acquire(count)?);
    }
    Ok(place.as_mut().map_or(&mut [], |lent| &mut lent[..]))
}

/// What the walks of one anchor are kept in.
#[derive(Debug, Default)]
struct Trees {
    /// The positions y·stride + x of the walks' pixels, one chain after the other.
    walked: Vec<usize>,
    chains: Vec<assemble::Chain>,
    stack: Vec<walk::Start>,
    /// For the assembly of a segment.
    links: Vec<assemble::Link>,
    route: Vec<usize>,
    segment: Vec<usize>,
}

/// Draws the edges of one slice on the current thread pool: appends its segments to `segments`, as those of slice number
/// `slice`; its edge map is then in the scratch memory, see [`Scratch::write_row`].
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
    let rule = front::Rule {
        operator: plan.operator,
        border: Border::BelowThreshold,
        threshold: plan.threshold,
        // Anchors that stand out by any amount need not know by how much.
        clear_below: plan.anchor == 0,
    };
    let (words, anchors, _) = scratch.parts();
    anchors.mark(source, &rule, plan, words, ticker)?;
    link_listed(plan, width, slice, scratch, ticker, segments)
}

/// The same from the scratch memory's [words](Scratch::words), which were made elsewhere; writes the edge map, packed, to
/// `edges`.
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
    let anchors = anchors.sort(words)?;
    let mut added = Ok(());
    walk::link(words, width, plan.min_length.max(LEAST_LENGTH), anchors, trees, ticker, |pixels, words| {
        if added.is_ok() {
            added = add(segments, pixels, words, width, plan.unit, slice);
        }
    })?;
    added.map_err(no_memory_for_segments)
}

fn no_memory_for_segments(_: std::collections::TryReserveError) -> Error {
    Error::memory("no memory for the segments; use a smaller image, or a higher gradient threshold or minimum length")
}

/// Appends one segment.
fn add<W: Word>(
    segments: &mut Segments,
    pixels: &[usize],
    words: &[W],
    stride: usize,
    unit: f64,
    slice: u32,
) -> Result<(), std::collections::TryReserveError> {
    segments.points.try_reserve(pixels.len())?;
    segments.offsets.try_reserve(2)?;
    segments.flags.try_reserve(1)?;
    segments.slices.try_reserve(1)?;
    segments.mean_gradients.try_reserve(1)?;
    if segments.offsets.is_empty() {
        segments.offsets.push(0);
    }
    let point = |index: &usize| Point { x: (index % stride) as u32, y: (index / stride) as u32 };
    segments.points.extend(pixels.iter().map(point));
    segments.offsets.push(segments.points.len() as u64);
    let closed = pixels.len() >= 4 && assemble::adjacent(pixels[0], pixels[pixels.len() - 1], stride);
    segments.flags.push(if closed { Segments::CLOSED } else { 0 });
    segments.slices.push(slice);
    let sum: u64 = pixels.iter().map(|&index| u64::from(gradient(words[index]))).sum();
    segments.mean_gradients.push((sum as f64 * unit / pixels.len() as f64) as f32);
    Ok(())
}

/// The edge map of linked words: 255 on edges, else 0.
fn edge_map<W: Word>(words: &[W], edges: &mut [u8]) {
    for (word, edge) in words.iter().zip(edges) {
        *edge = if word.bits() & STATE == EDGE { 255 } else { 0 };
    }
}

#[cfg(test)]
mod tests;
