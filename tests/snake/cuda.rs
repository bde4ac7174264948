//! CUDA and the CPU give the same polygons and statistics, bit for bit. Skipped, and said so, without a GPU.

use super::common::cuda;
use super::{Random, cpu, polygon};
use isoline::snake::{self, Background, Node, Noise, Overlap, Params, Polygons, Schedule, Snake, Statistics};
use isoline::{Context, ErrorKind, Image, PixelType};
use ndarray::Array2;

/// Bright discs in a grid on a dark ground, in noise, and a start in each.
fn cells(width: usize, height: usize, pitch: usize, seed: u64) -> (Array2<u16>, Polygons) {
    let mut random = Random::new(seed);
    let radius = pitch as f64 / 3.2;
    let image = Array2::from_shape_fn((height, width), |(y, x)| {
        let at = |v: usize| (v % pitch) as f64 + 0.5 - pitch as f64 / 2.0;
        let squeezed = 1.0 + 0.2 * ((x / pitch * 7 + y / pitch * 3) % 5) as f64;
        let inside = at(x).powi(2) + squeezed * at(y).powi(2) < radius * radius;
        (if inside { 3000.0 } else { 2000.0 } + 400.0 * random.normal()).clamp(0.0, 65535.0).round() as u16
    });
    let mut starts = Polygons::new();
    for y in (0..height / pitch * pitch).step_by(pitch) {
        for x in (0..width / pitch * pitch).step_by(pitch) {
            let (x0, y0, x1, y1) = (x + pitch / 4, y + pitch / 3, x + 2 * pitch / 3, y + 3 * pitch / 4);
            let node = |x: usize, y: usize| Node::new(x as i32, y as i32);
            starts.push(&[node(x0, y0), node(x1, y0), node(x1, y1), node(x0, y1)]);
        }
    }
    (image, starts)
}

fn same_bits(a: &[Statistics], b: &[Statistics]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            (a.status, a.iterations, a.nodes, a.pixels, a.background_pixels)
                == (b.status, b.iterations, b.nodes, b.pixels, b.background_pixels)
                && [a.overlaps, a.touches_image, a.touches_window, a.flat]
                    == [b.overlaps, b.touches_image, b.touches_window, b.flat]
                && [a.mean, a.deviation, a.background_mean, a.background_deviation, a.criterion].map(f64::to_bits)
                    == [b.mean, b.deviation, b.background_mean, b.background_deviation, b.criterion].map(f64::to_bits)
        })
}

fn compare<'a>(cuda: &Context, image: impl Into<Image<'a>>, starts: Option<&Polygons>, params: &Params, what: &str) {
    let image = image.into();
    let run = |context: &Context| snake::run(context, image.into(), starts, params, None).unwrap();
    let (ours, ours_told, _) = run(&cpu());
    let (theirs, theirs_told, report) = run(cuda);
    assert_eq!(report.device.kind, isoline::DeviceKind::Cuda);
    for (index, (a, b)) in ours.iter().zip(theirs.iter()).enumerate() {
        assert_eq!(a, b, "{what}, target {index}: {:?} {:?}", ours_told[index], theirs_told[index]);
    }
    assert!(same_bits(&ours_told, &theirs_told), "{what}: {ours_told:?} {theirs_told:?}");
    assert_eq!(run(cuda).0, theirs, "{what}, again");
}

#[test]
fn cuda_and_cpu_give_the_same_polygons() {
    let Some(cuda) = cuda() else { return };
    let noises = [Noise::Gaussian, Noise::Poisson, Noise::Gamma { looks: 2.5 }, Noise::Rayleigh, Noise::Bernoulli];
    let (image, starts) = cells(403, 331, 60, 3);
    for noise in noises {
        for node_cost in [0.0, 0.7] {
            for background in [Background::Image, Background::Window { margin: 0.6 }] {
                let params = Params { noise, node_cost, background, node_spacing: Some(7.0), ..Params::default() };
                let what = format!("{noise:?} {node_cost} {background:?}");
                let threshold = if noise == Noise::Bernoulli { 2500 } else { 0 };
                let image = image.mapv(|pixel| pixel.saturating_sub(threshold));
                compare(&cuda, image.view(), Some(&starts), &params, &what);
                compare(&cuda, image.view(), None, &params, &what);
                let narrow = image.mapv(|pixel| (pixel / 16).min(255) as u8);
                compare(&cuda, narrow.view(), Some(&starts), &params, &what);
                let float = image.mapv(|pixel| f32::from(pixel) * 0.37 - 5.0);
                compare(&cuda, float.view(), Some(&starts), &params, &what);
            }
        }
    }
}

