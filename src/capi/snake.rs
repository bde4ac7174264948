//! Region snakes: parameters, and a solver that keeps its state between calls. Its results are in `snake_results.rs`.

use super::context::{context, isoline_context};
use super::fields::{self, params_of};
use super::image::{Checked, isoline_image};
use super::object::Solver;
use super::polygons::isoline_polygons;
use super::progress::isoline_progress;
use super::report::isoline_report;
use super::sized;
use super::{check, guard, guard_or, isoline_status, object};
use crate::device::Context;
use crate::error::Result;
use crate::parameter::ends;
use crate::snake::{self, Background, Params, Polygons, Snake, parameters};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The noise model: the distribution of the pixels of a region.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_snake_noise {
    /// Gaussian: each region has its own mean and variance. For camera images in good light, and if the noise is not known;
    /// regions may also differ in their variance (texture) alone.
    ISOLINE_SNAKE_NOISE_GAUSSIAN = 0,
    /// Poisson: photon counts in low light, where the variance is proportional to the mean.
    ISOLINE_SNAKE_NOISE_POISSON = 1,
    /// Gamma: speckle of intensities, `looks` of them averaged, in radar, ultrasound and laser light.
    ISOLINE_SNAKE_NOISE_GAMMA = 2,
    /// Rayleigh: speckle of amplitudes in ultrasound and magnitude images.
    ISOLINE_SNAKE_NOISE_RAYLEIGH = 3,
    /// Bernoulli: pixels are above 0 or not, in binary images.
    ISOLINE_SNAKE_NOISE_BERNOULLI = 4,
}

/// The order in which a snake moves its nodes to candidate positions.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_snake_schedule {
    /// All even nodes at the same time, then all odd ones (Algorithm 3 of Perrot et al. 2011). CPU and CUDA, with the
    /// same bits.
    ISOLINE_SNAKE_PARALLEL = 0,
    /// One node after the other, each moved immediately (Algorithm 2 of Perrot et al. 2011). CPU only.
    ISOLINE_SNAKE_SEQUENTIAL = 1,
}

/// The background that a target is compared with.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_snake_background {
    /// The whole image outside the target. Suitable for a single target.
    ISOLINE_SNAKE_BACKGROUND_IMAGE = 0,
    /// A window around the target's initial polygon. Suitable for many targets, because neighbours outside the window have
    /// no influence.
    ISOLINE_SNAKE_BACKGROUND_WINDOW = 1,
}

/// The rule for pixels that several targets may claim.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_snake_overlap {
    /// Targets are independent: each is searched as if it were alone, and they may share pixels.
    ISOLINE_SNAKE_OVERLAP_ALLOWED = 0,
    /// Targets compete, and a pixel belongs to one target at most. Before the search each pixel is assigned to the target
    /// with the nearest initial polygon (Euclidean distance between pixel centres; at equal distances, the target with the
    /// smallest number). These pixels are the target's territory. The pixels of a target are those of its polygon within
    /// its territory, and no node leaves the territory. Suitable for objects that touch.
    ISOLINE_SNAKE_OVERLAP_EXCLUDED = 1,
}

