//! Shapes whose distance is known, images of one class, and what counts as inside.

use super::*;
use isoline::Foreground;
use ndarray::{Axis, s};

/// Returns the distance from a point, given in pixels from the middle of a pixel, to the box of that pixel.
fn to_box(offsets: [f64; 3], spacing: [f64; 3]) -> f64 {
    let beside = |axis: usize| (offsets[axis].abs() - 0.5).max(0.0) * spacing[axis];
    (beside(0).powi(2) + beside(1).powi(2) + beside(2).powi(2)).sqrt()
}

#[test]
fn distance_next_to_a_flat_boundary_is_half_a_pixel() {
    let spacing = [0.7, 2.0, 3.5];
    everywhere(|context, device| {
        for (axis, h) in [(2, spacing[0]), (1, spacing[1]), (0, spacing[2])] {
            let mut mask = Array3::<u8>::zeros((23, 41, 37));
            mask.slice_axis_mut(Axis(axis), (11..).into()).fill(1);
            let got = measure(context, mask.view(), &spaced(spacing));
            for (index, value) in got.indexed_iter() {
                let expected = (10.5 - [index.0, index.1, index.2][axis] as f64) * h;
                let off = (f64::from(*value) - expected).abs();
                assert!(off <= 1e-6 * expected.abs(), "{value} instead of {expected} at {index:?}, on {device}");
            }
        }
    });
}

#[test]
fn single_pixel_is_a_box_also_in_long_images() {
    everywhere(|context, device| {
        for ([width, height, depth], at) in [
            ([1500, 1100, 1], [1400, 37, 0]),
            ([3, 2100, 5], [0, 5, 4]),
            ([2, 3, 1300], [1, 2, 1299]),
            ([5000, 2, 2], [4999, 1, 0]),
            ([1, 1, 3000], [0, 0, 1]),
            ([1, 2500, 1], [0, 2000, 0]),
            ([70, 40, 1050], [69, 0, 0]),
        ] {
            for spacing in [[1.0; 3], [0.31, 0.5, 1.7]] {
                let mut mask = Array3::<u8>::zeros((depth, height, width));
                mask[[at[2], at[1], at[0]]] = 1;
                let got = measure(context, mask.view(), &spaced(spacing));
                let sides = [(width, 0), (height, 1), (depth, 2)];
                let smallest = sides.iter().filter(|(side, _)| *side > 1).map(|(_, axis)| spacing[*axis]);
                let smallest = smallest.fold(f64::INFINITY, f64::min);
                let expected = Array3::from_shape_fn(mask.dim(), |(z, y, x)| {
                    let offsets = [x as f64 - at[0] as f64, y as f64 - at[1] as f64, z as f64 - at[2] as f64];
                    if offsets == [0.0; 3] { f64::NAN } else { to_box(offsets, spacing) }
                });
                for ((index, got), expected) in got.indexed_iter().zip(&expected).filter(|(_, e)| !e.is_nan()) {
                    let off = (f64::from(*got) - expected).abs();
                    let most =
                        if *expected < 1000.0 * smallest { 1e-4f64.min(1e-6 * expected) } else { 1e-6 * expected };
                    assert!(off <= most, "{got} for {expected} at {index:?}, on {device}");
                }
                assert_eq!(got[[at[2], at[1], at[0]]], (-0.5 * smallest) as f32, "inside, on {device}");
            }
        }
    });
}

/// The boundary of a digital ball is within a pixel's half diagonal of the sphere.
#[test]
fn distance_to_a_ball_is_near_that_to_its_sphere() {
    let (radius, centre, spacing) = (20.3, [31.2, 30.7, 15.1], [1.0, 1.0, 2.0]);
    let to_centre = |(z, y, x): (usize, usize, usize)| {
        let along = |p: usize, axis: usize| ((p as f64 - centre[axis]) * spacing[axis]).powi(2);
        (along(x, 0) + along(y, 1) + along(z, 2)).sqrt()
    };
    let mask = Array3::from_shape_fn((31, 60, 64), |index| if to_centre(index) < radius { 9u8 } else { 0 });
    everywhere(|context, device| {
        let got = measure(context, mask.view(), &spaced(spacing));
        let half_diagonal = 0.5 * (1.0f64 + 1.0 + 4.0).sqrt();
        for (index, value) in got.indexed_iter() {
            let off = f64::from(*value) - (to_centre(index) - radius);
            assert!(off.abs() <= half_diagonal, "{off} at {index:?}, on {device}");
        }
    });
}

