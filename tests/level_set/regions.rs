//! The region term: the range follows from the pixels of both sides of the front.

use super::*;
use crate::range::{SPACING, voxels};
use agreement::dice;
use common::Random;
use isoline::level_set::{Regions, Side, TargetRange, run};
use isoline::{Dimensions, ErrorKind};
use ndarray::s;

const DIM: (usize, usize, usize) = (14, 64, 64);
const CENTRE: [f64; 3] = [33.0, 30.0, 7.0];
const RADIUS: f64 = 4.5;

const ALL: [Regions; 6] =
    [Regions::ChanVese, Regions::Gaussian, Regions::Poisson, Regions::Gamma, Regions::Rayleigh, Regions::Bernoulli];

/// Returns a number of photons.
fn poisson(random: &mut Random, mean: f64) -> f64 {
    let (limit, mut product, mut count) = ((-mean).exp(), random.uniform(), 0.0);
    while product > limit {
        product *= random.uniform();
        count += 1.0;
    }
    count
}

/// Returns a pixel whose noise is of this kind, inside or outside of an object that is brighter or, with Gaussian noise,
/// smoother than its surroundings.
fn pixel(random: &mut Random, noise: Regions, inside: bool) -> f64 {
    let of = |of_inside: f64, of_outside: f64| if inside { of_inside } else { of_outside };
    let exponential = |random: &mut Random, mean: f64| -mean * (1.0 - random.uniform()).ln();
    match noise {
        Regions::Gaussian => 500.0 + of(15.0, 60.0) * random.normal(),
        Regions::Poisson => poisson(random, of(12.0, 3.0)),
        Regions::Gamma => exponential(random, of(800.0, 100.0)),
        Regions::Rayleigh => exponential(random, of(640_000.0, 20_000.0)).sqrt(),
        Regions::Bernoulli => f64::from(u8::from(random.uniform() < of(0.95, 0.1))),
        _ => 500.0 + of(60.0, 0.0) + 40.0 * random.normal(),
    }
}

fn object() -> Array3<bool> {
    distance_to(DIM, CENTRE, SPACING).mapv(|r| r <= RADIUS)
}

/// Returns a ball in noise of a kind.
fn noisy(noise: Regions) -> Array3<u16> {
    let mut random = Random::new(5);
    object().mapv(|inside| pixel(&mut random, noise, inside).clamp(0.0, 65535.0).round() as u16)
}

fn params(regions: Regions) -> Params {
    Params { regions: Some(regions), ..voxels(SPACING) }
}

#[test]
fn a_ball_is_found_in_noise_of_every_kind_without_a_range() {
    let truth = object();
    for regions in ALL {
        let image = noisy(regions);
        for (centre, radius) in [([36.0, 34.0, 6.0], 3.0), (CENTRE, 6.0)] {
            if regions == Regions::Gaussian && radius > RADIUS {
                // Rough surroundings hold a third of their pixels in the range: the front comes to rest among them.
                continue;
            }
            let start_mask = ball(DIM, centre, radius, SPACING);
            everywhere(|context, name| {
                // The plain loop gives the bits of the dense variant, see below.
                for variant in [Variant::Band, Variant::Dense] {
                    let params = Params { variant, ..params(regions) };
                    let mut surface = start(context, image.view(), &start_mask, &params);
                    let report = surface.step(5000, None).unwrap();
                    let found = dice(&mask_of(&surface, DIM), &truth);
                    let what = format!("{name}, {regions:?}, {variant:?}, {centre:?} {radius}: {found}, {report:?}");
                    assert!(report.converged && found > 0.9, "{what}");
                    assert_eq!(report.outcome, Some(isoline::level_set::Outcome::Front), "{what}");
                }
            });
        }
    }
}

/// Returns the voxels inside of both, as a share of those inside of either.
fn overlap(mask: &Array3<u8>, truth: &Array3<bool>) -> f64 {
    let count = |of: fn(bool, bool) -> bool| mask.iter().zip(truth).filter(|(a, b)| of(**a != 0, **b)).count();
    count(|a, b| a && b) as f64 / count(|a, b| a || b) as f64
}

