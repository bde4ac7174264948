//! Cases with a known solution.

use super::*;
use isoline::Dimensions;
use isoline::level_set::TargetRange;
use std::f64::consts::PI;

/// Returns parameters with which only curvature acts, not the image.
fn curvature_only(spacing: [f64; 3]) -> Params {
    let range = Some(TargetRange { target: 0.0, epsilon: 1.0 });
    Params { alpha: Some(0.0), range, spacing, ..unstopped() }
}

/// Returns a level set that starts from an exact φ.
fn start_at(context: &Context, phi: &Array3<f32>, params: &Params) -> LevelSet {
    super::start_at(context, Array3::<u8>::zeros(phi.dim()).view(), phi, params)
}

/// Returns |∇φ| as it is where the curvature term is the larger one: from the squares of the differences on both sides.
fn slope(phi: &Array3<f32>, [z, y, x]: [usize; 3], spacing: [f64; 3]) -> f64 {
    let at = |dx: isize, dy: isize, dz: isize| {
        f64::from(phi[[z.wrapping_add_signed(dz), y.wrapping_add_signed(dy), x.wrapping_add_signed(dx)]])
    };
    let old = at(0, 0, 0);
    let sides = [[at(1, 0, 0), at(-1, 0, 0)], [at(0, 1, 0), at(0, -1, 0)], [at(0, 0, 1), at(0, 0, -1)]];
    let squares = sides
        .into_iter()
        .zip(spacing)
        .map(|([after, before], h)| (((after - old) / h).powi(2) + ((old - before) / h).powi(2)) / 2.0);
    squares.sum::<f64>().sqrt()
}

#[test]
fn the_sign_of_a_zero_alpha_does_not_matter() {
    everywhere(|context, name| {
        let mask = ball((1, 40, 40), [20.0, 20.0, 0.0], 8.0, [1.0; 3]);
        for variant in variants(context) {
            let [positive, negative] = [0.0, -0.0].map(|alpha| {
                let params = Params { variant: *variant, alpha: Some(alpha), ..curvature_only([1.0; 3]) };
                let mut surface = start(context, mask.view(), &mask, &params);
                surface.step(10, None).unwrap();
                phi_of(&surface, mask.dim())
            });
            assert!(positive == negative && positive.iter().all(|phi| phi.is_finite()), "{name} {variant:?}");
        }
    });
}

#[test]
fn curvature_of_spheres_and_cylinders() {
    everywhere(|context, name| {
        let n = 51;
        for spacing in [[1.0; 3], [0.8, 1.0, 1.25]] {
            // The weights of the axes make a sphere, and cylinders along x, y and z.
            for weights in [[1.0; 3], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]] {
                let radius = Array3::from_shape_fn((n, n, n), |(z, y, x)| {
                    let squares = [x, y, z].into_iter().zip(spacing).zip(weights);
                    squares.map(|((p, h), w)| w * ((p as f64 - 25.2) * h).powi(2)).sum::<f64>().sqrt()
                });
                let phi = radius.mapv(|r| (r - 20.0) as f32);
                // A sphere's mean curvature is 1/R, a cylinder's half of that.
                let exact = (weights.iter().sum::<f64>() - 1.0) / 2.0;
                for variant in variants(context) {
                    let params = Params { variant: *variant, ..curvature_only(spacing) };
                    let mut surface = start_at(context, &phi, &params);
                    surface.step(1, None).unwrap();
                    let time_step = surface.state().time_step;
                    let after = phi_of(&surface, phi.dim());
                    let mut seen = 0;
                    for ((z, y, x), r) in radius.indexed_iter() {
                        let inner = |p: usize| (2..n - 2).contains(&p);
                        if (r - 20.0).abs() < 1.0 && inner(x) && inner(y) && inner(z) {
                            let moved = f64::from(after[[z, y, x]]) - f64::from(phi[[z, y, x]]);
                            let product = moved / time_step / slope(&phi, [z, y, x], spacing) * r;
                            let off = (product / exact - 1.0).abs();
                            assert!(off < 1e-3, "{name} {variant:?} {weights:?}: H R = {product} at {x}, {y}, {z}");
                            seen += 1;
                        }
                    }
                    assert!(seen > 3000, "{seen}");
                }
            }
        }
    });
}

/// Returns φ of an eighth of a ball (a quarter of a disc) around the corner of the image: beyond the border φ continues
/// as in a mirror.
fn corner(dim: (usize, usize, usize), radius: f64, spacing: [f64; 3], dimensions: Dimensions) -> Array3<f32> {
    let centre = [-0.5, -0.5, if dimensions == Dimensions::Volume { -0.5 } else { 0.0 }];
    distance_to(dim, centre, spacing).mapv(|d| (d - radius) as f32)
}

