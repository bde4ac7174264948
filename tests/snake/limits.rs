//! The bounds of a search: the node cost, the most nodes, the ends other than convergence, and wide images.

use super::{Random, converged, cpu, mask_of, overlap, polygon};
use isoline::snake::{self, Background, Node, Noise, Params, Polygons, RegionSum, Schedule, Snake, Status};
use isoline::{Context, ErrorKind};
use ndarray::Array2;
use std::time::Instant;

fn square(snr: f64, seed: u64) -> (Array2<bool>, Array2<u16>) {
    let truth = Array2::from_shape_fn((160, 160), |(y, x)| (40..120).contains(&x) && (40..120).contains(&y));
    let mut random = Random::new(seed);
    let image = truth.mapv(|inside| (800.0 + if inside { 100.0 * snr } else { 0.0 } + 100.0 * random.normal()).round());
    (truth, image.mapv(|pixel| pixel as u16))
}

#[test]
fn node_cost_removes_nodes_that_follow_noise() {
    const COSTS: [f64; 3] = [0.0, 0.2, 1.0];
    for schedule in [Schedule::Parallel, Schedule::Sequential] {
        let (mut nodes, mut overlaps) = ([0; 3], [0.0; 3]);
        for seed in 1..6 {
            let (truth, image) = square(1.0, seed);
            let mut counts = [0; 3];
            for (index, node_cost) in COSTS.into_iter().enumerate() {
                let params = Params { schedule, node_cost, node_spacing: Some(8.0), ..Params::default() };
                counts[index] = converged(image.view(), None, &params).statistics()[0].nodes;
                overlaps[index] += overlap(&mask_of(image.view(), None, &params), &truth) / 5.0;
                nodes[index] += counts[index];
            }
            assert!(counts[2] < counts[1] && counts[1] < counts[0], "{schedule:?}, image {seed}: {counts:?} nodes");
        }
        // A square needs four; the search ends in local optima of six, or nine.
        assert!(nodes[0] > 5 * 50 && nodes[2] <= 5 * 9, "{schedule:?}: {nodes:?} nodes");
        assert!(
            overlaps[2] > 0.985 && overlaps[2] > overlaps[1] && overlaps[1] > overlaps[0],
            "{schedule:?}: {overlaps:?}"
        );
    }
}

#[test]
fn no_remaining_node_is_worth_less_than_its_cost() {
    let (_, image) = square(1.0, 9);
    let params = Params { node_cost: 1.0, node_spacing: Some(8.0), ..Params::default() };
    let snake = converged(image.view(), None, &params);
    let (found, statistics) = (snake.polygons(), snake.statistics()[0]);
    let nodes = found.get(0).unwrap();
    let all = snake.region_sums(&polygon(&[(0, 0), (160, 0), (160, 160), (0, 160)])).unwrap()[0];
    let half_n_ln = |sum: &RegionSum| {
        let n = sum.pixels as f64;
        0.5 * n * (sum.zz as f64 / n - (sum.z as f64 / n).powi(2)).ln()
    };
    for index in 0..nodes.len() {
        let mut fewer = nodes.to_vec();
        fewer.remove(index);
        let mut one = Polygons::new();
        one.push(&fewer);
        let Ok(inside) = snake.region_sums(&one) else { continue };
        let outside =
            RegionSum { pixels: all.pixels - inside[0].pixels, z: all.z - inside[0].z, zz: all.zz - inside[0].zz };
        let gained = statistics.criterion + (160.0 * 160.0f64).ln() - half_n_ln(&inside[0]) - half_n_ln(&outside);
        assert!(gained < 1e-6, "without node {index}: {gained} less");
    }
}

#[test]
fn the_last_of_an_odd_number_of_nodes_is_removed_too() {
    let image =
        Array2::from_shape_fn(
            (100, 100),
            |(y, x)| {
                if (20..60).contains(&x) && (20..60).contains(&y) { 200u8 } else { 50 }
            },
        );
    let starts = polygon(&[(20, 20), (60, 20), (60, 60), (20, 60), (20, 40)]);
    for schedule in [Schedule::Parallel, Schedule::Sequential] {
        let params = Params { schedule, node_spacing: Some(100.0), largest_step: Some(1), ..Params::default() };
        let snake = converged(image.view(), Some(&starts), &params);
        assert_eq!(snake.statistics()[0].nodes, 4, "{schedule:?}");
    }
}

