//! The CPU backend: one thread per target, or all threads for a few targets.

use super::image::HostImage;
use super::polygon::{Bounds, normalise};
use super::search::{Plan, Target};
use super::sums::Rows;
use super::{Background, Node, Params, Polygons, RegionSum, Status};
use crate::device::Context;
use crate::error::{Error, Result};
use crate::image::{ImageMut, reserved};
use crate::progress::{self, Progress, Ticker};
use crate::report::Report;
use ndarray::{ArrayViewMut3, Axis, s};
use rayon::prelude::*;
use std::ops::Range;

/// Returns whether there are at least two threads for each running target, so that they share its work. A thread that
/// waits for others may begin another target, within the stack of the first, so that more targets would need more
/// stack.
fn threads_share_targets(context: &Context, targets: &[Target]) -> bool {
    let running = targets.iter().filter(|target| target.status == Status::Running).count();
    2 * running <= context.pool().current_num_threads()
}

/// Returns the targets with the sums of their initial polygons.
pub(super) fn measure(context: &Context, image: &HostImage, params: &Params, targets: Vec<Target>) -> Vec<Target> {
    let parallel = threads_share_targets(context, &targets);
    context.pool().install(|| {
        targets
            .into_par_iter()
            .map(|target| match target.status {
                Status::Running => {
                    let plan = Plan { parallel, ..params.plan(&target.bounds) };
                    image.measured(&plan, target.nodes, target.bounds)
                }
                _ => target,
            })
            .collect()
    })
}

/// Returns the targets of the polygons, unmeasured.
pub(super) fn initial_targets(
    context: &Context,
    params: &Params,
    initial: &Polygons,
    image: &Bounds,
) -> Result<Vec<Target>> {
    for (index, polygon) in initial.iter().enumerate() {
        if polygon.len() > params.max_nodes as usize {
            return Err(Error::argument(format!(
                "polygon {index} has {} nodes, but max_nodes is {}; raise it or leave out nodes",
                polygon.len(),
                params.max_nodes
            )));
        }
    }
    // Running out of memory must be an error, but the lists of nodes, allocated one by one, would abort the program. So
    // as much memory as they take at the start is reserved once, and freed.
    let bytes = initial.len() * (2 * size_of::<Target>() + 64)
        + initial.nodes().len() * 2 * (size_of::<Node>() + size_of::<RegionSum>());
    drop(std::hint::black_box(reserved::<u8>(bytes)?));
    let polygons: Vec<(usize, &[Node])> = initial.iter().enumerate().collect();
    context.pool().install(|| {
        polygons
            .par_iter()
            .map(|(index, polygon)| {
                Ok(match normalise(polygon, image, *index)? {
                    Some(nodes) => {
                        let bounds = bounds_of(&nodes, params, image);
                        Target::unmeasured(nodes, bounds, params.largest_step as i32)
                    }
                    None => Target::start_outside(polygon.to_vec(), *image),
                })
            })
            .collect()
    })
}

/// Returns the bounds of a target's nodes: the window, or the image.
fn bounds_of(nodes: &[Node], params: &Params, image: &Bounds) -> Bounds {
    let Background::Window { margin } = params.background else { return *image };
    let extent = |of: fn(&Node) -> i32| {
        let values = nodes.iter().map(of);
        (values.clone().min().unwrap_or(0), values.max().unwrap_or(0))
    };
    let ((x0, x1), (y0, y1)) = (extent(|node| node.x), extent(|node| node.y));
    let longer = f64::from((x1 - x0).max(y1 - y0));
    let margin = (margin * longer).ceil().clamp(16.0, f64::from(i32::MAX / 4)) as i32;
    Bounds {
        x0: (x0 - margin).max(image.x0),
        y0: (y0 - margin).max(image.y0),
        x1: (x1 + margin).min(image.x1),
        y1: (y1 + margin).min(image.y1),
    }
}

