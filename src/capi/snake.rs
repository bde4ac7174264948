//! Region snakes: parameters, and a solver that keeps state. What is read of it is in `snake_results.rs`.

use super::context::{context, isoline_context};
use super::fields::{check_ranges, params_of};
use super::image::{Checked, isoline_image};
use super::log::complain;
use super::polygons::isoline_polygons;
use super::progress::{closure, isoline_progress};
use super::report::isoline_report;
use super::sized;
use super::snake_results::labels_of;
use super::{guard, guard_or, isoline_status, null};
use crate::device::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::parameter::ends;
use crate::progress::Progress;
use crate::snake::{Background, Params, Polygons, Snake, parameters};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// How the pixels of a region scatter round its mean: what a difference between two regions is.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_snake_noise {
    /// Each region has its own mean and variance. Camera images at good light, and the choice when in doubt; regions may
    /// differ in texture alone.
    ISOLINE_SNAKE_NOISE_GAUSSIAN = 0,
    /// Counted photons: low light, where the variance follows the mean.
    ISOLINE_SNAKE_NOISE_POISSON = 1,
    /// Speckle of intensities, `looks` of them averaged: radar, ultrasound, laser light.
    ISOLINE_SNAKE_NOISE_GAMMA = 2,
    /// Speckle of amplitudes: ultrasound, magnitude images.
    ISOLINE_SNAKE_NOISE_RAYLEIGH = 3,
    /// Pixels are above 0 or not: binary images.
    ISOLINE_SNAKE_NOISE_BERNOULLI = 4,
}

/// In which order a snake tries places.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_snake_schedule {
    /// All even nodes at once, then all odd ones (the paper's Algorithm 3). CPU and CUDA, with the same bits.
    ISOLINE_SNAKE_PARALLEL = 0,
    /// Node after node, each moved at once (Algorithm 2). CPU only.
    ISOLINE_SNAKE_SEQUENTIAL = 1,
}

/// What a target is held against.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_snake_background {
    /// All of the image outside this target. For one target.
    ISOLINE_SNAKE_BACKGROUND_IMAGE = 0,
    /// A window round its start, so that neighbours outside it do not matter. For many targets.
    ISOLINE_SNAKE_BACKGROUND_WINDOW = 1,
}

/// The parameters of region snakes. Fill with isoline_snake_params_init, then change what you need.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_snake_params {
    /// Set by isoline_snake_params_init.
    pub struct_size: u32,
    /// An isoline_snake_noise. Default: ISOLINE_SNAKE_NOISE_GAUSSIAN.
    pub noise: u32,
    /// An isoline_snake_schedule. Default: ISOLINE_SNAKE_PARALLEL.
    pub schedule: u32,
    /// An isoline_snake_background. Default: ISOLINE_SNAKE_BACKGROUND_IMAGE.
    pub background: u32,
    /// How far nodes are moved at the start, in pixels: a power of two, 1 to 4096. Default 32; it is halved down to 1 as
    /// the search goes on. A larger one comes over a larger distance past noise, a smaller one keeps to what is near.
    pub largest_step: u32,
    /// The most nodes of a target, 3 to 65536. Default 1024.
    pub max_nodes: u32,
    /// The most steps of a target, at least 1. Default 10000.
    pub max_iterations: u64,
    /// ISOLINE_SNAKE_NOISE_GAMMA only: L, how many looks were averaged, 1 to 1e6. Default 1, raw speckle. It weighs the image
    /// against `node_cost`.
    pub looks: f64,
    /// ISOLINE_SNAKE_BACKGROUND_WINDOW only: the window is the start's bounding box, widened on each side by this times
    /// its longer side (16 pixels at least) and cut to the image; nodes stay in it. More than 0. Default 0.5.
    pub margin: f64,
    /// Edges longer than this get another node, in pixels, at least 2. Default 16. A smaller one follows finer detail, and
    /// noise.
    pub node_spacing: f64,
    /// What a node costs, in logarithms of the number of pixels that it is placed among (description length), 0 to 1e6.
    /// Default 0.5; 1 is what it takes to write the node down. With a larger one polygons have fewer nodes; with 0, which is
    /// faster, none is taken out.
    pub node_cost: f64,
    /// f32 images, which are computed in 65536 steps: the pixel value of step 0; pixels below count as it. This and
    /// range_max ISOLINE_AUTOMATIC (default): automatic, the smallest and largest finite pixel, or, for ISOLINE_SNAKE_NOISE_POISSON, _GAMMA and
    /// _RAYLEIGH, which count from 0, 0 and the largest; an image in CUDA memory is copied to the host for that. Must be
    /// automatic for 8- and 16-bit images, which are used as they are.
    pub range_min: f64,
    /// f32 images: the pixel value of step 65535; pixels above count as it. ISOLINE_AUTOMATIC (default): automatic.
    pub range_max: f64,
}

