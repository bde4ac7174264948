//! What is read of a snake: polygons, statistics, sums, mask and labels.

use super::image::{Checked, isoline_image};
use super::polygons::{address, isoline_node, isoline_polygons};
use super::sized;
use super::snake::{isoline_snake, turn};
use super::{check, guard, isoline_status, null};
use crate::error::{Error, Result};
use crate::image::{ImageMut, PixelType};
use crate::snake::{Statistics, Status};

/// Where a target's search stands.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_target_status {
    /// It has not ended.
    ISOLINE_TARGET_RUNNING = 0,
    /// No move of one node by one pixel improves it, and no node can be added.
    ISOLINE_TARGET_CONVERGED = 1,
    /// No pixel is left in it.
    ISOLINE_TARGET_VANISHED = 2,
    /// Its start lies outside the image. Its nodes are as they were.
    ISOLINE_TARGET_LEFT_IMAGE = 3,
    /// isoline_snake_params.max_iterations was reached.
    ISOLINE_TARGET_ITERATION_LIMIT = 4,
}

impl From<Status> for isoline_target_status {
    fn from(status: Status) -> Self {
        match status {
            Status::Running => Self::ISOLINE_TARGET_RUNNING,
            Status::Converged => Self::ISOLINE_TARGET_CONVERGED,
            Status::Vanished => Self::ISOLINE_TARGET_VANISHED,
            Status::LeftImage => Self::ISOLINE_TARGET_LEFT_IMAGE,
            Status::IterationLimit => Self::ISOLINE_TARGET_ITERATION_LIMIT,
        }
    }
}

/// What is known of one target. Grey values are in the image's own units. Frozen: it never grows.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct isoline_target_statistics {
    /// An isoline_target_status.
    pub status: u32,
    /// 0.
    pub reserved: u32,
    /// Steps that it has done.
    pub iterations: u64,
    /// Nodes of its polygon.
    pub nodes: u64,
    /// Pixels in it.
    pub pixels: u64,
    /// Pixels of its background: the image's, or its window's, outside it.
    pub background_pixels: u64,
    /// The mean of the pixels in it; NaN where there are none, as with the next three.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// The mean of its background.
    pub background_mean: f64,
    /// The standard deviation of its background.
    pub background_deviation: f64,
    /// The criterion, minus the logarithm of the likelihood up to constants, without what nodes cost; smaller is better,
    /// and comparable only on the same pixels.
    pub criterion: f64,
}
const _: () = assert!(size_of::<isoline_target_statistics>() == 80);

impl From<&Statistics> for isoline_target_statistics {
    fn from(statistics: &Statistics) -> Self {
        Self {
            status: isoline_target_status::from(statistics.status) as u32,
            reserved: 0,
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

/// Exact sums over the pixels in one polygon. Frozen: it never grows.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct isoline_region_sum {
    /// Pixels in it.
    pub pixels: u64,
    /// The sum of their levels: the pixel values of 8- and 16-bit images, the steps from 0 to 65535 of f32 images, and 1 for
    /// every pixel above 0 with ISOLINE_SNAKE_NOISE_BERNOULLI.
    pub sum: u64,
    /// The sum of the squares of their levels.
    pub sum_of_squares: u64,
    /// The mean of the pixels, in the image's own units; NaN where there are none.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
}
const _: () = assert!(size_of::<isoline_region_sum>() == 40);

/// An image that labels can be drawn into.
///
/// # Safety
/// As [`Checked::output`].
pub(super) unsafe fn labels_of<'a>(labels: &Checked) -> Result<ImageMut<'a>> {
    let wanted = if labels.pixel_type() == PixelType::F32 { PixelType::F32 } else { PixelType::U16 };
    // SAFETY: as the caller vouches.
    unsafe { labels.output(wanted) }
}

/// Lends out the polygons as they are: one for each target, in the order of the initial ones, clockwise on the screen
/// (those of ISOLINE_TARGET_LEFT_IMAGE as they were given).
///
/// `snake`: not NULL.
/// `out`: not NULL; after isoline_polygons_init; written on success. Its pointers are borrowed: good until the next
/// isoline_snake_step, _restart or _free of this snake, and only to be read.
/// Errors: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT for a struct_size that is too small; _OUT_OF_MEMORY; _BUSY. Any thread;
/// as isoline_snake_step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_polygons(
    snake: *mut isoline_snake,
    out: *mut isoline_polygons,
) -> isoline_status {
    // SAFETY: both are NULL or good, as the caller vouches; NULL is refused by each reader.
    guard(|| unsafe { sized::write(out, &isoline_polygons::lend(turn(snake)?.polygons()?), "out") })
}

/// Lends out the polygon of one target.
///
/// `snake`: not NULL. `index`: less than isoline_snake_count().
/// `nodes`: receives the first node's address, borrowed as those of isoline_snake_polygons.
/// `count`: receives how many there are, at least 3.
/// Errors: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT for an index out of range; _OUT_OF_MEMORY; _BUSY; then neither is written.
/// Any thread; as isoline_snake_step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_polygon(
    snake: *mut isoline_snake,
    index: usize,
    nodes: *mut *const isoline_node,
    count: *mut usize,
) -> isoline_status {
    guard(|| {
        // SAFETY: as the caller vouches.
        let mut held = unsafe { turn(snake) }?;
        if nodes.is_null() {
            return Err(null("nodes"));
        }
        if count.is_null() {
            return Err(null("count"));
        }
        let polygons = held.polygons()?;
        let Some(found) = polygons.get(index) else {
            return Err(Error::argument(match polygons.len() {
                0 => format!("there are no targets, so no index is valid, but it is {index}"),
                count => format!("the target's index must be less than {count}, but it is {index}"),
            }));
        };
        // SAFETY: not NULL; writable, as the caller vouches.
        unsafe {
            nodes.write(address(found));
            count.write(found.len());
        }
        Ok(())
    })
}

