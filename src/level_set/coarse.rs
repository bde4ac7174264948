//! Coarse to fine: a level set first runs on an image of half the size until its front is at rest; the front on the full
//! image starts from there.
//!
//! The coarse level set is an ordinary [`LevelSet`], which may hold a coarser one for the next level of the pyramid. It
//! solves the same equation in the same units: it takes the range, α and σ of the full image, and the spacing of its own,
//! larger voxels. With [`Params::regions`] the range and the automatic α are measured anew on each level, since averaging
//! reduces the noise.

use super::{LevelSet, Params, Regions, STAGE};
use crate::device::Context;
use crate::distance;
use crate::error::{Error, Result};
use crate::image::{Dimensions, Image, zeroed_image};
use crate::level_set::parameters::{CHANGE_TOLERANCE, ITERATIONS, RMS_TOLERANCE};
use crate::progress::{Progress, Ticker, part, run as run_with_progress};
use crate::pyramid::{self, Halved};
use ndarray::{Array3, Axis};

/// The name of the stage that progress callbacks get while a coarse level runs.
const COARSE_STAGE: &str = "level set, reduced image";
/// The share of a step's progress that the coarse levels take.
pub(super) const SHARE: f64 = 0.25;
/// The most iterations of a coarse level.
const MOST_ITERATIONS: u64 = ITERATIONS.default as u64;

/// A level set on a reduced image.
#[derive(Debug)]
pub(super) struct Coarse {
    level_set: LevelSet,
    /// The axes along which it has half of the finer image's voxels.
    halved: Halved,
}

/// Refuses a pyramid of an image in device memory.
pub(super) fn check(params: &Params, on_host: bool) -> Result<()> {
    if params.pyramid_levels > 1 && !on_host {
        return Err(Error::unsupported(format!(
            "cannot reduce an image or mask in CUDA memory: the pyramid of a level set is made in host memory (got \
             pyramid_levels {}); give both in host memory, or set pyramid_levels to 1",
            params.pyramid_levels
        )));
    }
    Ok(())
}

impl Coarse {
    /// Starts the next coarser level of `fine`. Returns `None` if `fine` is to be the coarsest: all levels are made, the image
    /// is too small to be reduced, or the reduced initial mask has no boundary or does not separate two regions.
    pub(super) fn new(
        context: &Context,
        fine: &LevelSet,
        params: &Params,
        input: &Image<'_>,
        mask: &Image<'_>,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<Option<Self>> {
        let halved = pyramid::axes_to_halve(fine.plan.shape, params.used_spacing());
        if params.pyramid_levels <= 1 || halved == [false; 3] {
            return Ok(None);
        }
        let binary = params.regions == Some(Regions::Bernoulli);
        let ticker = Ticker::following(STAGE);
        let (image, start) = run_with_progress(context.pool(), progress, &ticker, || {
            Ok((pyramid::means(input, halved, binary, &ticker)?, pyramid::majorities(mask, halved, &ticker)?))
        })?;
        if !has_front(start.iter().copied()) {
            return Ok(None);
        }
        let params = fine.coarse_params(params, halved);
        let level_set = LevelSet::start_levels(context, image.view().into(), start.view().into(), &params, progress)?;
        Ok(level_set.map(|level_set| Self { level_set, halved }))
    }

    /// Returns the number of iterations of this level and of all coarser ones.
    fn iterations(&self) -> u64 {
        self.level_set.monitor.iterations + u64::from(self.level_set.coarse_iterations)
    }

    /// Evolves until the front is at rest, and returns its mask at `shape`, the size of the next finer image.
    fn run(&mut self, shape: [usize; 3], progress: &mut Option<&mut Progress<'_>>) -> Result<Array3<u8>> {
        let Self { level_set, halved } = self;
        let left = MOST_ITERATIONS.saturating_sub(level_set.monitor.iterations);
        if left > 0 && !level_set.is_at_rest {
            level_set.step(left, progress.as_deref_mut())?;
        }
        let [width, height, depth] = level_set.plan.shape;
        log::info!(
            "level set: {} iterations on a reduced image of {width} x {height} x {depth} voxels, {}",
            level_set.monitor.iterations,
            if level_set.is_at_rest { "until the front was at rest" } else { "not yet at rest" }
        );
        let mut phi = zeroed_image::<f32>((depth, height, width))?;
        level_set.read_phi(phi.view_mut().into())?;
        let ticker = Ticker::at_the_end(COARSE_STAGE);
        run_with_progress(level_set.context.pool(), progress, &ticker, || {
            pyramid::enlarged_mask(&phi, *halved, shape, &ticker)
        })
    }
}

