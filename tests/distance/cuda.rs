//! Tests of the distance on each device: progress and cancellation, and CUDA against the CPU, where there is a CUDA device, also
//! for volumes that do not fit the memory of a GPU, of which a small memory limit makes one of any volume: they are cut, and
//! have the bits of those that fit. Tests named `sanitizer_` run every CUDA kernel of the distance at least once, on images
//! small enough for NVIDIA's compute-sanitizer (see `scripts/gpu-run.sh`).

use super::common::{cuda_and_cpu, exact_distance, few_sizes, least_of_three, noting, random_words};
use super::*;
use ndarray::ArrayViewMut3;

// ------------------------------------------------------------------------------------------- progress and cancellation

/// A cancellation at any call of the callback ends the call, before it has begun without a change of the output. A call that
/// is not cancelled reports progress and has the result of one without a callback.
#[test]
fn cancelled_call_is_an_error_and_the_next_one_is_right() {
    let mask = blobs((30, 300, 400), 9);
    everywhere(|context, device| {
        for dimensions in BOTH {
            let params = Params { dimensions, ..Params::default() };
            let expected = measure(context, mask.view(), &params);
            for allowed in [0, 1, 2, 3, 4, 6, usize::MAX] {
                let mut output = Array3::from_elem(mask.dim(), 7.25f32);
                let mut fractions = vec![];
                let mut callback = |fraction: f64, stage: &str| {
                    assert!((0.0..=1.0).contains(&fraction) && !stage.is_empty());
                    fractions.push(fraction);
                    if fractions.len() > allowed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                let target = output.view_mut().into();
                let done = distance::run(context, mask.view().into(), &params, Some(&mut callback), target);
                assert!(fractions[0] < 0.5 && fractions.is_sorted(), "{device}: {fractions:?}");
                match done {
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Cancelled, "{device}: {error}");
                        let is_untouched = output.iter().all(|value| *value == 7.25);
                        assert!(allowed > 0 || is_untouched, "{dimensions:?} on {device}");
                        assert_eq!(measure(context, mask.view(), &params), expected);
                    }
                    // The call may end before the next call of the callback, but never before the first.
                    Ok(report) => {
                        assert!(fractions.len() <= allowed && allowed > 0, "{device}: {fractions:?}");
                        assert_eq!(output, expected);
                        assert_eq!(report.slices_done, 30, "{device}");
                        assert!(report.seconds_compute > 0.0 && report.seconds_total >= report.seconds_compute);
                    }
                }
            }
        }
    });
}

