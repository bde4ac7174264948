//! Planes of bits. They are processed 64 pixels at a time, with their neighbours.

use super::super::edge_map::EdgeMap;
use crate::error::Result;
use crate::memory::zeroed;
use std::ops::Range;

/// One bit for each pixel of a band and of some rows above and below it. Bits outside the image are 0.
pub(super) struct Plane {
    /// The first row of the band.
    start: usize,
    /// The index of the band's first word.
    inside: usize,
    stride: usize,
    /// The words of the rows, with one more word at either end, so that the first and the last pixel have neighbours.
    words: Vec<u64>,
}

impl Plane {
    pub(super) fn new(rows: &Range<usize>, halo: usize, stride: usize) -> Result<Self> {
        let words = zeroed((rows.len() + 2 * halo) * stride + 2)?;
        Ok(Self { start: rows.start, inside: 1 + halo * stride, stride, words })
    }

    /// Copies all words of a plane of the same band and halo. A clone would allocate, and end the process when out of
    /// memory.
    pub(super) fn copy_from(&mut self, other: &Self) {
        self.words.copy_from_slice(&other.words);
    }

    /// Returns the range of the words of some rows.
    fn word_range(&self, rows: &Range<usize>) -> Range<usize> {
        let start = self.inside + rows.start * self.stride - self.start * self.stride;
        start..start + rows.len() * self.stride
    }

    pub(super) fn rows(&self, rows: &Range<usize>) -> &[u64] {
        &self.words[self.word_range(rows)]
    }

    pub(super) fn rows_mut(&mut self, rows: &Range<usize>) -> &mut [u64] {
        let range = self.word_range(rows);
        &mut self.words[range]
    }

    /// Returns all words, with one more at either end.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the index among all [words](Self::words) of the band's first.
    pub(super) fn inside(&self) -> usize {
        self.inside
    }

    #[inline(always)]
    pub(super) fn around(&self, rows: &Range<usize>) -> Around<'_> {
        Around::new(&self.words, self.word_range(rows), self.stride)
    }
}

/// Rows of words with the rows above and below; of each row the words before, at and after every position.
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

    /// Returns the eight neighbours of 64 pixels, in raster order. A row's last bit is always 0, so the end of a row does
    /// not count as a neighbour of the beginning of the next.
    #[inline(always)]
    pub(super) fn neighbours(&self, i: usize) -> [u64; 8] {
        let west = |row: &[&[u64]; 3]| row[1][i] << 1 | row[0][i] >> 63;
        let east = |row: &[&[u64]; 3]| row[1][i] >> 1 | row[2][i] << 63;
        let [above, here, below] = &self.0;
        [west(above), above[1][i], east(above), west(here), east(here), west(below), below[1][i], east(below)]
    }

    /// Returns the links of 64 pixels of an edge map. A diagonal neighbour is linked only if neither common 4-neighbour is
    /// an edge.
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

    /// Tells which of 64 pixels of an edge map have one link, two links, and more.
    #[inline(always)]
    pub(super) fn link_counts(&self, i: usize) -> LinkCounts {
        // Count the links of 64 pixels at once: bit 0 of the counts, bit 1, and a bit that is set for four and more.
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

/// The result of [`Around::link_counts`].
pub(super) struct LinkCounts {
    pub(super) one: u64,
    pub(super) two: u64,
    pub(super) more: u64,
}

/// Tells which of 64 pixels are linked to pixels of a plane, and which are linked to others.
#[inline(always)]
pub(super) fn linked(map: &Around<'_>, plane: &Around<'_>, i: usize) -> (u64, u64) {
    let (mut to_set, mut to_others) = (0, 0);
    for (link, neighbour) in map.links(i).into_iter().zip(plane.neighbours(i)) {
        to_set |= link & neighbour;
        to_others |= link & !neighbour;
    }
    (to_set, to_others)
}
