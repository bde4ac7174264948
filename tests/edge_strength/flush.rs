//! The flush: after every 16th iteration values below 2⁻⁸⁰ are set to 0, so that no value becomes subnormal.

use crate::accuracy::automatic;
use crate::common::{self, cuda_and_cpu};
use crate::reference::{EQUAL, iterate_f32};
use crate::{assert_same, everywhere, iterate, strength};
use isoline::edge_strength::{Dimensions, Params, Start, Variant};
use ndarray::Array3;

/// Numbers of iterations around the first flushes, and more than a pass or a launch makes.
const COUNTS: [u64; 11] = [15, 16, 17, 31, 32, 33, 48, 50, 51, 100, 200];

/// The flush threshold, 2⁻⁸⁰.
const FLUSH_THRESHOLD: f32 = 1.0 / (1_u128 << 80) as f32;

const RHO: f64 = 64.0;
/// Pixels above this value are shape pixels.
const THRESHOLD: f64 = 0.5;
/// The starts. The second takes the pixels unscaled.
const STARTS: [Start; 2] = [Start::Mask, Start::Input(Some([0.0, 1.0]))];

/// Returns an image with shape pixels (1) on the left, and scattered values from 1e-18 to 1e-30 elsewhere.
fn specks([width, height, depth]: [usize; 3]) -> Array3<f32> {
    Array3::from_shape_fn((depth, height, width), |(z, y, x)| {
        let hash = x * 7919 + y * 104_729 + z * 1_299_709;
        match hash % 41 {
            0 if x < width / 8 => 1.0,
            1 if x > width / 4 => 10.0f32.powi(-18 - (hash / 41 % 13) as i32),
            _ => 0.0,
        }
    })
}

fn params(dimensions: Dimensions, start: Start, iterations: u64) -> Params {
    Params { start, threshold: THRESHOLD, ..iterate(dimensions, RHO, iterations) }
}

#[test]
fn arithmetic_around_each_flush_is_as_documented() {
    // The sizes take several panels, passes and tiles.
    for (dimensions, size) in [(Dimensions::Slices, [1057, 39, 1]), (Dimensions::Volume, [1057, 9, 13])] {
        let input = specks(size);
        let shape = input.mapv(|pixel| f64::from(pixel) > THRESHOLD);
        let time_step = automatic(dimensions, RHO) as f32;
        for start in STARTS {
            let first = if start == Start::Mask { shape.mapv(|on| f32::from(u8::from(on))) } else { input.clone() };
            for iterations in COUNTS {
                let expected = iterate_f32(&first, &shape, dimensions, EQUAL, RHO, time_step, iterations);
                everywhere(|context, variant, name| {
                    let got =
                        strength(context, input.view(), &Params { variant, ..params(dimensions, start, iterations) });
                    assert_same(
                        &got,
                        &expected,
                        variant,
                        &format!("{name} {size:?} {start:?} {iterations} iterations"),
                    );
                    // The scalar variant is compared only to 1e-6, and flushed values are far below that.
                    let tiny = got.iter().filter(|value| 0.0 < **value && **value < FLUSH_THRESHOLD).count();
                    let what = format!("{name} {size:?} {start:?} {iterations} iterations: {tiny} tiny values");
                    if iterations % 16 == 0 {
                        assert_eq!(tiny, 0, "{what}");
                    } else if iterations < 16 && start != Start::Mask {
                        assert!(tiny > 0, "{what}");
                    }
                });
            }
        }
    }
}

/// Tests the kernels of large slices, with widths that are and are not multiples of four.
#[test]
fn large_slices_on_cuda_around_each_flush() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    for size in [[2048, 2048, 1], [2051, 2049, 1]] {
        let input = specks(size);
        for start in STARTS {
            for iterations in COUNTS {
                let params = params(Dimensions::Slices, start, iterations);
                let expected = strength(&cpu, input.view(), &params);
                for variant in [Variant::Fused, Variant::Shared, Variant::Texture] {
                    let got = strength(&cuda, input.view(), &Params { variant, ..params.clone() });
                    common::assert_same(
                        &got,
                        &expected,
                        &format!("{variant:?} {size:?} {start:?} {iterations} iterations"),
                    );
                }
            }
        }
    }
}

/// Without the flush values would be subnormal some 100 pixels from the shape, from iteration 55 on (3D: 47), and would
/// reach 122 pixels (108) after 200 iterations.
#[test]
fn no_value_is_subnormal_and_far_values_are_0() {
    for (dimensions, [width, height, depth], far) in
        [(Dimensions::Slices, [300, 40, 1], 105), (Dimensions::Volume, [280, 7, 9], 95)]
    {
        let mut input = Array3::<u8>::zeros((depth, height, width));
        input[[depth / 2, height / 2, 3]] = 1;
        // Values are smallest just before a flush.
        for iterations in [47, 48, 63, 64, 79, 95, 111, 127, 143, 144, 159, 175, 191, 192, 199, 200] {
            everywhere(|context, variant, name| {
                let got = strength(context, input.view(), &Params { variant, ..iterate(dimensions, RHO, iterations) });
                let what = format!("{name} {dimensions:?} {iterations} iterations");
                let subnormal = got.iter().filter(|value| value.is_subnormal()).count();
                assert_eq!(subnormal, 0, "{what}: subnormal values");
                for ((_, _, x), value) in got.indexed_iter() {
                    if x < 30 {
                        assert!(*value > 0.0, "{what}: {value:e} at column {x}");
                    } else if x >= far {
                        assert!(*value == 0.0, "{what}: {value:e} at column {x}");
                    }
                }
            });
        }
    }
}
