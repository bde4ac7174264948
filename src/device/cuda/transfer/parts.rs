//! The parts of an image that are copied one by one.

use crate::error::Result;
use crate::memory::{extend, push};
use ndarray::Axis;

/// The position of a part of an image that fits into a staging buffer: its first slice, row and column. A part is whole
/// slices, rows of one slice, or a part of one row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) z: usize,
    pub(super) y: usize,
    pub(super) x: usize,
}

/// Splits `view`, whose length along `axis` is `length`, into parts of at most `most` along it, each with its first index.
fn split<V>(
    view: V,
    axis: usize,
    length: usize,
    most: usize,
    split_at: &impl Fn(V, Axis, usize) -> (V, V),
) -> Result<Vec<(usize, V)>> {
    let (mut rest, mut first, mut parts) = (view, 0, Vec::new());
    while length - first > most {
        let (part, after) = split_at(rest, Axis(axis), most);
        push(&mut parts, (first, part))?;
        (rest, first) = (after, first + most);
    }
    push(&mut parts, (first, rest))?;
    Ok(parts)
}

/// Splits a view into parts of at most `pixels` pixels each, in the order of memory.
pub(super) fn split_into_parts<V>(
    view: V,
    (depth, height, width): (usize, usize, usize),
    pixels: usize,
    split_at: &impl Fn(V, Axis, usize) -> (V, V),
) -> Result<Vec<(Place, V)>> {
    let [slices, rows, columns] = [pixels / (height * width), pixels / width, pixels].map(|most| most.max(1));
    let mut parts = Vec::new();
    for (z, slab) in split(view, 0, depth, slices, split_at)? {
        for (y, band) in split(slab, 1, height, rows, split_at)? {
            let pieces = split(band, 2, width, columns, split_at)?;
            extend(&mut parts, pieces.into_iter().map(|(x, part)| (Place { z, y, x }, part)))?;
        }
    }
    Ok(parts)
}
