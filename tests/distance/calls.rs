//! Properties of the call that must not change the distance, or must change it in a known way; invalid calls, which are
//! refused with the name of the parameter; and cancellation.

use super::common::photograph;
use super::*;
use isoline::{ErrorKind, ImageMut};
use ndarray::ShapeBuilder;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

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
                distance::run(context, wide.slice(window).into(), &params, None, output.into()).expect("a good call");
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
        let params = Params { foreground: Foreground::Below, threshold: 127.0, ..Params::default() };
        let got = measure(context, horse.view(), &params);
        let got = got.index_axis(Axis(0), 0);
        for pair in got.windows((1, 2)).into_iter().chain(got.windows((2, 1))) {
            let (a, b) = (pair.iter().next().expect("two"), pair.iter().last().expect("two"));
            assert!((a - b).abs() <= 1.0 + 1e-4, "{a} beside {b} on {device}");
        }
        assert!(got.iter().any(|value| *value < -20.0) && got.iter().any(|value| *value > 20.0), "{device}");
    });
}

#[test]
fn invalid_parameters_are_refused_by_name() {
    type Change = fn(&mut Params);
    let cases: [(&str, Change); 9] = [
        ("threshold", |p| p.threshold = f64::NAN),
        ("threshold", |p| p.threshold = f64::NEG_INFINITY),
        ("spacing along x", |p| p.spacing[0] = f64::NAN),
        ("spacing along y", |p| p.spacing[1] = 0.0),
        ("spacing along z", |p| p.spacing[2] = -1.0),
        ("spacing along z", |p| p.spacing[2] = f64::INFINITY),
        ("spacing along x", |p| p.spacing[0] = 1e-16),
        ("spacing along y", |p| p.spacing[1] = 1.1e15),
        ("spacing", |p| p.spacing = [1e-5, 1.0, 1.1e4]),
    ];
    let mask = blobs((2, 12, 14), 1);
    everywhere(|context, device| {
        for (word, change) in cases {
            let mut params = Params::default();
            change(&mut params);
            let mut output = Array3::from_elem(mask.dim(), 7.0f32);
            let error =
                distance::run(context, mask.view().into(), &params, None, output.view_mut().into()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{device}: {error}");
            assert!(error.message().contains(word), "{device}: {error} does not name {word}");
            assert!(output.iter().all(|value| *value == 7.0), "{device}: {error}");
        }
    });
}

#[test]
fn sizes_and_types_must_fit() {
    let mask = blobs((2, 8, 9), 1);
    everywhere(|context, device| {
        let params = Params::default();
        let mut small = Array3::from_elem((2, 9, 8), 7.0f32);
        let error = distance::run(context, mask.view().into(), &params, None, small.view_mut().into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidSize, "{device}: {error}");
        assert!(small.iter().all(|value| *value == 7.0));
        for empty in [s![..0, .., ..], s![.., ..0, ..], s![.., .., ..0]] {
            let none = mask.slice(empty);
            let mut output = Array3::<f32>::zeros(none.dim());
            let error = distance::run(context, none.into(), &params, None, output.view_mut().into()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidSize, "{device}: {error}");
        }
        let (mut bytes, mut words) = (mask.clone(), mask.mapv(u16::from));
        for wrong in [ImageMut::from(bytes.view_mut()), ImageMut::from(words.view_mut())] {
            let error = distance::run(context, mask.view().into(), &params, None, wrong.into()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidType, "{device}: {error}");
            assert!(error.message().contains("output") && error.message().contains("f32"), "{device}: {error}");
        }
    });
}

/// A cancellation at any call of the callback ends the call, before it has begun without a change of the output.
#[test]
fn cancelled_call_is_an_error_and_the_next_one_is_right() {
    let mask = blobs((30, 300, 400), 9);
    everywhere(|context, device| {
        for dimensions in [Dimensions::Volume, Dimensions::Slices] {
            let params = Params { dimensions, ..Params::default() };
            let expected = measure(context, mask.view(), &params);
            for allowed in [0, 1, 2, 3, 4, 6] {
                let mut output = Array3::from_elem(mask.dim(), 7.25f32);
                let (mut calls, mut last) = (0, 0.0);
                let mut callback = |fraction: f64, stage: &str| {
                    assert!((0.0..=1.0).contains(&fraction) && fraction >= last && !stage.is_empty());
                    last = fraction;
                    calls += 1;
                    if calls > allowed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                let target = output.view_mut().into();
                let done = distance::run(context, mask.view().into(), &params, Some(&mut callback), target);
                match done {
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Cancelled, "{device}: {error}");
                        let is_untouched = output.iter().all(|value| *value == 7.25);
                        assert!(allowed > 0 || is_untouched, "{dimensions:?} on {device}");
                        assert_eq!(measure(context, mask.view(), &params), expected);
                    }
                    // The call may end before the next call of the callback, but never before the first.
                    Ok(_) => {
                        assert!(calls <= allowed && allowed > 0, "{device}: {calls} calls");
                        assert_eq!(output, expected);
                    }
                }
            }
        }
    });
}

