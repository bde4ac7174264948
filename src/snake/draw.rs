//! The pixels of targets: draws masks and label images, and finds targets that overlap.

use super::search::Target;
use super::stack::by_slice;
use super::sums::Rows;
use super::territory::for_each_overlap;
use super::{Bounds, Node, Status};
use crate::device::Context;
use crate::error::{Error, Result};
use crate::image::{ImageMut, on_host};
use crate::memory::{collected, par_collected, push, reserved, try_collected};
use crate::parallel::try_par_each;
use crate::progress::{self, Progress, Ticker};
use crate::slice_io::Output;
use ndarray::{ArrayViewMut2, Axis, s};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// The number of rows that are cleared and drawn together, few enough to stay in the second-level cache.
const DRAWN_ROWS: usize = 32;

/// The most targets whose bounding rectangles are compared; for more, drawing them takes less time.
const MOST_COMPARED: usize = 4096;

/// The number of targets for which one thread takes less time than waking another.
const FEW: usize = 1024;

/// Draws the pixels of every target with its value, on its slice, over a background of 0. Where targets overlap, the first
/// one wins. Uses the threads of the context.
pub(super) fn draw(
    context: &Context,
    (targets, slices): (&[Target], &[u32]),
    output: Output<'_>,
    progress: &mut Option<&mut Progress<'_>>,
    value: impl Fn(usize) -> u32 + Sync,
) -> Result<()> {
    // Lock the context, because a function that takes slices must not use it.
    let _lock = output.is_streamed().then(|| context.lock()).transpose()?;
    let ticker = &Ticker::at_the_end("drawing the polygons");
    let order = by_slice(slices, ticker)?;
    context.make_each_slice(output, ticker, progress, |slice, image, progress| {
        let [first, end] = [slice, slice + 1].map(|z| order.partition_point(|index| (slices[*index] as usize) < z));
        let members = &order[first..end];
        let targets: Vec<&Target> = collected(members.iter().map(|index| &targets[*index]))?;
        let value = |member: usize| value(members[member]);
        progress::run(context.pool(), progress, ticker, || {
            on_host!(
                ImageMut,
                image,
                view => draw_into(&targets, view.index_axis_move(Axis(0), 0), ORIGIN, ticker, |i| value(i) as _),
                Err(Error::unsupported("targets are drawn into host memory only; give host memory"))
            )
        })
    })
}

/// The upper left corner of the image.
const ORIGIN: Node = Node { x: 0, y: 0 };

/// Does the same in a part of the image that begins at `origin` and contains all columns of the targets, on the threads of
/// the current pool, unless the ticker is cancelled.
pub(super) fn draw_into<P: Copy + Default + Send + Sync>(
    targets: &[&Target],
    mut view: ArrayViewMut2<'_, P>,
    origin: Node,
    ticker: &Ticker,
    value: impl Fn(usize) -> P + Sync,
) -> Result<()> {
    let extents = extents(targets, ticker)?;
    try_par_each(view.axis_chunks_iter_mut(Axis(0), DRAWN_ROWS), ticker, |band, mut pixels| {
        pixels.fill(P::default());
        let first = i64::from(origin.y) + (band * DRAWN_ROWS) as i64;
        // The first targets are drawn last, on top of the others.
        for_each_run(targets, &extents, first..first + pixels.nrows() as i64, ticker, |index, y, run| {
            targets[index].for_each_own_run(y, run, |Range { start, end }| {
                let [start, end] = [start, end].map(|x| x - i64::from(origin.x));
                pixels.slice_mut(s![(y - first) as usize, start as usize..end as usize]).fill(value(index));
            });
            Ok(())
        })
    })
}