/// Returns the time that a call takes to end after its callback cancelled it, from a fraction on: the least of three. It
/// is 0 if a GPU is done before the callback is asked.
fn time_to_cancel(context: &Context, mask: &Array3<u8>, params: &Params, from: f64) -> Duration {
    let mut output = Array3::from_elem(mask.dim(), 7.25f32);
    let once = || {
        let (mut asked, mut calls): (Option<Instant>, _) = (None, 0);
        let mut callback = |fraction: f64, _: &str| {
            if asked.is_none() && fraction >= from {
                asked = Some(Instant::now());
            }
            calls += usize::from(asked.is_some());
            if asked.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        output.fill(7.25);
        let target = output.view_mut().into();
        let done = distance::run(context, mask.view().into(), params, Some(&mut callback), target);
        let took = asked.map_or(Duration::ZERO, |asked| asked.elapsed());
        match done {
            Err(error) => {
                assert_eq!((error.kind(), calls), (ErrorKind::Cancelled, 1), "{error}");
                assert!(from > 0.0 || output.iter().all(|value| *value == 7.25));
            }
            Ok(_) => assert!(context.device().kind == DeviceKind::Cuda && asked.is_none() && from > 0.0, "from {from}"),
        }
        took
    };
    least_of_three(once)
}

#[test]
fn cancellation_acts_in_time() {
    // The CPU has one thread, so that a fast machine does not finish before the cancellation.
    let cpu = Context::with_threads("cpu", 1).expect("a thread");
    let contexts: Vec<Context> = std::iter::once(cpu).chain(Context::new("cuda").ok()).collect();
    // The calls take long enough to be cancelled: one plane, a volume, and a stack.
    for (shape, dimensions) in [
        ((1, 6000, 6000), Dimensions::Volume),
        ((160, 480, 480), Dimensions::Volume),
        ((160, 480, 480), Dimensions::Slices),
    ] {
        let (mask, params) = (blobs(shape, 2), Params { dimensions, ..Params::default() });
        for context in &contexts {
            let took = time_to_cancel(context, &mask, &params, 0.1);
            let device = &context.device().id;
            assert!(took < Duration::from_millis(100), "{shape:?} {dimensions:?} on {device}: {took:?}");
        }
    }
}

#[test]
fn passes_are_cancelled_before_anything_is_written() {
    let context = Context::new("cpu").expect("a CPU");
    let values = Array3::<f32>::ones((3, 4, 5));
    for axis in 0..3 {
        let mut output = Array3::from_elem((3, 4, 5), f32::NAN);
        let mut stages = vec![];
        let mut cancel = |fraction: f64, stage: &str| {
            stages.push((fraction, stage.to_owned()));
            ControlFlow::Break(())
        };
        let (input, target) = (values.view().into(), output.view_mut().into());
        let error = distance::pass(&context, input, axis, &Params::default(), Some(&mut cancel), target).unwrap_err();
        assert_eq!((error.kind(), &stages[..]), (ErrorKind::Cancelled, &[(0.0, "distance".to_owned())][..]));
        assert!(output.iter().all(|value| value.is_nan()));
    }
}

// ------------------------------------------------------------------------------------------------ CUDA against the CPU

/// Depth, height and width.
type Shape = (usize, usize, usize);

/// One pixel, lines along each axis, sizes below and above an octet and a block of columns, and several of both.
#[rustfmt::skip]
const SMALL_SHAPES: [Shape; 10] = [
    (1, 1, 1), (1, 1, 1100), (1, 45, 1), (33, 1, 1), (1, 8, 17), (7, 1, 40), (2, 9, 33), (9, 70, 31), (17, 16, 45), (66, 5, 6),
];
const FEW_SHAPES: [Shape; 2] = [(1, 40, 70), (9, 17, 21)];
/// Equal spacings, spacings whose ratios have squares that are multiples of a quarter, and others.
const FEW_SPACINGS: [[f64; 3]; 3] = [[1.0; 3], [1.0, 1.5, 2.5], [0.3, 0.7, 2.1]];

/// Lengths of columns that take 16, 8, 4, 2 and 1 per block on a GPU with much shared memory, and one too long for it.
const COLUMNS: [usize; 6] = [1024, 1025, 7000, 14_000, 30_000, 70_000];
const FEW_COLUMNS: [usize; 6] = [520, 1025, 6500, 12_500, 25_000, 52_000];

/// Returns a mask: few inside pixels, noise, few outside pixels, a ball (its centre is equally far from its whole
/// border), or no inside pixel.
fn mask(shape: Shape, kind: usize) -> Array3<u8> {
    let mut next = random_words(11);
    Array3::from_shape_fn(shape, |(z, y, x)| {
        let random = next();
        let of = |p: usize, n: usize| ((p as f64 + 0.5) / n as f64 - 0.5).powi(2);
        let inside = match kind {
            0 => random >> 16 < 300,
            1 => random >> 31 == 0,
            2 => random >> 16 > 300,
            3 => of(x, shape.2) + of(y, shape.1) + of(z, shape.0) < 0.15,
            _ => false,
        };
        u8::from(inside) * 9
    })
}
const KINDS: usize = 5;

fn all_params() -> Vec<Params> {
    let mut all = vec![];
    for spacing in [[1.0; 3], [0.25; 3], [1.0, 1.5, 2.5], [0.2, 0.2, 0.3], [0.8, 1.3, 0.31], [0.9, 1.0, 0.97]] {
        for dimensions in BOTH {
            for region in REGIONS {
                all.push(Params { dimensions, region, ..spaced(spacing) });
            }
        }
    }
    all
}

/// Fails unless the results have the same bits where a float holds 4 d² exactly, and agree within a few parts in 10⁷
/// elsewhere.
fn assert_same(got: &Array3<f32>, expected: &Array3<f32>, params: &Params) {
    let exact_below = exact_distance(got.dim(), params);
    for ((index, got), expected) in got.indexed_iter().zip(expected) {
        let exact = f64::from(expected.abs()) < exact_below || expected.is_infinite();
        let same = got == expected || (!exact && (got - expected).abs() <= 1e-6 * expected.abs());
        assert!(same, "{got:e} instead of {expected:e} at {index:?}, {params:?}");
    }
}

/// Compares both devices, and returns CUDA's result.
fn compare([cuda, cpu]: &[Context; 2], input: Image<'_>, params: &Params) -> Array3<f32> {
    let expected = measure(cpu, input, params);
    let got = measure(cuda, input, params);
    assert_same(&got, &expected, params);
    got
}

/// Compares a call whose images are in device memory with the CPU, and returns its peak of device memory beside them.
fn compare_resident([cuda, cpu]: &[Context; 2], mask: &Array3<u8>, params: &Params) -> u64 {
    let (depth, height, width) = mask.dim();
    let expected = measure(cpu, mask.view(), params);
    let mut source = cuda.device_image(PixelType::U8, [width, height, depth]).unwrap();
    source.upload(mask.view().into()).unwrap();
    let mut target = cuda.device_image(PixelType::F32, [width, height, depth]).unwrap();
    let report = distance::run(cuda, source.view().into(), params, None, target.view_mut().into()).unwrap();
    let got = Array3::from_shape_vec(mask.dim(), target.download::<f32>().unwrap()).unwrap();
    assert_same(&got, &expected, params);
    assert_eq!((report.device.kind, report.slices_done), (DeviceKind::Cuda, depth as u64));
    assert!(report.seconds_compute > 0.0);
    // The CPU cannot read device memory.
    let mut host = Array3::<f32>::zeros(mask.dim());
    let error = distance::run(cpu, source.view().into(), params, None, host.view_mut().into()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    report.peak_device_bytes
}

#[test]
fn cuda_agrees_with_the_cpu() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let mut numbers = Numbers(5);
    let mut masks: Vec<Array3<u8>> =
        [(1, 1, 1), (1, 300, 411), (65, 33, 129), (130, 64, 128), (5, 1027, 3), (3, 2, 2051), (1, 2100, 2300)]
            .into_iter()
            .map(|shape| blobs(shape, 11))
            .collect();
    for (shape, one_in) in [((1, 700, 900), 100_000), ((90, 100, 110), 50_000), ((40, 50, 60), 2), ((9, 9, 9), 100)] {
        masks.push(Array3::from_shape_simple_fn(shape, || u8::from(numbers.next(one_in) == 0)));
    }
    // The spacing of an axis of one pixel is ignored.
    masks.push(blobs((130, 90, 1), 3));
    // One class has a single pixel, in a corner.
    let mut corner = Array3::<u8>::zeros((70, 90, 1300));
    corner[[69, 0, 1299]] = 1;
    masks.push(corner);
    for mask in &masks {
        for params in all_params() {
            let got = compare(&contexts, mask.view().into(), &params);
            assert!(got == measure(&contexts[0], mask.view(), &params), "repeated: {:?} {params:?}", mask.dim());
        }
    }
}

#[test]
fn masks_and_results_may_stay_on_the_device() {
    let Some(contexts) = cuda_and_cpu() else { return };
    for params in all_params() {
        compare_resident(&contexts, &blobs((37, 101, 203), 4), &params);
    }
}

#[test]
fn cancelled_call_leaves_device_memory_untouched() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    let mask = blobs((1, 2048, 2048), 4);
    let mut source = cuda.device_image(PixelType::U8, [2048, 2048, 1]).unwrap();
    source.upload(mask.view().into()).unwrap();
    let mut target = cuda.device_image(PixelType::F32, [2048, 2048, 1]).unwrap();
    let before = Array3::from_elem(mask.dim(), 7.0f32);
    target.upload(before.view().into()).unwrap();
    let mut stop = |_: f64, _: &str| ControlFlow::Break(());
    let done =
        distance::run(&cuda, source.view().into(), &Params::default(), Some(&mut stop), target.view_mut().into());
    assert_eq!(done.unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(target.download::<f32>().unwrap().iter().all(|value| *value == 7.0));
}

/// Tests the passes along x, y and z together: 32 columns per block, and every mask with every kind of spacing.
#[test]
fn sanitizer_distance() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let shapes: &[Shape] = if few_sizes() { &FEW_SHAPES } else { &SMALL_SHAPES };
    for &shape in shapes {
        for kind in 0..KINDS {
            let mask = mask(shape, kind);
            for dimensions in BOTH {
                for spacing in FEW_SPACINGS {
                    compare(&contexts, mask.view().into(), &Params { dimensions, ..spaced(spacing) });
                }
            }
        }
    }
}

