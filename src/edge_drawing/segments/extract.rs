//! The extraction of segments from an edge map, on all threads.
//!
//! Segments are extracted from the [thinned](super::thin) map. Two of its pixels are linked if they are 4-neighbours, or
//! diagonal neighbours that have no common 4-neighbour on the map (m-adjacency). A pixel that does not have exactly two
//! links is a node: an end, a junction or an isolated pixel. A chain runs from node to node over pixels with two links, and
//! includes both nodes; a chain without a node is a loop. The links of a pixel depend only on its eight neighbours, so a
//! chain can be followed on the map itself, from any pixel.
//!
//! Rows are divided into bands, one task each. A task processes the chains that begin in its band, in raster order. This is
//! the canonical order, whatever the bands are: a chain begins at the end with the smaller raster index, a loop at its
//! smallest pixel.

use super::super::edge_map::{EdgeMap, WORD, three_bits};
use super::candidates::Candidates;
use super::thin::thin;
use super::{Point, Segments};
use crate::error::Result;
use crate::levels::finite_f32;
use crate::memory::{par_collected, reserve, reserved, zeroed};
use crate::progress::Ticker;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use std::ops::Range;

/// The steps to the eight neighbours in raster order. Step 7 − k is opposite to step k.
const STEPS: [(i32, i32); 8] = [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)];

/// The links of a pixel, bit k for neighbour k, from the 3 × 3 bits around it in raster order.
const LINKS: [u8; 512] = links();

const fn links() -> [u8; 512] {
    let mut table = [0; 512];
    let mut bits = 0;
    while bits < 512 {
        // The neighbours alone, without the centre.
        let around = (bits & 0xf) | ((bits >> 1) & 0xf0);
        let mut k = 0;
        while k < 8 {
            // The common 4-neighbours of the pixel and a diagonal neighbour: above or below, left or right.
            let set = around >> k & 1 == 1;
            let vertical = if k < 4 { 1 } else { 6 };
            let horizontal = if k == 0 || k == 5 { 3 } else { 4 };
            let diagonal = k == 0 || k == 2 || k == 5 || k == 7;
            let covered = diagonal && (around >> vertical & 1 == 1 || around >> horizontal & 1 == 1);
            if set && !covered {
                table[bits] |= 1 << k;
            }
            k += 1;
        }
        bits += 1;
    }
    table
}

/// The links towards neighbours with a smaller raster index.
const UPWARD: u8 = 0x0f;
/// The value for a start whose links are all done.
const ALL: u8 = 0xff;

/// The smallest number of rows in a band. It is not too small, so that few chains cross bands and are followed twice.
const MIN_ROWS: usize = 64;
/// The largest number of rows in a band. It bounds the segments of a band, because joining them polls for cancellation once
/// per band.
const MAX_ROWS: usize = 512;
/// The number of bands per thread: several, so that a band with many edges does not delay all.
const BANDS_PER_THREAD: usize = 4;

/// Extracts the segments of one slice from its edge map. Chains of fewer than `min_length` points are dropped. `gradient`
/// returns |gx| + |gy| of an edge pixel in the working image's units; `unit` is the size of such a unit in the image's own
/// units.
pub(in super::super) fn extract(
    map: &EdgeMap,
    slice: u32,
    min_length: usize,
    unit: f64,
    gradient: &(impl Fn(Point) -> u32 + Sync),
    ticker: &Ticker,
) -> Result<Vec<Segments>> {
    let arch = Arch::new();
    let map = &thin(map, ticker)?;
    let rows = map.height().div_ceil(BANDS_PER_THREAD * rayon::current_num_threads()).clamp(MIN_ROWS, MAX_ROWS);
    let found = (0..map.height()).into_par_iter().step_by(rows).with_max_len(1).map(|start| {
        let rows = start..map.height().min(start + rows);
        arch.dispatch(Extract { map, rows, slice, min_length, unit, gradient, ticker })
    });
    let found: Vec<Result<Segments>> = par_collected(found)?;
    let mut parts = reserved(found.len())?;
    for part in found {
        parts.push(part?);
    }
    Ok(parts)
}

