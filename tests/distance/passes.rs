//! The distance of an image by its passes, each of pieces of the image: it has the bits of one call.

use super::*;
use isoline::ImageMut;

/// A type of pixels.
trait Pixel: Sized {
    fn image(view: ArrayView3<'_, Self>) -> Image<'_>;
}

impl Pixel for u8 {
    fn image(view: ArrayView3<'_, u8>) -> Image<'_> {
        view.into()
    }
}

impl Pixel for u16 {
    fn image(view: ArrayView3<'_, u16>) -> Image<'_> {
        view.into()
    }
}

impl Pixel for f32 {
    fn image(view: ArrayView3<'_, f32>) -> Image<'_> {
        view.into()
    }
}

/// Returns the ranges of uneven pieces of an axis, or of one piece.
fn pieces(length: usize, whole: bool) -> Vec<std::ops::Range<usize>> {
    let mut bounds = if whole { vec![0, length] } else { vec![0, length / 7, length / 3, length / 2 + 1, length] };
    bounds.iter_mut().for_each(|bound| *bound = length.min(*bound));
    bounds.dedup();
    bounds.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Computes the pass along an axis in pieces along the two others. The output starts as NaN, so that an unwritten pixel is
/// detected.
fn one_pass<T: Pixel>(context: &Context, input: ArrayView3<'_, T>, axis: usize, params: &Params) -> Array3<f32> {
    let (depth, height, width) = input.dim();
    let mut output = Array3::from_elem(input.dim(), f32::NAN);
    let cut = |side: usize, length: usize| pieces(length, side == axis);
    for z in cut(2, depth) {
        for y in cut(1, height) {
            for x in cut(0, width) {
                let piece = s![z.clone(), y.clone(), x];
                let (from, to) = (input.slice(piece), output.slice_mut(piece));
                let report =
                    distance::pass(context, T::image(from), axis, params, None, to.into()).expect("a good call");
                assert_eq!((report.device.kind, report.slices_done), (DeviceKind::Cpu, z.len() as u64));
            }
        }
    }
    output
}

/// Computes the distance by its passes.
fn by_passes<T: Pixel>(context: &Context, mask: ArrayView3<'_, T>, params: &Params) -> Array3<f32> {
    // The spacing along axes of one pixel is ignored.
    let (depth, height, width) = mask.dim();
    let axes = if params.dimensions == Dimensions::Volume { 3 } else { 2 };
    let sides = [width, height, depth];
    let least = (0..axes).filter(|axis| sides[*axis] > 1).map(|axis| params.spacing[axis]).reduce(f64::min);
    let spacing = std::array::from_fn(|axis| if sides[axis] > 1 { params.spacing[axis] } else { least.unwrap_or(1.0) });
    let params = Params { spacing, ..params.clone() };
    let along_x = one_pass(context, mask, 0, &params);
    let along_y = one_pass(context, along_x.view(), 1, &params);
    if axes == 2 { along_y } else { one_pass(context, along_y.view(), 2, &params) }
}

/// Fails unless passes have the bits of one call, for each region and side of the threshold.
fn assert_same_bits<T: Pixel>(mask: ArrayView3<'_, T>, threshold: f64, spacing: [f64; 3], dimensions: Dimensions) {
    let context = Context::new("cpu").expect("a CPU");
    for region in [Region::Signed, Region::Outside, Region::Inside] {
        for foreground in [Foreground::Above, Foreground::Below] {
            let params = Params { dimensions, region, foreground, threshold, spacing };
            let expected = measure(&context, T::image(mask.view()), &params).mapv(f32::to_bits);
            let got = by_passes(&context, mask.view(), &params).mapv(f32::to_bits);
            assert_eq!(got, expected, "{:?}, {params:?}", mask.dim());
        }
    }
}

const BOTH: [Dimensions; 2] = [Dimensions::Volume, Dimensions::Slices];
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

#[test]
fn passes_without_a_boundary_are_infinite() {
    for inside in [0, 1] {
        for dimensions in BOTH {
            assert_same_bits(Array3::<u8>::from_elem((9, 20, 35), inside).view(), 0.0, [1.0; 3], dimensions);
        }
    }
}

#[test]
fn passes_with_any_spacing_are_near_the_definition() {
    let context = Context::new("cpu").expect("a CPU");
    let mut numbers = Numbers(23);
    for shape in SHAPES {
        for spacing in SPACINGS {
            for inside in masks(shape, &mut numbers) {
                let params = spaced(spacing);
                let got = by_passes(&context, inside.mapv(u8::from).view(), &params);
                assert_near(&got, &by_definition(inside.view(), &params), &format!("{params:?}"));
            }
        }
    }
}

#[test]
fn passes_run_on_the_cpu_of_every_context() {
    let mask = blobs((9, 40, 50), 5);
    let expected = measure(&Context::new("cpu").expect("a CPU"), mask.view(), &Params::default());
    everywhere(|context, device| {
        assert_eq!(by_passes(context, mask.view(), &Params::default()), expected, "{device}");
    });
}

#[test]
fn wrong_passes_are_refused_by_name() {
    let context = Context::new("cpu").expect("a CPU");
    let (mask, values) = (Array3::<u8>::ones((3, 4, 5)), Array3::<f32>::ones((3, 4, 5)));
    let volume = Params::default();
    let slices = Params { dimensions: Dimensions::Slices, ..Params::default() };
    let cases: [(Image<'_>, usize, Params, ErrorKind, &str); 7] = [
        (values.view().into(), 3, volume.clone(), ErrorKind::InvalidArgument, "axis must be 0, 1 or 2"),
        (values.view().into(), 2, slices, ErrorKind::InvalidArgument, "axis must be 0 or 1"),
        (
            mask.view().into(),
            1,
            volume.clone(),
            ErrorKind::InvalidType,
            "along y: the values of the pass before are f32",
        ),
        (mask.view().into(), 2, volume.clone(), ErrorKind::InvalidType, "along z"),
        (mask.view().into(), 0, spaced([1.0, 0.0, 1.0]), ErrorKind::InvalidArgument, "spacing along y"),
        (
            mask.view().into(),
            0,
            Params { threshold: f64::NAN, ..volume.clone() },
            ErrorKind::InvalidArgument,
            "threshold",
        ),
        (mask.slice(s![.., .., ..4]).into(), 0, volume.clone(), ErrorKind::InvalidSize, "5 x 4 x 3"),
    ];
    for (input, axis, params, kind, text) in cases {
        let mut output = Array3::from_elem((3, 4, 5), f32::NAN);
        let error = distance::pass(&context, input, axis, &params, None, output.view_mut().into()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(text), "{error}");
        assert!(output.iter().all(|value| value.is_nan()), "{error}");
    }
    let mut bytes = Array3::<u8>::zeros((3, 4, 5));
    let output = ImageMut::from(bytes.view_mut());
    let error = distance::pass(&context, mask.view().into(), 0, &volume, None, output).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidType, "{error}");
}

#[test]
fn passes_are_cancelled_before_anything_is_written() {
    let context = Context::new("cpu").expect("a CPU");
    let values = Array3::<f32>::ones((3, 4, 5));
    for axis in 0..3 {
        let mut output = Array3::from_elem((3, 4, 5), f32::NAN);
        let mut stages = vec![];
        let mut cancel = |fraction: f64, stage: &str| {
            stages.push((fraction, stage.to_owned()));
            ControlFlow::Break(())
        };
        let params = Params::default();
        let input = values.view().into();
        let error = distance::pass(&context, input, axis, &params, Some(&mut cancel), output.view_mut().into());
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(stages, [(0.0, "distance".to_owned())]);
        assert!(output.iter().all(|value| value.is_nan()));
    }
}
