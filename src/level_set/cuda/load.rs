//! The image and the initial mask on the device, and the image's statistics inside the mask.

use super::super::plan::ImageStatistics;
use super::tables::{Layout, PADDING_BEFORE};
use super::{launch, transfer};
use crate::device::Context;
use crate::device::cuda::{Buffer, Cuda, DeviceRows, Pinned, Stream, check_device_pixels, pixel_of_key};
use crate::device::kernels::level_set::{LEAD, MaskedRowsArguments, PixelTotals};
use crate::error::Result;
use crate::image::{Dimensions, Image, PixelType};
use bytemuck::Pod;
use ndarray::{Array3, ArrayView3, Zip};
use rayon::ThreadPool;
use std::sync::Arc;

/// The bytes of the totals, which the sums of the rows follow, on the device and in page-locked memory.
const TOTALS_BYTES: usize = size_of::<PixelTotals>();
/// The largest number of rows whose sums are copied from the device together.
const ROWS_AT_ONCE: usize = 1 << 18;

/// A level set of which the parameters are not yet known. The memory of the first φ begins with the mask, one byte per
/// pixel, that of the second is free. The stream is the first field: it is waited for before the memory is freed.
pub(super) struct Loaded {
    pub stream: Stream,
    pub cuda: Arc<Cuda>,
    pub layout: Layout,
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

    /// Computes the statistics of the image, with the bits of those that the CPU computes. In between, the memory of
    /// the second φ holds the sums of the rows, which the host adds in their order. The deviation is 0 unless it is wanted.
    pub(super) fn statistics(&self, want_deviation: bool) -> Result<ImageStatistics> {
        let Self { stream, cuda, layout, phi: [mask, results], image, pixel_type } = self;
        let rows = layout.rows();
        let first_pixel = (PADDING_BEFORE + LEAD) * pixel_type.bytes();
        let at = MaskedRowsArguments {
            pixels: image.address() + first_pixel as u64,
            marks: mask.address(),
            rows: rows as u64,
            width: layout.shape[0] as u32,
            pitch: layout.pitch as u32,
        };
        let to = [results.address(), results.address() + TOTALS_BYTES as u64];
        let mut back = cuda.memory().pinned(TOTALS_BYTES + rows.min(ROWS_AT_ONCE) * size_of::<f64>())?;
        // No pixels: counts of 0, the largest key as the smallest of the range, 0 as the largest.
        stream.fill(results, 0, TOTALS_BYTES, 0)?;
        stream.fill(results, std::mem::offset_of!(PixelTotals, range), size_of::<u32>(), 0xFF)?;
        launch::measure(cuda, stream, &at, *pixel_type, to, None)?;
        stream.copy_bytes(results.side(0), back.side(), TOTALS_BYTES)?;
        let sum = self.add_rows(&mut back)?;
        let totals: PixelTotals = bytemuck::pod_read_unaligned(&back.as_slice()[..TOTALS_BYTES]);
        let PixelTotals { inside, sample, range: [low, high] } = totals;
        let range =
            if low <= high { [low, high].map(|key| pixel_of_key(key, *pixel_type)) } else { ImageStatistics::NO_RANGE };
        let statistics = ImageStatistics::new([inside, sample], range, sum);
        if sample == 0 || !want_deviation {
            return Ok(statistics);
        }
        launch::measure(cuda, stream, &at, *pixel_type, to, Some(statistics.mean))?;
        Ok(statistics.with_squares(self.add_rows(&mut back)?))
    }

    /// Waits for the sums of the rows, and adds them in their order.
    fn add_rows(&self, back: &mut Pinned) -> Result<f64> {
        let Self { stream, layout, phi: [_, results], .. } = self;
        let (mut sum, mut done) = (0.0, 0);
        while done < layout.rows() {
            let bytes = (layout.rows() - done).min(ROWS_AT_ONCE) * size_of::<f64>();
            let from = results.side(TOTALS_BYTES + done * size_of::<f64>());
            stream.copy_bytes(from, back.side().after(TOTALS_BYTES), bytes)?;
            stream.synchronize()?;
            let sums: &[f64] = bytemuck::cast_slice(&back.as_slice()[TOTALS_BYTES..][..bytes]);
            sum = sums.iter().fold(sum, |sum, row| sum + row);
            done += sums.len();
        }
        Ok(sum)
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
