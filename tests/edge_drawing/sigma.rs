//! The sigma of the smoothing. OpenCV's edges with other sigmas are in `opencv.txt`.

use crate::lines::random;
use crate::{PROFILES, all_of, draw, everywhere, intermediate, photograph, picture, variants};
use isoline::edge_drawing::{self, Maps, Operator, Params, Profile};
use isoline::{Context, Image};
use ndarray::{Array3, Axis, s};

const SIGMAS: [f64; 9] = [0.0, 0.3, 0.99, 1.0, 1.4, 2.0, 3.7, 6.0, 10.0];

fn with_sigma(profile: Profile, sigma: f64) -> Params {
    Params { profile, sigma, ..Params::default() }
}

/// Sides of one pixel, less than the kernel, those of a tile of the CUDA kernel and around, several tiles; stacks.
#[test]
fn every_device_and_variant_gives_the_same_edges() {
    let shapes = [(1, 1, 1), (1, 1, 50), (1, 50, 1), (2, 7, 9), (1, 64, 32), (1, 63, 65), (3, 129, 67), (1, 300, 517)];
    let cpu = Context::new("cpu").unwrap();
    for (depth, height, width) in shapes {
        let bytes = picture(depth, height, width);
        let words = bytes.mapv(|pixel| u16::from(pixel) * 211);
        let mut floats = bytes.mapv(|pixel| f32::from(pixel) * 0.37 - 12.0);
        floats[[0, height / 2, width / 2]] = f32::NAN;
        let images: [(Image<'_>, f64); 3] =
            [(bytes.view().into(), 1.0), (words.view().into(), 211.0), (floats.view().into(), 0.37)];
        for (index, sigma) in SIGMAS.into_iter().enumerate() {
            for profile in PROFILES {
                let operator = [Operator::Sobel, Operator::Prewitt, Operator::Scharr][index % 3];
                for (image, grey) in &images {
                    // A threshold that leaves gradients on both sides of it, and the automatic one.
                    for gradient_threshold in [Some(9.0 * grey), None] {
                        let params =
                            Params { operator, gradient_threshold, min_length: 3, ..with_sigma(profile, sigma) };
                        let expected = draw(&cpu, *image, &params);
                        everywhere(|context, name| {
                            for variant in variants(context, &params) {
                                let params = Params { variant, ..params.clone() };
                                let got = draw(context, *image, &params);
                                assert!(got == expected, "{name} {:?} {params:?}", image.shape());
                            }
                        });
                    }
                }
            }
        }
    }
}

#[test]
fn every_device_gives_the_same_maps() {
    let input = picture(2, 131, 203);
    let cpu = Context::new("cpu").unwrap();
    for profile in PROFILES {
        for sigma in SIGMAS {
            let params = Params { gradient_threshold: Some(12.0), ..with_sigma(profile, sigma) };
            let expected = intermediate(&cpu, input.view(), &params);
            everywhere(|context, name| {
                for variant in variants(context, &params) {
                    let params = Params { variant, ..params.clone() };
                    assert!(intermediate(context, input.view(), &params) == expected, "{name} {params:?}");
                }
            });
        }
    }
}

/// The smoothed map of one bright pixel has the taps: 65280 = 255 * 256 of u16, so that a product of taps over 256 is exact.
#[test]
fn one_pixel_becomes_the_gaussian() {
    let mut input = Array3::<u16>::zeros((1, 81, 83));
    input[[0, 40, 41]] = 65280;
    everywhere(|context, name| {
        for sigma in [0.0, 0.5, 1.0, 1.4, 2.0, 4.0, 10.0] {
            let mut smoothed = Array3::<u16>::zeros(input.dim());
            let maps = Maps { smoothed: Some(smoothed.view_mut().into()), ..Maps::default() };
            edge_drawing::maps(context, input.view().into(), &with_sigma(Profile::Paper, sigma), None, maps).unwrap();
            let total: f64 = smoothed.iter().map(|p| f64::from(*p)).sum();
            assert!((total / 65280.0 - 1.0).abs() < 0.01, "{name}, sigma {sigma}: the sum is {total}");
            for ((_, y, x), got) in smoothed.indexed_iter() {
                let square = (y as f64 - 40.0).powi(2) + (x as f64 - 41.0).powi(2);
                let wanted = if sigma == 0.0 {
                    if square == 0.0 { 65280.0 } else { 0.0 }
                } else {
                    65280.0 * (-square / (2.0 * sigma * sigma)).exp() / (std::f64::consts::TAU * sigma * sigma)
                };
                // Taps are multiples of 1/256, and those of small sigmas are values of the Gaussian, not integrals over a
                // pixel.
                let largest = f64::from(smoothed[[0, 40, 41]]);
                let tolerance = 0.12 * largest;
                assert!(
                    (f64::from(*got) - wanted).abs() <= tolerance,
                    "{name}, sigma {sigma}, {x}, {y}: {got}, {wanted}"
                );
            }
        }
    });
}

#[test]
fn sigma_0_does_not_smooth_and_opencv_does_not_below_1() {
    let input = picture(1, 61, 83);
    everywhere(|context, name| {
        for profile in PROFILES {
            let smoothed = |sigma| intermediate(context, input.view(), &with_sigma(profile, sigma)).smoothed;
            assert_eq!(smoothed(0.0), input, "{name}");
            let half = smoothed(0.5);
            assert_eq!(half == input, profile == Profile::Reference, "{name} {profile:?}");
        }
        let reference = |sigma| draw(context, input.view(), &with_sigma(Profile::Reference, sigma));
        assert!(reference(0.99) == reference(0.0), "{name}");
        assert!(reference(1.0) != reference(0.0), "{name}");
    });
}

#[test]
fn words_with_the_values_of_bytes_have_their_edges() {
    let bytes = photograph("coins").insert_axis(Axis(0));
    let words = bytes.mapv(u16::from);
    everywhere(|context, name| {
        for profile in PROFILES {
            for sigma in [0.0, 2.0, 5.0] {
                let params = Params { gradient_threshold: Some(24.0), ..with_sigma(profile, sigma) };
                let expected = draw(context, bytes.view(), &params);
                assert!(expected.segments.len() > 10, "{name}: {}", expected.segments.len());
                assert!(draw(context, words.view(), &params) == expected, "{name} {params:?}");
            }
        }
    });
}

/// Sums of twelve uniform numbers are nearly normally distributed.
fn noise(deviation: f64, side: usize) -> Array3<f64> {
    let mut uniform = random(5);
    Array3::from_shape_simple_fn((1, side, side), || {
        128.0 + deviation * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)
    })
}

/// The automatic threshold follows what smoothing leaves of the noise: an image of noise has next to no segments.
#[test]
fn noise_has_few_segments_whatever_the_sigma() {
    let cpu = Context::new("cpu").unwrap();
    for deviation in [3.0, 10.0, 30.0] {
        let pixels = noise(deviation, 400);
        let bytes = pixels.mapv(|p| p.round().clamp(0.0, 255.0) as u8);
        let words = pixels.mapv(|p| (p * 200.0).clamp(0.0, 65535.0) as u16);
        let floats = pixels.mapv(|p| p as f32);
        let images: [Image<'_>; 3] = [bytes.view().into(), words.view().into(), floats.view().into()];
        for image in images {
            let mut thresholds = Vec::new();
            for sigma in [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0] {
                for operator in [Operator::Sobel, Operator::Prewitt, Operator::Scharr] {
                    let params = Params { operator, ..with_sigma(Profile::Paper, sigma) };
                    let drawn = draw(&cpu, image, &params);
                    let points = drawn.segments.points().len();
                    let what = format!("{:?}, deviation {deviation}, {params:?}", image.pixel_type());
                    assert!(points < 400 * 400 / 100, "{what}: {points} points in segments");
                    if operator == Operator::Sobel {
                        thresholds.push(edge_drawing::automatic_threshold(&cpu, image.into(), &params).unwrap());
                    }
                }
            }
            assert!(thresholds.is_sorted_by(|a, b| a >= b), "{:?}: {thresholds:?}", image.pixel_type());
            assert!(thresholds[0] > 1.9 * thresholds[2], "{:?}: {thresholds:?}", image.pixel_type());
        }
    }
}

/// It reads a bounded part of an image: pixels elsewhere do not count, and every device reads the same ones.
#[test]
fn the_automatic_threshold_reads_blocks_of_the_image() {
    let whole = noise(8.0, 1000).mapv(|p| p.round().clamp(0.0, 255.0) as u8);
    let mut elsewhere = whole.clone();
    // Between the first two blocks of 64 pixels, which begin at columns and rows 0 and 312.
    elsewhere.slice_mut(s![.., .., 64..312]).fill(9);
    elsewhere.slice_mut(s![.., 64..312, ..]).fill(9);
    let cpu = Context::new("cpu").unwrap();
    for sigma in [0.0, 1.0, 2.0, 10.0] {
        let params = with_sigma(Profile::Paper, sigma);
        let threshold = |context: &Context, image: &Array3<u8>| {
            edge_drawing::automatic_threshold(context, image.view().into(), &params).unwrap()
        };
        let expected = threshold(&cpu, &whole);
        everywhere(|context, name| assert_eq!(threshold(context, &whole), expected, "{name}"));
        if sigma <= 1.0 {
            assert_eq!(threshold(&cpu, &elsewhere), expected);
        }
    }
}

#[test]
fn a_larger_sigma_leaves_longer_edges() {
    let input = photograph("coins").insert_axis(Axis(0));
    everywhere(|context, name| {
        for profile in PROFILES {
            let mean = |sigma| {
                let segments = draw(context, input.view(), &Params { sigma, ..all_of(profile) }).segments;
                segments.points().len() as f64 / segments.len() as f64
            };
            let means = [1.0, 2.0, 4.0].map(mean);
            assert!(means.is_sorted_by(|a, b| a < b), "{name} {profile:?}: {means:?}");
        }
    });
}
