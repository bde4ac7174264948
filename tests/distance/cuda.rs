//! CUDA against the CPU, with images in host memory and in device memory.

use super::common::{cuda_and_cpu, exact_distance};
use super::*;
use isoline::{DeviceKind, ErrorKind, PixelType};
use std::ops::ControlFlow;

/// Fails unless the results have the same bits where a float holds 4 d² exactly, and agree within a few parts in 10⁷
/// elsewhere.
fn assert_same(got: &Array3<f32>, expected: &Array3<f32>, params: &Params, what: &str) {
    let exact_below = exact_distance(got.dim(), params);
    for ((index, got), expected) in got.indexed_iter().zip(expected) {
        let exact = f64::from(expected.abs()) < exact_below;
        let most = if exact { 0.0 } else { 1e-6 * expected.abs() };
        let same = got == expected || (got - expected).abs() <= most;
        assert!(same, "{what}: {got:e} instead of {expected:e} at {index:?}");
    }
}

fn all_params() -> Vec<Params> {
    let mut all = vec![];
    for spacing in [[1.0; 3], [0.25; 3], [1.0, 1.5, 2.5], [0.2, 0.2, 0.3], [0.8, 1.3, 0.31], [0.9, 1.0, 0.97]] {
        for dimensions in [Dimensions::Volume, Dimensions::Slices] {
            for region in [Region::Signed, Region::Outside, Region::Inside] {
                all.push(Params { dimensions, region, ..spaced(spacing) });
            }
        }
    }
    all
}

#[test]
fn cuda_agrees_with_the_cpu() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
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
            let what = format!("{:?} {params:?}", mask.dim());
            let expected = measure(&cpu, mask.view(), &params);
            let got = measure(&cuda, mask.view(), &params);
            assert_same(&got, &expected, &params, &what);
            assert!(got == measure(&cuda, mask.view(), &params), "repeated: {what}");
        }
    }
}

#[test]
fn masks_and_results_may_stay_on_the_device() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    let mask = blobs((37, 101, 203), 4);
    for params in all_params() {
        let expected = measure(&cpu, mask.view(), &params);
        let mut source = cuda.device_image(PixelType::U8, [203, 101, 37]).unwrap();
        source.upload(mask.view().into()).unwrap();
        let mut target = cuda.device_image(PixelType::F32, [203, 101, 37]).unwrap();
        let report = distance::run(&cuda, source.view(), &params, None, target.view_mut()).unwrap();
        let got = Array3::from_shape_vec(mask.dim(), target.download::<f32>().unwrap()).unwrap();
        assert_same(&got, &expected, &params, "resident");
        assert_eq!((report.device.kind, report.slices_done), (DeviceKind::Cuda, 37));
        assert!(report.seconds_compute > 0.0);
        // The CPU cannot read device memory.
        let mut host = Array3::<f32>::zeros(mask.dim());
        let error = distance::run(&cpu, source.view(), &params, None, host.view_mut().into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
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
    let done = distance::run(&cuda, source.view(), &Params::default(), Some(&mut stop), target.view_mut());
    assert_eq!(done.unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(target.download::<f32>().unwrap().iter().all(|value| *value == 7.0));
}
