//! Accuracy against references: float64, the exact float32 arithmetic, and the analytic steady state in 1D.

use crate::reference::{EQUAL, iterate_f32, iterate_f64};
use crate::{assert_close, assert_same, drawing, everywhere, iterate, machines, run, strength};
use isoline::edge_strength::{Dimensions, Foreground, Mode, Params, Start};
use ndarray::{Array3, s};

const BOTH: [Dimensions; 2] = [Dimensions::Slices, Dimensions::Volume];

/// Returns the automatic Δt that the documentation defines.
pub fn automatic(dimensions: Dimensions, rho: f64) -> f64 {
    let (step, neighbours) = if dimensions == Dimensions::Volume { (0.15, 6.0) } else { (0.2, 4.0) };
    f64::min(step, 0.9 / (neighbours + 1.0 / (rho * rho)))
}

#[test]
fn within_1e_5_of_float64_after_200_iterations() {
    for dimensions in BOTH {
        let input = drawing(7, 29, 45);
        let shape = input.mapv(|pixel| pixel > 0);
        let start = shape.mapv(|on| f64::from(u8::from(on)));
        for rho in [0.7, 4.0, 64.0, 100.0, 500.0, 5000.0] {
            let expected = iterate_f64(&start, &shape, dimensions, EQUAL, rho, automatic(dimensions, rho), 200);
            everywhere(|context, variant, name| {
                let params = Params { variant, ..iterate(dimensions, rho, 200) };
                let got = strength(context, input.view(), &params);
                assert_close(&got, &expected, 1e-5, &format!("{name} {dimensions:?} rho {rho}"));
            });
        }
    }
}

#[test]
fn grey_starts_within_1e_5_of_float64() {
    let input = Array3::from_shape_fn((2, 31, 33), |(z, y, x)| ((x * 37 + y * 91 + z * 11) % 256) as u8);
    for foreground in [Foreground::Above, Foreground::Below] {
        let threshold = if foreground == Foreground::Above { 250.0 } else { 5.0 };
        let is_shape = |pixel: u8| match foreground {
            Foreground::Above => f64::from(pixel) > threshold,
            _ => f64::from(pixel) <= threshold,
        };
        for (range, [low, high]) in [(None, [0.0, 255.0]), (Some([50.0, 150.0]), [50.0, 150.0])] {
            let start = input.mapv(|pixel| {
                let scaled = ((f64::from(pixel) - low) / (high - low)).clamp(0.0, 1.0);
                let scaled = if foreground == Foreground::Below { 1.0 - scaled } else { scaled };
                if is_shape(pixel) { 1.0 } else { scaled }
            });
            let shape = input.mapv(is_shape);
            for dimensions in BOTH {
                let expected = iterate_f64(&start, &shape, dimensions, EQUAL, 8.0, automatic(dimensions, 8.0), 30);
                everywhere(|context, variant, name| {
                    let start = Start::Input(range);
                    let params = Params { variant, foreground, threshold, start, ..iterate(dimensions, 8.0, 30) };
                    let got = strength(context, input.view(), &params);
                    assert_close(&got, &expected, 1e-5, &format!("{name} {foreground:?} {range:?} {dimensions:?}"));
                });
            }
        }
    }
}

#[test]
fn float32_arithmetic_is_as_documented_at_every_size() {
    // Single pixels, lines, sizes that no vector, panel, tile or pass divides, and sides over 1024.
    let flat = [[1, 1, 1], [1, 70, 1], [70, 1, 1], [2, 2, 3], [31, 33, 2], [1025, 3, 1], [3, 1025, 1], [2100, 37, 1]];
    let deep = [[1, 1, 1], [1, 1, 70], [1, 70, 1], [70, 1, 1], [2, 3, 2], [31, 33, 9], [1030, 35, 7], [5, 66, 40]];
    for (dimensions, sizes) in [(Dimensions::Slices, flat), (Dimensions::Volume, deep)] {
        let time_step = automatic(dimensions, 64.0) as f32;
        for [width, height, depth] in sizes {
            let input = drawing(depth, height, width);
            let shape = input.mapv(|pixel| pixel > 0);
            let start = shape.mapv(|on| f32::from(u8::from(on)));
            // Fewer and more iterations than a pass has, and an odd number of passes.
            for iterations in [0, 1, 2, 5, 33, 70] {
                let expected = iterate_f32(&start, &shape, dimensions, EQUAL, 64.0, time_step, iterations);
                everywhere(|context, variant, name| {
                    let params = Params { variant, ..iterate(dimensions, 64.0, iterations) };
                    let (got, report) = run(context, input.view(), &params);
                    let what = format!("{name} {width}x{height}x{depth} {iterations} iterations");
                    assert_same(&got, &expected, variant, &what);
                    assert_eq!((report.iterations, report.slices_done), (iterations, depth as u64), "{what}");
                });
            }
        }
    }
}

