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
use crate::memory::{collected, extend};
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
        mut targets: Vec<Target>,
        watch: &mut Watch<'_, '_, '_>,
    ) -> Result<(Self, Vec<Target>)> {
        let on_host = !matches!(input, Image::Device(_));
        if on_host && context.deals_out(targets.len()) {
            let jobs = dealt_out(context.devices().len(), targets)?;
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
            device_bytes: cuda::min_device_bytes(params, input, &targets),
            cpu_only: params.schedule == Schedule::Sequential && on_host,
            host_memory: on_host,
        };
        let backend = context.run_on_device(
            needs,
            false,
            &mut (&mut targets, watch),
            |cuda, (targets, watch)| {
                cuda::check_schedule(params)?;
                let solver = cuda::Solver::new(context, cuda, input, params, level_scale.quantise)?;
                let mut backend = Self::Cuda(Box::new(solver));
                backend.measure(context, params, targets, watch)?;
                Ok(backend)
            },
            |(targets, watch)| {
                let mut backend = Self::Cpu(HostImage::new(context, input, params, level_scale, watch)?);
                backend.measure(context, params, targets, watch)?;
                Ok(backend)
            },
        )?;
        Ok((backend, targets))
    }

    /// Computes the sums of the targets' initial polygons. After an error the earlier targets can still be searched.
    pub(super) fn measure(
        &mut self,
        context: &Context,
        params: &Params,
        targets: &mut [Target],
        watch: &mut Watch<'_, '_, '_>,
    ) -> Result<()> {
        match self {
            Self::Released(_) => Err(released()),
            Self::Cpu(image) => cpu::measure(context, image, params, targets, watch),
            Self::Cuda(_) | Self::Several(_) if targets.is_empty() => Ok(()),
            Self::Several(backends) => {
                // If one device fails, all must continue with their earlier targets.
                let before: Vec<_> = backends.iter_mut().map(Self::take_search).collect();
                let jobs = jobs_of(backends, targets);
                let measured =
                    context.run_shares(MEASURING, jobs, watch.progress, |part, (backend, targets), progress| {
                        let mut watch = Watch { ticker: &Ticker::new(MEASURING), progress };
                        backend.measure(part, params, targets, &mut watch)
                    });
                if measured.is_err() {
                    backends.iter_mut().zip(before).for_each(|(backend, search)| backend.set_search(search));
                }
                measured.map(|_| ())
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
                let jobs = jobs_of(backends, targets);
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

/// Gives each backend its targets.
fn jobs_of<'a>(
    backends: &'a mut [Backend],
    mut targets: &'a mut [Target],
) -> Vec<Job<(&'a mut Backend, &'a mut [Target])>> {
    let shares = shares(backends.len(), targets.len());
    let jobs = shares.into_iter().zip(backends);
    jobs.map(|(range, backend)| (range.clone(), (backend, take_first(&mut targets, range.len())))).collect()
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
