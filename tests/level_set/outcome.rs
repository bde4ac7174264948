//! Tests of the outcome of a run, and of how far it says that it is.

use super::agreement::dice;
use super::common::{Random, noting};
use super::range::{BRIGHT, CENTRE, DARK, DIM, SPACING, noisy_ball, oval, voxels};
use super::*;
use isoline::Dimensions;
use isoline::level_set::{Outcome, State, TargetRange};
use ndarray::Axis;

const LIMIT: f64 = 0.1;

fn range(target: f64, epsilon: f64) -> Option<TargetRange> {
    Some(TargetRange { target, epsilon })
}

/// Returns a range around the mean of the start's pixels, of a number of their standard deviations.
fn around_the_mean(image: &Array3<u16>, mask: &Array3<u8>, deviations: f64) -> Option<TargetRange> {
    let values: Vec<f64> =
        image.iter().zip(mask).filter(|(_, mark)| **mark > 0).map(|(pixel, _)| f64::from(*pixel)).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    range(mean, deviations * variance.sqrt())
}

#[test]
fn a_result_that_is_none_is_said() {
    let (image, mask) = (noisy_ball(BRIGHT, DARK), oval(CENTRE, 7.0));
    let cases = [
        (None, Outcome::Front),
        // Two thirds of the ball, and holes where the noise is beyond the limits.
        (around_the_mean(&image, &mask, 1.5), Outcome::AtLimit),
        (around_the_mean(&image, &mask, 2.0), Outcome::AtLimit),
        (around_the_mean(&image, &mask, 4.0), Outcome::Front),
        (range(700.0, 2000.0), Outcome::Filled),
        (range(2000.0, 100.0), Outcome::Lost),
    ];
    everywhere(|context, name| {
        for (range, wanted) in cases {
            let mut surface = start(context, image.view(), &mask, &Params { range, ..voxels(SPACING) });
            assert_eq!(surface.state().outcome, Outcome::Moving, "{name}");
            let report = surface.step(2, None).unwrap();
            assert_eq!(report.outcome, Some(Outcome::Moving), "{name}: {range:?}");
            let report = surface.step(10_000, None).unwrap();
            let state = surface.state();
            let what = format!("{name}: {range:?}: {state:?}");
            assert!(report.converged && report.outcome == Some(wanted) && state.outcome == wanted, "{what}");
            assert_eq!(state.limit_share.is_some_and(|share| share > LIMIT), wanted == Outcome::AtLimit, "{what}");
            assert_eq!(state.limit_share.is_none(), [Outcome::Filled, Outcome::Lost].contains(&wanted), "{what}");
            assert_eq!(state.expected_iterations, state.iterations, "{what}");
            let phi = phi_of(&surface, DIM);
            surface.write_phi(phi.view().into()).unwrap();
            assert_eq!(surface.state().outcome, Outcome::Moving, "{what}");
        }
    });
}

/// Returns the share of the voxels in the middle of a mask whose intensity is at the limits of a range.
fn share(image: &Array3<f32>, mask: &Array3<u8>, state: &State, dimensions: Dimensions) -> f64 {
    let (depth, height, width) = image.dim();
    let (mut middle, mut at_limits) = (0, 0);
    let axes = if dimensions == Dimensions::Volume { 3 } else { 2 };
    for ((z, y, x), pixel) in image.indexed_iter() {
        let beside = |axis: usize, by: isize| {
            let mut place = [x, y, z];
            place[axis] = place[axis].saturating_add_signed(by).min([width, height, depth][axis] - 1);
            mask[[place[2], place[1], place[0]]] > 0
        };
        if (0..axes).all(|axis| beside(axis, -1) && beside(axis, 0) && beside(axis, 1)) {
            middle += 1;
            let apart = f64::from(*pixel) - state.target;
            let apart = match state.side {
                isoline::level_set::Side::Above => (-apart).max(0.0),
                isoline::level_set::Side::Below => apart.max(0.0),
                _ => apart.abs(),
            };
            at_limits += usize::from(pixel.is_nan() || apart > 0.8 * state.epsilon);
        }
    }
    at_limits as f64 / f64::from(middle).max(1.0)
}