params_of!(
    isoline_snake_params,
    80,
    parameters::OPERATION,
    0,
    noise,
    schedule,
    background,
    largest_step,
    max_nodes,
    max_iterations,
    looks,
    margin,
    node_spacing,
    node_cost,
    range_min,
    range_max,
);

impl isoline_snake_params {
    /// # Safety
    /// As [`sized::read`].
    unsafe fn read(params: *const Self) -> Result<Params> {
        // SAFETY: as the caller vouches.
        unsafe { sized::read_or_defaults(params, "params") }?.translate()
    }

    fn translate(&self) -> Result<Params> {
        check_ranges(self)?;
        let backgrounds = [Background::Image, Background::Window { margin: self.margin }];
        Ok(Params {
            noise: parameters::NOISE.chosen(self.noise, &parameters::noises(self.looks))?,
            schedule: parameters::SCHEDULE.chosen(self.schedule, &parameters::SCHEDULES)?,
            background: parameters::BACKGROUND.chosen(self.background, &backgrounds)?,
            largest_step: self.largest_step,
            node_spacing: self.node_spacing,
            max_nodes: self.max_nodes,
            max_iterations: self.max_iterations,
            node_cost: self.node_cost,
            range: ends(&parameters::RANGE_MIN, &parameters::RANGE_MAX, [self.range_min, self.range_max])?,
        })
    }
}

/// Targets that are searched for on one image, made by isoline_snake_new. Opaque.
pub struct isoline_snake {
    context: Context,
    /// How many targets there are, for those who must not wait.
    count: AtomicUsize,
    held: Mutex<Held>,
}

/// The snake, and its polygons once they are lent out.
pub(super) struct Held {
    pub(super) snake: Snake,
    lent: Option<Polygons>,
}

impl Held {
    /// The polygons as they are, where they stay until [`changing`](Self::changing).
    pub(super) fn polygons(&mut self) -> Result<&Polygons> {
        let Self { snake, lent } = self;
        Ok(match lent {
            Some(lent) => lent,
            None => lent.insert(snake.try_polygons()?),
        })
    }

    /// The snake, to be changed: what was lent out ends.
    fn changing(&mut self) -> &mut Snake {
        self.lent = None;
        &mut self.snake
    }
}

// Any thread may use it, and several in turn: C has no compiler to see to that.
const _: () = {
    const fn any_thread<T: Send + Sync>() {}
    any_thread::<isoline_snake>()
};

impl isoline_snake {
    fn hand_out(context: &Context, snake: Snake) -> *mut Self {
        let count = AtomicUsize::new(snake.len());
        let held = Mutex::new(Held { snake, lent: None });
        Box::into_raw(Box::new(Self { context: context.clone(), count, held }))
    }
}

/// This thread's turn with the snake behind a caller's pointer.
///
/// # Safety
/// `snake` is NULL or came from isoline_snake_new or _run and has not been freed; it lives for `'a`.
pub(super) unsafe fn turn<'a>(snake: *const isoline_snake) -> Result<MutexGuard<'a, Held>> {
    // SAFETY: as the caller vouches.
    let snake = unsafe { snake.as_ref() }.ok_or_else(|| null("snake"))?;
    // Before waiting: a thread inside a call on the context would wait for one that waits for the context, or for itself.
    snake.context.refuse_own_thread().map_err(|_| {
        Error::new(
            ErrorKind::Busy,
            "this snake's context is in use further up this thread's call stack (a progress callback must not use a snake \
             of the context that is calling it); use it when that call has returned",
        )
    })?;
    snake.held.lock().map_err(|_| {
        Error::new(ErrorKind::Panic, "a call on this snake met a defect in Isoline and left it halfway; free it")
    })
}

