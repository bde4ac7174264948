//! The backends: the image in host memory with the search on the CPU, or both on a GPU.

use super::image::{HostImage, LevelScale};
use super::polygon::Bounds;
use super::search::Target;
use super::{Node, Params, RegionSum, Schedule, cpu, cuda};
use crate::device::{Context, DeviceNeeds};
use crate::error::Result;
use crate::image::{Image, par_collected};
use crate::progress::Progress;
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
        mut unmeasured: Vec<Target>,
    ) -> Result<(Self, Vec<Target>)> {
        let on_host = !matches!(input, Image::Device(_));
        let needs = DeviceNeeds {
            device_bytes: cuda::min_device_bytes(params, input, &unmeasured),
            cpu_only: params.schedule == Schedule::Sequential && on_host,
            host_memory: on_host,
        };
        let measured = |mut backend: Self, targets: Vec<Target>| {
            let targets = backend.measure(context, params, targets)?;
            Ok((backend, targets))
        };
        context.run_on_device(
            needs,
            None,
            &mut unmeasured,
            |cuda, targets| {
                cuda::check_schedule(params)?;
                let solver = cuda::Solver::new(context, cuda, input, params, level_scale.quantise)?;
                measured(Self::Cuda(Box::new(solver)), targets.clone())
            },
            |targets| {
                let image = HostImage::new(context, input, params, level_scale)?;
                measured(Self::Cpu(image), std::mem::take(targets))
            },
        )
    }

    /// Returns the targets with the sums of their initial polygons. After an error the earlier targets can still be
    /// searched.
    pub(super) fn measure(&mut self, context: &Context, params: &Params, targets: Vec<Target>) -> Result<Vec<Target>> {
        match self {
            Self::Cpu(image) => cpu::measure(context, image, params, targets),
            Self::Cuda(_) if targets.is_empty() => Ok(targets),
            Self::Cuda(solver) => solver.measure(params, targets),
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

    /// Returns the sums over the pixels inside polygons, which lie within the image.
    pub(super) fn sums(&self, context: &Context, polygons: Vec<Vec<Node>>, bounds: &Bounds) -> Result<Vec<RegionSum>> {
        match self {
            Self::Cpu(image) => {
                context.pool().install(|| par_collected(polygons.par_iter().map(|nodes| image.sum(nodes))))
            }
            Self::Cuda(solver) => solver.sums(polygons, bounds),
        }
    }
}
