//! Region snakes: maximum-likelihood region-based active contours. Polygons divide a noisy image into targets, from one to
//! thousands, and background.
//!
//! Target and background each have their own distribution of grey values. The polygon moves and gains nodes as long as this
//! increases the likelihood of the image (Chesnaud, Réfrégier and Boulet 1999; Perrot et al. 2011). For Gaussian noise the
//! criterion is ½ (N_B ln σ²_B + N_T ln σ²_T); for other noise see [`Noise`]. No edge is needed: regions with equal means
//! but different variances are separated.
//!
//! * **Coordinates:** nodes lie on pixel corners; (0, 0) is the upper left corner of the image. A pixel belongs to the
//!   polygon that contains its centre. Polygons never touch themselves.
//! * **Exact:** sums over polygons are integers, and equal the sums over their pixels; f32 images are converted to 65536
//!   levels of their range.
//! * **Same results everywhere:** each target is searched separately, so the order and the number of threads do not matter,
//!   and every run gives the same bits.
//! * **Local optimum:** a target that has converged cannot be improved by moving one node by one pixel.
//!
//! ```
//! use isoline::Context;
//! use isoline::snake::{self, Node, Params, Polygons, Status};
//! use ndarray::Array2;
//!
//! // A bright square of 30 by 30 pixels, and a start that has more of it than of the ground.
//! let bright = |x: usize, y: usize| (20..50).contains(&x) && (10..40).contains(&y);
//! let image = Array2::from_shape_fn((60, 80), |(y, x)| if bright(x, y) { 200u8 } else { 50 });
//! let mut start = Polygons::new();
//! start.push(&[Node::new(25, 15), Node::new(60, 15), Node::new(60, 50), Node::new(25, 50)]);
//! let context = Context::new("auto")?;
//! let (found, statistics, _) = snake::run(&context, image.view().into(), Some(&start), &Params::default(), None)?;
//! assert_eq!(statistics[0].status, Status::Converged);
//! assert!(statistics[0].pixels.abs_diff(900) < 50);
//! println!("{:?}", found.get(0));
//! # Ok::<(), isoline::Error>(())
//! ```

mod backend;
mod clip;
mod coarse;
mod cpu;
mod criterion;
mod cuda;
mod draw;
mod edge_index;
mod image;
pub(crate) mod parameters;
mod params;
mod polygon;
mod search;
mod smooth;
mod stack;
mod sums;
mod sweep;
mod territory;

pub use criterion::Noise;
pub use params::{Background, DEFAULT_MARGIN, Overlap, Params, Schedule};
pub use polygon::{MAX_COORDINATE, Node, Polygons};
pub use smooth::{Curves, MAX_POINTS_PER_EDGE};
pub use sums::RegionSum;

use crate::device::Context;
use crate::error::{Error, Result};
use crate::image::{Image, PixelType, check_shapes, check_type};
use crate::memory::{collected, push, reserved, zeroed};
use crate::parallel::try_par_indexed;
use crate::progress::{self, Progress, Ticker};
use crate::report::Report;
use crate::slice_io::{Input, Output};
use backend::Backend;
use image::LevelScale;
use polygon::Bounds;
use search::Target;
use stack::{divided, initial_targets};
use std::sync::OnceLock;
use std::time::Instant;

/// The number of polygons that are summed together, few enough for their copies to be freed soon after a cancellation.
const SUMMED_TOGETHER: usize = 1 << 16;

/// The names of the stages that progress callbacks get.
const MEASURING: &str = "measuring the polygons";
const MOVING: &str = "moving the polygons";

/// The state of a target's search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// It has not ended.
    Running,
    /// No move of one node by one pixel improves the criterion, and no node can be removed (with a `node_cost` above 0) or
    /// added (with a `node_cost` of 0).
    Converged,
    /// The target has no pixels left.
    Vanished,
    /// The start lies outside the image. The nodes are unchanged.
    StartOutside,
    /// [`Params::max_iterations`] was reached.
    IterationLimit,
}

