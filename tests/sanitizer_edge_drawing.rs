//! Every CUDA kernel of edge drawing at least once, on images small enough for NVIDIA's compute-sanitizer (see
//! `scripts/gpu-run.sh`). Results must be the CPU's, bit for bit, so that they are worth something without the sanitizer
//! too. Skipped, saying why, where there is no CUDA device.

mod common;

use common::{assert_bits, cuda_and_cpu, few_sizes, random_words};
use isoline::edge_drawing::{self, Maps, Operator, Params, Profile, Segments};
use isoline::{Context, Image, ImageMut, PixelType};
use ndarray::{Array3, ShapeBuilder, s};

type Shape = (usize, usize, usize);

/// Depth, height, width: one pixel, thin ones, less and more than a tile of either width, odd ones, several tiles each way,
/// and exactly what tiles own.
const SHAPES: [Shape; 9] = [
    (1, 1, 1),
    (1, 1, 40),
    (1, 9, 1),
    (1, 2, 2),
    (1, 33, 31),
    (2, 70, 129),
    (1, 54, 240),
    (1, 109, 225),
    (3, 131, 517),
];
const FEW_SHAPES: [Shape; 1] = [(2, 70, 257)];

fn shapes() -> &'static [Shape] {
    if few_sizes() { &FEW_SHAPES } else { &SHAPES }
}

/// Waves, lines and noise: plateaus, ridges and crossings.
fn picture(shape: Shape) -> Array3<u8> {
    let mut next = random_words(7);
    Array3::from_shape_fn(shape, |(z, y, x)| {
        let waves = 60.0 * (x as f64 / 9.0 + z as f64).sin() * (y as f64 / 7.0).cos();
        let line = if (x + 2 * y + 3 * z) % 41 < 2 { 80.0 } else { 0.0 };
        let saturated = if x % 60 > 50 { 255.0 } else { 0.0 };
        (80.0 + waves + line + saturated + f64::from(next() >> 27)).clamp(0.0, 255.0) as u8
    })
}

/// The same picture in all three types, with what a grey level of u8 is worth in each.
struct Pictures {
    u8s: Array3<u8>,
    u16s: Array3<u16>,
    f32s: Array3<f32>,
}

impl Pictures {
    fn new(shape: Shape) -> Self {
        let u8s = picture(shape);
        let u16s = u8s.mapv(|v| u16::from(v) * 257);
        let mut f32s = u8s.mapv(|v| f32::from(v) * 0.37 - 12.0);
        if f32s.len() > 100 {
            f32s[[0, shape.1 / 2, shape.2 / 2]] = f32::NAN;
            f32s[[0, shape.1 / 3, shape.2 / 2]] = f32::INFINITY;
        }
        Self { u8s, u16s, f32s }
    }

    fn all(&self) -> [(Image<'_>, f64); 3] {
        [(self.u8s.view().into(), 1.0), (self.u16s.view().into(), 257.0), (self.f32s.view().into(), 0.37)]
    }
}

/// Edge map and segments; the map starts as 7, so that an unwritten pixel shows.
fn draw(context: &Context, input: Image<'_>, params: &Params) -> (Array3<u8>, Segments) {
    let [width, height, depth] = input.shape();
    let mut edges = Array3::from_elem((depth, height, width), 7u8);
    let mut segments = Segments::new();
    let report =
        edge_drawing::run(context, input.into(), params, None, Some(edges.view_mut().into()), Some(&mut segments))
            .unwrap();
    assert_eq!(report.device.kind, context.device().kind);
    (edges, segments)
}

/// Runs on both devices; edges and segments must be the same.
fn compare(contexts: &[Context; 2], input: Image<'_>, params: &Params) -> usize {
    let [cuda, cpu] = contexts;
    let (expected, expected_segments) = draw(cpu, input, params);
    let (edges, segments) = draw(cuda, input, params);
    let what = format!("{:?} {:?}, {params:?}", input.pixel_type(), input.shape());
    let wrong = edges.indexed_iter().zip(&expected).find(|((_, got), expected)| *got != *expected);
    assert!(wrong.is_none(), "edges of {what}: {wrong:?}");
    assert!(segments == expected_segments, "segments of {what}");
    segments.len()
}

/// The kernels `tile`, `rest`, `count`, `offsets` and `gather` of every type, with every operator.
#[test]
fn sanitizer_edge_drawing() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let mut found = 0;
    for &shape in shapes() {
        let pictures = Pictures::new(shape);
        for (input, grey) in pictures.all() {
            for operator in [Operator::Sobel, Operator::Prewitt, Operator::Scharr] {
                for follow_turns in [false, true] {
                    let params = Params {
                        operator,
                        follow_turns,
                        gradient_threshold: Some(30.0 * grey),
                        min_length: 3,
                        ..Params::default()
                    };
                    found += compare(&contexts, input, &params);
                }
            }
        }
    }
    assert!(found > 0, "some segments");
}

