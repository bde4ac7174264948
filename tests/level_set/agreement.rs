//! Agreement of the ways to compute: the narrow band with all voxels, the fast paths with the plain loop, slices in a
//! stack with slices alone, and CUDA with the CPU.

use super::*;
use common::assert_bits;
use isoline::Dimensions;
use isoline::level_set::TargetRange;

/// Returns an image with soft blobs and noise, from 0 to 1.
fn soft_blobs((depth, height, width): (usize, usize, usize)) -> Array3<f64> {
    let mut numbers = Numbers(1);
    Array3::from_shape_fn((depth, height, width), |(z, y, x)| {
        let noise = numbers.uniform() - 0.5;
        let wave = (x as f64 * 0.31).sin() + (y as f64 * 0.23).cos() + (z as f64 * 0.37 + 1.0).sin();
        (0.5 + 0.16 * wave + 0.08 * noise).clamp(0.0, 1.0)
    })
}

/// Returns an image of which a large part is in the intensity range, a ball in its middle as the mask, and parameters.
fn case(dim: (usize, usize, usize), spacing: [f64; 3], dimensions: Dimensions) -> (Array3<u8>, Array3<u8>, Params) {
    let image = soft_blobs(dim).mapv(|v| (v * 255.0) as u8);
    let (depth, height, width) = dim;
    let centre = [width as f64 / 2.0, height as f64 / 2.0, depth as f64 / 2.0];
    let radius = 0.3 * width as f64 * spacing[0];
    let mut mask = ball(dim, centre, radius, spacing);
    if dimensions == Dimensions::Slices {
        let slice = ball((1, height, width), [centre[0], centre[1], 0.0], radius, spacing);
        for z in 0..depth {
            mask.index_axis_mut(ndarray::Axis(0), z).assign(&slice.index_axis(ndarray::Axis(0), 0));
        }
    }
    let range = Some(TargetRange { target: 150.0, epsilon: 40.0 });
    (image, mask, Params { dimensions, spacing, range, alpha: Some(0.05), reinitialise_every: 7, ..unstopped() })
}

const SHAPES: [(usize, usize, usize); 8] =
    [(17, 19, 23), (8, 8, 8), (1, 33, 40), (2, 33, 40), (9, 1, 31), (5, 16, 1), (1, 1, 9), (2, 1, 9)];
const SPACINGS: [[f64; 3]; 2] = [[1.0; 3], [0.5, 0.5, 2.0]];

#[test]
fn the_fast_path_gives_the_bits_of_the_plain_loop() {
    let context = Context::new("cpu").unwrap();
    for dim in SHAPES {
        for spacing in SPACINGS {
            for dimensions in [Dimensions::Volume, Dimensions::Slices] {
                let what = format!("{dim:?} {spacing:?} {dimensions:?}");
                let (image, mask, params) = case(dim, spacing, dimensions);
                let run = |variant| {
                    let mut surface = start(&context, image.view(), &mask, &Params { variant, ..params.clone() });
                    surface.step(16, None).unwrap();
                    surface
                };
                let [scalar, dense, band] = [Variant::Scalar, Variant::Dense, Variant::Band].map(run);
                assert_bits(&phi_of(&dense, dim), &phi_of(&scalar, dim), &what);
                assert_eq!(dense.statistics(), scalar.statistics(), "{what}");
                assert_eq!(mask_of(&band, dim), mask_of(&scalar, dim), "{what}");
                let (done, active) = (dense.state().iterations, dense.state().active_tiles);
                assert!(done == 0 || active == dense.state().tiles, "{what}: {active} tiles");
            }
        }
    }
}

#[test]
fn pixels_of_all_types_mean_the_same() {
    everywhere(|context, name| {
        let dim = (17, 19, 23);
        let (image, mask, params) = case(dim, [1.0; 3], Dimensions::Volume);
        let mut surface = start(context, image.view(), &mask, &params);
        surface.step(16, None).unwrap();
        let expected = phi_of(&surface, dim);
        let mut surface = start(context, image.mapv(u16::from).view(), &mask, &params);
        surface.step(16, None).unwrap();
        assert_bits(&phi_of(&surface, dim), &expected, name);
        let mut surface = start(context, image.mapv(f32::from).view(), &mask, &params);
        surface.step(16, None).unwrap();
        assert_bits(&phi_of(&surface, dim), &expected, name);
    });
}

