//! The guarantees of the definition: every result is a local optimum, the same for every way to list its start and every
//! number of threads, and valid for every image and start.

use super::common::least_of_three;
use super::{Random, converged, cpu, mask_of, polygon};
use isoline::snake::{self, Background, Node, Noise, Params, Polygons, Schedule, Snake, Status};
use isoline::{Context, ErrorKind, Image};
use ndarray::{Array2, s};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

const NOISES: [Noise; 5] =
    [Noise::Gaussian, Noise::Poisson, Noise::Gamma { looks: 2.0 }, Noise::Rayleigh, Noise::Bernoulli];

/// A tilted ellipse, brighter than its surroundings, in noise.
fn blob(width: usize, height: usize, seed: u64) -> Array2<u16> {
    let mut random = Random::new(seed);
    Array2::from_shape_fn((height, width), |(y, x)| {
        let (u, v) = (x as f64 / width as f64 - 0.53, y as f64 / height as f64 - 0.48);
        let inside = (u + 0.5 * v).powi(2) + 3.0 * (v - 0.2 * u).powi(2) < 0.06;
        ((if inside { 220.0 } else { 150.0 }) + 40.0 * random.normal()).clamp(0.0, 65535.0).round() as u16
    })
}

#[test]
fn no_move_of_a_node_by_one_pixel_improves_a_result() {
    for noise in NOISES {
        for schedule in [Schedule::Parallel, Schedule::Sequential] {
            for seed in 1..4 {
                let mut image = blob(96, 80, seed);
                if noise == Noise::Bernoulli {
                    image.mapv_inplace(|pixel| u16::from(pixel > 190));
                }
                let params = Params { noise, schedule, node_spacing: Some(6.0), ..Params::default() };
                let snake = converged(image.view(), None, &params);
                assert_eq!(snake.statistics()[0].status, Status::Converged, "{noise:?}");
            }
        }
    }
}

#[test]
fn each_model_wins_on_its_own_noise() {
    // Sixteen images of each noise; inside and outside differ by little.
    let shape = |x: usize, y: usize| {
        let (u, v) = (x as f64 - 63.5, y as f64 - 63.5);
        u * u + v * v < 38.0 * 38.0
    };
    let draw = |seed: u64, pixel: &dyn Fn(&mut Random, bool) -> f64| {
        let mut random = Random::new(seed);
        Array2::from_shape_fn((128, 128), |(y, x)| pixel(&mut random, shape(x, y)).clamp(0.0, 65535.0).round() as u16)
    };
    let poisson = |random: &mut Random, mean: f64| {
        let (limit, mut product, mut count) = ((-mean).exp(), random.uniform(), 0.0);
        while product > limit {
            product *= random.uniform();
            count += 1.0;
        }
        count
    };
    let exponential = |random: &mut Random, mean: f64| -mean * (1.0 - random.uniform()).ln();
    type Draw<'a> = &'a dyn Fn(&mut Random, bool) -> f64;
    let drawn: [(Noise, Draw<'_>); 5] = [
        // The same mean: only the variance differs.
        (Noise::Gaussian, &|random, inside| 500.0 + if inside { 60.0 } else { 40.0 } * random.normal()),
        (Noise::Poisson, &|random, inside| poisson(random, if inside { 2.0 } else { 1.4 })),
        (Noise::Gamma { looks: 1.0 }, &|random, inside| exponential(random, if inside { 400.0 } else { 200.0 })),
        (Noise::Rayleigh, &|random, inside| (exponential(random, if inside { 50_000.0 } else { 90_000.0 })).sqrt()),
        (Noise::Bernoulli, &|random, inside| f64::from(u8::from(random.uniform() < if inside { 0.99 } else { 0.8 }))),
    ];
    let truth = Array2::from_shape_fn((128, 128), |(y, x)| shape(x, y));
    let mean_overlap = |noise: Noise, pixel: Draw<'_>| {
        let params = Params { noise, node_cost: 0.5, ..Params::default() };
        let overlaps = (1..17).map(|seed| super::overlap(&mask_of(draw(seed, pixel).view(), None, &params), &truth));
        overlaps.sum::<f64>() / 16.0
    };
    for (own, pixel) in drawn {
        let best = mean_overlap(own, pixel);
        assert!(best > 0.92, "{own:?}: {best}");
        for other in
            NOISES.map(|noise| if let Noise::Gamma { .. } = noise { Noise::Gamma { looks: 1.0 } } else { noise })
        {
            if std::mem::discriminant(&other) != std::mem::discriminant(&own) {
                let theirs = mean_overlap(other, pixel);
                assert!(best > theirs, "{other:?} is better on {own:?} noise: {theirs} against {best}");
            }
        }
    }
}

