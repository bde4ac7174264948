//! Axes and critical points: fields and shapes whose axes are known, the definition on a smooth field, symmetries, fields
//! that have none, threads, stacks and refusals.

use crate::common::{Random, cuda_and_cpu, everywhere, photograph};
use crate::strength;
use isoline::edge_strength::{self, AxisParams, Foreground, Mode, Params};
use isoline::isolines::{Polyline, Polylines};
use isoline::{Context, ErrorKind, Image, PixelType};
use ndarray::{Array2, Array3, ArrayView3, Axis, s};
use std::f64::consts::TAU;
use std::ops::ControlFlow;

fn axes_of<'a>(context: &Context, strength: impl Into<Image<'a>>, params: &AxisParams) -> Polylines {
    let mut found = Polylines::new();
    let report = edge_strength::axes(context, isoline::Input::Image(strength.into()), params, None, &mut found);
    report.expect("a good call");
    found
}

/// Every axis, however short.
fn all() -> AxisParams {
    AxisParams { min_length: 0.0, ..AxisParams::default() }
}

/// Returns a strength whose logarithm is `log` of x and y.
fn field(width: usize, height: usize, log: impl Fn(f64, f64) -> f64) -> Array2<f32> {
    Array2::from_shape_fn((height, width), |(y, x)| log(x as f64, y as f64).exp() as f32)
}

/// Returns the converged strength of a drawing.
fn converged(drawing: &Array2<u8>, rho: f64) -> Array2<f32> {
    let params = Params { rho, mode: Mode::Converged { tolerance: 1e-6, max_cycles: 100 }, ..Params::default() };
    strength(&Context::new("cpu").unwrap(), drawing.view(), &params).index_axis_move(Axis(0), 0)
}

/// Returns the outline of a shape: its pixels with one of the four neighbours outside.
fn outline(width: usize, height: usize, inside: impl Fn(f64, f64) -> bool) -> Array2<u8> {
    Array2::from_shape_fn((height, width), |(y, x)| {
        let [x, y] = [x as f64, y as f64];
        let all = inside(x - 1.0, y) && inside(x + 1.0, y) && inside(x, y - 1.0) && inside(x, y + 1.0);
        u8::from(inside(x, y) && !all)
    })
}

