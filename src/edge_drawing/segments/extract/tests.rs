//! Drawings and the segments that a person would see in them; random maps against the plain loops.

use super::*;
use crate::edge_drawing::scalar::{self, Grid};
use crate::edge_drawing::segments::Chain;
use proptest::prelude::*;

fn ticker() -> Ticker {
    Ticker::new("test")
}

fn grid(width: usize, height: usize, on: impl FnMut(usize, usize) -> bool) -> Grid<bool> {
    Grid::from_fn(width, height, &ticker(), on).unwrap()
}

fn thinned(grid: &Grid<bool>) -> Grid<bool> {
    scalar::thinned(grid, &ticker()).unwrap()
}

fn chains(grid: &Grid<bool>) -> Vec<Chain> {
    scalar::chains(&thinned(grid), &ticker()).unwrap()
}

/// An edge map from lines of text; `#` is an edge.
fn drawn(lines: &[&str]) -> Grid<bool> {
    let width = lines[0].len();
    grid(width, lines.len(), |x, y| lines[y].as_bytes()[x] == b'#')
}

fn map_of(grid: &Grid<bool>) -> EdgeMap {
    EdgeMap::from_fn(grid.width, grid.height, |x, y| grid.at(x, y)).unwrap()
}

fn fast(grid: &Grid<bool>, min_length: usize, threads: usize) -> Segments {
    let map = map_of(grid);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let gradient = |p: Point| p.x + 3 * p.y;
        Segments::joined(extract(&map, 0, min_length, 0.5, &gradient, &ticker()).unwrap(), &ticker()).unwrap()
    })
}

fn as_chains(segments: &Segments) -> Vec<Chain> {
    segments.iter().map(|one| Chain { points: one.points.to_vec(), closed: one.closed }).collect()
}

/// The segments of a drawing, by both ways, as (x, y) lists and whether closed.
fn seen(lines: &[&str]) -> Vec<(Vec<(u32, u32)>, bool)> {
    let grid = drawn(lines);
    let chains = chains(&grid);
    assert_eq!(as_chains(&fast(&grid, 0, 1)), chains);
    chains.into_iter().map(|chain| (chain.points.iter().map(|p| (p.x, p.y)).collect(), chain.closed)).collect()
}

#[test]
fn nothing_an_isolated_pixel_and_a_line() {
    assert_eq!(seen(&["...", "..."]), []);
    assert_eq!(seen(&["...", ".#.", "..."]), [(vec![(1, 1)], false)]);
    assert_eq!(seen(&["#"]), [(vec![(0, 0)], false)]);
    assert_eq!(seen(&["#..", ".#.", ".#."]), [(vec![(0, 0), (1, 1), (1, 2)], false)]);
    assert_eq!(seen(&["####"]), [(vec![(0, 0), (1, 0), (2, 0), (3, 0)], false)]);
}

#[test]
fn a_ring_is_one_closed_chain_from_its_first_pixel() {
    let ring = seen(&[".##.", "#..#", "#..#", ".##."]);
    assert_eq!(ring, [(vec![(1, 0), (2, 0), (3, 1), (3, 2), (2, 3), (1, 3), (0, 2), (0, 1)], true)]);
}

#[test]
fn a_ring_around_a_hole_stays_a_ring() {
    // The smallest closed chain.
    let ring = seen(&[".....", "..#..", ".#.#.", "..#..", "....."]);
    assert_eq!(ring, [(vec![(2, 1), (1, 2), (2, 3), (3, 2)], true)]);
    // Filled, it becomes one short segment; wider than one pixel and with a hole, it is the path around the hole.
    assert_eq!(seen(&["......", ".####.", ".####.", ".####.", "......"]).len(), 1);
    let wide = seen(&[".......", ".#####.", ".#####.", ".##.##.", ".#####.", ".#####.", "......."]);
    assert!(wide.len() == 1 && wide[0].1, "{wide:?}");
}

#[test]
fn two_lines_side_by_side_are_one() {
    let line = |from: u32, to: u32, y: u32| (from..=to).map(|x| (x, y)).collect::<Vec<_>>();
    // From border to border, and with ends inside.
    assert_eq!(seen(&[".....", "#####", "#####", "....."]), [(line(0, 4, 2), false)]);
    assert_eq!(seen(&[".......", ".#####.", ".#####.", "......."]), [(line(1, 5, 2), false)]);
    assert_eq!(seen(&[".##.", ".##.", ".##.", ".##."]), [((0..4).map(|y| (2, y)).collect(), false)]);
    // Along the border they stay at it.
    assert_eq!(seen(&["#####", "#####", "....."]), [(line(0, 4, 0), false)]);
    assert_eq!(seen(&[".....", "#####", "#####"]), [(line(0, 4, 2), false)]);
    // Only a stretch is wide.
    assert_eq!(seen(&[".......", "..###..", "#######", "......."]), [(line(0, 6, 2), false)]);
}

#[test]
fn an_end_at_a_junction_does_not_cut_a_line() {
    assert_eq!(seen(&["..#..", "#####", "..#.."]), [((0..5).map(|x| (x, 1)).collect(), false)]);
    // Two pixels are a branch.
    assert_eq!(seen(&["..#..", "..#..", "#####"]).len(), 3);
}