/// The statistics of one target. Grey values are in the image's own units.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// The state of its search.
    pub status: Status,
    /// The number of iterations done.
    pub iterations: u64,
    /// The number of nodes of its polygon.
    pub nodes: u64,
    /// The number of its pixels, without those in other targets' territories.
    pub pixels: u64,
    /// The number of pixels of its background.
    pub background_pixels: u64,
    /// The mean inside; NaN without pixels, like the next three.
    pub mean: f64,
    /// The standard deviation inside.
    pub deviation: f64,
    /// The mean of the background.
    pub background_mean: f64,
    /// The standard deviation of the background.
    pub background_deviation: f64,
    /// The criterion, without the cost of nodes; smaller is better. Values can be compared for the same pixels only.
    pub criterion: f64,
    /// The polygon shares a pixel with the polygon of another target or, if targets compete, reaches the border to another
    /// target's territory.
    pub overlaps: bool,
    /// A node lies on the border of the image: the object may continue outside.
    pub touches_image: bool,
    /// A node lies on the border of the window, inside the image: the object may be larger, or there is no object that
    /// stands out.
    pub touches_window: bool,
    /// All pixels of target and background are equal, so that no outline is better than another.
    pub flat: bool,
}

/// The largest side of an image, in pixels, for which the integers of the search cannot overflow.
pub const MAX_SIDE: usize = 1 << 25;

/// The most nodes of a polygon.
pub const MAX_NODES: u32 = 65536;

/// The most pixels of a slice: Σz² of 16-bit pixels must fit 63 bits.
pub const MAX_PIXELS: usize = 1 << 31;

/// The snakes of one image. The object keeps a copy of the image with the prefix sums of its rows, so that many searches
/// can be made on it. Several slices can be searched by [`run`] only, which does not keep them.
#[derive(Debug)]
pub struct Snake {
    context: Context,
    level_scale: LevelScale,
    backend: Backend,
    params: Params,
    targets: Vec<Target>,
    /// The slice of each target.
    slices: Vec<u32>,
    /// The number of slices of the image.
    depth: usize,
    /// The snake on the image of half the size, if there is one.
    coarse: Option<Box<Snake>>,
    /// The number of pyramid levels for which the image was reduced.
    most_levels: u32,
    /// True until the first iteration.
    is_at_start: bool,
    /// For each target true if it overlaps another one; computed when it is first needed.
    overlapping: OnceLock<Vec<bool>>,
}

impl Snake {
    /// Starts on `input` (u8, u16 or f32; one slice) with a target for each of the `initial` polygons. `None` starts with
    /// one default polygon: a rectangle with a margin of a quarter of the image's side on each side.
    ///
    /// # Errors
    /// A parameter out of range; more than one slice; an image over [`MAX_SIDE`] or [`MAX_PIXELS`]; a polygon of less than
    /// 3 nodes or of more than `max_nodes`, or one that crosses itself (the message names the edges); out of memory; a
    /// device failure.
    pub fn new(context: &Context, input: Image<'_>, initial: Option<&Polygons>, params: &Params) -> Result<Self> {
        Self::start(context, input, initial, params, &mut None)
    }