#[test]
fn a_search_keeps_to_the_memory_limit() {
    let Some(cuda) = cuda() else { return };
    let (image, starts) = cells(403, 331, 24, 3);
    // With many nodes allowed, the workspaces of all thread blocks are larger than everything else.
    let params = Params { max_nodes: 65536, max_iterations: 20, ..Params::default() };
    let run = || snake::run(&cuda, image.view().into(), Some(&starts), &params, None);
    let (wanted, _, free) = run().unwrap();
    cuda.set_memory_limit(1);
    let error = run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    let needed = error.message().split('(').nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let limit = needed.parse::<u64>().unwrap() + (1 << 20);
    assert!(free.peak_device_bytes > limit, "{} of {limit}", free.peak_device_bytes);
    cuda.set_memory_limit(limit);
    let (found, _, limited) = run().unwrap();
    cuda.set_memory_limit(0);
    assert!(limited.peak_device_bytes <= limit, "{} of {limit}", limited.peak_device_bytes);
    assert_eq!(found, wanted);
}

#[test]
fn competing_targets_are_the_same_on_cuda() {
    let Some(cuda) = cuda() else { return };
    let (image, mut starts) = cells(403, 331, 24, 3);
    // Starts that overlap others, a ring around others, whose rows have several runs, and one without neighbours.
    starts.push(&[Node::new(-20, 5), Node::new(90, 30), Node::new(40, 110)]);
    let ring = [
        (100, 100),
        (240, 100),
        (240, 104),
        (104, 104),
        (104, 226),
        (236, 226),
        (236, 112),
        (240, 112),
        (240, 230),
        (100, 230),
    ];
    starts.push(&ring.map(|(x, y)| Node::new(x, y)));
    for noise in [Noise::Gaussian, Noise::Poisson, Noise::Bernoulli] {
        for background in [Background::Image, Background::Window { margin: 0.4 }] {
            for node_cost in [0.0, 0.5] {
                let params = Params {
                    noise,
                    background,
                    node_cost,
                    overlap: Overlap::Excluded,
                    node_spacing: Some(5.0),
                    largest_step: Some(8),
                    ..Params::default()
                };
                let what = format!("{noise:?} {node_cost} {background:?}");
                let threshold = if noise == Noise::Bernoulli { 2500 } else { 0 };
                let image = image.mapv(|pixel| pixel.saturating_sub(threshold));
                compare(&cuda, image.view(), Some(&starts), &params, &what);
                let narrow = image.mapv(|pixel| (pixel / 16).min(255) as u8);
                compare(&cuda, narrow.view(), Some(&starts), &params, &what);
            }
        }
    }
    // A few large ones, for which several blocks share a target, one of them far from the others.
    let (image, _) = cells(1500, 1300, 300, 4);
    let mut starts = Polygons::new();
    for (x, y) in [(40, 40), (330, 60), (120, 330), (1100, 900)] {
        starts.push(&[(0, 0), (200, 30), (240, 260), (20, 220)].map(|(dx, dy)| Node::new(x + dx, y + dy)));
    }
    // Thousands of small ones.
    let (many, of_many) = cells(1600, 1600, 24, 3);
    assert!(of_many.len() > 4000, "{}", of_many.len());
    let params = Params { overlap: Overlap::Excluded, ..Params::default() };
    compare(&cuda, many.view(), Some(&of_many), &params, "thousands of targets");
    for largest_step in [Some(32), Some(4)] {
        let params = Params {
            background: Background::Window { margin: 0.5 },
            overlap: Overlap::Excluded,
            largest_step,
            ..Params::default()
        };
        compare(&cuda, image.view(), Some(&starts), &params, "large targets");
    }
}

#[test]
fn cuda_and_cpu_agree_on_long_edges_and_many_nodes() {
    let Some(cuda) = cuda() else { return };
    // Edges of more rows than a warp sums at a time, and several blocks a target.
    let (image, _) = cells(2100, 3001, 900, 8);
    for (node_spacing, max_nodes) in [(Some(16.0), 1024), (Some(3.0), 5000), (Some(40.0), 9)] {
        let params = Params { node_spacing, max_nodes, ..Params::default() };
        compare(&cuda, image.view(), None, &params, "long edges");
        let off = polygon(&[(5, 2), (2090, 10), (2000, 2900), (1100, 1500), (30, 2990)]);
        compare(&cuda, image.view(), Some(&off), &params, "far off");
    }
}