/// The number of points of a chain between two polls for cancellation.
const POINTS_PER_CHECK: usize = 1 << 16;

/// One band of rows.
struct Extract<'a, G> {
    map: &'a EdgeMap,
    rows: Range<usize>,
    slice: u32,
    min_length: usize,
    unit: f64,
    gradient: &'a G,
    ticker: &'a Ticker,
}

impl<G: Fn(Point) -> u32 + Sync> WithSimd for Extract<'_, G> {
    type Output = Result<Segments>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Result<Segments> {
        let mut band = Band::new(self.map, self.rows.clone(), self.min_length, self.ticker)?;
        let mut part = Segments::default();
        let stride = self.map.stride();
        for y in self.rows.clone() {
            self.ticker.check()?;
            self.ticker.add(self.map.width() as u64);
            for word in 0..stride {
                let mut bits = band.candidates.word((y - self.rows.start) * stride + word);
                while bits != 0 {
                    let x = word * WORD + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    self.begin_at(&mut band, &mut part, x, y)?;
                }
            }
        }
        Ok(part)
    }
}

impl<G: Fn(Point) -> u32 + Sync> Extract<'_, G> {
    /// Extracts all segments that begin at (x, y).
    #[inline(always)]
    fn begin_at(&self, band: &mut Band<'_>, part: &mut Segments, x: usize, y: usize) -> Result<()> {
        let start = Cursor { index: self.map.bit_index(x, y), point: Point { x: x as u32, y: y as u32 } };
        let links = band.links(start.index);
        let Some(rank) = band.candidates.rank(start.index) else { return Ok(()) };
        // 1. A start with two links is the first pixel of a loop, or just the top of an arch, at which no chain begins.
        if links.count_ones() == 2 {
            if band.done[rank] == 0 && band.is_loop(start, links)? {
                let from = part.points.len();
                band.follow(start, links.trailing_zeros() as usize, &mut part.points)?;
                part.points.pop();
                self.finish(part, from, true)?;
            }
            return Ok(());
        }
        // 2. A pixel by itself.
        if links == 0 {
            let from = part.points.len();
            reserve(&mut part.points, 1)?;
            part.points.push(start.point);
            return self.finish(part, from, false);
        }
        // 3. Any other node: follow each link that was not followed from its other end.
        let mut todo = links & band.candidates.ways(start.index);
        while todo != 0 {
            let link = todo.trailing_zeros() as usize;
            todo &= todo - 1;
            if band.done[rank] >> link & 1 == 1 {
                continue;
            }
            let from = part.points.len();
            let end = band.follow(start, link, &mut part.points)?;
            if end.index == start.index {
                part.points.pop();
                self.finish(part, from, true)?;
            } else if end.index > start.index {
                self.finish(part, from, false)?;
            } else {
                // The band of the other end extracts this chain.
                part.points.truncate(from);
            }
        }
        Ok(())
    }

    /// Makes a segment of the points from `from` on, if they are enough.
    #[inline(always)]
    fn finish(&self, part: &mut Segments, from: usize, closed: bool) -> Result<()> {
        let points = &part.points[from..];
        if points.len() < self.min_length {
            part.points.truncate(from);
            return Ok(());
        }
        // The sum of integers is exact, whatever the order.
        let sum: u64 = points.iter().map(|point| u64::from((self.gradient)(*point))).sum();
        let mean = sum as f64 / points.len() as f64 * self.unit;
        part.close(closed, self.slice, finite_f32(mean))
    }
}

/// A position on the map.
#[derive(Clone, Copy)]
struct Cursor {
    index: usize,
    point: Point,
}