#[test]
fn a_t_junction_splits_three_arms() {
    let arms = seen(&["#####", "..#..", "..#.."]);
    assert_eq!(
        arms,
        [
            (vec![(0, 0), (1, 0), (2, 0)], false),
            (vec![(2, 0), (3, 0), (4, 0)], false),
            (vec![(2, 0), (2, 1), (2, 2)], false),
        ]
    );
}

#[test]
fn loops_through_one_junction_list_it_once() {
    // An eight: two loops that meet in the middle pixel.
    let eight = seen(&[".#...", "#.#..", ".#...", "#.#..", ".#..."]);
    assert_eq!(eight, [(vec![(1, 2), (0, 1), (1, 0), (2, 1)], true), (vec![(1, 2), (0, 3), (1, 4), (2, 3)], true)]);
    // A loop with a tail.
    let tailed = seen(&[".#....", "#.####", ".#...."]);
    assert_eq!(tailed.len(), 2);
    assert_eq!(tailed[0], (vec![(2, 1), (1, 0), (0, 1), (1, 2)], true));
    assert_eq!(tailed[1], (vec![(2, 1), (3, 1), (4, 1), (5, 1)], false));
}

#[test]
fn adjacent_junctions_are_joined_by_a_chain_of_two() {
    assert_eq!(
        seen(&["#....#", ".#..#.", "..##..", ".#..#.", "#....#"]),
        [
            (vec![(0, 0), (1, 1), (2, 2)], false),
            (vec![(5, 0), (4, 1), (3, 2)], false),
            (vec![(2, 2), (3, 2)], false),
            (vec![(2, 2), (1, 3), (0, 4)], false),
            (vec![(3, 2), (4, 3), (5, 4)], false),
        ]
    );
}

#[test]
fn a_spiral_is_one_chain_from_end_to_end() {
    let spiral = seen(&["#######", "......#", "#####.#", "#...#.#", "#.###.#", "#.....#", "#######"]);
    assert_eq!(spiral.len(), 1);
    assert!(!spiral[0].1);
    assert_eq!((spiral[0].0[0], spiral[0].0.len()), ((0, 0), 31));
}

#[test]
fn short_ones_are_left_out_and_the_mean_is_over_all_points() {
    let grid = drawn(&["###.#", ".....", "#...#", ".#..."]);
    let kept = fast(&grid, 2, 2);
    assert_eq!(kept.len(), 2);
    assert_eq!(kept.offsets(), [0, 3, 5]);
    assert_eq!(kept.mean_gradients(), [0.5 * 1.0, 0.5 * (6.0 + 10.0) / 2.0]);
    assert_eq!(kept.get(1).unwrap().points, [Point { x: 0, y: 2 }, Point { x: 1, y: 3 }]);
}

/// Maps with edges of a random density, with long straight and wavy lines in some.
fn random_map() -> impl Strategy<Value = Grid<bool>> {
    let size = prop_oneof![
        Just((1, 1)),
        Just((1, 40)),
        Just((40, 1)),
        Just((2, 2)),
        Just((31, 33)),
        Just((64, 3)),
        Just((65, 200)),
        Just((1030, 7)),
        (1usize..140, 1usize..140)
    ];
    (size, any::<u64>(), 0u64..=10, 0usize..6).prop_map(|((width, height), seed, density, lines)| {
        let mut state = seed | 1;
        let mut random = move |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) % below
        };
        let mut grid = self::grid(width, height, |_, _| random(20) < density);
        for _ in 0..lines {
            let (mut x, mut y) = (random(width as u64) as usize, random(height as u64) as usize);
            for _ in 0..300 {
                grid.values[y * width + x] = true;
                x = (x + random(3) as usize).saturating_sub(1).min(width - 1);
                y = (y + random(3) as usize).saturating_sub(1).min(height - 1);
            }
        }
        grid
    })
}

proptest! {
    #[test]
    fn equals_the_plain_loops(grid in random_map(), min_length in 0usize..12, threads in 1usize..5) {
        let mut expected = chains(&grid);
        expected.retain(|chain| chain.points.len() >= min_length);
        let got = fast(&grid, min_length, threads);
        prop_assert_eq!(as_chains(&got), expected);
        for one in got.iter() {
            let sum: u64 = one.points.iter().map(|p| u64::from(p.x + 3 * p.y)).sum();
            prop_assert_eq!(one.mean_gradient, (sum as f64 / one.points.len() as f64 * 0.5) as f32);
        }
    }

    #[test]
    fn every_pixel_of_the_thinned_map_is_in_a_segment(grid in random_map()) {
        let map = map_of(&grid);
        let thinned = thinned(&grid);
        let mut left = thinned.clone();
        for one in fast(&grid, 0, 3).iter() {
            for p in one.points {
                prop_assert!(thinned.at(p.x as usize, p.y as usize));
                left.values[p.y as usize * grid.width + p.x as usize] = false;
            }
        }
        prop_assert!(left.values.iter().all(|on| !on));
        let ranks = super::super::super::edge_map::Ranks::new(&map).unwrap();
        let places = (0..grid.height).flat_map(|y| (0..grid.width).map(move |x| (x, y)));
        for (rank, (x, y)) in places.filter(|(x, y)| grid.at(*x, *y)).enumerate() {
            prop_assert_eq!(ranks.at(map.bit_index(x, y)), rank);
        }
    }
}
