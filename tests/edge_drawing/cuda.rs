//! The parts of the CUDA backend: slices in flight, tiles, traces that cross them. Its results must be the CPU's, bit for bit.

use super::common::{cancelling_after, cuda_and_cpu};
use super::{Drawn, draw, noise, photograph};
use isoline::edge_drawing::{self, Operator, Params, Profile, Segments, Validation};
use isoline::{Context, DeviceKind, DevicePixel, ErrorKind, Image, PixelType};
use ndarray::{Array2, Array3, ArrayView3, ArrayViewMut3, s};
use std::ops::ControlFlow;

fn assert_equal(got: &Drawn, expected: &Drawn, what: &str) {
    let wrong = got.edges.indexed_iter().zip(&expected.edges).find(|((_, got), expected)| *got != *expected);
    assert!(wrong.is_none(), "edges of {what}: {wrong:?}");
    assert!(got.segments == expected.segments, "segments of {what}");
}

fn shape_of(distance: impl Fn(f64, f64) -> bool, height: usize, width: usize) -> Array3<u8> {
    let centre = |n: usize| n as f64 / 2.0;
    Array3::from_shape_fn((1, height, width), |(_, y, x)| {
        if distance(x as f64 - centre(width), y as f64 - centre(height)) { 210 } else { 30 }
    })
}

/// Chains over thousands of pixels and hundreds of tiles, begun by many anchors and by few; noise, flat and saturated
/// ground; sides that are no multiple of anything.
#[test]
fn large_images_are_drawn_as_on_the_cpu() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    let images = [
        ("spiral", shape_of(|x, y| (x.hypot(y) + 8.0 * y.atan2(x)).rem_euclid(50.0) < 25.0, 2101, 2050)),
        ("circle", shape_of(|x, y| x.hypot(y) < 1900.0, 4096, 4096)),
        ("noise", noise(11, 1033, 1531)),
        ("constant", Array3::from_elem((1, 1500, 1029), 77)),
        ("saturated", noise(11, 1100, 1301).mapv(|pixel| if pixel > 250 { 255 } else { 0 })),
        ("tall", noise(11, 5003, 37)),
        ("wide", noise(11, 9, 20001)),
    ];
    for (name, image) in &images {
        for (scan_interval, anchor_threshold) in [(1, 0.0), (333, 0.0), (1, 60.0)] {
            for follow_turns in [false, true] {
                let params = Params { scan_interval, anchor_threshold, follow_turns, ..Params::default() };
                let expected = draw(&cpu, image.view(), &params);
                assert_equal(&draw(&cuda, image.view(), &params), &expected, &format!("{name}, {params:?}"));
            }
        }
    }
}

/// Pixels that are smoothed ahead, of sizes that are no multiple of a tile, in all types; the largest values do not overflow.
#[test]
fn large_images_are_smoothed_as_on_the_cpu() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    let images =
        [noise(11, 1033, 1531), noise(11, 1100, 1301).mapv(|p| if p > 128 { 255 } else { 0 }), noise(11, 9, 20001)];
    for bytes in &images {
        let words = bytes.mapv(|pixel| u16::from(pixel) * 257);
        let floats = bytes.mapv(f32::from);
        for sigma in [0.0, 0.6, 2.0, 10.0] {
            for (profile, operator) in [(Profile::Paper, Operator::Scharr), (Profile::Reference, Operator::Sobel)] {
                let params = Params { sigma, profile, operator, ..Params::default() };
                let images: [Image<'_>; 3] = [bytes.view().into(), words.view().into(), floats.view().into()];
                for image in images {
                    let what = format!("{:?}, {params:?}", image.pixel_type());
                    assert_equal(&draw(&cuda, image, &params), &draw(&cpu, image, &params), &what);
                }
            }
        }
    }
}

/// Slopes without noise have plateaus of equal gradients, where every pixel is an anchor or none is.
#[test]
fn plateaus_are_drawn_as_on_the_cpu() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    let ramps: [fn(usize, usize) -> usize; 4] = [|x, y| x + y, |x, _| 2 * x, |_, y| 3 * y, |x, y| x * y / 64];
    for ramp in ramps {
        let image = Array3::from_shape_fn((1, 401, 777), |(_, y, x)| (ramp(x, y) * 40 % 60_000) as u16);
        for follow_turns in [false, true] {
            let params = Params { follow_turns, gradient_threshold: Some(1.0), ..Params::default() };
            let expected = draw(&cpu, image.view(), &params);
            assert_equal(&draw(&cuda, image.view(), &params), &expected, &format!("{params:?}"));
        }
    }
}

