//! Device memory and page-locked host memory, pooled per context, and the copies between them.
//!
//! # Safety
//! Buffers come from a pool and go back to it when dropped; the pool frees them when trimmed or dropped. An owner
//! keeps a buffer until the streams that use it are done (rule 2 of the parent module).
#![allow(unsafe_code)]

use super::{Cuda, DeviceRows, Stream, Transfer, failed};
use crate::error::{Error, ErrorKind, Result, human_bytes};
use crate::image::{DevicePixels, Image, ImageMut, PixelType, view_of_mut};
use crate::progress::Ticker;
use cudarc::driver::sys::{self, CUdeviceptr, CUmemorytype};
use cudarc::driver::{CudaContext, DriverError};
use rayon::ThreadPool;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::sync::{Arc, Mutex};

/// Sizes are rounded up to a multiple of this, so that similar calls reuse each other's buffers.
const GRANULE: usize = 1 << 16;

/// A pooled buffer is reused if the request needs at least half of it. With a memory limit, only buffers of the exact size
/// are reused.
const MAX_WASTE: usize = 2;

/// The most bytes by which rounding may enlarge the buffers of one slot of the pipeline, which are at most twelve.
pub(super) const SLOT_ROUNDING: u64 = 12 * GRANULE as u64;

/// The addresses of buffers that are not in use, by size.
type Unused<A> = BTreeMap<usize, Vec<A>>;

#[derive(Default)]
struct Pool {
    device: Unused<CUdeviceptr>,
    pinned: Unused<PageLocked>,
    /// Device bytes in buffers that are in use.
    used: u64,
    /// Device bytes in buffers that are not in use.
    pooled: u64,
    /// The largest `used` since it was last reset.
    peak: u64,
    /// `used` at the beginning of the present call, which is the memory that solvers of earlier calls keep.
    kept: u64,
    /// The most device bytes of a call; 0 is no limit.
    limit: u64,
}

/// Returns the size of a buffer for `bytes`, or the error for more than can be addressed.
fn rounded(bytes: usize) -> Result<usize> {
    let rounded = bytes.max(1).checked_next_multiple_of(GRANULE).filter(|rounded| isize::try_from(*rounded).is_ok());
    rounded.ok_or_else(|| {
        let wanted = human_bytes(bytes as u64);
        Error::memory(format!("cannot allocate {wanted}: more than can be addressed; process fewer pixels at a time"))
    })
}

/// Takes the smallest buffer that has `bytes` and at most `waste` times as many, and its size.
fn take<A>(unused: &mut Unused<A>, bytes: usize, waste: usize) -> Option<(usize, A)> {
    let mut fitting = unused.range_mut(bytes..=bytes.saturating_mul(waste));
    fitting.find_map(|(size, list)| list.pop().map(|address| (*size, address)))
}

/// Makes a context current, to free something in it. If a destructor has failed, the next call returns its error; that is
/// cleared first, so that it does not prevent freeing the memory.
pub(super) fn bind_to_free(context: &CudaContext) -> Result<(), DriverError> {
    let _ = context.check_err();
    context.bind_to_thread()
}

/// The memory of one context.
pub(crate) struct Memory {
    pool: Mutex<Pool>,
    context: Arc<CudaContext>,
}