/// A ring, listed from each of its nodes on in both orientations, and with repeated nodes.
fn writings(ring: &[(i32, i32)]) -> Polygons {
    let mut all = Polygons::new();
    for first in 0..ring.len() {
        let mut there: Vec<Node> = ring.iter().map(|&(x, y)| Node::new(x, y)).collect();
        there.rotate_left(first);
        let back: Vec<Node> = there.iter().rev().copied().collect();
        let doubled: Vec<Node> = back.iter().flat_map(|node| [*node; 2]).chain([back[0]]).collect();
        for nodes in [there, back, doubled] {
            all.push(&nodes);
        }
    }
    all
}

#[test]
fn every_way_to_list_a_start_gives_the_same_result() {
    let image = blob(120, 100, 9);
    let rings: [&[(i32, i32)]; 5] = [
        &[(20, 15), (100, 20), (95, 80), (60, 70), (25, 85)],
        &[(30, 30), (90, 30), (90, 70), (30, 70)],
        // The topmost nodes in one row, with one between them.
        &[(60, 10), (110, 10), (70, 95), (10, 40), (10, 10)],
        // Starts clamped to the image, of which spikes are removed.
        &[(50, -30), (200, 40), (60, 180), (-40, 60)],
        &[(40, 20), (90, 20), (90, 150), (80, 150), (80, 130), (70, 130), (70, 160), (40, 160)],
    ];
    for context in super::common::contexts() {
        for schedule in [Schedule::Parallel, Schedule::Sequential] {
            if schedule == Schedule::Sequential && context.device().kind != isoline::DeviceKind::Cpu {
                continue;
            }
            for ring in rings {
                for node_cost in [0.0, 0.5] {
                    let params = Params { schedule, node_cost, node_spacing: Some(8.0), ..Params::default() };
                    let starts = writings(ring);
                    let (found, statistics, _) =
                        snake::run(&context, image.view().into(), Some(&starts), &params, None).unwrap();
                    assert!(statistics[0].pixels > 1000, "{ring:?}: {:?}", statistics[0]);
                    for (index, start) in starts.iter().enumerate() {
                        assert_eq!(found.get(index), found.get(0), "{schedule:?} {start:?}");
                        assert_eq!(statistics[index], statistics[0], "{schedule:?} {start:?}");
                    }
                }
            }
        }
    }
}

/// Steps of the search keep the order of the nodes: only a start gets a canonical form.
#[test]
fn stepwise_search_equals_a_single_run() {
    let image = blob(120, 100, 9);
    let start = polygon(&[(60, 70), (95, 80), (100, 20), (20, 15), (25, 85)]);
    for schedule in [Schedule::Parallel, Schedule::Sequential] {
        let params = Params { schedule, node_cost: 0.5, node_spacing: Some(8.0), ..Params::default() };
        let whole = converged(image.view(), Some(&start), &params);
        let mut stopped = Snake::new(&cpu(), image.view().into(), Some(&start), &params).unwrap();
        while !stopped.step(1, None).unwrap().converged {
            // Reading the state does not change it.
            assert_eq!(stopped.polygons(), stopped.polygons());
        }
        assert_eq!((stopped.polygons(), stopped.statistics()), (whole.polygons(), whole.statistics()), "{schedule:?}");
    }
}

