//! Fronts that reach the border, vanish or come to rest, and their statistics.

use super::*;
use agreement::dice;
use isoline::Dimensions;
use isoline::level_set::{self, TargetRange};

#[test]
fn a_front_fills_the_image_and_stops() {
    everywhere(|context, name| {
        let dim = (13, 21, 30);
        let image = Array3::from_elem(dim, 9u8);
        let mask = ball(dim, [3.0, 4.0, 5.0], 3.0, [1.0; 3]);
        for variant in variants(context) {
            let range = Some(TargetRange { target: 9.0, epsilon: 5.0 });
            let params = Params { range, variant: *variant, ..Params::default() };
            let mut surface = start(context, image.view(), &mask, &params);
            let report = surface.step(3000, None).unwrap();
            assert!(report.converged, "{name} {variant:?}: {report:?}");
            assert_eq!(surface.state().inside, 13 * 21 * 30, "{name} {variant:?}");
            assert!(mask_of(&surface, dim).iter().all(|v| *v == 255), "{name} {variant:?}");
        }
    });
}

#[test]
fn a_front_vanishes_and_stops() {
    everywhere(|context, name| {
        let dim = (24, 24, 24);
        let image = Array3::<u8>::zeros(dim);
        let mask = ball(dim, [12.0; 3], 5.0, [1.0; 3]);
        for variant in variants(context) {
            // All pixels are out of range.
            let range = Some(TargetRange { target: 200.0, epsilon: 5.0 });
            let params = Params { range, variant: *variant, alpha: Some(0.3), ..Params::default() };
            let mut surface = start(context, image.view(), &mask, &params);
            let report = surface.step(3000, None).unwrap();
            assert!(report.converged && report.iterations < 3000, "{name} {variant:?}: {report:?}");
            assert_eq!((surface.state().inside, last(&surface).inside), (0, 0), "{name} {variant:?}");
            assert!(mask_of(&surface, dim).iter().all(|v| *v == 0), "{name} {variant:?}");
            let again = surface.step(10, None).unwrap();
            assert!(again.converged && again.iterations == 0, "{name} {variant:?}");
        }
    });
}

/// Returns an image of a bright ball with a soft rim; with the largest `low` it is near the top of u16.
fn bright_ball(dim: (usize, usize, usize), low: f64) -> Array3<u16> {
    distance_to(dim, [18.0, 17.0, 16.0], [1.0; 3]).mapv(|d| (low + 500.0 / (1.0 + (d - 11.0).exp())) as u16)
}

#[test]
fn a_front_comes_to_rest_at_the_edge_of_a_bright_ball() {
    everywhere(|context, name| {
        let dim = (33, 35, 37);
        // The pixels are up to 65535.
        let image = bright_ball(dim, 65035.0);
        let seed = ball(dim, [16.0, 17.0, 15.0], 4.0, [1.0; 3]);
        let whole = ball(dim, [18.0, 17.0, 16.0], 11.0, [1.0; 3]);
        let range = Some(TargetRange { target: 65535.0, epsilon: 250.0 });
        let params = Params { range, alpha: Some(0.02), ..Params::default() };
        let mut output = Array3::from_elem(dim, 7u8);
        let (input, mask) = (image.view().into(), seed.view().into());
        let report = level_set::run(context, input, mask, &params, 20_000, None, output.view_mut().into()).unwrap();
        assert!(report.converged && report.iterations < 20_000, "{name}: {report:?}");
        let found = dice(&output, &whole);
        assert!(found > 0.97, "{name}: {found}");

        // The image is the same, lower by 60000.
        let image = bright_ball(dim, 5035.0);
        let range = Some(TargetRange { target: 5535.0, epsilon: 250.0 });
        let mut surface = start(context, image.view(), &seed, &Params { range, ..params });
        let again = surface.step(20_000, None).unwrap();
        assert_eq!(again.iterations, report.iterations, "{name}");
        assert_eq!(mask_of(&surface, dim), output, "{name}");

        // A front at rest stays, and is at rest again after one more check interval.
        let more = surface.step(20_000, None).unwrap();
        assert!(more.converged, "{name}");
        assert_eq!(more.iterations, u64::from(surface.state().check_interval), "{name}");
        assert!(dice(&mask_of(&surface, dim), &output) > 0.999, "{name}");
    });
}