/// Tells what is known of each target, in the order of the initial polygons.
///
/// `snake`: not NULL.
/// `first`: the first target of interest, counted from 0.
/// `count`: for how many `out` has room.
/// `out`: receives those of the targets from `first` on, at most `count`; the rest of it stays as it is. May be NULL when
/// `count` is 0.
/// `written`: not NULL; receives how many were written.
/// Errors: ISOLINE_NULL_POINTER; _INVALID_SIZE for a `count` that no memory has room for; _BUSY. Any thread; as
/// isoline_snake_step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_statistics(
    snake: *mut isoline_snake,
    first: usize,
    count: usize,
    out: *mut isoline_target_statistics,
    written: *mut usize,
) -> isoline_status {
    guard(|| {
        // SAFETY: as the caller vouches.
        let held = unsafe { turn(snake) }?;
        check::array(out, count, "out")?;
        if written.is_null() {
            return Err(null("written"));
        }
        let mut given = 0;
        for statistics in held.snake.statistics_from(first).take(count) {
            // SAFETY: not NULL, with room for `count`, as the caller vouches.
            unsafe { out.add(given).write((&statistics).into()) };
            given += 1;
        }
        // SAFETY: not NULL; writable, as the caller vouches.
        unsafe { written.write(given) };
        Ok(())
    })
}

/// Sums over the pixels in any polygons, as far as they lie in the snake's image. What was computed of the image is used
/// again: this takes time with the polygons' heights, not with their areas.
///
/// `snake`: not NULL. Its targets do not matter.
/// `polygons`: not NULL; of up to 65536 nodes each.
/// `out`: room for polygons->count sums. May be NULL when there are no polygons. Not written on failure.
/// Errors: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT, also for a polygon that touches itself (the message names polygon and
/// edges, counted from 0); _INVALID_SIZE; _OUT_OF_MEMORY; _DEVICE_FAILED; _BUSY. Any thread; as isoline_snake_step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_region_sums(
    snake: *mut isoline_snake,
    polygons: *const isoline_polygons,
    out: *mut isoline_region_sum,
) -> isoline_status {
    guard(|| {
        // SAFETY: both are NULL or good, as the caller vouches; NULL is refused by each reader.
        let (held, polygons) = unsafe { (turn(snake)?, isoline_polygons::read(polygons, "polygons")?) };
        check::array(out, polygons.len(), "out")?;
        for (index, sum) in held.snake.region_sums(&polygons)?.iter().enumerate() {
            let [mean, deviation] = held.snake.moments(sum);
            let [pixels, z, zz] = [sum.pixels, sum.z, sum.zz].map(i64::cast_unsigned);
            let told = isoline_region_sum { pixels, sum: z, sum_of_squares: zz, mean, deviation };
            // SAFETY: not NULL, with room for as many as there are polygons, as the caller vouches.
            unsafe { out.add(index).write(told) };
        }
        Ok(())
    })
}

/// Draws the targets as they are as a mask: 255 where a pixel lies in any of them, 0 elsewhere.
///
/// `snake`: not NULL. `mask`: not NULL; ISOLINE_U8, the size of the snake's input, host memory.
/// Errors: ISOLINE_NULL_POINTER, _INVALID_ARGUMENT, _INVALID_SIZE, _INVALID_TYPE; _OVERLAP for rows that overlap each
/// other; _UNSUPPORTED for CUDA memory; _BUSY. On an error the mask is untouched. Any thread; as isoline_snake_step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_draw_mask(
    snake: *mut isoline_snake,
    mask: *const isoline_image,
) -> isoline_status {
    guard(|| {
        // SAFETY: both are NULL or good, as the caller vouches; NULL is refused by each reader.
        unsafe {
            let held = turn(snake)?;
            let mask = Checked::new(mask, "mask")?;
            mask.check_rows()?;
            held.snake.draw_mask(mask.output(PixelType::U8)?)
        }
    })
}

/// Draws the targets as they are as labels: the number of the target that a pixel lies in, counted from 1, 0 elsewhere.
/// Where targets overlap the smallest number stands.
///
/// `snake`: not NULL. `labels`: not NULL; ISOLINE_U16, or ISOLINE_F32 for more than 65535 targets (up to 2^24); the size of
/// the snake's input, host memory.
/// Errors: ISOLINE_INVALID_ARGUMENT for more targets than the type can count; else, and threads, as for
/// isoline_snake_draw_mask. On an error the labels are untouched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_snake_draw_labels(
    snake: *mut isoline_snake,
    labels: *const isoline_image,
) -> isoline_status {
    guard(|| {
        // SAFETY: both are NULL or good, as the caller vouches; NULL is refused by each reader.
        unsafe {
            let held = turn(snake)?;
            let labels = Checked::new(labels, "labels")?;
            labels.check_rows()?;
            held.snake.draw_labels(labels_of(&labels)?)
        }
    })
}
