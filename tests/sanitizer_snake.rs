//! Every CUDA kernel of region snakes at least once, on images small enough for NVIDIA's compute-sanitizer (see
//! `scripts/gpu-run.sh`). Results must be the CPU's, so that they are worth something without the sanitizer too. Skipped,
//! saying why, where there is no CUDA device.

mod common;

use common::{cuda, few_sizes};
use isoline::snake::{self, Background, Node, Noise, Overlap, Params, Polygons, Snake};
use isoline::{Context, Image};
use ndarray::Array2;

/// Two bright blobs on a ground with a pattern.
fn picture(width: usize, height: usize) -> Array2<u16> {
    Array2::from_shape_fn((height, width), |(y, x)| {
        let inside = |cx: f64, cy: f64| {
            let (u, v) = (x as f64 / width as f64 - cx, y as f64 / height as f64 - cy);
            u * u + 1.4 * v * v < 0.03
        };
        let pattern = (x * 7919 + y * 104_729) % 61;
        (pattern + if inside(0.25, 0.5) || inside(0.7, 0.45) { 190 } else { 90 }) as u16
    })
}

fn rectangle(x0: usize, y0: usize, x1: usize, y1: usize) -> [Node; 4] {
    [(x0, y0), (x1, y0), (x1, y1), (x0, y1)].map(|(x, y)| Node::new(x as i32, y as i32))
}

#[test]
fn sanitizer_snakes_are_the_cpus() {
    let Some(cuda) = cuda() else { return };
    let cpu = Context::new("cpu").unwrap();
    let sizes: &[(usize, usize)] = if few_sizes() { &[(61, 47)] } else { &[(1, 1), (3, 90), (61, 47), (250, 190)] };
    for &(width, height) in sizes {
        let image = picture(width, height);
        let narrow = image.mapv(|pixel| pixel as u8);
        let float = image.mapv(|pixel| f32::from(pixel) * 0.3);
        let mut starts = Polygons::new();
        starts.push(&rectangle(0, 0, width.div_ceil(2), height));
        starts.push(&rectangle(width / 2, height / 5, width, height));
        for (noise, node_cost, background, overlap) in [
            (Noise::Gaussian, 0.0, Background::Image, Overlap::Allowed),
            (Noise::Poisson, 0.5, Background::Window { margin: 0.3 }, Overlap::Allowed),
            (Noise::Bernoulli, 0.5, Background::Image, Overlap::Allowed),
            (Noise::Gaussian, 0.5, Background::Window { margin: 0.3 }, Overlap::Excluded),
        ] {
            let params = Params { noise, node_cost, background, overlap, node_spacing: Some(6.0), ..Params::default() };
            for input in [Image::from(image.view()), narrow.view().into(), float.view().into()] {
                let run = |context: &Context| snake::run(context, input.into(), Some(&starts), &params, None).unwrap();
                let (ours, theirs) = (run(&cpu), run(&cuda));
                assert_eq!(ours.0, theirs.0, "{width} x {height}, {noise:?}, {overlap:?}");
            }
        }
    }
}

#[test]
fn sanitizer_each_snake_has_its_node_spacing() {
    let Some(cuda) = cuda() else { return };
    let image = picture(120, 70);
    let mut starts = Polygons::new();
    starts.push(&rectangle(4, 4, 12, 12));
    starts.push(&rectangle(20, 10, 50, 44));
    starts.push(&rectangle(60, 6, 112, 62));
    let background = Background::Window { margin: 0.3 };
    let params = Params { background, largest_step: Some(4), ..Params::default() };
    let run = |context: &Context| snake::run(context, image.view().into(), Some(&starts), &params, None).unwrap().0;
    assert_eq!(run(&Context::new("cpu").unwrap()), run(&cuda));
}

#[test]
fn sanitizer_several_blocks_share_one_snake() {
    let Some(cuda) = cuda() else { return };
    // Long edges: rows in several pieces, and blocks that meet at barriers.
    let height = if few_sizes() { 700 } else { 1500 };
    let image = picture(40, height);
    let params = Params { largest_step: Some(8), node_spacing: Some(20.0), node_cost: 0.2, ..Params::default() };
    let run = |context: &Context| {
        let mut snake = Snake::new(context, image.view().into(), None, &params).unwrap();
        snake.step(if few_sizes() { 12 } else { u64::MAX }, None).unwrap();
        let polygons = snake.polygons();
        (snake.region_sums(&polygons).unwrap(), polygons)
    };
    assert_eq!(run(&Context::new("cpu").unwrap()), run(&cuda));
}

#[test]
fn sanitizer_several_blocks_share_a_competing_snake() {
    let Some(cuda) = cuda() else { return };
    let height = if few_sizes() { 500 } else { 1500 };
    let image = picture(80, height);
    let mut starts = Polygons::new();
    starts.push(&rectangle(0, 0, 38, height));
    starts.push(&rectangle(40, 10, 80, height - 3));
    let params = Params {
        overlap: Overlap::Excluded,
        largest_step: Some(8),
        node_spacing: Some(20.0),
        node_cost: 0.2,
        ..Params::default()
    };
    let run = |context: &Context| {
        let mut snake = Snake::new(context, image.view().into(), Some(&starts), &params).unwrap();
        snake.step(if few_sizes() { 12 } else { u64::MAX }, None).unwrap();
        (snake.polygons(), snake.statistics())
    };
    assert_eq!(run(&Context::new("cpu").unwrap()), run(&cuda));
}
