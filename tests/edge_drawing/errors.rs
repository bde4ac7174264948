//! Invalid calls are refused by name, and a refused call leaves its outputs untouched.

use crate::common::{cancelling_after, noting};
use crate::{PROFILES, all_of, contexts, draw, everywhere, picture};
use isoline::edge_drawing::{self, Maps, Params, Profile, Segments, Variant};
use isoline::{Context, Error, ErrorKind, Image, ImageMut};
use ndarray::{Array3, s};

/// Segments of an earlier call, to test that a failed one leaves them untouched.
fn earlier_segments(context: &Context) -> Segments {
    let params = Params { gradient_threshold: Some(20.0), ..all_of(Profile::Paper) };
    let segments = draw(context, picture(1, 20, 30).view(), &params).segments;
    assert!(!segments.is_empty());
    segments
}

/// Returns the error of a call on `input`, after a check that map and segments are untouched.
fn refused_for(context: &Context, input: Image<'_>, params: &Params) -> Error {
    let [width, height, depth] = input.shape();
    let mut edges = Array3::from_elem((depth, height, width), 7u8);
    let before = earlier_segments(context);
    let mut segments = before.clone();
    let error =
        edge_drawing::run(context, input.into(), params, None, Some(edges.view_mut().into()), Some(&mut segments))
            .unwrap_err();
    assert!(edges.iter().all(|edge| *edge == 7), "{error}");
    assert_eq!(segments, before, "{error}");
    error
}

#[test]
fn bad_parameters_are_refused_by_name() {
    type Change = fn(&mut Params);
    let cases: [(&str, Change); 16] = [
        ("gradient_threshold", |p| p.gradient_threshold = Some(f64::NAN)),
        ("gradient_threshold", |p| p.gradient_threshold = Some(f64::INFINITY)),
        ("gradient_threshold", |p| p.gradient_threshold = Some(-1.0)),
        ("anchor_threshold", |p| p.anchor_threshold = f64::NAN),
        ("anchor_threshold", |p| p.anchor_threshold = f64::NEG_INFINITY),
        ("anchor_threshold", |p| p.anchor_threshold = -1.0),
        ("scan_interval", |p| p.scan_interval = 0),
        ("sigma", |p| p.sigma = -0.1),
        ("sigma", |p| p.sigma = 10.1),
        ("sigma", |p| p.sigma = f64::NAN),
        ("range_min", |p| p.range = Some([f64::NAN, 1.0])),
        ("range_max", |p| p.range = Some([0.0, f64::INFINITY])),
        ("range_min", |p| p.range = Some([1.0, 1.0])),
        ("range_max", |p| p.range = Some([2.0, 1.0])),
        ("range_min", |p| p.range = Some([f64::NEG_INFINITY, 1.0])),
        ("range_max", |p| p.range = Some([0.0, f64::NAN])),
    ];
    let input = picture(1, 12, 14).mapv(f32::from);
    everywhere(|context, name| {
        for (word, change) in cases {
            for profile in PROFILES {
                let mut params = all_of(profile);
                change(&mut params);
                let error = refused_for(context, input.view().into(), &params);
                assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name}: {error}");
                assert!(error.message().contains(word), "{name}: {error} does not name {word}");
            }
        }
    });
}

#[test]
fn a_range_is_for_floats() {
    let (bytes, words) = (picture(1, 12, 14), picture(1, 12, 14).mapv(u16::from));
    everywhere(|context, _| {
        let params = Params { range: Some([0.0, 100.0]), ..Params::default() };
        for input in [Image::from(bytes.view()), Image::from(words.view())] {
            let error = refused_for(context, input, &params);
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains("range") && error.message().contains("float32"), "{error}");
        }
    });
}

#[test]
fn the_scalar_variant_is_the_paper_on_the_cpu() {
    let input = picture(1, 12, 14);
    for context in contexts() {
        let cpu = context.device().id == "cpu";
        for profile in PROFILES {
            let params = Params { variant: Variant::Scalar, ..all_of(profile) };
            if cpu && profile == Profile::Paper {
                draw(&context, input.view(), &params);
            } else {
                assert_eq!(refused_for(&context, input.view().into(), &params).kind(), ErrorKind::Unsupported);
            }
        }
    }
}

