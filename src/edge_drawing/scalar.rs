//! The paper profile as plain loops on one thread, slow and readable. This is its definition: the fast implementations on
//! the CPU and on CUDA are tested against it bit for bit.

use super::gradient::{Border, mirror};
use super::prepare::Plan;
use super::segments::{Chain, Point};
use super::taps::Taps;
use super::{Operator, Profile};
use crate::device::kernels::edge_drawing::MAX_ROUNDS;
use crate::error::Result;
use crate::levels::finite_f32;
use crate::memory::{collected, push, reserve, reserved};
use crate::progress::Ticker;

/// A working image of unsigned integers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grid<T> {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) values: Vec<T>,
}

impl<T: Copy + Default> Grid<T> {
    pub(super) fn from_fn(
        width: usize,
        height: usize,
        ticker: &Ticker,
        mut value: impl FnMut(usize, usize) -> T,
    ) -> Result<Self> {
        let mut values = Vec::new();
        reserve(&mut values, width * height)?;
        for y in 0..height {
            ticker.check()?;
            values.extend((0..width).map(|x| value(x, y)));
        }
        Ok(Self { width, height, values })
    }

    fn try_clone(&self) -> Result<Self> {
        Ok(Self { values: collected(self.values.iter().copied())?, ..*self })
    }

    pub(super) fn at(&self, x: usize, y: usize) -> T {
        self.values[y * self.width + x]
    }

    /// Returns the value at a pixel, or 0 outside the image.
    fn or_zero(&self, x: isize, y: isize) -> T {
        if self.holds(x, y) { self.at(x as usize, y as usize) } else { T::default() }
    }

    fn mirrored(&self, x: isize, y: isize) -> T {
        self.at(mirror(x, self.width), mirror(y, self.height))
    }

    fn holds(&self, x: isize, y: isize) -> bool {
        (0..self.width as isize).contains(&x) && (0..self.height as isize).contains(&y)
    }
}

/// The direction of an edge at a pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Direction {
    #[default]
    Horizontal,
    Vertical,
}

/// Smooths (step 1) with a Gaussian along both axes; the image is mirrored at the border, and only the final sum is
/// rounded.
pub(super) fn smooth(image: &Grid<u32>, taps: &Taps, ticker: &Ticker) -> Result<Grid<u32>> {
    let along_y = Grid::from_fn(image.width, image.height, ticker, |x, y| {
        taps.all().map(|(dy, tap)| u64::from(tap) * u64::from(image.mirrored(x as isize, y as isize + dy))).sum::<u64>()
    })?;
    Grid::from_fn(image.width, image.height, ticker, |x, y| {
        let sum: u64 = taps.all().map(|(dx, tap)| u64::from(tap) * along_y.mirrored(x as isize + dx, y as isize)).sum();
        ((sum + (1 << 15)) >> 16) as u32
    })
}

/// Computes |gx| + |gy| of the smoothed image, and the edge direction (step 2).
pub(super) fn gradient(
    smoothed: &Grid<u32>,
    operator: Operator,
    border: Border,
    threshold: u32,
    ticker: &Ticker,
) -> Result<(Grid<u32>, Grid<Direction>)> {
    let weights: [i64; 3] = match operator {
        Operator::Sobel => [1, 2, 1],
        Operator::Prewitt => [1, 1, 1],
        Operator::Scharr => [3, 10, 3],
    };
    let (width, height) = (smoothed.width, smoothed.height);
    let slopes = Grid::from_fn(width, height, ticker, |x, y| {
        let s = |dx: isize, dy: isize| i64::from(smoothed.mirrored(x as isize + dx, y as isize + dy));
        let (mut gx, mut gy) = (0, 0);
        for (k, weight) in (-1..).zip(weights) {
            gx += weight * (s(1, k) - s(-1, k));
            gy += weight * (s(k, 1) - s(k, -1));
        }
        (gx.unsigned_abs() as u32, gy.unsigned_abs() as u32)
    })?;
    let magnitude = Grid::from_fn(width, height, ticker, |x, y| {
        let outermost = x == 0 || y == 0 || x + 1 == width || y + 1 == height;
        match border {
            Border::BelowThreshold if outermost => threshold - 1,
            _ => slopes.at(x, y).0 + slopes.at(x, y).1,
        }
    })?;
    let direction = Grid::from_fn(width, height, ticker, |x, y| {
        let (gx, gy) = slopes.at(x, y);
        if gx >= gy { Direction::Vertical } else { Direction::Horizontal }
    })?;
    Ok((magnitude, direction))
}

