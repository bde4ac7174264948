//! The launches of `kernels/edge_drawing.cu`, each with its geometry and arguments. The kernels' contract (layouts,
//! limits) is in the headers beside that file.
#![allow(unsafe_code)]

use super::super::prepare::Plan;
use super::super::{Operator, Point, Profile};
use crate::device::cuda::{Buffer, Cuda, DeviceSlices, Kernel, Stream, check_sides, geometry};
use crate::device::kernels::edge_drawing::{
    ED_GROUP, ED_HALO_X, ED_HALO_Y, ED_LANE_NARROW, ED_LANE_WIDE, ED_WARPS, MAPS_X, MAPS_Y, MASK_WORD_BITS, REST_LIST,
    REST_WARPS, SEGMENT_THREADS, SMOOTH_TAPS, SMOOTH_WARPS, SMOOTH_X, SMOOTH_Y, TILE_BLOCKS, WARP,
};
pub(super) use crate::device::kernels::edge_drawing::{
    isoline_ed_job as Job, isoline_ed_maps as MapTargets, isoline_ed_segments as SegmentArguments,
    isoline_ed_smoothing as Smoothing,
};
use crate::error::{Error, Result};
use crate::image::PixelType;

/// The module (kernel file) of this operation.
const MODULE: &str = "edge_drawing";

/// The pixels per thread of the kernels for segments, in small images. It is small because some threads have many links to
/// follow.
const PIXELS_PER_THREAD: usize = 4;

/// The largest side: columns and rows are indexed in 32 bits, with their halos.
const MAX_SIDE: usize = 1 << 30;

/// The rows of a tile with its halo, for narrow and for wide words: the larger number for slices that fill the device, the
/// smaller one for others.
const TILE_ROWS_NARROW: [usize; 2] = [48, 32];
const TILE_ROWS_WIDE: [usize; 2] = [64, 32];

/// The anchors of profile `reference` are at least this far from the border.
const REFERENCE_MARGIN: u32 = 2;

/// A threshold above every gradient, which leaves no edges; for narrow and for wide words. Its sum with a gradient still
/// fits the gradient's bits.
const ABOVE_ALL_NARROW: u32 = 1 << 13;
const ABOVE_ALL_WIDE: u32 = 1 << 22;

/// The alignment in bytes of rows of uploaded pixels: lanes load 8 or 16 bytes.
pub(super) const RAW_ALIGNMENT: usize = 16;

/// The sizes of one slice's buffers.
#[derive(Clone, Copy, Debug)]
pub(super) struct SliceLayout {
    pub(super) pixel_type: PixelType,
    pub(super) width: usize,
    pub(super) height: usize,
    /// The number of words from row to row of the bit maps.
    pub(super) bit_pitch: usize,
}

impl SliceLayout {
    pub(super) fn new(pixel_type: PixelType, width: usize, height: usize) -> Self {
        Self { pixel_type, width, height, bit_pitch: width.div_ceil(MASK_WORD_BITS) }
    }

    /// Returns the number of bytes of a word of the working map.
    pub(super) fn word_bytes(&self) -> usize {
        if self.pixel_type == PixelType::U8 { 2 } else { 4 }
    }

    /// Returns the width of a tile without its halo.
    fn tile_own_x(&self) -> usize {
        let lane = if self.word_bytes() == 2 { ED_LANE_NARROW } else { ED_LANE_WIDE };
        WARP * lane - 2 * ED_HALO_X
    }

    /// Returns the number of words from row to row of the working map.
    pub(super) fn map_pitch(&self) -> usize {
        self.bit_pitch * MASK_WORD_BITS
    }

    pub(super) fn map_bytes(&self) -> usize {
        self.map_pitch() * self.height * self.word_bytes()
    }

    pub(super) fn bit_bytes(&self) -> usize {
        self.bit_pitch * self.height * size_of::<u32>()
    }

    /// Returns the number of bytes from row to row of uploaded pixels.
    pub(super) fn raw_pitch(&self) -> usize {
        (self.width * self.pixel_type.bytes()).next_multiple_of(RAW_ALIGNMENT)
    }

    pub(super) fn raw_bytes(&self) -> usize {
        self.raw_pitch() * self.height
    }

    /// Returns the number of bytes from row to row of smoothed pixels, which are levels of the working image.
    pub(super) fn smoothed_pitch(&self) -> usize {
        (self.width * self.word_bytes() / 2).next_multiple_of(RAW_ALIGNMENT)
    }

    pub(super) fn smoothed_bytes(&self) -> usize {
        self.smoothed_pitch() * self.height
    }

