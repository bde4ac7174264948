//! Measures the speed of region snakes: one target on images of the paper's sizes, and a thousand on one image, beside
//! the goals. `cargo bench --bench snake -- [--quick] [--json FILE]`; `ISOLINE_BENCH_DEVICE` (auto, cpu, cuda, cuda:N)
//! and `ISOLINE_BENCH_JSON` set the same. `benches/snake_peers.py` measures other programs.
//!
//! Every number is the smallest of a few. "made": the image is copied and its row prefix sums are computed; on a GPU
//! from host memory and, "resident", from the GPU's memory. "search": from the start until every target has ended.
//! "ratio": the time from host to host, divided by the sum of the plain copy of the image from page-locked memory,
//! "made" from the GPU's memory, and "search". The largest image has 300 MB, and the library keeps 750 MB for it.
#![allow(missing_docs)]

mod common;
mod link;

use common::{Outcome, json};
use isoline::snake::{self, Background, Node, Params, Polygons, Schedule, Snake};
use isoline::{Context, DeviceKind, Image, PixelType};
use ndarray::Array2;
use std::time::Instant;

/// The sides of the paper's images of 15, 100 and 150 Mpixel.
const SIDES: [usize; 3] = [3900, 10_000, 12_247];

/// The paper's seconds for these images: cumulated images and segmentation, on one core of an Intel Xeon E5530 and on a
/// C2050.
const PAPER_CPU: [[f64; 2]; 3] = [[0.51, 0.13], [0.91, 3.17], [1.4, 4.3]];
const PAPER_GPU: [[f64; 2]; 3] = [[0.06, 0.02], [0.13, 0.46], [0.20, 0.59]];

/// The cost of a node, the same as in all records, with which no node is removed.
const NODE_COST: f64 = 0.0;

/// The node spacing of all searches, so that an automatic one does not change their work.
const NODE_SPACING: Option<f64> = Some(16.0);