    /// Does what [`new`](Self::new) does; `progress` can cancel it, and is called with a fraction of 0.
    pub(crate) fn start(
        context: &Context,
        image: Image<'_>,
        initial: Option<&Polygons>,
        params: &Params,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<Self> {
        let shape @ [width, height, depth] = image.shape();
        if depth != 1 {
            return Err(Error::size(format!(
                "cannot start a region snake that goes on step by step: it takes one slice (got {width} x {height} x \
                 {depth}); give it one slice, or search all of them in one run"
            )));
        }
        let mut input = image.into();
        check(params, &input)?;
        let _lock = context.lock()?;
        let mut watch = Watch { ticker: &Ticker::new(MEASURING), progress };
        let (unmeasured, _) = initial_targets(context, params, initial, shape, &mut watch)?;
        let unmeasured = divided(context, params, unmeasured, &mut watch)?;
        let level_scale = LevelScale::new(context, &mut input, params, watch.progress)?;
        Self::on_level(context, image, params, level_scale, unmeasured, &mut watch)
    }

    /// Starts on one level of the pyramid and on all coarser ones.
    fn on_level(
        context: &Context,
        input: Image<'_>,
        params: &Params,
        level_scale: LevelScale,
        unmeasured: Vec<Target>,
        watch: &mut Watch<'_, '_, '_>,
    ) -> Result<Self> {
        let (backend, targets) = Backend::new(context, &input, params, &level_scale, unmeasured, watch)?;
        let [width, height] = backend.size();
        log::debug!("region snakes: {} targets on {width} x {height} pixels: {params:?}", targets.len());
        Ok(Self {
            context: context.clone(),
            coarse: coarse::start(context, &input, params, &level_scale, &targets, watch)?,
            level_scale,
            backend,
            params: params.clone(),
            slices: zeroed(targets.len())?,
            targets,
            depth: 1,
            most_levels: params.pyramid_levels,
            is_at_start: true,
            overlapping: OnceLock::new(),
        })
    }

    /// Starts again on the same image and device, with other polygons or parameters. The levels of the image cannot change,
    /// so the range must stay the same, and the noise model may change except from or to [`Noise::Bernoulli`]. With an
    /// automatic range of an f32 image it may not change from or to [`Noise::Gaussian`] either, because the range of the
    /// other models begins at 0.
    ///
    /// # Errors
    /// Those of [`new`](Self::new); more `pyramid_levels` than were given there; a snake that [`run`] made from several
    /// slices, or from slices that a function read. The targets are then unchanged.
    pub fn restart(&mut self, initial: Option<&Polygons>, params: &Params) -> Result<()> {
        params.check(self.level_scale.pixel_type)?;
        self.backend.check_kept()?;
        let binary = |params: &Params| params.noise == Noise::Bernoulli;
        if binary(params) != binary(&self.params) || params.range != self.params.range {
            return Err(Error::argument(
                "the noise model cannot change from or to bernoulli, nor the range change, on the same image; make a new snake",
            ));
        }
        let automatic = self.level_scale.quantise.is_some() && params.range.is_none();
        if automatic && params.noise.depends_on_offset() != self.params.noise.depends_on_offset() {
            return Err(Error::argument(
                "the noise model of a float32 image with an automatic range cannot change from or to gaussian: the other \
                 models' range begins at 0; give range_min and range_max, or make a new snake",
            ));
        }
        if params.pyramid_levels > self.most_levels {
            return Err(Error::argument(format!(
                "cannot use pyramid_levels {} on an image that was reduced for {} when the snake was made; make a new snake",
                params.pyramid_levels, self.most_levels
            )));
        }
        let context = self.context.clone();
        let _lock = context.lock()?;
        let mut watch = Watch { ticker: &Ticker::new(MEASURING), progress: &mut None };
        let [width, height] = self.backend.size();
        let (unmeasured, slices) = initial_targets(&context, params, initial, [width, height, self.depth], &mut watch)?;
        let mut targets = divided(&context, params, unmeasured, &mut watch)?;
        self.backend.measure(&context, params, &mut targets, &mut watch)?;
        self.targets = targets;
        self.slices = slices;
        self.overlapping.take();
        self.set_params(params);
        Ok(())
    }

    /// Makes up to `iterations` iterations of each running target. The report's `converged` is `true` once all targets have
    /// ended, with any [`Status`]. The first report includes the upload and the sums of [`new`](Self::new).
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled): every target keeps its last whole iteration.
    pub fn step(&mut self, iterations: u64, mut progress: Option<&mut Progress<'_>>) -> Result<Report> {
        let started = Instant::now();
        let context = self.context.clone();
        let _lock = context.lock()?;
        self.overlapping.take();
        let mut report = self.advance(iterations, &mut progress)?;
        self.complete(&mut report, started);
        Ok(report)
    }

