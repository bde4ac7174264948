//! Finds the pixels at which the chains of an edge map may begin, 64 at a time.
//!
//! Most chains of a real edge map have only a few points, and are dropped. Following each one just to measure its length
//! would take longer than everything else. So the pixels of short chains are excluded here by erosion and dilation along
//! the links: a few times, the pixels next to a node are removed from all chains at once, and then the remaining ones grow
//! back as many times. A chain of enough points gets all of its pixels back; nothing is left of a short one.

use super::super::edge_map::{EdgeMap, WORD, three_bits};
use super::planes::{Around, Plane, linked};
use crate::error::Result;
use crate::memory::zeroed;
use std::ops::Range;

/// The largest number of erosions. Each costs two passes over the map.
const MAX_EROSIONS: usize = 3;

/// The pixels of a band of rows at which chains may begin.
pub(super) struct Candidates {
    /// The number of words from row to row.
    stride: usize,
    /// The index of the band's first word among the map's.
    first_word: usize,
    /// The starts: nodes, and pixels whose two links both lead onward in raster order, such as the first pixel of every
    /// loop. If short chains do not count, only starts that are, or are linked to, pixels of chains that are long enough.
    starts: Vec<u64>,
    /// The number of starts before each word.
    before: Vec<usize>,
    /// The pixels with two links in chains that are long enough, from the row above the band on; `None` if all chains
    /// count.
    between: Option<Plane>,
}

impl Candidates {
    /// Finds the starts of chains of at least `min_length` points, and possibly of some shorter ones.
    #[inline(always)]
    pub(super) fn find(map: &EdgeMap, rows: Range<usize>, min_length: usize) -> Result<Self> {
        let stride = map.stride();
        // A chain of n points has at least n − 2 points between its nodes, and p erosions leave one pixel of 2·p + 1
        // successive ones.
        let erosions = (min_length.saturating_sub(3) / 2).min(MAX_EROSIONS);
        // Each pass reads one more row on either side than it computes, and the last pass computes one row beside the band.
        let halo = 2 * erosions + 1;
        let near = |by: usize| rows.start.saturating_sub(by)..map.height().min(rows.end + by);
        let mut two = Plane::new(&rows, halo, stride)?;
        find_two(map, &near(halo), two.rows_mut(&near(halo)));
        let mut starts = zeroed(rows.len() * stride)?;
        find_tops(map, &rows, two.rows(&rows), &mut starts);
        let between = if min_length < 3 {
            add_nodes(map, &rows, &two, None, &mut starts);
            None
        } else {
            let mut kept = Plane::new(&rows, halo, stride)?;
            let mut next = Plane::new(&rows, halo, stride)?;
            kept.copy_from(&two);
            for erosion in 1..=erosions {
                let near = near(halo - erosion);
                pass(map, &near, &kept, &two, next.rows_mut(&near), |here, _, to_others, _| here & !to_others);
                std::mem::swap(&mut kept, &mut next);
            }
            for dilation in 1..=erosions {
                let near = near(halo - erosions - dilation);
                pass(map, &near, &kept, &two, next.rows_mut(&near), |here, to_kept, _, two| two & (here | to_kept));
                std::mem::swap(&mut kept, &mut next);
            }
            starts.iter_mut().zip(kept.rows(&rows)).for_each(|(start, kept)| *start &= kept);
            add_nodes(map, &rows, &two, Some(&kept), &mut starts);
            Some(kept)
        };
        let mut before = zeroed(starts.len())?;
        let mut count = 0;
        for (before, word) in before.iter_mut().zip(&starts) {
            *before = count;
            count += word.count_ones() as usize;
        }
        Ok(Self { stride, first_word: map.first_word(rows.start), starts, before, between })
    }

    /// Returns the number of starts.
    pub(super) fn count(&self) -> usize {
        let last = self.starts.len() - 1;
        self.before[last] + self.starts[last].count_ones() as usize
    }

    /// Returns the starts of word `index` of the band.
    #[inline(always)]
    pub(super) fn word(&self, index: usize) -> u64 {
        self.starts[index]
    }

    /// Returns the number of a start among those of the band; `None` outside the band.
    #[inline(always)]
    pub(super) fn rank(&self, index: usize) -> Option<usize> {
        let (word, bit) = ((index / WORD).wrapping_sub(self.first_word), index % WORD);
        let starts = self.starts.get(word)?;
        Some(self.before[word] + (starts & ((1 << bit) - 1)).count_ones() as usize)
    }

    /// Returns, as bits, the neighbours of a start through which chains that are long enough may lead.
    #[inline(always)]
    pub(super) fn ways(&self, index: usize) -> u8 {
        let Some(between) = &self.between else { return u8::MAX };
        let pitch = WORD * self.stride;
        let here = index - WORD * self.first_word + WORD * between.inside();
        let three = |index| three_bits(between.words(), index) as u8;
        // The pixel itself is left out.
        three(here - pitch) | (three(here) & 1) << 3 | (three(here) & 4) << 2 | three(here + pitch) << 5
    }
}

/// Finds the pixels with exactly two links.
#[inline(always)]
fn find_two(map: &EdgeMap, rows: &Range<usize>, two: &mut [u64]) {
    let map = Around::of_map(map, rows);
    for (i, two) in two.iter_mut().enumerate() {
        *two = map.link_counts(i).two;
    }
}

/// Finds the pixels of `two` whose links both lead onward in raster order.
#[inline(always)]
fn find_tops(map: &EdgeMap, rows: &Range<usize>, two: &[u64], tops: &mut [u64]) {
    let map = Around::of_map(map, rows);
    for (i, (top, two)) in tops.iter_mut().zip(two).enumerate() {
        let links = map.links(i);
        *top = two & !(links[0] | links[1] | links[2] | links[3]);
    }
}

/// Adds nodes to the starts: all of them, or only those that are linked to kept pixels.
#[inline(always)]
fn add_nodes(map: &EdgeMap, rows: &Range<usize>, two: &Plane, kept: Option<&Plane>, starts: &mut [u64]) {
    let around_map = Around::of_map(map, rows);
    let two = two.rows(rows);
    match kept {
        None => {
            for (i, (start, two)) in starts.iter_mut().zip(two).enumerate() {
                *start |= around_map.here(i) & !two;
            }
        }
        Some(kept) => {
            let kept = kept.around(rows);
            for (i, (start, two)) in starts.iter_mut().zip(two).enumerate() {
                let (to_kept, _) = linked(&around_map, &kept, i);
                *start |= to_kept & !two;
            }
        }
    }
}

/// Computes each word of `next` from four words: `kept`, `two`, the pixels that are linked to kept ones, and the pixels
/// that are linked to others.
#[inline(always)]
fn pass(
    map: &EdgeMap,
    rows: &Range<usize>,
    kept: &Plane,
    two: &Plane,
    next: &mut [u64],
    combine: impl Fn(u64, u64, u64, u64) -> u64,
) {
    let (map, kept, two) = (Around::of_map(map, rows), kept.around(rows), two.rows(rows));
    for (i, (next, two)) in next.iter_mut().zip(two).enumerate() {
        let (to_kept, to_others) = linked(&map, &kept, i);
        *next = combine(kept.here(i), to_kept, to_others, *two);
    }
}
