//! Validation by the number of false alarms: the definition in plain loops, beside what the library keeps.

use super::common::cancelling_after;
use super::{Drawn, PROFILES, all_of, draw, everywhere, intermediate, noise, photograph, picture};
use isoline::edge_drawing::{self, Operator, Params, Point, Profile, Segments, Validation};
use isoline::{Context, ErrorKind};
use ndarray::{Array3, Axis, s};
use std::collections::BTreeSet;

fn validated(params: &Params) -> Params {
    Params { validation: Validation::FalseAlarms, ..params.clone() }
}

/// The gradient that is tested: Prewitt after a Gaussian of 0.4. In the reference profile the outermost pixels have none.
fn tested_gradient(image: &Array3<u8>, profile: Profile) -> Array3<u32> {
    let cpu = Context::new("cpu").expect("the CPU");
    let params = Params { operator: Operator::Prewitt, sigma: 0.4, ..Params::default() };
    let mut gradient = intermediate(&cpu, image.view(), &params).gradient.mapv(|g| g as u32);
    if profile == Profile::Reference {
        let (_, height, width) = gradient.dim();
        for (_, y, x) in ndarray::indices(gradient.raw_dim()) {
            if x == 0 || y == 0 || x + 1 == width || y + 1 == height {
                gradient[[0, y, x]] = 0;
            }
        }
    }
    gradient
}

/// The number of false alarms of a part of some points, as a product: N H^k.
fn false_alarms(parts: u64, share: f64, points: usize) -> f64 {
    (0..points * 4 / 9).fold(parts as f64, |alarms, _| if alarms > 1.0 { alarms * share } else { alarms })
}

/// Tests a part, then both sides of its smallest gradient.
fn test(along: &[u32], first: usize, least: usize, share: &dyn Fn(u32) -> f64, parts: u64, valid: &mut Vec<usize>) {
    if along.len() < least {
        return;
    }
    let smallest = *along.iter().min().expect("a point");
    if false_alarms(parts, share(smallest), along.len()) <= 1.0 {
        valid.extend(first..first + along.len());
        return;
    }
    let at = along.iter().position(|gradient| *gradient == smallest).expect("it is there");
    test(&along[..at], first, least, share, parts, valid);
    test(&along[at + 1..], first + at + 1, least, share, parts, valid);
}

/// Validates the segments of one slice.
fn expected(image: &Array3<u8>, drawn: &Drawn, params: &Params) -> (Array3<u8>, Vec<Vec<Point>>) {
    let gradient = tested_gradient(image, params.profile);
    let (_, height, width) = gradient.dim();
    let pixels = match params.profile {
        Profile::Paper => width * height,
        _ => (width - 2) * (height - 2),
    };
    let share = |least: u32| {
        let inner = gradient.slice(match params.profile {
            Profile::Paper => s![.., .., ..],
            _ => s![.., 1..height - 1, 1..width - 1],
        });
        inner.iter().filter(|g| **g >= least).count() as f64 / pixels as f64
    };
    let parts = drawn.segments.iter().map(|s| s.points.len() as u64).map(|n| n * (n - 1) / 2).sum();
    let mut edges = Array3::zeros(gradient.raw_dim());
    for segment in drawn.segments.iter() {
        let along: Vec<u32> = segment.points.iter().map(|p| gradient[[0, p.y as usize, p.x as usize]]).collect();
        let mut valid = Vec::new();
        test(&along, 0, params.min_length.max(3) as usize, &share, parts, &mut valid);
        valid.iter().map(|i| segment.points[*i]).for_each(|p| edges[[0, p.y as usize, p.x as usize]] = 255);
    }
    let least = if params.profile == Profile::Paper { params.min_length as usize } else { 10 };
    let mut kept = Vec::new();
    for segment in drawn.segments.iter() {
        let marked = |p: &Point| edges[[0, p.y as usize, p.x as usize]] > 0;
        let mut points = segment.points.to_vec();
        if let (Profile::Paper, true, Some(gap)) =
            (params.profile, segment.closed, points.iter().rposition(|p| !marked(p)))
        {
            points.rotate_left(gap);
        }
        let runs = points.split(|p| !marked(p)).filter(|run| !run.is_empty() && run.len() >= least);
        kept.extend(runs.map(<[Point]>::to_vec));
    }
    (edges, kept)
}