#[test]
fn threads_steps_and_memory_layout_do_not_change_the_result() {
    let image = blob(300, 200, 4);
    let mut starts = Polygons::new();
    for index in 0..40 {
        let (x, y) = (5 + 36 * (index % 8), 5 + 38 * (index / 8));
        starts.push(&[Node::new(x, y), Node::new(x + 30, y), Node::new(x + 30, y + 32), Node::new(x, y + 32)]);
    }
    let params =
        Params { background: Background::Window { margin: 0.5 }, node_spacing: Some(5.0), ..Params::default() };
    let (expected, statistics, _) = snake::run(&cpu(), image.view().into(), Some(&starts), &params, None).unwrap();
    for threads in 1..5 {
        let context = Context::with_threads("cpu", threads).unwrap();
        let (found, same, _) = snake::run(&context, image.view().into(), Some(&starts), &params, None).unwrap();
        assert!(found == expected && same == statistics, "{threads} threads");
    }
    let mut wide = Array2::<u16>::zeros((200, 330));
    wide.slice_mut(s![.., 17..317]).assign(&image);
    let mut stepped = Snake::new(&cpu(), wide.slice(s![.., 17..317]).into(), Some(&starts), &params).unwrap();
    while !stepped.step(3, None).unwrap().converged {}
    assert_eq!(stepped.polygons(), expected);
    // Each target is searched by itself.
    for index in [0, 17, 39] {
        let mut one = Polygons::new();
        one.push(starts.get(index).unwrap());
        let (alone, ..) = snake::run(&cpu(), image.view().into(), Some(&one), &params, None).unwrap();
        assert_eq!(alone.get(0), expected.get(index));
    }
    stepped.restart(Some(&starts), &params).unwrap();
    stepped.step(u64::MAX, None).unwrap();
    assert_eq!(stepped.polygons(), expected);
}

#[test]
fn threads_do_not_change_the_search_of_a_few_large_targets() {
    let image = blob(1500, 1300, 6);
    // On 16 threads all of these are shared among threads; on two and three the single one.
    let mut few = Polygons::new();
    for x in (0..700).step_by(100) {
        few.push(&[Node::new(x, 10), Node::new(x + 800, 40), Node::new(x + 700, 1290), Node::new(x, 1200)]);
    }
    for (schedule, node_cost, starts) in [
        (Schedule::Parallel, 0.0, None),
        (Schedule::Parallel, 0.5, None),
        (Schedule::Sequential, 0.5, None),
        (Schedule::Parallel, 0.5, Some(&few)),
    ] {
        let params = Params { schedule, node_cost, max_iterations: 150, ..Params::default() };
        let results = [1, 2, 3, 16].map(|threads| {
            let context = Context::with_threads("cpu", threads).unwrap();
            let (found, statistics, _) = snake::run(&context, image.view().into(), starts, &params, None).unwrap();
            (found, statistics)
        });
        assert!(results.iter().all(|result| *result == results[0]), "{schedule:?}, node cost {node_cost}");
    }
}

/// The even-odd rule of the definition, at the centre of a pixel.
fn contains(nodes: &[Node], x: i32, y: i32) -> bool {
    let crossed = |(a, b): &(&Node, &Node)| {
        let (upper, lower) = if a.y <= b.y { (a, b) } else { (b, a) };
        let (dx, dy, row) = (lower.x - upper.x, lower.y - upper.y, y - upper.y);
        (0..dy).contains(&row) && (2 * (x - upper.x) + 1) * dy >= (2 * row + 1) * dx
    };
    nodes.iter().zip(nodes.iter().cycle().skip(1)).filter(crossed).count() % 2 == 1
}