    /// Returns the number of bytes from row to row of an edge map in a device buffer: groups of pixels are stored at once.
    pub(super) fn edge_pitch(&self) -> usize {
        self.width.next_multiple_of(ED_GROUP)
    }

    pub(super) fn edge_bytes(&self) -> usize {
        self.edge_pitch() * self.height
    }

    pub(super) fn next_bytes(&self) -> usize {
        self.width * self.height * size_of::<u32>()
    }

    /// Returns the number of words of a bit map.
    fn bit_words(&self) -> usize {
        self.bit_pitch * self.height
    }

    /// Returns the size of the numbers of links: four words for each of a bit map.
    pub(super) fn number_bytes(&self) -> usize {
        4 * self.bit_bytes()
    }
}

impl Job {
    /// Returns the arguments for a launch that finds anchors but does not link them.
    pub(super) fn anchors_only(self) -> Self {
        Self { link: 0, ..self }
    }

    /// Returns the arguments for a launch that keeps the gradients below the threshold, and those next to the border.
    pub(super) fn keeping_all(self) -> Self {
        Self { low: 0, margin: 0, ..self }
    }
}

impl MapTargets {
    pub(super) fn new(plan: &Plan) -> Self {
        let border = f64::from(plan.threshold - 1) * plan.unit;
        Self { unit: plan.unit, border, ..Self::default() }
    }
}

/// The kernels of a call.
pub(super) struct Launcher {
    layout: SliceLayout,
    tile: Kernel,
    /// The number of blocks of `tile` in x and y.
    tiles: [usize; 2],
    rest: Kernel,
    /// The kernel that smooths the pixels before `tile`, unless `tile` smooths them itself.
    smooth: Option<Kernel>,
    smoothing: Smoothing,
}

impl Launcher {
    /// Chooses the kernels for launches of up to `count` slices.
    pub(super) fn new(cuda: &Cuda, plan: &Plan, layout: SliceLayout, count: usize) -> Result<Self> {
        let SliceLayout { width, height, .. } = layout;
        check_sides([width, height, 1], MAX_SIDE)?;
        if plan.follow_turns && width * height > u32::MAX as usize {
            return Err(Error::unsupported(format!(
                "follow_turns on a CUDA device takes slices of at most {} pixels, but these have {width} x {height}; \
                 leave it off or use the device cpu",
                u32::MAX
            )));
        }
        let bits = 8 * layout.word_bytes();
        let tiles_of =
            |rows: usize| [layout.map_pitch().div_ceil(layout.tile_own_x()), height.div_ceil(rows - 2 * ED_HALO_Y)];
        let [many, few] = if bits == 16 { TILE_ROWS_NARROW } else { TILE_ROWS_WIDE };
        let smoothed = !plan.taps.are_default();
        let blocks = count * tiles_of(many).iter().product::<usize>();
        let fills = !smoothed && blocks > TILE_BLOCKS * cuda.multiprocessors() as usize;
        let rows = if fills { many } else { few };
        // The 8-bit kernel uses number types that are too small for Scharr's gradients, so Scharr has its own.
        let operator = if bits == 16 && plan.operator == Operator::Scharr { "_scharr" } else { "" };
        let pixels = layout.pixel_type.name();
        let (tile, smooth) = if smoothed {
            let (levels, smooth) =
                if layout.pixel_type == PixelType::F32 { ("u16", "levels") } else { (pixels, "smooth") };
            let smooth = cuda.kernel(MODULE, &format!("isoline_ed_{smooth}_{pixels}"))?;
            (format!("isoline_ed_tile_{levels}{operator}_smoothed"), Some(smooth))
        } else {
            (format!("isoline_ed_tile_{pixels}{operator}_{rows}"), None)
        };
        Ok(Self {
            layout,
            tile: cuda.kernel(MODULE, &tile)?,
            tiles: tiles_of(rows),
            rest: cuda.kernel(MODULE, &format!("isoline_ed_rest_{bits}"))?,
            smooth,
            smoothing: smoothing(plan),
        })
    }

    /// Sets the pixels of `count` slices. Unless `tile` smooths them, queues their smoothing into `smoothed`, which has
    /// [`SliceLayout::smoothed_bytes`] for each slice.
    pub(super) fn set_pixels(
        &self,
        stream: &Stream,
        job: &mut Job,
        (pixels, count): (DeviceSlices, usize),
        smoothed: Option<&Buffer>,
    ) -> Result<()> {
        job.pixels = pixels.address;
        [job.row_stride, job.slice_stride] = pixels.strides.map(|stride| stride as u64);
        if let (Some(kernel), Some(smoothed)) = (&self.smooth, smoothed) {
            let (address, pitch) = (smoothed.address(), self.layout.smoothed_pitch() as u64);
            self.smooth(stream, kernel, (job, count), [address, pitch])?;
            (job.pixels, job.row_stride) = (address, pitch);
            job.slice_stride = self.layout.smoothed_bytes() as u64;
        }
        Ok(())
    }

