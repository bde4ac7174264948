//! Coarse to fine: targets are searched on reduced images first.

use super::{Random, converged, cpu, overlap, polygon};
use crate::common;
use isoline::snake::{self, Background, Node, Noise, Overlap, Params, Polygons, Schedule, Snake, Status};
use isoline::{Context, ErrorKind, PixelType};
use ndarray::Array2;
use std::ops::ControlFlow;

/// Returns a disc in normal noise, and the truth.
fn disc([width, height]: [usize; 2], [cx, cy]: [f64; 2], radius: f64, noise: f64) -> (Array2<u16>, Array2<bool>) {
    let truth =
        Array2::from_shape_fn((height, width), |(y, x)| (x as f64 + 0.5 - cx).hypot(y as f64 + 0.5 - cy) < radius);
    let mut random = Random::new(9);
    let pixel = |inside: &bool| {
        let level = if *inside { 700.0 } else { 600.0 };
        (level + noise * random.normal()).clamp(0.0, 65535.0) as u16
    };
    (truth.map(pixel), truth)
}

fn square(x: i32, y: i32, half: i32) -> [Node; 4] {
    [(-half, -half), (half, -half), (half, half), (-half, half)].map(|(dx, dy)| Node::new(x + dx, y + dy))
}

fn mask(snake: &Snake, dim: (usize, usize)) -> Array2<bool> {
    let mut mask = Array2::<u8>::zeros(dim);
    snake.read_mask(mask.view_mut().into()).unwrap();
    mask.mapv(|pixel| pixel == 255)
}

#[test]
fn a_small_start_reaches_an_object_in_noise() {
    // An SNR of 0.3, in which steps of 4 pixels from so small a start are caught.
    let (image, truth) = disc([501, 487], [250.0, 240.0], 170.0, 333.0);
    let start = polygon(&[(240, 230), (260, 230), (260, 250), (240, 250)]);
    let found = [1, 3].map(|pyramid_levels| {
        let params = Params { pyramid_levels, largest_step: Some(4), ..Params::default() };
        overlap(&mask(&converged(image.view(), Some(&start), &params), image.dim()), &truth)
    });
    assert!(found[1] >= 0.93 && found[0] < 0.5, "{found:?}");
}

#[test]
fn every_noise_is_found_on_coarse_images() {
    let (_, truth) = disc([203, 198], [100.0, 98.0], 60.0, 0.0);
    let mut random = Random::new(5);
    let mut exponential = move || -(1.0 - random.uniform()).ln();
    for noise in [Noise::Gaussian, Noise::Poisson, Noise::Gamma { looks: 1.0 }, Noise::Rayleigh, Noise::Bernoulli] {
        let pixel = |inside: &bool| -> f64 {
            let of = |of_inside: f64, of_outside: f64| if *inside { of_inside } else { of_outside };
            match noise {
                Noise::Poisson => {
                    // The photons are those events that happen within the time of the mean.
                    let (mut time, mut count) = (exponential(), 0.0);
                    while time < of(8.0, 3.0) {
                        (time, count) = (time + exponential(), count + 1.0);
                    }
                    count
                }
                Noise::Gamma { .. } => of(400.0, 100.0) * exponential(),
                Noise::Rayleigh => (of(90_000.0, 20_000.0) * exponential()).sqrt(),
                Noise::Bernoulli => f64::from(u8::from(exponential() > of(0.4, 1.4))),
                _ => of(600.0, 500.0) + 40.0 * exponential(),
            }
        };
        let image = truth.map(pixel);
        let start = polygon(&[(80, 78), (120, 78), (120, 118), (80, 118)]);
        for params in [Params { noise, pyramid_levels: 3, ..Params::default() }] {
            let levels = image.map(|value| value.min(65535.0) as u16);
            for snake in [
                converged(levels.view(), Some(&start), &params),
                converged(image.map(|value| *value as f32).view(), Some(&start), &params),
            ] {
                let found = overlap(&mask(&snake, truth.dim()), &truth);
                assert!(found >= 0.93, "{noise:?}: {found}");
            }
        }
    }
}

