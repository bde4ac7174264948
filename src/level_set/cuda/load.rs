//! The image and the initial mask on the device.

use super::tables::{Layout, PADDING_BEFORE};
use super::{launch, transfer};
use crate::device::Context;
use crate::device::cuda::{Buffer, Cuda, DeviceRows, Stream, check_device_pixels};
use crate::device::kernels::level_set::{EDGE_PIXEL, LEAD};
use crate::error::Result;
use crate::image::{DevicePixels, Dimensions, Image, PixelType, view_of, zeroed_image};
use crate::level_set::STAGE;
use crate::level_set::cpu::{self, Edges};
use crate::level_set::plan::Plan;
use crate::level_set::scalar::NO_EDGE;
use crate::memory::zeroed;
use crate::pixel_range::Measure;
use crate::progress::{Progress, Ticker, run as run_with_progress};
use bytemuck::Pod;
use ndarray::{Array3, ArrayView3, Zip, s};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// The buffers of a level set before its start. The stream is the first field: it is waited for before the memory is freed.
pub(in crate::level_set) struct Loaded {
    pub stream: Stream,
    pub cuda: Arc<Cuda>,
    pub(super) layout: Layout,
    /// The two buffers of φ, unless φ is sparse. Until the start, the first one begins with the mask, one byte per pixel,
    /// and the second is free.
    pub phi: Option<[Buffer; 2]>,
    pub image: Buffer,
    pub(super) image_from_host: bool,
    pub(super) pixels: PixelKind,
    /// The contrast of the edge term, if there is one.
    pub(super) edge_contrast: Option<f64>,
}

/// The kind of the image's elements.
#[derive(Clone, Copy, Debug)]
pub(super) enum PixelKind {
    /// Pixels alone.
    Plain(PixelType),
    /// Pixels with the edge-stopping function and its slope, the kernels' `EdgePixel`; for an edge term, and for second
    /// order.
    WithEdges,
}

impl PixelKind {
    /// Returns the name of this kind in the names of kernels.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plain(pixel_type) => pixel_type.name(),
            Self::WithEdges => "edges",
        }
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Plain(pixel_type) => pixel_type.bytes(),
            Self::WithEdges => size_of::<EdgePixel>(),
        }
    }
}

/// A pixel, the edge-stopping function and its slope.
type EdgePixel = [f32; EDGE_PIXEL];

/// The size of the parts in which an image with edges is made and uploaded, in bytes.
const EDGE_PART_BYTES: usize = 64 << 20;

impl Loaded {
    /// Queues the copies of the image, and of the mask if it is given; each may be in host or in device memory. With
    /// `in_rows` the two dense buffers of φ are allocated, too.
    pub(super) fn new(
        context: &Context,
        cuda: &Arc<Cuda>,
        dimensions: Dimensions,
        in_rows: bool,
        input: &Image<'_>,
        mask: Option<&Image<'_>>,
    ) -> Result<Self> {
        if let Image::Device(pixels) = input {
            check_device_pixels(cuda, "the input", pixels)?;
        }
        let (layout, pixel_type, memory) = (Layout::new(input.shape()), input.pixel_type(), cuda.memory());
        launch::check_indices(&layout, dimensions)?;
        let phi_bytes = layout.elements() * size_of::<f32>();
        let phi = if in_rows { Some([memory.device(phi_bytes)?, memory.device(phi_bytes)?]) } else { None };
        let loaded = Self {
            stream: cuda.stream()?,
            cuda: cuda.clone(),
            layout,
            phi,
            image: memory.device(layout.elements() * pixel_type.bytes())?,
            image_from_host: !matches!(input, Image::Device(_)),
            pixels: PixelKind::Plain(pixel_type),
            edge_contrast: None,
        };
        let Self { stream, image, .. } = &loaded;
        stream.fill(image, 0, image.bytes(), 0)?;
        transfer::upload(cuda, context.pool(), stream, input, image, &layout)?;
        if let (Some([phi, _]), Some(mask)) = (&loaded.phi, mask) {
            put_mask(cuda, stream, context.pool(), mask, 0..layout.shape[2], phi)?;
        }
        Ok(loaded)
    }

