//! Cycles in 2D: a smoothing is one launch, with the interpolation before it and the residuals after it.
#![allow(unsafe_code)]

use super::{Correction, Entry, Kind, Level, Own, Role, Solver};
use crate::device::cuda::failed;
use crate::edge_strength::multigrid::{COARSEST_SMOOTHINGS, MOST_STEPS};
use crate::error::Result;
use cudarc::driver::{CudaFunction, LaunchConfig};
use std::ffi::c_void;

/// Lanes and warps of a 2D smoothing's block.
const BLOCK_2D: (u32, u32, u32) = (32, 16, 1);

/// Pixels that a block writes: solving for v on large grids, for corrections on large and on small ones, and for v on
/// small ones.
const TILE_FINE: [usize; 2] = [112, 112];
const TILE_COARSE: [usize; 2] = [104, 108];
const TILE_SMALL: [usize; 2] = [104, 12];
const TILE_SMALL_OWN: [usize; 2] = [112, 16];

/// A coarse grid is large from this many large tiles on: about one for each multiprocessor.
const LARGE_TILES: usize = 100;

/// `isoline_mg_weights` in the kernels.
#[repr(C)]
#[derive(Clone, Copy)]
struct Weights([f32; MOST_STEPS]);

// SAFETY: plain floats in the layout of the kernels' struct.
unsafe impl cudarc::driver::DeviceRepr for Weights {}

impl Solver<'_> {
    pub(super) fn cycle_2d(&self, levels: &[Level], entry: Entry, change: u64) -> Result<()> {
        let Kind::Flat {
            fine_down,
            fine_guess,
            fine_up,
            fine_alone,
            small_start,
            small_guess,
            small_finish,
            coarse_down,
            coarse_up,
            small_down,
            small_up,
            coarsest_zero,
            coarsest_on,
        } = &self.kernels.kind
        else {
            unreachable!("2D kernels for a 2D field")
        };
        let last = levels.len() - 1;
        if last == 0 {
            let only = Own(&levels[0]);
            self.smooth((fine_alone, TILE_FINE), only, None, only.0.values, only.0.smoothed, 0)?;
            return self.smooth((fine_alone, TILE_FINE), only, None, only.0.smoothed, only.0.values, change);
        }
        let large = |level: &Level| tiles(level, TILE_COARSE) >= LARGE_TILES;
        let (down, up) = match (entry, large(&levels[0])) {
            (Entry::Values, true) => ((fine_down, TILE_FINE), (fine_up, TILE_FINE)),
            (Entry::Values, false) => ((small_start, TILE_SMALL_OWN), (small_finish, TILE_SMALL_OWN)),
            (_, true) => ((fine_guess, TILE_FINE), (fine_up, TILE_FINE)),
            (_, false) => ((small_guess, TILE_SMALL_OWN), (small_finish, TILE_SMALL_OWN)),
        };
        for (index, pair) in levels.windows(2).enumerate() {
            let [level, coarse] = pair else { unreachable!("windows of two") };
            if index == 0 {
                let coarse = if entry == Entry::Shape { Below::Right(coarse) } else { Below::All(coarse) };
                self.smooth(down, Own(level), Some(coarse), level.values, level.smoothed, 0)?;
            } else {
                let kernel = if large(level) { (coarse_down, TILE_COARSE) } else { (small_down, TILE_SMALL) };
                self.smooth(kernel, Correction(level), Some(Below::All(coarse)), 0, level.smoothed, 0)?;
            }
        }
        const { assert!(COARSEST_SMOOTHINGS == 2, "one into each field") };
        let coarsest = Correction(&levels[last]);
        self.smooth((coarsest_zero, TILE_SMALL), coarsest, None, 0, coarsest.0.smoothed, 0)?;
        self.smooth((coarsest_on, TILE_SMALL), coarsest, None, coarsest.0.smoothed, coarsest.0.values, 0)?;
        for (index, pair) in levels.windows(2).enumerate().rev() {
            let [level, coarse] = pair else { unreachable!("windows of two") };
            let coarse = Some(Below::All(coarse));
            if index == 0 {
                self.smooth(up, Own(level), coarse, level.smoothed, level.values, change)?;
            } else {
                let kernel = if large(level) { (coarse_up, TILE_COARSE) } else { (small_up, TILE_SMALL) };
                self.smooth(kernel, Correction(level), coarse, level.smoothed, level.values, 0)?;
            }
        }
        Ok(())
    }

    /// One launch of a 2D smoothing kernel, whose blocks write tiles of the size given with it.
    fn smooth(
        &self,
        (kernel, tile): (&CudaFunction, [usize; 2]),
        role: impl Role,
        coarse: Option<Below<'_>>,
        from: u64,
        to: u64,
        change: u64,
    ) -> Result<()> {
        let (level, right, own_weights) = role.of();
        let config =
            LaunchConfig { grid_dim: (tiles(level, tile) as u32, 1, 1), block_dim: BLOCK_2D, shared_mem_bytes: 0 };
        let mut weights = Weights([0.0; MOST_STEPS]);
        weights.0[..own_weights.len()].copy_from_slice(own_weights);
        let (coarse_values, coarse_right, coarse_shape, coarse_pitch) = match coarse {
            None => (0, 0, [0; 3], 0),
            Some(Below::All(c)) => (c.values, c.right, c.shape, c.pitch),
            Some(Below::Right(c)) => (0, c.right, c.shape, c.pitch),
        };
        let [width, height, _] = &level.shape;
        let [coarse_width, coarse_height, _] = &coarse_shape;
        let mut arguments = [
            pointer(&from),
            pointer(&to),
            pointer(&right),
            pointer(&level.mask),
            pointer(width),
            pointer(height),
            pointer(&level.pitch),
            pointer(&level.mask_pitch),
            pointer(&level.grid.lambda),
            pointer(&weights),
            pointer(&coarse_values),
            pointer(&coarse_right),
            pointer(coarse_width),
            pointer(coarse_height),
            pointer(&coarse_pitch),
            pointer(&change),
        ];
        // SAFETY: the arguments are the kernel's, in its order; fields and masks have their grid's bytes, `from` and
        // `to` are different buffers, and the pointers that are 0 belong to features that the kernel does not have.
        // The kernels begin by waiting for the launch ahead.
        unsafe {
            if self.early_launches {
                self.stream.launch_early(kernel, config, &mut arguments)
            } else {
                let (grid, block) = (config.grid_dim, config.block_dim);
                let stream = self.stream.raw().cu_stream();
                cudarc::driver::result::launch_kernel(kernel.cu_function(), grid, block, 0, stream, &mut arguments)
            }
        }
        .map_err(|e| failed("start a smoothing kernel", e))
    }
}

/// The next grid as a smoothing kernel sees it.
#[derive(Clone, Copy)]
enum Below<'a> {
    All(&'a Level),
    /// Only its right side: its values are not there yet.
    Right(&'a Level),
}

/// A kernel argument as the driver takes it.
fn pointer<T>(argument: &T) -> *mut c_void {
    std::ptr::from_ref(argument).cast_mut().cast()
}

/// How many tiles cover a grid.
fn tiles(level: &Level, tile: [usize; 2]) -> usize {
    level.grid.shape[0].div_ceil(tile[0]) * level.grid.shape[1].div_ceil(tile[1])
}
