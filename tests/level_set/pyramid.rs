//! Coarse to fine: the front comes to rest on reduced images first.

use super::*;
use agreement::dice;
use common::{Random, assert_bits};
use isoline::level_set::Outcome;
use isoline::level_set::{Regions, TargetRange, run};
use isoline::{Dimensions, ErrorKind};
use ndarray::{Axis, s};
use std::ops::ControlFlow;

const RANGE: Option<TargetRange> = Some(TargetRange { target: 150.0, epsilon: 40.0 });
const MOST: u64 = 3000;

fn levels(pyramid_levels: u32, params: &Params) -> Params {
    Params { pyramid_levels, range: RANGE, ..params.clone() }
}

/// Returns a bright ball with a blurred edge.
fn bright_ball(dim: (usize, usize, usize), centre: [f64; 3], radius: f64, spacing: [f64; 3]) -> Array3<u8> {
    distance_to(dim, centre, spacing).mapv(|r| (40.0 + 110.0 / (1.0 + (r - radius).exp())).round() as u8)
}

#[test]
fn a_far_start_needs_few_iterations_of_the_whole_image() {
    let cases = [
        ((63, 66, 70), [33.0, 31.0, 30.0], 25.0, [1.0; 3]),
        // The z axis is not halved at first, and is then.
        ((25, 70, 70), [35.0, 33.0, 12.0], 25.0, [1.0, 1.0, 3.0]),
    ];
    everywhere(|context, name| {
        for (dim, centre, radius, spacing) in cases {
            let image = bright_ball(dim, centre, radius, spacing);
            let mask = ball(dim, centre.map(|c| c - 2.0), 6.0, spacing);
            let params = Params { spacing, ..Params::default() };
            let found = [1, 2, 3].map(|count| {
                let mut surface = start(context, image.view(), &mask, &levels(count, &params));
                assert_eq!(surface.state().coarse_iterations, 0);
                let report = surface.step(MOST, None).unwrap();
                assert_eq!(report.outcome, Some(Outcome::Front), "{name} {count}");
                let state = surface.state();
                assert_eq!(state.coarse_iterations > 0, count > 1);
                (state.iterations, state.coarse_iterations, mask_of(&surface, dim))
            });
            let [(plain, _, wanted), (two, coarse, _), (three, _, mask)] = &found;
            let what = format!("{name} {spacing:?}: {plain}, {two} after {coarse}, {three}");
            assert!(3 * three <= *plain && 3 * two <= *plain, "{what}");
            assert!(dice(mask, wanted) >= 0.99, "{what}: {}", dice(mask, wanted));
        }
    });
}

/// Returns three slices: a large disc, a small one, and one that the start does not touch; and their starts.
fn slices() -> (Array3<u8>, Array3<u8>) {
    let disc = |radius| bright_ball((1, 96, 97), [48.0, 46.0, 0.0], radius, [1.0; 3]);
    // Four pixels of as many cells, none of which is inside by half.
    let few = Array3::from_shape_fn((1, 96, 97), |(_, y, x)| u8::from((45..47).contains(&y) && (47..49).contains(&x)));
    let start = |radius| ball((1, 96, 97), [48.0, 46.0, 0.0], radius, [1.0; 3]);
    let stack =
        |images: [Array3<u8>; 3]| ndarray::concatenate(Axis(0), &images.each_ref().map(|image| image.view())).unwrap();
    (stack([disc(36.0), disc(4.0), disc(20.0)]), stack([start(6.0), few, Array3::zeros((1, 96, 97))]))
}

#[test]
fn a_slice_whose_start_vanishes_begins_from_its_mask() {
    let (image, mask) = slices();
    let dim = image.dim();
    let params = Params { dimensions: Dimensions::Slices, ..unstopped() };
    everywhere(|context, name| {
        let [plain, coarse] = [1, 4].map(|count| {
            let mut surface = start(context, image.view(), &mask, &levels(count, &params));
            surface.step(20, None).unwrap();
            phi_of(&surface, dim)
        });
        let slice = |phi: &Array3<f32>, z| phi.slice(s![z..z + 1, .., ..]).to_owned();
        for z in [1, 2] {
            assert_bits(&slice(&coarse, z), &slice(&plain, z), name);
        }
        let pixels = |phi: &Array3<f32>| slice(phi, 0).iter().filter(|phi| **phi < 0.0).count();
        assert!(pixels(&coarse) > 2 * pixels(&plain), "{name}: {}, {}", pixels(&coarse), pixels(&plain));
    });
}

