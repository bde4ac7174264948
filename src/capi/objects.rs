//! Objects: many fronts at the same time, from a label image of starts to a label image of objects.

use super::context::{context, isoline_context};
use super::fields::{self, params_of};
use super::image::{Checked, isoline_image};
use super::progress::isoline_progress;
use super::report::isoline_report;
use super::sized::{self, same_layout};
use super::{guard, isoline_status, object};
use crate::error::Result;
use crate::objects::{self, Object, Objects, Params, parameters};
use crate::parameter::{FOREGROUNDS, ends};

/// The parameters of isoline_objects. isoline_objects_params_init fills them with the defaults. The image describes the
/// voxel's size.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_objects_params {
    /// The size of the struct, set by isoline_objects_params_init.
    pub struct_size: u32,
    /// The side on which objects differ from their surroundings, an isoline_foreground: brighter (above) or darker (below).
    /// Default: ISOLINE_FOREGROUND_ABOVE.
    pub foreground: u32,
    /// 1 (default): the voxels of a start stay in its object. 0: a front may leave a start that does not fit the image, and
    /// an object may vanish.
    pub keep_starts: u32,
    /// The number of iterations, 1 to 1000, after which the objects' brightness is measured again, and the stopping
    /// criterion tested. Default 10.
    pub check_interval: u32,
    /// The most iterations. Default 1000. With 0 the objects are the starts themselves, for example to correct automatic
    /// starts by hand.
    pub iterations: u32,
    /// Must be 0.
    pub reserved: u32,
    /// The weight of the image against curvature, more than 0 and at most 1. Default 0.5. A ball whose radius is at most
    /// (1 - alpha) / alpha times the smallest spacing does not grow.
    pub alpha: f64,
    /// The background of an object is measured in its bounding box, which is widened by this in all directions, in the unit
    /// of the image's spacing; more than 0. ISOLINE_AUTOMATIC (default): automatic, half the mean distance between objects,
    /// as if they were on a regular grid.
    pub margin: f64,
    /// Stopping criterion: the largest distance, in voxels, by which the front of an object that is at rest may move
    /// between two tests; at least 0. The distance is estimated as the number of voxels that the object has gained or lost,
    /// divided by the surface of a ball of its size (in an image of one slice, the circumference of a disc). It must also
    /// not be larger at the front's speed in the last iteration; with 0, nothing may have changed in the last iteration.
    /// The tests are at least 10 iterations, a check interval, and 4 iterations times the ratio of the largest to the
    /// smallest spacing apart. The iterations end when in a test all objects are at rest and no front has moved by two
    /// voxels anywhere; if a brightness has changed, this must be so in two successive tests. Default 0.02.
    pub change_tolerance: f64,
    /// Without starts: the threshold between objects and background, in the image's own units, from -3.4e38 to 3.4e38.
    /// ISOLINE_AUTOMATIC (default): automatic, Otsu's threshold (1979) of the square roots of the pixels' height above the lowest
    /// pixel; for dark objects, of their depth below the highest pixel.
    pub threshold: f64,
    /// Without starts: the standard deviation of the Gaussian that smooths the image before the threshold, in the unit of
    /// the image's spacing, at least 0 and at most 100 times the smallest spacing. ISOLINE_AUTOMATIC (default): automatic,
    /// the smallest spacing.
    pub sigma: f64,
    /// Without starts: two maxima of the distance inside both get a start only if the distance decreases by at least this
    /// between them, in the unit of the image's spacing; more than 0. ISOLINE_AUTOMATIC (default): automatic, a quarter of
    /// the smallest spacing. The distance at a maximum must be at least this, and at least the smallest spacing.
    pub prominence: f64,
    /// f32 images, which are converted to 65536 levels: the pixel value of level 0; smaller pixels are clamped to it. This
    /// and range_max ISOLINE_AUTOMATIC (default): automatic, see Automatic ranges at the top; give
    /// both for images of spots of one pixel. Otherwise both must be given, from -3.4e38 to 3.4e38, and this one must be
    /// less than range_max. Must be automatic for 8- and 16-bit images, which are used unchanged.
    pub range_min: f64,
    /// f32 images: the pixel value of level 65535, up to 3.4e38; larger pixels are clamped to it. ISOLINE_AUTOMATIC
    /// (default): automatic.
    pub range_max: f64,
}

