//! Planes of bits, worked on 64 pixels at a time with their neighbours.

use super::super::edge_map::EdgeMap;
use crate::error::Result;
use crate::image::zeroed;
use std::ops::Range;

/// A bit for each pixel of the band and of some rows around it; what is outside the image is 0.
#[derive(Clone)]
pub(super) struct Plane {
    /// The band's first row and the index of its first word.
    start: usize,
    inside: usize,
    stride: usize,
    /// A word more at either end, for the pixels beside the first and the last.
    words: Vec<u64>,
}

impl Plane {
    pub(super) fn new(rows: &Range<usize>, halo: usize, stride: usize) -> Result<Self> {
        let words = zeroed((rows.len() + 2 * halo) * stride + 2)?;
        Ok(Self { start: rows.start, inside: 1 + halo * stride, stride, words })
    }

    /// Where the words of some rows are.
    fn place(&self, rows: &Range<usize>) -> Range<usize> {
        let start = self.inside + rows.start * self.stride - self.start * self.stride;
        start..start + rows.len() * self.stride
    }

    pub(super) fn rows(&self, rows: &Range<usize>) -> &[u64] {
        &self.words[self.place(rows)]
    }

    pub(super) fn rows_mut(&mut self, rows: &Range<usize>) -> &mut [u64] {
        let place = self.place(rows);
        &mut self.words[place]
    }

    /// All words, with one more at either end.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The index among all [words](Self::words) of the band's first.
    pub(super) fn inside(&self) -> usize {
        self.inside
    }

    #[inline(always)]
    pub(super) fn around(&self, rows: &Range<usize>) -> Around<'_> {
        Around::new(&self.words, self.place(rows), self.stride)
    }
}

/// Some rows with those above and below: each as the words before, at and after.
pub(super) struct Around<'a>([[&'a [u64]; 3]; 3]);

impl<'a> Around<'a> {
    #[inline(always)]
    pub(super) fn new(words: &'a [u64], Range { start, end }: Range<usize>, stride: usize) -> Self {
        let n = end - start;
        let row = |first: usize| [&words[first - 1..][..n], &words[first..][..n], &words[first + 1..][..n]];
        Self([row(start - stride), row(start), row(start + stride)])
    }

    #[inline(always)]
    pub(super) fn of_map(map: &'a EdgeMap, rows: &Range<usize>) -> Self {
        let start = map.first_word(rows.start);
        Self::new(map.words(), start..start + rows.len() * map.stride(), map.stride())
    }

    #[inline(always)]
    pub(super) fn here(&self, i: usize) -> u64 {
        self.0[1][1][i]
    }

    /// The eight neighbours of 64 pixels, in raster order. A row's last bit is always 0, so one row's end does not show at
    /// the other's beginning.
    #[inline(always)]
    pub(super) fn neighbours(&self, i: usize) -> [u64; 8] {
        let west = |row: &[&[u64]; 3]| row[1][i] << 1 | row[0][i] >> 63;
        let east = |row: &[&[u64]; 3]| row[1][i] >> 1 | row[2][i] << 63;
        let [above, here, below] = &self.0;
        [west(above), above[1][i], east(above), west(here), east(here), west(below), below[1][i], east(below)]
    }

    /// The links of 64 pixels of an edge map: a diagonal one only where neither pixel beside it is an edge.
    #[inline(always)]
    pub(super) fn links(&self, i: usize) -> [u64; 8] {
        let [north_west, north, north_east, west, east, south_west, south, south_east] = self.neighbours(i);
        let here = self.here(i);
        [
            here & north_west & !(north | west),
            here & north,
            here & north_east & !(north | east),
            here & west,
            here & east,
            here & south_west & !(south | west),
            here & south,
            here & south_east & !(south | east),
        ]
    }

    /// Of 64 pixels of an edge map, which have one link, which two, and which more.
    #[inline(always)]
    pub(super) fn link_counts(&self, i: usize) -> LinkCounts {
        // Counts for 64 pixels at once: bit 0, bit 1, and whether there were ever four.
        let (mut ones, mut twos, mut fours) = (0, 0, 0);
        for link in self.links(i) {
            let carry = ones & link;
            ones ^= link;
            fours |= twos & carry;
            twos ^= carry;
        }
        LinkCounts { one: ones & !twos & !fours, two: twos & !ones & !fours, more: ones & twos | fours }
    }
}

/// See [`Around::link_counts`].
pub(super) struct LinkCounts {
    pub(super) one: u64,
    pub(super) two: u64,
    pub(super) more: u64,
}

/// Which of 64 pixels are linked to pixels of a plane, and which to others.
#[inline(always)]
pub(super) fn linked(map: &Around<'_>, plane: &Around<'_>, i: usize) -> (u64, u64) {
    let (mut to_set, mut to_others) = (0, 0);
    for (link, neighbour) in map.links(i).into_iter().zip(plane.neighbours(i)) {
        to_set |= link & neighbour;
        to_others |= link & !neighbour;
    }
    (to_set, to_others)
}
