//! Errors and their messages, and the bounds of what is allowed.

use super::*;
use isoline::level_set::{self, Side, TargetRange};
use isoline::{Dimensions, ErrorKind};
use std::ops::ControlFlow;

fn refused(params: &Params) -> isoline::Error {
    let context = Context::new("cpu").unwrap();
    let image = Array3::from_shape_fn((4, 5, 6), |(z, y, x)| (x + y + z) as u8);
    let mask = ball((4, 5, 6), [3.0, 2.0, 2.0], 1.5, [1.0; 3]);
    LevelSet::new(&context, image.view().into(), mask.view().into(), params).expect_err("it must be refused")
}

#[test]
fn parameters_that_are_not_finite_are_refused_by_name() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let range = |target, epsilon| Some(TargetRange { target, epsilon });
        let all = [
            ("spacing along y", Params { spacing: [1.0, bad, 1.0], ..Params::default() }),
            ("target", Params { range: range(bad, 1.0), ..Params::default() }),
            ("epsilon", Params { range: range(1.0, bad), ..Params::default() }),
            ("alpha", Params { alpha: Some(bad), ..Params::default() }),
            ("time_step", Params { time_step: Some(bad), ..Params::default() }),
            ("cfl", Params { cfl: bad, ..Params::default() }),
            ("change_tolerance", Params { change_tolerance: bad, ..Params::default() }),
            ("rms_tolerance", Params { rms_tolerance: bad, ..Params::default() }),
        ];
        for (name, params) in all {
            let error = refused(&params);
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains(name), "{name}: {error}");
        }
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let range = |epsilon| Some(TargetRange { target: 1.0, epsilon });
    let all = [
        ("spacing along z", Params { spacing: [1.0, 1.0, 0.0], ..Params::default() }),
        (
            "spacing along z may be at most 1000 times that along x",
            Params { spacing: [1.0, 1.0, 1e6], ..Params::default() },
        ),
        ("epsilon", Params { range: range(0.0), ..Params::default() }),
        ("epsilon", Params { range: range(-1.0), ..Params::default() }),
        ("alpha", Params { alpha: Some(1.5), ..Params::default() }),
        ("time_step", Params { time_step: Some(0.0), ..Params::default() }),
        ("cfl", Params { cfl: 1.01, ..Params::default() }),
        ("cfl", Params { cfl: 0.0, ..Params::default() }),
        ("check_interval", Params { check_interval: Some(0), ..Params::default() }),
        ("change_tolerance", Params { change_tolerance: -1.0, ..Params::default() }),
        ("rms_tolerance", Params { rms_tolerance: -1.0, ..Params::default() }),
    ];
    for (name, params) in all {
        let error = refused(&params);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().starts_with(name), "{name}: {error}");
    }
    // Slices do not use the spacing along z.
    let context = Context::new("cpu").unwrap();
    let image = Array3::from_elem((4, 5, 6), 3u8);
    let flat = Params { dimensions: Dimensions::Slices, spacing: [1.0, 1.0, 1e6], ..Params::default() };
    start(&context, image.view(), &ball((4, 5, 6), [3.0, 2.0, 2.0], 1.5, [1.0; 3]), &flat);
}

#[test]
fn a_time_step_above_the_limit_is_refused_and_the_limit_named() {
    let context = Context::new("cpu").unwrap();
    let image = Array3::from_shape_fn((4, 5, 6), |(z, y, x)| (10 * (x + y + z)) as u8);
    let mask = ball((4, 5, 6), [3.0, 2.0, 2.0], 1.5, [1.0; 3]);
    let squares: f64 = 1.0 + 1.0 / 4.0 + 1.0 / 16.0;
    let most_curved = (2.0 * squares).sqrt() / 2.0;
    // The pixels are from 0 to 120: the largest |D| is 120 - 50 - 20. It is clamped to the largest one that curvature
    // can outweigh, but to no less than epsilon.
    // Without an image term curvature alone has its limit.
    for (alpha, largest) in [(0.5, 20.0), (0.02, 49.0 * most_curved), (0.01, 50.0), (0.0, 50.0)] {
        let range = Some(TargetRange { target: 50.0, epsilon: 20.0 });
        let params = Params { range, alpha: Some(alpha), spacing: [1.0, 2.0, 4.0], ..Params::default() };
        let moving = alpha * largest * squares.sqrt() + (1.0 - alpha) * (squares - 1.0 / 16.0);
        let limit = moving.max((1.0 - alpha) * squares).recip();
        let state = start(&context, image.view(), &mask, &params).state();
        assert!((state.time_step_limit / limit - 1.0).abs() < 1e-12, "{state:?}");
        assert!((state.time_step / limit - 0.95).abs() < 1e-12, "{state:?}");
        let longest = Params { time_step: Some(state.time_step_limit), ..params.clone() };
        start(&context, image.view(), &mask, &longest);
        let params = Params { time_step: Some(limit * 1.001), ..params };
        let error = LevelSet::new(&context, image.view().into(), mask.view().into(), &params).expect_err("too long");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(&format!("{:e}", state.time_step_limit)), "{error}");
    }
}

