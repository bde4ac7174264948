//! Tests that compare the constants and sizes of structs here with those of the kernels.

use super::launch::{
    ITERATION_WARPS, IterationContext, LOOP_WARPS, LevelSetSetup, MARK_BLOCKS, MAX_PARTS, PAPER_BLOCK, REINIT_WARPS,
    TileLists,
};
use super::marching::{DenseChunks, Marching};
use super::tables::{CONVERGENCE_BYTES, LEAD, RING, ROW_BYTES};
use crate::device::cuda::source::constant;
use crate::level_set::convergence::{SQUARES_SHIFT, SQUARES_UNIT, SWING};
use crate::level_set::plan::{SLICE_TILE, VOLUME_TILE};
use crate::level_set::scalar::{FLATNESS, ROOT_SHAPE, ROOT_START, TINY};
use crate::level_set::types::ROOT_UNIT;

const UPDATE: &str = include_str!("../../../kernels/level_set_update.cuh");
const PAPER: &str = include_str!("../../../kernels/paper/level_set.cuh");
const TILE: &str = include_str!("../../../kernels/level_set_tile.cuh");
const REST: &str = include_str!("../../../kernels/level_set_rest.cuh");
const DENSE: &str = include_str!("../../../kernels/level_set_dense.cuh");
const REINIT: &str = include_str!("../../../kernels/level_set_reinit.cuh");

#[test]
fn constants_are_the_kernels() {
    let same = |source, name, here: u64| assert_eq!(constant(source, name), here as f64, "{name}");
    same(UPDATE, "LEAD", LEAD as u64);
    same(UPDATE, "SQUARES_SHIFT", SQUARES_SHIFT.into());
    assert_eq!(1.0 / constant(UPDATE, "SQUARE_ONE"), SQUARES_UNIT);
    same(UPDATE, "ROOT_START", ROOT_START.into());
    assert_eq!(constant(UPDATE, "ROOT_UNIT"), ROOT_UNIT);
    assert_eq!(["ROOT_SHIFT", "ROOT_REST"].map(|name| constant(UPDATE, name) as f32), ROOT_SHAPE);
    assert_eq!(constant(UPDATE, "TINY") as f32, TINY);
    assert_eq!(constant(REST, "SWING"), SWING);
    same(PAPER, "PAPER_X", PAPER_BLOCK[0] as u64);
    same(PAPER, "PAPER_Y", PAPER_BLOCK[1] as u64);
    same(TILE, "TILE", VOLUME_TILE[0] as u64);
    same(TILE, "TILE_SLICE", SLICE_TILE[0] as u64);
    same(TILE, "RING", RING as u64);
    same(TILE, "MAX_PARTS", MAX_PARTS);
    same(TILE, "LOOP_WARPS", LOOP_WARPS as u64);
    same(TILE, "MARK_BLOCKS", MARK_BLOCKS.into());
    same(TILE, "ITERATION_WARPS", ITERATION_WARPS as u64);
    same(TILE, "REINIT_WARPS", REINIT_WARPS as u64);
    same(DENSE, "DENSE_COLUMNS", Marching::COLUMNS);
    same(DENSE, "DENSE_ROWS", Marching::ROWS);
    same(DENSE, "DENSE_WARPS", Marching::WARPS as u64);
    assert_eq!(["FLATNESS_MIN", "FLATNESS_MAX"].map(|name| constant(REINIT, name) as f32), FLATNESS);
}

/// The kernels assert the same sizes.
#[test]
fn structs_have_the_kernels_sizes() {
    assert_eq!([size_of::<LevelSetSetup>(), size_of::<IterationContext>(), size_of::<TileLists>()], [76, 40, 40]);
    assert_eq!([ROW_BYTES, CONVERGENCE_BYTES, size_of::<DenseChunks>()], [40, 72, 16]);
}
