//! Drawn shapes, soft-edged as a camera sees them, give the segments that a person would draw.

use crate::{PROFILES, all_of, draw, everywhere, points_of};
use isoline::edge_drawing::{Params, Profile, Segments};
use ndarray::Array2;

const SIDE: usize = 128;

/// Grey values of a scene whose regions' shares (0..=1) are functions of x and y.
fn scene(grey: impl Fn(f64, f64) -> f64) -> Array2<u8> {
    Array2::from_shape_fn((SIDE, SIDE), |(y, x)| grey(x as f64, y as f64).round().clamp(0.0, 255.0) as u8)
}

/// How much of a pixel lies inside, for its distance to the outline (positive inside).
fn inside(distance: f64) -> f64 {
    (0.5 + distance).clamp(0.0, 1.0)
}

/// How far the worst point of a segment lies from where it should.
fn largest(segments: &Segments, index: usize, off: impl Fn(f64, f64) -> f64) -> f64 {
    points_of(segments, index).iter().map(|(x, y)| off(f64::from(*x), f64::from(*y)).abs()).fold(0.0, f64::max)
}

#[test]
fn the_outline_of_a_disc_is_one_closed_segment() {
    const CENTRE: (f64, f64) = (63.4, 62.8);
    for radius in [20.3, 33.7, 45.2, 50.0] {
        let from_outline = |x: f64, y: f64| (x - CENTRE.0).hypot(y - CENTRE.1) - radius;
        let disc = scene(|x, y| 30.0 + 200.0 * inside(-from_outline(x, y)));
        everywhere(|context, name| {
            for profile in PROFILES {
                let segments = draw(context, disc.view(), &Params { profile, ..Params::default() }).segments;
                assert_eq!(segments.len(), 1, "{name} {profile:?}, radius {radius}");
                let outline = segments.get(0).unwrap();
                assert!(outline.closed, "{name} {profile:?}, radius {radius}");
                let off = largest(&segments, 0, from_outline);
                assert!(off <= 1.2, "{name} {profile:?}, radius {radius}: off by {off}");
                // As many points as a circle of 8-neighbours has, about 8/√2 of its radius.
                let length = outline.points.len() as f64 / (radius * 8.0 / 2f64.sqrt());
                assert!((0.95..1.07).contains(&length), "{name} {profile:?}, radius {radius}: {length}");
            }
        });
    }
}

#[test]
fn a_drawn_circle_has_an_outer_and_an_inner_edge() {
    const CENTRE: (f64, f64) = (63.4, 62.8);
    const RADIUS: f64 = 40.0;
    let from_line = |x: f64, y: f64| (x - CENTRE.0).hypot(y - CENTRE.1) - RADIUS;
    let circle = scene(|x, y| 255.0 * inside(1.5 - from_line(x, y).abs()));
    everywhere(|context, name| {
        for profile in PROFILES {
            let segments = draw(context, circle.view(), &Params { profile, ..Params::default() }).segments;
            assert_eq!(segments.len(), 2, "{name} {profile:?}");
            assert!(segments.iter().all(|segment| segment.closed), "{name} {profile:?}");
            for index in 0..2 {
                assert!(largest(&segments, index, from_line) <= 3.0, "{name} {profile:?}");
            }
            let [outer, inner] = [0, 1].map(|index| segments.get(index).unwrap().points.len());
            assert!(outer.abs_diff(inner) >= 10, "{name} {profile:?}: {outer} and {inner} points");
        }
    });
}

#[test]
fn a_drawn_line_has_an_edge_on_either_side_from_border_to_border() {
    // A dark line of 3 pixels at 53°, through the whole image.
    let line = scene(|x, y| 200.0 - 150.0 * inside(1.5 - (0.8 * (x - 63.3) - 0.6 * (y - 60.1)).abs()));
    everywhere(|context, name| {
        for follow_turns in [false, true] {
            let params = Params { follow_turns, ..Params::default() };
            let segments = draw(context, line.view(), &params).segments;
            assert_eq!(segments.len(), 2, "{name}");
            for index in 0..2 {
                let points = points_of(&segments, index);
                // One point in every row, from the first to the last: no gap at the border.
                let rows: Vec<u32> = points.iter().map(|(_, y)| *y).collect();
                assert_eq!(rows, (0..SIDE as u32).collect::<Vec<_>>(), "{name}");
                let off = largest(&segments, index, |x, y| (0.8 * (x - 63.3) - 0.6 * (y - 60.1)).abs() - 1.5);
                assert!(off <= 1.2, "{name}: off by {off}");
            }
        }
    });
}

#[test]
fn edges_of_every_slope_reach_the_border_without_a_gap() {
    for degrees in (3..180).step_by(6) {
        let (sin, cos) = f64::from(degrees).to_radians().sin_cos();
        let off = |x: f64, y: f64| (x - 63.3) * sin - (y - 64.1) * cos;
        let halves = scene(|x, y| 50.0 + 150.0 * inside(off(x, y)));
        everywhere(|context, name| {
            let segments = draw(context, halves.view(), &Params::default()).segments;
            assert_eq!(segments.len(), 1, "{name}, {degrees}°");
            let points = points_of(&segments, 0);
            let at_border = |(x, y): (u32, u32)| [0, SIDE as u32 - 1].iter().any(|side| x == *side || y == *side);
            assert!(at_border(points[0]) && at_border(points[points.len() - 1]), "{name}, {degrees}°: {points:?}");
            let worst = largest(&segments, 0, off);
            assert!(worst <= 1.2, "{name}, {degrees}°: off by {worst}");
        });
    }
}

