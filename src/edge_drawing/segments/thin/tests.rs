//! Wide lines and areas, against the plain loops and by what thinning must keep.

use super::*;
use crate::edge_drawing::scalar::{self, Grid};
use proptest::prelude::*;

fn ticker() -> Ticker {
    Ticker::new("test")
}

fn grid(width: usize, height: usize, on: impl FnMut(usize, usize) -> bool) -> Grid<bool> {
    Grid::from_fn(width, height, &ticker(), on).unwrap()
}

fn fast(grid: &Grid<bool>, threads: usize) -> Grid<bool> {
    let map = EdgeMap::from_fn(grid.width, grid.height, |x, y| grid.at(x, y)).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let thinned = pool.install(|| thin(&map, &ticker())).unwrap();
    let on = |x: usize, y: usize| thinned.row(y)[x / WORD] >> (x % WORD) & 1 == 1;
    // Around the image there are zeros, too.
    let beyond: u32 = thinned.words().iter().map(|word| word.count_ones()).sum();
    let inside = self::grid(grid.width, grid.height, on);
    assert_eq!(beyond as usize, count(&inside), "bits outside the image");
    inside
}

fn count(grid: &Grid<bool>) -> usize {
    grid.values.iter().filter(|on| **on).count()
}

/// Returns the number of connected components of the pixels of one value: 8-connected for edges, 4-connected for the ground
/// between them and around the image.
fn pieces(grid: &Grid<bool>, value: bool) -> usize {
    let (width, height) = (grid.width as isize + 2, grid.height as isize + 2);
    let at = |x: isize, y: isize| {
        let inside = (1..width - 1).contains(&x) && (1..height - 1).contains(&y);
        inside && grid.at(x as usize - 1, y as usize - 1)
    };
    let mut seen = vec![false; (width * height) as usize];
    let mut count = 0;
    for start in 0..width * height {
        if seen[start as usize] || at(start % width, start / width) != value {
            continue;
        }
        count += 1;
        seen[start as usize] = true;
        let mut todo = vec![(start % width, start / width)];
        while let Some((x, y)) = todo.pop() {
            for (dx, dy) in (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy))) {
                let (nx, ny) = (x + dx, y + dy);
                let joined = value || dx == 0 || dy == 0;
                if joined && (0..width).contains(&nx) && (0..height).contains(&ny) && at(nx, ny) == value {
                    let index = (ny * width + nx) as usize;
                    if !std::mem::replace(&mut seen[index], true) {
                        todo.push((nx, ny));
                    }
                }
            }
        }
    }
    count
}

#[test]
fn lines_of_every_width_up_to_twice_the_rounds_become_one_pixel_wide() {
    for width in 1..=2 * MAX_ROUNDS {
        for upright in [false, true] {
            let on = |along: usize, across: usize| (20..20 + width).contains(&across) && along < 150;
            let line = grid(150, 150, |x, y| if upright { on(y, x) } else { on(x, y) });
            let thinned = fast(&line, 2);
            assert_eq!(count(&thinned), 150, "width {width}, upright {upright}");
            let crosses = (0..150).all(|k| (0..150).any(|i| if upright { thinned.at(i, k) } else { thinned.at(k, i) }));
            assert!(crosses, "width {width}, upright {upright}: it reaches from border to border");
        }
    }
}

#[test]
fn an_area_that_is_too_wide_for_a_line_keeps_its_inside() {
    let side = 2 * MAX_ROUNDS + 9;
    let area = grid(side + 20, side + 20, |x, y| (10..10 + side).contains(&x) && (10..10 + side).contains(&y));
    let thinned = fast(&area, 2);
    assert_eq!(count(&thinned), 9 * 9);
    // The whole image is open to no side.
    let all = grid(100, 70, |_, _| true);
    assert_eq!(fast(&all, 2), all);
}

#[test]
fn thin_lines_without_spurs_stay() {
    // Rings within rings, and a diagonal with a corner at every pixel.
    let rings = grid(90, 90, |x, y| x.min(y).min(89 - x).min(89 - y).is_multiple_of(3));
    assert_eq!(fast(&rings, 1), rings);
    let stairs = grid(200, 200, |x, y| x == y || x == y + 1);
    assert_eq!(fast(&stairs, 1), stairs);
}

/// Maps with filled rectangles, random walks of several widths, and noise.
fn wide_map() -> impl Strategy<Value = Grid<bool>> {
    let size = prop_oneof![
        Just((1, 1)),
        Just((1, 70)),
        Just((70, 1)),
        Just((2, 2)),
        Just((64, 64)),
        Just((63, 33)),
        Just((130, 97)),
        (1usize..150, 1usize..150)
    ];
    (size, any::<u64>(), 0u64..12, 0usize..5, 0usize..5).prop_map(|((width, height), seed, density, areas, lines)| {
        let mut state = seed | 1;
        let mut random = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as usize % below
        };
        let mut grid = self::grid(width, height, |_, _| (random(40) as u64) < density);
        let mut fill = |x: usize, y: usize, wide: usize, high: usize| {
            for row in y..height.min(y + high) {
                for column in x..width.min(x + wide) {
                    grid.values[row * width + column] = true;
                }
            }
        };
        for _ in 0..areas {
            fill(random(width), random(height), random(90), random(50));
        }
        for _ in 0..lines {
            let (mut x, mut y, wide) = (random(width), random(height), 1 + random(6));
            for _ in 0..200 {
                fill(x, y, wide, wide);
                x = (x + random(3)).saturating_sub(1).min(width - 1);
                y = (y + random(3)).saturating_sub(1).min(height - 1);
            }
        }
        grid
    })
}

proptest! {
    #[test]
    fn equals_the_plain_loops(grid in wide_map(), threads in 1usize..5) {
        prop_assert_eq!(fast(&grid, threads), scalar::thinned(&grid, &ticker()).unwrap());
    }

    #[test]
    fn nothing_is_joined_split_or_filled(grid in wide_map()) {
        let thinned = fast(&grid, 2);
        prop_assert!(thinned.values.iter().zip(&grid.values).all(|(thinned, edge)| *edge || !thinned));
        prop_assert_eq!(pieces(&thinned, true), pieces(&grid, true));
        prop_assert_eq!(pieces(&thinned, false), pieces(&grid, false));
    }
}
