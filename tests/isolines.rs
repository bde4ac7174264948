//! Tests of isolines through the public Rust API: against the definition in plain loops, against curves whose area, length
//! and nesting are known. All tests run on the CPU, with a context on a CUDA device, too, where there is one.

#[path = "common/mod.rs"]
mod common;

use common::{Numbers, everywhere};
use isoline::isolines::{self, Connect, Params, Polyline, Polylines};
use isoline::{Context, DeviceKind, ErrorKind, Image};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3, Axis, s};
use std::collections::HashMap;
use std::f64::consts::PI;
use std::ops::ControlFlow;

fn isolines_of<'a>(context: &Context, input: impl Into<Image<'a>>, params: &Params) -> Polylines {
    let mut found = Polylines::new();
    let report =
        isolines::run(context, isoline::Input::Image(input.into()), params, None, &mut found).expect("a good call");
    assert_eq!((report.device.kind, report.device_count), (DeviceKind::Cpu, 1));
    found
}

fn at(levels: &[f64]) -> Params {
    Params { levels: levels.to_vec(), ..Params::default() }
}

/// An edge of the grid: that between the pixel (x, y) and the right one, or the lower one. Sorts in the order of crossings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Edge {
    y: usize,
    down: bool,
    x: usize,
}

type Curve = (Vec<[f64; 2]>, bool);

/// The definition in plain loops: the curves of a slice at one level, without nesting.
fn by_definition(image: ArrayView2<'_, f64>, level: f64, connect: Connect) -> Vec<Curve> {
    let (height, width) = image.dim();
    let mut next = HashMap::new();
    for y in 0..height.saturating_sub(1) {
        for x in 0..width.saturating_sub(1) {
            let corners = [image[[y, x]], image[[y, x + 1]], image[[y + 1, x + 1]], image[[y + 1, x]]];
            if corners.iter().any(|value| !value.is_finite()) {
                continue;
            }
            let [top, right, bottom, left] = [
                Edge { y, down: false, x },
                Edge { y, down: true, x: x + 1 },
                Edge { y: y + 1, down: false, x },
                Edge { y, down: true, x },
            ];
            let low = connect == Connect::Low;
            // The way through the cell with the high corners to the right, for each set of them.
            let ways: &[[Edge; 2]] = match corners.map(|value| value > level) {
                [false, false, false, false] | [true, true, true, true] => &[],
                [true, false, false, false] => &[[top, left]],
                [false, true, false, false] => &[[right, top]],
                [false, false, true, false] => &[[bottom, right]],
                [false, false, false, true] => &[[left, bottom]],
                [true, true, false, false] => &[[right, left]],
                [false, true, true, false] => &[[bottom, top]],
                [false, false, true, true] => &[[left, right]],
                [true, false, false, true] => &[[top, bottom]],
                [false, true, true, true] => &[[left, top]],
                [true, false, true, true] => &[[top, right]],
                [true, true, false, true] => &[[right, bottom]],
                [true, true, true, false] => &[[bottom, left]],
                [true, false, true, false] if low => &[[top, left], [bottom, right]],
                [true, false, true, false] => &[[top, right], [bottom, left]],
                [false, true, false, true] if low => &[[right, top], [left, bottom]],
                [false, true, false, true] => &[[right, bottom], [left, top]],
            };
            for [from, to] in ways {
                assert!(next.insert(*from, *to).is_none(), "an edge is left once");
            }
        }
    }
    let mut starts: Vec<Edge> = next.keys().copied().collect();
    starts.sort();
    let reached: std::collections::HashSet<Edge> = next.values().copied().collect();
    let mut curves = Vec::new();
    // Those that begin somewhere first, so that only closed ones are left.
    let (open, rest): (Vec<Edge>, Vec<Edge>) = starts.into_iter().partition(|edge| !reached.contains(edge));
    for (closed, first) in open.into_iter().map(|edge| (false, edge)).chain(rest.into_iter().map(|edge| (true, edge))) {
        let mut edges = vec![first];
        let Some(mut to) = next.remove(&first) else { continue };
        loop {
            if to != first {
                edges.push(to);
            }
            let Some(after) = next.remove(&to) else { break };
            to = after;
        }
        curves.push((edges, closed));
    }
    curves.sort_by_key(|(edges, _)| edges[0]);
    let position = |edge: &Edge| {
        let a = image[[edge.y, edge.x]];
        let b = if edge.down { image[[edge.y + 1, edge.x]] } else { image[[edge.y, edge.x + 1]] };
        let share = (level - a) / (b - a);
        let [x, y] = [edge.x as f64, edge.y as f64];
        if edge.down { [x, y + share] } else { [x + share, y] }
    };
    let curves = curves.into_iter().map(|(edges, closed)| {
        let mut points: Vec<[f64; 2]> = edges.iter().map(position).collect();
        points.dedup();
        if closed && points.len() > 1 && points[0] == points[points.len() - 1] {
            points.pop();
        }
        (points, closed)
    });
    curves.filter(|(points, _)| points.len() > 1).collect()
}