/// Runs a test with a mask of each pixel type, and a threshold for it.
fn each_type(shape: Shape, test: impl Fn(Image<'_>, f64)) {
    let bytes = mask(shape, 1);
    let mut floats = bytes.mapv(|value| f32::from(value) - 4.0);
    floats[[0, 3, 4]] = f32::NAN;
    test(bytes.view().into(), 3.5);
    test(bytes.mapv(|value| u16::from(value) * 5000).view().into(), 40_000.0);
    test(floats.view().into(), -1e-3);
}

/// Tests all pixel types, either side of a threshold, and all regions.
#[test]
fn sanitizer_distance_masks() {
    let Some(contexts) = cuda_and_cpu() else { return };
    each_type((3, 20, 35), |input, threshold| {
        for foreground in SIDES {
            for region in REGIONS {
                for threshold in [threshold, 1e300, -1e300] {
                    compare(&contexts, input, &Params { foreground, threshold, region, ..Params::default() });
                }
            }
        }
    });
}

/// Tests every number of columns per block but 32, which [`sanitizer_distance`] tests, and columns in global memory:
/// each along y and along z, with every kind of spacing, and with few inside pixels and with a ball. Kinds of mask and
/// spacing are paired instead of combined, to save time under compute-sanitizer.
#[test]
fn sanitizer_distance_long_columns() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let [equal, quarters, others] = FEW_SPACINGS;
    for length in if few_sizes() { FEW_COLUMNS } else { COLUMNS } {
        for shape in [(1, length, 5), (length, 2, 3)] {
            for (kind, spacing) in [(0, equal), (0, others), (3, quarters)] {
                compare(&contexts, mask(shape, kind).view().into(), &spaced(spacing));
            }
        }
    }
}

