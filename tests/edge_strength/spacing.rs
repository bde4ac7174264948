//! Volumes whose voxels have a size: accuracy against float64 and the exact float32 arithmetic, properties of the spacing, and
//! errors.

use crate::common::{assert_bits, assert_close, cuda_and_cpu};
use crate::reference::{iterate_f32, iterate_f64};
use crate::{assert_same, drawing, everywhere, iterate, machines, run, strength};
use isoline::edge_strength::{self, Dimensions, Mode, Params, Start};
use isoline::{Context, ErrorKind};
use ndarray::Array3;

/// Spacings along x, y, z: slices that lie far apart and close together, each axis the largest and the smallest one.
const SPACINGS: [[f64; 3]; 7] = [
    [1.0, 1.0, 5.0],
    [1.0, 1.0, 10.0],
    [1.0, 1.0, 0.5],
    [4.0, 1.0, 1.0],
    [1.0, 3.0, 1.0],
    [0.21, 0.21, 0.9],
    [1.7, 0.6, 30.0],
];

fn spaced(spacing: [f64; 3], rho: f64, iterations: u64) -> Params {
    Params { spacing, ..iterate(Dimensions::Volume, rho, iterations) }
}

fn converged(params: Params) -> Params {
    Params { mode: Mode::Converged { tolerance: 1e-5, max_cycles: 100 }, ..params }
}

fn smallest(spacing: [f64; 3]) -> f64 {
    spacing.into_iter().fold(f64::INFINITY, f64::min)
}

/// Returns the largest stable Δt that the documentation defines, in units of the square of the smallest spacing.
fn limit(spacing: [f64; 3], rho: f64) -> f64 {
    let h = smallest(spacing);
    let weights: f64 = spacing.iter().map(|step| (h / step).powi(2)).sum();
    1.0 / (2.0 * weights + (h / rho).powi(2))
}

fn automatic(spacing: [f64; 3], rho: f64) -> f64 {
    f64::min(0.15, 0.9 * limit(spacing, rho))
}

#[test]
fn within_1e_5_of_float64_after_200_iterations() {
    let input = drawing(9, 29, 45);
    let shape = input.mapv(|pixel| pixel > 0);
    let start = shape.mapv(|on| f64::from(u8::from(on)));
    for spacing in SPACINGS {
        for rho in [0.7, 16.0, 500.0, 5000.0].map(|rho| rho * smallest(spacing)) {
            let step = automatic(spacing, rho);
            let expected = iterate_f64(&start, &shape, Dimensions::Volume, spacing, rho, step, 200);
            everywhere(|context, variant, name| {
                let got = strength(context, input.view(), &Params { variant, ..spaced(spacing, rho, 200) });
                assert_close(&got, &expected, 1e-5, &format!("{name} {spacing:?} rho {rho}"));
            });
        }
    }
}

#[test]
fn float32_arithmetic_is_as_documented_at_every_size() {
    let sizes = [[1, 1, 1], [1, 1, 70], [1, 70, 1], [70, 1, 1], [2, 3, 2], [31, 33, 9], [1030, 9, 5], [5, 66, 40]];
    for (spacing, [width, height, depth]) in SPACINGS.into_iter().flat_map(|spacing| sizes.map(|size| (spacing, size)))
    {
        let input = drawing(depth, height, width);
        let shape = input.mapv(|pixel| pixel > 0);
        let start = shape.mapv(|on| f32::from(u8::from(on)));
        let relative = smallest(spacing) / spacing[0];
        let step = (automatic(spacing, 64.0) * (relative * relative)) as f32;
        for iterations in [1, 5, 33] {
            let expected = iterate_f32(&start, &shape, Dimensions::Volume, spacing, 64.0, step, iterations);
            everywhere(|context, variant, name| {
                let got = strength(context, input.view(), &Params { variant, ..spaced(spacing, 64.0, iterations) });
                let what = format!("{name} {spacing:?} {width}x{height}x{depth} {iterations} iterations");
                assert_same(&got, &expected, variant, &what);
            });
        }
    }
}

#[test]
fn equal_spacings_are_a_smaller_rho() {
    let input = drawing(11, 40, 53);
    for (size, rho) in [(1.0, 64.0), (0.2, 3.0), (7.0, 100.0), (1e-6, 2e-5), (1e15, 1e17)] {
        let [of_size, of_one] = [spaced([size; 3], rho, 40), spaced([1.0; 3], rho / size, 40)];
        everywhere(|context, variant, name| {
            for step in [None, Some(0.1)] {
                let [got, expected] = [&of_size, &of_one].map(|params| {
                    strength(context, input.view(), &Params { variant, time_step: step, ..params.clone() })
                });
                assert_bits(&got, &expected, &format!("{name}, voxels of {size}"));
            }
        });
        for machine in machines() {
            let [got, expected] =
                [&of_size, &of_one].map(|params| strength(&machine.context, input.view(), &converged(params.clone())));
            assert_bits(&got, &expected, &format!("{} converged, voxels of {size}", machine.context.device().id));
        }
    }
}

