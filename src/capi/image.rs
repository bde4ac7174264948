//! Images.

use super::sized::{self, sized_struct};
use super::{check, guard, isoline_status, null};
use crate::device::cuda::keep_current;
use crate::error::{Error, ErrorKind, Result, number};
use crate::image::{DevicePixels, Image, ImageMut, PixelType};
use crate::slice_io::{Input, Output, Sink, Source};
use ndarray::{ArrayView3, ArrayViewMut3, ShapeBuilder};
use std::ffi::{CStr, c_char, c_void};
use std::marker::PhantomData;

/// The type of one pixel.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_type {
    /// Unsigned 8 bits.
    ISOLINE_U8 = 0,
    /// Unsigned 16 bits, native byte order.
    ISOLINE_U16 = 1,
    /// IEEE 754 single precision, native byte order.
    ISOLINE_F32 = 2,
}

/// The memory that pixels are in.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_memory {
    /// Host memory. Page-locked memory (isoline_buffer_new, cudaHostAlloc, cudaHostRegister) is detected and copied
    /// without a staging buffer.
    ISOLINE_HOST = 0,
    /// The memory of the context's CUDA device (cudaMalloc, cuMemAlloc). All work on it must be finished before the
    /// call; the call returns when its own work on it is finished.
    ISOLINE_CUDA = 1,
    /// No memory: callbacks read the slices of an input, and write the slices of an output, so images need not fit into
    /// memory. For calls that work slice by slice, and say so: the edge strength and its axes; edge drawing, its maps and
    /// its threshold, and lines, circles and ellipses along its segments; isolines; isosurfaces; the distance; and region
    /// snakes in one call (isoline_snake_run), with their labels and masks. Level sets, objects and the converged edge
    /// strength of a volume also accept slices, but need all of them at a time: the call reads an input into memory first,
    /// and has an output in memory until its end (or in temporary files, where the memory does not suffice).
    ///
    /// The other images of such a call may be in host memory, or also slices; of region snakes the input, and of level sets
    /// and objects every input, may be in CUDA memory, and the outputs of level sets, too. The results have the same bits as
    /// for images in memory; the distance of a volume has those of the CPU.
    ///
    /// Slices are read in ascending order, each once; region snakes read only slices that have polygons, so a callback must
    /// use the slice number that it gets. If an automatic parameter depends on the whole stack, all slices are read once
    /// before; for an automatic gradient threshold, up to 16 slices are.
    ///
    /// A call that works slice by slice reads a batch of slices and writes the previous results while the device computes
    /// another batch; at most two batches are in memory. A batch has 64 MiB of input and output, and
    /// - at least 1 slice for each device, or 4 on CUDA if these have at most 1 GiB;
    /// - for n iterations of edge strength of a volume, at least 2n slices for each device, and n more slices of the input
    ///   on either side. In addition, 2n slices that both batches need are kept, and the CPU uses two float32 for each
    ///   voxel;
    /// - for an isosurface, 2 more slices of the input on either side.
    ///
    /// The distance of a volume also has a group of columns of 128 MiB in memory, and all its values in a temporary file, if
    /// its output is slices (isoline_distance).
    ///
    /// Searches along segments and region snakes have 1 slice in memory.
    ISOLINE_SLICES = 2,
}

/// Reads slice `slice` of an input, counted from 0. It must fill `pixels`, which has memory for width times height packed
/// pixels of the image's type, and return NULL. If it fails, it returns a sentence in UTF-8 that says why (for a file,
/// strerror(errno) will do), which is copied before the next callback; the call then returns ISOLINE_CALLBACK_FAILED, with
/// the sentence in its message. The function is called on the thread that made the call and, like the progress callback,
/// must not throw, call longjmp or use the context that is calling it. A cancellation does not interrupt it.
pub type isoline_read_slice_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, slice: u64, pixels: *mut c_void) -> *const c_char>;

/// Takes slice `slice` of an output, counted from 0: width times height packed pixels of the image's type, which are valid
/// during the callback only. It is called once for each slice, in ascending order, as soon as its batch is finished. For
/// its result, and the rules for callbacks, see isoline_read_slice_fn.
pub type isoline_write_slice_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, slice: u64, pixels: *const c_void) -> *const c_char>;

