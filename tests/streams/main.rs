//! Stacks that functions read and write slice by slice: the bits of the call on memory, whatever is in memory and what is
//! not; the order, the thread and the number of slices at a time; errors, cancels and calls from the functions.

#[path = "../common/mod.rs"]
mod common;
mod distances;
mod volumes;
mod whole;

use common::{Random, bits, least_of_three, noting};
use isoline::edge_drawing::{self, Maps, Profile, Segments, Validation};
use isoline::edge_strength::{self, Mode, Start};
use isoline::isolines::{self, Polylines};
use isoline::snake::{self, Background, Node, Overlap, Polygons, Snake};
use isoline::{
    Context, Dimensions, Error, ErrorKind, Foreground, Image, Input, Output, PixelType, Report, Sink, Source, distance,
    set_cancel_flag,
};
use ndarray::{Array3, ArrayView3};
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A slice of 8 MiB of input and output (u8 and f32), so that few slices make several batches of 64 MiB.
const WIDE: [usize; 2] = [1677, 1001];
/// The slices that make three batches on the CPU, the last of them smaller.
const DEPTH: usize = 19;

/// The contexts that this machine has: the CPU, with one and with several parts, and a GPU.
fn contexts() -> Vec<Context> {
    let mut contexts = vec![Context::new("cpu").unwrap(), Context::of_parts(&["cpu", "cpu", "cpu"]).unwrap()];
    match Context::new("cuda:0") {
        Ok(cuda) => contexts.extend([cuda, Context::of_parts(&["cuda:0", "cuda:0"]).unwrap()]),
        Err(error) => eprintln!("SKIPPED on a GPU: {error}"),
    }
    contexts
}

/// Returns a stack of discs in noise; each slice is brighter than the one before, so that their ranges differ.
fn stack([width, height]: [usize; 2], depth: usize) -> Array3<u16> {
    let mut random = Random::new(17);
    let noise: Vec<f64> = (0..4099).map(|_| 120.0 * random.normal()).collect();
    Array3::from_shape_fn((depth, height, width), |(z, y, x)| {
        let [dx, dy] = [x % 40, y % 36].map(|v| v as f64 - 18.0);
        let ground = if dx.hypot(dy) < 9.0 + (z % 7) as f64 { 9000.0 } else { 3000.0 };
        (ground + 1500.0 * z as f64 + noise[(x + 61 * y + 977 * z) % noise.len()]).clamp(0.0, 65535.0) as u16
    })
}

fn shape_of<T>(array: &Array3<T>) -> [usize; 3] {
    let (depth, height, width) = array.dim();
    [width, height, depth]
}

/// Reads the slices of an array.
fn source<T: bytemuck::Pod>(array: &Array3<T>, pixel_type: PixelType) -> Source<'_> {
    let bytes: &[u8] = bytemuck::cast_slice(array.as_slice().unwrap());
    Source::new(pixel_type, shape_of(array), move |slice, pixels| {
        pixels.copy_from_slice(&bytes[slice * pixels.len()..][..pixels.len()]);
        Ok::<_, String>(())
    })
}

/// Writes the slices of an array, in ascending order.
fn sink<T: bytemuck::Pod>(array: &mut Array3<T>, pixel_type: PixelType) -> Sink<'_> {
    let shape = shape_of(array);
    let (bytes, mut next): (&mut [u8], _) = (bytemuck::cast_slice_mut(array.as_slice_mut().unwrap()), 0);
    Sink::new(pixel_type, shape, move |slice, pixels| {
        assert_eq!(slice, next);
        next += 1;
        bytes[slice * pixels.len()..][..pixels.len()].copy_from_slice(pixels);
        Ok::<_, String>(())
    })
}

/// Says of the input and the outputs of a call whether functions read and write them.
#[derive(Clone, Copy, Debug)]
struct Streamed {
    input: bool,
    output: bool,
}

const MEMORY: Streamed = Streamed { input: false, output: false };
const WAYS: [Streamed; 3] = [
    Streamed { input: true, output: true },
    Streamed { input: true, output: false },
    Streamed { input: false, output: true },
];

