//! The CPU backend: one thread per target, or all threads for a few targets.

use super::image::HostImage;
use super::polygon::{Bounds, normalise};
use super::search::{Plan, Target};
use super::{Background, MOVING, Node, Params, Polygons, Status, Watch};
use crate::device::Context;
use crate::error::{Error, Result};
use crate::image::{collected, try_par_collected, try_par_indexed};
use crate::progress::{self, Progress, Ticker};
use crate::report::Report;
use rayon::prelude::*;

/// Returns whether there are at least two threads for each running target, so that they share its work. A thread that
/// waits for others may begin another target, within the stack of the first, so that more targets would need more
/// stack.
fn threads_share_targets(context: &Context, targets: &[Target]) -> bool {
    let threads = context.pool().current_num_threads();
    // No more are counted than make a difference.
    let running = targets.iter().filter(|target| target.status == Status::Running).take(threads).count();
    2 * running <= threads
}

/// Returns the targets with the sums of their initial polygons.
pub(super) fn measure(
    context: &Context,
    image: &HostImage,
    params: &Params,
    targets: Vec<Target>,
    watch: &mut Watch<'_, '_, '_>,
) -> Result<Vec<Target>> {
    let parallel = threads_share_targets(context, &targets);
    watch.run(context, |ticker| {
        let measure = |target: Target| match target.status {
            Status::Running => image.measured(&Plan { parallel, ..params.plan(&target.bounds) }, target, ticker),
            _ => Ok(target),
        };
        try_par_collected(targets.into_par_iter().map(measure))
    })
}

/// Returns the targets of the polygons, unmeasured.
pub(super) fn initial_targets(
    context: &Context,
    params: &Params,
    initial: &Polygons,
    image: &Bounds,
    watch: &mut Watch<'_, '_, '_>,
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
    let start = |index: usize, ticker: &Ticker| {
        ticker.check()?;
        let polygon = initial.get(index).unwrap_or_default();
        Ok(match normalise(polygon, image, index)? {
            Some(nodes) => {
                let bounds = bounds_of(&nodes, params, image);
                let spacing_squared = params.spacing_squared(&nodes);
                Target::unmeasured(nodes, bounds, params.largest_step as i32, spacing_squared)
            }
            None => Target::start_outside(collected(polygon.iter().copied())?, *image),
        })
    };
    watch.run(context, |ticker| try_par_indexed(initial.len(), |index| start(index, ticker)))
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
    let ticker = Ticker::new(MOVING);
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