    /// Completes the report of a call that began at `started`.
    fn complete(&self, report: &mut Report, started: Instant) {
        report.slices_done = self.depth as u64;
        report.iterations = self.targets.iter().map(|target| target.iterations).max().unwrap_or(0);
        report.converged = self.targets.iter().all(|target| target.status != Status::Running);
        report.complete(started, format_args!("region snakes, {} targets", self.targets.len()));
    }

    /// Does what [`step`](Self::step) does, in a call that has locked the context.
    fn advance(&mut self, iterations: u64, progress: &mut Option<&mut Progress<'_>>) -> Result<Report> {
        let has_coarse = self.coarse.is_some() && self.params.pyramid_levels > 1;
        let starts = has_coarse && iterations > 0 && std::mem::take(&mut self.is_at_start);
        let started = if starts { self.start_from_coarse(progress) } else { Ok(()) };
        self.is_at_start |= started.is_err();
        started?;
        let Self { context, backend, params, targets, .. } = self;
        if !starts {
            return backend.iterate(context, params, targets, iterations, progress);
        }
        progress::part(progress, [coarse::SHARE, 1.0], MOVING, |progress| {
            backend.iterate(context, params, targets, iterations, progress)
        })
    }

    /// Returns the number of targets.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Returns whether there is no target.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Returns the current polygons in the order of the initial ones. They are clockwise on the screen, and do not touch
    /// themselves. Polygons of targets with [`Status::StartOutside`] are returned as they were given.
    ///
    /// # Panics
    /// When out of memory; [`try_polygons`](Self::try_polygons) does not.
    pub fn polygons(&self) -> Polygons {
        self.try_polygons().unwrap()
    }

    /// Does the same as [`polygons`](Self::polygons), but returns an error when out of memory.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory).
    pub fn try_polygons(&self) -> Result<Polygons> {
        let nodes = self.targets.iter().map(|target| target.nodes.len()).sum();
        let mut polygons = Polygons::try_with_capacity(self.targets.len(), nodes)?;
        let ticker = Ticker::new("copying the polygons");
        for (target, slice) in self.targets.iter().zip(&self.slices) {
            ticker.check()?;
            polygons.push_on(*slice, &target.nodes);
        }
        Ok(polygons)
    }

    /// Returns the statistics of each target, in the order of the initial polygons.
    ///
    /// # Panics
    /// When out of memory; [`try_statistics`](Self::try_statistics) does not.
    pub fn statistics(&self) -> Vec<Statistics> {
        self.try_statistics().unwrap()
    }

    /// Does the same as [`statistics`](Self::statistics), but returns an error when out of memory.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory).
    pub fn try_statistics(&self) -> Result<Vec<Statistics>> {
        collected(self.statistics_from(0)?)
    }

    /// Returns the statistics of the targets from `first` on.
    pub(crate) fn statistics_from(&self, first: usize) -> Result<impl ExactSizeIterator<Item = Statistics>> {
        let overlapping = match self.overlapping.get() {
            Some(overlapping) => overlapping,
            None => {
                let found = self.find_overlaps()?;
                self.overlapping.get_or_init(|| found)
            }
        };
        let image = Bounds::of_image(self.backend.size());
        let targets = self.targets.iter().zip(overlapping).skip(first);
        Ok(targets.map(move |(target, overlaps)| self.level_scale.statistics(target, *overlaps, &image)))
    }

    /// Returns for each target true if it overlaps another one on its slice.
    fn find_overlaps(&self) -> Result<Vec<bool>> {
        let ticker = Ticker::new("looking for overlaps");
        let order = stack::by_slice(&self.slices, &ticker)?;
        let mut overlapping = zeroed(self.targets.len())?;
        for group in stack::groups(&order, &self.slices) {
            let targets: Vec<&Target> = collected(group.iter().map(|index| &self.targets[*index]))?;
            let found = self.context.pool().install(|| draw::overlapping(&targets, &ticker))?;
            group.iter().zip(found).for_each(|(index, found)| overlapping[*index] = found);
        }
        Ok(overlapping)
    }