#[test]
fn max_nodes_bounds_the_nodes() {
    let (_, image) = square(1.0, 2);
    for max_nodes in [4, 5, 7, 19] {
        for schedule in [Schedule::Parallel, Schedule::Sequential] {
            let params = Params { max_nodes, schedule, node_spacing: Some(2.0), node_cost: 0.0, ..Params::default() };
            let statistics = converged(image.view(), None, &params).statistics()[0];
            assert_eq!(
                (statistics.nodes, statistics.status),
                (u64::from(max_nodes), Status::Converged),
                "{schedule:?}"
            );
        }
    }
    let five = polygon(&[(10, 10), (50, 10), (60, 40), (50, 60), (10, 60)]);
    let params = Params { max_nodes: 4, ..Params::default() };
    let error = Snake::new(&cpu(), image.view().into(), Some(&five), &params).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("polygon 0 has 5 nodes, but max_nodes is 4"), "{}", error.message());
}

#[test]
fn a_start_without_a_pixel_has_vanished() {
    let (_, image) = square(1.0, 2);
    let mut starts = polygon(&[(30, 30), (31, 30), (30, 31)]);
    starts.push(&[Node::new(20, 20), Node::new(140, 20), Node::new(140, 140), Node::new(20, 140)]);
    let (found, statistics, report) =
        snake::run(&cpu(), image.view().into(), Some(&starts), &Params::default(), None).unwrap();
    // The centre of the one pixel lies on the long edge, on the left of it.
    assert_eq!((statistics[0].status, statistics[0].pixels, statistics[0].iterations), (Status::Vanished, 0, 0));
    assert!(statistics[0].mean.is_nan() && statistics[0].background_mean.is_finite());
    assert_eq!(found.get(0), starts.get(0));
    assert!(statistics[1].status == Status::Converged && report.converged);
}

#[test]
fn report_of_a_run_is_of_the_whole_call() {
    let flat = Array2::from_elem((4096, 4096), 7u16);
    let params = Params { max_iterations: 1, ..Params::default() };
    let context = cpu();
    let mut most = 0.0f64;
    for _ in 0..3 {
        let began = Instant::now();
        let (_, statistics, report) = snake::run(&context, flat.view().into(), None, &params, None).unwrap();
        let whole = began.elapsed().as_secs_f64();
        assert!(report.seconds_total <= whole, "{report:?}, {whole} s");
        most = most.max(report.seconds_total / whole);
        assert_eq!((report.slices_done, report.iterations), (1, 1));
        // Every target has ended, this one at its limit.
        assert!(report.converged && statistics[0].status == Status::IterationLimit);
    }
    // Most of the time goes into the sums over the image.
    assert!(most > 0.5, "{most}");
}

#[test]
fn max_iterations_ends_each_target_separately() {
    let (_, image) = square(2.0, 4);
    let mut starts = polygon(&[(2, 2), (158, 2), (158, 158), (2, 158)]);
    starts.push(&[Node::new(41, 41), Node::new(119, 41), Node::new(119, 119), Node::new(41, 119)]);
    let steps = |max_iterations| {
        let params = Params { max_iterations, background: Background::Image, ..Params::default() };
        snake::run(&cpu(), image.view().into(), Some(&starts), &params, None).unwrap().1
    };
    let free = steps(10_000);
    assert!(
        free[0].iterations > free[1].iterations && free.iter().all(|one| one.status == Status::Converged),
        "{free:?}"
    );
    let limited = steps(free[1].iterations);
    assert_eq!(limited.iter().map(|one| one.status).collect::<Vec<_>>(), [Status::IterationLimit, Status::Converged]);
    assert_eq!(limited[0].iterations, free[1].iterations);
}

#[test]
fn a_target_beyond_the_65536th_column_is_found() {
    // Two to the sixteenth lies within it, as does the border of many blocks of sums.
    let (width, height) = (66_000usize, 90usize);
    let inside = |x: usize, y: usize| (65_450..65_700).contains(&x) && (20..70).contains(&y);
    let mut random = Random::new(6);
    let image = Array2::from_shape_fn((height, width), |(y, x)| {
        (30_000.0 + if inside(x, y) { 6000.0 } else { 0.0 } + 4000.0 * random.normal()).clamp(0.0, 65535.0) as u16
    });
    let start = polygon(&[(65_500, 30), (65_600, 30), (65_600, 60), (65_500, 60)]);
    for background in [Background::Image, Background::Window { margin: 1.0 }] {
        let params = Params { background, ..Params::default() };
        let found = mask_of(image.view(), Some(&start), &params);
        let truth = Array2::from_shape_fn((height, width), |(y, x)| inside(x, y));
        assert!(overlap(&found, &truth) > 0.98, "{background:?}: {}", overlap(&found, &truth));
    }
}

