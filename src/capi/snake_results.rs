//! The results of a snake: polygons, statistics, sums, mask and labels.

use super::image::{Checked, isoline_image};
use super::polygons::{isoline_node, isoline_polygons};
use super::sized;
use super::snake::{isoline_snake, lock};
use super::{check, guard, isoline_status};
use crate::image::PixelType;
use crate::snake::{Statistics, Status};

/// The status of a target's search.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_target_status {
    /// The search has not ended.
    ISOLINE_TARGET_RUNNING = 0,
    /// No move of one node by one pixel improves the criterion, and no node can be removed (with a node_cost above 0) or
    /// added (with a node_cost of 0).
    ISOLINE_TARGET_CONVERGED = 1,
    /// No pixel is left inside the polygon.
    ISOLINE_TARGET_VANISHED = 2,
    /// The initial polygon is outside the image. Its nodes are unchanged.
    ISOLINE_TARGET_LEFT_IMAGE = 3,
    /// The limit isoline_snake_params.max_iterations was reached.
    ISOLINE_TARGET_ITERATION_LIMIT = 4,
}

const _: () = assert!(Status::IterationLimit as u32 == isoline_target_status::ISOLINE_TARGET_ITERATION_LIMIT as u32);

/// Properties of a target: bits that are added together.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_target_flags {
    /// The polygon shares a pixel with the polygon of another target or, with ISOLINE_SNAKE_OVERLAP_EXCLUDED, a node lies
    /// on the border to the territory of another target, which has limited it or touches it.
    ISOLINE_TARGET_OVERLAPS = 1,
    /// A node lies on the border of the image, so that the object may continue outside the image.
    ISOLINE_TARGET_TOUCHES_IMAGE = 2,
    /// A node lies on the border of the window, inside the image: the object may be larger, or nothing in the window stands
    /// out from its surroundings.
    ISOLINE_TARGET_TOUCHES_WINDOW = 4,
    /// All pixels of target and background are equal. No outline is better than another, so the polygon is meaningless.
    ISOLINE_TARGET_FLAT = 8,
}

impl isoline_target_flags {
    /// Returns the sum of the flags of a target.
    fn of(statistics: &Statistics) -> u32 {
        [
            (statistics.overlaps, Self::ISOLINE_TARGET_OVERLAPS),
            (statistics.touches_image, Self::ISOLINE_TARGET_TOUCHES_IMAGE),
            (statistics.touches_window, Self::ISOLINE_TARGET_TOUCHES_WINDOW),
            (statistics.flat, Self::ISOLINE_TARGET_FLAT),
        ]
        .iter()
        .map(|(set, flag)| u32::from(*set) * *flag as u32)
        .sum()
    }
}

/// The statistics of one target. Grey values are in the image's own units; with ISOLINE_SNAKE_NOISE_BERNOULLI they are shares of
/// pixels above 0. The struct never changes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct isoline_target_statistics {
    /// An isoline_target_status.
    pub status: u32,
    /// A sum of isoline_target_flags.
    pub flags: u32,
    /// The number of iterations done.
    pub iterations: u64,
    /// The number of nodes of the polygon.
    pub nodes: u64,
    /// The number of pixels of the target: those inside the polygon, and, with ISOLINE_SNAKE_OVERLAP_EXCLUDED, in its
    /// territory.
    pub pixels: u64,
    /// The number of pixels of the background: those of the image, or of the window, that are not the target's.
    pub background_pixels: u64,
    /// The mean of the target's pixels; NaN if there are none, as are the next three fields.
    pub mean: f64,
    /// The standard deviation of the target's pixels.
    pub deviation: f64,
    /// The mean of the background.
    pub background_mean: f64,
    /// The standard deviation of the background.
    pub background_deviation: f64,
    /// The criterion without the cost of the nodes: the negative log-likelihood up to constants. Smaller is better;
    /// values are comparable only for the same pixels.
    pub criterion: f64,
}
const _: () = assert!(size_of::<isoline_target_statistics>() == 80);