/// Returns the steady state on a line of `size` pixels whose only shape pixel is `at`.
///
/// v(i−1) − 2v(i) + v(i+1) = λ·v(i) has the solutions exp(±θi) with 2·cosh θ = 2 + λ. A border that repeats its pixel
/// is a mirror half a pixel outside, so towards either end v is a cosh around that point.
fn line(size: usize, at: usize, rho: f64) -> Vec<f64> {
    let theta = (1.0 + 0.5 / (rho * rho)).acosh();
    let profile = |i: usize, end: usize| (theta * (i as f64 + 0.5)).cosh() / (theta * (end as f64 + 0.5)).cosh();
    (0..size).map(|i| if i <= at { profile(i, at) } else { profile(size - 1 - i, size - 1 - at) }).collect()
}

#[test]
fn line_converges_to_a_cosh() {
    const SIZE: usize = 61;
    for (rho, at) in [(3.0, 20), (8.0, 0), (8.0, 47)] {
        let profile = line(SIZE, at, rho);
        for axis in 0..3 {
            let mut dim = [1; 3];
            dim[axis] = SIZE;
            let expected = Array3::from_shape_vec(dim, profile.clone()).unwrap();
            let input = expected.mapv(|value| u8::from(value == 1.0));
            assert_eq!(input.iter().map(|pixel| usize::from(*pixel)).sum::<usize>(), 1);
            // Axis 0 is z.
            let dimensions = if axis == 0 { &BOTH[1..] } else { &BOTH[..] };
            for dimensions in dimensions {
                everywhere(|context, variant, name| {
                    let params = Params { variant, ..iterate(*dimensions, rho, 8000) };
                    let got = strength(context, input.view(), &params);
                    assert_close(&got, &expected, 1e-5, &format!("{name} iterated, rho {rho}, axis {axis}"));
                });
                for machine in machines() {
                    let mode = Mode::Converged { tolerance: 1e-5, max_cycles: 100 };
                    let params = Params { mode, ..iterate(*dimensions, rho, 0) };
                    let (got, report) = run(&machine.context, input.view(), &params);
                    let name = &machine.context.device().id;
                    let what = format!("{name} converged, rho {rho}, axis {axis} {dimensions:?}");
                    assert!(report.converged && report.residual <= 1e-5, "{what}: {report:?}");
                    assert_close(&got, &expected, 1e-5, &what);
                }
            }
        }
    }
}

#[test]
fn enclosed_pixels_are_not_frozen() {
    // A frame around 9x9 pixels. At ρ = 500 these converge to 1 − (about 2e-5 in the middle, 1e-6 beside the frame).
    const RHO: f64 = 500.0;
    const ITERATIONS: u64 = 600;
    let input = Array3::from_shape_fn((1, 15, 15), |(_, y, x)| {
        let ring = |i: usize| i == 2 || i == 12;
        u8::from((ring(x) && (2..13).contains(&y)) || (ring(y) && (2..13).contains(&x)))
    });
    let shape = input.mapv(|pixel| pixel > 0);
    let start = shape.mapv(|on| f64::from(u8::from(on)));
    let inside = s![.., 3..12, 3..12];
    let expected =
        iterate_f64(&start, &shape, Dimensions::Slices, EQUAL, RHO, 0.2, ITERATIONS).slice(inside).to_owned();
    // The paper's test |v − 1| ≤ 1e-5 at every iteration would fix these pixels at 1.
    assert!(expected.iter().any(|v| 1.0 - v < 1e-5) && expected.iter().any(|v| 1.0 - v > 1.5e-5));
    everywhere(|context, variant, name| {
        let got = strength(context, input.view(), &Params { variant, ..iterate(Dimensions::Slices, RHO, ITERATIONS) });
        let got = got.slice(inside).to_owned();
        assert!(got.iter().all(|v| *v < 1.0), "{name}: a pixel is frozen at 1");
        assert_close(&got, &expected, 1e-6, name);
    });
}