#[test]
fn sums_over_results_are_those_over_their_masks() {
    let mut random = Random::new(12);
    let image = Array2::from_shape_fn((230, 310), |(y, x)| {
        let inside = (x % 60).abs_diff(30).pow(2) + (y % 50).abs_diff(25).pow(2) < 300;
        (3000.0 + if inside { 600.0 } else { 0.0 } + 400.0 * random.normal()) as u16
    });
    let mut starts = Polygons::new();
    for index in 0..20 {
        let (x, y) = (20 + 60 * (index % 5), 15 + 50 * (index / 5));
        starts.push(&[Node::new(x, y), Node::new(x + 20, y + 3), Node::new(x + 17, y + 20), Node::new(x - 2, y + 18)]);
    }
    let params =
        Params { background: Background::Window { margin: 0.3 }, node_spacing: Some(5.0), ..Params::default() };
    let snake = converged(image.view(), Some(&starts), &params);
    let mut labels = Array2::<u16>::zeros((230, 310));
    snake.read_labels(labels.view_mut().into()).unwrap();
    let mut counted = vec![RegionSum::default(); 20];
    for (label, pixel) in labels.iter().zip(&image) {
        if *label > 0 {
            let (sum, value) = (&mut counted[usize::from(*label) - 1], i64::from(*pixel));
            *sum = *sum + RegionSum { pixels: 1, z: value, zz: value * value };
        }
    }
    assert_eq!(snake.region_sums(&snake.polygons()).unwrap(), counted, "none overlap, so labels are all of each");
    let four = Context::with_threads("cpu", 4).unwrap();
    let other = Snake::new(&four, image.view().into(), None, &Params::default()).unwrap();
    assert_eq!(other.region_sums(&snake.polygons()).unwrap(), counted);
}

/// The level of a pixel of an f32 image, read from sums over one pixel.
#[test]
fn a_float_pixel_is_half_a_step_from_its_level_at_most() {
    let (width, height) = (97usize, 101usize);
    let mut pixels = Polygons::new();
    for (x, y) in (0..height as i32).flat_map(|y| (0..width as i32).map(move |x| (x, y))) {
        pixels.push(&[Node::new(x, y), Node::new(x + 1, y), Node::new(x + 1, y + 1), Node::new(x, y + 1)]);
    }
    for context in super::common::contexts() {
        for [low, high] in [[-3.7, 12.9], [0.0, 1.0], [1e-30, 3e-30], [1000.0, 1000.5], [-3e38, 3e38]] {
            let mut random = Random::new(21);
            let image =
                Array2::from_shape_simple_fn((height, width), || (low + (high - low) * random.uniform()) as f32);
            // Given, and that of the pixels.
            let extremes = image.iter().fold([f32::MAX, f32::MIN], |[a, b], pixel| [pixel.min(a), pixel.max(b)]);
            for range in [Some([low, high]), None] {
                let params = Params { range, ..Params::default() };
                let snake = Snake::new(&context, image.view().into(), None, &params).unwrap();
                let [low, high] = range.unwrap_or(extremes.map(f64::from));
                for (sum, pixel) in snake.region_sums(&pixels).unwrap().iter().zip(&image) {
                    let exact = ((f64::from(*pixel) - low) / (high - low) * 65535.0).clamp(0.0, 65535.0);
                    let off = (sum.z as f64 - exact).abs();
                    assert!(sum.pixels == 1 && off <= 0.5 + 1e-9, "{pixel:e} in {range:?}: {exact} became {}", sum.z);
                }
            }
        }
    }
}

#[test]
fn an_automatic_range_from_0_needs_a_pixel_above_0() {
    let start = polygon(&[(5, 5), (20, 5), (20, 20), (5, 20)]);
    let mut random = Random::new(3);
    let image = Array2::from_shape_simple_fn((30, 30), || (-3.0 - random.normal()) as f32);
    let refused = |image: &Array2<f32>, noise, range| {
        let params = Params { noise, range, ..Params::default() };
        Snake::new(&cpu(), image.view().into(), Some(&start), &params).err().map(|error| error.message().to_owned())
    };
    let negative = image.mapv(|pixel| pixel.min(0.0));
    for noise in [Noise::Poisson, Noise::Gamma { looks: 1.0 }, Noise::Rayleigh] {
        let message = refused(&negative, noise, None).expect("no pixel above 0");
        assert!(message.contains("the automatic range begins at 0"), "{message}");
        assert_eq!(refused(&negative, noise, Some([-9.0, 0.0])), None);
        assert_eq!(refused(&negative.mapv(f32::abs), noise, None), None);
        assert_eq!(refused(&Array2::zeros((30, 30)), noise, None), None, "a blank image");
    }
    assert_eq!(refused(&negative, Noise::Gaussian, None), None);
}