#[test]
fn each_pixel_gets_the_number_of_the_first_target_that_it_lies_in() {
    let (width, height) = (211usize, 133usize);
    let image = blob(width, height, 8);
    let mut random = Random::new(3);
    let mut starts = Polygons::new();
    for index in 0..60 {
        let mut below = |bound: i32| (random.uniform() * f64::from(bound)) as i32;
        let (x, y) = (10 + below(width as i32 - 20), 10 + below(height as i32 - 20));
        let reach = if index % 9 == 8 { 300 } else { 9 };
        let node = |dx: i32, dy: i32| Node::new((x + dx).clamp(0, width as i32), (y + dy).clamp(0, height as i32));
        starts.push(&[node(-1 - below(reach), 0), node(0, -1 - below(reach)), node(1 + below(reach), 0), node(0, 9)]);
        if index % 20 == 7 {
            starts.push(&[Node::new(-9, -9), Node::new(-2, -9), Node::new(-2, -1)]);
        }
    }
    let first = |x: usize, y: usize| {
        let outside = |nodes: &[Node]| nodes[0].x < 0;
        starts.iter().position(|nodes| !outside(nodes) && contains(nodes, x as i32, y as i32)).map_or(0, |at| at + 1)
    };
    let expected = Array2::from_shape_fn((height, width), |(y, x)| first(x, y) as u16);
    for threads in [1, 2, 3, 16] {
        let context = Context::with_threads("cpu", threads).unwrap();
        let snake = Snake::new(&context, image.view().into(), Some(&starts), &Params::default()).unwrap();
        // The output is part of a larger image, the rest of which stays as it is.
        let mut labels = Array2::<u16>::from_elem((height, width + 9), 7);
        snake.read_labels(labels.slice_mut(s![.., 4..4 + width]).into()).unwrap();
        assert_eq!(labels.slice(s![.., 4..4 + width]), expected, "{threads} threads");
        assert!(labels.slice(s![.., ..4]).iter().chain(labels.slice(s![.., 4 + width..])).all(|pixel| *pixel == 7));
        let mut mask = Array2::<u8>::from_elem((height, width), 7);
        snake.read_mask(mask.view_mut().into()).unwrap();
        assert_eq!(mask, expected.mapv(|label| if label > 0 { 255 } else { 0 }), "{threads} threads");
        let mut floats = Array2::<f32>::from_elem((height, width), 7.0);
        snake.read_labels(floats.view_mut().into()).unwrap();
        assert_eq!(floats, expected.mapv(f32::from), "{threads} threads");
    }
}

#[test]
fn every_image_and_start_gives_a_valid_result() {
    for (width, height) in [(1usize, 1usize), (1, 40), (50, 1), (2, 2), (70_000, 3), (33, 31)] {
        let noisy = blob(width, height, 3);
        for image in [noisy, Array2::from_elem((height, width), 7), Array2::from_elem((height, width), 65535)] {
            for noise in NOISES {
                let (w, h) = (width as i32, height as i32);
                let whole = polygon(&[(0, 0), (w, 0), (w, h), (0, h)]);
                for start in [whole, polygon(&[(-1000, -900), (3 * w, -5), (w / 2, 7 * h + 9)])] {
                    let params = Params { noise, ..Params::default() };
                    let snake = converged(image.view(), Some(&start), &params);
                    let (found, one) = (snake.polygons(), snake.statistics()[0]);
                    let context = format!("{noise:?} {width} x {height} {start:?}: {one:?} {:?}", found.get(0));
                    assert!((one.pixels as i64) >= 0 && (one.background_pixels as i64) >= 0, "{context}");
                    assert!(one.status != Status::Running && one.criterion.is_finite(), "{noise:?} {one:?}");
                    assert!(
                        one.status == Status::StartOutside
                            || one.pixels + one.background_pixels == (width * height) as u64
                    );
                    let inside = |node: &Node| (0..=w).contains(&node.x) && (0..=h).contains(&node.y);
                    assert!(one.status == Status::StartOutside || found.get(0).unwrap().iter().all(inside));
                }
            }
        }
    }
}

