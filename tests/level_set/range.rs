//! The automatic range, and ranges with one limit.

use super::*;
use common::random_words;
use isoline::Dimensions;
use isoline::level_set::{Side, State, TargetRange};
use std::f64::consts::PI;

/// The voxels of a microscope's stack.
pub(super) const SPACING: [f64; 3] = [0.2, 0.2, 1.0];
pub(super) const DIM: (usize, usize, usize) = (9, 80, 80);
pub(super) const CENTRE: [f64; 3] = [40.0, 40.0, 4.0];
const RADIUS: f64 = 3.6;
pub(super) const BRIGHT: f64 = 1100.0;
pub(super) const DARK: f64 = 200.0;

/// Returns pseudo-random numbers of mean 0 and standard deviation 1, each the sum of three uniform ones.
fn noise(dim: (usize, usize, usize)) -> Array3<f64> {
    let mut next = random_words(7);
    let mut uniform = || f64::from(next() >> 8) / f64::from(1 << 23) - 1.0;
    Array3::from_shape_simple_fn(dim, || uniform() + uniform() + uniform())
}

/// Returns a ball with a blurred edge, whose noise grows with the brightness as that of a camera does.
pub(super) fn noisy_ball(inside: f64, outside: f64) -> Array3<u16> {
    let mut pixels =
        distance_to(DIM, CENTRE, SPACING).mapv(|r| outside + (inside - outside) / (1.0 + ((r - RADIUS) / 0.15).exp()));
    pixels.zip_mut_with(&noise(DIM), |pixel, noise| *pixel += pixel.sqrt() * noise);
    pixels.mapv(|pixel| pixel.round() as u16)
}

/// Returns a start on one slice, as a drawn oval is; radius in pixels.
pub(super) fn oval(centre: [f64; 3], radius: f64) -> Array3<u8> {
    let mut mask = Array3::zeros(DIM);
    let z = centre[2] as usize;
    for ((y, x), pixel) in mask.index_axis_mut(ndarray::Axis(0), z).indexed_iter_mut() {
        *pixel = u8::from((x as f64 - centre[0]).hypot(y as f64 - centre[1]) <= radius);
    }
    mask
}

pub(super) fn voxels(spacing: [f64; 3]) -> Params {
    Params { spacing, ..Params::default() }
}

#[test]
fn a_noisy_ball_is_found_from_any_start() {
    let ovals = [
        (CENTRE, 7.0),
        (CENTRE, 3.0),
        (CENTRE, 15.0),
        (CENTRE, 20.0),
        ([48.0, 33.0, 4.0], 5.0),
        ([40.0, 40.0, 2.0], 6.0),
        ([38.0, 44.0, 5.0], 4.0),
        ([55.0, 40.0, 4.0], 8.0),
    ];
    let truth = 4.0 / 3.0 * PI * RADIUS.powi(3);
    for (inside, outside, side) in [(BRIGHT, DARK, Side::Above), (DARK, BRIGHT, Side::Below)] {
        let image = noisy_ball(inside, outside);
        everywhere(|context, name| {
            for (centre, radius) in ovals {
                let mut surface = start(context, image.view(), &oval(centre, radius), &voxels(SPACING));
                let report = surface.step(10_000, None).unwrap();
                let volume = surface.state().inside as f64 * SPACING.iter().product::<f64>();
                let what = format!("{name}, {centre:?}, radius {radius}: {volume} of {truth}, {:?}", surface.state());
                assert!(report.converged && (volume / truth - 1.0).abs() < 0.05, "{what}");
                assert_eq!(surface.state().side, side, "{what}");
            }
        });
    }
}

#[test]
fn one_pixel_is_start_enough() {
    let dim = (1, 96, 96);
    let radius = distance_to(dim, [48.0, 48.0, 0.0], [1.0; 3]);
    let mut pixels = radius.mapv(|r| if r <= 25.0 { 180.0 } else { 100.0 });
    pixels.zip_mut_with(&noise(dim), |pixel, noise| *pixel += 3.0 * noise);
    let image = pixels.mapv(|pixel| pixel.round() as u8);
    let area = radius.iter().filter(|r| **r <= 25.0).count() as f64;
    everywhere(|context, name| {
        for place in 0..40 {
            let mut mask = Array3::zeros(dim);
            mask[[0, 38 + place % 5 * 4, 34 + place / 5 * 3]] = 1;
            let mut surface = start(context, image.view(), &mask, &Params::default());
            surface.step(10_000, None).unwrap();
            let State { inside, target, epsilon, .. } = surface.state();
            let what = format!("{name}, {place}: {inside} of {area} pixels, {target} and {epsilon}");
            assert!((inside as f64 / area - 1.0).abs() < 0.02, "{what}");
        }
    });
}

/// Returns target, epsilon and side of a start on three columns of ten, on an image with the given columns.
fn measured(context: &Context, columns: [u8; 10], side: Option<Side>) -> State {
    let image = Array3::from_shape_fn((1, 20, 10), |(_, _, x)| columns[x]);
    let mask = Array3::from_shape_fn((1, 20, 10), |(_, _, x)| u8::from((4..7).contains(&x)));
    let params = Params { dimensions: Dimensions::Slices, side, ..Params::default() };
    start(context, image.view(), &mask, &params).state()
}

