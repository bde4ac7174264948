//! The edge strength function (ESF): a smoothed, exponentially decaying distance field around a shape.
//!
//! It minimises ½∬ ρ|∇v|² + v²/ρ with v = 1 on the shape (Keleş 2016, eq. 1; Tari, Shah and Pien 1997) by
//! ∂v/∂t = ∇²v − v/ρ² (eq. 2), with zero normal derivative at the image border. One iteration (eq. 3) is
//!
//! ```text
//! v' = v + Δt·(v_left + v_right + v_up + v_down − (4 + 1/ρ²)·v)      in 3D: six neighbours and 6 + 1/ρ²
//! ```
//!
//! If a volume has a **spacing** h_x, h_y, h_z, ρ is in the unit of the spacing, and each second difference is divided by
//! h_a². Times are in units of h², the square of the smallest spacing, so that w_a = (h/h_a)² is the weight of the
//! neighbours along axis a:
//!
//! ```text
//! v' = v + Δt·(Σ_a w_a·(v_before + v_after) − (2·Σ_a w_a + h²/ρ²)·v)
//! ```
//!
//! * **Shape pixels** are the foreground of the input (see [`Foreground`]), found once; they stay at 1.
//! * **Flush:** after every 16th iteration of a call (the 16th, the 32nd, …), values below 2⁻⁸⁰ (8e-25) are set to 0.
//!   Without the flush the far field would consist of subnormal numbers, with which some CPUs took 1.7 to 7 times as long.
//! * **Border:** beyond the border the image repeats its border pixels.
//! * **Spacing:** for volumes only; in slices ρ is in pixels. A spacing of s along all axes has the same result, to the
//!   bit, as ρ/s with a spacing of 1.
//! * **NaN** pixels are never shape and start at 0.
//! * **Range:** always 0 ≤ v ≤ 1. For iterations this follows from the maximum principle, which holds for every Δt that is
//!   accepted; in the converged mode each multigrid cycle ends by clamping the values.
//! * **Reproducibility:** the fast CPU path (with FMA) and all CUDA variants give the same bits; `Scalar`, and
//!   CPUs without FMA, are within 1e-6 of them up to 200 iterations; all are within 1e-5 of float64 then.
//!   `Mode::Converged` is equal between devices to its tolerance, and bit for bit from run to run.

mod axes;
mod cpu;
mod cuda;
mod multigrid;
pub(crate) mod parameters;
mod prepare;
mod scalar;

use crate::device::kernels::edge_strength::FLUSH_THRESHOLD;
use crate::device::{Context, DeviceNeeds, Workload};
use crate::error::{Error, Result, number};
pub use crate::image::{Dimensions, Foreground};
use crate::image::{Image, ImageMut, PixelType, check_shapes, check_spacing, check_type, host_only};
use crate::parameter::{self, check_ends};
use crate::progress::Progress;
use crate::report::Report;
use crate::slice_io::{Input, Output, check_streamed};
pub use axes::{AxisParams, axes};
use prepare::InitialValues;
use std::ops::Range;
use std::time::Instant;

/// The stopping criterion.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Mode {
    /// A fixed number of iterations of eq. 3.
    Iterate {
        /// The number n of iterations. Default 50; 0 returns the initial values. More iterations reach farther from the
        /// shape, about √n pixels.
        iterations: u64,
    },
    /// The steady state (∇² − 1/ρ²)v = 0, computed by multigrid. Iterations approach it but seldom reach it (at ρ = 64, 200
    /// iterations differ from it by up to 0.9).
    Converged {
        /// The bound on the estimated error of any pixel; see `docs/edge_strength_converged.md`. In (0, 1). Default
        /// 1e-5.
        tolerance: f64,
        /// The largest number of multigrid cycles, 1 to 10,000,000. Default 100. If they are not enough, or if the smallest
        /// change of a cycle has not decreased for 100 cycles, the result so far is returned and [`Report::converged`] is
        /// `false`.
        max_cycles: u64,
    },
}