#[test]
fn slices_do_not_use_the_spacing() {
    let input = drawing(3, 40, 53);
    everywhere(|context, variant, name| {
        let params = Params { variant, ..iterate(Dimensions::Slices, 9.0, 20) };
        let expected = strength(context, input.view(), &params);
        for spacing in [[3.0, 3.0, 9.0], [0.0, -1.0, f64::NAN]] {
            let got = strength(context, input.view(), &Params { spacing, ..params.clone() });
            assert_bits(&got, &expected, &format!("{name} {spacing:?}"));
        }
    });
}

#[test]
fn exchanged_axes_exchange_the_result() {
    let input = drawing(23, 31, 38);
    for spacing in SPACINGS {
        let rho = 8.0 * smallest(spacing);
        // The axes of an array are z, y, x, those of a spacing x, y, z.
        for order in [[0, 2, 1], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
            let exchanged = [2, 1, 0].map(|axis: usize| spacing[2 - order[axis]]);
            let back = [0, 1, 2].map(|axis| order.iter().position(|&from| from == axis).unwrap());
            let other = input.view().permuted_axes(order);
            let what = |name: &str| format!("{name} {spacing:?} as {order:?}");
            everywhere(|context, variant, name| {
                let straight = strength(context, input.view(), &Params { variant, ..spaced(spacing, rho, 60) });
                let got = strength(context, other, &Params { variant, ..spaced(exchanged, rho, 60) });
                assert_close(&got.permuted_axes(back), &straight.mapv(f64::from), 2e-6, &what(name));
            });
            for machine in machines() {
                let straight = strength(&machine.context, input.view(), &converged(spaced(spacing, rho, 0)));
                let got = strength(&machine.context, other, &converged(spaced(exchanged, rho, 0)));
                // Each may be off by the tolerance.
                let name = &machine.context.device().id;
                assert_close(&got.permuted_axes(back), &straight.mapv(f64::from), 2e-5, &what(name));
            }
        }
    }
}

/// Each end of a line mirrors, so that the steady state is a cosh on either side of the shape, in units of the spacing.
#[test]
fn line_converges_to_a_cosh_of_its_own_spacing() {
    const SIZE: usize = 61;
    const AT: usize = 20;
    for spacing in SPACINGS {
        for axis in 0..3 {
            // Axis 0 is z.
            let step = spacing[2 - axis];
            let rho = 6.0 * step;
            let theta = (1.0 + 0.5 * (step / rho).powi(2)).acosh();
            let profile =
                |i: usize, end: usize| (theta * (i as f64 + 0.5)).cosh() / (theta * (end as f64 + 0.5)).cosh();
            let mut dim = [1; 3];
            dim[axis] = SIZE;
            let values = (0..SIZE)
                .map(|i| if i <= AT { profile(i, AT) } else { profile(SIZE - 1 - i, SIZE - 1 - AT) })
                .collect();
            let expected = Array3::from_shape_vec(dim, values).unwrap();
            let input = expected.mapv(|value| u8::from(value == 1.0));
            for machine in machines() {
                let (got, report) = run(&machine.context, input.view(), &converged(spaced(spacing, rho, 0)));
                let what = format!("{} {spacing:?} axis {axis}: {report:?}", machine.context.device().id);
                assert!(report.converged && report.residual <= 1e-5, "{what}");
                assert_close(&got, &expected, 1e-5, &what);
            }
        }
    }
}

#[test]
fn iterations_lead_to_the_converged_state() {
    let input = drawing(8, 13, 17);
    let shape = input.mapv(|pixel| pixel > 0);
    let start = shape.mapv(|on| f64::from(u8::from(on)));
    for spacing in SPACINGS {
        let rho = 3.0 * smallest(spacing);
        let step = automatic(spacing, rho);
        let expected = iterate_f64(&start, &shape, Dimensions::Volume, spacing, rho, step, 2000);
        for machine in machines() {
            let (got, report) = run(&machine.context, input.view(), &converged(spaced(spacing, rho, 0)));
            let what = format!("{} {spacing:?}", machine.context.device().id);
            assert!(report.converged, "{what} {report:?}");
            assert_close(&got, &expected, 1e-5, &what);
        }
    }
}

#[test]
fn any_spacing_takes_about_the_cycles_of_equal_ones() {
    let input = drawing(24, 64, 67);
    for machine in machines() {
        for rho in [4.0, 16.0, 64.0] {
            let cycles = |spacing: [f64; 3]| {
                let params = converged(spaced(spacing, rho * smallest(spacing), 0));
                let (_, report) = run(&machine.context, input.view(), &params);
                println!("{} {spacing:?} rho {rho}: {} cycles", machine.context.device().id, report.iterations);
                assert!(report.converged, "{spacing:?} rho {rho}: {report:?}");
                report.iterations
            };
            let equal = cycles([1.0; 3]);
            for spacing in SPACINGS {
                assert!(cycles(spacing) <= 3 * equal / 2, "{spacing:?} rho {rho} instead of {equal}");
            }
        }
    }
}