/// The side of the threshold that is the foreground.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_foreground {
    /// Pixels above the threshold: bright shapes on a dark background.
    ISOLINE_FOREGROUND_ABOVE = 0,
    /// Pixels at or below the threshold: dark lines on a white background.
    ISOLINE_FOREGROUND_BELOW = 1,
}

/// Describes pixels in the caller's memory, or slices that the caller's callbacks read or write (ISOLINE_SLICES). The
/// library keeps no reference to them after the call. The struct itself is only read; the pixels of an output are written.
/// cbindgen:field-names=[struct_size, type, memory, reserved, width, height, depth, row_stride, slice_stride, spacing, data, user, read_slice, write_slice]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_image {
    /// The size of the struct, set by isoline_image_init.
    pub struct_size: u32,
    /// An isoline_type. Default: ISOLINE_U8.
    pub pixel_type: u32,
    /// An isoline_memory. Default: ISOLINE_HOST.
    pub memory: u32,
    /// Must be 0.
    pub reserved: u32,
    /// The number of pixels along x, at least 1. Default 0 (must be set).
    pub width: u64,
    /// The number of pixels along y, at least 1. Default 0 (must be set).
    pub height: u64,
    /// The number of slices (along z), at least 1. Default 1.
    pub depth: u64,
    /// The bytes between the starts of two rows, a multiple of the pixel's size, and no less than a row. 0 (default, and for
    /// ISOLINE_SLICES): packed, width pixels.
    pub row_stride: u64,
    /// The bytes between the starts of two slices, a multiple of the pixel's size. For an output it must be at least the
    /// bytes from the first to the last pixel of a slice; slices of an input may interleave, or share rows. 0 (default, and
    /// for ISOLINE_SLICES): packed, height rows.
    pub slice_stride: u64,
    /// The distance between the centres of two pixels along x, y and z in the caller's unit; each finite and more
    /// than 0. Default 1, 1, 1.
    pub spacing: [f64; 3],
    /// The address of the pixel at x = y = z = 0, aligned to the pixel's size. Default NULL (must be set, and NULL for
    /// ISOLINE_SLICES).
    pub data: *mut c_void,
    /// ISOLINE_SLICES: the user data, which is passed to the callbacks unchanged; may be NULL.
    pub user: *mut c_void,
    /// ISOLINE_SLICES: the function that reads a slice of an input. Default NULL (must be set for an input).
    pub read_slice: isoline_read_slice_fn,
    /// ISOLINE_SLICES: the function that takes a slice of an output. Default NULL (must be set for an output).
    pub write_slice: isoline_write_slice_fn,
}

sized_struct!(isoline_image, 112, depth: 1, spacing: [1.0; 3]);

/// Fills `image` with defaults: 8-bit, host memory, packed, depth 1, spacing 1; width, height and data must be set.
/// `struct_size` is sizeof *image, see "Structs".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_image_init(image: *mut isoline_image, struct_size: usize) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::init(image, struct_size, "image") })
}

/// The callbacks of an image.
#[derive(Clone, Copy, Debug)]
struct Slices {
    user: *mut c_void,
    read: isoline_read_slice_fn,
    write: isoline_write_slice_fn,
}

/// Returns the result of a callback from its sentence, which is NULL or describes the failure.
///
/// # Safety
/// `sentence` is NULL or ends with NUL, and nothing changes it meanwhile.
unsafe fn answer(sentence: *const c_char) -> Result<(), String> {
    if sentence.is_null() {
        return Ok(());
    }
    // SAFETY: as the caller ensures.
    Err(unsafe { CStr::from_ptr(sentence) }.to_string_lossy().into_owned())
}

/// A checked description of an image. All of its bytes can be addressed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checked {
    name: &'static str,
    pixel_type: PixelType,
    on_device: bool,
    /// The caller's callbacks instead of pixels in memory.
    slices: Option<Slices>,
    shape: [usize; 3],
    /// The bytes between the starts of two rows and of two slices.
    strides: [usize; 2],
    /// The number of bytes from the first of the first pixel to the last of the last.
    extent: usize,
    address: usize,
    spacing: [f64; 3],
}

