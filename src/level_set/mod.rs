//! Level sets: 2D and 3D segmentation by a front that moves with the image's intensity and its own curvature.
//!
//! φ is negative inside. One iteration (Mostofi 2009, with corrected formulas; see `docs/level_set.md`) is
//!
//! ```text
//! φ' = φ + Δt · F · |∇φ|        F = −α·D(I) + (1 − α)·H
//! D(I) = ε − |I − T|            H = ½ ∇·(∇φ / |∇φ|)
//! ```
//!
//! so the front grows where the intensity lies within T ± ε, and its curvature restrains and smooths it. |D(I)| is bounded
//! (see [`Params::time_step`]), and |∇φ| is limited to 1 where φ moves away from 0.
//!
//! # How a run goes
//!
//! * **Parameters:** the caller gives [`Params`]. Automatic `Intensities` are measured in the image, and `Params::resolve`
//!   computes the other automatic parameters from them. The result is the immutable `Plan`; its `Constants` are the numbers
//!   of the formulas, in f32. The CPU computes with these. The kernels get them in a `LevelSetSetup`, which has a quarter
//!   of each term of the speed and the sizes of φ in device memory.
//! * **Start:** φ is the signed distance to the boundary of the mask.
//! * **Coarse to fine:** with [`Params::pyramid_levels`] there is also a level set on each reduced image of a pyramid. The
//!   first step runs them until their fronts are at rest, from coarse to fine; φ then starts as the distance to the front
//!   of the level before.
//! * **Iteration:** reads φ, writes φ' to a second buffer, and swaps the two. The dense variant updates all voxels. The
//!   band variant updates the active tiles: those that hold, or are at most two voxels from, a voxel of the narrow band
//!   that the last iteration changed.
//! * **Statistics:** the counts of each iteration go to the `ConvergenceMonitor`. At the end of each check interval the
//!   monitor tests the stopping criterion. On CUDA the device makes the same test with the same arithmetic, so that
//!   iterations can be queued before the host knows the result; the host repeats it when it has the statistics.
//! * **Regions:** with [`Params::regions`] the range is measured again at the start of every check interval, from the
//!   pixels of both sides of the front, and the solver gets a new plan.
//! * **Reinitialisation:** after every [`Params::reinitialise_every`] iterations φ is made a distance again in the tiles
//!   that the narrow band affects, in a few steps, each from one buffer to the other. In the band variant, all tiles that
//!   the narrow band affects afterwards become active.
//!
//! # Files
//!
//! * `params.rs`: the parameters. `parameters.rs`: their table, with names, ranges, defaults and help.
//! * `intensities.rs`: the automatic range, from the modes of a histogram (`intensities/modes.rs`). `regions.rs`: the range between two regions. `plan.rs`: the checks, the
//!   automatic parameters, the plan. `types.rs`: the plan's constants, the counts of an iteration.
//! * `scalar.rs`: the definition, an iteration and a reinitialisation voxel by voxel.
//! * `coarse.rs`: coarse levels, from whose front the first iteration starts.
//! * `convergence.rs`: the statistics, the stopping criterion, the likely end. `outcome.rs`: how a run ended.
//! * `backend.rs`: the solver of the device that computes.
//! * `cpu.rs`: the CPU's solver. The variant scalar is in `cpu/plain.rs`; the others keep φ in tiles (`cpu/tiles.rs`)
//!   and update them by vectors (`cpu/kernel.rs`, `cpu/formulas.rs`).
//! * `cuda.rs`: the CUDA solver, which queues batches of iterations. Its start is in `cuda/start.rs`, its memory in
//!   `cuda/tables.rs`, launches in `cuda/launch.rs` and `cuda/dense_grid.rs`, batches in `cuda/queue.rs`,
//!   transfer in `cuda/transfer.rs` and `cuda/values.rs`; `cuda/sparse.rs` is for volumes that do not fit the device,
//!   `cuda/slabs.rs` for several devices, `cuda/paper.rs` for the benchmark.
//! * `kernels/level_set.cu`: the kernels. `kernels/level_set.h`: the constants and arguments that they share with the
//!   crate.

mod backend;
mod coarse;
mod convergence;
mod cpu;
mod cuda;
mod intensities;
mod outcome;
pub(crate) mod parameters;
mod params;
mod plan;
mod regions;
mod scalar;
mod types;

