//! Circles and ellipses along segments: drawn ones whose truth is known, noise, stacks, image types, threads and refusals.

use crate::lines::random;
use crate::{contexts, draw, everywhere, photograph};
use isoline::edge_drawing::{self, Ellipse, EllipseParams, Params, Profile, Segments, Shapes};
use isoline::{Context, ErrorKind, Image, PixelType};
use ndarray::{Array2, Array3, s};
use std::f64::consts::PI;
use std::ops::ControlFlow;

const SIZE: usize = 256;

fn ellipses_in<'a>(
    context: &Context,
    input: impl Into<Image<'a>>,
    drawing: &Params,
    params: &EllipseParams,
) -> Vec<Ellipse> {
    let input = input.into();
    let segments = draw(context, input, drawing).segments;
    let mut found = Vec::new();
    edge_drawing::ellipses(context, input.into(), &segments, params, None, &mut found).expect("a good call");
    found
}

/// A drawn ellipse: centre, semi-axes, and the direction of the longer one.
#[derive(Clone, Copy, Debug)]
struct Truth {
    centre: [f64; 2],
    axes: [f64; 2],
    angle: f64,
}

impl Truth {
    fn circle(x: f64, y: f64, radius: f64) -> Self {
        Self { centre: [x, y], axes: [radius; 2], angle: 0.0 }
    }

    /// Returns the distance of a point to first order, negative inside.
    fn distance(&self, [x, y]: [f64; 2]) -> f64 {
        let [dx, dy] = [x - self.centre[0], y - self.centre[1]];
        let (sin, cos) = self.angle.sin_cos();
        let [u, v] = [(cos * dx + sin * dy) / self.axes[0], (cos * dy - sin * dx) / self.axes[1]];
        let level = u.hypot(v);
        let slope = (u / self.axes[0]).hypot(v / self.axes[1]) / level.max(1e-9);
        (level - 1.0) / slope.max(1e-9)
    }

    /// Returns the largest error of an ellipse in its centre, its semi-axes, and its angle at the end of the longer one.
    fn error(&self, found: &Ellipse) -> f64 {
        let centre = (found.x - self.centre[0]).hypot(found.y - self.centre[1]);
        let axes = [found.semi_major - self.axes[0], found.semi_minor - self.axes[1]].map(f64::abs);
        let turn = (found.angle - self.angle).rem_euclid(PI);
        let turn = turn.min(PI - turn) * (self.axes[0] - self.axes[1]);
        [centre, axes[0], axes[1], turn].into_iter().fold(0.0, f64::max)
    }
}

/// Returns a picture of a signed distance, soft as a camera makes it, with noise of a standard deviation.
fn picture(size: usize, noise: f64, seed: u32, distance: impl Fn([f64; 2]) -> f64) -> Array2<u8> {
    let mut next = random(seed);
    Array2::from_shape_fn((size, size), |(y, x)| {
        let gauss: f64 = (0..12).map(|_| next()).sum::<f64>() - 6.0;
        let inside = (0.5 - distance([x as f64, y as f64]) / 2.0).clamp(0.0, 1.0);
        (80.0 + 90.0 * inside + noise * gauss) as u8
    })
}

/// Draws a shape and returns whether an ellipse with an error below `most` was found, its error, and how many others were.
fn search(context: &Context, pixels: &Array2<u8>, profile: Profile, truth: &Truth, most: f64) -> (Option<f64>, usize) {
    let drawing = Params { profile, ..Params::default() };
    let found = ellipses_in(context, pixels.view(), &drawing, &EllipseParams::default());
    let best = found.iter().map(|one| truth.error(one)).fold(f64::INFINITY, f64::min);
    if best < most { (Some(best), found.len() - 1) } else { (None, found.len()) }
}

