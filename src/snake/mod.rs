//! Region snakes: maximum-likelihood region-based active contours. Polygons split a noisy image into targets, one or
//! thousands, and background.
//!
//! Target and background each have their own distribution of grey values; the polygon moves, and gains nodes, while
//! that makes the image more likely (Chesnaud, Réfrégier and Boulet 1999; Perrot et al. 2011). For Gaussian noise the
//! criterion is ½ (N_B ln σ²_B + N_T ln σ²_T); [`Noise`] has the others. No edge is needed: regions of equal mean but
//! different variance are separated.
//!
//! * **Coordinates:** nodes lie on pixel corners, (0, 0) is the upper left one of the image; a pixel belongs to the
//!   polygon that contains its centre. Polygons never touch themselves.
//! * **Exact:** sums over polygons are integers, equal to sums over the pixels one by one; f32 images are computed in
//!   65536 levels of their range.
//! * **Same results everywhere:** each target is searched by itself, so that order and number of threads do not matter,
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
use crate::image::{Image, ImageMut, PixelType, check_shapes, check_type, collected, push, reserved, try_par_indexed};
use crate::progress::{self, Progress, Ticker};
use crate::report::Report;
use backend::Backend;
use image::LevelScale;
use polygon::Bounds;
use search::Target;
use std::sync::OnceLock;
use std::time::Instant;

/// The number of polygons whose sums are made together: so few that their copies are freed soon after a cancellation.
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
    /// No move of one node by one pixel improves the criterion; and no node is to be removed (with a `node_cost` above
    /// 0) or added (with a `node_cost` of 0).
    Converged,
    /// No pixel is left in it.
    Vanished,
    /// Its start lies outside the image. Its nodes are as they were.
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
    /// The number of pixels in it; those of other territories do not count.
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
    /// The criterion, without the cost of nodes; smaller is better, comparable only on the same pixels.
    pub criterion: f64,
    /// Its polygon has a pixel in common with that of another target or, where targets compete, reaches the border to
    /// the territory of another one.
    pub overlaps: bool,
    /// A node lies on the border of the image: the object may continue outside.
    pub touches_image: bool,
    /// A node lies on the border of the window, within the image: the object may be larger, or nothing stood out.
    pub touches_window: bool,
    /// All pixels of target and background are equal, so that no outline is better than another.
    pub flat: bool,
}

/// The largest side of an image, in pixels: the search's integers are made for it.
pub const MAX_SIDE: usize = 1 << 25;

/// The most nodes of a polygon.
pub const MAX_NODES: u32 = 65536;

/// The most pixels of an image: Σz² of 16-bit pixels must fit 63 bits.
pub const MAX_PIXELS: usize = 1 << 31;

/// The snakes of one image. The object keeps a copy of the image with the prefix sums of its rows, so that many
/// searches can be made on it.
#[derive(Debug)]
pub struct Snake {
    context: Context,
    level_scale: LevelScale,
    backend: Backend,
    params: Params,
    targets: Vec<Target>,
    /// The snake on the image of half the size.
    coarse: Option<Box<Snake>>,
    /// The levels of the pyramid that the image was reduced for.
    most_levels: u32,
    /// True until the first iteration.
    is_at_start: bool,
    /// For each target whether it overlaps another one; computed where it is asked for.
    overlapping: OnceLock<Vec<bool>>,
}

impl Snake {
    /// Starts on `input` (u8, u16 or f32; one slice) with a target for each of the `initial` polygons, or for the
    /// default one (`None`): a rectangle that leaves a quarter of each side free around it.
    ///
    /// # Errors
    /// A parameter out of range; more than one slice; an image over [`MAX_SIDE`] or [`MAX_PIXELS`]; a polygon of less
    /// than 3 nodes or of more than `max_nodes`, or that crosses itself, with the edges; out of memory; a device
    /// failure.
    pub fn new(context: &Context, input: Image<'_>, initial: Option<&Polygons>, params: &Params) -> Result<Self> {
        Self::start(context, input, initial, params, &mut None)
    }

