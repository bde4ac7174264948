//! Images as views of the caller's memory: x is fastest, then y, then z; row 0 is at the top.

use crate::error::{Error, ErrorKind, Result};
use crate::huge_pages;
use crate::progress::Ticker;
pub(crate) use crate::spacing::{MOST_ANISOTROPY, check_spacing, check_spacing_within, smallest_and_largest};
use ndarray::{Array3, ArrayView1, ArrayView2, ArrayView3, ArrayViewMut2, ArrayViewMut3, Axis};
use rayon::prelude::*;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// The way to process a stack: slice by slice, or as one volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dimensions {
    /// 2D: each slice is an image of its own.
    Slices,
    /// 3D: the stack is one volume.
    Volume,
}

/// The side of the threshold on which pixels are foreground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreground {
    /// Pixels above the threshold: bright objects on a dark background.
    Above,
    /// Pixels at or below the threshold: dark lines on a white background.
    Below,
}

/// The type of one pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum PixelType {
    /// Unsigned 8 bits.
    U8 = 0,
    /// Unsigned 16 bits, native byte order.
    U16 = 1,
    /// IEEE 754 single precision, native byte order.
    F32 = 2,
}

impl PixelType {
    /// Returns the size of a pixel in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::F32 => 4,
        }
    }

    /// Returns the name of the type that is part of a kernel's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::F32 => "f32",
        }
    }
}

/// The name in messages, a term that users of NumPy, Java and C understand.
impl std::fmt::Display for PixelType {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::F32 => "float32",
        })
    }
}

/// Pixels in CUDA device memory: an address with byte strides. [`DeviceImage::view`](crate::DeviceImage::view) and the
/// C API make it.
#[derive(Clone, Copy, Debug)]
pub struct DevicePixels<'a> {
    pub(crate) pixel_type: PixelType,
    pub(crate) address: u64,
    /// Width, height, depth in pixels.
    pub(crate) shape: [usize; 3],
    /// Bytes from row to row and from slice to slice.
    pub(crate) strides: [usize; 2],
    pub(crate) lifetime: PhantomData<&'a ()>,
}

/// An input image: one slice or a stack, in host or in CUDA memory. Arrays are indexed `[z, y, x]`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Image<'a> {
    /// 8-bit pixels in host memory.
    U8(ArrayView3<'a, u8>),
    /// 16-bit pixels in host memory.
    U16(ArrayView3<'a, u16>),
    /// Float pixels in host memory.
    F32(ArrayView3<'a, f32>),
    /// Pixels in the memory of the context's CUDA device.
    Device(DevicePixels<'a>),
}

/// An output image, in host or in CUDA memory; each operation says which type it writes. Arrays are indexed
/// `[z, y, x]`.
#[derive(Debug)]
#[non_exhaustive]
pub enum ImageMut<'a> {
    /// 8-bit pixels in host memory.
    U8(ArrayViewMut3<'a, u8>),
    /// 16-bit pixels in host memory.
    U16(ArrayViewMut3<'a, u16>),
    /// Float pixels in host memory.
    F32(ArrayViewMut3<'a, f32>),
    /// Pixels in the memory of the context's CUDA device.
    Device(DevicePixels<'a>),
}

macro_rules! image_from {
    ($image:ident, $view:ident, $plane:ident) => {
        image_from!($image, $view, $plane, U8, u8);
        image_from!($image, $view, $plane, U16, u16);
        image_from!($image, $view, $plane, F32, f32);
    };
    ($image:ident, $view:ident, $plane:ident, $variant:ident, $pixel:ty) => {
        impl<'a> From<$view<'a, $pixel>> for $image<'a> {
            fn from(view: $view<'a, $pixel>) -> Self {
                Self::$variant(view)
            }
        }
        impl<'a> From<$plane<'a, $pixel>> for $image<'a> {
            fn from(view: $plane<'a, $pixel>) -> Self {
                Self::$variant(view.insert_axis(Axis(0)))
            }
        }
    };
}
image_from!(Image, ArrayView3, ArrayView2);
image_from!(ImageMut, ArrayViewMut3, ArrayViewMut2);

/// Turns the `[z, y, x]` of an array into `[width, height, depth]`.
fn shape_of(dim: (usize, usize, usize)) -> [usize; 3] {
    [dim.2, dim.1, dim.0]
}

impl Image<'_> {
    /// Returns width, height and depth in pixels.
    pub fn shape(&self) -> [usize; 3] {
        match self {
            Self::U8(view) => shape_of(view.dim()),
            Self::U16(view) => shape_of(view.dim()),
            Self::F32(view) => shape_of(view.dim()),
            Self::Device(pixels) => pixels.shape,
        }
    }

    /// Returns the type of a pixel.
    pub fn pixel_type(&self) -> PixelType {
        match self {
            Self::U8(_) => PixelType::U8,
            Self::U16(_) => PixelType::U16,
            Self::F32(_) => PixelType::F32,
            Self::Device(pixels) => pixels.pixel_type,
        }
    }

    /// Returns the same pixels for a shorter time.
    pub(crate) fn reborrow(&self) -> Image<'_> {
        match self {
            Self::U8(view) => Image::U8(view.view()),
            Self::U16(view) => Image::U16(view.view()),
            Self::F32(view) => Image::F32(view.view()),
            Self::Device(pixels) => Image::Device(*pixels),
        }
    }
}

impl ImageMut<'_> {
    /// Returns width, height and depth in pixels.
    pub fn shape(&self) -> [usize; 3] {
        self.view().shape()
    }

    /// Returns the type of a pixel.
    pub fn pixel_type(&self) -> PixelType {
        self.view().pixel_type()
    }

    /// Returns the same pixels for a shorter time.
    pub(crate) fn reborrow(&mut self) -> ImageMut<'_> {
        match self {
            Self::U8(view) => ImageMut::U8(view.view_mut()),
            Self::U16(view) => ImageMut::U16(view.view_mut()),
            Self::F32(view) => ImageMut::F32(view.view_mut()),
            Self::Device(pixels) => ImageMut::Device(*pixels),
        }
    }

    /// Returns the pixels to read.
    pub(crate) fn view(&self) -> Image<'_> {
        match self {
            Self::U8(view) => Image::U8(view.view()),
            Self::U16(view) => Image::U16(view.view()),
            Self::F32(view) => Image::F32(view.view()),
            Self::Device(pixels) => Image::Device(*pixels),
        }
    }

    /// Asks for huge pages for packed host memory that the CPU is about to write for the first time.
    pub(crate) fn use_huge_pages(&mut self) {
        on_host!(Self, self, view => view.as_slice_mut().into_iter().for_each(huge_pages::advise), {});
    }
}