/// The parameters of region snakes. isoline_snake_params_init fills them with the defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_snake_params {
    /// The size of the struct, set by isoline_snake_params_init.
    pub struct_size: u32,
    /// An isoline_snake_noise. Default: ISOLINE_SNAKE_NOISE_GAUSSIAN.
    pub noise: u32,
    /// An isoline_snake_schedule. Default: ISOLINE_SNAKE_PARALLEL.
    pub schedule: u32,
    /// An isoline_snake_background. Default: ISOLINE_SNAKE_BACKGROUND_IMAGE.
    pub background: u32,
    /// An isoline_snake_overlap. Default: ISOLINE_SNAKE_OVERLAP_ALLOWED.
    pub overlap: u32,
    /// The first distance of the candidate positions, in pixels: a power of two, 1 to 4096; it is halved down to 1 during
    /// the search. With a larger distance nodes find an object farther away, past noise. A smaller one stays near the
    /// initial polygon, which suits small targets: nodes that move far leave spikes there, which make the perimeter too
    /// long. 0 (default): automatic, for each target the largest power of two that is at most 18 % of the square root of
    /// its initial polygon's area, from 1 to 32; 32 for the default rectangle, which may be far from the object.
    pub largest_step: u32,
    /// The largest number of nodes of a target, 3 to 65536. Default 1024.
    pub max_nodes: u32,
    /// The levels of the pyramid, 1 to 4. Default 1: polygons are searched on the full image only. With more levels, the
    /// first step (or the run) begins on the image that is reduced `pyramid_levels` - 1 times to half its size, continues
    /// on the next larger one from the result, and so on up to the full image. `largest_step`, `node_spacing` and
    /// `max_iterations` apply to each level, in its pixels (an automatic `largest_step` is halved from level to level).
    /// With more levels, polygons move past noise from a start that is far from the object, but small objects and details
    /// vanish. Windows and territories are those of the full image. A target whose polygon has an area of fewer than 4
    /// pixels on a level, or that vanishes on it, keeps its start for the next level; an image with fewer than 16 pixels
    /// along a side is not reduced. The image must be in host memory (ISOLINE_UNSUPPORTED).
    pub pyramid_levels: u32,
    /// The largest number of iterations of a target, at least 1. Default 10000.
    pub max_iterations: u64,
    /// ISOLINE_SNAKE_NOISE_GAMMA only: L, the number of looks that were averaged, 1 to 1e6. Default 1, raw speckle. It is
    /// the weight of the image relative to `node_cost`.
    pub looks: f64,
    /// ISOLINE_SNAKE_BACKGROUND_WINDOW only: the window is the bounding box of the initial polygon, widened on each
    /// side by this share of its longer side (by at least 16 pixels) and cut to the image; nodes stay in it. More
    /// than 0. Default 0.5.
    pub margin: f64,
    /// The length, in pixels, above which an edge gets another node; at least 2. A smaller length follows finer detail, and
    /// noise. ISOLINE_AUTOMATIC (default): automatic, for each target two fifths of the square root of its initial
    /// polygon's area, from 6 to 16; for the default rectangle of images from 80 x 80 pixels on this is 16.
    pub node_spacing: f64,
    /// The cost of a node in the criterion, 0 to 1e6, in units of the logarithm of the number of pixels among which it is
    /// placed: 1 is the description length of a node. Default 0.5. With a larger cost polygons have fewer nodes; with 0 no
    /// node is removed, which is faster.
    pub node_cost: f64,
    /// f32 images, which are converted to 65536 levels: the pixel value of level 0; smaller pixels are clamped to it. This
    /// and range_max ISOLINE_AUTOMATIC (default): automatic, see Automatic ranges at the top, but
    /// begins at 0 for ISOLINE_SNAKE_NOISE_POISSON, _GAMMA and _RAYLEIGH; give both for images of spots of one pixel.
    /// Otherwise both must be given, from -3.4e38 to 3.4e38, and this one must be less than range_max. Must be automatic
    /// for 8- and 16-bit images, which are used unchanged.
    pub range_min: f64,
    /// f32 images: the pixel value of level 65535, up to 3.4e38; larger pixels are clamped to it. ISOLINE_AUTOMATIC
    /// (default): automatic.
    pub range_max: f64,
}

params_of! {
    isoline_snake_params, 88, parameters::OPERATION, [], noise, schedule, background, overlap, largest_step,
    max_nodes, max_iterations, looks, margin, node_spacing, node_cost, range_min, range_max, pyramid_levels
}