/// Returns the radius, computed from the volume inside.
fn radius_of(phi: &Array3<f32>, [hx, hy, hz]: [f64; 3], dimensions: Dimensions) -> f64 {
    let h = hx.min(hy);
    match dimensions {
        Dimensions::Volume => (8.0 * volume_inside(phi, h) * hx * hy * hz * 3.0 / (4.0 * PI)).cbrt(),
        _ => (4.0 * volume_inside(phi, h) * hx * hy / PI).sqrt(),
    }
}

#[test]
fn spheres_and_circles_shrink_at_the_exact_rate() {
    everywhere(|context, name| {
        // A ball shrinks from radius 20 to 8, a disc to 10.
        for (dimensions, dim, rate, last) in
            [(Dimensions::Volume, (28, 28, 28), 2.0, 8.0f64), (Dimensions::Slices, (1, 28, 28), 1.0, 10.0)]
        {
            for reinitialise_every in [0, 50] {
                let params = Params { dimensions, reinitialise_every, ..curvature_only([1.0; 3]) };
                let mut surface = start_at(context, &corner(dim, 20.0, [1.0; 3], dimensions), &params);
                let time_step = surface.state().time_step;
                let mut time = 0.0;
                loop {
                    surface.step(10, None).unwrap();
                    time += 10.0 * time_step;
                    let exact = (400.0 - rate * time).sqrt();
                    if exact < last {
                        break;
                    }
                    let got = radius_of(&phi_of(&surface, dim), [1.0; 3], dimensions);
                    let off = (got / exact - 1.0).abs();
                    assert!(off < 0.01, "{name} {dimensions:?} {reinitialise_every}: {got} instead of {exact}");
                }
            }
        }
    });
}

/// A ball shrinks by curvature and by an image term of some times the size at which both limits of the time step are the
/// same. Without a reinitialisation nothing repairs φ where it has an extremum, which a step that is too long lets grow.
#[test]
fn the_longest_steps_are_as_exact_as_short_ones() {
    everywhere(|context, name| {
        for (dimensions, dim) in [(Dimensions::Volume, (28, 28, 28)), (Dimensions::Slices, (1, 28, 28))] {
            let [axes, curvature] = if dimensions == Dimensions::Volume { [3.0f64, 1.0] } else { [2.0, 0.5] };
            for (share, reinitialise_every) in [(0.0, 0), (0.5, 0), (1.0, 0), (1.0, 50), (1.4, 0), (1.4, 6)] {
                // Both weights are 0.5. The image is too bright by D.
                let pull = share / axes.sqrt();
                let range = Some(TargetRange { target: 0.0, epsilon: 0.25 });
                let image = Array3::from_elem(dim, (0.25 + pull) as f32);
                let phi = corner(dim, 20.0, [1.0; 3], dimensions);
                let mask = phi.mapv(|phi| u8::from(phi < 0.0));
                let params = Params { dimensions, range, alpha: Some(0.5), reinitialise_every, ..unstopped() };
                let longest = start(context, image.view(), &mask, &params).state().time_step;
                let limit = 0.5 * (pull.max(0.25) * axes.sqrt() + axes - 1.0).max(axes);
                assert!((longest * limit / 0.95 - 1.0).abs() < 1e-6, "{name} {dimensions:?} {share}: {longest}");
                // It shrinks to a radius of about 10.
                let (mut radius, mut time) = (20.0, 0.0);
                while radius > 10.0 {
                    radius -= 0.001 * 0.5 * (pull + curvature / radius);
                    time += 0.001;
                }
                let [got, expected] = [longest, longest / 4.0].map(|step| {
                    let steps = (time / step).ceil();
                    let params = Params { time_step: Some(time / steps), ..params.clone() };
                    let mut surface = start(context, image.view(), &mask, &params);
                    surface.write_phi(phi.view().into()).unwrap();
                    surface.step(steps as u64, None).unwrap();
                    radius_of(&phi_of(&surface, dim), [1.0; 3], dimensions)
                });
                let what = format!("{name} {dimensions:?} {share} {reinitialise_every}: {got} and {expected}");
                assert!((got / expected - 1.0).abs() < 0.01, "{what}");
                assert!((expected / 10.0 - 1.0).abs() < 0.1, "{what}");
            }
        }
    });
}

#[test]
fn a_constant_speed_grows_a_ball() {
    everywhere(|context, name| {
        for (dimensions, dim) in [(Dimensions::Volume, (66, 66, 66)), (Dimensions::Slices, (1, 66, 66))] {
            for alpha in [1.0, 0.5] {
                let phi = corner(dim, 40.0, [1.0; 3], dimensions);
                let image = Array3::from_elem(dim, 77u8);
                let mask = phi.mapv(|phi| u8::from(phi < 0.0));
                // Curvature is far too weak to matter: 0.5 of 1/50 against 0.5 of 100.
                let range = Some(TargetRange { target: 77.0, epsilon: 100.0 });
                let params = Params { dimensions, range, alpha: Some(alpha), time_step: Some(0.005), ..unstopped() };
                let mut surface = start(context, image.view(), &mask, &params);
                surface.write_phi(phi.view().into()).unwrap();
                let steps = (20.0 / (alpha * 100.0 * 0.005)) as u64;
                surface.step(steps, None).unwrap();
                let got = radius_of(&phi_of(&surface, dim), [1.0; 3], dimensions);
                let speed = (got - 40.0) / (steps as f64 * 0.005) / (alpha * 100.0);
                assert!((speed - 1.0).abs() < 0.01, "{name} {dimensions:?} {alpha}: speed {speed}");
            }
        }
    });
}