#[test]
fn automatic_steps_and_node_spacings_are_the_same_on_cuda() {
    let Some(cuda) = cuda() else { return };
    // Starts of 6 to 120 pixels: a step and a spacing of its own for each, from the smallest to the largest.
    let (image, _) = cells(603, 431, 40, 9);
    let mut starts = Polygons::new();
    for (index, side) in [6, 11, 16, 23, 31, 38, 47, 120].into_iter().enumerate() {
        let (x, y) = (10 + 140 * (index as i32 % 4), 12 + 190 * (index as i32 / 4));
        starts.push(&[(0, 0), (side, 1), (side + 2, side), (1, side)].map(|(dx, dy)| Node::new(x + dx, y + dy)));
    }
    for overlap in [Overlap::Allowed, Overlap::Excluded] {
        for node_cost in [0.0, 0.5] {
            let background = Background::Window { margin: 0.5 };
            let params = Params { background, overlap, node_cost, ..Params::default() };
            compare(&cuda, image.view(), Some(&starts), &params, &format!("automatic, {overlap:?}, {node_cost}"));
        }
    }
    // Several blocks share each of a few targets.
    let (image, _) = cells(1500, 1300, 300, 4);
    let mut starts = polygon(&[(40, 40), (240, 60), (250, 260), (30, 240)]);
    starts.push(&[Node::new(700, 700), Node::new(730, 700), Node::new(730, 731)]);
    compare(&cuda, image.view(), Some(&starts), &Params::default(), "automatic, several blocks");
}

#[test]
fn cuda_and_cpu_agree_on_the_smallest_images_and_odd_starts() {
    let Some(cuda) = cuda() else { return };
    for (width, height) in [(1usize, 1usize), (1, 40), (50, 1), (2, 2), (70_000, 3), (33, 31)] {
        let (image, _) = cells(width, height, 12, 5);
        let (w, h) = (width as i32, height as i32);
        let mut starts = polygon(&[(0, 0), (w, 0), (w, h), (0, h)]);
        starts.push(&[Node::new(-1000, -900), Node::new(3 * w, -5), Node::new(w / 2, 7 * h + 9)]);
        starts.push(&[Node::new(-30, -30), Node::new(-10, -30), Node::new(-10, -5)]);
        for image in [image, Array2::from_elem((height, width), 7)] {
            compare(&cuda, image.view(), Some(&starts), &Params::default(), &format!("{width} x {height}"));
        }
    }
}

#[test]
fn steps_sums_and_restarts_are_the_same_on_cuda() {
    let Some(cuda) = cuda() else { return };
    let (image, starts) = cells(300, 280, 50, 2);
    let params = Params { node_spacing: Some(6.0), ..Params::default() };
    let mut snakes =
        [cpu(), cuda.clone()].map(|context| Snake::new(&context, image.view().into(), Some(&starts), &params).unwrap());
    let start = snakes.each_ref().map(|snake| snake.statistics());
    assert!(same_bits(&start[0], &start[1]), "at the start");
    loop {
        let done = snakes.each_mut().map(|snake| snake.step(3, None).unwrap().converged);
        assert_eq!(done[0], done[1]);
        assert_eq!(snakes[0].polygons(), snakes[1].polygons());
        let found = snakes[0].polygons();
        let sums = snakes.each_ref().map(|snake| snake.region_sums(&found).unwrap());
        assert_eq!(sums[0], sums[1]);
        if done[0] {
            break;
        }
    }
    let other = Params { noise: Noise::Poisson, node_cost: 0.3, ..Params::default() };
    let competing = Params { overlap: Overlap::Excluded, ..params.clone() };
    for (starts, params) in [(None, &other), (Some(&starts), &competing), (Some(&starts), &params)] {
        for snake in &mut snakes {
            snake.restart(starts, params).unwrap();
            snake.step(u64::MAX, None).unwrap();
        }
        assert_eq!(snakes[0].polygons(), snakes[1].polygons());
    }
}

#[test]
fn sequential_schedule_runs_on_the_cpu_only() {
    let Some(cuda) = cuda() else { return };
    let (image, starts) = cells(100, 100, 50, 2);
    let params = Params { schedule: Schedule::Sequential, ..Params::default() };
    let error = Snake::new(&cuda, image.view().into(), Some(&starts), &params).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let automatic = Context::new("auto").unwrap();
    let (_, _, report) = snake::run(&automatic, image.view().into(), Some(&starts), &params, None).unwrap();
    assert_eq!(report.device.kind, isoline::DeviceKind::Cpu);
}

#[test]
fn an_f32_image_in_device_memory_gets_the_range_of_its_pixels() {
    let Some(cuda) = cuda() else { return };
    let (image, starts) = cells(300, 280, 50, 2);
    let mut float = image.mapv(|pixel| f32::from(pixel) * 0.37 - 5.0);
    (float[[0, 0]], float[[3, 1]], float[[9, 250]]) = (f32::NAN, f32::INFINITY, 1e9);
    let mut on_device = cuda.device_image(PixelType::F32, [300, 280, 1]).unwrap();
    on_device.upload(float.view().into()).unwrap();
    let params = Params { node_spacing: Some(6.0), ..Params::default() };
    let there = snake::run(&cuda, on_device.view().into(), Some(&starts), &params, None).unwrap();
    for context in [cuda, super::cpu()] {
        let here = snake::run(&context, float.view().into(), Some(&starts), &params, None).unwrap();
        assert!(there.0 == here.0 && same_bits(&there.1, &here.1), "{}", context.device().id);
    }
}