impl Checked {
    /// # Safety
    /// The requirements of [`sized::read`] hold.
    pub(super) unsafe fn new(image: *const isoline_image, name: &'static str) -> Result<Self> {
        // SAFETY: as the caller ensures.
        let image = unsafe { Self::sliced(image, name) }?;
        if image.slices.is_some() {
            return Err(Error::unsupported(format!(
                "cannot use {name}: its memory is ISOLINE_SLICES, but this call needs all slices at a time; give its \
                 pixels in memory"
            )));
        }
        Ok(image)
    }

    /// Checks the description of an image for a call that also accepts ISOLINE_SLICES.
    ///
    /// # Safety
    /// The requirements of [`sized::read`] hold.
    pub(super) unsafe fn sliced(image: *const isoline_image, name: &'static str) -> Result<Self> {
        // SAFETY: as the caller ensures.
        let image = unsafe { sized::read(image, name) }?;
        let pixel_type = match image.pixel_type {
            0 => PixelType::U8,
            1 => PixelType::U16,
            2 => PixelType::F32,
            other => {
                return Err(Error::new(
                    ErrorKind::InvalidType,
                    format!("{name}->type must be ISOLINE_U8, ISOLINE_U16 or ISOLINE_F32, but it is {other}"),
                ));
            }
        };
        if image.memory > isoline_memory::ISOLINE_SLICES as u32 {
            return Err(Error::argument(format!(
                "{name}->memory must be ISOLINE_HOST, ISOLINE_CUDA or ISOLINE_SLICES, but it is {}",
                image.memory
            )));
        }
        check::reserved(image.reserved, name)?;
        for (axis, spacing) in ["x", "y", "z"].iter().zip(image.spacing) {
            if !(spacing.is_finite() && spacing > 0.0) {
                return Err(Error::argument(format!(
                    "{name}->spacing along {axis} must be a finite number greater than 0, but it is {}",
                    number(spacing)
                )));
            }
        }
        let (shape, strides, extent) = layout(&image, name, pixel_type.bytes() as u64)?;
        let checked = Self {
            name,
            pixel_type,
            on_device: image.memory == isoline_memory::ISOLINE_CUDA as u32,
            slices: None,
            shape,
            strides,
            extent: 0,
            address: 0,
            spacing: image.spacing,
        };
        if image.memory == isoline_memory::ISOLINE_SLICES as u32 {
            if !image.data.is_null() || image.row_stride != 0 || image.slice_stride != 0 {
                return Err(Error::argument(format!(
                    "cannot use {name}: where its memory is ISOLINE_SLICES, data must be NULL, and row_stride and \
                     slice_stride 0 (got {:p}, {} and {}); call isoline_image_init first",
                    image.data, image.row_stride, image.slice_stride
                )));
            }
            let slices = Slices { user: image.user, read: image.read_slice, write: image.write_slice };
            return Ok(Self { slices: Some(slices), ..checked });
        }
        if image.data.is_null() {
            return Err(null(&format!("{name}->data")));
        }
        let address = image.data as usize;
        if !address.is_multiple_of(pixel_type.bytes()) {
            return Err(Error::argument(format!(
                "{name}->data must be aligned to its pixels' {} bytes, but it is {address:#x}",
                pixel_type.bytes()
            )));
        }
        if address.checked_add(extent).is_none() {
            return Err(too_large(name, &image));
        }
        Ok(Self { extent, address, ..checked })
    }

    /// Does what [`sliced`](Self::sliced) does, but accepts NULL, which means no image.
    ///
    /// # Safety
    /// The requirements of [`sized::read`] hold.
    pub(super) unsafe fn optional(image: *const isoline_image, name: &'static str) -> Result<Option<Self>> {
        // SAFETY: as the caller ensures.
        if image.is_null() { Ok(None) } else { unsafe { Self::sliced(image, name) }.map(Some) }
    }

    pub(super) fn pixel_type(&self) -> PixelType {
        self.pixel_type
    }

