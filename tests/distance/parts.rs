//! Volumes that do not fit the memory of a GPU, of which a small memory limit makes one of any volume: they are cut, and have
//! the bits of those that fit.

use super::*;
use isoline::{ImageMut, Report};
use ndarray::ArrayViewMut3;
use std::time::{Duration, Instant};

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
        let mut output = Array3::from_elem(expected.dim(), f32::NAN);
        let report = limited(cuda, limit, mask, params, output.view_mut().into()).expect("a volume that can be cut");
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
        let mut output = Array3::from_elem(mask.dim(), f32::NAN);
        let report = limited(&cuda, limit, mask.view().into(), &Params::default(), output.view_mut().into()).unwrap();
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
    let params = spaced([0.8, 1.1, 2.5]);
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
    let mut output = Array3::from_elem(mask.dim(), f32::NAN);
    let limit = (4 * mask.len() - 1) as u64;
    let report = limited(&cuda, limit, source.view(), &Params::default(), output.view_mut().into()).unwrap();
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
    for (params, owner) in [(Params::default(), &cpu), (spaced([0.8, 1.1, 2.5]), &cuda)] {
        let mut output = Array3::from_elem(mask.dim(), f32::NAN);
        let report = limited(&auto, whole / 2, mask.view().into(), &params, output.view_mut().into()).unwrap();
        assert!(output == measure(owner, mask.view(), &params), "{params:?}");
        assert_eq!(report.part_count > 1, report.device.kind == DeviceKind::Cuda);
    }
    let mut output = Array3::from_elem(mask.dim(), f32::NAN);
    let params = spaced([0.8, 1.1, 2.5]);
    let report = limited(&auto, part - 1, mask.view().into(), &params, output.view_mut().into()).unwrap();
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
            let seconds_to_cancel = || {
                let (mut asked, mut calls): (Option<Instant>, _) = (None, 0);
                let mut callback = |fraction: f64, _: &str| {
                    if asked.is_none() && fraction >= from {
                        asked = Some(Instant::now());
                    }
                    calls += usize::from(asked.is_some());
                    if asked.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                let mut output = Array3::from_elem(mask.dim(), 7.25f32);
                let target = output.view_mut().into();
                let done = distance::run(&cuda, mask.view().into(), &Params::default(), Some(&mut callback), target);
                match done {
                    Err(error) => {
                        assert_eq!((error.kind(), calls), (ErrorKind::Cancelled, 1), "{error}");
                        assert!(from > 0.0 || output.iter().all(|value| *value == 7.25));
                        asked.expect("the callback cancelled").elapsed()
                    }
                    // The GPU may be done before the callback is asked again.
                    Ok(_) => {
                        assert!(asked.is_none() && from > 0.0, "{limit}, from {from}");
                        Duration::ZERO
                    }
                }
            };
            let took = std::iter::repeat_with(seconds_to_cancel).take(3).min().expect("three times");
            assert!(took < Duration::from_millis(100), "{limit}, from {from}: {took:?}");
        }
        // 2. Not cancelled.
        let mut fractions = vec![];
        let mut callback = |fraction: f64, _: &str| {
            fractions.push(fraction);
            ControlFlow::Continue(())
        };
        let mut output = Array3::from_elem(mask.dim(), f32::NAN);
        let target = output.view_mut().into();
        distance::run(&cuda, mask.view().into(), &Params::default(), Some(&mut callback), target).expect("a good call");
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
        let bytes = mask((9, 20, 35), 1);
        let words = bytes.mapv(|value| u16::from(value) * 5000);
        let mut floats = bytes.mapv(|value| f32::from(value) - 4.0);
        floats[[0, 3, 4]] = f32::NAN;
        let images: [(Image<'_>, f64); 3] =
            [(bytes.view().into(), 3.5), (words.view().into(), 40_000.0), (floats.view().into(), -1e-3)];
        for (image, threshold) in images {
            compare_parts(&contexts, image, &Params { threshold, ..spaced(spacing) });
        }
    }
    let length = COLUMNS[COLUMNS.len() - 1];
    for shape in [(length, 3, 3), (2, length, 3)] {
        let mask = mask(shape, 0);
        let [cuda, cpu] = &contexts;
        let expected = measure(cpu, mask.view(), &Params::default());
        let mut output = Array3::from_elem(shape, f32::NAN);
        let limit = sizes(&mask.view().into())[0] - 1;
        let report = limited(cuda, limit, mask.view().into(), &Params::default(), output.view_mut().into()).unwrap();
        assert!(report.part_count > 1);
        assert_same(&output, &expected, &Params::default());
    }
}
