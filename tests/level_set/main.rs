//! Tests of the level set through the public Rust API: analytic cases, the place where the front comes to rest, the
//! agreement of the variants, statistics and errors. All tests run on the CPU, and on a CUDA device too if there is
//! one.

mod agreement;
mod analytic;
#[path = "../common/mod.rs"]
mod common;
mod edges;
mod errors;
mod evolution;
mod order;
mod outcome;
mod pyramid;
mod range;
mod regions;
mod rest;
mod slabs;
mod sparse;
mod statistics;

use common::{Numbers, everywhere};
use isoline::level_set::{LevelSet, Params, Statistics, Variant};
use isoline::{Context, Image, Input};
use ndarray::Array3;

/// Starts a level set, which must succeed.
fn start<'a>(context: &Context, input: impl Into<Input<'a>>, mask: &Array3<u8>, params: &Params) -> LevelSet {
    LevelSet::new(context, input.into(), mask.view().into(), params).expect("a good start")
}

/// Starts a level set from a given φ.
fn start_at<'a>(context: &Context, image: impl Into<Input<'a>>, phi: &Array3<f32>, params: &Params) -> LevelSet {
    let mask = phi.mapv(|phi| u8::from(phi < 0.0));
    let mut surface = start(context, image, &mask, params);
    surface.write_phi(phi.view().into()).expect("a good phi");
    surface
}

fn mask_of(surface: &LevelSet, dim: (usize, usize, usize)) -> Array3<u8> {
    let mut mask = Array3::from_elem(dim, 7);
    surface.read_mask(mask.view_mut().into()).expect("a good read");
    mask
}

/// Returns φ. The array starts as NaN, so that an unwritten voxel is noticed.
fn phi_of(surface: &LevelSet, dim: (usize, usize, usize)) -> Array3<f32> {
    let mut phi = Array3::from_elem(dim, f32::NAN);
    surface.read_phi(phi.view_mut().into()).expect("a good read");
    phi
}

/// Returns parameters with which a run never stops before its iterations are done.
fn unstopped() -> Params {
    Params::default().without_stopping()
}

/// Returns the mask of the voxels whose centre lies within a ball; the radius is in the unit of the spacing.
fn ball(dim: (usize, usize, usize), centre: [f64; 3], radius: f64, spacing: [f64; 3]) -> Array3<u8> {
    distance_to(dim, centre, spacing).mapv(|d| if d <= radius { 255 } else { 0 })
}

/// Returns the distance of each voxel to a point (x, y, z, in pixels), in the unit of the spacing.
fn distance_to(dim: (usize, usize, usize), [cx, cy, cz]: [f64; 3], [hx, hy, hz]: [f64; 3]) -> Array3<f64> {
    Array3::from_shape_fn(dim, |(z, y, x)| {
        let [x, y, z] = [(x as f64 - cx) * hx, (y as f64 - cy) * hy, (z as f64 - cz) * hz];
        (x * x + y * y + z * z).sqrt()
    })
}

/// Returns the volume inside in voxels, computed from φ to a fraction of a voxel: the front is assumed to be flat
/// within one.
fn volume_inside(phi: &Array3<f32>, h: f64) -> f64 {
    phi.iter().map(|phi| (0.5 - f64::from(*phi) / h).clamp(0.0, 1.0)).sum()
}

/// Returns the brain of the test images, of 1 x 1 x 2 mm.
fn whole_brain() -> Array3<u8> {
    let path = common::data_folder().join("brain.tif");
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // The pixels begin at this byte of the file, see tests/data/README.md.
    let pixels = bytes[832..832 + 20 * 233 * 197].to_vec();
    Array3::from_shape_vec((20, 233, 197), pixels).expect("its size")
}

fn last(surface: &LevelSet) -> Statistics {
    *surface.statistics().last().expect("an iteration was done")
}

/// Returns the variants of a context's device.
fn variants(context: &Context) -> &'static [Variant] {
    match context.device().id.as_str() {
        "cpu" => &[Variant::Band, Variant::Dense, Variant::Scalar],
        _ => &[Variant::Band, Variant::Dense],
    }
}