/// Returns whether (x, y) is an anchor of the thresholded gradient (step 3, Table I).
fn is_anchor(gradient: &Grid<u32>, direction: &Grid<Direction>, plan: &Plan, x: usize, y: usize) -> bool {
    let here = gradient.at(x, y);
    let scanned = y.is_multiple_of(plan.scan) || x.is_multiple_of(plan.scan);
    let (dx, dy) = match direction.at(x, y) {
        Direction::Horizontal => (0, 1),
        Direction::Vertical => (1, 0),
    };
    let (x, y) = (x as isize, y as isize);
    let exceeds = |other: u32| i64::from(here) - i64::from(other) >= i64::from(plan.anchor);
    here > 0 && scanned && exceeds(gradient.or_zero(x - dx, y - dy)) && exceeds(gradient.or_zero(x + dx, y + dy))
}

/// The headings of a trace, each as a step: left, right, up, down.
const HEADINGS: [(isize, isize); 4] = [(-1, 0), (1, 0), (0, -1), (0, 1)];

/// Returns the headings in which a pixel of this direction is traced.
fn headings(direction: Direction) -> [usize; 2] {
    match direction {
        Direction::Horizontal => [0, 1],
        Direction::Vertical => [2, 3],
    }
}

impl Drawing {
    /// Returns the mean of |gx| + |gy| over some points; `unit` is the size of one unit of the working image in the image's
    /// own units.
    pub(super) fn mean_gradient(&self, points: &[Point], unit: f64) -> f32 {
        let sum: u64 = points.iter().map(|p| u64::from(self.gradient.at(p.x as usize, p.y as usize))).sum();
        finite_f32(sum as f64 / points.len() as f64 * unit)
    }
}

/// The number of steps between two polls for cancellation.
const STEPS_PER_CHECK: usize = 1 << 16;

/// The results of the four steps on a slice.
pub(super) struct Drawing {
    pub(super) smoothed: Grid<u32>,
    /// The gradient before thresholding.
    pub(super) gradient: Grid<u32>,
    pub(super) direction: Grid<Direction>,
    pub(super) anchors: Grid<bool>,
    pub(super) edges: Grid<bool>,
}

