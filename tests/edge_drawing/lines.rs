//! Lines along segments: sides of drawn quadrilaterals, noise, stacks, image types, threads and refusals.

use crate::{contexts, draw, everywhere, photograph, random_words};
use isoline::edge_drawing::{self, Line, LineParams, Params, Profile, Segments};
use isoline::{Context, ErrorKind, Image, PixelType};
use ndarray::{Array2, Array3, s};
use std::ops::ControlFlow;

const SIZE: usize = 256;

/// Returns pseudo-random numbers from 0 to 1, the same every time.
pub(crate) fn random(seed: u32) -> impl FnMut() -> f64 {
    let mut next = random_words(seed);
    move || f64::from(next() >> 8) / f64::from(1u32 << 24)
}

fn lines_in<'a>(context: &Context, input: impl Into<Image<'a>>, drawing: &Params, params: &LineParams) -> Vec<Line> {
    let input = input.into();
    let segments = draw(context, input, drawing).segments;
    let mut lines = Vec::new();
    edge_drawing::lines(context, input.into(), &segments, params, None, &mut lines).expect("a good call");
    lines
}

/// Returns the corners, clockwise on the screen, of a quadrilateral, and its picture: soft sides, and some noise.
fn quadrilateral(seed: u32, noise: f64) -> ([[f64; 2]; 4], Array2<u8>) {
    let mut next = random(seed);
    let corners = [0.0, 0.25, 0.5, 0.75].map(|turn| {
        let (angle, radius) = (std::f64::consts::TAU * (turn + 0.08 * next()), 70.0 + 40.0 * next());
        [128.0 + radius * angle.cos(), 128.0 + radius * angle.sin()]
    });
    let pixels = Array2::from_shape_fn((SIZE, SIZE), |(y, x)| {
        let inside = (0..4).map(|side| distance(&corners, side, [x as f64, y as f64])).fold(f64::INFINITY, f64::min);
        let gauss: f64 = (0..12).map(|_| next()).sum::<f64>() - 6.0;
        (90.0 + 80.0 * (inside / 2.0 + 0.5).clamp(0.0, 1.0) + noise * gauss) as u8
    });
    (corners, pixels)
}

/// Returns the distance of a point to the right of a side.
fn distance(corners: &[[f64; 2]; 4], side: usize, [x, y]: [f64; 2]) -> f64 {
    let [[px, py], [qx, qy]] = [corners[side], corners[(side + 1) % 4]];
    ((qx - px) * (y - py) - (qy - py) * (x - px)) / (qx - px).hypot(qy - py)
}

#[test]
fn sides_of_quadrilaterals_are_found_to_a_fraction_of_a_pixel() {
    let context = Context::new("cpu").unwrap();
    for (noise, needed) in [(0.0, 0.97), (3.0, 0.94), (8.0, 0.88)] {
        for profile in [Profile::Paper, Profile::Reference] {
            let mut across = Vec::new();
            let mut found = 0;
            for seed in 0..25 {
                let (corners, pixels) = quadrilateral(seed, noise);
                let drawing = Params { profile, ..Params::default() };
                let lines = lines_in(&context, pixels.view(), &drawing, &LineParams::default());
                for side in 0..4 {
                    // Both ends near the side's corners, in their order: the inside is brighter.
                    let near = |[x, y]: [f64; 2], [cx, cy]: [f64; 2]| (x - cx).hypot(y - cy) < 8.0;
                    let ends = |line: &&Line| {
                        near([line.x0, line.y0], corners[side]) && near([line.x1, line.y1], corners[(side + 1) % 4])
                    };
                    let Some(line) = lines.iter().find(ends) else { continue };
                    found += 1;
                    across.extend(
                        [[line.x0, line.y0], [line.x1, line.y1]].map(|end| distance(&corners, side, end).abs()),
                    );
                    assert!(line.rms < 0.5 && line.points > 40 && line.log_false_alarms < -20.0, "{line:?}");
                }
            }
            across.sort_by(f64::total_cmp);
            let [median, most] = [across[across.len() / 2], across[across.len() - 1]];
            println!("{profile:?}, noise {noise}: {found} of 100 sides, across {median:.3}, at most {most:.3}");
            assert!(f64::from(found) >= 100.0 * needed, "{profile:?} {noise}: {found}");
            assert!(median < 0.15 && most < 1.0, "{profile:?} {noise}: {median} {most}");
        }
    }
}

