//! A sparse φ, which a volume that does not fit the memory of the GPU has: near the front it is that of a volume that fits.

use super::*;
use isoline::level_set::{Regions, TargetRange};
use isoline::{ErrorKind, PixelType};

/// Memory in which a level set of the tests' volumes does not fit as a whole, with its tiles near the front.
const LIMIT: u64 = 15 << 20;

/// Calls `test` with a CUDA context, if there is one, and a second one of which the memory is limited.
fn on_cuda(test: impl Fn(&Context, &Context)) {
    let (Ok(whole), Ok(limited)) = (Context::new("cuda"), Context::new("cuda")) else {
        return eprintln!("skipped: there is no CUDA device");
    };
    limited.set_memory_limit(LIMIT);
    test(&whole, &limited);
}

/// The shape [z, y, x] of a volume of which no side is a multiple of a tile's, and which as a whole takes more than `LIMIT`.
const DIM: (usize, usize, usize) = (75, 130, 163);

/// Returns a volume with a bright bent tube in noise, a ball in it as the start, and parameters.
fn tube(spacing: [f64; 3]) -> (Array3<u8>, Array3<u8>, Params) {
    let mut numbers = Numbers(7);
    let image = Array3::from_shape_fn(DIM, |(z, y, x)| {
        let centre = [37.0 + 20.0 * (x as f64 / 25.0).sin(), 65.0 + 30.0 * (x as f64 / 40.0).cos()];
        let apart = ((z as f64 - centre[0]).powi(2) + (y as f64 - centre[1]).powi(2)).sqrt();
        let noise = numbers.uniform() - 0.5;
        (60.0 + 120.0 / (1.0 + (apart - 14.0).exp()) + 30.0 * noise) as u8
    });
    let mask = ball(DIM, [81.0, 52.0, 35.0], 6.0 * spacing[0], spacing);
    let range = Some(TargetRange { target: 180.0, epsilon: 60.0 });
    (image, mask, Params { spacing, range, alpha: Some(0.03), ..Params::default() })
}

/// Returns the number of voxels in which two masks differ, and of those inside of the second.
fn difference(a: &Array3<u8>, b: &Array3<u8>) -> (usize, usize) {
    (a.iter().zip(b).filter(|(a, b)| a != b).count(), b.iter().filter(|pixel| **pixel != 0).count())
}

/// Asserts that φ has the same sides everywhere, and the same bits up to `width` from the front.
fn assert_near_front(got: &Array3<f32>, expected: &Array3<f32>, width: f32, what: &str) {
    let mut near = 0;
    for (index, got) in got.indexed_iter() {
        let expected = expected[index];
        assert_eq!(*got < 0.0, expected < 0.0, "{what}: the side of {index:?}");
        if expected.abs() <= width {
            near += 1;
            assert_eq!(got.to_bits(), expected.to_bits(), "{what}: {got} for {expected} at {index:?}");
        }
    }
    assert!(near > 500, "{what}: {near} values near the front");
}

#[test]
fn the_first_iteration_near_the_front_has_the_bits_of_a_phi_in_rows() {
    on_cuda(|whole, limited| {
        for spacing in [[1.0; 3], [0.5, 0.5, 1.0]] {
            let (image, mask, params) = tube(spacing);
            let width = 2.0 * spacing[2] as f32;
            let params = Params { reinitialise_every: 0, ..params };
            let start_on = |context| start(context, image.view(), &mask, &params);
            let [mut expected, mut sparse] = [whole, limited].map(start_on);
            let (stored, tiles) = (sparse.state().stored_tiles, sparse.state().tiles);
            assert!(stored > 0 && stored < tiles / 10, "{stored} of {tiles} tiles");
            assert_eq!(expected.state().stored_tiles, tiles);
            assert_near_front(&phi_of(&sparse, DIM), &phi_of(&expected, DIM), 2.0 * width, "the start");
            for surface in [&mut expected, &mut sparse] {
                surface.step(1, None).unwrap();
            }
            assert_near_front(&phi_of(&sparse, DIM), &phi_of(&expected, DIM), width, "an iteration");
            assert_eq!(sparse.statistics(), expected.statistics());
            assert_eq!(mask_of(&sparse, DIM), mask_of(&expected, DIM));
            // The limit is that of each call, beside what an earlier one keeps.
            let second = start_on(limited).state();
            assert_eq!((second.stored_tiles, second.tiles), (stored, tiles));
            // A written phi is read again.
            let phi = phi_of(&expected, DIM);
            sparse.write_phi(phi.view().into()).unwrap();
            assert_near_front(&phi_of(&sparse, DIM), &phi, width, "a written phi");
            assert_eq!(sparse.state().inside, expected.state().inside);
        }
    });
}