/// A ball in noise of up to twice its contrast, from a larger ball beside it. Half a difference of the means is lost in the noise.
#[test]
fn a_ball_is_found_in_heavy_noise_with_the_defaults() {
    const DIM: (usize, usize, usize) = (40, 64, 64);
    let truth = distance_to(DIM, [33.0, 30.0, 19.0], [1.0; 3]).mapv(|r| r <= 14.0);
    let start_mask = ball(DIM, [32.0, 32.0, 20.0], 18.2, [1.0; 3]);
    for seed in [1, 2] {
        for (regions, least) in
            [(Regions::ChanVese, 0.82), (Regions::Gamma, 0.75), (Regions::Rayleigh, 0.82), (Regions::Bernoulli, 0.82)]
        {
            let mut random = Random::new(seed);
            let image = truth.mapv(|inside| {
                let of = |of_inside: f64, of_outside: f64| if inside { of_inside } else { of_outside };
                let exponential = |random: &mut Random| -(1.0 - random.uniform()).ln();
                let pixel = match regions {
                    Regions::Gamma => of(200.0, 100.0) * exponential(&mut random),
                    Regions::Rayleigh => of(150.0, 100.0) * (2.0 * exponential(&mut random)).sqrt(),
                    Regions::Bernoulli => f64::from(u8::from(random.uniform() < of(0.6, 0.3))),
                    _ => of(1050.0, 1000.0) + 100.0 * random.normal(),
                };
                pixel.round().clamp(0.0, 65535.0) as u16
            });
            everywhere(|context, name| {
                let params = Params { regions: Some(regions), ..Params::default() };
                let mut surface = start(context, image.view(), &start_mask, &params);
                let report = surface.step(5000, None).unwrap();
                let found = overlap(&mask_of(&surface, DIM), &truth);
                let what = format!("{name}, {regions:?}, {seed}: {found}, {report:?}");
                assert!(report.converged && found > least, "{what}");
                assert_eq!(report.outcome, Some(isoline::level_set::Outcome::Front), "{what}");
            });
        }
    }
}

/// Without an object there is an end, and nothing that passes for one.
#[test]
fn noise_without_an_object_is_lost() {
    const DIM: (usize, usize, usize) = (32, 48, 48);
    let mut random = Random::new(3);
    let image = Array3::from_shape_simple_fn(DIM, || (1000.0 + 100.0 * random.normal()).round() as u16);
    let start_mask = ball(DIM, [25.0, 24.0, 16.0], 13.0, [1.0; 3]);
    everywhere(|context, name| {
        let mut surface = start(
            context,
            image.view(),
            &start_mask,
            &Params { regions: Some(Regions::ChanVese), ..Params::default() },
        );
        let report = surface.step(5000, None).unwrap();
        assert_eq!(report.outcome, Some(isoline::level_set::Outcome::Lost), "{name}: {report:?}");
    });
}

/// The mean of both sides, from the mask that was found, is the limit of Chan and Vese's model.
#[test]
fn the_limit_is_half_way_between_the_means_of_the_result() {
    let mut random = Random::new(5);
    let image = object().mapv(|inside| (500.0 + 60.0 * f64::from(u8::from(inside)) + 20.0 * random.normal()) as u16);
    let start_mask = ball(DIM, CENTRE, 3.0, SPACING);
    for pixels in [image.mapv(f32::from), image.mapv(|pixel| f32::from(pixel) * 0.01 - 3.0)] {
        everywhere(|context, name| {
            let mut surface = start(context, pixels.view(), &start_mask, &params(Regions::ChanVese));
            assert!(surface.step(5000, None).unwrap().converged, "{name}");
            let mask = mask_of(&surface, DIM);
            let mean = |inside: bool| {
                let side = pixels.iter().zip(&mask).filter(|(_, mask)| (**mask != 0) == inside);
                let (sum, count) =
                    side.fold((0.0, 0.0), |(sum, count), (pixel, _)| (sum + f64::from(*pixel), count + 1.0));
                sum / count
            };
            let (state, means) = (surface.state(), [mean(true), mean(false)]);
            let limit = state.target - state.epsilon;
            // The range is that of the start of the last check interval, in which the front hardly moved.
            let apart = means[0] - means[1];
            assert!((limit - (means[0] + means[1]) / 2.0).abs() < 0.01 * apart, "{name}: {state:?}, {means:?}");
            assert!((state.epsilon - apart / 2.0).abs() < 0.01 * apart, "{name}: {state:?}, {means:?}");
            assert_eq!(state.side, Side::Above, "{name}");
        });
    }
}

