//! Targets on several slices, in memory or read by functions: each slice by itself, as if it were the whole image.

use super::common::{cuda, noting};
use super::{Random, cpu};
use isoline::snake::{self, Background, Node, Overlap, Params, Polygons, Snake, Statistics, Status};
use isoline::{Context, Error, ErrorKind, Input, PixelType, Sink, Source};
use ndarray::{Array3, Axis, s};
use std::cell::RefCell;
use std::ops::ControlFlow;

const WIDTH: usize = 120;
const HEIGHT: usize = 90;
const DEPTH: usize = 6;

/// Discs that lie elsewhere and are brighter on each slice, in noise; the last slice is empty.
fn stack() -> Array3<u16> {
    let mut random = Random::new(41);
    Array3::from_shape_fn((DEPTH, HEIGHT, WIDTH), |(z, y, x)| {
        let [x, y] = [x, y].map(|v| v as f64 + 0.5);
        let inside = centres(z).iter().any(|[cx, cy]| (x - cx).hypot(y - cy) < 14.0);
        let level = if inside && z + 1 < DEPTH { 700.0 + 40.0 * z as f64 } else { 400.0 };
        (level + 50.0 * random.normal()).round() as u16
    })
}

fn centres(z: usize) -> [[f64; 2]; 3] {
    let shift = 2.0 * z as f64;
    [[30.0 + shift, 30.0], [60.0 + shift, 32.0], [80.0, 65.0 - shift]]
}

/// Starts in an order that is not that of the slices, of which slice 2 has none; some have pixels in common.
fn starts() -> Polygons {
    let mut starts = Polygons::new();
    for (z, disc) in [(4, 0), (1, 2), (0, 1), (4, 1), (1, 0), (0, 0), (5, 0), (3, 2), (4, 0)] {
        let [x, y] = centres(z)[disc].map(|v| v as i32);
        let square = [(-9, -9), (9, -9), (9, 9), (-9, 9)];
        starts.push_on(z as u32, &square.map(|(dx, dy)| Node::new(x + dx, y + dy)));
    }
    starts
}

fn source<'a, T: bytemuck::Pod>(image: &'a Array3<T>, pixels: PixelType, read: &'a RefCell<Vec<usize>>) -> Input<'a> {
    let bytes: &[u8] = bytemuck::cast_slice(image.as_slice().unwrap());
    let (depth, height, width) = image.dim();
    let read = move |slice: usize, pixels: &mut [u8]| {
        read.borrow_mut().push(slice);
        pixels.copy_from_slice(&bytes[slice * pixels.len()..][..pixels.len()]);
        Ok::<_, String>(())
    };
    Source::new(pixels, [width, height, depth], read).into()
}

fn labels_of(snake: &Snake) -> Array3<u16> {
    let mut labels = Array3::from_elem((DEPTH, HEIGHT, WIDTH), 777);
    snake.read_labels(labels.view_mut().into()).unwrap();
    labels
}

/// Statistics to compare, in which NaN equals NaN.
fn text(statistics: &[Statistics]) -> String {
    format!("{statistics:?}")
}

/// Checks a run on all slices against one for each slice.
fn check(context: &Context, image: &Array3<u16>, starts: &Polygons, params: &Params, found: &Snake) {
    let (polygons, told, labels) = (found.polygons(), found.statistics(), labels_of(found));
    assert_eq!(polygons.slices(), starts.slices());
    for z in 0..DEPTH {
        let own: Vec<usize> = (0..starts.len()).filter(|index| starts.slices()[*index] as usize == z).collect();
        let mut of_slice = Polygons::new();
        own.iter().for_each(|index| of_slice.push(starts.get(*index).unwrap()));
        let mut alone = Snake::new(context, image.index_axis(Axis(0), z).into(), Some(&of_slice), params).unwrap();
        alone.step(u64::MAX, None).unwrap();
        for (index, (nodes, statistics)) in own.iter().zip(alone.polygons().iter().zip(alone.statistics())) {
            assert_eq!(polygons.get(*index).unwrap(), nodes, "slice {z}, target {index}");
            assert_eq!(text(&told[*index..=*index]), text(&[statistics]), "slice {z}, target {index}");
        }
        let mut expected = ndarray::Array2::<u16>::from_elem((HEIGHT, WIDTH), 777);
        alone.read_labels(expected.view_mut().into()).unwrap();
        expected.mapv_inplace(|label| if label == 0 { 0 } else { own[usize::from(label) - 1] as u16 + 1 });
        assert!(labels.index_axis(Axis(0), z) == expected, "slice {z}");
    }
}

