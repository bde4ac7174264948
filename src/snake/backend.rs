//! The backends: the image in host memory with the search on the CPU, or both on a GPU.

use super::image::{LevelScale, Levels};
use super::polygon::Bounds;
use super::search::Target;
use super::{Node, Params, Schedule, Sum, cpu, cuda};
use crate::device::{Context, DeviceKind};
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
        starts: Vec<Target>,
    ) -> Result<(Self, Vec<Target>)> {
        let on_host = !matches!(input, Image::Device(_));
        let cpus = params.schedule == Schedule::Sequential && context.is_automatic() && on_host;
        if cpus && context.device().kind == DeviceKind::Cuda {
            log::info!("computing on the CPU: the sequential schedule runs there only");
        }
        if !cpus && let Some(cuda) = context.cuda_for(cuda::min_device_bytes(params, input))? {
            cuda::check_schedule(params)?;
            let begun = cuda::Solver::new(context, cuda, input, params, level_scale.quantise).and_then(|solver| {
                let mut backend = Self::Cuda(Box::new(solver));
                let targets = backend.start(context, params, starts.clone())?;
                Ok((backend, targets))
            });
            match begun {
                Err(error) if context.may_fall_back(&error) && on_host => {
                    log::warn!("computing on the CPU: {error}");
                }
                begun => return begun,
            }
        }
        let mut backend = Self::Cpu(Levels::new(context, input, params, level_scale)?);
        let targets = backend.start(context, params, starts)?;
        Ok((backend, targets))
    }

    /// Returns the targets measured. After an error the earlier targets can still be searched.
    pub(super) fn start(&mut self, context: &Context, params: &Params, starts: Vec<Target>) -> Result<Vec<Target>> {
        match self {
            Self::Cpu(levels) => Ok(cpu::start(context, levels, params, starts)),
            Self::Cuda(_) if starts.is_empty() => Ok(starts),
            Self::Cuda(solver) => solver.start(params, starts),
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
