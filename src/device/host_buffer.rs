//! Host memory for images that a context makes for its caller.

use super::DevicePixel;
use super::buffer_pool::Kept;
use super::cuda::HostMemory;
use std::sync::{Arc, Weak};

/// The most bytes of freed buffers that a context keeps for new ones: an image of 512 x 512 x 512 bytes, its result in
/// floats, and a large part of another pair.
const KEPT_BYTES: usize = 1 << 30;

/// The freed buffers of a context.
#[derive(Debug)]
pub(super) struct FreedBuffers(Arc<Kept<HostMemory>>);

impl Default for FreedBuffers {
    fn default() -> Self {
        Self(Arc::new(Kept::at_most(KEPT_BYTES)))
    }
}

impl FreedBuffers {
    /// Returns a freed buffer with at least `bytes` that is not much larger, or a new one.
    pub(super) fn take(&self, bytes: usize) -> crate::Result<HostMemory> {
        self.0.take_or(HostMemory::rounded(bytes), || HostMemory::new(bytes))
    }

    /// Returns `memory` as a buffer of `bytes` bytes, which is kept again when it is dropped.
    pub(super) fn hand_out(&self, memory: HostMemory, bytes: usize) -> HostBuffer {
        HostBuffer { memory: Some(memory), bytes, home: Arc::downgrade(&self.0) }
    }

    /// Frees all kept buffers.
    pub(super) fn clear(&self) {
        self.0.clear();
    }
}

/// Host memory for images, made by [`Context::host_buffer`](crate::Context::host_buffer). It is in huge pages, which makes
/// the first write to it fast. If the context has a CUDA device, it is page-locked, so that the device copies it directly.
///
/// Its initial contents are unspecified: zeros, or the contents of an earlier buffer. A buffer may outlive its context; a
/// page-locked buffer keeps the device open. When it is dropped, the context keeps its memory for the next buffer, until
/// [`Context::trim`](crate::Context::trim) or the end of the context.
///
/// ```
/// use isoline::{Context, distance::{self, Params}};
/// use ndarray::{ArrayView3, ArrayViewMut3};
///
/// let context = Context::new("auto")?;
/// let mut mask = context.host_buffer(64 * 64 * 64)?;
/// let mut output = context.host_buffer(64 * 64 * 64 * size_of::<f32>())?;
/// mask.pixels_mut::<u8>().fill(0);
/// mask.pixels_mut::<u8>()[0] = 255;
/// let input = ArrayView3::from_shape((64, 64, 64), mask.pixels::<u8>()).unwrap();
/// let distances = ArrayViewMut3::from_shape((64, 64, 64), output.pixels_mut::<f32>()).unwrap();
/// distance::run(&context, input.into(), &Params::default(), None, distances.into())?;
/// assert_eq!(output.pixels::<f32>()[2], 1.5);
/// # Ok::<(), isoline::Error>(())
/// ```
#[derive(Debug)]
pub struct HostBuffer {
    /// The memory; `None` only while this value is dropped.
    memory: Option<HostMemory>,
    bytes: usize,
    home: Weak<Kept<HostMemory>>,
}

impl HostBuffer {
    fn memory(&self) -> &HostMemory {
        self.memory.as_ref().unwrap_or_else(|| unreachable!("it is taken only by drop"))
    }

    /// Returns the requested number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Tells whether the memory is page-locked, so that the CUDA device copies it directly. If it is not although the
    /// context has a CUDA device, the log says why; the buffer can be used anyway.
    pub fn is_page_locked(&self) -> bool {
        self.memory().is_page_locked()
    }

    /// Returns the memory as pixels of the type `T`, as many as fit.
    pub fn pixels<T: DevicePixel>(&self) -> &[T] {
        bytemuck::cast_slice(&self.memory().as_slice()[..self.bytes / size_of::<T>() * size_of::<T>()])
    }

    /// Returns the memory as pixels of the type `T`, as many as fit, for writing.
    pub fn pixels_mut<T: DevicePixel>(&mut self) -> &mut [T] {
        let whole = self.bytes / size_of::<T>() * size_of::<T>();
        let memory = self.memory.as_mut().unwrap_or_else(|| unreachable!("it is taken only by drop"));
        bytemuck::cast_slice_mut(&mut memory.as_mut_slice()[..whole])
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        if let (Some(memory), Some(home)) = (self.memory.take(), self.home.upgrade()) {
            home.keep(memory);
        }
    }
}
