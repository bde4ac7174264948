//! Edge drawing: both profiles on every pixel type, the intermediate maps, images in device memory.

use crate::{contexts, sizes};
use isoline::edge_drawing::{self, Maps, Params, Profile, Segments};
use isoline::{Context, DevicePixel, Image, PixelType};
use ndarray::{Array3, ArrayView3};

/// One pixel, thin ones, less and more than a tile, odd ones, one that is several tiles each way.
const SIZES: [[usize; 3]; 6] = [[1, 1, 1], [1, 1, 40], [1, 33, 31], [2, 70, 129], [1, 131, 67], [3, 180, 521]];
const FEW: [[usize; 3]; 1] = [[2, 140, 261]];

/// Paper, with and without the walks at turns, and reference.
fn parameters() -> [Params; 3] {
    let paper = Params { min_length: 3, ..Params::default() };
    let turns = Params { follow_turns: true, anchor_threshold: 2.0, scan_interval: 2, ..paper.clone() };
    let reference = Params { profile: Profile::Reference, ..paper.clone() };
    [paper, turns, reference]
}

/// Waves with edges that run through many tiles, a step from corner to corner, and a little noise.
fn value([z, y, x]: [usize; 3]) -> u8 {
    let wave = 60.0 * ((x + 9 * z) as f32 / 17.0).sin() * (y as f32 / 23.0).cos();
    let step = if 3 * y > x { 40.0 } else { 0.0 };
    (100.0 + wave + step) as u8 + ((x * 7919 + y * 104_729 + z * 31) % 13) as u8
}

fn draw(context: &Context, input: Image<'_>, shape: [usize; 3], params: &Params) -> (Array3<u8>, Segments) {
    let mut edges = Array3::from_elem(shape, 7u8);
    let mut segments = Segments::new();
    let report =
        edge_drawing::run(context, input, params, None, Some(edges.view_mut().into()), Some(&mut segments)).unwrap();
    assert_eq!(report.device.kind, context.device().kind);
    (edges, segments)
}

/// The images of a size in each pixel type.
fn images(shape: [usize; 3]) -> (Array3<u8>, Array3<u16>, Array3<f32>) {
    let bytes = Array3::from_shape_fn(shape, |(z, y, x)| value([z, y, x]));
    let words = bytes.mapv(|pixel| u16::from(pixel) * 251);
    let floats = bytes.mapv(|pixel| f32::from(pixel) / 8.0 - 10.0);
    (bytes, words, floats)
}

#[test]
fn sanitizer_edge_drawing() {
    let Some((cuda, cpu)) = contexts() else { return };
    for &shape in sizes(&SIZES, &FEW) {
        let (bytes, words, floats) = images(shape);
        for input in [Image::from(bytes.view()), words.view().into(), floats.view().into()] {
            for params in parameters() {
                let expected = draw(&cpu, input, shape, &params);
                let got = draw(&cuda, input, shape, &params);
                let what = format!("{:?} {shape:?} {params:?}", input.pixel_type());
                assert_eq!(got.0, expected.0, "edges of {what}");
                assert_eq!(got.1, expected.1, "segments of {what}");
                // The largest image of each kind has something in it to compare.
                assert!(shape[1] < 100 || expected.1.len() > 5, "{} segments in {what}", expected.1.len());
            }
        }
    }
}

/// All four intermediate maps.
fn maps_of<T>(context: &Context, input: ArrayView3<'_, T>, params: &Params) -> (Array3<T>, Array3<f32>, [Array3<u8>; 2])
where
    T: DevicePixel,
    for<'a> Image<'a>: From<ArrayView3<'a, T>>,
    for<'a> isoline::ImageMut<'a>: From<ndarray::ArrayViewMut3<'a, T>>,
{
    let mut smoothed = Array3::from_elem(input.dim(), T::default());
    let mut gradient = Array3::from_elem(input.dim(), -1.0f32);
    let mut marks = [(); 2].map(|()| Array3::from_elem(input.dim(), 7u8));
    let [direction, anchors] = &mut marks;
    let wanted = Maps {
        smoothed: Some(smoothed.view_mut().into()),
        gradient: Some(gradient.view_mut().into()),
        direction: Some(direction.view_mut().into()),
        anchors: Some(anchors.view_mut().into()),
    };
    edge_drawing::maps(context, input.into(), params, None, wanted).unwrap();
    (smoothed, gradient, marks)
}

#[test]
fn sanitizer_edge_drawing_maps() {
    let Some((cuda, cpu)) = contexts() else { return };
    for &shape in sizes(&SIZES, &FEW) {
        let (bytes, words, floats) = images(shape);
        for params in parameters() {
            let what = format!("{shape:?} {params:?}");
            assert!(maps_of(&cuda, bytes.view(), &params) == maps_of(&cpu, bytes.view(), &params), "u8 {what}");
            assert!(maps_of(&cuda, words.view(), &params) == maps_of(&cpu, words.view(), &params), "u16 {what}");
            assert!(maps_of(&cuda, floats.view(), &params) == maps_of(&cpu, floats.view(), &params), "f32 {what}");
        }
    }
}

/// From device memory, whose range is measured there, into device memory.
#[test]
fn sanitizer_edge_drawing_in_device_memory() {
    let Some((cuda, cpu)) = contexts() else { return };
    let shape = [2, 75, 141];
    let (bytes, words, floats) = images(shape);
    for input in [Image::from(bytes.view()), words.view().into(), floats.view().into()] {
        let mut source = cuda.device_image(input.pixel_type(), input.shape()).unwrap();
        source.upload(input).unwrap();
        for params in parameters() {
            let (expected, expected_segments) = draw(&cpu, input, shape, &params);
            let mut target = cuda.device_image(PixelType::U8, input.shape()).unwrap();
            let mut segments = Segments::new();
            let edges = Some(target.view_mut());
            edge_drawing::run(&cuda, source.view(), &params, None, edges, Some(&mut segments)).unwrap();
            let what = format!("{:?} {params:?}", input.pixel_type());
            assert_eq!(target.download::<u8>().unwrap(), expected.as_slice().unwrap(), "{what}");
            assert_eq!(segments, expected_segments, "{what}");
        }
    }
}