impl isoline_snake_params {
    fn translate(&self) -> Result<Params> {
        let backgrounds = [Background::Image, Background::Window { margin: self.margin }];
        Ok(Params {
            noise: parameters::NOISE.chosen(self.noise, &parameters::noises(self.looks))?,
            schedule: parameters::SCHEDULE.chosen(self.schedule, &parameters::SCHEDULES)?,
            background: parameters::BACKGROUND.chosen(self.background, &backgrounds)?,
            overlap: parameters::OVERLAP.chosen(self.overlap, &parameters::OVERLAPS)?,
            largest_step: parameters::LARGEST_STEP.unless_automatic(self.largest_step.into()).map(|step| step as u32),
            node_spacing: parameters::NODE_SPACING.unless_automatic(self.node_spacing),
            max_nodes: self.max_nodes,
            max_iterations: self.max_iterations,
            node_cost: self.node_cost,
            pyramid_levels: self.pyramid_levels,
            range: ends(&parameters::RANGE_MIN, &parameters::RANGE_MAX, [self.range_min, self.range_max])?,
        })
    }
}

/// Targets that are searched for on one image, created by isoline_snake_new. Opaque.
pub struct isoline_snake {
    /// The number of targets, which can be read without the lock.
    count: AtomicUsize,
    solver: Solver<Held>,
}

/// The snake, and a copy of its polygons while the caller borrows them.
pub(super) struct Held {
    pub(super) snake: Snake,
    borrowed: Option<Polygons>,
}

impl Held {
    /// Returns the current polygons, whose address stays valid until [`changing`](Self::changing) is called.
    pub(super) fn polygons(&mut self) -> Result<&Polygons> {
        let Self { snake, borrowed } = self;
        Ok(match borrowed {
            Some(borrowed) => borrowed,
            None => borrowed.insert(snake.try_polygons()?),
        })
    }

    /// Returns the snake for a change. Borrowed polygons become invalid.
    fn changing(&mut self) -> &mut Snake {
        self.borrowed = None;
        &mut self.snake
    }
}

impl isoline_snake {
    fn hand_out(context: &Context, snake: Snake) -> *mut Self {
        let count = AtomicUsize::new(snake.len());
        object::hand_out(Self { count, solver: Solver::new(context, Held { snake, borrowed: None }) })
    }
}

/// Locks the snake that a caller's pointer points to.
///
/// # Safety
/// `snake` is NULL or came from isoline_snake_new or _run and has not been freed; it lives for `'a`.
pub(super) unsafe fn lock<'a>(snake: *const isoline_snake) -> Result<object::SolverGuard<'a, Held>> {
    // SAFETY: as the caller ensures.
    Solver::lock(unsafe { snake.as_ref() }.map(|snake| &snake.solver), "snake")
}

/// Fills `params` with the defaults; `struct_size` is sizeof *params, see "Structs".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_params_init(
    params: *mut isoline_snake_params,
    struct_size: usize,
) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::init(params, struct_size, "params") })
}

/// Creates region snakes: maximum-likelihood region-based active contours in the form of polygons (Chesnaud, Réfrégier and
/// Boulet 1999; Perrot et al. 2011), for one target or thousands. No edge is needed: the nodes of a polygon are moved, and
/// nodes are added, as long as this increases the likelihood of the image, given one distribution of grey values inside the
/// polygon and one outside. docs/snake.md describes the method.
///
/// All sums are integers, so that results do not depend on the device, the threads or the number of targets. The image is
/// copied to the device with row prefix sums (1.5 bytes per pixel in all for u8, 3 for u16 and f32); the caller's image is
/// not needed after the call, which reports no progress; isoline_set_cancel_flag can cancel it. NaN pixels of an f32 image
/// count as range_min. Distances are in pixels; the image's spacing is not used.
///
/// @param context not NULL. The snake keeps the device alive; the two may be freed in either order.
/// @param input not NULL; one slice of any type, up to 2^25 pixels a side and 2^31 in all; host or CUDA memory.
///   isoline_snake_run takes several slices, and ISOLINE_SLICES.
/// @param initial the initial polygon of each target; its direction and its first node have no influence on the result.
///   NULL for one target that starts as a rectangle with a margin of a quarter of each side. Nodes outside the image are
///   clamped to its border; if a polygon then has no area, its status is ISOLINE_TARGET_LEFT_IMAGE, and it stays as it was
///   given. All polygons are on slice 0.
/// @param params NULL for the defaults.
/// @param out receives the snake; free it with isoline_snake_free. Not written on failure.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT, also for a polygon that touches itself (the
///   message names polygon and edges, counted from 0) or has more nodes than params->max_nodes; _INVALID_SIZE;
///   _INVALID_TYPE; _UNSUPPORTED for the sequential schedule on CUDA ("auto" selects the CPU for it), or CUDA pixels
///   with a CPU context or with `pyramid_levels` above 1; _OUT_OF_MEMORY; _DEVICE_FAILED; _BUSY. May be called on any
///   thread; calls on one context run one after the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_new(
    context: *mut isoline_context,
    input: *const isoline_image,
    initial: *const isoline_polygons,
    params: *const isoline_snake_params,
    out: *mut *mut isoline_snake,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let input = Checked::new(input, "input")?;
            let initial = isoline_polygons::read_optional(initial, "initial")?;
            let params = fields::read(params)?.translate()?;
            check::not_null(out, "out")?;
            let snake = Snake::new(context, input.input(), initial.as_ref(), &params)?;
            out.write(isoline_snake::hand_out(context, snake));
            Ok(())
        }
    })
}