#[test]
fn whole_and_half_hidden_ellipses_are_found_to_a_fraction_of_a_pixel() {
    let context = Context::new("cpu").unwrap();
    // The ratio of the axes, the share of the circle, or of its projection, that a straight edge hides, the smallest number
    // of 30 that are found, and the largest median of their errors, in pixels. The others are hidden around a tip.
    let cases = [
        (1.0, 0.0, 30, 0.15),
        (1.0, 0.3, 29, 0.2),
        (1.0, 0.45, 28, 0.2),
        (1.3, 0.0, 30, 0.2),
        (1.3, 0.3, 28, 0.3),
        (2.0, 0.0, 30, 0.2),
        (2.0, 0.3, 18, 0.6),
        (4.0, 0.0, 29, 0.2),
    ];
    for (ratio, hidden, least, most) in cases {
        for (profile, noise) in [(Profile::Paper, 0.0), (Profile::Paper, 8.0), (Profile::Reference, 8.0)] {
            let (mut errors, mut others) = (Vec::new(), 0);
            for seed in 0..30 {
                let mut next = random(seed + 77);
                let minor = if ratio > 1.5 { 10.0 + 15.0 * next() } else { 8.0 + 50.0 * next() };
                let centre = [110.0 + 36.0 * next(), 110.0 + 36.0 * next()];
                let truth = Truth { centre, axes: [ratio * minor, minor], angle: PI * next() };
                let cut = PI * next();
                let along = [(cut - truth.angle).cos(), (cut - truth.angle).sin()];
                let reach = (truth.axes[0] * along[0]).hypot(truth.axes[1] * along[1]) * (PI * hidden).cos();
                let pixels = picture(SIZE, noise, seed, |at| {
                    let across = (at[0] - centre[0]) * cut.cos() + (at[1] - centre[1]) * cut.sin();
                    let distance = truth.distance(at);
                    if hidden > 0.0 { distance.max(across - reach) } else { distance }
                });
                let (error, more) = search(&context, &pixels, profile, &truth, if hidden > 0.0 { 5.0 } else { 1.0 });
                errors.extend(error);
                others += more;
            }
            errors.sort_by(f64::total_cmp);
            let median = errors.get(errors.len() / 2).copied().unwrap_or(f64::INFINITY);
            let what = format!("{profile:?}, noise {noise}, ratio {ratio}, hidden {hidden}");
            println!("{what}: {} of 30, median error {median:.3}, {others} others", errors.len());
            assert!(
                errors.len() >= least && median < most && others <= 4,
                "{what}: {} {median} {others}",
                errors.len()
            );
        }
    }
}

#[test]
fn arcs_of_overlapping_discs_are_joined_alike_on_any_number_of_threads() {
    let mut next = random(5);
    let discs: Vec<Truth> =
        (0..110).map(|_| Truth::circle(900.0 * next(), 900.0 * next(), 10.0 + 60.0 * next())).collect();
    let pixels = Array2::from_shape_fn((900, 900), |(y, x)| {
        let around = discs.iter().filter(|disc| disc.distance([x as f64, y as f64]) < 0.0).count();
        (40 + 60 * (around % 3)) as u8
    });
    let params = EllipseParams { coverage: 0.1, validation: false, ..EllipseParams::default() };
    let on = |threads: usize| {
        let context = Context::with_threads("cpu", threads).unwrap();
        ellipses_in(&context, pixels.view(), &Params::default(), &params)
    };
    // One thread tries one seed after the other.
    let wanted = on(1);
    assert!(wanted.iter().filter(|one| one.arcs > 2).count() > 10);
    for threads in [2, 3, 8] {
        assert_eq!(on(threads), wanted, "{threads} threads");
    }
}

