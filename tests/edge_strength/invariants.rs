//! Invariants: properties of the call that must not change the result, or must change it in a known way.

use crate::common::{Numbers, cuda_and_cpu};
use crate::{assert_bits, assert_close, assert_same, drawing, everywhere, iterate, machines, strength};
use isoline::edge_strength::{Dimensions, Foreground, Mode, Params, Start, Variant};
use isoline::{Context, Image, PixelType};
use ndarray::{Array2, Array3, ArrayView3, Axis, s};
use proptest::prelude::*;
use std::ops::ControlFlow;

const BOTH: [Dimensions; 2] = [Dimensions::Slices, Dimensions::Volume];

#[test]
fn slice_of_a_stack_equals_the_slice_alone() {
    let input = drawing(5, 70, 90);
    everywhere(|context, variant, name| {
        let params = Params { variant, ..iterate(Dimensions::Slices, 64.0, 50) };
        let stack = strength(context, input.view(), &params);
        for z in 0..5 {
            let alone = strength(context, input.slice(s![z..z + 1, .., ..]), &params);
            assert_bits(&stack.slice(s![z..z + 1, .., ..]).to_owned(), &alone, &format!("{name}, slice {z}"));
        }
        let between = strength(context, input.view(), &Params { dimensions: Dimensions::Volume, ..params });
        assert_ne!(between, stack, "{name}: the slices of a volume depend on each other");
    });
}

/// Ten slices in each launch; the last one repeats nine of those before.
#[test]
fn sanitizer_slices_of_one_launch_equal_those_of_the_cpu() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    let input = drawing(31, 140, 131);
    let (depth, height, width) = input.dim();
    let mut source = cuda.device_image(PixelType::U8, [width, height, depth]).unwrap();
    source.upload(input.view().into()).unwrap();
    let mut target = cuda.device_image(PixelType::F32, [width, height, depth]).unwrap();
    for (start, iterations) in [(Start::Mask, 0), (Start::Mask, 50), (Start::Input(None), 1), (Start::Input(None), 129)]
    {
        let params = Params { start, ..iterate(Dimensions::Slices, 64.0, iterations) };
        let expected = strength(&cpu, input.view(), &params);
        assert_same(
            &strength(&cuda, input.view(), &params),
            &expected,
            params.variant,
            &format!("host memory, {params:?}"),
        );
        let output = target.view_mut().into();
        let report = isoline::edge_strength::run(&cuda, source.view().into(), &params, None, output).unwrap();
        let got = Array3::from_shape_vec(input.raw_dim(), target.download::<f32>().unwrap()).unwrap();
        assert_same(&got, &expected, params.variant, &format!("device memory, {params:?}"));
        assert_eq!((report.slices_done, report.part_count), (depth as u64, 1));
    }
    // Those of the converged mode are solved one by one.
    let params =
        Params { mode: Mode::Converged { tolerance: 1e-4, max_cycles: 100 }, ..iterate(Dimensions::Slices, 64.0, 0) };
    let [got, expected] = [&cuda, &cpu].map(|context| strength(context, input.view(), &params));
    assert_same(&got, &expected, params.variant, "converged");
}

#[test]
fn result_is_independent_of_the_memory_layout() {
    let large = drawing(9, 80, 100);
    let views: [ArrayView3<'_, u8>; 4] = [
        large.slice(s![2..6, 10..59, 20..91]),
        large.slice(s![..;2, ..;3, ..;2]),
        large.slice(s![..;-1, ..;-1, ..;-1]),
        large.view().permuted_axes([2, 0, 1]),
    ];
    everywhere(|context, variant, name| {
        for (number, view) in views.iter().enumerate() {
            for dimensions in BOTH {
                let params = Params { variant, ..iterate(dimensions, 20.0, 25) };
                let packed = view.as_standard_layout().into_owned();
                let expected = strength(context, packed.view(), &params);
                assert_bits(&strength(context, *view, &params), &expected, &format!("{name}, view {number}"));

                // Write into every second column of a larger output; the other columns stay untouched.
                let (depth, height, width) = view.dim();
                let mut frame = Array3::from_elem((depth + 2, height + 3, 2 * width), -7.0f32);
                let target = frame.slice_mut(s![1..depth + 1, 2..height + 2, ..;2]);
                isoline::edge_strength::run(context, (*view).into(), &params, None, target.into()).unwrap();
                let written = frame.slice(s![1..depth + 1, 2..height + 2, ..;2]).to_owned();
                assert_bits(&written, &expected, &format!("{name}, view {number} into a frame"));
                let untouched = frame.iter().filter(|value| **value == -7.0).count();
                assert_eq!(untouched, frame.len() - expected.len(), "{name}: only the target is written");
            }
        }
    });
}

