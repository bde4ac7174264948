//! Tests of the distance through the public Rust API, on the CPU and on a CUDA device where there is one: pixels against the
//! definition, computed from all pairs of pixels, and against shapes whose distance is known; the passes that compute a larger
//! image piece by piece against one call; what must not change the distance, or changes it in a known way; and invalid calls.
//! `cuda.rs` tests progress and cancellation, and compares CUDA with the CPU, also where a volume does not fit the memory of
//! the GPU.

#[path = "../common/mod.rs"]
mod common;
mod cuda;

use common::{Numbers, everywhere};
use isoline::distance::{self, Params, Region};
use isoline::{Context, DeviceKind, Dimensions, ErrorKind, Foreground, Image, ImageMut, PixelType, Report};
use ndarray::{Array3, ArrayView3, Axis, ShapeBuilder, s};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

const BOTH: [Dimensions; 2] = [Dimensions::Volume, Dimensions::Slices];
const REGIONS: [Region; 3] = [Region::Signed, Region::Outside, Region::Inside];
const SIDES: [Foreground; 2] = [Foreground::Above, Foreground::Below];

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

/// The spacing with which [`each_mask`] is measured.
const SPACING: [f64; 3] = [0.8, 1.1, 2.5];

/// Runs a test with blobs of several shapes on every device.
fn each_mask(mut test: impl FnMut(&Context, &Array3<u8>, &str)) {
    everywhere(|context, device| {
        for (shape, seed) in [((17, 40, 51), 1), ((1, 133, 97), 2), ((70, 5, 19), 3), ((2, 3, 300), 4)] {
            test(context, &blobs(shape, seed), &format!("{shape:?} on {device}"));
        }
    });
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

/// Computes the definition of the signed distance: for every pixel the nearest of all pixels of the other class.
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
        if own { -least.sqrt() } else { least.sqrt() }
    })
}