#[test]
fn the_reference_stays_off_the_border() {
    let halves = scene(|x, y| 50.0 + 150.0 * inside(0.6 * (x - 63.3) - 0.8 * (y - 64.1)));
    everywhere(|context, name| {
        let drawn = draw(context, halves.view(), &Params { profile: Profile::Reference, ..Params::default() });
        assert_eq!(drawn.segments.len(), 1, "{name}");
        let last = SIDE - 1;
        for ((_, y, x), edge) in drawn.edges.indexed_iter() {
            assert!(*edge == 0 || (x > 0 && y > 0 && x < last && y < last), "{name}: an edge at ({x}, {y})");
        }
    });
}

#[test]
fn three_regions_meet_in_a_junction_of_three_segments() {
    // Dark above, grey to the left, bright to the right: a T.
    let (bar, stem) = (50.3, 60.3);
    let junction = scene(|x, y| {
        let (below, right) = (inside(y - bar), inside(x - stem));
        40.0 * (1.0 - below) + below * (120.0 * (1.0 - right) + 230.0 * right)
    });
    everywhere(|context, name| {
        let segments = draw(context, junction.view(), &all_of(Profile::Paper)).segments;
        assert_eq!(segments.len(), 3, "{name}");
        let ends: Vec<[(u32, u32); 2]> = (0..3)
            .map(|index| {
                let points = points_of(&segments, index);
                [points[0], points[points.len() - 1]]
            })
            .collect();
        let meeting: Vec<(u32, u32)> =
            ends[0].iter().copied().filter(|end| ends[1..].iter().all(|other| other.contains(end))).collect();
        assert_eq!(meeting.len(), 1, "{name}: {ends:?}");
        let (x, y) = (f64::from(meeting[0].0), f64::from(meeting[0].1));
        assert!((x - stem).abs() <= 2.0 && (y - bar).abs() <= 2.0, "{name}: they meet at {meeting:?}");
        // The other ends: left, right and bottom border.
        let last = SIDE as u32 - 1;
        let others: Vec<(u32, u32)> = ends.iter().flatten().copied().filter(|end| *end != meeting[0]).collect();
        assert_eq!(others.len(), 3, "{name}");
        assert!(others.iter().any(|(x, _)| *x == 0), "{name}: {others:?}");
        assert!(others.iter().any(|(x, _)| *x == last), "{name}: {others:?}");
        assert!(others.iter().any(|(_, y)| *y == last), "{name}: {others:?}");
    });
}

#[test]
fn the_outline_of_a_spiral_is_one_closed_segment() {
    // A band of 8 pixels along an Archimedean spiral of 1¾ turns.
    const STEPS: u32 = 2000;
    const HALF_WIDTH: f64 = 4.0;
    let curve: Vec<(f64, f64)> = (0..=STEPS)
        .map(|step| {
            let t = f64::from(step) / f64::from(STEPS);
            let (sin, cos) = (t * 1.75 * std::f64::consts::TAU).sin_cos();
            let radius = 10.0 + 38.0 * t;
            (63.4 + radius * cos, 62.8 + radius * sin)
        })
        .collect();
    let from_curve = |x: f64, y: f64| curve.iter().map(|(cx, cy)| (x - cx).hypot(y - cy)).fold(f64::MAX, f64::min);
    let spiral = scene(|x, y| 20.0 + 200.0 * inside(HALF_WIDTH - from_curve(x, y)));
    everywhere(|context, name| {
        for profile in PROFILES {
            for follow_turns in [false, true] {
                let params = Params { profile, follow_turns, ..Params::default() };
                let segments = draw(context, spiral.view(), &params).segments;
                assert_eq!(segments.len(), 1, "{name} {profile:?}");
                let outline = segments.get(0).unwrap();
                assert!(outline.closed && outline.points.len() > 500, "{name} {profile:?}");
                let off = largest(&segments, 0, |x, y| from_curve(x, y) - HALF_WIDTH);
                assert!(off <= 1.3, "{name} {profile:?}: off by {off}");
            }
        }
    });
}

#[test]
fn hard_edges_of_a_reference_are_single_lines() {
    // A black square on white, its sides between pixels: each side's two rows of equal gradients give one line.
    let square = scene(|x, y| if (30.0..90.0).contains(&x) && (30.0..90.0).contains(&y) { 0.0 } else { 255.0 });
    everywhere(|context, name| {
        let segments =
            draw(context, square.view(), &Params { profile: Profile::Reference, ..Params::default() }).segments;
        assert_eq!(segments.len(), 1, "{name}");
        let length = segments.get(0).unwrap().points.len();
        assert!((225..=250).contains(&length), "{name}: {length} points");
    });
}