#[test]
fn a_front_that_has_converged_stays() {
    everywhere(|context, name| {
        // The image is a disc with a soft rim and noise; the front starts as a small disc.
        let dim = (1, 72, 80);
        let mut numbers = Numbers(7);
        let image = distance_to(dim, [40.3, 35.6, 0.0], [1.0; 3]).mapv(|d| {
            let noise = numbers.uniform() - 0.5;
            (100.0 + 60.0 / (1.0 + ((d - 24.0) / 1.5).exp()) + 24.0 * noise) as u8
        });
        let mask = ball(dim, [44.0, 33.0, 0.0], 6.0, [1.0; 3]);
        for alpha in [None, Some(0.2), Some(0.05)] {
            let range = Some(TargetRange { target: 160.0, epsilon: 30.0 });
            let params = Params { dimensions: Dimensions::Slices, range, alpha, ..Params::default() };
            let mut surface = start(context, image.view(), &mask, &params);
            let report = surface.step(20_000, None).unwrap();
            assert!(report.converged, "{name} {alpha:?}: {report:?}");
            let at_rest = mask_of(&surface, dim);
            assert!(dice(&at_rest, &mask) < 0.5, "{name} {alpha:?}: it moved");
            let never = params.without_stopping();
            let mut surface = start(context, image.view(), &mask, &never);
            surface.step(4 * report.iterations, None).unwrap();
            let found = dice(&mask_of(&surface, dim), &at_rest);
            assert!(found >= 0.99, "{name} {alpha:?}: {found} after {} iterations", report.iterations);
        }
    });
}

#[test]
fn statistics_agree_with_the_masks() {
    everywhere(|context, name| {
        let dim = (20, 26, 35);
        let image = Array3::from_shape_fn(dim, |(z, y, x)| (6 * x + 3 * y + z) as u8);
        let mask = ball(dim, [17.0, 12.0, 10.0], 7.0, [1.0; 3]);
        for variant in variants(context) {
            let range = Some(TargetRange { target: 130.0, epsilon: 20.0 });
            let params = Params { range, variant: *variant, alpha: Some(0.1), reinitialise_every: 5, ..unstopped() };
            let mut surface = start(context, image.view(), &mask, &params);
            assert_eq!(surface.state().inside, mask.iter().filter(|v| **v > 0).count() as u64);
            for iteration in 1..=23 {
                let what = format!("{name} {variant:?} {iteration}");
                // If a reinitialisation follows the iteration, only its result can be read.
                let plain = iteration % 5 != 0;
                let before = phi_of(&surface, dim);
                surface.step(1, None).unwrap();
                let after = phi_of(&surface, dim);
                let reported = last(&surface);
                let count = |which: &dyn Fn(f32, f32) -> bool| {
                    before.iter().zip(&after).filter(|(a, b)| which(**a, **b)).count() as u64
                };
                assert_eq!(reported.iteration, iteration, "{what}");
                assert_eq!(reported.inside, count(&|_, b| b < 0.0), "{what}");
                assert_eq!(surface.state().inside, reported.inside, "{what}");
                assert_eq!(reported.changed, count(&|a, b| (a < 0.0) != (b < 0.0)), "{what}");
                assert_eq!(reported.near, count(&|a, _| a.abs() <= 1.0), "{what}");
                if plain {
                    let near = before.iter().zip(&after).filter(|(a, _)| a.abs() <= 1.0);
                    let squares: f64 = near.map(|(a, b)| f64::from(b - a).powi(2)).sum();
                    let rms = (squares / reported.near as f64).sqrt();
                    assert!((reported.rms - rms).abs() <= 1e-4 * rms, "{what}: {} instead of {rms}", reported.rms);
                }
            }
        }
    });
}

