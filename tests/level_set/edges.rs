//! The edge term: edges hold the front where the image's brightness varies and no range does.

use super::*;
use agreement::dice;
use common::{Random, cuda_and_cpu};
use isoline::level_set::{TargetRange, run};
use isoline::{Dimensions, ErrorKind};

const DIM: (usize, usize, usize) = (24, 30, 36);
const CENTRE: [f64; 3] = [17.0, 14.0, 11.0];
const RADIUS: f64 = 8.0;
const SPACING: [f64; 3] = [1.0; 3];

fn cpu() -> Context {
    Context::new("cpu").unwrap()
}

/// Returns a ball on a ground; the brightness of both rises along x by more than they differ.
fn ramp(dim: (usize, usize, usize), centre: [f64; 3], radius: f64, spacing: [f64; 3], noise: f64) -> Array3<f32> {
    let mut random = Random::new(3);
    let inside = distance_to(dim, centre, spacing).mapv(|r| r <= radius);
    Array3::from_shape_fn(dim, |(z, y, x)| {
        let contrast = if inside[[z, y, x]] { 60.0 } else { 0.0 };
        (40.0 + 6.0 * x as f64 * spacing[0] + contrast + noise * random.normal()) as f32
    })
}

/// Returns parameters with a range that holds every pixel of [`ramp`].
fn params(edge_weight: f64) -> Params {
    Params { edge_weight, range: Some(TargetRange { target: 170.0, epsilon: 160.0 }), ..Params::default() }
}

fn found(input: &Array3<f32>, start_mask: &Array3<u8>, params: &Params) -> (Array3<u8>, isoline::Report) {
    let mut mask = Array3::zeros(input.dim());
    let context = cpu();
    let output = mask.view_mut().into();
    let report = run(&context, input.view().into(), start_mask.view().into(), params, 3000, None, output).unwrap();
    (mask, report)
}

#[test]
fn edges_hold_a_front_that_no_range_holds() {
    let truth = ball(DIM, CENTRE, RADIUS, SPACING);
    let start_mask = ball(DIM, CENTRE, 4.0, SPACING);
    for noise in [1.0, 6.0] {
        let image = ramp(DIM, CENTRE, RADIUS, SPACING, noise);
        let (leaked, _) = found(&image, &start_mask, &params(0.0));
        assert!(dice(&leaked, &truth) < 0.5, "{}", dice(&leaked, &truth));
        for weight in [3.0, 10.0] {
            let (held, report) = found(&image, &start_mask, &params(weight));
            assert!(
                dice(&held, &truth) > 0.97 && report.converged,
                "{noise} {weight}: {} {report:?}",
                dice(&held, &truth)
            );
        }
    }
}

#[test]
fn the_front_is_drawn_to_an_edge_from_both_sides() {
    // Without an image term the front follows curvature and edges alone.
    let truth = ball(DIM, CENTRE, RADIUS, SPACING);
    let image = ramp(DIM, CENTRE, RADIUS, SPACING, 0.0);
    for radius in [7.0, 9.5] {
        let start_mask = ball(DIM, CENTRE, radius, SPACING);
        let of = |edge_weight| found(&image, &start_mask, &Params { alpha: Some(0.0), ..params(edge_weight) }).0;
        let [alone, drawn] = [0.0, 3.0].map(|weight| dice(&of(weight), &truth));
        assert!(drawn > 0.95 && alone < 0.5, "from {radius}: {alone} without edges, {drawn} with");
    }
}

#[test]
fn the_plain_loop_gives_the_bits_of_tiles() {
    for (dimensions, spacing) in
        [(Dimensions::Volume, SPACING), (Dimensions::Volume, [0.8, 1.1, 2.5]), (Dimensions::Slices, SPACING)]
    {
        let mut image = ramp(DIM, CENTRE, RADIUS, spacing, 5.0);
        image[[3, 4, 5]] = f32::NAN;
        let start_mask = ball(DIM, CENTRE, 6.0, spacing);
        let phi = |variant, regions| {
            let params = Params { variant, dimensions, spacing, regions, ..params(2.0) };
            let params = Params { range: params.range.filter(|_| regions.is_none()), ..params }.without_stopping();
            let mut surface = start(&cpu(), image.view(), &start_mask, &params);
            surface.step(31, None).unwrap();
            (phi_of(&surface, DIM).mapv(f32::to_bits), surface.state().edge_contrast)
        };
        for regions in [None, Some(isoline::level_set::Regions::ChanVese)] {
            assert!(
                phi(Variant::Scalar, regions) == phi(Variant::Dense, regions),
                "{dimensions:?} {spacing:?} {regions:?}"
            );
        }
    }
}