/// Runs the same code with the view of an image in host memory, whatever its pixel type, or other code for an image in
/// device memory. `$kind` is [`Image`] or [`ImageMut`].
macro_rules! on_host {
    ($kind:ident, $image:expr, $view:pat => $body:expr, $other:expr) => {
        match $image {
            $kind::U8($view) => $body,
            $kind::U16($view) => $body,
            $kind::F32($view) => $body,
            $kind::Device(_) => $other,
        }
    };
}
pub(crate) use on_host;

/// Returns whether both images are in host memory, so that the CPU can run the call.
pub(crate) fn host_only(input: &Image<'_>, output: &ImageMut<'_>) -> bool {
    !matches!(input, Image::Device(_)) && !matches!(output, ImageMut::Device(_))
}

/// Refuses an output whose pixel type is not `wanted`.
pub(crate) fn check_type(name: &str, got: PixelType, wanted: PixelType) -> Result<()> {
    if got == wanted {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidType, format!("cannot write the {name}: its pixels must be {wanted} (got {got})")))
}

/// Refuses empty images, sizes that overflow, and an output of another size than the input.
pub(crate) fn check_shapes(input: [usize; 3], output: [usize; 3]) -> Result<()> {
    let [width, height, depth] = input;
    if width == 0 || height == 0 || depth == 0 {
        return Err(Error::size(format!(
            "cannot process the input: it must have at least one pixel along every axis (got {width} x {height} x {depth})"
        )));
    }
    // No buffer has more than 16 bytes per pixel, so if that size does not overflow, no index does.
    let bytes = [height, depth, 16].iter().try_fold(width, |product, n| product.checked_mul(*n));
    if bytes.is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(Error::size(format!(
            "cannot process the input: it is too large to address (got {width} x {height} x {depth} pixels); process it \
             in parts"
        )));
    }
    check_size("output", output, "the input", input)
}

/// Refuses an image whose size is not `wanted`, the size of `whose`.
pub(crate) fn check_size(name: &str, got: [usize; 3], whose: &str, wanted: [usize; 3]) -> Result<()> {
    if got == wanted {
        return Ok(());
    }
    let [wanted, got] = [wanted, got].map(|[width, height, depth]| format!("{width} x {height} x {depth}"));
    Err(Error::size(format!("cannot use the {name}: it must be of the size of {whose}, {wanted} (x, y, z; got {got})")))
}