#[test]
fn values_stay_between_0_and_1() {
    // Weights that are not whole numbers round the sum of the neighbours, so that voxels at 1 among others could exceed it.
    let bright = Array3::from_elem((7, 20, 33), 200u8);
    let mut lonely = Array3::from_elem((7, 20, 33), 0u8);
    lonely[[3, 10, 16]] = 200;
    for spacing in SPACINGS.into_iter().chain([[1.0, 1.0, 100.0], [100.0, 1.0, 1.0], [0.37, 0.53, 0.91]]) {
        for rho in [0.3, 5.0, 1e9].map(|rho| rho * smallest(spacing)) {
            for input in [&bright, &lonely] {
                everywhere(|context, variant, name| {
                    // The limit, rounded down.
                    for step in [None, Some(limit(spacing, rho) * (1.0 - 1e-14))] {
                        let params = Params {
                            variant,
                            start: Start::Input(Some([0.0, 200.0])),
                            threshold: 255.0,
                            time_step: step,
                            ..spaced(spacing, rho, 37)
                        };
                        let got = strength(context, input.view(), &params);
                        let inside = |value: &f32| (0.0..=1.0).contains(value) && !value.is_sign_negative();
                        assert!(got.iter().all(inside), "{name} {spacing:?} rho {rho} step {step:?}");
                    }
                });
            }
        }
    }
}

#[test]
fn result_is_independent_of_the_number_of_threads() {
    let input = drawing(60, 70, 80);
    for params in [spaced([0.3, 1.1, 4.0], 6.0, 50), converged(spaced([0.3, 1.1, 4.0], 6.0, 0))] {
        let expected = strength(&Context::with_threads("cpu", 1).unwrap(), input.view(), &params);
        for threads in [2, 5] {
            let context = Context::with_threads("cpu", threads).unwrap();
            assert_bits(&strength(&context, input.view(), &params), &expected, &format!("{threads} threads"));
        }
    }
}

#[test]
fn devices_agree() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    for (depth, height, width) in [(40, 90, 133), (1, 60, 70), (33, 1, 40), (50, 41, 1)] {
        let input = drawing(depth, height, width);
        for spacing in SPACINGS {
            let params = spaced(spacing, 9.0, 200);
            let [got, expected] = [&cuda, &cpu].map(|context| strength(context, input.view(), &params));
            crate::common::assert_same(&got, &expected, &format!("{spacing:?} on {depth}x{height}x{width}"));
            let params = converged(params);
            let [got, expected] = [&cuda, &cpu].map(|context| strength(context, input.view(), &params).mapv(f64::from));
            let got = got.mapv(|value| value as f32);
            assert_close(&got, &expected, 1e-5, &format!("converged {spacing:?} on {depth}x{height}x{width}"));
        }
    }
}

#[test]
fn spacings_and_steps_out_of_range_are_refused_by_name() {
    let context = Context::new("cpu").unwrap();
    let input = drawing(3, 8, 9);
    let cases = [
        (spaced([0.0, 1.0, 1.0], 4.0, 1), "spacing along x must be greater than 0"),
        (spaced([1.0, -1.0, 1.0], 4.0, 1), "spacing along y must be greater than 0"),
        (spaced([1.0, 1.0, f64::NAN], 4.0, 1), "spacing along z"),
        (spaced([1.0, 1.0, f64::INFINITY], 4.0, 1), "spacing along z"),
        (spaced([1e-16, 1.0, 1.0], 4.0, 1), "give it in another unit"),
        (spaced([1e200, 1.0, 1.0], 4.0, 1), "but it is 1e200; give it in another unit"),
        (
            spaced([2.0, 1.0, 101.0], 4.0, 1),
            "spacing along z may be at most 100 times that along y, but they are 101.0 and 1.0; give all in one unit",
        ),
        (spaced([1e15; 3], 1e-4, 1), "rho must be at least 1e-18 times the largest spacing"),
        // The limit is 1/(2 + 2 + 2/25 + 1/16).
        (
            Params { time_step: Some(0.25), ..spaced([1.0, 1.0, 5.0], 4.0, 1) },
            "time_step must be at most 1/(4.080000 + 0.062500) = 0.241400",
        ),
    ];
    for (params, sentence) in cases {
        for params in [params.clone(), converged(params)] {
            let mut output = Array3::from_elem(input.dim(), -1.0f32);
            let error = edge_strength::run(&context, input.view().into(), &params, None, output.view_mut().into())
                .expect_err(sentence);
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            assert!(error.message().contains(sentence), "{error} instead of {sentence}");
            assert!(output.iter().all(|value| *value == -1.0));
        }
    }
}
