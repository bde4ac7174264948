//! The image and the initial mask on the device.

use super::tables::{Layout, PADDING_BEFORE};
use super::{launch, transfer};
use crate::device::Context;
use crate::device::cuda::{Buffer, Cuda, DeviceRows, Stream, check_device_pixels};
use crate::device::kernels::level_set::LEAD;
use crate::error::Result;
use crate::image::{DevicePixels, Dimensions, Image, PixelType};
use bytemuck::Pod;
use ndarray::{Array3, ArrayView3, Zip};
use rayon::ThreadPool;
use std::marker::PhantomData;
use std::sync::Arc;

/// The buffers of a level set before its start. The memory of the first φ begins with the mask, one byte per
/// pixel, that of the second is free. The stream is the first field: it is waited for before the memory is freed.
pub(in crate::level_set) struct Loaded {
    pub stream: Stream,
    pub cuda: Arc<Cuda>,
    pub(super) layout: Layout,
    pub phi: [Buffer; 2],
    pub image: Buffer,
    pub pixel_type: PixelType,
}

impl Loaded {
    /// Queues the copies of both images, which may be in host or in device memory.
    pub(super) fn new(
        context: &Context,
        cuda: &Arc<Cuda>,
        dimensions: Dimensions,
        input: &Image<'_>,
        mask: &Image<'_>,
    ) -> Result<Self> {
        if let Image::Device(pixels) = input {
            check_device_pixels(cuda, "the input", pixels)?;
        }
        if let Image::Device(pixels) = mask {
            check_device_pixels(cuda, "the initial mask", pixels)?;
        }
        let (layout, pixel_type, memory) = (Layout::new(input.shape()), input.pixel_type(), cuda.memory());
        launch::check_indices(&layout, dimensions)?;
        let phi_bytes = layout.elements() * size_of::<f32>();
        let loaded = Self {
            stream: cuda.stream()?,
            cuda: cuda.clone(),
            layout,
            phi: [memory.device(phi_bytes)?, memory.device(phi_bytes)?],
            image: memory.device(layout.elements() * pixel_type.bytes())?,
            pixel_type,
        };
        let Self { stream, image, .. } = &loaded;
        stream.fill(image, 0, image.bytes(), 0)?;
        transfer::upload(cuda, context.pool(), stream, input, image, &layout)?;
        loaded.put_mask(context.pool(), mask)?;
        Ok(loaded)
    }

    /// Waits for the image, and returns its smallest and its largest finite pixel; both are 0 where there is none.
    pub(in crate::level_set) fn extremes(&self) -> Result<[f64; 2]> {
        self.stream.synchronize()?;
        let (bytes, shape) = (self.pixel_type.bytes(), self.layout.shape);
        let row = self.layout.pitch * bytes;
        let pixels = DevicePixels {
            pixel_type: self.pixel_type,
            address: self.image.address() + ((PADDING_BEFORE + LEAD) * bytes) as u64,
            shape,
            strides: [row, row * shape[1]],
            lifetime: PhantomData,
        };
        self.cuda.extremes("the image", &pixels)
    }

    /// Queues the copy of the mask, one byte per pixel that is not 0 inside, to the beginning of the first φ's memory.
    /// If the mask is not in device memory, the copy is complete when this returns.
    fn put_mask(&self, pool: &ThreadPool, mask: &Image<'_>) -> Result<()> {
        let Self { stream, cuda, phi: [phi, _], .. } = self;
        match mask {
            Image::U8(view) => self.put_marks(pool, *view),
            Image::U16(view) => self.put_marks(pool, marks(pool, *view, |pixel| pixel > 0).view()),
            Image::F32(view) => self.put_marks(pool, marks(pool, *view, |pixel| pixel > 0.0).view()),
            Image::Device(pixels) if pixels.pixel_type == PixelType::U8 => transfer::pack(stream, pixels, phi),
            Image::Device(pixels) => launch::marks(cuda, stream, pixels, phi.address()),
        }
    }

    fn put_marks(&self, pool: &ThreadPool, marks: ArrayView3<'_, u8>) -> Result<()> {
        let to = DeviceRows { stream: &self.stream, side: self.phi[0].side(0), pitch: self.layout.shape[0] };
        self.cuda.transfer().upload_views(pool, vec![(marks, to)])?;
        self.stream.synchronize()
    }
}

/// Returns 1 for each pixel that is inside, and 0 for the others.
fn marks<T: Pod + Send + Sync>(
    pool: &ThreadPool,
    view: ArrayView3<'_, T>,
    inside: impl Fn(T) -> bool + Sync + Send,
) -> Array3<u8> {
    pool.install(|| Zip::from(view).par_map_collect(|pixel| u8::from(inside(*pixel))))
}
