//! The segments of the paper profile are the chains of its thinned edge map.

use crate::{Drawn, all_of, draw, everywhere, photograph, picture, points_of};
use isoline::Context;
use isoline::edge_drawing::{Params, Profile};
use ndarray::{Array2, ArrayView3, Axis, s};
use std::collections::{BTreeMap, BTreeSet};

/// The links of an edge map: m-adjacency, each pair once.
fn links(edges: &Array2<u8>) -> BTreeSet<[(u32, u32); 2]> {
    let (height, width) = edges.dim();
    let on = |x: i64, y: i64| {
        x >= 0 && y >= 0 && x < width as i64 && y < height as i64 && edges[[y as usize, x as usize]] > 0
    };
    let mut links = BTreeSet::new();
    for ((y, x), edge) in edges.indexed_iter() {
        let (px, py) = (x as i64, y as i64);
        for (dx, dy) in [(1, 0), (-1, 1), (0, 1), (1, 1)] {
            let diagonal = dx != 0 && dy != 0;
            if *edge > 0 && on(px + dx, py + dy) && !(diagonal && (on(px + dx, py) || on(px, py + dy))) {
                links.insert([(x as u32, y as u32), ((px + dx) as u32, (py + dy) as u32)]);
            }
        }
    }
    links
}

/// Returns the thinned copy of an edge map, written from the definition in docs/edge_drawing.md.
fn thinned(edges: &Array2<u8>) -> Array2<u8> {
    const ROUNDS: usize = 16;
    let (height, width) = edges.dim();
    let mut now = edges.clone();
    for _ in 0..ROUNDS {
        let before = now.clone();
        for (dx, dy) in [(0, -1), (0, 1), (-1, 0), (1, 0)] {
            let state = now.clone();
            let on = |x: i64, y: i64| {
                (0..width as i64).contains(&x) && (0..height as i64).contains(&y) && state[[y as usize, x as usize]] > 0
            };
            for ((y, x), pixel) in now.indexed_iter_mut() {
                let (x, y) = (x as i64, y as i64);
                let (left, right) = (on(x - dy, y + dx), on(x + dy, y - dx));
                let behind = on(x - dx, y - dy);
                let block = behind && (left && on(x - dx - dy, y - dy + dx) || right && on(x - dx + dy, y - dy - dx));
                let at_border = !(0..width as i64).contains(&(x + dx)) || !(0..height as i64).contains(&(y + dy));
                if on(x, y) && !at_border && !on(x + dx, y + dy) && block && in_one_piece(&on, x, y) {
                    *pixel = 0;
                }
            }
        }
        if now == before {
            break;
        }
    }
    let links = links(&now);
    let degree = degrees(&links);
    for [a, b] in &links {
        for ([x, y], other) in [([a.0, a.1], b), ([b.0, b.1], a)] {
            if degree[&(x, y)] == 1 && degree[other] > 2 {
                now[[y as usize, x as usize]] = 0;
            }
        }
    }
    now
}

/// Returns whether the edge pixels around (x, y), without itself, are 8-connected.
fn in_one_piece(on: &impl Fn(i64, i64) -> bool, x: i64, y: i64) -> bool {
    let mut left: Vec<(i64, i64)> = (-1..=1)
        .flat_map(|dy| (-1..=1).map(move |dx| (x + dx, y + dy)))
        .filter(|(nx, ny)| (*nx, *ny) != (x, y) && on(*nx, *ny))
        .collect();
    let mut todo: Vec<(i64, i64)> = left.pop().into_iter().collect();
    while let Some((x, y)) = todo.pop() {
        let (near, far) = left.iter().partition(|(nx, ny)| (nx - x).abs() <= 1 && (ny - y).abs() <= 1);
        left = far;
        let near: Vec<(i64, i64)> = near;
        todo.extend(near);
    }
    left.is_empty()
}

/// Returns the number of links of each pixel that has any.
fn degrees(links: &BTreeSet<[(u32, u32); 2]>) -> BTreeMap<(u32, u32), usize> {
    let mut degrees = BTreeMap::new();
    for pixel in links.iter().flatten() {
        *degrees.entry(*pixel).or_default() += 1;
    }
    degrees
}