    /// Queues the smoothing of a slice's pixels into an image of the input's type; `output` is its address and pitch.
    pub(super) fn write_smoothed(&self, cuda: &Cuda, stream: &Stream, job: &Job, output: [u64; 2]) -> Result<()> {
        let kernel = cuda.kernel(MODULE, &format!("isoline_ed_smooth_{}", self.layout.pixel_type.name()))?;
        self.smooth(stream, &kernel, (job, 1), output)
    }

    fn smooth(
        &self,
        stream: &Stream,
        kernel: &Kernel,
        (job, count): (&Job, usize),
        [address, pitch]: [u64; 2],
    ) -> Result<()> {
        let smoothing = Smoothing { smoothed: address, smoothed_pitch: pitch, ..self.smoothing };
        let SliceLayout { width, height, .. } = self.layout;
        let config = geometry([width.div_ceil(SMOOTH_X), height.div_ceil(SMOOTH_Y), count], [WARP, SMOOTH_WARPS, 1]);
        // SAFETY: the kernel's arguments, in its order; the pixels are as `draw` demands, and the output's address and
        // pitch cover the layout's size in the kernel's type of output.
        unsafe { stream.launch(kernel, config, &[job, &smoothing]) }
    }

    /// Returns the arguments that all slices have in common, without addresses.
    pub(super) fn job(&self, plan: &Plan) -> Job {
        let layout = &self.layout;
        let above_all = if layout.word_bytes() == 2 { ABOVE_ALL_NARROW } else { ABOVE_ALL_WIDE };
        let threshold = plan.threshold.min(above_all);
        let anchor = plan.anchor.min(above_all - 1);
        let [side, centre] = plan.operator.weights();
        let reference = plan.profile == Profile::Reference;
        Job {
            map_pitch: layout.map_pitch() as u64,
            bit_pitch: layout.bit_pitch as u64,
            width: layout.width as u32,
            height: layout.height as u32,
            side,
            centre,
            // The reference profile compares anchors with gradients below the threshold, too. With A = 0 this makes no
            // difference.
            low: if reference && anchor > 0 { 0 } else { threshold },
            threshold,
            anchor,
            scan: plan.scan.min(MAX_SIDE) as u32,
            margin: if reference { REFERENCE_MARGIN } else { 0 },
            link: u32::from(!reference),
            follow_turns: u32::from(plan.follow_turns && !reference),
            half_minimum: plan.quantise.map_or(0.0, |q| q.half_minimum),
            double_scale: plan.quantise.map_or(0.0, |q| q.double_scale),
            ..Job::default()
        }
    }

    /// Queues the kernels for `count` slices, at most 65535. With linking they write the edge map, without linking the
    /// working map.
    ///
    /// The job's addresses must be of device memory that lives until the stream is done. It holds `count` slices of the
    /// layout; pixels and edges have their own strides.
    pub(super) fn draw(&self, stream: &Stream, job: &Job, count: usize) -> Result<()> {
        self.tile(stream, job, count)?;
        if job.link == 0 {
            return Ok(());
        }
        let words = self.layout.bit_pitch * self.layout.height;
        let blocks = words.div_ceil(REST_WARPS * REST_LIST / MASK_WORD_BITS);
        let config = geometry([blocks, 1, count], [WARP, REST_WARPS, 1]);
        // SAFETY: the kernel's one argument, whose addresses are as above; it begins by waiting for the launch ahead.
        unsafe { stream.launch_early(&self.rest, config, &[job]) }
    }

    /// Queues the kernel `tile` alone.
    pub(super) fn tile(&self, stream: &Stream, job: &Job, count: usize) -> Result<()> {
        let config = geometry([self.tiles[0], self.tiles[1], count], [WARP, ED_WARPS, 1]);
        // SAFETY: the kernel's one argument, whose addresses are as `draw` demands.
        unsafe { stream.launch(&self.tile, config, &[job]) }
    }
}

// SAFETY: two numbers in the layout of C, which the kernels write: all bits are a point, and there is no padding.
unsafe impl bytemuck::Zeroable for Point {}
// SAFETY: as above.
unsafe impl bytemuck::Pod for Point {}