/// Computes the four steps on one slice. `shuffle` may reorder the anchors, which must not change the result.
pub(super) fn draw(
    image: &Grid<u32>,
    plan: &Plan,
    ticker: &Ticker,
    shuffle: impl FnOnce(&mut Vec<(usize, usize)>),
) -> Result<Drawing> {
    debug_assert_eq!(plan.profile, Profile::Paper);
    // Steps 1 to 3.
    let (width, height) = (image.width, image.height);
    let smoothed = smooth(image, &plan.taps, ticker)?;
    let (full, direction) = gradient(&smoothed, plan.operator, Border::Mirror, plan.threshold, ticker)?;
    let gradient =
        Grid::from_fn(width, height, ticker, |x, y| if full.at(x, y) >= plan.threshold { full.at(x, y) } else { 0 })?;
    let anchors = Grid::from_fn(width, height, ticker, |x, y| is_anchor(&gradient, &direction, plan, x, y))?;
    let mut starts = pixels(&anchors)?;
    shuffle(&mut starts);

    // Step 4, Table II: the traces that have not been followed yet, and a mark for every traced (pixel, heading).
    let mut traces: Vec<(usize, usize, usize)> = Vec::new();
    reserve(&mut traces, 2 * starts.len())?;
    for (x, y) in starts {
        traces.extend(headings(direction.at(x, y)).map(|heading| (x, y, heading)));
    }
    let mut marks = Grid::from_fn(width, height, ticker, |_, _| [false; 4])?;
    let mut steps = 0;
    while let Some((mut x, mut y, heading)) = traces.pop() {
        let (dx, dy) = HEADINGS[heading];
        while gradient.at(x, y) > 0 && headings(direction.at(x, y)).contains(&heading) && !marks.at(x, y)[heading] {
            marks.values[y * width + x][heading] = true;
            steps += 1;
            if steps % STEPS_PER_CHECK == 0 {
                ticker.check()?;
            }
            // The three neighbours ahead: to one side (up or left), straight, to the other.
            let ahead = [-1, 0, 1].map(|side| (x as isize + dx + side * dy.abs(), y as isize + dy + side * dx.abs()));
            let [minus, straight, plus] = ahead.map(|(x, y)| gradient.or_zero(x, y));
            let next = if minus > straight && minus > plus {
                ahead[0]
            } else if plus > straight && plus > minus {
                ahead[2]
            } else {
                ahead[1]
            };
            if !gradient.holds(next.0, next.1) {
                break;
            }
            (x, y) = (next.0 as usize, next.1 as usize);
        }
        // The trace arrived at an edge of the other direction.
        if plan.follow_turns && gradient.at(x, y) > 0 && !headings(direction.at(x, y)).contains(&heading) {
            reserve(&mut traces, 2)?;
            let turned = headings(direction.at(x, y)).map(|heading| (x, y, heading));
            traces.extend(turned.into_iter().filter(|(x, y, heading)| !marks.at(*x, *y)[*heading]));
        }
    }
    let edges = Grid::from_fn(width, height, ticker, |x, y| marks.at(x, y) != [false; 4])?;
    Ok(Drawing { smoothed, gradient: full, direction, anchors, edges })
}

/// Returns the pixels that are set, in raster order.
fn pixels(set: &Grid<bool>) -> Result<Vec<(usize, usize)>> {
    let mut list = Vec::new();
    reserve(&mut list, set.values.iter().filter(|set| **set).count())?;
    list.extend((0..set.height).flat_map(|y| (0..set.width).map(move |x| (x, y))).filter(|(x, y)| set.at(*x, *y)));
    Ok(list)
}

/// Returns the thinned copy of an edge map, from which segments are extracted: lines become one pixel wide, and spurs of
/// one pixel are removed. See docs/edge_drawing.md.
pub(super) fn thinned(edges: &Grid<bool>, ticker: &Ticker) -> Result<Grid<bool>> {
    let [width, height] = [edges.width, edges.height];
    let mut now = edges.try_clone()?;
    for _ in 0..MAX_ROUNDS {
        let before = now.try_clone()?;
        // The sides north, south, west and east, each as the number of quarter turns of the eight neighbours that brings it
        // to the top.
        for side in [0, 2, 3, 1] {
            now = Grid::from_fn(width, height, ticker, |x, y| {
                let at_border = match side {
                    0 => y == 0,
                    1 => x + 1 == width,
                    2 => y + 1 == height,
                    _ => x == 0,
                };
                now.at(x, y) && (at_border || !can_go(around(&now, x, y), side))
            })?;
        }
        if now == before {
            break;
        }
    }
    let links = |x: isize, y: isize| links(&now, (x, y));
    Grid::from_fn(width, height, ticker, |x, y| {
        let linked = links(x as isize, y as isize);
        let spur = linked.len() == 1 && links(linked[0].0, linked[0].1).len() > 2;
        now.at(x, y) && !spur
    })
}

/// Returns the eight neighbours of a pixel clockwise from the one above. Outside the image there are no edges.
fn around(edges: &Grid<bool>, x: usize, y: usize) -> [bool; 8] {
    const STEPS: [(isize, isize); 8] = [(0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1)];
    STEPS.map(|(dx, dy)| edges.or_zero(x as isize + dx, y as isize + dy))
}