#[test]
fn the_default_start_on_the_smallest_images() {
    // A quarter of one pixel is none: the start is the whole image.
    for (width, height) in [(1, 1), (3, 2), (5, 1)] {
        let image = Array2::<u8>::from_elem((height, width), 3);
        let (found, statistics, _) = snake::run(&cpu(), image.view().into(), None, &Params::default(), None).unwrap();
        assert!(found.len() == 1 && statistics[0].pixels > 0, "{statistics:?}");
    }
}

#[test]
fn start_outside_the_image_has_its_own_status() {
    let image = blob(60, 50, 2);
    let mut starts = polygon(&[(100, 10), (140, 10), (140, 40)]);
    starts.push(&[Node::new(10, 10), Node::new(50, 10), Node::new(50, 40), Node::new(10, 40)]);
    let (found, statistics, _) =
        snake::run(&cpu(), image.view().into(), Some(&starts), &Params::default(), None).unwrap();
    assert_eq!(statistics[0].status, Status::StartOutside);
    assert!(statistics[0].mean.is_nan() && statistics[0].pixels == 0);
    assert_eq!(found.get(0), starts.get(0));
    assert_eq!(statistics[1].status, Status::Converged);
}

#[test]
fn iteration_limit_is_reported() {
    let image = blob(200, 200, 2);
    let params = Params { max_iterations: 2, ..Params::default() };
    let (_, statistics, _) = snake::run(&cpu(), image.view().into(), None, &params, None).unwrap();
    assert_eq!((statistics[0].status, statistics[0].iterations), (Status::IterationLimit, 2));
}

#[test]
fn neighbours_outside_the_window_do_not_matter() {
    // Two cells of different brightness on a dark ground; the second one far from the first.
    let cell = |x: usize, y: usize, cx: f64, cy: f64| {
        let (u, v) = (x as f64 + 0.5 - cx, y as f64 + 0.5 - cy);
        u * u + v * v < 20.0 * 20.0
    };
    let mut random = Random::new(11);
    let mut paint = |second: f64| {
        Array2::from_shape_fn((120, 300), |(y, x)| {
            let level = if cell(x, y, 60.0, 60.0) {
                80.0
            } else if cell(x, y, 240.0, 60.0) {
                second
            } else {
                40.0
            };
            (level + 10.0 * random.normal()).clamp(0.0, 255.0) as u8
        })
    };
    let (dim, mut bright) = (paint(40.0), paint(250.0));
    bright.slice_mut(s![.., ..150]).assign(&dim.slice(s![.., ..150]));
    let start = polygon(&[(45, 45), (75, 45), (75, 75), (45, 75)]);
    let params =
        Params { background: Background::Window { margin: 1.0 }, node_spacing: Some(6.0), ..Params::default() };
    let [with, without] = [&bright, &dim].map(|image| mask_of(image.view(), Some(&start), &params));
    assert_eq!(with, without);
    let truth = Array2::from_shape_fn((120, 300), |(y, x)| cell(x, y, 60.0, 60.0));
    assert!(super::overlap(&with, &truth) > 0.95);
}

#[test]
fn float_images_count_in_their_own_units() {
    let image = blob(90, 90, 6);
    let float = image.mapv(|pixel| f32::from(pixel) * 1e-6 - 3.0);
    let start = polygon(&[(20, 20), (70, 20), (70, 70), (20, 70)]);
    let run = |image: Image<'_>| snake::run(&cpu(), image.into(), Some(&start), &Params::default(), None).unwrap().1[0];
    let (whole, scaled) = (run(image.view().into()), run(float.view().into()));
    assert!((scaled.mean - (whole.mean * 1e-6 - 3.0)).abs() < 1e-6, "{scaled:?}");
    assert!((scaled.deviation - whole.deviation * 1e-6).abs() < 1e-6, "{scaled:?}");
    assert!(whole.mean > 200.0 && whole.background_mean < 170.0);
}