#[test]
fn mirrored_and_transposed_images_give_mirrored_and_transposed_results() {
    let input = drawing(6, 41, 67);
    everywhere(|context, variant, name| {
        for dimensions in BOTH {
            let params = Params { variant, ..iterate(dimensions, 64.0, 40) };
            let straight = strength(context, input.view(), &params);
            for axis in 0..3 {
                let mut mirrored = input.clone();
                mirrored.invert_axis(Axis(axis));
                let mut back = strength(context, mirrored.view(), &params);
                back.invert_axis(Axis(axis));
                assert_bits(&back, &straight, &format!("{name} {dimensions:?}, axis {axis} mirrored"));
            }
            // (l + r) + (u + d) is the same with x and y exchanged.
            let transposed = strength(context, input.view().permuted_axes([0, 2, 1]), &params);
            let back = transposed.permuted_axes([0, 2, 1]);
            assert_bits(&back, &straight, &format!("{name} {dimensions:?}, x and y exchanged"));
        }
        // In ((l + r) + (u + d)) + (f + b) z comes last: exchanging it changes the rounding, no more.
        let params = Params { variant, ..iterate(Dimensions::Volume, 64.0, 40) };
        let straight = strength(context, input.view(), &params).mapv(f64::from);
        let back = strength(context, input.view().permuted_axes([2, 1, 0]), &params).permuted_axes([2, 1, 0]);
        assert_close(&back, &straight, 1e-6, &format!("{name}, x and z exchanged"));
    });
}

#[test]
fn foreground_below_of_the_negative_equals_foreground_above() {
    let input = drawing(2, 50, 60);
    let negative = input.mapv(|pixel| 255 - pixel);
    everywhere(|context, variant, name| {
        for start in [Start::Mask, Start::Input(None)] {
            let params = Params { variant, start, threshold: 100.0, ..iterate(Dimensions::Slices, 64.0, 50) };
            let expected = strength(context, input.view(), &params);
            let below = Params { foreground: Foreground::Below, ..params };
            assert_bits(&strength(context, negative.view(), &below), &expected, name);
        }
    });
}

#[test]
fn pixel_equal_to_the_threshold_is_below() {
    let input = Array2::from_shape_vec((1, 4), vec![9u16, 10, 11, 12]).unwrap();
    everywhere(|context, variant, name| {
        let params = Params { variant, threshold: 10.0, ..iterate(Dimensions::Slices, 64.0, 0) };
        let above = strength(context, input.view(), &params);
        assert_eq!(above.as_slice().unwrap(), [0.0, 0.0, 1.0, 1.0], "{name}");
        let below = strength(context, input.view(), &Params { foreground: Foreground::Below, ..params });
        assert_eq!(below.as_slice().unwrap(), [1.0, 1.0, 0.0, 0.0], "{name}");
    });
}

