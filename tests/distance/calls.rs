//! Properties of the call that must not change the distance, or must change it in a known way; invalid calls, which are
//! refused with the name of the parameter; and cancellation.

use super::common::photograph;
use super::*;
use ndarray::ShapeBuilder;

#[test]
fn inverted_mask_has_the_opposite_sign() {
    each_mask(|context, mask, what| {
        let got = measure(context, mask.view(), &spaced(SPACING));
        let other = measure(context, mask.mapv(|pixel| u8::from(pixel == 0)).view(), &spaced(SPACING));
        assert_eq!(got, other.mapv(|value| -value), "{what}");
    });
}

#[test]
fn mirrored_mask_has_the_mirrored_distance() {
    each_mask(|context, mask, what| {
        let expected = measure(context, mask.view(), &spaced(SPACING)).mapv(f64::from);
        for axis in 0..3 {
            let mut mirrored = mask.clone();
            mirrored.invert_axis(Axis(axis));
            // Both a view with negative strides and a packed copy are tested.
            for mask in [mirrored.clone(), mirrored.as_standard_layout().into_owned()] {
                let mut got = measure(context, mask.view(), &spaced(SPACING));
                got.invert_axis(Axis(axis));
                assert_near(&got, &expected, &format!("axis {axis}, {what}"));
            }
        }
    });
}