/// The name of the stage that progress callbacks get.
const STAGE: &str = "edge strength";

/// The initial values of the pixels outside the shape. Shape pixels always start at 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Start {
    /// All initial values are 0.
    Mask,
    /// The input scaled to 0..1 (and inverted for [`Foreground::Below`]): the paper's "initialised with the original
    /// image". Pixels beyond the range are clamped to it. `None`: 0..255 for u8, otherwise from the smallest to the largest
    /// finite pixel, except for isolated hot or dead pixels, see
    /// [`edge_drawing::Params::range`](crate::edge_drawing::Params::range).
    Input(Option<[f64; 2]>),
}

/// The implementation. All are kept so that they can be compared; the default is the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Variant {
    /// The fastest variant of the device: `Fused`.
    Default,
    /// Several iterations per pass over memory (temporal blocking). CPU and CUDA.
    Fused,
    /// The paper's first design: a tile in shared memory, one iteration per launch. CUDA only.
    Shared,
    /// The paper's second design, which reads through the texture unit. CUDA only.
    Texture,
    /// A plain loop on one thread: the reference. CPU only.
    Scalar,
}

/// The parameters; [`Params::default`] gives each its default.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Separate slices (default) or one volume.
    pub dimensions: Dimensions,
    /// When to stop. Default: 50 iterations.
    pub mode: Mode,
    /// The voxel's size along x, y, z, each from 1e-15 to 1e15 and at most 100 times another, in the unit of `rho`. Default
    /// 1, 1, 1. Used with [`Dimensions::Volume`] only.
    pub spacing: [f64; 3],
    /// The decay length ρ, in pixels or, with [`Dimensions::Volume`], in the unit of the spacing; at least 1e-18, and at
    /// least 1e-18 times the largest spacing. Default 64. The field decreases as exp(−distance/ρ); a larger ρ reaches
    /// farther and smooths more.
    pub rho: f64,
    /// Δt, at most 1/(4 + 1/ρ²) in 2D and 1/(6 + 1/ρ²) in 3D (above, the maximum principle fails); with a spacing 1/(2·Σ_a
    /// w_a + h²/ρ²), in units of the square of the smallest spacing, h². `None` (default): min(0.2, 0.9 of the limit) in
    /// 2D, min(0.15, 0.9 of the limit) in 3D. With a larger step each iteration reaches farther.
    pub time_step: Option<f64>,
    /// The side of the threshold on which pixels belong to the shape. Default: above.
    pub foreground: Foreground,
    /// The threshold of the shape, in the image's own units. Default 0.
    pub threshold: f64,
    /// The initial values of pixels outside the shape. Default: 0.
    pub start: Start,
    /// The implementation. Default: the fastest.
    pub variant: Variant,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            dimensions: parameters::DIMENSIONS.default_of(&parameter::DIMENSIONS),
            mode: parameters::MODE.default_of(&[
                Mode::Iterate { iterations: parameters::ITERATIONS.default as u64 },
                Mode::Converged { tolerance: DEFAULT_TOLERANCE, max_cycles: DEFAULT_MAX_CYCLES },
            ]),
            spacing: [1.0; 3],
            rho: parameters::RHO.default,
            time_step: None,
            foreground: parameters::FOREGROUND.default_of(&parameter::FOREGROUNDS),
            threshold: parameters::THRESHOLD.default,
            start: parameters::START.default_of(&[Start::Mask, Start::Input(None)]),
            variant: parameters::VARIANT.default_of(&parameters::VARIANTS),
        }
    }
}

/// The default of [`Mode::Converged`]'s tolerance.
pub const DEFAULT_TOLERANCE: f64 = parameters::TOLERANCE.default;

/// The default of [`Mode::Converged`]'s cycle limit.
pub const DEFAULT_MAX_CYCLES: u64 = parameters::MAX_CYCLES.default as u64;