#[test]
fn a_slice_does_not_depend_on_the_others() {
    let image = ramp(DIM, CENTRE, RADIUS, SPACING, 5.0);
    let start_mask = ball(DIM, CENTRE, 6.0, SPACING);
    let params = Params { dimensions: Dimensions::Slices, edge_contrast: Some(8.0), alpha: Some(0.01), ..params(2.0) };
    let params = Params { time_step: Some(0.2), ..params }.without_stopping();
    let stepped = |image: &Array3<f32>, mask: &Array3<u8>| {
        let mut surface = start(&cpu(), image.view(), mask, &params);
        surface.step(20, None).unwrap();
        phi_of(&surface, image.dim())
    };
    let whole = stepped(&image, &start_mask);
    let slice = ndarray::s![9..10, .., ..];
    let alone = stepped(&image.slice(slice).to_owned(), &start_mask.slice(slice).to_owned());
    // Both are clamped to the diagonals of their images.
    let near = |phi: f32| phi.clamp(-20.0, 20.0);
    assert_eq!(alone.mapv(near), whole.slice(slice).mapv(near));
}

#[test]
fn the_automatic_contrast_is_exceeded_by_a_tenth_of_the_voxels() {
    // The gradient is 6 along x in all voxels but those at the borders.
    let image = Array3::from_shape_fn(DIM, |(_, _, x)| 6.0 * x as f32);
    let start_mask = ball(DIM, CENTRE, 4.0, SPACING);
    let contrast = |edge_sigma, image: &Array3<f32>| {
        let params = Params { edge_sigma: Some(edge_sigma), ..params(1.0) };
        start(&cpu(), image.view(), &start_mask, &params).state().edge_contrast.unwrap()
    };
    assert!((contrast(0.0, &image) - 6.0).abs() < 0.06);
    // Even images have a contrast, too.
    assert_eq!(contrast(1.0, &Array3::from_elem(DIM, 7.0)), 1.0);
    let mut spot = Array3::zeros(DIM);
    spot[[11, 14, 17]] = 10.0;
    assert_eq!(contrast(0.0, &spot), 2.5);
    let without = start(&cpu(), image.view(), &start_mask, &params(0.0)).state();
    assert_eq!(without.edge_contrast, None);
}

#[test]
fn steps_stay_stable_with_a_large_weight() {
    let image = ramp(DIM, CENTRE, RADIUS, SPACING, 6.0);
    let start_mask = ball(DIM, CENTRE, 6.0, SPACING);
    let mut surface = start(&cpu(), image.view(), &start_mask, &params(1000.0).without_stopping());
    surface.step(300, None).unwrap();
    let largest = phi_of(&surface, DIM).iter().fold(0.0f32, |largest, phi| largest.max(phi.abs()));
    let diagonal = [DIM.0, DIM.1, DIM.2].iter().map(|n| (n * n) as f32).sum::<f32>().sqrt();
    assert!(largest <= 1.1 * diagonal, "{largest}");
}

#[test]
fn wrong_parameters_are_refused_by_name() {
    let image = ramp(DIM, CENTRE, RADIUS, SPACING, 0.0);
    let start_mask = ball(DIM, CENTRE, 4.0, SPACING);
    let wrong = [
        ("edge_weight", params(-1.0)),
        ("edge_weight", params(f64::NAN)),
        ("edge_weight", params(1001.0)),
        ("edge_sigma", Params { edge_sigma: Some(-1.0), ..params(1.0) }),
        ("edge_sigma", Params { edge_sigma: Some(100.1), ..params(1.0) }),
        ("edge_contrast", Params { edge_contrast: Some(0.0), ..params(1.0) }),
        ("edge_contrast", Params { edge_contrast: Some(f64::INFINITY), ..params(0.0) }),
    ];
    for (name, params) in wrong {
        let refused = LevelSet::new(&cpu(), image.view().into(), start_mask.view().into(), &params);
        let error = refused.expect_err(name);
        assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains(name), "{error}");
    }
}

#[test]
fn cuda_finds_the_cpus_front_and_measures_its_contrast() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let truth = ball(DIM, CENTRE, RADIUS, SPACING);
    let start_mask = ball(DIM, CENTRE, 4.0, SPACING);
    let image = ramp(DIM, CENTRE, RADIUS, SPACING, 6.0);
    for variant in [Variant::Band, Variant::Dense] {
        let [cuda, cpu] = contexts.each_ref().map(|context| {
            let mut surface = start(context, image.view(), &start_mask, &Params { variant, ..params(3.0) });
            let report = surface.step(3000, None).unwrap();
            assert!(report.converged && report.device.kind == context.device().kind, "{report:?}");
            (mask_of(&surface, DIM), surface.state().edge_contrast)
        });
        assert_eq!(cuda.1, cpu.1);
        assert!(
            dice(&cuda.0, &cpu.0) > 0.995 && dice(&cuda.0, &truth) > 0.97,
            "{variant:?}: {}",
            dice(&cuda.0, &cpu.0)
        );
    }
}

#[test]
fn images_in_device_memory_are_refused() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    let image = ramp(DIM, CENTRE, RADIUS, SPACING, 0.0);
    let mut pixels = cuda.device_image(isoline::PixelType::F32, [DIM.2, DIM.1, DIM.0]).unwrap();
    pixels.upload(image.view().into()).unwrap();
    let start_mask = ball(DIM, CENTRE, 4.0, SPACING);
    let error = LevelSet::new(&cuda, pixels.view().into(), start_mask.view().into(), &params(1.0)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}
