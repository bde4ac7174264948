//! Runs every CUDA kernel of the level set at least once, on images small enough for NVIDIA's compute-sanitizer (see
//! `scripts/gpu-run.sh`). Results are compared with the CPU's, so that the tests are useful without the sanitizer too.
//! They are skipped, with a message, if there is no CUDA device.

mod common;

use common::{cuda_and_cpu, few_sizes, random_words};
use isoline::level_set::{LevelSet, Params, Regions, TargetRange, Variant};
use isoline::{Context, Dimensions, Image, PixelType};
use ndarray::Array3;

/// The depth, height and width of images: lines, smaller and larger than a tile, wider than the columns of a warp.
const SHAPES: [(usize, usize, usize); 7] =
    [(1, 1, 1), (1, 1, 9), (2, 1, 9), (9, 1, 31), (5, 9, 16), (11, 13, 70), (3, 33, 130)];
const FEW_SHAPES: [(usize, usize, usize); 2] = [(9, 1, 17), (9, 11, 66)];

fn image((depth, height, width): (usize, usize, usize)) -> Array3<u8> {
    let mut next = random_words(11);
    Array3::from_shape_fn((depth, height, width), |(z, y, x)| {
        let wave = (x as f64 * 0.4).sin() + (y as f64 * 0.3).cos() + (z as f64 * 0.5).sin();
        (130.0 + 30.0 * wave + f64::from(next() >> 28)) as u8
    })
}

fn mask((depth, height, width): (usize, usize, usize)) -> Array3<u8> {
    let off = |p: usize, n: usize| ((p as f64 + 0.5) / n as f64 - 0.5).powi(2);
    Array3::from_shape_fn((depth, height, width), |(z, y, x)| {
        u8::from(off(x, width) + off(y, height) + off(z, depth) < 0.12)
    })
}

fn run(context: &Context, input: Image<'_>, mask: &Array3<u8>, params: &Params, iterations: u64) -> LevelSet {
    let mut surface = LevelSet::new(context, input.into(), mask.view().into(), params).unwrap();
    let report = surface.step(iterations, None).unwrap();
    assert_eq!(report.device.kind, context.device().kind);
    surface
}

fn phi(surface: &LevelSet, dim: (usize, usize, usize)) -> Array3<f32> {
    let mut phi = Array3::from_elem(dim, f32::NAN);
    surface.read_phi(phi.view_mut().into()).unwrap();
    phi
}

/// Compares φ, which must agree within 1e-3 of the smallest spacing near the front, and the mask, which must be that of
/// φ.
fn compare([cuda, cpu]: &[Context; 2], input: Image<'_>, params: &Params, iterations: u64) {
    let [width, height, depth] = input.shape();
    let dim = (depth, height, width);
    let mask = mask(dim);
    let expected = phi(&run(cpu, input, &mask, params, iterations), dim);
    let surface = run(cuda, input, &mask, params, iterations);
    let got = phi(&surface, dim);
    let mut pixels = Array3::from_elem(dim, 7u8);
    surface.read_mask(pixels.view_mut().into()).unwrap();
    let h = params.spacing.into_iter().fold(f64::INFINITY, f64::min) as f32;
    for ((place, got), expected) in got.indexed_iter().zip(&expected) {
        let near = expected.abs() <= 2.0 * h;
        assert!(
            got.is_finite() && (!near || (got - expected).abs() <= 1e-3 * h),
            "{place:?}: {got}, not {expected}, {params:?}"
        );
        assert_eq!(pixels[place], if *got < 0.0 { 255 } else { 0 }, "{place:?}");
    }
}

fn params(variant: Variant, dimensions: Dimensions, spacing: [f64; 3]) -> Params {
    Params {
        variant,
        dimensions,
        spacing,
        range: Some(TargetRange { target: 150.0, epsilon: 30.0 }),
        alpha: Some(0.05),
        reinitialise_every: 3,
        check_interval: Some(4),
        ..Params::default().without_stopping()
    }
}

#[test]
fn sanitizer_level_set() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let shapes: &[(usize, usize, usize)] = if few_sizes() { &FEW_SHAPES } else { &SHAPES };
    for &shape in shapes {
        let image = image(shape);
        for dimensions in [Dimensions::Volume, Dimensions::Slices] {
            for spacing in [[1.0; 3], [0.5, 0.7, 2.0]] {
                for variant in [Variant::Dense, Variant::Band] {
                    compare(&contexts, image.view().into(), &params(variant, dimensions, spacing), 5);
                }
            }
        }
    }
}