/// The largest number of iterations of a call. No image needs more, and a call stores a weight for each iteration.
pub const MAX_ITERATIONS: u64 = parameters::ITERATIONS.maximum as u64;

/// The largest ratio of two spacings. Weights are its inverse square. With weights much below 1e-4, the rounding of the
/// larger ones would prevent the converged mode from reaching its tolerance.
const MOST_ANISOTROPY: f64 = 100.0;

/// The number of iterations between two flushes, which set values below [`FLUSH_THRESHOLD`] to 0. It is 2⁻⁸⁰, far below
/// every promised accuracy.
///
/// In each iteration the smallest values spread by one pixel and decrease by the factor Δt. From one flush to the next they
/// decrease to no less than 2⁻⁸⁰ · 0.15¹⁶ = 5e-38 (0.15 is the automatic Δt in 3D). Subnormal numbers begin below 1.2e-38,
/// so none arises with the automatic Δt and ρ ≥ 0.62 (3D: 1.29). With a smaller ρ the automatic Δt is below 0.136, and a
/// few may arise. The same is true along the larger spacings of a volume, where values decrease by the factor Δt·w_a.
const FLUSH_EVERY: usize = 16;

/// Tells whether the results of an iteration are flushed; the first iteration is 1.
fn is_flushed(iteration: usize) -> bool {
    iteration.is_multiple_of(FLUSH_EVERY)
}

/// The plan of a call: the parameters after every check, with each automatic one computed.
#[derive(Clone, Debug)]
struct Plan {
    /// 2 or 3.
    dimensions: u32,
    /// The weights of second differences, relative to those along x: 1, (h_x/h_y)², (h_x/h_z)².
    weights: [f32; 3],
    /// λ = 1/ρ², ρ in units of the spacing along x.
    lambda: f64,
    /// Δt in units of the square of the spacing along x.
    time_step: f32,
    /// The centre weights k_i, one for each iteration; none in converged mode.
    centre_weights: Vec<f32>,
    mode: Mode,
    variant: Variant,
    foreground: Foreground,
    threshold: f64,
}

impl Plan {
    /// Returns the equation of the converged mode.
    fn operator(&self) -> multigrid::Operator {
        multigrid::Operator { weights: self.weights.map(f64::from), lambda: self.lambda }
    }

    /// Returns the number of slices on either side on which the result of a slice depends: 0 in 2D, and in 3D one for each
    /// iteration, because an iteration reads the neighbouring slices only. `None` in the converged mode of a volume, where
    /// all voxels depend on each other.
    fn halo(&self) -> Option<usize> {
        match (self.dimensions, self.mode) {
            (2, _) => Some(0),
            (_, Mode::Iterate { .. }) => Some(self.centre_weights.len()),
            (_, Mode::Converged { .. }) => None,
        }
    }
}

