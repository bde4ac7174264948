//! The solver of a level set on the device that computes.

use super::convergence::ConvergenceMonitor;
use super::intensities::Intensities;
use super::plan::Plan;
use super::regions::RegionSums;
use super::types::Fit;
use super::{Params, STAGE, Variant, cpu, cuda};
use crate::device::kernels::level_set::RegionLevels;
use crate::device::{Context, DeviceNeeds};
use crate::distance;
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut, view_of, view_of_mut, zeroed_image};
use crate::memory::Array;
use crate::progress::{Progress, Ticker, run as run_with_progress};
use crate::report::Report;
use rayon::prelude::*;
use std::time::Instant;

/// The solver of the device that computes; it owns φ.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one for each level set")]
pub(super) enum Solver {
    Cpu(cpu::Solver),
    Cuda(cuda::Solver),
    /// A volume divided into slabs on several GPUs.
    Slabs(cuda::Slabs),
}

/// Matches a solver with two expressions: one for the CPU, and one for both kinds of GPU solvers, whose methods have the
/// same names.
macro_rules! on_backend {
    ($solver:expr, $cpu:pat => $on_cpu:expr, $gpu:ident => $on_gpu:expr) => {
        match $solver {
            Solver::Cpu($cpu) => $on_cpu,
            Solver::Cuda($gpu) => $on_gpu,
            Solver::Slabs($gpu) => $on_gpu,
        }
    };
}