/// Thresholds are beyond the pixels' range, between two pixels and equal to one; rows are narrower and wider than a
/// block of the kernels.
#[test]
fn every_threshold_gives_the_same_mask_on_every_device() {
    let cpu = Context::new("cpu").unwrap();
    let huge = f64::from(f32::MAX) * 2.0;
    let thresholds = [-huge, -1.0, -0.5, 0.0, 0.5, 99.0, 99.9, 100.0 + 1e-9, 254.0, 255.0, 255.5, 65535.0, 1e9, huge];
    for width in [5, 63, 64, 1024, 1057] {
        let bytes = Array3::from_shape_fn((1, 5, width), |(_, y, x)| ((x * 7 + y * 31) % 256) as u8);
        let words = bytes.mapv(|pixel| if pixel == 7 { u16::MAX } else { u16::from(pixel) });
        let floats = bytes.mapv(|pixel| match pixel {
            3 => f32::NAN,
            5 => f32::INFINITY,
            7 => f32::NEG_INFINITY,
            _ => f32::from(pixel) - 20.0,
        });
        let images: [Image<'_>; 3] = [bytes.view().into(), words.view().into(), floats.view().into()];
        for (image, threshold, foreground) in images.iter().flat_map(|image| {
            thresholds.iter().flat_map(move |threshold| {
                [Foreground::Above, Foreground::Below].map(|foreground| (*image, *threshold, foreground))
            })
        }) {
            // One iteration needs only the mask; no iteration also needs the field.
            for iterations in [0, 1] {
                let params = Params { threshold, foreground, ..iterate(Dimensions::Slices, 64.0, iterations) };
                let expected = strength(&cpu, image, &params);
                for machine in machines() {
                    let got = strength(&machine.context, image, &params);
                    let name = &machine.context.device().id;
                    assert_bits(&got, &expected, &format!("{name} width {width} {foreground:?} {threshold}"));
                }
            }
        }
    }
}

/// The extent of such pixels is larger than the largest float.
#[test]
fn pixels_up_to_the_largest_float_start_at_their_share_of_the_range() {
    let shares = drawing(2, 40, 150).mapv(|pixel| f64::from(pixel) / 255.0);
    let most = f64::from(f32::MAX);
    let input = shares.mapv(|share| (most * (2.0 * share - 1.0)) as f32);
    let cpu = Context::new("cpu").unwrap();
    for foreground in [Foreground::Above, Foreground::Below] {
        for (start, low) in
            [(Start::Input(None), shares.iter().copied().fold(1.0, f64::min)), (Start::Input(Some([-most, most])), 0.0)]
        {
            // No pixel is shape: the threshold is the end of the range.
            let threshold = if foreground == Foreground::Above { most } else { -most };
            let params = Params { start, threshold, foreground, ..iterate(Dimensions::Slices, 64.0, 0) };
            let high = if start == Start::Input(None) { shares.iter().copied().fold(0.0, f64::max) } else { 1.0 };
            let exact = shares.mapv(|share| (share - low) / (high - low));
            let exact = if foreground == Foreground::Above { exact } else { exact.mapv(|share| 1.0 - share) };
            let expected = strength(&cpu, input.view(), &params);
            assert_close(&expected, &exact, 1e-6, &format!("{foreground:?} {start:?}"));
            everywhere(|context, variant, name| {
                let got = strength(context, input.view(), &Params { variant, ..params });
                assert_bits(&got, &expected, &format!("{name} {foreground:?} {start:?}"));
            });
        }
    }
}

#[test]
fn a_hot_pixel_counts_no_more_than_twice_the_range() {
    let drawn = drawing(2, 40, 150);
    let [low, high] = [drawn.iter().min(), drawn.iter().max()].map(|pixel| f64::from(*pixel.unwrap()));
    let start = |range| Params { start: Start::Input(range), threshold: 1e9, ..iterate(Dimensions::Slices, 64.0, 0) };
    everywhere(|context, variant, name| {
        let of = |image: Image<'_>, range| {
            let mut output = Array3::zeros(drawn.dim());
            let params = Params { variant, ..start(range) };
            isoline::edge_strength::run(context, image.into(), &params, None, output.view_mut().into()).unwrap();
            output
        };
        let mut hot = drawn.mapv(u16::from);
        hot[[0, 3, 70]] = u16::MAX;
        let expected = of(hot.view().into(), Some([low, 2.0 * high - low]));
        assert_bits(&of(hot.view().into(), None), &expected, name);
        let mut hot = hot.mapv(f32::from);
        hot[[0, 3, 70]] = 1e30;
        assert_bits(&of(hot.view().into(), None), &expected, name);
        assert!(expected.iter().filter(|value| **value > 0.45).count() > 100, "{name}");
    });
}

