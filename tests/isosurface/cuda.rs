//! CUDA against the CPU, bit by bit: vertices, normals, triangles, their order and all measures. The test named `sanitizer_` runs
//! every kernel on small volumes for NVIDIA's compute-sanitizer.

use super::*;
use crate::common::{cancelling_after, cuda_and_cpu, few_sizes};
use isoline::{DeviceKind, Report};

/// The bytes by which buffers may exceed what was asked for: they are multiples of 64 KiB, and a call has at most 16.
const ROUNDING: u64 = 16 << 16;

/// Runs a call on CUDA that must succeed.
fn on_cuda(cuda: &Context, input: Image<'_>, params: &Params) -> Vec<u64> {
    let mut found = Surface::new();
    let report = isosurface::run(cuda, input.into(), params, None, &mut found).expect("a good call");
    assert_eq!((report.device.kind, report.slices_done), (DeviceKind::Cuda, input.shape()[2] as u64));
    bits(&found)
}

/// Compares both devices, with the voxels in host memory and in that of the device.
fn compare([cuda, cpu]: &[Context; 2], input: Image<'_>, params: &Params, what: &str) {
    let expected = bits(&surface_on(cpu, input, params));
    assert!(on_cuda(cuda, input, params) == expected, "{what}, {params:?}");
    let mut uploaded = cuda.device_image(input.pixel_type(), input.shape()).unwrap();
    uploaded.upload(input).unwrap();
    assert!(on_cuda(cuda, uploaded.view(), params) == expected, "{what}, {params:?}, device memory");
}

/// Compares both devices on noise of each type, of which many voxels equal the level, and of f32 some are missing.
fn compare_noise(contexts: &[Context; 2], shape: (usize, usize, usize), numbers: &mut Numbers) {
    let bytes = Array3::from_shape_simple_fn(shape, || numbers.next(6) as u8);
    let wide = bytes.mapv(|value| 13000 * u16::from(value));
    let real = Array3::from_shape_simple_fn(shape, || numbers.rough(300));
    for close in [true, false] {
        for foreground in [Foreground::Above, Foreground::Below] {
            let params = |level| Params { close, foreground, spacing: [0.7, 1.0, 2.5], level };
            let what = |kind| format!("{shape:?}, {kind}");
            compare(contexts, bytes.view().into(), &params(Some(2.0)), &what("u8"));
            compare(contexts, bytes.view().into(), &params(Some(-1.0)), &what("u8"));
            compare(contexts, wide.view().into(), &params(Some(30000.25)), &what("u16"));
            compare(contexts, real.view().into(), &params(Some(0.1)), &what("f32"));
            compare(contexts, real.view().into(), &params(None), &what("f32, automatic level"));
        }
    }
}

fn gyroid(shape: (usize, usize, usize), period: f64) -> Array3<f32> {
    field(shape, [std::f64::consts::TAU / period; 3], |[x, y, z]| {
        x.sin() * y.cos() + y.sin() * z.cos() + z.sin() * x.cos()
    })
}

#[test]
fn noise_has_the_bits_of_the_cpu() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let mut numbers = Numbers(3);
    let shapes =
        [(1, 1, 1), (1, 1, 40), (1, 40, 1), (40, 1, 1), (1, 5, 40), (2, 2, 2), (3, 7, 31), (4, 9, 30), (5, 6, 32)];
    for shape in shapes.into_iter().chain([(3, 4, 33), (5, 6, 62), (3, 4, 65), (12, 23, 130)]) {
        compare_noise(&contexts, shape, &mut numbers);
    }
}

#[test]
fn every_set_of_high_corners_with_every_decision_has_the_bits_of_the_cpu() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let mut numbers = Numbers(1);
    // Cells in a row, each apart from the next.
    for case in 0..256u32 {
        let cells = Array3::from_shape_fn((2, 2, 3 * 64), |(z, y, x)| {
            let size = 1.0 + numbers.next(1000) as f32;
            let is_high = x % 3 < 2 && case >> (x % 3 + 2 * y + 4 * z) & 1 == 1;
            if is_high { size } else { -size }
        });
        compare(&contexts, cells.view().into(), &at(0.0), &format!("case {case}"));
    }
}