/// Returns a zeroed vector, or an error (no abort) when out of memory. Every image-sized buffer is allocated here. The
/// system zeroes a large buffer page by page at the first use of each page, in huge pages if it has them.
pub(crate) fn zeroed<T: bytemuck::Zeroable>(count: usize) -> Result<Vec<T>> {
    let mut values = bytemuck::try_zeroed_vec(count).map_err(|()| out_of_memory::<T>(count))?;
    huge_pages::advise(&mut values);
    leave_room(values)
}

/// Returns an image of zeros, or an error (no abort) when out of memory.
pub(crate) fn zeroed_image<T: bytemuck::Zeroable>(shape: (usize, usize, usize)) -> Result<Array3<T>> {
    Ok(image_of(zeroed(shape.0 * shape.1 * shape.2)?, shape))
}

/// Returns an image of pixels in the order of memory; there are as many as `shape` (depth, height, width) has.
pub(crate) fn image_of<T>(pixels: Vec<T>, shape: (usize, usize, usize)) -> Array3<T> {
    Array3::from_shape_vec(shape, pixels).unwrap_or_else(|e| unreachable!("there are as many pixels: {e}"))
}

/// Returns an empty vector with capacity for `count`, or an error (no abort) when out of memory. It is for lists whose
/// length grows with the image.
pub(crate) fn reserved<T>(count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(count).map_err(|_| out_of_memory::<T>(count))?;
    leave_room(list)
}

/// The bytes that are kept free for small allocations of fixed size: Rust aborts the process if one of those fails.
const ROOM: usize = 64 << 10;

/// The memory reserved for the allocations that an error needs.
static ROOM_FOR_ERRORS: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Returns a list that was just allocated, or an error if it is large and [`ROOM`] bytes more cannot be allocated beside
/// it.
fn leave_room<T>(list: Vec<T>) -> Result<Vec<T>> {
    let bytes = list.capacity().saturating_mul(size_of::<T>());
    if bytes >= ROOM {
        let mut room = Vec::<u8>::new();
        room.try_reserve_exact(ROOM).map_err(|_| out_of_memory::<T>(list.capacity()))?;
        // Without this use the compiler removes the allocation.
        std::hint::black_box(room.as_ptr());
    }
    Ok(list)
}

/// Reserves memory for the allocations of errors, which [`out_of_memory`] frees, or returns an error when out of memory.
pub(crate) fn make_room_for_errors() -> Result<()> {
    // If another thread holds the lock, it makes or takes the room. After a fork that may be a thread of the parent
    // process, so waiting for it could last forever.
    let Ok(mut room) = ROOM_FOR_ERRORS.try_lock() else { return Ok(()) };
    let made = if room.capacity() >= ROOM { Ok(()) } else { room.try_reserve_exact(ROOM) };
    made.map_err(|_| Error::memory("cannot begin the call: out of host memory; close other programs"))
}

/// Collects items of a known number, or returns an error (no abort) when out of memory.
pub(crate) fn collected<T>(items: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut list = reserved(items.len())?;
    list.extend(items);
    Ok(list)
}

/// Makes room for `more` items in a list, or returns an error (no abort) when out of memory.
pub(crate) fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<()> {
    list.try_reserve(more).map_err(|_| out_of_memory::<T>(list.len() + more))
}

/// Appends an item, or returns an error (no abort) when out of memory.
pub(crate) fn push<T>(list: &mut Vec<T>, item: T) -> Result<()> {
    if list.len() == list.capacity() {
        reserve(list, 1)?;
    }
    list.push(item);
    Ok(())
}

/// Returns the pixels of a row one after the other, copied to `packed` if they are not.
pub(crate) fn packed_row<'a, T: Copy>(row: &'a ArrayView1<'_, T>, packed: &'a mut Vec<T>) -> Result<&'a [T]> {
    if let Some(pixels) = row.as_slice() {
        return Ok(pixels);
    }
    packed.clear();
    extend(packed, row.iter().copied())?;
    Ok(packed)
}

/// Appends items, or returns an error (no abort) when out of memory.
pub(crate) fn extend<T>(list: &mut Vec<T>, items: impl IntoIterator<Item = T>) -> Result<()> {
    items.into_iter().try_for_each(|item| push(list, item))
}

