//! Coarse to fine: before its first iteration a front comes to rest on an image of half the size, and starts from there.
//!
//! The coarse level set is a level set like any other, with a coarser one of its own for the next level of the pyramid. It
//! has the same equation in the same units: the range, α and σ are those of the full image, the spacing is that of its own
//! voxels. Between two regions everything is measured anew on it, since its noise is less.

use super::{LevelSet, Params, Regions, STAGE};
use crate::device::Context;
use crate::distance;
use crate::error::{Error, Result};
use crate::image::{Dimensions, Image, zeroed_image};
use crate::level_set::parameters::{CHANGE_TOLERANCE, ITERATIONS, RMS_TOLERANCE};
use crate::progress::{Progress, Ticker, part, run as run_with_progress};
use crate::pyramid::{self, Halved};
use ndarray::{Array3, Axis};

/// The stage that progress callbacks get meanwhile.
const COARSE_STAGE: &str = "level set, reduced image";
/// The share of a step's progress that the coarse levels have.
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
pub(super) fn check(params: &Params, input: &Image<'_>, mask: &Image<'_>) -> Result<()> {
    let on_host = !matches!(input, Image::Device(_)) && !matches!(mask, Image::Device(_));
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
    /// Starts the next coarser level of `fine`; `None` where there is none: no axis has enough voxels, or the start, or what
    /// separates two regions, vanishes on it.
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

    /// Evolves to rest, and returns the mask of the front on the image that this is the half of.
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
    /// Returns the parameters of the next coarser level, which mean the same on its image.
    fn coarse_params(&self, params: &Params, halved: Halved) -> Params {
        let plan = &self.plan;
        let measured = params.regions.is_some();
        let never_stops = params.change_tolerance == 0.0 && params.rms_tolerance == 0.0;
        Params {
            spacing: std::array::from_fn(|axis| params.spacing[axis] * if halved[axis] { 2.0 } else { 1.0 }),
            range: (!measured).then_some(plan.range),
            side: (!measured).then_some(plan.side),
            // The means of binary pixels are shares.
            regions: match params.regions {
                Some(Regions::Bernoulli) => Some(Regions::ChanVese),
                regions => regions,
            },
            alpha: if measured { params.alpha } else { Some(plan.alpha) },
            edge_sigma: plan.edges.map(|edges| edges.sigma),
            // The largest stable step is longer on a coarse image.
            time_step: None,
            cfl: params.time_step.map_or(params.cfl, |step| step / plan.time_step_limit),
            change_tolerance: if never_stops { CHANGE_TOLERANCE.default } else { params.change_tolerance },
            rms_tolerance: if never_stops { RMS_TOLERANCE.default } else { params.rms_tolerance },
            pyramid_levels: params.pyramid_levels - 1,
            ..params.clone()
        }
    }

    /// Lets the coarser levels come to rest, unless they have, and starts from where they are.
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

    /// Returns the distance to the boundary of a mask; where a mask (in 2D a slice of it) has none, φ as it is. `None` where
    /// that is everywhere.
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