impl Memory {
    pub(super) fn new(context: Arc<CudaContext>) -> Arc<Self> {
        Arc::new(Self { pool: Mutex::default(), context })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns the device bytes held, in use or pooled.
    pub(crate) fn held(&self) -> u64 {
        let pool = self.lock();
        pool.used + pool.pooled
    }

    /// Returns the device bytes in use.
    pub(crate) fn used(&self) -> u64 {
        self.lock().used
    }

    /// Returns the device bytes that have come into use in the present call.
    pub(crate) fn used_by_call(&self) -> u64 {
        let pool = self.lock();
        pool.used.saturating_sub(pool.kept)
    }

    pub(crate) fn begin_call(&self) {
        let mut pool = self.lock();
        pool.kept = pool.used;
    }

    pub(super) fn set_limit(&self, bytes: u64) {
        self.lock().limit = bytes;
    }

    /// Restarts the measurement of the peak.
    pub(crate) fn reset_peak(&self) {
        let mut pool = self.lock();
        pool.peak = pool.used;
    }

    /// Returns the most device bytes in use since [`reset_peak`](Self::reset_peak).
    pub(crate) fn peak(&self) -> u64 {
        self.lock().peak
    }

    /// Frees the buffers that are not in use.
    pub(crate) fn trim(&self) {
        let mut pool = self.lock();
        if bind_to_free(&self.context).is_err() {
            return;
        }
        for address in std::mem::take(&mut pool.device).into_values().flatten() {
            // SAFETY: from cuMemAlloc, in no buffer any more, and freed once. cuMemFree waits for the device.
            let _ = unsafe { cudarc::driver::result::free_sync(address) };
        }
        pool.pinned.clear();
        pool.pooled = 0;
    }

    /// Returns `bytes` of device memory, uninitialised, aligned to 256 bytes.
    ///
    /// # Errors
    /// Out of memory, with the requested and the free bytes.
    pub(crate) fn device(self: &Arc<Self>, bytes: usize) -> Result<Buffer> {
        let rounded = rounded(bytes)?;
        let buffer = |address, bytes| Buffer { address, bytes, memory: self.clone() };
        {
            let mut pool = self.lock();
            let waste = if pool.limit > 0 { 1 } else { MAX_WASTE };
            if let Some((size, address)) = take(&mut pool.device, rounded, waste) {
                pool.pooled -= size as u64;
                pool.used += size as u64;
                pool.peak = pool.peak.max(pool.used);
                return Ok(buffer(address, size));
            }
            let by_call = pool.used.saturating_sub(pool.kept);
            let is_full = pool.limit > 0 && by_call + pool.pooled + rounded as u64 > pool.limit;
            drop(pool);
            if is_full {
                self.trim();
            }
        }
        self.context.bind_to_thread().map_err(|e| failed("activate the CUDA context", e))?;
        // SAFETY: the context is current; the address is freed by the pool.
        let allocate = || unsafe { cudarc::driver::result::malloc_sync(rounded) };
        let address = allocate().or_else(|_| {
            // Unused buffers of other sizes may hold the memory that is needed.
            self.trim();
            allocate()
        });
        let address = address.map_err(|e| {
            let free = self.context.mem_get_info().map_or(0, |(free, _)| free as u64);
            let wanted = human_bytes(rounded as u64);
            failed(&format!("allocate {wanted} ({rounded} bytes; {} are free)", human_bytes(free)), e)
        })?;
        let mut pool = self.lock();
        pool.used += rounded as u64;
        pool.peak = pool.peak.max(pool.used);
        Ok(buffer(address, rounded))
    }

    /// Returns `bytes` of page-locked host memory. Copies from and to it run at the link's full speed, concurrently with
    /// kernels.
    pub(crate) fn pinned(self: &Arc<Self>, bytes: usize) -> Result<Pinned> {
        let rounded = rounded(bytes)?;
        let pooled = take(&mut self.lock().pinned, rounded, MAX_WASTE);
        let memory = match pooled {
            Some((_, memory)) => memory,
            None => PageLocked::new(&self.context, rounded)?,
        };
        Ok(Pinned { memory: Some(memory), pool: self.clone() })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.trim();
    }
}

/// A buffer in device memory; it returns to the pool when dropped.
pub(crate) struct Buffer {
    address: CUdeviceptr,
    bytes: usize,
    memory: Arc<Memory>,
}

impl Buffer {
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Returns the size, which is at least the requested one.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the buffer, from byte `offset` on, as one side of a copy.
    pub(crate) fn side(&self, offset: usize) -> Side {
        Side::Device { address: self.address, bytes: self.bytes }.after(offset)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut pool = self.memory.lock();
        pool.used -= self.bytes as u64;
        pool.pooled += self.bytes as u64;
        pool.device.entry(self.bytes).or_default().push(self.address);
    }
}

/// Page-locked host memory, which the device copies from and to while kernels run.
pub(crate) struct PageLocked {
    address: *mut u8,
    bytes: usize,
    context: Arc<CudaContext>,
}

// SAFETY: the memory is plain bytes that this value owns alone.
unsafe impl Send for PageLocked {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for PageLocked {}

impl PageLocked {
    /// Allocates `bytes` bytes, which are 0.
    pub(crate) fn new(context: &Arc<CudaContext>, bytes: usize) -> Result<Self> {
        context.bind_to_thread().map_err(|e| failed("activate the CUDA context", e))?;
        // SAFETY: the context is current; the memory is freed once, when this value is dropped.
        let address = unsafe { cudarc::driver::result::malloc_host(bytes, 0) }
            .map_err(|e| failed(&format!("allocate {} of page-locked host memory", human_bytes(bytes as u64)), e))?;
        // SAFETY: `bytes` bytes were just allocated; zeroed, they are initialised for every slice made of them.
        unsafe { std::ptr::write_bytes(address.cast::<u8>(), 0, bytes) };
        Ok(Self { address: address.cast(), bytes, context: context.clone() })
    }

