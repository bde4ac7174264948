//! Errors: invalid calls are refused with the name of the parameter, and refused or cancelled calls leave the output
//! untouched.

use crate::common::{cancelling_after, noting};
use crate::{drawing, everywhere, iterate, machines};
use isoline::edge_strength::{self, Dimensions, Mode, Params, Start, Variant};
use isoline::{Context, Error, ErrorKind};
use ndarray::{Array3, s};

/// Returns the error of a call with these parameters; the output must be untouched.
fn refused(params: &Params) -> Error {
    let context = Context::new("cpu").unwrap();
    let input = drawing(1, 8, 9);
    let mut output = Array3::from_elem(input.dim(), -1.0f32);
    let error = edge_strength::run(&context, input.view().into(), params, None, output.view_mut().into()).unwrap_err();
    assert!(output.iter().all(|value| *value == -1.0));
    error
}

#[test]
fn time_step_over_the_limit_is_refused_with_the_limit() {
    for (dimensions, rho, limit) in [
        (Dimensions::Slices, 64.0, "0.249985"),
        (Dimensions::Slices, 1.0, "0.2"),
        (Dimensions::Volume, 64.0, "0.16666"),
        (Dimensions::Volume, 0.5, "0.1"),
    ] {
        let params = Params { time_step: Some(0.25), ..iterate(dimensions, rho, 10) };
        let error = refused(&params);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("time_step") && error.message().contains(limit), "{error}");
    }
}

#[test]
fn invalid_parameters_are_refused_by_name() {
    let base = Params::default();
    let with = |change: fn(&mut Params)| {
        let mut params = base.clone();
        change(&mut params);
        params
    };
    let cases: Vec<(&str, Params)> = vec![
        ("rho", with(|p| p.rho = f64::NAN)),
        ("rho", with(|p| p.rho = f64::INFINITY)),
        ("rho", with(|p| p.rho = 0.0)),
        ("rho", with(|p| p.rho = -64.0)),
        ("rho", with(|p| p.rho = 1e-300)),
        // 1/rho² is a 32-bit number still, but it stops before the largest.
        ("at least 1e-18", with(|p| p.rho = 0.999e-18)),
        ("at least 1e-18", with(|p| p.rho = 5e-20)),
        ("at least 1e-18", with(|p| p.rho = 1e-100)),
        ("at least 1e-18", Params { dimensions: Dimensions::Volume, ..with(|p| p.rho = 5e-20) }),
        (
            "at least 1e-18",
            Params { mode: Mode::Converged { tolerance: 1e-5, max_cycles: 9 }, ..with(|p| p.rho = 5e-20) },
        ),
        ("time_step", with(|p| p.time_step = Some(f64::NAN))),
        ("time_step", with(|p| p.time_step = Some(-0.1))),
        ("time_step", with(|p| p.time_step = Some(0.0))),
        ("threshold", with(|p| p.threshold = f64::NAN)),
        ("threshold", with(|p| p.threshold = f64::NEG_INFINITY)),
        ("start_min", with(|p| p.start = Start::Input(Some([f64::NAN, 1.0])))),
        ("start_max", with(|p| p.start = Start::Input(Some([0.0, f64::INFINITY])))),
        ("start_min", with(|p| p.start = Start::Input(Some([2.0, 2.0])))),
        ("iterations", with(|p| p.mode = Mode::Iterate { iterations: u64::MAX })),
        ("tolerance", with(|p| p.mode = Mode::Converged { tolerance: f64::NAN, max_cycles: 9 })),
        ("tolerance", with(|p| p.mode = Mode::Converged { tolerance: 0.0, max_cycles: 9 })),
        ("max_cycles", with(|p| p.mode = Mode::Converged { tolerance: 1e-5, max_cycles: 0 })),
        ("max_cycles", with(|p| p.mode = Mode::Converged { tolerance: 1e-5, max_cycles: 10_000_001 })),
    ];
    for (name, params) in cases {
        let error = refused(&params);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().contains(name), "{error} does not name {name}");
    }
}

#[test]
fn variants_of_other_devices_are_refused() {
    for variant in [Variant::Shared, Variant::Texture] {
        assert_eq!(refused(&Params { variant, ..Params::default() }).kind(), ErrorKind::Unsupported);
    }
}

#[test]
fn empty_images_and_other_sizes_are_refused() {
    for machine in machines() {
        let input = drawing(2, 8, 9);
        let mut output = Array3::from_elem((2, 9, 8), -1.0f32);
        let error = edge_strength::run(
            &machine.context,
            input.view().into(),
            &Params::default(),
            None,
            output.view_mut().into(),
        )
        .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidSize);
        assert!(error.message().contains("9") && error.message().contains("8"), "{error}");
        assert!(output.iter().all(|value| *value == -1.0));

        for empty in [s![..0, .., ..], s![.., ..0, ..], s![.., .., ..0]] {
            let input = input.slice(empty);
            let mut output = Array3::<f32>::zeros(input.dim());
            let error =
                edge_strength::run(&machine.context, input.into(), &Params::default(), None, output.view_mut().into())
                    .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidSize, "{error}");
        }
    }
}

#[test]
fn cancelled_call_is_an_error() {
    /// A number of iterations so large that only a cancellation can end the call.
    const FOREVER: u64 = 1_000_000;
    let cases = [(Dimensions::Slices, drawing(1, 700, 900)), (Dimensions::Volume, drawing(30, 120, 140))];
    everywhere(|context, variant, name| {
        for (dimensions, input) in &cases {
            for allowed in [0, 3] {
                let mut output = Array3::from_elem(input.dim(), -1.0f32);
                let mut seen = Vec::new();
                let params = Params { variant, ..iterate(*dimensions, 64.0, FOREVER) };
                let error = edge_strength::run(
                    context,
                    input.view().into(),
                    &params,
                    Some(&mut cancelling_after(allowed, &mut seen)),
                    output.view_mut().into(),
                )
                .unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Cancelled, "{name}");
                assert!(allowed > 0 || output.iter().all(|value| *value == -1.0), "{name}");
            }
        }
    });
}

#[test]
fn progress_is_monotonic_and_reaches_its_end() {
    let input = drawing(3, 300, 400);
    everywhere(|context, variant, name| {
        let mut fractions = vec![];
        let mut output = Array3::<f32>::zeros(input.dim());
        let params = Params { variant, ..iterate(Dimensions::Slices, 64.0, 300) };
        let (input, target) = (input.view().into(), output.view_mut().into());
        edge_strength::run(context, input, &params, Some(&mut noting(&mut fractions)), target).unwrap();
        assert!(fractions.is_sorted(), "{name}: {fractions:?}");
        assert!(fractions.first().is_some_and(|first| *first < 0.5), "{name}: {fractions:?}");
        assert!(fractions.last().is_some_and(|last| *last <= 1.0), "{name}: {fractions:?}");
    });
}