impl Streamed {
    fn input<T: bytemuck::Pod>(self, array: &Array3<T>, pixel_type: PixelType) -> Input<'_>
    where
        for<'a> Image<'a>: From<ArrayView3<'a, T>>,
    {
        if self.input { source(array, pixel_type).into() } else { Image::from(array.view()).into() }
    }

    fn floats(self, array: &mut Array3<f32>) -> Output<'_> {
        if self.output { sink(array, PixelType::F32).into() } else { array.view_mut().into() }
    }

    fn bytes(self, array: &mut Array3<u8>) -> Output<'_> {
        if self.output { sink(array, PixelType::U8).into() } else { array.view_mut().into() }
    }
}

/// Compares a call on slices of every kind with the call on memory, on each context.
fn compare<T: PartialEq>(what: &str, run: impl Fn(&Context, Streamed) -> T) {
    for context in contexts() {
        let expected = run(&context, MEMORY);
        // On several devices slices are read and written as on one.
        for &way in if context.devices().len() > 1 { &WAYS[..1] } else { &WAYS } {
            assert!(run(&context, way) == expected, "{what}: other bits on {:?}, {way:?}", context.device().id);
        }
    }
}

/// Returns the parts of a report that do not depend on time.
fn essence(report: &Report, context: &Context) -> (u64, u64, bool, u64) {
    assert_eq!(report.device_count as usize, context.devices().len());
    assert!(report.seconds_compute > 0.0 && report.seconds_total > 0.0);
    (report.slices_done, report.iterations, report.converged, report.residual.to_bits())
}

#[test]
fn edge_strength_has_the_bits_of_the_call_on_memory() {
    let words = stack([260, 200], 300);
    for mode in [Mode::Iterate { iterations: 5 }, Mode::Converged { tolerance: 1e-2, max_cycles: 2 }] {
        for start in [Start::Mask, Start::Input(None)] {
            let params = edge_strength::Params { mode, start, threshold: 7500.0, ..Default::default() };
            compare(&format!("{mode:?}, {start:?}"), |context, way| {
                let mut output = Array3::from_elem(words.dim(), -1.0f32);
                let input = way.input(&words, PixelType::U16);
                let report = edge_strength::run(context, input, &params, None, way.floats(&mut output)).unwrap();
                (bits(&output), essence(&report, context))
            });
        }
    }
}

#[test]
fn edge_drawing_has_the_bits_of_the_call_on_memory() {
    // Automatic thresholds and ranges are those of the whole stack.
    let words = stack([700, 300], 170);
    let floats = words.mapv(|pixel| f32::from(pixel) * 0.25 - 100.0);
    let flat = words.mapv(|pixel| if pixel > 6000 { 200u8 } else { 100 });
    let validated = edge_drawing::Params { validation: Validation::FalseAlarms, ..Default::default() };
    let reference = edge_drawing::Params { profile: Profile::Reference, ..Default::default() };
    let given = edge_drawing::Params { gradient_threshold: Some(900.0), ..Default::default() };
    let draw = |context: &Context, way: Streamed, input: Input<'_>, params: &edge_drawing::Params| {
        let (mut edges, mut segments) = (Array3::from_elem(words.dim(), 7u8), Segments::new());
        let output = Some(way.bytes(&mut edges));
        let report = edge_drawing::run(context, input, params, None, output, Some(&mut segments)).unwrap();
        (edges, segments, essence(&report, context))
    };
    for params in [edge_drawing::Params::default(), validated, reference, given] {
        compare(&format!("u16, {params:?}"), |context, way| {
            draw(context, way, way.input(&words, PixelType::U16), &params)
        });
    }
    let params = edge_drawing::Params::default();
    compare("f32", |context, way| draw(context, way, way.input(&floats, PixelType::F32), &params));
    compare("u8, flat", |context, way| draw(context, way, way.input(&flat, PixelType::U8), &params));
    for context in contexts() {
        let [memory, streamed] = [MEMORY, WAYS[0]].map(|way| {
            edge_drawing::automatic_threshold(&context, way.input(&words, PixelType::U16), &params).unwrap()
        });
        assert!(memory == streamed && memory > 0.0, "{memory} and {streamed}");
    }
}

