//! A disc, a star and a U in Gaussian noise.

use super::{Random, mask_of, overlap, polygon};
use isoline::snake::{Params, Schedule};
use ndarray::Array2;

const SIDE: usize = 256;

fn disc() -> Array2<bool> {
    Array2::from_shape_fn((SIDE, SIDE), |(y, x)| {
        let (x, y) = (x as f64 + 0.5 - 130.0, y as f64 + 0.5 - 120.0);
        x * x + y * y < 60.0 * 60.0
    })
}

fn star() -> Array2<bool> {
    Array2::from_shape_fn((SIDE, SIDE), |(y, x)| {
        let (x, y) = (x as f64 + 0.5 - 128.0, y as f64 + 0.5 - 128.0);
        (x * x + y * y).sqrt() < 62.0 + 28.0 * (5.0 * y.atan2(x)).cos()
    })
}

fn letter_u() -> Array2<bool> {
    Array2::from_shape_fn((SIDE, SIDE), |(y, x)| {
        (60..200).contains(&x) && (60..200).contains(&y) && !((100..160).contains(&x) && y < 160)
    })
}

/// The shape at 1000 + snr·100 on 1000, with noise of deviation 100.
fn noisy(shape: &Array2<bool>, snr: f64, seed: u64) -> Array2<u16> {
    let mut random = Random::new(seed);
    shape.mapv(|inside| (1000.0 + if inside { 100.0 * snr } else { 0.0 } + 100.0 * random.normal()).round() as u16)
}

/// The least overlap with the truth at signal to noise 3, 1 and 0.5.
fn check(name: &str, shape: &Array2<bool>, bounds: [f64; 3]) {
    for (snr, bound) in [3.0, 1.0, 0.5].into_iter().zip(bounds) {
        let image = noisy(shape, snr, 5);
        for schedule in [Schedule::Parallel, Schedule::Sequential] {
            for start in [None, Some(polygon(&[(40, 40), (220, 40), (220, 220), (40, 220)]))] {
                for node_cost in [0.0, 1.0] {
                    let params = Params { schedule, node_cost, ..Params::default() };
                    let overlap = overlap(&mask_of(image.view(), start.as_ref(), &params), shape);
                    assert!(overlap >= bound, "{name} at {snr}, {schedule:?}, node cost {node_cost}: {overlap}");
                }
            }
        }
    }
}

#[test]
fn a_disc_in_noise() {
    check("disc", &disc(), [0.995, 0.98, 0.94]);
}

#[test]
fn a_star_in_noise() {
    check("star", &star(), [0.99, 0.96, 0.9]);
}

#[test]
fn a_u_in_noise() {
    check("U", &letter_u(), [0.995, 0.98, 0.92]);
}