#[test]
fn circles_that_touch_and_rings_are_found_apart() {
    let context = Context::new("cpu").unwrap();
    for noise in [0.0, 8.0] {
        for profile in [Profile::Paper, Profile::Reference] {
            let drawing = Params { profile, ..Params::default() };
            let found_all = |truths: &[Truth], pixels: Array2<u8>| {
                let found = ellipses_in(&context, pixels.view(), &drawing, &EllipseParams::default());
                for truth in truths {
                    let error = found.iter().map(|one| truth.error(one)).fold(f64::INFINITY, f64::min);
                    assert!(error < 1.0, "{profile:?} {noise} {truth:?} {found:?}");
                }
                assert_eq!(found.len(), truths.len(), "{profile:?} {noise} {found:?}");
                found
            };
            let touching =
                [Truth::circle(70.0, 80.5, 40.0), Truth::circle(148.0, 80.5, 40.0), Truth::circle(109.2, 160.3, 50.0)];
            let nearest = |at: [f64; 2]| touching.iter().map(|one| one.distance(at)).fold(f64::INFINITY, f64::min);
            let found = found_all(&touching, picture(SIZE, noise, 3, nearest));
            assert!(found.iter().all(|one| one.flags & Ellipse::BRIGHT != 0), "{found:?}");
            // The inner circle of a ring is darker inside.
            let ring = [Truth::circle(120.3, 131.7, 60.0), Truth::circle(120.3, 131.7, 48.0)];
            let found = found_all(&ring, picture(SIZE, noise, 4, |at| ring[0].distance(at).max(-ring[1].distance(at))));
            for one in found {
                assert_eq!(one.flags, Ellipse::CIRCLE | if one.semi_major > 54.0 { Ellipse::BRIGHT } else { 0 });
                assert!(one.coverage > 0.9 && one.rms < 0.6 && one.log_false_alarms < -50.0, "{one:?}");
            }
        }
    }
}

#[test]
fn circles_alone_are_looked_for_on_request_and_small_ones_left_out() {
    let context = Context::new("cpu").unwrap();
    let drawn = [Truth::circle(60.0, 60.0, 12.0), Truth { centre: [150.0, 160.0], axes: [60.0, 25.0], angle: 0.4 }];
    let nearest = |at: [f64; 2]| drawn.iter().map(|one| one.distance(at)).fold(f64::INFINITY, f64::min);
    let pixels = picture(SIZE, 3.0, 5, nearest);
    let count = |params: &EllipseParams| ellipses_in(&context, pixels.view(), &Params::default(), params).len();
    let good = EllipseParams::default();
    assert_eq!(count(&good), 2);
    assert_eq!(count(&EllipseParams { shapes: Shapes::Circles, ..good.clone() }), 1);
    assert_eq!(count(&EllipseParams { min_radius: 20.0, ..good.clone() }), 1);
    assert_eq!(count(&EllipseParams { min_radius: 30.0, ..good.clone() }), 0);
    assert_eq!(count(&EllipseParams { tolerance: 0.01, ..good }), 0);
}

