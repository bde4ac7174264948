//! Objects: many fronts at the same time in an image or a volume, from a label image of starts to a label image of objects.
//! Each object has its own front, which grows from its start, follows the image, stays smooth, and stops where it meets the
//! front of a neighbour.
//!
//! The state is one label and one distance for each voxel, however many objects there are. The label names the object that
//! has the voxel, or is 0; the distance is that to the nearest front. φ_i is the signed distance to the front of object i,
//! negative inside. One iteration changes it to
//!
//! ```text
//! φ_i' = φ_i + Δt · (½(1 − α) · ∇²φ_i − α · s_i)        s_i = −1 at the background's mean, 1 at the object's
//! ```
//!
//! Since φ_i is a distance, its Laplacian is the curvature (diffusion-generated motion by distance functions: Esedoḡlu,
//! Ruuth and Tsai 2010; with thousands of grains: Elsey, Esedoḡlu and Smereka 2009). A voxel goes to the object with the
//! smallest φ'. The means of each object's voxels and of the background near it are measured again as fronts move, which is
//! region competition (Zhu and Yuille 1996) with as many regions as objects.
//!
//! * `parameters.rs`: the table of the parameters.
//! * `scalar.rs`: the definition, the update of a voxel.
//! * `statistics.rs`: the brightness of the objects and of their backgrounds.
//! * `starts.rs`: automatic starts, from the depth of `depth.rs`.
//! * `labels.rs`: the labels of the starts.
//! * `levels.rs`: the pixels as levels.
//! * `cpu.rs`: the fronts on all threads.
//! * `cuda.rs`: the fronts on CUDA, with the same bits.

mod cpu;
mod cuda;
mod depth;
mod labels;
mod levels;
pub(crate) mod parameters;
mod row;
mod scalar;
mod starts;
mod statistics;

use crate::device::{Context, DeviceNeeds, in_host_memory};
use crate::error::{Error, Result, number};
pub use crate::image::Foreground;
use crate::image::{
    ImageMut, MOST_ANISOTROPY, PixelType, check_shapes, check_sides, check_size, check_spacing, on_host,
    smallest_and_largest, write_packed,
};
use crate::memory::collected;
use crate::parameter::{FOREGROUNDS, check_scaling};
use crate::progress::{Progress, Ticker, run as run_with_progress};
use crate::report::Report;
use crate::slice_io::{Input, Output};
use cpu::{Grid, Moved, Plan};
use labels::Labels;
use levels::Scale;
use rayon::prelude::*;
use scalar::{BACKGROUND, Constants};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// The largest label. f32 represents every integer up to it exactly.
const LARGEST_LABEL: usize = 1 << 24;

/// The largest standard deviation of the Gaussian of automatic starts, in units of the smallest spacing.
const MAX_SIGMA: f64 = 100.0;

/// The share of the largest stable step that an iteration takes.
const STEP_SHARE: f64 = 0.95;

/// The largest distance that a front moves in one iteration, in units of the smallest spacing.
const LONGEST_WAY: f64 = 0.5;

