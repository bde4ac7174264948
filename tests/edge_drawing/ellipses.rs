//! Circles and ellipses along segments: drawn ones whose truth is known, noise, stacks, image types, threads and refusals.

use crate::lines::random;
use crate::{contexts, draw, everywhere, photograph};
use isoline::edge_drawing::{self, Ellipse, EllipseParams, Params, Profile, Segments, Shapes};
use isoline::{Context, ErrorKind, Image, PixelType};
use ndarray::{Array2, Array3, s};
use std::f64::consts::PI;
use std::ops::ControlFlow;

const SIZE: usize = 256;

fn ellipses_in<'a>(
    context: &Context,
    input: impl Into<Image<'a>>,
    drawing: &Params,
    params: &EllipseParams,
) -> Vec<Ellipse> {
    let input = input.into();
    let segments = draw(context, input, drawing).segments;
    let mut found = Vec::new();
    edge_drawing::ellipses(context, input, &segments, params, None, &mut found).expect("a good call");
    found
}

/// A drawn ellipse: centre, semi-axes, and the direction of the longer one.
#[derive(Clone, Copy, Debug)]
struct Truth {
    centre: [f64; 2],
    axes: [f64; 2],
    angle: f64,
}

impl Truth {
    fn circle(x: f64, y: f64, radius: f64) -> Self {
        Self { centre: [x, y], axes: [radius; 2], angle: 0.0 }
    }

    /// Returns the distance of a point to first order, negative inside.
    fn distance(&self, [x, y]: [f64; 2]) -> f64 {
        let [dx, dy] = [x - self.centre[0], y - self.centre[1]];
        let (sin, cos) = self.angle.sin_cos();
        let [u, v] = [(cos * dx + sin * dy) / self.axes[0], (cos * dy - sin * dx) / self.axes[1]];
        let level = u.hypot(v);
        let slope = (u / self.axes[0]).hypot(v / self.axes[1]) / level.max(1e-9);
        (level - 1.0) / slope.max(1e-9)
    }

    /// Returns the largest error of an ellipse in its centre, its semi-axes, and its angle at the end of the longer one.
    fn error(&self, found: &Ellipse) -> f64 {
        let centre = (found.x - self.centre[0]).hypot(found.y - self.centre[1]);
        let axes = [found.semi_major - self.axes[0], found.semi_minor - self.axes[1]].map(f64::abs);
        let turn = (found.angle - self.angle).rem_euclid(PI);
        let turn = turn.min(PI - turn) * (self.axes[0] - self.axes[1]);
        [centre, axes[0], axes[1], turn].into_iter().fold(0.0, f64::max)
    }
}

/// Returns a picture of a signed distance, soft as a camera makes it, with noise of a standard deviation.
fn picture(size: usize, noise: f64, seed: u32, distance: impl Fn([f64; 2]) -> f64) -> Array2<u8> {
    let mut next = random(seed);
    Array2::from_shape_fn((size, size), |(y, x)| {
        let gauss: f64 = (0..12).map(|_| next()).sum::<f64>() - 6.0;
        let inside = (0.5 - distance([x as f64, y as f64]) / 2.0).clamp(0.0, 1.0);
        (80.0 + 90.0 * inside + noise * gauss) as u8
    })
}

#[test]
fn explore() {
    let context = Context::new("cpu").unwrap();
    for profile in [Profile::Paper, Profile::Reference] {
        let drawing = Params { profile, ..Params::default() };
        for noise in [0.0, 5.0, 12.0] {
            for ratio in [1.0, 1.3, 2.0, 4.0] {
                for hidden in [0.0, 0.3, 0.45] {
                    let (mut found, mut total, mut extra, mut errors) = (0, 0, 0, Vec::new());
                    for seed in 0..40 {
                        let mut next = random(seed + 77);
                        let minor = if ratio > 1.5 { 10.0 + 15.0 * next() } else { 8.0 + 50.0 * next() };
                        let truth = Truth {
                            centre: [110.0 + 36.0 * next(), 110.0 + 36.0 * next()],
                            axes: [ratio * minor, minor],
                            angle: PI * next(),
                        };
                        let cut = PI * next();
                        // A half plane hides a share of the ellipse.
                        let cos = (PI * hidden).cos();
                        let reach = ((truth.axes[0] * (cut - truth.angle).cos()).powi(2)
                            + (truth.axes[1] * (cut - truth.angle).sin()).powi(2))
                        .sqrt()
                            * cos;
                        let pixels = picture(SIZE, noise, seed, |at| {
                            let across = (at[0] - truth.centre[0]) * cut.cos() + (at[1] - truth.centre[1]) * cut.sin();
                            let d = truth.distance(at);
                            if hidden > 0.0 { d.max(across - reach) } else { d }
                        });
                        let all = ellipses_in(&context, pixels.view(), &drawing, &EllipseParams::default());
                        total += 1;
                        let best = all.iter().map(|one| truth.error(one)).fold(f64::INFINITY, f64::min);
                        let limit = if hidden > 0.0 { 5.0 } else { 2.0 };
                        if best < limit {
                            found += 1;
                            errors.push(best);
                        }
                        extra += all.len() - usize::from(best < limit);
                    }
                    errors.sort_by(f64::total_cmp);
                    let [median, most] = [errors.get(errors.len() / 2), errors.last()].map(|e| e.copied().unwrap_or(f64::NAN));
                    println!("{profile:?} noise {noise} ratio {ratio} hidden {hidden}: {found}/{total} extra {extra} median {median:.3} max {most:.3}");
                }
            }
        }
        // noise
        for size in [128, 256, 512] {
            let (mut valid, mut all) = (0, 0);
            for seed in 0..10 {
                let mut next = random(seed);
                let noise = Array2::from_shape_fn((size, size), |_| (255.0 * next()) as u8);
                let drawing = Params { profile, gradient_threshold: Some(20.0), ..Params::default() };
                let list = ellipses_in(&context, noise.view(), &drawing, &EllipseParams { validation: false, ..EllipseParams::default() });
                all += list.len();
                valid += list.iter().filter(|one| one.log_false_alarms <= 0.0).count();
            }
            println!("{profile:?} noise {size}: {all} candidates, {valid} valid");
        }
        for name in ["coins", "camera", "cell", "page", "pattern", "horse", "nuclei", "microaneurysms"] {
            let pixels = photograph(name);
            let started = std::time::Instant::now();
            let segments = draw(&context, pixels.view(), &drawing).segments;
            let drawn = started.elapsed();
            let mut list = Vec::new();
            let started = std::time::Instant::now();
            edge_drawing::ellipses(&context, pixels.view().into(), &segments, &EllipseParams { validation: false, ..EllipseParams::default() }, None, &mut list).unwrap();
            println!("{profile:?} {name}: {} candidates, {} valid, {:.1} ms, drawn {:.1} ms", list.len(), list.iter().filter(|one| one.log_false_alarms <= 0.0).count(), started.elapsed().as_secs_f64() * 1e3, drawn.as_secs_f64() * 1e3);
            if name == "coins" {
                for e in list {
                    println!("  {:.1} {:.1} axes {:.1} {:.1} rms {:.2} cov {:.2} nfa {:.1} arcs {} flags {}", e.x, e.y, e.semi_major, e.semi_minor, e.rms, e.coverage, e.log_false_alarms, e.arcs, e.flags);
                }
            }
        }
    }
}
