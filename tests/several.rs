//! Contexts of several devices: the same bits as on one, whatever the number of devices and the split; progress, cancels and
//! errors. The parts of a context are on the CPU, on one GPU that is split, and on several GPUs; what is not there is skipped,
//! with the reason.

mod common;

use common::{Random, bits, cancelling_after};
use isoline::edge_drawing::{self, Maps, Profile, Segments, Validation};
use isoline::edge_strength::{self, Mode, Start};
use isoline::isolines::{self, Polylines};
use isoline::isosurface::{self, Surface};
use isoline::snake::{self, Node, Overlap, Polygons, Snake};
use isoline::{Context, Dimensions, Error, ErrorKind, Image, PixelType, distance, set_cancel_flag};
use ndarray::{Array2, Array3, ArrayView3, ArrayViewMut3, s};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

/// The number of slices: one, fewer than devices, as many, and odd splits.
const DEPTHS: [usize; 4] = [1, 2, 3, 7];

/// Contexts of several devices beside one of a single device, which must give the same bits.
struct Group {
    name: &'static str,
    one: Context,
    several: Vec<Context>,
}

fn parts(device: &str, count: usize) -> Context {
    Context::of_parts(&vec![device; count]).unwrap()
}

/// Returns the groups that this machine has; says once which it has not.
fn groups() -> Vec<Group> {
    static SAY: Once = Once::new();
    let cpu = Context::new("cpu").unwrap();
    let mut groups = vec![Group { name: "CPU", one: cpu, several: [2, 3, 5].map(|count| parts("cpu", count)).into() }];
    let one = match Context::new("cuda:0") {
        Ok(one) => one,
        Err(error) => {
            SAY.call_once(|| eprintln!("SKIPPED on one GPU that is split, and on several GPUs: {error}"));
            return groups;
        }
    };
    let several = [2, 3].map(|count| parts("cuda:0", count)).into();
    groups.push(Group { name: "one GPU, split", one, several });
    match Context::new("cuda:0,1") {
        Ok(two) => {
            let several = vec![two, Context::new("cuda:1,0").unwrap(), Context::new("cuda:all").unwrap()];
            SAY.call_once(|| eprintln!("on {} GPUs", several[2].devices().len()));
            groups.push(Group { name: "several GPUs", one: Context::new("cuda:0").unwrap(), several });
        }
        Err(error) => SAY.call_once(|| eprintln!("SKIPPED on several GPUs: {error}")),
    }
    groups
}

/// Compares every context of several devices with the one of its group.
fn compare<T: PartialEq>(groups: &[Group], what: &str, run: impl Fn(&Context) -> T) {
    for Group { name, one, several } in groups {
        let expected = run(one);
        for context in several {
            let got = run(context);
            assert!(got == expected, "{what}, {name}: other bits on {} devices", context.devices().len());
        }
    }
}

/// Returns a stack of discs in noise; each slice is brighter than the one before, so that their ranges differ.
fn stack(depth: usize, height: usize, width: usize) -> Array3<u16> {
    let mut random = Random::new(17);
    Array3::from_shape_fn((depth, height, width), |(z, y, x)| {
        let [dx, dy] = [x % 40, y % 36].map(|v| v as f64 - 18.0);
        let inside = dx.hypot(dy) < 9.0 + z as f64;
        let ground = if inside { 9000.0 } else { 3000.0 };
        (ground + 1500.0 * z as f64 + 120.0 * random.normal()).clamp(0.0, 65535.0) as u16
    })
}