#[test]
fn slices_are_searched_as_images_of_their_own() {
    let (image, starts) = (stack(), starts());
    let mut contexts = vec![cpu(), Context::of_parts(&["cpu", "cpu", "cpu"]).unwrap()];
    contexts.extend(cuda());
    for context in contexts {
        for overlap in [Overlap::Allowed, Overlap::Excluded] {
            for pyramid_levels in [1, 3] {
                let background = Background::Window { margin: 0.8 };
                let params = Params { overlap, pyramid_levels, background, ..Params::default() };
                let (found, report) = Snake::run(&context, image.view().into(), Some(&starts), &params, None).unwrap();
                check(&context, &image, &starts, &params, &found);
                assert!(report.converged && report.slices_done == DEPTH as u64 && report.seconds_compute > 0.0);
                let most = found.statistics().iter().map(|one| one.iterations).max().unwrap();
                assert_eq!(report.iterations, most);
                // Targets of other slices have no pixel in common with these.
                let overlaps: Vec<bool> = found.statistics().iter().map(|one| one.overlaps).collect();
                assert!(overlaps[0] && overlaps[8] && !overlaps[6] && !overlaps[7], "{overlaps:?}");

                let read = RefCell::new(Vec::new());
                let input = source(&image, PixelType::U16, &read);
                let (streamed, again) = Snake::run(&context, input, Some(&starts), &params, None).unwrap();
                assert_eq!(read.take(), [0, 1, 3, 4, 5]);
                assert!(
                    streamed.polygons() == found.polygons()
                        && text(&streamed.statistics()) == text(&found.statistics())
                );
                assert_eq!((again.iterations, again.slices_done), (report.iterations, report.slices_done));
                check_sinks(&streamed, &labels_of(&found));
            }
        }
    }
}

/// Checks that sinks get what memory gets.
fn check_sinks(snake: &Snake, expected: &Array3<u16>) {
    let mut bytes = Vec::new();
    let sink = Sink::new(PixelType::U16, [WIDTH, HEIGHT, DEPTH], |slice, pixels| {
        assert_eq!(bytes.len(), slice * pixels.len());
        bytes.extend_from_slice(pixels);
        Ok::<_, String>(())
    });
    snake.read_labels(sink.into()).unwrap();
    assert!(bytes == bytemuck::cast_slice::<u16, u8>(expected.as_slice().unwrap()));
    let mut mask = Vec::new();
    let sink = Sink::new(PixelType::U8, [WIDTH, HEIGHT, DEPTH], |_, pixels| {
        mask.extend_from_slice(pixels);
        Ok::<_, String>(())
    });
    snake.read_mask(sink.into()).unwrap();
    assert!(mask.iter().zip(expected).all(|(mask, label)| *mask == if *label == 0 { 0 } else { 255 }));
    let full =
        Sink::new(
            PixelType::U16,
            [WIDTH, HEIGHT, DEPTH],
            |slice, _| {
                if slice == 2 { Err("no space left") } else { Ok(()) }
            },
        );
    let error = snake.read_labels(full.into()).unwrap_err();
    assert_eq!(error.message(), "cannot write slice 2: no space left");
}