/// Few anchors, so that walks are long and cross tiles, with and without turns.
#[test]
fn sanitizer_edge_drawing_long_walks() {
    let Some(contexts) = cuda_and_cpu() else { return };
    for &shape in shapes() {
        let pictures = Pictures::new(shape);
        for (input, grey) in pictures.all() {
            for (scan_interval, anchor) in [(7, 0.0), (1, 40.0), (50, 3.0)] {
                for follow_turns in [false, true] {
                    let params = Params {
                        scan_interval,
                        anchor_threshold: anchor * grey,
                        gradient_threshold: Some(4.0 * grey),
                        follow_turns,
                        min_length: 1,
                        ..Params::default()
                    };
                    compare(&contexts, input, &params);
                }
            }
        }
    }
}

/// The working map of the reference profile, whose walks are the host's.
#[test]
fn sanitizer_edge_drawing_reference() {
    let Some(contexts) = cuda_and_cpu() else { return };
    for &shape in shapes() {
        let pictures = Pictures::new(shape);
        for (input, grey) in pictures.all() {
            for (operator, anchor, scan_interval) in
                [(Operator::Prewitt, 0.0, 1), (Operator::Sobel, 8.0, 1), (Operator::Scharr, 8.0, 3)]
            {
                let params = Params {
                    profile: Profile::Reference,
                    operator,
                    anchor_threshold: anchor * grey,
                    gradient_threshold: Some(30.0 * grey),
                    scan_interval,
                    ..Params::default()
                };
                compare(&contexts, input, &params);
            }
        }
    }
}

/// The automatic threshold and range, and thresholds above every gradient.
#[test]
fn sanitizer_edge_drawing_thresholds() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let pictures = Pictures::new(shapes()[shapes().len() - 1]);
    for (input, _) in pictures.all() {
        for profile in [Profile::Paper, Profile::Reference] {
            compare(&contexts, input, &Params { profile, ..Params::default() });
            for (gradient, anchor) in [(0.0, 0.0), (1e300, 0.0), (5.0, 1e300), (8160.0, 8161.0)] {
                let params = Params {
                    profile,
                    gradient_threshold: Some(gradient),
                    anchor_threshold: anchor,
                    scan_interval: if gradient == 5.0 { u32::MAX } else { 1 },
                    ..Params::default()
                };
                compare(&contexts, input, &params);
            }
        }
    }
}

#[test]
fn sanitizer_edge_drawing_maps() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    for &shape in shapes() {
        let pictures = Pictures::new(shape);
        for (input, grey) in pictures.all() {
            for profile in [Profile::Paper, Profile::Reference] {
                for (operator, anchor, scan_interval) in
                    [(Operator::Sobel, 0.0, 1), (Operator::Prewitt, 6.0, 1), (Operator::Scharr, 2.0, 4)]
                {
                    let params = Params {
                        profile,
                        operator,
                        anchor_threshold: anchor * grey,
                        gradient_threshold: Some(25.0 * grey),
                        scan_interval,
                        ..Params::default()
                    };
                    let what = format!("{:?} {shape:?}, {params:?}", input.pixel_type());
                    let expected = Made::by(&cpu, input, shape, &params);
                    let got = Made::by(&cuda, input, shape, &params);
                    assert_bits(&got.smoothed, &expected.smoothed, &format!("smoothed {what}"));
                    assert_bits(&got.gradient, &expected.gradient, &format!("gradient {what}"));
                    assert!(got.direction == expected.direction, "direction {what}");
                    assert!(got.anchors == expected.anchors, "anchors {what}");
                }
            }
        }
    }
}

/// The kernels that smooth ahead of the tiles, and the tiles of smoothed pixels: edges, segments and every map.
#[test]
fn sanitizer_edge_drawing_sigmas() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let [cuda, cpu] = &contexts;
    for &shape in shapes() {
        let pictures = Pictures::new(shape);
        for (input, grey) in pictures.all() {
            for (sigma, operator) in
                [(0.0, Operator::Sobel), (0.6, Operator::Scharr), (2.0, Operator::Prewitt), (10.0, Operator::Sobel)]
            {
                for profile in [Profile::Paper, Profile::Reference] {
                    let gradient_threshold = Some(6.0 * grey);
                    let params =
                        Params { profile, sigma, operator, gradient_threshold, min_length: 3, ..Params::default() };
                    compare(&contexts, input, &params);
                    let what = format!("{:?} {shape:?}, {params:?}", input.pixel_type());
                    let (expected, got) = (Made::by(cpu, input, shape, &params), Made::by(cuda, input, shape, &params));
                    assert_bits(&got.smoothed, &expected.smoothed, &format!("smoothed {what}"));
                    assert_bits(&got.gradient, &expected.gradient, &format!("gradient {what}"));
                    assert!(got.direction == expected.direction, "direction {what}");
                    assert!(got.anchors == expected.anchors, "anchors {what}");
                }
            }
        }
    }
}