#[test]
fn fronts_come_to_rest_at_the_same_place() {
    on_cuda(|whole, limited| {
        for spacing in [[1.0; 3], [0.5, 0.5, 1.5]] {
            for regions in [None, Some(Regions::ChanVese)] {
                let (image, mask, params) = tube(spacing);
                let (range, alpha) = if regions.is_some() { (None, None) } else { (params.range, params.alpha) };
                let params = Params { regions, range, alpha, ..params };
                let run = |context: &Context, pixels: Image<'_>| {
                    let mut surface = LevelSet::new(context, pixels.into(), mask.view().into(), &params).unwrap();
                    let report = surface.step(4000, None).unwrap();
                    (mask_of(&surface, DIM), report, surface.state(), phi_of(&surface, DIM))
                };
                let (expected, whole_report, _, whole_phi) = run(whole, image.view().into());
                let (got, report, state, phi) = run(limited, image.view().into());
                let near = spacing[2] as f32;
                let off = whole_phi.iter().zip(&phi).filter(|(whole, _)| whole.abs() <= near);
                let off = off.map(|(whole, phi)| (whole - phi).abs()).fold(0.0, f32::max) / near;
                assert!(off <= 0.1, "{off} voxels");
                let (differing, inside) = difference(&got, &expected);
                eprintln!(
                    "{spacing:?}, {regions:?}: {differing} of {inside} voxels differ, phi by {off} voxels, after {} and {} iterations; {} of {} \
                     tiles are stored",
                    report.iterations, whole_report.iterations, state.stored_tiles, state.tiles
                );
                assert!(inside > 20_000 && whole_report.converged && report.converged, "{report:?}");
                assert!(differing * 5000 <= inside, "{differing} of {inside}");
                assert!(state.stored_tiles < state.tiles / 2 && report.outcome == whole_report.outcome, "{state:?}");
                // Runs repeat bit for bit, and so do pixels of other types.
                let wide = run(limited, image.mapv(u16::from).view().into());
                limited.set_memory_limit(LIMIT + (5 << 20));
                let float = run(limited, image.mapv(f32::from).view().into());
                limited.set_memory_limit(LIMIT);
                for (mask, other, state, _) in [wide, float] {
                    assert!(state.stored_tiles < state.tiles / 2, "{state:?}");
                    assert_eq!((mask, other.iterations), (got.clone(), report.iterations));
                }
            }
        }
    });
}

#[test]
fn tiles_behind_a_front_are_released() {
    on_cuda(|_, limited| {
        // A shell moves through the whole volume, until it reaches the corners.
        let image = Array3::<u8>::zeros(DIM);
        for spacing in [[1.0; 3], [1.0, 1.0, 2.0], [1.5, 1.5, 1.0]] {
            let mask = ball(DIM, [81.0, 65.0, 37.0], 4.0, spacing);
            let range = Some(TargetRange { target: 0.0, epsilon: 50.0 });
            let params = Params { spacing, range, alpha: Some(1.0), ..unstopped() };
            let mut surface = start(limited, image.view(), &mask, &params);
            let mut stored = Vec::new();
            while surface.state().inside < 1_500_000 {
                surface.step(16, None).unwrap();
                stored.push(surface.state().stored_tiles);
                assert!(stored.len() < 1000, "the front moves: {:?}", surface.state());
            }
            let (most, last, tiles) = (stored.iter().max().unwrap(), stored.last().unwrap(), surface.state().tiles);
            eprintln!("{spacing:?}: {stored:?} of {tiles}");
            assert!(*most < tiles / 3 * 2 && last < most, "{stored:?} of {tiles}");
        }
    });
}

#[test]
fn memory_that_runs_out_before_the_first_iteration_is_an_error() {
    on_cuda(|_, limited| {
        let (image, _, params) = tube([1.0; 3]);
        let centre = [81.0, 65.0, 37.0];
        let mask = ball(DIM, centre, 4.0, [1.0; 3]);
        // The first iteration needs tiles that a steep φ does not have before it.
        let steep = distance_to(DIM, centre, [1.0; 3]).mapv(|r| 4.0 * (r - 25.0) as f32);
        let mut refused_steps = 0;
        for limit in (0..LIMIT).rev().step_by(48 << 10) {
            limited.set_memory_limit(limit);
            let mut surface = match LevelSet::new(limited, image.view().into(), mask.view().into(), &params) {
                Ok(surface) => surface,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
                    break;
                }
            };
            if let Err(error) = surface.write_phi(steep.view().into()) {
                assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
                break;
            }
            let before = phi_of(&surface, DIM);
            if let Err(error) = surface.step(1, None) {
                assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
                assert_eq!((surface.state().iterations, phi_of(&surface, DIM)), (0, before));
                refused_steps += 1;
                if refused_steps == 1 {
                    // With auto the CPU does that iteration, and no phi is taken for one that nothing can move.
                    drop(surface);
                    let automatic = Context::new("auto").unwrap();
                    automatic.set_memory_limit(limit);
                    let mut moved = start(&automatic, image.view(), &mask, &params);
                    moved.write_phi(steep.view().into()).unwrap();
                    assert!(moved.state().stored_tiles < moved.state().tiles);
                    let report = moved.step(1, None).unwrap();
                    assert_eq!((report.device.kind, report.iterations), (isoline::DeviceKind::Cpu, 1));
                    let mut whole = start(&Context::new("cpu").unwrap(), image.view(), &mask, &params);
                    whole.write_phi(steep.view().into()).unwrap();
                    whole.step(1, None).unwrap();
                    assert_eq!(mask_of(&moved, DIM), mask_of(&whole, DIM));
                }
            }
        }
        limited.set_memory_limit(LIMIT);
        assert!(refused_steps > 0, "with some limit the start fits, and the first iteration does not");
    });
}