/// Returns discs that touch, with starts that are far smaller.
fn discs() -> (Array2<u16>, Polygons, [[f64; 2]; 4]) {
    let centres = [[61.0, 60.0], [140.0, 61.0], [219.0, 62.0], [340.0, 58.0]];
    let mut random = Random::new(2);
    let image = Array2::from_shape_fn((123, 405), |(y, x)| {
        let inside = |[cx, cy]: &[f64; 2]| (x as f64 + 0.5 - cx).hypot(y as f64 + 0.5 - cy) < 40.0;
        let level = if centres.iter().any(inside) { 600.0 } else { 300.0 };
        (level + 80.0 * random.normal()).clamp(0.0, 65535.0) as u16
    });
    let mut starts = Polygons::new();
    for [x, y] in centres {
        starts.push(&square(x as i32, y as i32, 13));
    }
    (image, starts, centres)
}

#[test]
fn windows_and_territories_hold_on_every_level() {
    let (image, starts, _) = discs();
    for schedule in [Schedule::Parallel, Schedule::Sequential] {
        let params = Params {
            schedule,
            background: Background::Window { margin: 1.5 },
            overlap: Overlap::Excluded,
            pyramid_levels: 3,
            ..Params::default()
        };
        let mut snake = Snake::new(&cpu(), image.view().into(), Some(&starts), &params).unwrap();
        snake.step(u64::MAX, None).unwrap();
        for (index, statistics) in snake.statistics().iter().enumerate() {
            let share = statistics.pixels as f64 / (std::f64::consts::PI * 1600.0);
            assert!((0.9..1.1).contains(&share), "{schedule:?} {index}: {share}");
            assert_eq!(statistics.status, Status::Converged);
        }
        let mut labels = Array2::<u16>::zeros(image.dim());
        snake.read_labels(labels.view_mut().into()).unwrap();
        let labelled = labels.iter().filter(|label| **label > 0).count() as u64;
        // No pixel belongs to two.
        assert_eq!(labelled, snake.statistics().iter().map(|statistics| statistics.pixels).sum());
    }
}

#[test]
fn targets_that_vanish_on_coarse_images_start_where_they_are() {
    let (image, _) = disc([160, 150], [80.0, 75.0], 6.0, 3.0);
    // One is small on the first reduced image, one lies outside, and one has no pixel of its own.
    let mut starts = Polygons::new();
    starts.push(&square(80, 75, 1));
    starts.push(&square(-300, 75, 10));
    starts.push(&square(80, 75, 1));
    let params = |pyramid_levels| Params {
        background: Background::Window { margin: 0.5 },
        overlap: Overlap::Excluded,
        largest_step: Some(4),
        pyramid_levels,
        ..Params::default()
    };
    let [plain, coarse] = [1, 4].map(|levels| {
        let mut snake = Snake::new(&cpu(), image.view().into(), Some(&starts), &params(levels)).unwrap();
        snake.step(u64::MAX, None).unwrap();
        (snake.polygons(), snake.statistics().iter().map(|s| (s.status, s.pixels)).collect::<Vec<_>>())
    });
    assert_eq!(coarse, plain);
    assert_eq!(coarse.1[1].0, Status::StartOutside);
    assert_eq!(coarse.1[2].0, Status::Vanished);
}

#[test]
fn a_start_of_single_pixels_is_thinned() {
    // The outline of a disc as a wand traces it, whose steps of one pixel fold on the image of half the size.
    let (image, truth) = disc([120, 120], [60.0, 60.0], 45.0, 40.0);
    let inside = |x: i32, y: i32| f64::from(2 * x - 119).hypot(f64::from(2 * y - 119)) < 40.0;
    let rows: Vec<[i32; 3]> = (0..120)
        .filter_map(|y| {
            let left = (0..120).find(|x| inside(*x, y))?;
            Some([y, left, (0..120).rfind(|x| inside(*x, y))? + 1])
        })
        .collect();
    let right = rows.iter().flat_map(|[y, _, right]| [(*right, *y), (*right, y + 1)]);
    let left = rows.iter().rev().flat_map(|[y, left, _]| [(*left, y + 1), (*left, *y)]);
    let start = polygon(&right.chain(left).collect::<Vec<_>>());
    let params =
        |pyramid_levels| Params { pyramid_levels, largest_step: Some(2), max_iterations: 4, ..Params::default() };
    let [plain, coarse] = [1, 3].map(|levels| {
        let mut snake = Snake::new(&cpu(), image.view().into(), Some(&start), &params(levels)).unwrap();
        snake.step(u64::MAX, None).unwrap();
        overlap(&mask(&snake, image.dim()), &truth)
    });
    // With four iterations on each level only a coarse one can have come much nearer.
    assert!(coarse > plain + 0.05, "{plain} {coarse}");
}

