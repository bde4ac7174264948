//! The parameters that follow from the image inside the initial mask: the same bits from every device, type of mask and
//! kind of memory.

use super::*;
use common::random_words;
use isoline::PixelType;
use ndarray::s;

/// Widths below, at and beyond what a warp loads at once; rows below, at and beyond those of a warp and of a block.
const SHAPES: [(usize, usize, usize); 7] =
    [(1, 1, 1), (1, 1, 65), (1, 40, 1), (2, 16, 32), (3, 43, 33), (5, 29, 100), (1, 3, 1031)];

/// Returns numbers from 0 to 65535.
fn noise(dim: (usize, usize, usize)) -> Array3<u16> {
    let mut next = random_words(7);
    Array3::from_shape_simple_fn(dim, || (next() >> 16) as u16)
}

/// Returns pixels of both signs with long fractions, among which are some that are not finite.
fn floats(dim: (usize, usize, usize)) -> Array3<f32> {
    noise(dim).mapv(|n| match n % 64 {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => f32::NEG_INFINITY,
        _ => (f32::from(n) - 30_000.0) / 777.0,
    })
}

/// Returns masks with 1 inside: irregular, everywhere, nowhere.
fn masks(dim: (usize, usize, usize)) -> [Array3<u8>; 3] {
    let irregular = Array3::from_shape_fn(dim, |(z, y, x)| u8::from((x / 3 + y / 2 + z) % 4 < 2));
    [irregular, Array3::ones(dim), Array3::zeros(dim)]
}

/// Returns the bits of all parameters that a start computes, or the message with which it is refused. A small α makes Δt
/// depend on the range of the image, too.
fn parameters(context: &Context, input: Image<'_>, mask: Image<'_>) -> Vec<Result<[u64; 7], String>> {
    let start = |alpha| match LevelSet::new(context, input.into(), mask.into(), &Params { alpha, ..Params::default() })
    {
        Ok(surface) => {
            let state = surface.state();
            let bits =
                [state.target, state.epsilon, state.alpha, state.time_step, state.time_step_limit].map(f64::to_bits);
            Ok([bits[0], bits[1], bits[2], bits[3], bits[4], state.inside, state.check_interval.into()])
        }
        Err(error) => Err(error.to_string()),
    };
    [None, Some(1e-5)].map(start).into()
}

/// Calls `test` with the image and a copy in device memory.
fn in_both_memories(context: &Context, image: Image<'_>, mut test: impl FnMut(Image<'_>)) {
    test(image);
    let mut copy = context.device_image(image.pixel_type(), image.shape()).unwrap();
    copy.upload(image).unwrap();
    test(copy.view());
}

#[test]
fn parameters_on_cuda_have_the_bits_of_the_cpu() {
    let Some([cuda, cpu]) = common::cuda_and_cpu() else { return };
    for dim in SHAPES {
        let (bytes, words, floats) = (noise(dim).mapv(|n| (n >> 8) as u8), noise(dim), floats(dim));
        for mask in masks(dim) {
            let masks =
                (mask.mapv(|m| m * 255), mask.mapv(u16::from), mask.mapv(|m| if m > 0 { 0.5 } else { f32::NAN }));
            for input in [Image::from(bytes.view()), words.view().into(), floats.view().into()] {
                let expected = parameters(&cpu, input, mask.view().into());
                for mask in [Image::from(masks.0.view()), masks.1.view().into(), masks.2.view().into()] {
                    let types: [PixelType; 2] = [input.pixel_type(), mask.pixel_type()];
                    in_both_memories(&cuda, input, |input| {
                        in_both_memories(&cuda, mask, |mask| {
                            assert_eq!(parameters(&cuda, input, mask), expected, "{dim:?} {types:?}");
                        });
                    });
                }
            }
        }
    }
}

#[test]
fn parameters_do_not_depend_on_the_mask_s_type_or_on_strides() {
    everywhere(|context, name| {
        for (depth, height, width) in SHAPES {
            let dim = (depth, 2 * height, 3 * width);
            let part = s![.., ..;2, 1..;3];
            let (words, floats, mask) = (noise(dim), floats(dim), &masks(dim)[0]);
            let float_mask = mask.mapv(|m| if m > 0 { 0.5f32 } else { -1.0 });
            let (dense_words, dense_floats) = (words.slice(part).to_owned(), floats.slice(part).to_owned());
            let dense_mask = mask.slice(part).to_owned();
            for (dense, strided) in [
                (Image::from(dense_words.view()), Image::from(words.slice(part))),
                (dense_floats.view().into(), floats.slice(part).into()),
            ] {
                let expected = parameters(context, dense, dense_mask.view().into());
                assert_eq!(parameters(context, strided, mask.slice(part).into()), expected, "{name} {dim:?}");
                assert_eq!(parameters(context, strided, float_mask.slice(part).into()), expected, "{name} {dim:?}");
            }
        }
    });
}
