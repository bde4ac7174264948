//! The CPU backend: one thread per target, or all threads for a few targets.

use super::image::HostImage;
use super::search::{Plan, Target};
use super::{MOVING, Params, Status, Watch};
use crate::device::Context;
use crate::error::Result;
use crate::progress::{self, Progress, Ticker};
use crate::report::Report;
use rayon::prelude::*;

/// Tells whether several threads share the work of a target, which requires at least two threads for each running target. A
/// thread that waits for others may begin another target on top of its stack, so sharing the work of more targets would
/// need more stack.
fn threads_share_targets(context: &Context, targets: &[Target]) -> bool {
    let threads = context.pool().current_num_threads();
    // Count no more targets than there are threads, because more make no difference.
    let running = targets.iter().filter(|target| target.status == Status::Running).take(threads).count();
    2 * running <= threads
}

/// Computes the sums of the targets' initial polygons.
pub(super) fn measure(
    context: &Context,
    image: &HostImage,
    params: &Params,
    targets: &mut [Target],
    watch: &mut Watch<'_, '_, '_>,
) -> Result<()> {
    let parallel = threads_share_targets(context, targets);
    watch.run(context, |ticker| {
        let running = targets.par_iter_mut().filter(|target| target.status == Status::Running);
        running.try_for_each(|target| image.measure(&Plan { parallel, ..params.plan(&target.bounds) }, target, ticker))
    })
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
