//! Tests of the edge strength through the public Rust API: accuracy against float64 and analytic references,
//! invariants, and errors. All tests run on the CPU, and on a CUDA device where there is one, in every variant.

mod accuracy;
mod axes;
#[path = "../common/mod.rs"]
mod common;
mod errors;
mod flush;
mod invariants;
mod parts;
mod reference;
mod spacing;

use common::{assert_bits, assert_close, contexts};
use isoline::edge_strength::{self, Dimensions, Mode, Params, Variant};
use isoline::{Context, Image, Report};
use ndarray::Array3;

/// A context on a device, and the variants that the device has.
struct Machine {
    context: Context,
    variants: &'static [Variant],
}

/// Returns the CPU, and a CUDA device if there is one; otherwise prints the reason.
fn machines() -> Vec<Machine> {
    let variants = |context: &Context| match context.device().id.as_str() {
        "cpu" => [Variant::Fused, Variant::Scalar].as_slice(),
        _ => &[Variant::Fused, Variant::Shared, Variant::Texture],
    };
    contexts().into_iter().map(|context| Machine { variants: variants(&context), context }).collect()
}

/// Runs `test` with every variant of every device.
fn everywhere(mut test: impl FnMut(&Context, Variant, &str)) {
    for Machine { context, variants } in machines() {
        for variant in variants {
            test(&context, *variant, &format!("{} {variant:?}", context.device().id));
        }
    }
}

/// Runs a call that must succeed. The output starts as NaN, so that an unwritten pixel is detected.
fn run<'a>(context: &Context, input: impl Into<Image<'a>>, params: &Params) -> (Array3<f32>, Report) {
    let input = input.into();
    let [width, height, depth] = input.shape();
    let mut output = Array3::from_elem((depth, height, width), f32::NAN);
    let report =
        edge_strength::run(context, input.into(), params, None, output.view_mut().into()).expect("a good call");
    (output, report)
}

fn strength<'a>(context: &Context, input: impl Into<Image<'a>>, params: &Params) -> Array3<f32> {
    run(context, input, params).0
}

/// Returns the default parameters with these changes.
fn iterate(dimensions: Dimensions, rho: f64, iterations: u64) -> Params {
    Params { dimensions, rho, mode: Mode::Iterate { iterations }, ..Params::default() }
}

/// Fails unless `got` equals `expected` bit for bit, or to 1e-6 for a variant that promises no more.
fn assert_same(got: &Array3<f32>, expected: &Array3<f32>, variant: Variant, what: &str) {
    if variant == Variant::Scalar {
        assert_close(got, &expected.mapv(f64::from), 1e-6, what);
    } else {
        common::assert_same(got, expected, what);
    }
}

/// Returns an image of any size with lines, dots and a frame with a hole, 255 on black.
fn drawing(depth: usize, height: usize, width: usize) -> Array3<u8> {
    Array3::from_shape_fn((depth, height, width), |(z, y, x)| {
        let line = (x + 2 * y + 5 * z) % 37 == 0 && (x / 16 + y / 16) % 3 == 0;
        let dot = (x * 7919 + y * 104_729 + z * 1_299_709) % 211 == 3;
        let frame = (5..14).contains(&x) && (5..14).contains(&y) && !((6..13).contains(&x) && (6..13).contains(&y));
        if line || dot || frame { 255 } else { 0 }
    })
}
