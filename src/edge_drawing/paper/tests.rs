//! The fast path against the plain loops.

use super::super::edge_map::Ranks;
use super::super::prepare::{Plan, Quantise};
use super::super::scalar::{self, Grid};
use super::super::{Operator, Params};
use super::*;
use crate::image::PixelType;
use ndarray::ArrayView2;
use proptest::prelude::*;

fn plan(params: &Params) -> Plan {
    params.plan(PixelType::U16, Some([0.0, 65535.0]))
}

/// Draws by both ways and compares; gives the number of edge pixels.
fn check<P: Pixel<Gradient: CodedGradient>>(pixels: &[P], width: usize, plan: &Plan, threads: usize) -> usize {
    let height = pixels.len() / width;
    let view = ArrayView2::from_shape((height, width), pixels).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let map = pool.install(|| draw(&view, plan, &mut Scratch::new(&device::BufferPool::default()), &ticker())).unwrap();
    let listed = pool.install(|| gradients(&view, plan, &map, &ticker())).unwrap();
    let ranks = Ranks::new(&map).unwrap();
    let image = Grid { width, height, values: pixels.iter().map(|p| (*p).into()).collect() };
    let expected = plain(&image, plan, |_| ());
    let mut count = 0;
    for y in 0..height {
        for x in 0..width {
            let set = map.row(y)[x / WORD] >> (x % WORD) & 1 == 1;
            assert_eq!(set, expected.edges.at(x, y), "({x}, {y}) of {width} x {height}, {plan:?}");
            if set {
                assert_eq!(Into::<u32>::into(listed[ranks.at(map.bit_index(x, y))]), expected.gradient.at(x, y));
                count += 1;
            }
        }
    }
    assert_eq!(listed.len(), count);
    count
}

fn ticker() -> Ticker {
    Ticker::new("test")
}

/// The plain loops' edge map with its anchors reordered.
fn plain(image: &Grid<u32>, plan: &Plan, shuffle: impl FnOnce(&mut Vec<(usize, usize)>)) -> scalar::Drawing {
    scalar::draw(image, plan, &ticker(), shuffle).unwrap()
}

fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below
    }
}

/// Noise, or waves with noise: long winding edges.
fn image(width: usize, height: usize, seed: u64, kind: u8) -> Vec<u16> {
    let mut random = random(seed);
    let [a, b, c] = [0; 3].map(|_| random(100) as f64 / 300.0);
    (0..width * height)
        .map(|i| {
            let (x, y) = ((i % width) as f64, (i / width) as f64);
            match kind {
                0 => random(65536) as u16,
                1 => (random(2) * 65535) as u16,
                2 => 65535,
                _ => {
                    let wave = (x * a + 3.0 * (y * b).sin()).sin() + ((x * c).cos() * 2.0 + y * b).cos();
                    ((wave + 2.0) / 4.0 * 60000.0) as u16 + random(if kind == 3 { 1 } else { 5000 }) as u16
                }
            }
        })
        .collect()
}

prop_compose! {
    fn params()(
        operator in prop_oneof![Just(Operator::Sobel), Just(Operator::Prewitt), Just(Operator::Scharr)],
        threshold in prop_oneof![Just(0.0), Just(1e9), 0.0..2000.0, 0.0..60000.0],
        anchor in prop_oneof![Just(0.0), Just(1e9), 0.0..100.0, 0.0..20000.0],
        scan in 1u32..6,
        follow_turns in any::<bool>(),
    ) -> Params {
        Params {
            operator,
            gradient_threshold: Some(threshold),
            anchor_threshold: anchor,
            scan_interval: scan,
            follow_turns,
            ..Params::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn equals_the_plain_loops(
        (width, height) in prop_oneof![
            Just((1, 1)), Just((1, 300)), Just((300, 1)), Just((2, 2)), Just((31, 33)), Just((1030, 7)), Just((64, 128)),
            Just((63, 65)), (1usize..90, 1usize..300)
        ],
        params in params(),
        (seed, kind) in (any::<u64>(), 0u8..5),
        threads in 1usize..5,
    ) {
        let pixels = image(width, height, seed, kind);
        check(&pixels, width, &plan(&params), threads);
        let params = Params {
            gradient_threshold: params.gradient_threshold.map(|t| (t / 257.0).floor()),
            anchor_threshold: params.anchor_threshold / 257.0,
            ..params
        };
        let narrow: Vec<u8> = pixels.iter().map(|p| (p / 257) as u8).collect();
        check(&narrow, width, &params.plan(PixelType::U8, None), threads);
    }

    #[test]
    fn order_of_anchors_does_not_change_the_result(params in params(), seed in any::<u64>(), kind in 0u8..5) {
        let image = Grid { width: 50, height: 70, values: image(50, 70, seed, kind).into_iter().map(u32::from).collect() };
        let plan = plan(&params);
        let expected = plain(&image, &plan, |_| ()).edges.values;
        let mut random = random(!seed);
        let shuffled = plain(&image, &plan, |anchors| {
            for i in (1..anchors.len()).rev() {
                anchors.swap(i, random(i as u64 + 1) as usize);
            }
        });
        prop_assert_eq!(&shuffled.edges.values, &expected);
        let reversed = plain(&image, &plan, |anchors| anchors.reverse());
        prop_assert_eq!(&reversed.edges.values, &expected);
    }
}

#[test]
fn long_edges_cross_many_strips() {
    // There are few anchors, so that traces are long and enter strips that have none.
    for (follow_turns, anchor) in [(false, 0.0), (false, 900.0), (true, 900.0), (true, 0.0)] {
        let params = Params {
            gradient_threshold: Some(300.0),
            anchor_threshold: anchor,
            scan_interval: 61,
            follow_turns,
            ..Params::default()
        };
        let count = check(&image(200, 700, 5, 4), 200, &plan(&params), 3);
        assert!(count > 100, "{count}");
    }
}

#[test]
fn float_pixels_and_nan() {
    let mut random = random(7);
    let mut pixels: Vec<f32> = (0..70 * 40).map(|_| random(1000) as f32 / 10.0).collect();
    pixels[100] = f32::NAN;
    pixels[200] = f32::INFINITY;
    pixels[300] = f32::NEG_INFINITY;
    let quantise = Quantise { half_minimum: 0.0, double_scale: 1310.7 };
    let view = ArrayView2::from_shape((40, 70), &pixels[..]).unwrap();
    let source = gradient::Quantised { pixels: view, quantise };
    let plan = plan(&Params { gradient_threshold: Some(20000.0), ..Params::default() });
    let map = draw(&source, &plan, &mut Scratch::new(&device::BufferPool::default()), &ticker()).unwrap();
    let whole: Vec<u32> = pixels.iter().map(|p| u32::from(quantise.value(*p))).collect();
    let expected = plain(&Grid { width: 70, height: 40, values: whole }, &plan, |_| ());
    for y in 0..40 {
        for x in 0..70 {
            assert_eq!(map.row(y)[x / WORD] >> (x % WORD) & 1 == 1, expected.edges.at(x, y));
        }
    }
}