#[test]
fn a_front_that_vanishes_on_coarse_images_changes_nothing() {
    // The object is there on the coarse image, and too small for its curvature.
    let dim = (33, 34, 35);
    let centre = [17.0, 16.0, 15.0];
    let image = bright_ball(dim, centre, 4.5, [1.0; 3]);
    everywhere(|context, name| {
        for radius in [1.0, 4.0] {
            let mask = ball(dim, centre, radius, [1.0; 3]);
            let [plain, coarse] = [1, 3].map(|count| {
                let params = Params { alpha: Some(0.012), ..unstopped() };
                let mut surface = start(context, image.view(), &mask, &levels(count, &params));
                surface.step(30, None).unwrap();
                phi_of(&surface, dim)
            });
            assert_bits(&coarse, &plain, &format!("{name} {radius}"));
        }
    });
}

#[test]
fn images_too_small_for_a_pyramid_are_as_they_are_without() {
    let dim = (1, 15, 15);
    let image = bright_ball(dim, [7.0, 7.0, 0.0], 5.0, [1.0; 3]);
    let mask = ball(dim, [7.0, 7.0, 0.0], 3.0, [1.0; 3]);
    let context = Context::new("cpu").unwrap();
    let [plain, coarse] = [1, 4].map(|count| {
        let mut surface = start(&context, image.view(), &mask, &levels(count, &unstopped()));
        surface.step(20, None).unwrap();
        assert_eq!(surface.state().coarse_iterations, 0);
        phi_of(&surface, dim)
    });
    assert_bits(&coarse, &plain, "15 x 15");
}

