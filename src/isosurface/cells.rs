//! The marching cubes table: the triangles of a cell for every set of high corners and every decision about its ambiguous
//! faces. It is derived, not listed: each face has directed segments between its crossed edges, and following the segments
//! from face to face gives loops, which are divided into triangles.
//!
//! Corner 0 to 7 is at x + 2y + 4z. The edges along x, y, z are 0 to 3, 4 to 7, 8 to 11, each in the order of its first
//! corner.

use crate::device::PerProcess;
use crate::device::kernels::isosurface::{
    IS_CASES, IS_EDGES, IS_MOST_TRIANGLES, IS_TABLE_WORDS, IS_VARIANT_WORDS, IS_VARIANTS,
};
use crate::error::Result;
use crate::memory::{extend, reserved};
use std::sync::OnceLock;

/// The edges of a cell, and the number of the vertex at the mean of a loop.
pub(super) const EDGES: usize = IS_EDGES;

/// The corners of each face, counterclockwise as seen from outside the cell.
const FACES: [[u8; 4]; 6] = faces();

const fn faces() -> [[u8; 4]; 6] {
    let mut faces = [[0; 4]; 6];
    let mut face = 0;
    while face < 6 {
        let (axis, side) = (face / 2, face % 2);
        let (u, v) = (1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3));
        let around = if side == 1 { [0, u, u | v, v] } else { [0, v, u | v, u] };
        let mut place = 0;
        while place < 4 {
            faces[face][place] = around[place] | (side << axis) as u8;
            place += 1;
        }
        face += 1;
    }
    faces
}

/// Returns the first corner and the axis of an edge.
pub(super) const fn edge(index: usize) -> (usize, usize) {
    let (axis, place) = (index / 4, index % 4);
    let low = place & ((1 << axis) - 1);
    (low | (place >> axis) << (axis + 1), axis)
}

/// Returns the edge between two corners.
const fn edge_between(a: u8, b: u8) -> usize {
    let axis = (a ^ b).trailing_zeros() as usize;
    let first = (a & b) as usize;
    4 * axis + (first & ((1 << axis) - 1) | first >> (axis + 1) << axis)
}

/// A set of high corners, and its ambiguous faces.
#[derive(Clone, Copy, Default)]
struct Case {
    /// Its first variant. The others follow: bit i of a variant's number is set if ambiguous face i joins its high corners.
    first: u16,
    count: u8,
    faces: [u8; 6],
}

/// The triangles of a cell; each corner of a triangle is the number of an edge of the cell, or [`EDGES`] for the mean.
#[derive(Clone, Copy, Default)]
pub(super) struct Variant {
    count: u8,
    triangles: [[u8; 3]; IS_MOST_TRIANGLES],
    /// A bit for each crossed edge, and a bit for each edge of the loop that has a mean.
    pub(super) edges: u16,
    pub(super) mean: u16,
}

impl Variant {
    pub(super) fn triangles(&self) -> &[[u8; 3]] {
        &self.triangles[..self.count as usize]
    }

    /// Adds the triangles of a loop.
    fn add(&mut self, edges: &[u8]) {
        let turned = |first: usize, by: usize| edges[(first + by) % edges.len()];
        let in_a_face = |a: u8, b: u8| {
            let corners = |index: u8| {
                let (corner, axis) = edge(index as usize);
                1u8 << corner | 1 << (corner | 1 << axis)
            };
            let both = corners(a) | corners(b);
            FACES.iter().any(|face| both & !face.iter().fold(0, |bits, corner| bits | 1 << corner) == 0)
        };
        let is_centre = |first: &usize| (2..edges.len() - 1).all(|by| !in_a_face(edges[*first], turned(*first, by)));
        let mut add = |triangle| {
            self.triangles[self.count as usize] = triangle;
            self.count += 1;
        };
        match (0..edges.len()).filter(is_centre).min_by_key(|first| edges[*first]) {
            Some(first) => {
                (1..edges.len() - 1).for_each(|by| add([edges[first], turned(first, by), turned(first, by + 1)]))
            }
            None => {
                (0..edges.len()).for_each(|place| add([EDGES as u8, edges[place], turned(place, 1)]));
                self.mean = edges.iter().fold(0, |bits, edge| bits | 1 << edge);
            }
        }
    }
}

/// All cases and their variants.
pub(super) struct Table {
    cases: [Case; IS_CASES],
    variants: [Variant; IS_VARIANTS],
}