#[test]
fn edge_drawing_streams_some_maps_and_leaves_others_in_memory() {
    let floats = stack([200, 150], 400).mapv(f32::from);
    let params = edge_drawing::Params::default();
    compare("maps", |context, way| {
        let [mut smoothed, mut gradient] = [(); 2].map(|()| Array3::from_elem(floats.dim(), -1.0f32));
        let mut anchors = Array3::from_elem(floats.dim(), 7u8);
        let maps = Maps {
            smoothed: Some(way.floats(&mut smoothed)),
            gradient: Some(gradient.view_mut().into()),
            anchors: Some(way.bytes(&mut anchors)),
            ..Maps::default()
        };
        let input = way.input(&floats, PixelType::F32);
        let report = edge_drawing::maps(context, input, &params, None, maps).unwrap();
        (bits(&smoothed), bits(&gradient), anchors, essence(&report, context))
    });
}

#[test]
fn distance_has_the_bits_of_the_call_on_memory() {
    let bytes = stack(WIDE, DEPTH).mapv(|pixel| (pixel / 256) as u8);
    let params = distance::Params { dimensions: Dimensions::Slices, threshold: 80.0, ..Default::default() };
    compare("distance", |context, way| {
        let mut output = Array3::from_elem(bytes.dim(), -1.0f32);
        let input = way.input(&bytes, PixelType::U8);
        let report = distance::run(context, input, &params, None, way.floats(&mut output)).unwrap();
        (bits(&output), essence(&report, context))
    });
}

#[test]
fn isolines_have_the_bits_of_the_call_on_memory() {
    let mut floats = stack([400, 300], 310).mapv(f32::from);
    // Slices without a finite pixel do not count for the range.
    floats.index_axis_mut(ndarray::Axis(0), 0).fill(f32::NAN);
    floats.slice_mut(ndarray::s![290.., .., ..]).fill(f32::INFINITY);
    for levels in [vec![], vec![6000.0, 20_000.0]] {
        let params = isolines::Params { levels, level_count: 3, ..Default::default() };
        for context in contexts() {
            let [expected, found] = [MEMORY, WAYS[0]].map(|way| {
                let mut found = Polylines::new();
                let input = way.input(&floats, PixelType::F32);
                let report = isolines::run(&context, input, &params, None, &mut found).unwrap();
                (found, report.slices_done)
            });
            assert!(!expected.0.polylines().is_empty());
            assert!(found == expected, "{}", context.device().id);
        }
    }
}

#[test]
fn axes_have_the_bits_of_the_call_on_memory() {
    // Waves, whose noise-free ridges and peaks take less time than those of noise.
    let strength = Array3::from_shape_fn((150, 300, 400), |(z, y, x)| {
        let [x, y, z] = [x, y, z].map(|v| v as f32);
        0.5 + 0.4 * (x / 9.0).sin() * ((y + 2.0 * z) / 11.0).cos()
    });
    for context in contexts() {
        let [expected, found] = [MEMORY, WAYS[0]].map(|way| {
            let (mut found, input) = (Polylines::new(), way.input(&strength, PixelType::F32));
            let report = edge_strength::axes(&context, input, &Default::default(), None, &mut found).unwrap();
            (found, report.slices_done)
        });
        assert!(expected.0.polylines().len() > 1000 && expected.1 == 150);
        assert!(found == expected, "{}", context.device().id);
    }
}

