//! The backends: the image in host memory with the search on the CPU, or both on a GPU.

use super::image::{HostImage, LevelScale};
use super::polygon::Bounds;
use super::search::Target;
use super::{Node, Params, RegionSum, Schedule, Watch, cpu, cuda};
use crate::device::{Context, DeviceNeeds};
use crate::error::Result;
use crate::image::{Image, collected, reserved, try_par_collected};
use crate::progress::{Progress, Ticker};
use crate::report::Report;
use rayon::prelude::*;

/// The image, on the device that runs the search.
#[derive(Debug)]
pub(super) enum Backend {
    Cpu(HostImage),
    Cuda(Box<cuda::Solver>),
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
            None,
            &mut (unmeasured, watch),
            |cuda, (targets, watch)| {
                cuda::check_schedule(params)?;
                let solver = cuda::Solver::new(context, cuda, input, params, level_scale.quantise)?;
                measured(Self::Cuda(Box::new(solver)), targets.clone(), watch)
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
            Self::Cpu(image) => cpu::measure(context, image, params, targets, watch),
            Self::Cuda(_) if targets.is_empty() => Ok(targets),
            Self::Cuda(solver) => {
                watch.ticker.report(watch.progress)?;
                solver.measure(params, targets)
            }
        }
    }

    /// Returns width and height.
    pub(super) fn size(&self) -> [usize; 2] {
        match self {
            Self::Cpu(image) => image.size(),
            Self::Cuda(solver) => solver.size(),
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
            Self::Cpu(image) => cpu::iterate(context, image, params, targets, iterations, progress),
            Self::Cuda(_) if targets.is_empty() => Ok(Report::new(context.device())),
            Self::Cuda(solver) => solver.iterate(context, targets, iterations, progress),
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
        /// The number of polygons that a GPU is given at once.
        const PART: usize = 1 << 16;
        match self {
            Self::Cpu(image) => {
                let sum = |nodes: &Vec<Node>| image.sum(nodes, ticker);
                context.pool().install(|| try_par_collected(polygons.par_iter().map(sum)))
            }
            Self::Cuda(solver) => {
                let mut sums = reserved(polygons.len())?;
                let mut left = polygons.into_iter();
                while left.len() > 0 {
                    ticker.check()?;
                    let part = collected(left.by_ref().take(PART))?;
                    sums.extend(solver.sums(part, bounds)?);
                }
                Ok(sums)
            }
        }
    }
}
