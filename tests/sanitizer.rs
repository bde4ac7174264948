//! Runs every CUDA kernel of edge strength at least once, on images small enough for NVIDIA's compute-sanitizer
//! (memcheck, racecheck, initcheck: see `scripts/gpu-run.sh`). Results are compared with those of the CPU, bit for bit
//! where the CPU has fused multiply-add, so that the tests are useful without the sanitizer too. They are skipped, with
//! the reason, where there is no CUDA device.

mod common;

use common::{assert_close, assert_same, cuda_and_cpu, few_sizes};
use isoline::edge_strength::{self, Dimensions, Mode, Params, Start, Variant};
use isoline::{Context, DeviceKind, Image, PixelType};
use ndarray::Array3;

/// Depth, height and width: one pixel, thin images, images smaller and larger than a tile, odd sizes, and several tiles
/// along each axis.
const SLICES: [[usize; 3]; 6] = [[1, 1, 1], [1, 1, 40], [1, 33, 31], [2, 70, 129], [1, 131, 67], [3, 260, 517]];
const VOLUMES: [[usize; 3]; 5] = [[1, 1, 1], [2, 3, 5], [9, 33, 31], [17, 20, 70], [20, 45, 97]];

/// One size with several tiles along each axis, and several slices.
const FEW_SLICES: [[usize; 3]; 1] = [[2, 140, 261]];
const FEW_VOLUMES: [[usize; 3]; 1] = [[20, 45, 97]];

/// More iterations than any variant makes at once, with a remainder that takes each of the smaller launches of 3D:
/// 4 · 9 + 2 + 1.
const ITERATIONS: u64 = 39;
/// A smaller number for the same purpose: 4 · 4, whose last launch has a kernel of its own, + 2 + 1.
const FEW_ITERATIONS: u64 = 19;

/// Returns all sizes (depth, height, width), or the few.
fn sizes(all: &'static [[usize; 3]], few: &'static [[usize; 3]]) -> &'static [[usize; 3]] {
    if few_sizes() { few } else { all }
}

/// Returns a pixel of an image with a few shape pixels on a slope, so that the start from the image differs from the
/// start from the mask.
fn value([z, y, x]: [usize; 3]) -> u8 {
    if (x * 7 + y * 13 + z * 29).is_multiple_of(101) { 255 } else { ((x + 2 * y + 3 * z) % 200) as u8 }
}

fn run(context: &Context, input: Image<'_>, shape: [usize; 3], params: &Params) -> Array3<f32> {
    let mut output = Array3::from_elem(shape, -1.0f32);
    let report = edge_strength::run(context, input.into(), params, None, output.view_mut().into()).unwrap();
    assert_eq!(report.device.kind, context.device().kind);
    output
}

/// Iterates on both devices with every variant, pixel type and start.
fn compare(dimensions: Dimensions, shapes: &[[usize; 3]]) {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    assert_eq!(cuda.device().kind, DeviceKind::Cuda);
    let iterations = if few_sizes() { FEW_ITERATIONS } else { ITERATIONS };
    for &shape in shapes {
        let u8s = Array3::from_shape_fn(shape, |(z, y, x)| value([z, y, x]));
        let u16s = u8s.mapv(|v| u16::from(v) * 257);
        let f32s = u8s.mapv(f32::from);
        let images: [(Image<'_>, f64); 3] =
            [(u8s.view().into(), 200.0), (u16s.view().into(), 200.0 * 257.0), (f32s.view().into(), 200.0)];
        for (image, threshold) in images {
            for start in [Start::Mask, Start::Input(Some([0.0, 1.25 * threshold]))] {
                let mode = Mode::Iterate { iterations };
                let params = Params { dimensions, mode, threshold, start, rho: 16.0, ..Params::default() };
                let expected = run(&cpu, image, shape, &params);
                for variant in [Variant::Fused, Variant::Shared, Variant::Texture] {
                    let got = run(&cuda, image, shape, &Params { variant, ..params.clone() });
                    assert_same(&got, &expected, &format!("{variant:?} on {shape:?}, {start:?}"));
                }
            }
        }
    }
}

#[test]
fn sanitizer_slices() {
    compare(Dimensions::Slices, sizes(&SLICES, &FEW_SLICES));
}

/// Tests the kernel of large slices, which small ones never use: widths that are and are not multiples of four, strips
/// and chunks that end within the image, wide and tall images; 8 iterations, 8 whose last is flushed, and a remainder
/// of 3 for tiles.
#[test]
fn sanitizer_large_slices() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    for &shape in sizes(
        &[[1, 2048, 2048], [2, 2049, 2051], [1, 1030, 4102], [1, 4301, 1029]],
        &[[1, 2048, 2048], [1, 2049, 2051]],
    ) {
        let input = Array3::from_shape_fn(shape, |(z, y, x)| value([z, y, x]));
        let mode = Mode::Iterate { iterations: 19 };
        for start in [Start::Mask, Start::Input(None)] {
            let params = Params { mode, threshold: 200.0, rho: 16.0, start, ..Params::default() };
            let expected = run(&cpu, input.view().into(), shape, &params);
            let got = run(&cuda, input.view().into(), shape, &params);
            assert_same(&got, &expected, &format!("{start:?} on {shape:?}"));
        }
    }
}

#[test]
fn sanitizer_volumes() {
    compare(Dimensions::Volume, sizes(&VOLUMES, &FEW_VOLUMES));
}

/// Tests the weights of the axes in every variant, and the grids of a volume of which some axes are not halved; along x, too.
#[test]
fn sanitizer_spacing() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    for &shape in sizes(&VOLUMES, &FEW_VOLUMES) {
        let input = Array3::from_shape_fn(shape, |(z, y, x)| value([z, y, x]));
        for spacing in [[1.0, 1.0, 5.0], [3.0, 1.0, 0.4]] {
            let mode = Mode::Iterate { iterations: FEW_ITERATIONS };
            let dimensions = Dimensions::Volume;
            let params = Params { dimensions, spacing, mode, threshold: 200.0, rho: 9.0, ..Params::default() };
            let expected = run(&cpu, input.view().into(), shape, &params);
            for variant in [Variant::Fused, Variant::Shared, Variant::Texture] {
                let got = run(&cuda, input.view().into(), shape, &Params { variant, ..params.clone() });
                assert_same(&got, &expected, &format!("{variant:?} on {shape:?}, {spacing:?}"));
            }
            let params = Params { mode: Mode::Converged { tolerance: 1e-6, max_cycles: 100 }, ..params };
            let expected = run(&cpu, input.view().into(), shape, &params);
            let got = run(&cuda, input.view().into(), shape, &params);
            assert_close(&got, &expected.mapv(f64::from), 1e-4, &format!("converged {shape:?}, {spacing:?}"));
        }
    }
}

