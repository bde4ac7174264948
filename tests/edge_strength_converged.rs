//! Tests of the converged mode against a sparse direct solve in float64 on real images
//! (tests/data/edge_strength_reference), on the CPU and, where there is one, on a CUDA device.

mod common;

use common::{contexts, data_folder};
use isoline::edge_strength::{self, Dimensions, Mode, Params};
use isoline::{Context, Report};
use ndarray::{Array2, Array3, s};

/// The reference has every STEP-th pixel of every STEP-th row, from OFFSET on.
const STEP: usize = 5;
const OFFSET: usize = 2;

/// The largest error that the operation promises at the default tolerance.
const LARGEST_ERROR: f32 = 1e-4;

const IMAGES: [&str; 5] = ["horse", "camera_edges", "coins", "page", "text"];

fn file(name: &str) -> Vec<u8> {
    let path = data_folder().join("edge_strength_reference").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Reads a mask: 1 on the shape.
fn mask(name: &str) -> Array2<u8> {
    let bytes = file(&format!("{name}.pbm"));
    let mut lines = bytes.splitn(3, |&byte| byte == b'\n');
    assert_eq!(lines.next(), Some(&b"P4"[..]));
    let size: Vec<usize> =
        std::str::from_utf8(lines.next().unwrap()).unwrap().split(' ').map(|n| n.parse().unwrap()).collect();
    let (width, bits) = (size[0], lines.next().unwrap());
    let row = width.div_ceil(8);
    Array2::from_shape_fn((size[1], width), |(y, x)| bits[y * row + x / 8] >> (7 - x % 8) & 1)
}

fn reference(name: &str, rho: u32) -> Vec<f32> {
    let bytes = file(&format!("{name}_rho{rho}.f32"));
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
}

fn converged(context: &Context, input: &Array3<u8>, params: &Params) -> (Array3<f32>, Report) {
    let mut strength = Array3::from_elem(input.dim(), f32::NAN);
    let report = edge_strength::run(context, input.view().into(), params, None, strength.view_mut().into()).unwrap();
    (strength, report)
}

fn params(rho: f64) -> Params {
    Params { rho, mode: Mode::Converged { tolerance: 1e-5, max_cycles: 100 }, ..Params::default() }
}

fn largest_difference<'a>(a: impl IntoIterator<Item = &'a f32>, b: impl IntoIterator<Item = &'a f32>) -> f32 {
    a.into_iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn real_images_agree_with_a_direct_solve() {
    for context in contexts() {
        for name in IMAGES {
            let image = mask(name);
            let (height, width) = image.dim();
            let image = image.into_shape_with_order((1, height, width)).unwrap();
            for rho in [4, 16, 64] {
                let (strength, report) = converged(&context, &image, &params(f64::from(rho)));
                let kept = strength.slice(s![0, OFFSET..;STEP, OFFSET..;STEP]);
                let exact = reference(name, rho);
                assert_eq!(kept.len(), exact.len());
                let error = largest_difference(kept, &exact);
                println!(
                    "{} {name} rho {rho}: {} cycles, largest error {error:.1e}, estimated {:.1e}",
                    report.device.id, report.iterations, report.residual
                );
                assert!(report.converged && error <= LARGEST_ERROR, "{name} rho {rho}: {error} {report:?}");
            }
        }
    }
}

/// Returns an image of any size with lines, a filled square and single pixels; the same every time.
fn drawing(shape: (usize, usize, usize)) -> Array3<u8> {
    Array3::from_shape_fn(shape, |(z, y, x)| {
        let line = y == x * 3 / 7 + z || x == 2 * shape.2 / 3 && y > shape.1 / 2;
        let square = (5..12).contains(&x) && (3..9).contains(&y) && z == 0;
        u8::from(line || square || (x * 31 + y * 17 + z * 7) % 1009 == 500)
    })
}

#[test]
fn devices_agree_and_repeat_bit_for_bit() {
    let all = contexts();
    for (shape, dimensions) in [
        ((1, 1, 1), Dimensions::Slices),
        ((1, 1, 300), Dimensions::Slices),
        ((1, 257, 3), Dimensions::Slices),
        ((1, 501, 513), Dimensions::Slices),
        ((3, 130, 1100), Dimensions::Slices),
        ((20, 33, 47), Dimensions::Volume),
        ((5, 64, 1), Dimensions::Volume),
    ] {
        let image = drawing(shape);
        for rho in [0.7, 16.0, 500.0, 5000.0] {
            let wanted = Params { dimensions, ..params(rho) };
            let (first, report) = converged(&all[0], &image, &wanted);
            assert!(report.converged, "{shape:?} rho {rho}: {report:?}");
            for context in &all {
                let (strength, report) = converged(context, &image, &wanted);
                let (again, _) = converged(context, &image, &wanted);
                let id = &report.device.id;
                assert!(strength.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits()), "{id} {shape:?}");
                let difference = largest_difference(&strength, &first);
                assert!(difference <= 1e-5, "{id} {shape:?} rho {rho}: {difference}");
            }
        }
    }
}