#[test]
fn images_of_one_class_are_infinitely_far() {
    everywhere(|context, device| {
        for shape in [(1, 1, 1), (1, 50, 70), (6, 31, 40), (5, 1, 1)] {
            for dimensions in [Dimensions::Volume, Dimensions::Slices] {
                for (pixel, signed, outside, inside) in
                    [(0u8, f32::INFINITY, f32::INFINITY, 0.0), (255, f32::NEG_INFINITY, 0.0, f32::INFINITY)]
                {
                    let mask = Array3::from_elem(shape, pixel);
                    for (region, expected) in
                        [(Region::Signed, signed), (Region::Outside, outside), (Region::Inside, inside)]
                    {
                        let params = Params { dimensions, region, ..Params::default() };
                        let got = measure(context, mask.view(), &params);
                        let all = got.iter().all(|value| *value == expected);
                        assert!(all, "{shape:?} {dimensions:?} {region:?} {pixel} on {device}: {got:?}");
                    }
                }
            }
        }
    });
}

/// The stack of slices has an empty and a full slice between others.
#[test]
fn slice_of_one_class_does_not_affect_the_others() {
    everywhere(|context, device| {
        let mut mask = blobs((4, 40, 50), 3);
        mask.slice_mut(s![1, .., ..]).fill(0);
        mask.slice_mut(s![2, .., ..]).fill(7);
        let params = Params { dimensions: Dimensions::Slices, ..Params::default() };
        let got = measure(context, mask.view(), &params);
        assert!(got.slice(s![1, .., ..]).iter().all(|value| *value == f32::INFINITY), "{device}");
        assert!(got.slice(s![2, .., ..]).iter().all(|value| *value == f32::NEG_INFINITY), "{device}");
        assert!(got.slice(s![0, .., ..]).iter().all(|value| value.is_finite()), "{device}");
        // In the volume every pixel has a boundary.
        let volume = measure(context, mask.view(), &Params::default());
        assert!(volume.iter().all(|value| value.is_finite()), "{device}");
    });
}

#[test]
fn regions_are_parts_of_the_signed_distance() {
    let mask = blobs((7, 33, 45), 5);
    everywhere(|context, device| {
        let signed = measure(context, mask.view(), &spaced([1.0, 2.0, 3.0]));
        for region in [Region::Outside, Region::Inside] {
            let got = measure(context, mask.view(), &Params { region, ..spaced([1.0, 2.0, 3.0]) });
            let expected = signed.mapv(|value| match region {
                Region::Outside => value.max(0.0),
                _ => (-value).max(0.0),
            });
            assert_eq!(got, expected, "{region:?} on {device}");
            assert!(got.iter().all(|value| value.is_sign_positive()), "{region:?} on {device}");
        }
    });
}

/// Tests the same mask in 8 bits, 16 bits and floats, at several thresholds; NaN is outside for either foreground.
#[test]
fn inside_is_one_side_of_the_threshold_for_every_pixel_type() {
    let grey = Array3::from_shape_fn((3, 37, 41), |(z, y, x)| ((x * 7 + y * 13 + z * 31) % 256) as u8);
    let mut floats = grey.mapv(f32::from);
    for index in [[0, 0, 0], [1, 20, 20], [2, 36, 40]] {
        floats[index] = f32::NAN;
    }
    floats[[1, 5, 5]] = f32::INFINITY;
    floats[[1, 6, 6]] = f32::NEG_INFINITY;
    everywhere(|context, device| {
        for threshold in [0.0, 99.5, 100.0, 254.9, -1.0, 255.0] {
            for foreground in [Foreground::Above, Foreground::Below] {
                let params = Params { foreground, threshold, ..Params::default() };
                let is_inside = |value: f64| match foreground {
                    Foreground::Above => value > threshold,
                    _ => value <= threshold,
                };
                let plain = |inside: Array3<bool>| measure(context, inside.mapv(u8::from).view(), &Params::default());
                let what = format!("{threshold} {foreground:?} on {device}");
                let expected = plain(grey.mapv(|value| is_inside(value.into())));
                assert_eq!(measure(context, grey.view(), &params), expected, "u8, {what}");
                assert_eq!(measure(context, grey.mapv(u16::from).view(), &params), expected, "u16, {what}");
                let expected = plain(floats.mapv(|value| is_inside(value.into())));
                assert_eq!(measure(context, floats.view(), &params), expected, "f32, {what}");
            }
        }
    });
}
