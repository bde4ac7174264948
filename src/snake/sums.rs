//! Exact sums over polygons of the number of pixels, of levels and of squared levels, from prefix sums of rows (the
//! cumulated images of Perrot et al. 2011, but with exact borders).
//!
//! The sum over a polygon is a sum over its edges: in each row that an edge passes, all pixels left of the edge are added
//! if the edge runs downwards, and subtracted if it runs upwards. An edge from (x₀, y₀) down to (x₁, y₁) passes the rows y₀
//! ≤ y < y₁. The pixels left of it are those whose centres are: x < ⌈x₀ + (y + ½ − y₀)(x₁ − x₀)/(y₁ − y₀) − ½⌉.
//!
//! Stored are the levels and, for every *sector* of 32 bytes of a row, the sums over all pixels of the row before it.
//! Within a sector, sums are computed from the levels. This takes 1.5 bytes per pixel for 8-bit levels and 3 for 16-bit
//! levels, while prefix sums for every pixel would take 13 and 14 (in the paper: 20).
//!
//! All sums are 64-bit integers: exact for images of up to 2³¹ pixels of 16 bits.

use super::polygon::{Bounds, Node};
use super::territory::{Run, Territory};
use crate::device::kernels::snake::SECTOR_BYTES;
use crate::error::Result;
use crate::memory::zeroed;
use crate::progress::Ticker;
use rayon::prelude::*;
use std::ops::Range;

/// A sum over pixels: their number, the sum of their levels z, and the sum of z². The numbers are signed, because the sum
/// of an edge that runs upwards is negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct RegionSum {
    /// The number of pixels.
    pub pixels: i64,
    /// Σ z.
    pub z: i64,
    /// Σ z².
    pub zz: i64,
}

impl std::ops::Add for RegionSum {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { pixels: self.pixels + other.pixels, z: self.z + other.z, zz: self.zz + other.zz }
    }
}

impl std::ops::Sub for RegionSum {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { pixels: self.pixels - other.pixels, z: self.z - other.z, zz: self.zz - other.zz }
    }
}

impl std::iter::Sum for RegionSum {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), |a, b| a + b)
    }
}

/// The type of a level.
pub(super) trait Level: Copy + Default + Into<u32> + Send + Sync + bytemuck::Pod {
    /// The number of pixels in a sector.
    const PER_SECTOR: usize = SECTOR_BYTES / size_of::<Self>();

    /// Returns Σ z and Σ z² of some levels.
    fn sum(levels: &[Self]) -> PrefixSum {
        levels.iter().fold(PrefixSum::default(), |[z, zz], level| {
            let value = u64::from((*level).into());
            [z + value, zz + value * value]
        })
    }
}

impl Level for u8 {}
impl Level for u16 {}

/// The number of rows in a band, in which neighbouring edges are summed together: few enough for the pixels around them to
/// stay in the first-level cache.
const BAND_ROWS: i64 = 32;

/// The least work for which a thread is woken: the number of rows to sum, counted for each edge. It takes tens of
/// microseconds.
pub(super) const TASK: i64 = 4096;

/// Σ z and Σ z² over all pixels of one row that lie before a sector.
pub(super) type PrefixSum = [u64; 2];

/// An image of levels in host memory, with the prefix sums of its rows.
#[derive(Debug)]
pub(super) struct RowPrefixSums<T> {
    pub(super) width: usize,
    pub(super) height: usize,
    /// The levels, row after row, packed.
    pub(super) levels: Vec<T>,
    /// The prefix sum of each sector, row after row; each row has one more, for the sector that begins at or after the
    /// row's end.
    pub(super) prefix_sums: Vec<PrefixSum>,
}

impl<T: Level> RowPrefixSums<T> {
    /// Returns the number of prefix sums of a row. The last one is for the sector that begins at or after the row's end.
    pub(super) fn sectors(width: usize) -> usize {
        width / T::PER_SECTOR + 1
    }

    /// Calls `write_row(y, levels)` to get the levels of each row, and computes their prefix sums while they are in the
    /// cache, on the threads of the current pool, unless the ticker is cancelled.
    pub(super) fn new(
        width: usize,
        height: usize,
        ticker: &Ticker,
        write_row: impl Fn(usize, &mut [T]) + Sync,
    ) -> Result<Self> {
        let sectors = Self::sectors(width);
        let mut levels = zeroed::<T>(width * height)?;
        let mut prefix_sums = zeroed::<PrefixSum>(sectors * height)?;
        let rows = levels.par_chunks_mut(width).zip(prefix_sums.par_chunks_mut(sectors));
        rows.enumerate().for_each(|(y, (levels, prefix_sums))| {
            if ticker.is_cancelled() {
                return;
            }
            write_row(y, levels);
            let mut sum = PrefixSum::default();
            for (next, sector) in prefix_sums[1..].iter_mut().zip(levels.chunks_exact(T::PER_SECTOR)) {
                let [z, zz] = T::sum(sector);
                sum = [sum[0] + z, sum[1] + zz];
                *next = sum;
            }
        });
        ticker.check()?;
        Ok(Self { width, height, levels, prefix_sums })
    }