#[test]
fn an_image_term_that_would_lose_digits_is_refused() {
    let mask = ball((4, 5, 6), [3.0, 2.0, 2.0], 1.5, [1.0; 3]);
    let image = |most: f32| Array3::from_shape_fn((4, 5, 6), |(z, y, x)| most / (1 + x + y + z) as f32);
    let attempt = |image: &Array3<f32>, params: &Params| {
        let context = Context::new("cpu").unwrap();
        LevelSet::new(&context, image.view().into(), mask.view().into(), params)
    };
    let nanometres = Params { spacing: [1e-9; 3], ..Params::default() };
    let ranged = |target, epsilon| Some(TargetRange { target, epsilon });
    let refusals = [
        ("large pixels", 9e29, Params { cfl: 1e-6, ..nanometres.clone() }, "scale the pixels down"),
        ("the longest step", 9e29, Params { cfl: 1.0, ..nanometres.clone() }, "scale the pixels down"),
        ("a short step", 1.0, Params { time_step: Some(1e-45), ..Params::default() }, "raise time_step"),
        ("an alpha near 0", 1.0, Params { alpha: Some(1e-300), ..Params::default() }, "set alpha to 0"),
        // The product would be infinite in f32.
        ("a small range", 0.0, Params { range: ranged(0.0, 1e-40), ..Params::default() }, "scale the pixels up"),
    ];
    for (what, most, params, advice) in refusals {
        let error = attempt(&image(most), &params).expect_err(what);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{what}");
        let message = error.message();
        assert!(message.starts_with("alpha times time_step") && message.contains(advice), "{what}: {message}");
    }
    // These are the shortest step of which a quarter is not subnormal, and the next shorter one.
    let least = 4.0 * f64::from(f32::MIN_POSITIVE);
    let whole = |step| Params { alpha: Some(1.0), time_step: Some(step), ..Params::default() };
    attempt(&image(1.0), &whole(least)).expect("the least that is allowed");
    attempt(&image(1.0), &whole(least.next_down())).expect_err("a digit less");
    // Without the image term, and with smaller pixels, it is allowed.
    attempt(&image(9e29), &Params { alpha: Some(0.0), ..nanometres.clone() }).expect("curvature alone");
    attempt(&image(1.0), &Params { alpha: Some(0.0), time_step: Some(1e-45), ..Params::default() }).expect("nor here");
    attempt(&image(1e20), &nanometres).expect("smaller pixels");
}

#[test]
fn sizes_and_types_must_fit() {
    everywhere(|context, name| {
        let image = Array3::from_elem((4, 5, 6), 3u8);
        let other = Array3::from_elem((4, 5, 7), 1u8);
        let params = Params::default();
        let error = LevelSet::new(context, image.view().into(), other.view().into(), &params).expect_err("sizes");
        assert_eq!(error.kind(), ErrorKind::InvalidSize);
        assert!(error.message().contains("6 x 5 x 4") && error.message().contains("7 x 5 x 4"), "{name}: {error}");
        let mask = ball((4, 5, 6), [3.0, 2.0, 2.0], 1.5, [1.0; 3]);
        let mut surface = start(context, image.view(), &mask, &params);
        let mut small = Array3::<u8>::zeros((4, 5, 7));
        assert_eq!(surface.read_mask(small.view_mut().into()).unwrap_err().kind(), ErrorKind::InvalidSize);
        let mut floats = Array3::<f32>::zeros((4, 5, 6));
        assert_eq!(surface.read_mask(floats.view_mut().into()).unwrap_err().kind(), ErrorKind::InvalidType);
        let mut bytes = Array3::<u8>::zeros((4, 5, 6));
        assert_eq!(surface.read_phi(bytes.view_mut().into()).unwrap_err().kind(), ErrorKind::InvalidType);
        assert_eq!(surface.write_phi(bytes.view().into()).unwrap_err().kind(), ErrorKind::InvalidType);
        let before = phi_of(&surface, (4, 5, 6));
        floats[[2, 3, 1]] = f32::NAN;
        let error = surface.write_phi(floats.view().into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name}");
        common::assert_bits(&phi_of(&surface, (4, 5, 6)), &before, "a phi that is refused changes nothing");
        let mut floats = Array3::<f32>::zeros((4, 5, 6));
        let output = floats.view_mut().into();
        let error = level_set::run(context, image.view().into(), mask.view().into(), &params, 5, None, output);
        assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidType);
    });
}

#[test]
fn an_automatic_range_needs_a_mask() {
    let context = Context::new("cpu").unwrap();
    let image = Array3::from_elem((4, 5, 6), 3u8);
    let mask = Array3::<u8>::zeros((4, 5, 6));
    let error = LevelSet::new(&context, image.view().into(), mask.view().into(), &Params::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("mask is empty"), "{error}");
}