#[test]
fn at_least_one_output_is_required() {
    let input = picture(1, 12, 14);
    everywhere(|context, _| {
        let params = Params::default();
        let error = edge_drawing::run(context, input.view().into(), &params, None, None, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let error = edge_drawing::maps(context, input.view().into(), &params, None, Maps::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    });
}

#[test]
fn sizes_and_types_must_fit() {
    let input = picture(2, 8, 9);
    everywhere(|context, name| {
        let params = Params::default();
        let mut small = Array3::from_elem((2, 9, 8), 7u8);
        let error = edge_drawing::run(context, input.view().into(), &params, None, Some(small.view_mut().into()), None)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidSize, "{name}: {error}");
        assert!(small.iter().all(|edge| *edge == 7));

        for empty in [s![..0, .., ..], s![.., ..0, ..], s![.., .., ..0]] {
            let mut segments = Segments::new();
            let none = input.slice(empty);
            let error = edge_drawing::run(context, none.into(), &params, None, None, Some(&mut segments)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidSize, "{name}: {error}");
        }

        let mut floats = Array3::from_elem(input.dim(), -1.0f32);
        let mut words = Array3::from_elem(input.dim(), 7u16);
        for wrong in [ImageMut::from(floats.view_mut()), ImageMut::from(words.view_mut())] {
            let error =
                edge_drawing::run(context, input.view().into(), &params, None, Some(wrong.into()), None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidType, "{name}: {error}");
            assert!(error.message().contains("edge") && error.message().contains("uint8"), "{name}: {error}");
        }
        let maps = Maps { smoothed: Some(ImageMut::from(words.view_mut()).into()), ..Maps::default() };
        let error = edge_drawing::maps(context, input.view().into(), &params, None, maps).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidType, "{name}: {error}");
        let maps = Maps { gradient: Some(ImageMut::from(words.view_mut()).into()), ..Maps::default() };
        let error = edge_drawing::maps(context, input.view().into(), &params, None, maps).unwrap_err();
        assert!(error.message().contains("gradient") && error.message().contains("float32"), "{name}: {error}");
        assert!(floats.iter().all(|value| *value == -1.0) && words.iter().all(|value| *value == 7));
    });
}

#[test]
fn sides_that_points_cannot_count_are_refused() {
    // The image is one pixel, repeated by strides of 0: nothing may be read before the size is refused.
    let pixel = Array3::<u8>::zeros((1, 1, 1));
    everywhere(|context, name| {
        for size in [(1, 1, 1usize << 32), (1, 1 << 32, 1), (1 << 32, 1, 1)] {
            let mut segments = Segments::new();
            let input = pixel.broadcast(size).unwrap();
            let error = edge_drawing::run(context, input.into(), &Params::default(), None, None, Some(&mut segments))
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidSize, "{name}: {error}");
            assert!(error.message().contains("4294967295"), "{name}: {error}");
        }
    });
}

#[test]
fn a_cancelled_call_leaves_segments_untouched() {
    let input = picture(1, 900, 1100);
    everywhere(|context, name| {
        for profile in PROFILES {
            for allowed in [0, 1] {
                let mut edges = Array3::from_elem(input.dim(), 7u8);
                let before = earlier_segments(context);
                let mut segments = before.clone();
                let mut seen = Vec::new();
                let done = edge_drawing::run(
                    context,
                    input.view().into(),
                    &all_of(profile),
                    Some(&mut cancelling_after(allowed, &mut seen)),
                    Some(edges.view_mut().into()),
                    Some(&mut segments),
                );
                match done {
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Cancelled, "{name} {profile:?}");
                        assert!(allowed > 0 || edges.iter().all(|edge| *edge == 7), "{name} {profile:?}");
                        assert_eq!(segments, before, "{name} {profile:?}");
                    }
                    // A fast device may be done before the second call of the callback, never before the first.
                    Ok(_) => assert!(seen.len() <= allowed && allowed > 0, "{name} {profile:?}: {seen:?}"),
                }
            }
        }
    });
}

#[test]
fn progress_of_a_stack_is_monotonic() {
    let input = picture(9, 200, 300);
    everywhere(|context, name| {
        for profile in PROFILES {
            let mut fractions = vec![];
            let mut segments = Segments::new();
            let params = all_of(profile);
            let report = edge_drawing::run(
                context,
                input.view().into(),
                &params,
                Some(&mut noting(&mut fractions)),
                None,
                Some(&mut segments),
            )
            .unwrap();
            assert_eq!(report.slices_done, 9, "{name}");
            assert!(!fractions.is_empty() && fractions.is_sorted(), "{name}: {fractions:?}");
            assert!(fractions[0] < 0.5 && fractions[fractions.len() - 1] <= 1.0, "{name}: {fractions:?}");
        }
    });
}