#[test]
fn anisotropic_grids_give_the_same_shape() {
    everywhere(|context, name| {
        let range = Some(TargetRange { target: 77.0, epsilon: 10.0 });
        let sizes: [([f64; 3], (usize, usize, usize)); 3] =
            [([1.0; 3], (48, 48, 48)), ([1.0, 1.0, 2.0], (24, 48, 48)), ([2.0, 1.0, 1.0], (48, 48, 24))];
        // The front grows at speed 0.3 · 10 with curvature, for a time of 4; in the second case it shrinks by curvature
        // for 60.
        for (alpha, time, start_radius) in [(0.3, 4.0, 24.0), (0.0, 60.0, 24.0)] {
            let mut expected = None;
            for (spacing, dim) in sizes {
                let phi = corner(dim, start_radius, spacing, Dimensions::Volume);
                let image = Array3::from_elem(dim, 77u8);
                let mask = phi.mapv(|phi| u8::from(phi < 0.0));
                let params = Params { range, alpha: Some(alpha), spacing, ..unstopped() };
                let limit = start(context, image.view(), &mask, &params).state().time_step_limit;
                let steps = (time / (0.9 * limit)).ceil();
                let params = Params { time_step: Some(time / steps), ..params };
                let mut surface = start(context, image.view(), &mask, &params);
                surface.write_phi(phi.view().into()).unwrap();
                surface.step(steps as u64, None).unwrap();
                let phi = phi_of(&surface, dim);
                let volume = phi.iter().map(|phi| f64::from(u8::from(*phi < 0.0))).sum::<f64>()
                    * spacing.iter().product::<f64>();
                // The radii are the positions at which φ crosses 0 along the axes.
                let radii: Vec<f64> = [
                    phi.slice(ndarray::s![0, 0, ..]),
                    phi.slice(ndarray::s![0, .., 0]),
                    phi.slice(ndarray::s![.., 0, 0]),
                ]
                .iter()
                .zip(spacing)
                .map(|(line, h)| {
                    let at = line.iter().position(|phi| *phi >= 0.0).expect("the ball ends within the image");
                    let (a, b) = (f64::from(line[at - 1]), f64::from(line[at]));
                    (at as f64 - 0.5 + a / (a - b)) * h
                })
                .collect();
                let (volume0, radii0) = expected.get_or_insert_with(|| (volume, radii.clone()));
                assert!((volume / *volume0 - 1.0).abs() < 0.02, "{name} {spacing:?}: {volume} and {volume0}");
                for (radius, radius0) in radii.iter().zip(radii0) {
                    assert!((radius / *radius0 - 1.0).abs() < 0.02, "{name} {spacing:?}: {radius} and {radius0}");
                }
            }
        }
    });
}

#[test]
fn a_reinitialisation_restores_the_distance_and_does_not_move_the_front() {
    everywhere(|context, name| {
        let dim = (40, 40, 40);
        let distance = distance_to(dim, [19.3, 19.6, 19.9], [1.0; 3]).mapv(|d| d - 12.0);
        // φ is steep outside and flat inside.
        let phi = distance.mapv(|d| (d * (1.0 + 0.03 * d)) as f32);
        for variant in variants(context) {
            let params =
                Params { variant: *variant, reinitialise_every: 1, time_step: Some(1e-12), ..curvature_only([1.0; 3]) };
            let mut surface = start_at(context, &phi, &params);
            surface.step(1, None).unwrap();
            let first = phi_of(&surface, dim);
            for ((phi, first), distance) in phi.iter().zip(&first).zip(&distance) {
                assert_eq!(*phi < 0.0, *first < 0.0, "{name} {variant:?}: no sign changes");
                let near = distance.abs() < 4.0;
                let off = (f64::from(*first) - distance).abs();
                assert!(!near || off < 0.15, "{name} {variant:?}: {first} instead of {distance}");
            }
            surface.step(20, None).unwrap();
            let volume = |phi: &Array3<f32>| volume_inside(phi, 1.0);
            let drift = volume(&phi_of(&surface, dim)) / volume(&first) - 1.0;
            assert!(drift.abs() < 1e-3, "{name} {variant:?}: 20 more make the volume grow by {drift}");
        }
    });
}