fn stack(depth: usize, height: usize, width: usize) -> Array3<u8> {
    let photograph: Array2<u8> = photograph("camera");
    Array3::from_shape_fn((depth, height, width), |(z, y, x)| photograph[[(y + 11 * z) % 512, (x + 5 * z) % 512]])
}

/// More slices than are in flight, from and to host and device memory.
#[test]
fn a_stack_is_its_slices() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    let (depth, height, width) = (21, 150, 261);
    let stack = stack(depth, height, width);
    let each = [(1.0, Validation::None), (1.7, Validation::None), (1.0, Validation::FalseAlarms)];
    for (profile, (sigma, validation)) in
        [Profile::Paper, Profile::Reference].into_iter().flat_map(|profile| each.map(|other| (profile, other)))
    {
        // The automatic threshold would be that of the stack, or that of the slice.
        let params = Params { profile, sigma, validation, gradient_threshold: Some(20.0), ..Params::default() };
        let expected = draw(&cpu, stack.view(), &params);
        assert_equal(&draw(&cuda, stack.view(), &params), &expected, "a stack");
        for z in [0, 7, 20] {
            let slice = draw(&cuda, stack.slice(s![z..z + 1, .., ..]), &params);
            assert_eq!(slice.edges, expected.edges.slice(s![z..z + 1, .., ..]));
        }
        let mut source = cuda.device_image(PixelType::U8, [width, height, depth]).unwrap();
        source.upload(stack.view().into()).unwrap();
        let mut target = cuda.device_image(PixelType::U8, [width, height, depth]).unwrap();
        let mut segments = Segments::new();
        let report = edge_drawing::run(
            &cuda,
            source.view().into(),
            &params,
            None,
            Some(target.view_mut().into()),
            Some(&mut segments),
        )
        .unwrap();
        assert!(target.download::<u8>().unwrap() == expected.edges.as_slice().unwrap());
        assert!(segments == expected.segments);
        assert_eq!((report.device.kind, report.slices_done), (DeviceKind::Cuda, depth as u64));
        assert!(report.seconds_compute > 0.0 && report.peak_device_bytes > 0);
    }
}

/// Many slices in each launch, of every type, from and to host memory, page-locked memory and device memory.
#[test]
fn sanitizer_slices_of_one_launch_are_drawn_as_on_the_cpu() {
    fn check<T: DevicePixel>(cuda: &Context, cpu: &Context, stack: &Array3<T>, params: &Params)
    where
        for<'a> Image<'a>: From<ArrayView3<'a, T>>,
    {
        let (depth, height, width) = stack.dim();
        let [mut expected, mut host] = [0, 1].map(|_| Array3::<u8>::zeros(stack.raw_dim()));
        edge_drawing::run(cpu, Image::from(stack.view()).into(), params, None, Some(expected.view_mut().into()), None)
            .unwrap();
        assert!(expected.outer_iter().all(|slice| slice.iter().any(|pixel| *pixel == 255)));
        edge_drawing::run(cuda, Image::from(stack.view()).into(), params, None, Some(host.view_mut().into()), None)
            .unwrap();
        assert!(host == expected, "host memory, {params:?}");

        let mut locked = cuda.host_buffer(stack.len()).unwrap();
        let view = ArrayViewMut3::from_shape(stack.raw_dim(), locked.pixels_mut::<u8>()).unwrap();
        edge_drawing::run(cuda, Image::from(stack.view()).into(), params, None, Some(view.into()), None).unwrap();
        assert!(locked.pixels::<u8>() == expected.as_slice().unwrap(), "page-locked memory, {params:?}");

        let mut source = cuda.device_image(T::TYPE, [width, height, depth]).unwrap();
        source.upload(stack.view().into()).unwrap();
        let mut target = cuda.device_image(PixelType::U8, [width, height, depth]).unwrap();
        let output = Some(target.view_mut().into());
        let report = edge_drawing::run(cuda, source.view().into(), params, None, output, None).unwrap();
        assert!(target.download::<u8>().unwrap() == expected.as_slice().unwrap(), "device memory, {params:?}");
        assert_eq!((report.device.kind, report.slices_done), (DeviceKind::Cuda, depth as u64));
    }
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    // Launches of 11 and of 10 slices.
    let stack = stack(31, 150, 261);
    for (sigma, follow_turns) in [(1.0, false), (1.0, true), (1.7, false)] {
        let params = Params { sigma, follow_turns, gradient_threshold: Some(20.0), ..Params::default() };
        check(&cuda, &cpu, &stack, &params);
        check(&cuda, &cpu, &stack.mapv(u16::from), &params);
        check(&cuda, &cpu, &stack.mapv(f32::from), &params);
    }
}