    /// Returns the memory. The caller has waited for the copies that touch it.
    pub(crate) fn as_slice(&self) -> &[u8] {
        // SAFETY: `bytes` initialised bytes that this value owns.
        unsafe { std::slice::from_raw_parts(self.address, self.bytes) }
    }

    /// Returns the memory. The caller has waited for the copies that touch it.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: `bytes` initialised bytes that this value owns; `&mut self` makes the access unique.
        unsafe { std::slice::from_raw_parts_mut(self.address, self.bytes) }
    }

    /// Returns the memory as one side of a copy.
    pub(crate) fn side(&self) -> Side {
        Side::Host { address: self.address as usize, bytes: self.bytes }
    }
}

impl Drop for PageLocked {
    fn drop(&mut self) {
        if bind_to_free(&self.context).is_ok() {
            // SAFETY: from cuMemHostAlloc and freed once. Owners have waited for the copies that touch it.
            let _ = unsafe { cudarc::driver::result::free_host(self.address.cast()) };
        }
    }
}

/// Page-locked host memory that returns to the pool when dropped.
pub(crate) struct Pinned {
    /// The memory; `None` only while this value is dropped.
    memory: Option<PageLocked>,
    pool: Arc<Memory>,
}

impl Deref for Pinned {
    type Target = PageLocked;

    fn deref(&self) -> &PageLocked {
        self.memory.as_ref().unwrap_or_else(|| unreachable!("it is taken only by drop"))
    }
}

impl DerefMut for Pinned {
    fn deref_mut(&mut self) -> &mut PageLocked {
        self.memory.as_mut().unwrap_or_else(|| unreachable!("it is taken only by drop"))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.pool.lock().pinned.entry(memory.bytes).or_default().push(memory);
        }
    }
}

/// Returns whether `address` is in page-locked host memory that the driver knows, so that copies need no staging.
pub(crate) fn is_pinned(address: usize) -> bool {
    let mut kind: u32 = 0;
    let mut attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    let mut answer = (&raw mut kind).cast::<c_void>();
    // SAFETY: the one attribute writes one u32; the driver accepts any address in the query. For pageable memory this
    // plural form leaves the answer 0 and succeeds, and the singular one fails.
    let known = unsafe { sys::cuPointerGetAttributes(1, &mut attribute, &mut answer, address as u64) };
    known.result().is_ok() && kind == CUmemorytype::CU_MEMORYTYPE_HOST as u32
}

/// One side of a copy: its address and the bytes that are there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Host { address: usize, bytes: usize },
    Device { address: u64, bytes: usize },
}

impl Side {
    /// Returns the side from byte `offset` on.
    pub(crate) fn after(self, offset: usize) -> Self {
        let (Self::Host { bytes, .. } | Self::Device { bytes, .. }) = self;
        assert!(offset <= bytes, "a copy must start within its buffer");
        match self {
            Self::Host { address, bytes } => Self::Host { address: address + offset, bytes: bytes - offset },
            Self::Device { address, bytes } => Self::Device { address: address + offset as u64, bytes: bytes - offset },
        }
    }

    /// Returns plain values in host memory as one side of a copy.
    pub(crate) fn of<T: bytemuck::NoUninit>(values: &[T]) -> Self {
        Self::Host { address: values.as_ptr() as usize, bytes: size_of_val(values) }
    }

    /// Returns plain values in host memory as the target of a copy.
    pub(crate) fn of_mut<T: bytemuck::AnyBitPattern>(values: &mut [T]) -> Self {
        Self::Host { address: values.as_mut_ptr() as usize, bytes: size_of_val(values) }
    }

    /// Returns slice `z` of a caller's device pixels, and the bytes from row to row, which are arbitrary if there is a
    /// single row.
    pub(crate) fn of_slice(pixels: &DevicePixels<'_>, z: usize) -> (Self, usize) {
        let [width, height, _] = pixels.shape;
        let row = width * pixels.pixel_type.bytes();
        let pitch = if height > 1 { pixels.strides[0] } else { row };
        let address = pixels.address + (z * pixels.strides[1]) as u64;
        (Self::Device { address, bytes: (height - 1) * pitch + row }, pitch)
    }
}

impl DevicePixels<'_> {
    /// Returns some of the slices.
    pub(crate) fn slices(self, range: &Range<usize>) -> Self {
        let [width, height, _] = self.shape;
        let address = self.address + (range.start * self.strides[1]) as u64;
        Self { address, shape: [width, height, range.len()], ..self }
    }
}