/// The parameters; [`Params::default`] gives each its default.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// The side on which objects are: brighter ([`Foreground::Above`], the default) or darker than their surroundings.
    pub foreground: Foreground,
    /// If true (default), the voxels of a start stay in its object. Otherwise a front may leave a start that does not fit
    /// the image, and an object may vanish.
    pub keep_starts: bool,
    /// The number of iterations, 1 to 1000, after which the objects' brightness is measured again, and the stopping
    /// criterion tested if 10 iterations have passed. Default 10.
    pub check_interval: u32,
    /// The most iterations. Default 1000. With 0 the objects are the starts themselves, for example to correct automatic
    /// starts by hand.
    pub iterations: u32,
    /// The weight α, in (0, 1], of the image against curvature. Default 0.5. A ball whose
    /// radius is at most (1 − α)/α times the smallest spacing does not grow.
    pub alpha: f64,
    /// The background of an object is measured in its bounding box, which is widened by this in all directions, in the unit
    /// of the spacing. `None` (default): half the mean distance between objects, as if they were on a regular grid.
    pub margin: Option<f64>,
    /// Stopping criterion: the largest distance, in voxels, by which the front of an object may have moved since the last
    /// test, if fronts count as at rest. The distance is estimated as the number of voxels that the object has gained or
    /// lost, divided by the surface of a ball of its size (in an image of one slice, the circumference of a disc). It must
    /// also not be larger at the front's speed in the last iteration, because a slow front may not have reached the next
    /// voxel yet. With 0, nothing may have changed in the last iteration. In addition, no front may have moved by two
    /// voxels anywhere, and no score may have changed, unless no front had moved in the test before either. The tests are
    /// at least 10 iterations, a check interval, and 4 iterations times the ratio of the largest to the smallest spacing
    /// apart. Default 0.02.
    pub change_tolerance: f64,
    /// Automatic starts: after smoothing, a start is put into each thick part of the pixels on the objects' side of this
    /// value, in the image's own units. `None` (default): Otsu's threshold (1979) of the square roots of the pixels' height
    /// above the lowest pixel; for dark objects, of their depth below the highest pixel. The square roots of photon counts
    /// have equal noise at all brightnesses, and give dim objects more weight among bright ones.
    pub threshold: Option<f64>,
    /// Automatic starts: the standard deviation of the Gaussian that smooths the image before the threshold, in the unit of
    /// the spacing, at most 100 times the smallest spacing; 0: none. `None` (default): the smallest spacing.
    pub sigma: Option<f64>,
    /// Automatic starts: two maxima of the distance inside both get a start only if the distance decreases by at least this
    /// between them, in the unit of the spacing, greater than 0. `None` (default): a quarter of the smallest spacing. The
    /// distance at a maximum must be at least this, and at least the smallest spacing.
    pub prominence: Option<f64>,
    /// f32 images, which are converted to 65536 levels: the pixel values of the first and the last level; pixels beyond are
    /// clamped. `None` (default): the smallest and the largest finite pixel, except for isolated hot or dead pixels, see
    /// [`edge_drawing::Params::range`](crate::edge_drawing::Params::range). Must be `None` for u8 and u16.
    pub range: Option<[f64; 2]>,
    /// The voxel's size along x, y, z, each from 1e-15 to 1e15 and at most 1e9 times another. Default 1, 1, 1. In an image
    /// of one slice the spacing along z is not used, and may be anything.
    pub spacing: [f64; 3],
}

impl Default for Params {
    fn default() -> Self {
        Self {
            foreground: parameters::FOREGROUND.default_of(&FOREGROUNDS),
            keep_starts: parameters::KEEP_STARTS.default != 0.0,
            check_interval: parameters::CHECK_INTERVAL.default as u32,
            iterations: parameters::ITERATIONS.default as u32,
            alpha: parameters::ALPHA.default,
            margin: None,
            change_tolerance: parameters::CHANGE_TOLERANCE.default,
            threshold: None,
            sigma: None,
            prominence: None,
            range: None,
            spacing: [1.0; 3],
        }
    }
}

impl Params {
    fn check(&self, pixel_type: PixelType) -> Result<()> {
        check_scaling(&parameters::RANGE_MIN, &parameters::RANGE_MAX, self.range, pixel_type)?;
        parameters::CHECK_INTERVAL.check(self.check_interval.into())?;
        parameters::ITERATIONS.check(self.iterations.into())?;
        parameters::ALPHA.check_given(self.alpha)?;
        parameters::MARGIN.check_if_given(self.margin)?;
        parameters::CHANGE_TOLERANCE.check(self.change_tolerance)?;
        check_spacing(&self.spacing, MOST_ANISOTROPY)?;
        parameters::THRESHOLD.check_if_given(self.threshold)?;
        if let Some(sigma) = self.sigma {
            parameters::SIGMA.check_given(sigma)?;
            let smallest = self.smallest_spacing();
            if sigma > MAX_SIGMA * smallest {
                return Err(Error::argument(format!(
                    "sigma must be at most {MAX_SIGMA} times the smallest spacing, {}, but it is {}",
                    number(smallest),
                    number(sigma)
                )));
            }
        }
        parameters::PROMINENCE.check_if_given(self.prominence)?;
        Ok(())
    }

    fn smallest_spacing(&self) -> f64 {
        smallest_and_largest(&self.spacing)[0]
    }

    fn sigma(&self) -> f64 {
        self.sigma.unwrap_or_else(|| self.smallest_spacing())
    }

    fn prominence(&self) -> f64 {
        self.prominence.unwrap_or_else(|| 0.25 * self.smallest_spacing())
    }

