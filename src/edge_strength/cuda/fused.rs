//! Chooses the fused kernel of the next iterations and its geometry. The constants repeat those of
//! `kernels/edge_strength_fused.cuh` and `edge_strength_fused_3d.cuh`.
#![allow(unsafe_code)]

use super::super::{FLUSH_EVERY, Plan, is_flushed};
use super::constants::MODULE;
use super::field_layout::FieldLayout;
use crate::device::cuda::{Cuda, Kernel, MAX_GRID_YZ, WARP, geometry};
use crate::error::{Error, Result};
use cudarc::driver::LaunchConfig;

/// The centre weights of one fused launch: `isoline_es_weights` in the kernels.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Weights {
    k: [f32; TILE_MAX_STEPS],
}

impl Weights {
    /// Makes the weights of the iterations of one launch, at most 16.
    pub(super) fn new(weights: &[f32]) -> Self {
        let mut k = [0.0; TILE_MAX_STEPS];
        k[..weights.len()].copy_from_slice(weights);
        Self { k }
    }
}

// SAFETY: plain floats in the layout of the kernels' struct.
unsafe impl cudarc::driver::DeviceRepr for Weights {}

/// One launch of a fused kernel.
pub(super) struct Choice<'a> {
    pub(super) kernel: &'a Kernel,
    /// The number of iterations that the launch makes.
    pub(super) steps: usize,
    /// The argument `chunk_rows`, `chunk_slices` or `levels` of the kernel.
    pub(super) argument: u32,
    /// The last argument of the tile kernel, which other kernels do not have.
    pub(super) flushed_level: Option<u32>,
    pub(super) config: LaunchConfig,
}

/// The fused kernels of a call.
pub(super) enum Fused {
    /// Large 2D images: blocks run down strips. `shape` makes the first pass from the mask alone, `flush` makes the
    /// passes whose last iteration is flushed, and `tile` makes the last few iterations.
    Stream { stream: Kernel, shape: Kernel, flush: Kernel, tile: Kernel, field: FieldLayout, multiprocessors: usize },
    /// Small 2D images: tiles only.
    Tile { tile: Kernel, field: FieldLayout },
    /// Volumes: blocks run through columns. The kernels are listed by their number of iterations, largest first;
    /// `flush` makes as many as the first kernel and flushes the last iteration.
    Volume { by_steps: Vec<(usize, Kernel)>, flush: Kernel, field: FieldLayout, multiprocessors: usize },
}

/// The number of iterations of one launch of the stream kernel.
const STREAM_STEPS: usize = 8;
/// The number of columns that a block of the stream kernel writes.
const STREAM_VALID: usize = 112;
/// The number of blocks of the stream kernel that a multiprocessor holds.
const STREAM_BLOCKS: usize = 12;

// The launches of strips come before those of tiles, so a flush is due after a launch of strips, but not after the
// first.
const _: () = assert!(FLUSH_EVERY.is_multiple_of(STREAM_STEPS) && FLUSH_EVERY > STREAM_STEPS);

/// The smallest number of rows of a chunk of the stream kernel, which also computes a halo of 16 rows.
const STREAM_MIN_ROWS: usize = 16;

/// The smallest side of an image for the stream kernel; smaller images are tiled.
const STREAM_MIN_SIDE: usize = 128;
/// The smallest number of pixels of an image for the stream kernel; smaller images are tiled.
const STREAM_MIN_PIXELS: usize = 1 << 22;

/// The side of a tile.
const TILE_SIDE: usize = 128;
/// The number of warps of a tile's block.
const TILE_WARPS: u32 = 16;
/// The largest number of iterations of one launch of tiles.
const TILE_MAX_STEPS: usize = 16;

// A launch has at most one level that is flushed.
const _: () = assert!(TILE_MAX_STEPS <= FLUSH_EVERY);

/// The side of a column of a volume.
const COLUMN_SIDE: usize = 64;
/// The number of warps of a column's block.
const COLUMN_WARPS: u32 = 8;

/// The numbers of iterations of the 3D kernels, largest first. A flush is due after a launch of the first kernel: the
/// launches of the others come after all of those, for fewer iterations than the first kernel makes.
const VOLUME_STEPS: [usize; 3] = [4, 2, 1];
const _: () = assert!(FLUSH_EVERY.is_multiple_of(VOLUME_STEPS[0]));

impl Fused {
    pub(super) fn new(cuda: &Cuda, plan: &Plan, field: FieldLayout) -> Result<Self> {
        let kernel = |name: String| cuda.kernel(MODULE, &format!("isoline_es_fused_{name}"));
        let multiprocessors = cuda.multiprocessors().max(1) as usize;
        let [width, height, _] = field.shape;
        if plan.dimensions == 3 {
            let by_steps = VOLUME_STEPS
                .into_iter()
                .map(|steps| Ok((steps, kernel(format!("3d_{steps}"))?)))
                .collect::<Result<_>>()?;
            let flush = kernel(format!("3d_{}_flush", VOLUME_STEPS[0]))?;
            return Ok(Self::Volume { by_steps, flush, field, multiprocessors });
        }
        let tile = kernel("2d_tile".into())?;
        if width.min(height) < STREAM_MIN_SIDE || width * height < STREAM_MIN_PIXELS {
            return Ok(Self::Tile { tile, field });
        }
        Ok(Self::Stream {
            stream: kernel("2d_stream".into())?,
            shape: kernel("2d_stream_shape".into())?,
            flush: kernel("2d_stream_flush".into())?,
            tile,
            field,
            multiprocessors,
        })
    }