/// Calls `test` with the stack in each pixel type, and a threshold between its discs and its ground.
fn each_type(stack: &Array3<u16>, mut test: impl FnMut(Image<'_>, f64, &str)) {
    let (bytes, floats) =
        (stack.mapv(|pixel| (pixel / 256) as u8), stack.mapv(|pixel| f32::from(pixel) * 0.25 - 100.0));
    test(bytes.view().into(), 30.0, "u8");
    test(stack.view().into(), 7500.0, "u16");
    test(floats.view().into(), 1775.0, "f32");
}

/// Checks what the report says of devices and slices, in a call whose `count` items are independent.
fn check_report(report: &isoline::Report, context: &Context, count: usize, slices: usize) {
    assert_eq!(report.device_count as usize, context.devices().len().min(count).max(1));
    assert_eq!(report.slices_done as usize, slices);
    assert_eq!(report.device.id, context.device().id);
    assert!(report.seconds_total >= 0.0 && report.seconds_compute > 0.0);
}

#[test]
fn edge_strength_has_the_bits_of_one_device() {
    let groups = groups();
    for depth in DEPTHS {
        each_type(&stack(depth, 61, 83), |image, threshold, name| {
            for mode in [Mode::Iterate { iterations: 37 }, Mode::Converged { tolerance: 1e-3, max_cycles: 20 }] {
                for start in [Start::Mask, Start::Input(None)] {
                    let params = edge_strength::Params { mode, start, threshold, ..Default::default() };
                    compare(&groups, &format!("{depth} slices of {name}, {mode:?}, {start:?}"), |context| {
                        let [width, height, depth] = image.shape();
                        let mut output = Array3::from_elem((depth, height, width), -1.0f32);
                        let report =
                            edge_strength::run(context, image.into(), &params, None, output.view_mut().into()).unwrap();
                        check_report(&report, context, depth, depth);
                        (bits(&output), report.iterations, report.residual.to_bits(), report.converged)
                    });
                }
            }
        });
    }
}

#[test]
fn volumes_of_edge_strength_have_the_bits_of_one_device() {
    let groups = groups();
    // Each device has at least twice as many slices as there are iterations; of the last it is one alone.
    for (iterations, most) in [(0, 40), (1, 20), (4, 5), (9, 2), (13, 1)] {
        each_type(&stack(40, 61, 83), |image, threshold, name| {
            for start in [Start::Mask, Start::Input(None)] {
                let (mode, dimensions) = (Mode::Iterate { iterations }, Dimensions::Volume);
                let params = edge_strength::Params { dimensions, mode, start, threshold, ..Default::default() };
                compare(&groups, &format!("{iterations} iterations of {name}, {start:?}"), |context| {
                    let mut output = Array3::from_elem((40, 61, 83), -1.0f32);
                    let report =
                        edge_strength::run(context, image.into(), &params, None, output.view_mut().into()).unwrap();
                    check_report(&report, context, most, 40);
                    (bits(&output), report.iterations)
                });
            }
        });
    }
}

#[test]
fn slices_of_any_layout_have_the_bits_of_one_device() {
    let groups = groups();
    let stack = stack(7, 40, 50);
    let params = edge_strength::Params { threshold: 7500.0, ..Default::default() };
    compare(&groups, "views with strides", |context| {
        let mut output = Array3::from_elem((7, 43, 104), -1.0f32);
        // Every other column, rows with a gap, and slices backwards.
        let input = stack.slice(s![..;-1, .., ..]);
        let view = output.slice_mut(s![.., ..40, ..100;2]);
        edge_strength::run(context, input.into(), &params, None, view.into()).unwrap();
        bits(&output)
    });
}

#[test]
fn edge_drawing_has_the_bits_of_one_device() {
    let groups = groups();
    for depth in DEPTHS {
        each_type(&stack(depth, 70, 90), |image, _, name| {
            for profile in [Profile::Paper, Profile::Reference] {
                for validation in [Validation::None, Validation::FalseAlarms] {
                    for gradient_threshold in [None, Some(60.0)] {
                        let params =
                            edge_drawing::Params { profile, validation, gradient_threshold, ..Default::default() };
                        compare(&groups, &format!("{depth} slices of {name}, {params:?}"), |context| {
                            let [width, height, depth] = image.shape();
                            let mut edges = Array3::from_elem((depth, height, width), 7u8);
                            let (mut segments, view) = (Segments::new(), Some(edges.view_mut().into()));
                            let report =
                                edge_drawing::run(context, image.into(), &params, None, view, Some(&mut segments))
                                    .unwrap();
                            check_report(&report, context, depth, depth);
                            assert!(validation == Validation::FalseAlarms || segments.len() > depth);
                            let mut alone = edges.clone();
                            alone.fill(7);
                            edge_drawing::run(
                                context,
                                image.into(),
                                &params,
                                None,
                                Some(alone.view_mut().into()),
                                None,
                            )
                            .unwrap();
                            assert!(alone == edges, "the map does not depend on the segments");
                            (edges, segments)
                        });
                    }
                }
            }
        });
    }
}

#[test]
fn maps_of_edge_drawing_have_the_bits_of_one_device() {
    let groups = groups();
    for depth in DEPTHS {
        each_type(&stack(depth, 50, 66), |image, _, name| {
            compare(&groups, &format!("{depth} slices of {name}"), |context| {
                let [width, height, depth] = image.shape();
                let mut gradient = Array3::from_elem((depth, height, width), -1.0f32);
                let mut direction = Array3::from_elem((depth, height, width), 7u8);
                let maps = Maps {
                    gradient: Some(gradient.view_mut().into()),
                    direction: Some(direction.view_mut().into()),
                    ..Default::default()
                };
                let report = edge_drawing::maps(context, image.into(), &Default::default(), None, maps).unwrap();
                assert_eq!(report.device_count as usize, context.devices().len().min(depth));
                (bits(&gradient), direction)
            });
        });
    }
}

#[test]
fn distance_has_the_bits_of_one_device() {
    let groups = groups();
    for depth in DEPTHS {
        each_type(&stack(depth, 61, 83), |image, threshold, name| {
            let params = distance::Params { dimensions: Dimensions::Slices, threshold, ..Default::default() };
            compare(&groups, &format!("{depth} slices of {name}"), |context| {
                let [width, height, depth] = image.shape();
                let mut output = Array3::from_elem((depth, height, width), -1.0f32);
                let report = distance::run(context, image.into(), &params, None, output.view_mut().into()).unwrap();
                check_report(&report, context, depth, depth);
                bits(&output)
            });
        });
    }
}

#[test]
fn axes_have_the_bits_of_one_device() {
    let groups = groups();
    for depth in DEPTHS {
        let strength = stack(depth, 61, 83).mapv(|pixel| f32::from(pixel) / 65535.0);
        compare(&groups, &format!("{depth} slices"), |context| {
            let (mut found, params) = (Polylines::new(), Default::default());
            let report = edge_strength::axes(context, strength.view().into(), &params, None, &mut found).unwrap();
            assert_eq!(report.slices_done as usize, depth);
            let slices = found.polylines().iter().map(|polyline| polyline.slice as usize);
            assert!(found.polylines().len() > depth && slices.max() == Some(depth - 1));
            found
        });
    }
}

#[test]
fn volumes_and_single_slices_run_on_the_first_device() {
    let stack = stack(7, 40, 50);
    for Group { several, .. } in groups() {
        for context in several {
            let mut output = Array3::<f32>::zeros(stack.dim());
            let params =
                edge_strength::Params { dimensions: Dimensions::Volume, threshold: 7500.0, ..Default::default() };
            let report =
                edge_strength::run(&context, stack.view().into(), &params, None, output.view_mut().into()).unwrap();
            assert_eq!(report.device_count, 1);
            let params = distance::Params { threshold: 7500.0, ..Default::default() };
            let report = distance::run(&context, stack.view().into(), &params, None, output.view_mut().into()).unwrap();
            assert_eq!((report.device_count, report.slices_done), (1, 7));
            let (params, mut surface) = (isosurface::Params::default(), Surface::new());
            let report = isosurface::run(&context, stack.view().into(), &params, None, &mut surface).unwrap();
            assert_eq!((report.device_count, report.slices_done), (1, 7));
        }
    }
}

#[test]
fn device_images_run_on_the_first_gpu() {
    let stack = stack(5, 40, 50);
    for Group { one, several, .. } in groups().into_iter().skip(1) {
        let params = edge_strength::Params { threshold: 7500.0, ..Default::default() };
        let run = |context: &Context| {
            let mut source = context.device_image(PixelType::U16, [50, 40, 5]).unwrap();
            source.upload(stack.view().into()).unwrap();
            let mut target = context.device_image(PixelType::F32, [50, 40, 5]).unwrap();
            let report =
                edge_strength::run(context, source.view().into(), &params, None, target.view_mut().into()).unwrap();
            assert_eq!(report.device_count, 1);
            target.download::<f32>().unwrap()
        };
        let expected = run(&one);
        several.iter().for_each(|context| assert!(run(context) == expected));
    }
}

#[test]
fn page_locked_buffers_serve_every_gpu() {
    let groups = groups();
    let stack = stack(7, 300, 400);
    let params = edge_strength::Params { threshold: 7500.0, ..Default::default() };
    compare(&groups, "buffers", |context| {
        let [mut source, mut target] = [2, 4].map(|bytes| context.host_buffer(stack.len() * bytes).unwrap());
        source.pixels_mut::<u16>().copy_from_slice(stack.as_slice().unwrap());
        let input = ArrayView3::from_shape(stack.dim(), source.pixels::<u16>()).unwrap();
        let output = ArrayViewMut3::from_shape(stack.dim(), target.pixels_mut::<f32>()).unwrap();
        edge_strength::run(context, input.into(), &params, None, output.into()).unwrap();
        target.pixels::<u8>().to_vec()
    });
}

/// Bright squares on a dark ground in noise, and a start in each.
fn squares(count: usize) -> (Array2<u16>, Polygons) {
    let mut random = Random::new(3);
    let image = Array2::from_shape_fn((60, 50 * count), |(y, x)| {
        let inside = (10..40).contains(&(x % 50)) && (15..45).contains(&y);
        ((if inside { 2000.0 } else { 900.0 }) + 150.0 * random.normal()).round() as u16
    });
    let mut starts = Polygons::new();
    for x in (0..count as i32).map(|index| 50 * index) {
        let corners = [[15, 20], [44, 22], [42, 50], [12, 48]];
        starts.push(&corners.map(|[dx, y]| Node::new(x + dx, y)));
    }
    (image, starts)
}

/// Returns polygons and statistics of a snake.
fn found(snake: &Snake) -> (Vec<Vec<Node>>, String) {
    (snake.polygons().iter().map(<[Node]>::to_vec).collect(), format!("{:?}", snake.statistics()))
}

#[test]
fn snakes_have_the_bits_of_one_device() {
    let groups = groups();
    for count in [1, 2, 3, 7] {
        let (image, starts) = squares(count);
        for overlap in [Overlap::Allowed, Overlap::Excluded] {
            let params = snake::Params { overlap, ..Default::default() };
            compare(&groups, &format!("{count} targets, {overlap:?}"), |context| {
                let mut snake = Snake::new(context, image.view().into(), Some(&starts), &params).unwrap();
                let first = found(&snake);
                let report = snake.step(3, None).unwrap();
                check_report(&report, context, count, 1);
                let report = snake.step(u64::MAX, None).unwrap();
                assert!(report.converged);
                let sums = snake.region_sums(&snake.polygons()).unwrap();
                (first, found(&snake), report.iterations, sums)
            });
        }
    }
}

#[test]
fn snakes_start_again_with_any_number_of_targets() {
    let groups = groups();
    let (image, starts) = squares(5);
    let some = |count: usize| {
        let mut polygons = Polygons::new();
        (0..count).for_each(|index| polygons.push(starts.get(index).unwrap()));
        polygons
    };
    compare(&groups, "restarts", |context| {
        let mut snake = Snake::new(context, image.view().into(), Some(&some(3)), &Default::default()).unwrap();
        let mut seen = Vec::new();
        for count in [1, 5, 0, 2, 4] {
            snake.restart(Some(&some(count)), &Default::default()).unwrap();
            snake.step(2, None).unwrap();
            // A restart that fails leaves the targets as they were.
            let twisted = [[0, 0], [9, 9], [9, 0], [0, 9]].map(|[x, y]| Node::new(x, y));
            let mut wrong = some(2);
            wrong.push(&twisted);
            snake.restart(Some(&wrong), &Default::default()).unwrap_err();
            snake.step(u64::MAX, None).unwrap();
            assert_eq!(snake.len(), count);
            seen.push(found(&snake));
        }
        seen
    });
}

#[test]
fn progress_rises_on_the_calling_thread_only() {
    let stack = stack(7, 300, 400);
    for Group { several, .. } in groups() {
        for context in several {
            let caller = std::thread::current().id();
            let mut seen = Vec::new();
            let mut callback = |fraction: f64, stage: &str| {
                assert_eq!(std::thread::current().id(), caller);
                assert_eq!(stage, "edge strength");
                seen.push(fraction);
                ControlFlow::Continue(())
            };
            let mode = Mode::Iterate { iterations: 400 };
            let params = edge_strength::Params { mode, threshold: 7500.0, ..Default::default() };
            let mut output = Array3::<f32>::zeros(stack.dim());
            let progress = Some(&mut callback as &mut isoline::Progress<'_>);
            edge_strength::run(&context, stack.view().into(), &params, progress, output.view_mut().into()).unwrap();
            assert!(!seen.is_empty() && seen.is_sorted(), "{seen:?}");
            assert!(seen.iter().all(|fraction| (0.0..=1.0).contains(fraction)), "{seen:?}");
        }
    }
}

/// The parameters of a call that takes long on every device.
fn long() -> edge_strength::Params {
    edge_strength::Params { mode: Mode::Iterate { iterations: 2_000_000 }, threshold: 7500.0, ..Default::default() }
}

#[test]
fn a_callback_cancels_every_device() {
    let stack = stack(12, 300, 400);
    for Group { name, several, .. } in groups() {
        for context in several {
            let mut output = Array3::from_elem(stack.dim(), -1.0f32);
            let (started, mut cancelled) = (Instant::now(), None);
            let mut callback = |_: f64, _: &str| {
                assert!(cancelled.is_none(), "the callback is not called again");
                if started.elapsed() < Duration::from_millis(60) {
                    return ControlFlow::Continue(());
                }
                cancelled = Some(Instant::now());
                ControlFlow::Break(())
            };
            let progress = Some(&mut callback as &mut isoline::Progress<'_>);
            let error = edge_strength::run(&context, stack.view().into(), &long(), progress, output.view_mut().into())
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled);
            let took = cancelled.unwrap().elapsed();
            assert!(took < Duration::from_secs(20), "{name}: {took:?} until all devices had stopped");
            // The context works as before.
            let params = edge_strength::Params { threshold: 7500.0, ..Default::default() };
            edge_strength::run(&context, stack.view().into(), &params, None, output.view_mut().into()).unwrap();
            assert!(output.iter().all(|value| *value >= 0.0));
        }
    }
}

#[test]
fn the_cancel_flag_of_the_thread_reaches_every_device() {
    let stack = stack(12, 300, 400);
    for Group { name, several, .. } in groups() {
        for context in several {
            let flag = Arc::new(AtomicBool::new(false));
            set_cancel_flag(Some(flag.clone()));
            let setter = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(60));
                flag.store(true, Ordering::Relaxed);
                Instant::now()
            });
            let mut output = Array3::from_elem(stack.dim(), -1.0f32);
            let error =
                edge_strength::run(&context, stack.view().into(), &long(), None, output.view_mut().into()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled);
            let took = setter.join().unwrap().elapsed();
            assert!(took < Duration::from_secs(20), "{name}: {took:?} until all devices had stopped");
            set_cancel_flag(None);
        }
    }
}

