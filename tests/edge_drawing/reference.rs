//! The reference profile beside OpenCV's `ximgproc.EdgeDrawing`: what OpenCV gave for pictures of `tests/data` and noise
//! is kept in `opencv.txt`. `tests/edge_drawing_oracle.py` made it, and compares many more configurations.

use super::{Drawn, all_of, draw, everywhere, noise, photograph, picture};
use isoline::edge_drawing::{Operator, Params, Point, Profile, Validation};
use ndarray::{Array2, Axis, s};

const OPENCV: &str = include_str!("opencv.txt");

/// The oracle's noise.
fn oracle_noise(width: usize, height: usize) -> Array2<u8> {
    noise(1, height, width).remove_axis(Axis(0))
}

fn picture_named(name: &str) -> Array2<u8> {
    match name.strip_prefix("noise:") {
        Some(size) => {
            let (width, height) = size.split_once('x').expect("WIDTHxHEIGHT");
            oracle_noise(width.parse().expect("a width"), height.parse().expect("a height"))
        }
        None => photograph(name),
    }
}

/// The oracle's summary: segments, points, edge pixels, and all of their numbers as one polynomial of 64 bits.
fn summary(drawn: &Drawn) -> String {
    let Drawn { edges, segments } = drawn;
    let on: Vec<u64> = (0u64..).zip(edges).filter(|(_, edge)| **edge != 0).map(|(index, _)| index).collect();
    let points = segments.points().iter().flat_map(|Point { x, y }| [u64::from(*x), u64::from(*y)]);
    let numbers = segments.offsets().iter().copied().chain(points).chain(on.iter().copied());
    let all = numbers.fold(0u64, |sum, number| sum.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number));
    format!("{} {} {} {all:016x}", segments.len(), segments.points().len(), on.len())
}

#[test]
fn matches_opencv() {
    everywhere(|context, device| {
        let mut last = (String::new(), Array2::zeros((1, 1)));
        let mut compared = 0;
        for line in OPENCV.lines().filter(|line| !line.starts_with('#')) {
            let (configuration, expected) = line.split_once(": ").expect("a configuration and its summary");
            let [name, operator, threshold, anchor, interval, length, sigma, validation] =
                configuration.split(' ').collect::<Vec<_>>()[..].try_into().expect("eight words");
            if last.0 != name {
                last = (name.to_owned(), picture_named(name));
            }
            let params = Params {
                profile: Profile::Reference,
                operator: match operator {
                    "prewitt" => Operator::Prewitt,
                    "sobel" => Operator::Sobel,
                    "scharr" => Operator::Scharr,
                    other => panic!("an operator named {other}"),
                },
                gradient_threshold: Some(threshold.parse().expect("a threshold")),
                anchor_threshold: anchor.parse().expect("a threshold"),
                scan_interval: interval.parse().expect("an interval"),
                min_length: length.parse().expect("a length"),
                sigma: sigma.parse().expect("a sigma"),
                validation: match validation {
                    "none" => Validation::None,
                    "false_alarms" => Validation::FalseAlarms,
                    other => panic!("a validation named {other}"),
                },
                ..Params::default()
            };
            assert_eq!(summary(&draw(context, last.1.view(), &params)), expected, "{configuration} on {device}");
            compared += 1;
        }
        assert!(compared > 600, "only {compared} lines in opencv.txt");
    });
}

/// The lists that linking fills are used again from slice to slice, and small slices run side by side.
#[test]
fn a_slice_of_a_stack_is_as_the_slice_alone() {
    let stack = picture(5, 61, 83);
    everywhere(|context, device| {
        for length in [1, 10] {
            let params = Params { min_length: length, ..all_of(Profile::Reference) };
            let all = draw(context, stack.view(), &params);
            let mut next = 0;
            for (z, slice) in stack.axis_iter(Axis(0)).enumerate() {
                let alone = draw(context, slice, &params);
                assert_eq!(all.edges.slice(s![z, .., ..]), alone.edges.index_axis(Axis(0), 0), "slice {z} on {device}");
                for one in alone.segments.iter() {
                    let other = all.segments.get(next).expect("as many segments");
                    assert_eq!((other.points, other.closed, other.slice), (one.points, one.closed, z as u32));
                    assert_eq!(other.mean_gradient, one.mean_gradient);
                    next += 1;
                }
            }
            assert_eq!(next, all.segments.len(), "on {device}");
        }
    });
}

/// Lengths below three act as three, thresholds below one as one.
#[test]
fn the_smallest_parameters_are_those_of_opencv() {
    let picture = oracle_noise(90, 70);
    everywhere(|context, _| {
        let with = |min_length, gradient_threshold| {
            let gradient_threshold = Some(gradient_threshold);
            draw(context, picture.view(), &Params { min_length, gradient_threshold, ..all_of(Profile::Reference) })
        };
        let three = with(3, 8.0);
        assert!(three.segments.len() > 10);
        assert_eq!(with(0, 8.0), three);
        assert_eq!(with(1, 8.0), three);
        assert_ne!(with(4, 8.0), three);
        assert_eq!(with(10, 0.0), with(10, 1.0));
        assert_eq!(with(10, 0.25), with(10, 1.0));
        assert_eq!(with(10, 7.5), with(10, 8.0));
    });
}

/// A noisy spiral of diagonals turns at every other pixel. From some size on it overruns OpenCV's memory.
#[test]
fn an_edge_may_have_any_number_of_turns() {
    const SIDE: usize = 1000;
    const PERIOD: f64 = 14.0;
    let noise = oracle_noise(SIDE, SIDE);
    let spiral = Array2::from_shape_fn((SIDE, SIDE), |(y, x)| {
        let [dx, dy] = [x, y].map(|at| at as f64 - SIDE as f64 / 2.0 + 0.3);
        let turns = (dx.abs() + dy.abs()) / PERIOD - dy.atan2(dx) / std::f64::consts::TAU;
        let grey = 118.0 + 100.0 * (std::f64::consts::TAU * turns).sin();
        (grey + f64::from(noise[[y, x]] >> 4)) as u8
    });
    everywhere(|context, device| {
        let params = Params {
            profile: Profile::Reference,
            operator: Operator::Prewitt,
            gradient_threshold: Some(20.0),
            ..Params::default()
        };
        let drawn = draw(context, spiral.view(), &params);
        let longest = drawn.segments.iter().map(|segment| segment.points.len()).max().expect("a segment");
        assert!(longest > 50_000, "the longest has {longest} points on {device}");
    });
}