/// Fills `params` with the defaults. `struct_size`: sizeof(isoline_snake_params).
/// Errors: ISOLINE_NULL_POINTER, ISOLINE_INVALID_ARGUMENT for a size that is too small.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_params_init(
    params: *mut isoline_snake_params,
    struct_size: usize,
) -> isoline_status {
    // SAFETY: as the caller vouches.
    guard(|| unsafe { sized::init(params, struct_size, "params") })
}

/// Region snakes: polygons that split a noisy image into target and background by maximum likelihood (Chesnaud, Réfrégier
/// and Boulet 1999; Perrot et al. 2011), one or thousands, each by itself. No edge is needed: a polygon moves, and gains
/// nodes, while that makes the image more likely, with a distribution of grey values of its own inside and outside.
/// docs/snake.md has the method.
///
/// All sums are integers, so that results do not depend on device, threads or the number of targets. The image is copied
/// to where it is computed, with cumulated rows (1.5 bytes per pixel in all for u8, 3 for u16 and f32); the caller's is not
/// needed after the call. NaN pixels of an f32 image count as the smallest. Distances are in pixels: the image's spacing is
/// not used.
///
/// `context`: not NULL. The snake keeps the device alive: the two may be freed in either order.
/// `input`: not NULL; one slice of any type, up to 2^25 pixels a side and 2^31 in all; host or CUDA memory.
/// `initial`: a target for each of these polygons, with the same result whichever way and from whichever node on they run;
/// NULL for one, a rectangle that leaves a quarter of each side free around it. Nodes outside the image are moved to the
/// nearest place on its border; a polygon of which nothing is left then is ISOLINE_TARGET_LEFT_IMAGE and stays as it was given.
/// `params`: NULL for the defaults.
/// `out`: receives the snake; free it with isoline_snake_free. Not written on failure.
/// Errors: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT, also for a polygon that touches itself (the message names polygon and
/// edges, counted from 0) or has more nodes than params->max_nodes; _INVALID_SIZE; _INVALID_TYPE; _UNSUPPORTED for the
/// sequential schedule on CUDA ("auto" takes the CPU for it), or CUDA pixels with a CPU context; _OUT_OF_MEMORY;
/// _DEVICE_FAILED; _BUSY. Any thread; calls on one context take turns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_new(
    context: *mut isoline_context,
    input: *const isoline_image,
    initial: *const isoline_polygons,
    params: *const isoline_snake_params,
    out: *mut *mut isoline_snake,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or good, as the caller vouches; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let input = Checked::new(input, "input")?;
            let initial = isoline_polygons::read_optional(initial, "initial")?;
            let params = isoline_snake_params::read(params)?;
            if out.is_null() {
                return Err(null("out"));
            }
            let snake = Snake::new(context, input.input(), initial.as_ref(), &params)?;
            out.write(isoline_snake::hand_out(context, snake));
            Ok(())
        }
    })
}

/// Starts again on the same image and device with other polygons or parameters; what was computed of the image is used
/// again.
///
/// `snake`: not NULL. Polygons that it has lent out end, unless the call fails.
/// `initial`, `params`: as for isoline_snake_new; NULL stands for the defaults, not for those of before. The noise must not
/// change from or to ISOLINE_SNAKE_NOISE_BERNOULLI, nor the range change: the image is kept as these made it; with an automatic
/// range of f32 the noise must not change from or to ISOLINE_SNAKE_NOISE_GAUSSIAN either.
/// Errors and threads: as for isoline_snake_new. On an error the snake is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_restart(
    snake: *mut isoline_snake,
    initial: *const isoline_polygons,
    params: *const isoline_snake_params,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or good, as the caller vouches; NULL is refused or allowed by each reader.
        unsafe {
            let mut held = turn(snake)?;
            // Copied before what was lent out ends, for they may be the same.
            let initial = isoline_polygons::read_optional(initial, "initial")?;
            held.snake.restart(initial.as_ref(), &isoline_snake_params::read(params)?)?;
            let count = held.changing().len();
            (*snake).count.store(count, Ordering::Relaxed);
            Ok(())
        }
    })
}