/// The kernels for segments, and the number of their blocks, all of which must be resident at the same time.
pub(super) struct SegmentKernels {
    thin: Kernel,
    chain: Kernel,
    blocks: usize,
}

impl SegmentKernels {
    pub(super) fn new(cuda: &Cuda, layout: &SliceLayout) -> Result<Self> {
        if u32::try_from(layout.bit_words()).is_err() {
            return Err(Error::unsupported(format!(
                "segments on a CUDA device need slices of fewer than 2^37 pixels, but these have {} x {}; use the device cpu",
                layout.width, layout.height
            )));
        }
        let [thin, chain] = ["isoline_ed_thin", "isoline_ed_chain"].map(|name| cuda.kernel(MODULE, name));
        let (thin, chain) = (thin?, chain?);
        let resident = [&thin, &chain]
            .map(|kernel| kernel.resident_blocks(cuda, SEGMENT_THREADS, 0).map(|blocks| blocks as usize));
        let [thin_blocks, chain_blocks] = resident;
        let blocks = layout.map_pitch() * layout.height / PIXELS_PER_THREAD / SEGMENT_THREADS;
        let blocks = blocks.min(thin_blocks?).min(chain_blocks?).max(1);
        Ok(Self { thin, chain, blocks })
    }

    /// Returns the size of the sums of all blocks.
    pub(super) fn sum_bytes(&self) -> usize {
        self.blocks * size_of::<u64>()
    }

    /// Queues the thinning of a slice's edge map and the numbering of its links. `arguments` has the addresses of
    /// `thinned` and `pruned` (of [`SliceLayout::bit_bytes`] each), `numbers`, `sums`, `votes` and `link_count`.
    pub(super) fn thin(&self, stream: &Stream, job: &Job, arguments: &SegmentArguments) -> Result<()> {
        self.launch(&self.thin, stream, job, arguments)
    }

    /// Queues the chaining of a slice after [`thin`](Self::thin). `arguments` has all addresses. `links` has memory for the
    /// states of all links; `gradients`, `points` and the arrays of properties have memory for as many segments as that
    /// number of links can form.
    pub(super) fn chain(&self, stream: &Stream, job: &Job, arguments: &SegmentArguments) -> Result<()> {
        self.launch(&self.chain, stream, job, arguments)
    }

    fn launch(&self, kernel: &Kernel, stream: &Stream, job: &Job, arguments: &SegmentArguments) -> Result<()> {
        let config = geometry([self.blocks, 1, 1], [SEGMENT_THREADS, 1, 1]);
        // SAFETY: the kernel's arguments, in its order, whose addresses are as above; the blocks fit the device together.
        unsafe { stream.launch_cooperative(kernel, config, &[job, arguments]) }
    }
}

/// Returns the arguments of the smoothing kernel, without its output.
fn smoothing(plan: &Plan) -> Smoothing {
    let mut taps = [0; SMOOTH_TAPS];
    let one_side = plan.taps.one_side();
    taps[..one_side.len()].copy_from_slice(one_side);
    let radius = plan.taps.radius() as u32;
    Smoothing { unit: plan.unit, origin: plan.origin, radius, taps, ..Smoothing::default() }
}

/// Queues the writing of intermediate maps from the working map; the targets' addresses and pitches cover the layout's size.
pub(super) fn write_maps(
    cuda: &Cuda,
    stream: &Stream,
    layout: &SliceLayout,
    job: &Job,
    targets: &MapTargets,
) -> Result<()> {
    let kernel = cuda.kernel(MODULE, &format!("isoline_ed_maps_{}", 8 * layout.word_bytes()))?;
    let config = geometry([layout.width.div_ceil(MAPS_X), layout.height.div_ceil(MAPS_Y), 1], [MAPS_X, MAPS_Y, 1]);
    // SAFETY: the kernel's arguments, in its order; the addresses are as `Launcher::draw` demands, the targets as above.
    unsafe { stream.launch(&kernel, config, &[job, targets]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_aligned() {
        let layout = SliceLayout::new(PixelType::U8, 33, 5);
        assert_eq!((layout.bit_pitch, layout.map_pitch(), layout.raw_pitch(), layout.edge_pitch()), (2, 64, 48, 40));
        assert_eq!((layout.map_bytes(), layout.bit_bytes()), (64 * 5 * 2, 2 * 5 * 4));
        assert_eq!(SliceLayout::new(PixelType::F32, 33, 5).raw_pitch(), 144);
        let smoothed = |pixel_type| SliceLayout::new(pixel_type, 33, 5).smoothed_pitch();
        assert_eq!([PixelType::U8, PixelType::U16, PixelType::F32].map(smoothed), [48, 80, 80]);
    }
}
