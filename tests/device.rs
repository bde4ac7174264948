//! Tests of devices and contexts through the public Rust API. Tests that need a CUDA device are skipped, with the
//! reason, where there is none.

mod common;

use common::{cancelling_after, cuda};
use isoline::edge_strength::{self, Mode, Params, Variant};
use isoline::{Context, DeviceKind, ErrorKind, PixelType, devices};
use ndarray::{Array2, Array3, s};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Returns an image with a few shape pixels, different for each seed.
fn drawing(depth: usize, height: usize, width: usize, seed: usize) -> Array3<u8> {
    Array3::from_shape_fn((depth, height, width), |(z, y, x)| {
        if (x * 7 + y * 13 + z * 29 + seed * 3).is_multiple_of(101) { 255 } else { 0 }
    })
}

fn strength(context: &Context, input: &Array3<u8>, params: &Params) -> isoline::Result<Array3<f32>> {
    let mut output = Array3::from_elem(input.dim(), -1.0f32);
    edge_strength::run(context, input.view().into(), params, None, output.view_mut().into())?;
    Ok(output)
}

#[test]
fn contexts_can_move_to_other_threads() {
    fn check<T: Send + Sync>() {}
    check::<Context>();
    check::<isoline::Error>();
}

#[test]
fn every_device_has_a_reason() {
    let all = devices();
    assert_eq!(all[0].kind, DeviceKind::Cpu);
    assert!(all[0].usable && all[0].total_memory > 0 && all[0].free_memory > 0);
    assert!(all.len() >= 2, "CUDA is listed even where it cannot be used");
    for device in &all {
        assert!(!device.reason.is_empty() && !device.name.is_empty());
        println!("{}: {} ({})", device.id, device.name, device.reason);
    }
}

#[test]
fn named_device_never_falls_back() {
    if devices().iter().any(|device| device.kind == DeviceKind::Cuda && device.usable) {
        let missing = Context::new("cuda:1000").unwrap_err();
        assert!(missing.message().contains("cuda:1000"), "{missing}");
    } else {
        let error = Context::new("cuda:0").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeviceUnavailable);
        let reason = &devices()[1].reason;
        assert!(error.message().contains(reason.as_str()), "{error} / {reason}");
        // The list has an entry of this name if there is no device.
        for name in ["cuda", "cuda:0", "cuda:all"].into_iter().filter(|_| devices()[1].id == "cuda") {
            let error = Context::new(name).unwrap_err();
            assert!(error.message().starts_with(&format!("cannot use {name}: {reason}")), "{error}");
            assert!(error.message().ends_with(" choose the device auto or cpu"), "{error}");
        }
    }
}

#[test]
fn contexts_can_be_made_and_dropped_many_times() {
    for _ in 0..200 {
        let context = Context::new("auto").unwrap();
        assert!(context.device().usable);
    }
}

#[test]
fn two_contexts_run_at_the_same_time() {
    let input = drawing(1, 300, 400, 1);
    let expected = strength(&Context::new("auto").unwrap(), &input, &Params::default()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let context = Context::new("auto").unwrap();
                for _ in 0..5 {
                    assert_eq!(strength(&context, &input, &Params::default()).unwrap(), expected);
                }
            });
        }
    });
}

#[test]
fn one_context_runs_one_call_at_a_time() {
    let context = Context::new("auto").unwrap();
    let inputs: Vec<_> = (0..4).map(|seed| drawing(2, 130, 170, seed)).collect();
    let expected: Vec<_> = inputs.iter().map(|input| strength(&context, input, &Params::default()).unwrap()).collect();
    std::thread::scope(|scope| {
        for (input, expected) in inputs.iter().zip(&expected) {
            let context = &context;
            scope.spawn(move || {
                for _ in 0..5 {
                    assert_eq!(&strength(context, input, &Params::default()).unwrap(), expected);
                }
            });
        }
    });
}

#[test]
fn reentrant_call_is_refused() {
    let context = Context::new("auto").unwrap();
    let input = drawing(1, 64, 64, 0);
    let mut output = Array3::<f32>::zeros(input.dim());
    let mut seen = None;
    let mut callback = |_: f64, _: &str| {
        seen.get_or_insert_with(|| strength(&context, &input, &Params::default()).unwrap_err().kind());
        ControlFlow::Continue(())
    };
    edge_strength::run(
        &context,
        input.view().into(),
        &Params::default(),
        Some(&mut callback),
        output.view_mut().into(),
    )
    .unwrap();
    assert_eq!(seen, Some(ErrorKind::Busy));
}