#[test]
fn lines_and_ellipses_have_the_bits_of_the_call_on_memory() {
    let mut floats = stack([300, 200], 40).mapv(f32::from);
    // Slices without a segment are not read.
    floats.slice_mut(ndarray::s![5..9, .., ..]).fill(0.0);
    for context in contexts() {
        let mut segments = Segments::new();
        let drawing = edge_drawing::Params::default();
        edge_drawing::run(&context, floats.view().into(), &drawing, None, None, Some(&mut segments)).unwrap();
        let [expected, found] = [MEMORY, WAYS[0]].map(|way| {
            let (mut lines, mut ellipses) = (Vec::new(), Vec::new());
            let [first, second] = [(); 2].map(|()| way.input(&floats, PixelType::F32));
            edge_drawing::lines(&context, first, &segments, &Default::default(), None, &mut lines).unwrap();
            edge_drawing::ellipses(&context, second, &segments, &Default::default(), None, &mut ellipses).unwrap();
            (lines, ellipses)
        });
        assert!(expected.0.len() > 100, "{} lines", expected.0.len());
        assert!(found == expected, "{}", context.device().id);
        let mut read = Vec::new();
        let source = Source::new(PixelType::F32, shape_of(&floats), |slice, pixels| {
            read.push(slice);
            pixels.fill(0);
            Ok::<_, &str>(())
        });
        edge_drawing::lines(&context, source.into(), &segments, &Default::default(), None, &mut Vec::new()).unwrap();
        assert!(read.is_sorted() && !read.contains(&6) && read.len() >= 34, "{read:?}");
    }
}

#[test]
fn snakes_have_the_bits_of_the_call_on_memory() {
    let floats = stack([300, 200], 40).mapv(f32::from);
    let mut starts = Polygons::new();
    // Slices without a target are not read.
    for (z, column) in (0..40).rev().flat_map(|z| [(z, 1), (z, 4)]).filter(|(z, _)| !(5..9).contains(z)) {
        let [left, right] = [8, 24].map(|x| 40 * column + x);
        starts.push_on(z, &[[left, 46], [right, 46], [right, 62], [left, 62]].map(|[x, y]| Node::new(x, y)));
    }
    for (overlap, range) in [(Overlap::Allowed, None), (Overlap::Excluded, Some([0.0, 65535.0]))] {
        let background = Background::Window { margin: 0.5 };
        let params = snake::Params { overlap, range, background, ..Default::default() };
        compare(&format!("snakes, {overlap:?}"), |context, way| {
            let input = way.input(&floats, PixelType::F32);
            let (snake, report) = Snake::run(context, input, Some(&starts), &params, None).unwrap();
            let mut labels = Array3::from_elem(floats.dim(), -1.0f32);
            snake.read_labels(way.floats(&mut labels)).unwrap();
            assert!(labels.iter().any(|label| *label == 72.0));
            let parts = (report.slices_done, report.iterations, report.converged);
            (snake.polygons(), snake.statistics(), bits(&labels), parts)
        });
    }
    let mut read = Vec::new();
    let source = Source::new(PixelType::F32, shape_of(&floats), |slice, pixels| {
        read.push(slice);
        pixels.fill(0);
        Ok::<_, &str>(())
    });
    let params = snake::Params { range: Some([0.0, 1.0]), ..Default::default() };
    snake::run(&Context::new("cpu").unwrap(), source.into(), Some(&starts), &params, None).unwrap();
    assert!(read.iter().copied().eq((0..40).filter(|slice| !(5..9).contains(slice))), "{read:?}");
}

/// The distances of masks of zeros, whose slices `read` is asked for and `write` gets.
fn of_zeros(
    context: &Context,
    shape: [usize; 3],
    progress: Option<&mut isoline::Progress<'_>>,
    read: impl FnMut(usize, &mut [u8]) -> Result<(), String>,
    write: impl FnMut(usize, &[u8]) -> Result<(), String>,
) -> Result<Report, Error> {
    let params = distance::Params { dimensions: Dimensions::Slices, ..Default::default() };
    let (source, sink) = (Source::new(PixelType::U8, shape, read), Sink::new(PixelType::F32, shape, write));
    distance::run(context, source.into(), &params, progress, sink.into())
}

#[test]
fn few_slices_are_in_memory_and_all_calls_are_on_the_calling_thread_in_order() {
    let caller = std::thread::current().id();
    let shape = [256, 256, 1000];
    for context in contexts() {
        let (read, written, most) = (Cell::new(0), Cell::new(0), Cell::new(0));
        let report = of_zeros(
            &context,
            shape,
            None,
            |slice, pixels| {
                assert_eq!((slice, pixels.len(), std::thread::current().id()), (read.get(), 256 * 256, caller));
                pixels.fill(0);
                read.set(slice + 1);
                most.set(most.get().max(read.get() - written.get()));
                Ok(())
            },
            |slice, pixels| {
                assert_eq!((slice, pixels.len(), std::thread::current().id()), (written.get(), 4 * 256 * 256, caller));
                assert!(bytemuck::cast_slice::<u8, f32>(pixels).iter().all(|d| *d == f32::INFINITY));
                written.set(slice + 1);
                Ok(())
            },
        );
        assert_eq!(report.unwrap().slices_done, 1000);
        assert_eq!((read.get(), written.get()), (1000, 1000));
        // Two batches of 64 MiB, of slices of 320 KiB.
        let batch = (64 << 20) / (5 << 16);
        assert!(most.get() > batch && most.get() <= 2 * batch, "{} slices at a time", most.get());
    }
}

