//! Volumes that do not fit the memory of a GPU, of which a small memory limit makes one of any volume: they are cut into slabs
//! with a halo of a slice for each iteration, or in the converged mode for each step of a cycle, and have the bits of those
//! that fit.

use super::common::cuda_and_cpu;
use super::*;
use isoline::edge_strength::Start;
use isoline::{DeviceKind, ErrorKind, PixelType};

/// Returns the bytes of a slice of a volume on the device, as `kernels/README.md` lays fields and masks out.
fn slice_bytes(input: &Image<'_>) -> u64 {
    let [width, height, _] = input.shape();
    let (pitch, mask_pitch) = (width.next_multiple_of(32), width.div_ceil(32) + 2);
    (height * (width * input.pixel_type().bytes() + 2 * pitch * 4 + mask_pitch * 4)) as u64
}

/// Compares a volume that is cut in several ways with the volume that is not cut.
fn compare(context: &Context, input: Image<'_>, params: &Params) {
    let Mode::Iterate { iterations } = params.mode else { unreachable!("these can be cut") };
    let [_, _, depth] = input.shape();
    let (slice, halo) = (slice_bytes(&input), iterations as usize);
    let (expected, report) = run(context, input, params);
    assert_eq!(report.part_count, 1);
    for slices in [depth - 1, depth.div_ceil(2), 2 * halo + 4, 2 * halo + 1] {
        if slices >= depth || slices <= 2 * halo {
            continue;
        }
        context.trim();
        context.set_memory_limit(slice * slices as u64);
        let (got, report) = run(context, input, params);
        context.set_memory_limit(0);
        let what = format!("{slices} of {depth} slices, {params:?}");
        assert_bits(&got, &expected, &what);
        assert_eq!(report.part_count, depth.div_ceil(slices - 2 * halo) as u64, "{what}");
        assert_eq!((report.slices_done, report.iterations), (depth as u64, iterations), "{what}");
        assert!(report.peak_device_bytes <= slice * slices as u64 + (4 << 16), "{what}: {}", report.peak_device_bytes);
    }
}

#[test]
fn a_volume_that_is_cut_has_the_bits_of_one_that_fits() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    for (depth, height, width, iterations) in
        [(60, 40, 71, 1), (61, 70, 130, 4), (90, 33, 31, 13), (47, 5, 300, 20), (200, 64, 64, 50), (9, 20, 20, 0)]
    {
        let bytes = drawing(depth, height, width);
        let words = bytes.mapv(|pixel| u16::from(pixel) * 257);
        let floats = bytes.mapv(|pixel| f32::from(pixel) / 255.0);
        for variant in [Variant::Fused, Variant::Shared, Variant::Texture] {
            for start in [Start::Mask, Start::Input(None)] {
                let params = Params { variant, start, ..iterate(Dimensions::Volume, 6.0, iterations) };
                compare(&cuda, bytes.view().into(), &params);
                compare(&cuda, bytes.view().into(), &Params { spacing: [1.0, 0.8, 2.5], ..params.clone() });
                compare(&cuda, words.view().into(), &Params { threshold: 3e4, ..params.clone() });
                compare(&cuda, floats.view().into(), &Params { threshold: 0.5, ..params });
            }
        }
    }
}

#[test]
fn images_of_a_cut_volume_may_be_in_device_memory() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    let volume = drawing(60, 40, 71);
    let params = iterate(Dimensions::Volume, 6.0, 5);
    let expected = strength(&cuda, volume.view(), &params);
    let mut source = cuda.device_image(PixelType::U8, [71, 40, 60]).unwrap();
    source.upload(volume.view().into()).unwrap();
    let mut target = cuda.device_image(PixelType::F32, [71, 40, 60]).unwrap();
    cuda.set_memory_limit(20 * slice_bytes(&volume.view().into()));
    let report = edge_strength::run(&cuda, source.view().into(), &params, None, target.view_mut().into()).unwrap();
    cuda.set_memory_limit(0);
    assert!(report.part_count > 1);
    assert!(target.download::<f32>().unwrap() == expected.into_raw_vec_and_offset().0);
}

#[test]
fn what_each_of_several_devices_has_of_a_volume_may_be_cut() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    let volume = drawing(90, 40, 71);
    let params = iterate(Dimensions::Volume, 6.0, 5);
    let expected = strength(&cuda, volume.view(), &params);
    for count in [2, 3] {
        let context = Context::of_parts(&vec!["cuda:0"; count]).unwrap();
        context.set_memory_limit(13 * slice_bytes(&volume.view().into()));
        let (got, report) = run(&context, Image::from(volume.view()), &params);
        assert_bits(&got, &expected, &format!("{count} devices"));
        assert_eq!((report.device_count as usize, report.slices_done), (count, 90));
        assert_eq!(report.part_count, (90 / count).div_ceil(3) as u64);
    }
}