#[test]
fn an_automatic_range_is_that_of_all_slices() {
    let mut floats = stack().mapv(|pixel| f32::from(pixel) * 0.25 - 70.0);
    // The extremes are on a slice without targets.
    for y in 0..2 {
        (floats[[2, y, 0]], floats[[2, y, 1]], floats[[2, y, 2]]) = (-900.0, 2500.0, f32::INFINITY);
    }
    let starts = starts();
    let given = Params { range: Some([-900.0, 2500.0]), ..Params::default() };
    let (expected, told, _) = snake::run(&cpu(), floats.view().into(), Some(&starts), &given, None).unwrap();
    let automatic = Params::default();
    let (found, same, _) = snake::run(&cpu(), floats.view().into(), Some(&starts), &automatic, None).unwrap();
    assert!(found == expected && same == told);
    let all: Vec<usize> = (0..DEPTH).collect();
    for (params, passes) in [(&automatic, vec![all, vec![0, 1, 3, 4, 5]]), (&given, vec![vec![0, 1, 3, 4, 5]])] {
        let read = RefCell::new(Vec::new());
        let input = source(&floats, PixelType::F32, &read);
        let (found, same, _) = snake::run(&cpu(), input, Some(&starts), params, None).unwrap();
        assert!(found == expected && same == told);
        assert_eq!(read.take(), passes.concat());
    }
}