params_of! {
    isoline_objects_params, 88, parameters::OPERATION, [reserved], foreground, keep_starts, check_interval,
    iterations, alpha, margin, change_tolerance, threshold, sigma, prominence, range_min, range_max
}

impl isoline_objects_params {
    fn translate(&self, spacing: [f64; 3]) -> Result<Params> {
        Ok(Params {
            foreground: parameters::FOREGROUND.chosen(self.foreground, &FOREGROUNDS)?,
            keep_starts: self.keep_starts != 0,
            check_interval: self.check_interval,
            iterations: self.iterations,
            alpha: self.alpha,
            margin: parameters::MARGIN.unless_automatic(self.margin),
            change_tolerance: self.change_tolerance,
            threshold: parameters::THRESHOLD.unless_automatic(self.threshold),
            sigma: parameters::SIGMA.unless_automatic(self.sigma),
            prominence: parameters::PROMINENCE.unless_automatic(self.prominence),
            range: ends(&parameters::RANGE_MIN, &parameters::RANGE_MAX, [self.range_min, self.range_max])?,
            spacing,
        })
    }
}

/// A flag of isoline_object: it has a voxel at the border of the image; in an image of one slice, only the borders along x
/// and y count.
pub const ISOLINE_OBJECT_AT_BORDER: u32 = 1;
/// A flag of isoline_object: it has a voxel next to a voxel of another object.
pub const ISOLINE_OBJECT_TOUCHES: u32 = 2;
const _: () = assert!(ISOLINE_OBJECT_AT_BORDER == Object::AT_BORDER && ISOLINE_OBJECT_TOUCHES == Object::TOUCHES);

/// One object that isoline_objects has found. The struct never changes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct isoline_object {
    /// Its label, which is the label of its start.
    pub label: u32,
    /// ISOLINE_OBJECT_AT_BORDER, ISOLINE_OBJECT_TOUCHES.
    pub flags: u32,
    /// The number of its voxels; 0 if it has vanished.
    pub voxels: u64,
    /// The number of its voxels times the size of a voxel, in the cube of the unit of the image's spacing; in an image of
    /// one slice, its area.
    pub volume: f64,
    /// The mean of its voxels' centres along x, y, z, in the unit of the image's spacing, relative to the centre of the
    /// image's first voxel. NaN if it has vanished.
    pub centre: [f64; 3],
    /// The mean of its voxels, in the image's own units; if it has vanished, the last mean before that. Pixels of f32
    /// images count as the values of their levels, and are clamped to the range.
    pub mean: f64,
    /// The mean of the background near it, measured in the same way; NaN if there is no background.
    pub background: f64,
}

// Objects are returned in the layout that they have in Rust's memory.
same_layout!(isoline_object, Object, label, flags, voxels, volume, centre, mean, background);

/// The objects of a call in the order of their labels, created by isoline_objects. The list never changes. Opaque.
pub struct isoline_object_list(Objects);

/// Fills `params` with the defaults; `struct_size` is sizeof *params, see "Structs".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_objects_params_init(
    params: *mut isoline_objects_params,
    struct_size: usize,
) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::init(params, struct_size, "params") })
}

