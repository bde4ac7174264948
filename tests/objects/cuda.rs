//! Objects on CUDA against the CPU, bit by bit. The test named `sanitizer_` runs every kernel on small images for NVIDIA's
//! compute-sanitizer.

use super::*;
use common::cuda_and_cpu;

/// Returns balls of random sizes at random places, not all apart, and one that the border cuts.
fn crowd([width, height, depth]: [usize; 3], count: usize, seed: u64) -> Vec<Ball> {
    let mut random = common::Random::new(seed);
    let mut place = |side: usize| (side as f64 - 1.0) * random.uniform();
    let balls = (0..count).map(|index| {
        let centre = [place(width), place(height), if depth > 1 { place(depth) } else { 0.0 }];
        Ball(centre, 3.0 + (index % 5) as f64)
    });
    balls.collect()
}

/// Grows objects on both devices, and compares all that they give.
fn compare([cuda, cpu]: &[Context; 2], image: Image<'_>, starts: Option<&Array3<u16>>, params: &Params, what: &str) {
    let [width, height, depth] = image.shape();
    let results = [cuda, cpu].map(|context| {
        let (mut labels, mut found) = (Array3::<u16>::zeros((depth, height, width)), Objects::new());
        let starts = starts.map(|starts| starts.view().into());
        let output = labels.view_mut().into();
        let report = objects::run(context, image.into(), starts, params, None, output, &mut found).unwrap();
        assert_eq!(report.device.kind, context.device().kind, "{what}");
        // NaN is not equal to itself, but its text is.
        (labels, format!("{:?}", found.all()), report.iterations, report.converged)
    });
    let [(labels, found, iterations, converged), expected] = &results;
    assert_eq!((iterations, converged), (&expected.2, &expected.3), "{what}");
    let differ = labels.iter().zip(&expected.0).filter(|(a, b)| a != b).count();
    assert_eq!(differ, 0, "{what}: labels of {differ} voxels differ");
    assert_eq!(*found, expected.1, "{what}");
}

/// Compares the devices on a crowd in an image of this size, with parameters that take all ways through the kernels.
fn compare_crowd(contexts: &[Context; 2], size: [usize; 3], count: usize, several: bool) {
    let balls = crowd(size, count, 7 + count as u64);
    let levels: Vec<f64> =
        (0..=count).map(|index| if index == 0 { 40.0 } else { 90.0 + (index * 37 % 120) as f64 }).collect();
    let scene = scene(size, [1.0; 3], &balls, &levels);
    let image = || scene.image.view().into();
    let default = Params::default();
    compare(contexts, image(), Some(&scene.starts), &default, &format!("{count} balls in {size:?}"));
    if !several {
        return;
    }
    let floats = scene.image.mapv(|level| f32::from(level) * 0.37 - 12.5);
    let words = scene.image.mapv(|level| 65535 - 255 * u16::from(level));
    let below = Params { foreground: Foreground::Below, ..default.clone() };
    compare(contexts, floats.view().into(), Some(&scene.starts), &default, "f32");
    compare(contexts, words.view().into(), Some(&scene.starts), &below, "dark objects of u16");
    compare(contexts, image(), None, &default, "automatic starts");
    let [width, height, depth] = size;
    let tiles =
        Array3::from_shape_fn((depth, height, width), |(_, y, x)| 1 + (4 * x / width + 4 * (4 * y / height)) as u16);
    compare(contexts, image(), Some(&tiles), &default, "objects without background");
    for params in [
        Params { keep_starts: false, alpha: 0.1, ..default.clone() },
        Params { keep_starts: false, alpha: 1.0, check_interval: 1, ..default.clone() },
        Params { spacing: [0.4, 0.7, 1.9], check_interval: 3, ..default.clone() },
        Params { spacing: [1.0, 100.0, 1.0], iterations: 30, ..default.clone() },
        Params { margin: Some(1e6), check_interval: 7, iterations: 25, ..default.clone() },
        Params { margin: Some(0.3), change_tolerance: 0.0, iterations: 60, ..default.clone() },
        Params { iterations: 0, ..default.clone() },
    ] {
        compare(contexts, image(), Some(&scene.starts), &params, &format!("{params:?}"));
    }
}

#[test]
fn cuda_has_the_bits_of_the_cpu() {
    let Some(contexts) = cuda_and_cpu() else { return };
    for (size, count) in [([1, 1, 1], 1), ([40, 1, 1], 2), ([1, 50, 1], 2), ([200, 150, 1], 60), ([33, 5, 9], 4)] {
        compare_crowd(&contexts, size, count, false);
    }
    compare_crowd(&contexts, [130, 90, 41], 120, true);
    compare_crowd(&contexts, [300, 210, 1], 150, true);
    compare_crowd(&contexts, [257, 260, 150], 900, false);
    let even = Array3::from_elem((9, 30, 40), 7u8);
    let starts = array([40, 30, 9], [1.0; 3], |at| u16::from(Ball([20.0, 15.0, 4.0], 4.0).has(at)));
    compare(&contexts, even.view().into(), Some(&starts), &Params { iterations: 40, ..Params::default() }, "even");
    compare(&contexts, even.view().into(), None, &Params::default(), "no objects");
}

#[test]
fn sanitizer_objects_of_small_images() {
    let Some(contexts) = cuda_and_cpu() else { return };
    compare_crowd(&contexts, [45, 13, 11], 6, true);
    compare_crowd(&contexts, [70, 40, 1], 8, false);
}

#[test]
fn a_volume_that_does_not_fit_the_gpu_is_left_to_the_cpu_or_refused() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    let scene = three_balls();
    let run = |context: &Context| {
        let mut labels = Array3::<u16>::zeros(scene.starts.dim());
        let (starts, output) = (Some(scene.starts.view().into()), labels.view_mut().into());
        objects::run(context, scene.image.view().into(), starts, &Params::default(), None, output, &mut Objects::new())
    };
    cuda.set_memory_limit(1 << 20);
    assert_eq!(run(&cuda).unwrap_err().kind(), ErrorKind::OutOfMemory);
    cuda.set_memory_limit(0);
    assert_eq!(run(&cuda).unwrap().device.kind, isoline::DeviceKind::Cuda);
    let automatic = Context::new("auto").unwrap();
    automatic.set_memory_limit(1 << 20);
    assert_eq!(run(&automatic).unwrap().device.kind, isoline::DeviceKind::Cpu);
}