/// Tests the kernels on the caller's memory, which holds intermediate values too.
#[test]
fn sanitizer_distance_in_device_memory() {
    let Some(contexts) = cuda_and_cpu() else { return };
    for dimensions in BOTH {
        let params = Params { dimensions, ..Params::default() };
        let peak = compare_resident(&contexts, &mask((9, 21, 37), 1), &params);
        assert!(peak <= 2 * (1 << 16), "{peak} bytes beside the images'");
    }
}
/// The bytes by which buffers may exceed what was asked for: they are multiples of 64 KiB, and a call has at most eight.
const ROUNDING: u64 = 8 << 16;

/// Runs a call with a memory limit, and lifts the limit.
fn limited(
    context: &Context,
    limit: u64,
    mask: Image<'_>,
    params: &Params,
    output: ImageMut<'_>,
) -> isoline::Result<Report> {
    // Memory that is left from other calls may be larger than asked for.
    context.trim();
    context.set_memory_limit(limit);
    let done = distance::run(context, mask.into(), params, None, output.into());
    context.set_memory_limit(0);
    done
}

/// Measures with a memory limit. The output starts as NaN.
fn measure_limited<'a>(
    context: &Context,
    limit: u64,
    mask: impl Into<Image<'a>>,
    params: &Params,
) -> (Array3<f32>, Report) {
    let mask = mask.into();
    let [width, height, depth] = mask.shape();
    let mut output = Array3::from_elem((depth, height, width), f32::NAN);
    let report = limited(context, limit, mask, params, output.view_mut().into()).expect("a volume that can be cut");
    (output, report)
}

/// Returns the bytes of a volume on the device, and those of the largest of its least parts: a slice, or a plane along x and z.
fn sizes(mask: &Image<'_>) -> [u64; 2] {
    let [width, height, depth] = mask.shape().map(|side| side as u64);
    let pixel = mask.pixel_type().bytes() as u64;
    [width * height * depth * (pixel + 4), (width * height * (pixel + 4)).max(width * depth * 8)]
}