#[test]
fn phi_can_be_taken_from_one_level_set_to_another() {
    everywhere(|context, name| {
        let dim = (20, 26, 35);
        let image = Array3::from_shape_fn(dim, |(z, y, x)| (6 * x + 3 * y + z) as u8);
        let mask = ball(dim, [17.0, 12.0, 10.0], 7.0, [1.0; 3]);
        for variant in variants(context).iter().filter(|variant| **variant != Variant::Band) {
            let range = Some(TargetRange { target: 130.0, epsilon: 20.0 });
            let params = Params { range, variant: *variant, reinitialise_every: 0, ..unstopped() };
            let mut first = start(context, image.view(), &mask, &params);
            first.step(10, None).unwrap();
            let saved = phi_of(&first, dim);
            first.step(10, None).unwrap();
            let other = ball(dim, [5.0; 3], 3.0, [1.0; 3]);
            let mut second = start(context, image.view(), &other, &params);
            second.write_phi(saved.view().into()).unwrap();
            common::assert_bits(&phi_of(&second, dim), &saved, name);
            assert_eq!(second.state().inside, saved.iter().filter(|phi| **phi < 0.0).count() as u64, "{name}");
            second.step(10, None).unwrap();
            common::assert_bits(&phi_of(&second, dim), &phi_of(&first, dim), name);
        }
    });
}

#[test]
fn phi_from_outside_is_clamped() {
    everywhere(|context, name| {
        let dim = (12, 20, 31);
        let spacing = [1.0, 1.0, 2.0];
        let image = Array3::from_shape_fn(dim, |(z, y, x)| (6 * x + 3 * y + z) as u8);
        let mask = ball(dim, [15.0, 10.0, 6.0], 6.0, spacing);
        let most = 2.0 * 65536.0;
        for variant in variants(context) {
            let range = Some(TargetRange { target: 130.0, epsilon: 20.0 });
            let params = Params { range, spacing, variant: *variant, ..unstopped() };
            let mut surface = start(context, image.view(), &mask, &params);
            // The squares of such differences are infinite.
            let steep = mask.mapv(|inside| if inside > 0 { f32::MIN } else { f32::MAX });
            surface.write_phi(steep.view().into()).unwrap();
            assert_eq!(phi_of(&surface, dim), steep.mapv(|phi| phi.clamp(-most, most)), "{name} {variant:?}");
            surface.step(3, None).unwrap();
            let phi = phi_of(&surface, dim);
            assert!(phi.iter().all(|phi| phi.abs() <= 4.0 * most), "{name} {variant:?}");
            assert_eq!(
                surface.state().inside,
                phi.iter().filter(|phi| **phi < 0.0).count() as u64,
                "{name} {variant:?}"
            );
        }
    });
}

#[test]
fn a_level_set_outlives_the_handle_on_its_context() {
    let dim = (9, 10, 11);
    let image = Array3::from_elem(dim, 9u8);
    let mask = ball(dim, [5.0; 3], 3.0, [1.0; 3]);
    let mut surface = {
        let context = Context::new("cpu").unwrap();
        start(&context, image.view(), &mask, &Params::default())
    };
    let moved = std::thread::spawn(move || {
        surface.step(5, None).unwrap();
        surface.state().iterations
    });
    assert_eq!(moved.join().unwrap(), 5);
}

/// If φ is steep, a front that moves less than a voxel takes φ from far above zero to far below it.
#[test]
fn voxels_that_change_sides_are_counted_however_steep_phi_is() {
    everywhere(|context, name| {
        let dim = (19, 22, 25);
        let image = Array3::from_elem(dim, 100u8);
        let centre = [12.3, 11.1, 9.4];
        let mask = ball(dim, centre, 6.0, [1.0; 3]);
        for variant in variants(context) {
            for steepness in [1.0f32, 5.0, 25.0, 125.0] {
                let range = Some(TargetRange { target: 100.0, epsilon: 20.0 });
                let params = Params {
                    variant: *variant,
                    range,
                    alpha: Some(0.9),
                    cfl: 0.9,
                    reinitialise_every: 0,
                    ..unstopped()
                };
                let mut surface = start(context, image.view(), &mask, &params);
                let phi = distance_to(dim, centre, [1.0; 3]).mapv(|d| steepness * (d - 6.0) as f32);
                surface.write_phi(phi.view().into()).unwrap();
                let mut before = phi.mapv(|phi| phi < 0.0);
                for iteration in 0..6 {
                    surface.step(1, None).unwrap();
                    let after = mask_of(&surface, dim).mapv(|pixel| pixel > 0);
                    let what = format!("{name} {variant:?} {steepness} {iteration}");
                    let count = after.iter().filter(|inside| **inside).count() as u64;
                    let changed = before.iter().zip(&after).filter(|(before, after)| before != after).count() as u64;
                    assert_eq!((last(&surface).inside, last(&surface).changed), (count, changed), "{what}");
                    before = after;
                }
            }
        }
    });
}

