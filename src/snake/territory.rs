//! The territories of targets that compete for pixels: a pixel belongs to the target with the nearest start; at equal
//! distances, to the target with the smallest number. A pixel within several starts has the distance 0 to each of them.
//!
//! Distances are Euclidean between the centres of pixels, and their squares are integers, so that territories are exact.
//! They are computed in two passes, like an exact distance transform (Meijster, Roerdink and Hesselink 2000): along the
//! columns, then along the rows by the lower envelope of parabolas, one for each column. Both passes also propagate the
//! number of the nearest start. The host computes territories for all devices.

use super::draw::draw_into;
use super::polygon::{Bounds, Node};
use super::search::Target;
use super::{Result, Status};
use crate::memory::{collected, par_collected, push, reserved, sort_while, zeroed};
use crate::parallel::try_par_indexed;
use crate::progress::Ticker;
use ndarray::ArrayViewMut2;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// A run of pixels of a row, from `[0]` up to but not including `[1]`.
pub(super) type Run = [i32; 2];

/// The pixels of a window that may belong to a target, as runs.
#[derive(Debug, PartialEq)]
pub(super) struct Territory {
    /// The first row.
    pub(super) y0: i32,
    /// For each row the index of its first run, and the number of all runs at the end.
    pub(super) first: Vec<u32>,
    /// The runs, row after row, from left to right; no two of a row touch.
    pub(super) runs: Vec<Run>,
}

impl Territory {
    /// Returns the runs of row `y`; none outside the window.
    pub(super) fn row(&self, y: i64) -> &[Run] {
        let index = y - i64::from(self.y0);
        if index < 0 || index + 1 >= self.first.len() as i64 {
            return &[];
        }
        &self.runs[self.first[index as usize] as usize..self.first[index as usize + 1] as usize]
    }

    /// Tells whether a pixel corner belongs to a pixel of the territory.
    pub(super) fn has_corner(&self, node: Node) -> bool {
        let y = i64::from(node.y);
        [y - 1, y].iter().any(|y| self.row(*y).iter().any(|[from, to]| (*from..=*to).contains(&node.x)))
    }

    /// Returns whether a pixel belongs to the territory.
    pub(super) fn contains(&self, x: i32, y: i32) -> bool {
        self.row(i64::from(y)).iter().any(|[from, to]| (*from..*to).contains(&x))
    }
}

impl Target {
    /// Calls `visit` with each part of a run of row `y` that may belong to the target.
    pub(super) fn for_each_own_run(&self, y: i64, run: Range<i64>, mut visit: impl FnMut(Range<i64>)) {
        let Some(territory) = &self.territory else { return visit(run) };
        for [from, to] in territory.row(y) {
            let part = run.start.max(i64::from(*from))..run.end.min(i64::from(*to));
            if !part.is_empty() {
                visit(part);
            }
        }
    }

    /// Tells whether a node may lie at a corner: it must be in the window and, if targets compete, in the territory.
    pub(super) fn allows(&self, node: Node) -> bool {
        self.bounds.contain(node) && self.territory.as_ref().is_none_or(|territory| territory.has_corner(node))
    }

    /// Tells whether a node lies on the border to the territory of another target.
    pub(super) fn is_limited(&self) -> bool {
        let Some(territory) = &self.territory else { return false };
        let Bounds { x0, y0, x1, y1 } = self.bounds;
        let lost = |x, y| (x0..x1).contains(&x) && (y0..y1).contains(&y) && !territory.contains(x, y);
        let beside = |Node { x, y }| lost(x - 1, y - 1) || lost(x, y - 1) || lost(x - 1, y) || lost(x, y);
        self.status != Status::StartOutside && self.nodes.iter().any(|node| beside(*node))
    }
}