/// Returns the points of the polylines with a flag.
fn points_with(found: &Polylines, flag: u32) -> Vec<[f64; 2]> {
    let with = found.polylines().iter().filter(|polyline| polyline.flags == flag);
    with.flat_map(|polyline| found.points_of(polyline).iter().copied()).collect()
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

/// Fails unless the points are these, each once.
fn assert_points(found: &Polylines, flag: u32, expected: &[[f64; 2]], tolerance: f64, what: &str) {
    let got = points_with(found, flag);
    assert_eq!(got.len(), expected.len(), "{what}: {got:?} instead of {expected:?}");
    for point in expected {
        assert!(got.iter().any(|other| distance(*point, *other) <= tolerance), "{what}: {got:?} lacks {point:?}");
    }
}

/// Fails unless the smallest strength is at the right end of every axis, and polylines are as documented.
fn assert_valid(found: &Polylines, strength: ArrayView3<'_, f32>) {
    let (mut points, mut slice) = (0, 0);
    for polyline in found.polylines() {
        assert_eq!((polyline.first, polyline.parent, polyline.area), (points, -1, 0.0), "{polyline:?}");
        points += polyline.count;
        assert!(polyline.slice >= slice, "{polyline:?}");
        slice = polyline.slice;
        let line = found.points_of(polyline);
        let low = match polyline.flags {
            Polylines::S_PLUS => line[line.len() - 1],
            Polylines::S_MINUS | Polylines::ELLIPTIC | Polylines::HYPERBOLIC => line[0],
            flags => panic!("flags {flags}"),
        };
        let length: f64 = line.windows(2).map(|pair| distance(pair[0], pair[1])).sum();
        assert!((length - polyline.length).abs() < 1e-9 * (1.0 + length), "{polyline:?}");
        assert_eq!(line.len() == 1, polyline.flags >= Polylines::ELLIPTIC, "{polyline:?}");
        let near = strength[[slice as usize, low[1].round() as usize, low[0].round() as usize]];
        assert!((polyline.level.ln() - f64::from(near).ln()).abs() < 0.3, "{polyline:?} beside {near}");
    }
    assert_eq!(points, found.points().len() as u64);
}

#[test]
fn a_bowl_has_a_centre_and_a_saddle_a_neck() {
    let (centre, turn) = ([20.3, 17.8], 0.4f64);
    let along = |x: f64, y: f64| {
        let [dx, dy] = [x - centre[0], y - centre[1]];
        [turn.cos() * dx + turn.sin() * dy, turn.cos() * dy - turn.sin() * dx]
    };
    everywhere(|context, device| {
        for elliptic in [true, false] {
            let strength = field(41, 37, |x, y| {
                let [u, v] = along(x, y);
                -4.0 + 0.001 * u * u + if elliptic { 0.004 * v * v } else { -0.003 * v * v }
            });
            let found = axes_of(context, strength.view(), &all());
            assert_valid(&found, strength.view().insert_axis(Axis(0)));
            let flag = if elliptic { Polylines::ELLIPTIC } else { Polylines::HYPERBOLIC };
            let [point, arms @ ..] = found.polylines() else { panic!("{device}") };
            assert_eq!(point.flags, flag, "{device}");
            assert!(distance(found.points_of(point)[0], centre) < 1e-3, "{device}: {:?}", found.points());
            assert!((point.level.ln() + 4.0).abs() < 1e-4, "{device}: {}", point.level);
            // On an ellipse the gradient is smallest at the ends of the longer axis, on a hyperbola at its vertex.
            assert_eq!(arms.len(), 4, "{device}: {arms:?}");
            for arm in arms {
                let line = found.points_of(arm);
                let [first, last] = [line[0], line[line.len() - 1]];
                assert!(first == found.points()[0] || last == found.points()[0], "{device}: {first:?} {last:?}");
                let places = line.iter().map(|[x, y]| along(*x, *y));
                let is_long = places.clone().all(|[_, v]| v.abs() < 0.1);
                assert!(is_long || places.clone().all(|[u, _]| u.abs() < 0.1), "{device}: {line:?}");
                let expected = if elliptic && !is_long { Polylines::S_MINUS } else { Polylines::S_PLUS };
                assert_eq!(arm.flags, expected, "{device}: {line:?}");
                assert!(arm.length > 10.0, "{device}");
            }
        }
    });
}

#[test]
fn every_critical_point_of_a_lattice_is_found_once() {
    // Periods that are no whole numbers, so that points are anywhere between pixels.
    let periods = [11.37, 9.81];
    let log = |x: f64, y: f64| -2.0 + 0.4 * (TAU * x / periods[0]).cos() + 0.3 * (TAU * y / periods[1]).cos();
    let strength = field(230, 190, log);
    let found = axes_of(&Context::new("cpu").unwrap(), strength.view(), &all());
    // Those of whole and half periods, at least a pixel from the border.
    let places = |halves: [f64; 2]| -> Vec<[f64; 2]> {
        let along = |axis: usize, side: f64| {
            let inside = move |at: &f64| *at > 1.0 && *at < side - 2.0;
            (0..40).map(move |index| (f64::from(index) + halves[axis]) * periods[axis]).filter(inside)
        };
        along(1, 190.0).flat_map(|y| along(0, 230.0).map(move |x| [x, y])).collect()
    };
    let saddles = [places([0.5, 0.0]), places([0.0, 0.5])].concat();
    assert!(saddles.len() > 600);
    // A fit of 3 × 3 pixels to so short periods is good to some hundredths of a pixel.
    assert_points(&found, Polylines::ELLIPTIC, &places([0.5, 0.5]), 0.05, "elliptic");
    assert_points(&found, Polylines::HYPERBOLIC, &saddles, 0.05, "hyperbolic");
}

#[test]
fn axes_are_where_the_gradient_is_extremal_along_level_curves() {
    // A smooth field whose derivatives are known.
    let waves = [([0.05, 0.02], 0.3, 0.5), ([-0.03, 0.06], 1.1, 0.35), ([0.02, -0.045], 2.0, 0.45)];
    let log =
        |x: f64, y: f64| -3.0 + waves.iter().map(|([u, v], at, high)| high * (u * x + v * y + at).sin()).sum::<f64>();
    let gradient = |[x, y]: [f64; 2]| {
        let slope =
            |axis: usize| waves.iter().map(|(k, at, high)| high * k[axis] * (k[0] * x + k[1] * y + at).cos()).sum();
        [slope(0), slope(1)]
    };
    let magnitude = |at: [f64; 2]| {
        let [x, y]: [f64; 2] = gradient(at);
        x.hypot(y)
    };
    // The derivative of the magnitude along the level curve, and its unit tangent.
    let change = |at: [f64; 2]| {
        let [x, y]: [f64; 2] = gradient(at);
        let tangent = [-y / x.hypot(y), x / x.hypot(y)];
        let moved = |step: f64| [at[0] + step * tangent[0], at[1] + step * tangent[1]];
        ((magnitude(moved(1e-4)) - magnitude(moved(-1e-4))) / 2e-4, tangent)
    };
    let strength = field(200, 180, log);
    let found = axes_of(&Context::new("cpu").unwrap(), strength.view(), &AxisParams::default());
    assert_valid(&found, strength.view().insert_axis(Axis(0)));
    let [mut right, mut wrong] = [0, 0];
    for polyline in found.polylines().iter().filter(|polyline| polyline.count > 1) {
        for point in found.points_of(polyline) {
            let (_, tangent) = change(*point);
            let [before, after] =
                [-0.3, 0.3].map(|step| change([point[0] + step * tangent[0], point[1] + step * tangent[1]]).0);
            // Across a minimum the derivative rises.
            let as_said = if polyline.flags == Polylines::S_PLUS {
                before < 0.0 && after > 0.0
            } else {
                before > 0.0 && after < 0.0
            };
            if as_said { right += 1 } else { wrong += 1 }
        }
    }
    // The derivative is 0 on both sides where axes of both kinds meet.
    assert!(right > 1500 && wrong * 25 < right, "{right} points are right, {wrong} wrong");
}

#[test]
fn a_rectangle_has_one_centre_and_axes_from_its_corners() {
    let strength = converged(&outline(101, 71, |x, y| (x - 50.0).abs() <= 40.0 && (y - 35.0).abs() <= 25.0), 16.0);
    let found = axes_of(&Context::new("cpu").unwrap(), strength.view(), &AxisParams::default());
    assert_valid(&found, strength.view().insert_axis(Axis(0)));
    assert_points(&found, Polylines::ELLIPTIC, &[[50.0, 35.0]], 0.01, "rectangle");
    assert_points(&found, Polylines::HYPERBOLIC, &[], 0.0, "rectangle");
    let inside = |point: &[f64; 2]| (point[0] - 50.0).abs() < 40.0 && (point[1] - 35.0).abs() < 25.0;
    let [plus, minus]: [Vec<[f64; 2]>; 2] = [Polylines::S_PLUS, Polylines::S_MINUS]
        .map(|flag| points_with(&found, flag).into_iter().filter(inside).collect());
    // Near a corner the axis is the diagonal, at the same distance from both sides.
    let corners: [[f64; 2]; 4] = [[10.0, 10.0], [90.0, 10.0], [10.0, 60.0], [90.0, 60.0]];
    for corner in corners {
        for step in 3..9 {
            let step = f64::from(step);
            let at = [corner[0] + step * (50.0 - corner[0]).signum(), corner[1] + step * (35.0 - corner[1]).signum()];
            assert!(plus.iter().any(|point| distance(at, *point) < 0.4), "no axis at {at:?}");
        }
    }
    // The long midline, beyond the place where the axes of two corners meet, is S+ up to the centre, the short one S−.
    for step in 0..=15 {
        let step = f64::from(step);
        for (points, at) in [
            (&plus, [50.0 - step, 35.0]),
            (&plus, [50.0 + step, 35.0]),
            (&minus, [50.0, 35.0 - step]),
            (&minus, [50.0, 35.0 + step]),
        ] {
            assert!(points.iter().any(|point| distance(at, *point) < 0.51), "no axis at {at:?}");
        }
    }
    let off = plus.iter().filter(|[x, y]| (x - 50.0).abs() < 14.0 && (y - 35.0).abs() > 0.01).count();
    assert_eq!(off, 0, "S+ points beside the midline");
}

#[test]
fn two_parts_have_two_centres_and_a_neck() {
    let drawing = outline(141, 81, |x, y| (x - 45.0).hypot(y - 40.0) < 28.5 || (x - 95.0).hypot(y - 40.0) < 28.5);
    for rho in [8.0, 32.0] {
        let strength = converged(&drawing, rho);
        let found = axes_of(&Context::new("cpu").unwrap(), strength.view(), &AxisParams::default());
        assert_points(&found, Polylines::HYPERBOLIC, &[[70.0, 40.0]], 0.01, "two discs");
        let centres = points_with(&found, Polylines::ELLIPTIC);
        let [left, right] = centres[..] else { panic!("rho {rho}: {centres:?}") };
        assert!((left[0] + right[0] - 140.0).abs() < 0.01 && (left[1] - 40.0).abs() < 0.01, "rho {rho}: {centres:?}");
        assert!((left[0] - 47.0).abs() < 2.5, "rho {rho}: near to the centre of the disc, but {left:?}");
        // An S+ axis joins the neck with each centre, and an S− axis begins at each indentation.
        let ends: Vec<_> = found
            .polylines()
            .iter()
            .map(|one| {
                let line = found.points_of(one);
                (one.flags, line[0], line[line.len() - 1])
            })
            .collect();
        for centre in [left, right] {
            let joins = |(flags, from, to): &(u32, [f64; 2], [f64; 2])| {
                *flags == Polylines::S_PLUS && distance(*from, [70.0, 40.0]) < 0.01 && *to == centre
            };
            assert!(ends.iter().any(joins), "rho {rho}: {ends:?}");
        }
        let indented = points_with(&found, Polylines::S_MINUS);
        for y in [31.0, 49.0] {
            assert!(indented.iter().any(|point| distance(*point, [70.0, y]) < 1.0), "rho {rho}: no S− axis at {y}");
        }
    }
}

#[test]
fn an_ellipse_has_its_axes() {
    let strength = converged(&outline(161, 101, |x, y| ((x - 80.0) / 70.0).hypot((y - 50.0) / 40.0) <= 1.0), 24.0);
    let params = AxisParams { min_length: 15.0, ..AxisParams::default() };
    let found = axes_of(&Context::new("cpu").unwrap(), strength.view(), &params);
    assert_points(&found, Polylines::ELLIPTIC, &[[80.0, 50.0]], 0.01, "ellipse");
    let [plus, minus] = [Polylines::S_PLUS, Polylines::S_MINUS].map(|flag| points_with(&found, flag));
    for step in 0..30 {
        let step = f64::from(step);
        for at in [[80.0 - step, 50.0], [80.0 + step, 50.0]] {
            assert!(plus.iter().any(|point| distance(at, *point) < 0.6), "no axis at {at:?}");
        }
        for at in [[80.0, 50.0 - step], [80.0, 50.0 + step]] {
            assert!(minus.iter().any(|point| distance(at, *point) < 0.6), "no axis at {at:?}");
        }
    }
}

/// The strength inside of a silhouette.
fn silhouette() -> Array2<f32> {
    let mode = Mode::Converged { tolerance: 1e-6, max_cycles: 100 };
    let params = Params { mode, threshold: 127.0, foreground: Foreground::Above, ..Params::default() };
    strength(&Context::new("cpu").unwrap(), photograph("horse").view(), &params).index_axis_move(Axis(0), 0)
}

/// Fails if an axis goes on where it ends, in another one of its class: only critical points are between two of a class.
fn assert_whole(found: &Polylines) {
    let [elliptic, hyperbolic] = [Polylines::ELLIPTIC, Polylines::HYPERBOLIC].map(|flag| points_with(found, flag));
    for flag in [Polylines::S_PLUS, Polylines::S_MINUS] {
        let lines = found.polylines().iter().filter(|axis| axis.flags == flag).map(|axis| found.points_of(axis));
        let firsts: Vec<_> = lines.clone().map(|line| line[0]).collect();
        for line in lines {
            let last = line[line.len() - 1];
            let ends = elliptic.contains(&last) || hyperbolic.contains(&last) || !firsts.contains(&last);
            assert!(ends, "an axis of {} points is cut at {last:?}", line.len());
        }
    }
}

#[test]
fn axes_are_cut_where_their_class_changes_alone() {
    // In noise many curves are closed.
    let mut random = Random::new(3);
    let noise = Array2::from_shape_simple_fn((90, 110), || 0.2 + 0.6 * random.uniform() as f32);
    let found = axes_of(&Context::new("cpu").unwrap(), noise.view(), &all());
    assert!(found.polylines().len() > 1000);
    assert_whole(&found);
}

#[test]
fn turned_and_mirrored_images_have_turned_and_mirrored_axes() {
    let image = silhouette();
    let context = Context::new("cpu").unwrap();
    let found = axes_of(&context, image.view(), &AxisParams::default());
    assert!(found.polylines().len() > 50);
    let (height, width) = (image.dim().0 as f64 - 1.0, image.dim().1 as f64 - 1.0);
    let turned = image.t().slice_move(s![.., ..;-1]).to_owned();
    let mirrored = image.slice(s![.., ..;-1]).to_owned();
    let turn = |[x, y]: [f64; 2]| [height - y, x];
    let mirror = |[x, y]: [f64; 2]| [width - x, y];
    for (other, moved) in [(turned, &turn as &dyn Fn([f64; 2]) -> [f64; 2]), (mirrored, &mirror)] {
        let other = axes_of(&context, other.view(), &AxisParams::default());
        for flag in [Polylines::ELLIPTIC, Polylines::HYPERBOLIC] {
            let expected: Vec<_> = points_with(&found, flag).into_iter().map(moved).collect();
            assert_points(&other, flag, &expected, 1e-6, "moved");
        }
        for flag in [Polylines::S_PLUS, Polylines::S_MINUS] {
            let expected: Vec<_> = points_with(&found, flag).into_iter().map(moved).collect();
            let got = points_with(&other, flag);
            let lacking = |from: &[[f64; 2]], to: &[[f64; 2]]| {
                from.iter().filter(|point| to.iter().all(|other| distance(**point, *other) > 0.01)).count()
            };
            // The way of a curve through the cell in which four axes meet may be another one.
            let differ = lacking(&got, &expected) + lacking(&expected, &got);
            assert!(differ * 100 <= got.len(), "{differ} of {} points differ", got.len());
        }
    }
}

#[test]
fn fields_without_axes_have_none() {
    let context = Context::new("cpu").unwrap();
    let mut stripes = Array2::<u8>::zeros((90, 130));
    stripes.slice_mut(s![..;18, ..]).fill(1);
    let iterated = |rho: f64, iterations: u64| {
        let params = Params { rho, mode: Mode::Iterate { iterations }, ..Params::default() };
        strength(&context, stripes.view(), &params).index_axis_move(Axis(0), 0)
    };
    let cases = [
        ("zeros", Array2::zeros((40, 50))),
        ("ones", Array2::ones((40, 50))),
        ("one value", Array2::from_elem((40, 50), 0.3)),
        ("a slope", field(90, 80, |x, y| -(x + 2.0 * y) / 30.0)),
        ("a gentle slope", field(90, 80, |x, y| -2.0 - (0.3 * x + 0.7 * y) / 3e3)),
        ("a parabolic valley", field(90, 80, |x, y| -5.0 + 0.001 * (0.6 * x - 0.8 * y + 7.0).powi(2))),
        (
            "below the least strength",
            field(60, 60, |x, y| -9.5 + 1e-4 * ((x - 30.0).powi(2) + 2.0 * (y - 30.0).powi(2))),
        ),
        ("parallel lines", converged(&stripes, 16.0)),
        ("parallel lines, iterated", iterated(16.0, 50)),
        ("parallel lines, where v decays to 0", iterated(0.5, 200)),
        ("missing pixels", Array2::from_elem((40, 50), f32::NAN)),
        ("one pixel", Array2::from_elem((1, 1), 0.5)),
        ("a row", field(40, 1, |x, _| -x / 9.0)),
        ("two rows", field(40, 2, |x, y| -x * (1.0 + y) / 9.0)),
    ];
    for (name, strength) in cases {
        let found = axes_of(&context, strength.view(), &all());
        assert_eq!(found, Polylines::new(), "{name}");
    }
}

#[test]
fn pixels_beside_the_shape_and_missing_ones_are_left_out() {
    let bowl = |x: f64, y: f64| -4.0 + 0.002 * ((x - 30.0).powi(2) + 2.0 * (y - 30.0).powi(2));
    let mut strength = field(61, 61, bowl);
    let context = Context::new("cpu").unwrap();
    let whole = axes_of(&context, strength.view(), &all());
    for hole in [1.0, f32::NAN, f32::INFINITY, 0.0, -0.5] {
        strength[[30, 40]] = hole;
        let found = axes_of(&context, strength.view(), &all());
        let near = |point: &&[f64; 2]| (point[0] - 40.0).abs() < 2.0 && (point[1] - 30.0).abs() < 2.0;
        assert_eq!(found.points().iter().filter(near).count(), 0, "{hole}");
        assert_eq!(whole.points().iter().filter(near).count(), 3, "the axis went there");
        assert_eq!(found.polylines().len(), whole.polylines().len() + 1, "{hole}: the axis is in two parts");
    }
}

#[test]
fn threads_layout_and_stacks_do_not_change_a_bit() {
    let horse = silhouette();
    let other = horse.slice(s![..;-1, ..]).to_owned();
    let stack = ndarray::stack(Axis(0), &[horse.view(), other.view(), horse.view()]).unwrap();
    let params = AxisParams { min_length: 3.0, spacing: [0.5, 0.5], ..AxisParams::default() };
    everywhere(|context, device| {
        let whole = axes_of(context, stack.view(), &params);
        for threads in [1, 2, 7] {
            let other = Context::with_threads(&context.device().id, threads).unwrap();
            assert!(axes_of(&other, stack.view(), &params) == whole, "{device}: {threads} threads");
        }
        let backwards = stack.slice(s![.., .., ..;-1]).to_owned();
        assert!(axes_of(context, backwards.slice(s![.., .., ..;-1]), &params) == whole, "{device}: strides");
        for (z, slice) in stack.axis_iter(Axis(0)).enumerate() {
            let single = axes_of(context, slice, &params);
            let of_slice: Vec<&Polyline> = whole.polylines().iter().filter(|one| one.slice as usize == z).collect();
            assert_eq!(of_slice.len(), single.polylines().len(), "{device}");
            for (one, alone) in of_slice.iter().zip(single.polylines()) {
                assert_eq!(whole.points_of(one), single.points_of(alone), "{device}");
                assert_eq!((one.length, one.level, one.flags), (alone.length, alone.level, alone.flags), "{device}");
            }
        }
        // Lengths are in the unit of the spacing, but the shortest one is in pixels.
        let shortest = whole.polylines().iter().filter(|one| one.count > 1).map(|one| one.length);
        let shortest = shortest.fold(f64::INFINITY, f64::min);
        assert!((1.5..1.6).contains(&shortest), "{device}: {shortest}");
    });
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    let mut uploaded = cuda.device_image(PixelType::F32, [stack.dim().2, stack.dim().1, 3]).unwrap();
    uploaded.upload(stack.view().into()).unwrap();
    assert!(axes_of(&cuda, uploaded.view(), &params) == axes_of(&cpu, stack.view(), &params));
}

#[test]
fn bad_calls_are_refused_and_leave_the_result() {
    let context = Context::new("cpu").unwrap();
    let strength = silhouette();
    let mut found = axes_of(&context, strength.view(), &AxisParams::default());
    let before = found.clone();
    let mut refused = |strength: Image<'_>, params: &AxisParams, kind: ErrorKind, word: &str| {
        let error =
            edge_strength::axes(&context, isoline::Input::Image(strength), params, None, &mut found).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(word), "{error}");
    };
    let good = AxisParams::default();
    for (params, word) in [
        (AxisParams { min_strength: 0.0, ..good.clone() }, "axis_min_strength"),
        (AxisParams { min_strength: 1.0, ..good.clone() }, "axis_min_strength"),
        (AxisParams { min_strength: f64::NAN, ..good.clone() }, "axis_min_strength"),
        (AxisParams { min_length: -1.0, ..good.clone() }, "axis_min_length"),
        (AxisParams { spacing: [1.0, 0.0], ..good.clone() }, "spacing along y"),
    ] {
        refused(strength.view().into(), &params, ErrorKind::InvalidArgument, word);
    }
    let bytes = Array2::<u8>::zeros((9, 9));
    refused(bytes.view().into(), &good, ErrorKind::InvalidType, "must be float32 (got uint8)");
    refused(Array2::<f32>::zeros((0, 9)).view().into(), &good, ErrorKind::InvalidSize, "at least one pixel");
    // Cancelled at any call of the callback.
    let stack = Array3::from_shape_fn((4, strength.dim().0, strength.dim().1), |(_, y, x)| strength[[y, x]]);
    for calls in 0..4 {
        let (mut left, mut last) = (calls, 0.0);
        let mut cancel = |fraction: f64, stage: &str| {
            assert_eq!(stage, "axes");
            assert!(fraction >= last, "{fraction} after {last}");
            last = fraction;
            left -= 1;
            if left < 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let input = isoline::Input::Image(stack.view().into());
        let error = edge_strength::axes(&context, input, &good, Some(&mut cancel), &mut found).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
    assert!(found == before, "untouched");
}
