//! A dense level set of a volume on several GPUs, in slabs: the bits of one. Where there is one GPU, it has all slabs.

use super::*;
use isoline::level_set::{Regions, TargetRange};
use isoline::{Error, ErrorKind, PixelType};

/// Returns a context of `count` parts, which are dealt out to the GPUs of this machine; `None` where there is no GPU.
fn parts(count: usize) -> Option<Context> {
    let gpus =
        isoline::devices().iter().filter(|device| device.kind == isoline::DeviceKind::Cuda && device.usable).count();
    if gpus == 0 {
        eprintln!("skipped: there is no CUDA device");
        return None;
    }
    let names: Vec<_> = (0..count).map(|part| format!("cuda:{}", part % gpus)).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    Some(Context::of_parts(&names).expect("parts on the devices"))
}

/// Returns a volume with blobs that cross slabs, a ball as the start, and parameters.
fn blobs(dim: (usize, usize, usize), spacing: [f64; 3]) -> (Array3<u8>, Array3<u8>, Params) {
    let mut numbers = Numbers(3);
    let image = Array3::from_shape_fn(dim, |(z, y, x)| {
        let noise = numbers.uniform() - 0.5;
        let wave = (x as f64 * 0.21).sin() + (y as f64 * 0.17).cos() + (z as f64 * 0.19).sin();
        (128.0 + 35.0 * wave + 20.0 * noise) as u8
    });
    let (depth, height, width) = dim;
    let centre = [width, height, depth].map(|side| side as f64 / 2.0);
    let mask = ball(dim, centre, 0.3 * depth as f64 * spacing[2], spacing);
    let range = Some(TargetRange { target: 150.0, epsilon: 35.0 });
    let params = Params { spacing, range, alpha: Some(0.05), variant: Variant::Dense, ..Params::default() };
    (image, mask, params)
}

#[test]
fn slabs_have_the_bits_of_one_gpu() {
    let Some(one) = parts(1) else { return };
    for count in [2, 3, 4] {
        let Some(several) = parts(count) else { return };
        for (dim, spacing) in [((70, 41, 67), [1.0; 3]), ((97, 33, 64), [0.7, 0.7, 1.4])] {
            let (image, mask, params) = blobs(dim, spacing);
            for reinitialise_every in [0, 7, 50] {
                let what = format!("{count} parts, {dim:?}, {spacing:?}, reinitialised every {reinitialise_every}");
                let params = Params { reinitialise_every, ..params.clone() };
                let mut surfaces = [&one, &several].map(|context| start(context, image.view(), &mask, &params));
                for steps in [1, 2, 30, 67, 900] {
                    let reports = surfaces.each_mut().map(|surface| surface.step(steps, None).unwrap());
                    let [expected, got] = surfaces.each_ref().map(|surface| phi_of(surface, dim));
                    common::assert_bits(&got, &expected, &format!("{what}, after {steps} steps"));
                    assert_eq!(reports[0].iterations, reports[1].iterations, "{what}");
                    assert_eq!((reports[0].converged, reports[0].outcome), (reports[1].converged, reports[1].outcome));
                    assert_eq!(reports[1].device_count as usize, count.min(dim.0 / 16), "{what}");
                }
                assert_eq!(surfaces[1].statistics(), surfaces[0].statistics(), "{what}");
                assert_eq!(mask_of(&surfaces[1], dim), mask_of(&surfaces[0], dim), "{what}");
                let [expected, got] = surfaces.each_ref().map(LevelSet::state);
                assert_eq!(
                    (got.inside, got.iterations, got.tiles),
                    (expected.inside, expected.iterations, expected.tiles)
                );
            }
        }
    }
}

