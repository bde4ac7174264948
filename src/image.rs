//! Images as views of the caller's memory: x is fastest, then y, then z; row 0 is at the top.

use crate::error::{Error, ErrorKind, Result};
use crate::memory::{extend, pages, zeroed};
use crate::progress::Ticker;
pub(crate) use crate::spacing::{MOST_ANISOTROPY, check_spacing, check_spacing_within, smallest_and_largest};
use ndarray::{Array3, ArrayView1, ArrayView2, ArrayView3, ArrayViewMut2, ArrayViewMut3, Axis};
use rayon::prelude::*;
use std::marker::PhantomData;

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
        on_host!(Self, self, view => view.as_slice_mut().into_iter().for_each(pages::advise), {});
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

/// Returns an image of zeros, or an error (no abort) when out of memory.
pub(crate) fn zeroed_image<T: bytemuck::Zeroable + Send>(shape: (usize, usize, usize)) -> Result<Array3<T>> {
    Ok(image_of(zeroed(shape.0 * shape.1 * shape.2)?, shape))
}

/// Returns pixels in the order of memory as an image; there are as many as `shape` (width, height, depth) has.
pub(crate) fn view_of<T>(pixels: &[T], [width, height, depth]: [usize; 3]) -> ArrayView3<'_, T> {
    let view = ArrayView3::from_shape((depth, height, width), pixels);
    view.unwrap_or_else(|e| unreachable!("there are as many pixels: {e}"))
}

/// Does what [`view_of`] does, for writing.
pub(crate) fn view_of_mut<T>(pixels: &mut [T], [width, height, depth]: [usize; 3]) -> ArrayViewMut3<'_, T> {
    let view = ArrayViewMut3::from_shape((depth, height, width), pixels);
    view.unwrap_or_else(|e| unreachable!("there are as many pixels: {e}"))
}

/// Returns an image of pixels in the order of memory; there are as many as `shape` (depth, height, width) has.
pub(crate) fn image_of<T>(pixels: Vec<T>, shape: (usize, usize, usize)) -> Array3<T> {
    Array3::from_shape_vec(shape, pixels).unwrap_or_else(|e| unreachable!("there are as many pixels: {e}"))
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
}