/// Gaussian regions differ in texture alone: the smooth object is within two limits, the rough one outside of two.
#[test]
fn texture_alone_has_two_limits() {
    let image = noisy(Regions::Gaussian);
    let around = object().mapv(|inside| !inside);
    everywhere(|context, name| {
        for (truth, radius, side) in [(&object(), 3.0, Side::Within), (&around, 5.0, Side::Outside)] {
            let mut start_mask = ball(DIM, CENTRE, radius, SPACING);
            if side == Side::Outside {
                start_mask.mapv_inplace(|pixel| u8::from(pixel == 0));
            }
            for variant in [Variant::Band, Variant::Dense] {
                let params = Params { variant, ..params(Regions::Gaussian) };
                let mut surface = start(context, image.view(), &start_mask, &params);
                assert!(surface.step(5000, None).unwrap().converged, "{name}, {variant:?}");
                let found = dice(&mask_of(&surface, DIM), truth);
                assert!(found > 0.9, "{name}, {variant:?}, {side:?}: {found}");
                assert_eq!(surface.state().side, side, "{name}, {variant:?}");
            }
        }
    });
}

/// The limit of normal distributions is at the mean of an even side, whose pixels would not drive the front.
#[test]
fn an_even_object_is_found_in_noise() {
    let mut image = noisy(Regions::Gaussian);
    let most = *image.iter().max().unwrap();
    image.zip_mut_with(&object(), |pixel, inside| *pixel = if *inside { 2 * most } else { *pixel });
    everywhere(|context, name| {
        for radius in [1.5, 3.0, 5.0] {
            let start_mask = ball(DIM, CENTRE, radius, SPACING);
            let mut surface = start(context, image.view(), &start_mask, &params(Regions::Gaussian));
            assert!(surface.step(5000, None).unwrap().converged, "{name}, {radius}");
            let found = dice(&mask_of(&surface, DIM), &object());
            assert!(found > 0.98, "{name}, {radius}: {found}");
        }
    });
}

#[test]
fn steps_of_any_length_give_the_same_bits() {
    // The second is noise in which the range is made wider.
    for regions in [Regions::Poisson, Regions::ChanVese] {
        let image = noisy(regions);
        let start_mask = ball(DIM, CENTRE, 6.0, SPACING);
        everywhere(|context, name| {
            for variant in [Variant::Dense, Variant::Band] {
                let params = Params { variant, ..params(regions) };
                let mut whole = start(context, image.view(), &start_mask, &params);
                let mut parts = start(context, image.view(), &start_mask, &params);
                assert!(whole.step(2000, None).unwrap().converged, "{name}, {regions:?}, {variant:?}");
                let lengths = [1, 11, 7, 0, 30, 41].into_iter().cycle().take(200);
                lengths.take_while(|length| !parts.step(*length, None).unwrap().converged).for_each(drop);
                let what = format!("{name}, {regions:?}, {variant:?}");
                // Half the difference of the means is 30.
                assert!(regions != Regions::ChanVese || whole.state().epsilon > 45.0, "{what}: {:?}", whole.state());
                assert_eq!(whole.state(), parts.state(), "{what}");
                assert_eq!(whole.statistics(), parts.statistics(), "{what}");
                common::assert_bits(&phi_of(&parts, DIM), &phi_of(&whole, DIM), &what);
            }
        });
    }
}

#[test]
fn the_fast_path_gives_the_bits_of_the_plain_loop_with_regions() {
    let context = Context::new("cpu").unwrap();
    for regions in ALL {
        let image = noisy(regions);
        let start_mask = ball(DIM, CENTRE, 6.0, SPACING);
        let [scalar, dense] = [Variant::Scalar, Variant::Dense].map(|variant| {
            let mut surface = start(&context, image.view(), &start_mask, &Params { variant, ..params(regions) });
            surface.step(50, None).unwrap();
            surface
        });
        common::assert_bits(&phi_of(&dense, DIM), &phi_of(&scalar, DIM), &format!("{regions:?}"));
    }
}