impl Params {
    fn plan(&self) -> Result<Plan> {
        parameters::RHO.check(self.rho)?;
        let (dimensions, spacing) = match self.dimensions {
            Dimensions::Slices => (2, [1.0; 3]),
            Dimensions::Volume => (3, self.spacing),
        };
        check_spacing(&spacing, MOST_ANISOTROPY)?;
        let [smallest, largest] = [f64::min, f64::max].map(|best| spacing.into_iter().fold(spacing[0], best));
        if self.rho / largest < parameters::RHO.minimum {
            return Err(Error::argument(format!(
                "rho must be at least {:e} times the largest spacing, {}, but it is {}; raise it, or look at its unit",
                parameters::RHO.minimum,
                number(largest),
                number(self.rho)
            )));
        }
        let square = |of: f64| of * of;
        // 1. Choose the time step, in units of the smallest spacing.
        let axes = &spacing[..dimensions as usize];
        let neighbours = 2.0 * axes.iter().map(|step| square(smallest / step)).sum::<f64>();
        let time_step = self.chosen_time_step(dimensions, neighbours, square(self.rho / smallest).recip())?;
        parameters::THRESHOLD.check(self.threshold)?;
        if let Start::Input(Some(range)) = self.start {
            check_ends(&parameters::START_MIN, &parameters::START_MAX, range)?;
        }
        // 2. Convert everything to units of the spacing along x: then the weight along x is 1 and needs no multiplication.
        //    A very large ρ gives λ = 0, which is harmless: 4 + λ is rounded to 4 for a much smaller ρ already.
        let weights = spacing.map(|step| square(spacing[0] / step) as f32);
        let lambda = square(self.rho / spacing[0]).recip();
        let exact = 2.0 * weights[..dimensions as usize].iter().copied().map(f64::from).sum::<f64>() + lambda;
        let centre_weights = match self.mode {
            Mode::Iterate { iterations } => {
                parameters::ITERATIONS.check(iterations as f64)?;
                centre_weights(exact, iterations as usize)?
            }
            Mode::Converged { tolerance, max_cycles } => {
                parameters::TOLERANCE.check(tolerance)?;
                parameters::MAX_CYCLES.check(max_cycles as f64)?;
                Vec::new()
            }
        };
        Ok(Plan {
            dimensions,
            weights,
            lambda,
            time_step: stable_step(time_step * square(smallest / spacing[0]), exact),
            centre_weights,
            mode: self.mode,
            variant: self.variant,
            foreground: self.foreground,
            threshold: self.threshold,
        })
    }

    /// Returns Δt, or an error if it is above the limit for the given λ and sum of the neighbours' weights.
    fn chosen_time_step(&self, dimensions: u32, neighbours: f64, lambda: f64) -> Result<f64> {
        let limit = (neighbours + lambda).recip();
        let Some(step) = self.time_step else {
            return Ok((if dimensions == 2 { 0.2f64 } else { 0.15 }).min(0.9 * limit));
        };
        parameters::TIME_STEP.check_given(step)?;
        if step > limit {
            let (rho, spacing) = (number(self.rho), self.spacing);
            let why = if dimensions == 2 || spacing == [1.0; 3] {
                format!("1/({neighbours} + 1/rho²) = {limit:.6} for rho = {rho} in {dimensions}D")
            } else {
                format!("1/({neighbours:.6} + {lambda:.6}) = {limit:.6} for rho = {rho} and the spacing {spacing:?}")
            };
            return Err(Error::argument(format!(
                "time_step must be at most {why}, but it is {}; lower it, or leave it automatic",
                number(step)
            )));
        }
        Ok(step)
    }
}

/// Rounds Δt to f32, and lowers it by a few ulps if it is at the limit. There, Δt, the centre weight and their product with
/// v might all be rounded up, so that a pixel whose neighbours are all 0 would become negative.
fn stable_step(step: f64, exact: f64) -> f32 {
    let largest = f64::from((exact as f32).next_up()) * (1.0 + f64::from(f32::EPSILON));
    let mut rounded = step as f32;
    while f64::from(rounded) * largest > 1.0 {
        rounded = rounded.next_down();
    }
    rounded
}

/// Returns the centre weight 4 + λ of each iteration, rounded to f32, with the rounding error carried to the next.
///
/// λ is small, and rounding 4 + λ has an error of up to half an ulp of 4, 2.4e-7. Over 200 iterations this would add up to
/// 1e-5, and from ρ = 2050 on it is more than λ itself. With the error carried, the mean of the weights is exact, and the
/// total error stays below one ulp for any number of iterations.
fn centre_weights(exact: f64, iterations: usize) -> Result<Vec<f32>> {
    let mut weights = crate::memory::zeroed(iterations)?;
    let mut carry = 0.0;
    for weight in &mut weights {
        let wanted = exact + carry;
        *weight = wanted as f32;
        carry = wanted - f64::from(*weight);
    }
    Ok(weights)
}