#[test]
fn segments_and_polylines_are_replaced_only_on_success() {
    let stack = stack(6, 400, 400);
    for Group { several, .. } in groups() {
        for context in several {
            let mut lines = Polylines::new();
            isolines::run(&context, stack.view().into(), &Default::default(), None, &mut lines).unwrap();
            let before = lines.clone();
            let mut seen = Vec::new();
            let mut callback = cancelling_after(1, &mut seen);
            let params = isolines::Params { level_count: 4000, ..Default::default() };
            let progress = Some(&mut callback as &mut isoline::Progress<'_>);
            let done = isolines::run(&context, stack.view().into(), &params, progress, &mut lines);
            assert_eq!(done.unwrap_err().kind(), ErrorKind::Cancelled);
            assert!(lines == before);
        }
    }
}

#[test]
fn snakes_that_are_cancelled_keep_whole_iterations() {
    let (image, starts) = squares(7);
    for Group { one, several, .. } in groups() {
        for context in several {
            let params = snake::Params::default();
            let mut snake = Snake::new(&context, image.view().into(), Some(&starts), &params).unwrap();
            let mut callback = |_: f64, _: &str| ControlFlow::Break(());
            let error = snake.step(u64::MAX, Some(&mut callback)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled);
            snake.step(u64::MAX, None).unwrap();
            let mut alone = Snake::new(&one, image.view().into(), Some(&starts), &params).unwrap();
            alone.step(u64::MAX, None).unwrap();
            assert!(found(&snake) == found(&alone));
        }
    }
}

#[test]
fn callbacks_may_use_other_contexts_and_calls_of_other_threads_wait() {
    let stack = stack(3, 200, 200);
    let params = edge_strength::Params { threshold: 7500.0, ..Default::default() };
    let run = |context: &Context, progress: Option<&mut isoline::Progress<'_>>| -> Result<Vec<u32>, Error> {
        let mut output = Array3::<f32>::zeros(stack.dim());
        edge_strength::run(context, stack.view().into(), &params, progress, output.view_mut().into())?;
        Ok(bits(&output))
    };
    for Group { one, several, .. } in groups() {
        let expected = run(&one, None).unwrap();
        for (index, context) in several.iter().enumerate() {
            let mut seen = None;
            let mut callback = |_: f64, _: &str| {
                seen.get_or_insert_with(|| {
                    let own = run(context, None).unwrap_err().kind();
                    // The first one is not busy: its devices may be the same.
                    let other = if index > 0 { run(&several[0], None) } else { run(&one, None) };
                    (own, other.unwrap() == expected)
                });
                ControlFlow::Continue(())
            };
            assert!(run(context, Some(&mut callback)).unwrap() == expected);
            assert_eq!(seen, Some((ErrorKind::Busy, true)));
            std::thread::scope(|scope| {
                let calls: Vec<_> = (0..4).map(|_| scope.spawn(|| run(context, None).unwrap())).collect();
                calls.into_iter().for_each(|call| assert!(call.join().unwrap() == expected));
            });
        }
    }
}