#[test]
fn cuda_measures_the_same_range() {
    let Some([cuda, cpu]) = common::cuda_and_cpu() else { return };
    let start_mask = ball(DIM, CENTRE, 6.0, SPACING);
    for regions in ALL {
        let image = noisy(regions);
        let mut with_nan = image.mapv(|pixel| f32::from(pixel) * 0.37);
        with_nan.slice_mut(s![2, 3, ..]).fill(f32::NAN);
        with_nan.slice_mut(s![3, 3, 5..9]).fill(f32::INFINITY);
        let state = |context: &Context, input: Image<'_>| start(context, input, &start_mask, &params(regions)).state();
        for input in [Image::from(image.view()), Image::from(with_nan.view())] {
            let [a, b] = [&cuda, &cpu].map(|context| state(context, input));
            assert_eq!((a.target, a.epsilon, a.side), (b.target, b.epsilon, b.side), "{regions:?}");
            assert_eq!((a.time_step, a.check_interval), (b.time_step, b.check_interval), "{regions:?}");
        }
        let [a, b] = [&cuda, &cpu].map(|context| {
            let mut surface = start(context, image.view(), &start_mask, &params(regions));
            surface.step(5000, None).unwrap();
            mask_of(&surface, DIM)
        });
        let truth = b.mapv(|pixel| pixel != 0);
        assert!(dice(&a, &truth) > 0.995, "{regions:?}: {}", dice(&a, &truth));
    }
}

#[test]
fn slices_share_their_range() {
    let image = noisy(Regions::ChanVese);
    let start_mask = ball(DIM, CENTRE, 4.0, SPACING);
    everywhere(|context, name| {
        let params = Params { dimensions: Dimensions::Slices, ..params(Regions::ChanVese) };
        let mut mask = Array3::zeros(DIM);
        let (input, output) = (image.view().into(), mask.view_mut().into());
        let report = run(context, input, start_mask.view().into(), &params, 5000, None, output).unwrap();
        assert!(report.converged, "{name}");
        for z in [5, 7, 9] {
            let slice = |z: usize| s![z..=z, .., ..];
            let found = dice(&mask.slice(slice(z)).to_owned(), &object().slice(slice(z)).to_owned());
            assert!(found > 0.93, "{name}, slice {z}: {found}");
        }
    });
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let image = noisy(Regions::ChanVese);
    let flat = Array3::from_elem(DIM, 7u8);
    let negative = image.mapv(|pixel| f32::from(pixel) - 1000.0);
    let (mask, empty, full) = (ball(DIM, CENTRE, 4.0, SPACING), Array3::zeros(DIM), Array3::ones(DIM));
    everywhere(|context, name| {
        let refused = |input: Image<'_>, mask: &Array3<u8>, params: Params, words: &str| {
            let error = LevelSet::new(context, input.into(), mask.view().into(), &params).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name}: {error}");
            assert!(error.to_string().contains(words), "{name}: {error}");
        };
        let good = || params(Regions::ChanVese);
        let range = Some(TargetRange { target: 500.0, epsilon: 50.0 });
        refused(image.view().into(), &mask, Params { range, ..good() }, "leave them automatic");
        refused(image.view().into(), &mask, Params { side: Some(Side::Above), ..good() }, "leave them automatic");
        refused(image.view().into(), &mask, Params { time_step: Some(1e-3), ..good() }, "leave them automatic");
        refused(
            image.view().into(),
            &mask,
            Params { side: Some(Side::Outside), ..voxels(SPACING) },
            "within, above or below",
        );
        refused(image.view().into(), &empty, good(), "one of both is empty");
        refused(image.view().into(), &full, good(), "one of both is empty");
        refused(flat.view().into(), &mask, good(), "are alike");
        refused(negative.view().into(), &mask, params(Regions::Gamma), "subtract the camera's offset");
    });
}