impl Stream {
    /// Queues a copy of `rows` rows of `width` bytes, `pitches` (from, to) bytes apart.
    ///
    /// Both sides must stay alive and untouched until the stream is done (rule 2 of the parent module). This function
    /// checks that the rows are within them.
    pub(crate) fn copy(&self, from: Side, to: Side, width: usize, rows: usize, pitches: [usize; 2]) -> Result<()> {
        for (side, pitch) in [(from, pitches[0]), (to, pitches[1])] {
            let (Side::Host { bytes, .. } | Side::Device { bytes, .. }) = side;
            assert!(
                rows == 0 || (pitch >= width && (rows - 1) * pitch + width <= bytes),
                "a copy must lie within its buffers"
            );
        }
        if rows == 0 || width == 0 {
            return Ok(());
        }
        // Rows without gaps are copied as one long row, because the driver limits the pitch of 2D copies.
        let (width, rows, pitches) =
            if pitches == [width, width] { (width * rows, 1, [width * rows; 2]) } else { (width, rows, pitches) };
        let raw = self.raw().cu_stream();
        let done = match (from, to, rows) {
            // SAFETY: the ranges were checked above; the lifetimes are those of the doc comment.
            (Side::Host { address: from, .. }, Side::Device { address: to, .. }, 1) => unsafe {
                sys::cuMemcpyHtoDAsync_v2(to, from as *const c_void, width, raw)
            },
            // SAFETY: as above.
            (Side::Device { address: from, .. }, Side::Host { address: to, .. }, 1) => unsafe {
                sys::cuMemcpyDtoHAsync_v2(to as *mut c_void, from, width, raw)
            },
            _ => {
                let describe = |side| match side {
                    Side::Host { address, .. } => (CUmemorytype::CU_MEMORYTYPE_HOST, address, 0),
                    Side::Device { address, .. } => (CUmemorytype::CU_MEMORYTYPE_DEVICE, 0, address),
                };
                let (from_kind, from_host, from_device) = describe(from);
                let (to_kind, to_host, to_device) = describe(to);
                let copy = sys::CUDA_MEMCPY2D {
                    srcXInBytes: 0,
                    srcY: 0,
                    srcMemoryType: from_kind,
                    srcHost: from_host as *const c_void,
                    srcDevice: from_device,
                    srcArray: std::ptr::null_mut(),
                    srcPitch: pitches[0],
                    dstXInBytes: 0,
                    dstY: 0,
                    dstMemoryType: to_kind,
                    dstHost: to_host as *mut c_void,
                    dstDevice: to_device,
                    dstArray: std::ptr::null_mut(),
                    dstPitch: pitches[1],
                    WidthInBytes: width,
                    Height: rows,
                };
                // SAFETY: the ranges were checked above; the lifetimes are those of the doc comment.
                unsafe { sys::cuMemcpy2DAsync_v2(&copy, raw) }
            }
        };
        done.result().map_err(|e| failed("copy an image to or from the CUDA device", e))
    }

    /// Queues a copy of `bytes` bytes.
    pub(crate) fn copy_bytes(&self, from: Side, to: Side, bytes: usize) -> Result<()> {
        self.copy(from, to, bytes, 1, [bytes; 2])
    }

    /// Queues a fill of `bytes` bytes of `buffer`, from `offset` on, with `value`.
    pub(crate) fn fill(&self, buffer: &Buffer, offset: usize, bytes: usize, value: u8) -> Result<()> {
        assert!(offset + bytes <= buffer.bytes, "a fill must lie within its buffer");
        // SAFETY: the range was checked above; the buffer outlives the stream's work (rule 2).
        unsafe { sys::cuMemsetD8Async(buffer.address + offset as u64, value, bytes, self.raw().cu_stream()) }
            .result()
            .map_err(|e| failed("fill CUDA memory", e))
    }
}

/// An image in the memory of a context's CUDA device: packed, x fastest. It lets callers keep data on the GPU between
/// calls. [`Context::device_image`](crate::Context::device_image) makes it.
pub struct DeviceImage {
    stream: Stream,
    buffer: Buffer,
    transfer: Arc<Transfer>,
    pool: Arc<ThreadPool>,
    pixel_type: PixelType,
    shape: [usize; 3],
}

impl std::fmt::Debug for DeviceImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceImage").field("pixel_type", &self.pixel_type).field("shape", &self.shape).finish()
    }
}