#[test]
fn the_range_of_pixels_in_device_memory_is_that_of_the_host() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    let params = Params { start: Start::Input(None), threshold: 1e9, ..iterate(Dimensions::Slices, 64.0, 0) };
    let run = |context: &Context, image: Image<'_>| {
        let [width, height, depth] = image.shape();
        let mut output = Array3::<f32>::zeros((depth, height, width));
        isoline::edge_strength::run(context, image.into(), &params, None, output.view_mut().into()).unwrap();
        output
    };
    let compare = |host: Image<'_>, pixels: PixelType| {
        let mut on_device = cuda.device_image(pixels, host.shape()).unwrap();
        on_device.upload(host).unwrap();
        assert_bits(&run(&cuda, on_device.view()), &run(&cpu, host), &pixels.to_string());
    };
    // Single pixels at the ends of slices, whose neighbours in memory are in the next one.
    let mut image = drawing(3, 41, 150).mapv(u16::from);
    for (at, pixel) in [([0, 40, 149], 65535), ([1, 0, 0], 60_000), ([2, 40, 0], 0), ([1, 40, 75], 50_000)] {
        image[at] = pixel;
    }
    compare(image.view().into(), PixelType::U16);
    let mut image = image.mapv(|pixel| f32::from(pixel) * 0.3 - 70.0);
    (image[[0, 0, 149]], image[[2, 20, 75]]) = (f32::NAN, f32::NEG_INFINITY);
    compare(image.view().into(), PixelType::F32);
}

#[test]
fn equal_masks_of_every_pixel_type_give_equal_results() {
    let bytes = drawing(3, 40, 50);
    let words = bytes.mapv(|pixel| u16::from(pixel) * 257);
    let floats = bytes.mapv(|pixel| f32::from(pixel) / 255.0 - 0.5);
    everywhere(|context, variant, name| {
        for dimensions in BOTH {
            let params = Params { variant, ..iterate(dimensions, 64.0, 50) };
            let expected = strength(context, bytes.view(), &params);
            assert_bits(&strength(context, words.view(), &params), &expected, &format!("{name} u16"));
            assert_bits(&strength(context, floats.view(), &params), &expected, &format!("{name} f32"));
        }
    });
}

#[test]
fn nan_is_background_and_starts_at_0() {
    let clean = drawing(1, 40, 50).mapv(f32::from);
    // Background that starts at 0 is 255 if the dark side is the shape, and 0 if the bright side is.
    for (foreground, background) in [(Foreground::Above, 0.0), (Foreground::Below, 255.0)] {
        let holes = clean.indexed_iter().map(|((_, y, x), v)| if (x + y) % 9 == 4 { background } else { *v });
        let filled = Array3::from_shape_vec(clean.dim(), holes.collect()).unwrap();
        let holes = clean.indexed_iter().map(|((_, y, x), v)| if (x + y) % 9 == 4 { f32::NAN } else { *v });
        let broken = Array3::from_shape_vec(clean.dim(), holes.collect()).unwrap();
        everywhere(|context, variant, name| {
            for start in [Start::Mask, Start::Input(None)] {
                let params =
                    Params { variant, start, foreground, threshold: 100.0, ..iterate(Dimensions::Slices, 64.0, 30) };
                let expected = strength(context, filled.view(), &params);
                let got = strength(context, broken.view(), &params);
                assert_bits(&got, &expected, &format!("{name} {foreground:?} {start:?}"));
            }
        });
    }
}

#[test]
fn empty_shape_gives_0_and_full_shape_gives_1() {
    for (pixel, value) in [(0u8, 0.0f32), (255, 1.0)] {
        let input = Array3::from_elem((2, 33, 35), pixel);
        for dimensions in BOTH {
            let expected = Array3::from_elem(input.dim(), value);
            everywhere(|context, variant, name| {
                let params = Params { variant, ..iterate(dimensions, 64.0, 20) };
                assert_bits(&strength(context, input.view(), &params), &expected, name);
            });
            for machine in machines() {
                let mode = Mode::Converged { tolerance: 1e-6, max_cycles: 100 };
                let params = Params { mode, ..iterate(dimensions, 64.0, 0) };
                let got = strength(&machine.context, input.view(), &params);
                assert_close(&got, &expected.mapv(f64::from), 1e-5, &machine.context.device().id);
            }
        }
    }
}

#[test]
fn result_is_independent_of_the_number_of_threads() {
    for (dimensions, input) in
        [(BOTH[0], drawing(1, 300, 1300)), (BOTH[0], drawing(3, 90, 50)), (BOTH[1], drawing(60, 70, 80))]
    {
        let params = iterate(dimensions, 64.0, 70);
        let expected = strength(&Context::with_threads("cpu", 1).unwrap(), input.view(), &params);
        for threads in [2, 3, 4, 7, 16] {
            let context = Context::with_threads("cpu", threads).unwrap();
            assert_bits(&strength(&context, input.view(), &params), &expected, &format!("{threads} threads"));
        }
    }
}