fn assert_defined(found: &Polylines, image: ArrayView3<'_, f64>, params: &Params, what: &str) {
    let mut got = found.polylines().iter();
    let ends = found.polylines().iter().map(|polyline| polyline.first + polyline.count);
    let firsts = found.polylines().iter().map(|polyline| polyline.first).chain([found.points().len() as u64]);
    assert!([0].into_iter().chain(ends).eq(firsts), "{what}: points without a gap");
    for (z, slice) in image.axis_iter(Axis(0)).enumerate() {
        for level in &params.levels {
            for (points, closed) in by_definition(slice, *level, params.connect) {
                let polyline = got.next().unwrap_or_else(|| panic!("{what}: too few curves"));
                assert_eq!(found.points_of(polyline), points, "{what}");
                assert_eq!(
                    (polyline.is_closed(), polyline.slice as usize, polyline.level),
                    (closed, z, *level),
                    "{what}"
                );
            }
        }
    }
    assert_eq!(got.next(), None, "{what}: too many curves");
}

#[test]
fn curves_are_those_of_the_definition() {
    // Few values, so that many pixels equal the levels, and sides about the words of 32 pixels.
    let shapes =
        [(1, 1, 1), (1, 1, 40), (1, 40, 1), (1, 2, 2), (3, 7, 31), (2, 9, 32), (1, 33, 33), (1, 5, 65), (1, 230, 300)];
    everywhere(|context, device| {
        let mut numbers = Numbers(7);
        for shape in shapes {
            for connect in [Connect::Low, Connect::High] {
                let what = format!("{shape:?}, {connect:?}, {device}");
                let bytes = Array3::from_shape_simple_fn(shape, || numbers.next(6) as u8);
                let params = Params { connect, ..at(&[2.0, 2.5, -1.0, 4.0]) };
                let found = isolines_of(context, bytes.view(), &params);
                assert_defined(&found, bytes.mapv(f64::from).view(), &params, &what);
                let wide = bytes.mapv(|value| 13000 * u16::from(value));
                let params = Params { connect, ..at(&[26000.0, 30000.25]) };
                let found = isolines_of(context, wide.view(), &params);
                assert_defined(&found, wide.mapv(f64::from).view(), &params, &what);
                let real = Array3::from_shape_simple_fn(shape, || numbers.rough(60));
                let params = Params { connect, ..at(&[0.0, 0.1]) };
                let found = isolines_of(context, real.view(), &params);
                assert_defined(&found, real.mapv(f64::from).view(), &params, &what);
            }
        }
    });
}