#[test]
fn slices_are_read_while_others_are_computed() {
    let context = Context::new("cpu").unwrap();
    let (done, while_reading) = (Cell::new(0.0f64), Cell::new(0.0f64));
    let mut progress = |fraction: f64, _: &str| {
        done.set(fraction);
        ControlFlow::Continue(())
    };
    let read = |slice: usize, pixels: &mut [u8]| {
        pixels.fill(0);
        // The first batch of 204 slices is computed meanwhile; only the calling thread reports the progress.
        if (204..408).contains(&slice) {
            std::thread::sleep(Duration::from_millis(if done.get() > 0.1 { 1 } else { 20 }));
            while_reading.set(done.get());
        }
        Ok(())
    };
    of_zeros(&context, [256, 256, 408], Some(&mut progress), read, |_, _| Ok(())).unwrap();
    assert!(while_reading.get() > 0.1, "{} are done", while_reading.get());
}

#[test]
fn the_sentence_of_a_function_that_fails_ends_the_call() {
    for context in contexts() {
        for failing in [0, 1, 300] {
            let read = Cell::new(0);
            let on_read = |slice: usize, pixels: &mut [u8]| {
                read.set(slice + 1);
                pixels.fill(0);
                if slice == failing { Err(format!("tape {slice} is torn")) } else { Ok(()) }
            };
            let written = RefCell::new(Vec::new());
            let on_write = |slice: usize, _: &[u8]| {
                written.borrow_mut().push(slice);
                Ok(())
            };
            let error = of_zeros(&context, [256, 256, 1000], None, on_read, on_write).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CallbackFailed);
            assert_eq!(error.message(), format!("cannot read slice {failing}: tape {failing} is torn"));
            assert_eq!(read.get(), failing + 1);
            assert!(written.borrow().iter().copied().eq(0..written.borrow().len()));
        }
        let error = of_zeros(
            &context,
            [256, 256, 1000],
            None,
            |_, _| Ok(()),
            |slice, _| {
                if slice == 7 { Err("no space left".into()) } else { Ok(()) }
            },
        );
        assert_eq!(error.unwrap_err().message(), "cannot write slice 7: no space left");
        // The context works afterwards.
        of_zeros(&context, [16, 16, 2], None, |_, _| Ok(()), |_, _| Ok(())).unwrap();
    }
}

#[test]
fn the_first_pass_reads_the_source_once_more() {
    let context = Context::new("cpu").unwrap();
    let run = |params: &isolines::Params| {
        let mut reads = Vec::new();
        let source = Source::new(PixelType::U16, [64, 64, 40], |slice, pixels| {
            reads.push(slice);
            pixels.fill(slice as u8);
            Ok::<_, String>(())
        });
        isolines::run(&context, source.into(), params, None, &mut Polylines::new()).unwrap();
        reads
    };
    let once: Vec<usize> = (0..40).collect();
    assert_eq!(run(&isolines::Params { levels: vec![7.0], ..Default::default() }), once);
    assert_eq!(run(&isolines::Params::default()), [once.clone(), once.clone()].concat());

    let mut reads = Vec::new();
    let source = Source::new(PixelType::F32, [64, 64, 40], |slice, pixels| {
        reads.push(slice);
        pixels.fill(0);
        Ok::<_, String>(())
    });
    let params = edge_drawing::Params::default();
    edge_drawing::run(&context, source.into(), &params, None, None, Some(&mut Segments::new())).unwrap();
    let sampled: Vec<usize> = (0..16).map(|k| k * 40 / 16).collect();
    assert_eq!(reads, [once.clone(), sampled, once].concat());
}