    /// Reads a caller's description of an image that will be written. No two of its rows may overlap.
    ///
    /// # Safety
    /// The requirements of [`new`](Self::new) hold.
    pub(super) unsafe fn to_write(image: *const isoline_image, name: &'static str) -> Result<Self> {
        // SAFETY: as the caller ensures.
        let image = unsafe { Self::new(image, name) }?;
        image.check_rows().map(|()| image)
    }

    /// Does what [`to_write`](Self::to_write) does for a call that also accepts ISOLINE_SLICES.
    ///
    /// # Safety
    /// The requirements of [`new`](Self::new) hold.
    pub(super) unsafe fn sliced_to_write(image: *const isoline_image, name: &'static str) -> Result<Self> {
        // SAFETY: as the caller ensures.
        let image = unsafe { Self::sliced(image, name) }?;
        image.check_rows().map(|()| image)
    }

    /// Returns the distance between the centres of two pixels along x, y and z, each finite and more than 0.
    pub(super) fn spacing(&self) -> [f64; 3] {
        self.spacing
    }

    /// Refuses pixels of another type than `wanted`.
    pub(super) fn check_type(&self, wanted: PixelType) -> Result<()> {
        if self.pixel_type == wanted {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::InvalidType,
            format!("cannot use {}: its type must be {} (got {})", self.name, c_name(wanted), c_name(self.pixel_type)),
        ))
    }

    /// Refuses an output that shares bytes with an input, or whose own rows overlap.
    pub(super) fn check_output(&self, input: &Self) -> Result<()> {
        self.check_rows()?;
        self.check_apart(input)
    }

    /// Refuses an output whose own rows or slices overlap.
    pub(super) fn check_rows(&self) -> Result<()> {
        let [width, height, depth] = self.shape;
        let row = width * self.pixel_type.bytes();
        // A row_stride that is less than a row has been refused.
        let slice = (height - 1) * self.strides[0] + row;
        if depth > 1 && self.strides[1] < slice {
            return Err(Error::new(
                ErrorKind::Overlap,
                format!(
                    "cannot write {0}: slices of outputs may not overlap or interleave; make {0}->slice_stride at least the \
                     {slice} bytes from the first to the last pixel of a slice (got {1}), or 0 for packed slices",
                    self.name, self.strides[1]
                ),
            ));
        }
        Ok(())
    }

    /// Refuses an output that shares bytes with another image.
    pub(super) fn check_apart(&self, other: &Self) -> Result<()> {
        if self.on_device == other.on_device && self.shares_bytes(other) {
            return Err(Error::new(
                ErrorKind::Overlap,
                format!("cannot write {}: it shares memory with {}; give each its own memory", self.name, other.name),
            ));
        }
        Ok(())
    }

    /// Returns true if a row of `self` shares a byte with a row of `other`. Neighbouring crops of one canvas share none,
    /// and neither do interleaved slices, such as the channels of a film, although the memory that they span overlaps. If
    /// the strides differ, layouts count as sharing bytes whenever the memory that they span overlaps.
    fn shares_bytes(&self, other: &Self) -> bool {
        if self.address >= other.address + other.extent || other.address >= self.address + self.extent {
            return false;
        }
        let both = [self, other];
        // Rows, or slices, that are `period` bytes apart in both images share no bytes if those of one period do not.
        let are_apart = |period: usize, [mine, theirs]: [usize; 2]| {
            let from_mine_to_theirs = (other.address % period + period - self.address % period) % period;
            from_mine_to_theirs >= mine && from_mine_to_theirs + theirs <= period
        };
        let rows = both.map(|image| image.shape[0] * image.pixel_type.bytes());
        let row_stride = self.strides[0];
        let are_rows_in_step =
            both.iter().all(|image| image.strides[0] == row_stride && image.strides[1].is_multiple_of(row_stride));
        if are_rows_in_step && are_apart(row_stride, rows) {
            return false;
        }
        let slices = [0, 1].map(|of| (both[of].shape[1] - 1) * both[of].strides[0] + rows[of]);
        let slice_stride = self.strides[1];
        !(other.strides[1] == slice_stride && are_apart(slice_stride, slices))
    }

    fn device_pixels<'a>(&self) -> DevicePixels<'a> {
        DevicePixels {
            pixel_type: self.pixel_type,
            address: self.address as u64,
            shape: self.shape,
            strides: self.strides,
            lifetime: PhantomData,
        }
    }

    /// # Safety
    /// The pixels are readable for `'a`, and nothing writes them.
    unsafe fn view<'a, T>(&self) -> ArrayView3<'a, T> {
        let [width, height, depth] = self.shape;
        let [row, slice] = self.strides.map(|bytes| bytes / size_of::<T>());
        // SAFETY: `Checked` has seen that every pixel can be addressed and is aligned.
        unsafe { ArrayView3::from_shape_ptr((depth, height, width).strides((slice, row, 1)), self.address as *const T) }
    }

    /// # Safety
    /// The pixels are readable for `'a`, and nothing writes them.
    pub(super) unsafe fn input<'a>(&self) -> Image<'a> {
        if self.on_device {
            return Image::Device(self.device_pixels());
        }
        // SAFETY: as the caller ensures; the type is the one described.
        unsafe {
            match self.pixel_type {
                PixelType::U8 => Image::U8(self.view()),
                PixelType::U16 => Image::U16(self.view()),
                PixelType::F32 => Image::F32(self.view()),
            }
        }
    }

    /// Returns the pixels, or the callback that reads them, as an input.
    ///
    /// # Safety
    /// The requirements of [`input`](Self::input) hold, or the callback may be called until the result is dropped.
    pub(super) unsafe fn source<'a>(&self) -> Result<Input<'a>> {
        let Some(Slices { user, read, .. }) = self.slices else {
            // SAFETY: as the caller ensures.
            return Ok(unsafe { self.input() }.into());
        };
        let read = read.ok_or_else(|| null(&format!("{}->read_slice", self.name)))?;
        let source = Source::new(self.pixel_type, self.shape, move |slice, pixels| {
            // SAFETY: the caller's function, on the caller's thread, with its own `user`, and memory for a slice.
            unsafe { answer(keep_current(|| read(user, slice as u64, pixels.as_mut_ptr().cast()))) }
        });
        Ok(source.into())
    }

    /// Returns the pixels, or the callback that writes them, as an output of the type that the operation writes.
    ///
    /// # Safety
    /// The requirements of [`output`](Self::output) hold, or the callback may be called until the result is dropped.
    pub(super) unsafe fn sink<'a>(&self, wanted: PixelType) -> Result<Output<'a>> {
        let Some(Slices { user, write, .. }) = self.slices else {
            // SAFETY: as the caller ensures.
            return Ok(unsafe { self.output(wanted) }?.into());
        };
        self.check_type(wanted)?;
        let write = write.ok_or_else(|| null(&format!("{}->write_slice", self.name)))?;
        let sink = Sink::new(wanted, self.shape, move |slice, pixels| {
            // SAFETY: the caller's function, on the caller's thread, with its own `user`, and the pixels of a slice.
            unsafe { answer(keep_current(|| write(user, slice as u64, pixels.as_ptr().cast()))) }
        });
        Ok(sink.into())
    }

    /// # Safety
    /// The pixels are writable for `'a`, and nothing else uses them.
    unsafe fn view_mut<'a, T>(&self) -> ArrayViewMut3<'a, T> {
        let [width, height, depth] = self.shape;
        let [row, slice] = self.strides.map(|bytes| bytes / size_of::<T>());
        let shape = (depth, height, width).strides((slice, row, 1));
        // SAFETY: every pixel can be addressed and is aligned, and no two overlap.
        unsafe { ArrayViewMut3::from_shape_ptr(shape, self.address as *mut T) }
    }

    /// Returns the pixels as an output of the type that the operation writes.
    ///
    /// # Safety
    /// The pixels are writable for `'a`, nothing else uses them, and [`check_rows`](Self::check_rows) has passed.
    pub(super) unsafe fn output<'a>(&self, wanted: PixelType) -> Result<ImageMut<'a>> {
        self.check_type(wanted)?;
        if self.on_device {
            return Ok(ImageMut::Device(self.device_pixels()));
        }
        // SAFETY: as the caller ensures; the type is the one described.
        Ok(unsafe {
            match wanted {
                PixelType::U8 => ImageMut::U8(self.view_mut()),
                PixelType::U16 => ImageMut::U16(self.view_mut()),
                PixelType::F32 => ImageMut::F32(self.view_mut()),
            }
        })
    }

    /// Returns the pixels for labels, u16 or f32, for writing, or the callback that writes them.
    ///
    /// # Safety
    /// The requirements of [`sink`](Self::sink) hold.
    pub(super) unsafe fn labels<'a>(&self) -> Result<Output<'a>> {
        if self.pixel_type == PixelType::U8 {
            return Err(Error::new(
                ErrorKind::InvalidType,
                format!("cannot use {}: its type must be ISOLINE_U16 or ISOLINE_F32 (got ISOLINE_U8)", self.name),
            ));
        }
        // SAFETY: as the caller ensures.
        unsafe { self.sink(self.pixel_type) }
    }
}