#[test]
fn slice_of_a_stack_equals_the_slice_alone() {
    let stack = drawing((3, 130, 200));
    for context in contexts() {
        let (together, _) = converged(&context, &stack, &params(16.0));
        for z in 0..3 {
            let (alone, _) = converged(&context, &stack.slice(s![z..z + 1, .., ..]).to_owned(), &params(16.0));
            assert_eq!(alone.slice(s![0, .., ..]), together.slice(s![z, .., ..]));
        }
    }
}

/// A line along z took 80 times as long as one along x.
#[test]
fn lines_and_planes_have_one_result_along_any_axes() {
    let params = |rho| Params { dimensions: Dimensions::Volume, ..params(rho) };
    for context in contexts() {
        for rho in [0.7, 16.0, 500.0] {
            let line = drawing((1, 1, 300)).into_raw_vec_and_offset().0;
            let along =
                |shape| converged(&context, &Array3::from_shape_vec(shape, line.clone()).unwrap(), &params(rho)).0;
            let (x, y, z) = (along((1, 1, 300)), along((1, 300, 1)), along((300, 1, 1)));
            // A line along z has the smoother of volumes, so that each of the two may be off by the tolerance.
            assert!(largest_difference(&x, &y) <= 1e-5 && largest_difference(&x, &z) <= 2e-5, "rho {rho}");
            let plane = drawing((1, 33, 47)).into_raw_vec_and_offset().0;
            let along =
                |shape| converged(&context, &Array3::from_shape_vec(shape, plane.clone()).unwrap(), &params(rho)).0;
            let (yz, xz) = (along((33, 47, 1)), along((33, 1, 47)));
            assert!(largest_difference(&yz, &xz) <= 1e-5, "rho {rho}");
        }
    }
    let (context, mut line) = (Context::new("cpu").unwrap(), Array3::zeros((30_000, 1, 1)));
    line[[9000, 0, 0]] = 1;
    let took = common::least_of_three(|| {
        let started = std::time::Instant::now();
        converged(&context, &line, &params(16.0));
        started.elapsed()
    });
    assert!(took.as_secs_f64() < 1.0, "{took:?}");
}

/// Rows and columns of one pixel took six and eight times as long per pixel as a square image, tiny slices over 30 times, and
/// iterations of a column five times as long as those of a row. On a single thread, so that the ratios do not depend on the
/// number of threads.
#[test]
fn thin_images_and_tiny_slices_take_little_longer_than_square_ones() {
    let context = Context::with_threads("cpu", 1).unwrap();
    let [square, row, column, tiny] = [(1, 300, 300), (1, 1, 90_000), (1, 90_000, 1), (1400, 8, 8)];
    let until_converged = params(16.0);
    let iterations = Params { mode: Mode::Iterate { iterations: 50 }, ..params(16.0) };
    let cases = [
        (&until_converged, row, square, 4.0),
        (&until_converged, column, square, 4.0),
        (&until_converged, tiny, square, 16.0),
        (&iterations, column, row, 3.0),
    ];
    for (params, shape, other, most) in cases {
        let time_per_pixel = |shape| {
            let image = Array3::from_shape_fn(shape, |(_, y, x)| u8::from(y % 50 == 3 || x % 50 == 3));
            let took = common::least_of_three(|| {
                let started = std::time::Instant::now();
                converged(&context, &image, params);
                started.elapsed()
            });
            took.as_secs_f64() / image.len() as f64
        };
        // Other processes may delay either of the two: one good round of several is enough.
        let mut ratios = std::iter::repeat_with(|| time_per_pixel(shape) / time_per_pixel(other)).take(10);
        let mut seen = Vec::new();
        let fast = ratios.any(|ratio| {
            seen.push(ratio);
            ratio < most
        });
        assert!(fast, "{shape:?} takes {seen:?} times as long per pixel as {other:?}, not less than {most} times");
    }
}