#[test]
fn a_disc_has_its_area_and_its_length() {
    everywhere(|context, device| {
        for (radius, spacing) in [(20.3, [1.0, 1.0]), (41.7, [0.5, 0.5]), (33.3, [2.0, 0.25])] {
            let cone = Array2::from_shape_fn((120, 131), |(y, x)| (x as f64 - 64.2).hypot(y as f64 - 58.9) as f32);
            let found = isolines_of(context, cone.view(), &Params { spacing, ..at(&[radius]) });
            let [curve] = found.polylines() else { panic!("{device}: one circle") };
            let area = -PI * radius * radius * spacing[0] * spacing[1];
            // The polygon is inside the circle, and its corners are off by the curvature of the cone.
            assert!((curve.area / area - 1.0).abs() < 2e-3, "{device}: {} instead of {area}", curve.area);
            if spacing[0] == spacing[1] {
                let length = 2.0 * PI * radius * spacing[0];
                assert!((curve.length / length - 1.0).abs() < 2e-3, "{device}: {} instead of {length}", curve.length);
            }
            assert!(curve.is_closed() && curve.parent == -1);
        }
    });
}

#[test]
fn a_square_has_the_exact_area_length_and_direction() {
    let mut image = Array2::<u8>::zeros((6, 7));
    image.slice_mut(s![2..4, 2..5]).fill(100);
    everywhere(|context, device| {
        let found = isolines_of(context, image.view(), &at(&[50.0]));
        let [curve] = found.polylines() else { panic!("{device}: one curve") };
        // Twice three pixels, whose corners are cut off by half a pixel along both sides.
        assert_eq!((curve.area, curve.count), (5.5, 10), "{device}");
        assert_eq!(curve.length, 6.0 + 4.0 * 0.5f64.sqrt(), "{device}");
        // Clockwise around the high pixels, from the first crossing, above the left one of them.
        assert_eq!(found.points_of(curve)[..2], [[2.0, 1.5], [3.0, 1.5]], "{device}");
        let inverted = image.mapv(|pixel| 100 - pixel);
        let found = isolines_of(context, inverted.view(), &at(&[50.0]));
        assert_eq!(found.polylines()[0].area, -5.5, "{device}");
        assert_eq!(found.points_of(&found.polylines()[0])[..2], [[2.0, 1.5], [1.5, 2.0]], "{device}");
    });
}

#[test]
fn rings_are_nested() {
    let rings = |x: usize, y: usize| {
        let radius = (x as f64 - 50.0).hypot(y as f64 - 50.0);
        let other = (x as f64 - 120.0).hypot(y as f64 - 50.0);
        (if radius < 46.0 {
            (radius / 2.5).sin()
        } else if other < 20.0 {
            20.0 - other
        } else {
            -1.0
        }) as f32
    };
    let image = Array2::from_shape_fn((101, 150), |(y, x)| rings(x, y));
    everywhere(|context, device| {
        let found = isolines_of(context, image.view(), &at(&[0.1]));
        let mut depths = Vec::new();
        for curve in found.polylines() {
            let (mut depth, mut parent) = (0, curve.parent);
            while parent >= 0 {
                let outer = found.polylines()[parent as usize];
                if depth == 0 {
                    assert!(outer.area * curve.area < 0.0 && outer.area.abs() > curve.area.abs(), "{device}");
                }
                (depth, parent) = (depth + 1, outer.parent);
            }
            depths.push(depth);
        }
        depths.sort();
        assert_eq!(depths, [0, 0, 1, 2, 3, 4, 5], "{device}: a disc beside six rings");
    });
}

/// Returns whether a point is inside a closed polygon.
fn encloses(polygon: &[[f64; 2]], [x, y]: [f64; 2]) -> bool {
    let mut inside = false;
    for (index, [bx, by]) in polygon.iter().enumerate() {
        let [ax, ay] = polygon[(index + polygon.len() - 1) % polygon.len()];
        if (ay > y) != (*by > y) && x < ax + (y - ay) / (by - ay) * (bx - ax) {
            inside = !inside;
        }
    }
    inside
}

