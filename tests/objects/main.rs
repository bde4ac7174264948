//! Objects: analytic cases, invariants, errors. These tests run on the CPU; `cuda.rs` compares CUDA with it, where there is a
//! CUDA device.

#[path = "../common/mod.rs"]
mod common;
mod cuda;
mod rest;

use isoline::objects::{self, Object, Objects, Params};
use isoline::{Context, ErrorKind, Foreground, Image, Input, Report};
use ndarray::{Array3, Axis, s};
use std::ops::ControlFlow;

type Position = [f64; 3];

fn distance(a: Position, b: Position) -> f64 {
    (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum::<f64>().sqrt()
}

/// A ball of the unit of the spacing: its centre and its radius.
#[derive(Clone, Copy)]
struct Ball(Position, f64);

impl Ball {
    fn has(&self, position: Position) -> bool {
        distance(self.0, position) <= self.1
    }
}

/// Makes an array of a function of the position.
fn array<T>([width, height, depth]: [usize; 3], spacing: Position, value: impl Fn(Position) -> T) -> Array3<T> {
    Array3::from_shape_fn((depth, height, width), |(z, y, x)| {
        value([x as f64 * spacing[0], y as f64 * spacing[1], z as f64 * spacing[2]])
    })
}

/// Returns the number of the first ball that has a position, from 1; 0 if none has.
fn index(balls: &[Ball], position: Position) -> u16 {
    balls.iter().position(|ball| ball.has(position)).map_or(0, |index| index as u16 + 1)
}

/// Noise between -1 and 1 that depends on the position alone.
fn noise(position: Position) -> f64 {
    let bits = position.iter().fold(17u64, |bits, at| {
        let bits = (bits ^ at.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits ^ (bits >> 29)
    });
    (bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn cpu() -> Context {
    Context::new("cpu").unwrap()
}

fn grow(image: Image<'_>, starts: Option<&Array3<u16>>, params: &Params) -> (Array3<u16>, Vec<Object>, Report) {
    grow_on(&cpu(), image, starts, params)
}

fn grow_on(
    context: &Context,
    image: Image<'_>,
    starts: Option<&Array3<u16>>,
    params: &Params,
) -> (Array3<u16>, Vec<Object>, Report) {
    let [width, height, depth] = image.shape();
    let (mut labels, mut found) = (Array3::zeros((depth, height, width)), Objects::new());
    let starts = starts.map(|starts| starts.view().into());
    let report =
        objects::run(context, image.into(), starts, params, None, labels.view_mut().into(), &mut found).unwrap();
    (labels, found.all().to_vec(), report)
}

/// Returns the Dice coefficient of a label in two label images.
fn dice(a: &Array3<u16>, b: &Array3<u16>, label: u16) -> f64 {
    let count = |labels: &Array3<u16>| labels.iter().filter(|at| **at == label).count();
    let both = a.iter().zip(b).filter(|(a, b)| **a == label && **b == label).count();
    2.0 * both as f64 / (count(a) + count(b)) as f64
}

/// Three balls, of which two touch, in noise.
struct Scene {
    image: Array3<u8>,
    truth: Array3<u16>,
    starts: Array3<u16>,
}

fn scene(size: [usize; 3], spacing: Position, balls: &[Ball], levels: &[f64]) -> Scene {
    let starts: Vec<Ball> = balls.iter().map(|ball| Ball(ball.0, 0.4 * ball.1)).collect();
    Scene {
        image: array(size, spacing, |at| (levels[index(balls, at) as usize] + 15.0 * noise(at)) as u8),
        truth: array(size, spacing, |at| index(balls, at)),
        starts: array(size, spacing, |at| index(&starts, at)),
    }
}

const BALLS: [Ball; 3] = [Ball([16.0, 17.0, 15.0], 11.0), Ball([34.0, 17.0, 15.0], 8.0), Ball([48.0, 30.0, 15.0], 7.0)];

fn three_balls() -> Scene {
    scene([60, 40, 31], [1.0; 3], &BALLS, &[40.0, 150.0, 150.0, 110.0])
}

#[test]
fn touching_objects_stay_apart_and_have_their_shape() {
    let scene = three_balls();
    let (labels, found, report) = grow(scene.image.view().into(), Some(&scene.starts), &Params::default());
    assert!(report.converged, "{} iterations", report.iterations);
    for label in 1..=3 {
        let dice = dice(&labels, &scene.truth, label);
        assert!(dice > 0.95, "object {label}: {dice}");
    }
    assert_eq!(found.iter().map(|object| object.label).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(found.iter().map(Object::touches).collect::<Vec<_>>(), [true, true, false]);
    assert!(found.iter().all(|object| !object.is_at_border()));
    for (object, (ball, level)) in found.iter().zip(BALLS.iter().zip([150.0, 150.0, 110.0])) {
        assert_eq!(object.voxels, labels.iter().filter(|at| u32::from(**at) == object.label).count() as u64);
        assert_eq!(object.volume, object.voxels as f64);
        assert!(distance(object.centre, ball.0) < 0.5, "{:?}", object.centre);
        assert!((object.mean - level).abs() < 5.0 && (object.background - 40.0).abs() < 5.0, "{object:?}");
    }
}

#[test]
fn a_slice_is_an_image_of_two_dimensions() {
    let scene = three_balls();
    let slice = |array: &Array3<u16>| array.slice(s![15..16, .., ..]).to_owned();
    // The spacing along z is not used.
    let params = Params { spacing: [0.5, 0.5, f64::NAN], ..Params::default() };
    let (labels, found, _) = grow(scene.image.slice(s![15..16, .., ..]).into(), Some(&slice(&scene.starts)), &params);
    for label in 1..=3 {
        assert!(dice(&labels, &slice(&scene.truth), label) > 0.95);
    }
    assert!(found.iter().all(|object| object.volume == 0.25 * object.voxels as f64));
}

#[test]
fn shapes_are_those_of_the_spacing() {
    let spacing = [0.2, 0.2, 0.6];
    let balls = BALLS.map(|Ball(centre, radius)| Ball(centre.map(|at| 0.2 * at), 0.2 * radius));
    let scene = scene([60, 40, 11], spacing, &balls, &[40.0, 150.0, 150.0, 110.0]);
    let params = Params { spacing, ..Params::default() };
    let (labels, found, _) = grow(scene.image.view().into(), Some(&scene.starts), &params);
    for label in 1..=3 {
        let dice = dice(&labels, &scene.truth, label);
        assert!(dice > 0.93, "object {label}: {dice}");
    }
    for (object, ball) in found.iter().zip(balls) {
        assert!((object.volume / (4.0 / 3.0 * std::f64::consts::PI * ball.1.powi(3)) - 1.0).abs() < 0.15, "{object:?}");
        assert!(distance(object.centre, ball.0) < 0.15, "{:?}", object.centre);
    }
}

#[test]
fn the_unit_of_length_does_not_count() {
    let scene = three_balls();
    let grow = |unit: f64| {
        let params = Params { spacing: [unit, unit, 2.0 * unit], ..Params::default() };
        grow(scene.image.view().into(), Some(&scene.starts), &params).0
    };
    assert_eq!(grow(1.0), grow(1024.0));
}

#[test]
fn a_permutation_of_the_labels_permutes_the_result() {
    let scene = three_balls();
    let permuted = |labels: &Array3<u16>| labels.mapv(|label| [0, 700, 3, 41][label as usize]);
    let (labels, ..) = grow(scene.image.view().into(), Some(&scene.starts), &Params::default());
    let starts = permuted(&scene.starts);
    let (others, found, _) = grow(scene.image.view().into(), Some(&starts), &Params::default());
    assert!(others == permuted(&labels));
    assert_eq!(found.iter().map(|object| object.label).collect::<Vec<_>>(), [3, 41, 700]);
}

#[test]
fn a_far_crowd_changes_nothing() {
    // The last ball is far from the others: they are beyond its margin.
    let scene = three_balls();
    // Before the fronts are at rest: the number of iterations until then is that of all objects.
    let params = Params { margin: Some(4.0), iterations: 60, ..Params::default() };
    let (all, ..) = grow(scene.image.view().into(), Some(&scene.starts), &params);
    let alone = scene.starts.mapv(|label| if label == 3 { 3 } else { 0 });
    let (alone, ..) = grow(scene.image.view().into(), Some(&alone), &params);
    let only = |labels: &Array3<u16>| labels.mapv(|label| label == 3);
    assert!(only(&all) == only(&alone));
}

#[test]
fn neither_threads_nor_strides_nor_types_change_a_bit() {
    let scene = three_balls();
    let (labels, found, _) = grow(scene.image.view().into(), Some(&scene.starts), &Params::default());
    for threads in [1, 3, 8] {
        let context = Context::with_threads("cpu", threads).unwrap();
        let (mut others, mut list) = (Array3::<u16>::zeros(labels.dim()), Objects::new());
        let starts = Some(scene.starts.view().into());
        let output = others.view_mut().into();
        objects::run(&context, scene.image.view().into(), starts, &Params::default(), None, output, &mut list).unwrap();
        assert!(others == labels && list.all() == found, "{threads} threads");
    }
    // Every second pixel of a wider image, 16 bits in and floats out.
    let mut wide = Array3::<u16>::zeros((31, 40, 120));
    wide.slice_mut(s![.., .., ..;2]).assign(&scene.image.mapv(u16::from));
    let (mut floats, mut list) = (Array3::<f32>::zeros((31, 80, 60)), Objects::new());
    let starts = scene.starts.mapv(f32::from);
    let output = floats.slice_mut(s![.., ..;2, ..]);
    let (image, starts) = (wide.slice(s![.., .., ..;2]).into(), Some(starts.view().into()));
    objects::run(&cpu(), image, starts, &Params::default(), None, output.into(), &mut list).unwrap();
    assert!(floats.slice(s![.., ..;2, ..]).mapv(|label| label as u16) == labels);
    assert_eq!(list.all(), found);
}

#[test]
fn floats_and_dark_objects_are_as_bright_ones() {
    let scene = three_balls();
    let (labels, bright, _) = grow(scene.image.view().into(), Some(&scene.starts), &Params::default());
    let below = Params { foreground: Foreground::Below, ..Params::default() };
    let (dark, of_dark, _) = grow(scene.image.mapv(|pixel| 255 - pixel).view().into(), Some(&scene.starts), &below);
    assert!(dark == labels);
    for (dark, bright) in of_dark.iter().zip(&bright) {
        assert_eq!([dark.mean, dark.background], [255.0 - bright.mean, 255.0 - bright.background]);
    }
    // Floats have other levels, and one NaN far from the objects.
    let mut floats = scene.image.mapv(|pixel| 0.001 * f32::from(pixel) - 7.0);
    floats[[30, 39, 0]] = f32::NAN;
    let (of_floats, found, _) = grow(floats.view().into(), Some(&scene.starts), &Params::default());
    for (label, (found, bright)) in (1..=3).zip(found.iter().zip(&bright)) {
        assert!(dice(&of_floats, &labels, label) > 0.99);
        assert!((found.mean - (0.001 * bright.mean - 7.0)).abs() < 1e-3);
    }
}

#[test]
fn a_hot_pixel_does_not_count_and_a_range_can_be_given() {
    let scene = three_balls();
    let floats = scene.image.mapv(|pixel| 0.5 + f32::from(pixel) / 1000.0);
    let (labels, list, _) = grow(floats.view().into(), Some(&scene.starts), &Params::default());
    let mean = |label: u16| {
        let own: Vec<_> =
            labels.iter().zip(&floats).filter(|(own, _)| **own == label).map(|(_, pixel)| *pixel).collect();
        f64::from(own.iter().sum::<f32>()) / own.len() as f64
    };
    assert!(list.iter().all(|object| (object.mean - mean(object.label as u16)).abs() < 1e-4), "{list:?}");
    // Single pixels, however far away, change no voxel elsewhere.
    for [hot, dead] in [[1e6, -1e6], [f32::MAX, f32::MIN], [f32::INFINITY, f32::NEG_INFINITY]] {
        let mut with = floats.clone();
        (with[[0, 0, 0]], with[[30, 39, 59]]) = (hot, dead);
        let (found, means, _) = grow(with.view().into(), Some(&scene.starts), &Params::default());
        assert!((1..=3).all(|label| dice(&found, &labels, label) > 0.999), "{hot}");
        assert!(means.iter().zip(&list).all(|(a, b)| (a.mean - b.mean).abs() < 1e-4), "{hot}");
    }
    // Pixels beyond a range that is given count as its ends.
    let range = Some([0.0, 0.6]);
    let (_, list, _) = grow(floats.view().into(), Some(&scene.starts), &Params { range, ..Params::default() });
    assert!(list.iter().all(|object| object.mean <= 0.6), "{list:?}");
    // Two levels are an image without neighbours that are both bright: all pixels count.
    let chess = Array3::from_shape_fn((1, 9, 9), |(_, y, x)| ((x + y) % 2) as f32);
    let starts = Array3::from_shape_fn((1, 9, 9), |(_, y, x)| u16::from(x == 5 && y == 4));
    let (_, list, _) = grow(chess.view().into(), Some(&starts), &Params { iterations: 0, ..Params::default() });
    assert_eq!(list[0].mean, 1.0);
}

#[test]
fn a_dim_object_does_not_take_a_bright_neighbour() {
    let balls = &BALLS[..2];
    for levels in [[30.0, 80.0, 230.0], [30.0, 230.0, 80.0]] {
        let scene = scene([52, 36, 31], [1.0; 3], balls, &levels);
        let (labels, ..) = grow(scene.image.view().into(), Some(&scene.starts), &Params::default());
        for label in 1..=2 {
            let dice = dice(&labels, &scene.truth, label);
            assert!(dice > 0.93, "object {label} of {levels:?}: {dice}");
        }
    }
}

#[test]
fn starts_are_found_where_none_are_given() {
    let scene = three_balls();
    let (labels, found, _) = grow(scene.image.view().into(), None, &Params::default());
    assert_eq!(found.len(), 3);
    // Maxima are in the order of the image, and those of balls of different sizes may be in different slices.
    for (index, ball) in BALLS.iter().enumerate() {
        let [x, y, z] = ball.0.map(|at| at as usize);
        let label = labels[[z, y, x]];
        let own = labels.mapv(|at| u16::from(at == label && at > 0));
        let truth = scene.truth.mapv(|at| u16::from(at == index as u16 + 1));
        assert!(dice(&own, &truth, 1) > 0.95, "ball {index}");
    }
    // With a prominence that no ball has over the neck, parts that touch are one.
    let params = Params { prominence: Some(5.5), threshold: Some(80.0), ..Params::default() };
    assert_eq!(grow(scene.image.view().into(), None, &params).1.len(), 2);
    // There is no object if nothing stands out.
    for level in [0.0, 300.0] {
        let params = Params { threshold: Some(level), ..Params::default() };
        let (labels, found, report) = grow(scene.image.view().into(), None, &params);
        assert!(found.is_empty() && report.converged && labels.iter().all(|label| *label == 0));
    }
    // Without iterations the result has the starts, which give the same objects again.
    let (starts, rows, report) = grow(scene.image.view().into(), None, &Params { iterations: 0, ..Params::default() });
    assert!(rows.len() == 3 && rows.iter().all(|row| row.voxels > 0) && report.iterations == 0 && !report.converged);
    assert_eq!(grow(scene.image.view().into(), Some(&starts), &Params::default()).0, labels);
    let (same, ..) = grow(scene.image.view().into(), Some(&starts), &Params { iterations: 0, ..Params::default() });
    assert_eq!(same, starts);
    // Without smoothing single voxels of noise are above the threshold, but none is thick.
    let params = Params { sigma: Some(0.0), ..Params::default() };
    assert_eq!(grow(scene.image.view().into(), None, &params).1.len(), 3);
}

#[test]
fn a_rod_gets_one_start_at_any_angle() {
    for angle in (0..180).step_by(13) {
        let (sine, cosine) = f64::from(angle).to_radians().sin_cos();
        // The distance from a segment, whose blurred outline is that of a microscope.
        let image = array([120, 120, 1], [1.0; 3], |[x, y, _]| {
            let (x, y) = (x - 59.7, y - 60.2);
            let along = ((x * cosine + y * sine).abs() - 40.0).max(0.0);
            let inside = (6.0 - along.hypot(y * cosine - x * sine)).clamp(0.0, 1.0);
            (20.0 + 180.0 * inside) as u8
        });
        let (labels, found, _) = grow(image.view().into(), None, &Params::default());
        assert_eq!(found.len(), 1, "{angle} degrees");
        let area = 80.0 * 11.0 + std::f64::consts::PI * 5.5 * 5.5;
        assert!((found[0].volume / area - 1.0).abs() < 0.05 && labels[[0, 60, 60]] == 1, "{angle}: {:?}", found[0]);
    }
}

#[test]
fn automatic_starts_of_flat_voxels_leave_touching_objects_their_own() {
    // Two discs in one slice of a volume whose slices are farther apart than they are wide.
    let spacing = [1.0, 1.0, 20.0];
    let balls = [Ball([25.0, 20.0, 80.0], 6.0), Ball([36.0, 20.0, 80.0], 6.0)];
    let discs = array([70, 40, 9], spacing, |at| if index(&balls, at) > 0 { 200u8 } else { 0 });
    let params = Params { spacing, sigma: Some(0.0), ..Params::default() };
    let (_, found, _) = grow(discs.view().into(), None, &params);
    let [a, b] = found[..] else { panic!("{found:?}") };
    assert!(a.voxels.abs_diff(b.voxels) < 12 && a.voxels > 90, "{found:?}");
}

#[test]
fn nan_is_background_where_starts_are_found() {
    let ball = [Ball([30.0, 30.0, 0.0], 10.0)];
    let disc = array([60, 60, 1], [1.0; 3], |at| {
        if index(&ball, at) > 0 { 100.0 + ((at[0] + at[1]) % 7.0) as f32 } else { f32::NAN }
    });
    let even = disc.mapv(|pixel| if pixel.is_nan() { pixel } else { 5.0 });
    let count = |image: &Array3<f32>, foreground, threshold| {
        let params = Params { foreground, threshold: Some(threshold), sigma: Some(0.0), ..Params::default() };
        grow(image.view().into(), None, &params).1.len()
    };
    for threshold in [50.0, 99.9] {
        assert_eq!(count(&disc, Foreground::Above, threshold), 1, "{threshold}");
    }
    assert_eq!(count(&disc, Foreground::Below, 200.0), 1);
    // All finite pixels are equal: they are on one side of the threshold, or on the other.
    for (foreground, threshold, objects) in [
        (Foreground::Above, 1.0, 1),
        (Foreground::Above, 9.0, 0),
        (Foreground::Below, 1.0, 0),
        (Foreground::Below, 9.0, 1),
    ] {
        assert_eq!(count(&even, foreground, threshold), objects, "{foreground:?} {threshold}");
    }
}

#[test]
fn starts_stay_if_they_shall_and_others_vanish() {
    let scene = three_balls();
    // A fourth start lies in the background.
    let mut starts = scene.starts.clone();
    starts.slice_mut(s![3..6, 3..6, 50..53]).fill(9);
    let (labels, found, _) = grow(scene.image.view().into(), Some(&starts), &Params::default());
    assert!(starts.iter().zip(&labels).all(|(start, label)| *start == 0 || start == label));
    assert!(found[3].voxels >= 27 && found[3].voxels < 60, "{:?}", found[3]);
    let params = Params { keep_starts: false, ..Params::default() };
    let (labels, found, _) = grow(scene.image.view().into(), Some(&starts), &params);
    assert!(!labels.iter().any(|label| *label == 9));
    assert_eq!((found[3].label, found[3].voxels, found[3].volume), (9, 0, 0.0));
    assert!(found[3].centre.iter().all(|at| at.is_nan()) && !found[3].touches());
    for label in 1..=3 {
        assert!(dice(&labels, &scene.truth, label) > 0.95);
    }
}

#[test]
fn an_object_is_at_the_border_where_the_image_cuts_it() {
    let scene = three_balls();
    let cut = |array: &Array3<u16>| array.slice(s![.., .., 10..]).to_owned();
    let (labels, found, _) =
        grow(scene.image.slice(s![.., .., 10..]).into(), Some(&cut(&scene.starts)), &Params::default());
    assert_eq!(found.iter().map(Object::is_at_border).collect::<Vec<_>>(), [true, false, false]);
    assert!(dice(&labels, &cut(&scene.truth), 1) > 0.95);
}

#[test]
fn a_smaller_weight_of_the_image_gives_a_smoother_object() {
    let scene = three_balls();
    // The faces between a label and others grow with its roughness.
    let faces = |alpha: f64| {
        let params = Params { alpha, ..Params::default() };
        let (labels, ..) = grow(scene.image.view().into(), Some(&scene.starts), &params);
        (0..3)
            .map(|axis| {
                let rest = labels.slice_axis(Axis(axis), (1..).into());
                rest.iter().zip(labels.slice_axis(Axis(axis), (..-1).into())).filter(|(a, b)| a != b).count()
            })
            .sum::<usize>()
    };
    assert!(faces(0.35) < faces(0.9), "{} {}", faces(0.35), faces(0.9));
}

#[test]
fn bad_input_is_refused() {
    let image = Array3::<u8>::from_elem((4, 5, 6), 7);
    let mut starts = Array3::<u16>::zeros((4, 5, 6));
    starts[[2, 2, 2]] = 300;
    let run = |starts: Option<Input<'_>>, params: &Params, bytes: bool| {
        let (mut small, mut large) = (Array3::<u8>::ones((4, 5, 6)), Array3::<u16>::ones((4, 5, 6)));
        let output = if bytes { small.view_mut().into() } else { large.view_mut().into() };
        let mut found = Objects::new();
        let error = objects::run(&cpu(), image.view().into(), starts, params, None, output, &mut found).unwrap_err();
        assert!(small.iter().all(|at| *at == 1) && large.iter().all(|at| *at == 1) && found.all().is_empty());
        error
    };
    let given = || Some(starts.view().into());
    let defaults = Params::default;
    let is = |error: isoline::Error, kind: ErrorKind, text: &str| {
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(text), "{error}");
    };
    let argument = ErrorKind::InvalidArgument;
    for params in [
        Params { alpha: 0.0, ..defaults() },
        Params { alpha: 1.5, ..defaults() },
        Params { alpha: f64::NAN, ..defaults() },
    ] {
        is(run(given(), &params, false), argument, "alpha must be");
    }
    is(run(given(), &Params { check_interval: 0, ..defaults() }, false), argument, "check_interval must be");
    is(run(given(), &Params { margin: Some(0.0), ..defaults() }, false), argument, "margin must be");
    is(run(given(), &Params { change_tolerance: -1.0, ..defaults() }, false), argument, "change_tolerance must be");
    is(run(given(), &Params { threshold: Some(f64::NAN), ..defaults() }, false), argument, "threshold must be");
    is(run(given(), &Params { sigma: Some(101.0), ..defaults() }, false), argument, "sigma must be");
    is(run(given(), &Params { prominence: Some(0.0), ..defaults() }, false), argument, "prominence must be");
    for spacing in [[0.0, 1.0, 1.0], [1.0, f64::NAN, 1.0], [1.0, 1.0, -1.0]] {
        let error = run(given(), &Params { spacing, ..defaults() }, false);
        assert!(error.kind() == argument && error.message().contains("spacing"), "{error}");
    }
    is(run(given(), &defaults(), true), ErrorKind::InvalidType, "must hold the largest label, 300 (got uint8)");
    let none = Array3::<u8>::zeros((4, 5, 6));
    is(run(Some(none.view().into()), &defaults(), false), argument, "must have a voxel that is not 0");
    is(run(Some(none.slice(s![1.., .., ..]).into()), &defaults(), false), ErrorKind::InvalidSize, "6 x 5 x 3");
    for wrong in [0.5, -1.0, f32::NAN, f32::INFINITY, 16777218.0] {
        let floats = Array3::<f32>::from_elem((4, 5, 6), wrong);
        is(run(Some(floats.view().into()), &defaults(), false), argument, "whole numbers from 0 to 16777216");
    }
}

#[test]
fn an_even_image_has_objects_that_are_moved_by_curvature_alone() {
    let image = Array3::<u8>::from_elem((9, 20, 20), 7);
    let starts = array([20, 20, 9], [1.0; 3], |at| u16::from(Ball([10.0, 10.0, 4.0], 3.5).has(at)));
    let (labels, found, _) =
        grow(image.view().into(), Some(&starts), &Params { keep_starts: false, ..Params::default() });
    assert_eq!(found[0].voxels, 0);
    assert!(labels.iter().all(|label| *label == 0));
}

#[test]
fn objects_without_background_come_to_rest() {
    let image = array([40, 40, 1], [1.0; 3], |[x, y, _]| (100.0 + 9.0 * x + y) as u16);
    let starts = array([40, 40, 1], [1.0; 3], |[x, y, _]| 1 + x as u16 / 10 + 4 * (y as u16 / 10));
    // Distances from the fronts settle first.
    let params = Params { iterations: 30, ..Params::default() };
    let (labels, found, report) = grow(image.view().into(), Some(&starts), &params);
    assert!(report.converged && labels == starts, "{report:?}");
    assert!(found.iter().all(|object| object.background.is_nan()), "{found:?}");
}

#[test]
fn an_object_that_still_grows_is_not_stopped_by_many_at_rest() {
    // A rod of 120 x 11 pixels, with a start at one end, above 30 squares that are their own starts.
    let number = |[x, y, _]: Position| {
        let (column, row) = (x as u16 / 20, y as u16 / 20);
        let in_square = x % 20.0 < 12.0 && y % 20.0 < 12.0;
        if (10.0..130.0).contains(&x) && (5.0..16.0).contains(&y) {
            1
        } else if row >= 2 && in_square {
            2 + column + 10 * (row - 2)
        } else {
            0
        }
    };
    let truth = array([200, 100, 1], [1.0; 3], number);
    let starts = array([200, 100, 1], [1.0; 3], |at| if at[0] >= 20.0 && at[1] < 20.0 { 0 } else { number(at) });
    let image = truth.mapv(|label| if label > 0 { 200u8 } else { 20 });
    let (labels, _, report) = grow(image.view().into(), Some(&starts), &Params::default());
    assert!(report.converged && dice(&labels, &truth, 1) > 0.99);
}

#[test]
fn a_rod_grows_to_its_end_from_its_tip() {
    let inside = |[x, y, z]: Position| (y - 11.0).hypot(z - 11.0) <= 3.5 && (10.0..130.0).contains(&x);
    let image = array([140, 23, 23], [1.0; 3], |at| if inside(at) { 200u8 } else { 20 });
    let starts = array([140, 23, 23], [1.0; 3], |at| u16::from(inside(at) && at[0] < 17.0));
    let whole = image.iter().filter(|pixel| **pixel == 200).count() as u64;
    for check_interval in [1, 10, 50] {
        let params = Params { check_interval, ..Params::default() };
        let (_, found, report) = grow(image.view().into(), Some(&starts), &params);
        assert!(report.converged && found[0].voxels == whole, "{check_interval}: {} of {whole}", found[0].voxels);
    }
    // The last interval is too short to say that the fronts are at rest.
    let (_, _, report) = grow(image.view().into(), Some(&starts), &Params { iterations: 1, ..Params::default() });
    assert!(!report.converged);
}

#[test]
fn fronts_move_along_a_large_spacing_before_they_are_at_rest() {
    let (size, spacing) = ([40, 40, 7], [1.0, 1.0, 20.0]);
    let disc = |at: Position, radius: f64| u16::from((at[0] - 20.0).hypot(at[1] - 20.0) < radius);
    let truth = array(size, spacing, |at| disc(at, 12.0));
    let starts = array(size, spacing, |at| if at[2] == 60.0 { disc(at, 8.0) } else { 0 });
    let image = truth.mapv(|label| if label > 0 { 200u8 } else { 20 });
    let (labels, _, report) = grow(image.view().into(), Some(&starts), &Params { spacing, ..Params::default() });
    assert!(report.converged && dice(&labels, &truth, 1) > 0.95);
}

#[test]
fn a_callback_sees_progress_and_cancels() {
    let scene = three_balls();
    let run = |progress: &mut isoline::Progress<'_>| {
        let (mut labels, mut found) = (Array3::<u16>::zeros(scene.truth.dim()), Objects::new());
        let (image, starts) = (scene.image.view().into(), Some(scene.starts.view().into()));
        let output = labels.view_mut().into();
        let done = objects::run(&cpu(), image, starts, &Params::default(), Some(progress), output, &mut found);
        (done, labels, found)
    };
    let mut fractions = Vec::new();
    run(&mut |fraction, stage| {
        assert_eq!(stage, "objects");
        fractions.push(fraction);
        ControlFlow::Continue(())
    })
    .0
    .unwrap();
    assert!(fractions.is_sorted() && fractions.iter().all(|fraction| (0.0..=1.0).contains(fraction)), "{fractions:?}");
    let mut calls = 0;
    let (done, labels, found) = run(&mut |_, _| {
        calls += 1;
        if calls > 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(done.unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(labels.iter().all(|label| *label == 0) && found.all().is_empty());
}
