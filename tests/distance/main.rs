//! Tests of the distance through the public Rust API: the definition, analytic cases, invariants, and errors. All tests
//! run on the CPU, and on a CUDA device where there is one.

#[path = "../common/mod.rs"]
mod common;
mod cuda;
mod definition;
mod errors;
mod invariants;
mod shapes;

use common::everywhere;
use isoline::distance::{self, Params, Region};
use isoline::{Context, Dimensions, Image};
use ndarray::{Array3, ArrayView3};

/// Runs a call that must succeed. The output starts as NaN, so that an unwritten pixel is detected.
fn measure<'a>(context: &Context, mask: impl Into<Image<'a>>, params: &Params) -> Array3<f32> {
    let mask = mask.into();
    let [width, height, depth] = mask.shape();
    let mut output = Array3::from_elem((depth, height, width), f32::NAN);
    distance::run(context, mask, params, None, output.view_mut().into()).expect("a good call");
    output
}

fn spaced(spacing: [f64; 3]) -> Params {
    Params { spacing, ..Params::default() }
}

/// Computes the definition: for every pixel the nearest of all pixels of the other class.
fn by_definition(inside: ArrayView3<'_, bool>, params: &Params) -> Array3<f64> {
    let [hx, hy, hz] = params.spacing;
    let term = |h: f64, a: usize, b: usize| if a == b { 0.0 } else { (h * (a.abs_diff(b) as f64 - 0.5)).powi(2) };
    Array3::from_shape_fn(inside.dim(), |(z, y, x)| {
        let own = inside[[z, y, x]];
        let mut least = f64::INFINITY;
        for ((k, j, i), other) in inside.indexed_iter() {
            if *other != own && (params.dimensions == Dimensions::Volume || k == z) {
                least = least.min(term(hx, i, x) + term(hy, j, y) + term(hz, k, z));
            }
        }
        let distance = least.sqrt();
        match params.region {
            Region::Signed => {
                if own {
                    -distance
                } else {
                    distance
                }
            }
            Region::Outside => {
                if own {
                    0.0
                } else {
                    distance
                }
            }
            _ => {
                if own {
                    distance
                } else {
                    0.0
                }
            }
        }
    })
}

/// Pseudo-random numbers, the same every time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Returns an image of blobs of all sizes with holes and specks, 0 and 200.
fn blobs(shape: (usize, usize, usize), seed: u64) -> Array3<u8> {
    let mut numbers = Numbers(seed);
    let phase = seed as f64;
    Array3::from_shape_fn(shape, |(z, y, x)| {
        let (x, y, z) = (x as f64, y as f64, z as f64);
        let waves = (x / 17.0 + phase).sin() * (y / 13.0 + z / 9.0).cos() + (x / 41.0 - y / 53.0 + z / 7.0).sin();
        let speck = numbers.next(500) == 0;
        if (waves > 0.4) != speck { 200 } else { 0 }
    })
}

/// Fails where two distances differ by more than a relative 1e-6.
fn assert_near(got: &Array3<f32>, expected: &Array3<f64>, what: &str) {
    assert_eq!(got.dim(), expected.dim(), "{what}");
    for ((index, got), expected) in got.indexed_iter().zip(expected) {
        let near = if expected.is_infinite() {
            f64::from(*got) == *expected
        } else {
            (f64::from(*got) - expected).abs() <= 1e-6 * expected.abs()
        };
        assert!(near, "{what}: {got:e} instead of {expected:e} at {index:?}");
    }
}