#[test]
fn steps_threads_and_cancels_do_not_change_a_bit() {
    let dim = (40, 42, 44);
    let centre = [21.0, 20.0, 19.0];
    let image = bright_ball(dim, centre, 16.0, [1.0; 3]);
    let mask = ball(dim, centre, 5.0, [1.0; 3]);
    let params = levels(3, &unstopped());
    everywhere(|context, name| {
        let device = context.device().id.clone();
        let phi = |threads: usize, steps: &[u64], cancelled_in_call: usize| {
            let context = Context::with_threads(&device, threads).unwrap();
            let mut surface = start(&context, image.view(), &mask, &params);
            let mut calls = 0;
            let mut cancel = |_: f64, stage: &str| {
                calls += 1;
                let is_coarse = stage != "level set";
                if is_coarse && calls == cancelled_in_call { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            // A callback is called as often as the time that the steps take allows.
            if cancelled_in_call > 0 && surface.step(50, Some(&mut cancel)).is_err() {
                assert_eq!(surface.state().iterations, 0, "{name}");
                surface.step(50, None).unwrap();
            }
            for step in steps {
                surface.step(*step, None).unwrap();
            }
            assert_eq!(surface.state().iterations, 50, "{name}");
            (phi_of(&surface, dim), surface.state().coarse_iterations)
        };
        let (wanted, coarse) = phi(2, &[50], 0);
        let cancelled = (1..6).map(|call| ("cancelled", phi(3, &[], call)));
        let others = [("one thread", phi(1, &[50], 0)), ("three steps", phi(2, &[0, 20, 30], 0))];
        for (what, (found, iterations)) in others.into_iter().chain(cancelled) {
            assert_bits(&found, &wanted, &format!("{name}, {what}"));
            assert_eq!(iterations, coarse, "{name}, {what}");
        }
    });
}

#[test]
fn progress_covers_the_coarse_levels() {
    let dim = (64, 72, 72);
    let centre = [36.0, 36.0, 32.0];
    let image = bright_ball(dim, centre, 28.0, [1.0; 3]);
    let mask = ball(dim, centre, 6.0, [1.0; 3]);
    everywhere(|context, name| {
        let mut told = Vec::new();
        let mut callback = |fraction: f64, stage: &str| {
            told.push((fraction, stage.to_owned()));
            ControlFlow::Continue(())
        };
        let mut output = Array3::<u8>::zeros(dim);
        let params = levels(2, &Params::default());
        let (image, start) = (image.view().into(), mask.view().into());
        run(context, image, start, &params, MOST, Some(&mut callback), output.view_mut().into()).unwrap();
        assert!(told.is_sorted_by(|a, b| a.0 <= b.0), "{name}: {told:?}");
        assert_eq!(told.last().unwrap().0, 1.0, "{name}");
        assert!(told.iter().any(|(_, stage)| stage == "level set, reduced image"), "{name}: {told:?}");
        assert!(told.iter().all(|(fraction, stage)| stage == "level set" || *fraction <= 0.25), "{name}: {told:?}");
    });
}

#[test]
fn a_phi_that_is_written_first_is_the_start() {
    let dim = (30, 32, 34);
    let centre = [17.0, 16.0, 15.0];
    let image = bright_ball(dim, centre, 12.0, [1.0; 3]);
    let mask = ball(dim, centre, 4.0, [1.0; 3]);
    everywhere(|context, name| {
        let phi = distance_to(dim, centre, [1.0; 3]).mapv(|r| r as f32 - 6.0);
        let [plain, coarse] = [1, 3].map(|count| {
            let mut surface = start(context, image.view(), &mask, &levels(count, &unstopped()));
            surface.write_phi(phi.view().into()).unwrap();
            surface.step(10, None).unwrap();
            assert_eq!(surface.state().coarse_iterations, 0, "{name}");
            phi_of(&surface, dim)
        });
        assert_bits(&coarse, &plain, name);
    });
}

#[test]
fn two_regions_are_separated_in_noise_that_the_plain_front_is_caught_in() {
    // A disc of radius 60 at an SNR of 0.5, from a disc of 20 within it.
    let dim = (1, 256, 256);
    let centre = [128.0, 124.0, 0.0];
    let truth = ball(dim, centre, 60.0, [1.0; 3]);
    let mut random = Random::new(11);
    let image = truth.mapv(|inside| {
        let mean = if inside > 0 { 600.0 } else { 500.0 };
        (mean + 200.0 * random.normal()).clamp(0.0, 65535.0) as u16
    });
    let mask = ball(dim, centre, 20.0, [1.0; 3]);
    everywhere(|context, name| {
        let found = [1, 3].map(|count| {
            let params = Params {
                dimensions: Dimensions::Slices,
                regions: Some(Regions::ChanVese),
                pyramid_levels: count,
                ..Params::default()
            };
            let mut surface = start(context, image.view(), &mask, &params);
            surface.step(MOST, None).unwrap();
            dice(&mask_of(&surface, dim), &truth)
        });
        assert!(found[1] >= 0.93 && found[0] < 0.6, "{name}: {found:?}");
    });
}

#[test]
fn binary_pixels_count_by_their_share_on_coarse_images() {
    let dim = (1, 128, 128);
    let centre = [62.0, 66.0, 0.0];
    let truth = ball(dim, centre, 35.0, [1.0; 3]);
    let mut random = Random::new(3);
    let image = truth.mapv(|inside| 255 * u8::from(random.uniform() < if inside > 0 { 0.7 } else { 0.2 }));
    let mask = ball(dim, centre, 42.0, [1.0; 3]);
    everywhere(|context, name| {
        let params = Params {
            dimensions: Dimensions::Slices,
            regions: Some(Regions::Bernoulli),
            pyramid_levels: 3,
            ..Params::default()
        };
        let mut surface = start(context, image.view(), &mask, &params);
        surface.step(MOST, None).unwrap();
        assert!(surface.state().coarse_iterations > 0, "{name}");
        let found = dice(&mask_of(&surface, dim), &truth);
        assert!(found >= 0.95, "{name}: {found}");
    });
}

#[test]
fn a_texture_that_vanishes_on_the_reduced_image_is_separated_on_the_whole_one() {
    // A checkerboard of whole cells in the object: the means of its cells are those of its surroundings.
    let dim = (1, 64, 64);
    let truth = ball(dim, [32.0, 31.0, 0.0], 20.0, [1.0; 3]);
    let image = Array3::from_shape_fn(dim, |(z, y, x)| match truth[[z, y / 2 * 2, x / 2 * 2]] {
        0 => 100u8,
        _ => 150 - 100 * ((x + y) % 2) as u8,
    });
    let mask = ball(dim, [32.0, 31.0, 0.0], 12.0, [1.0; 3]);
    let context = Context::new("cpu").unwrap();
    let params = Params {
        dimensions: Dimensions::Slices,
        regions: Some(Regions::Gaussian),
        pyramid_levels: 2,
        ..Params::default()
    };
    let mut surface = start(&context, image.view(), &mask, &params);
    surface.step(MOST, None).unwrap();
    assert_eq!(surface.state().coarse_iterations, 0);
}

#[test]
fn edges_count_on_every_level() {
    // A ramp of intensity in which every range leaks; the disc stands out by its edge.
    let dim = (1, 140, 144);
    let centre = [70.0, 68.0, 0.0];
    let distances = distance_to(dim, centre, [1.0; 3]);
    let image = Array3::from_shape_fn(dim, |(z, y, x)| {
        let inside = 60.0 / (1.0 + ((distances[[z, y, x]] - 45.0) / 1.5).exp());
        (40.0 + 0.6 * x as f64 + inside).round() as u8
    });
    let truth = distances.mapv(|r| if r <= 45.0 { 255 } else { 0 });
    let mask = ball(dim, centre, 12.0, [1.0; 3]);
    everywhere(|context, name| {
        let params = Params {
            dimensions: Dimensions::Slices,
            range: Some(TargetRange { target: 120.0, epsilon: 100.0 }),
            edge_weight: 3.0,
            edge_contrast: Some(2.0),
            ..Params::default()
        };
        let found = [1, 2].map(|pyramid_levels| {
            let params = Params { pyramid_levels, ..params.clone() };
            let mut surface = start(context, image.view(), &mask, &params);
            surface.step(MOST, None).unwrap();
            (surface.state().iterations, dice(&mask_of(&surface, dim), &truth))
        });
        let [(plain, _), (fine, overlap)] = found;
        assert!(overlap >= 0.97 && 2 * fine <= plain, "{name}: {found:?}");
    });
}

#[test]
fn cuda_finds_the_masks_of_the_cpu() {
    let Some(contexts) = common::cuda_and_cpu() else { return };
    let dim = (40, 72, 72);
    let (spacing, centre) = ([1.0, 1.0, 1.6], [36.0, 35.0, 20.0]);
    let image = bright_ball(dim, centre, 24.0, spacing);
    let mask = ball(dim, centre, 6.0, spacing);
    for params in [Params { spacing, ..Params::default() }, Params { dimensions: Dimensions::Slices, ..unstopped() }] {
        let [cuda, cpu] = contexts.each_ref().map(|context| {
            let mut surface = start(context, image.view(), &mask, &levels(3, &params));
            surface.step(200, None).unwrap();
            mask_of(&surface, dim)
        });
        assert!(dice(&cuda, &cpu) >= 0.9999, "{}", dice(&cuda, &cpu));
    }
}

#[test]
fn an_image_in_cuda_memory_is_refused() {
    let Some([context, _]) = common::cuda_and_cpu() else { return };
    let image = context.device_image(isoline::PixelType::U8, [32, 32, 1]).unwrap();
    let mask = ball((1, 32, 32), [16.0, 16.0, 0.0], 6.0, [1.0; 3]);
    let start =
        |count| LevelSet::new(&context, image.view().into(), mask.view().into(), &levels(count, &Params::default()));
    let error = start(2).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("pyramid_levels"), "{error}");
    start(1).unwrap();
}

#[test]
fn levels_out_of_range_are_refused() {
    let context = Context::new("cpu").unwrap();
    let image = Array3::from_elem((1, 32, 32), 3u8);
    for count in [0, 5] {
        let error =
            LevelSet::new(&context, image.view().into(), image.view().into(), &levels(count, &Params::default()))
                .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().starts_with("pyramid_levels"), "{error}");
    }
}