#[test]
fn empty_and_full_masks_stand_still() {
    everywhere(|context, name| {
        let dim = (6, 7, 9);
        let image = Array3::from_shape_fn(dim, |(z, y, x)| (x * y + z) as u8);
        let range = Some(TargetRange { target: 20.0, epsilon: 10.0 });
        for variant in variants(context) {
            let params = Params { range, variant: *variant, ..Params::default() };
            for (fill, inside, sign) in [(0, 0, 1.0), (1, 6 * 7 * 9, -1.0)] {
                let mask = Array3::from_elem(dim, fill);
                let mut surface = start(context, image.view(), &mask, &params);
                let report = surface.step(20, None).unwrap();
                assert!(report.converged && report.iterations == 0, "{name} {variant:?}: {report:?}");
                assert_eq!(surface.state().inside, inside, "{name} {variant:?}");
                assert_eq!(mask_of(&surface, dim), mask.mapv(|v| 255 * v), "{name} {variant:?}");
                let far = sign * (36f32 + 49.0 + 81.0).sqrt();
                assert!(phi_of(&surface, dim).iter().all(|phi| (phi - far).abs() < 1e-4), "{name} {variant:?}");
            }
        }
    });
}

#[test]
fn pixels_that_are_not_finite_are_never_in_range() {
    everywhere(|context, name| {
        let dim = (1, 20, 40);
        let mut image = Array3::from_elem(dim, 5.0f32);
        image.slice_mut(ndarray::s![.., .., 25..28]).fill(f32::NAN);
        image[[0, 3, 3]] = f32::INFINITY;
        image[[0, 9, 39]] = -20.0;
        let mask = ball(dim, [10.0, 10.0, 0.0], 4.0, [1.0; 3]);
        for variant in variants(context) {
            let range = Some(TargetRange { target: 5.0, epsilon: 2.0 });
            let dimensions = Dimensions::Slices;
            let params = Params { dimensions, range, variant: *variant, alpha: Some(1.0), ..unstopped() };
            let mut surface = start(context, image.view(), &mask, &params);
            surface.step(600, None).unwrap();
            let mask = mask_of(&surface, dim);
            assert!(phi_of(&surface, dim).iter().all(|phi| phi.is_finite()), "{name} {variant:?}");
            assert_eq!((mask[[0, 10, 20]], mask[[0, 10, 26]], mask[[0, 10, 35]]), (255, 0, 0), "{name} {variant:?}");
        }
    });
}

#[test]
fn a_cancelled_step_keeps_its_last_whole_iteration() {
    everywhere(|context, name| {
        let dim = (96, 96, 96);
        let image = Array3::from_shape_fn(dim, |(z, y, x)| (x * 3 + y * 5 + z * 7) as u8);
        let mask = ball(dim, [48.0; 3], 30.0, [1.0; 3]);
        for variant in [Variant::Band, Variant::Dense] {
            // With stripes in range and out of it the front comes to rest, but neither vanishes nor fills the image.
            let range = Some(TargetRange { target: 128.0, epsilon: 64.0 });
            let params = Params { variant, range, alpha: Some(1.0), ..unstopped() };
            let mut surface = start(context, image.view(), &mask, &params);
            let mut callback = |fraction: f64, _: &str| {
                if fraction > 0.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let error = surface.step(1_000_000, Some(&mut callback)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{name} {variant:?}");
            let done = surface.state().iterations;
            assert!(done > 0 && done < 1_000_000, "{name} {variant:?}: {done}");
            assert_eq!(surface.statistics().len() as u64, done);
            surface.step(3, None).unwrap();
            let mut straight = start(context, image.view(), &mask, &params);
            straight.step(done + 3, None).unwrap();
            common::assert_bits(&phi_of(&surface, dim), &phi_of(&straight, dim), &format!("{name} {variant:?}"));
            assert_eq!(surface.statistics(), straight.statistics(), "{name} {variant:?}");
        }
    });
}

#[test]
fn phi_stays_finite_where_pixels_are_very_far_from_the_range() {
    let dim = (1, 1, 5);
    let image = Array3::from_shape_fn(dim, |(_, _, x)| 40 * x as u8);
    let masks =
        [[0, 0, 0, 0, 1], [1, 1, 0, 0, 0], [0, 1, 1, 0, 0]].map(|row| Array3::from_shape_fn(dim, |at| row[at.2]));
    everywhere(|context, name| {
        for variant in [Variant::Band, Variant::Dense] {
            for (side, mask) in
                [Side::Within, Side::Below].into_iter().flat_map(|side| masks.iter().map(move |mask| (side, mask)))
            {
                let range = Some(TargetRange { target: -1e30, epsilon: 11.0 });
                let params = Params { variant, range, side: Some(side), ..unstopped() };
                let mut surface = start(context, image.view(), mask, &params);
                surface.step(200, None).unwrap();
                let phi = phi_of(&surface, dim);
                assert!(phi.iter().all(|phi| phi.is_finite()), "{name} {variant:?} {side:?}: {phi}");
            }
        }
    });
}