/// Both profiles, on pictures in which little and in which much is kept.
#[test]
fn parts_are_those_of_the_definition() {
    let images = [
        ("camera", photograph("camera").slice(s![101..250, 57..280]).to_owned().insert_axis(Axis(0))),
        ("coins", photograph("coins").slice(s![30..140, 20..200]).to_owned().insert_axis(Axis(0))),
        ("picture", picture(1, 61, 83)),
        ("noise", noise(5, 70, 90)),
        ("wide", noise(7, 6, 300)),
    ];
    everywhere(|context, device| {
        let mut kept = 0;
        for (name, image) in &images {
            for profile in PROFILES {
                for (min_length, follow_turns, gradient_threshold) in
                    [(10, false, None), (1, true, None), (5, false, Some(30.0)), (25, false, Some(4.0))]
                {
                    if follow_turns && profile == Profile::Reference {
                        continue;
                    }
                    let params = Params { profile, min_length, follow_turns, gradient_threshold, ..Params::default() };
                    let params = validated(&params);
                    let threshold = edge_drawing::automatic_threshold(context, image.view().into(), &params).unwrap();
                    let params = Params { gradient_threshold: gradient_threshold.or(Some(threshold)), ..params };
                    let all = draw(context, image.view(), &Params { validation: Validation::None, ..params.clone() });
                    let got = draw(context, image.view(), &params);
                    let (edges, parts) = expected(image, &all, &params);
                    let what = format!("{name}, {params:?} on {device}");
                    assert!(got.edges == edges, "{what}");
                    let points: Vec<_> = got.segments.iter().map(|segment| segment.points.to_vec()).collect();
                    assert!(points == parts, "{what}: {} and {} segments", points.len(), parts.len());
                    let gradient = tested_gradient(image, profile);
                    for segment in got.segments.iter() {
                        let sum: u32 = segment.points.iter().map(|p| gradient[[0, p.y as usize, p.x as usize]]).sum();
                        assert_eq!(segment.mean_gradient, (f64::from(sum) / segment.points.len() as f64) as f32);
                    }
                    kept += parts.len();
                }
            }
        }
        assert!(kept > 300, "{kept} segments on {device}");
    });
}

/// The same numbers have the same edges in all types; a stack is its slices; map and segments may be asked for alone.
#[test]
fn types_stacks_and_outputs_agree() {
    let stack = picture(5, 90, 120);
    everywhere(|context, device| {
        for profile in PROFILES {
            let params = validated(&Params { profile, gradient_threshold: Some(15.0), ..Params::default() });
            let all = draw(context, stack.view(), &params);
            assert!(all.segments.len() > 20, "{} segments", all.segments.len());
            assert_eq!(draw(context, stack.mapv(u16::from).view(), &params), all, "{profile:?} on {device}");
            let floats = Params { range: Some([0.0, 65535.0]), ..params.clone() };
            assert_eq!(draw(context, stack.mapv(f32::from).view(), &floats), all, "{profile:?} on {device}");
            let mut segments = Segments::new();
            for (z, slice) in stack.axis_iter(Axis(0)).enumerate() {
                let alone = draw(context, slice, &params);
                assert_eq!(all.edges.slice(s![z, .., ..]), alone.edges.index_axis(Axis(0), 0), "slice {z} on {device}");
                let of_slice = all.segments.iter().filter(|segment| segment.slice == z as u32);
                assert!(of_slice.map(|s| (s.points, s.closed)).eq(alone.segments.iter().map(|s| (s.points, s.closed))));
            }
            edge_drawing::run(context, stack.view().into(), &params, None, None, Some(&mut segments)).unwrap();
            assert_eq!(segments, all.segments, "{profile:?} on {device}");
            let mut edges = Array3::from_elem(stack.raw_dim(), 7u8);
            // The caller's rows may lie apart.
            let mut wide = Array3::from_elem((5, 90, 250), 9u8);
            let target = wide.slice_mut(s![.., .., 3..123]);
            edge_drawing::run(context, stack.view().into(), &params, None, Some(target.into()), None).unwrap();
            edges.assign(&wide.slice(s![.., .., 3..123]));
            assert_eq!(edges, all.edges, "{profile:?} on {device}");
            assert!(wide.slice(s![.., .., 123..]).iter().chain(wide.slice(s![.., .., ..3])).all(|pixel| *pixel == 9));
        }
    });
}

