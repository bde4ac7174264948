//! Edge drawing through the public Rust API: the segments that a person would draw, its invariants, and its errors.
//! Everything runs on the CPU; where there is a CUDA device it runs there too, and must give the same bits.

mod chains;
#[path = "../common/mod.rs"]
mod common;
mod cuda;
mod documented;
mod ellipses;
mod errors;
mod invariants;
mod lines;
mod reference;
mod shapes;
mod sigma;
mod validation;

use common::{contexts, everywhere, photograph, random_words};
use isoline::edge_drawing::{self, Maps, Operator, Params, Point, Profile, Segments, Variant};
use isoline::{Context, Image, ImageMut};
use ndarray::{Array3, ArrayView3};

const PROFILES: [Profile; 2] = [Profile::Paper, Profile::Reference];

/// The results of a call.
#[derive(Clone, Debug, PartialEq)]
struct Drawn {
    edges: Array3<u8>,
    segments: Segments,
}

/// Makes a call that must succeed. The map starts as 7, so that an unwritten pixel shows.
fn draw<'a>(context: &Context, input: impl Into<Image<'a>>, params: &Params) -> Drawn {
    let input = input.into();
    let [width, height, depth] = input.shape();
    let mut edges = Array3::from_elem((depth, height, width), 7u8);
    let mut segments = Segments::new();
    edge_drawing::run(context, input.into(), params, None, Some(edges.view_mut().into()), Some(&mut segments))
        .expect("a good call");
    assert!(edges.iter().all(|edge| matches!(edge, 0 | 255)));
    Drawn { edges, segments }
}

/// The four intermediate maps of an 8-bit image.
#[derive(Clone, Debug, PartialEq)]
struct Intermediate {
    smoothed: Array3<u8>,
    gradient: Array3<f32>,
    direction: Array3<u8>,
    anchors: Array3<u8>,
}

fn intermediate(context: &Context, input: ArrayView3<'_, u8>, params: &Params) -> Intermediate {
    let mut made = Intermediate {
        smoothed: Array3::zeros(input.dim()),
        gradient: Array3::zeros(input.dim()),
        direction: Array3::from_elem(input.dim(), 7),
        anchors: Array3::from_elem(input.dim(), 7),
    };
    let maps = Maps {
        smoothed: Some(ImageMut::from(made.smoothed.view_mut()).into()),
        gradient: Some(ImageMut::from(made.gradient.view_mut()).into()),
        direction: Some(ImageMut::from(made.direction.view_mut()).into()),
        anchors: Some(ImageMut::from(made.anchors.view_mut()).into()),
    };
    edge_drawing::maps(context, input.into(), params, None, maps).expect("a good call");
    made
}

/// Parameters that keep every segment.
fn all_of(profile: Profile) -> Params {
    Params { profile, min_length: 1, ..Params::default() }
}

/// Parameters with all combinations besides the thresholds.
fn kinds() -> Vec<Params> {
    let mut kinds = Vec::new();
    for operator in [Operator::Sobel, Operator::Prewitt, Operator::Scharr] {
        for (profile, follow_turns) in [(Profile::Paper, false), (Profile::Paper, true), (Profile::Reference, false)] {
            kinds.push(Params { operator, follow_turns, ..all_of(profile) });
        }
    }
    kinds
}

/// Soft blobs, lines and noise: something of everything, 0..=255.
fn picture(depth: usize, height: usize, width: usize) -> Array3<u8> {
    let mut next = random_words(1);
    Array3::from_shape_fn((depth, height, width), |(z, y, x)| {
        let (fx, fy) = (x as f64 / 9.0 + z as f64, y as f64 / 7.0);
        let waves = 70.0 * fx.sin() * fy.cos();
        let line = if (x + 2 * y + 3 * z) % 41 < 2 { 80.0 } else { 0.0 };
        let noise = f64::from(next() >> 24) / 8.0;
        (90.0 + waves + line + noise).clamp(0.0, 255.0) as u8
    })
}

/// One slice of noise.
fn noise(seed: u32, height: usize, width: usize) -> Array3<u8> {
    let mut next = random_words(seed);
    Array3::from_shape_simple_fn((1, height, width), || (next() >> 24) as u8)
}

/// The points of one segment.
fn points_of(segments: &Segments, index: usize) -> Vec<(u32, u32)> {
    segments.get(index).expect("a segment").points.iter().map(|Point { x, y }| (*x, *y)).collect()
}

/// The variants that a device has for these parameters.
fn variants(context: &Context, params: &Params) -> Vec<Variant> {
    let scalar = context.device().id == "cpu" && params.profile == Profile::Paper;
    if scalar { vec![Variant::Default, Variant::Scalar] } else { vec![Variant::Default] }
}