#[test]
fn permuted_axes_with_their_spacing_permute_the_distance() {
    each_mask(|context, mask, what| {
        let expected = measure(context, mask.view(), &spaced(SPACING)).mapv(f64::from);
        for order in [[0, 2, 1], [1, 0, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
            // The axes of ndarray are z, y, x.
            let moved = mask.view().permuted_axes(order).as_standard_layout().into_owned();
            let spacing = [2, 1, 0].map(|axis: usize| SPACING[2 - order[axis]]);
            let expected = expected.view().permuted_axes(order).as_standard_layout().into_owned();
            let got = measure(context, moved.view(), &spaced(spacing));
            assert_near(&got, &expected, &format!("{order:?}, {what}"));
        }
    });
}

#[test]
fn distance_has_the_unit_of_the_spacing() {
    each_mask(|context, mask, what| {
        let expected = measure(context, mask.view(), &spaced(SPACING)).mapv(|value| f64::from(value) * 1e-6);
        assert_near(&measure(context, mask.view(), &spaced(SPACING.map(|h| h * 1e-6))), &expected, what);
    });
}

#[test]
fn slice_of_a_stack_equals_the_slice_alone() {
    each_mask(|context, mask, what| {
        let params = Params { dimensions: Dimensions::Slices, ..spaced(SPACING) };
        let stack = measure(context, mask.view(), &params);
        for (z, slice) in mask.outer_iter().enumerate() {
            let alone = measure(context, slice, &params);
            assert_eq!(alone.index_axis(Axis(0), 0), stack.index_axis(Axis(0), z), "slice {z}, {what}");
            // A single slice equals a volume of one slice.
            let volume = measure(context, slice, &spaced([SPACING[0], SPACING[1], 100.0]));
            assert_eq!(alone, volume, "slice {z}, {what}");
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
fn result_is_independent_of_threads() {
    let [one, many] = [1, 7].map(|threads| Context::with_threads("cpu", threads).expect("threads"));
    let masks = [blobs((17, 40, 51), 1), blobs((70, 5, 19), 3), blobs((2, 3, 300), 4), blobs((1, 1300, 1100), 8)];
    for mask in masks {
        for dimensions in BOTH {
            let params = Params { dimensions, ..spaced(SPACING) };
            let expected = measure(&one, mask.view(), &params);
            assert_eq!(measure(&many, mask.view(), &params), expected);
            assert_eq!(measure(&many, mask.view(), &params), expected, "repeated");
        }
    }
}

/// Tests windows of larger images and column-major images; pixels around the output must stay untouched.
#[test]
fn images_of_any_layout_are_read_and_written() {
    each_mask(|context, mask, what| {
        let (depth, height, width) = mask.dim();
        for dimensions in BOTH {
            let params = Params { dimensions, ..spaced(SPACING) };
            let expected = measure(context, mask.view(), &params);
            let mut wide = Array3::from_elem((depth + 1, height + 2, width + 3), 77u8);
            let window = s![..depth, 1..=height, 2..width + 2];
            wide.slice_mut(window).assign(mask);
            let mut wide_output = Array3::from_elem(wide.dim(), -7.5f32);
            let output = ImageMut::from(wide_output.slice_mut(window));
            distance::run(context, wide.slice(window).into(), &params, None, output.into()).expect("a good call");
            assert_eq!(wide_output.slice(window), expected, "a window, {what}");
            wide_output.slice_mut(window).fill(-7.5);
            assert!(wide_output.iter().all(|value| *value == -7.5), "around the window, {what}");
            if context.device().kind == DeviceKind::Cpu {
                let mut columns = Array3::<u8>::zeros((depth, height, width).f());
                columns.assign(mask);
                let mut output = Array3::<f32>::zeros((depth, height, width).f());
                distance::run(context, columns.view().into(), &params, None, output.view_mut().into())
                    .expect("a good call");
                assert_eq!(output, expected, "columns for rows");
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

// ------------------------------------------------------------------------------------------------------- invalid calls

/// Fails unless a call, of the whole distance or of the pass along an axis, into an output of this shape ends with this error
/// and writes nothing.
fn assert_refused(
    context: &Context,
    (input, axis, params): (Image<'_>, Option<usize>, &Params),
    shape: (usize, usize, usize),
    kind: ErrorKind,
    text: &str,
) {
    let mut output = Array3::from_elem(shape, 7.0f32);
    let target = output.view_mut();
    let done = match axis {
        None => distance::run(context, input.into(), params, None, target.into()),
        Some(axis) => distance::pass(context, input, axis, params, None, target.into()),
    };
    let error = done.unwrap_err();
    assert!(error.kind() == kind && error.message().contains(text), "{text}: {error}");
    assert!(output.iter().all(|value| *value == 7.0), "{error}");
}

#[test]
fn invalid_calls_are_refused_by_name() {
    const SHAPE: (usize, usize, usize) = (3, 4, 5);
    let (mask, values) = (Array3::<u8>::ones(SHAPE), Array3::<f32>::ones(SHAPE));
    let images: [Image<'_>; 2] = [mask.view().into(), values.view().into()];
    let at = |threshold: f64| Params { threshold, ..Params::default() };
    let (volume, slices) = (Params::default(), Params { dimensions: Dimensions::Slices, ..Params::default() });
    let (argument, size, no_float) = (ErrorKind::InvalidArgument, ErrorKind::InvalidSize, ErrorKind::InvalidType);
    everywhere(|context, _| {
        for axis in [None, Some(0)] {
            for (params, text) in [
                (at(f64::NAN), "threshold"),
                (at(f64::NEG_INFINITY), "threshold"),
                (spaced([f64::NAN, 1.0, 1.0]), "spacing along x"),
                (spaced([1.0, 0.0, 1.0]), "spacing along y"),
                (spaced([1.0, 1.0, -1.0]), "spacing along z"),
                (spaced([1.0, 1.0, f64::INFINITY]), "spacing along z"),
                (spaced([1e-16, 1.0, 1.0]), "spacing along x"),
                (spaced([1.0, 1.1e15, 1.0]), "spacing along y"),
                (spaced([1e-5, 1.0, 1.1e4]), "spacing"),
            ] {
                assert_refused(context, (images[0], axis, &params), SHAPE, argument, text);
            }
            assert_refused(context, (images[0], axis, &volume), (3, 5, 4), size, "5 x 4 x 3");
            for empty in [s![..0, .., ..], s![.., ..0, ..], s![.., .., ..0]] {
                let none = mask.slice(empty);
                assert_refused(context, (none.into(), axis, &volume), none.dim(), size, "");
            }
        }
        for (image, axis, params, kind, text) in [
            (1, 3, &volume, argument, "axis must be 0, 1 or 2"),
            (1, 2, &slices, argument, "axis must be 0 or 1"),
            (0, 1, &volume, no_float, "along y: the values of the pass before are f32"),
            (0, 2, &volume, no_float, "along z"),
        ] {
            assert_refused(context, (images[image], Some(axis), params), SHAPE, kind, text);
        }
        let (mut bytes, mut words) = (mask.clone(), mask.mapv(u16::from));
        for wrong in [ImageMut::from(bytes.view_mut()), words.view_mut().into()] {
            let error = distance::run(context, images[0].into(), &volume, None, wrong.into()).unwrap_err();
            assert_eq!(error.kind(), no_float, "{error}");
            assert!(error.message().contains("output") && error.message().contains("f32"), "{error}");
        }
        let error = distance::pass(context, images[0], 0, &volume, None, bytes.view_mut().into()).unwrap_err();
        assert_eq!(error.kind(), no_float, "{error}");
    });
}

// ------------------------------------------------------------------------------------------- progress and cancellation

/// A cancellation at any call of the callback ends the call, before it has begun without a change of the output. A call that
/// is not cancelled reports progress and has the result of one without a callback.
#[test]
fn cancelled_call_is_an_error_and_the_next_one_is_right() {
    let mask = blobs((30, 300, 400), 9);
    everywhere(|context, device| {
        for dimensions in BOTH {
            let params = Params { dimensions, ..Params::default() };
            let expected = measure(context, mask.view(), &params);
            for allowed in [0, 1, 2, 3, 4, 6, usize::MAX] {
                let mut output = Array3::from_elem(mask.dim(), 7.25f32);
                let mut fractions = vec![];
                let mut callback = |fraction: f64, stage: &str| {
                    assert!((0.0..=1.0).contains(&fraction) && !stage.is_empty());
                    fractions.push(fraction);
                    if fractions.len() > allowed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                let target = output.view_mut().into();
                let done = distance::run(context, mask.view().into(), &params, Some(&mut callback), target);
                assert!(fractions[0] < 0.5 && fractions.is_sorted(), "{device}: {fractions:?}");
                match done {
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Cancelled, "{device}: {error}");
                        let is_untouched = output.iter().all(|value| *value == 7.25);
                        assert!(allowed > 0 || is_untouched, "{dimensions:?} on {device}");
                        assert_eq!(measure(context, mask.view(), &params), expected);
                    }
                    // The call may end before the next call of the callback, but never before the first.
                    Ok(report) => {
                        assert!(fractions.len() <= allowed && allowed > 0, "{device}: {fractions:?}");
                        assert_eq!(output, expected);
                        assert_eq!(report.slices_done, 30, "{device}");
                        assert!(report.seconds_compute > 0.0 && report.seconds_total >= report.seconds_compute);
                    }
                }
            }
        }
    });
}

/// Returns the time that a call takes to end after its callback cancelled it, from a fraction on: the least of three, because
/// other processes may delay a thread. It is 0 if a GPU is done before the callback is asked.
pub(super) fn time_to_cancel(context: &Context, mask: &Array3<u8>, params: &Params, from: f64) -> Duration {
    let mut output = Array3::from_elem(mask.dim(), 7.25f32);
    let once = || {
        let (mut asked, mut calls): (Option<Instant>, _) = (None, 0);
        let mut callback = |fraction: f64, _: &str| {
            if asked.is_none() && fraction >= from {
                asked = Some(Instant::now());
            }
            calls += usize::from(asked.is_some());
            if asked.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        output.fill(7.25);
        let target = output.view_mut().into();
        let done = distance::run(context, mask.view().into(), params, Some(&mut callback), target);
        let took = asked.map_or(Duration::ZERO, |asked| asked.elapsed());
        match done {
            Err(error) => {
                assert_eq!((error.kind(), calls), (ErrorKind::Cancelled, 1), "{error}");
                assert!(from > 0.0 || output.iter().all(|value| *value == 7.25));
            }
            Ok(_) => assert!(context.device().kind == DeviceKind::Cuda && asked.is_none() && from > 0.0, "from {from}"),
        }
        took
    };
    std::iter::repeat_with(once).take(3).min().expect("three times")
}

#[test]
fn cancellation_acts_in_time() {
    // The CPU has one thread, so that a fast machine does not finish before the cancellation.
    let cpu = Context::with_threads("cpu", 1).expect("a thread");
    let contexts: Vec<Context> = std::iter::once(cpu).chain(Context::new("cuda").ok()).collect();
    // The calls take long enough to be cancelled: one plane, a volume, and a stack.
    for (shape, dimensions) in [
        ((1, 6000, 6000), Dimensions::Volume),
        ((160, 480, 480), Dimensions::Volume),
        ((160, 480, 480), Dimensions::Slices),
    ] {
        let (mask, params) = (blobs(shape, 2), Params { dimensions, ..Params::default() });
        for context in &contexts {
            let took = time_to_cancel(context, &mask, &params, 0.1);
            let device = &context.device().id;
            assert!(took < Duration::from_millis(100), "{shape:?} {dimensions:?} on {device}: {took:?}");
        }
    }
}

#[test]
fn passes_are_cancelled_before_anything_is_written() {
    let context = Context::new("cpu").expect("a CPU");
    let values = Array3::<f32>::ones((3, 4, 5));
    for axis in 0..3 {
        let mut output = Array3::from_elem((3, 4, 5), f32::NAN);
        let mut stages = vec![];
        let mut cancel = |fraction: f64, stage: &str| {
            stages.push((fraction, stage.to_owned()));
            ControlFlow::Break(())
        };
        let (input, target) = (values.view().into(), output.view_mut().into());
        let error = distance::pass(&context, input, axis, &Params::default(), Some(&mut cancel), target).unwrap_err();
        assert_eq!((error.kind(), &stages[..]), (ErrorKind::Cancelled, &[(0.0, "distance".to_owned())][..]));
        assert!(output.iter().all(|value| value.is_nan()));
    }
}