impl Solver {
    /// Starts from the boundary of the mask. `intensities` returns the intensity range and what the plan derives from it,
    /// given the image's smallest and largest finite pixel.
    pub(super) fn new(
        context: &Context,
        params: &Params,
        input: &Image<'_>,
        mask: &Image<'_>,
        intensities: &(impl Fn([f64; 2]) -> Intensities + Sync),
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<(Intensities, Plan, Self)> {
        let on_host = !matches!(input, Image::Device(_)) && !matches!(mask, Image::Device(_));
        let slabs = cuda::slabs(context, params, input, mask);
        let [width, height, depth] = input.shape();
        let planes = slabs.iter().map(|own| cuda::with_halo(own, depth).len()).max().unwrap_or(depth);
        let (device_bytes, is_sparse) = cuda::needs(context, params, [width, height, planes], input.pixel_type())?;
        let needs = DeviceNeeds { device_bytes, cpu_only: params.variant == Variant::Scalar, host_memory: on_host };
        let planned = |extremes| {
            let intensities = intensities(extremes);
            params.resolve(input.shape(), &intensities).map(|plan| (intensities, plan))
        };
        context.run_on_device(
            needs,
            false,
            progress,
            |cuda, progress| {
                let ticker = Ticker::new(STAGE);
                if slabs.len() > 1 {
                    for device in &context.parts()[..slabs.len()] {
                        device.cuda_for(device_bytes)?;
                    }
                    let (intensities, plan) = run_with_progress(context.pool(), progress, &ticker, || {
                        planned(input.extremes_while(&ticker)?.unwrap_or_default())
                    })?;
                    let solver = cuda::Slabs::new(context, slabs, &plan, input, mask, progress)?;
                    return Ok((intensities, plan, Self::Slabs(solver)));
                }
                let mut loaded = cuda::load(context, cuda, params, is_sparse, input, mask)?;
                // Find the extremes on the device, where the image is already; reading host memory again would take longer.
                let (intensities, plan) = planned(loaded.extremes()?)?;
                if params.has_edge_pixels() {
                    loaded.put_edges(context, &plan, input, progress)?;
                }
                let solver = run_with_progress(context.pool(), progress, &ticker, || {
                    cuda::Solver::new(&plan, loaded, context.pool(), mask, &ticker)
                })?;
                Ok((intensities, plan, Self::Cuda(solver)))
            },
            |progress| {
                if !on_host {
                    return Err(Error::in_cuda_memory("image"));
                }
                let ticker = Ticker::new(STAGE);
                run_with_progress(context.pool(), progress, &ticker, || {
                    let (intensities, plan) = planned(input.extremes_while(&ticker)?.unwrap_or_default())?;
                    Ok((intensities, plan, Self::Cpu(cpu::Solver::new(context, &plan, input, mask, &ticker)?)))
                })
            },
        )
    }

    /// Returns the number of voxels inside.
    pub(super) fn inside(&self) -> u64 {
        on_backend!(self, solver => solver.inside(), solver => solver.inside())
    }

    /// Replaces the plan. The new one may differ only in the intensity range and the numbers that are computed from it.
    pub(super) fn set_plan(&mut self, context: &Context, plan: &Plan) {
        on_backend!(self, solver => context.pool().install(|| solver.set_plan(plan)), solver => solver.set_plan(plan));
    }

    /// Sums the pixels inside and those outside.
    pub(super) fn sum_regions(
        &self,
        context: &Context,
        levels: &RegionLevels,
        progress: &mut Option<&mut Progress<'_>>,
        ticker: &Ticker,
    ) -> Result<[RegionSums; 2]> {
        on_backend!(
            self,
            solver => run_with_progress(context.pool(), progress, ticker, || solver.sum_regions(levels, ticker)),
            solver => solver.sum_regions(levels)
        )
    }

    /// Evolves by up to `iterations`, until the stopping criterion is met. Returns the most device memory that was in use,
    /// in bytes.
    pub(super) fn run(
        &mut self,
        context: &Context,
        monitor: &mut ConvergenceMonitor,
        iterations: u64,
        progress: &mut Option<&mut Progress<'_>>,
        ticker: &Ticker,
    ) -> Result<u64> {
        on_backend!(
            self,
            solver => solver.run(context, monitor, iterations, progress, ticker).map(|()| 0),
            solver => solver.run(monitor, iterations, progress, ticker)
        )
    }

    /// Continues on the CPU from φ of the last iteration if a step failed because device memory cannot hold another tile of
    /// a sparse φ, and the context may choose the device. Otherwise returns `error`.
    pub(super) fn move_to_cpu(
        &mut self,
        context: &Context,
        plan: &Plan,
        error: Error,
        progress: &mut Option<&mut Progress<'_>>,
        ticker: &Ticker,
    ) -> Result<()> {
        let Self::Cuda(solver) = self else { return Err(error) };
        if !context.may_fall_back(&error) || !solver.may_move() {
            return Err(error);
        }
        log::warn!("going on on the CPU: {error}");
        let (image, phi) = solver.to_host(context)?;
        let mask = zeroed_image::<u8>(phi.dim())?;
        let moved = run_with_progress(context.pool(), progress, ticker, || {
            let mut solver = cpu::Solver::new(context, plan, &image.view(), &mask.view().into(), ticker)?;
            solver.write_phi(phi.view(), ticker)?;
            Ok(solver)
        })?;
        *self = Self::Cpu(moved);
        Ok(())
    }

    /// Returns the report of a step so far.
    pub(super) fn report(&self, context: &Context, started: Instant, seconds: f64, peak_device_bytes: u64) -> Report {
        let on_gpus = |device_count| Report {
            device_count,
            seconds_compute: seconds,
            peak_device_bytes,
            ..Report::new(context.device())
        };
        match self {
            Self::Cpu(_) => Report::on_cpu(context, started, 0),
            Self::Cuda(_) => on_gpus(1),
            Self::Slabs(solver) => on_gpus(solver.device_count()),
        }
    }

    /// Counts the voxels in the middle of the object.
    pub(super) fn fit(
        &self,
        context: &Context,
        progress: &mut Option<&mut Progress<'_>>,
        ticker: &Ticker,
    ) -> Result<Fit> {
        on_backend!(
            self,
            solver => run_with_progress(context.pool(), progress, ticker, || solver.fit(ticker)),
            solver => solver.fit()
        )
    }

    pub(super) fn paper_seconds(&self, iterations: u32) -> Result<f64> {
        match self {
            Self::Cuda(solver) => solver.paper_seconds(iterations),
            _ => Err(Error::unsupported("the paper's kernel is for one CUDA device")),
        }
    }

    pub(super) fn read_mask(
        &self,
        context: &Context,
        mut mask: ImageMut<'_>,
        progress: &mut Option<&mut Progress<'_>>,
        ticker: &Ticker,
    ) -> Result<()> {
        let pool = context.pool();
        let on_cpu = |solver: &cpu::Solver, mask| match mask {
            ImageMut::U8(mask) => solver.read_mask(mask, ticker),
            _ => Err(Error::in_cuda_memory("image")),
        };
        if let Self::Cpu(_) = self {
            mask.use_huge_pages();
        }
        run_with_progress(
            pool,
            progress,
            ticker,
            || on_backend!(self, solver => on_cpu(solver, mask), solver => solver.read_mask(pool, mask, ticker)),
        )
    }

    pub(super) fn read_phi(&self, context: &Context, mut phi: ImageMut<'_>, ticker: &Ticker) -> Result<()> {
        if let Self::Cpu(_) = self {
            phi.use_huge_pages();
        }
        match (self, phi) {
            (Self::Cpu(solver), ImageMut::F32(phi)) => context.pool().install(|| solver.read_phi(phi, ticker)),
            (Self::Cpu(_), _) => Err(Error::in_cuda_memory("image")),
            (Self::Cuda(solver), phi) => solver.read_phi(context.pool(), phi),
            (Self::Slabs(solver), phi) => solver.read_phi(context.pool(), phi),
        }
    }

    pub(super) fn write_phi(&mut self, context: &Context, phi: Image<'_>) -> Result<()> {
        match (self, phi) {
            (Self::Cpu(solver), Image::F32(phi)) => {
                let ticker = Ticker::new(STAGE);
                context.pool().install(|| solver.write_phi(phi, &ticker))
            }
            (Self::Cpu(_), _) => Err(Error::in_cuda_memory("image")),
            (Self::Cuda(solver), phi) => solver.write_phi(context.pool(), &phi),
            (Self::Slabs(solver), phi) => solver.write_phi(context.pool(), &phi),
        }
    }

    /// Sets φ to the signed distance to its own front, as a new level set that starts from the current mask would have it.
    pub(super) fn restart(
        &mut self,
        context: &Context,
        plan: &Plan,
        progress: &mut Option<&mut Progress<'_>>,
        ticker: &Ticker,
    ) -> Result<()> {
        let mut mask = Array::<u8>::zeroed(plan.voxels())?;
        let mut phi = Array::<f32>::zeroed(plan.voxels())?;
        self.read_mask(context, view_of_mut(&mut mask, plan.shape).into(), progress, ticker)?;
        run_with_progress(context.pool(), progress, ticker, || {
            let mask = view_of(&mask, plan.shape);
            distance::cpu::signed_into(context, mask, plan.spacing, plan.dimensions, &mut phi, ticker)?;
            phi.par_iter_mut().for_each(|phi| *phi = phi.clamp(-plan.far, plan.far));
            Ok(())
        })?;
        self.write_phi(context, view_of(&phi, plan.shape).into())
    }

    /// Returns the number of tiles that the last iteration updated, and the number of tiles that store φ. `tiles` is the
    /// number of all tiles.
    pub(super) fn active_and_stored(&self, tiles: u64) -> (u64, u64) {
        match self {
            Self::Cpu(solver) => (solver.active_tiles(), tiles),
            Self::Cuda(solver) => (solver.active_tiles(), solver.stored_tiles()),
            Self::Slabs(_) => (tiles, tiles),
        }
    }

    /// Returns the contrast of the edge term, if there is one.
    pub(super) fn edge_contrast(&self) -> Option<f64> {
        match self {
            Self::Cpu(solver) => solver.edge_contrast(),
            Self::Cuda(solver) => solver.edge_contrast(),
            Self::Slabs(_) => None,
        }
    }
}