#[test]
fn a_phi_without_a_voxel_in_the_band_starts_from_its_mask() {
    everywhere(|context, name| {
        let dim = (2, 60, 60);
        let image = ball(dim, [30.0, 30.0, 0.0], 20.0, [1.0; 3]).mapv(|inside| if inside > 0 { 180u8 } else { 100 });
        let mask = ball(dim, [30.0, 30.0, 0.0], 6.0, [1.0; 3]);
        let mut one_slice = mask.clone();
        one_slice.index_axis_mut(ndarray::Axis(0), 1).fill(0);
        for (dimensions, mask) in [(Dimensions::Volume, &mask), (Dimensions::Slices, &one_slice)] {
            let params = Params { dimensions, variant: Variant::Band, reinitialise_every: 0, ..unstopped() };
            let mut expected = start(context, image.view(), mask, &params);
            let first = phi_of(&expected, dim);
            expected.step(20, None).unwrap();
            for value in [3.0f32, 255.0, 1e5] {
                let mut surface = start(context, image.view(), mask, &params);
                surface.write_phi(mask.mapv(|inside| if inside > 0 { -value } else { value }).view().into()).unwrap();
                assert_eq!(surface.step(1, None).unwrap().iterations, 1, "{name} {dimensions:?} {value}");
                common::assert_bits(&phi_of(&surface, dim), &first, name);
                surface.step(20, None).unwrap();
                common::assert_bits(&phi_of(&surface, dim), &phi_of(&expected, dim), name);
                assert_eq!(surface.state().iterations, 21, "{name} {dimensions:?} {value}");
            }
        }
        // No slice has a front, so nothing moves.
        let params = Params { dimensions: Dimensions::Slices, variant: Variant::Band, ..Params::default() };
        let mut surface = start(context, image.view(), &mask, &params);
        let apart = Array3::from_shape_fn(dim, |(z, _, _)| if z == 0 { -5.0f32 } else { 5.0 });
        surface.write_phi(apart.view().into()).unwrap();
        assert!(surface.step(1000, None).unwrap().converged, "{name}");
        assert_eq!(mask_of(&surface, dim), apart.mapv(|phi| if phi < 0.0 { 255 } else { 0 }), "{name}");
    });
}

/// At a sharp edge |φ| grows on both sides of a front at rest, so that no voxel is left in the band.
#[test]
fn a_saved_phi_goes_on_to_the_same_front() {
    everywhere(|context, name| {
        for (dim, radius) in [((1, 80, 80), 20.0), ((26, 26, 26), 8.0)] {
            let centre = [dim.2 / 2, dim.1 / 2, dim.0 / 2].map(|n| n as f64);
            let image = ball(dim, centre, radius, [1.0; 3]).mapv(|inside| if inside > 0 { 200u8 } else { 50 });
            let mask = ball(dim, centre, 0.4 * radius, [1.0; 3]);
            let range = Some(TargetRange { target: 200.0, epsilon: 75.0 });
            for variant in variants(context) {
                let what = format!("{name} {variant:?} {dim:?}");
                let params = Params { range, alpha: Some(0.5), variant: *variant, ..Params::default() };
                let mut whole = start(context, image.view(), &mask, &params);
                let mut saved = Vec::new();
                while !whole.step(4, None).unwrap().converged {
                    saved.push(phi_of(&whole, dim));
                }
                saved.push(phi_of(&whole, dim));
                let outcome = whole.state().outcome;
                let outside_band = |phi: &&Array3<f32>| phi.iter().all(|phi| phi.abs() > 2.0);
                let without_band = saved.iter().filter(outside_band).count();
                assert!(*variant != Variant::Band || without_band >= 3, "{what}: {without_band}");
                let expected = mask_of(&whole, dim);
                let mut other = start(context, image.view(), &mask, &params);
                for (index, phi) in saved.iter().enumerate() {
                    other.write_phi(phi.view().into()).unwrap();
                    common::assert_bits(&phi_of(&other, dim), phi, &what);
                    let report = other.step(1000, None).unwrap();
                    assert!(report.converged && report.outcome == Some(outcome), "{what} {index}: {report:?}");
                    assert_eq!(mask_of(&other, dim), expected, "{what} {index}");
                }
            }
        }
    });
}