/// Intermediate maps; the smoothed one as floats.
struct Made {
    smoothed: Array3<f32>,
    gradient: Array3<f32>,
    direction: Array3<u8>,
    anchors: Array3<u8>,
}

impl Made {
    fn by(context: &Context, input: Image<'_>, shape: Shape, params: &Params) -> Self {
        let mut made = Self {
            smoothed: Array3::from_elem(shape, -1.0),
            gradient: Array3::from_elem(shape, -1.0),
            direction: Array3::from_elem(shape, 7),
            anchors: Array3::from_elem(shape, 7),
        };
        let (mut u8s, mut u16s) = (Array3::from_elem(shape, 7u8), Array3::from_elem(shape, 7u16));
        let smoothed = match input.pixel_type() {
            PixelType::U8 => ImageMut::from(u8s.view_mut()),
            PixelType::U16 => ImageMut::from(u16s.view_mut()),
            _ => ImageMut::from(made.smoothed.view_mut()),
        };
        let maps = Maps {
            smoothed: Some(smoothed.into()),
            gradient: Some(made.gradient.view_mut().into()),
            direction: Some(made.direction.view_mut().into()),
            anchors: Some(made.anchors.view_mut().into()),
        };
        edge_drawing::maps(context, input.into(), params, None, maps).unwrap();
        match input.pixel_type() {
            PixelType::U8 => made.smoothed = u8s.mapv(f32::from),
            PixelType::U16 => made.smoothed = u16s.mapv(f32::from),
            _ => {}
        }
        made
    }
}

/// Packed rows of a device image begin anywhere; the range of u16 and f32 is measured on the device.
#[test]
fn sanitizer_edge_drawing_device_memory() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    for &(depth, height, width) in shapes() {
        let pictures = Pictures::new((depth, height, width));
        for (input, _) in pictures.all() {
            let shape = [width, height, depth];
            let mut source = cuda.device_image(input.pixel_type(), shape).unwrap();
            source.upload(input).unwrap();
            for (profile, sigma) in [(Profile::Paper, 1.0), (Profile::Reference, 1.0), (Profile::Paper, 2.5)] {
                let params = Params { profile, sigma, min_length: 3, ..Params::default() };
                let (expected, expected_segments) = draw(&cpu, input, &params);
                let mut target = cuda.device_image(PixelType::U8, shape).unwrap();
                for want in [false, true] {
                    let mut found = Segments::new();
                    let segments = want.then_some(&mut found);
                    edge_drawing::run(
                        &cuda,
                        source.view().into(),
                        &params,
                        None,
                        Some(target.view_mut().into()),
                        segments,
                    )
                    .unwrap();
                    assert!(target.download::<u8>().unwrap() == expected.as_slice().unwrap(), "{shape:?} {params:?}");
                    assert!(!want || found == expected_segments, "{shape:?} {params:?}");
                }
                // Device to host, and the segments alone.
                assert_eq!(draw(&cuda, source.view(), &params), (expected, expected_segments.clone()));
                let mut alone = Segments::new();
                edge_drawing::run(&cuda, input.into(), &params, None, None, Some(&mut alone)).unwrap();
                assert_eq!(alone, expected_segments);
                let mut anchors = Array3::from_elem((depth, height, width), 7u8);
                let maps = Maps { anchors: Some(anchors.view_mut().into()), ..Maps::default() };
                edge_drawing::maps(&cuda, source.view().into(), &params, None, maps).unwrap();
                let expected = Made::by(&cpu, input, (depth, height, width), &params);
                assert!(anchors == expected.anchors);
                let maps = Maps { direction: Some(target.view_mut().into()), ..Maps::default() };
                edge_drawing::maps(&cuda, source.view().into(), &params, None, maps).unwrap();
                assert!(target.download::<u8>().unwrap() == expected.direction.as_slice().unwrap(), "direction");
            }
        }
    }
}

/// Host memory of other layouts: rows with gaps, columns first, reversed; inputs and outputs.
#[test]
fn sanitizer_edge_drawing_strides() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    let (depth, height, width) = shapes()[shapes().len() - 1];
    let whole = picture((depth, height, width));
    let columns_first = Array3::from_shape_fn((depth, height, width).f(), |index| whole[index]);
    let views = [whole.slice(s![.., 1.., 3..]), whole.slice(s![.., ..;-1, ..;2]), columns_first.view()];
    for view in views {
        for profile in [Profile::Paper, Profile::Reference] {
            let params = Params { profile, ..Params::default() };
            let (expected, expected_segments) = draw(&cpu, view.into(), &params);
            assert_eq!(draw(&cuda, view.into(), &params), (expected.clone(), expected_segments));
            let mut edges = Array3::from_elem(view.raw_dim().f(), 7u8);
            edge_drawing::run(&cuda, view.into(), &params, None, Some(edges.view_mut().into()), None).unwrap();
            assert_eq!(edges, expected);
        }
    }
}
