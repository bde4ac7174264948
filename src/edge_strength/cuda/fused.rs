//! Which fused kernel makes the next iterations, and its geometry (`kernels/edge_strength_fused.cuh` and
//! `edge_strength_fused_3d.cuh`, whose constants are repeated here).
#![allow(unsafe_code)]

use super::super::{FLUSH_EVERY, Plan, is_flushed};
use super::field::Field;
use super::launch::{MAX_GRID_YZ, MODULE, WARP};
use crate::device::cuda::Cuda;
use crate::error::{Error, Result};
use cudarc::driver::{CudaFunction, LaunchConfig};

/// The centre weights of one fused launch: `isoline_es_weights` in the kernels.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Weights {
    k: [f32; TILE_MOST_STEPS],
}

impl Weights {
    /// Those of the iterations of one launch, at most 16.
    pub(super) fn of(weights: &[f32]) -> Self {
        let mut k = [0.0; TILE_MOST_STEPS];
        k[..weights.len()].copy_from_slice(weights);
        Self { k }
    }
}

// SAFETY: plain floats in the layout of the kernels' struct.
unsafe impl cudarc::driver::DeviceRepr for Weights {}

/// One launch of a fused kernel.
pub(super) struct Choice<'a> {
    pub(super) function: &'a CudaFunction,
    /// How many iterations it makes.
    pub(super) steps: usize,
    /// `chunk_rows`, `chunk_slices` or `levels`.
    pub(super) argument: u32,
    /// The last argument of tiles, which other kernels do not have.
    pub(super) flushed_level: Option<u32>,
    pub(super) config: LaunchConfig,
}

/// The fused kernels of a job and how it uses them.
pub(super) enum Fused {
    /// 2D, large: strips that blocks run down, `shape` for the first pass from the mask alone, `flush` for those whose last
    /// iteration is flushed, and tiles for the last few iterations.
    Stream {
        stream: CudaFunction,
        shape: CudaFunction,
        flush: CudaFunction,
        tile: CudaFunction,
        field: Field,
        multiprocessors: usize,
    },
    /// 2D, small: tiles only.
    Tile { tile: CudaFunction, field: Field },
    /// 3D: columns that blocks run through, by their number of iterations, most first; `flush` makes as many as the first
    /// and flushes the last.
    Volume { by_steps: Vec<(usize, CudaFunction)>, flush: CudaFunction, field: Field, multiprocessors: usize },
}

/// Iterations of one launch of the stream kernel, columns that a block of it writes, and the blocks that a
/// multiprocessor holds.
const STREAM_STEPS: usize = 8;
const STREAM_VALID: usize = 112;
const STREAM_BLOCKS: usize = 12;

/// Strips come before tiles, so that a flush is due after one of their launches, and not after the first.
const _: () = assert!(FLUSH_EVERY.is_multiple_of(STREAM_STEPS) && FLUSH_EVERY > STREAM_STEPS);

/// A chunk of the stream kernel has at least this many rows: its halo of 16 rows is computed as well.
const STREAM_LEAST_ROWS: usize = 16;

/// Images with a shorter side than this, or fewer pixels than that, are tiled.
const STREAM_LEAST_SIDE: usize = 128;
const STREAM_LEAST_PIXELS: usize = 1 << 22;

/// A tile's side, the warps of its block, and the most iterations of one launch.
const TILE_SIDE: usize = 128;
const TILE_WARPS: u32 = 16;
const TILE_MOST_STEPS: usize = 16;

/// A launch has one level that is flushed, or none.
const _: () = assert!(TILE_MOST_STEPS <= FLUSH_EVERY);

/// In 3D: the side of a column and the warps of its block.
const COLUMN_SIDE: usize = 64;
const COLUMN_WARPS: u32 = 8;

/// Its kernels' iterations, most first. A flush is due after one of the first kernel's launches: the others' come after
/// all of those, for fewer iterations than one has.
const VOLUME_STEPS: [usize; 3] = [4, 2, 1];
const _: () = assert!(FLUSH_EVERY.is_multiple_of(VOLUME_STEPS[0]));

impl Fused {
    pub(super) fn new(cuda: &Cuda, plan: &Plan, field: Field) -> Result<Self> {
        let function = |name: String| cuda.function(MODULE, &format!("isoline_es_fused_{name}"));
        let multiprocessors = cuda.multiprocessors().max(1) as usize;
        let [width, height, _] = field.shape;
        if plan.dimensions == 3 {
            let by_steps = VOLUME_STEPS
                .into_iter()
                .map(|steps| Ok((steps, function(format!("3d_{steps}"))?)))
                .collect::<Result<_>>()?;
            let flush = function(format!("3d_{}_flush", VOLUME_STEPS[0]))?;
            return Ok(Self::Volume { by_steps, flush, field, multiprocessors });
        }
        let tile = function("2d_tile".into())?;
        if width.min(height) < STREAM_LEAST_SIDE || width * height < STREAM_LEAST_PIXELS {
            return Ok(Self::Tile { tile, field });
        }
        Ok(Self::Stream {
            stream: function("2d_stream".into())?,
            shape: function("2d_stream_shape".into())?,
            flush: function("2d_stream_flush".into())?,
            tile,
            field,
            multiprocessors,
        })
    }

