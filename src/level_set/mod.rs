//! Level sets: 2D and 3D segmentation by a surface that evolves with the image's intensity and its own curvature.
//!
//! φ < 0 inside. One iteration (Mostofi 2009, with its formulas corrected; see `docs/level_set.md`) is
//!
//! ```text
//! φ' = φ + Δt · F · |∇φ|        F = −α·D(I) + (1 − α)·H
//! D(I) = ε − |I − T|            H = ½ ∇·(∇φ / |∇φ|)
//! ```
//!
//! so the surface grows where the intensity lies within T ± ε and is held back, and smoothed, by its curvature.

mod cuda;
mod on_cpu;
mod scalar;

use crate::device::Context;
use crate::error::{Error, Result};
use crate::image::{Dimensions, Image, ImageMut};
use crate::progress::Progress;
use crate::report::Report;

/// The intensities that the surface grows into: `target` ± `epsilon`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TargetRange {
    /// T, in the image's own units.
    pub target: f64,
    /// ε > 0, in the image's own units.
    pub epsilon: f64,
}

/// Which implementation computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// `Band`.
    Default,
    /// Only the tiles that the front can reach are updated. CPU and CUDA.
    Band,
    /// Every voxel is updated in every iteration. CPU and CUDA.
    Dense,
    /// A plain loop on one thread: the reference. CPU only.
    Scalar,
}

/// The parameters; [`Params::default`] gives each its default.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// One volume (default), or many slices, each by itself.
    pub dimensions: Dimensions,
    /// The voxel's size along x, y, z, each > 0. Default 1, 1, 1. Curvature, distances and speeds are in its unit.
    pub spacing: [f64; 3],
    /// T and ε. `None` (default): mean and twice the standard deviation of the pixels inside the initial mask.
    pub range: Option<TargetRange>,
    /// α in [0, 1]: the weight of the image against curvature. `None` (default): 1 / (1 + ε·h), h the smallest spacing.
    pub alpha: Option<f64>,
    /// Δt. `None` (default): `cfl` times the largest stable step.
    pub time_step: Option<f64>,
    /// The share of the largest stable step that the automatic Δt takes, in (0, 1]. Default 0.9.
    pub cfl: f64,
    /// φ is made a distance again every so many iterations. Default 50; 0: never.
    pub reinitialise_every: u32,
    /// Iterations that the stop rule looks at together. `None` (default): as many as a front at the speed
    /// α·ε + (1 − α)/h needs for one voxel, 10 to 1000.
    pub check_interval: Option<u32>,
    /// Stop rule: the share of the voxels near the front that changed sign over the check interval. Default 1e-3.
    pub change_tolerance: f64,
    /// Stop rule: the change of φ near the front over the check interval, root mean square, in voxels. Default 0.5.
    pub rms_tolerance: f64,
    /// The implementation. Default: the band.
    pub variant: Variant,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            dimensions: Dimensions::Volume,
            spacing: [1.0; 3],
            range: None,
            alpha: None,
            time_step: None,
            cfl: 0.9,
            reinitialise_every: 50,
            check_interval: None,
            change_tolerance: 1e-3,
            rms_tolerance: 0.5,
            variant: Variant::Default,
        }
    }
}

/// What one iteration did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Counted from 1.
    pub iteration: u64,
    /// Voxels with φ < 0 after it.
    pub inside: u64,
    /// Voxels whose sign it changed.
    pub changed: u64,
    /// Voxels near the front before it: |φ| at most the largest spacing.
    pub near: u64,
    /// The root mean square of its change of φ over those, in units of the smallest spacing.
    pub rms: f64,
}

/// What a level set is at, and the parameters as resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Iterations done.
    pub iterations: u64,
    /// Δt.
    pub time_step: f64,
    /// The largest stable Δt.
    pub time_step_limit: f64,
    /// T.
    pub target: f64,
    /// ε.
    pub epsilon: f64,
    /// α.
    pub alpha: f64,
    /// Iterations that the stop rule looks at together.
    pub check_interval: u32,
    /// Whether the stop rule was met by the last step.
    pub converged: bool,
    /// Voxels with φ < 0.
    pub inside: u64,
    /// Tiles that the last iteration updated (`Dense`, `Scalar`: all).
    pub active_tiles: u64,
    /// Tiles of the whole image.
    pub tiles: u64,
}

/// An evolving surface. It copies the image, and keeps φ where it computes: on the context's device, or in main memory.
#[derive(Debug)]
pub struct LevelSet {
    context: Context,
}

impl LevelSet {
    /// Starts from the boundary of `mask` (pixels > 0 are inside) on `input` (u8, u16 or f32; the same size).
    ///
    /// # Errors
    /// A parameter out of range, sizes that do not match, no memory, a device failure.
    pub fn new(context: &Context, _input: Image<'_>, _mask: Image<'_>, _params: &Params) -> Result<Self> {
        let _ = context;
        Err(unbuilt())
    }

    /// Evolves by up to `iterations`; fewer where the stop rule is met ([`Report::converged`]).
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled): the last whole iteration is kept and can be read. A device
    /// failure.
    pub fn step(&mut self, _iterations: u64, _progress: Option<&mut Progress<'_>>) -> Result<Report> {
        let _turn = self.context.begin()?;
        Err(unbuilt())
    }

    /// Writes the mask: 255 where φ < 0, else 0 (u8).
    ///
    /// # Errors
    /// A size or type that does not match, a device failure.
    pub fn read_mask(&self, _mask: ImageMut<'_>) -> Result<()> {
        Err(unbuilt())
    }

    /// Writes φ (f32).
    ///
    /// # Errors
    /// As [`read_mask`](Self::read_mask).
    pub fn read_phi(&self, _phi: ImageMut<'_>) -> Result<()> {
        Err(unbuilt())
    }

    /// Replaces φ (f32, finite).
    ///
    /// # Errors
    /// As [`read_mask`](Self::read_mask); NaN or infinity.
    pub fn write_phi(&mut self, _phi: Image<'_>) -> Result<()> {
        Err(unbuilt())
    }

    /// What each iteration did; the last million are kept.
    pub fn statistics(&self) -> &[Statistics] {
        &[]
    }

    /// Where it is at.
    pub fn state(&self) -> State {
        State {
            iterations: 0,
            time_step: 0.0,
            time_step_limit: 0.0,
            target: 0.0,
            epsilon: 0.0,
            alpha: 0.0,
            check_interval: 0,
            converged: false,
            inside: 0,
            active_tiles: 0,
            tiles: 0,
        }
    }
}

/// In one call: starts from `mask`, evolves by up to `iterations` or until the stop rule is met, and writes the mask.
///
/// # Errors
/// As [`LevelSet`]'s. `output` is written only on success.
pub fn run(
    context: &Context,
    input: Image<'_>,
    mask: Image<'_>,
    params: &Params,
    iterations: u64,
    progress: Option<&mut Progress<'_>>,
    output: ImageMut<'_>,
) -> Result<Report> {
    let mut surface = LevelSet::new(context, input, mask, params)?;
    let report = surface.step(iterations, progress)?;
    surface.read_mask(output)?;
    Ok(report)
}

fn unbuilt() -> Error {
    Error::unsupported("the level set is not built yet")
}