    /// Returns the sum over the pixels of row `y` left of corner `x`, which are pixels 0 to `x` − 1.
    pub(super) fn left_of(&self, x: i64, y: i64) -> RegionSum {
        let (x, y) = (x as usize, y as usize);
        let (sector, inside) = (x / T::PER_SECTOR, x % T::PER_SECTOR);
        let entry = y * Self::sectors(self.width) + sector;
        let row = y * self.width;
        // Complete the sum from the nearer end of the sector, if that lies within the row.
        let end = (sector + 1) * T::PER_SECTOR;
        let [z, zz] = if 2 * inside <= T::PER_SECTOR || end > self.width {
            let ([z, zz], part) = (self.prefix_sums[entry], T::sum(&self.levels[row + x - inside..row + x]));
            [z + part[0], zz + part[1]]
        } else {
            let ([z, zz], part) = (self.prefix_sums[entry + 1], T::sum(&self.levels[row + x..row + end]));
            [z - part[0], zz - part[1]]
        };
        RegionSum { pixels: x as i64, z: z as i64, zz: zz as i64 }
    }

    /// Returns the sum over the pixels of row `y` that are left of corner `x` and in `runs`, plus a number that does not
    /// depend on `x`.
    fn left_within(&self, runs: &[Run], x: i64, y: i64) -> RegionSum {
        runs.iter().map(|[from, to]| self.left_of(x.clamp(i64::from(*from), i64::from(*to)), y)).sum()
    }

    /// Returns the sums of neighbouring edges. The sum of an edge is over all pixels left of it in the rows that it passes,
    /// and negated if it runs upwards; for a polygon that runs clockwise on the screen the sums of all edges add up to the
    /// sum over the polygon. With `parallel` several threads share long edges. The edges are summed in bands of rows, so
    /// that pixels that one edge has brought into the caches can be used for the others. Before each band this asks whether
    /// to continue, because an edge may pass millions of rows. If it stops early the sums are incomplete.
    fn edges_while<const N: usize>(
        &self,
        ends: [(Node, Node); N],
        territory: Option<&Territory>,
        parallel: bool,
        proceed: impl Fn() -> bool + Sync,
    ) -> [RegionSum; N] {
        // 1. Sum every edge downwards.
        let mut edges = ends.map(|(a, b)| Rows::between(a, b));
        let (first, end) =
            edges.iter().fold((i64::MAX, 0), |(first, end), edge| (first.min(edge.y), end.max(edge.end)));
        let task = if parallel { TASK / N as i64 } else { i64::MAX };
        // Both ways of summing a row are compiled separately, so that neither slows down the other.
        let mut sums = match territory {
            None => Self::sums_of_rows(&mut edges, first..end, task, &|x, y| self.left_of(x, y), &proceed),
            Some(territory) => {
                let left = |x, y| self.left_within(territory.row(y), x, y);
                Self::sums_of_rows(&mut edges, first..end, task, &left, &proceed)
            }
        };
        // 2. Negate the edges that run upwards.
        for ((a, b), sum) in ends.iter().zip(&mut sums) {
            if a.y > b.y {
                *sum = RegionSum::default() - *sum;
            }
        }
        sums
    }

    /// Returns the sums of edges over `rows`, which contains all their rows. `left` returns the sum left of a corner of a
    /// row. More than `task` rows are divided between two threads.
    #[inline(never)]
    fn sums_of_rows<const N: usize>(
        edges: &mut [Rows; N],
        rows: Range<i64>,
        task: i64,
        left: &(impl Fn(i64, i64) -> RegionSum + Sync),
        proceed: &(impl Fn() -> bool + Sync),
    ) -> [RegionSum; N] {
        if rows.end - rows.start > task {
            let middle = (rows.start + rows.end) / 2;
            let part = |rows: Range<i64>| {
                let mut edges = edges.each_ref().map(|edge| edge.clone().within(&rows));
                Self::sums_of_rows(&mut edges, rows, task, left, proceed)
            };
            let (upper, lower) = rayon::join(|| part(rows.start..middle), || part(middle..rows.end));
            return std::array::from_fn(|index| upper[index] + lower[index]);
        }
        let mut sums = [RegionSum::default(); N];
        let mut band = rows.start;
        while band < rows.end && proceed() {
            band += BAND_ROWS;
            for (edge, sum) in edges.iter_mut().zip(&mut sums) {
                let rows = edge.end.min(band) - edge.y;
                for (x, y) in edge.take(rows.max(0) as usize) {
                    *sum = *sum + left(x, y);
                }
            }
        }
        sums
    }

