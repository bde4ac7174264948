//! Images as views of the caller's memory: x is fastest, then y, then z; row 0 is at the top.

use crate::error::{Error, ErrorKind, Result};
use ndarray::{ArrayView2, ArrayView3, ArrayViewMut2, ArrayViewMut3, Axis, s};
use rayon::prelude::*;
use std::marker::PhantomData;

/// Whether a stack is many slices or one volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimensions {
    /// 2D: every slice by itself.
    Slices,
    /// 3D: the stack is one volume.
    Volume,
}

/// Which pixels are the shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreground {
    /// Pixels above the threshold: bright shapes on dark ground.
    Above,
    /// Pixels at or below the threshold: dark lines on white.
    Below,
}

/// The type of one pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum PixelType {
    /// Unsigned 8 bits.
    U8 = 0,
    /// Unsigned 16 bits, native byte order.
    U16 = 1,
    /// IEEE 754 single precision, native byte order.
    F32 = 2,
}

impl PixelType {
    /// Bytes in one pixel.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::F32 => 4,
        }
    }

    /// The name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::F32 => "f32",
        }
    }
}

/// Pixels in CUDA device memory: an address with byte strides. Made by
/// [`DeviceImage::view`](crate::DeviceImage::view) or by the C API.
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

/// An output image, in host or in CUDA memory; each operation says which type it writes. Arrays are indexed `[z, y, x]`.
#[derive(Debug)]
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
    ($variant:ident, $pixel:ty) => {
        impl<'a> From<ArrayView3<'a, $pixel>> for Image<'a> {
            fn from(view: ArrayView3<'a, $pixel>) -> Self {
                Self::$variant(view)
            }
        }
        impl<'a> From<ArrayView2<'a, $pixel>> for Image<'a> {
            fn from(view: ArrayView2<'a, $pixel>) -> Self {
                Self::$variant(view.insert_axis(Axis(0)))
            }
        }
    };
}
image_from!(U8, u8);
image_from!(U16, u16);
image_from!(F32, f32);

macro_rules! image_mut_from {
    ($variant:ident, $pixel:ty) => {
        impl<'a> From<ArrayViewMut3<'a, $pixel>> for ImageMut<'a> {
            fn from(view: ArrayViewMut3<'a, $pixel>) -> Self {
                Self::$variant(view)
            }
        }
        impl<'a> From<ArrayViewMut2<'a, $pixel>> for ImageMut<'a> {
            fn from(view: ArrayViewMut2<'a, $pixel>) -> Self {
                Self::$variant(view.insert_axis(Axis(0)))
            }
        }
    };
}
image_mut_from!(U8, u8);
image_mut_from!(U16, u16);
image_mut_from!(F32, f32);

/// `[z, y, x]` of an array as `[width, height, depth]`.
fn shape_of(dim: (usize, usize, usize)) -> [usize; 3] {
    [dim.2, dim.1, dim.0]
}

impl Image<'_> {
    /// Width, height and depth in pixels.
    pub fn shape(&self) -> [usize; 3] {
        match self {
            Self::U8(view) => shape_of(view.dim()),
            Self::U16(view) => shape_of(view.dim()),
            Self::F32(view) => shape_of(view.dim()),
            Self::Device(pixels) => pixels.shape,
        }
    }

    /// The type of one pixel.
    pub fn pixel_type(&self) -> PixelType {
        match self {
            Self::U8(_) => PixelType::U8,
            Self::U16(_) => PixelType::U16,
            Self::F32(_) => PixelType::F32,
            Self::Device(pixels) => pixels.pixel_type,
        }
    }

    /// The smallest and the largest finite pixel; `[0, 0]` when there is none. `None` for device memory, where it is
    /// measured on the device.
    pub(crate) fn extremes(&self) -> Option<[f64; 2]> {
        match self {
            Self::U8(view) => Some(extremes(*view)),
            Self::U16(view) => Some(extremes(*view)),
            Self::F32(view) => Some(extremes(*view)),
            Self::Device(_) => None,
        }
    }
}

