//! Edge segments: an object that an operation hands out and the caller frees.

use super::log::complain;
use super::sized::{self, Sized32};
use super::{guard, guard_or, isoline_status, null};
use crate::edge_drawing::{Point, Segments};
use crate::error::{Error, Result};
use std::mem::{align_of, offset_of};

/// A pixel's place: column and row, counted from the top left pixel, which is (0, 0). Frozen: it never grows.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct isoline_point {
    /// Column.
    pub x: u32,
    /// Row.
    pub y: u32,
}

// Points are handed out as they lie in Rust's memory.
const _: () =
    assert!(size_of::<isoline_point>() == size_of::<Point>() && align_of::<isoline_point>() == align_of::<Point>());
const _: () = assert!(
    offset_of!(isoline_point, x) == offset_of!(Point, x) && offset_of!(isoline_point, y) == offset_of!(Point, y)
);

/// What is true of a segment, bit by bit. Unknown bits are to be ignored.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_segment_flags {
    /// It is a loop: after the last point comes the first.
    ISOLINE_SEGMENT_CLOSED = 1,
}
const _: () = assert!(Segments::CLOSED == isoline_segment_flags::ISOLINE_SEGMENT_CLOSED as u32);

/// Ordered chains of pixels, made by isoline_edge_drawing. Never changes once made. Opaque.
pub struct isoline_segments(Segments);

impl isoline_segments {
    /// Gives `segments` to the caller, to be freed by [`isoline_segments_free`].
    pub(super) fn hand_out(segments: Segments) -> *mut Self {
        Box::into_raw(Box::new(Self(segments)))
    }
}

/// All segments as flat arrays, borrowed: good until the segments are freed, and only to be read. Segment i has the
/// points `offsets[i]` up to, not including, `offsets[i + 1]`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_segment_arrays {
    /// Set by isoline_segment_arrays_init.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// How many segments there are.
    pub count: u64,
    /// How many points they have in all.
    pub point_count: u64,
    /// `point_count` points; NULL when there are none.
    pub points: *const isoline_point,
    /// `count` + 1 numbers, from 0 up to `point_count`; never NULL.
    pub offsets: *const u64,
    /// `count` sums of isoline_segment_flags; NULL when there are no segments.
    pub flags: *const u32,
    /// `count` slices, counted from 0; NULL when there are no segments.
    pub slices: *const u32,
    /// `count` means of the gradient over each segment's points, in the image's own units; NULL when there are no segments.
    pub mean_gradients: *const f32,
}

// SAFETY: repr(C), struct_size first; integers and raw pointers.
unsafe impl Sized32 for isoline_segment_arrays {
    const NAME: &'static str = "isoline_segment_arrays";
    const FIRST_SIZE: usize = 64;
    fn defaults() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            reserved: 0,
            count: 0,
            point_count: 0,
            points: std::ptr::null(),
            offsets: std::ptr::null(),
            flags: std::ptr::null(),
            slices: std::ptr::null(),
            mean_gradients: std::ptr::null(),
        }
    }
}
const _: () = assert!(size_of::<isoline_segment_arrays>() == <isoline_segment_arrays as Sized32>::FIRST_SIZE);

/// The segments behind a caller's pointer.
///
/// # Safety
/// `segments` is NULL or came from an operation and has not been freed; it lives for `'a`.
unsafe fn segments<'a>(segments: *const isoline_segments) -> Result<&'a Segments> {
    // SAFETY: as the caller vouches.
    unsafe { segments.as_ref() }.map(|segments| &segments.0).ok_or_else(|| null("segments"))
}

/// Refuses an index that no segment has.
fn check_index(segments: &Segments, index: usize) -> Result<()> {
    match segments.len() {
        count if index < count => Ok(()),
        0 => Err(Error::argument(format!("there are no segments, so no index is valid, but it is {index}"))),
        count => Err(Error::argument(format!("the segment's index must be less than {count}, but it is {index}"))),
    }
}

/// What `of` finds at `index`, written to `out`, which is called `name`.
///
/// # Safety
/// As [`segments`]; `out` is NULL or writable.
unsafe fn tell<T>(
    segments: *const isoline_segments,
    index: usize,
    out: *mut T,
    name: &str,
    of: impl FnOnce(&Segments) -> T,
) -> isoline_status {
    guard(|| {
        // SAFETY: as the caller vouches.
        let segments = unsafe { self::segments(segments) }?;
        if out.is_null() {
            return Err(null(name));
        }
        check_index(segments, index)?;
        // SAFETY: not NULL; writable, as the caller vouches.
        unsafe { out.write(of(segments)) };
        Ok(())
    })
}

/// The first element's address; NULL for none, which C must not be given a dangling pointer for.
fn address<T>(elements: &[T]) -> *const T {
    if elements.is_empty() { std::ptr::null() } else { elements.as_ptr() }
}

/// How many segments there are. `segments`: NULL counts as none. Never fails. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_segments_count(segments: *const isoline_segments) -> usize {
    // SAFETY: as the caller vouches; NULL is an error there and none here.
    guard_or(0, || unsafe { self::segments(segments) }.map_or(0, Segments::len))
}