impl From<&Statistics> for isoline_target_statistics {
    fn from(statistics: &Statistics) -> Self {
        Self {
            status: statistics.status as u32,
            flags: isoline_target_flags::of(statistics),
            iterations: statistics.iterations,
            nodes: statistics.nodes,
            pixels: statistics.pixels,
            background_pixels: statistics.background_pixels,
            mean: statistics.mean,
            deviation: statistics.deviation,
            background_mean: statistics.background_mean,
            background_deviation: statistics.background_deviation,
            criterion: statistics.criterion,
        }
    }
}

/// Exact sums over the pixels inside one polygon. The struct never changes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct isoline_region_sum {
    /// The number of pixels inside the polygon.
    pub pixels: u64,
    /// The sum of the levels of the pixels: the pixel values of 8- and 16-bit images, the levels from 0 to 65535 of
    /// f32 images, and 1 for every pixel above 0 with ISOLINE_SNAKE_NOISE_BERNOULLI.
    pub sum: u64,
    /// The sum of the squares of the levels.
    pub sum_of_squares: u64,
    /// The mean of the pixels, in the image's own units; NaN if there are none.
    pub mean: f64,
    /// The standard deviation of the pixels inside the polygon.
    pub deviation: f64,
}
const _: () = assert!(size_of::<isoline_region_sum>() == 40);

/// Returns the current polygons, which are borrowed: one for each target, in the order of the initial ones, clockwise
/// on the screen (those of ISOLINE_TARGET_LEFT_IMAGE as they were given).
///
/// @param snake not NULL.
/// @param out not NULL; after isoline_polygons_init; written on success. Its pointers are valid until the next
///   isoline_snake_step, _restart or _free of this snake, and must only be read.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT for a struct_size that is too small;
///   _OUT_OF_MEMORY; _BUSY. Threads: as for isoline_snake_step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_polygons(
    snake: *mut isoline_snake,
    out: *mut isoline_polygons,
) -> isoline_status {
    // SAFETY: both are NULL or valid, as the caller ensures; NULL is refused by each reader.
    guard(|| unsafe { sized::write(out, &isoline_polygons::borrowed(lock(snake)?.polygons()?), "out") })
}

/// Returns the current polygon of one target, which is borrowed.
///
/// @param snake not NULL.
/// @param index less than isoline_snake_count().
/// @param nodes receives the address of the first node, which is valid as long as those of isoline_snake_polygons.
/// @param count receives the number of nodes, at least 3.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT for an index out of range; _OUT_OF_MEMORY;
///   _BUSY; nothing is written then. Threads: as for isoline_snake_step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_polygon(
    snake: *mut isoline_snake,
    index: usize,
    nodes: *mut *const isoline_node,
    count: *mut usize,
) -> isoline_status {
    guard(|| {
        // SAFETY: as the caller ensures.
        let mut held = unsafe { lock(snake) }?;
        check::not_null(nodes, "nodes")?;
        check::not_null(count, "count")?;
        let polygons = held.polygons()?;
        check::index(index, polygons.len(), "target")?;
        let found = polygons.get(index).unwrap_or_default();
        // SAFETY: not NULL; writable, as the caller ensures.
        unsafe {
            nodes.write(check::address(found).cast());
            count.write(found.len());
        }
        Ok(())
    })
}

/// Returns the statistics of targets, in the order of the initial polygons.
///
/// @param snake not NULL.
/// @param first the first target to return, counted from 0.
/// @param count the number of elements that `out` has memory for.
/// @param out receives the statistics of the targets from `first` on, at most `count`; further elements are unchanged.
///   May be NULL if `count` is 0.
/// @param written not NULL; receives the number of elements that were written.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; _INVALID_SIZE for a `count` that cannot be addressed; _BUSY.
///   Threads: as for isoline_snake_step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_statistics(
    snake: *mut isoline_snake,
    first: usize,
    count: usize,
    out: *mut isoline_target_statistics,
    written: *mut usize,
) -> isoline_status {
    guard(|| {
        // SAFETY: as the caller ensures.
        let held = unsafe { lock(snake) }?;
        // SAFETY: as the caller ensures.
        unsafe { check::give(held.snake.statistics_from(first)?.map(|one| (&one).into()), count, out, written) }
    })
}