#[test]
fn the_limits_are_half_way_to_the_surroundings() {
    let between = [40, 40, 40, 40, 100, 100, 100, 200, 200, 200];
    let brightest = [40, 40, 40, 40, 100, 100, 100, 60, 60, 60];
    let cases = [
        (between, None, (110.0, 40.0, Side::Within)),
        (between, Some(Side::Above), (100.0, 30.0, Side::Above)),
        (between, Some(Side::Below), (100.0, 50.0, Side::Below)),
        (brightest, None, (100.0, 30.0, Side::Above)),
        (brightest, Some(Side::Within), (100.0, 30.0, Side::Within)),
        (brightest.map(|pixel| 200 - pixel), None, (100.0, 30.0, Side::Below)),
        // All of the image is in range where nothing differs from the start.
        ([100; 10], None, (100.0, 0.1, Side::Within)),
    ];
    everywhere(|context, name| {
        for (columns, side, wanted) in cases {
            let state = measured(context, columns, side);
            assert_eq!((state.target, state.epsilon, state.side), wanted, "{name}: {columns:?}, {side:?}");
            assert!((state.alpha - 1.0 / (1.0 + state.epsilon)).abs() < 1e-12, "{name}: {state:?}");
        }
    });
}

#[test]
fn a_given_range_has_both_limits_unless_a_side_is_given() {
    let (image, mask) = (noisy_ball(BRIGHT, DARK), oval(CENTRE, 7.0));
    let range = Some(TargetRange { target: 1000.0, epsilon: 300.0 });
    everywhere(|context, name| {
        for side in [None, Some(Side::Within), Some(Side::Above), Some(Side::Below)] {
            let state = start(context, image.view(), &mask, &Params { range, side, ..voxels(SPACING) }).state();
            assert_eq!((state.target, state.epsilon), (1000.0, 300.0), "{name}");
            assert_eq!(state.side, side.unwrap_or(Side::Within), "{name}");
        }
    });
}

/// On the open side of T pixels count as T: φ has the bits of that on the clamped image.
#[test]
fn an_open_side_is_the_clamped_image() {
    let image = noisy_ball(BRIGHT, DARK).mapv(f32::from);
    let mask = oval(CENTRE, 7.0);
    let range = Some(TargetRange { target: 700.0, epsilon: 150.0 });
    everywhere(|context, name| {
        for (side, clamped) in
            [(Side::Above, image.mapv(|pixel| pixel.min(700.0))), (Side::Below, image.mapv(|pixel| pixel.max(700.0)))]
        {
            for dimensions in [Dimensions::Volume, Dimensions::Slices] {
                for &variant in variants(context) {
                    let params = Params { range, dimensions, variant, ..voxels(SPACING).without_stopping() };
                    let run = |image: &Array3<f32>, side| {
                        let params = Params { side, time_step: Some(1e-3), ..params.clone() };
                        let mut surface = start(context, image.view(), &mask, &params);
                        surface.step(40, None).unwrap();
                        phi_of(&surface, DIM)
                    };
                    let what = format!("{name}, {side:?}, {dimensions:?}, {variant:?}");
                    common::assert_bits(&run(&image, Some(side)), &run(&clamped, None), &what);
                }
            }
        }
    });
}

#[test]
fn cuda_measures_the_range_of_the_cpu_from_device_memory_too() {
    let Some([cuda, cpu]) = common::cuda_and_cpu() else { return };
    let (image, mask) = (noisy_ball(BRIGHT, DARK), oval(CENTRE, 7.0));
    let state = |context: &Context, input: Image<'_>, mask: Image<'_>| {
        let state = LevelSet::new(context, input.into(), mask.into(), &voxels(SPACING)).unwrap().state();
        (state.target, state.epsilon, state.side, state.time_step, state.inside)
    };
    let (input, start) = (image.view().into(), mask.view().into());
    let wanted = state(&cpu, input, start);
    assert_eq!(state(&cuda, input, start), wanted);
    let shape = [DIM.2, DIM.1, DIM.0];
    let mut device_image = cuda.device_image(isoline::PixelType::U16, shape).unwrap();
    let mut device_mask = cuda.device_image(isoline::PixelType::U8, shape).unwrap();
    device_image.upload(input).unwrap();
    device_mask.upload(start).unwrap();
    assert_eq!(state(&cuda, device_image.view(), device_mask.view()), wanted);
    assert_eq!(state(&cuda, device_image.view(), start), wanted);
    assert_eq!(state(&cuda, input, device_mask.view()), wanted);
}

#[test]
fn the_range_of_slices_does_not_depend_on_the_unit_of_length() {
    // More voxels than are sampled, and objects that are elsewhere and of another brightness on each slice.
    let dim = (16, 200, 200);
    let disc = |z: usize, y: usize, x: usize| (x as f64 - 60.0 - 5.0 * z as f64).hypot(y as f64 - 100.0) < 40.0;
    let random = noise(dim);
    let image = Array3::from_shape_fn(dim, |(z, y, x)| {
        let level = if disc(z, y, x) { 150.0 + 2.0 * z as f64 } else { 60.0 };
        (level + 5.0 * random[[z, y, x]]).round() as u8
    });
    let mask = Array3::from_shape_fn(dim, |(z, y, x)| u8::from(disc(z, y, x)));
    let measured = [1.0, 250.0, 0.004].map(|side| {
        let params = Params { dimensions: Dimensions::Slices, ..voxels([side, side, 1.0]) };
        let state = start(&Context::new("cpu").unwrap(), image.view(), &mask, &params).state();
        (state.target, state.epsilon, state.side)
    });
    assert!(measured.iter().all(|range| *range == measured[0]), "{measured:?}");
    let (target, epsilon, side) = measured[0];
    assert!((target - 165.0).abs() < 5.0 && (epsilon - 52.0).abs() < 5.0 && side == Side::Above, "{measured:?}");
}