/// Goes on with every target that has not ended.
///
/// `snake`: not NULL. Polygons that it has lent out end.
/// `iterations`: the most steps of each target; UINT64_MAX until all have ended, 0 does nothing. Steps of 20 and of 30 give
/// what 50 give.
/// `progress`: NULL for none. A cancelled step returns ISOLINE_CANCELLED, and every target keeps its last whole step: the
/// snake can be read, and goes on with the next step.
/// `report`: NULL for none; else after isoline_report_init. `converged` is 1 when all targets have ended, whichever way;
/// `iterations` is the largest number of steps that any target has done since its start.
/// Errors: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT; _OUT_OF_MEMORY; _DEVICE_FAILED; _CANCELLED; _BUSY from a progress
/// callback of the snake's context. After ISOLINE_DEVICE_FAILED free it. Any thread; calls on one snake take turns, as do
/// those on its context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_step(
    snake: *mut isoline_snake,
    iterations: u64,
    progress: *const isoline_progress,
    report: *mut isoline_report,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or good, as the caller vouches; NULL is refused or allowed by each reader.
        unsafe {
            let mut held = turn(snake)?;
            let mut callback = closure(progress)?;
            if !report.is_null() {
                // Refused now rather than after the work.
                sized::read(report.cast_const(), "report")?;
            }
            let progress = callback.as_mut().map(|callback| callback as &mut Progress<'_>);
            let done = held.changing().step(iterations, progress)?;
            if report.is_null() { Ok(()) } else { sized::write(report, &(&done).into(), "report") }
        }
    })
}

/// How many targets a snake has: the initial polygons, ended or not. `snake`: NULL counts as none. Never fails. Any thread,
/// also from a progress callback.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_count(snake: *const isoline_snake) -> usize {
    // SAFETY: as the caller vouches.
    guard_or(0, || unsafe { snake.as_ref() }.map_or(0, |snake| snake.count.load(Ordering::Relaxed)))
}

/// Frees a snake; every pointer into it is then dangling. `snake`: may be NULL. No call may be running on it, and it must
/// not be used again. Any thread, but not from within a callback of its own step. Its context may be freed before or after
/// it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_free(snake: *mut isoline_snake) {
    if snake.is_null() {
        return;
    }
    let freed = guard_or(false, || {
        // SAFETY: made by Box::into_raw in `hand_out` and freed once, as the caller vouches.
        drop(unsafe { Box::from_raw(snake) });
        true
    });
    if !freed {
        complain("freeing a snake failed");
    }
}

/// Region snakes in one call: starts, goes on until every target has ended, and gives labels, the snake, or both.
///
/// `context`, `input`, `initial`, `params`: as for isoline_snake_new.
/// `progress`: NULL for none.
/// `labels`: NULL when they are not wanted; else as for isoline_snake_draw_labels, the input's size, memory of its own.
/// `out`: NULL when it is not wanted; else receives the snake, to be read or restarted; free it with isoline_snake_free. One
/// of `labels` and `out` must be asked for.
/// `report`: NULL for none; else after isoline_report_init.
/// Errors: as for isoline_snake_new and isoline_snake_draw_labels; _OVERLAP; _CANCELLED. On an error neither `labels` nor
/// `out` is written. Any thread; calls on one context take turns.
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
        // SAFETY: every pointer is NULL or good, as the caller vouches; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let input = Checked::new(input, "input")?;
            let initial = isoline_polygons::read_optional(initial, "initial")?;
            let params = isoline_snake_params::read(params)?;
            let mut callback = closure(progress)?;
            if labels.is_null() && out.is_null() {
                let what = "labels and out must not both be NULL; one of them is enough";
                return Err(Error::new(ErrorKind::NullPointer, what));
            }
            let labels = Checked::optional(labels, "labels")?;
            let labels = match &labels {
                None => None,
                Some(labels) => {
                    labels.check_output(&input)?;
                    Some(labels_of(labels)?)
                }
            };
            if !report.is_null() {
                // Refused now rather than after the work.
                sized::read(report.cast_const(), "report")?;
            }
            let progress = callback.as_mut().map(|callback| callback as &mut Progress<'_>);
            let mut snake = Snake::new(context, input.input(), initial.as_ref(), &params)?;
            if let Some(labels) = &labels {
                snake.check_labels(labels)?;
            }
            let done = snake.step(u64::MAX, progress)?;
            if let Some(labels) = labels {
                snake.draw_labels(labels)?;
            }
            if !report.is_null() {
                sized::write(report, &(&done).into(), "report")?;
            }
            if !out.is_null() {
                out.write(isoline_snake::hand_out(context, snake));
            }
            Ok(())
        }
    })
}