    /// Replaces the image, which must be in host memory, by one with edges. With an edge term the CPU computes them;
    /// without one (second order alone) g is 1 everywhere.
    pub(in crate::level_set) fn put_edges(
        &mut self,
        context: &Context,
        plan: &Plan,
        input: &Image<'_>,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<()> {
        let ticker = Ticker::new(STAGE);
        let edges = run_with_progress(context.pool(), progress, &ticker, || {
            let measured = |edges| Edges::new(context, plan, edges, input, &cpu::Layout::plain(plan.shape), &ticker);
            plan.edges.map(measured).transpose()
        })?;
        let image = self.cuda.memory().device(self.layout.elements() * size_of::<EdgePixel>())?;
        self.stream.fill(&image, 0, image.bytes(), 0)?;
        let [width, height, depth] = plan.shape;
        let planes = (EDGE_PART_BYTES / (width * height * size_of::<EdgePixel>())).clamp(1, depth);
        let mut part: Vec<EdgePixel> = zeroed(planes * width * height)?;
        for first in (0..depth).step_by(planes) {
            let planes = planes.min(depth - first);
            let part = &mut part[..planes * width * height];
            context.pool().install(|| {
                part.par_chunks_mut(width).enumerate().for_each(|(row, to)| {
                    let (row, index) = (row % height, [first + row / height, row % height]);
                    for (x, to) in to.iter_mut().enumerate() {
                        let edge = edges
                            .as_ref()
                            .map_or(NO_EDGE, |edges| edges.at_voxel((index[0] * height + row) * width + x));
                        let at = [index[0], index[1], x];
                        let intensity = match input {
                            Image::U8(view) => f32::from(view[at]),
                            Image::U16(view) => f32::from(view[at]),
                            Image::F32(view) => view[at],
                            Image::Device(_) => unreachable!("it is refused before it is loaded"),
                        };
                        to[..5].copy_from_slice(&[
                            intensity,
                            edge.stopping,
                            edge.slope[0],
                            edge.slope[1],
                            edge.slope[2],
                        ]);
                    }
                });
            });
            ticker.check()?;
            let view = view_of(part, [width, height, planes]);
            let pitch = self.layout.pitch * size_of::<EdgePixel>();
            let side = transfer::slice_side(&image, &self.layout, size_of::<EdgePixel>(), first);
            let to = DeviceRows { stream: &self.stream, side, pitch };
            self.cuda.transfer().upload_views(context.pool(), vec![(view, to)], &ticker)?;
            self.stream.synchronize()?;
        }
        (self.image, self.pixels, self.edge_contrast) =
            (image, PixelKind::WithEdges, edges.map(|edges| edges.contrast));
        Ok(())
    }

    /// Waits for the image, and returns its smallest and its largest finite pixel; both are 0 where there is none.
    pub(in crate::level_set) fn extremes(&self) -> Result<[f64; 2]> {
        self.stream.synchronize()?;
        let PixelKind::Plain(pixel_type) = self.pixels else { unreachable!("they are measured before the edges") };
        let range = self.cuda.range(Measure::Pixels, "the image", &pixels_of(&self.image, pixel_type, &self.layout))?;
        Ok(range.extremes(pixel_type).unwrap_or_default())
    }
}

/// Returns the pixels of an image in a layout.
pub(super) fn pixels_of<'a>(image: &'a Buffer, pixel_type: PixelType, layout: &Layout) -> DevicePixels<'a> {
    let (bytes, shape) = (pixel_type.bytes(), layout.shape);
    let row = layout.pitch * bytes;
    DevicePixels {
        pixel_type,
        address: image.address() + ((PADDING_BEFORE + LEAD) * bytes) as u64,
        shape,
        strides: [row, row * shape[1]],
        lifetime: PhantomData,
    }
}

/// Queues the copy of slices of the mask to the beginning of a buffer, as one byte per pixel, which is not 0 inside. A copy
/// from host memory is complete when this returns.
pub(super) fn put_mask(
    cuda: &Cuda,
    stream: &Stream,
    pool: &ThreadPool,
    mask: &Image<'_>,
    slices: Range<usize>,
    to: &Buffer,
) -> Result<()> {
    let part = s![slices.clone(), .., ..];
    match mask {
        Image::U16(view) => {
            let marks = marks(pool, view.slice(part), |pixel| pixel > 0)?;
            transfer::put_slices(cuda, pool, stream, &marks.view().into(), 0..slices.len(), to)
        }
        Image::F32(view) => {
            let marks = marks(pool, view.slice(part), |pixel| pixel > 0.0)?;
            transfer::put_slices(cuda, pool, stream, &marks.view().into(), 0..slices.len(), to)
        }
        Image::Device(pixels) if pixels.pixel_type != PixelType::U8 => {
            launch::marks(cuda, stream, &pixels.slices(&slices), to.address())
        }
        _ => transfer::put_slices(cuda, pool, stream, mask, slices, to),
    }
}

/// Returns 1 for each pixel that is inside, and 0 for the others.
fn marks<T: Pod + Send + Sync>(
    pool: &ThreadPool,
    view: ArrayView3<'_, T>,
    inside: impl Fn(T) -> bool + Sync + Send,
) -> Result<Array3<u8>> {
    let mut marks = zeroed_image(view.dim())?;
    pool.install(|| Zip::from(&mut marks).and(view).par_for_each(|mark, pixel| *mark = u8::from(inside(*pixel))));
    Ok(marks)
}