#[test]
fn images_in_device_memory_have_the_same_front() {
    on_cuda(|_, limited| {
        let (image, mask, params) = tube([1.0; 3]);
        let run = |image: Image<'_>, mask: Image<'_>| {
            let mut surface = LevelSet::new(limited, image.into(), mask.into(), &params).unwrap();
            assert!(surface.state().stored_tiles < surface.state().tiles);
            surface.step(50, None).unwrap();
            mask_of(&surface, DIM)
        };
        let expected = run(image.view().into(), mask.view().into());
        let (depth, height, width) = DIM;
        let [mut input, mut start, mut wide] = [PixelType::U8, PixelType::U8, PixelType::U16]
            .map(|pixels| limited.device_image(pixels, [width, height, depth]).unwrap());
        input.upload(image.view().into()).unwrap();
        start.upload(mask.view().into()).unwrap();
        wide.upload(mask.mapv(u16::from).view().into()).unwrap();
        assert_eq!(run(input.view(), start.view()), expected);
        assert_eq!(run(input.view(), wide.view()), expected);
    });
}

#[test]
fn bad_input_and_too_little_memory_are_errors_that_leave_phi() {
    on_cuda(|_, limited| {
        let (image, mask, params) = tube([1.0; 3]);
        let mut surface = start(limited, image.view(), &mask, &params);
        surface.step(10, None).unwrap();
        let before = phi_of(&surface, DIM);
        let mut phi = before.clone();
        phi[[70, 20, 160]] = f32::NAN;
        let error = surface.write_phi(phi.view().into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("x = 160, y = 20, z = 70"), "{error}");
        assert_eq!(phi_of(&surface, DIM), before);
        // The cancel flag leaves it, too.
        let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
        isoline::set_cancel_flag(Some(flag));
        let error = surface.write_phi(before.mapv(|phi| phi + 1.0).view().into()).unwrap_err();
        isoline::set_cancel_flag(None);
        assert_eq!((error.kind(), phi_of(&surface, DIM)), (ErrorKind::Cancelled, before));
        surface.step(10, None).unwrap();
        drop(surface);
        // A mask with many fronts has no room.
        let grains = Array3::from_shape_fn(DIM, |(z, y, x)| u8::from(x % 6 < 3 && y % 6 < 3 && z % 6 < 3));
        let error = LevelSet::new(limited, image.view().into(), grains.view().into(), &params).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        assert!(error.message().contains("tiles of 8 x 8 x 8 voxels"), "{error}");
        // A front that grows too large is as it was after the last iteration.
        let lattice = Array3::from_shape_fn(DIM, |(z, y, x)| {
            let bars = [x % 8 < 4, y % 8 < 4, z % 8 < 4].map(usize::from).iter().sum::<usize>();
            if bars >= 2 { 200u8 } else { 0 }
        });
        let range = Some(TargetRange { target: 200.0, epsilon: 99.0 });
        let params = Params { range, alpha: Some(0.9), ..unstopped() };
        let mut surface = start(limited, lattice.view(), &mask, &params);
        for _ in 0..2 {
            let error = surface.step(5000, None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
            let inside = mask_of(&surface, DIM).iter().filter(|pixel| **pixel != 0).count() as u64;
            assert_eq!(inside, surface.state().inside);
            assert_eq!(surface.statistics().last().unwrap().inside, inside);
        }
        let (done, kept) = (surface.state().iterations, surface.statistics().to_vec());
        let inside_before = surface.state().inside;
        drop(surface);
        // With auto it goes on on the CPU.
        let automatic = Context::new("auto").unwrap();
        automatic.set_memory_limit(LIMIT);
        let mut moved = start(&automatic, lattice.view(), &mask, &params);
        assert!(moved.state().stored_tiles < moved.state().tiles);
        let report = moved.step(done + 40, None).unwrap();
        assert_eq!((report.device.kind, report.iterations), (isoline::DeviceKind::Cpu, done + 40));
        assert_eq!(moved.statistics()[..done as usize], kept);
        let inside = mask_of(&moved, DIM).iter().filter(|pixel| **pixel != 0).count() as u64;
        assert!(inside == moved.state().inside && inside > inside_before, "{inside} voxels inside");
    });
}