#[test]
fn noise_and_straight_lines_have_none() {
    let context = Context::new("cpu").unwrap();
    let mut candidates = 0;
    for seed in 0..6 {
        let mut next = random(seed);
        let noise = Array2::from_shape_fn((384, 384), |_| (255.0 * next()) as u8);
        for profile in [Profile::Paper, Profile::Reference] {
            let drawing = Params { profile, gradient_threshold: Some(20.0), ..Params::default() };
            let tested = EllipseParams { coverage: 0.25, ..EllipseParams::default() };
            let all = EllipseParams { validation: false, ..tested.clone() };
            let found = ellipses_in(&context, noise.view(), &drawing, &all);
            candidates += found.len();
            let valid = ellipses_in(&context, noise.view(), &drawing, &tested);
            assert_eq!(valid, [], "{profile:?} {seed}");
            assert!(found.iter().all(|one| one.log_false_alarms > 0.0));
        }
    }
    // There is something to reject.
    assert!(candidates > 10, "{candidates}");
    // Squares, bars and crossing lines, in several directions.
    for (index, angle) in [0.0, 0.3, 0.8, 1.2].into_iter().enumerate() {
        let (sin, cos) = f64::sin_cos(angle);
        let bar = |[x, y]: [f64; 2], [cx, cy]: [f64; 2], [w, h]: [f64; 2]| {
            let [dx, dy] = [x - cx, y - cy];
            ((cos * dx + sin * dy).abs() - w).max((cos * dy - sin * dx).abs() - h)
        };
        let pixels = picture(SIZE, 2.0, index as u32, |at| {
            let bars = [
                bar(at, [60.0, 60.0], [20.0, 20.0]),
                bar(at, [180.0, 70.0], [50.0, 3.0]),
                bar(at, [80.0, 180.0], [40.0, 15.0]),
                bar(at, [190.0, 180.0], [7.0, 7.0]),
                bar(at, [190.0, 180.0], [200.0, 1.5]),
            ];
            bars.into_iter().fold(f64::INFINITY, f64::min)
        });
        for profile in [Profile::Paper, Profile::Reference] {
            let drawing = Params { profile, ..Params::default() };
            assert_eq!(
                ellipses_in(&context, pixels.view(), &drawing, &EllipseParams::default()),
                [],
                "{profile:?} {angle}"
            );
        }
    }
}

#[test]
fn the_coins_of_a_photograph_are_found() {
    let context = Context::new("cpu").unwrap();
    let coins = photograph("coins");
    let drawing = Params { profile: Profile::Reference, ..Params::default() };
    let found = ellipses_in(&context, coins.view(), &drawing, &EllipseParams::default());
    // Four rows of six coins.
    assert_eq!(found.len(), 24, "{found:?}");
    for one in found {
        assert!(one.flags & Ellipse::BRIGHT != 0 && one.coverage > 0.9, "{one:?}");
        assert!((17.0..31.5).contains(&one.semi_minor) && one.semi_major < 1.2 * one.semi_minor, "{one:?}");
    }
}

#[test]
fn every_device_type_layout_and_number_of_threads_gives_the_same_ellipses() {
    let coins = photograph("coins");
    let params = EllipseParams::default();
    let one = Context::with_threads("cpu", 1).unwrap();
    let wanted = ellipses_in(&one, coins.view(), &Params::default(), &params);
    assert!(wanted.len() > 15, "{}", wanted.len());
    everywhere(|context, name| {
        assert_eq!(ellipses_in(context, coins.view(), &Params::default(), &params), wanted, "{name}");
        let drawing = Params { gradient_threshold: Some(60.0), ..Params::default() };
        let of_bytes = ellipses_in(context, coins.view(), &drawing, &params);
        let segments = draw(context, coins.view(), &drawing).segments;
        let mut ellipses = Vec::new();
        let wide = coins.mapv(u16::from);
        edge_drawing::ellipses(context, wide.view().into(), &segments, &params, None, &mut ellipses).unwrap();
        assert_eq!(ellipses, of_bytes, "{name}");
        let floats = coins.mapv(f32::from);
        edge_drawing::ellipses(context, floats.view().into(), &segments, &params, None, &mut ellipses).unwrap();
        assert_eq!(ellipses, of_bytes, "{name}");
        // A stack has the ellipses of its slices, with their numbers. Every second column is another layout.
        let (height, width) = coins.dim();
        let mut stack = Array3::<u8>::zeros((3, height, 2 * width));
        stack.slice_mut(s![0, .., ..;2]).assign(&coins);
        stack.slice_mut(s![2, .., ..;2]).assign(&coins);
        let ellipses = ellipses_in(context, stack.slice(s![.., .., ..;2]), &drawing, &params);
        let count = segments.len() as u64;
        let later = of_bytes.iter().map(|one| Ellipse { slice: 2, segment: one.segment + count, ..*one });
        let both: Vec<Ellipse> = of_bytes.iter().copied().chain(later).collect();
        assert_eq!(ellipses, both, "{name}");
    });
}

