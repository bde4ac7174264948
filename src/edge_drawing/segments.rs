//! Segments: edges as ordered chains of pixels.

mod candidates;
mod extract;
mod planes;
mod thin;

pub(super) use extract::extract;

use crate::device::kernels::edge_drawing::SEGMENT_CLOSED;
use crate::error::Result;
use crate::memory::reserve;
use crate::progress::Ticker;

/// A pixel of a slice: column and row.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point {
    /// Column, 0 at the left.
    pub x: u32,
    /// Row, 0 at the top.
    pub y: u32,
}

/// The segments of an image or a stack, in flat arrays. Segment `i` has the points `points[offsets[i]..offsets[i + 1]]`;
/// successive points are 8-neighbours in the image.
///
/// In the paper profile they are the chains of the thinned edge map, whose lines are one pixel wide and which has no spurs
/// of one pixel.
///
/// Segments are in a canonical order that depends on the image and the parameters alone: slice by slice; in the paper
/// profile by the raster index (y·width + x) of the first point, then of the second; in the reference profile in the order
/// in which the algorithm finds them. The parts that pass validation are in the order of the segments that they were part
/// of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segments {
    pub(crate) points: Vec<Point>,
    /// The index of each segment's first point, and the number of all points at the end; empty if there are no segments.
    pub(crate) offsets: Vec<u64>,
    pub(crate) flags: Vec<u32>,
    pub(crate) slices: Vec<u32>,
    pub(crate) mean_gradients: Vec<f32>,
}

/// One segment.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Segment<'a> {
    /// Its pixels in order. A closed one lists its first point once.
    pub points: &'a [Point],
    /// True if the last point is linked to the first.
    pub closed: bool,
    /// The slice of the stack, from 0.
    pub slice: u32,
    /// The mean of |gx| + |gy| over its points, in the image's own units.
    pub mean_gradient: f32,
}

impl Segments {
    /// The bit of [`flags`](Self::flags) of a closed segment.
    pub const CLOSED: u32 = SEGMENT_CLOSED as u32;

    /// Returns an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends one segment.
    pub(super) fn push(
        &mut self,
        points: impl ExactSizeIterator<Item = Point>,
        closed: bool,
        slice: u32,
        mean_gradient: f32,
    ) -> Result<()> {
        reserve(&mut self.points, points.len())?;
        self.points.extend(points);
        self.close(closed, slice, mean_gradient)
    }

    /// Makes a segment of the points after the last segment.
    fn close(&mut self, closed: bool, slice: u32, mean_gradient: f32) -> Result<()> {
        self.reserve(0, 1)?;
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.offsets.push(self.points.len() as u64);
        self.flags.push(if closed { Self::CLOSED } else { 0 });
        self.slices.push(slice);
        self.mean_gradients.push(mean_gradient);
        Ok(())
    }

    /// Reserves memory for `points` more points and `segments` more segments.
    fn reserve(&mut self, points: usize, segments: usize) -> Result<()> {
        let first = usize::from(self.offsets.is_empty());
        reserve(&mut self.points, points)?;
        reserve(&mut self.offsets, segments + first)?;
        reserve(&mut self.flags, segments)?;
        reserve(&mut self.slices, segments)?;
        reserve(&mut self.mean_gradients, segments)
    }

    /// Appends the segments of later slices or rows.
    pub(super) fn append(&mut self, mut later: Self) -> Result<()> {
        if later.is_empty() {
            return Ok(());
        }
        if self.is_empty() {
            *self = later;
            return Ok(());
        }
        let base = self.points.len() as u64;
        self.reserve(later.points.len(), later.len())?;
        self.offsets.extend(later.offsets.iter().skip(1).map(|offset| base + offset));
        self.points.append(&mut later.points);
        self.flags.append(&mut later.flags);
        self.slices.append(&mut later.slices);
        self.mean_gradients.append(&mut later.mean_gradients);
        Ok(())
    }

    /// Joins parts in their order. Memory for all of them is reserved at once, so that nothing moves twice.
    pub(super) fn joined(parts: Vec<Self>, ticker: &Ticker) -> Result<Self> {
        let mut points: usize = parts.iter().map(|part| part.points.len()).sum();
        let mut segments: usize = parts.iter().map(Self::len).sum();
        let mut all = Self::default();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            ticker.check()?;
            points -= part.points.len();
            segments -= part.len();
            all.append(part)?;
            all.reserve(points, segments)?;
        }
        Ok(all)
    }

    /// Returns the number of segments.
    pub fn len(&self) -> usize {
        self.flags.len()
    }

    /// Returns whether there are no segments.
    pub fn is_empty(&self) -> bool {
        self.flags.is_empty()
    }

    /// Returns segment `index`, or `None` beyond the last.
    pub fn get(&self, index: usize) -> Option<Segment<'_>> {
        let flags = *self.flags.get(index)?;
        let range = self.offsets[index] as usize..self.offsets[index + 1] as usize;
        Some(Segment {
            points: &self.points[range],
            closed: flags & Self::CLOSED != 0,
            slice: self.slices[index],
            mean_gradient: self.mean_gradients[index],
        })
    }

    /// Returns an iterator over the segments in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Segment<'_>> {
        (0..self.len()).map(|index| self.at(index))
    }

    /// Returns segment `index`, which must exist.
    pub(super) fn at(&self, index: usize) -> Segment<'_> {
        self.get(index).unwrap_or_else(|| unreachable!("within len"))
    }

    /// Returns the points of all segments, one segment after the other.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Returns the index of each segment's first point, and the number of all points; one more than there are segments.
    pub fn offsets(&self) -> &[u64] {
        if self.offsets.is_empty() { &[0] } else { &self.offsets }
    }

    /// Returns the flags of each segment, see [`CLOSED`](Self::CLOSED).
    pub fn flags(&self) -> &[u32] {
        &self.flags
    }

    /// Returns the slice of each segment.
    pub fn slices(&self) -> &[u32] {
        &self.slices
    }

    /// Returns the mean gradient of each segment.
    pub fn mean_gradients(&self) -> &[f32] {
        &self.mean_gradients
    }
}

/// A chain of pixels of one slice, found by [`scalar`](super::scalar).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chain {
    pub(super) points: Vec<Point>,
    pub(super) closed: bool,
}