/// Returns the C name of a pixel type.
fn c_name(pixel_type: PixelType) -> &'static str {
    match pixel_type {
        PixelType::U8 => "ISOLINE_U8",
        PixelType::U16 => "ISOLINE_U16",
        PixelType::F32 => "ISOLINE_F32",
    }
}

fn too_large(name: &str, image: &isoline_image) -> Error {
    // A negative stride, which goes backwards in memory, arrives as a number above the largest signed one.
    let [row_stride, slice_stride] = [image.row_stride, image.slice_stride].map(|stride| stride as i64);
    let why = if row_stride < 0 || slice_stride < 0 { "its strides may not be negative" } else { "it is too large" };
    Error::size(format!(
        "cannot address {name}: {why} (got {} x {} x {} pixels with strides {row_stride} and {slice_stride}); check its sizes \
         and strides",
        image.width, image.height, image.depth
    ))
}

/// Returns the sizes, the strides with 0 replaced by the packed ones, and the bytes that they span.
fn layout(image: &isoline_image, name: &str, pixel: u64) -> Result<([usize; 3], [usize; 2], usize)> {
    let [width, height, depth] = [image.width, image.height, image.depth];
    if width == 0 || height == 0 || depth == 0 {
        return Err(Error::size(format!(
            "{name} must have at least one pixel along every axis, but its size is {width} x {height} x {depth}"
        )));
    }
    let overflow = || too_large(name, image);
    let row = width.checked_mul(pixel).ok_or_else(overflow)?;
    let row_stride = if image.row_stride == 0 { row } else { image.row_stride };
    let packed_slice = height.checked_mul(row_stride).ok_or_else(overflow)?;
    let slice_stride = if image.slice_stride == 0 { packed_slice } else { image.slice_stride };
    for (which, stride) in [("row_stride", row_stride), ("slice_stride", slice_stride)] {
        if stride % pixel != 0 {
            return Err(Error::size(format!(
                "{name}->{which} must be a multiple of the pixel's {pixel} bytes, but it is {stride}"
            )));
        }
    }
    // If slice_stride is not given, slices are as far apart as their rows make them.
    let is_used = height > 1 || (depth > 1 && image.slice_stride == 0);
    if is_used && row_stride < row {
        return Err(Error::size(format!(
            "{name}->row_stride is {row_stride} bytes, but a row has {row}; make it larger or 0 for packed rows"
        )));
    }
    let extent = (|| {
        let slices = (depth - 1).checked_mul(slice_stride)?;
        let rows = (height - 1).checked_mul(row_stride)?;
        slices.checked_add(rows)?.checked_add(row)
    })();
    // ndarray and pointer arithmetic need every offset to fit an isize; the same pixels as f32 must fit, too.
    let limit = isize::MAX as u64 / 4;
    let extent = extent.filter(|extent| *extent <= limit).ok_or_else(overflow)?;
    let pixels = width.checked_mul(height).and_then(|area| area.checked_mul(depth));
    pixels.filter(|pixels| *pixels <= limit / 4).ok_or_else(overflow)?;
    // A stride along an axis of one pixel is never used; keep it small so that it cannot overflow an index.
    let row_stride = if height == 1 { row } else { row_stride };
    let slice_stride = if depth == 1 { height * row_stride } else { slice_stride };
    let shape = [width as usize, height as usize, depth as usize];
    Ok((shape, [row_stride as usize, slice_stride as usize], extent as usize))
}