/// Runs all pixel types, with pixels that are not finite among them.
#[test]
fn sanitizer_level_set_pixels() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let shape = (9, 10, 40);
    let u16s = image(shape).mapv(u16::from);
    let mut f32s = image(shape).mapv(f32::from);
    f32s[[0, 3, 4]] = f32::NAN;
    f32s[[4, 5, 20]] = f32::INFINITY;
    for input in [Image::from(u16s.view()), f32s.view().into()] {
        for variant in [Variant::Dense, Variant::Band] {
            for dimensions in [Dimensions::Volume, Dimensions::Slices] {
                for spacing in [[1.0; 3], [0.5, 0.7, 2.0]] {
                    compare(&contexts, input, &params(variant, dimensions, spacing), 4);
                }
            }
        }
    }
}

/// Returns the largest memory limit, to some kilobytes, with which a level set has a sparse φ.
fn sparse_limit(cuda: &Context, input: Image<'_>, mask: &Array3<u8>, params: &Params) -> u64 {
    const STEP: u64 = 64 << 10;
    let is_sparse = |limit: &u64| {
        cuda.set_memory_limit(*limit);
        let surface = LevelSet::new(cuda, input.into(), mask.view().into(), params);
        surface.as_ref().map_or(Some(false), |surface| {
            let state = surface.state();
            if state.stored_tiles < state.tiles { Some(true) } else { None }
        })
    };
    let limits = (10..).map(|steps| steps * STEP).map_while(|limit| is_sparse(&limit).map(|sparse| (limit, sparse)));
    limits.filter(|(_, sparse)| *sparse).last().expect("some limit leaves room for a sparse phi only").0
}

#[test]
fn sanitizer_level_set_sparse() {
    let Some(contexts) = cuda_and_cpu() else { return };
    // A ball of few tiles in a volume so large that a limit leaves room for a sparse phi only.
    let shape = (90, 49, 93);
    let start = Array3::from_shape_fn(shape, |(z, y, x)| {
        let off = |at: usize, side: usize| at.abs_diff(side / 2).pow(2);
        u8::from(off(z, shape.0) + off(y, shape.1) + off(x, shape.2) <= 16)
    });
    let u8s = image(shape);
    let (u16s, f32s) = (u8s.mapv(u16::from), u8s.mapv(f32::from));
    let of_spacing = |spacing| params(Variant::Band, Dimensions::Volume, spacing);
    let regions = Params { range: None, regions: Some(Regions::ChanVese), ..of_spacing([1.0; 3]) };
    let cases = [
        (Image::from(u8s.view()), of_spacing([0.5, 0.7, 1.5])),
        (u16s.view().into(), regions),
        (f32s.view().into(), of_spacing([1.0; 3])),
    ];
    for (input, params) in cases.into_iter().take(if few_sizes() { 1 } else { 3 }) {
        contexts[0].set_memory_limit(sparse_limit(&contexts[0], input, &start, &params));
        // Long enough for tiles to be released. Their φ is not that of a φ in rows, but for the front.
        let [got, expected] = contexts.each_ref().map(|context| run(context, input, &start, &params, 18));
        let mut pixels = [got, expected].map(|surface| {
            let mut pixels = Array3::from_elem(shape, 7u8);
            surface.read_mask(pixels.view_mut().into()).unwrap();
            let phi = phi(&surface, shape);
            assert!(pixels.iter().zip(&phi).all(|(pixel, phi)| *pixel == if *phi < 0.0 { 255 } else { 0 }));
            pixels.into_iter()
        });
        let [got, expected] = &mut pixels;
        let differing = got.zip(expected).filter(|(got, expected)| got != expected).count();
        assert!(differing <= 20, "{differing} voxels, {params:?}");
    }
    contexts[0].set_memory_limit(0);
}

#[test]
fn sanitizer_level_set_slabs() {
    let Some([_, cpu]) = cuda_and_cpu() else { return };
    let contexts = [Context::of_parts(&["cuda", "cuda"]).unwrap(), cpu];
    let shape = (35, 9, 40);
    for spacing in [[1.0; 3], [0.5, 0.7, 2.0]] {
        compare(&contexts, image(shape).view().into(), &params(Variant::Dense, Dimensions::Volume, spacing), 7);
    }
}