#[test]
fn no_shape_all_shape_and_one_pixel() {
    for context in contexts() {
        for (value, expected) in [(0, 0.0), (1, 1.0)] {
            let (strength, report) = converged(&context, &Array3::from_elem((1, 150, 131), value), &params(64.0));
            assert!(report.converged && strength.iter().all(|&v| v == expected));
        }
        let mut image = Array3::zeros((1, 1024, 1024));
        image[[0, 700, 300]] = 1;
        let (strength, report) = converged(&context, &image, &params(64.0));
        assert!(report.converged, "{report:?}");
        assert_eq!(strength[[0, 700, 300]], 1.0);
        // Values decrease away from the pixel.
        assert!(strength[[0, 700, 301]] < 1.0 && strength[[0, 700, 310]] < strength[[0, 700, 301]]);
    }
}

/// Returns an image with one shape pixel.
fn one_pixel(shape: (usize, usize, usize), at: [usize; 3]) -> Array3<u8> {
    let mut image = Array3::zeros(shape);
    image[at] = 1;
    image
}

/// Without clamping, values far from the shape overshoot after few cycles.
#[test]
fn values_stay_between_0_and_1() {
    let stopped = |tolerance, max_cycles| Mode::Converged { tolerance, max_cycles };
    let default = stopped(1e-5, 100);
    let few = (1..4).map(|cycles| stopped(1e-5, cycles));
    let loose = [0.9, 0.3, 0.1, 0.03].map(|tolerance| stopped(tolerance, 100));
    let modes: Vec<Mode> = few.chain(loose).chain([default]).collect();
    let images = [
        (Dimensions::Slices, one_pixel((1, 1, 300), [0, 0, 31])),
        (Dimensions::Slices, one_pixel((1, 300, 1), [0, 31, 0])),
        (Dimensions::Slices, one_pixel((1, 257, 300), [0, 100, 31])),
        (Dimensions::Slices, one_pixel((2, 31, 117), [1, 4, 110])),
        (Dimensions::Slices, drawing((3, 130, 200))),
        // The second grid has more than a hundred large tiles.
        (Dimensions::Slices, one_pixel((1, 2200, 2150), [0, 2000, 100])),
        (Dimensions::Volume, one_pixel((2, 117, 31), [0, 3, 3])),
        (Dimensions::Volume, one_pixel((2, 31, 117), [1, 4, 110])),
        (Dimensions::Volume, one_pixel((2, 20, 13), [0, 0, 0])),
        (Dimensions::Volume, drawing((2, 20, 13))),
        (Dimensions::Volume, drawing((20, 33, 47))),
    ];
    for context in contexts() {
        for (dimensions, image) in &images {
            let small = image.len() < 1 << 20;
            let rhos: &[f64] = if small { &[0.3, 0.7, 1.0, 4.0, 64.0, 1e6] } else { &[0.7, 64.0] };
            for &rho in rhos {
                for &mode in if small { &modes } else { &modes[..2] } {
                    let params = Params { dimensions: *dimensions, rho, mode, ..Params::default() };
                    let (strength, report) = converged(&context, image, &params);
                    let what = format!("{} {dimensions:?} {:?} {params:?}", report.device.id, image.dim());
                    for (value, pixel) in strength.iter().zip(image) {
                        // -0.0 counts as negative.
                        assert!(!value.is_sign_negative() && *value <= 1.0, "{what}: {value:e}");
                        assert!(*pixel == 0 || *value == 1.0, "{what}: a shape pixel is {value:e}");
                    }
                }
            }
        }
    }
}
