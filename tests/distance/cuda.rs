//! CUDA against the CPU, with images in host memory and in device memory. The tests named `sanitizer_` run every CUDA
//! kernel of the distance at least once, on images small enough for NVIDIA's compute-sanitizer (see
//! `scripts/gpu-run.sh`).

use super::common::{cuda_and_cpu, exact_distance, few_sizes};
use super::*;
use isoline::{DeviceKind, ErrorKind, PixelType};
use std::ops::ControlFlow;

/// Depth, height and width.
type Shape = (usize, usize, usize);

/// One pixel, lines along each axis, sizes below and above an octet and a block of columns, and several of both.
#[rustfmt::skip]
const SMALL_SHAPES: [Shape; 10] = [
    (1, 1, 1), (1, 1, 1100), (1, 45, 1), (33, 1, 1), (1, 8, 17), (7, 1, 40), (2, 9, 33), (9, 70, 31), (17, 16, 45), (66, 5, 6),
];
const FEW_SHAPES: [Shape; 2] = [(1, 40, 70), (9, 17, 21)];
/// Equal spacings, spacings whose ratios have squares that are multiples of a quarter, and others.
const FEW_SPACINGS: [[f64; 3]; 3] = [[1.0; 3], [1.0, 1.5, 2.5], [0.3, 0.7, 2.1]];

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

fn all_params() -> Vec<Params> {
    let mut all = vec![];
    for spacing in [[1.0; 3], [0.25; 3], [1.0, 1.5, 2.5], [0.2, 0.2, 0.3], [0.8, 1.3, 0.31], [0.9, 1.0, 0.97]] {
        for dimensions in [Dimensions::Volume, Dimensions::Slices] {
            for region in [Region::Signed, Region::Outside, Region::Inside] {
                all.push(Params { dimensions, region, ..spaced(spacing) });
            }
        }
    }
    all
}

/// Fails unless the results have the same bits where a float holds 4 d² exactly, and agree within a few parts in 10⁷
/// elsewhere.
fn assert_same(got: &Array3<f32>, expected: &Array3<f32>, params: &Params) {
    let exact_below = exact_distance(got.dim(), params);
    for ((index, got), expected) in got.indexed_iter().zip(expected) {
        let exact = f64::from(expected.abs()) < exact_below || expected.is_infinite();
        let same = got == expected || (!exact && (got - expected).abs() <= 1e-6 * expected.abs());
        assert!(same, "{got:e} instead of {expected:e} at {index:?}, {params:?}");
    }
}

/// Compares both devices, and returns CUDA's result.
fn compare([cuda, cpu]: &[Context; 2], input: Image<'_>, params: &Params) -> Array3<f32> {
    let expected = measure(cpu, input, params);
    let got = measure(cuda, input, params);
    assert_same(&got, &expected, params);
    got
}

/// Compares a call whose images are in device memory with the CPU, and returns its peak of device memory beside them.
fn compare_resident([cuda, cpu]: &[Context; 2], mask: &Array3<u8>, params: &Params) -> u64 {
    let (depth, height, width) = mask.dim();
    let expected = measure(cpu, mask.view(), params);
    let mut source = cuda.device_image(PixelType::U8, [width, height, depth]).unwrap();
    source.upload(mask.view().into()).unwrap();
    let mut target = cuda.device_image(PixelType::F32, [width, height, depth]).unwrap();
    let report = distance::run(cuda, source.view(), params, None, target.view_mut()).unwrap();
    let got = Array3::from_shape_vec(mask.dim(), target.download::<f32>().unwrap()).unwrap();
    assert_same(&got, &expected, params);
    assert_eq!((report.device.kind, report.slices_done), (DeviceKind::Cuda, depth as u64));
    assert!(report.seconds_compute > 0.0);
    // The CPU cannot read device memory.
    let mut host = Array3::<f32>::zeros(mask.dim());
    let error = distance::run(cpu, source.view(), params, None, host.view_mut().into()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    report.peak_device_bytes
}

#[test]
fn cuda_agrees_with_the_cpu() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let mut numbers = Numbers(5);
    let mut masks: Vec<Array3<u8>> =
        [(1, 1, 1), (1, 300, 411), (65, 33, 129), (130, 64, 128), (5, 1027, 3), (3, 2, 2051), (1, 2100, 2300)]
            .into_iter()
            .map(|shape| blobs(shape, 11))
            .collect();
    for (shape, one_in) in [((1, 700, 900), 100_000), ((90, 100, 110), 50_000), ((40, 50, 60), 2), ((9, 9, 9), 100)] {
        masks.push(Array3::from_shape_simple_fn(shape, || u8::from(numbers.next(one_in) == 0)));
    }
    // The spacing of an axis of one pixel is ignored.
    masks.push(blobs((130, 90, 1), 3));
    // One class has a single pixel, in a corner.
    let mut corner = Array3::<u8>::zeros((70, 90, 1300));
    corner[[69, 0, 1299]] = 1;
    masks.push(corner);
    for mask in &masks {
        for params in all_params() {
            let got = compare(&contexts, mask.view().into(), &params);
            assert!(got == measure(&contexts[0], mask.view(), &params), "repeated: {:?} {params:?}", mask.dim());
        }
    }
}