    /// Makes the plan for the fronts, for an image of this shape with `objects` objects.
    fn plan(&self, shape: [usize; 3], objects: usize) -> Plan {
        let axes = if shape[2] > 1 { 3 } else { 2 };
        let used = &self.spacing[..axes];
        let [smallest, largest] = smallest_and_largest(used);
        let relative: [f64; 3] =
            std::array::from_fn(|axis| used.get(axis).map_or(f64::INFINITY, |spacing| spacing / smallest));
        let inverse_squares = relative.map(|spacing| (spacing * spacing).recip());
        // The step is limited by the distance that fronts may move and by the stability of the diffusion. The ratio of the
        // weights of both terms stays the same.
        let [image, curvature] = [self.alpha, (1.0 - self.alpha) / 2.0];
        let stable = STEP_SHARE / (2.0 * curvature * inverse_squares.iter().sum::<f64>());
        let step = stable.min(LONGEST_WAY / image);
        let margin = self.margin.unwrap_or_else(|| {
            let volume: f64 = shape.iter().zip(used).map(|(side, spacing)| *side as f64 * spacing).product();
            (volume / objects.max(1) as f64).powf((axes as f64).recip()) / 2.0
        });
        Plan {
            grid: Grid { shape, margin: self.spacing.map(|spacing| (margin / spacing).ceil().max(1.0) as usize) },
            constants: Constants {
                spacing: relative.map(|spacing| spacing as f32),
                inverse_squares: inverse_squares.map(|inverse| inverse as f32),
                far: (1.0 + (largest / smallest).min(16.0)) as f32,
                image_weight: (2.0 * step * image) as f32,
                curvature_weight: (step * curvature) as f32,
            },
            keep_starts: self.keep_starts,
            iterations: self.iterations.into(),
            check_interval: self.check_interval.into(),
            change_tolerance: self.change_tolerance,
            anisotropy: largest / smallest,
            objects,
        }
    }
}

/// One object of the result.
// The C API returns it in this layout.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Object {
    /// Its label, which is the label of its start.
    pub label: u32,
    /// [`Object::AT_BORDER`] and [`Object::TOUCHES`].
    pub(crate) flags: u32,
    /// The number of its voxels; 0 if it has vanished.
    pub voxels: u64,
    /// The number of its voxels times the size of a voxel, in the cube of the spacing's unit; in an image of one slice, its
    /// area.
    pub volume: f64,
    /// The mean of its voxels' centres along x, y, z, in the unit of the spacing, relative to the centre of the image's
    /// first voxel. NaN if it has vanished.
    pub centre: [f64; 3],
    /// The mean of its voxels, in the image's own units; if it has vanished, the last mean before that. Pixels of f32
    /// images count as the values of their levels, and are clamped to the range.
    pub mean: f64,
    /// The mean of the background near it, measured in the same way; NaN if there is no background.
    pub background: f64,
}

impl Object {
    /// The flag of an object that has a voxel at the border.
    pub(crate) const AT_BORDER: u32 = 1;
    /// The flag of an object that has a voxel next to a voxel of another object.
    pub(crate) const TOUCHES: u32 = 2;

    /// Tells whether it has a voxel at the border of the image; in an image of one slice, only the borders along x and y
    /// count.
    pub fn is_at_border(&self) -> bool {
        self.flags & Self::AT_BORDER != 0
    }

    /// Tells whether it has a voxel next to a voxel of another object.
    pub fn touches(&self) -> bool {
        self.flags & Self::TOUCHES != 0
    }
}

/// The objects of a call, in the order of their labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objects(Vec<Object>);

impl Objects {
    /// Returns an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the objects.
    pub fn all(&self) -> &[Object] {
        &self.0
    }
}