/// Concatenates lists, on the threads of the current pool: one thread alone would spend most of its time on the page faults
/// of the new memory. Each list is freed when it has been copied.
pub(crate) fn concatenated<T: bytemuck::Pod + Send + Sync>(lists: Vec<Vec<T>>) -> Result<Vec<T>> {
    const PART: usize = 1 << 15;
    let mut all = zeroed(lists.iter().map(Vec::len).sum())?;
    let mut places = reserved(lists.len())?;
    let mut rest = &mut all[..];
    for from in lists {
        let (to, after) = rest.split_at_mut(from.len());
        places.push((to, from));
        rest = after;
    }
    places.into_par_iter().for_each(|(to, from)| {
        to.par_chunks_mut(PART).zip(from.par_chunks(PART)).for_each(|(to, from)| to.copy_from_slice(from));
    });
    Ok(all)
}

/// Resizes a list to `count`, with copies of `value` if it grows, or returns an error (no abort) when out of memory.
pub(crate) fn resize<T: Clone>(list: &mut Vec<T>, count: usize, value: T) -> Result<()> {
    list.try_reserve(count.saturating_sub(list.len())).map_err(|_| out_of_memory::<T>(count))?;
    *list = leave_room(std::mem::take(list))?;
    list.resize(count, value);
    Ok(())
}