#[test]
fn result_is_independent_of_callbacks_and_earlier_calls() {
    // On the CPU memory is kept from call to call, and passes write to the output directly only without a callback.
    let cases = [(BOTH[0], drawing(1, 400, 1100)), (BOTH[1], drawing(30, 70, 80)), (BOTH[0], drawing(5, 60, 50))];
    everywhere(|used, variant, name| {
        for iterations in [0, 3, 120] {
            for (dimensions, input) in &cases {
                let params = Params { variant, ..iterate(*dimensions, 64.0, iterations) };
                let fresh = Context::new(&used.device().id).unwrap();
                let expected = strength(&fresh, input.view(), &params);
                let name = format!("{name} {dimensions:?}, {iterations} iterations");
                assert_bits(&strength(used, input.view(), &params), &expected, &name);
                let mut output = Array3::from_elem(input.dim(), f32::NAN);
                let mut callback = |_: f64, _: &str| ControlFlow::Continue(());
                let target = output.view_mut().into();
                isoline::edge_strength::run(used, input.view().into(), &params, Some(&mut callback), target).unwrap();
                assert_bits(&output, &expected, &format!("{name}, with a callback"));
            }
        }
    });
}

#[test]
fn every_device_and_variant_gives_the_same_result() {
    let cpu = Context::new("cpu").unwrap();
    for (dimensions, input) in [(BOTH[0], drawing(2, 517, 1031)), (BOTH[1], drawing(40, 90, 133))] {
        let grey = Start::Input(Some([-20.0, 300.0]));
        for (rho, time_step, start) in [(0.7, None, grey), (64.0, Some(0.1), Start::Mask), (5000.0, None, grey)] {
            let params = Params { time_step, start, ..iterate(dimensions, rho, 200) };
            let expected = strength(&cpu, input.view(), &params);
            everywhere(|context, variant, name| {
                let got = strength(context, input.view(), &Params { variant, ..params.clone() });
                assert_same(&got, &expected, variant, &format!("{name} {dimensions:?} rho {rho}"));
            });
        }
    }
}

#[test]
fn more_iterations_and_a_larger_rho_reach_further() {
    // From 0 values only rise: the iteration is monotone, and the initial values are below the steady state.
    let input = drawing(1, 60, 60);
    everywhere(|context, variant, name| {
        let at = |rho, iterations| {
            strength(context, input.view(), &Params { variant, ..iterate(Dimensions::Slices, rho, iterations) })
        };
        let (few, many, far) = (at(8.0, 10), at(8.0, 60), at(64.0, 60));
        assert!(few.iter().zip(&many).all(|(few, many)| few <= many) && few != many, "{name}");
        assert!(many.iter().zip(&far).all(|(near, far)| near <= far) && many != far, "{name}");
    });
}

#[test]
fn largest_time_step_keeps_an_isolated_pixel_from_going_below_0() {
    // The worst case is an isolated pixel at 1 that the largest step lowers to 0, where any rounding up of Δt or of a
    // centre weight gives a negative value.
    let mut input = Array3::zeros((1, 21, 21));
    input[[0, 10, 10]] = 255u8;
    everywhere(|context, variant, name| {
        for step in 0..120 {
            let rho = 0.3 * 1.1f64.powi(step);
            for iterations in [1, 2, 7] {
                let params = Params {
                    variant,
                    start: Start::Input(None),
                    threshold: 255.0,
                    time_step: Some(1.0 / (4.0 + 1.0 / (rho * rho))),
                    ..iterate(Dimensions::Slices, rho, iterations)
                };
                let got = strength(context, input.view(), &params);
                let worst = got.iter().copied().fold(0.0, f32::min);
                assert!(worst >= 0.0, "{name}: {worst:e} at rho {rho} after {iterations} iterations");
                assert!(got.iter().all(|value| *value <= 1.0), "{name}");
            }
        }
    });
}

