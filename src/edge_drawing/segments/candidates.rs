//! Where the chains of an edge map may begin, 64 pixels at a time.
//!
//! Most chains of a real edge map have a few points and are left out. To walk each only to see its length takes longer
//! than all else, so the pixels of short chains are sorted out here: pixels next to a node are taken away from all chains
//! at once, a few times, and as often what is left grows back along its links. What a chain of enough points had is there
//! again; from a short one nothing was left to grow.

use super::super::edge_map::{EdgeMap, WORD, three};
use super::planes::{Around, Plane, linked};
use crate::error::Result;
use crate::image::zeroed;
use std::ops::Range;

/// How often pixels are taken away at most. Each time costs two passes over the map.
const MOST_PEELS: usize = 3;

/// Pixels of a band of rows where chains may begin.
pub(super) struct Candidates {
    /// Words from row to row.
    stride: usize,
    /// The first word of the band among the map's.
    first_word: usize,
    /// Nodes, and pixels of two links, both onward in raster order: every loop's first pixel is one. Where short chains
    /// do not count, only those that are linked to, or are, pixels of chains long enough.
    starts: Vec<u64>,
    /// Starts before each word.
    before: Vec<usize>,
    /// Pixels of two links of chains long enough, from the row above the band on; `None` where all chains count.
    between: Option<Plane>,
}

impl Candidates {
    /// Those of chains of at least `min_length` points, and maybe of some shorter ones.
    #[inline(always)]
    pub(super) fn find(map: &EdgeMap, rows: Range<usize>, min_length: usize) -> Result<Self> {
        let stride = map.stride();
        // Of n points n − 2 or more are between nodes, and of 2·p + 1 in a row p peels leave one.
        let peels = (min_length.saturating_sub(3) / 2).min(MOST_PEELS);
        // Each pass needs one row more on either side than it gives, and the last has to give one.
        let halo = 2 * peels + 1;
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
            kept.clone_from(&two);
            for peel in 1..=peels {
                let near = near(halo - peel);
                pass(map, &near, &kept, &two, next.rows_mut(&near), |here, _, to_others, _| here & !to_others);
                std::mem::swap(&mut kept, &mut next);
            }
            for grow in 1..=peels {
                let near = near(halo - peels - grow);
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

    /// How many starts there are.
    pub(super) fn count(&self) -> usize {
        let last = self.starts.len() - 1;
        self.before[last] + self.starts[last].count_ones() as usize
    }

    /// The starts of word `index` of the band.
    #[inline(always)]
    pub(super) fn word(&self, index: usize) -> u64 {
        self.starts[index]
    }

    /// The number of a start among the band's; `None` outside the band.
    #[inline(always)]
    pub(super) fn rank(&self, place: usize) -> Option<usize> {
        let (word, bit) = ((place / WORD).wrapping_sub(self.first_word), place % WORD);
        let starts = self.starts.get(word)?;
        Some(self.before[word] + (starts & ((1 << bit) - 1)).count_ones() as usize)
    }

    /// The neighbours of a start over which chains long enough may go.
    #[inline(always)]
    pub(super) fn ways(&self, place: usize) -> u8 {
        let Some(between) = &self.between else { return u8::MAX };
        let pitch = WORD * self.stride;
        let here = place - WORD * self.first_word + WORD * between.inside();
        let three = |place| three(between.words(), place) as u8;
        // Without the pixel itself.
        three(here - pitch) | (three(here) & 1) << 3 | (three(here) & 4) << 2 | three(here + pitch) << 5
    }
}

/// Finds the pixels of two links.
#[inline(always)]
fn find_two(map: &EdgeMap, rows: &Range<usize>, two: &mut [u64]) {
    let map = Around::of_map(map, rows);
    for (i, two) in two.iter_mut().enumerate() {
        *two = map.link_counts(i).two;
    }
}

/// Finds the pixels of `two` links whose links lead onward in raster order.
#[inline(always)]
fn find_tops(map: &EdgeMap, rows: &Range<usize>, two: &[u64], tops: &mut [u64]) {
    let map = Around::of_map(map, rows);
    for (i, (top, two)) in tops.iter_mut().zip(two).enumerate() {
        let links = map.links(i);
        *top = two & !(links[0] | links[1] | links[2] | links[3]);
    }
}

/// Adds the nodes to the starts: all, or those linked to pixels that were kept.
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

/// Makes each word of `next` from those of `kept` and `two` and from which pixels are linked to kept ones, and to others.
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
