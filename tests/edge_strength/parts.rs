//! Volumes that do not fit the memory of a GPU, of which a small memory limit makes one of any volume: they are cut into slabs
//! with a halo of a slice for each iteration, and have the bits of those that fit.

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
    // 2. The converged mode cannot be cut.
    let converged = Params { mode: Mode::Converged { tolerance: 1e-3, max_cycles: 20 }, ..params.clone() };
    assert_eq!(run_on(&cuda, 30 * slice, &converged).0.unwrap_err().kind(), ErrorKind::OutOfMemory);
    // 3. The GPU does at most twice the work by choice.
    let auto = Context::new("auto").expect("a context");
    let expected = strength(&cpu, volume.view(), &params);
    let (done, output) = run_on(&auto, 40 * slice - 1, &params);
    assert_eq!(done.unwrap().device.kind, DeviceKind::Cpu);
    assert!(output == expected);
}

#[test]
fn sanitizer_edge_strength_in_parts() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    for variant in [Variant::Fused, Variant::Shared, Variant::Texture] {
        let params = Params { variant, ..iterate(Dimensions::Volume, 6.0, 3) };
        compare(&cuda, drawing(13, 20, 37).view().into(), &params);
        compare(&cuda, drawing(13, 20, 37).view().into(), &Params { spacing: [1.0, 1.0, 5.0], ..params });
    }
}
