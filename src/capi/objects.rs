//! Objects: many fronts at once, from labels to labels.

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
    /// The side of their surroundings' brightness on which objects are, an isoline_foreground. Default:
    /// ISOLINE_FOREGROUND_ABOVE, they are brighter.
    pub foreground: u32,
    /// 1 (default): the voxels of a start stay in its object. 0: fronts leave starts that do not fit the image, and an
    /// object may vanish.
    pub keep_starts: u32,
    /// The number of iterations, 1 to 1000, after which the objects' brightness is measured again, and the stopping
    /// criterion tested. Default 10.
    pub check_interval: u32,
    /// The most iterations. Default 1000. With 0 the objects are the starts, such as automatic ones that are to be corrected.
    pub iterations: u32,
    /// Must be 0.
    pub reserved: u32,
    /// The weight of the image against curvature, more than 0 and at most 1. Default 0.5. A ball whose radius is at most
    /// (1 - alpha) / alpha times the smallest spacing does not grow.
    pub alpha: f64,
    /// The background of an object is measured in its bounding box, widened by this along each axis, in the unit of the
    /// image's spacing; more than 0. ISOLINE_AUTOMATIC (default): automatic, half the mean distance of the objects, as if
    /// they were on a grid.
    pub margin: f64,
    /// Stopping criterion: the voxels that an object may gain and lose in 10 iterations, in a check interval, or in 4 iterations
    /// times the ratio of the largest to the smallest spacing, whichever is longest, and still be at rest, as a share of the
    /// surface of a ball of its size (of an image of one slice the circumference of a disc): about the distance in voxels
    /// that its front moved; at least 0. At its speed in the last iteration it may not move farther in this time either;
    /// with 0 nothing may have changed in the last iteration. The iterations end when all objects are at rest, twice in turn
    /// where a brightness has changed, and no front has moved by two voxels anywhere. Default 0.02.
    pub change_tolerance: f64,
    /// Without starts: the value on whose side objects are, in the image's own units, from -3.4e38 to 3.4e38.
    /// ISOLINE_AUTOMATIC (default): automatic, that with the largest variance between both sides (Otsu 1979) of
    /// the square roots of the pixels' height above the lowest one, or depth below the highest for dark objects.
    pub threshold: f64,
    /// Without starts: the standard deviation of the Gaussian that smooths the image before the threshold, in the unit of
    /// the image's spacing, at least 0 and at most 100 times the smallest spacing. ISOLINE_AUTOMATIC (default): automatic,
    /// the smallest spacing.
    pub sigma: f64,
    /// Without starts: the depth, in the unit of the image's spacing, by which the distance inside has to fall between two
    /// of its maxima if both are to have a start; more than 0. ISOLINE_AUTOMATIC (default): automatic, a quarter of the smallest
    /// spacing. The distance at a maximum has to reach it, and the smallest spacing.
    pub prominence: f64,
    /// f32 images, which are computed in 65536 levels: the pixel value of level 0; smaller pixels count as it. This
    /// and range_max ISOLINE_AUTOMATIC (default): automatic, see Automatic ranges at the top; give both for images of spots of
    /// one pixel. Else both must be given, from -3.4e38 to 3.4e38, this one less than range_max. Must be automatic for 8- and
    /// 16-bit images, which are used unchanged.
    pub range_min: f64,
    /// f32 images: the pixel value of level 65535, up to 3.4e38; larger pixels count as it. ISOLINE_AUTOMATIC (default):
    /// automatic.
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

/// A flag of isoline_object: it has a voxel at the border of the image; of an image of one slice along x or y.
pub const ISOLINE_OBJECT_AT_BORDER: u32 = 1;
/// A flag of isoline_object: it has a voxel beside one of another object.
pub const ISOLINE_OBJECT_TOUCHES: u32 = 2;
const _: () = assert!(ISOLINE_OBJECT_AT_BORDER == Object::AT_BORDER && ISOLINE_OBJECT_TOUCHES == Object::TOUCHES);