/// Grows many objects at the same time in an image or a volume, from a label image of starts to a label image of objects.
/// Each object has its own front, which grows from its start, follows the image, stays smooth, and stops where it meets the
/// front of a neighbour. A voxel belongs to one object at most. All slices of the image together are one volume. The fronts
/// move on the context's device, and CPU and CUDA give the same bits; the CPU finds automatic starts and measures the
/// objects.
///
/// A front moves outwards where the level of a voxel is nearer to the mean of its object than to the mean of the background
/// near it, and inwards elsewhere; its curvature acts against this (region competition, Zhu and Yuille 1996; by distance
/// functions, Elsey, Esedoglu and Smereka 2009). Both means are measured again as the fronts move. If several fronts reach
/// a voxel, it goes to the object whose front would be farthest beyond it.
///
/// @param context not NULL.
/// @param input not NULL; any type; host or CUDA memory, from which it is copied to the host, or slices, all of which are
///   read. Its spacing is the size of a voxel: along each axis from 1e-15 to 1e15, and at most 1e9 times that along another
///   axis. f32 images are converted to 65536 levels from range_min to range_max; NaN counts as background.
/// @param starts a label image of the input's size, any type; host or CUDA memory, or slices: 0 is no start, voxels with the
///   same label are the start of one object. Balls with a radius of three voxels are good starts; a single voxel does not
///   grow with the default alpha. f32 labels are integers up to 16777216. NULL: automatic, a ball around each maximum of the
///   distance inside a threshold; labels are then 1, 2, ... If none is found, the result has no object.
/// @param params NULL for the defaults.
/// @param progress NULL for none.
/// @param labels not NULL; receives the label of each voxel's object, or 0. It has the input's size, its own host
///   memory or slices, and a type that can hold the largest label.
/// @param objects receives the objects, to be freed with isoline_object_list_free; NULL if they are not wanted. Not written
///   on failure.
/// @param report NULL for none; else after isoline_report_init. `converged` says whether the fronts came to rest.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT, also for starts without a label or with a label
///   that is not an integer; _INVALID_SIZE; _INVALID_TYPE, also if `labels` cannot hold the largest label; _OVERLAP;
///   _UNSUPPORTED for CUDA pixels with a CPU context, and for labels in CUDA memory; _OUT_OF_MEMORY, also for a volume that
///   does not fit a GPU that was chosen by name; _DEVICE_FAILED; _CANCELLED; _CALLBACK_FAILED; _BUSY. May be called on any
///   thread; calls on one context run one after the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_objects(
    context: *mut isoline_context,
    input: *const isoline_image,
    starts: *const isoline_image,
    params: *const isoline_objects_params,
    progress: *const isoline_progress,
    labels: *const isoline_image,
    objects: *mut *mut isoline_object_list,
    report: *mut isoline_report,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let input = Checked::sliced(input, "input")?;
            let starts = Checked::optional(starts, "starts")?;
            let params = fields::read(params)?.translate(input.spacing())?;
            let labels = Checked::sliced(labels, "labels")?;
            labels.check_output(&input)?;
            if let Some(starts) = &starts {
                labels.check_apart(starts)?;
            }
            let target = labels.sink(labels.pixel_type())?;
            let (input, starts) = (input.source()?, starts.map(|starts| starts.source()).transpose()?);
            let mut found = Objects::new();
            isoline_report::of(report, progress, |progress| {
                objects::run(context, input, starts, &params, progress, target, &mut found)
            })?;
            if !objects.is_null() {
                objects.write(object::hand_out(isoline_object_list(found)));
            }
            Ok(())
        }
    })
}

/// Returns all objects in one call, without a copy.
///
/// @param objects not NULL.
/// @param all receives the address of the first object, which is borrowed: valid until the list is freed, and only to be
///   read; NULL if there are none.
/// @param count receives the number of objects.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; nothing is written then. May be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_object_list_all(
    objects: *const isoline_object_list,
    all: *mut *const isoline_object,
    count: *mut usize,
) -> isoline_status {
    // SAFETY: as the caller ensures. An Object has the layout of an isoline_object (asserted above).
    unsafe { object::all((objects, "objects"), |objects| objects.0.all(), all, count) }
}

/// Frees a list of objects, after which every pointer into it dangles. It must not be used again. May be called on any
/// thread, before or after its context is freed.
///
/// @param objects may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_object_list_free(objects: *mut isoline_object_list) {
    // SAFETY: as the caller ensures.
    unsafe { object::free(objects, "an object list") }
}
