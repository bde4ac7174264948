//! Changes of the input or the call that must not change the result, or must change it in a known way.

use super::common::Numbers;
use crate::{PROFILES, all_of, contexts, draw, everywhere, intermediate, kinds, photograph, picture, variants};
use isoline::edge_drawing::{self, Maps, Operator, Params, Point, Profile, Variant};
use isoline::{Context, Image, ImageMut};
use ndarray::{Array2, Array3, ArrayView3, Axis, s};
use proptest::prelude::*;

#[test]
fn one_slice_of_a_stack_is_the_slice_alone() {
    let input = picture(5, 70, 90);
    everywhere(|context, name| {
        for params in kinds() {
            // The automatic threshold of a stack is not that of its slices.
            let params = Params { gradient_threshold: Some(20.0), ..params };
            let stack = draw(context, input.view(), &params);
            let mut index = 0;
            for z in 0..5 {
                let alone = draw(context, input.slice(s![z..z + 1, .., ..]), &params);
                assert_eq!(stack.edges.slice(s![z..z + 1, .., ..]), alone.edges, "{name} {params:?}, slice {z}");
                assert!(alone.segments.len() > 5, "{name} {params:?}");
                for one in alone.segments.iter() {
                    let same = stack.segments.get(index).unwrap();
                    assert_eq!(same.slice, z as u32, "{name} {params:?}");
                    assert_eq!(
                        (same.points, same.closed, same.mean_gradient),
                        (one.points, one.closed, one.mean_gradient),
                        "{name} {params:?}, slice {z}"
                    );
                    index += 1;
                }
            }
            assert_eq!(index, stack.segments.len(), "{name} {params:?}");
        }
    });
}

#[test]
fn memory_layout_does_not_change_the_result() {
    let large = picture(9, 80, 100);
    let views: [ArrayView3<'_, u8>; 4] = [
        large.slice(s![2..6, 10..59, 20..91]),
        large.slice(s![..;2, ..;3, ..;2]),
        large.slice(s![..;-1, ..;-1, ..;-1]),
        large.view().permuted_axes([2, 0, 1]),
    ];
    everywhere(|context, name| {
        for (number, view) in views.iter().enumerate() {
            for profile in PROFILES {
                let params = all_of(profile);
                let packed = view.as_standard_layout().into_owned();
                let expected = draw(context, packed.view(), &params);
                assert_eq!(draw(context, *view, &params), expected, "{name} {profile:?}, view {number}");

                // Into every second column of a larger map; the others stay.
                let (depth, height, width) = view.dim();
                let mut frame = Array3::from_elem((depth + 2, height + 3, 2 * width), 7u8);
                let target = frame.slice_mut(s![1..depth + 1, 2..height + 2, ..;2]);
                edge_drawing::run(context, (*view).into(), &params, None, Some(target.into()), None).unwrap();
                let written = frame.slice(s![1..depth + 1, 2..height + 2, ..;2]).to_owned();
                assert_eq!(written, expected.edges, "{name} {profile:?}, view {number} into a frame");
                let untouched = frame.iter().filter(|value| **value == 7).count();
                assert_eq!(untouched, frame.len() - expected.edges.len(), "{name}: only the target is written");
            }
        }
    });
}

/// A flip of an image along an axis, or the exchange of x and y.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Turn {
    Flip(Axis),
    Transpose,
}

impl Turn {
    fn of<T: Clone>(self, image: &Array3<T>) -> Array3<T> {
        match self {
            Self::Flip(axis) => {
                let mut turned = image.clone();
                turned.invert_axis(axis);
                turned.as_standard_layout().into_owned()
            }
            Self::Transpose => image.view().permuted_axes([0, 2, 1]).as_standard_layout().into_owned(),
        }
    }
}