    /// Returns the sums of edges, or an error if the search is cancelled.
    pub(super) fn try_edges<const N: usize>(
        &self,
        ends: [(Node, Node); N],
        territory: Option<&Territory>,
        parallel: bool,
        ticker: &Ticker,
    ) -> Result<[RegionSum; N]> {
        let sums = self.edges_while(ends, territory, parallel, || ticker.check().is_ok());
        ticker.check().map(|()| sums)
    }

    /// Returns the sum over the pixels inside a polygon that runs clockwise on the screen, unless the ticker is cancelled.
    pub(super) fn polygon(&self, nodes: &[Node], ticker: &Ticker) -> Result<RegionSum> {
        let mut sum = RegionSum::default();
        for (a, b) in nodes.iter().zip(nodes.iter().cycle().skip(1)) {
            sum = sum + self.try_edges([(*a, *b)], None, false, ticker)?[0];
        }
        Ok(sum)
    }

    /// Returns the sum over all pixels within bounds, unless the ticker is cancelled.
    pub(super) fn rectangle(&self, bounds: &Bounds, parallel: bool, ticker: &Ticker) -> Result<RegionSum> {
        let side = |x| (Node::new(x, bounds.y0), Node::new(x, bounds.y1));
        let [left, right] = self.try_edges([side(bounds.x0), side(bounds.x1)], None, parallel, ticker)?;
        Ok(right - left)
    }
}

/// An iterator over the rows that an edge passes, from the top down. It returns each row with the number of pixels left of
/// the edge, ⌈x₀ + ((2k + 1)·Δx − Δy)/(2Δy)⌉ in row k of the edge, which is updated from row to row with quotient and
/// remainder.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    x: i64,
    y: i64,
    end: i64,
    /// The numerator of the amount by which the ceiling rounded up, in [0, 2Δy).
    excess: i64,
    /// ⌊2Δx / 2Δy⌋ and the remainder.
    quotient: i64,
    remainder: i64,
    denominator: i64,
}

impl Rows {
    /// Returns the rows of the edge from `upper` to `lower`, where `upper.y` ≤ `lower.y`.
    pub(super) fn new(upper: Node, lower: Node) -> Self {
        let (dx, dy) = (i64::from(lower.x) - i64::from(upper.x), i64::from(lower.y) - i64::from(upper.y));
        let denominator = (2 * dy).max(1);
        let first = dx - dy;
        let above = -(-first).div_euclid(denominator);
        Self {
            x: i64::from(upper.x) + above,
            y: i64::from(upper.y),
            end: i64::from(lower.y),
            excess: above * denominator - first,
            quotient: (2 * dx).div_euclid(denominator),
            remainder: (2 * dx).rem_euclid(denominator),
            denominator,
        }
    }

    /// Returns the rows of the edge between two nodes, whichever is the upper one.
    pub(super) fn between(a: Node, b: Node) -> Self {
        if a.y <= b.y { Self::new(a, b) } else { Self::new(b, a) }
    }

    /// Restricts the iterator to `rows`.
    pub(super) fn within(mut self, rows: &Range<i64>) -> Self {
        let skipped = rows.start - self.y;
        if skipped > 0 {
            let excess = self.excess - skipped * self.remainder;
            self.x += skipped * self.quotient - excess.div_euclid(self.denominator);
            self.excess = excess.rem_euclid(self.denominator);
            self.y = rows.start;
        }
        self.end = self.end.min(rows.end);
        self
    }
}

impl Iterator for Rows {
    type Item = (i64, i64);

