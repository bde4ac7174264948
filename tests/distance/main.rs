//! Tests of the distance through the public Rust API. This file compares pixels with the definition, computed from all
//! pairs of pixels, and with shapes whose distance is known, and CUDA with the CPU; `calls.rs` tests what does not change the
//! result, errors and cancellation, `parts.rs` volumes that do not fit the memory of a GPU, and `passes.rs` the passes that
//! compute a larger image piece by piece. All tests run on the CPU, and on
//! a CUDA device where there is one. Those named `sanitizer_` run every CUDA kernel of the distance at least once, on images
//! small enough for NVIDIA's compute-sanitizer (see `scripts/gpu-run.sh`).

mod calls;
#[path = "../common/mod.rs"]
mod common;
mod parts;
mod passes;

use common::{cuda_and_cpu, everywhere, exact_distance, few_sizes};
use isoline::distance::{self, Params, Region};
use isoline::{Context, DeviceKind, Dimensions, ErrorKind, Foreground, Image, PixelType};
use ndarray::{Array3, ArrayView3, Axis, s};
use std::ops::ControlFlow;

/// Runs a call that must succeed. The output starts as NaN, so that an unwritten pixel is detected.
fn measure<'a>(context: &Context, mask: impl Into<Image<'a>>, params: &Params) -> Array3<f32> {
    let mask = mask.into();
    let [width, height, depth] = mask.shape();
    let mut output = Array3::from_elem((depth, height, width), f32::NAN);
    let report = distance::run(context, mask.into(), params, None, output.view_mut().into()).expect("a good call");
    assert_eq!(report.device.kind, context.device().kind);
    output
}

fn spaced(spacing: [f64; 3]) -> Params {
    Params { spacing, ..Params::default() }
}

/// Computes the definition: for every pixel the nearest of all pixels of the other class.
fn by_definition(inside: ArrayView3<'_, bool>, params: &Params) -> Array3<f64> {
    let [hx, hy, hz] = params.spacing;
    let term = |h: f64, a: usize, b: usize| if a == b { 0.0 } else { (h * (a.abs_diff(b) as f64 - 0.5)).powi(2) };
    Array3::from_shape_fn(inside.dim(), |(z, y, x)| {
        let own = inside[[z, y, x]];
        let mut least = f64::INFINITY;
        for ((k, j, i), other) in inside.indexed_iter() {
            if *other != own && (params.dimensions == Dimensions::Volume || k == z) {
                least = least.min(term(hx, i, x) + term(hy, j, y) + term(hz, k, z));
            }
        }
        let distance = least.sqrt();
        let [outside, inside] = match params.region {
            Region::Signed => [distance, -distance],
            Region::Outside => [distance, 0.0],
            _ => [0.0, distance],
        };
        if own { inside } else { outside }
    })
}

/// Pseudo-random numbers, the same every time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Returns an image of blobs of all sizes with holes and specks, 0 and 200.
fn blobs(shape: (usize, usize, usize), seed: u64) -> Array3<u8> {
    let mut numbers = Numbers(seed);
    let phase = seed as f64;
    Array3::from_shape_fn(shape, |(z, y, x)| {
        let (x, y, z) = (x as f64, y as f64, z as f64);
        let waves = (x / 17.0 + phase).sin() * (y / 13.0 + z / 9.0).cos() + (x / 41.0 - y / 53.0 + z / 7.0).sin();
        let speck = numbers.next(500) == 0;
        if (waves > 0.4) != speck { 200 } else { 0 }
    })
}

/// Fails where two distances differ by more than a relative 1e-6.
fn assert_near(got: &Array3<f32>, expected: &Array3<f64>, what: &str) {
    assert_eq!(got.dim(), expected.dim(), "{what}");
    for ((index, got), expected) in got.indexed_iter().zip(expected) {
        let near = if expected.is_infinite() {
            f64::from(*got) == *expected
        } else {
            (f64::from(*got) - expected).abs() <= 1e-6 * expected.abs()
        };
        assert!(near, "{what}: {got:e} instead of {expected:e} at {index:?}");
    }
}