/// Compares a volume that is cut in several ways with the CPU and with the volume that is not cut.
fn compare_parts([cuda, cpu]: &[Context; 2], mask: Image<'_>, params: &Params) {
    let [whole, part] = sizes(&mask);
    let expected = measure(cuda, mask, params);
    assert_same(&expected, &measure(cpu, mask, params), params);
    let mut counts = vec![];
    for limit in [whole, whole - 1, whole / 2, whole / 3, part] {
        if limit < part {
            continue;
        }
        let (output, report) = measure_limited(cuda, limit, mask, params);
        let what = format!("{:?} with {limit} of {whole} bytes, {params:?}", expected.dim());
        assert!(output == expected, "{what}");
        assert_eq!((report.part_count == 1, report.slices_done), (limit >= whole, expected.dim().0 as u64), "{what}");
        assert!(report.peak_device_bytes <= limit + ROUNDING, "{what}: {}", report.peak_device_bytes);
        counts.push(report.part_count);
    }
    assert!(counts.is_sorted(), "less memory makes more parts: {counts:?}");
    // Not even a slice and a plane fit.
    let mut output = Array3::from_elem(expected.dim(), 7.0f32);
    let error = limited(cuda, part - 1, mask, params, output.view_mut().into()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
    assert!(
        error.message().contains(&format!("({part} bytes)")) && output.iter().all(|value| *value == 7.0),
        "{error}"
    );
}

#[test]
fn a_volume_that_is_cut_has_the_bits_of_one_that_fits() {
    let Some(contexts) = cuda_and_cpu() else { return };
    // Sides that blocks, octets and groups do not divide; one row; one column; two slices; columns of several octets.
    for shape in [(40, 150, 131), (61, 97, 64), (300, 33, 70), (90, 1, 200), (2, 301, 257), (130, 90, 1), (70, 4, 1300)]
    {
        for params in all_params().into_iter().filter(|params| params.dimensions == Dimensions::Volume) {
            let mask = blobs(shape, 11);
            // Cutting a single row frees nothing.
            if shape.1 > 1 {
                compare_parts(&contexts, mask.view().into(), &params);
            }
        }
    }
    // The nearest pixel of the other class is as far away as it can be, and there may be none.
    for pixel in [[39, 0, 130], [0, 149, 0], [20, 75, 65]] {
        let mut mask = Array3::<u8>::zeros((40, 150, 131));
        mask[pixel] = 1;
        compare_parts(&contexts, mask.view().into(), &Params::default());
        compare_parts(&contexts, mask.mapv(|pixel| 1 - pixel).view().into(), &spaced([0.3, 0.7, 2.1]));
    }
    for value in [0u8, 1] {
        compare_parts(&contexts, Array3::from_elem((40, 50, 60), value).view().into(), &Params::default());
    }
}

/// Groups have at most 16 MiB, so that a large volume has many, in several slots.
#[test]
fn a_large_volume_goes_through_several_slots() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    let mask = blobs((150, 500, 700), 3);
    let [whole, _] = sizes(&mask.view().into());
    let expected = measure(&cpu, mask.view(), &Params::default());
    for limit in [whole - 1, whole / 3] {
        let (output, report) = measure_limited(&cuda, limit, mask.view(), &Params::default());
        assert!(output == expected, "{limit}");
        // Groups of 11 slices, and of 39 rows.
        assert_eq!(report.part_count, 14 + 13, "{limit}");
        assert!(report.seconds_upload > 0.0 && report.seconds_compute > 0.0 && report.seconds_download > 0.0);
    }
}

/// Tests memory with gaps, which goes through staging buffers by rows, and page-locked memory, which the device copies itself.
#[test]
fn outputs_of_any_memory_hold_the_values_between_the_passes() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    let mask = blobs((40, 150, 131), 5);
    let (depth, height, width) = mask.dim();
    let [whole, _] = sizes(&mask.view().into());
    let params = spaced(SPACING);
    let expected = measure(&cuda, mask.view(), &params);
    let window = s![1..=depth, 1..=height, 2..width + 2];
    let mut wide = Array3::from_elem((depth + 1, height + 2, width + 3), 77u8);
    wide.slice_mut(window).assign(&mask);
    let mut buffer = cuda.host_buffer(wide.len() * size_of::<f32>()).unwrap();
    assert!(buffer.is_page_locked());
    let mut pageable = Array3::from_elem(wide.dim(), 0.0f32);
    for limit in [whole - 1, whole / 5] {
        let locked = ArrayViewMut3::from_shape(wide.dim(), buffer.pixels_mut::<f32>()).unwrap();
        for mut output in [locked, pageable.view_mut()] {
            output.fill(-7.5);
            let target = output.slice_mut(window).into();
            let report = limited(&cuda, limit, wide.slice(window).into(), &params, target).unwrap();
            assert!(report.part_count > 1);
            assert!(output.slice(window) == expected, "{limit}");
            output.slice_mut(window).fill(-7.5);
            assert!(output.iter().all(|value| *value == -7.5), "around the window");
        }
    }
    // Slices in the other direction.
    let mut output = Array3::from_elem(mask.dim(), f32::NAN);
    let target = output.slice_mut(s![..;-1, .., ..]).into();
    limited(&cuda, whole / 2, mask.view().into(), &params, target).unwrap();
    assert!(output.slice(s![..;-1, .., ..]) == expected);
}