/// Grows objects in the image or volume `input` (u8, u16 or f32) from the label image `starts` of the same size: 0 is no
/// start, and voxels with the same label are the start of one object. Labels are integers up to 16777216. Without starts
/// (`None`) a ball is put around each maximum of the distance inside a threshold, see [`Params::threshold`]. Their labels
/// are 1, 2, ... in the order of the slices, rows and columns of the maxima; without a maximum the result has no object.
///
/// Writes the labels of the objects to `output`, whose type must hold the largest label, and which must be in host memory;
/// a cancelled call may have written a part of it. Replaces `objects` on success only. The report has the number of
/// iterations, and says whether the fronts came to rest (`converged`).
///
/// The fronts move on the context's device, and CPU and CUDA give the same bits. The CPU computes starts and levels and
/// measures the objects; pixels in CUDA memory are copied to it. Images of f32 are converted to 65536 levels, see
/// [`Params::range`]; NaN counts as background.
///
/// # Errors
/// A parameter out of range, sizes that do not match, starts without a label or with a label that is not an integer, an
/// output whose type does not hold the largest label, out of memory, a device failure, or
/// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
///
/// ```
/// use isoline::{Context, objects::{self, Objects, Params}};
/// use ndarray::Array2;
///
/// // Two discs that touch.
/// let disc = |x: usize, y: usize, centre: f32| (x as f32 - centre).hypot(y as f32 - 20.0);
/// let inside = |x, y| disc(x, y, 20.0) < 10.0 || disc(x, y, 40.0) < 10.5;
/// let image = Array2::from_shape_fn((41, 61), |(y, x)| if inside(x, y) { 200u8 } else { 20 });
/// let start = |x, y| if disc(x, y, 20.0) < 4.0 { 1 } else { 2 * u8::from(disc(x, y, 40.0) < 4.0) };
/// let starts = Array2::from_shape_fn((41, 61), |(y, x)| start(x, y));
/// let mut labels = Array2::<u8>::zeros((41, 61));
/// let mut found = Objects::new();
/// let context = Context::new("cpu")?;
/// let params = Params::default();
/// let output = labels.view_mut().into();
/// objects::run(&context, image.view().into(), Some(starts.view().into()), &params, None, output, &mut found)?;
/// assert_eq!((labels[[20, 12]], labels[[20, 48]], labels[[2, 30]]), (1, 2, 0));
/// assert!(found.all().iter().all(|object| object.touches() && !object.is_at_border() && object.mean == 200.0));
/// # Ok::<(), isoline::Error>(())
/// ```
pub fn run(
    context: &Context,
    input: Input<'_>,
    starts: Option<Input<'_>>,
    params: &Params,
    progress: Option<&mut Progress<'_>>,
    output: Output<'_>,
    objects: &mut Objects,
) -> Result<Report> {
    let started = Instant::now();
    let mut progress = progress;
    let [x, y, z] = params.spacing;
    let is_slice = input.shape()[2] == 1;
    let params = &Params { spacing: [x, y, if is_slice { x } else { z }], ..params.clone() };
    params.check(input.pixel_type())?;
    check_shapes(input.shape(), output.shape())?;
    check_sides("objects", input.shape())?;
    if let Some(starts) = &starts {
        check_size("starts", starts.shape(), "the input", input.shape())?;
    }
    if !output.on_host() {
        return Err(Error::unsupported("cannot write the labels: they are in CUDA memory; give host memory"));
    }
    let _lock = context.lock()?;
    let ticker = Ticker::new("objects");
    ticker.report(&mut progress)?;
    let (shape, output_type) = (input.shape(), output.pixel_type());
    let given = match starts {
        None => None,
        Some(starts) => {
            let starts = context.all_of(starts, &ticker, &mut progress)?;
            let (starts, mut copy) = (starts.image(shape[2]), None);
            let starts = in_host_memory(context, &starts, &mut copy)?;
            let labels = || Labels::new(&starts, output_type, &ticker);
            Some(run_with_progress(context.pool(), &mut progress, &ticker, labels)?)
        }
    };
    let held = context.all_of(input, &ticker, &mut progress)?;
    let (image, mut copy) = (held.image(shape[2]), None);
    let image = &in_host_memory(context, &image, &mut copy)?;
    let (levels, labels, scale) = run_with_progress(context.pool(), &mut progress, &ticker, || {
        let (levels, scale) = Scale::apply(image, params, &ticker)?;
        let labels = match given {
            Some(given) => given,
            None => {
                let grid = params.plan(image.shape(), 1).grid;
                let threshold = params.threshold.map(|value| scale.level(value));
                let starts = starts::automatic(params, (&grid, image), threshold, &levels, &ticker)?;
                Labels::counted(starts, output_type)?
            }
        };
        Ok((levels, labels, scale))
    })?;
    // The fronts need only the levels, so free copies of the image.
    drop((copy, held));
    let (labels, starts) = (labels.values, labels.indices);
    let plan = params.plan(shape, labels.len() - 1);
    let (moved, mut report) = evolve(context, &plan, &starts, &levels, &ticker, started, &mut progress)?;
    let found = run_with_progress(context.pool(), &mut progress, &ticker, || {
        measure(&plan.grid, params.spacing, &moved, &labels, scale, &ticker)
    })?;
    context.fill_all_of(output, &ticker, &mut progress, |output, progress| {
        run_with_progress(context.pool(), progress, &ticker, || {
            on_host!(
                ImageMut,
                output,
                view => write_packed(&moved.labels, view, &ticker, |index| labels[index as usize] as _),
                unreachable!("refused above")
            )
        })
    })?;
    *objects = found;
    report.iterations = moved.iterations;
    report.converged = moved.converged;
    report.complete(started, format_args!("{} objects in {shape:?} voxels", labels.len() - 1));
    Ok(report)
}