/// Checks the segments of a map against the definition: every link of the thinned map is in one segment once, ends are at
/// pixels with other than two links, and everything comes in the canonical order.
pub(crate) fn check_chains(drawn: &Drawn, what: &str) {
    let edges = thinned(&drawn.edges.index_axis(Axis(0), 0).to_owned());
    let width = edges.dim().1 as u64;
    let links = links(&edges);
    let degrees = degrees(&links);
    let degree = |point: (u32, u32)| degrees.get(&point).copied().unwrap_or(0);
    let raster = |(x, y): (u32, u32)| u64::from(y) * width + u64::from(x);
    let mut found = BTreeSet::new();
    let mut covered = Array2::<u8>::zeros(edges.dim());
    let mut keys = vec![];
    for index in 0..drawn.segments.len() {
        let closed = drawn.segments.get(index).unwrap().closed;
        let points = points_of(&drawn.segments, index);
        let (first, last) = (points[0], points[points.len() - 1]);
        keys.push((raster(first), points.get(1).map(|second| raster(*second))));
        let mut steps: Vec<[(u32, u32); 2]> = points.windows(2).map(|pair| [pair[0], pair[1]]).collect();
        if closed {
            assert!(points.len() > 2 && raster(points[1]) < raster(last), "{what}: {points:?}");
            steps.push([last, first]);
        } else {
            assert!(points.len() == 1 || raster(first) < raster(last), "{what}: {points:?}");
            assert!(degree(first) != 2 && degree(last) != 2, "{what}: {points:?}");
        }
        // A loop begins at its junction, or at its first pixel in raster order.
        assert!(
            points[1..].iter().all(|point| !closed || degree(first) != 2 || raster(*point) > raster(first)),
            "{what}"
        );
        let inner = points.len().saturating_sub(usize::from(!closed)).max(1);
        assert!(points[1..inner].iter().all(|point| degree(*point) == 2), "{what}: {points:?}");
        for [a, b] in steps {
            let link = if raster(a) < raster(b) { [a, b] } else { [b, a] };
            assert!(links.contains(&link), "{what}: {link:?} is no link");
            assert!(found.insert(link), "{what}: {link:?} is there twice");
        }
        for (x, y) in points {
            covered[[y as usize, x as usize]] = 255;
        }
    }
    assert_eq!(found.len(), links.len(), "{what}: links are missing");
    assert_eq!(covered, edges, "{what}: the thinned map is not covered");
    assert!(keys.is_sorted(), "{what}: the order");
}

#[test]
fn segments_are_the_chains_of_the_thinned_map() {
    let small = picture(1, 83, 97);
    let photographs = ["camera", "horse", "cell"].map(|name| photograph(name).insert_axis(Axis(0)));
    everywhere(|context, name| {
        for input in photographs.iter().chain([&small]) {
            for (follow_turns, threshold) in [(false, 20.0), (true, 20.0), (false, 1.0)] {
                let params = Params { follow_turns, gradient_threshold: Some(threshold), ..all_of(Profile::Paper) };
                let drawn = draw(context, input.view(), &params);
                assert!(drawn.segments.len() > 10, "{name}");
                check_chains(&drawn, &format!("{name} {params:?}"));
            }
        }
    });
}

/// The pixels whose links may depend on which side of a wide line stays: up to 3 from a block of 2 × 2 edge pixels.
fn beside_wide_lines(edges: &Array2<u8>) -> Array2<bool> {
    const REACH: usize = 3;
    let mut beside = Array2::from_elem(edges.dim(), false);
    for (index, block) in edges.windows((2, 2)).into_iter().enumerate() {
        let (y, x) = (index / (edges.ncols() - 1), index % (edges.ncols() - 1));
        if block.iter().all(|edge| *edge > 0) {
            beside
                .slice_mut(s![
                    y.saturating_sub(REACH)..edges.nrows().min(y + REACH + 2),
                    x.saturating_sub(REACH)..edges.ncols().min(x + REACH + 2)
                ])
                .fill(true);
        }
    }
    beside
}

/// The segments of an image as sets of pixels, turned back if the image was turned, without those at wide lines.
fn away_from_wide_lines(
    context: &Context,
    input: ArrayView3<'_, u8>,
    params: &Params,
    back: impl Fn((u32, u32)) -> (u32, u32),
) -> BTreeSet<(bool, BTreeSet<(u32, u32)>)> {
    let drawn = draw(context, input, params);
    let beside = beside_wide_lines(&drawn.edges.index_axis(Axis(0), 0).to_owned());
    (0..drawn.segments.len())
        .map(|index| (drawn.segments.get(index).unwrap().closed, points_of(&drawn.segments, index)))
        .filter(|(_, points)| points.iter().all(|(x, y)| !beside[[*y as usize, *x as usize]]))
        .map(|(closed, points)| (closed, points.into_iter().map(&back).collect()))
        .collect()
}

#[test]
fn flips_change_segments_at_wide_lines_only() {
    // Thinning removes sides in an order, so a flip decides which of two lines side by side stays.
    let input = photograph("coins").insert_axis(Axis(0));
    let [height, width] = [input.dim().1, input.dim().2].map(|n| n as u32);
    everywhere(|context, name| {
        for follow_turns in [false, true] {
            let params = Params { follow_turns, ..all_of(Profile::Paper) };
            let straight = away_from_wide_lines(context, input.view(), &params, |point| point);
            assert!(straight.len() > 1000, "{name}: the premise, {}", straight.len());
            let upside_down = input.slice(s![.., ..;-1, ..]);
            let back = away_from_wide_lines(context, upside_down, &params, |(x, y)| (x, height - 1 - y));
            assert!(back == straight, "{name}, top to bottom");
            let mirrored = input.slice(s![.., .., ..;-1]);
            let back = away_from_wide_lines(context, mirrored, &params, |(x, y)| (width - 1 - x, y));
            assert!(back == straight, "{name}, left to right");
        }
    });
}
