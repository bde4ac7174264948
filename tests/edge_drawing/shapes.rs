//! Drawn shapes, soft-edged as a camera sees them and hard-edged as in a mask, give the segments that a person would draw.

use crate::{PROFILES, all_of, draw, everywhere, points_of};
use isoline::edge_drawing::{Params, Profile, Segments};
use ndarray::Array2;

const SIDE: usize = 128;

/// Grey values of a scene whose regions' shares (0..=1) are functions of x and y.
fn scene(grey: impl Fn(f64, f64) -> f64) -> Array2<u8> {
    Array2::from_shape_fn((SIDE, SIDE), |(y, x)| grey(x as f64, y as f64).round().clamp(0.0, 255.0) as u8)
}

/// Returns the share of a pixel that lies inside, from its distance to the outline (positive inside).
fn inside(distance: f64) -> f64 {
    (0.5 + distance).clamp(0.0, 1.0)
}

/// Returns the largest error of a segment's points.
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
                // A circle of 8-neighbours has about 8/√2 times its radius in points.
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
    // A band of 8 pixels along it.
    const HALF_WIDTH: f64 = 4.0;
    let curve = spiral();
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

/// The curve of the spiral, (x, y): 1¾ turns of an Archimedean one.
fn spiral() -> Vec<(f64, f64)> {
    const STEPS: u32 = 2000;
    (0..=STEPS)
        .map(|step| {
            let t = f64::from(step) / f64::from(STEPS);
            let (sin, cos) = (t * 1.75 * std::f64::consts::TAU).sin_cos();
            let radius = 10.0 + 38.0 * t;
            (63.4 + radius * cos, 62.8 + radius * sin)
        })
        .collect()
}

/// Draws a scene of whole pixels in two or more levels, every pixel on one side or the other, with and without turns.
fn hard_edged(grey: impl Fn(f64, f64) -> f64, check: impl Fn(&Segments, &str)) {
    let drawing = scene(grey);
    everywhere(|context, name| {
        for follow_turns in [false, true] {
            let params = Params { follow_turns, ..Params::default() };
            check(&draw(context, drawing.view(), &params).segments, &format!("{name}, follow_turns {follow_turns}"));
        }
    });
}

fn level(inside: bool) -> f64 {
    if inside { 220.0 } else { 30.0 }
}

#[test]
fn the_outline_of_a_hard_edged_disc_is_one_closed_segment() {
    for (cx, cy) in [(63.4, 62.8), (63.0, 63.0), (63.5, 64.5)] {
        for radius in [9.5, 20.0, 20.3, 33.7, 45.2, 50.0] {
            let from_outline = |x: f64, y: f64| (x - cx).hypot(y - cy) - radius;
            hard_edged(
                |x, y| level(from_outline(x, y) < 0.0),
                |segments, what| {
                    assert_eq!(segments.len(), 1, "{what}, radius {radius} around ({cx}, {cy})");
                    let outline = segments.get(0).unwrap();
                    assert!(outline.closed, "{what}, radius {radius}");
                    let off = largest(segments, 0, from_outline);
                    assert!(off <= 1.6, "{what}, radius {radius}: off by {off}");
                    let length = outline.points.len() as f64 / (radius * 8.0 / 2f64.sqrt());
                    // From an outline that cuts every corner, with one point a column or row, to one that goes round all.
                    assert!((0.9..2f64.sqrt()).contains(&length), "{what}, radius {radius}: {length}");
                },
            );
        }
    }
}

#[test]
fn a_hard_edged_circle_has_an_outer_and_an_inner_edge() {
    for half_width in [1.5, 2.0, 4.0] {
        let from_line = |x: f64, y: f64| (x - 63.0).hypot(y - 63.0) - 40.0;
        hard_edged(
            |x, y| level(from_line(x, y).abs() < half_width),
            |segments, what| {
                assert_eq!(segments.len(), 2, "{what}, {half_width}");
                assert!(segments.iter().all(|segment| segment.closed), "{what}, {half_width}");
                for index in 0..2 {
                    let off = largest(segments, index, |x, y| from_line(x, y).abs() - half_width);
                    assert!(off <= 1.6, "{what}, {half_width}: off by {off}");
                }
            },
        );
    }
}