#[test]
fn the_parent_is_the_smallest_curve_around() {
    let mut numbers = Numbers(3);
    let mut noise = Array2::from_shape_simple_fn((61, 70), || numbers.next(1 << 20) as f32);
    // A low border, so that curves are closed.
    for ((y, x), pixel) in noise.indexed_iter_mut() {
        if y == 0 || x == 0 || y == 60 || x == 69 {
            *pixel = 0.0;
        }
    }
    noise[[30, 30]] = f32::NAN;
    noise[[12, 50]] = f32::NAN;
    everywhere(|context, device| {
        for connect in [Connect::Low, Connect::High] {
            let found = isolines_of(context, noise.view(), &Params { connect, ..at(&[500_000.3]) });
            let mut with_parent = 0;
            for curve in found.polylines() {
                let point = found.points_of(curve)[0];
                let around = found.polylines().iter().enumerate().filter(|(_, outer)| {
                    outer.is_closed() && *outer != curve && encloses(found.points_of(outer), point)
                });
                let nearest = around.min_by(|a, b| a.1.area.abs().total_cmp(&b.1.area.abs()));
                let expected = if curve.is_closed() { nearest.map_or(-1, |(index, _)| index as i64) } else { -1 };
                assert_eq!(curve.parent, expected, "{device}, {connect:?}");
                with_parent += usize::from(expected >= 0);
            }
            assert!(with_parent > 4, "{device}: {with_parent} of {}", found.polylines().len());
        }
    });
}

#[test]
fn curves_end_at_the_border_and_at_missing_pixels() {
    let mut slope = Array2::from_shape_fn((20, 30), |(_, x)| x as f32);
    everywhere(|context, device| {
        let found = isolines_of(context, slope.view(), &at(&[10.25]));
        let [curve] = found.polylines() else { panic!("{device}: one curve") };
        assert!(!curve.is_closed() && curve.area == 0.0 && curve.length == 19.0, "{device}: {curve:?}");
        // The higher values, to the right in the image, are to the right of a curve that runs upwards.
        let points = found.points_of(curve);
        assert_eq!((points[0], points[19]), ([10.25, 19.0], [10.25, 0.0]), "{device}");
    });
    slope[[8, 10]] = f32::NAN;
    everywhere(|context, device| {
        let found = isolines_of(context, slope.view(), &at(&[10.25]));
        let ends: Vec<_> = found
            .polylines()
            .iter()
            .map(|curve| [0, curve.count as usize - 1].map(|at| found.points_of(curve)[at][1]))
            .collect();
        assert_eq!(ends, [[7.0, 0.0], [19.0, 9.0]], "{device}");
    });
}

#[test]
fn levels_are_equally_spaced_unless_given() {
    let slope = Array3::from_shape_fn((2, 3, 41), |(z, _, x)| if z == 0 { 10.0 } else { x as f32 });
    everywhere(|context, device| {
        let levels = |params: &Params| -> Vec<f64> {
            isolines_of(context, slope.view(), params).polylines().iter().map(|curve| curve.level).collect()
        };
        assert_eq!(levels(&Params::default()), [20.0], "{device}");
        assert_eq!(levels(&Params { level_count: 3, ..Params::default() }), [10.0, 20.0, 30.0], "{device}");
        let range = Some([4.0, 12.0]);
        assert_eq!(levels(&Params { level_count: 3, range, ..Params::default() }), [6.0, 8.0, 10.0], "{device}");
        // Whole numbers have no rounding error, which would make pixels equal to a level high.
        let whole = Params { level_count: 36, range: Some([1.0, 38.0]), ..Params::default() };
        assert_eq!(levels(&whole), (2..38).map(f64::from).collect::<Vec<_>>(), "{device}");
        assert_eq!(levels(&Params { range, ..at(&[30.5, 2.0, 2.0]) }), [30.5, 2.0, 2.0], "{device}");
        let flat = Array2::<f32>::from_elem((9, 9), 3.0);
        assert_eq!(isolines_of(context, flat.view(), &Params::default()), Polylines::new(), "{device}");
    });
}