#[test]
fn a_gpu_that_is_out_of_memory_gives_its_error() {
    let stack = stack(6, 200, 200);
    let params = edge_strength::Params { threshold: 7500.0, ..Default::default() };
    for Group { several, .. } in groups().into_iter().skip(1) {
        for context in several {
            let mut output = Array3::from_elem(stack.dim(), -1.0f32);
            let mut run = || edge_strength::run(&context, stack.view().into(), &params, None, output.view_mut().into());
            context.set_memory_limit(1000);
            let error = run().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfMemory);
            assert!(error.message().contains("1000 bytes"), "{error}");
            context.set_memory_limit(0);
            run().unwrap();
            assert!(context.device_memory_held() > 0);
            context.trim();
            assert_eq!(context.device_memory_held(), 0);
        }
    }
}

#[test]
fn lists_are_checked() {
    for (name, got) in [
        ("cuda:0,", "cuda:0,"),
        ("cuda:,", "cuda:,"),
        ("cuda:0,x", "cuda:0,x"),
        ("cuda:0, 1", "cuda:0, 1"),
        ("cuda:0,cuda:1", "cuda:0,cuda:1"),
        ("cuda:all,0", "cuda:all,0"),
        ("cpu,cpu", "cpu,cpu"),
        ("cpu:2", "cpu:2"),
        ("cuda:0,99999999999", "cuda:0,99999999999"),
        ("cuda:0,0", "0 twice"),
        ("cuda:3,1,2,1", "1 twice"),
    ] {
        let error = Context::new(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name}: {error}");
        assert!(error.message().contains(got), "{name}: {error}");
    }
    let error = Context::new("cuda:0,4096").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeviceUnavailable);
    assert!(error.message().contains("cuda:0,4096"), "{error}");
    assert_eq!(Context::of_parts(&[]).unwrap_err().kind(), ErrorKind::InvalidArgument);
    match Context::new("cuda:all") {
        Ok(all) => {
            assert!(all.device().reason.contains("cuda:all"), "{}", all.device().reason);
            let usable = isoline::devices().into_iter().filter(|device| device.usable).count();
            assert_eq!(all.devices().len(), usable - 1);
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::DeviceUnavailable),
    }
}