/// Sets the territory of each target with other targets in its window, on the threads of the current pool, unless the
/// ticker is cancelled.
pub(super) fn divide(targets: &mut [Target], ticker: &Ticker) -> Result<()> {
    for members in clusters(targets, ticker)? {
        let inside: Vec<&Target> = collected(members.iter().map(|index| &targets[*index]))?;
        let nearest = Nearest::new(&inside, ticker)?;
        let territory = |member: usize| nearest.territory(member, &inside[member].bounds, ticker);
        let territories = try_par_indexed(inside.len(), territory)?;
        // A failed allocation of an `Arc` would end the process. So allocate, and free again, as much memory as all of them
        // need, which returns an error instead.
        let room = reserved::<[usize; 16]>(members.len())?;
        drop(std::hint::black_box(room));
        for (index, territory) in members.into_iter().zip(territories) {
            targets[index].territory = Some(Arc::new(territory));
        }
    }
    Ok(())
}

/// Returns the groups of running targets whose windows overlap, directly or via other targets, each in the order of the
/// targets. A target that overlaps no other is in no group.
fn clusters(targets: &[Target], ticker: &Ticker) -> Result<Vec<Vec<usize>>> {
    let mut order: Vec<usize> = reserved(targets.len())?;
    order.extend((0..targets.len()).filter(|index| targets[*index].status == Status::Running));
    let windows = || order.iter().map(|index| targets[*index].bounds);
    if windows().zip(windows().skip(1)).all(|(a, b)| a == b) {
        // All windows are equal, as with the whole image for a background, so there is one group.
        return Ok(if order.len() > 1 { vec![order] } else { Vec::new() });
    }
    // A union-find forest: each target points to another one of its group, and the last one of the chain represents the
    // group.
    let mut group: Vec<usize> = collected(0..targets.len())?;
    fn last(group: &mut [usize], mut index: usize) -> usize {
        while group[index] != index {
            group[index] = group[group[index]];
            index = group[index];
        }
        index
    }
    for_each_overlap(
        &mut order,
        |index| targets[index].bounds,
        ticker,
        |one, other| {
            let [a, b] = [last(&mut group, one), last(&mut group, other)];
            group[a.max(b)] = a.min(b);
        },
    )?;
    sort_while(&mut order, ticker, usize::cmp)?;
    let mut members: Vec<Vec<usize>> = collected(targets.iter().map(|_| Vec::new()))?;
    for index in order {
        push(&mut members[last(&mut group, index)], index)?;
    }
    members.retain(|members| members.len() > 1);
    Ok(members)
}

/// Calls `visit` for every two of the rectangles with these indices that share pixels. Changes the order of the indices.
pub(super) fn for_each_overlap(
    indices: &mut Vec<usize>,
    rectangle: impl Fn(usize) -> Bounds,
    ticker: &Ticker,
    mut visit: impl FnMut(usize, usize),
) -> Result<()> {
    let key = |index: usize| (rectangle(index).x0, index);
    sort_while(indices, ticker, |a, b| key(*a).cmp(&key(*b)))?;
    for (place, index) in indices.iter().enumerate() {
        ticker.check()?;
        let own = rectangle(*index);
        for other in &indices[place + 1..] {
            let theirs = rectangle(*other);
            if theirs.x0 >= own.x1 {
                break;
            }
            if theirs.y0 < own.y1 && own.y0 < theirs.y1 {
                visit(*index, *other);
            }
        }
    }
    Ok(())
}

/// A run of pixels with the number of its nearest start.
#[derive(Clone, Debug, PartialEq)]
struct OwnedRun {
    x: Range<i32>,
    owner: u32,
}

/// The number of the nearest start of each pixel of some rows, counted from 1.
struct Nearest {
    y0: i32,
    rows: Vec<Vec<OwnedRun>>,
}

/// The least number of rows that are computed together.
const BAND_ROWS: i32 = 512;