#[test]
fn masks_and_results_may_stay_on_the_device() {
    let Some(contexts) = cuda_and_cpu() else { return };
    for params in all_params() {
        compare_resident(&contexts, &blobs((37, 101, 203), 4), &params);
    }
}

#[test]
fn cancelled_call_leaves_device_memory_untouched() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    let mask = blobs((1, 2048, 2048), 4);
    let mut source = cuda.device_image(PixelType::U8, [2048, 2048, 1]).unwrap();
    source.upload(mask.view().into()).unwrap();
    let mut target = cuda.device_image(PixelType::F32, [2048, 2048, 1]).unwrap();
    let before = Array3::from_elem(mask.dim(), 7.0f32);
    target.upload(before.view().into()).unwrap();
    let mut stop = |_: f64, _: &str| ControlFlow::Break(());
    let done = distance::run(&cuda, source.view(), &Params::default(), Some(&mut stop), target.view_mut());
    assert_eq!(done.unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(target.download::<f32>().unwrap().iter().all(|value| *value == 7.0));
}

/// Tests the passes along x, y and z together: 32 columns per block, and every mask with every kind of spacing.
#[test]
fn sanitizer_distance() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let shapes: &[Shape] = if few_sizes() { &FEW_SHAPES } else { &SMALL_SHAPES };
    for &shape in shapes {
        for kind in 0..KINDS {
            let mask = mask(shape, kind);
            for dimensions in [Dimensions::Volume, Dimensions::Slices] {
                for spacing in FEW_SPACINGS {
                    compare(&contexts, mask.view().into(), &Params { dimensions, ..spaced(spacing) });
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

/// Tests every number of columns per block but 32, which [`sanitizer_distance`] tests, and columns in global memory:
/// each along y and along z, with every kind of spacing, and with few inside pixels and with a ball. Kinds of mask and
/// spacing are paired instead of combined, to save time under compute-sanitizer.
#[test]
fn sanitizer_distance_long_columns() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let [equal, quarters, others] = FEW_SPACINGS;
    for length in if few_sizes() { FEW_COLUMNS } else { COLUMNS } {
        for shape in [(1, length, 5), (length, 2, 3)] {
            for (kind, spacing) in [(0, equal), (0, others), (3, quarters)] {
                compare(&contexts, mask(shape, kind).view().into(), &spaced(spacing));
            }
        }
    }
}

/// Tests the kernels on the caller's memory, which holds intermediate values too.
#[test]
fn sanitizer_distance_in_device_memory() {
    let Some(contexts) = cuda_and_cpu() else { return };
    for dimensions in [Dimensions::Volume, Dimensions::Slices] {
        let params = Params { dimensions, ..Params::default() };
        let peak = compare_resident(&contexts, &mask((9, 21, 37), 1), &params);
        assert!(peak <= 2 * (1 << 16), "{peak} bytes beside the images'");
    }
}