/// Sorts a list, unless the ticker is cancelled, in which case its order is undefined. Equal items may change places.
pub(crate) fn sort_while<T: Copy>(
    list: &mut Vec<T>,
    ticker: &Ticker,
    compare: impl Fn(&T, &T) -> std::cmp::Ordering,
) -> Result<()> {
    /// The number of items that are sorted between two checks of the ticker, about 10 ms.
    const PART: usize = 1 << 17;
    for part in list.chunks_mut(PART) {
        ticker.check()?;
        part.sort_unstable_by(&compare);
    }
    let mut sorted = PART;
    while sorted < list.len() {
        let mut merged = reserved(list.len())?;
        for pair in list.chunks(2 * sorted) {
            let (mut left, mut right) = pair.split_at(sorted.min(pair.len()));
            while let ([a, left_rest @ ..], [b, right_rest @ ..]) = (left, right) {
                if merged.len() % PART == 0 {
                    ticker.check()?;
                }
                if compare(a, b).is_le() {
                    merged.push(*a);
                    left = left_rest;
                } else {
                    merged.push(*b);
                    right = right_rest;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        *list = merged;
        sorted *= 2;
    }
    Ok(())
}

/// Computes items on the threads of the current pool, or returns an error (no abort) when out of memory.
pub(crate) fn par_collected<T: Send>(items: impl IndexedParallelIterator<Item = T>) -> Result<Vec<T>> {
    let mut list = reserved(items.len())?;
    items.collect_into_vec(&mut list);
    Ok(list)
}

/// Does what [`par_collected`] does, with items that may fail; returns the first error, if there is one.
pub(crate) fn try_par_collected<T: Send>(items: impl IndexedParallelIterator<Item = Result<T>>) -> Result<Vec<T>> {
    try_collected(par_collected(items)?.into_iter())
}

/// Computes the items of indices on the threads of the current pool; returns the first error, if there is one.
pub(crate) fn try_par_indexed<T: Send>(count: usize, item: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let items = collected((0..count).map(|_| Mutex::new(None)))?;
    // After a cancellation no further item is begun. After another error all items are still computed, so that the error
    // returned is always that of the lowest index.
    let cancelled = AtomicBool::new(false);
    for_each_index(count, &|index| {
        if !cancelled.load(Relaxed) {
            let made = item(index);
            if made.as_ref().is_err_and(|error| error.kind() == ErrorKind::Cancelled) {
                cancelled.store(true, Relaxed);
            }
            *items[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        }
    });
    let made = |item: Mutex<Option<_>>| item.into_inner().unwrap_or_else(PoisonError::into_inner);
    try_collected(items.into_iter().map(|item| made(item).unwrap_or_else(|| Err(Error::cancelled()))))
}

/// Calls `work` with each index on the threads of the current pool. This loop is compiled only once; rayon's iterators are
/// compiled for every loop that uses them, about 5 kB of library each.
#[inline(never)]
pub(crate) fn for_each_index(count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().for_each(work);
}

/// Collects items of a known number until one fails, or returns an error (no abort) when out of memory.
pub(crate) fn try_collected<T>(items: impl ExactSizeIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut list = reserved(items.len())?;
    for item in items {
        list.push(item?);
    }
    Ok(list)
}

fn out_of_memory<T>(count: usize) -> Error {
    let room = ROOM_FOR_ERRORS.try_lock().map(|mut room| std::mem::take(&mut *room)).unwrap_or_default();
    // Thousands of tasks may run out of memory at the same time. Only the first has the room for a message with the size.
    if room.capacity() == 0 {
        return Error::memory("cannot allocate host memory; close other programs or process fewer pixels at a time");
    }
    drop(room);
    Error::memory(format!(
        "cannot allocate {} of host memory; close other programs or process fewer pixels at a time",
        crate::error::human_bytes((count as u64).saturating_mul(size_of::<T>() as u64))
    ))
}

/// Writes packed slices, converted, to the caller's image, on all threads of the current pool. The ticker can cancel it.
pub(crate) fn write_packed<S: Copy + Sync, T: Send + Sync>(
    values: &[S],
    mut output: ArrayViewMut3<'_, T>,
    ticker: &Ticker,
    convert: impl Fn(S) -> T + Sync,
) -> Result<()> {
    /// The number of rows of one task.
    const ROWS: usize = 64;
    let (_, height, width) = output.dim();
    let slices = output.axis_iter_mut(Axis(0)).into_par_iter().zip(values.par_chunks(width * height));
    slices.for_each(|(mut slice, values)| {
        let rows = slice.axis_iter_mut(Axis(0)).into_par_iter().zip(values.par_chunks(width));
        rows.with_min_len(ROWS).for_each(|(row, values)| {
            if !ticker.is_cancelled() {
                row.into_iter().zip(values).for_each(|(to, from)| *to = convert(*from));
            }
        });
    });
    ticker.check()
}

/// Refuses sides that do not fit the 32 bits of a point's coordinates and of its slice; `what` names the result that needs
/// them.
pub(crate) fn check_sides(what: &str, shape: [usize; 3]) -> Result<()> {
    if shape.iter().all(|side| u32::try_from(*side).is_ok()) {
        return Ok(());
    }
    let [width, height, depth] = shape;
    Err(Error::size(format!(
        "cannot compute {what}: a side may have at most {} pixels (got {width} x {height} x {depth}); cut the image into \
         parts",
        u32::MAX
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    #[test]
    fn lists_are_concatenated_in_order() {
        let lists: Vec<Vec<u32>> = [0, 3, 0, 1 << 15, (1 << 16) + 1, 1, 0].map(|count| (0..count).collect()).into();
        assert_eq!(concatenated(lists.clone()).unwrap(), lists.concat());
        assert!(concatenated::<u8>(Vec::new()).unwrap().is_empty());
    }

    #[test]
    fn packed_values_are_copied_unless_the_call_is_cancelled() {
        let ticker = Ticker::new("test");
        let values: Vec<u16> = (0..3 * 200 * 7).collect();
        for step in [1, 2] {
            let mut whole = ndarray::Array3::<u16>::from_elem((3, 200, 7 * step), 9);
            let target = || ndarray::s![.., .., ..;step];
            write_packed(&values, whole.slice_mut(target()), &ticker, |value| value).unwrap();
            assert!(whole.slice(target()).iter().eq(&values), "columns {step} apart");
        }
        let mut untouched = ndarray::Array3::<u16>::from_elem((3, 200, 7), 9);
        ticker.cancel();
        assert!(write_packed(&values, untouched.view_mut(), &ticker, |value| value).is_err());
        assert!(untouched.iter().all(|value| *value == 9));
    }

    #[test]
    fn a_list_of_any_length_is_sorted_unless_the_flag_is_set() {
        let part = 1 << 17;
        for count in [0, 1, part - 1, part, part + 1, 3 * part + 7, 4 * part] {
            let mut list: Vec<u64> = (0..count as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40).collect();
            let mut wanted = list.clone();
            wanted.sort_unstable();
            sort_while(&mut list, &Ticker::new("test"), u64::cmp).unwrap();
            assert!(list == wanted, "{count}");
        }
        let flag = Arc::new(AtomicBool::new(false));
        crate::set_cancel_flag(Some(flag.clone()));
        let (ticker, compared) = (Ticker::new("test"), AtomicUsize::new(0));
        crate::set_cancel_flag(None);
        let mut list: Vec<u64> = (0..8 * part as u64).rev().collect();
        let compare = |a: &u64, b: &u64| {
            flag.store(compared.fetch_add(1, Ordering::Relaxed) > 9 * part, Ordering::Relaxed);
            a.cmp(b)
        };
        sort_while(&mut list, &ticker, compare).unwrap_err();
        assert!(compared.into_inner() < 12 * part);
    }
}