#[test]
fn masks_have_the_bits_of_the_cpu() {
    let Some(contexts) = cuda_and_cpu() else { return };
    // Flat sides with edges of all angles, and, at the level of the voxels inside, triangles without area.
    let ball =
        field((50, 45, 70), [1.0; 3], |[x, y, z]| 400.0 - (x - 34.0).powi(2) - (y - 21.0).powi(2) - (z - 25.0).powi(2));
    let mask = ball.mapv(|value| 255 * u8::from(value > 0.0));
    for level in [127.5, 0.0, 254.0] {
        compare(&contexts, mask.view().into(), &at(level), "a mask");
        compare(&contexts, mask.view().into(), &Params { foreground: Foreground::Below, ..at(level) }, "a hole");
    }
    compare(&contexts, ball.view().into(), &at(0.0), "a ball");
    compare(
        &contexts,
        ball.mapv(f32::round).view().into(),
        &Params { spacing: [1e-12, 1e-11, 1e-12], ..at(10.0) },
        "a ball",
    );
    compare(&contexts, Array3::from_elem((9, 8, 7), 5u16).view().into(), &at(5.0), "nothing");
}

/// Kernels are launched for half a million words or triangles at a time.
#[test]
fn volumes_of_several_launches_have_the_bits_of_the_cpu() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let mut numbers = Numbers(8);
    let noise = Array3::from_shape_simple_fn((150, 160, 190), || numbers.next(250) as u8);
    compare(&contexts, noise.view().into(), &at(90.5), "noise");
    compare(&contexts, gyroid((260, 290, 310), 40.0).view().into(), &at(0.2), "a gyroid");
}

#[test]
fn layout_and_page_locked_memory_do_not_change_a_bit() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    let volume = gyroid((40, 90, 110), 30.0);
    let whole = on_cuda(&cuda, volume.view().into(), &at(0.1));
    for slice in [s![..;-1, .., ..], s![.., ..;-1, ..], s![.., .., ..;-1]] {
        let turned = volume.slice(slice).to_owned();
        assert!(on_cuda(&cuda, turned.slice(slice).into(), &at(0.1)) == whole, "strides");
    }
    let mut gaps = Array3::from_elem((40, 95, 113), f32::NAN);
    gaps.slice_mut(s![.., 2..92, 1..111]).assign(&volume);
    assert!(on_cuda(&cuda, gaps.slice(s![.., 2..92, 1..111]).into(), &at(0.1)) == whole, "gaps");
    let mut buffer = cuda.host_buffer(volume.len() * size_of::<f32>()).unwrap();
    buffer.pixels_mut::<f32>()[..volume.len()].copy_from_slice(volume.as_slice().unwrap());
    let locked = ArrayView3::from_shape(volume.dim(), &buffer.pixels::<f32>()[..volume.len()]).unwrap();
    assert!(on_cuda(&cuda, locked.into(), &at(0.1)) == whole, "page-locked");
    let several = Context::of_parts(&["cuda", "cuda"]).unwrap();
    assert!(on_cuda(&several, volume.view().into(), &at(0.1)) == whole, "several devices");
}

/// Runs a call with a memory limit, and lifts the limit.
fn limited(context: &Context, limit: u64, input: Image<'_>, found: &mut Surface) -> isoline::Result<Report> {
    // Memory that is left from other calls may be larger than asked for.
    context.trim();
    context.set_memory_limit(limit);
    let done = isosurface::run(context, input.into(), &at(0.3), None, found);
    context.set_memory_limit(0);
    done
}

