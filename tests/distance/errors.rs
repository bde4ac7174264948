//! Errors: invalid calls are refused with the name of the parameter, and refused or cancelled calls leave the output
//! untouched.

use super::*;
use isoline::{ErrorKind, ImageMut};
use ndarray::s;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

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
            let error = distance::run(context, mask.view().into(), &params, None, wrong).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidType, "{device}: {error}");
            assert!(error.message().contains("output") && error.message().contains("f32"), "{device}: {error}");
        }
    });
}

/// After a cancellation at any call of the callback, a volume is untouched, and every slice of a stack is complete or
/// untouched, with the complete ones first.
#[test]
fn cancelled_call_leaves_complete_slices() {
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
                        let whole = output.outer_iter().zip(expected.outer_iter()).take_while(|(a, b)| a == b).count();
                        let rest = output.slice(s![whole.., .., ..]);
                        assert!(rest.iter().all(|value| *value == 7.25), "{dimensions:?} on {device}: {allowed}");
                        assert!(dimensions == Dimensions::Slices || whole == 0, "{whole} slices on {device}");
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
        // The context has one thread, so that a fast machine does not finish before the cancellation.
        let context = Context::with_threads("cpu", 1).expect("a thread");
        let mask = blobs(shape, 2);
        let mut output = Array3::<f32>::zeros(shape);
        let params = Params { dimensions, ..Params::default() };
        let mut seconds_to_cancel = || {
            let mut asked: Option<Instant> = None;
            let mut callback = |fraction: f64, _: &str| {
                if fraction > 0.1 && asked.is_none() {
                    asked = Some(Instant::now());
                }
                if asked.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let target = output.view_mut().into();
            let error = distance::run(&context, mask.view().into(), &params, Some(&mut callback), target).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
            asked.expect("the callback cancelled").elapsed()
        };
        // Other processes may delay a thread, but not every time.
        let took = (0..3).map(|_| seconds_to_cancel()).min().expect("three times");
        assert!(took < Duration::from_millis(100), "{shape:?} {dimensions:?}: {took:?}");
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