#[test]
fn flips_of_an_image_flip_its_maps_and_edges() {
    // Every step of the paper profile is symmetric left to right and top to bottom.
    let input = picture(2, 61, 87);
    everywhere(|context, name| {
        for params in kinds().into_iter().filter(|params| params.profile == Profile::Paper) {
            for turn in [Turn::Flip(Axis(1)), Turn::Flip(Axis(2))] {
                let turned = turn.of(&input);
                let what = format!("{name} {turn:?} {params:?}");
                assert_eq!(
                    turn.of(&draw(context, turned.view(), &params).edges),
                    edges(context, &input, &params),
                    "{what}"
                );
                let (straight, back) =
                    (intermediate(context, input.view(), &params), intermediate(context, turned.view(), &params));
                assert_eq!(turn.of(&back.smoothed), straight.smoothed, "{what}");
                assert_eq!(turn.of(&back.gradient), straight.gradient, "{what}");
                assert_eq!(turn.of(&back.direction), straight.direction, "{what}");
                assert_eq!(turn.of(&back.anchors), straight.anchors, "{what}");
            }
        }
    });
}

fn edges(context: &Context, input: &Array3<u8>, params: &Params) -> Array3<u8> {
    draw(context, input.view(), params).edges
}

#[test]
fn transposing_exchanges_the_directions_where_one_slope_is_larger() {
    // |gx| = |gy| counts as vertical, so there and only there a transpose is not symmetric.
    let input = picture(1, 61, 87);
    let turned = Turn::Transpose.of(&input);
    everywhere(|context, name| {
        for operator in [Operator::Sobel, Operator::Prewitt, Operator::Scharr] {
            let params = Params { operator, ..all_of(Profile::Paper) };
            let straight = intermediate(context, input.view(), &params);
            let back = intermediate(context, turned.view(), &params);
            assert_eq!(Turn::Transpose.of(&back.smoothed), straight.smoothed, "{name}");
            assert_eq!(Turn::Transpose.of(&back.gradient), straight.gradient, "{name}");
            let back = Turn::Transpose.of(&back.direction);
            let mut ties = 0;
            for (straight, back) in straight.direction.iter().zip(&back) {
                match (straight, back) {
                    (0, 0) | (1, 2) | (2, 1) => {}
                    (2, 2) => ties += 1,
                    other => panic!("{name} {operator:?}: {other:?}"),
                }
            }
            assert!(ties < straight.direction.len() / 20, "{name}: {ties} ties");
        }
    });
}

#[test]
fn a_transposed_picture_without_ties_gives_transposed_edges() {
    // A ramp so steep that |gx| > |gy| for every pixel, and all the same a picture with edges.
    let input = Array3::from_shape_fn((1, 60, 60), |(_, y, x)| {
        let wave = 400.0 * ((x as f64 + 0.3 * (y as f64 / 5.0).sin()) / 4.0).sin();
        (20_000.0 + 40.0 * x as f64 + wave + (y % 7) as f64) as u16
    });
    let turned = input.view().permuted_axes([0, 2, 1]).as_standard_layout().into_owned();
    everywhere(|context, name| {
        let params = Params { gradient_threshold: Some(300.0), ..all_of(Profile::Paper) };
        let mut direction = Array3::<u8>::zeros(input.dim());
        let maps = Maps { direction: Some(ImageMut::from(direction.view_mut()).into()), ..Maps::default() };
        edge_drawing::maps(context, input.view().into(), &params, None, maps).unwrap();
        let mut other = Array3::<u8>::zeros(turned.dim());
        let maps = Maps { direction: Some(ImageMut::from(other.view_mut()).into()), ..Maps::default() };
        edge_drawing::maps(context, turned.view().into(), &params, None, maps).unwrap();
        assert!(direction.iter().all(|d| *d != 1) && other.iter().all(|d| *d != 2), "{name}: the premise");
        let straight = draw(context, input.view(), &params).edges;
        let back = draw(context, turned.view(), &params).edges.permuted_axes([0, 2, 1]);
        assert!(straight.iter().any(|edge| *edge == 255), "{name}");
        assert_eq!(back, straight, "{name}");
    });
}

#[test]
fn number_of_threads_does_not_change_the_result() {
    for input in [picture(1, 300, 1300), picture(3, 90, 50), picture(2, 5, 2000), picture(1, 700, 3)] {
        for params in kinds() {
            let expected = draw(&Context::with_threads("cpu", 1).unwrap(), input.view(), &params);
            for threads in [2, 3, 4, 7, 16] {
                let context = Context::with_threads("cpu", threads).unwrap();
                let got = draw(&context, input.view(), &params);
                assert!(got == expected, "{threads} threads, {:?}, {params:?}", input.dim());
            }
        }
    }
}