#[rustfmt::skip]
const SHAPES: [[usize; 3]; 22] = [
    [1, 1, 1], [2, 1, 1], [1, 7, 1], [1, 1, 9], [2, 2, 2], [13, 1, 5], [1, 6, 11], [40, 1, 1], [1, 1, 70], [1, 33, 1],
    [5, 3, 1], [16, 16, 1], [31, 33, 1], [65, 17, 1], [7, 5, 9], [19, 5, 7], [17, 18, 9], [17, 13, 11], [6, 2, 21],
    [70, 3, 5], [3, 70, 5], [3, 5, 70],
];
const SPACINGS: [[f64; 3]; 7] =
    [[1.0; 3], [0.25; 3], [1.0, 1.0, 2.5], [0.1, 0.37, 1.9], [3.0, 1.0, 0.2], [1e-3, 20.0, 1.0], [0.01, 100.0, 1.0]];

/// Returns masks from few inside pixels to few outside pixels, and simple shapes.
fn masks([width, height, depth]: [usize; 3], numbers: &mut Numbers) -> Vec<Array3<bool>> {
    let pixels = (width * height * depth) as u64;
    let mut masks: Vec<Array3<bool>> = [1, pixels / 20 + 1, pixels / 2 + 1, pixels - pixels / 20, pixels, 0]
        .into_iter()
        .map(|some| Array3::from_shape_simple_fn((depth, height, width), || numbers.next(pixels) < some))
        .collect();
    // Whole rows and columns are of one class: halves along each axis, and a sheet.
    for axis in 0..3 {
        let side = [depth, height, width][axis];
        let at = |index: (usize, usize, usize)| [index.0, index.1, index.2][axis];
        masks.push(Array3::from_shape_fn((depth, height, width), |index| at(index) >= side / 2));
        masks.push(Array3::from_shape_fn((depth, height, width), |index| at(index) == side / 3));
    }
    // A blob whose middle is far from its border.
    let reach = numbers.next(pixels) as f64 / pixels as f64;
    masks.push(Array3::from_shape_fn((depth, height, width), |(z, y, x)| {
        let of = |p: usize, n: usize| ((p as f64 + 0.5) / n as f64 - 0.4).powi(2);
        of(x, width) + of(y, height) + of(z, depth) < 0.4 * reach
    }));
    masks
}

#[test]
fn every_pixel_matches_the_definition() {
    everywhere(|context, device| {
        let mut numbers = Numbers(7);
        for shape in SHAPES {
            for spacing in SPACINGS {
                for inside in masks(shape, &mut numbers) {
                    for dimensions in [Dimensions::Volume, Dimensions::Slices] {
                        let params = Params { dimensions, ..spaced(spacing) };
                        let mask = inside.mapv(|inside| if inside { 200u8 } else { 0 });
                        let got = measure(context, mask.view(), &params);
                        let what = format!("{shape:?} {spacing:?} {dimensions:?} on {device}");
                        assert_near(&got, &by_definition(inside.view(), &params), &what);
                    }
                }
            }
        }
    });
}

/// Returns the distance from a point, given in pixels from the middle of a pixel, to the box of that pixel.
fn to_box(offsets: [f64; 3], spacing: [f64; 3]) -> f64 {
    let beside = |axis: usize| (offsets[axis].abs() - 0.5).max(0.0) * spacing[axis];
    (beside(0).powi(2) + beside(1).powi(2) + beside(2).powi(2)).sqrt()
}

#[test]
fn distance_next_to_a_flat_boundary_is_half_a_pixel() {
    let spacing = [0.7, 2.0, 3.5];
    everywhere(|context, device| {
        for (axis, h) in [(2, spacing[0]), (1, spacing[1]), (0, spacing[2])] {
            let mut mask = Array3::<u8>::zeros((23, 41, 37));
            mask.slice_axis_mut(Axis(axis), (11..).into()).fill(1);
            let got = measure(context, mask.view(), &spaced(spacing));
            let expected = Array3::from_shape_fn(mask.dim(), |(z, y, x)| (10.5 - [z, y, x][axis] as f64) * h);
            assert_near(&got, &expected, &format!("axis {axis} on {device}"));
        }
    });
}

