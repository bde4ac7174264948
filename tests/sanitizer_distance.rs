//! Runs every CUDA kernel of the distance at least once, on images small enough for NVIDIA's compute-sanitizer (see
//! `scripts/gpu-run.sh`). Results are compared with those of the CPU, bit for bit where floats hold the squares
//! exactly, so that the tests are useful without the sanitizer too. They are skipped, with the reason, where there is
//! no CUDA device.

mod common;

use common::{cuda_and_cpu, exact_distance, few_sizes};
use isoline::distance::{self, Params, Region};
use isoline::{Context, Dimensions, Foreground, Image, PixelType};
use ndarray::Array3;

/// Depth, height and width.
type Shape = (usize, usize, usize);

/// Equal spacings, spacings whose ratios have squares that are multiples of a quarter, and others.
const SPACINGS: [[f64; 3]; 3] = [[1.0; 3], [1.0, 1.5, 2.5], [0.3, 0.7, 2.1]];

/// One pixel, lines along each axis, sizes below and above an octet and a block of columns, and several of both.
const SHAPES: [Shape; 10] = [
    (1, 1, 1),
    (1, 1, 1100),
    (1, 45, 1),
    (33, 1, 1),
    (1, 8, 17),
    (7, 1, 40),
    (2, 9, 33),
    (9, 70, 31),
    (17, 16, 45),
    (66, 5, 6),
];
const FEW_SHAPES: [Shape; 2] = [(1, 40, 70), (9, 17, 21)];

/// Lengths of columns that take 16, 8, 4, 2 and 1 per block on a GPU with much shared memory, and one too long for it.
const COLUMNS: [usize; 6] = [1024, 1025, 7000, 14_000, 30_000, 70_000];
const FEW_COLUMNS: [usize; 6] = [520, 1025, 6500, 12_500, 25_000, 52_000];

/// Returns a mask: few inside pixels, noise, few outside pixels, a ball (its centre is equally far from its whole
/// border), or no inside pixel.
fn mask(shape: Shape, kind: usize) -> Array3<u8> {
    let mut state = 11u32;
    Array3::from_shape_fn(shape, |(z, y, x)| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let of = |p: usize, n: usize| ((p as f64 + 0.5) / n as f64 - 0.5).powi(2);
        let inside = match kind {
            0 => state >> 16 < 300,
            1 => state >> 31 == 0,
            2 => state >> 16 > 300,
            3 => of(x, shape.2) + of(y, shape.1) + of(z, shape.0) < 0.15,
            _ => false,
        };
        u8::from(inside) * 9
    })
}
const KINDS: usize = 5;

fn measure(context: &Context, input: Image<'_>, params: &Params) -> Array3<f32> {
    let [width, height, depth] = input.shape();
    let mut output = Array3::from_elem((depth, height, width), f32::NAN);
    let report = distance::run(context, input, params, None, output.view_mut().into()).unwrap();
    assert_eq!(report.device.kind, context.device().kind);
    output
}

/// Compares both devices: results must have the same bits where a float holds four times the square exactly, and agree
/// to 1e-6 elsewhere.
fn compare([cuda, cpu]: &[Context; 2], input: Image<'_>, params: &Params) {
    let expected = measure(cpu, input, params);
    let got = measure(cuda, input, params);
    let exact_below = exact_distance(got.dim(), params);
    for ((place, got), expected) in got.indexed_iter().zip(&expected) {
        let exact = f64::from(expected.abs()) < exact_below || expected.is_infinite();
        let same = got.to_bits() == expected.to_bits() || (*got == 0.0 && *expected == 0.0);
        let near = !exact && (got - expected).abs() <= 1e-6 * expected.abs();
        assert!(same || near, "{place:?} of {:?}: {got}, not {expected}, {params:?}", input.shape());
    }
}

#[test]
fn sanitizer_distance() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let shapes: &[Shape] = if few_sizes() { &FEW_SHAPES } else { &SHAPES };
    for &shape in shapes {
        for kind in 0..KINDS {
            let mask = mask(shape, kind);
            for dimensions in [Dimensions::Volume, Dimensions::Slices] {
                for spacing in SPACINGS {
                    let params = Params { dimensions, spacing, ..Params::default() };
                    compare(&contexts, mask.view().into(), &params);
                }
            }
        }
    }
}

/// Tests all pixel types, either side of a threshold, and all regions.
#[test]
fn sanitizer_distance_masks() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let u8s = mask((3, 20, 35), 1);
    let u16s = u8s.mapv(|v| u16::from(v) * 5000);
    let mut f32s = u8s.mapv(|v| f32::from(v) - 4.0);
    f32s[[0, 3, 4]] = f32::NAN;
    let images: [(Image<'_>, f64); 3] =
        [(u8s.view().into(), 3.5), (u16s.view().into(), 40_000.0), (f32s.view().into(), -1e-3)];
    for (input, threshold) in images {
        for foreground in [Foreground::Above, Foreground::Below] {
            for region in [Region::Signed, Region::Outside, Region::Inside] {
                for threshold in [threshold, 1e300, -1e300] {
                    compare(&contexts, input, &Params { foreground, threshold, region, ..Params::default() });
                }
            }
        }
    }
}

/// Tests every number of columns per block, along y and along z.
#[test]
fn sanitizer_distance_long_columns() {
    let Some(contexts) = cuda_and_cpu() else { return };
    for length in if few_sizes() { FEW_COLUMNS } else { COLUMNS } {
        for kind in [0, 3] {
            for shape in [(1, length, 5), (length, 2, 3)] {
                for spacing in SPACINGS {
                    compare(&contexts, mask(shape, kind).view().into(), &Params { spacing, ..Params::default() });
                }
            }
        }
    }
}

/// Tests the kernels on the caller's memory, which holds intermediate values too.
#[test]
fn sanitizer_distance_in_device_memory() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let [cuda, cpu] = &contexts;
    let mask = mask((9, 21, 37), 1);
    for dimensions in [Dimensions::Volume, Dimensions::Slices] {
        let params = Params { dimensions, ..Params::default() };
        let expected = measure(cpu, mask.view().into(), &params);
        let mut source = cuda.device_image(PixelType::U8, [37, 21, 9]).unwrap();
        source.upload(mask.view().into()).unwrap();
        let mut target = cuda.device_image(PixelType::F32, [37, 21, 9]).unwrap();
        let report = distance::run(cuda, source.view(), &params, None, target.view_mut()).unwrap();
        let callers = 2 * (1 << 16);
        assert!(report.peak_device_bytes <= callers, "{} bytes beside the images'", report.peak_device_bytes);
        assert_eq!(target.download::<f32>().unwrap(), expected.as_slice().unwrap());
    }
}