/// In the paper profile the map has the pixels of the segments, and no others.
#[test]
fn the_map_is_of_the_segments() {
    let image = photograph("camera").insert_axis(Axis(0));
    everywhere(|context, device| {
        let drawn = draw(context, image.view(), &validated(&Params::default()));
        let points: BTreeSet<_> = drawn.segments.points().iter().map(|p| (p.y as usize, p.x as usize)).collect();
        let on = drawn.edges.indexed_iter().filter(|(_, edge)| **edge > 0).map(|((_, y, x), _)| (y, x));
        assert!(points.into_iter().eq(on), "on {device}");
    });
}

/// Chance makes at most about one edge of an image of noise; a figure in it is found.
#[test]
fn noise_has_no_edges_and_a_figure_has() {
    let cpu = Context::new("cpu").unwrap();
    for profile in PROFILES {
        let params = validated(&Params { profile, ..Params::default() });
        let all = Params { validation: Validation::None, gradient_threshold: Some(14.0), ..params.clone() };
        let (mut alarms, mut without) = (0, 0);
        for seed in 0..20 {
            let image = noise(seed, 200, 300);
            alarms += draw(&cpu, image.view(), &params).segments.len();
            without += draw(&cpu, image.view(), &all).segments.len();
        }
        assert!(alarms <= 20 && without > 5_000, "{profile:?}: {alarms} of {without}");
        let mut image = noise(1, 200, 300).mapv(|pixel| pixel / 8);
        for ((_, y, x), pixel) in image.indexed_iter_mut() {
            if (x as f64 - 150.3).hypot(y as f64 - 99.6) < 60.0 {
                *pixel += 100;
            }
        }
        let found = draw(&cpu, image.view(), &params).segments;
        let on_circle = |p: &Point| ((f64::from(p.x) - 150.3).hypot(f64::from(p.y) - 99.6) - 60.0).abs() < 3.0;
        assert!(found.points().len() > 250 && found.points().iter().all(on_circle), "{profile:?}: {}", found.len());
    }
}

/// An outline that passes as a whole stays closed; one with a gap is one part, wherever it began.
#[test]
fn closed_outlines_are_cut_at_their_gaps_only() {
    // A disc in noise that is much stronger than the blurred part of the outline, at the bottom. It begins at the top.
    let disc = |gap: bool| {
        let mut image = noise(1, 200, 200);
        for ((_, y, x), pixel) in image.indexed_iter_mut() {
            let [dx, dy] = [x as f64 - 99.4, y as f64 - 100.3];
            let radius = dx.hypot(dy);
            if (radius - 30.5).abs() < 6.0 {
                let bottom = if gap { ((dy / radius - 0.6) / 0.3).clamp(0.0, 1.0) } else { 0.0 };
                let inside = ((30.5 - radius) / (1.0 + 4.0 * bottom) + 0.5).clamp(0.0, 1.0);
                *pixel = (60.0 + 60.0 * inside) as u8;
            }
        }
        image
    };
    everywhere(|context, device| {
        let params = validated(&Params { gradient_threshold: Some(20.0), ..Params::default() });
        let whole = draw(context, disc(false).view(), &params).segments;
        assert!(whole.len() == 1 && whole.get(0).unwrap().closed, "{} on {device}", whole.len());
        let all = draw(context, disc(true).view(), &Params { validation: Validation::None, ..params.clone() }).segments;
        let outline = all.iter().max_by_key(|segment| segment.points.len()).unwrap();
        assert!(outline.closed, "the test needs an outline that is closed before validation");
        let cut = draw(context, disc(true).view(), &params).segments;
        let lengths: Vec<_> = cut.iter().map(|segment| segment.points.len()).collect();
        assert!(cut.len() == 1 && !cut.get(0).unwrap().closed && lengths[0] > 125, "{lengths:?} on {device}");
    });
}