    /// Returns for each polygon the exact sums over its pixels in the image: their number, Σz and Σz². Here z is the level,
    /// which is the pixel value in 8- and 16-bit images. No polygon may cross itself.
    ///
    /// # Errors
    /// A polygon of less than 3 or more than 65536 nodes, or one that crosses itself (the message names the edges); a snake
    /// that [`run`] made from several slices, or from slices that a function read; a device failure.
    pub fn region_sums(&self, polygons: &Polygons) -> Result<Vec<RegionSum>> {
        self.backend.check_kept()?;
        let image = Bounds::of_image(self.backend.size());
        let mut sums = reserved(polygons.len())?;
        sums.resize(polygons.len(), RegionSum::default());
        let ticker = Ticker::new("summing polygons");
        let clipped = |index: usize| {
            ticker.check()?;
            let polygon = polygons.get(index).unwrap_or_default();
            if polygon.len() > MAX_NODES as usize {
                return Err(Error::argument(format!(
                    "polygon {index} has {} nodes, but sums are made over polygons of up to {MAX_NODES}; leave out nodes",
                    polygon.len()
                )));
            }
            clip::clip(&polygon::validated(polygon, index)?, &image, &ticker)
        };
        let _lock = self.context.lock()?;
        for first in (0..polygons.len()).step_by(SUMMED_TOGETHER) {
            let count = SUMMED_TOGETHER.min(polygons.len() - first);
            let part = self.context.pool().install(|| try_par_indexed(count, |index| clipped(first + index)))?;
            let (mut indices, mut inside) = (Vec::new(), Vec::new());
            for (index, nodes) in part.into_iter().enumerate() {
                if !nodes.is_empty() {
                    push(&mut indices, first + index)?;
                    push(&mut inside, nodes)?;
                }
            }
            if !inside.is_empty() {
                for (index, sum) in
                    indices.into_iter().zip(self.backend.sums(&self.context, inside, &image, &ticker)?)
                {
                    sums[index] = sum;
                }
            }
        }
        Ok(sums)
    }

    /// Returns the mean and the standard deviation of the pixels of one of the [`region_sums`](Self::region_sums), in the
    /// image's own units; NaN if there are no pixels.
    pub fn moments(&self, sum: &RegionSum) -> [f64; 2] {
        self.level_scale.moments(sum)
    }

    /// Writes 255 where a pixel belongs to any target, else 0 (u8), into memory or slice by slice to a
    /// [`Sink`](crate::Sink).
    ///
    /// # Errors
    /// A size or type that does not match; device memory; an error of the sink.
    pub fn read_mask(&self, output: Output<'_>) -> Result<()> {
        check_output("mask", &output, self.shape(), PixelType::U8)?;
        draw::draw(&self.context, (&self.targets, &self.slices), output, &mut None, |_| 255)
    }

    /// Writes a label image: the number of the target that a pixel belongs to, counted from 1, else 0 (u16; f32 for more
    /// than 65535 targets). Where targets overlap, the smallest number is written.
    ///
    /// # Errors
    /// Those of [`read_mask`](Self::read_mask); more targets than the type can count.
    pub fn read_labels(&self, output: Output<'_>) -> Result<()> {
        self.read_labels_while(output, &mut None)
    }

    /// Does what [`read_labels`](Self::read_labels) does; `progress` can cancel it.
    pub(crate) fn read_labels_while(&self, output: Output<'_>, progress: &mut Option<&mut Progress<'_>>) -> Result<()> {
        Self::check_labels(&output, self.shape(), self.targets.len())?;
        draw::draw(&self.context, (&self.targets, &self.slices), output, progress, |index| index as u32 + 1)
    }