/// Computes the edge strength of `input`, from 0 to 1, into `output` (f32, the same size).
///
/// `input` is u8, u16 or f32; one slice or a stack. Functions may read and write the slices ([`Source`](crate::Source),
/// [`Sink`](crate::Sink)); in the converged mode of a volume all of them are in memory, or in temporary files. A
/// stack of slices is processed as a pipeline with several slices in flight. For the contents of `output` after an error see [`ErrorKind`](crate::ErrorKind).
///
/// A volume is computed in slabs, with the same bits:
///
/// * if it does not fit the memory of a GPU. For iterations, one slice must fit with as many slices on either side as there
///   are iterations. For the converged mode, 28 slices of 12 bytes per voxel must fit, and 3 bytes for each voxel of the
///   volume (up to 19 with spacings that differ), and the output must be in host memory.
/// * for iterations with a context of several devices, if each gets at least twice as many slices as there are iterations;
/// * for iterations if functions read or write it.
///
/// # Errors
/// A parameter out of range, sizes that do not match, a variant that the device does not have, out of memory, a device
/// failure, or [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
///
/// ```
/// use isoline::{Context, edge_strength::{self, Mode, Params}};
/// use ndarray::Array2;
///
/// let mut line = Array2::<u16>::zeros((1, 9));
/// line[[0, 4]] = 1000;
/// let mut strength = Array2::<f32>::zeros((1, 9));
/// let params = Params { rho: 2.0, mode: Mode::Converged { tolerance: 1e-6, max_cycles: 50 }, ..Params::default() };
/// let report = edge_strength::run(
///     &Context::new("cpu")?, line.view().into(), &params, None, strength.view_mut().into())?;
/// assert!(report.converged);
/// assert!(strength[[0, 4]] == 1.0 && strength[[0, 3]] > strength[[0, 2]]);
/// # Ok::<(), isoline::Error>(())
/// ```
pub fn run(
    context: &Context,
    mut input: Input<'_>,
    params: &Params,
    mut progress: Option<&mut Progress<'_>>,
    output: Output<'_>,
) -> Result<Report> {
    let started = Instant::now();
    let plan = params.plan()?;
    check_shapes(input.shape(), output.shape())?;
    check_type("output", output.pixel_type(), PixelType::F32)?;
    let _lock = context.lock()?;
    let (shape, on_host, halo) = (input.shape(), input.on_host() && output.on_host(), plan.halo());
    check_streamed(&input, [&output])?;
    let halo = halo.filter(|_| on_host);
    // The range is that of all slices of a stack, even if they are divided among devices or read by a function.
    let initial = match params.start {
        Start::Mask => InitialValues::mask(),
        Start::Input(range) => {
            let range = range.or((input.pixel_type() == PixelType::U8).then_some([0.0, 255.0]));
            let range = range.map_or_else(|| context.automatic_range(STAGE, &mut input, &mut progress), Ok)?;
            InitialValues::scaled(range, plan.foreground)
        }
    };
    let mut report = context.by_slices(
        STAGE,
        halo,
        (input, [Some(output)]),
        &mut progress,
        |context, input, own, [output], progress| {
            let output = output.unwrap_or_else(|| unreachable!("it was given"));
            compute(context, (input, own.at), (params, &plan, &initial), progress, output)
        },
        Report::joined,
    )?;
    report.complete(started, format_args!("edge strength of {shape:?} pixels"));
    if let (Mode::Converged { tolerance, .. }, false) = (plan.mode, report.converged) {
        let Report { iterations, residual, .. } = report;
        log::warn!(
            "edge strength has not converged after {iterations} cycles: the estimated largest error is {residual:.1e}, the \
             tolerance {tolerance:.1e}; raise max_cycles, or tolerance where that was not reached"
        );
    }
    Ok(report)
}