impl DeviceImage {
    pub(in crate::device) fn new(
        cuda: &Arc<Cuda>,
        pool: &Arc<ThreadPool>,
        pixel_type: PixelType,
        shape: [usize; 3],
    ) -> Result<Self> {
        crate::image::check_shapes(shape, shape)?;
        let bytes = shape.iter().product::<usize>() * pixel_type.bytes();
        Ok(Self {
            stream: cuda.stream()?,
            buffer: cuda.memory.device(bytes)?,
            transfer: cuda.transfer.clone(),
            pool: pool.clone(),
            pixel_type,
            shape,
        })
    }

    /// Returns width, height and depth in pixels.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    fn pixels(&self) -> DevicePixels<'_> {
        let row = self.shape[0] * self.pixel_type.bytes();
        DevicePixels {
            pixel_type: self.pixel_type,
            address: self.buffer.address,
            shape: self.shape,
            strides: [row, row * self.shape[1]],
            lifetime: PhantomData,
        }
    }

    /// Returns the image as an input.
    pub fn view(&self) -> Image<'_> {
        Image::Device(self.pixels())
    }

    /// Returns the image as an output; each operation says which pixel type it writes.
    pub fn view_mut(&mut self) -> ImageMut<'_> {
        ImageMut::Device(self.pixels())
    }

    /// Fills the image from `source`, which must have its type and size. Returns when done.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidSize`] for another type or size, [`ErrorKind::Unsupported`] for a source in device
    /// memory, or a device failure.
    pub fn upload(&mut self, source: Image<'_>) -> Result<()> {
        if source.shape() != self.shape || source.pixel_type() != self.pixel_type {
            return Err(Error::size(format!(
                "cannot upload: the source must have the type and size of the device image, {} of {:?} pixels (got {} of \
                 {:?})",
                self.pixel_type,
                self.shape,
                source.pixel_type(),
                source.shape()
            )));
        }
        if matches!(source, Image::Device(_)) {
            return Err(Error::unsupported("cannot upload: the source is in CUDA memory; download it first"));
        }
        let pitch = self.shape[0] * self.pixel_type.bytes();
        let to = DeviceRows { stream: &self.stream, side: self.buffer.side(0), pitch };
        self.transfer.bind()?;
        let queued = self.transfer.upload(&self.pool, &source, &[(0..self.shape[2], to)], &Ticker::of_copies());
        // Wait even after an error: copies from page-locked memory may still be in progress.
        let done = self.stream.synchronize();
        queued.and(done)
    }

    /// Returns the pixels, packed, x fastest; `T` is their type.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidType`] for another pixel type, or a device failure.
    pub fn download<T: DevicePixel>(&self) -> Result<Vec<T>> {
        if self.pixel_type != T::TYPE {
            return Err(Error::new(
                ErrorKind::InvalidType,
                format!(
                    "cannot download: the pixels must be read in the type of the device image, {} (got {})",
                    self.pixel_type,
                    T::TYPE
                ),
            ));
        }
        let [width, height, depth] = self.shape;
        let mut values = crate::memory::zeroed(width * height * depth)?;
        let view = view_of_mut(&mut values, self.shape);
        let from = DeviceRows { stream: &self.stream, side: self.buffer.side(0), pitch: width * size_of::<T>() };
        self.transfer.bind()?;
        self.transfer.download_views(&self.pool, vec![(view, from)], &Ticker::of_copies())?;
        self.stream.synchronize()?;
        Ok(values)
    }
}

/// A pixel that [`DeviceImage::download`] returns: u8, u16 or f32.
pub trait DevicePixel: bytemuck::Pod + Send + Sync + sealed::Sealed {
    /// The pixel type.
    const TYPE: PixelType;
}

mod sealed {
    /// Limits the trait to numbers for which every bit pattern is valid, because the driver writes their bytes.
    pub trait Sealed {}
}

macro_rules! device_pixel {
    ($pixel:ty, $variant:ident) => {
        impl sealed::Sealed for $pixel {}
        impl DevicePixel for $pixel {
            const TYPE: PixelType = PixelType::$variant;
        }
    };
}
device_pixel!(u8, U8);
device_pixel!(u16, U16);
device_pixel!(f32, F32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_cannot_be_rounded_up_is_out_of_memory() {
        assert_eq!([0, 1, GRANULE, GRANULE + 1].map(|bytes| rounded(bytes).unwrap() / GRANULE), [1, 1, 1, 2]);
        for bytes in [usize::MAX, usize::MAX - GRANULE, isize::MAX as usize] {
            assert_eq!(rounded(bytes).unwrap_err().kind(), ErrorKind::OutOfMemory, "{bytes}");
        }
        assert!(rounded(isize::MAX as usize - GRANULE).is_ok());
    }
}