/// Moves the fronts on the context's device.
fn evolve(
    context: &Context,
    plan: &Plan,
    starts: &[u32],
    levels: &[u16],
    ticker: &Ticker,
    started: Instant,
    progress: &mut Option<&mut Progress<'_>>,
) -> Result<(Moved, Report)> {
    let shape = plan.grid.shape;
    let needs =
        DeviceNeeds { device_bytes: cuda::device_bytes(shape, plan.objects), cpu_only: false, host_memory: true };
    context.run_on_device(
        needs,
        false,
        progress,
        |cuda, progress| {
            run_with_progress(context.pool(), progress, ticker, || {
                cuda::evolve(context, cuda, plan, starts, levels, ticker)
            })
        },
        |progress| {
            let moved =
                run_with_progress(context.pool(), progress, ticker, || cpu::evolve(plan, starts, levels, ticker))?;
            Ok((moved, Report::on_cpu(context, started, shape[2])))
        },
    )
}

/// Measures the resulting objects.
fn measure(
    grid: &Grid,
    spacing: [f64; 3],
    moved: &Moved,
    labels: &[u32],
    scale: Scale,
    ticker: &Ticker,
) -> Result<Objects> {
    let [width, height, depth] = grid.shape;
    let axes = if depth > 1 { 3 } else { 2 };
    let indices = &moved.labels;
    let flags: Vec<AtomicU32> = collected(labels.iter().map(|_| Default::default()))?;
    let places: Vec<[AtomicU64; 3]> = collected(labels.iter().map(|_| Default::default()))?;
    indices.par_chunks(width).enumerate().for_each(|(row, own)| {
        if ticker.is_cancelled() {
            return;
        }
        let [y, z] = [row % height, row / height];
        let row_at_border = y == 0 || y + 1 == height || (axes == 3 && (z == 0 || z + 1 == depth));
        let touch = |a: u32, b: u32| {
            if a != b && a != BACKGROUND && b != BACKGROUND {
                for index in [a, b] {
                    flags[index as usize].fetch_or(Object::TOUCHES, Relaxed);
                }
            }
        };
        let behind = [(y + 1 < height).then(|| grid.row(y + 1, z)), (z + 1 < depth).then(|| grid.row(y, z + 1))];
        for other in behind.into_iter().flatten() {
            own.iter().zip(&indices[other]).for_each(|(a, b)| touch(*a, *b));
        }
        own.windows(2).for_each(|pair| touch(pair[0], pair[1]));
        let mut start = 0;
        for run in own.chunk_by(|a, b| a == b) {
            let (index, end) = (run[0] as usize, start + run.len());
            if row_at_border || start == 0 || end == width {
                flags[index].fetch_or(Object::AT_BORDER, Relaxed);
            }
            let columns = (start..end).map(|x| x as u64).sum();
            let count = run.len() as u64;
            for (sum, add) in places[index].iter().zip([columns, y as u64 * count, z as u64 * count]) {
                sum.fetch_add(add, Relaxed);
            }
            start = end;
        }
    });
    ticker.check()?;
    let size: f64 = spacing[..axes].iter().product();
    let statistics = &moved.statistics;
    let found = (1..labels.len()).map(|index| {
        let voxels = statistics.voxels[index];
        Object {
            label: labels[index],
            flags: flags[index].load(Relaxed),
            voxels,
            volume: voxels as f64 * size,
            centre: std::array::from_fn(|axis| {
                places[index][axis].load(Relaxed) as f64 / voxels as f64 * spacing[axis]
            }),
            mean: scale.value(statistics.means[index]),
            background: scale.value(statistics.backgrounds[index]),
        }
    });
    Ok(Objects(collected(found)?))
}