#[test]
fn every_device_and_variant_gives_the_same_result() {
    let bytes = picture(2, 211, 503);
    let words = bytes.mapv(|pixel| u16::from(pixel) * 257);
    let floats = bytes.mapv(|pixel| f32::from(pixel) * 0.013 - 1.0);
    let photograph = photograph("camera").insert_axis(Axis(0));
    let images: [Image<'_>; 4] =
        [bytes.view().into(), words.view().into(), floats.view().into(), photograph.view().into()];
    let cpu = Context::new("cpu").unwrap();
    for image in images {
        for params in kinds() {
            for (scan_interval, anchor_threshold) in [(1, 0.0), (3, 0.02), (4, 9.0)] {
                let params = Params { scan_interval, anchor_threshold, ..params.clone() };
                let expected = draw(&cpu, image, &params);
                everywhere(|context, name| {
                    for variant in variants(context, &params) {
                        let params = Params { variant, ..params.clone() };
                        assert!(draw(context, image, &params) == expected, "{name} {params:?}");
                    }
                });
            }
        }
    }
}

#[test]
fn every_device_gives_the_same_intermediate_maps() {
    let input = picture(3, 131, 203);
    let cpu = Context::new("cpu").unwrap();
    for params in kinds() {
        let expected = intermediate(&cpu, input.view(), &params);
        everywhere(|context, name| {
            for variant in variants(context, &params) {
                let params = Params { variant, ..params.clone() };
                assert!(intermediate(context, input.view(), &params) == expected, "{name} {params:?}");
            }
        });
    }
}

#[test]
fn every_run_gives_the_same_result() {
    let input = picture(1, 400, 500);
    everywhere(|context, name| {
        for params in kinds() {
            let first = draw(context, input.view(), &params);
            for _ in 0..5 {
                assert!(draw(context, input.view(), &params) == first, "{name} {params:?}");
            }
        }
    });
}

#[test]
fn pixel_types_agree_where_their_integers_do() {
    // u16 with the values of u8; f32 whose range makes the same steps.
    let bytes = picture(2, 60, 70);
    let words = bytes.mapv(u16::from);
    let wide = bytes.mapv(|pixel| u16::from(pixel) * 257);
    let floats = bytes.mapv(|pixel| f32::from(pixel) / 255.0);
    everywhere(|context, name| {
        for params in kinds() {
            let params = Params { gradient_threshold: Some(25.0), anchor_threshold: 3.0, ..params };
            let expected = draw(context, bytes.view(), &params);
            assert!(draw(context, words.view(), &params) == expected, "{name} {params:?}");
            // 65535 steps of 1/65535, thresholds in the floats' own units, against the same thresholds in steps.
            let unit = 65535.0;
            let params = Params { gradient_threshold: Some(25.0 * 257.0), anchor_threshold: 3.0 * 257.0, ..params };
            let expected = draw(context, wide.view(), &params);
            let params = Params {
                // A quarter of a step less than the whole number, so that no rounding can lift it over.
                gradient_threshold: Some((25.0 * 257.0 - 0.25) / unit),
                anchor_threshold: (3.0 * 257.0 - 0.25) / unit,
                range: Some([0.0, 1.0]),
                ..params
            };
            let got = draw(context, floats.view(), &params);
            assert_eq!(got.edges, expected.edges, "{name} {params:?}");
            assert_eq!(got.segments.points(), expected.segments.points(), "{name} {params:?}");
            for (got, expected) in got.segments.mean_gradients().iter().zip(expected.segments.mean_gradients()) {
                let wanted = expected / 65535.0;
                assert!((got - wanted).abs() <= 1e-6 * wanted, "{name}: {got} instead of {wanted}");
            }
        }
    });
}

#[test]
fn higher_thresholds_give_fewer_edges() {
    let input = photograph("camera").insert_axis(Axis(0));
    everywhere(|context, name| {
        for profile in PROFILES {
            let count = |params: &Params| draw(context, input.view(), params).edges.iter().filter(|e| **e > 0).count();
            for thresholds in [[0.0, 20.0, 60.0], [20.0, 60.0, 200.0]] {
                let counts = thresholds.map(|t| count(&Params { gradient_threshold: Some(t), ..all_of(profile) }));
                assert!(counts.is_sorted_by(|a, b| a > b), "{name} {profile:?}: {counts:?}");
            }
            let counts =
                [0.0, 8.0, 30.0].map(|anchor_threshold| count(&Params { anchor_threshold, ..all_of(profile) }));
            assert!(counts.is_sorted_by(|a, b| a > b), "{name} {profile:?}: {counts:?}");
        }
    });
}

#[test]
fn dropped_segments_are_the_short_ones() {
    let input = photograph("coins").insert_axis(Axis(0));
    everywhere(|context, name| {
        let every = draw(context, input.view(), &all_of(Profile::Paper));
        for min_length in [0, 2, 10, 40] {
            let some = draw(context, input.view(), &Params { min_length, ..all_of(Profile::Paper) });
            assert_eq!(some.edges, every.edges, "{name}: the map of the paper profile has no minimum");
            let wanted = every.segments.iter().filter(|segment| segment.points.len() >= min_length as usize);
            assert!(some.segments.iter().eq(wanted), "{name}, {min_length}");
        }
    });
}

#[test]
fn each_output_alone_is_the_same() {
    let input = picture(2, 60, 80);
    everywhere(|context, name| {
        for profile in PROFILES {
            let params = all_of(profile);
            let both = draw(context, input.view(), &params);
            let mut map = Array3::from_elem(input.dim(), 7u8);
            edge_drawing::run(context, input.view().into(), &params, None, Some(map.view_mut().into()), None).unwrap();
            assert_eq!(map, both.edges, "{name} {profile:?}");
            // Earlier contents of the segments are replaced.
            let mut segments = both.segments.clone();
            edge_drawing::run(context, input.view().into(), &params, None, None, Some(&mut segments)).unwrap();
            assert_eq!(segments, both.segments, "{name} {profile:?}");
        }
    });
}

#[test]
fn device_memory_gives_the_same_result() {
    let input = picture(2, 130, 170);
    let cpu = Context::new("cpu").unwrap();
    for context in contexts().into_iter().filter(|context| context.device().id != "cpu") {
        for params in kinds() {
            let expected = draw(&cpu, input.view(), &params);
            let mut resident = context.device_image(isoline::PixelType::U8, [170, 130, 2]).unwrap();
            resident.upload(input.view().into()).unwrap();
            let got = draw(&context, resident.view(), &params);
            assert!(got == expected, "{params:?}");
        }
    }
}

#[test]
fn flat_and_tiny_images_have_no_edges() {
    for (height, width) in [(1, 1), (1, 50), (50, 1), (2, 2), (3, 3), (4, 4), (5, 5), (33, 31)] {
        for grey in [0u8, 1, 128, 255] {
            let input = Array3::from_elem((1, height, width), grey);
            let bright = Array3::from_elem((1, height, width), 65535u16);
            let nothing = Array3::from_elem((1, height, width), f32::NAN);
            let images: [Image<'_>; 3] = [input.view().into(), bright.view().into(), nothing.view().into()];
            everywhere(|context, name| {
                for image in images {
                    for params in kinds() {
                        let drawn = draw(context, image, &Params { gradient_threshold: Some(0.0), ..params });
                        assert!(drawn.edges.iter().all(|edge| *edge == 0), "{name}");
                        assert!(drawn.segments.is_empty() && drawn.segments.offsets() == [0], "{name}");
                    }
                }
            });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, ..ProptestConfig::default() })]

    /// Any size, pixels, parameters and number of threads: the plain loops' result, of well-formed chains.
    #[test]
    fn any_image_on_any_number_of_threads(
        seed in any::<u64>(),
        size in [1usize..150, 1..60],
        grain in 1usize..9,
        threads in 1usize..9,
        operator in prop_oneof![Just(Operator::Sobel), Just(Operator::Prewitt), Just(Operator::Scharr)],
        threshold in prop_oneof![Just(0.0), 1.0..400.0f64],
        anchor_threshold in prop_oneof![Just(0.0), 0.0..60.0f64],
        scan_interval in 1u32..7,
        follow_turns in any::<bool>(),
    ) {
        let mut numbers = Numbers(seed);
        // Squares of equal pixels, so that there are flat parts, hard edges and (with a grain of 1) noise.
        let cells = Array2::from_shape_simple_fn((60, 150), || numbers.next(256) as u8);
        let input = Array3::from_shape_fn((1, size[1], size[0]), |(_, y, x)| cells[[y / grain, x / grain]]);
        let params = Params {
            operator,
            gradient_threshold: Some(threshold),
            anchor_threshold,
            scan_interval,
            follow_turns,
            ..all_of(Profile::Paper)
        };
        let plain = Params { variant: Variant::Scalar, ..params.clone() };
        let expected = draw(&Context::with_threads("cpu", 1).unwrap(), input.view(), &plain);
        let got = draw(&Context::with_threads("cpu", threads).unwrap(), input.view(), &params);
        prop_assert!(got == expected);
        crate::chains::check_chains(&got, "a random image");
        // The reference profile: the same on any number of threads, with all segments on its map.
        let params = Params { profile: Profile::Reference, ..params };
        let one = draw(&Context::with_threads("cpu", 1).unwrap(), input.view(), &params);
        let many = draw(&Context::with_threads("cpu", threads).unwrap(), input.view(), &params);
        prop_assert!(one == many);
        let on_map = |point: &Point| one.edges[[0, point.y as usize, point.x as usize]] == 255;
        let off = one.segments.points().iter().filter(|point| !on_map(point)).count();
        prop_assert_eq!(off, 0);
    }
}

#[test]
fn a_hot_pixel_changes_no_edge_beyond_its_own() {
    let image = picture(1, 70, 90).mapv(f32::from);
    everywhere(|context, name| {
        for params in kinds() {
            let params = Params { gradient_threshold: Some(60.0), ..params };
            let expected = draw(context, image.view(), &params).edges;
            assert!(expected.iter().any(|edge| *edge > 0), "{name} {params:?}");
            for (hot, dead) in [(1e6, -1e6), (f32::MAX, f32::MIN)] {
                let mut with = image.clone();
                (with[[0, 2, 2]], with[[0, 67, 87]]) = (hot, dead);
                let found = draw(context, with.view(), &params).edges;
                let far = |(_, y, x): (usize, usize, usize)| (9..61).contains(&y) && (9..81).contains(&x);
                let differing = found.indexed_iter().filter(|(at, edge)| far(*at) && expected[*at] != **edge).count();
                let edges = expected.indexed_iter().filter(|(at, edge)| far(*at) && **edge > 0).count();
                assert!(differing * 20 < edges, "{differing} of {edges}: {name} {params:?}");
            }
        }
    });
}

/// Differences of pixels exceed the largest number of single precision.
#[test]
fn pixels_up_to_the_largest_number_have_the_edges_of_small_ones() {
    let shift = 2f32.powi(-100);
    let steps = [-3e38f32, -1e38, 1.5e38, 3e38, f32::MAX, f32::MIN];
    let steps = Array3::from_shape_fn((1, 70, 90), |(_, _, x)| steps[x / 15]);
    let smooth = picture(2, 70, 90).mapv(|pixel| (f32::from(pixel) - 127.5) / 127.5 * f32::MAX);
    for large in [steps, smooth] {
        let small = large.mapv(|pixel| pixel * shift);
        everywhere(|context, name| {
            for params in kinds() {
                for variant in variants(context, &params) {
                    let params = Params { variant, gradient_threshold: Some(0.0), ..params.clone() };
                    let [found, wanted] = [&large, &small].map(|image| draw(context, image.view(), &params));
                    assert_eq!(found.edges, wanted.edges, "{name} {params:?}");
                    assert!(found.edges.iter().any(|edge| *edge > 0), "{name} {params:?}");
                    assert_eq!(found.segments.points(), wanted.segments.points(), "{name} {params:?}");
                    let gradients = found.segments.mean_gradients().iter().zip(wanted.segments.mean_gradients());
                    for (found, wanted) in gradients {
                        let wanted = (f64::from(*wanted) / f64::from(shift)).min(f64::from(f32::MAX)) as f32;
                        assert_eq!(*found, wanted, "{name} {params:?}");
                    }
                    let mut gradient = Array3::<f32>::zeros(large.dim());
                    let maps = Maps { gradient: Some(gradient.view_mut().into()), ..Maps::default() };
                    edge_drawing::maps(context, large.view().into(), &params, None, maps).unwrap();
                    assert!(gradient.iter().all(|gradient| gradient.is_finite()), "{name} {params:?}");
                }
            }
        });
    }
}