#[test]
fn a_cancel_ends_the_call_at_once() {
    for context in contexts() {
        for in_read in [true, false] {
            let took = least_of_three(|| {
                let flag = Arc::new(AtomicBool::new(false));
                set_cancel_flag(Some(flag.clone()));
                let cancelled = Cell::new(None);
                let cancel = |slice: usize, when: bool| {
                    assert!(cancelled.get().is_none(), "no function is called any more");
                    if when && slice == 250 {
                        flag.store(true, Ordering::Relaxed);
                        cancelled.set(Some(Instant::now()));
                    }
                    Ok(())
                };
                let error = of_zeros(
                    &context,
                    [256, 256, 1000],
                    None,
                    |slice, _| cancel(slice, in_read),
                    |slice, _| cancel(slice, !in_read),
                );
                set_cancel_flag(None);
                assert_eq!(error.unwrap_err().kind(), ErrorKind::Cancelled);
                cancelled.get().unwrap().elapsed()
            });
            assert!(took < Duration::from_millis(250), "{took:?}");
        }
        let mut calls = 0;
        let mut progress = |fraction: f64, stage: &str| {
            calls += 1;
            assert!((0.0..=1.0).contains(&fraction) && stage == "distance");
            if calls == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let error = of_zeros(&context, [256, 256, 10_000], Some(&mut progress), |_, _| Ok(()), |_, _| Ok(()));
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(calls, 5);
    }
}

#[test]
fn progress_never_falls_and_reaches_the_end() {
    for context in contexts() {
        let mut seen = Vec::new();
        let pause = |_: usize, _: &[u8]| {
            std::thread::sleep(Duration::from_millis(2));
            Ok(())
        };
        of_zeros(&context, [512, 512, 200], Some(&mut noting(&mut seen)), |_, _| Ok(()), pause).unwrap();
        assert!(seen.is_sorted() && seen.len() > 10, "{seen:?}");
        assert!(seen[0] == 0.0 && seen[seen.len() - 1] > 0.9, "{seen:?}");
    }
}

#[test]
fn functions_may_use_other_contexts_but_not_the_calling_one() {
    for context in contexts() {
        let other = Context::new("cpu").unwrap();
        let again = |context: &Context| of_zeros(context, [16, 16, 3], None, |_, _| Ok(()), |_, _| Ok(()));
        let call = |slice: usize| {
            if slice == 1 {
                assert_eq!(again(&context).unwrap_err().kind(), ErrorKind::Busy);
                assert_eq!(again(&other).unwrap().slices_done, 3);
            }
            Ok(())
        };
        of_zeros(&context, [64, 64, 4], None, |slice, _| call(slice), |slice, _| call(slice)).unwrap();
    }
}

#[test]
fn a_panic_in_a_function_reaches_the_caller() {
    let context = Context::new("cpu").unwrap();
    let call = || {
        let read = |slice: usize, _: &mut [u8]| {
            assert!(slice < 300, "boom");
            Ok(())
        };
        of_zeros(&context, [256, 256, 1000], None, read, |_, _| Ok(()))
    };
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"boom"));
    of_zeros(&context, [16, 16, 2], None, |_, _| Ok(()), |_, _| Ok(())).unwrap();
}

#[test]
fn types_and_sizes_are_checked_before_anything_is_read() {
    let context = Context::new("cpu").unwrap();
    let unread = || Source::new(PixelType::U8, [8, 8, 4], |_, _| -> Result<(), String> { panic!("it was read") });
    for dimensions in [Dimensions::Slices, Dimensions::Volume] {
        let params = distance::Params { dimensions, ..Default::default() };
        let wrong = Sink::new(PixelType::U8, [8, 8, 4], |_, _| Ok::<_, String>(()));
        let error = distance::run(&context, unread().into(), &params, None, wrong.into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidType);
        let wrong = Sink::new(PixelType::F32, [8, 8, 5], |_, _| Ok::<_, String>(()));
        let error = distance::run(&context, unread().into(), &params, None, wrong.into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidSize);
    }
}