#[test]
fn a_hot_pixel_changes_no_outline_of_a_float_image() {
    let float = blob(90, 90, 6).mapv(f32::from);
    let start = polygon(&[(20, 20), (70, 20), (70, 70), (20, 70)]);
    let run = |image: &Array2<f32>, range| {
        let params = Params { range, ..Params::default() };
        let mut snake = Snake::new(&cpu(), image.view().into(), Some(&start), &params).unwrap();
        snake.step(u64::MAX, None).unwrap();
        let mut mask = Array2::<u8>::zeros(image.dim());
        snake.read_mask(mask.view_mut().into()).unwrap();
        (mask, snake.statistics()[0])
    };
    // The range of neighbours, and its extent on both sides.
    let windows = || float.windows((1, 2)).into_iter().chain(float.windows((2, 1)));
    let low = windows().map(|pair| pair.fold(f32::MIN, |a, b| a.max(*b))).fold(f32::MAX, f32::min);
    let high = windows().map(|pair| pair.fold(f32::MAX, |a, b| a.min(*b))).fold(f32::MIN, f32::max);
    let range = Some([2.0 * low - high, 2.0 * high - low].map(f64::from));
    for (hot, dead) in [(1e6, -1e6), (f32::MAX, f32::MIN)] {
        let mut with = float.clone();
        (with[[3, 80]], with[[85, 4]]) = (hot, dead);
        let ((mask, found), given) = (run(&with, None), run(&with, range));
        assert!((&mask, found) == (&given.0, given.1), "{found:?}, {:?}", given.1);
        // Mean and deviation are those of the pixels, but for their rounding to levels.
        let inside: Vec<f64> =
            float.iter().zip(&mask).filter(|(_, mask)| **mask > 0).map(|(pixel, _)| f64::from(*pixel)).collect();
        let mean = inside.iter().sum::<f64>() / inside.len() as f64;
        let variance = inside.iter().map(|pixel| (pixel - mean).powi(2)).sum::<f64>() / inside.len() as f64;
        assert!((found.mean - mean).abs() < 0.01 && (found.deviation - variance.sqrt()).abs() < 0.01, "{found:?}");
    }
}

#[test]
fn models_that_measure_from_zero_do_so_on_float_images() {
    // No pixel near 0: an automatic range from the smallest pixel on would make its distance to the others of it.
    let image = blob(90, 90, 6);
    let largest = f64::from(*image.iter().max().unwrap());
    let float = image.mapv(|pixel| f32::from(pixel) * 0.25);
    let start = polygon(&[(20, 20), (70, 20), (70, 70), (20, 70)]);
    // A level is this part of a grey value.
    let steps = 65535.0 / largest;
    for (noise, added) in [(Noise::Gamma { looks: 1.0 }, steps.ln()), (Noise::Rayleigh, 2.0 * steps.ln())] {
        let params = Params { noise, ..Params::default() };
        let cost =
            |image: Image<'_>| Snake::new(&cpu(), image, Some(&start), &params).unwrap().statistics()[0].criterion;
        let (whole, scaled) = (cost(image.view().into()), cost(float.view().into()));
        assert!((scaled - whole - 8100.0 * added).abs() < 1e-5 * scaled.abs(), "{noise:?}: {whole} {scaled} {added}");
    }
}

#[test]
fn labels_are_the_targets_numbers() {
    let image = blob(64, 64, 1);
    let mut starts = polygon(&[(4, 4), (20, 4), (20, 20), (4, 20)]);
    starts.push(&[Node::new(10, 10), Node::new(40, 10), Node::new(40, 40), Node::new(10, 40)]);
    let snake = Snake::new(&cpu(), image.view().into(), Some(&starts), &Params::default()).unwrap();
    let mut labels = Array2::<u16>::from_elem((64, 64), 9);
    snake.read_labels(labels.view_mut().into()).unwrap();
    assert_eq!((labels[[5, 5]], labels[[12, 12]], labels[[30, 30]], labels[[50, 50]]), (1, 1, 2, 0));
    assert_eq!(labels.iter().filter(|label| **label == 1).count(), 16 * 16);
    let mut mask = Array2::<u8>::zeros((64, 63));
    assert_eq!(snake.read_mask(mask.view_mut().into()).unwrap_err().kind(), ErrorKind::InvalidSize);
}