/// With validation the automatic threshold is that of EDPF, or lower where noise is fainter; it is the same for all callers.
#[test]
fn the_automatic_threshold_is_low() {
    let coins = photograph("coins").insert_axis(Axis(0));
    let cpu = Context::new("cpu").unwrap();
    let of = |image: isoline::Image<'_>, params: &Params| {
        edge_drawing::automatic_threshold(&cpu, image.into(), params).unwrap()
    };
    for (operator, weight) in [(Operator::Prewitt, 3.0), (Operator::Sobel, 4.0), (Operator::Scharr, 16.0)] {
        let params = validated(&Params { operator, ..Params::default() });
        let threshold: f64 = of(coins.view().into(), &params);
        assert!((threshold - 11.0 / 3.0 * weight).abs() < 1e-9, "{operator:?}: {threshold}");
        let wide = of(coins.mapv(|pixel| u16::from(pixel) * 100).view().into(), &params);
        let [low, high] = [coins.iter().min(), coins.iter().max()].map(|pixel| f64::from(*pixel.unwrap()));
        assert!((wide - threshold * 100.0 * (high - low) / 255.0).abs() < 1e-6, "{operator:?}: {wide}");
        let given = Params { gradient_threshold: Some(threshold), ..params.clone() };
        assert_eq!(draw(&cpu, coins.view(), &params), draw(&cpu, coins.view(), &given));
        // Faint noise on a wide range: the threshold is that without validation.
        let mut faint = noise(3, 100, 100).mapv(|pixel| 1000 + u16::from(pixel) / 32);
        faint.slice_mut(s![0, 0, ..2]).fill(60_000);
        let plain = Params { validation: Validation::None, ..params.clone() };
        assert_eq!(of(faint.view().into(), &params), of(faint.view().into(), &plain));
    }
}

/// However late a cancel comes, a single image and the segments are as they were, and progress does not fall.
#[test]
fn a_cancel_leaves_everything_and_progress_is_monotonic() {
    let input = picture(1, 900, 1100);
    everywhere(|context, device| {
        for profile in PROFILES {
            let params = validated(&all_of(profile));
            let before = draw(context, picture(1, 20, 30).view(), &all_of(profile)).segments;
            let (mut reached, mut most) = (0.0f64, 0);
            for allowed in 0..200 {
                let mut edges = Array3::from_elem(input.dim(), 7u8);
                let mut segments = before.clone();
                let mut seen = Vec::new();
                let done = edge_drawing::run(
                    context,
                    input.view().into(),
                    &params,
                    Some(&mut cancelling_after(allowed, &mut seen)),
                    Some(edges.view_mut().into()),
                    Some(&mut segments),
                );
                reached = seen.iter().copied().fold(reached, f64::max);
                most = most.max(seen.len());
                let Err(error) = done else { break };
                assert_eq!(error.kind(), ErrorKind::Cancelled, "{profile:?} on {device}");
                assert!(edges.iter().all(|edge| *edge == 7) && segments == before, "{profile:?} on {device}");
            }
            // A call of less than 10 ms reports its beginning only, as does one that waits for a GPU that others use.
            assert!(
                reached > 0.0 || most <= 1 || device != "cpu",
                "{profile:?} on {device}: {reached} in {most} calls"
            );
        }
    });
}