#[test]
fn a_volume_that_does_not_fit_is_cut() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    for (shape, close) in [((100, 150, 131), true), ((70, 200, 130), false)] {
        // So little surface that the voxels take most of the memory.
        let volume = gyroid(shape, 300.0);
        let params = Params { close, ..at(0.3) };
        let expected = bits(&surface_on(&cpu, volume.view(), &params));
        let run = |limit| {
            let mut found = Surface::new();
            cuda.trim();
            cuda.set_memory_limit(limit);
            let done = isosurface::run(&cuda, volume.view().into(), &params, None, &mut found);
            cuda.set_memory_limit(0);
            done.map(|report| (report, bits(&found) == expected))
        };
        let (report, is_same) = run(0).unwrap();
        assert!(is_same && report.part_count == 1);
        let (whole, slice) = (report.peak_device_bytes, (4 * shape.1 * shape.2) as u64);
        let mut parts = Vec::new();
        for slices in [10, 30, 45] {
            let limit = whole - slices * slice;
            let (report, is_same) = run(limit).unwrap();
            assert!(is_same && report.slices_done == shape.0 as u64, "{shape:?}, {slices} slices less");
            assert!(report.peak_device_bytes <= limit + ROUNDING, "{} of {limit}", report.peak_device_bytes);
            parts.push(report.part_count);
        }
        assert!(parts[0] > 1 && parts.is_sorted(), "less memory makes more parts: {parts:?}");
    }
}

#[test]
fn a_call_that_does_not_fit_at_all_is_out_of_memory_or_runs_on_the_cpu() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    let automatic = Context::new("auto").unwrap();
    // The words, and then the mesh, do not fit.
    for (volume, limit) in [(gyroid((80, 90, 110), 80.0), 500_000), (gyroid((80, 90, 110), 6.0), 4_000_000)] {
        let expected = bits(&surface_on(&cpu, volume.view(), &at(0.3)));
        let mut found = surface_on(&cpu, volume.view(), &at(0.0));
        let before = bits(&found);
        let error = limited(&cuda, limit, volume.view().into(), &mut found).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
        assert!(bits(&found) == before && error.message().contains("memory"), "{error}");
        let report = limited(&automatic, limit, volume.view().into(), &mut found).unwrap();
        assert!(report.device.kind == DeviceKind::Cpu && bits(&found) == expected, "{limit}");
        // Voxels in device memory are copied then.
        let mut uploaded = automatic.device_image(isoline::PixelType::F32, [110, 90, 80]).unwrap();
        uploaded.upload(volume.view().into()).unwrap();
        automatic.set_memory_limit(limit);
        let on_cpu = bits(&surface_on(&automatic, uploaded.view(), &at(0.3)));
        automatic.set_memory_limit(0);
        assert!(on_cpu == expected, "{limit}, device memory");
    }
}

#[test]
fn calls_on_cuda_report_and_can_be_cancelled() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    let volume = gyroid((60, 100, 120), 20.0);
    let mut found = Surface::new();
    let mut reached = Vec::new();
    let mut record = |fraction: f64, stage: &str| {
        assert_eq!(stage, "isosurface");
        reached.push(fraction);
        ControlFlow::Continue(())
    };
    let report = isosurface::run(&cuda, volume.view().into(), &at(0.1), Some(&mut record), &mut found).unwrap();
    assert!(reached.is_sorted() && reached.iter().all(|fraction| (0.0..=1.0).contains(fraction)), "{reached:?}");
    assert!(report.seconds_compute > 0.0 && report.seconds_upload > 0.0 && report.seconds_download > 0.0);
    assert!(report.seconds_total >= report.seconds_compute && report.peak_device_bytes > 1 << 20, "{report:?}");
    let before = bits(&found);
    for most in 0..4 {
        let mut seen = Vec::new();
        let input = volume.view().into();
        let done = isosurface::run(&cuda, input, &at(0.4), Some(&mut cancelling_after(most, &mut seen)), &mut found);
        if seen.len() > most {
            assert_eq!(done.unwrap_err().kind(), ErrorKind::Cancelled);
            assert!(bits(&found) == before, "untouched");
        } else {
            found = surface_on(&cuda, volume.view(), &at(0.1));
        }
    }
}

#[test]
fn sanitizer_isosurface_of_small_volumes() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let mut numbers = Numbers(2);
    let shapes: &[_] = if few_sizes() { &[(3, 4, 34)] } else { &[(1, 1, 3), (3, 4, 34), (5, 9, 70)] };
    for shape in shapes {
        compare_noise(&contexts, *shape, &mut numbers);
    }
}
