//! Thinning: the copy of an edge map from which segments are extracted, with lines one pixel wide and no spurs of one pixel.
//!
//! An edge is two pixels wide or more where neighbouring gradients are equal, most often along sharp synthetic edges, and
//! each of its pixels is then a junction. So pixels are removed from the four sides in turn: north, south, west and east.
//! From each side all pixels are removed at once that have no edge neighbour on that side, are the corner of a block of 2 ×
//! 2 edge pixels on the opposite side, and whose eight neighbours stay connected without them. This joins, splits and fills
//! nothing. Pixels at the image's border are not removed from that side, so lines still reach the border. Thinning ends
//! when a round of four sides changes nothing, or after [`MAX_ROUNDS`] rounds; an area that is wider than that is not a
//! line.
//!
//! Finally, ends that are linked to a junction are removed. Such spurs remain at the corners of outlines and of wide parts,
//! and each would cut a line in two.

use super::super::edge_map::{EdgeMap, WORD};
use super::planes::{Around, Plane};
use crate::device::kernels::edge_drawing::MAX_ROUNDS;
use crate::error::Result;
use crate::memory::{collected, par_collected, zeroed};
use crate::progress::Ticker;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use std::ops::Range;

/// The number of rows in a task.
const ROWS: usize = 32;

/// Returns the thinned copy of a map.
pub(super) fn thin(map: &EdgeMap, ticker: &Ticker) -> Result<EdgeMap> {
    let arch = Arch::new();
    let bands = (0..map.height()).step_by(ROWS).map(|start| start..map.height().min(start + ROWS));
    let bands: Vec<Range<usize>> = collected(bands)?;
    // Only active bands may change. At first these are the bands that contain a block; then those that have changed in the
    // last round, and their neighbours. In all other bands `thinned` and `other` are equal.
    let mut active = par_collected(bands.par_iter().map(|rows| arch.dispatch(HasBlock { map, rows })))?;
    if !active.contains(&true) {
        let mut pruned = EdgeMap::new(map.width(), map.height())?;
        prune(arch, map, &bands, &mut pruned, ticker)?;
        return Ok(pruned);
    }
    let mut thinned = map.try_clone()?;
    let mut other = map.try_clone()?;
    for _ in 0..MAX_ROUNDS {
        let mut changed: Vec<bool> = zeroed(bands.len())?;
        thin_side::<NORTH>(arch, &thinned, &mut other, &bands, &active, &mut changed, ticker)?;
        thin_side::<SOUTH>(arch, &other, &mut thinned, &bands, &active, &mut changed, ticker)?;
        thin_side::<WEST>(arch, &thinned, &mut other, &bands, &active, &mut changed, ticker)?;
        thin_side::<EAST>(arch, &other, &mut thinned, &bands, &active, &mut changed, ticker)?;
        if !changed.contains(&true) {
            break;
        }
        for (index, active) in active.iter_mut().enumerate() {
            *active = changed[index.saturating_sub(1)..changed.len().min(index + 2)].contains(&true);
        }
    }
    prune(arch, &thinned, &bands, &mut other, ticker)?;
    Ok(other)
}

/// The sides, as quarter turns from the top.
const NORTH: usize = 0;
const EAST: usize = 1;
const SOUTH: usize = 2;
const WEST: usize = 3;

/// Removes pixels from one side: writes the active bands of `to`, and records which differ from `from`.
fn thin_side<const SIDE: usize>(
    arch: Arch,
    from: &EdgeMap,
    to: &mut EdgeMap,
    bands: &[Range<usize>],
    active: &[bool],
    changed: &mut [bool],
    ticker: &Ticker,
) -> Result<()> {
    let tasks = to.bands_mut(ROWS).zip(bands).zip(active).zip(changed).filter(|(((_, _), active), _)| **active);
    tasks.try_for_each(|(((to, rows), _), changed)| {
        ticker.check()?;
        *changed |= arch.dispatch(Side::<SIDE> { from, rows, to });
        Ok(())
    })
}

