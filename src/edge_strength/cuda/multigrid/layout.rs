//! The layout of the grids in device memory.

use super::super::field_layout::FieldLayout;
use crate::edge_strength::multigrid::{Grid, Operator, grids};

/// Fields in the buffer of the coarse grids start at multiples of this many bytes.
pub(super) const OFFSET_ALIGNMENT: usize = 256;

/// The largest number of cycles that are queued before the host waits; each has one word of `changes`.
pub(super) const MAX_QUEUED: usize = 8;

/// The offsets of the fields of one grid in the buffer of the coarse grids.
#[derive(Clone)]
pub(super) struct GridOffsets {
    pub(super) grid: Grid,
    pub(super) layout: FieldLayout,
    pub(super) values: usize,
    pub(super) smoothed: usize,
    pub(super) right: usize,
    /// The second field with which steps alternate, in 3D.
    pub(super) other: usize,
    pub(super) mask: usize,
}

/// The layout of the buffer that holds everything except the two fields and the mask of the finest grid.
pub(super) struct GridsLayout {
    /// The grids, finest first. Of the finest grid only `other` is in the buffer, and nothing if it is in slabs. If it is
    /// the only grid, there is another one of which only the mask is in the buffer, which shows whether there is any shape
    /// pixel.
    pub(super) grids_in_buffer: Vec<GridOffsets>,
    pub(super) grids: usize,
    pub(super) bytes: usize,
    /// The offset of the flags, one word for each grid.
    pub(super) flags: usize,
    /// The offset of the largest changes, one word for each queued cycle.
    pub(super) changes: usize,
}

impl GridsLayout {
    pub(super) fn new(shape: [usize; 3], operator: Operator, in_slabs: bool) -> Self {
        let volume = operator.is_of_volume(shape);
        let mut all = grids(shape, operator, volume);
        let count = all.len();
        if count == 1 {
            // Nothing is computed on this grid; it only shows whether there is any shape pixel, so its exact size is
            // arbitrary.
            let halved = Grid { shape: shape.map(|n| n.div_ceil(2)), ..all[0].clone() };
            all.push(halved);
        }
        let mut bytes = 0;
        let mut take = |wanted: usize| {
            let offset = bytes;
            bytes += wanted.next_multiple_of(OFFSET_ALIGNMENT);
            offset
        };
        let grids_in_buffer = all
            .into_iter()
            .enumerate()
            .map(|(index, grid)| {
                let layout = FieldLayout::new(grid.shape);
                let field = layout.value_bytes();
                let is_used = index < count;
                let coarse = if index > 0 && is_used { field } else { 0 };
                GridOffsets {
                    layout,
                    values: take(coarse),
                    smoothed: take(coarse),
                    right: take(coarse),
                    other: take(if volume && is_used && !(in_slabs && index == 0) { field } else { 0 }),
                    mask: take(if index > 0 { layout.mask_bytes() } else { 0 }),
                    grid,
                }
            })
            .collect::<Vec<_>>();
        let flags = take(grids_in_buffer.len() * size_of::<u32>());
        let changes = take(MAX_QUEUED * size_of::<u32>());
        Self { grids_in_buffer, grids: count, bytes, flags, changes }
    }
}