/// A band, with its pixels at which segments may begin.
struct Band<'a> {
    map: &'a EdgeMap,
    /// The distances to the eight neighbours, in bits of the map.
    steps: [usize; 8],
    candidates: Candidates,
    ticker: &'a Ticker,
    /// For each start, the links that need not be followed, because they were followed from the other end.
    done: Vec<u8>,
}

impl<'a> Band<'a> {
    #[inline(always)]
    fn new(map: &'a EdgeMap, rows: Range<usize>, min_length: usize, ticker: &'a Ticker) -> Result<Self> {
        let pitch = (map.stride() * WORD) as isize;
        let steps = STEPS.map(|(x, y)| (y as isize * pitch + x as isize) as usize);
        let candidates = Candidates::find(map, rows, min_length)?;
        let done = zeroed(candidates.count())?;
        Ok(Self { map, steps, candidates, ticker, done })
    }

    /// Records that these links of a start need not be followed, if the start is in the band.
    #[inline(always)]
    fn mark(&mut self, index: usize, links: u8) {
        if let Some(rank) = self.candidates.rank(index) {
            self.done[rank] |= links;
        }
    }

    #[inline(always)]
    fn links(&self, index: usize) -> u8 {
        let pitch = self.map.stride() * WORD;
        let words = self.map.words();
        let [above, here, below] =
            [three_bits(words, index - pitch), three_bits(words, index), three_bits(words, index + pitch)];
        LINKS[above | here << 3 | below << 6]
    }

    #[inline(always)]
    fn step(&self, from: Cursor, link: usize) -> Cursor {
        let (dx, dy) = STEPS[link & 7];
        Cursor {
            index: from.index.wrapping_add(self.steps[link & 7]),
            point: Point { x: from.point.x.wrapping_add_signed(dx), y: from.point.y.wrapping_add_signed(dy) },
        }
    }

    /// Follows `link` from `start` to the next node, or around a loop back to the start, and appends all points on the way,
    /// including both ends. Returns the end.
    #[inline(always)]
    fn follow(&mut self, start: Cursor, link: usize, points: &mut Vec<Point>) -> Result<Cursor> {
        let mut at = start;
        let mut link = link;
        reserve(points, 1)?;
        points.push(at.point);
        loop {
            at = self.step(at, link);
            if points.len() == points.capacity() {
                reserve(points, 1)?;
            }
            if points.len().is_multiple_of(POINTS_PER_CHECK) {
                self.ticker.check()?;
            }
            points.push(at.point);
            let back = 1 << (7 - link);
            let links = self.links(at.index);
            if links.count_ones() != 2 {
                self.mark(at.index, back);
                return Ok(at);
            }
            if links & UPWARD == 0 {
                self.mark(at.index, ALL);
                if at.index == start.index {
                    return Ok(at);
                }
            }
            link = (links & !back).trailing_zeros() as usize;
        }
    }

    /// Tells whether `top`, a pixel with these two links, is the first pixel of a loop without a node. It follows both
    /// links in alternation, so the time depends on the shorter side.
    #[inline(always)]
    fn is_loop(&self, top: Cursor, links: u8) -> Result<bool> {
        let first = links.trailing_zeros() as usize;
        let mut ends = [(top, first), (top, (links & (links - 1)).trailing_zeros() as usize)];
        let mut steps = 0usize;
        loop {
            steps += 1;
            if steps.is_multiple_of(POINTS_PER_CHECK) {
                self.ticker.check()?;
            }
            for side in 0..2 {
                let (at, link) = ends[side];
                let at = self.step(at, link);
                if at.index == ends[1 - side].0.index {
                    return Ok(true);
                }
                let links = self.links(at.index);
                if at.index < top.index || links.count_ones() != 2 {
                    return Ok(false);
                }
                ends[side] = (at, (links & !(1 << (7 - link))).trailing_zeros() as usize);
            }
        }
    }
}

#[cfg(test)]
mod tests;