/// A slice is either whole or as it was; a single image and segments are as they were.
#[test]
fn a_cancel_leaves_whole_slices() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    let stack = stack(60, 300, 400);
    for profile in [Profile::Paper, Profile::Reference] {
        let params = Params { profile, ..Params::default() };
        let expected = draw(&cpu, stack.view(), &params);
        for calls in [1, 2, 5] {
            let mut edges = Array3::from_elem(stack.raw_dim(), 7u8);
            let mut segments = expected.segments.clone();
            let mut seen = Vec::new();
            let input: ArrayView3<'_, u8> = stack.view();
            let outcome = edge_drawing::run(
                &cuda,
                input.into(),
                &params,
                Some(&mut cancelling_after(calls - 1, &mut seen)),
                Some(edges.view_mut().into()),
                Some(&mut segments),
            );
            assert!(segments == expected.segments);
            let Err(error) = outcome else { continue };
            assert_eq!(error.kind(), ErrorKind::Cancelled);
            for (slice, expected) in edges.outer_iter().zip(expected.edges.outer_iter()) {
                assert!(slice == expected || slice.iter().all(|pixel| *pixel == 7));
            }
            assert!(calls > 1 || edges.iter().all(|pixel| *pixel == 7));
        }
    }
}

/// If the cancel of a validated image comes before its end, its map in device memory is as it was.
#[test]
fn a_cancel_leaves_device_memory() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    let image = noise(11, 2048, 2048);
    let mut source = cuda.device_image(PixelType::U8, [2048, 2048, 1]).unwrap();
    source.upload(image.view().into()).unwrap();
    let mut target = cuda.device_image(PixelType::U8, [2048, 2048, 1]).unwrap();
    let before = Array3::from_elem(image.raw_dim(), 7u8);
    target.upload(before.view().into()).unwrap();
    for calls in 1..6 {
        let (mut count, mut done) = (0, 0.0);
        let mut stop = |fraction: f64, _: &str| {
            (count, done) = (count + 1, fraction);
            if count >= calls { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let params = Params { validation: Validation::FalseAlarms, ..Params::default() };
        let mut segments = Segments::new();
        let outcome = edge_drawing::run(
            &cuda,
            source.view().into(),
            &params,
            Some(&mut stop),
            Some(target.view_mut().into()),
            Some(&mut segments),
        );
        let Err(error) = outcome else { continue };
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        let is_untouched = target.download::<u8>().unwrap().iter().all(|pixel| *pixel == 7);
        assert!(is_untouched || done == 1.0, "{calls} calls, {done}");
        if !is_untouched {
            break;
        }
    }
}

#[test]
fn calls_that_do_not_fit_are_refused_or_fall_back_to_the_cpu() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    let image = stack(1, 512, 512);
    let params = Params::default();
    cuda.set_memory_limit(100_000);
    let mut edges = Array3::from_elem(image.raw_dim(), 7u8);
    let outcome = edge_drawing::run(&cuda, image.view().into(), &params, None, Some(edges.view_mut().into()), None);
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::OutOfMemory);
    assert!(edges.iter().all(|pixel| *pixel == 7));
    let auto = Context::new("auto").unwrap();
    auto.set_memory_limit(100_000);
    let report =
        edge_drawing::run(&auto, image.view().into(), &params, None, Some(edges.view_mut().into()), None).unwrap();
    assert_eq!(report.device.kind, DeviceKind::Cpu);
    assert_eq!(edges, draw(&cpu, image.view(), &params).edges);
    // Enough for one slot, not for all.
    cuda.set_memory_limit(4_000_000);
    let stack = stack(12, 512, 512);
    assert_equal(&draw(&cuda, stack.view(), &params), &draw(&cpu, stack.view(), &params), "one slice at a time");
}