    /// The next launch when `done` iterations are done and `left` are to be done. `from_mask`: in 2D, it starts from the
    /// mask and gets no field.
    pub(super) fn choose(&self, done: usize, left: usize, from_mask: bool) -> Result<Choice<'_>> {
        match self {
            Self::Stream { stream, shape, flush, field, multiprocessors, .. } if left >= STREAM_STEPS => {
                let function = if from_mask {
                    shape
                } else if is_flushed(done + STREAM_STEPS) {
                    flush
                } else {
                    stream
                };
                Ok(stream_choice(function, *field, *multiprocessors))
            }
            Self::Stream { tile, field, .. } | Self::Tile { tile, field } => tile_choice(tile, *field, done, left),
            Self::Volume { by_steps, flush, field, multiprocessors } => {
                let (steps, function) = by_steps
                    .iter()
                    .find(|(steps, _)| *steps <= left)
                    .expect("there is a kernel for one iteration, and at least one is left");
                let function = if is_flushed(done + steps) { flush } else { function };
                volume_choice(function, *steps, *field, *multiprocessors)
            }
        }
    }
}

fn stream_choice(function: &CudaFunction, field: Field, multiprocessors: usize) -> Choice<'_> {
    let [width, height, _] = field.shape;
    let strips = width.div_ceil(STREAM_VALID);
    // As many chunks as fill the device once.
    let chunks = (multiprocessors * STREAM_BLOCKS / strips).max(1);
    let chunk_rows = height.div_ceil(chunks).max(STREAM_LEAST_ROWS);
    Choice {
        function,
        steps: STREAM_STEPS,
        argument: chunk_rows as u32,
        flushed_level: None,
        config: LaunchConfig {
            grid_dim: ((strips * height.div_ceil(chunk_rows)) as u32, 1, 1),
            block_dim: (WARP, 1, 1),
            shared_mem_bytes: 0,
        },
    }
}

fn tile_choice(function: &CudaFunction, field: Field, done: usize, left: usize) -> Result<Choice<'_>> {
    let [width, height, _] = field.shape;
    // Equal launches: the halo of each is then as small as can be.
    let launches = left.div_ceil(TILE_MOST_STEPS);
    let steps = left.div_ceil(launches);
    let inner = TILE_SIDE - 2 * steps.next_multiple_of(4);
    let rows = height.div_ceil(inner);
    if rows > MAX_GRID_YZ {
        return Err(Error::unsupported(format!(
            "an image of {width} x {height} pixels is too tall and narrow for the fused variant on CUDA; transpose it, or use the variant shared or the device cpu"
        )));
    }
    Ok(Choice {
        function,
        steps,
        argument: steps as u32,
        flushed_level: Some((FLUSH_EVERY - 1 - done % FLUSH_EVERY) as u32),
        config: LaunchConfig {
            grid_dim: (width.div_ceil(inner) as u32, rows as u32, 1),
            block_dim: (WARP, TILE_WARPS, 1),
            shared_mem_bytes: 0,
        },
    })
}

fn volume_choice(function: &CudaFunction, steps: usize, field: Field, multiprocessors: usize) -> Result<Choice<'_>> {
    let [width, height, depth] = field.shape;
    let inner = COLUMN_SIDE - 2 * steps.next_multiple_of(2);
    let (columns_x, columns_y) = (width.div_ceil(inner), height.div_ceil(inner));
    // While columns are few, as many chunks as fill the device once, but not so thin that their halo of `steps` slices
    // at both ends outweighs them; else chunks that keep the halo small and the end of the launch short.
    const LEAST_SLICES: usize = 8;
    const SLICES: usize = 64;
    let columns = columns_x * columns_y;
    let chunk = if 2 * columns <= multiprocessors {
        depth.div_ceil(multiprocessors / columns).max(LEAST_SLICES)
    } else {
        SLICES
    };
    let chunks = depth.div_ceil(chunk);
    if columns_y > MAX_GRID_YZ || chunks > MAX_GRID_YZ {
        return Err(Error::unsupported(format!(
            "a volume of {width} x {height} x {depth} pixels is too long and narrow for the fused variant on CUDA; use the variant shared or the device cpu"
        )));
    }
    Ok(Choice {
        function,
        steps,
        argument: chunk as u32,
        flushed_level: None,
        config: LaunchConfig {
            grid_dim: (columns_x as u32, columns_y as u32, chunks as u32),
            block_dim: (WARP, COLUMN_WARPS, 1),
            shared_mem_bytes: 0,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::LEAST;
    use super::*;
    use crate::device::cuda::source::constant;

    const UPDATE: &str = include_str!("../../../kernels/edge_strength_update.cuh");
    const FUSED: &str = include_str!("../../../kernels/edge_strength_fused.cuh");
    const FUSED_3D: &str = include_str!("../../../kernels/edge_strength_fused_3d.cuh");

    /// Those that the kernels give as plain numbers.
    #[test]
    fn constants_are_the_kernels() {
        assert_eq!(constant(UPDATE, "FLUSH_THRESHOLD"), f64::from(LEAST));
        let same = |source, name, here: usize| assert_eq!(constant(source, name), here as f64, "{name}");
        same(UPDATE, "MAX_STEPS", TILE_MOST_STEPS);
        same(FUSED, "STREAM_STEPS", STREAM_STEPS);
        same(FUSED, "STREAM_BLOCKS", STREAM_BLOCKS);
        same(FUSED, "STREAM_MIN_SIDE", STREAM_LEAST_SIDE);
        same(FUSED, "FTILE_WARPS", TILE_WARPS as usize);
        same(FUSED_3D, "F3_WARPS", COLUMN_WARPS as usize);
    }
}
