//! The backends: the image in host memory with the search on the CPU, or both on a GPU.

use super::image::{LevelScale, Levels};
use super::polygon::Bounds;
use super::search::Target;
use super::{Node, Params, Schedule, Sum, cpu, cuda};
use crate::device::{Context, DeviceNeeds};
use crate::error::Result;
use crate::image::Image;
use crate::progress::Progress;
use crate::report::Report;

/// The image, on the device that runs the search.
#[derive(Debug)]
pub(super) enum Backend {
    Cpu(Levels),
    Cuda(Box<cuda::Solver>),
}

impl Backend {
    /// Brings the image to the device and measures the targets at their starts. Under `auto` it falls back to the CPU.
    pub(super) fn new(
        context: &Context,
        input: &Image<'_>,
        params: &Params,
        level_scale: &LevelScale,
        mut starts: Vec<Target>,
    ) -> Result<(Self, Vec<Target>)> {
        let on_host = !matches!(input, Image::Device(_));
        let needs = DeviceNeeds {
            device_bytes: cuda::min_device_bytes(params, input, starts.len()),
            cpu_only: params.schedule == Schedule::Sequential && on_host,
            host_memory: on_host,
        };
        let begin = |mut backend: Self, starts: Vec<Target>| {
            let targets = backend.measure(context, params, starts)?;
            Ok((backend, targets))
        };
        context.run_on_device(
            needs,
            &mut starts,
            |cuda, starts| {
                cuda::check_schedule(params)?;
                let solver = cuda::Solver::new(context, cuda, input, params, level_scale.quantise)?;
                begin(Self::Cuda(Box::new(solver)), starts.clone())
            },
            |starts| begin(Self::Cpu(Levels::new(context, input, params, level_scale)?), std::mem::take(starts)),
        )
    }

    /// Returns the targets measured. After an error the earlier targets can still be searched.
    pub(super) fn measure(&mut self, context: &Context, params: &Params, starts: Vec<Target>) -> Result<Vec<Target>> {
        match self {
            Self::Cpu(levels) => Ok(cpu::measure(context, levels, params, starts)),
            Self::Cuda(_) if starts.is_empty() => Ok(starts),
            Self::Cuda(solver) => solver.measure(params, starts),
        }
    }

    /// Returns width and height.
    pub(super) fn size(&self) -> [usize; 2] {
        match self {
            Self::Cpu(levels) => levels.size(),
            Self::Cuda(solver) => solver.size(),
        }
    }

    /// Makes up to `iterations` steps of each running target.
    pub(super) fn step(
        &mut self,
        context: &Context,
        params: &Params,
        targets: &mut [Target],
        iterations: u64,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<Report> {
        match self {
            Self::Cpu(levels) => cpu::step(context, levels, params, targets, iterations, progress),
            Self::Cuda(_) if targets.is_empty() => Ok(Report::new(context.device())),
            Self::Cuda(solver) => solver.step(context, targets, iterations, progress),
        }
    }

    /// Returns the sums over polygons that lie within the image.
    pub(super) fn sums(&self, polygons: Vec<Vec<Node>>, image: &Bounds) -> Result<Vec<Sum>> {
        match self {
            Self::Cpu(levels) => Ok(polygons.iter().map(|nodes| levels.sum(nodes)).collect()),
            Self::Cuda(solver) => solver.sums(polygons, image),
        }
    }
}