/// The smallest ρ has the largest 1/ρ², and the 1/ρ² of a large ρ is lost in 32 bits.
#[test]
fn extreme_rho_gives_finite_values() {
    for dimensions in BOTH {
        let input = drawing(3, 21, 26);
        let neighbours = if dimensions == Dimensions::Slices { 4.0 } else { 6.0 };
        for rho in [1e-18, 1e-12, 1e-3, 1e8, 1e22, 1e155, f64::MAX] {
            let limit = 1.0 / (neighbours + (rho * rho).recip());
            let start = Start::Input(Some([-30.0, 200.0]));
            for time_step in [None, Some(limit), Some(1e-3 * limit)] {
                let params = Params { time_step, start, ..iterate(dimensions, rho, 40) };
                everywhere(|context, variant, name| {
                    let got = strength(context, input.view(), &Params { variant, ..params.clone() });
                    let what = format!("{name} {dimensions:?} rho {rho:e} {time_step:?}");
                    for (value, pixel) in got.iter().zip(&input) {
                        assert!(!value.is_sign_negative() && *value <= 1.0, "{what}: {value:e}");
                        assert!(*pixel == 0 || *value == 1.0, "{what}: a shape pixel is {value:e}");
                    }
                });
            }
            // With a small ρ values are 0 outside the shape, with a large ρ they are 1 everywhere.
            let mode = Mode::Converged { tolerance: 1e-5, max_cycles: 100 };
            let off = if rho < 1.0 { 0.0 } else { 1.0 };
            let expected = input.mapv(|pixel| if pixel == 0 { off } else { 1.0 });
            for machine in machines() {
                let got = strength(&machine.context, input.view(), &Params { mode, ..iterate(dimensions, rho, 0) });
                let what = format!("{} {dimensions:?} rho {rho:e}, converged", machine.context.device().id);
                assert_close(&got, &expected, 1e-4, &what);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Tests every accepted Δt, up to the limit itself, with any initial values in 0..1.
    #[test]
    fn values_stay_between_0_and_1(
        seed in any::<u64>(),
        size in [1usize..40, 1..40, 1..6],
        density in 0.0..1.0f64,
        rho in prop_oneof![0.05..2.0f64, 2.0..100.0, 100.0..5000.0],
        share in prop_oneof![Just(1.0f64), 0.01..1.0],
        grey in any::<bool>(),
        volume in any::<bool>(),
        iterations in 0u64..80,
    ) {
        let mut numbers = Numbers(seed);
        let value = || numbers.next(1 << 24) as f32 / (1u64 << 24) as f32;
        let input = Array3::from_shape_simple_fn((size[2], size[1], size[0]), value);
        let dimensions = if volume { Dimensions::Volume } else { Dimensions::Slices };
        let limit = 1.0 / (if volume { 6.0 } else { 4.0 } + 1.0 / (rho * rho));
        let params = Params {
            time_step: Some(share * limit),
            threshold: 1.0 - density,
            start: if grey { Start::Input(Some([0.2, 0.8])) } else { Start::Mask },
            ..iterate(dimensions, rho, iterations)
        };
        for machine in machines() {
            for variant in machine.variants {
                let got = strength(&machine.context, input.view(), &Params { variant: *variant, ..params.clone() });
                for (value, pixel) in got.iter().zip(&input) {
                    prop_assert!((0.0..=1.0).contains(value), "{:?}: {value:e}", variant);
                    prop_assert!(*value == 1.0 || f64::from(*pixel) <= 1.0 - density, "a shape pixel is {value}");
                }
            }
        }
    }

    /// Tests that any size on any number of threads gives the bits of one thread.
    #[test]
    fn any_size_is_independent_of_the_number_of_threads(
        size in [1usize..400, 1..60, 1..12],
        threads in 1usize..9,
        volume in any::<bool>(),
        iterations in 0u64..50,
    ) {
        let input = drawing(size[2], size[1], size[0]);
        let dimensions = if volume { Dimensions::Volume } else { Dimensions::Slices };
        let params = iterate(dimensions, 30.0, iterations);
        let one = strength(&Context::with_threads("cpu", 1).unwrap(), input.view(), &params);
        let many = strength(&Context::with_threads("cpu", threads).unwrap(), input.view(), &params);
        assert_bits(&many, &one, &format!("{threads} threads"));
        let plain = strength(&Context::new("cpu").unwrap(), input.view(), &Params { variant: Variant::Scalar, ..params });
        assert_close(&many, &plain.mapv(f64::from), 1e-6, "scalar");
    }
}