/// Sums the pixels of both sides of the front, of all pixel types, with pixels that are not finite among them.
#[test]
fn sanitizer_level_set_regions() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let shape = (9, 10, 40);
    let u8s = image(shape);
    let u16s = u8s.mapv(u16::from);
    let mut f32s = u8s.mapv(f32::from);
    f32s[[0, 3, 4]] = f32::NAN;
    for input in [Image::from(u8s.view()), u16s.view().into(), f32s.view().into()] {
        let regions = |regions| Params {
            range: None,
            regions: Some(regions),
            ..params(Variant::Band, Dimensions::Volume, [1.0; 3])
        };
        compare(&contexts, input, &regions(Regions::ChanVese), 9);
        // Every pixel is above 0, so that both sides of a binary image are alike.
        let refused =
            LevelSet::new(&contexts[0], input.into(), mask(shape).view().into(), &regions(Regions::Bernoulli));
        assert!(refused.is_err());
    }
}

/// Runs the edge term and the second order on all pixel types, in volumes and slices, and with two regions.
#[test]
fn sanitizer_level_set_edges() {
    let Some(contexts) = cuda_and_cpu() else { return };
    let shapes: &[(usize, usize, usize)] = if few_sizes() { &FEW_SHAPES } else { &SHAPES };
    for &shape in shapes {
        let u8s = image(shape);
        let (u16s, f32s) = (u8s.mapv(u16::from), u8s.mapv(f32::from));
        for input in [Image::from(u8s.view()), u16s.view().into(), f32s.view().into()] {
            for dimensions in [Dimensions::Volume, Dimensions::Slices] {
                for (variant, spacing) in [(Variant::Band, [1.0; 3]), (Variant::Dense, [0.5, 0.7, 2.0])] {
                    for (edge_weight, upwind_order) in [(2.0, 1), (0.0, 2), (2.0, 2)] {
                        let params = Params { edge_weight, upwind_order, ..params(variant, dimensions, spacing) };
                        compare(&contexts, input, &params, 5);
                    }
                }
            }
        }
    }
    let shape = (9, 10, 40);
    let regions = Params {
        range: None,
        regions: Some(Regions::ChanVese),
        edge_weight: 2.0,
        upwind_order: 2,
        ..params(Variant::Band, Dimensions::Volume, [1.0; 3])
    };
    compare(&contexts, image(shape).view().into(), &regions, 9);
}

/// Reads input, mask and φ from the caller's device memory and writes results there, and meets a stopping criterion.
#[test]
fn sanitizer_level_set_in_device_memory() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    let dim = (9, 12, 30);
    let (image, mask) = (image(dim), mask(dim));
    let shape = [dim.2, dim.1, dim.0];
    let mut pixels = cuda.device_image(PixelType::U8, shape).unwrap();
    pixels.upload(image.view().into()).unwrap();
    let mut marks = cuda.device_image(PixelType::U8, shape).unwrap();
    marks.upload(mask.view().into()).unwrap();
    let params = params(Variant::Band, Dimensions::Volume, [1.0; 3]);
    let mut surface = LevelSet::new(&cuda, pixels.view().into(), marks.view().into(), &params).unwrap();
    surface.step(5, None).unwrap();
    let on_host = run(&cuda, image.view().into(), &mask, &params, 5);
    let expected = phi(&on_host, dim);
    let mut values = cuda.device_image(PixelType::F32, shape).unwrap();
    surface.read_phi(values.view_mut().into()).unwrap();
    assert_eq!(values.download::<f32>().unwrap(), expected.iter().copied().collect::<Vec<_>>());
    surface.write_phi(values.view().into()).unwrap();
    assert_eq!(phi(&surface, dim), expected);
    let mut written = cuda.device_image(PixelType::U8, shape).unwrap();
    surface.read_mask(written.view_mut().into()).unwrap();
    let wanted: Vec<u8> = expected.iter().map(|phi| if *phi < 0.0 { 255 } else { 0 }).collect();
    assert_eq!(written.download::<u8>().unwrap(), wanted);

    // On the mask as the image the front is at rest from the start.
    let range = Some(TargetRange { target: 1.0, epsilon: 0.5 });
    let resting = Params { range, alpha: Some(1.0), check_interval: Some(4), ..Params::default() };
    let mut surface = LevelSet::new(&cuda, marks.view().into(), marks.view().into(), &resting).unwrap();
    let report = surface.step(100, None).unwrap();
    // The criterion compares an interval with the one before.
    assert!(report.converged && report.iterations == 2 * 4, "{report:?}");
}