/// Tests whether a band has pixels of a block of 2 × 2 edge pixels.
struct HasBlock<'a> {
    map: &'a EdgeMap,
    rows: &'a Range<usize>,
}

impl WithSimd for HasBlock<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let around = Around::of_map(self.map, self.rows);
        let mut blocks = 0;
        for i in 0..self.rows.len() * self.map.stride() {
            let [north_west, north, north_east, west, east, south_west, south, south_east] = around.neighbours(i);
            let west = west & (north_west & north | south_west & south);
            let east = east & (north_east & north | south_east & south);
            blocks |= around.here(i) & (west | east);
        }
        blocks != 0
    }
}

/// The task that removes a band's pixels from one side. It returns true if the band has changed.
struct Side<'a, const SIDE: usize> {
    from: &'a EdgeMap,
    rows: &'a Range<usize>,
    to: &'a mut [u64],
}

impl<const SIDE: usize> WithSimd for Side<'_, SIDE> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let Self { from, rows, to } = self;
        let around = Around::of_map(from, rows);
        for (i, to) in to.iter_mut().enumerate() {
            let [north_west, north, north_east, west, east, south_west, south, south_east] = around.neighbours(i);
            let ring = [north, north_east, east, south_east, south, south_west, west, north_west];
            // Turn the neighbours so that the side becomes north.
            let [n, ne, e, se, s, sw, w, nw] = std::array::from_fn(|k| ring[(2 * SIDE + k) % 8]);
            // The neighbours are connected if, going around, exactly one open side neighbour is followed by an edge.
            let [a, b, c, d] = [!e & (ne | n), !n & (nw | w), !w & (sw | s), !s & (se | e)];
            let one_piece = (a ^ b ^ c ^ d) & !(a & b | c & d);
            let here = around.here(i);
            *to = here & !(!n & s & (w & sw | e & se) & one_piece);
        }
        let (stride, height) = (from.stride(), from.height());
        let was = &from.words()[from.first_word(rows.start)..][..to.len()];
        // Pixels at this border of the image stay.
        let column = if SIDE == EAST { from.width() - 1 } else { 0 };
        match SIDE {
            NORTH if rows.start == 0 => to[..stride].copy_from_slice(&was[..stride]),
            SOUTH if rows.end == height => {
                let last = to.len() - stride;
                to[last..].copy_from_slice(&was[last..]);
            }
            EAST | WEST => {
                for (to, was) in to.chunks_mut(stride).zip(was.chunks(stride)) {
                    to[column / WORD] |= was[column / WORD] & 1 << (column % WORD);
                }
            }
            _ => {}
        }
        to != was
    }
}

/// Writes a map without its ends that are linked to junctions.
fn prune(arch: Arch, from: &EdgeMap, bands: &[Range<usize>], to: &mut EdgeMap, ticker: &Ticker) -> Result<()> {
    to.bands_mut(ROWS).zip(bands).try_for_each(|(to, rows)| {
        ticker.check()?;
        arch.dispatch(Prune { from, rows, to })
    })
}

/// The task that removes the ends of a band that are linked to junctions.
struct Prune<'a> {
    from: &'a EdgeMap,
    rows: &'a Range<usize>,
    to: &'a mut [u64],
}

impl WithSimd for Prune<'_> {
    type Output = Result<()>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Result<()> {
        let Self { from, rows, to } = self;
        let near = rows.start.saturating_sub(1)..from.height().min(rows.end + 1);
        let mut junctions = Plane::new(rows, 1, from.stride())?;
        let around = Around::of_map(from, &near);
        for (i, junctions) in junctions.rows_mut(&near).iter_mut().enumerate() {
            *junctions = around.link_counts(i).more;
        }
        let (around, junctions) = (Around::of_map(from, rows), junctions.around(rows));
        for (i, to) in to.iter_mut().enumerate() {
            let mut to_junction = 0;
            for (link, junction) in around.links(i).into_iter().zip(junctions.neighbours(i)) {
                to_junction |= link & junction;
            }
            *to = around.here(i) & !(around.link_counts(i).one & to_junction);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