    fn next(&mut self) -> Option<(i64, i64)> {
        if self.y >= self.end {
            return None;
        }
        let item = (self.x, self.y);
        self.y += 1;
        self.x += self.quotient;
        self.excess -= self.remainder;
        if self.excess < 0 {
            self.excess += self.denominator;
            self.x += 1;
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::super::polygon::{first_crossing, normalise, random};
    use super::*;

    #[test]
    fn rows_of_an_edge_match_the_formula() {
        let mut random = random(7);
        for _ in 0..20_000 {
            let mut node = || Node::new(random(60), random(60));
            let (a, b) = (node(), node());
            let (upper, lower) = if a.y <= b.y { (a, b) } else { (b, a) };
            let dy = i64::from(lower.y - upper.y);
            let rows: Vec<_> = Rows::new(upper, lower).collect();
            assert_eq!(rows.len() as i64, dy);
            let some = i64::from(random(70) - 5)..i64::from(random(70) - 5);
            let within = rows.iter().copied().filter(|(_, y)| some.contains(y));
            assert!(Rows::between(a, b).within(&some).eq(within), "{a:?} {b:?} {some:?}");
            for (k, (x, y)) in rows.into_iter().enumerate() {
                assert_eq!(y, i64::from(upper.y) + k as i64);
                let dx = i64::from(lower.x - upper.x);
                // The smallest x whose centre is not left of the edge: (x + ½ − x₀)·2Δy ≥ (2k + 1)·Δx.
                let right = |x: i64| (2 * (x - i64::from(upper.x)) + 1) * dy >= (2 * k as i64 + 1) * dx;
                assert!(right(x) && !right(x - 1), "{upper:?} {lower:?} row {k}: {x}");
            }
        }
    }

    /// Returns whether the polygon contains a pixel's centre, by the even-odd rule of the definition.
    fn contains(nodes: &[Node], x: i64, y: i64) -> bool {
        let mut inside = false;
        for (a, b) in nodes.iter().zip(nodes.iter().cycle().skip(1)) {
            let (upper, lower) = if a.y <= b.y { (a, b) } else { (b, a) };
            if i64::from(upper.y) <= y && y < i64::from(lower.y) {
                let (dx, dy) = (i64::from(lower.x - upper.x), i64::from(lower.y - upper.y));
                let k = y - i64::from(upper.y);
                inside ^= (2 * (x - i64::from(upper.x)) + 1) * dy >= (2 * k + 1) * dx;
            }
        }
        inside
    }

    fn check_polygons<T: Level>(largest: i32, count: usize, make: impl Fn(i32) -> T) {
        const W: usize = 83;
        const H: usize = 71;
        let mut random = random(42);
        let pixels: Vec<T> = (0..W * H).map(|_| make(random(largest + 1))).collect();
        let sums = RowPrefixSums::new(W, H, &Ticker::new("test"), |y, row| row.copy_from_slice(&pixels[y * W..][..W]))
            .unwrap();
        let bounds = Bounds { x0: 0, y0: 0, x1: W as i32, y1: H as i32 };
        let mut simple = 0;
        while simple < count {
            let nodes: Vec<Node> =
                (0..3 + random(5)).map(|_| Node::new(random(W as i32 + 1), random(H as i32 + 1))).collect();
            if first_crossing(&nodes).is_some() {
                continue;
            }
            let Some(nodes) = normalise(&nodes, &bounds, 0).unwrap() else { continue };
            simple += 1;
            let mut wanted = RegionSum::default();
            for y in 0..H {
                for x in 0..W {
                    if contains(&nodes, x as i64, y as i64) {
                        let value: u32 = pixels[y * W + x].into();
                        let value = i64::from(value);
                        wanted = wanted + RegionSum { pixels: 1, z: value, zz: value * value };
                    }
                }
            }
            assert_eq!(sums.polygon(&nodes, &Ticker::new("test")).unwrap(), wanted, "{nodes:?}");
        }
    }

    #[test]
    fn sums_over_thousands_of_polygons_are_exact() {
        check_polygons::<u8>(255, 2000, |value| value as u8);
        check_polygons::<u16>(65535, 2000, |value| value as u16);
    }

    #[test]
    fn sum_over_the_whole_image_equals_its_rectangle() {
        for (w, h) in [(1usize, 1usize), (1, 9), (70_000, 2), (16, 3), (33, 1)] {
            let ticker = &Ticker::new("test");
            let sums = RowPrefixSums::<u16>::new(w, h, ticker, |_, row| row.fill(65535)).unwrap();
            let (x, y) = (w as i32, h as i32);
            let corners = [Node::new(0, 0), Node::new(x, 0), Node::new(x, y), Node::new(0, y)];
            let all = sums.polygon(&corners, ticker).unwrap();
            let count = (w * h) as i64;
            assert_eq!(all, RegionSum { pixels: count, z: 65535 * count, zz: 65535 * 65535 * count });
            let bounds = Bounds { x0: 0, y0: 0, x1: x, y1: y };
            assert!([false, true].iter().all(|parallel| sums.rectangle(&bounds, *parallel, ticker).unwrap() == all));
        }
    }
}