use crate::device::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::image::{Dimensions, Image, PixelType, check_shapes, check_size, check_type};
use crate::progress::{Progress, Ticker};
pub use crate::report::Outcome;
use crate::report::Report;
use crate::slice_io::{Input, Output};
use backend::Solver;
use coarse::Coarse;
use convergence::ConvergenceMonitor;
use intensities::Intensities;
pub use params::{Params, Regions, Side, TargetRange, Variant};
use plan::Plan;
use regions::{HeavyNoise, Measure};
use std::time::Instant;

/// The statistics of one iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// The number of the iteration, counted from 1.
    pub iteration: u64,
    /// The number of voxels with φ < 0 after it.
    pub inside: u64,
    /// The number of voxels whose sign it changed.
    pub changed: u64,
    /// The number of voxels near the front before it: those with |φ| up to the largest spacing, in the tiles that it
    /// updated.
    pub near: u64,
    /// The root mean square of the change of φ over the voxels near the front, in units of the smallest spacing.
    pub rms: f64,
}

/// The state of a level set, with the values that were computed for automatic parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct State {
    /// The number of iterations done, without those of coarse levels.
    pub iterations: u64,
    /// The number of iterations of all coarse levels together; 0 until the first step has done them.
    pub coarse_iterations: u32,
    /// The time step Δt.
    pub time_step: f64,
    /// The largest stable Δt.
    pub time_step_limit: f64,
    /// The centre T of the intensity range; with [`Params::regions`], of the range that was measured last.
    pub target: f64,
    /// The half width ε of the intensity range.
    pub epsilon: f64,
    /// The limits that the intensity range has.
    pub side: Side,
    /// The weight α of the image against curvature.
    pub alpha: f64,
    /// The contrast K of the edge term (for slices, of the first slice); `None` without an edge term.
    pub edge_contrast: Option<f64>,
    /// The number of iterations between two tests of the stopping criterion.
    pub check_interval: u32,
    /// True if the last step met the stopping criterion.
    pub converged: bool,
    /// The way in which the last step ended.
    pub outcome: Outcome,
    /// The share of voxels at the range's limits among those in the middle of the object, which decides the outcome. `None`
    /// if no front is at rest, if the object is too thin to have a middle, and with [`Params::regions`].
    pub limit_share: Option<f64>,
    /// The number of iterations after which the stopping criterion is likely to be met; `u64::MAX` if it never is.
    pub expected_iterations: u64,
    /// The number of voxels with φ < 0.
    pub inside: u64,
    /// The number of tiles that the last iteration updated: all of them with `Dense` and `Scalar`.
    pub active_tiles: u64,
    /// The number of tiles of the whole image.
    pub tiles: u64,
    /// The number of tiles that store φ: all of them, unless φ is sparse because the volume does not fit the memory of the
    /// GPU.
    pub stored_tiles: u64,
}

/// A level set that evolves. It copies the image, and keeps φ in the memory of the device that computes: the context's
/// device, or the CPU.
///
/// It holds a handle on its context, so the caller may drop the context first. Calls on one context wait for each other.
#[derive(Debug)]
pub struct LevelSet {
    context: Context,
    params: Params,
    plan: Plan,
    /// The measurement of the range at every check interval, if the range is that between two regions.
    measure: Option<Measure>,
    /// True if the range has been measured for the present check interval.
    range_is_measured: bool,
    /// The treatment of heavy noise, with two regions and the automatic α.
    noise: HeavyNoise,
    monitor: ConvergenceMonitor,
    /// True from a call of [`write_phi`](Self::write_phi) until an iteration updates a tile: the new φ may have no voxel in
    /// the narrow band.
    may_be_stuck: bool,
    outcome: Outcome,
    limit_share: Option<f64>,
    solver: Solver,
    /// True if the last step met the stopping criterion, even if it was then cancelled.
    is_at_rest: bool,
    /// The next coarser level, until the first step has run it.
    coarse: Option<Box<Coarse>>,
    coarse_iterations: u32,
}

/// The name of the stage that progress callbacks get.
const STAGE: &str = "level set";