/// Returns the sums over the pixels inside any polygons, as far as they are in the snake's image. The function uses the row
/// prefix sums of the image, so that its time grows with the heights of the polygons and not with their areas: each edge
/// costs about 10 ns for each row of the image that it passes, and each node about 1 µs for the test that no polygon
/// touches itself, on one core; several polygons are shared by all cores. isoline_set_cancel_flag can cancel it.
///
/// @param snake not NULL. Its targets have no influence. A snake that isoline_snake_run made from several slices or with
///   ISOLINE_SLICES keeps no pixels (ISOLINE_UNSUPPORTED).
/// @param polygons not NULL; up to 65536 nodes each.
/// @param out memory for polygons->count sums. May be NULL if there are no polygons.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT, also for a polygon that touches itself (the
///   message names polygon and edges, counted from 0); _INVALID_SIZE; _OUT_OF_MEMORY; _DEVICE_FAILED; _CANCELLED; _BUSY.
///   Threads: as for isoline_snake_step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_region_sums(
    snake: *mut isoline_snake,
    polygons: *const isoline_polygons,
    out: *mut isoline_region_sum,
) -> isoline_status {
    guard(|| {
        let mut written = 0;
        // SAFETY: both are NULL or valid, as the caller ensures; NULL is refused by each reader.
        let (held, polygons) = unsafe { (lock(snake)?, isoline_polygons::read(polygons, "polygons")?) };
        check::array(out, polygons.len(), "out")?;
        let sums = held.snake.region_sums(&polygons)?;
        let described = sums.iter().map(|sum| {
            let [mean, deviation] = held.snake.moments(sum);
            let [pixels, z, zz] = [sum.pixels, sum.z, sum.zz].map(i64::cast_unsigned);
            isoline_region_sum { pixels, sum: z, sum_of_squares: zz, mean, deviation }
        });
        // SAFETY: `out` is NULL or has room for as many as there are polygons, as the caller ensures.
        unsafe { check::give(described, sums.len(), out, &raw mut written) }
    })
}

/// Draws the current targets as a mask: 255 where a pixel belongs to any of them, 0 elsewhere.
///
/// @param snake not NULL.
/// @param mask not NULL; ISOLINE_U8, the size of the snake's input, host memory or slices. A callback must not use the
///   snake.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER, _INVALID_ARGUMENT, _INVALID_SIZE, _INVALID_TYPE; _OVERLAP for rows
///   that overlap each other; _UNSUPPORTED for CUDA memory; _OUT_OF_MEMORY; _CALLBACK_FAILED; _CANCELLED; _BUSY. Threads: as
///   for isoline_snake_step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_draw_mask(
    snake: *mut isoline_snake,
    mask: *const isoline_image,
) -> isoline_status {
    guard(|| {
        // SAFETY: both are NULL or valid, as the caller ensures; NULL is refused by each reader.
        unsafe {
            let held = lock(snake)?;
            held.snake.read_mask(Checked::sliced_to_write(mask, "mask")?.sink(PixelType::U8)?)
        }
    })
}

/// Draws the current targets as a label image: each pixel gets the number of the target that it belongs to,
/// counted from 1, and 0 elsewhere. Where targets overlap the smallest number is drawn; with
/// ISOLINE_SNAKE_OVERLAP_EXCLUDED none do, and as many pixels have a number as isoline_snake_statistics counts.
///
/// @param snake not NULL.
/// @param labels not NULL; ISOLINE_U16, or ISOLINE_F32 for more than 65535 targets (up to 2^24); the size of the
///   snake's input, host memory or slices, whose callback must not use the snake.
/// @return ISOLINE_OK or an error: ISOLINE_INVALID_ARGUMENT for more targets than the type can count; else, and
///   threads, as for isoline_snake_draw_mask.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_draw_labels(
    snake: *mut isoline_snake,
    labels: *const isoline_image,
) -> isoline_status {
    guard(|| {
        // SAFETY: both are NULL or valid, as the caller ensures; NULL is refused by each reader.
        unsafe {
            let held = lock(snake)?;
            held.snake.read_labels(Checked::sliced_to_write(labels, "labels")?.labels()?)
        }
    })
}