impl Table {
    /// Returns the table, which is made when it is first used.
    pub(super) fn get() -> &'static Self {
        static TABLE: PerProcess<OnceLock<Table>> = PerProcess::once();
        TABLE.get_or_init(Self::new)
    }

    fn new() -> Self {
        let mut table = Self { cases: [Case::default(); IS_CASES], variants: [Variant::default(); IS_VARIANTS] };
        let mut made = 0;
        for high in 0..256 {
            let case = &mut table.cases[high];
            case.first = made as u16;
            for (index, face) in FACES.iter().enumerate() {
                let [a, b, c, d] = face.map(|corner| high >> corner & 1);
                if a == c && b == d && a != b {
                    case.faces[case.count as usize] = index as u8;
                    case.count += 1;
                }
            }
            for joined in 0..1 << case.count {
                let faces = &case.faces[..case.count as usize];
                let joins =
                    |index| faces.iter().position(|face| *face == index).is_some_and(|bit| joined >> bit & 1 == 1);
                table.variants[made] = variant(high, joins);
                made += 1;
            }
        }
        debug_assert_eq!(made, IS_VARIANTS);
        table
    }

    /// Returns the table as the words for the GPU that `kernels/isosurface.h` describes.
    pub(super) fn words(&self) -> Result<Vec<u32>> {
        let case = |case: &Case| {
            let faces = case.faces[..case.count as usize].iter().fold(0, |set, face| set | 1 << face);
            u32::from(case.first) | faces << 16
        };
        let variant = |variant: &Variant| {
            let mut words = [0; IS_VARIANT_WORDS];
            words[0] = u32::from(variant.edges) | u32::from(variant.mean) << 12 | u32::from(variant.count) << 24;
            for (index, [a, b, c]) in variant.triangles().iter().map(|edges| edges.map(u32::from)).enumerate() {
                words[1 + index / 2] |= (a | b << 4 | c << 8) << (16 * (index % 2));
            }
            words
        };
        let mut words = reserved(IS_TABLE_WORDS)?;
        extend(&mut words, self.cases.iter().map(case))?;
        extend(&mut words, FACES.map(u32::from_le_bytes))?;
        extend(&mut words, self.variants.iter().flat_map(variant))?;
        debug_assert_eq!(words.len(), IS_TABLE_WORDS);
        Ok(words)
    }

    /// Returns the triangles of a cell with these bits of its high corners; `inside` returns the corner's distance from the
    /// level in pixel values, positive inside.
    #[inline]
    pub(super) fn variant(&self, high: usize, inside: impl Fn(u8) -> f64) -> &Variant {
        let case = &self.cases[high];
        let mut variant = case.first as usize;
        for (bit, face) in case.faces[..case.count as usize].iter().enumerate() {
            let corners = FACES[*face as usize];
            let [a, b, c, d] = corners.map(&inside);
            let (first, second) = (a * c, b * d);
            let joined = if high >> corners[0] & 1 == 1 { first > second } else { second > first };
            variant += usize::from(joined) << bit;
        }
        &self.variants[variant]
    }
}

/// Makes the triangles of a set of high corners; `joins` tells whether an ambiguous face, by its number, joins the high ones.
fn variant(high: usize, joins: impl Fn(u8) -> bool) -> Variant {
    let mut variant = Variant::default();
    let mut next = [None; EDGES];
    for (index, face) in FACES.iter().enumerate() {
        let is_high = |place: usize| high >> face[place % 4] & 1 == 1;
        // Going around a face, a segment begins on an edge from a low to a high corner and ends on an edge from a high to a
        // low one: the next such edge, which cuts off the high corners between, or, if the face joins its high corners, the
        // previous one, which cuts off the low corners between.
        for place in (0..4).filter(|place| !is_high(*place) && is_high(place + 1)) {
            let turns = if joins(index as u8) { [3, 2, 1] } else { [1, 2, 3] };
            let leaves = |by: &usize| is_high(place + by) && !is_high(place + by + 1);
            let by = turns.into_iter().find(leaves).expect("corners turn as often to low as to high");
            let between = |place: usize| edge_between(face[place % 4], face[(place + 1) % 4]);
            next[between(place)] = Some(between(place + by) as u8);
        }
    }
    for first in 0..EDGES {
        let mut edges = [0; EDGES];
        let mut count = 0;
        let mut at = first;
        // Following an edge removes it, so that each loop is found once.
        while let Some(to) = next[at].take() {
            edges[count] = at as u8;
            variant.edges |= 1 << at;
            count += 1;
            at = to as usize;
        }
        if count > 0 {
            variant.add(&edges[..count]);
        }
    }
    variant
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edge_in_a_cell_has_two_triangles_and_every_segment_one() {
        let mut means = 0;
        for case in 0..256 {
            let own = &Table::get().cases[case];
            for variant in &Table::get().variants[own.first as usize..][..1 << own.count] {
                let mut sides = [[0i32; EDGES + 1]; EDGES + 1];
                for triangle in variant.triangles() {
                    for at in 0..3 {
                        sides[triangle[at] as usize][triangle[(at + 1) % 3] as usize] += 1;
                    }
                }
                for a in 0..=EDGES {
                    for b in 0..a {
                        let together = a < EDGES
                            && FACES.iter().any(|face| {
                                let ends = |index| {
                                    let (corner, axis) = edge(index);
                                    [corner as u8, (corner | 1 << axis) as u8]
                                };
                                [ends(a), ends(b)].concat().iter().all(|corner| face.contains(corner))
                            });
                        let sides = [sides[a][b], sides[b][a]];
                        // A segment in a face is one side of one triangle; what is inside has two, of opposite directions.
                        let wanted = if together {
                            [[0, 0], [1, 0], [0, 1]].contains(&sides)
                        } else {
                            sides == [0, 0] || sides == [1, 1]
                        };
                        assert!(wanted, "case {case}: {sides:?} between {a} and {b}");
                    }
                }
                let crossed = (0..EDGES).filter(|index| {
                    let (corner, axis) = edge(*index);
                    case >> corner & 1 != case >> (corner | 1 << axis) & 1
                });
                assert_eq!(crossed.fold(0, |bits, edge| bits | 1 << edge), variant.edges, "case {case}");
                means += usize::from(variant.mean != 0);
            }
        }
        assert!(means > 0);
    }
}