/// A mask in device memory is used where it is; a result in device memory cannot be cut, because the values between the passes
/// are in host memory.
#[test]
fn masks_may_stay_on_the_device() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    let mask = blobs((40, 150, 131), 5);
    let (depth, height, width) = mask.dim();
    let expected = measure(&cuda, mask.view(), &Params::default());
    let mut source = cuda.device_image(PixelType::U8, [width, height, depth]).unwrap();
    source.upload(mask.view().into()).unwrap();
    let (output, report) = measure_limited(&cuda, (4 * mask.len() - 1) as u64, source.view(), &Params::default());
    assert!(output == expected && report.part_count > 1, "{report:?}");
    let mut target = cuda.device_image(PixelType::F32, [width, height, depth]).unwrap();
    let limit = (mask.len() - 1) as u64;
    let error = limited(&cuda, limit, mask.view().into(), &Params::default(), target.view_mut()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
}

#[test]
fn auto_cuts_or_takes_the_cpu_and_gives_the_same() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    let mask = blobs((40, 150, 131), 5);
    let [whole, part] = sizes(&mask.view().into());
    let auto = Context::new("auto").expect("a context");
    // The GPU is taken, whatever the time, if devices may differ in the last bits; and the CPU if no part fits.
    for (params, owner) in [(Params::default(), &cpu), (spaced(SPACING), &cuda)] {
        let (output, report) = measure_limited(&auto, whole / 2, mask.view(), &params);
        assert!(output == measure(owner, mask.view(), &params), "{params:?}");
        assert_eq!(report.part_count > 1, report.device.kind == DeviceKind::Cuda);
    }
    let params = spaced(SPACING);
    let (output, report) = measure_limited(&auto, part - 1, mask.view(), &params);
    assert_eq!((report.device.kind, report.part_count), (DeviceKind::Cpu, 1));
    assert!(output == measure(&cpu, mask.view(), &params));
}

#[test]
fn a_cut_volume_reports_progress_and_is_cancelled_in_time() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    let mask = blobs((160, 480, 480), 2);
    let [whole, part] = sizes(&mask.view().into());
    let expected = measure(&cpu, mask.view(), &Params::default());
    for limit in [whole - 1, part] {
        cuda.set_memory_limit(limit);
        // 1. Cancelled in either of the two steps, or at once.
        for from in [0.0, 0.2, 0.7] {
            let took = time_to_cancel(&cuda, &mask, &Params::default(), from);
            assert!(took < Duration::from_millis(100), "{limit}, from {from}: {took:?}");
        }
        // 2. Not cancelled.
        let mut fractions = vec![];
        let mut output = Array3::from_elem(mask.dim(), f32::NAN);
        let target = output.view_mut().into();
        distance::run(&cuda, mask.view().into(), &Params::default(), Some(&mut noting(&mut fractions)), target)
            .expect("a good call");
        assert!(output == expected, "{limit}");
        assert!(fractions.len() > 1 && fractions.is_sorted() && fractions.iter().all(|f| *f <= 1.0), "{fractions:?}");
        cuda.set_memory_limit(0);
    }
}

/// Tests the kernels on the parts of small volumes of all pixel types, and on columns that stay in global memory.
#[test]
fn sanitizer_distance_in_parts() {
    let Some(contexts) = cuda_and_cpu() else { return };
    for spacing in FEW_SPACINGS {
        each_type((9, 20, 35), |image, threshold| {
            compare_parts(&contexts, image, &Params { threshold, ..spaced(spacing) });
        });
    }
    let length = COLUMNS[COLUMNS.len() - 1];
    for shape in [(length, 3, 3), (2, length, 3)] {
        let mask = mask(shape, 0);
        let [cuda, cpu] = &contexts;
        let expected = measure(cpu, mask.view(), &Params::default());
        let limit = sizes(&mask.view().into())[0] - 1;
        let (output, report) = measure_limited(cuda, limit, mask.view(), &Params::default());
        assert!(report.part_count > 1);
        assert_same(&output, &expected, &Params::default());
    }
}