/// The points of one segment, from one end to the other; neighbouring points are neighbouring pixels (of eight). The
/// header of isoline_edge_drawing says where a segment begins and in which order segments come.
///
/// `segments`: not NULL. `index`: less than isoline_segments_count().
/// `points`: receives the first point's address, borrowed: good until the segments are freed, and only to be read.
/// `count`: receives how many there are, at least 1.
/// Errors: ISOLINE_NULL_POINTER; ISOLINE_INVALID_ARGUMENT for an index out of range; then neither is written. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_segments_points(
    segments: *const isoline_segments,
    index: usize,
    points: *mut *const isoline_point,
    count: *mut usize,
) -> isoline_status {
    guard(|| {
        // SAFETY: as the caller vouches.
        let segments = unsafe { self::segments(segments) }?;
        if points.is_null() {
            return Err(null("points"));
        }
        if count.is_null() {
            return Err(null("count"));
        }
        check_index(segments, index)?;
        let found = segments.get(index).map_or(&[][..], |segment| segment.points);
        // SAFETY: not NULL; writable, as the caller vouches. A Point has the layout of an isoline_point (asserted above).
        unsafe {
            points.write(address(found).cast());
            count.write(found.len());
        }
        Ok(())
    })
}

/// What is true of one segment.
///
/// `segments`: not NULL. `index`: less than isoline_segments_count(). `flags`: receives a sum of isoline_segment_flags.
/// Errors: ISOLINE_NULL_POINTER; ISOLINE_INVALID_ARGUMENT for an index out of range; then nothing is written. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_segments_flags(
    segments: *const isoline_segments,
    index: usize,
    flags: *mut u32,
) -> isoline_status {
    // SAFETY: as the caller vouches.
    unsafe { tell(segments, index, flags, "flags", |segments| segments.flags()[index]) }
}

/// The slice that one segment lies in.
///
/// `segments`: not NULL. `index`: less than isoline_segments_count(). `slice`: receives the slice, counted from 0.
/// Errors: ISOLINE_NULL_POINTER; ISOLINE_INVALID_ARGUMENT for an index out of range; then nothing is written. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_segments_slice(
    segments: *const isoline_segments,
    index: usize,
    slice: *mut u64,
) -> isoline_status {
    // SAFETY: as the caller vouches.
    unsafe { tell(segments, index, slice, "slice", |segments| u64::from(segments.slices()[index])) }
}

/// How strong one segment is: the mean of the gradient over its points.
///
/// `segments`: not NULL. `index`: less than isoline_segments_count(). `mean_gradient`: receives it, |gx| + |gy| as the
/// parameters' operator sums it, in the image's own units.
/// Errors: ISOLINE_NULL_POINTER; ISOLINE_INVALID_ARGUMENT for an index out of range; then nothing is written. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_segments_gradient(
    segments: *const isoline_segments,
    index: usize,
    mean_gradient: *mut f64,
) -> isoline_status {
    // SAFETY: as the caller vouches.
    unsafe {
        tell(segments, index, mean_gradient, "mean_gradient", |segments| f64::from(segments.mean_gradients()[index]))
    }
}

/// Zeroes `arrays` and sets its struct_size. `struct_size`: sizeof(isoline_segment_arrays).
/// Errors: ISOLINE_NULL_POINTER, ISOLINE_INVALID_ARGUMENT for a size that is too small.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_segment_arrays_init(
    arrays: *mut isoline_segment_arrays,
    struct_size: usize,
) -> isoline_status {
    // SAFETY: as the caller vouches.
    guard(|| unsafe { sized::init(arrays, struct_size, "arrays") })
}

/// All segments in one call, without a copy.
///
/// `segments`: not NULL. `arrays`: a struct after isoline_segment_arrays_init; written on success. Its pointers are
/// borrowed: good until the segments are freed.
/// Errors: ISOLINE_NULL_POINTER; ISOLINE_INVALID_ARGUMENT for a struct_size that is too small. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_segments_all(
    segments: *const isoline_segments,
    arrays: *mut isoline_segment_arrays,
) -> isoline_status {
    guard(|| {
        // SAFETY: as the caller vouches.
        let segments = unsafe { self::segments(segments) }?;
        let told = isoline_segment_arrays {
            count: segments.len() as u64,
            point_count: segments.points().len() as u64,
            points: address(segments.points()).cast(),
            offsets: segments.offsets().as_ptr(),
            flags: address(segments.flags()),
            slices: address(segments.slices()),
            mean_gradients: address(segments.mean_gradients()),
            ..isoline_segment_arrays::defaults()
        };
        // SAFETY: as the caller vouches.
        unsafe { sized::write(arrays, &told, "arrays") }
    })
}

/// Frees segments; every pointer into them is then dangling. `segments`: may be NULL. They must not be used again. Any
/// thread; the context that made them may be gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_segments_free(segments: *mut isoline_segments) {
    if segments.is_null() {
        return;
    }
    let freed = guard_or(false, || {
        // SAFETY: made by Box::into_raw in `hand_out` and freed once, as the caller vouches.
        drop(unsafe { Box::from_raw(segments) });
        true
    });
    if !freed {
        complain("freeing segments failed");
    }
}