#[test]
fn a_volume_that_cannot_be_cut_is_refused_by_name_and_left_to_the_cpu_by_auto() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    let volume = drawing(60, 40, 71);
    let slice = slice_bytes(&volume.view().into());
    let params = iterate(Dimensions::Volume, 6.0, 10);
    let mut output = Array3::from_elem(volume.dim(), 7.0f32);
    let mut run_on = |context: &Context, limit: u64, params: &Params| {
        context.set_memory_limit(limit);
        let done = edge_strength::run(context, volume.view().into(), params, None, output.view_mut().into());
        context.set_memory_limit(0);
        (done, output.clone())
    };
    // 1. A slab has a slice of its own, and 10 on either side.
    let (done, output) = run_on(&cuda, 21 * slice - 1, &params);
    assert_eq!(done.unwrap_err().kind(), ErrorKind::OutOfMemory);
    assert!(output.iter().all(|value| *value == 7.0));
    let (done, _) = run_on(&cuda, 21 * slice, &params);
    assert_eq!(done.unwrap().part_count, 60);
    // 2. In the converged mode a slab has two slices of its own, and 13 on either side.
    let converged = Params { mode: Mode::Converged { tolerance: 1e-3, max_cycles: 20 }, ..params.clone() };
    assert_eq!(run_on(&cuda, 28 * slice, &converged).0.unwrap_err().kind(), ErrorKind::OutOfMemory);
    // 3. The GPU does at most twice the work by choice.
    let auto = Context::new("auto").expect("a context");
    let expected = strength(&cpu, volume.view(), &params);
    let (done, output) = run_on(&auto, 40 * slice - 1, &params);
    assert_eq!(done.unwrap().device.kind, DeviceKind::Cpu);
    assert!(output == expected);
}

/// Compares the converged strength of a volume that is cut in several ways with that of the volume that is not cut; returns
/// the numbers of slabs.
fn compare_converged(context: &Context, input: Image<'_>, params: &Params) -> Vec<u64> {
    context.trim();
    let (expected, whole) = run(context, input, params);
    assert_eq!(whole.part_count, 1);
    let cut = |sixteenths: u64| {
        let limit = whole.peak_device_bytes * sixteenths / 16;
        context.trim();
        context.set_memory_limit(limit);
        let mut output = Array3::from_elem(expected.dim(), 7.0f32);
        let done = edge_strength::run(context, input.into(), params, None, output.view_mut().into());
        context.set_memory_limit(0);
        let what = format!("{sixteenths}/16 of {:?}, {params:?}", input.shape());
        match done {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{what}");
                assert!(output.iter().all(|value| *value == 7.0), "{what}");
                None
            }
            Ok(report) => {
                assert_bits(&output, &expected, &what);
                let essence = |report: &Report| {
                    (report.slices_done, report.iterations, report.residual.to_bits(), report.converged)
                };
                assert_eq!(essence(&report), essence(&whole), "{what}");
                // Large allocations are rounded up.
                assert!(
                    report.peak_device_bytes <= limit + (16 << 16),
                    "{what}: {} of {limit}",
                    report.peak_device_bytes
                );
                // Small volumes may fit a limit that is this close, because of that.
                assert!(report.part_count > 1 || sixteenths == 15, "{what}");
                Some(report.part_count).filter(|count| *count > 1)
            }
        }
    };
    [15, 14, 12, 10, 8, 6, 4].into_iter().filter_map(cut).collect()
}

#[test]
fn the_converged_mode_of_a_volume_that_is_cut_has_the_bits_of_one_that_fits() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    let mut counts = Vec::new();
    for (depth, height, width) in [(200, 40, 71), (201, 70, 33), (131, 64, 130), (120, 5, 300), (129, 12, 65)] {
        let bytes = drawing(depth, height, width);
        let words = bytes.mapv(|pixel| u16::from(pixel) * 257);
        let floats = bytes.mapv(|pixel| f32::from(pixel) / 255.0);
        // ρ from that of a single grid to that of many; z with fewer and more halvings than x and y.
        for rho in [0.3, 3.0, 40.0, 1e4] {
            for spacing in [[1.0f64; 3], [1.0, 0.8, 6.0], [3.0, 3.0, 1.0]] {
                let mode = Mode::Converged { tolerance: 1e-5, max_cycles: 100 };
                let rho = if rho < 1.0 { rho * spacing[0].min(spacing[2]) } else { rho };
                let params = Params { spacing, mode, ..iterate(Dimensions::Volume, rho, 0) };
                let from_input = Params { start: Start::Input(None), threshold: 3e4, ..params.clone() };
                counts.push(compare_converged(&cuda, bytes.view().into(), &params));
                counts.push(compare_converged(&cuda, words.view().into(), &from_input));
                counts.push(compare_converged(
                    &cuda,
                    floats.view().into(),
                    &Params { threshold: 0.5, ..params.clone() },
                ));
                // No voxel is on the shape, and all are.
                for threshold in [2.0, -1.0] {
                    counts.push(compare_converged(
                        &cuda,
                        floats.view().into(),
                        &Params { threshold, ..params.clone() },
                    ));
                }
            }
        }
    }
    assert!(counts.iter().all(|counts| !counts.is_empty()), "{counts:?}");
    assert!(counts.iter().flatten().any(|count| *count > 12), "{counts:?}");
}