impl LevelSet {
    /// Returns the parameters for the next coarser level, converted so that they have the same meaning on its image.
    fn coarse_params(&self, params: &Params, halved: Halved) -> Params {
        let plan = &self.plan;
        let measured = params.regions.is_some();
        let never_stops = params.change_tolerance == 0.0 && params.rms_tolerance == 0.0;
        Params {
            spacing: std::array::from_fn(|axis| params.spacing[axis] * if halved[axis] { 2.0 } else { 1.0 }),
            range: (!measured).then_some(plan.range),
            side: (!measured).then_some(plan.side),
            // The mean of binary pixels is a share between 0 and 1, so a reduced binary image is no longer binary.
            regions: match params.regions {
                Some(Regions::Bernoulli) => Some(Regions::ChanVese),
                regions => regions,
            },
            alpha: if measured { params.alpha } else { Some(plan.alpha) },
            edge_sigma: plan.edges.map(|edges| edges.sigma),
            // The coarse image has a longer stable step. Keep the ratio to it, as `cfl`.
            time_step: None,
            cfl: params.time_step.map_or(params.cfl, |step| step / plan.time_step_limit),
            change_tolerance: if never_stops { CHANGE_TOLERANCE.default } else { params.change_tolerance },
            rms_tolerance: if never_stops { RMS_TOLERANCE.default } else { params.rms_tolerance },
            pyramid_levels: params.pyramid_levels - 1,
            ..params.clone()
        }
    }

    /// Runs the coarser levels until their fronts are at rest, if this has not been done, and starts from the result.
    pub(super) fn start_from_coarse(&mut self, progress: &mut Option<&mut Progress<'_>>) -> Result<()> {
        let Some(coarse) = &mut self.coarse else { return Ok(()) };
        let shape = self.plan.shape;
        let mask = part(progress, [0.0, SHARE], COARSE_STAGE, |progress| coarse.run(shape, progress))?;
        let iterations = coarse.iterations();
        if let Some(phi) = self.distance_to(&mask, progress)? {
            self.write_phi(phi.view().into())?;
        }
        (self.coarse, self.coarse_iterations) = (None, iterations as u32);
        Ok(())
    }

    /// Returns the signed distance to the boundary of a mask. Images without a boundary (slices in 2D, or the volume) keep
    /// their present φ; the result is `None` if no image has one.
    fn distance_to(&self, mask: &Array3<u8>, progress: &mut Option<&mut Progress<'_>>) -> Result<Option<Array3<f32>>> {
        let plan = &self.plan;
        let images = if plan.dimensions == Dimensions::Volume { 1 } else { plan.shape[2] };
        let voxels = plan.voxels() / images;
        let mask_voxels = mask.as_slice().unwrap_or_default();
        let has_front = |image: &[u8]| has_front(image.iter().copied());
        let lost = mask_voxels.chunks(voxels).filter(|image| !has_front(image)).count();
        if lost == images {
            return Ok(None);
        }
        let params = distance::Params { dimensions: plan.dimensions, spacing: plan.spacing, ..Default::default() };
        let mut phi = zeroed_image::<f32>(mask.dim())?;
        part(progress, [SHARE, SHARE], COARSE_STAGE, |progress| {
            let progress = progress.as_deref_mut();
            distance::run(&self.context, mask.view().into(), &params, progress, phi.view_mut().into())
        })?;
        if lost > 0 {
            let mut before = zeroed_image::<f32>(mask.dim())?;
            self.read_phi(before.view_mut().into())?;
            for (z, _) in mask_voxels.chunks(voxels).enumerate().filter(|(_, image)| !has_front(image)) {
                phi.index_axis_mut(Axis(0), z).assign(&before.index_axis(Axis(0), z));
            }
        }
        Ok(Some(phi))
    }
}

/// Tells whether a mask has pixels of both kinds.
fn has_front(mut mask: impl Iterator<Item = u8>) -> bool {
    let first = mask.next();
    mask.any(|pixel| Some(pixel) != first)
}