impl Nearest {
    /// Computes the rows in bands, which bounds the memory. The result is correct for all pixels that lie in a window: the
    /// nearest start is no farther away than the window's diagonal, so starts farther away than the largest diagonal cannot
    /// affect a band.
    fn new(targets: &[&Target], ticker: &Ticker) -> Result<Self> {
        let windows = targets.iter().map(|target| target.bounds);
        let Some(all) = windows.clone().reduce(|a, b| a.around(&b)) else {
            return Ok(Self { y0: 0, rows: Vec::new() });
        };
        let square = |side: i32| f64::from(side) * f64::from(side);
        let diagonal = |window: Bounds| (square(window.x1 - window.x0) + square(window.y1 - window.y0)).sqrt();
        let reach = windows.map(diagonal).fold(0.0, f64::max).ceil() as i32;
        let rows_per_band = BAND_ROWS.max(4 * reach) as usize;
        let width = (all.x1 - all.x0) as usize;
        let mut rows = reserved((all.y1 - all.y0) as usize)?;
        for first in (all.y0..all.y1).step_by(rows_per_band) {
            let end = all.y1.min(first.saturating_add(rows_per_band as i32));
            let (from, to) = (all.y0.max(first - reach), all.y1.min(end.saturating_add(reach)));
            let height = (to - from) as usize;
            let mut owners = zeroed::<u32>(width * height)?;
            let view = ArrayViewMut2::from_shape((height, width), &mut owners).expect("as many pixels as there are");
            draw_into(targets, view, Node::new(all.x0, from), ticker, |index| index as u32 + 1)?;
            let distances = along_columns(&mut owners, width, ticker)?;
            let wanted = (first - from) as usize * width..(end - from) as usize * width;
            let parts = owners[wanted.clone()].par_chunks(width).zip(distances[wanted].par_chunks(width));
            for row in par_collected(parts.map(|(owners, distances)| along_row(owners, distances, all.x0, ticker)))? {
                rows.push(row?);
            }
        }
        Ok(Self { y0: all.y0, rows })
    }

    /// Returns the territory of a target in its window.
    fn territory(&self, member: usize, window: &Bounds, ticker: &Ticker) -> Result<Territory> {
        let mut first_runs = reserved((window.y1 - window.y0) as usize + 1)?;
        first_runs.push(0);
        let mut territory = Territory { y0: window.y0, first: first_runs, runs: Vec::new() };
        for y in window.y0..window.y1 {
            ticker.check()?;
            let row = &self.rows[(y - self.y0) as usize];
            let first = row.partition_point(|run| run.x.end <= window.x0);
            let within = row[first..].iter().take_while(|run| run.x.start < window.x1);
            let own = within.filter(|run| run.owner == member as u32 + 1);
            for run in own {
                push(&mut territory.runs, [run.x.start.max(window.x0), run.x.end.min(window.x1)])?;
            }
            territory.first.push(territory.runs.len() as u32);
        }
        Ok(territory)
    }
}

/// The distance in a column without a start.
const NONE: u32 = u32::MAX;

/// The number of columns that a thread processes together.
const COLUMNS: usize = 64;

