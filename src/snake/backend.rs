//! Where the image is and the targets are searched: in main memory or on a GPU.

use super::image::{Levels, Meaning};
use super::polygon::Bounds;
use super::search::Target;
use super::{Node, Params, Schedule, Sum, cuda, on_cpu};
use crate::device::{Context, DeviceKind};
use crate::error::Result;
use crate::image::Image;
use crate::progress::Progress;
use crate::report::Report;

/// Where the image is and the search runs.
#[derive(Debug)]
pub(super) enum Place {
    Cpu(Levels),
    Cuda(Box<cuda::Solver>),
}

impl Place {
    /// The image where it is searched, with the targets at their starts.
    pub(super) fn new(
        context: &Context,
        input: &Image<'_>,
        params: &Params,
        meaning: &Meaning,
        starts: Vec<Target>,
    ) -> Result<(Self, Vec<Target>)> {
        let on_host = !matches!(input, Image::Device(_));
        let cpus = params.schedule == Schedule::Sequential && context.is_automatic() && on_host;
        if cpus && context.device().kind == DeviceKind::Cuda {
            log::info!("computing on the CPU: the sequential schedule runs there only");
        }
        if !cpus && let Some(cuda) = context.cuda_for(cuda::least_bytes(params, input))? {
            cuda::check_schedule(params)?;
            let begun = cuda::Solver::new(context, cuda, input, params, meaning.quantise).and_then(|solver| {
                let mut place = Self::Cuda(Box::new(solver));
                let targets = place.start(context, params, starts.clone())?;
                Ok((place, targets))
            });
            match begun {
                Err(error) if context.may_fall_back(&error) && on_host => {
                    log::warn!("computing on the CPU: {error}");
                }
                begun => return begun,
            }
        }
        let mut place = Self::Cpu(Levels::new(context, input, params, meaning)?);
        let targets = place.start(context, params, starts)?;
        Ok((place, targets))
    }

    /// The targets measured; on an error those before can still be searched.
    pub(super) fn start(&mut self, context: &Context, params: &Params, starts: Vec<Target>) -> Result<Vec<Target>> {
        match self {
            Self::Cpu(levels) => Ok(on_cpu::start(context, levels, params, starts)),
            Self::Cuda(_) if starts.is_empty() => Ok(starts),
            Self::Cuda(solver) => solver.start(params, starts),
        }
    }

    pub(super) fn size(&self) -> [usize; 2] {
        match self {
            Self::Cpu(levels) => levels.size(),
            Self::Cuda(solver) => solver.size(),
        }
    }

    /// Up to `iterations` steps of each running target.
    pub(super) fn step(
        &mut self,
        context: &Context,
        params: &Params,
        targets: &mut [Target],
        iterations: u64,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<Report> {
        match self {
            Self::Cpu(levels) => on_cpu::step(context, levels, params, targets, iterations, progress),
            Self::Cuda(_) if targets.is_empty() => Ok(Report::new(context.device())),
            Self::Cuda(solver) => solver.step(context, targets, iterations, progress),
        }
    }

    /// The sums over polygons that lie within the image.
    pub(super) fn sums(&self, polygons: Vec<Vec<Node>>, image: &Bounds) -> Result<Vec<Sum>> {
        match self {
            Self::Cpu(levels) => Ok(polygons.iter().map(|nodes| levels.sum(nodes)).collect()),
            Self::Cuda(solver) => solver.sums(polygons, image),
        }
    }
}