/// Runs the kernels that look at the result, of all types: the start is counted where the image says that it is at rest.
#[test]
fn sanitizer_level_set_outcome() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    for dim in SHAPES {
        let (image, mask) = (image(dim), mask(dim));
        let (u16s, mut f32s) = (image.mapv(u16::from), image.mapv(f32::from));
        f32s[[dim.0 / 2, dim.1 / 2, dim.2 / 2]] = f32::NAN;
        for input in [Image::from(image.view()), u16s.view().into(), f32s.view().into()] {
            for dimensions in [Dimensions::Volume, Dimensions::Slices] {
                // Steps so small that no front moves.
                let params = Params {
                    time_step: Some(1e-4),
                    change_tolerance: 1e3,
                    ..params(Variant::Band, dimensions, [1.0; 3])
                };
                let [on_cuda, on_cpu] = [&cuda, &cpu].map(|context| run(context, input, &mask, &params, 100).state());
                assert_eq!(on_cuda.inside, on_cpu.inside, "{dim:?}");
                assert_eq!(on_cuda.outcome, on_cpu.outcome, "{dim:?} {dimensions:?}");
                assert_eq!(on_cuda.limit_share, on_cpu.limit_share, "{dim:?} {dimensions:?}");
            }
        }
    }
}

/// Runs the kernels that measure the image inside the mask, of all types, on numbers of rows and columns that are no
/// multiples of a warp's. Masks in device memory that are not u8 are converted there.
#[test]
fn sanitizer_level_set_statistics() {
    let Some([cuda, cpu]) = cuda_and_cpu() else { return };
    let automatic = |context: &Context, input: Image<'_>, mask: Image<'_>| {
        let state = LevelSet::new(context, input.into(), mask.into(), &Params::default()).unwrap().state();
        ([state.target, state.epsilon, state.time_step].map(f64::to_bits), state.inside)
    };
    for dim in [(1, 1, 1), (5, 27, 70), (3, 33, 31)] {
        let (image, mask) = (image(dim), mask(dim));
        let (u16s, mut f32s) = (image.mapv(u16::from), image.mapv(|pixel| f32::from(pixel) / 7.0));
        if dim.0 > 1 {
            f32s[[1, 13, 9]] = f32::NAN;
            f32s[[2, 14, 20]] = f32::NEG_INFINITY;
        }
        let (u16_mask, f32_mask) = (mask.mapv(u16::from), mask.mapv(f32::from));
        let masks = [Image::from(mask.view()), u16_mask.view().into(), f32_mask.view().into()];
        for (input, mask) in [Image::from(image.view()), u16s.view().into(), f32s.view().into()].into_iter().zip(masks)
        {
            let expected = automatic(&cpu, input, mask);
            assert_eq!(automatic(&cuda, input, mask), expected, "{dim:?}");
            let mut pixels = cuda.device_image(input.pixel_type(), input.shape()).unwrap();
            pixels.upload(input).unwrap();
            let mut marks = cuda.device_image(mask.pixel_type(), mask.shape()).unwrap();
            marks.upload(mask).unwrap();
            assert_eq!(automatic(&cuda, pixels.view(), marks.view()), expected, "{dim:?}");
        }
    }
}

/// Runs the kernel that only the benchmark launches, with blocks that reach beyond the volume, and with two planes.
#[test]
fn sanitizer_level_set_paper() {
    let Some([cuda, _]) = cuda_and_cpu() else { return };
    for dim in [(2, 1, 1), (2, 9, 40), (5, 4, 32), (7, 11, 70)] {
        let (image, mask) = (image(dim), mask(dim));
        let params = params(Variant::Dense, Dimensions::Volume, [0.5, 0.7, 2.0]);
        let surface = LevelSet::new(&cuda, image.view().into(), mask.view().into(), &params).unwrap();
        let before = phi(&surface, dim);
        assert!(surface.paper_seconds(3).unwrap() > 0.0);
        assert_eq!(phi(&surface, dim), before);
    }
}