#[test]
fn steps_threads_restarts_and_cancels_do_not_change_a_node() {
    let (image, starts, _) = discs();
    let params = Params {
        background: Background::Window { margin: 1.5 },
        overlap: Overlap::Excluded,
        pyramid_levels: 3,
        ..Params::default()
    };
    for context in common::contexts() {
        let device = context.device().id.clone();
        let start = |threads| {
            let context = Context::with_threads(&device, threads).unwrap();
            Snake::new(&context, image.view().into(), Some(&starts), &params).unwrap()
        };
        let (wanted, statistics, _) = snake::run(&context, image.view().into(), Some(&starts), &params, None).unwrap();
        let check = |snake: &Snake, what: &str| {
            assert_eq!(snake.polygons(), wanted, "{device}, {what}");
            assert_eq!(snake.statistics(), statistics, "{device}, {what}");
        };
        let mut snake = start(1);
        for step in [0, 7, u64::MAX] {
            snake.step(step, None).unwrap();
        }
        check(&snake, "steps");
        let other = Params { noise: Noise::Poisson, ..params.clone() };
        snake.restart(None, &other).unwrap();
        snake.step(3, None).unwrap();
        snake.restart(Some(&starts), &params).unwrap();
        snake.step(u64::MAX, None).unwrap();
        check(&snake, "restarted");
        let mut snake = start(3);
        let mut stages = Vec::new();
        let mut cancel = |_: f64, stage: &str| {
            stages.push(stage.to_owned());
            ControlFlow::Break(())
        };
        let error = snake.step(u64::MAX, Some(&mut cancel)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(stages, ["moving the polygons, reduced image"]);
        assert_eq!(snake.polygons().get(0), Some(&square(61, 60, 13)[..]), "{device}");
        snake.step(u64::MAX, None).unwrap();
        check(&snake, "cancelled");
    }
}

#[test]
fn cuda_gives_the_polygons_of_the_cpu() {
    let Some([cuda, cpu]) = common::cuda_and_cpu() else { return };
    let (image, starts, _) = discs();
    let bright = image.mapv(|pixel| pixel.saturating_mul(90));
    for noise in [Noise::Gaussian, Noise::Poisson, Noise::Bernoulli] {
        let params = Params {
            noise,
            background: Background::Window { margin: 1.5 },
            overlap: Overlap::Excluded,
            pyramid_levels: 4,
            ..Params::default()
        };
        for image in [&image, &bright] {
            let run =
                |context: &Context| snake::run(context, image.view().into(), Some(&starts), &params, None).unwrap();
            assert_eq!(run(&cuda).0, run(&cpu).0, "{noise:?}");
        }
    }
    let on_device = cuda.device_image(PixelType::U16, [64, 64, 1]).unwrap();
    let params = Params { pyramid_levels: 2, ..Params::default() };
    let error = Snake::new(&cuda, on_device.view(), None, &params).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("pyramid_levels"), "{error}");
}

#[test]
fn more_levels_on_the_same_image_and_levels_out_of_range_are_refused() {
    let image = Array2::from_shape_fn((40, 40), |(y, x)| (x * y) as u8);
    let params = |pyramid_levels| Params { pyramid_levels, ..Params::default() };
    for levels in [0, 5] {
        let error = Snake::new(&cpu(), image.view().into(), None, &params(levels)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().starts_with("pyramid_levels"), "{error}");
    }
    let run = |mut snake: Snake| {
        snake.step(u64::MAX, None).unwrap();
        snake.polygons()
    };
    let start = |levels| Snake::new(&cpu(), image.view().into(), None, &params(levels)).unwrap();
    let mut snake = start(2);
    let error = snake.restart(None, &params(3)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().starts_with("cannot use pyramid_levels 3"), "{error}");
    // Fewer are allowed.
    snake.restart(None, &params(1)).unwrap();
    assert_eq!(run(snake), run(start(1)));
}