#[test]
fn cancellation_acts_in_time() {
    // The calls take long enough to be cancelled: one plane, a volume, and a stack.
    for (shape, dimensions) in [
        ((1, 6000, 6000), Dimensions::Volume),
        ((160, 480, 480), Dimensions::Volume),
        ((160, 480, 480), Dimensions::Slices),
    ] {
        let mask = blobs(shape, 2);
        let mut output = Array3::<f32>::zeros(shape);
        let params = Params { dimensions, ..Params::default() };
        let mut seconds_to_cancel = |context: &Context| {
            let mut asked: Option<Instant> = None;
            let mut callback = |fraction: f64, _: &str| {
                if fraction > 0.1 && asked.is_none() {
                    asked = Some(Instant::now());
                }
                if asked.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let target = output.view_mut().into();
            match distance::run(context, mask.view().into(), &params, Some(&mut callback), target) {
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
                    asked.expect("the callback cancelled").elapsed()
                }
                // A GPU may be done before the callback is asked again.
                Ok(_) => {
                    assert!(context.device().id != "cpu" && asked.is_none(), "{shape:?} {dimensions:?}");
                    Duration::ZERO
                }
            }
        };
        // The CPU has one thread, so that a fast machine does not finish before the cancellation.
        let cpu = Context::with_threads("cpu", 1).expect("a thread");
        for context in std::iter::once(cpu).chain(Context::new("cuda").ok()) {
            // Other processes may delay a thread, but not every time.
            let took = (0..3).map(|_| seconds_to_cancel(&context)).min().expect("three times");
            let device = context.device().id.clone();
            assert!(took < Duration::from_millis(100), "{shape:?} {dimensions:?} on {device}: {took:?}");
        }
    }
}

#[test]
fn progress_is_monotonic_and_the_report_is_complete() {
    let mask = blobs((40, 200, 300), 6);
    everywhere(|context, device| {
        for dimensions in [Dimensions::Volume, Dimensions::Slices] {
            let mut fractions = vec![];
            let mut callback = |fraction: f64, _: &str| {
                fractions.push(fraction);
                ControlFlow::Continue(())
            };
            let mut output = Array3::<f32>::zeros(mask.dim());
            let params = Params { dimensions, ..Params::default() };
            let target = output.view_mut().into();
            let report =
                distance::run(context, mask.view().into(), &params, Some(&mut callback), target).expect("a good call");
            assert_eq!(report.slices_done, 40, "{device}");
            assert!(report.seconds_compute > 0.0 && report.seconds_total >= report.seconds_compute, "{device}");
            assert!(!fractions.is_empty() && fractions.is_sorted(), "{device}: {fractions:?}");
            assert!(fractions[0] < 0.5 && fractions[fractions.len() - 1] <= 1.0, "{device}: {fractions:?}");
        }
    });
}