#[test]
fn noise_has_no_lines_although_it_has_edges() {
    let context = Context::new("cpu").unwrap();
    let mut next = random(5);
    let noise = Array2::from_shape_fn((SIZE, SIZE), |_| (255.0 * next()) as u8);
    for profile in [Profile::Paper, Profile::Reference] {
        let drawing = Params { profile, gradient_threshold: Some(20.0), ..Params::default() };
        let all = LineParams { validation: false, ..LineParams::default() };
        let candidates = lines_in(&context, noise.view(), &drawing, &all);
        assert!(candidates.len() > 10, "{}", candidates.len());
        let valid = lines_in(&context, noise.view(), &drawing, &LineParams::default());
        // Chance is expected to make at most one.
        assert!(valid.len() <= 1, "{valid:?}");
        // Validation drops lines, and changes none.
        let kept: Vec<Line> = candidates.into_iter().filter(|line| line.log_false_alarms <= 0.0).collect();
        assert_eq!(valid, kept);
    }
}

#[test]
fn every_device_type_layout_and_number_of_threads_gives_the_same_lines() {
    let picture = photograph("camera");
    let params = LineParams::default();
    let one = Context::with_threads("cpu", 1).unwrap();
    let wanted = lines_in(&one, picture.view(), &Params::default(), &params);
    assert!(wanted.len() > 50, "{}", wanted.len());
    everywhere(|context, name| {
        assert_eq!(lines_in(context, picture.view(), &Params::default(), &params), wanted, "{name}");
        let wide = picture.mapv(u16::from);
        let drawing = Params { gradient_threshold: Some(20.0), ..Params::default() };
        let of_bytes = lines_in(context, picture.view(), &drawing, &params);
        let segments = draw(context, picture.view(), &drawing).segments;
        let mut lines = Vec::new();
        edge_drawing::lines(context, wide.view().into(), &segments, &params, None, &mut lines).unwrap();
        assert_eq!(lines, of_bytes, "{name}");
        let floats = picture.mapv(f32::from);
        edge_drawing::lines(context, floats.view().into(), &segments, &params, None, &mut lines).unwrap();
        assert_eq!(lines, of_bytes, "{name}");
        // A stack has the lines of its slices, with their numbers. Every second column is another layout.
        let flat = picture.view();
        let (height, width) = flat.dim();
        let mut stack = Array3::<u8>::zeros((3, height, 2 * width));
        stack.slice_mut(s![0, .., ..;2]).assign(&flat);
        stack.slice_mut(s![2, .., ..;2]).assign(&flat);
        let lines = lines_in(context, stack.slice(s![.., .., ..;2]), &drawing, &params);
        let count = of_bytes.len();
        assert_eq!(lines.len(), 2 * count, "{name}");
        for (line, one) in lines.iter().zip(of_bytes.iter().chain(&of_bytes)) {
            assert_eq!([line.x0, line.y0, line.x1, line.y1], [one.x0, one.y0, one.x1, one.y1], "{name}");
        }
        assert!(lines[..count].iter().all(|line| line.slice == 0) && lines[count..].iter().all(|line| line.slice == 2));
    });
}