#[test]
fn a_stack_in_device_memory_is_searched_there() {
    let Some(cuda) = cuda() else { return };
    let (image, starts) = (stack().mapv(|pixel| f32::from(pixel) * 0.25 - 70.0), starts());
    let mut on_device = cuda.device_image(PixelType::F32, [WIDTH, HEIGHT, DEPTH]).unwrap();
    on_device.upload(image.view().into()).unwrap();
    for overlap in [Overlap::Allowed, Overlap::Excluded] {
        let params = Params { overlap, ..Params::default() };
        let (expected, told, _) = snake::run(&cpu(), image.view().into(), Some(&starts), &params, None).unwrap();
        let (found, same, _) = snake::run(&cuda, on_device.view().into(), Some(&starts), &params, None).unwrap();
        assert!(found == expected && text(&same) == text(&told), "{overlap:?}");
    }
    let reduced = Params { pyramid_levels: 2, ..Params::default() };
    let error = snake::run(&cuda, on_device.view().into(), Some(&starts), &reduced, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn without_polygons_each_slice_has_the_default_one() {
    let image = stack();
    let read = RefCell::new(Vec::new());
    let input = source(&image, PixelType::U16, &read);
    let (found, told, _) = snake::run(&cpu(), input, None, &Params::default(), None).unwrap();
    assert_eq!(found.slices(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(read.take(), [0, 1, 2, 3, 4, 5]);
    for (z, slice) in image.outer_iter().enumerate() {
        let (alone, same, _) = snake::run(&cpu(), slice.into(), None, &Params::default(), None).unwrap();
        assert_eq!(found.get(z), alone.get(0));
        assert_eq!(told[z], same[0]);
    }
}

#[test]
fn no_targets_need_no_slice() {
    let read = RefCell::new(Vec::new());
    let image = stack();
    let input = source(&image, PixelType::U16, &read);
    let (found, report) = Snake::run(&cpu(), input, Some(&Polygons::new()), &Params::default(), None).unwrap();
    assert!(found.is_empty() && report.converged && read.take().is_empty());
    assert!(labels_of(&found).iter().all(|label| *label == 0));
    // The snake keeps no pixels, also where none are needed.
    assert_eq!(found.region_sums(&Polygons::new()).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn a_snake_of_slices_keeps_no_pixels() {
    let (image, starts) = (stack(), starts());
    let refused = |error: Error, word: &str| {
        assert!(error.message().contains(word), "{error}");
        error.kind()
    };
    let error = Snake::new(&cpu(), image.view().into(), Some(&starts), &Params::default()).unwrap_err();
    assert_eq!(refused(error, "one slice"), ErrorKind::InvalidSize);
    // One slice from a function is not kept either.
    let one = image.slice(s![..1, .., ..]).to_owned();
    let read = RefCell::new(Vec::new());
    for input in [image.view().into(), source(&one, PixelType::U16, &read)] {
        let mut first = Polygons::new();
        first.push(starts.get(2).unwrap());
        let (mut found, _) = Snake::run(&cpu(), input, Some(&first), &Params::default(), None).unwrap();
        let before = found.polygons();
        let error = found.restart(Some(&first), &Params::default()).unwrap_err();
        assert_eq!(refused(error, "keeps none"), ErrorKind::Unsupported);
        assert_eq!(refused(found.region_sums(&first).unwrap_err(), "keeps none"), ErrorKind::Unsupported);
        let report = found.step(5, None).unwrap();
        assert!(report.converged && report.iterations == found.statistics()[0].iterations);
        assert!(found.polygons() == before && found.statistics()[0].status == Status::Converged);
    }
    let (found, _) = Snake::run(&cpu(), image.view().into(), Some(&starts), &Params::default(), None).unwrap();
    let mut flat = ndarray::Array2::<u16>::zeros((HEIGHT, WIDTH));
    assert_eq!(found.read_labels(flat.view_mut().into()).unwrap_err().kind(), ErrorKind::InvalidSize);
}

#[test]
fn slices_that_cannot_be_had_end_the_run() {
    let (image, mut starts) = (stack(), starts());
    let run = |input: Input<'_>, starts: &Polygons| {
        Snake::run(&cpu(), input, Some(starts), &Params::default(), None).map(|_| ()).unwrap_err()
    };
    for failing in [0, 3, 5] {
        let mut read = Vec::new();
        let torn = Source::new(PixelType::U16, [WIDTH, HEIGHT, DEPTH], |slice, pixels| {
            read.push(slice);
            pixels.fill(1);
            if slice == failing { Err("torn") } else { Ok(()) }
        });
        let error = run(torn.into(), &starts);
        assert_eq!(error.kind(), ErrorKind::CallbackFailed);
        assert_eq!(error.message(), format!("cannot read slice {failing}: torn"));
        assert_eq!(read.last(), Some(&failing));
    }
    let outside = starts.get(0).unwrap().to_vec();
    starts.push_on(DEPTH as u32, &outside);
    let unread = Source::new(PixelType::U16, [WIDTH, HEIGHT, DEPTH], |_, _| -> Result<(), String> { panic!("read") });
    for input in [unread.into(), image.view().into()] {
        let error = run(input, &starts);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("polygon 9") && error.message().contains("(got slice 6)"), "{error}");
    }
    let error = run(image.index_axis(Axis(0), 0).into(), &starts);
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    // A polygon that crosses itself is named by its number among all.
    let mut crossing = Polygons::new();
    crossing.push_on(4, &outside);
    crossing.push_on(1, &[[0, 0], [9, 9], [9, 0], [0, 9]].map(|[x, y]| Node::new(x, y)));
    assert!(run(image.view().into(), &crossing).message().contains("polygon 1"));
    let error = Polygons::from_flat(&outside, &[0, 4], Some(&[0, 1])).unwrap_err();
    assert!(error.message().contains("one for each of the 1 polygons (got 2)"), "{error}");
}

#[test]
fn progress_never_falls_and_cancels_between_slices() {
    let (image, starts) = (stack(), starts());
    let mut fractions = Vec::new();
    let expected = snake::run(&cpu(), image.view().into(), Some(&starts), &Params::default(), None).unwrap();
    let found =
        snake::run(&cpu(), image.view().into(), Some(&starts), &Params::default(), Some(&mut noting(&mut fractions)))
            .unwrap();
    assert!(found.0 == expected.0);
    assert!(fractions.is_sorted() && fractions[0] == 0.0, "{fractions:?}");
    assert!(fractions.iter().any(|fraction| *fraction > 0.8 && *fraction <= 1.0), "{fractions:?}");

    let read = RefCell::new(Vec::new());
    let mut stop =
        |fraction: f64, _: &str| if fraction > 0.3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let input = source(&image, PixelType::U16, &read);
    let error = Snake::run(&cpu(), input, Some(&starts), &Params::default(), Some(&mut stop)).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    // Two of nine targets are on slice 0, and two on slice 1.
    let read = read.take();
    assert!(read == [0, 1] || read == [0, 1, 3], "{read:?}");
}