#[test]
fn a_cancel_keeps_whole_steps() {
    let image = blob(2000, 2000, 1);
    let params = Params { largest_step: Some(1), node_spacing: Some(2.0), ..Params::default() };
    let mut snake = Snake::new(&cpu(), image.view().into(), None, &params).unwrap();
    let mut stop = |_: f64, _: &str| ControlFlow::Break(());
    let error = snake.step(u64::MAX, Some(&mut stop)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(snake.statistics()[0].status, Status::Running);
    assert!(snake.region_sums(&snake.polygons()).is_ok(), "a whole polygon");
    snake.step(5, None).unwrap();
}

/// A comb with so many nodes, its teeth downwards.
fn comb(nodes: i32) -> Polygons {
    let teeth = (0..nodes - 2).map(|index| Node::new(4 + 2 * index, if index % 2 == 0 { 20 } else { 94 }));
    let mut points: Vec<Node> = teeth.rev().collect();
    points.extend([Node::new(4, 6), Node::new(2 * nodes, 6)]);
    let mut polygons = Polygons::new();
    polygons.push(&points);
    polygons
}

#[test]
fn a_cancel_within_a_long_step_is_answered_soon_and_leaves_no_trace() {
    // A step of a polygon of 60,000 nodes takes a second on two threads. The small polygon makes many steps meanwhile.
    const NODES: i32 = 60_000;
    let context = Context::with_threads("cpu", 2).unwrap();
    let mut random = Random::new(3);
    let image = Array2::from_shape_fn((100, 2 * NODES as usize + 8), |_| (200.0 + 20.0 * random.normal()) as u8);
    let mut starts = comb(NODES);
    starts.push(&[Node::new(10, 2), Node::new(600, 2), Node::new(600, 38), Node::new(10, 38)]);
    for schedule in [Schedule::Parallel, Schedule::Sequential] {
        let params = Params { schedule, largest_step: Some(1), max_nodes: NODES as u32, ..Params::default() };
        let made = || Snake::new(&context, image.view().into(), Some(&starts), &params).unwrap();
        let (mut cancelled, mut small) = (made(), made());
        let (start, at_start) = (cancelled.statistics()[0], cancelled.polygons());
        for last_call in [2, 3, 5, 9] {
            let late = least_of_three(|| {
                let mut calls = 0;
                let mut asked = Instant::now();
                let mut stop = |_: f64, _: &str| {
                    calls += 1;
                    asked = Instant::now();
                    if calls == last_call { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                let error = cancelled.step(if last_call == 2 { 1 } else { u64::MAX }, Some(&mut stop)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Cancelled);
                asked.elapsed()
            });
            assert!(late < Duration::from_millis(350), "{schedule:?}: the cancel took {late:?}");
            assert_eq!(cancelled.statistics()[0], start, "{schedule:?}: the first step is not done");
            assert_eq!(cancelled.polygons().get(0), at_start.get(0));
        }
        // The small one has its whole steps.
        let steps = cancelled.statistics()[1].iterations;
        small.restart(Some(&polygon(&[(10, 2), (600, 2), (600, 38), (10, 38)])), &params).unwrap();
        small.step(steps, None).unwrap();
        // Alone it overlaps no other.
        let mut alone = small.statistics()[0];
        alone.overlaps = true;
        assert_eq!((small.polygons().get(0), alone), (cancelled.polygons().get(1), cancelled.statistics()[1]));
        // The cancelled step, made again, has the result of one that was not cancelled.
        let mut whole = made();
        whole.step(1, None).unwrap();
        cancelled.step(1, None).unwrap();
        assert_eq!(whole.polygons().get(0), cancelled.polygons().get(0), "{schedule:?}");
        assert_eq!(whole.statistics()[0], cancelled.statistics()[0], "{schedule:?}");
        assert!(whole.polygons().get(0) != at_start.get(0));
    }
}