/// Tells whether thinning from `side` removes a pixel with these neighbours: it has no edge neighbour on that side, it is
/// the corner of a block of 2 × 2 edge pixels on the opposite side, and its neighbours are connected without it.
fn can_go(around: [bool; 8], side: usize) -> bool {
    let neighbour = |k: usize| around[(2 * side + k) % 8];
    let block = neighbour(4) && (neighbour(5) && neighbour(6) || neighbour(3) && neighbour(2));
    // Going around the neighbours, each connected component begins after a side neighbour that is not an edge.
    let pieces = (0..4).filter(|k| !neighbour(2 * k) && (neighbour(2 * k + 1) || neighbour(2 * k + 2))).count();
    !neighbour(0) && block && pieces == 1
}

/// Returns the pixels that an edge pixel is linked to, in raster order: 4-neighbours, and diagonal ones without a common
/// 4-neighbour on the map (m-adjacency).
fn links(edges: &Grid<bool>, (x, y): (isize, isize)) -> Vec<(isize, isize)> {
    let mut linked = Vec::new();
    for dy in -1..=1 {
        for dx in -1..=1 {
            let diagonal = dx != 0 && dy != 0;
            let covered = diagonal && (edges.or_zero(x + dx, y) || edges.or_zero(x, y + dy));
            if (dx, dy) != (0, 0) && edges.or_zero(x + dx, y + dy) && !covered {
                linked.push((x + dx, y + dy));
            }
        }
    }
    linked
}

/// Returns the chains of a thinned edge map, in canonical order: see [`super::segments`].
pub(super) fn chains(edges: &Grid<bool>, ticker: &Ticker) -> Result<Vec<Chain>> {
    let width = edges.width as isize;
    let index = |(x, y): (isize, isize)| y * width + x;
    let links = |pixel| links(edges, pixel);
    let pixels = collected(pixels(edges)?.into_iter().map(|(x, y)| (x as isize, y as isize)))?;
    let mut found: Vec<(Vec<(isize, isize)>, bool)> = Vec::new();
    let mut seen = Grid::from_fn(edges.width, edges.height, ticker, |_, _| false)?;
    // 1. Follow every link of every node to the next node. Each chain is found from both ends; the one that begins at the
    //    end with the smaller raster index is kept. For a chain that returns to its own node, the direction with the
    //    smaller second point is kept.
    for &node in &pixels {
        ticker.check()?;
        let starts = links(node);
        if starts.len() == 2 {
            continue;
        }
        seen.values[index(node) as usize] = true;
        if starts.is_empty() {
            push(&mut found, (vec![node], false))?;
        }
        for start in starts {
            let mut chain = vec![node, start];
            loop {
                let [before, here] = [chain[chain.len() - 2], chain[chain.len() - 1]];
                let onward = links(here);
                if onward.len() != 2 {
                    break;
                }
                seen.values[index(here) as usize] = true;
                push(&mut chain, if onward[0] == before { onward[1] } else { onward[0] })?;
            }
            let last = chain[chain.len() - 1];
            if last == node {
                chain.pop();
                if index(start) < index(chain[chain.len() - 1]) {
                    push(&mut found, (chain, true))?;
                }
            } else if index(node) < index(last) {
                push(&mut found, (chain, false))?;
            }
        }
    }
    // 2. The remaining pixels are loops without a node.
    for &first in &pixels {
        if seen.values[index(first) as usize] {
            continue;
        }
        ticker.check()?;
        let mut chain = vec![first, links(first)[0]];
        loop {
            let [before, here] = [chain[chain.len() - 2], chain[chain.len() - 1]];
            seen.values[index(here) as usize] = true;
            let onward = links(here);
            let next = if onward[0] == before { onward[1] } else { onward[0] };
            if next == first {
                break;
            }
            push(&mut chain, next)?;
        }
        push(&mut found, (chain, true))?;
    }
    // 3. Sort the chains by their first point, then by their second.
    found.sort_unstable_by_key(|(chain, _)| (index(chain[0]), chain.get(1).map(|second| index(*second))));
    let point = |(x, y): (isize, isize)| Point { x: x as u32, y: y as u32 };
    let mut chains = reserved(found.len())?;
    for (chain, closed) in found {
        chains.push(Chain { points: collected(chain.into_iter().map(point))?, closed });
    }
    Ok(chains)
}