#[test]
fn a_hard_edged_step_is_one_segment_from_border_to_border() {
    let last = SIDE as u32 - 1;
    for degrees in (0..180).step_by(15).chain([3, 10, 27, 53, 80, 171]) {
        let (sin, cos) = f64::from(degrees).to_radians().sin_cos();
        // Through the middle between pixels, where the upright and the level one have two rows of equal gradients.
        let off = |x: f64, y: f64| (x - 63.5) * sin - (y - 63.5) * cos;
        hard_edged(
            |x, y| level(off(x, y) > 1e-9),
            |segments, what| {
                assert_eq!(segments.len(), 1, "{what}, {degrees}°");
                let points = points_of(segments, 0);
                let at_border = |(x, y): (u32, u32)| [0, last].iter().any(|side| x == *side || y == *side);
                let ends = [points[0], points[points.len() - 1]];
                // At 45° the very corners have no gradient.
                let near_border = |(x, y): (u32, u32)| {
                    at_border((x, y))
                        || at_border((x + 1, y + 1))
                        || at_border((x.saturating_sub(1), y.saturating_sub(1)))
                };
                assert!(ends.into_iter().all(near_border), "{what}, {degrees}°: {ends:?}");
                if degrees % 45 != 0 || degrees % 90 == 0 {
                    assert!(ends.into_iter().all(at_border), "{what}, {degrees}°: {ends:?}");
                }
                let worst = largest(segments, 0, off);
                assert!(worst <= 1.5, "{what}, {degrees}°: off by {worst}");
            },
        );
    }
}

#[test]
fn a_hard_edged_line_has_an_edge_on_either_side() {
    for degrees in [0, 20, 45, 53, 70, 90, 120, 160] {
        for half_width in [1.5, 3.0, 4.0] {
            let (sin, cos) = f64::from(degrees).to_radians().sin_cos();
            let off = |x: f64, y: f64| (x - 63.5) * sin - (y - 63.5) * cos;
            hard_edged(
                |x, y| level(off(x, y).abs() < half_width),
                |segments, what| {
                    assert_eq!(segments.len(), 2, "{what}, {degrees}°, {half_width}");
                    for index in 0..2 {
                        let worst = largest(segments, index, |x, y| off(x, y).abs() - half_width);
                        assert!(worst <= 1.6, "{what}, {degrees}°, {half_width}: off by {worst}");
                        assert!(points_of(segments, index).len() >= SIDE - 8, "{what}, {degrees}°, {half_width}");
                    }
                },
            );
        }
    }
}

#[test]
fn three_hard_edged_regions_meet_in_a_junction_of_three_segments() {
    for turns in 0..4 {
        hard_edged(
            |x, y| {
                let (x, y) = (0..turns).fold((x, y), |(x, y), _| (SIDE as f64 - 1.0 - y, x));
                if y < 50.0 {
                    40.0
                } else if x < 60.0 {
                    120.0
                } else {
                    230.0
                }
            },
            |segments, what| {
                assert_eq!(segments.len(), 3, "{what}, {turns} quarter turns");
                let ends: Vec<[(u32, u32); 2]> = (0..3)
                    .map(|index| {
                        let points = points_of(segments, index);
                        [points[0], points[points.len() - 1]]
                    })
                    .collect();
                let meeting = ends[0].into_iter().find(|end| ends[1..].iter().all(|other| other.contains(end)));
                assert!(meeting.is_some(), "{what}, {turns} quarter turns: {ends:?}");
                let at_border = |(x, y): &(u32, u32)| [0, SIDE as u32 - 1].iter().any(|side| x == side || y == side);
                let at_borders = ends.iter().flatten().filter(|end| at_border(end)).count();
                assert_eq!(at_borders, 3, "{what}, {turns} quarter turns: {ends:?}");
            },
        );
    }
}