#[test]
fn single_pixel_is_a_box_also_in_long_images() {
    everywhere(|context, device| {
        for ([width, height, depth], at) in [
            ([1500, 1100, 1], [1400, 37, 0]),
            ([3, 2100, 5], [0, 5, 4]),
            ([2, 3, 1300], [1, 2, 1299]),
            ([5000, 2, 2], [4999, 1, 0]),
            ([1, 1, 3000], [0, 0, 1]),
            ([1, 2500, 1], [0, 2000, 0]),
            ([70, 40, 1050], [69, 0, 0]),
            ([20_000, 1, 1], [7001, 0, 0]),
            ([1, 20_000, 1], [0, 7001, 0]),
            ([1, 1, 20_000], [0, 0, 7001]),
        ] {
            for spacing in [[1.0; 3], [0.31, 0.5, 1.7]] {
                let mut mask = Array3::<u8>::zeros((depth, height, width));
                mask[[at[2], at[1], at[0]]] = 1;
                let got = measure(context, mask.view(), &spaced(spacing));
                let sides = [(width, 0), (height, 1), (depth, 2)];
                let smallest = sides.iter().filter(|(side, _)| *side > 1).map(|(_, axis)| spacing[*axis]);
                let smallest = smallest.fold(f64::INFINITY, f64::min);
                let expected = Array3::from_shape_fn(mask.dim(), |(z, y, x)| {
                    let offsets = [x as f64 - at[0] as f64, y as f64 - at[1] as f64, z as f64 - at[2] as f64];
                    if offsets == [0.0; 3] { f64::NAN } else { to_box(offsets, spacing) }
                });
                for ((index, got), expected) in got.indexed_iter().zip(&expected).filter(|(_, e)| !e.is_nan()) {
                    let off = (f64::from(*got) - expected).abs();
                    let most =
                        if *expected < 1000.0 * smallest { 1e-4f64.min(1e-6 * expected) } else { 1e-6 * expected };
                    assert!(off <= most, "{got} for {expected} at {index:?}, on {device}");
                }
                assert_eq!(got[[at[2], at[1], at[0]]], (-0.5 * smallest) as f32, "inside, on {device}");
            }
        }
    });
}

/// The boundary of a digital ball is within a pixel's half diagonal of the sphere.
#[test]
fn distance_to_a_ball_is_near_that_to_its_sphere() {
    let (radius, centre, spacing) = (20.3, [31.2, 30.7, 15.1], [1.0, 1.0, 2.0]);
    let to_centre = |(z, y, x): (usize, usize, usize)| {
        let along = |p: usize, axis: usize| ((p as f64 - centre[axis]) * spacing[axis]).powi(2);
        (along(x, 0) + along(y, 1) + along(z, 2)).sqrt()
    };
    let mask = Array3::from_shape_fn((31, 60, 64), |index| if to_centre(index) < radius { 9u8 } else { 0 });
    everywhere(|context, device| {
        let got = measure(context, mask.view(), &spaced(spacing));
        let half_diagonal = 0.5 * (1.0f64 + 1.0 + 4.0).sqrt();
        for (index, value) in got.indexed_iter() {
            let off = f64::from(*value) - (to_centre(index) - radius);
            assert!(off.abs() <= half_diagonal, "{off} at {index:?}, on {device}");
        }
    });
}

#[test]
fn images_of_one_class_are_infinitely_far() {
    everywhere(|context, device| {
        for shape in [(1, 1, 1), (1, 50, 70), (6, 31, 40), (5, 1, 1)] {
            for dimensions in [Dimensions::Volume, Dimensions::Slices] {
                for (pixel, signed, outside, inside) in
                    [(0u8, f32::INFINITY, f32::INFINITY, 0.0), (255, f32::NEG_INFINITY, 0.0, f32::INFINITY)]
                {
                    let mask = Array3::from_elem(shape, pixel);
                    for (region, expected) in
                        [(Region::Signed, signed), (Region::Outside, outside), (Region::Inside, inside)]
                    {
                        let params = Params { dimensions, region, ..Params::default() };
                        let got = measure(context, mask.view(), &params);
                        let all = got.iter().all(|value| *value == expected);
                        assert!(all, "{shape:?} {dimensions:?} {region:?} {pixel} on {device}: {got:?}");
                    }
                }
            }
        }
    });
}