#[test]
fn images_of_a_cut_volume_in_the_converged_mode_may_be_strided_and_the_input_in_device_memory() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    let volume = drawing(150, 40, 71);
    let params =
        Params { mode: Mode::Converged { tolerance: 1e-5, max_cycles: 3 }, ..iterate(Dimensions::Volume, 6.0, 0) };
    let (expected, whole) = run(&cuda, Image::from(volume.view()), &params);
    assert!(!whole.converged && whole.iterations == 3);
    let mut source = cuda.device_image(PixelType::U8, [71, 40, 150]).unwrap();
    source.upload(volume.view().into()).unwrap();
    let mut wide = Array3::from_elem((150, 41, 80), 7.0f32);
    let mut target = wide.slice_mut(ndarray::s![.., ..40, 3..74]);
    cuda.trim();
    cuda.set_memory_limit(whole.peak_device_bytes * 3 / 4);
    let report = edge_strength::run(&cuda, source.view().into(), &params, None, target.view_mut().into()).unwrap();
    assert!(report.part_count > 1 && !report.converged && report.iterations == 3);
    assert!(target == expected);
    assert!(
        wide.slice(ndarray::s![.., 40.., ..]).iter().chain(wide.slice(ndarray::s![.., .., 74..])).all(|v| *v == 7.0)
    );
    // Page-locked memory is copied to as it is.
    let mut buffer = cuda.host_buffer(volume.len() * size_of::<f32>()).unwrap();
    let locked = ndarray::ArrayViewMut3::from_shape(volume.dim(), buffer.pixels_mut::<f32>()).unwrap();
    let report = edge_strength::run(&cuda, volume.view().into(), &params, None, locked.into()).unwrap();
    assert!(report.part_count > 1 && buffer.pixels::<f32>()[..volume.len()] == *expected.as_slice().unwrap());
    // An output in device memory is not cut.
    let mut device = cuda.device_image(PixelType::F32, [71, 40, 150]).unwrap();
    let refused = edge_strength::run(&cuda, source.view().into(), &params, None, device.view_mut().into());
    cuda.set_memory_limit(0);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::OutOfMemory);
}

#[test]
fn the_converged_mode_of_a_cut_volume_reports_progress_and_can_be_cancelled() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    let volume = drawing(300, 200, 171);
    let params =
        Params { mode: Mode::Converged { tolerance: 1e-6, max_cycles: 100 }, ..iterate(Dimensions::Volume, 60.0, 0) };
    let (expected, whole) = run(&cuda, Image::from(volume.view()), &params);
    let run_until = |end: f64| {
        cuda.trim();
        cuda.set_memory_limit(whole.peak_device_bytes / 2);
        let (mut output, mut last) = (Array3::<f32>::zeros(volume.dim()), 0.0f64);
        let mut progress = |done: f64, _: &str| {
            assert!((last..=1.0).contains(&done));
            last = done;
            if done > end { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
        };
        let done =
            edge_strength::run(&cuda, volume.view().into(), &params, Some(&mut progress), output.view_mut().into());
        cuda.set_memory_limit(0);
        (done, output, last)
    };
    for end in [0.0, 0.2, 0.5] {
        let (done, _, last) = run_until(end);
        assert_eq!(done.unwrap_err().kind(), ErrorKind::Cancelled, "{end}");
        assert!(last < end + 0.3, "from {end} to {last}");
    }
    let (done, output, last) = run_until(1.0);
    assert!(done.unwrap().part_count > 1 && output == expected && last > 0.5, "{last}");
}

#[test]
fn sanitizer_edge_strength_in_parts() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    let mode = Mode::Converged { tolerance: 1e-3, max_cycles: 3 };
    let params = Params { mode, ..iterate(Dimensions::Volume, 6.0, 0) };
    assert!(!compare_converged(&cuda, drawing(101, 20, 37).view().into(), &params).is_empty());
    for variant in [Variant::Fused, Variant::Shared, Variant::Texture] {
        let params = Params { variant, ..iterate(Dimensions::Volume, 6.0, 3) };
        compare(&cuda, drawing(13, 20, 37).view().into(), &params);
        compare(&cuda, drawing(13, 20, 37).view().into(), &Params { spacing: [1.0, 1.0, 5.0], ..params });
    }
}