#[test]
fn narrow_band_matches_full_grid() {
    everywhere(|context, name| {
        for dimensions in [Dimensions::Volume, Dimensions::Slices] {
            let dim = (48, 56, 64);
            let (image, mask, params) = case(dim, [1.0, 1.0, 1.5], dimensions);
            let params = Params { reinitialise_every: 50, ..params };
            let run = |variant| {
                let mut surface = start(context, image.view(), &mask, &Params { variant, ..params.clone() });
                surface.step(300, None).unwrap();
                surface
            };
            let [dense, band] = [Variant::Dense, Variant::Band].map(run);
            let dice = dice(&mask_of(&band, dim), &mask_of(&dense, dim));
            assert!(dice >= 0.999, "{name} {dimensions:?}: {dice}");
            let moved = self::dice(&mask, &mask_of(&dense, dim));
            assert!(moved < 0.95, "{name} {dimensions:?}: the front moved: {moved}");
        }
    });
}

/// Returns a part of the brain of the test images, 1 x 1 x 2 mm, balls in its white matter as the mask, and parameters.
fn brain() -> (Array3<u8>, Array3<u8>, Params) {
    let image = whole_brain().slice(ndarray::s![.., 50..120, 40..160]).to_owned();
    let spacing = [1.0, 1.0, 2.0];
    let mut mask = Array3::zeros(image.dim());
    for (x, y) in [(30.0, 32.0), (87.0, 32.0)] {
        mask = mask | ball(image.dim(), [x, y, 9.0], 8.0, spacing);
    }
    let range = Some(TargetRange { target: 215.0, epsilon: 20.0 });
    (image, mask, Params { spacing, range, alpha: Some(0.2), ..unstopped() })
}

#[test]
fn narrow_band_matches_full_grid_in_a_brain() {
    everywhere(|context, name| {
        let (image, mask, params) = brain();
        let dim = image.dim();
        let run = |variant| {
            let mut surface = start(context, image.view(), &mask, &Params { variant, ..params.clone() });
            surface.step(520, None).unwrap();
            surface
        };
        let [dense, band] = [Variant::Dense, Variant::Band].map(run);
        let agreement = dice(&mask_of(&band, dim), &mask_of(&dense, dim));
        assert!(agreement >= 0.999, "{name}: {agreement}");
        let moved = dice(&mask, &mask_of(&dense, dim));
        assert!(moved < 0.3, "{name}: the front moved: {moved}");
        // Beside the front φ is nearly the same at nearly all voxels: within a twentieth of the largest spacing at 95 %.
        let (dense, band) = (phi_of(&dense, dim), phi_of(&band, dim));
        let near = dense.iter().zip(&band).filter(|(dense, _)| dense.abs() <= 2.0);
        let (off, all) =
            near.fold((0, 0), |(off, all), (dense, band)| (off + usize::from((dense - band).abs() > 0.1), all + 1));
        assert!(all > 10_000 && off * 20 < all, "{name}: {off} of {all}");
    });
}

/// Returns the Dice coefficient of two masks.
pub(crate) fn dice<T: Default + PartialEq>(a: &Array3<u8>, b: &Array3<T>) -> f64 {
    let both = a.iter().zip(b).filter(|(a, b)| **a != 0 && **b != T::default()).count();
    let sizes = a.iter().filter(|a| **a != 0).count() + b.iter().filter(|b| **b != T::default()).count();
    2.0 * both as f64 / sizes as f64
}

#[test]
fn active_tiles_follow_the_front() {
    everywhere(|context, name| {
        let dim = (96, 96, 96);
        let image = Array3::from_elem(dim, 9u8);
        let mask = ball(dim, [48.0; 3], 12.0, [1.0; 3]);
        let range = Some(TargetRange { target: 9.0, epsilon: 1.0 });
        let params = Params { range, alpha: Some(1.0), ..unstopped() };
        let mut surface = start(context, image.view(), &mask, &params);
        surface.step(20, None).unwrap();
        let state = surface.state();
        // A ball of radius 22 meets about 120 tiles of 1728; with their neighbours they are some 600.
        assert!((100..900).contains(&state.active_tiles), "{name}: {state:?}");
        assert_eq!(state.tiles, 1728, "{name}");
    });
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let dim = (33, 31, 40);
    let (image, mask, params) = case(dim, [1.0; 3], Dimensions::Volume);
    let mut expected = None;
    for threads in [1, 2, 5] {
        let context = Context::with_threads("cpu", threads).unwrap();
        let mut surface = start(&context, image.view(), &mask, &params);
        surface.step(40, None).unwrap();
        let got = (phi_of(&surface, dim), surface.statistics().to_vec(), surface.state());
        let expected = expected.get_or_insert_with(|| got.clone());
        assert_bits(&got.0, &expected.0, &format!("{threads} threads"));
        assert_eq!((&got.1, got.2), (&expected.1, expected.2), "{threads} threads");
    }
}