/// Does what [`run`] does, without its checks, on one device, for the slices `own` of the input. The output has only these
/// slices.
fn compute(
    context: &Context,
    (input, own): (&Image<'_>, Range<usize>),
    (params, plan, initial): (&Params, &Plan, &InitialValues),
    progress: &mut Option<&mut Progress<'_>>,
    mut output: ImageMut<'_>,
) -> Result<Report> {
    let needs = DeviceNeeds {
        device_bytes: cuda::min_device_bytes(context, plan, input, &output)?,
        cpu_only: plan.variant == Variant::Scalar,
        host_memory: host_only(input, &output),
    };
    let cpu_is_faster = context.cpu_is_faster(&needs, workload(params, input.shape()), progress)?;
    context.run_on_device(
        needs,
        cpu_is_faster,
        &mut (progress, &mut output),
        |cuda, (progress, output)| cuda::run(context, cuda, (plan, initial), (input, &own), progress, output),
        |(progress, output)| {
            output.use_huge_pages();
            cpu::run(context, (plan, initial), (input, &own), progress, output)
        },
    )
}

/// The most iterations for which the CPU and the GPU are timed to choose the device. With more the GPU is faster, and
/// timing would take long.
const MOST_CHOSEN_ITERATIONS: u64 = 1024;

/// Describes a call for the choice of its device. Returns `None` if the results of the devices may differ in the last bits;
/// only iterations of the default variant have the same bits.
fn workload(params: &Params, shape: [usize; 3]) -> Option<Workload> {
    let (Mode::Iterate { iterations }, Variant::Default) = (params.mode, params.variant) else { return None };
    if iterations > MOST_CHOSEN_ITERATIONS || !cpu::has_fused_multiply_add() {
        return None;
    }
    let (dimensions, iterations) = (params.dimensions, iterations.next_power_of_two());
    let name = format!("{iterations} iterations of edge strength");
    Some(Workload::to_floats(&name, dimensions, shape, move |context, input, output| {
        let mode = Mode::Iterate { iterations };
        let params = Params { dimensions, mode, threshold: Workload::THRESHOLD, ..Params::default() };
        run(context, input.into(), &params, None, output.into())
    }))
}

/// The outcome for one slice or volume, or the worst of several.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    iterations: u64,
    residual: f64,
    converged: bool,
}

impl Outcome {
    /// Returns the outcome before any slice, which is the neutral element of [`worst`](Self::worst).
    fn none(plan: &Plan) -> Self {
        let converged = matches!(plan.mode, Mode::Converged { .. });
        Self { iterations: 0, residual: f64::NAN, converged }
    }

    /// Combines two outcomes: takes the larger numbers, and is converged only if both are.
    fn worst(self, other: Self) -> Self {
        Self {
            iterations: self.iterations.max(other.iterations),
            residual: self.residual.max(other.residual),
            converged: self.converged && other.converged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_centre_weight_is_exact() {
        for rho in [3.0f64, 64.0, 100.0, 5000.0, 1e6] {
            let exact = 4.0 + (rho * rho).recip();
            let weights = centre_weights(exact, 10_000).unwrap();
            let sum: f64 = weights.iter().map(|k| f64::from(*k)).sum();
            assert!((sum - exact * 1e4).abs() < 1e-6, "rho {rho}: {}", sum - exact * 1e4);
        }
    }

    #[test]
    fn error_names_the_limit_of_the_time_step() {
        let params = Params { time_step: Some(0.25), ..Params::default() };
        let error = params.plan().unwrap_err();
        assert!(error.message().contains("0.249985"), "{error}");
    }

    #[test]
    fn automatic_time_step_is_within_the_limit() {
        for dimensions in [Dimensions::Slices, Dimensions::Volume] {
            for rho in [1e-3, 0.5, 1.0, 2.0, 64.0, 1e9] {
                let plan = Params { rho, dimensions, ..Params::default() }.plan().unwrap();
                let neighbours = f64::from(2 * plan.dimensions);
                assert!(f64::from(plan.time_step) * (neighbours + plan.lambda) <= 1.0, "rho {rho}");
            }
        }
    }
}