#[test]
fn regions_and_a_written_phi_have_the_bits_of_one_gpu() {
    let (Some(one), Some(several)) = (parts(1), parts(3)) else { return };
    let dim = (64, 40, 50);
    let (image, mask, params) = blobs(dim, [1.0; 3]);
    let params = Params { range: None, alpha: None, regions: Some(Regions::ChanVese), ..params };
    let image = image.mapv(u16::from);
    let mut surfaces = [&one, &several].map(|context| start(context, image.view(), &mask, &params));
    for surface in &mut surfaces {
        surface.step(150, None).unwrap();
    }
    let [expected, got] = surfaces.each_ref().map(|surface| phi_of(surface, dim));
    common::assert_bits(&got, &expected, "regions");
    assert_eq!(surfaces[0].state().target, surfaces[1].state().target);
    let other = expected.mapv(|value| value + 1.5);
    for surface in &mut surfaces {
        surface.write_phi(other.view().into()).unwrap();
        surface.step(40, None).unwrap();
    }
    let [expected, got] = surfaces.each_ref().map(|surface| phi_of(surface, dim));
    common::assert_bits(&got, &expected, "a written phi");
    let mut bad = expected.clone();
    bad[[50, 3, 7]] = f32::INFINITY;
    let error: Error = surfaces[1].write_phi(bad.view().into()).unwrap_err();
    assert!(error.message().contains("x = 7, y = 3, z = 50"), "{error}");
    common::assert_bits(&phi_of(&surfaces[1], dim), &expected, "a refused phi");
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    isoline::set_cancel_flag(Some(flag));
    let error = surfaces[1].write_phi(other.view().into()).unwrap_err();
    isoline::set_cancel_flag(None);
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    common::assert_bits(&phi_of(&surfaces[1], dim), &expected, "a cancelled write");
    // Masks and φ in the memory of the first device.
    let mut on_device = several.device_image(PixelType::F32, [dim.2, dim.1, dim.0]).unwrap();
    surfaces[1].read_phi(on_device.view_mut().into()).unwrap();
    assert_eq!(on_device.download::<f32>().unwrap(), expected.as_slice().unwrap());
    surfaces[1].write_phi(on_device.view().into()).unwrap();
    common::assert_bits(&phi_of(&surfaces[1], dim), &expected, "phi in device memory");
}

#[test]
fn a_cancelled_step_keeps_whole_iterations_and_a_vanished_front_ends() {
    let (Some(one), Some(several)) = (parts(1), parts(2)) else { return };
    let dim = (64, 60, 80);
    let (image, mask, params) = blobs(dim, [1.0; 3]);
    let params = params.without_stopping();
    let mut surface = start(&several, image.view(), &mask, &params);
    let mut seen = Vec::new();
    let error = surface.step(100_000, Some(&mut common::cancelling_after(3, &mut seen))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let done = surface.state().iterations;
    let mut expected = start(&one, image.view(), &mask, &params);
    expected.step(done, None).unwrap();
    common::assert_bits(&phi_of(&surface, dim), &phi_of(&expected, dim), "cancelled");
    // An empty mask, a full one, and masks of other types.
    for inside in [0, 1] {
        let same = Array3::from_elem(dim, inside);
        let phi = [&one, &several].map(|context| phi_of(&start(context, image.view(), &same, &params), dim));
        common::assert_bits(&phi[1], &phi[0], "a mask without a boundary");
    }
    let wide = LevelSet::new(&several, image.view().into(), mask.mapv(f32::from).view().into(), &params).unwrap();
    common::assert_bits(&phi_of(&wide, dim), &phi_of(&start(&one, image.view(), &mask, &params), dim), "a mask of f32");
    // Nothing is in the range, so that the ball shrinks to nothing.
    let range = Some(TargetRange { target: 250.0, epsilon: 1.0 });
    let mut surface = start(&several, image.view(), &mask, &Params { range, ..params });
    let report = surface.step(100_000, None).unwrap();
    assert!(report.converged && surface.state().inside == 0, "{report:?}");
    assert!(mask_of(&surface, dim).iter().all(|pixel| *pixel == 0));
}
