//! The backends: the search runs on the CPU with the image in host memory, on one GPU, or on several GPUs that share the
//! targets. Each target is searched separately, within its own territory if targets compete, so targets are independent of
//! each other.

use super::image::{HostImage, LevelScale};
use super::polygon::Bounds;
use super::search::Target;
use super::{MEASURING, MOVING, Node, Params, RegionSum, Schedule, Watch, cpu, cuda};
use crate::device::{Context, DeviceNeeds, Job, shares};
use crate::error::{Error, Result};
use crate::image::Image;
use crate::memory::{collected, extend, try_collected};
use crate::parallel::{take_first, try_par_indexed};
use crate::progress::{Progress, Ticker};
use crate::report::{Parts, Report};
use std::ops::Range;

/// The image, on the device that runs the search.
#[derive(Debug)]
pub(super) enum Backend {
    Cpu(HostImage),
    Cuda(Box<cuda::Solver>),
    /// Several GPUs: one backend for each of the context's first devices. Each has a copy of the image.
    Several(Vec<Backend>),
    /// The image is no longer kept: slices of this width and height were searched one after the other.
    Released([usize; 2]),
}

impl Backend {
    /// Copies the image to the device and measures the targets there. Under `auto` it falls back to the CPU.
    pub(super) fn new(
        context: &Context,
        input: &Image<'_>,
        params: &Params,
        level_scale: &LevelScale,
        unmeasured: Vec<Target>,
        watch: &mut Watch<'_, '_, '_>,
    ) -> Result<(Self, Vec<Target>)> {
        let on_host = !matches!(input, Image::Device(_));
        if on_host && context.deals_out(unmeasured.len()) {
            let jobs = dealt_out(context.devices().len(), unmeasured)?;
            let found = context.run_shares(MEASURING, jobs, watch.progress, |part, targets, progress| {
                let mut watch = Watch { ticker: &Ticker::new(MEASURING), progress };
                Self::new(part, input, params, level_scale, targets, &mut watch)
            })?;
            let (mut backends, mut targets) = (Vec::new(), Vec::new());
            for (_, (backend, own)) in found {
                backends.push(backend);
                extend(&mut targets, own)?;
            }
            return Ok((Self::Several(backends), targets));
        }
        let needs = DeviceNeeds {
            device_bytes: cuda::min_device_bytes(params, input, &unmeasured),
            cpu_only: params.schedule == Schedule::Sequential && on_host,
            host_memory: on_host,
        };
        let measured = |mut backend: Self, targets: Vec<Target>, watch: &mut Watch<'_, '_, '_>| {
            let targets = backend.measure(context, params, targets, watch)?;
            Ok((backend, targets))
        };
        context.run_on_device(
            needs,
            false,
            &mut (unmeasured, watch),
            |cuda, (targets, watch)| {
                cuda::check_schedule(params)?;
                let solver = cuda::Solver::new(context, cuda, input, params, level_scale.quantise)?;
                // Keep the targets, because the CPU needs them if the GPU fails.
                let copies = try_collected(targets.iter().map(Target::try_clone))?;
                measured(Self::Cuda(Box::new(solver)), copies, watch)
            },
            |(targets, watch)| {
                let image = HostImage::new(context, input, params, level_scale, watch)?;
                measured(Self::Cpu(image), std::mem::take(targets), watch)
            },
        )
    }

    /// Returns the targets with the sums of their initial polygons. After an error the earlier targets can still be
    /// searched.
    pub(super) fn measure(
        &mut self,
        context: &Context,
        params: &Params,
        targets: Vec<Target>,
        watch: &mut Watch<'_, '_, '_>,
    ) -> Result<Vec<Target>> {
        match self {
            Self::Released(_) => Err(released()),
            Self::Cpu(image) => cpu::measure(context, image, params, targets, watch),
            Self::Cuda(_) | Self::Several(_) if targets.is_empty() => Ok(targets),
            Self::Several(backends) => {
                // If one device fails, all must continue with their earlier targets.
                let before: Vec<_> = backends.iter_mut().map(Self::take_search).collect();
                let measured = dealt_out(backends.len(), targets).and_then(|jobs| {
                    let jobs = jobs.into_iter().zip(backends.iter_mut());
                    let jobs = jobs.map(|((range, targets), backend)| (range, (backend, targets))).collect();
                    context.run_shares(MEASURING, jobs, watch.progress, |part, (backend, targets), progress| {
                        let mut watch = Watch { ticker: &Ticker::new(MEASURING), progress };
                        backend.measure(part, params, targets, &mut watch)
                    })
                });
                let joined = measured.and_then(|parts| {
                    let mut targets = Vec::new();
                    parts.into_iter().try_for_each(|(_, own)| extend(&mut targets, own))?;
                    Ok(targets)
                });
                if joined.is_err() {
                    backends.iter_mut().zip(before).for_each(|(backend, search)| backend.set_search(search));
                }
                joined
            }
            Self::Cuda(solver) => solver.measure(params, targets, watch),
        }
    }

    /// Refuses an image that was not kept.
    pub(super) fn check_kept(&self) -> Result<()> {
        match self {
            Self::Released(_) => Err(released()),
            _ => Ok(()),
        }
    }

    /// Returns width and height.
    pub(super) fn size(&self) -> [usize; 2] {
        match self {
            Self::Cpu(image) => image.size(),
            Self::Cuda(solver) => solver.size(),
            Self::Several(backends) => backends[0].size(),
            Self::Released(size) => *size,
        }
    }

    /// Takes the targets from the device, if they are on one.
    fn take_search(&mut self) -> Option<cuda::Search> {
        match self {
            Self::Cuda(solver) => solver.search.take(),
            _ => None,
        }
    }

    /// Undoes [`take_search`](Self::take_search).
    fn set_search(&mut self, search: Option<cuda::Search>) {
        if let Self::Cuda(solver) = self {
            solver.search = search;
        }
    }

    /// Makes up to `iterations` iterations of each running target.
    pub(super) fn iterate(
        &mut self,
        context: &Context,
        params: &Params,
        targets: &mut [Target],
        iterations: u64,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<Report> {
        match self {
            // All targets have ended.
            Self::Released(_) => Ok(Report::new(context.device())),
            Self::Cpu(image) => cpu::iterate(context, image, params, targets, iterations, progress),
            Self::Cuda(_) | Self::Several(_) if targets.is_empty() => Ok(Report::new(context.device())),
            Self::Cuda(solver) => solver.iterate(context, targets, iterations, progress),
            Self::Several(backends) => {
                let (mut jobs, mut rest) = (Vec::new(), targets);
                for (range, backend) in shares(backends.len(), rest.len()).into_iter().zip(backends) {
                    let own = take_first(&mut rest, range.len());
                    jobs.push((range, (backend, own)));
                }
                let reports = context.run_shares(MOVING, jobs, progress, |part, (backend, targets), progress| {
                    backend.iterate(part, params, targets, iterations, progress)
                })?;
                Report::joined(reports, Parts::SideBySide)
            }
        }
    }

    /// Returns the sums over the pixels inside polygons, which lie within the image, unless the ticker is cancelled.
    pub(super) fn sums(
        &self,
        context: &Context,
        polygons: Vec<Vec<Node>>,
        bounds: &Bounds,
        ticker: &Ticker,
    ) -> Result<Vec<RegionSum>> {
        match self {
            Self::Cpu(image) => {
                let sum = |index: usize| image.sum(&polygons[index], ticker);
                context.pool().install(|| try_par_indexed(polygons.len(), sum))
            }
            Self::Several(backends) => backends[0].sums(context, polygons, bounds, ticker),
            Self::Released(_) => Err(released()),
            Self::Cuda(solver) => solver.sums(polygons, bounds, ticker),
        }
    }
}

fn released() -> Error {
    Error::unsupported(
        "cannot use the pixels of this snake again: it ran on several slices, or on slices that a function read, and keeps \
         none; make a snake of one slice in memory",
    )
}

/// Divides the targets among some devices, each of which gets a range of them.
fn dealt_out(devices: usize, targets: Vec<Target>) -> Result<Vec<Job<Vec<Target>>>> {
    let ranges = shares(devices, targets.len());
    let mut left = targets.into_iter();
    let job = |range: Range<usize>| {
        let own = collected(left.by_ref().take(range.len()))?;
        Ok((range, own))
    };
    ranges.into_iter().map(job).collect()
}