#[test]
fn the_stem_of_a_t_in_any_orientation_ends_at_the_bar() {
    // Three regions of these grey values: on the bar's outer side, and right and left of the stem.
    const GREYS: [[f64; 3]; 3] = [[40.0, 120.0, 230.0], [120.0, 230.0, 40.0], [230.0, 40.0, 120.0]];
    let (cx, cy) = (64.3, 62.6);
    for soft in [false, true] {
        let side = |distance: f64| if soft { inside(distance) } else { f64::from(u8::from(distance > 0.0)) };
        let (mut drawn, mut joined) = (0, [0; 2]);
        for degrees in (4..360).step_by(20) {
            for between in [60.0, 90.0, 115.0] {
                let off = |degrees: f64, x: f64, y: f64| {
                    let (sin, cos) = degrees.to_radians().sin_cos();
                    (y - cy) * cos - (x - cx) * sin
                };
                let [outer, right, left] = GREYS[drawn % GREYS.len()];
                drawn += 1;
                let t = scene(|x, y| {
                    let (below, stem) =
                        (side(off(f64::from(degrees), x, y)), side(off(f64::from(degrees) + between, x, y)));
                    (1.0 - below) * outer + below * ((1.0 - stem) * right + stem * left)
                });
                everywhere(|context, name| {
                    for follow_turns in [false, true] {
                        let what = format!("{name}, {degrees}°, {between}°, soft {soft}, follow_turns {follow_turns}");
                        let params = Params { follow_turns, ..Params::default() };
                        let segments = draw(context, t.view(), &params).segments;
                        assert!((2..=3).contains(&segments.len()), "{what}: {} segments", segments.len());
                        let all: Vec<Vec<(u32, u32)>> = (0..segments.len()).map(|i| points_of(&segments, i)).collect();
                        // The nearest that an end of a segment comes to another one, of all ends near the meeting point.
                        let nearest = (0..all.len())
                            .flat_map(|i| [(i, all[i][0]), (i, all[i][all[i].len() - 1])])
                            .filter(|(_, (x, y))| (f64::from(*x) - cx).hypot(f64::from(*y) - cy) < 8.0)
                            .flat_map(|(i, end)| {
                                let others = all.iter().enumerate().filter(move |(j, _)| *j != i);
                                others
                                    .flat_map(|(_, points)| points)
                                    .map(move |point| point.0.abs_diff(end.0).max(point.1.abs_diff(end.1)))
                            })
                            .min();
                        assert!(nearest.is_some_and(|gap| gap <= 3), "{what}: a gap of {nearest:?}");
                        if context.device().id == "cpu" {
                            joined[usize::from(follow_turns)] += u32::from(segments.len() == 3 && nearest == Some(0));
                        }
                    }
                });
            }
        }
        // docs/edge_drawing.md has the shares of many more.
        let shares = joined.map(|joined| f64::from(joined) / drawn as f64);
        assert!(shares[0] >= 0.4 && shares[1] >= 0.75, "joined, soft {soft}: {shares:?}");
    }
}

#[test]
fn the_outline_of_a_hard_edged_t_is_one_closed_segment() {
    hard_edged(
        |x, y| {
            let bar = (20.0..108.0).contains(&x) && (40.0..46.0).contains(&y);
            level(bar || (60.0..66.0).contains(&x) && (40.0..110.0).contains(&y))
        },
        |segments, what| {
            assert_eq!(segments.len(), 1, "{what}");
            let outline = segments.get(0).unwrap();
            // 2 · (88 + 70) pixels, less what corners are rounded by.
            assert!(outline.closed && (295..=320).contains(&outline.points.len()), "{what}: {}", outline.points.len());
        },
    );
}

#[test]
fn the_outline_of_a_hard_edged_spiral_is_one_closed_segment() {
    let curve = spiral();
    let from_curve = |x: f64, y: f64| curve.iter().map(|(cx, cy)| (x - cx).hypot(y - cy)).fold(f64::MAX, f64::min);
    for half_width in [3.0, 4.0, 5.0] {
        hard_edged(
            |x, y| level(from_curve(x, y) < half_width),
            |segments, what| {
                assert_eq!(segments.len(), 1, "{what}, {half_width}");
                let outline = segments.get(0).unwrap();
                assert!(outline.closed && outline.points.len() > 500, "{what}, {half_width}");
                let off = largest(segments, 0, |x, y| from_curve(x, y) - half_width);
                assert!(off <= 2.0, "{what}, {half_width}: off by {off}");
            },
        );
    }
}

#[test]
fn the_outline_of_a_hard_edged_square_is_one_segment() {
    // A black square on white, its sides between pixels: each side's two rows of equal gradients give one line.
    let square = scene(|x, y| if (30.0..90.0).contains(&x) && (30.0..90.0).contains(&y) { 0.0 } else { 255.0 });
    everywhere(|context, name| {
        for profile in PROFILES {
            let segments = draw(context, square.view(), &Params { profile, ..Params::default() }).segments;
            assert_eq!(segments.len(), 1, "{name} {profile:?}");
            let outline = segments.get(0).unwrap();
            assert!(outline.closed || profile == Profile::Reference, "{name} {profile:?}");
            assert!((225..=250).contains(&outline.points.len()), "{name} {profile:?}: {}", outline.points.len());
        }
    });
}