    /// Refuses a label image that does not have the size of the input, or cannot count to the number of targets.
    pub(crate) fn check_labels(output: &Output<'_>, shape: [usize; 3], count: usize) -> Result<()> {
        let wanted = if output.pixel_type() == PixelType::F32 { PixelType::F32 } else { PixelType::U16 };
        check_output("label image", output, shape, wanted)?;
        match wanted {
            PixelType::F32 if count > 1 << 24 => Err(Error::argument(format!(
                "a float32 label image counts to {}, but there are {count} targets; take fewer",
                1 << 24
            ))),
            PixelType::U16 if count > 65535 => Err(Error::argument(format!(
                "a uint16 label image counts to 65535, but there are {count} targets; use float32"
            ))),
            _ => Ok(()),
        }
    }

    fn shape(&self) -> [usize; 3] {
        let [width, height] = self.backend.size();
        [width, height, self.depth]
    }
}

fn check_output(name: &str, output: &Output<'_>, shape: [usize; 3], wanted: PixelType) -> Result<()> {
    check_shapes(shape, output.shape())?;
    check_type(name, output.pixel_type(), wanted)?;
    if !output.on_host() {
        return Err(Error::unsupported(format!(
            "the {name} is drawn into host memory, but this one is in CUDA memory; give host memory"
        )));
    }
    Ok(())
}

/// The progress callback and the ticker of work that a callback can cancel.
struct Watch<'w, 'p, 'c> {
    ticker: &'w Ticker,
    progress: &'w mut Option<&'p mut Progress<'c>>,
}

impl Watch<'_, '_, '_> {
    /// Runs `work` on the threads of a context, unless it is cancelled.
    fn run<T: Send>(&mut self, context: &Context, work: impl FnOnce(&Ticker) -> Result<T> + Send) -> Result<T> {
        progress::run(context.pool(), self.progress, self.ticker, || work(self.ticker))
    }
}

/// Refuses parameters, and images that are too large.
pub(crate) fn check(params: &Params, input: &Input<'_>) -> Result<()> {
    params.check(input.pixel_type())?;
    let [width, height, depth] = input.shape();
    if width > MAX_SIDE || height > MAX_SIDE || width.saturating_mul(height) > MAX_PIXELS || depth > u32::MAX as usize {
        return Err(Error::size(format!(
            "a region snake takes slices of up to {MAX_SIDE} pixels a side and {MAX_PIXELS} pixels in all, up to {} of \
             them, but the size is {width} x {height} x {depth}; cut it into parts",
            u32::MAX
        )));
    }
    check_shapes(input.shape(), input.shape())?;
    match input {
        Input::Image(image) => coarse::check(params, image),
        Input::Source(_) => Ok(()),
    }
}

/// Starts snakes, iterates until every target has ended, and returns polygons and statistics.
///
/// `input`: u8, u16 or f32; one slice or several, in memory, or slices that a function reads ([`Source`](crate::Source)).
/// Each polygon is searched on its slice ([`Polygons::push_on`]) as if that were the whole image. So the result is the same
/// as that of a run for each slice, except that the automatic range of an f32 image is measured over all slices. The slices
/// that have polygons are read in ascending order, and one at a time is in memory; an automatic range is measured in all
/// slices before. Without `initial` there is the default polygon on each slice. The fraction of `progress` is the share of
/// targets that have ended.
///
/// # Errors
/// Those of [`Snake::new`], except that several slices are allowed, and of [`Snake::step`]; a slice that the image does not
/// have; an error of the function.
pub fn run(
    context: &Context,
    input: Input<'_>,
    initial: Option<&Polygons>,
    params: &Params,
    progress: Option<&mut Progress<'_>>,
) -> Result<(Polygons, Vec<Statistics>, Report)> {
    let (snake, report) = Snake::run(context, input, initial, params, progress)?;
    Ok((snake.try_polygons()?, snake.try_statistics()?, report))
}