#[test]
fn a_slice_in_a_stack_equals_the_slice_alone() {
    everywhere(|context, name| {
        let dim = (3, 37, 45);
        let (mut image, mut mask, params) = case(dim, [1.0, 0.7, 3.0], Dimensions::Slices);
        image.index_axis_mut(ndarray::Axis(0), 1).mapv_inplace(|v| v / 2 + 60);
        mask.index_axis_mut(ndarray::Axis(0), 2).fill(0);
        for variant in variants(context) {
            let params = Params { variant: *variant, ..params.clone() };
            let mut stack = start(context, image.view(), &mask, &params);
            stack.step(30, None).unwrap();
            let together = phi_of(&stack, dim);
            for z in 0..dim.0 {
                // Δt is the same: the automatic one depends on the range of the whole stack's pixels.
                let params = Params { time_step: Some(stack.state().time_step), ..params.clone() };
                let alone = image.slice(ndarray::s![z..=z, .., ..]);
                let mask = mask.slice(ndarray::s![z..=z, .., ..]).to_owned();
                let expected = together.slice(ndarray::s![z..=z, .., ..]).to_owned();
                // A volume of a single slice is that slice.
                for dimensions in [Dimensions::Slices, Dimensions::Volume] {
                    let params = Params { dimensions, ..params.clone() };
                    let mut surface = start(context, alone, &mask, &params);
                    surface.step(30, None).unwrap();
                    let got = phi_of(&surface, (1, dim.1, dim.2));
                    if z < 2 {
                        assert_bits(&got, &expected, &format!("{name} {variant:?} {dimensions:?} slice {z}"));
                    }
                }
            }
        }
    });
}

#[test]
fn stepwise_equals_single_run() {
    everywhere(|context, name| {
        let dim = (17, 30, 23);
        let (image, mask, params) = case(dim, [1.0; 3], Dimensions::Volume);
        for variant in variants(context) {
            let params = Params { variant: *variant, ..params.clone() };
            let mut whole = start(context, image.view(), &mask, &params);
            assert_eq!(whole.step(33, None).unwrap().iterations, 33);
            let mut parts = start(context, image.view(), &mask, &params);
            for part in [1, 6, 7, 0, 19] {
                parts.step(part, None).unwrap();
            }
            assert_bits(&phi_of(&parts, dim), &phi_of(&whole, dim), &format!("{name} {variant:?}"));
            assert_eq!(parts.statistics(), whole.statistics(), "{name} {variant:?}");
        }
    });
}

#[test]
fn cuda_agrees_with_the_cpu() {
    let Ok(cuda) = Context::new("cuda") else { return everywhere(|_, _| {}) };
    let cpu = Context::new("cpu").unwrap();
    for dim in [(48, 56, 64), (17, 19, 23), (3, 70, 90), (1, 33, 40)] {
        for spacing in SPACINGS {
            for dimensions in [Dimensions::Volume, Dimensions::Slices] {
                for variant in [Variant::Dense, Variant::Band] {
                    let what = format!("{dim:?} {spacing:?} {dimensions:?} {variant:?}");
                    let (image, mask, params) = case(dim, spacing, dimensions);
                    let params = Params { variant, reinitialise_every: 50, ..params };
                    let run = |context: &Context| {
                        let mut surface = start(context, image.view(), &mask, &params);
                        surface.step(200, None).unwrap();
                        surface
                    };
                    let (expected, got) = (run(&cpu), run(&cuda));
                    let agreement = dice(&mask_of(&got, dim), &mask_of(&expected, dim));
                    assert!(agreement >= 0.9999, "{what}: Dice {agreement}");
                    let h = spacing.into_iter().fold(f64::INFINITY, f64::min) as f32;
                    for (got, expected) in phi_of(&got, dim).iter().zip(&phi_of(&expected, dim)) {
                        let near = expected.abs() <= 2.0 * h;
                        assert!(!near || (got - expected).abs() <= 1e-3 * h, "{what}: {got} instead of {expected}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_voxel_takes_few_bytes_of_device_memory() {
    let Ok(cuda) = Context::new("cuda") else { return everywhere(|_, _| {}) };
    let dim = (128, 200, 256);
    for variant in [Variant::Dense, Variant::Band] {
        let (image, mask, params) = case(dim, [1.0; 3], Dimensions::Volume);
        let wide = image.mapv(u16::from);
        let params = Params { variant, ..params };
        // These are the bytes of φ, its next values and the image; the lists of tiles add to them.
        for (input, own) in [(Image::from(image.view()), 9), (Image::from(wide.view()), 10)] {
            let mut surface = start(&cuda, input, &mask, &params);
            let report = surface.step(8, None).unwrap();
            let (peak, voxels) = (report.peak_device_bytes, image.len() as u64);
            assert!(
                (own * voxels..=12 * voxels).contains(&peak),
                "{variant:?}: {peak} bytes for {voxels} voxels of {own} bytes"
            );
        }
    }
}