/// Restarts a snake on the same image and device with other polygons or parameters, and reuses the prefix sums of the
/// image.
///
/// @param snake not NULL. Its borrowed polygons become invalid, unless the call fails.
/// @param initial,params as for isoline_snake_new; NULL stands for the defaults, not for the previous values. The noise
///   must not change from or to ISOLINE_SNAKE_NOISE_BERNOULLI, and the range must not change, because the image is kept as
///   levels, which depend on these; with an automatic range of an f32 image the noise must not change from or to
///   ISOLINE_SNAKE_NOISE_GAUSSIAN either. `pyramid_levels` must not be more than that of the call that made the snake. A
///   snake that isoline_snake_run made from several slices or from ISOLINE_SLICES keeps no pixels (ISOLINE_UNSUPPORTED).
/// @return ISOLINE_OK or an error; errors and threads: as for isoline_snake_new. After an error the snake is unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_restart(
    snake: *mut isoline_snake,
    initial: *const isoline_polygons,
    params: *const isoline_snake_params,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let mut held = lock(snake)?;
            // Copy the polygons before the borrowed ones become invalid, because they may be the same.
            let initial = isoline_polygons::read_optional(initial, "initial")?;
            held.snake.restart(initial.as_ref(), &fields::read(params)?.translate()?)?;
            let count = held.changing().len();
            (*snake).count.store(count, Ordering::Relaxed);
            Ok(())
        }
    })
}

/// Continues the search of every target that has not ended.
///
/// @param snake not NULL. Its borrowed polygons become invalid.
/// @param iterations the largest number of iterations of each target; UINT64_MAX until all have ended, 0 does nothing.
///   A step of 20 and one of 30 give the same result as one of 50. With `pyramid_levels` the first step of at least one
///   iteration first ends the searches of the coarse levels, whose iterations do not count.
/// @param progress NULL for none. A cancelled step returns ISOLINE_CANCELLED, and every target keeps its last complete
///   iteration: the snake can be read, and the next step continues from there, except that coarse levels begin again.
/// @param report NULL for none; else after isoline_report_init. `converged` is 1 if all targets have ended, with any
///   status; `iterations` is the largest number of iterations that any target has done since its start. The first report
///   includes the times for upload and sums of isoline_snake_new, except in `seconds_total`.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT; _OUT_OF_MEMORY; _DEVICE_FAILED; _CANCELLED;
///   _BUSY for a re-entrant call from a callback of the snake's context. After ISOLINE_DEVICE_FAILED free the snake.
///   May be called on any thread; calls on one snake run one after the other, and so do calls on its context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_step(
    snake: *mut isoline_snake,
    iterations: u64,
    progress: *const isoline_progress,
    report: *mut isoline_report,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let mut held = lock(snake)?;
            isoline_report::of(report, progress, |progress| held.changing().step(iterations, progress))
        }
    })
}