#[test]
fn layout_threads_and_stacks_do_not_change_a_bit() {
    let mut numbers = Numbers(11);
    let stack = Array3::from_shape_simple_fn((3, 90, 110), || numbers.next(200) as f32 / 7.0);
    let params = at(&[9.0, 20.0]);
    everywhere(|context, device| {
        let whole = isolines_of(context, stack.view(), &params);
        let backwards = stack.slice(s![.., .., ..;-1]).to_owned();
        assert_eq!(isolines_of(context, backwards.slice(s![.., .., ..;-1]), &params), whole, "{device}: strides");
        for threads in [1, 3] {
            let other = Context::with_threads(&context.device().id, threads).unwrap();
            assert_eq!(isolines_of(&other, stack.view(), &params), whole, "{device}: {threads} threads");
        }
        let mut from = 0;
        for (z, slice) in stack.axis_iter(Axis(0)).enumerate() {
            let single = isolines_of(context, slice, &params);
            let of_slice: Vec<&Polyline> = whole.polylines().iter().filter(|curve| curve.slice as usize == z).collect();
            assert_eq!(of_slice.len(), single.polylines().len(), "{device}");
            for (curve, alone) in of_slice.iter().zip(single.polylines()) {
                assert_eq!(whole.points_of(curve), single.points_of(alone), "{device}");
                assert_eq!((curve.length, curve.area), (alone.length, alone.area), "{device}");
                assert_eq!(curve.parent, if alone.parent < 0 { -1 } else { alone.parent + from }, "{device}");
            }
            from += single.polylines().len() as i64;
        }
    });
}

#[test]
fn bad_calls_are_refused_and_leave_the_result() {
    let image = Array2::from_shape_fn((300, 300), |(y, x)| ((x * y) % 251) as u8);
    everywhere(|context, device| {
        let mut found = isolines_of(context, image.view(), &at(&[100.0]));
        let before = found.clone();
        let bad = [
            at(&[1.0, f64::NAN]),
            at(&vec![0.5; 65536]),
            Params { level_count: 0, ..Params::default() },
            Params { range: Some([2.0, 2.0]), ..Params::default() },
            Params { spacing: [0.0, 1.0], ..Params::default() },
        ];
        for params in bad {
            let error = isolines::run(context, image.view().into(), &params, None, &mut found).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{device}");
        }
        let empty = Array2::<u8>::zeros((0, 4));
        let error = isolines::run(context, empty.view().into(), &Params::default(), None, &mut found).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidSize, "{device}");
        let mut cancel = |_: f64, stage: &str| {
            assert_eq!(stage, "isolines");
            ControlFlow::Break(())
        };
        let error =
            isolines::run(context, image.view().into(), &at(&[9.0]), Some(&mut cancel), &mut found).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{device}");
        assert_eq!(found, before, "{device}: untouched");
    });
}

#[test]
fn pixels_in_cuda_memory_have_the_same_curves() {
    // With one thread slices of this size are copied one by one.
    let cuda = match Context::with_threads("cuda", 1) {
        Ok(context) => context,
        Err(error) => return eprintln!("skipped, needs CUDA: {error}"),
    };
    let mut numbers = Numbers(5);
    let bytes = Array3::from_shape_simple_fn((3, 270, 260), || numbers.next(256) as u8);
    let words = bytes.mapv(|pixel| 257 * u16::from(pixel));
    let floats = bytes.mapv(|pixel| if pixel == 3 { f32::NAN } else { f32::from(pixel) / 3.0 });
    for input in [Image::from(bytes.view()), words.view().into(), floats.view().into()] {
        let mut uploaded = cuda.device_image(input.pixel_type(), input.shape()).unwrap();
        uploaded.upload(input).unwrap();
        for params in [Params::default(), at(&[20.0, 85.0])] {
            let expected = isolines_of(&cuda, input, &params);
            assert!(isolines_of(&cuda, uploaded.view(), &params) == expected, "{:?}", input.pixel_type());
        }
    }
}