#[test]
fn device_memory_gives_the_same_lines() {
    let picture = photograph("camera");
    let (height, width) = picture.dim();
    let stack = Array3::from_shape_fn((5, height, width), |(z, y, x)| if z == 2 { 0 } else { picture[[y, x]] });
    let drawing = Params::default();
    let wanted = lines_in(&Context::new("cpu").unwrap(), stack.view(), &drawing, &LineParams::default());
    assert!(wanted.len() > 200, "{}", wanted.len());
    for context in contexts().into_iter().filter(|context| context.device().id != "cpu") {
        let mut resident = context.device_image(PixelType::U8, [width, height, 5]).unwrap();
        resident.upload(stack.view().into()).unwrap();
        assert_eq!(lines_in(&context, resident.view(), &drawing, &LineParams::default()), wanted);
    }
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_the_lines() {
    let context = Context::new("cpu").unwrap();
    let (_, pixels) = quadrilateral(1, 0.0);
    let mut found = lines_in(&context, pixels.view(), &Params::default(), &LineParams::default());
    let before = found.clone();
    assert!(!before.is_empty());
    let segments = draw(&context, pixels.view(), &Params::default()).segments;
    let input = Image::from(pixels.view());
    let mut refused = |input: Image<'_>, segments: &Segments, params: &LineParams, kind: ErrorKind, word: &str| {
        let error = edge_drawing::lines(&context, input.into(), segments, params, None, &mut found).unwrap_err();
        assert!(error.kind() == kind && error.message().contains(word), "{error}");
        assert_eq!(found, before);
    };
    let good = LineParams::default();
    let cases = [
        ("line_tolerance", LineParams { tolerance: 0.0, ..good.clone() }),
        ("line_tolerance", LineParams { tolerance: f64::NAN, ..good.clone() }),
        ("line_gap", LineParams { gap: -1.0, ..good.clone() }),
        ("line_gap", LineParams { gap: f64::INFINITY, ..good.clone() }),
        ("line_min_length", LineParams { min_length: Some(1), ..good.clone() }),
        ("line_min_length", LineParams { min_length: Some(0), ..good.clone() }),
    ];
    for (word, params) in cases {
        refused(input, &segments, &params, ErrorKind::InvalidArgument, word);
    }
    refused(pixels.slice(s![..20, ..30]).into(), &segments, &good, ErrorKind::InvalidArgument, "30 x 20");
    let stack = Array3::from_shape_fn((2, SIZE, SIZE), |(_, y, x)| pixels[[y, x]]);
    let of_stack = draw(&context, stack.view(), &Params::default()).segments;
    refused(input, &of_stack, &good, ErrorKind::InvalidArgument, "slices");
    refused(pixels.slice(s![..0, ..]).into(), &segments, &good, ErrorKind::InvalidSize, "0");
    let mut cancel = |_: f64, _: &str| ControlFlow::Break(());
    let error =
        edge_drawing::lines(&context, input.into(), &segments, &good, Some(&mut cancel), &mut found).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(found, before);
}

#[test]
fn pixels_that_are_not_finite_give_no_support() {
    let context = Context::new("cpu").unwrap();
    let (_, pixels) = quadrilateral(2, 0.0);
    let segments = draw(&context, pixels.view(), &Params::default()).segments;
    let mut lines = Vec::new();
    for bad in [f32::NAN, f32::INFINITY] {
        let input = Array2::from_elem((SIZE, SIZE), bad);
        edge_drawing::lines(&context, input.view().into(), &segments, &LineParams::default(), None, &mut lines)
            .unwrap();
        assert_eq!(lines, []);
    }
    // Beside single infinite pixels the gradient is infinite, and points everywhere.
    let mut input = Array2::<f32>::zeros((SIZE, SIZE));
    for point in segments.iter().flat_map(|segment| segment.points).filter(|point| point.y % 4 == 0) {
        input[[point.y as usize, point.x as usize + 1]] = f32::INFINITY;
    }
    edge_drawing::lines(&context, input.view().into(), &segments, &LineParams::default(), None, &mut lines).unwrap();
    assert_eq!(lines, []);
}
