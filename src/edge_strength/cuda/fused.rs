//! Chooses the fused kernel of the next iterations and its geometry.

use super::super::{FLUSH_EVERY, Plan, is_flushed};
use super::constants::MODULE;
use super::field_layout::FieldLayout;
use crate::device::cuda::{Cuda, Kernel, MAX_GRID_YZ, geometry};
use crate::device::kernels::edge_strength::{
    F3_COLUMNS, F3_HEIGHT, F3_WARPS, F3_WIDTH, FTILE_HEIGHT, FTILE_WARPS, FTILE_WIDTH, MAX_STEPS, STREAM_BLOCKS,
    STREAM_MIN_SIDE, STREAM_STEPS, STREAM_VALID, TILE_COLUMNS, WARP,
};
use crate::error::{Error, Result};
use cudarc::driver::LaunchConfig;

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
    /// Small 2D images: tiles only. A launch computes several slices.
    Tile { tile: Kernel, field: FieldLayout },
    /// Volumes: blocks run through columns. The kernels are listed by their number of iterations, largest first;
    /// `flush` makes as many as the first kernel and flushes the last iteration.
    Volume { by_steps: Vec<(usize, Kernel)>, flush: Kernel, field: FieldLayout, multiprocessors: usize },
}

// The launches of strips come before those of tiles, so a flush can be due after a launch of strips, but never after the
// first one.
const _: () = assert!(FLUSH_EVERY.is_multiple_of(STREAM_STEPS) && FLUSH_EVERY > STREAM_STEPS);

/// The smallest number of rows of a chunk of the stream kernel, which also computes a halo of 16 rows.
const STREAM_MIN_ROWS: usize = 16;

/// The smallest number of pixels of an image for the stream kernel; smaller images are tiled.
const STREAM_MIN_PIXELS: usize = 1 << 22;

// A launch of tiles has at most one level that is flushed.
const _: () = assert!(MAX_STEPS <= FLUSH_EVERY);

/// The numbers of iterations of the 3D kernels, largest first. A flush is only ever due after a launch of the first kernel:
/// the other kernels are launched after all of its launches, for fewer iterations than one of them.
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
    // Use as many chunks as fill the device once.
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
    let [width, height, slices] = field.shape;
    // The total halo is smallest if all launches have the same number of iterations.
    let launches = left.div_ceil(MAX_STEPS);
    let steps = left.div_ceil(launches);
    let halo = steps.next_multiple_of(TILE_COLUMNS);
    let rows = height.div_ceil(FTILE_HEIGHT - 2 * halo);
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
        config: geometry([width.div_ceil(FTILE_WIDTH - 2 * halo), rows, slices], [WARP, FTILE_WARPS, 1]),
    })
}

fn volume_choice(kernel: &Kernel, steps: usize, field: FieldLayout, multiprocessors: usize) -> Result<Choice<'_>> {
    let [width, height, depth] = field.shape;
    let halo = steps.next_multiple_of(F3_COLUMNS);
    let (columns_x, columns_y) = (width.div_ceil(F3_WIDTH - 2 * halo), height.div_ceil(F3_HEIGHT - 2 * halo));
    // With few columns, use as many chunks as fill the device once, but keep them thicker than their halo of `steps` slices
    // at both ends. With many columns, use a fixed size that keeps the halo small and the end of the launch short.
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
        config: geometry([columns_x, columns_y, chunks], [WARP, F3_WARPS, 1]),
    })
}