    /// The same; `progress` can cancel it, and is given a fraction of 0.
    pub(crate) fn start(
        context: &Context,
        input: Image<'_>,
        initial: Option<&Polygons>,
        params: &Params,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<Self> {
        params.check(input.pixel_type())?;
        let [width, height, depth] = input.shape();
        if depth != 1 {
            return Err(Error::size(format!(
                "a region snake takes one slice, but the size is {width} x {height} x {depth}; give it slice after slice"
            )));
        }
        if width > MAX_SIDE || height > MAX_SIDE || width.saturating_mul(height) > MAX_PIXELS {
            return Err(Error::size(format!(
                "a region snake takes images of up to {MAX_SIDE} pixels a side and {MAX_PIXELS} pixels in all, but the size \
                 is {width} x {height}; cut it into parts"
            )));
        }
        check_shapes(input.shape(), input.shape())?;
        coarse::check(params, &input)?;
        let _lock = context.lock()?;
        let mut watch = Watch { ticker: &Ticker::new(MEASURING), progress };
        let unmeasured = initial_targets(context, params, initial, [width, height], &mut watch)?;
        Self::on_level(context, input, params, unmeasured, &mut watch)
    }

    /// Starts on one level of the pyramid, and on the coarser ones.
    fn on_level(
        context: &Context,
        input: Image<'_>,
        params: &Params,
        unmeasured: Vec<Target>,
        watch: &mut Watch<'_, '_, '_>,
    ) -> Result<Self> {
        let level_scale = LevelScale::new(context, &input, params, watch)?;
        let (backend, targets) = Backend::new(context, &input, params, &level_scale, unmeasured, watch)?;
        let [width, height] = backend.size();
        log::debug!("region snakes: {} targets on {width} x {height} pixels: {params:?}", targets.len());
        Ok(Self {
            context: context.clone(),
            coarse: coarse::start(context, &input, params, &level_scale, &targets, watch)?,
            level_scale,
            backend,
            params: params.clone(),
            targets,
            most_levels: params.pyramid_levels,
            is_at_start: true,
            overlapping: OnceLock::new(),
        })
    }

    /// Starts again on the same image and device, with other polygons or parameters. The noise model may change, except
    /// from or to [`Noise::Bernoulli`], and the range may not: the levels of the image depend on these. With an
    /// automatic range of an f32 image [`Noise::Gaussian`] does not change either: the other models' range begins at 0.
    ///
    /// # Errors
    /// Those of [`new`](Self::new); more `pyramid_levels` than there. The targets then stay as they were.
    pub fn restart(&mut self, initial: Option<&Polygons>, params: &Params) -> Result<()> {
        params.check(self.level_scale.pixel_type)?;
        let binary = |params: &Params| params.noise == Noise::Bernoulli;
        if binary(params) != binary(&self.params) || params.range != self.params.range {
            return Err(Error::argument(
                "the noise model cannot change from or to bernoulli, nor the range change, on the same image; make a new snake",
            ));
        }
        let automatic = self.level_scale.quantise.is_some() && params.range.is_none();
        if automatic && params.noise.depends_on_offset() != self.params.noise.depends_on_offset() {
            return Err(Error::argument(
                "the noise model of an f32 image with an automatic range cannot change from or to gaussian: the other \
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
        let unmeasured = initial_targets(&context, params, initial, self.backend.size(), &mut watch)?;
        self.targets = self.backend.measure(&context, params, unmeasured, &mut watch)?;
        self.overlapping.take();
        self.set_params(params);
        Ok(())
    }

    /// Makes up to `iterations` iterations of each target that is running. The report's `converged` is `true` once all
    /// have ended, with any [`Status`]; the first report has the upload and the sums of [`new`](Self::new), too.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled): every target keeps its last whole iteration.
    pub fn step(&mut self, iterations: u64, progress: Option<&mut Progress<'_>>) -> Result<Report> {
        let started = Instant::now();
        let mut progress = progress;
        let context = self.context.clone();
        let _lock = context.lock()?;
        self.overlapping.take();
        let mut report = self.advance(iterations, &mut progress)?;
        report.slices_done = 1;
        report.iterations = self.targets.iter().map(|target| target.iterations).max().unwrap_or(0);
        report.converged = self.targets.iter().all(|target| target.status != Status::Running);
        report.complete(started, format_args!("region snakes, {} targets", self.targets.len()));
        Ok(report)
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

    /// Returns the current polygons in the order of the initial ones: clockwise on the screen, none touches itself.
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
        for target in &self.targets {
            ticker.check()?;
            polygons.push(&target.nodes);
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
                let ticker = Ticker::new("looking for overlaps");
                let found = self.context.pool().install(|| draw::overlapping(&self.targets, &ticker))?;
                self.overlapping.get_or_init(|| found)
            }
        };
        let targets = self.targets.iter().zip(overlapping).skip(first);
        Ok(targets.map(|(target, overlaps)| self.level_scale.statistics(target, *overlaps, self.backend.size())))
    }

    /// Returns the exact sums over the pixels of each polygon that lie in the image: pixels, Σz and Σz² in levels (the
    /// pixel values of 8- and 16-bit images). No polygon may cross itself.
    ///
    /// # Errors
    /// A polygon of less than 3 or more than 65536 nodes, or that crosses itself, with the edges; a device failure.
    pub fn region_sums(&self, polygons: &Polygons) -> Result<Vec<RegionSum>> {
        let [width, height] = self.backend.size();
        let image = Bounds { x0: 0, y0: 0, x1: width as i32, y1: height as i32 };
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

    /// Returns mean and standard deviation of the pixels in one of the [`region_sums`](Self::region_sums), in the
    /// image's own units; NaN without pixels.
    pub fn moments(&self, sum: &RegionSum) -> [f64; 2] {
        self.level_scale.moments(sum)
    }

    /// Writes 255 where a pixel belongs to any target, else 0 (u8).
    ///
    /// # Errors
    /// A size or type that does not match; device memory.
    pub fn read_mask(&self, output: ImageMut<'_>) -> Result<()> {
        self.check_output("mask", &output, PixelType::U8)?;
        draw::draw(&self.context, &self.targets, output, &mut None, |_| 255)
    }

    /// Writes a label image: the number of the target that a pixel belongs to, counted from 1, else 0 (u16; f32 for more
    /// than 65535 targets). Where targets overlap the smallest number is written.
    ///
    /// # Errors
    /// Those of [`read_mask`](Self::read_mask); more targets than the type can count.
    pub fn read_labels(&self, output: ImageMut<'_>) -> Result<()> {
        self.read_labels_while(output, &mut None)
    }

    /// Does what [`read_labels`](Self::read_labels) does; `progress` can cancel it.
    pub(crate) fn read_labels_while(
        &self,
        output: ImageMut<'_>,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<()> {
        let wanted = if output.pixel_type() == PixelType::F32 { PixelType::F32 } else { PixelType::U16 };
        self.check_output("label image", &output, wanted)?;
        Self::check_label_count(&output, self.targets.len())?;
        draw::draw(&self.context, &self.targets, output, progress, |index| index as u32 + 1)
    }

    /// Refuses a label image that cannot count to the number of targets.
    pub(crate) fn check_label_count(output: &ImageMut<'_>, count: usize) -> Result<()> {
        match output.pixel_type() {
            PixelType::F32 if count > 1 << 24 => Err(Error::argument(format!(
                "an f32 label image counts to {}, but there are {count} targets; take fewer",
                1 << 24
            ))),
            PixelType::U16 if count > 65535 => Err(Error::argument(format!(
                "a u16 label image counts to 65535, but there are {count} targets; use f32"
            ))),
            _ => Ok(()),
        }
    }

    fn check_output(&self, name: &str, output: &ImageMut<'_>, wanted: PixelType) -> Result<()> {
        let [width, height] = self.backend.size();
        check_shapes([width, height, 1], output.shape())?;
        check_type(name, output.pixel_type(), wanted)?;
        if matches!(output, ImageMut::Device(_)) {
            return Err(Error::unsupported(format!(
                "the {name} is drawn into host memory, but this one is in CUDA memory; give host memory"
            )));
        }
        Ok(())
    }
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

/// Returns the targets of the initial polygons, or of the default one, unmeasured.
fn initial_targets(
    context: &Context,
    params: &Params,
    initial: Option<&Polygons>,
    [width, height]: [usize; 2],
    watch: &mut Watch<'_, '_, '_>,
) -> Result<Vec<Target>> {
    let bounds = Bounds { x0: 0, y0: 0, x1: width as i32, y1: height as i32 };
    match initial {
        Some(polygons) => cpu::initial_targets(context, params, polygons, &bounds, watch),
        None => {
            let mut default = Polygons::new();
            default.push(&bounds.default_rectangle());
            cpu::initial_targets(context, params, &default, &bounds, watch)
        }
    }
}

/// Starts snakes, iterates until every target has ended, and returns polygons and statistics.
///
/// # Errors
/// Those of [`Snake::new`] and [`Snake::step`].
pub fn run(
    context: &Context,
    input: Image<'_>,
    initial: Option<&Polygons>,
    params: &Params,
    progress: Option<&mut Progress<'_>>,
) -> Result<(Polygons, Vec<Statistics>, Report)> {
    let started = Instant::now();
    let mut progress = progress;
    let mut snake = Snake::start(context, input, initial, params, &mut progress)?;
    let mut report = snake.step(u64::MAX, progress)?;
    report.seconds_total = started.elapsed().as_secs_f64();
    Ok((snake.try_polygons()?, snake.try_statistics()?, report))
}