/// The stack of slices has an empty and a full slice between others.
#[test]
fn slice_of_one_class_does_not_affect_the_others() {
    everywhere(|context, device| {
        let mut mask = blobs((4, 40, 50), 3);
        mask.slice_mut(s![1, .., ..]).fill(0);
        mask.slice_mut(s![2, .., ..]).fill(7);
        let params = Params { dimensions: Dimensions::Slices, ..Params::default() };
        let got = measure(context, mask.view(), &params);
        assert!(got.slice(s![1, .., ..]).iter().all(|value| *value == f32::INFINITY), "{device}");
        assert!(got.slice(s![2, .., ..]).iter().all(|value| *value == f32::NEG_INFINITY), "{device}");
        assert!(got.slice(s![0, .., ..]).iter().all(|value| value.is_finite()), "{device}");
        // In the volume every pixel has a boundary.
        let volume = measure(context, mask.view(), &Params::default());
        assert!(volume.iter().all(|value| value.is_finite()), "{device}");
    });
}

#[test]
fn regions_are_parts_of_the_signed_distance() {
    let mask = blobs((7, 33, 45), 5);
    everywhere(|context, device| {
        let signed = measure(context, mask.view(), &spaced([1.0, 2.0, 3.0]));
        for region in [Region::Outside, Region::Inside] {
            let got = measure(context, mask.view(), &Params { region, ..spaced([1.0, 2.0, 3.0]) });
            let expected = signed.mapv(|value| match region {
                Region::Outside => value.max(0.0),
                _ => (-value).max(0.0),
            });
            assert_eq!(got, expected, "{region:?} on {device}");
            assert!(got.iter().all(|value| value.is_sign_positive()), "{region:?} on {device}");
        }
    });
}

/// Tests the same mask in 8 bits, 16 bits and floats, at several thresholds; NaN is outside for either foreground.
#[test]
fn inside_is_one_side_of_the_threshold_for_every_pixel_type() {
    let grey = Array3::from_shape_fn((3, 37, 41), |(z, y, x)| ((x * 7 + y * 13 + z * 31) % 256) as u8);
    let mut floats = grey.mapv(f32::from);
    for index in [[0, 0, 0], [1, 20, 20], [2, 36, 40]] {
        floats[index] = f32::NAN;
    }
    floats[[1, 5, 5]] = f32::INFINITY;
    floats[[1, 6, 6]] = f32::NEG_INFINITY;
    everywhere(|context, device| {
        for threshold in [0.0, 99.5, 100.0, 254.9, -1.0, 255.0] {
            for foreground in [Foreground::Above, Foreground::Below] {
                let params = Params { foreground, threshold, ..Params::default() };
                let is_inside = |value: f64| match foreground {
                    Foreground::Above => value > threshold,
                    _ => value <= threshold,
                };
                let plain = |inside: Array3<bool>| measure(context, inside.mapv(u8::from).view(), &Params::default());
                let what = format!("{threshold} {foreground:?} on {device}");
                let expected = plain(grey.mapv(|value| is_inside(value.into())));
                assert_eq!(measure(context, grey.view(), &params), expected, "u8, {what}");
                assert_eq!(measure(context, grey.mapv(u16::from).view(), &params), expected, "u16, {what}");
                let expected = plain(floats.mapv(|value| is_inside(value.into())));
                assert_eq!(measure(context, floats.view(), &params), expected, "f32, {what}");
            }
        }
    });
}

// ------------------------------------------------------------------------------------------------ CUDA against the CPU

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
    let report = distance::run(cuda, source.view().into(), params, None, target.view_mut().into()).unwrap();
    let got = Array3::from_shape_vec(mask.dim(), target.download::<f32>().unwrap()).unwrap();
    assert_same(&got, &expected, params);
    assert_eq!((report.device.kind, report.slices_done), (DeviceKind::Cuda, depth as u64));
    assert!(report.seconds_compute > 0.0);
    // The CPU cannot read device memory.
    let mut host = Array3::<f32>::zeros(mask.dim());
    let error = distance::run(cpu, source.view().into(), params, None, host.view_mut().into()).unwrap_err();
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
    let done =
        distance::run(&cuda, source.view().into(), &Params::default(), Some(&mut stop), target.view_mut().into());
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