/// On all threads of the pool that it is called in.
fn extremes<T: Copy + Into<f64> + Send + Sync>(view: ArrayView3<'_, T>) -> [f64; 2] {
    const ROWS: usize = 64;
    let none = [f64::INFINITY, f64::NEG_INFINITY];
    let merge = |a: [f64; 2], b: [f64; 2]| [a[0].min(b[0]), a[1].max(b[1])];
    let (depth, height, _) = view.dim();
    let blocks = height.div_ceil(ROWS);
    let [low, high] = (0..depth * blocks)
        .into_par_iter()
        .map(|index| {
            let (z, y) = (index / blocks, index % blocks * ROWS);
            view.slice(s![z, y..height.min(y + ROWS), ..]).iter().fold(none, |[low, high], pixel| {
                let value: f64 = (*pixel).into();
                if value.is_finite() { [low.min(value), high.max(value)] } else { [low, high] }
            })
        })
        .reduce(|| none, merge);
    if low <= high { [low, high] } else { [0.0, 0.0] }
}

impl ImageMut<'_> {
    /// Width, height and depth in pixels.
    pub fn shape(&self) -> [usize; 3] {
        match self {
            Self::U8(view) => shape_of(view.dim()),
            Self::U16(view) => shape_of(view.dim()),
            Self::F32(view) => shape_of(view.dim()),
            Self::Device(pixels) => pixels.shape,
        }
    }

    /// The type of one pixel.
    pub fn pixel_type(&self) -> PixelType {
        match self {
            Self::U8(_) => PixelType::U8,
            Self::U16(_) => PixelType::U16,
            Self::F32(_) => PixelType::F32,
            Self::Device(pixels) => pixels.pixel_type,
        }
    }
}

/// Whether both lie in host memory, so that the CPU could take the job.
pub(crate) fn host_only(input: &Image<'_>, output: &ImageMut<'_>) -> bool {
    !matches!(input, Image::Device(_)) && !matches!(output, ImageMut::Device(_))
}

/// Refuses an output of another type than `wanted`.
pub(crate) fn check_type(name: &str, output: &ImageMut<'_>, wanted: PixelType) -> Result<()> {
    if output.pixel_type() == wanted {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::InvalidType,
        format!("the {name} must be {}, but it is {}", wanted.name(), output.pixel_type().name()),
    ))
}

/// Refuses empty images, sizes that overflow, and an output of another size than the input.
pub(crate) fn check_shapes(input: [usize; 3], output: [usize; 3]) -> Result<()> {
    let [width, height, depth] = input;
    if width == 0 || height == 0 || depth == 0 {
        return Err(Error::size(format!(
            "the input must have at least one pixel along every axis, but its size is {width} x {height} x {depth}"
        )));
    }
    // Everything that is ever indexed fits when 16 bytes a pixel do.
    let bytes = [height, depth, 16].iter().try_fold(width, |product, n| product.checked_mul(*n));
    if bytes.is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(Error::size(format!("an image of {width} x {height} x {depth} pixels is too large to address")));
    }
    if input != output {
        return Err(Error::size(format!(
            "the output must have the size of the input, {width} x {height} x {depth}, but it is {} x {} x {}",
            output[0], output[1], output[2]
        )));
    }
    Ok(())
}

/// A zeroed vector, or an error instead of an abort when there is no memory. Every buffer of an image's size is made by
/// this. The system zeroes large ones page by page when they are first used.
pub(crate) fn zeroed<T: bytemuck::Zeroable>(count: usize) -> Result<Vec<T>> {
    bytemuck::try_zeroed_vec(count).map_err(|()| no_memory::<T>(count))
}

/// An empty vector with room for `count`, or an error instead of an abort: for lists whose length grows with the image.
pub(crate) fn reserved<T>(count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(count).map_err(|_| no_memory::<T>(count))?;
    Ok(list)
}

fn no_memory<T>(count: usize) -> Error {
    Error::memory(format!(
        "{} of main memory could not be had; close other programs or work on fewer pixels at a time",
        crate::error::human_bytes((count as u64).saturating_mul(size_of::<T>() as u64))
    ))
}