/// One object that isoline_objects has found. The struct never changes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct isoline_object {
    /// Its label: that of its start.
    pub label: u32,
    /// ISOLINE_OBJECT_AT_BORDER, ISOLINE_OBJECT_TOUCHES.
    pub flags: u32,
    /// The number of its voxels; 0 of an object that has vanished.
    pub voxels: u64,
    /// Its voxels times their size, in the cube of the unit of the image's spacing; of an image of one slice its area.
    pub volume: f64,
    /// The mean of its voxels' centres along x, y, z, in the unit of the image's spacing, from the centre of the first voxel.
    /// NaN of an object that has vanished.
    pub centre: [f64; 3],
    /// The mean of its voxels, in the image's own units; before it vanished, if it has. Pixels of f32 images count as the
    /// values of their levels, those beyond the range as its ends.
    pub mean: f64,
    /// The mean of the background near it, measured in the same way; NaN where there is none.
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

/// Grows many objects at once in an image or a volume, from labels to labels: each has a front of its own, which grows from
/// its start, follows the image, stays smooth, and stops where it meets that of a neighbour. A voxel belongs to one object
/// at most. The image is computed as a volume of all its slices. The fronts move on the context's device, CPU and CUDA with
/// the same bits; starts are found, and objects measured, on the CPU.
///
/// A front moves outwards where a voxel is nearer to the mean of its object than to that of the background near it, and
/// inwards elsewhere, against its curvature (region competition, Zhu and Yuille 1996; by distance functions, Elsey,
/// Esedoglu and Smereka 2009). Both means are measured again as the fronts move. Where several objects want a voxel, the
/// one gets it whose front would be farthest beyond it.
///
/// @param context not NULL.
/// @param input not NULL; any type; host or CUDA memory, from which it is copied to the host. Its spacing is the size of a
///   voxel: along each axis from 1e-15 to 1e15, and at most 1e9 times that along another axis. f32 images are computed in
///   65536 levels from range_min to range_max; NaN counts as background.
/// @param starts a label image of the input's size, any type; host or CUDA memory: 0 is no start, voxels with the same label
///   are the start of one object. Balls of three voxels' radius are good starts; a single voxel does not grow at the default
///   alpha. f32 labels are whole numbers up to 16777216. NULL: automatic, a ball around each maximum
///   of the distance inside a threshold; labels are then 1, 2, ... If none is found, the result has no object.
/// @param params NULL for the defaults.
/// @param progress NULL for none.
/// @param labels not NULL; receives the label of each voxel's object, else 0. The input's size, host memory of its own, of a
///   type that holds the largest label.
/// @param objects receives the objects, to be freed with isoline_object_list_free; NULL if they are not wanted. Not written
///   on failure.
/// @param report NULL for none; else after isoline_report_init. `converged` says whether the fronts came to rest.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT, also for starts without a label or with one
///   that is not a whole number; _INVALID_SIZE; _INVALID_TYPE for labels that do not hold the largest one; _OVERLAP;
///   _UNSUPPORTED for CUDA pixels with a CPU context, and for labels in CUDA memory; _OUT_OF_MEMORY, also for a volume that
///   does not fit a GPU that was chosen by name; _DEVICE_FAILED; _CANCELLED; _BUSY. May be called on any thread; calls on
///   one context run one after the other.
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
            let input = Checked::new(input, "input")?;
            let starts = if starts.is_null() { None } else { Some(Checked::new(starts, "starts")?) };
            let params = fields::read(params)?.translate(input.spacing())?;
            let labels = Checked::new(labels, "labels")?;
            labels.check_output(&input)?;
            if let Some(starts) = &starts {
                labels.check_apart(starts)?;
            }
            let target = labels.output(labels.pixel_type())?;
            let starts = starts.map(|starts| starts.input());
            let mut found = Objects::new();
            isoline_report::of(report, progress, |progress| {
                objects::run(context, input.input(), starts, &params, progress, target, &mut found)
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
