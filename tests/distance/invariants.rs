//! Invariants: properties of the call that must not change the distance, or must change it in a known way.

use super::common::photograph;
use super::*;
use isoline::ImageMut;
use ndarray::{Axis, ShapeBuilder, s};
use std::ops::ControlFlow;

fn masks() -> [Array3<u8>; 4] {
    [blobs((17, 40, 51), 1), blobs((1, 133, 97), 2), blobs((70, 5, 19), 3), blobs((2, 3, 300), 4)]
}

const SPACING: [f64; 3] = [0.8, 1.1, 2.5];

#[test]
fn inverted_mask_has_the_opposite_sign() {
    everywhere(|context, device| {
        for mask in masks() {
            let got = measure(context, mask.view(), &spaced(SPACING));
            let other = measure(context, mask.mapv(|pixel| u8::from(pixel == 0)).view(), &spaced(SPACING));
            assert_eq!(got, other.mapv(|value| -value), "{device}");
        }
    });
}

#[test]
fn mirrored_mask_has_the_mirrored_distance() {
    everywhere(|context, device| {
        for mask in masks() {
            let expected = measure(context, mask.view(), &spaced(SPACING)).mapv(f64::from);
            for axis in 0..3 {
                let mut mirrored = mask.clone();
                mirrored.invert_axis(Axis(axis));
                // Both a view with negative strides and a packed copy are tested.
                for mask in [mirrored.clone(), mirrored.as_standard_layout().into_owned()] {
                    let mut got = measure(context, mask.view(), &spaced(SPACING));
                    got.invert_axis(Axis(axis));
                    assert_near(&got, &expected, &format!("axis {axis} on {device}"));
                }
            }
        }
    });
}