/// Replaces the number of each pixel by the number of the nearest start in its column, or 0 if there is none, and returns
/// the distances to it.
fn along_columns(owners: &mut [u32], width: usize, ticker: &Ticker) -> Result<Vec<u32>> {
    let mut distances = zeroed::<u32>(owners.len())?;
    let height = owners.len() / width;
    let mut strips: Vec<Vec<[&mut [u32]; 2]>> = reserved(width.div_ceil(COLUMNS))?;
    for _ in 0..width.div_ceil(COLUMNS) {
        strips.push(reserved(height)?);
    }
    for (owners, distances) in owners.chunks_mut(width).zip(distances.chunks_mut(width)) {
        let parts = owners.chunks_mut(COLUMNS).zip(distances.chunks_mut(COLUMNS));
        for ((owners, distances), strip) in parts.zip(&mut strips) {
            strip.push([owners, distances]);
        }
    }
    strips.par_iter_mut().for_each(|rows| {
        // 1. Downwards: find the start at the pixel, or the nearest one above it.
        let mut above = [(NONE, 0); COLUMNS];
        for [owners, distances] in rows.iter_mut() {
            if ticker.is_cancelled() {
                return;
            }
            for ((owner, distance), above) in owners.iter_mut().zip(distances.iter_mut()).zip(&mut above) {
                *above = if *owner > 0 { (0, *owner) } else { (above.0.saturating_add(1), above.1) };
                (*distance, *owner) = *above;
            }
        }
        // 2. Upwards: take the nearest start below the pixel if it is nearer, or as near and has a smaller number.
        let mut below = [(NONE, 0); COLUMNS];
        for [owners, distances] in rows.iter_mut().rev() {
            if ticker.is_cancelled() {
                return;
            }
            for ((owner, distance), below) in owners.iter_mut().zip(distances.iter_mut()).zip(&mut below) {
                *below = (*distance, *owner).min((below.0.saturating_add(1), below.1));
                (*distance, *owner) = *below;
            }
        }
    });
    ticker.check()?;
    Ok(distances)
}

/// A parabola of the lower envelope of a row.
struct Parabola {
    /// The column that it stands on.
    column: i64,
    /// The square of the distance there.
    height: i64,
    owner: u32,
    /// The first pixel at which it is the lowest.
    first: i64,
}

