//! Region snakes, tested with truths drawn with known noise, and against the guarantees of the definition.

#[path = "../common/mod.rs"]
mod common;
mod cuda;
mod guarantees;
mod limits;
mod neighbours;
mod optimum;
mod pyramid;
mod shapes;
mod stack;
mod starts;

pub(crate) use common::Random;
use isoline::snake::{Node, Params, Polygons, Snake};
use isoline::{Context, Image};
use ndarray::Array2;

pub(crate) fn cpu() -> Context {
    Context::new("cpu").unwrap()
}

pub(crate) fn polygon(points: &[(i32, i32)]) -> Polygons {
    let mut polygons = Polygons::new();
    polygons.push(&points.iter().map(|&(x, y)| Node::new(x, y)).collect::<Vec<_>>());
    polygons
}

/// The snakes at their ends, which have been checked to be local optima.
pub(crate) fn converged<'a>(image: impl Into<Image<'a>>, initial: Option<&Polygons>, params: &Params) -> Snake {
    let image = image.into();
    let [width, height, _] = image.shape();
    let mut snake = Snake::new(&cpu(), image, initial, params).unwrap();
    snake.step(u64::MAX, None).unwrap();
    optimum::check(&snake, initial, params, [width as i32, height as i32]);
    snake
}

/// The pixels of the result.
pub(crate) fn mask_of<'a>(image: impl Into<Image<'a>>, initial: Option<&Polygons>, params: &Params) -> Array2<bool> {
    let image = image.into();
    let [width, height, _] = image.shape();
    let snake = converged(image, initial, params);
    let mut mask = Array2::<u8>::zeros((height, width));
    snake.read_mask(mask.view_mut().into()).unwrap();
    mask.mapv(|pixel| pixel == 255)
}

/// Intersection over union.
pub(crate) fn overlap(a: &Array2<bool>, b: &Array2<bool>) -> f64 {
    let both = a.iter().zip(b).filter(|(a, b)| **a && **b).count();
    let either = a.iter().zip(b).filter(|(a, b)| **a || **b).count();
    both as f64 / either as f64
}