#[test]
fn permuted_axes_with_their_spacing_permute_the_distance() {
    everywhere(|context, device| {
        for mask in masks() {
            let expected = measure(context, mask.view(), &spaced(SPACING)).mapv(f64::from);
            for order in [[0, 2, 1], [1, 0, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
                // The axes of ndarray are z, y, x.
                let moved = mask.view().permuted_axes(order).as_standard_layout().into_owned();
                let spacing = [2, 1, 0].map(|axis: usize| SPACING[2 - order[axis]]);
                let got = measure(context, moved.view(), &spaced(spacing));
                let expected = expected.view().permuted_axes(order).as_standard_layout().into_owned();
                assert_near(&got, &expected, &format!("{order:?} on {device}"));
            }
        }
    });
}

#[test]
fn distance_has_the_unit_of_the_spacing() {
    everywhere(|context, device| {
        for mask in masks() {
            let expected = measure(context, mask.view(), &spaced(SPACING)).mapv(|value| f64::from(value) * 1e-6);
            let got = measure(context, mask.view(), &spaced(SPACING.map(|h| h * 1e-6)));
            assert_near(&got, &expected, device);
        }
    });
}

#[test]
fn slice_of_a_stack_equals_the_slice_alone() {
    everywhere(|context, device| {
        for mask in masks() {
            let params = Params { dimensions: Dimensions::Slices, ..spaced(SPACING) };
            let stack = measure(context, mask.view(), &params);
            for (z, slice) in mask.outer_iter().enumerate() {
                let alone = measure(context, slice, &params);
                assert_eq!(alone.index_axis(Axis(0), 0), stack.index_axis(Axis(0), z), "slice {z} on {device}");
                // A single slice equals a volume of one slice.
                let volume = measure(context, slice, &spaced([SPACING[0], SPACING[1], 100.0]));
                assert_eq!(alone, volume, "slice {z} on {device}");
            }
        }
    });
}

#[test]
fn slices_ignore_the_z_spacing() {
    everywhere(|context, device| {
        // Some images have one pixel along x or y, because the CPU moves such axes.
        for shape in [(5, 40, 51), (3, 1, 60), (3, 60, 1), (2, 1, 1)] {
            let mask = blobs(shape, 5);
            let slices = |spacing| Params { dimensions: Dimensions::Slices, ..spaced(spacing) };
            for [hx, hy] in [[1.0, 1.0], [1e-10, 3e-10], [0.8e12, 0.5e12]] {
                let expected = measure(context, mask.view(), &slices([hx, hy, hx]));
                for hz in [1.0, 0.0, -2.0, f64::NAN, f64::INFINITY, 1e300] {
                    let got = measure(context, mask.view(), &slices([hx, hy, hz]));
                    assert_eq!(got, expected, "{shape:?}, spacing {hx:e}, {hy:e}, {hz:e} on {device}");
                }
            }
        }
    });
}

#[test]
fn result_is_independent_of_threads_and_callbacks() {
    let one = Context::with_threads("cpu", 1).expect("a thread");
    let many = Context::with_threads("cpu", 7).expect("threads");
    for mask in masks().into_iter().chain([blobs((1, 1300, 1100), 8)]) {
        for dimensions in [Dimensions::Volume, Dimensions::Slices] {
            let params = Params { dimensions, ..spaced(SPACING) };
            let expected = measure(&one, mask.view(), &params);
            assert_eq!(measure(&many, mask.view(), &params), expected);
            assert_eq!(measure(&many, mask.view(), &params), expected, "repeated");
            let mut watched = Array3::from_elem(mask.dim(), f32::NAN);
            let mut callback = |_: f64, _: &str| ControlFlow::Continue(());
            let output = watched.view_mut().into();
            distance::run(&many, mask.view().into(), &params, Some(&mut callback), output).expect("a good call");
            assert_eq!(watched, expected, "with a callback");
        }
    }
}

/// Tests windows of larger images and column-major images; pixels around the output must stay untouched.
#[test]
fn images_of_any_layout_are_read_and_written() {
    everywhere(|context, device| {
        for mask in masks() {
            let (depth, height, width) = mask.dim();
            for dimensions in [Dimensions::Volume, Dimensions::Slices] {
                let params = Params { dimensions, ..spaced(SPACING) };
                let expected = measure(context, mask.view(), &params);
                let mut wide = Array3::from_elem((depth + 1, height + 2, width + 3), 77u8);
                let window = s![..depth, 1..=height, 2..width + 2];
                wide.slice_mut(window).assign(&mask);
                let mut wide_output = Array3::from_elem(wide.dim(), -7.5f32);
                let output = ImageMut::from(wide_output.slice_mut(window));
                distance::run(context, wide.slice(window).into(), &params, None, output).expect("a good call");
                assert_eq!(wide_output.slice(window), expected, "a window on {device}");
                wide_output.slice_mut(window).fill(-7.5);
                assert!(wide_output.iter().all(|value| *value == -7.5), "around the window on {device}");

                if device == "cpu" {
                    let mut columns = Array3::<u8>::zeros((depth, height, width).f());
                    columns.assign(&mask);
                    let mut output = Array3::<f32>::zeros((depth, height, width).f());
                    distance::run(context, columns.view().into(), &params, None, output.view_mut().into())
                        .expect("a good call");
                    assert_eq!(output, expected, "columns for rows");
                }
            }
        }
    });
}

/// Tests on a real image that every distance is within one pixel of those of its neighbours.
#[test]
fn distance_changes_by_at_most_one_pixel_between_neighbours() {
    let horse = photograph("horse");
    everywhere(|context, device| {
        // The silhouette is dark on white.
        let params = Params { foreground: isoline::Foreground::Below, threshold: 127.0, ..Params::default() };
        let got = measure(context, horse.view(), &params);
        let got = got.index_axis(Axis(0), 0);
        for pair in got.windows((1, 2)).into_iter().chain(got.windows((2, 1))) {
            let (a, b) = (pair.iter().next().expect("two"), pair.iter().last().expect("two"));
            assert!((a - b).abs() <= 1.0 + 1e-4, "{a} beside {b} on {device}");
        }
        assert!(got.iter().any(|value| *value < -20.0) && got.iter().any(|value| *value > 20.0), "{device}");
    });
}
