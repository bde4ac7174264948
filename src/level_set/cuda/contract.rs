//! Tests that what Rust repeats of the kernels is what they say.

use super::launch::PAPER_BLOCK;
use super::launch::{BLOCKS, Field, ITERATION_WARPS, LOOP_WARPS, Lists, PIECES, RESTEP_WARPS, Turn};
use super::marching::{Marching, Shares};
use super::tables::{CONTROL_BYTES, LEAD, RING, ROW_BYTES};
use crate::device::cuda::source::constant;
use crate::level_set::course::{SQUARES_SHIFT, SQUARES_UNIT, SWING};
use crate::level_set::plan::{SLICE_TILE, VOLUME_TILE};
use crate::level_set::scalar::{FLATNESS, ROOT_SHAPE, ROOT_START, ROOT_UNIT, TINY};

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
    same(PAPER, "PAPER_X", PAPER_BLOCK[0].into());
    same(PAPER, "PAPER_Y", PAPER_BLOCK[1].into());
    same(TILE, "TILE", VOLUME_TILE[0] as u64);
    same(TILE, "TILE_SLICE", SLICE_TILE[0] as u64);
    same(TILE, "RING", RING as u64);
    same(TILE, "MAX_PARTS", PIECES);
    same(TILE, "LOOP_WARPS", LOOP_WARPS.into());
    same(TILE, "MARK_BLOCKS", BLOCKS.into());
    same(TILE, "ITERATION_WARPS", ITERATION_WARPS.into());
    same(TILE, "REINIT_WARPS", RESTEP_WARPS.into());
    same(DENSE, "DENSE_COLUMNS", Marching::COLUMNS);
    same(DENSE, "DENSE_ROWS", Marching::ROWS);
    same(DENSE, "DENSE_WARPS", Marching::WARPS.into());
    assert_eq!(["FLATNESS_MIN", "FLATNESS_MAX"].map(|name| constant(REINIT, name) as f32), FLATNESS);
}

/// The kernels' files assert these sizes of theirs.
#[test]
fn structs_have_the_kernels_sizes() {
    assert_eq!([size_of::<Field>(), size_of::<Turn>(), size_of::<Lists>()], [76, 40, 40]);
    assert_eq!([ROW_BYTES, CONTROL_BYTES, size_of::<Shares>()], [40, 72, 16]);
}