impl LevelSet {
    /// Starts from the boundary of `mask` (pixels > 0 are inside) on `input` (u8, u16 or f32; the same size).
    ///
    /// φ starts as the signed distance to the boundary. If the mask (in 2D, a slice of it) has no boundary, φ starts as the
    /// image's diagonal, negative if everything is inside, and nothing ever moves there. Pixels that are NaN or infinite
    /// count as far from T as the farthest finite pixel of the image, but at least 2ε. So they are never in range, except
    /// for an infinity on the range's open side, and for all of them if the range is [`Side::Outside`].
    ///
    /// # Errors
    /// A parameter out of range, a Δt above the stable limit or an α·Δt that loses digits (see [`Params::time_step`]), an
    /// automatic range with an empty mask, two regions that are alike or one of which is empty, sizes that do not match, an
    /// allocation that fails, a device failure.
    pub fn new(context: &Context, input: Input<'_>, mask: Input<'_>, params: &Params) -> Result<Self> {
        Self::start(context, input, mask, params, &mut None)
    }

    /// Does what [`new`](Self::new) does; `progress` can cancel it, and is called with a fraction of 0.
    fn start(
        context: &Context,
        input: Input<'_>,
        mask: Input<'_>,
        params: &Params,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<Self> {
        // In a single slice nothing moves along z. As a 2D image it has tiles without depth, and a longer stable step.
        let is_slice = input.shape()[2] == 1;
        let dimensions = if is_slice { Dimensions::Slices } else { params.dimensions };
        let params = &Params { dimensions, ..params.clone() };
        params.check()?;
        check_shapes(input.shape(), input.shape())?;
        check_size("initial mask", mask.shape(), "the input", input.shape())?;
        coarse::check(params, input.on_host() && mask.on_host())?;
        if !input.on_host() && params.has_edge_pixels() {
            return Err(Error::unsupported(format!(
                "cannot use an image in CUDA memory with edges, or with an upwind_order of 2 (got edge_weight {}, upwind_order \
                 {}); give it in host memory, or set edge_weight to 0 and upwind_order to 1",
                params.edge_weight, params.upwind_order
            )));
        }
        let depth = input.shape()[2];
        let (input, mask) = {
            let _lock = context.lock()?;
            let ticker = Ticker::new(STAGE);
            (context.all_of(input, &ticker, progress)?, context.all_of(mask, &ticker, progress)?)
        };
        Self::start_levels(context, input.image(depth), mask.image(depth), params, progress)?.ok_or_else(|| {
            Error::argument(
                "cannot separate two regions: the pixels inside and outside the initial mask are alike, or one of both \
                 is empty; draw a start that holds more of the object than of its surroundings",
            )
        })
    }

    /// Starts on an image, and on each reduced image of its pyramid. `None` if no range separates its two regions.
    fn start_levels(
        context: &Context,
        input: Image<'_>,
        mask: Image<'_>,
        params: &Params,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<Option<Self>> {
        let level_set = Self::start_level(context, &input, &mask, params, progress)?;
        let Some(mut level_set) = level_set else { return Ok(None) };
        let coarse = Coarse::new(context, &level_set, params, &input, &mask, progress)?;
        level_set.coarse = coarse.map(Box::new);
        Ok(Some(level_set))
    }

    /// Starts on one image, without its pyramid.
    fn start_level(
        context: &Context,
        input: &Image<'_>,
        mask: &Image<'_>,
        params: &Params,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<Option<Self>> {
        let _lock = context.lock()?;
        let (range, side) = intensities::range(context, input, mask, params, progress)?;
        // With two regions this range is a placeholder: the real one needs a front with two sides.
        let of_image = |extremes| Intensities { range, side, balance: range.epsilon, extremes };
        let (intensities, plan, solver) = Solver::new(context, params, input, mask, &of_image, progress)?;
        let extremes = intensities.extremes;
        let new_measure = |regions| Measure::new(regions, input.pixel_type(), extremes);
        let mut level_set = Self {
            context: context.clone(),
            params: params.clone(),
            measure: params.regions.map(new_measure).transpose()?,
            range_is_measured: false,
            may_be_stuck: false,
            noise: HeavyNoise::default(),
            monitor: ConvergenceMonitor::new(&plan),
            outcome: Outcome::Moving,
            limit_share: None,
            plan,
            solver,
            is_at_rest: false,
            coarse: None,
            coarse_iterations: 0,
        };
        if level_set.measure.is_some() && !level_set.set_range(progress, &Ticker::following(STAGE))? {
            return Ok(None);
        }
        // The check interval stays the one of the first range, also when the range changes.
        level_set.params.check_interval = Some(level_set.plan.criterion.check_interval);
        level_set.monitor = ConvergenceMonitor::new(&level_set.plan);
        log::debug!("level set of {:?} voxels: {:?}", level_set.plan.shape, level_set.plan);
        Ok(Some(level_set))
    }

    /// Measures the range between the two regions anew, and makes a plan with it. Returns false, and keeps the plan, if no
    /// range separates them: one side is empty, or both are alike.
    fn set_range(&mut self, progress: &mut Option<&mut Progress<'_>>, ticker: &Ticker) -> Result<bool> {
        let Some(measure) = &self.measure else { return Ok(false) };
        let sums = self.solver.sum_regions(&self.context, &measure.levels, progress, ticker)?;
        self.range_is_measured = true;
        let Some(mut range) = measure.range(sums) else { return Ok(false) };
        // The front between noisy regions has to be smoother than one in a given range of intensities.
        let mut balance = 2.0 * range.0.epsilon;
        if self.params.alpha.is_none()
            && let Some((to_go_on, noise)) = self.noise.range(measure, range, sums)
        {
            balance = balance.max(plan::NOISE_BALANCE * noise);
            range = to_go_on;
        }
        let (range, side) = range;
        let intensities = Intensities { range, side, balance, extremes: measure.extremes };
        let plan = self.params.resolve(self.plan.shape, &intensities)?;
        if plan != self.plan {
            self.solver.set_plan(&self.context, &plan);
            self.plan = plan;
        }
        Ok(true)
    }

    /// Evolves by up to `iterations`; fewer if the stopping criterion is met ([`Report::converged`]). A check interval
    /// continues from call to call. Once the criterion is met, the report's [`outcome`](Report::outcome) says how the run
    /// ended. Without [`Params::regions`] its computation takes about as long as one iteration of [`Variant::Dense`].
    ///
    /// The fraction that `progress` is called with is the share of `iterations` that is done or, if the criterion is likely
    /// to be met sooner, of the iterations until then. This is estimated from how fast the front's movement decreases
    /// towards the tolerances. The fraction never decreases, is the same on every device, and is 1 only in the last call,
    /// whose result is not used.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`]: the last complete iteration is kept and can be read, and another step continues from it.
    /// If a reinitialisation had begun, the signs of φ are final but its magnitudes are not; a step of 0 iterations
    /// completes it. A device failure, after which φ is not known until [`write_phi`](Self::write_phi) replaces it.
    pub fn step(&mut self, iterations: u64, progress: Option<&mut Progress<'_>>) -> Result<Report> {
        let started = Instant::now();
        let mut progress = progress;
        let mut ticker = Ticker::new(STAGE);
        if iterations > 0 && self.coarse.is_some() {
            self.start_from_coarse(&mut progress)?;
            ticker = Ticker::after(STAGE, coarse::SHARE);
        }
        let context = &self.context.clone();
        let _lock = context.lock()?;
        let computing = Instant::now();
        self.monitor.begin_step(iterations);
        (self.outcome, self.limit_share) = (Outcome::Moving, None);
        let mut peak_device_bytes = 0;
        loop {
            let mut left = iterations - self.monitor.step_done();
            if self.measure.is_some() {
                if left > 0 && !self.range_is_measured {
                    self.set_range(&mut progress, &ticker)?;
                }
                left = left.min(self.monitor.until_check());
            }
            if self.may_be_stuck {
                left = left.min(1);
            }
            let monitor = &mut self.monitor;
            let ran = self.solver.run(context, monitor, left, &mut progress, &ticker);
            // An iteration that updated a tile shows that the front is not stuck, even if the device fails afterwards.
            let tiles = self.plan.tile_count();
            self.may_be_stuck &= monitor.step_done() == 0 || self.solver.active_and_stored(tiles).0 == 0;
            self.range_is_measured &= !monitor.begins_interval();
            let ran = match ran {
                Err(error) if error.kind() == ErrorKind::OutOfMemory => {
                    self.monitor.converged = false;
                    self.solver.move_to_cpu(context, &self.plan, error, &mut progress, &ticker)?;
                    continue;
                }
                ran => ran,
            };
            if monitor.converged && self.solver.inside() > 0 && self.noise.goes_on() {
                monitor.converged = false;
            }
            self.is_at_rest = monitor.converged;
            // A run that was cancelled after its last iteration has no outcome, so it does not count as converged.
            let peak = ran.inspect_err(|_| monitor.converged = false)?;
            peak_device_bytes = peak.max(peak_device_bytes);
            if self.may_be_stuck && monitor.step_done() > 0 {
                // The narrow band is empty although there is a front: φ was saved where it is steep, at a front at rest on
                // sharp edges, or is no distance at all. Make it one, so that the front can move.
                (monitor.converged, self.is_at_rest) = (false, false);
                self.solver.restart(context, &self.plan, &mut progress, &ticker)?;
                monitor.begin_interval();
                (self.may_be_stuck, self.range_is_measured) = (false, false);
            }
            if monitor.converged || monitor.step_done() == iterations {
                break;
            }
        }
        let Self { plan, monitor, outcome, limit_share, solver, measure, .. } = self;
        let mut report = solver.report(context, started, computing.elapsed().as_secs_f64(), peak_device_bytes);
        if monitor.converged {
            if let Some(without_front) = outcome::without_front(plan, solver.inside()) {
                *outcome = without_front;
            } else if measure.is_some() {
                // The range follows from the pixels inside, so it always suits them.
                *outcome = Outcome::Front;
            } else {
                let fit = solver.fit(context, &mut progress, &ticker);
                // Without an outcome the level set does not count as converged.
                let fit = fit.inspect_err(|_| monitor.converged = false)?;
                (*outcome, *limit_share) = outcome::of_front(fit);
            }
        }
        if let Some(progress) = progress {
            let _ = progress(1.0, STAGE);
        }
        report.iterations = monitor.step_done();
        report.converged = monitor.converged;
        report.outcome = Some(*outcome);
        report.slices_done = plan.shape[2] as u64;
        report.complete(started, format_args!("level set"));
        Ok(report)
    }

    /// Returns the seconds that `iterations` of the paper's own kernel take from the present φ, for the benchmark.
    /// CUDA, volumes of u8.
    #[doc(hidden)]
    pub fn paper_seconds(&self, iterations: u32) -> Result<f64> {
        let _lock = self.context.lock()?;
        self.solver.paper_seconds(iterations)
    }

    /// Writes the mask: 255 where φ < 0, else 0 (u8).
    ///
    /// # Errors
    /// A size or type that does not match, a device failure.
    pub fn read_mask(&self, mask: Output<'_>) -> Result<()> {
        self.read_mask_while(mask, &mut None)
    }

    /// Does what [`read_mask`](Self::read_mask) does; `progress` can cancel it.
    fn read_mask_while(&self, mask: Output<'_>, progress: &mut Option<&mut Progress<'_>>) -> Result<()> {
        self.check_size("mask", mask.shape())?;
        check_type("mask", mask.pixel_type(), PixelType::U8)?;
        let _lock = self.context.lock()?;
        let ticker = Ticker::at_the_end(STAGE);
        ticker.check()?;
        self.context.fill_all_of(mask, &ticker, progress, |mask, progress| {
            self.solver.read_mask(&self.context, mask, progress, &ticker)
        })
    }

    /// Writes φ (f32), in the unit of the spacing.
    ///
    /// # Errors
    /// A size or type that does not match, a device failure.
    pub fn read_phi(&self, phi: Output<'_>) -> Result<()> {
        self.check_size("output for phi", phi.shape())?;
        check_type("output for phi", phi.pixel_type(), PixelType::F32)?;
        let _lock = self.context.lock()?;
        let ticker = Ticker::new(STAGE);
        ticker.check()?;
        self.context.fill_all_of(phi, &ticker, &mut None, |phi, _| self.solver.read_phi(&self.context, phi, &ticker))
    }

    /// Replaces φ (f32, finite), for example by one that [`read_phi`](Self::read_phi) returned, from this or another level
    /// set of the same size. Values are clamped to ±65536 times the largest spacing, or to ±10 times for a sparse φ. The
    /// count of iterations continues; a new check interval begins. Coarse levels that have not been run are skipped.
    ///
    /// Near the front φ should be close to the distance to it, in the unit of the spacing. [`Variant::Band`] could not move
    /// a φ without a voxel in the narrow band, such as one of only two values, or one that was saved after its front came to
    /// rest at sharp edges. The first iteration changes nothing then, and φ becomes the signed distance to its front.
    ///
    /// # Errors
    /// A size or type that does not match, NaN or infinity, or a cancellation, after which φ is unchanged. A device
    /// failure, or too little memory for a sparse φ, after which φ is not known.
    pub fn write_phi(&mut self, phi: Input<'_>) -> Result<()> {
        self.check_size("phi", phi.shape())?;
        if phi.pixel_type() != PixelType::F32 {
            return Err(Error::new(
                ErrorKind::InvalidType,
                format!("phi must be float32, but it is {}", phi.pixel_type()),
            ));
        }
        let _lock = self.context.lock()?;
        let phi = self.context.all_of(phi, &Ticker::new(STAGE), &mut None)?;
        self.solver.write_phi(&self.context, phi.image(self.plan.shape[2]))?;
        self.monitor.converged = false;
        self.may_be_stuck = true;
        (self.outcome, self.limit_share) = (Outcome::Moving, None);
        self.monitor.begin_interval();
        self.range_is_measured = false;
        self.noise = HeavyNoise::default();
        self.coarse = None;
        Ok(())
    }

    /// Returns the statistics of each iteration; the last million are kept.
    pub fn statistics(&self) -> &[Statistics] {
        self.monitor.kept()
    }

    /// Returns the state.
    pub fn state(&self) -> State {
        let Self { plan, monitor, outcome, limit_share, solver, .. } = self;
        let tiles = plan.tile_count();
        let (active_tiles, stored_tiles) = solver.active_and_stored(tiles);
        State {
            iterations: monitor.iterations,
            coarse_iterations: self.coarse_iterations,
            time_step: plan.time_step,
            time_step_limit: plan.time_step_limit,
            target: plan.range.target,
            epsilon: plan.range.epsilon,
            side: plan.side,
            alpha: plan.alpha,
            edge_contrast: solver.edge_contrast(),
            check_interval: plan.criterion.check_interval,
            converged: monitor.converged,
            outcome: *outcome,
            limit_share: *limit_share,
            expected_iterations: monitor.expected_iterations(),
            inside: solver.inside(),
            active_tiles,
            tiles,
            stored_tiles,
        }
    }

    fn check_size(&self, name: &str, shape: [usize; 3]) -> Result<()> {
        check_size(name, shape, "the level set", self.plan.shape)
    }
}

/// Starts from `mask`, evolves by up to `iterations` or until the stopping criterion is met, and writes the mask, in one
/// call. `progress` can cancel the start, too; until the first iteration it is called with a fraction of 0.
///
/// # Errors
/// Those of [`LevelSet::new`], [`LevelSet::step`] and [`LevelSet::read_mask`].
pub fn run(
    context: &Context,
    input: Input<'_>,
    mask: Input<'_>,
    params: &Params,
    iterations: u64,
    progress: Option<&mut Progress<'_>>,
    output: Output<'_>,
) -> Result<Report> {
    check_shapes(input.shape(), output.shape())?;
    check_type("output", output.pixel_type(), PixelType::U8)?;
    let started = Instant::now();
    let mut progress = progress;
    let mut level_set = LevelSet::start(context, input, mask, params, &mut progress)?;
    if matches!(level_set.solver, Solver::Cpu(_)) && !output.on_host() {
        // Refuse the call before the work is done.
        return Err(Error::in_cuda_memory("image"));
    }
    if let (Solver::Cuda(solver), false) = (&mut level_set.solver, output.on_host()) {
        solver.stay();
    }
    let mut report = level_set.step(iterations, progress.as_deref_mut())?;
    level_set.read_mask_while(output, &mut progress)?;
    report.seconds_total = started.elapsed().as_secs_f64();
    Ok(report)
}