/// Returns noise without a pattern: a sum of bytes of a mixed counter.
fn noise(x: usize, y: usize) -> f32 {
    let mut v = (x as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (y as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    v ^= v >> 29;
    v = v.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    v ^= v >> 32;
    v.to_le_bytes().iter().map(|byte| f32::from(*byte) - 127.5).sum::<f32>() / 208.0
}

/// Makes an image of one star, in noise as strong as its contrast.
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

/// Makes an image of `count` cells, and a start in each.
fn many(side: usize, count: usize) -> (Array2<u16>, Polygons) {
    const PITCH: usize = 128;
    let mut image = Array2::zeros((side, side));
    ndarray::Zip::indexed(&mut image).par_for_each(|(y, x), pixel: &mut u16| {
        let at = |v: usize| (v % PITCH) as f32 - 63.5;
        let inside = at(x).powi(2) + 1.3 * at(y).powi(2) < 40.0 * 40.0;
        *pixel = (if inside { 3000.0 } else { 2000.0 } + 800.0 * noise(x, y)) as u16;
    });
    let mut starts = Polygons::new();
    let a_row = side / PITCH;
    for index in 0..count {
        let (x, y) = (((index % a_row) * PITCH + 44) as i32, ((index / a_row) * PITCH + 44) as i32);
        starts.push(&[Node::new(x, y), Node::new(x + 40, y), Node::new(x + 40, y + 40), Node::new(x, y + 40)]);
    }
    (image, starts)
}

struct Case<'a> {
    name: String,
    image: &'a Array2<u16>,
    starts: Option<&'a Polygons>,
    params: Params,
    /// The goals in seconds: "made" and "search" on a GPU; both together on two cores.
    targets: [Option<f64>; 3],
}

struct Bench {
    rounds: usize,
    records: Vec<String>,
}

/// Returns the smallest of the seconds of a few calls.
fn least(rounds: usize, mut call: impl FnMut() -> Outcome<f64>) -> Outcome<f64> {
    (0..rounds).try_fold(f64::INFINITY, |best, _| Ok(best.min(call()?)))
}

fn timed<T>(call: impl FnOnce() -> isoline::Result<T>) -> Outcome<(T, f64)> {
    let began = Instant::now();
    let value = call()?;
    Ok((value, began.elapsed().as_secs_f64()))
}

impl Bench {
    fn row(&mut self, context: &Context, threads: Option<usize>, case: &Case<'_>) -> Outcome<()> {
        let info = context.device();
        let on_gpu = info.kind == DeviceKind::Cuda;
        let (height, width) = case.image.dim();
        let mut resident = None;
        if on_gpu {
            let mut image = context.device_image(PixelType::U16, [width, height, 1])?;
            image.upload(case.image.view().into())?;
            // The plain copy of the same number of bytes from page-locked memory; the image itself needs staging.
            let bytes = size_of_val(case.image.as_slice().ok_or("a packed image")?);
            let [link, ..] = link::Memory::new(info.index as usize, [bytes, 1], true)?.seconds()?;
            resident = Some((image, link));
        }
        let make = |image: Image<'_>| timed(|| Snake::new(context, image, case.starts, &case.params));
        let from_host = least(self.rounds, || Ok(make(case.image.view().into())?.1))?;
        let from_device = match &resident {
            Some((image, _)) => Some(least(self.rounds, || Ok(make(image.view())?.1))?),
            None => None,
        };
        let (mut snake, _) = make(case.image.view().into())?;
        let search = least(self.rounds, || {
            snake.restart(case.starts, &case.params)?;
            Ok(timed(|| snake.step(u64::MAX, None))?.1)
        })?;
        let told = snake.statistics();
        let (steps, nodes) =
            told.iter().fold((0, 0), |(steps, nodes), one| (one.iterations.max(steps), nodes + one.nodes));
        drop(snake);
        // The time from host memory to polygons, against the plain copy of the pixels and the computation.
        let ratio = match (&resident, from_device) {
            (Some((_, link)), Some(made)) => {
                let whole = least(self.rounds, || {
                    let input = case.image.view().into();
                    Ok(timed(|| snake::run(context, input, case.starts, &case.params, None))?.1)
                })?;
                Some([whole, whole / (link + made + search)])
            }
            _ => None,
        };
        let device = threads.map_or_else(|| info.id.clone(), |count| format!("{} x{count}", info.id));
        let milliseconds = |seconds: Option<f64>| seconds.map_or("-".into(), |s| format!("{:.2}", 1e3 * s));
        println!(
            "  {:26} {device:<8} {:>10} {:>10} {:>10} {:>13} {:>6}  {steps} steps, {nodes} nodes{}",
            case.name,
            milliseconds(Some(from_host)),
            milliseconds(from_device),
            milliseconds(Some(search)),
            milliseconds(ratio.map(|[whole, _]| whole)),
            ratio.map_or("-".into(), |[_, ratio]| format!("{ratio:.2}")),
            Self::judge(case, on_gpu, from_device.unwrap_or(from_host), search, threads),
        );
        self.records.push(format!(
            "{{\"what\": \"{}\", \"device\": \"{device}\", \"width\": {width}, \"height\": {height}, \"targets\": {}, \
             \"steps\": {steps}, \"nodes\": {nodes}, \"seconds_made\": {from_host:.9}, \"seconds_made_resident\": {}, \
             \"seconds_search\": {search:.9}, \"seconds_host_to_host\": {}, \"ratio_to_link_and_compute\": {}}}",
            case.name,
            told.len(),
            json(from_device),
            json(ratio.map(|[whole, _]| whole)),
            json(ratio.map(|[_, ratio]| ratio)),
        ));
        Ok(())
    }

    fn judge(case: &Case<'_>, on_gpu: bool, made: f64, search: f64, threads: Option<usize>) -> String {
        let [most_made, most_search, most_on_two] = case.targets;
        let against = |what: &str, seconds: f64, most: Option<f64>| {
            most.map_or(String::new(), |most| {
                let word = if seconds <= most { "within" } else { "OVER" };
                format!("; {what} {word} {} ms", 1e3 * most)
            })
        };
        if on_gpu {
            against("made", made, most_made) + &against("search", search, most_search)
        } else if threads == Some(2) {
            against("both", made + search, most_on_two)
        } else {
            String::new()
        }
    }

    /// Measures the sequential schedule on one core: a step tries eight positions of every node.
    fn sequential(&mut self, side: usize, image: &Array2<u16>, paper: Option<[f64; 2]>) -> Outcome<()> {
        let context = Context::with_threads("cpu", 1)?;
        let params = Params {
            schedule: Schedule::Sequential,
            node_cost: NODE_COST,
            node_spacing: NODE_SPACING,
            ..Params::default()
        };
        let [mut made, mut search] = [f64::INFINITY; 2];
        let [mut candidates, mut nodes] = [0; 2];
        for _ in 0..self.rounds {
            let (mut snake, seconds) = timed(|| Snake::new(&context, image.view().into(), None, &params))?;
            made = made.min(seconds);
            candidates = 0;
            let began = Instant::now();
            loop {
                nodes = snake.statistics()[0].nodes;
                candidates += 8 * nodes;
                if snake.step(1, None)?.converged {
                    break;
                }
            }
            search = search.min(began.elapsed().as_secs_f64());
        }
        let each = search / candidates as f64;
        println!(
            "  {:26} made {:.0} ms, search {:.1} ms: {candidates} candidates, {:.2} us each, {nodes} nodes{}",
            format!("{side} x {side}, sequential"),
            1e3 * made,
            1e3 * search,
            1e6 * each,
            paper.map_or(String::new(), |[made, search]| format!(" (paper: {made} and {search} s)")),
        );
        self.records.push(format!(
            "{{\"what\": \"sequential\", \"device\": \"cpu x1\", \"width\": {side}, \"height\": {side}, \
             \"candidates\": {candidates}, \"nodes\": {nodes}, \"seconds_made\": {made:.9}, \
             \"seconds_search\": {search:.9}, \"seconds_a_candidate\": {each:.12}}}"
        ));
        Ok(())
    }
}

fn main() -> Outcome<()> {
    let mut setup = common::Bench::new()?;
    let quick = setup.quick;
    let two = Context::with_threads("cpu", 2)?;
    let cores = setup.cpu.device().multiprocessors;
    let mut contexts = vec![(&two, Some(2))];
    if cores > 2 {
        contexts.push((&setup.cpu, Some(cores as usize)));
    }
    contexts.extend(setup.cuda.iter().map(|context| (context, None)));
    println!(
        "\n  {:26} {:8} {:>10} {:>10} {:>10} {:>13} {:>6}",
        "ms", "", "made", "resident", "search", "host to host", "ratio"
    );
    let mut bench = Bench { rounds: 3, records: vec![] };
    let sides = if quick { &[256usize][..] } else { &SIDES };
    for (index, side) in sides.iter().enumerate() {
        let image = one(*side);
        let case = Case {
            name: format!("one target, {:.1} Mpixel", (side * side) as f64 / 1e6),
            image: &image,
            starts: None,
            params: Params { node_cost: NODE_COST, node_spacing: NODE_SPACING, ..Params::default() },
            // The goal is stated for 150 Mpixel.
            targets: if *side == SIDES[2] { [Some(1.5e-3), Some(15e-3), None] } else { [None; 3] },
        };
        for (context, threads) in &contexts {
            bench.row(context, *threads, &case)?;
        }
        bench.sequential(*side, &image, (!quick).then_some(PAPER_CPU[index]))?;
        if !quick {
            let [made, search] = PAPER_GPU[index];
            println!("  {:26} made {:.0} ms, search {:.0} ms", "paper, C2050", 1e3 * made, 1e3 * search);
        }
    }
    let (side, count) = if quick { (512, 16) } else { (4096, 1000) };
    let (image, starts) = many(side, count);
    let case = Case {
        name: format!("{count} targets, {side} x {side}"),
        image: &image,
        starts: Some(&starts),
        params: Params {
            background: Background::Window { margin: 0.5 },
            node_cost: NODE_COST,
            node_spacing: NODE_SPACING,
            ..Params::default()
        },
        targets: if quick { [None; 3] } else { [None, Some(50e-3), Some(5.0)] },
    };
    for (context, threads) in &contexts {
        bench.row(context, *threads, &case)?;
    }
    setup.records = bench.records;
    setup.write()
}