/// Returns the number of targets of a snake, which is the number of initial polygons. Never fails. May be called on any
/// thread, also from a progress callback.
///
/// @param snake NULL counts as 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_count(snake: *const isoline_snake) -> usize {
    // SAFETY: as the caller ensures.
    guard_or(0, || unsafe { snake.as_ref() }.map_or(0, |snake| snake.count.load(Ordering::Relaxed)))
}

/// Frees a snake, after which every pointer into it dangles. No call may be running on it, and it must not be used
/// again. May be called on any thread, but not from a callback of its own step. Its context may be freed before or after
/// it.
///
/// @param snake may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_free(snake: *mut isoline_snake) {
    // SAFETY: as the caller ensures.
    unsafe { object::free_if(snake, "a snake", |snake| snake.solver.is_of_this_process()) }
}

/// Runs region snakes in one call: starts them, continues until every target has ended, and returns labels, the
/// snake, or both.
///
/// The input may have several slices, and each polygon is on one of them: it is searched as if that slice were the whole
/// image. The slices that have polygons are read one after the other, in ascending order, each once, and one at a time is
/// in memory. An automatic range of an f32 image is measured over all slices, which are read before. With several slices or
/// ISOLINE_SLICES the snake keeps only the targets: it can be read, drawn and freed, but it cannot be restarted or compute
/// sums, and a step changes nothing.
///
/// @param context,params as for isoline_snake_new.
/// @param input as for isoline_snake_new, or with several slices, or ISOLINE_SLICES.
/// @param initial as for isoline_snake_new, each polygon on its slice (`slices`). NULL for the default rectangle on each
///   slice.
/// @param progress NULL for none; the fraction is the share of targets that have ended. It can cancel the start, too,
///   during which the fraction is 0.
/// @param labels NULL if they are not wanted; else as for isoline_snake_draw_labels, the input's size, its own memory. With
///   ISOLINE_SLICES all slices are written, in ascending order, after the search.
/// @param out receives the snake, to be read or restarted and freed with isoline_snake_free; NULL if it is not wanted.
///   `labels` and `out` must not both be NULL.
/// @param report NULL for none; else after isoline_report_init. `slices_done` counts all slices of the input.
/// @return ISOLINE_OK or an error: as for isoline_snake_new and isoline_snake_draw_labels; _INVALID_ARGUMENT for a slice that
///   the input does not have; _OVERLAP; _CALLBACK_FAILED; _CANCELLED. After an error `out` is not written, and neither are
///   `labels`, unless drawing them has failed or was cancelled. May be called on any thread; calls on one context run one
///   after the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_run(
    context: *mut isoline_context,
    input: *const isoline_image,
    initial: *const isoline_polygons,
    params: *const isoline_snake_params,
    progress: *const isoline_progress,
    labels: *const isoline_image,
    out: *mut *mut isoline_snake,
    report: *mut isoline_report,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let input = Checked::sliced(input, "input")?;
            let initial = isoline_polygons::read_optional(initial, "initial")?;
            let params = fields::read(params)?.translate()?;
            if labels.is_null() && out.is_null() {
                return Err(check::none_asked_for("labels and out must not both be NULL"));
            }
            let labels = Checked::optional(labels, "labels")?;
            if let Some(labels) = &labels {
                labels.check_output(&input)?;
            }
            let labels = labels.map(|labels| labels.labels()).transpose()?;
            let input = input.source()?;
            if let Some(labels) = &labels {
                // Check before any work.
                snake::check(&params, &input)?;
                let shape = input.shape();
                Snake::check_labels(labels, shape, initial.as_ref().map_or(shape[2], Polygons::len))?;
            }
            let started = Instant::now();
            let mut found = None;
            isoline_report::of(report, progress, |mut progress| {
                let (snake, mut done) = Snake::run(context, input, initial.as_ref(), &params, progress.as_deref_mut())?;
                if let Some(labels) = labels {
                    snake.read_labels_while(labels, &mut progress)?;
                }
                done.seconds_total = started.elapsed().as_secs_f64();
                found = Some(snake);
                Ok(done)
            })?;
            if let Some(snake) = found.filter(|_| !out.is_null()) {
                out.write(isoline_snake::hand_out(context, snake));
            }
            Ok(())
        }
    })
}