#[test]
fn cpu_refuses_device_images_and_cuda_variants() {
    let context = Context::new("cpu").unwrap();
    assert_eq!(context.device_image(PixelType::U8, [4, 4, 1]).unwrap_err().kind(), ErrorKind::Unsupported);
    for variant in [Variant::Shared, Variant::Texture] {
        let error = strength(&context, &drawing(1, 8, 8, 0), &Params { variant, ..Params::default() }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
}

#[test]
fn cuda_memory_limit_refuses_by_name_and_falls_back_under_auto() {
    let Some(context) = cuda() else { return };
    let input = drawing(1, 256, 256, 0);
    context.set_memory_limit(1000);
    let error = strength(&context, &input, &Params::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert!(error.message().contains("1000 bytes"), "{error}");
    context.set_memory_limit(0);
    strength(&context, &input, &Params::default()).unwrap();

    let automatic = Context::new("auto").unwrap();
    automatic.set_memory_limit(1000);
    let mut output = Array3::<f32>::zeros(input.dim());
    let report =
        edge_strength::run(&automatic, input.view().into(), &Params::default(), None, output.view_mut().into())
            .unwrap();
    assert_eq!(report.device.kind, DeviceKind::Cpu);
}

#[test]
fn cuda_memory_is_pooled_trimmed_and_freed() {
    let Some(context) = cuda() else { return };
    let input = drawing(3, 200, 300, 0);
    strength(&context, &input, &Params::default()).unwrap();
    let held = context.device_memory_held();
    assert!(held > 0);
    for _ in 0..100 {
        strength(&context, &input, &Params::default()).unwrap();
    }
    assert_eq!(context.device_memory_held(), held, "the same call reuses the same memory");
    context.trim();
    assert_eq!(context.device_memory_held(), 0);
}

#[test]
fn cuda_device_images_match_host_images() {
    let Some(context) = cuda() else { return };
    let input = drawing(3, 65, 131, 2);
    for dimensions in [edge_strength::Dimensions::Slices, edge_strength::Dimensions::Volume] {
        let params = Params { dimensions, ..Params::default() };
        let expected = strength(&context, &input, &params).unwrap();
        let mut source = context.device_image(PixelType::U8, [131, 65, 3]).unwrap();
        source.upload(input.view().into()).unwrap();
        let mut target = context.device_image(PixelType::F32, [131, 65, 3]).unwrap();
        edge_strength::run(&context, source.view().into(), &params, None, target.view_mut().into()).unwrap();
        assert_eq!(target.download::<f32>().unwrap(), expected.into_raw_vec_and_offset().0);
    }
}

#[test]
fn cuda_device_images_download_in_their_own_type() {
    let Some(context) = cuda() else { return };
    let bytes = Array3::from_shape_fn((2, 5, 7), |(z, y, x)| (x + 10 * y + 100 * z) as u8);
    let words = bytes.mapv(|pixel| u16::from(pixel) * 257);
    let floats = bytes.mapv(|pixel| f32::from(pixel) - 0.5);
    let shape = [7, 5, 2];
    let mut image = context.device_image(PixelType::U8, shape).unwrap();
    image.upload(bytes.view().into()).unwrap();
    assert_eq!(image.download::<u8>().unwrap(), bytes.as_slice().unwrap());
    let error = image.download::<f32>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidType);
    assert!(error.message().contains("uint8") && error.message().contains("float32"), "{error}");
    let mut image = context.device_image(PixelType::U16, shape).unwrap();
    image.upload(words.view().into()).unwrap();
    assert_eq!(image.download::<u16>().unwrap(), words.as_slice().unwrap());
    let mut image = context.device_image(PixelType::F32, shape).unwrap();
    image.upload(floats.view().into()).unwrap();
    assert_eq!(image.download::<f32>().unwrap(), floats.as_slice().unwrap());
}

#[test]
fn cuda_copies_images_of_any_size_and_layout() {
    let Some(context) = cuda() else { return };
    // One pixel, one row that is longer than a staging buffer, slices of which several fit a buffer and slices that
    // take several, and a size that ends within a part.
    let shapes = [(1, 1, 1), (2, 3, 300_001), (70, 31, 257), (3, 1021, 1031), (1, 4000, 1100)];
    let copy = |shape: (usize, usize, usize)| {
        let all = Array3::from_shape_fn((shape.0, shape.1 + 3, 2 * shape.2), |(z, y, x)| {
            (z * 1_000_003 + y * 10_007 + x) as f32
        });
        let crop = all.slice(s![.., 2..shape.1 + 2, 1..=shape.2]);
        let apart = all.slice(s![.., 1..=shape.1, ..;2]);
        let backwards = all.slice(s![..;-1, 3..;-1, ..shape.2]);
        let turned = apart.permuted_axes([1, 0, 2]);
        let whole = crop.to_owned();
        for view in [whole.view(), crop, apart, backwards, turned] {
            let (depth, height, width) = view.dim();
            let mut image = context.device_image(PixelType::F32, [width, height, depth]).unwrap();
            image.upload(view.into()).unwrap();
            let back = Array3::from_shape_vec(view.dim(), image.download::<f32>().unwrap()).unwrap();
            assert!(back == view, "{:?} with strides {:?}", view.dim(), view.strides());
        }
    };
    shapes.into_iter().for_each(copy);
    // Several threads share the device's staging buffers.
    std::thread::scope(|scope| {
        for shape in [shapes[1], shapes[2], shapes[3], shapes[4]] {
            scope.spawn(move || (0..3).for_each(|_| copy(shape)));
        }
    });
}

#[test]
fn cuda_automatic_range_matches_the_cpu() {
    let Some(context) = cuda() else { return };
    let cpu = Context::new("cpu").unwrap();
    let input =
        Array2::from_shape_fn((50, 70), |(y, x)| (x as f32 - 30.0) * (y as f32 - 20.5)).insert_axis(ndarray::Axis(0));
    let params = Params {
        start: edge_strength::Start::Input(None),
        threshold: 600.0,
        mode: Mode::Iterate { iterations: 3 },
        ..Params::default()
    };
    let mut expected = Array3::<f32>::zeros(input.dim());
    edge_strength::run(&cpu, input.view().into(), &params, None, expected.view_mut().into()).unwrap();
    let mut source = context.device_image(PixelType::F32, [70, 50, 1]).unwrap();
    source.upload(input.view().into()).unwrap();
    let mut target = context.device_image(PixelType::F32, [70, 50, 1]).unwrap();
    edge_strength::run(&context, source.view().into(), &params, None, target.view_mut().into()).unwrap();
    let got = Array3::from_shape_vec(input.dim(), target.download().unwrap()).unwrap();
    common::assert_same(&got, &expected, "from device memory");
}

#[test]
fn cuda_cancellation_leaves_the_output_untouched_and_the_context_usable() {
    let Some(context) = cuda() else { return };
    let input = drawing(1, 2048, 2048, 0);
    let mut output = Array3::from_elem(input.dim(), -1.0f32);
    let mut seen = Vec::new();
    let mut callback = cancelling_after(3, &mut seen);
    let params = Params { mode: Mode::Iterate { iterations: 1_000_000 }, ..Params::default() };
    let started = std::time::Instant::now();
    let error =
        edge_strength::run(&context, input.view().into(), &params, Some(&mut callback), output.view_mut().into())
            .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(started.elapsed().as_millis() < 500, "{:?}", started.elapsed());
    assert!(output.iter().all(|value| *value == -1.0));
    strength(&context, &input, &Params::default()).unwrap();
}

#[test]
fn a_long_call_does_not_hold_up_a_short_one_of_another_context() {
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 32) {
        return eprintln!("skipped, contexts share their threads on more than 32 cores");
    }
    let (long, short) = (Context::new("cpu").unwrap(), Context::new("cpu").unwrap());
    let (large, small) = (drawing(1, 1200, 1200, 1), drawing(1, 60, 60, 2));
    let of = |iterations| Params { mode: Mode::Iterate { iterations }, threshold: 200.0, ..Params::default() };
    let started = Instant::now();
    let (ended, longest) = std::thread::scope(|scope| {
        let call = scope.spawn(|| {
            strength(&long, &large, &of(1500)).unwrap();
            started.elapsed()
        });
        let mut longest = Duration::ZERO;
        while !call.is_finished() {
            let begun = Instant::now();
            strength(&short, &small, &of(20)).unwrap();
            longest = longest.max(begun.elapsed());
        }
        (call.join().unwrap(), longest)
    });
    assert!(longest < ended / 4, "a call of a millisecond took {longest:?} beside one of {ended:?}");
}