/// Fails unless the signed distance is that of the definition, by one call and by passes, and those of the other regions are
/// parts of it.
fn assert_by_definition(context: &Context, inside: ArrayView3<'_, bool>, params: &Params) {
    let what = format!("{:?} {params:?} on {}", inside.dim(), context.device().id);
    let mask = inside.mapv(|inside| if inside { 200u8 } else { 0 });
    let signed = measure(context, mask.view(), params);
    let expected = by_definition(inside, params);
    assert_near(&signed, &expected, &what);
    assert_near(&by_passes(context, mask.view(), params), &expected, &format!("passes, {what}"));
    for (region, sign) in [(Region::Outside, 1.0), (Region::Inside, -1.0)] {
        let got = measure(context, mask.view(), &Params { region, ..params.clone() });
        assert_eq!(got, signed.mapv(|value| (sign * value).max(0.0)), "{region:?} of {what}");
        assert!(got.iter().all(|value| value.is_sign_positive()), "{region:?} of {what}");
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

/// Returns masks from few inside pixels to few outside pixels, of one class, and of simple shapes.
fn masks([width, height, depth]: [usize; 3], numbers: &mut Numbers) -> Vec<Array3<bool>> {
    let pixels = (width * height * depth) as u64;
    let mut masks: Vec<Array3<bool>> = [1, pixels / 20 + 1, pixels / 2 + 1, pixels - pixels / 20, pixels, 0]
        .into_iter()
        .map(|some| Array3::from_shape_simple_fn((depth, height, width), || numbers.next(pixels) < some))
        .collect();
    // Whole rows, columns and slices are of one class: halves along each axis, and a sheet.
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
    everywhere(|context, _| {
        let mut numbers = Numbers(7);
        for shape in SHAPES {
            for spacing in SPACINGS {
                for inside in masks(shape, &mut numbers) {
                    for dimensions in BOTH {
                        assert_by_definition(context, inside.view(), &Params { dimensions, ..spaced(spacing) });
                    }
                }
            }
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
                let counts = |axis: &usize| [width, height, depth][*axis] > 1;
                let smallest = (0..3).filter(counts).map(|axis| spacing[axis]).fold(f64::INFINITY, f64::min);
                let got = measure(context, mask.view(), &spaced(spacing));
                for ((z, y, x), got) in got.indexed_iter() {
                    let index = [x, y, z];
                    let beside = |a: usize| (index[a].abs_diff(at[a]) as f64 - 0.5).max(0.0) * spacing[a];
                    let expected = (beside(0).powi(2) + beside(1).powi(2) + beside(2).powi(2)).sqrt();
                    if index == at {
                        assert_eq!(*got, (-0.5 * smallest) as f32, "inside, on {device}");
                        continue;
                    }
                    let most = if expected < 1000.0 * smallest { 1e-4 } else { f64::INFINITY };
                    let off = (f64::from(*got) - expected).abs();
                    assert!(off <= most.min(1e-6 * expected), "{got} for {expected} at {index:?}, on {device}");
                }
            }
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
            for foreground in SIDES {
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

// --------------------------------------------------------------------------------------------------------------- passes

/// Returns the ranges of uneven pieces of an axis, or of one piece.
fn pieces(length: usize, whole: bool) -> Vec<std::ops::Range<usize>> {
    let mut bounds = if whole { vec![0, length] } else { vec![0, length / 7, length / 3, length / 2 + 1, length] };
    bounds.iter_mut().for_each(|bound| *bound = length.min(*bound));
    bounds.dedup();
    bounds.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Computes the pass along an axis in pieces along the two others. The output starts as NaN, so that an unwritten pixel is
/// detected.
fn one_pass<T>(context: &Context, input: ArrayView3<'_, T>, axis: usize, params: &Params) -> Array3<f32>
where
    for<'a> ArrayView3<'a, T>: Into<Image<'a>>,
{
    let (depth, height, width) = input.dim();
    let mut output = Array3::from_elem(input.dim(), f32::NAN);
    let cut = |side: usize, length: usize| pieces(length, side == axis);
    for z in cut(2, depth) {
        for y in cut(1, height) {
            for x in cut(0, width) {
                let piece = s![z.clone(), y.clone(), x];
                let (from, to) = (input.slice(piece).into(), output.slice_mut(piece).into());
                let report = distance::pass(context, from, axis, params, None, to).expect("a good call");
                assert_eq!((report.device.kind, report.slices_done), (DeviceKind::Cpu, z.len() as u64));
            }
        }
    }
    output
}

/// Computes the distance by its passes.
fn by_passes<T>(context: &Context, mask: ArrayView3<'_, T>, params: &Params) -> Array3<f32>
where
    for<'a> ArrayView3<'a, T>: Into<Image<'a>>,
{
    // The spacing along axes of one pixel is ignored.
    let (depth, height, width) = mask.dim();
    let axes = if params.dimensions == Dimensions::Volume { 3 } else { 2 };
    let sides = [width, height, depth];
    let least = (0..axes).filter(|axis| sides[*axis] > 1).map(|axis| params.spacing[axis]).reduce(f64::min);
    let spacing = std::array::from_fn(|axis| if sides[axis] > 1 { params.spacing[axis] } else { least.unwrap_or(1.0) });
    let params = Params { spacing, ..params.clone() };
    let along_x = one_pass(context, mask, 0, &params);
    (1..axes).fold(along_x, |values, axis| one_pass::<f32>(context, values.view(), axis, &params))
}

/// Fails unless passes have the bits of one call, for each region and side of the threshold.
fn assert_same_bits<T>(mask: ArrayView3<'_, T>, threshold: f64, spacing: [f64; 3], dimensions: Dimensions)
where
    for<'a> ArrayView3<'a, T>: Into<Image<'a>>,
{
    let context = Context::new("cpu").expect("a CPU");
    for region in REGIONS {
        for foreground in SIDES {
            let params = Params { dimensions, region, foreground, threshold, spacing };
            let expected = measure(&context, mask.view(), &params).mapv(f32::to_bits);
            let got = by_passes(&context, mask.view(), &params).mapv(f32::to_bits);
            assert_eq!(got, expected, "{:?}, {params:?}", mask.dim());
        }
    }
}

/// Spacings with which squares are exact.
const EXACT: [[f64; 3]; 4] = [[1.0; 3], [0.7; 3], [2.5, 1.0, 1.5], [0.2, 0.3, 0.2]];

#[test]
fn passes_of_pieces_have_the_bits_of_one_call() {
    let mut numbers = Numbers(17);
    for (index, shape) in SHAPES.into_iter().enumerate() {
        for inside in masks(shape, &mut numbers) {
            for dimensions in BOTH {
                assert_same_bits(inside.mapv(u8::from).view(), 0.0, EXACT[index % EXACT.len()], dimensions);
            }
        }
    }
}

#[test]
fn passes_take_every_type_and_layout() {
    let mask = blobs((19, 33, 130), 3);
    for spacing in EXACT {
        for dimensions in BOTH {
            assert_same_bits(mask.mapv(|pixel| u16::from(pixel) + 65_000).view(), 65_100.0, spacing, dimensions);
            let mut real = mask.mapv(|pixel| f32::from(pixel) / 4.0 - 1.5);
            for (index, value) in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY].into_iter().enumerate() {
                real.iter_mut().skip(7 + index).step_by(501).for_each(|pixel| *pixel = value);
            }
            assert_same_bits(real.view(), -0.5, spacing, dimensions);
            // Rows are not in one piece of memory.
            assert_same_bits(mask.view().permuted_axes([1, 2, 0]), 100.0, spacing, dimensions);
        }
    }
}

#[test]
fn passes_of_long_lines_have_the_bits_of_one_call() {
    // Longer than the ramps that are copied, but not than what single precision holds.
    for shape in [(3, 7, 2047), (2, 2047, 5), (2047, 3, 4), (1, 1, 2047)] {
        assert_same_bits(blobs(shape, 11).view(), 0.0, [1.0; 3], Dimensions::Volume);
        let mut one = Array3::<u8>::zeros(shape);
        one[[0, 0, 0]] = 1;
        assert_same_bits(one.view(), 0.0, [1.0; 3], Dimensions::Volume);
    }
}

// --------------------------------------------------------------------------------------------- properties

#[test]
fn inverted_mask_has_the_opposite_sign() {
    each_mask(|context, mask, what| {
        let got = measure(context, mask.view(), &spaced(SPACING));
        let other = measure(context, mask.mapv(|pixel| u8::from(pixel == 0)).view(), &spaced(SPACING));
        assert_eq!(got, other.mapv(|value| -value), "{what}");
    });
}

#[test]
fn mirrored_mask_has_the_mirrored_distance() {
    each_mask(|context, mask, what| {
        let expected = measure(context, mask.view(), &spaced(SPACING)).mapv(f64::from);
        for axis in 0..3 {
            let mut mirrored = mask.clone();
            mirrored.invert_axis(Axis(axis));
            // Both a view with negative strides and a packed copy are tested.
            for mask in [mirrored.clone(), mirrored.as_standard_layout().into_owned()] {
                let mut got = measure(context, mask.view(), &spaced(SPACING));
                got.invert_axis(Axis(axis));
                assert_near(&got, &expected, &format!("axis {axis}, {what}"));
            }
        }
    });
}

#[test]
fn distance_has_the_unit_of_the_spacing() {
    each_mask(|context, mask, what| {
        let expected = measure(context, mask.view(), &spaced(SPACING)).mapv(|value| f64::from(value) * 1e-6);
        assert_near(&measure(context, mask.view(), &spaced(SPACING.map(|h| h * 1e-6))), &expected, what);
    });
}

#[test]
fn slice_of_a_stack_equals_the_slice_alone() {
    each_mask(|context, mask, what| {
        let params = Params { dimensions: Dimensions::Slices, ..spaced(SPACING) };
        let stack = measure(context, mask.view(), &params);
        for (z, slice) in mask.outer_iter().enumerate() {
            let alone = measure(context, slice, &params);
            assert_eq!(alone.index_axis(Axis(0), 0), stack.index_axis(Axis(0), z), "slice {z}, {what}");
            // A single slice equals a volume of one slice.
            let volume = measure(context, slice, &spaced([SPACING[0], SPACING[1], 100.0]));
            assert_eq!(alone, volume, "slice {z}, {what}");
        }
    });
}

#[test]
fn slices_ignore_the_z_spacing() {
    everywhere(|context, device| {
        // Some images have one pixel along x or y, because the CPU moves such axes.
        for shape in [(5, 40, 51), (3, 1, 60), (3, 60, 1), (2, 1, 1)] {
            let mask = blobs(shape, 5);
            let slices = |spacing| Params { dimensions: Dimensions::Slices, ..spaced(spacing) };
            for [hx, hy] in [[1.0, 1.0], [1e-10, 3e-10], [0.8e12, 0.5e12]] {
                let expected = measure(context, mask.view(), &slices([hx, hy, hx]));
                for hz in [1.0, 0.0, -2.0, f64::NAN, f64::INFINITY, 1e300] {
                    let got = measure(context, mask.view(), &slices([hx, hy, hz]));
                    assert_eq!(got, expected, "{shape:?}, spacing {hx:e}, {hy:e}, {hz:e} on {device}");
                }
            }
        }
    });
}

#[test]
fn result_is_independent_of_threads() {
    let [one, many] = [1, 7].map(|threads| Context::with_threads("cpu", threads).expect("threads"));
    let masks = [blobs((17, 40, 51), 1), blobs((70, 5, 19), 3), blobs((2, 3, 300), 4), blobs((1, 1300, 1100), 8)];
    for mask in masks {
        for dimensions in BOTH {
            let params = Params { dimensions, ..spaced(SPACING) };
            let expected = measure(&one, mask.view(), &params);
            assert_eq!(measure(&many, mask.view(), &params), expected);
            assert_eq!(measure(&many, mask.view(), &params), expected, "repeated");
            let by_one = by_passes(&one, mask.view(), &params);
            assert_eq!(by_passes(&many, mask.view(), &params), by_one, "by passes");
        }
    }
}

/// Tests windows of larger images and column-major images; pixels around the output must stay untouched.
#[test]
fn images_of_any_layout_are_read_and_written() {
    each_mask(|context, mask, what| {
        let (depth, height, width) = mask.dim();
        for dimensions in BOTH {
            let params = Params { dimensions, ..spaced(SPACING) };
            let expected = measure(context, mask.view(), &params);
            let mut wide = Array3::from_elem((depth + 1, height + 2, width + 3), 77u8);
            let window = s![..depth, 1..=height, 2..width + 2];
            wide.slice_mut(window).assign(mask);
            let mut wide_output = Array3::from_elem(wide.dim(), -7.5f32);
            let output = ImageMut::from(wide_output.slice_mut(window));
            distance::run(context, wide.slice(window).into(), &params, None, output.into()).expect("a good call");
            assert_eq!(wide_output.slice(window), expected, "a window, {what}");
            wide_output.slice_mut(window).fill(-7.5);
            assert!(wide_output.iter().all(|value| *value == -7.5), "around the window, {what}");
            if context.device().kind == DeviceKind::Cpu {
                let mut columns = Array3::<u8>::zeros((depth, height, width).f());
                columns.assign(mask);
                let mut output = Array3::<f32>::zeros((depth, height, width).f());
                distance::run(context, columns.view().into(), &params, None, output.view_mut().into())
                    .expect("a good call");
                assert_eq!(output, expected, "columns for rows");
            }
        }
    });
}

// ------------------------------------------------------------------------------------------------------- invalid calls

/// Fails unless a call, of the whole distance or of the pass along an axis, into an output of this shape ends with this error
/// and writes nothing.
fn assert_refused(
    context: &Context,
    (input, axis, params): (Image<'_>, Option<usize>, &Params),
    shape: (usize, usize, usize),
    kind: ErrorKind,
    text: &str,
) {
    let mut output = Array3::from_elem(shape, 7.0f32);
    let target = output.view_mut();
    let done = match axis {
        None => distance::run(context, input.into(), params, None, target.into()),
        Some(axis) => distance::pass(context, input, axis, params, None, target.into()),
    };
    let error = done.unwrap_err();
    assert!(error.kind() == kind && error.message().contains(text), "{text}: {error}");
    assert!(output.iter().all(|value| *value == 7.0), "{error}");
}

#[test]
fn invalid_calls_are_refused_by_name() {
    const SHAPE: (usize, usize, usize) = (3, 4, 5);
    let (mask, values) = (Array3::<u8>::ones(SHAPE), Array3::<f32>::ones(SHAPE));
    let images: [Image<'_>; 2] = [mask.view().into(), values.view().into()];
    let at = |threshold: f64| Params { threshold, ..Params::default() };
    let (volume, slices) = (Params::default(), Params { dimensions: Dimensions::Slices, ..Params::default() });
    let (argument, size, no_float) = (ErrorKind::InvalidArgument, ErrorKind::InvalidSize, ErrorKind::InvalidType);
    everywhere(|context, _| {
        for axis in [None, Some(0)] {
            for (params, text) in [
                (at(f64::NAN), "threshold"),
                (at(f64::NEG_INFINITY), "threshold"),
                (spaced([f64::NAN, 1.0, 1.0]), "spacing along x"),
                (spaced([1.0, 0.0, 1.0]), "spacing along y"),
                (spaced([1.0, 1.0, -1.0]), "spacing along z"),
                (spaced([1.0, 1.0, f64::INFINITY]), "spacing along z"),
                (spaced([1e-16, 1.0, 1.0]), "spacing along x"),
                (spaced([1.0, 1.1e15, 1.0]), "spacing along y"),
                (spaced([1e-5, 1.0, 1.1e4]), "spacing"),
            ] {
                assert_refused(context, (images[0], axis, &params), SHAPE, argument, text);
            }
            assert_refused(context, (images[0], axis, &volume), (3, 5, 4), size, "5 x 4 x 3");
            for empty in [s![..0, .., ..], s![.., ..0, ..], s![.., .., ..0]] {
                let none = mask.slice(empty);
                assert_refused(context, (none.into(), axis, &volume), none.dim(), size, "");
            }
        }
        for (image, axis, params, kind, text) in [
            (1, 3, &volume, argument, "axis must be 0, 1 or 2"),
            (1, 2, &slices, argument, "axis must be 0 or 1"),
            (0, 1, &volume, no_float, "along y: the values of the pass before are float32"),
            (0, 2, &volume, no_float, "along z"),
        ] {
            assert_refused(context, (images[image], Some(axis), params), SHAPE, kind, text);
        }
        let (mut bytes, mut words) = (mask.clone(), mask.mapv(u16::from));
        for wrong in [ImageMut::from(bytes.view_mut()), words.view_mut().into()] {
            let error = distance::run(context, images[0].into(), &volume, None, wrong.into()).unwrap_err();
            assert_eq!(error.kind(), no_float, "{error}");
            assert!(error.message().contains("output") && error.message().contains("float32"), "{error}");
        }
        let error = distance::pass(context, images[0], 0, &volume, None, bytes.view_mut().into()).unwrap_err();
        assert_eq!(error.kind(), no_float, "{error}");
    });
}
