//! Every pixel is compared with the definition, computed from all pairs of pixels.

use super::*;

const SHAPES: [[usize; 3]; 16] = [
    [1, 1, 1],
    [2, 1, 1],
    [1, 7, 1],
    [1, 1, 9],
    [13, 1, 5],
    [1, 6, 11],
    [40, 1, 1],
    [1, 1, 70],
    [1, 33, 1],
    [5, 3, 1],
    [16, 16, 1],
    [31, 33, 1],
    [65, 17, 1],
    [19, 5, 7],
    [17, 18, 9],
    [6, 2, 21],
];
const SPACINGS: [[f64; 3]; 6] =
    [[1.0; 3], [0.25; 3], [1.0, 1.0, 2.5], [0.1, 0.37, 1.9], [3.0, 1.0, 0.2], [1e-3, 20.0, 1.0]];

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