#[test]
fn device_memory_gives_the_same_ellipses() {
    let coins = photograph("coins");
    let (height, width) = coins.dim();
    let stack = Array3::from_shape_fn((5, height, width), |(z, y, x)| if z == 2 { 0 } else { coins[[y, x]] });
    let (drawing, params) = (Params::default(), EllipseParams::default());
    let wanted = ellipses_in(&Context::new("cpu").unwrap(), stack.view(), &drawing, &params);
    assert!(wanted.len() > 30, "{}", wanted.len());
    for context in contexts().into_iter().filter(|context| context.device().id != "cpu") {
        let mut resident = context.device_image(PixelType::U8, [width, height, 5]).unwrap();
        resident.upload(stack.view().into()).unwrap();
        assert_eq!(ellipses_in(&context, resident.view(), &drawing, &params), wanted);
    }
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_the_ellipses() {
    let context = Context::new("cpu").unwrap();
    let disc = Truth::circle(120.0, 130.0, 40.0);
    let pixels = picture(SIZE, 0.0, 1, |at| disc.distance(at));
    let mut found = ellipses_in(&context, pixels.view(), &Params::default(), &EllipseParams::default());
    let before = found.clone();
    assert_eq!(before.len(), 1);
    let segments = draw(&context, pixels.view(), &Params::default()).segments;
    let input = Image::from(pixels.view());
    let mut refused = |input: Image<'_>, segments: &Segments, params: &EllipseParams, kind: ErrorKind, word: &str| {
        let error = edge_drawing::ellipses(&context, input.into(), segments, params, None, &mut found).unwrap_err();
        assert!(error.kind() == kind && error.message().contains(word), "{error}");
        assert_eq!(found, before);
    };
    let good = EllipseParams::default();
    let cases = [
        ("ellipse_tolerance", EllipseParams { tolerance: 0.0, ..good.clone() }),
        ("ellipse_tolerance", EllipseParams { tolerance: f64::NAN, ..good.clone() }),
        ("ellipse_coverage", EllipseParams { coverage: 0.05, ..good.clone() }),
        ("ellipse_coverage", EllipseParams { coverage: 1.01, ..good.clone() }),
        ("ellipse_min_radius", EllipseParams { min_radius: 0.5, ..good.clone() }),
        ("ellipse_min_radius", EllipseParams { min_radius: f64::INFINITY, ..good.clone() }),
    ];
    for (word, params) in cases {
        refused(input, &segments, &params, ErrorKind::InvalidArgument, word);
    }
    refused(pixels.slice(s![..20, ..30]).into(), &segments, &good, ErrorKind::InvalidArgument, "30 x 20");
    let stack = Array3::from_shape_fn((2, SIZE, SIZE), |(_, y, x)| pixels[[y, x]]);
    let of_stack = draw(&context, stack.view(), &Params::default()).segments;
    refused(input, &of_stack, &good, ErrorKind::InvalidArgument, "slices");
    let mut cancel = |_: f64, _: &str| ControlFlow::Break(());
    let error =
        edge_drawing::ellipses(&context, input.into(), &segments, &good, Some(&mut cancel), &mut found).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(found, before);
}

#[test]
fn pixels_that_are_not_finite_give_no_support() {
    let context = Context::new("cpu").unwrap();
    let disc = Truth::circle(120.0, 130.0, 40.0);
    let pixels = picture(SIZE, 0.0, 2, |at| disc.distance(at));
    let segments = draw(&context, pixels.view(), &Params::default()).segments;
    let mut found = Vec::new();
    for bad in [f32::NAN, f32::INFINITY] {
        let input = Array2::from_elem((SIZE, SIZE), bad);
        edge_drawing::ellipses(&context, input.view().into(), &segments, &EllipseParams::default(), None, &mut found)
            .unwrap();
        assert_eq!(found, []);
    }
}