/// Returns the runs of pixels that have the same nearest start, in a row that begins at `x0`.
fn along_row(owners: &[u32], distances: &[u32], x0: i32, ticker: &Ticker) -> Result<Vec<OwnedRun>> {
    ticker.check()?;
    let width = owners.len() as i64;
    let mut envelope: Vec<Parabola> = Vec::new();
    for (column, (owner, distance)) in (0..).zip(owners.iter().zip(distances)).filter(|(_, (owner, _))| **owner > 0) {
        let height = i64::from(*distance) * i64::from(*distance);
        let mut first = 0;
        while let Some(last) = envelope.last() {
            // 1. Find the last pixel x where the last parabola wins, because it is lower, or as low with a smaller number:
            //    2x(c − c') ≤ c² + h − c'² − h', with < instead of ≤ if its number is larger.
            let right = column * column + height - last.column * last.column - last.height;
            first = (right - i64::from(last.owner > *owner)).div_euclid(2 * (column - last.column)) + 1;
            if first > last.first {
                break;
            }
            // 2. It is the lowest nowhere.
            envelope.pop();
            first = 0;
        }
        if first < width {
            push(&mut envelope, Parabola { column, height, owner: *owner, first })?;
        }
    }
    let mut runs: Vec<OwnedRun> = Vec::new();
    for (index, parabola) in envelope.iter().enumerate() {
        let end = envelope.get(index + 1).map_or(width, |next| next.first) as i32 + x0;
        match runs.last_mut() {
            Some(last) if last.owner == parabola.owner => last.x.end = end,
            _ => push(&mut runs, OwnedRun { x: parabola.first as i32 + x0..end, owner: parabola.owner })?,
        }
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::super::polygon::random;
    use super::*;

    fn target(nodes: &[(i32, i32)], bounds: Bounds) -> Target {
        Target::unmeasured(nodes.iter().map(|&(x, y)| Node::new(x, y)).collect(), bounds, 1, i64::MAX)
    }

    /// Returns whether a convex polygon, clockwise on the screen, contains a pixel's centre.
    fn covers(target: &Target, x: i32, y: i32) -> bool {
        target.ends().all(|(a, b)| {
            let (px, py) = (2 * x + 1 - 2 * a.x, 2 * y + 1 - 2 * a.y);
            let side = (b.x - a.x) * py - (b.y - a.y) * px;
            // A centre on an edge belongs to the polygon on its right.
            side > 0 || side == 0 && b.y < a.y
        })
    }

    #[test]
    fn each_pixel_belongs_to_the_nearest_start() {
        let mut random = random(5);
        for _ in 0..60 {
            let (w, h) = (1 + random(70), 1 + random(60));
            let image = Bounds { x0: 0, y0: 0, x1: w, y1: h };
            // Rectangles and diamonds that may overlap, in windows of their own.
            let mut targets: Vec<Target> = (0..2 + random(7))
                .map(|_| {
                    let (x, y, r, s) = (random(w), random(h), 1 + random(9), 1 + random(9));
                    let (x1, y1) = ((x + r).min(w), (y + s).min(h));
                    let m = random(2) * random(40);
                    let window = if m == 0 {
                        image
                    } else {
                        Bounds { x0: (x - m).max(0), y0: (y - m).max(0), x1: (x1 + m).min(w), y1: (y1 + m).min(h) }
                    };
                    target(&[(x, y), (x1, y), (x1, y1), (x, y1)], window)
                })
                .collect();
            divide(&mut targets, &Ticker::new("test")).unwrap();
            let pixels = || (0..h).flat_map(|y| (0..w).map(move |x| (x, y)));
            let distance = |target: &Target, x: i32, y: i32| {
                pixels().filter(|(u, v)| covers(target, *u, *v)).map(|(u, v)| (u - x).pow(2) + (v - y).pow(2)).min()
            };
            let inside = |window: &Bounds, x, y| window.x0 <= x && x < window.x1 && window.y0 <= y && y < window.y1;
            for (x, y) in pixels().filter(|(x, y)| (x * 7 + y * 3) % 5 == 0) {
                for (index, target) in targets.iter().enumerate().filter(|(_, target)| inside(&target.bounds, x, y)) {
                    let Some(territory) = &target.territory else {
                        assert!(
                            targets.iter().enumerate().all(|(i, other)| i == index || !inside(&other.bounds, x, y))
                        );
                        continue;
                    };
                    let mine = territory.contains(x, y);
                    // Starts that share a window with this pixel, directly or not, are in the same cluster.
                    let nearest = (0..targets.len())
                        .filter(|other| targets[*other].territory.is_some())
                        .min_by_key(|other| (distance(&targets[*other], x, y), *other));
                    let owner = nearest == Some(index);
                    assert!(mine == owner || targets.iter().any(|other| other.territory.is_none()), "{x} {y} {index}");
                    let corners = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)];
                    assert!(!mine || corners.iter().all(|(x, y)| territory.has_corner(Node::new(*x, *y))));
                }
            }
        }
    }

    #[test]
    fn bands_do_not_change_the_territories() {
        // The windows' diagonals are small, so that there are several bands; starts lie across their borders.
        let image = Bounds { x0: 0, y0: 0, x1: 40, y1: 3 * BAND_ROWS };
        let mut targets: Vec<Target> = (0..60)
            .map(|i| {
                let (x, y) = (i % 2 * 11 + 6, i * (3 * BAND_ROWS - 20) / 60);
                let window = Bounds { x0: 0, y0: (y - 30).max(0), x1: 40, y1: (y + 50).min(image.y1) };
                target(&[(x, y), (x + 9, y), (x + 9, y + 14), (x, y + 14)], window)
            })
            .collect();
        divide(&mut targets, &Ticker::new("test")).unwrap();
        let banded: Vec<_> = targets.iter().map(|target| target.territory.clone().unwrap()).collect();
        let windows: Vec<Bounds> = targets.iter().map(|target| target.bounds).collect();
        // Windows as large as the image make one band.
        targets.iter_mut().for_each(|target| target.bounds = image);
        divide(&mut targets, &Ticker::new("test")).unwrap();
        for ((target, window), banded) in targets.iter().zip(windows).zip(banded) {
            let whole = target.territory.as_ref().unwrap();
            for y in window.y0..window.y1 {
                for x in window.x0..window.x1 {
                    assert_eq!(whole.contains(x, y), banded.contains(x, y), "{x} {y}");
                }
            }
        }
    }
}
