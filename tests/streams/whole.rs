//! Calls on whole volumes, which read all slices first and write all of them at the end.

use super::*;
use isoline::level_set::{self, LevelSet, State};
use isoline::objects::{self, Objects};

const SHAPE: [usize; 3] = [80, 72, 24];

/// Returns a bright ball in noise, and a smaller one as a start.
fn ball() -> (Array3<u16>, Array3<u8>) {
    let mut random = Random::new(5);
    let [width, height, depth] = SHAPE;
    let radius = |z: usize, y: usize, x: usize| {
        let [dx, dy, dz] = [x as f64 - 40.0, y as f64 - 36.0, z as f64 - 12.0];
        (dx * dx + dy * dy + dz * dz).sqrt()
    };
    let image = Array3::from_shape_fn((depth, height, width), |(z, y, x)| {
        (if radius(z, y, x) < 10.0 { 5000.0 } else { 1000.0 } + 150.0 * random.normal()) as u16
    });
    (image, Array3::from_shape_fn((depth, height, width), |(z, y, x)| u8::from(radius(z, y, x) < 6.0)))
}

#[test]
fn converged_volumes_have_the_bits_of_the_call_on_memory() {
    let words = ball().0;
    let params = edge_strength::Params {
        dimensions: Dimensions::Volume,
        mode: Mode::Converged { tolerance: 1e-3, max_cycles: 20 },
        start: Start::Input(None),
        ..Default::default()
    };
    compare("converged volume", |context, way| {
        let mut output = Array3::from_elem(words.dim(), -1.0f32);
        let input = way.input(&words, PixelType::U16);
        let report = edge_strength::run(context, input, &params, None, way.floats(&mut output)).unwrap();
        assert!(report.converged && report.slices_done == SHAPE[2] as u64);
        (bits(&output), report.iterations, report.residual.to_bits())
    });
}

#[test]
fn level_sets_have_the_bits_of_the_call_on_memory() {
    let (words, start) = ball();
    for pyramid_levels in [1, 2] {
        let params = level_set::Params { pyramid_levels, dimensions: Dimensions::Volume, ..Default::default() };
        compare(&format!("level set, {pyramid_levels} levels"), |context, way| {
            let [image, begin] = [way.input(&words, PixelType::U16), way.input(&start, PixelType::U8)];
            let mut mask = Array3::from_elem(words.dim(), 7u8);
            level_set::run(context, image, begin, &params, 200, None, way.bytes(&mut mask)).unwrap();
            assert!((3500..4800).contains(&mask.iter().filter(|inside| **inside > 0).count()), "the ball is found");
            // Step by step, from φ that was read and is written back.
            let [image, begin] = [way.input(&words, PixelType::U16), way.input(&start, PixelType::U8)];
            let mut surface = LevelSet::new(context, image, begin, &params).unwrap();
            let [mut phi, mut again] = [(); 2].map(|()| Array3::from_elem(words.dim(), 0f32));
            surface.step(5, None).unwrap();
            surface.read_phi(way.floats(&mut phi)).unwrap();
            surface.write_phi(way.input(&phi, PixelType::F32)).unwrap();
            surface.step(5, None).unwrap();
            surface.read_phi(way.floats(&mut again)).unwrap();
            let mut stepped = Array3::from_elem(words.dim(), 7u8);
            surface.read_mask(way.bytes(&mut stepped)).unwrap();
            let State { target, epsilon, iterations, .. } = surface.state();
            (mask, bits(&phi), bits(&again), stepped, [target.to_bits(), epsilon.to_bits(), iterations])
        });
    }
}

#[test]
fn objects_have_the_bits_of_the_call_on_memory() {
    let (words, start) = ball();
    for starts in [Some(&start), None] {
        compare(&format!("objects, starts {}", starts.is_some()), |context, way| {
            let mut labels = Array3::from_elem(words.dim(), 7u8);
            let (mut found, image) = (Objects::new(), way.input(&words, PixelType::U16));
            let begin = starts.map(|starts| way.input(starts, PixelType::U8));
            let output = way.bytes(&mut labels);
            let report =
                objects::run(context, image, begin, &objects::Params::default(), None, output, &mut found).unwrap();
            assert!(!found.all().is_empty() && labels.iter().any(|label| *label == 1));
            (labels, found, report.iterations)
        });
    }
}

#[test]
fn functions_end_calls_on_whole_volumes() {
    let (words, start) = ball();
    let params = level_set::Params::default();
    let failing = |at: usize| {
        Source::new(PixelType::U16, SHAPE, move |slice, pixels| {
            pixels.fill(0);
            if slice == at { Err("the disk is gone") } else { Ok(()) }
        })
    };
    for context in contexts() {
        let begin = || Input::from(start.view());
        let error = LevelSet::new(&context, failing(23).into(), begin(), &params).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CallbackFailed);
        assert!(error.to_string().contains("cannot read slice 23: the disk is gone"), "{error}");
        // A function that writes may fail; the level set is unchanged and can be read again.
        let surface = LevelSet::new(&context, words.view().into(), begin(), &params).unwrap();
        let full = Sink::new(PixelType::U8, SHAPE, |slice, _| if slice < 5 { Ok(()) } else { Err("the disk is full") });
        let error = surface.read_mask(full.into()).unwrap_err();
        assert!(error.to_string().contains("cannot write slice 5: the disk is full"), "{error}");
        let mut mask = Array3::<u8>::zeros(start.dim());
        surface.read_mask(mask.view_mut().into()).unwrap();
        assert!(mask.iter().zip(&start).all(|(inside, start)| (*inside > 0) == (*start > 0)));
        // Nothing is read if another argument is wrong, and a callback of progress cancels between slices.
        let small = Array3::<u8>::zeros((1, 1, 1));
        let untouched = Source::new(PixelType::U16, SHAPE, |_, _| -> Result<(), String> { panic!("a slice is read") });
        let error = LevelSet::new(&context, untouched.into(), small.view().into(), &params).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidSize);
        let read = Cell::new(0);
        let counting = Source::new(PixelType::U16, SHAPE, |_, pixels| {
            pixels.fill(0);
            read.set(read.get() + 1);
            std::thread::sleep(Duration::from_millis(15));
            Ok::<_, &str>(())
        });
        let mut stop =
            |_: f64, _: &str| if read.get() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        let output = mask.view_mut().into();
        let done = level_set::run(&context, counting.into(), begin(), &params, 9, Some(&mut stop), output);
        assert_eq!(done.unwrap_err().kind(), ErrorKind::Cancelled);
        assert!((3..6).contains(&read.get()), "{} slices were read", read.get());
    }
}
