//! Where the grids lie in device memory.

use crate::edge_strength::multigrid::{Grid, grids};

/// Rows start at multiples of this many floats.
const PITCH_ALIGNMENT: usize = 32;

/// One word before and one after each row of a mask.
const MASK_PADS: usize = 2;

/// Pieces of the one buffer for the coarse grids start at multiples of this many bytes.
pub(super) const PIECE_ALIGNMENT: usize = 256;

/// The most cycles queued without a look; one word of `changes` each.
pub(super) const MOST_QUEUED: usize = 8;

/// Where one grid's fields lie: offsets into the buffer for coarse grids.
#[derive(Clone)]
pub(super) struct Piece {
    pub(super) grid: Grid,
    pub(super) pitch: usize,
    pub(super) mask_pitch: usize,
    pub(super) values: usize,
    pub(super) smoothed: usize,
    pub(super) right: usize,
    /// 3D: the second buffer that steps alternate with.
    pub(super) other: usize,
    pub(super) mask: usize,
}

/// The buffer for everything but the finest grid's two fields and mask.
pub(super) struct Layout {
    /// Finest first. Of the finest only `other` is in the buffer. One more than the grids in use: its mask tells
    /// whether there is any shape.
    pub(super) pieces: Vec<Piece>,
    pub(super) grids: usize,
    pub(super) bytes: usize,
    /// One word a grid.
    pub(super) flags: usize,
    /// One word a queued cycle.
    pub(super) changes: usize,
}

impl Layout {
    pub(super) fn new(shape: [usize; 3], lambda: f64) -> Self {
        let mut all = grids(shape, lambda);
        let count = all.len();
        if count == 1 {
            // Not computed on: any halving serves to look for the shape.
            let halved = Grid { shape: shape.map(|n| n.div_ceil(2)), ..all[0].clone() };
            all.push(halved);
        }
        let mut bytes = 0;
        let mut take = |wanted: usize| {
            let offset = bytes;
            bytes += wanted.next_multiple_of(PIECE_ALIGNMENT);
            offset
        };
        let volume = shape[2] > 1;
        let pieces = all
            .into_iter()
            .enumerate()
            .map(|(index, grid)| {
                let rows = grid.shape[1] * grid.shape[2];
                let pitch = grid.shape[0].next_multiple_of(PITCH_ALIGNMENT);
                let mask_pitch = grid.shape[0].div_ceil(u32::BITS as usize) + MASK_PADS;
                let field = pitch * rows * size_of::<f32>();
                let coarse = if index > 0 { field } else { 0 };
                Piece {
                    pitch,
                    mask_pitch,
                    values: take(coarse),
                    smoothed: take(coarse),
                    right: take(coarse),
                    other: take(if volume { field } else { 0 }),
                    mask: take(if index > 0 { mask_pitch * rows * size_of::<u32>() } else { 0 }),
                    grid,
                }
            })
            .collect::<Vec<_>>();
        let flags = take(pieces.len() * size_of::<u32>());
        let changes = take(MOST_QUEUED * size_of::<u32>());
        Self { pieces, grids: count, bytes, flags, changes }
    }
}
