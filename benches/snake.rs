//! Region snakes: sums and search of one target on images of the paper's sizes and of many targets on one image.

use isoline::snake::{Background, Node, Params, Polygons, Snake};
use isoline::{Context, DeviceKind};
use ndarray::Array2;
use std::time::Instant;

/// Noise without a pattern: a sum of bytes of a mixed counter.
fn noise(x: usize, y: usize) -> f32 {
    let mut v = (x as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (y as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    v ^= v >> 29;
    v = v.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    v ^= v >> 32;
    v.to_le_bytes().iter().map(|byte| f32::from(*byte) - 127.5).sum::<f32>() / 208.0
}

/// One star in noise.
fn one(side: usize) -> Array2<u16> {
    let s = side as f32;
    let mut image = Array2::zeros((side, side));
    ndarray::Zip::indexed(&mut image).par_for_each(|(y, x), pixel: &mut u16| {
        let (u, v) = (x as f32 / s - 0.5, y as f32 / s - 0.5);
        let inside = (u * u + v * v).sqrt() < 0.25 + 0.1 * (5.0 * v.atan2(u)).cos();
        *pixel = (if inside { 22_000.0 } else { 20_000.0 } + 2000.0 * noise(x, y)) as u16;
    });
    image
}

/// A thousand cells, and a start in each.
fn many() -> (Array2<u16>, Polygons) {
    const PITCH: usize = 128;
    let mut image = Array2::zeros((4096, 4096));
    ndarray::Zip::indexed(&mut image).par_for_each(|(y, x), pixel: &mut u16| {
        let at = |v: usize| (v % PITCH) as f32 - 63.5;
        let inside = at(x).powi(2) + 1.3 * at(y).powi(2) < 40.0 * 40.0;
        *pixel = (if inside { 3000.0 } else { 2000.0 } + 800.0 * noise(x, y)) as u16;
    });
    let mut starts = Polygons::new();
    for index in 0..1000 {
        let (x, y) = (((index % 32) * PITCH + 44) as i32, ((index / 32) * PITCH + 44) as i32);
        starts.push(&[Node::new(x, y), Node::new(x + 40, y), Node::new(x + 40, y + 40), Node::new(x, y + 40)]);
    }
    (image, starts)
}

fn measure(context: &Context, name: &str, image: &Array2<u16>, starts: Option<&Polygons>, params: &Params) {
    let mut best = [f64::INFINITY; 3];
    let mut told = String::new();
    for _ in 0..3 {
        let began = Instant::now();
        let mut snake = Snake::new(context, image.view().into(), starts, params).unwrap();
        let made = began.elapsed().as_secs_f64();
        let began = Instant::now();
        let report = snake.step(u64::MAX, None).unwrap();
        let searched = began.elapsed().as_secs_f64();
        for (best, now) in best.iter_mut().zip([report.seconds_upload, made, searched]) {
            *best = best.min(now);
        }
        let statistics = snake.statistics();
        let nodes: u64 = statistics.iter().map(|one| one.nodes).sum();
        told = format!("{} steps, {nodes} nodes", report.iterations);
    }
    println!(
        "{:10} {name:28} upload {:9.3} ms  made {:9.3} ms  search {:9.3} ms   {told}",
        context.device().id,
        1e3 * best[0],
        1e3 * best[1],
        1e3 * best[2]
    );
}

fn main() {
    let cpu = Context::new("cpu").unwrap();
    let auto = Context::new("auto").unwrap();
    let contexts: Vec<&Context> = if auto.device().kind == DeviceKind::Cuda { vec![&auto, &cpu] } else { vec![&cpu] };
    for side in [3900usize, 10_000, 12_247] {
        let image = one(side);
        for context in &contexts {
            let name = format!("one target, {:.0} Mpixel", (side * side) as f64 / 1e6);
            measure(context, &name, &image, None, &Params::default());
        }
    }
    let (image, starts) = many();
    let params = Params { background: Background::Window { margin: 0.5 }, ..Params::default() };
    for context in &contexts {
        measure(context, "1000 targets, 4096 x 4096", &image, Some(&starts), &params);
    }
}