/// The share is that of the mask in every variant, type of pixel and number of dimensions, with objects that reach the
/// image's border.
#[test]
fn the_share_at_the_limits_is_that_of_the_voxels_in_the_middle() {
    use isoline::level_set::Side;
    let dim = (7, 33, 41);
    let waves = Array3::from_shape_fn(dim, |(z, y, x)| {
        (120.0 + 60.0 * (x as f64 * 0.13).sin() + 50.0 * (y as f64 * 0.17 + z as f64 * 0.3).cos()) as u8
    });
    let mut floats = waves.mapv(f32::from);
    for (index, pixel) in floats.iter_mut().enumerate().filter(|(index, _)| index % 97 == 0) {
        *pixel = if index % 2 == 0 { f32::NAN } else { f32::INFINITY };
    }
    let words = waves.mapv(u16::from);
    everywhere(|context, name| {
        for dimensions in [Dimensions::Volume, Dimensions::Slices] {
            for side in [Side::Within, Side::Above, Side::Below] {
                // Above T nothing is at the limits, so that the start must be darker.
                let mask = waves.mapv(|pixel| u8::from(if side == Side::Above { pixel < 160 } else { pixel > 140 }));
                for &variant in variants(context) {
                    let params = Params {
                        range: range(150.0, 40.0),
                        side: Some(side),
                        dimensions,
                        variant,
                        check_interval: Some(6),
                        change_tolerance: 1e3,
                        ..Params::default()
                    };
                    let images: [(Image<'_>, Array3<f32>); 3] = [
                        (waves.view().into(), waves.mapv(f32::from)),
                        (words.view().into(), waves.mapv(f32::from)),
                        (floats.view().into(), floats.clone()),
                    ];
                    for (image, pixels) in images {
                        let mut surface = start(context, image, &mask, &params);
                        assert!(surface.step(100, None).unwrap().converged, "{name}");
                        let state = surface.state();
                        let found = mask_of(&surface, dim);
                        let wanted = share(&pixels, &found, &state, dimensions);
                        let what = format!("{name} {dimensions:?} {variant:?}: {wanted}, {state:?}");
                        assert!(wanted > 0.01 && state.limit_share == Some(wanted), "{what}");
                        assert_eq!(state.outcome == Outcome::AtLimit, wanted > LIMIT, "{what}");
                    }
                }
            }
        }
    });
}

/// Returns an 8-bit photograph as an image, and a disc in it.
fn photograph(name: &str, centre: [f64; 2], radius: f64) -> (Array3<u8>, Array3<u8>) {
    let image = common::photograph(name).insert_axis(Axis(0));
    let mask = ball(image.dim(), [centre[0], centre[1], 0.0], radius, [1.0; 3]);
    (image, mask)
}

/// Returns the image, a part of the brain, and the start and spacing of white matter from two points.
fn white_matter(radius: f64) -> (Array3<u8>, Array3<u8>, Params) {
    let (image, spacing) = (whole_brain().slice(ndarray::s![.., ..110, ..]).to_owned(), [1.0, 1.0, 2.0]);
    let [left, right] = [74.0, 122.0].map(|x| ball(image.dim(), [x, 59.0, 12.0], radius, spacing));
    (image, left | right, Params { spacing, ..Params::default() })
}

#[test]
fn good_and_bad_ranges_of_sample_images_are_told_apart() {
    let cell = || photograph("cell", [425.0, 375.0], 25.0);
    let coin = |x, y| photograph("coins", [x, y], 8.0);
    let cases = [
        ("cell", cell(), None, Outcome::Front),
        ("cell", cell(), range(150.0, 80.0), Outcome::Front),
        ("cell", cell(), range(208.0, 10.8), Outcome::AtLimit),
        ("coin", coin(46.0, 50.0), None, Outcome::Front),
        ("coin", coin(110.0, 47.0), None, Outcome::Front),
        ("coin", coin(345.0, 45.0), None, Outcome::Front),
        ("coin", coin(46.0, 50.0), range(167.0, 16.6), Outcome::AtLimit),
        ("coin", coin(330.0, 200.0), range(143.0, 17.8), Outcome::AtLimit),
    ];
    everywhere(|context, name| {
        for (what, (image, mask), range, wanted) in &cases {
            let mut surface = start(context, image.view(), mask, &Params { range: *range, ..Params::default() });
            surface.step(10_000, None).unwrap();
            assert_eq!(surface.state().outcome, *wanted, "{name} {what} {range:?}: {:?}", surface.state());
        }
    });
}

/// A disc of 10 pixels is found from a start of 10, 13 and 16, of whose pixels up to six in ten are background.
#[test]
fn a_start_round_a_small_object_finds_it() {
    let (dim, centre) = ((1, 128, 128), [64.0, 60.0, 0.0]);
    let object = ball(dim, centre, 10.0, [1.0; 3]);
    let mut random = Random::new(7);
    let image = object.mapv(|inside| (if inside > 0 { 160.0 } else { 90.0 } + 8.0 * random.normal()) as u8);
    everywhere(|context, name| {
        for radius in [10.0, 13.0, 16.0] {
            let mask = ball(dim, centre, radius, [1.0; 3]);
            let mut surface = start(context, image.view(), &mask, &Params::default());
            surface.step(10_000, None).unwrap();
            let (found, state) = (mask_of(&surface, dim), surface.state());
            assert!(dice(&found, &object) > 0.97, "{name}, {radius}: {}, {state:?}", dice(&found, &object));
            assert_eq!(state.outcome, Outcome::Front, "{name}, {radius}");
        }
    });
}

#[test]
fn white_matter_is_found_from_two_points() {
    everywhere(|context, name| {
        let (image, mask, params) = white_matter(6.5);
        let run = |range| {
            let mut surface = start(context, image.view(), &mask, &Params { range, ..params.clone() });
            surface.step(10_000, None).unwrap();
            (mask_of(&surface, image.dim()), surface.state())
        };
        let (automatic, state) = run(None);
        let (given, good) = run(range(225.0, 30.0));
        let what = format!("{name}: {} of {}, {state:?}", dice(&automatic, &given), good.inside);
        assert!(dice(&automatic, &given) > 0.85 && state.converged && state.outcome == Outcome::Front, "{what}");
        assert!(state.iterations < 2000, "{what}");
        assert_eq!(good.outcome, Outcome::Front, "{name}: {good:?}");
        let (_, bad) = run(range(225.0, 10.0));
        assert_eq!(bad.outcome, Outcome::AtLimit, "{name}: {bad:?}");
    });
}

/// The range from two points in white matter separates it from grey matter, wherever most of the points are.
#[test]
fn the_range_of_white_matter_hardly_depends_on_the_points() {
    const RADIUS: isize = 3;
    let (image, spacing) = (whole_brain(), [1.0, 1.0, 2.0]);
    let is_white = |z: usize, y: usize, x: usize| {
        let disc = (-RADIUS..=RADIUS).flat_map(|dy| (-RADIUS..=RADIUS).map(move |dx| (dy, dx)));
        let mut disc = disc.filter(|(dy, dx)| dy * dy + dx * dx <= RADIUS * RADIUS);
        disc.all(|(dy, dx)| image[[z, y.saturating_add_signed(dy), x.saturating_add_signed(dx)]] > 204)
    };
    let (_, height, width) = image.dim();
    let margin = RADIUS as usize;
    let rows = (4..16).flat_map(|z| (margin..height - margin).map(move |y| (z, y)));
    let places = rows.flat_map(|(z, y)| (margin..width - margin).map(move |x| (z, y, x)));
    let white: Vec<_> = places.filter(|(z, y, x)| is_white(*z, *y, *x)).collect();
    let pairs = 24;
    let point = |pair: usize| white[pair % pairs * (white.len() / pairs)];
    let context = Context::new("cpu").unwrap();
    let mut good = 0;
    for pair in 0..pairs {
        let [first, second] = [point(pair), point(pair + 7)]
            .map(|(z, y, x)| ball(image.dim(), [x as f64, y as f64, z as f64], RADIUS as f64, spacing));
        let params = Params { spacing, ..Params::default() };
        let State { target, epsilon, side, .. } = start(&context, image.view(), &(first | second), &params).state();
        // White matter is around 218, and grey matter around 170.
        let open = side == isoline::level_set::Side::Above || target + epsilon > 238.0;
        good += usize::from(open && (184.0..=208.0).contains(&(target - epsilon)));
    }
    assert!(good >= 20, "{good} of {pairs}");
}

/// At half of the iterations that it needs in the end, a run says that a fifth to nine tenths are done.
#[test]
fn the_expected_end_is_near_the_end() {
    let sphere = (noisy_ball(BRIGHT, DARK).mapv(|pixel| (pixel / 8) as u8), oval(CENTRE, 7.0));
    let cases = [
        ("ball", sphere, voxels(SPACING)),
        ("cell", photograph("cell", [425.0, 375.0], 25.0), Params { range: range(150.0, 80.0), ..Params::default() }),
        ("coin", photograph("coins", [345.0, 45.0], 8.0), Params::default()),
    ];
    everywhere(|context, name| {
        for (what, (image, mask), params) in &cases {
            let mut surface = start(context, image.view(), mask, params);
            let (mut fractions, mut most) = (vec![], 0.0f64);
            while !surface.state().converged && surface.state().iterations < 10_000 {
                surface.step(6, None).unwrap();
                let State { iterations, expected_iterations, converged, .. } = surface.state();
                assert_eq!(iterations == expected_iterations, converged, "{name} {what}");
                most = most.max(iterations as f64 / expected_iterations as f64);
                fractions.push(most);
            }
            let half = fractions[fractions.len() / 2];
            assert!((0.2..=0.9).contains(&half), "{name} {what}: {half} at half of {fractions:?}");
            assert!(fractions.len() > 5 && *fractions.last().unwrap() == 1.0, "{name} {what}: {fractions:?}");
        }
    });
}

#[test]
fn progress_never_falls_and_is_1_at_the_end_only() {
    let ball = noisy_ball(BRIGHT, DARK).mapv(|pixel| (pixel / 8) as u8);
    let (image, mask, params) = (ball, oval(CENTRE, 7.0), voxels(SPACING));
    everywhere(|context, name| {
        for (params, iterations) in [(params.clone(), 10_000), (params.clone().without_stopping(), 60)] {
            let mut surface = start(context, image.view(), &mask, &params);
            let mut fractions = vec![];
            surface.step(iterations, Some(&mut noting(&mut fractions))).unwrap();
            let what = format!("{name}: {fractions:?}");
            assert!(fractions.is_sorted(), "{what}");
            assert!(fractions[0] < 0.1 && fractions.last() == Some(&1.0), "{what}");
            assert!(fractions[..fractions.len() - 1].iter().all(|fraction| *fraction < 1.0), "{what}");
        }
        let endless = start(context, image.view(), &mask, &params.clone().without_stopping());
        assert_eq!(endless.state().expected_iterations, u64::MAX, "{name}");
    });
}