/// Returns for each target true if its polygon shares a pixel with the polygon of another target, or reaches the border to
/// another target's territory. Uses the threads of the current pool.
pub(super) fn overlapping(targets: &[&Target], ticker: &Ticker) -> Result<Vec<bool>> {
    let limited = targets.par_iter().with_min_len(FEW).map(|target| AtomicBool::new(target.is_limited()));
    let found = par_collected(limited)?;
    let mark = |index: usize| found[index].store(true, Ordering::Relaxed);
    let mut extents = extents(targets, ticker)?;
    if targets.len() <= MOST_COMPARED {
        // Look only at targets that have a territory, or whose bounding rectangle overlaps another one.
        let mut near: Vec<bool> = collected(targets.iter().map(|target| target.territory.is_some()))?;
        let rectangles: Vec<Bounds> = collected(targets.iter().map(|target| Bounds::of_nodes(&target.nodes)))?;
        let mut indices: Vec<usize> = reserved(targets.len())?;
        indices.extend((0..targets.len()).filter(|index| !extents[*index].is_empty()));
        let mut mark = |one: usize, other: usize| (near[one], near[other]) = (true, true);
        for_each_overlap(&mut indices, |index| rectangles[index], ticker, &mut mark)?;
        extents.iter_mut().zip(near).filter(|(_, near)| !near).for_each(|(extent, _)| *extent = 0..0);
    }
    let rows = extents.iter().filter(|rows| !rows.is_empty()).cloned();
    let all = rows.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0);
    let rows = if targets.len() < 2 { 0 } else { (all.end - all.start) as usize };
    (0..rows).into_par_iter().step_by(DRAWN_ROWS).try_for_each(|row| {
        let first = all.start + row as i64;
        let mut runs: [Vec<(Range<i64>, usize)>; DRAWN_ROWS] = Default::default();
        let rows = first..all.end.min(first + DRAWN_ROWS as i64);
        for_each_run(targets, &extents, rows, ticker, |index, y, run| {
            let mut own = 0;
            targets[index].for_each_own_run(y, run.clone(), |part| own += part.end - part.start);
            if own < run.end - run.start {
                mark(index);
            }
            push(&mut runs[(y - first) as usize], (run, index))
        })?;
        for runs in &mut runs {
            ticker.check()?;
            runs.sort_unstable_by_key(|(run, index)| (run.start, *index));
            // The run before this one that ends last, and its target.
            let mut last: Option<(i64, usize)> = None;
            for (run, index) in runs {
                if let Some((end, other)) = last
                    && run.start < end
                {
                    mark(*index);
                    mark(other);
                }
                if last.is_none_or(|(end, _)| run.end > end) {
                    last = Some((run.end, *index));
                }
            }
        }
        Ok(())
    })?;
    collected(found.into_iter().map(AtomicBool::into_inner))
}

/// Returns the range of rows of each target, which is empty for a target outside the image.
fn extents(targets: &[&Target], ticker: &Ticker) -> Result<Vec<Range<i64>>> {
    try_collected(targets.iter().map(|target| {
        ticker.check()?;
        Ok(match target.status {
            Status::StartOutside => 0..0,
            _ => rows_of(target.nodes.iter().copied()),
        })
    }))
}

/// Calls `visit` for every run of pixels of a target's polygon in some rows, with the number of the target, the row and the
/// run. There may be at most [`DRAWN_ROWS`] rows. The last target comes first.
fn for_each_run(
    targets: &[&Target],
    extents: &[Range<i64>],
    rows: Range<i64>,
    ticker: &Ticker,
    mut visit: impl FnMut(usize, i64, Range<i64>) -> Result<()>,
) -> Result<()> {
    let passes = |extent: &Range<i64>| extent.start < rows.end && rows.start < extent.end;
    ticker.check()?;
    let mut crossings: [Vec<i64>; DRAWN_ROWS] = Default::default();
    for (index, target) in targets.iter().enumerate().rev().filter(|(index, _)| passes(&extents[*index])) {
        ticker.check()?;
        for (a, b) in target.ends().filter(|(a, b)| passes(&rows_of([*a, *b]))) {
            for (x, y) in Rows::between(a, b).within(&rows) {
                push(&mut crossings[(y - rows.start) as usize], x)?;
            }
        }
        // From left to right, the crossings of a row alternate between entering and leaving the polygon.
        for (y, crossings) in rows.clone().zip(&mut crossings) {
            crossings.sort_unstable();
            for ends in crossings.chunks_exact(2).filter(|ends| ends[0] < ends[1]) {
                visit(index, y, ends[0]..ends[1])?;
            }
            crossings.clear();
        }
    }
    Ok(())
}

/// Returns the rows from the topmost to the lowest node.
fn rows_of(nodes: impl IntoIterator<Item = Node>) -> Range<i64> {
    let ends = nodes.into_iter().fold([i32::MAX, i32::MIN], |[top, end], node| [top.min(node.y), end.max(node.y)]);
    i64::from(ends[0])..i64::from(ends[1])
}