    /// Returns the next launch after `done` iterations, with `left` iterations remaining. If `from_mask` is set (2D),
    /// the launch starts from the mask and gets no field.
    pub(super) fn choose(&self, done: usize, left: usize, from_mask: bool) -> Result<Choice<'_>> {
        match self {
            Self::Stream { stream, shape, flush, field, multiprocessors, .. } if left >= STREAM_STEPS => {
                let kernel = if from_mask {
                    shape
                } else if is_flushed(done + STREAM_STEPS) {
                    flush
                } else {
                    stream
                };
                Ok(stream_choice(kernel, *field, *multiprocessors))
            }
            Self::Stream { tile, field, .. } | Self::Tile { tile, field } => tile_choice(tile, *field, done, left),
            Self::Volume { by_steps, flush, field, multiprocessors } => {
                let (steps, kernel) = by_steps
                    .iter()
                    .find(|(steps, _)| *steps <= left)
                    .expect("there is a kernel for one iteration, and at least one is left");
                let kernel = if is_flushed(done + steps) { flush } else { kernel };
                volume_choice(kernel, *steps, *field, *multiprocessors)
            }
        }
    }
}

fn stream_choice(kernel: &Kernel, field: FieldLayout, multiprocessors: usize) -> Choice<'_> {
    let [width, height, _] = field.shape;
    let strips = width.div_ceil(STREAM_VALID);
    // There are as many chunks as fill the device once.
    let chunks = (multiprocessors * STREAM_BLOCKS / strips).max(1);
    let chunk_rows = height.div_ceil(chunks).max(STREAM_MIN_ROWS);
    Choice {
        kernel,
        steps: STREAM_STEPS,
        argument: chunk_rows as u32,
        flushed_level: None,
        config: geometry([strips * height.div_ceil(chunk_rows), 1, 1], [WARP, 1, 1]),
    }
}

fn tile_choice(kernel: &Kernel, field: FieldLayout, done: usize, left: usize) -> Result<Choice<'_>> {
    let [width, height, _] = field.shape;
    // Launches of equal numbers of iterations have the smallest halo.
    let launches = left.div_ceil(TILE_MAX_STEPS);
    let steps = left.div_ceil(launches);
    let inner = TILE_SIDE - 2 * steps.next_multiple_of(4);
    let rows = height.div_ceil(inner);
    if rows > MAX_GRID_YZ {
        return Err(Error::unsupported(format!(
            "cannot compute with the fused variant on CUDA: the image is too tall (got {width} x {height} pixels); \
             transpose it, or use the variant shared or the device cpu"
        )));
    }
    Ok(Choice {
        kernel,
        steps,
        argument: steps as u32,
        flushed_level: Some((FLUSH_EVERY - 1 - done % FLUSH_EVERY) as u32),
        config: geometry([width.div_ceil(inner), rows, 1], [WARP, TILE_WARPS, 1]),
    })
}

fn volume_choice(kernel: &Kernel, steps: usize, field: FieldLayout, multiprocessors: usize) -> Result<Choice<'_>> {
    let [width, height, depth] = field.shape;
    let inner = COLUMN_SIDE - 2 * steps.next_multiple_of(2);
    let (columns_x, columns_y) = (width.div_ceil(inner), height.div_ceil(inner));
    // While columns are few, there are as many chunks as fill the device once, but not so thin that their halo of
    // `steps` slices at both ends outweighs them. Otherwise the size of chunks keeps the halo small and the end of the
    // launch short.
    const MIN_SLICES: usize = 8;
    const SLICES: usize = 64;
    let columns = columns_x * columns_y;
    let chunk =
        if 2 * columns <= multiprocessors { depth.div_ceil(multiprocessors / columns).max(MIN_SLICES) } else { SLICES };
    let chunks = depth.div_ceil(chunk);
    if columns_y > MAX_GRID_YZ || chunks > MAX_GRID_YZ {
        return Err(Error::unsupported(format!(
            "cannot compute with the fused variant on CUDA: the volume is too long along y or z (got {width} x {height} x \
             {depth} voxels); use the variant shared or the device cpu"
        )));
    }
    Ok(Choice {
        kernel,
        steps,
        argument: chunk as u32,
        flushed_level: None,
        config: geometry([columns_x, columns_y, chunks], [WARP, COLUMN_WARPS, 1]),
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::FLUSH_THRESHOLD;
    use super::*;
    use crate::device::cuda::source::constant;

    const UPDATE: &str = include_str!("../../../kernels/edge_strength_update.cuh");
    const FUSED: &str = include_str!("../../../kernels/edge_strength_fused.cuh");
    const FUSED_3D: &str = include_str!("../../../kernels/edge_strength_fused_3d.cuh");

    /// Compares the constants that the kernels define as plain numbers.
    #[test]
    fn constants_match_the_kernels() {
        assert_eq!(constant(UPDATE, "FLUSH_THRESHOLD"), f64::from(FLUSH_THRESHOLD));
        let same = |source, name, here: usize| assert_eq!(constant(source, name), here as f64, "{name}");
        same(UPDATE, "MAX_STEPS", TILE_MAX_STEPS);
        same(FUSED, "STREAM_STEPS", STREAM_STEPS);
        same(FUSED, "STREAM_BLOCKS", STREAM_BLOCKS);
        same(FUSED, "STREAM_MIN_SIDE", STREAM_MIN_SIDE);
        same(FUSED, "FTILE_WARPS", TILE_WARPS as usize);
        same(FUSED_3D, "F3_WARPS", COLUMN_WARPS as usize);
    }
}