/// Tests the kernels that compute the range of an image in device memory.
#[test]
fn sanitizer_range() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    let shape = [2, 45, 77];
    let mode = Mode::Iterate { iterations: 3 };
    let params = Params { start: Start::Input(None), threshold: 150.0, mode, ..Params::default() };
    let words = Array3::from_shape_fn(shape, |(z, y, x)| 20 + u16::from(value([z, y, x])));
    let floats = words.mapv(|v| f32::from(v) - 60.0);
    for (input, pixel_type) in
        [(Image::from(words.view()), PixelType::U16), (Image::from(floats.view()), PixelType::F32)]
    {
        let expected = run(&cpu, input, shape, &params);
        let mut source = cuda.device_image(pixel_type, [77, 45, 2]).unwrap();
        source.upload(input).unwrap();
        let mut target = cuda.device_image(PixelType::F32, [77, 45, 2]).unwrap();
        edge_strength::run(&cuda, source.view().into(), &params, None, target.view_mut().into()).unwrap();
        let got = Array3::from_shape_vec(shape, target.download().unwrap()).unwrap();
        assert_same(&got, &expected, &format!("{pixel_type:?} from device memory"));
    }
}

/// Compares converged results of both devices.
fn compare_converged(cases: &[(Dimensions, &[[usize; 3]])], max_cycles: u64) {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    for &(dimensions, shapes) in cases {
        for &shape in shapes {
            let input = Array3::from_shape_fn(shape, |(z, y, x)| value([z, y, x]));
            // After one cycle at a small rho some values leave 0..1 and must be clamped.
            for (rho, max_cycles) in [(16.0, max_cycles), (0.7, 1)] {
                let mode = Mode::Converged { tolerance: 1e-6, max_cycles };
                let params = Params { dimensions, mode, threshold: 200.0, rho, ..Params::default() };
                let expected = run(&cpu, input.view().into(), shape, &params);
                let got = run(&cuda, input.view().into(), shape, &params);
                let what = format!("{dimensions:?} {shape:?} rho {rho}");
                assert_close(&got, &expected.mapv(f64::from), 1e-4, &what);
                let outside = |value: &&f32| value.is_sign_negative() || **value > 1.0;
                assert_eq!(got.iter().find(outside), None, "{what}");
            }
        }
    }
}

#[test]
fn sanitizer_converged() {
    // The single pixel is needed, because a single grid has kernels of its own.
    let slices = sizes(&SLICES, &[[1, 1, 1], [2, 140, 261]]);
    let volumes = sizes(&VOLUMES, &FEW_VOLUMES);
    compare_converged(&[(Dimensions::Slices, slices), (Dimensions::Volume, volumes)], 100);
}

/// Tests the kernels of large grids: the second grid also has more than a hundred of their tiles. The second cycle
/// starts from other values than the first.
#[test]
fn sanitizer_converged_large() {
    compare_converged(&[(Dimensions::Slices, &[[1, 2200, 2150]])], if few_sizes() { 2 } else { 100 });
}