/// Makes up to `iterations` iterations of every running target.
pub(super) fn iterate(
    context: &Context,
    image: &HostImage,
    params: &Params,
    targets: &mut [Target],
    iterations: u64,
    progress: &mut Option<&mut Progress<'_>>,
) -> Result<Report> {
    let started = std::time::Instant::now();
    let ticker = Ticker::new("moving the polygons");
    ticker.expect(targets.len() as u64);
    let parallel = threads_share_targets(context, targets);
    progress::run(context.pool(), progress, &ticker, || {
        targets.par_iter_mut().try_for_each(|target| {
            let plan = Plan { parallel, ..params.plan(&target.bounds) };
            for _ in 0..iterations {
                ticker.check()?;
                if target.status != Status::Running {
                    break;
                }
                image.iterate(&plan, target, &ticker)?;
            }
            ticker.add(1);
            Ok(())
        })
    })?;
    Ok(Report::on_cpu(context, started, 0))
}

/// Draws the pixels inside every target with its value, over a background of 0. Where targets overlap, the first one is
/// drawn. The threads are those of the context.
pub(super) fn draw(
    context: &Context,
    targets: &[Target],
    mut output: ImageMut<'_>,
    value: impl Fn(usize) -> u32 + Sync,
) -> Result<()> {
    output.use_huge_pages();
    context.pool().install(|| match output {
        ImageMut::U8(view) => draw_into(targets, view, |index| value(index) as u8),
        ImageMut::U16(view) => draw_into(targets, view, |index| value(index) as u16),
        ImageMut::F32(view) => draw_into(targets, view, |index| value(index) as f32),
        ImageMut::Device(_) => Err(Error::unsupported("targets are drawn into host memory only; give host memory")),
    })
}

/// The number of rows that are cleared and drawn together: few enough to stay in the second-level cache meanwhile.
const DRAWN_ROWS: usize = 32;

/// Does the same in an image of one type, on the threads of the current pool.
fn draw_into<P: Copy + Default + Send + Sync>(
    targets: &[Target],
    mut view: ArrayViewMut3<'_, P>,
    value: impl Fn(usize) -> P + Sync,
) -> Result<()> {
    let mut extents = reserved::<Range<i64>>(targets.len())?;
    extents.extend(targets.iter().map(|target| match target.status {
        Status::StartOutside => 0..0,
        _ => rows_of(target.nodes.iter().copied()),
    }));
    let mut slice = view.index_axis_mut(Axis(0), 0);
    slice.axis_chunks_iter_mut(Axis(0), DRAWN_ROWS).into_par_iter().enumerate().for_each(|(band, mut pixels)| {
        pixels.fill(P::default());
        let first = (band * DRAWN_ROWS) as i64;
        let rows = first..first + pixels.nrows() as i64;
        let passes = |extent: &Range<i64>| extent.start < rows.end && rows.start < extent.end;
        let mut crossings: [Vec<usize>; DRAWN_ROWS] = Default::default();
        // The first targets are drawn last, over the others.
        for (index, target) in targets.iter().enumerate().rev().filter(|(index, _)| passes(&extents[*index])) {
            for (a, b) in target.ends().filter(|(a, b)| passes(&rows_of([*a, *b]))) {
                for (x, y) in Rows::between(a, b).within(&rows) {
                    crossings[(y - first) as usize].push(x as usize);
                }
            }
            // From left to right, the crossings of a row alternate between entering and leaving the polygon.
            for (mut row, crossings) in pixels.rows_mut().into_iter().zip(&mut crossings) {
                crossings.sort_unstable();
                for ends in crossings.chunks_exact(2) {
                    row.slice_mut(s![ends[0]..ends[1]]).fill(value(index));
                }
                crossings.clear();
            }
        }
    });
    Ok(())
}

/// Returns the rows from the upmost to the lowest of some nodes.
fn rows_of(nodes: impl IntoIterator<Item = Node>) -> Range<i64> {
    let ends = nodes.into_iter().fold([i32::MAX, i32::MIN], |[top, end], node| [top.min(node.y), end.max(node.y)]);
    i64::from(ends[0])..i64::from(ends[1])
}
