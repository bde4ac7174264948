//! The isosurface on CUDA, bit for bit as on the CPU. Everything is computed on the device, except that the host adds up
//! the partial sums of the measures.
//!
//! The voxels are needed three times: for the classes of voxels, for the decisions about ambiguous faces, and for the
//! positions of vertices. If they do not fit beside the mesh, the volume is uploaded in slabs each time. The bit masks and
//! their prefix sums, 1.5 bytes per voxel, and the mesh must fit; if not, the call is out of memory.
#![allow(unsafe_code)]

use super::cells::Table;
use super::cpu::check_count;
use super::measure::Sums;
use super::{Plan, STAGE, Surface};
use crate::device::Context;
use crate::device::cuda::{
    Buffer, Cuda, Pinned, Pipeline, ShortQueue, Side, Stream, Upload, check_device_pixels, check_sides, geometry,
};
use crate::device::kernels::isosurface::{
    IS_BLOCK, IS_LINES, IS_THREADS, IS_TILE, WARP, isoline_is_job as Job, isoline_is_list as List,
};
use crate::error::{Error, Result, human_bytes};
use crate::image::{Foreground, Image};
use crate::memory::zeroed;
use crate::progress::{Progress, may_cancel, run as run_with_progress};
use crate::report::Report;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// The module (kernel file) of this operation.
const MODULE: &str = "isosurface";

/// The largest side of a volume, whose coordinates have 32 bits.
const MOST_SIDE: usize = i32::MAX as usize;

/// The number of words, triangles or vertices per launch: so few that two launches take less than 100 ms on a small card,
/// even if all 32 voxels of each word have vertices.
const PER_LAUNCH: usize = 1 << 19;

/// The parts of the work, for the progress.
const STEPS: f64 = 12.0;

const WORD_BYTES: usize = size_of::<u32>();
const POINT_BYTES: usize = size_of::<[f32; 3]>();
const TRIANGLE_BYTES: usize = size_of::<[u32; 3]>();
/// The bytes of each cell: the number of its variant, its first triangle, and the place of its bit.
const CELL_BYTES: [usize; 3] = [size_of::<u16>(), WORD_BYTES, size_of::<u64>()];
const SUMS_BYTES: usize = size_of::<[f64; 4]>();

/// The indices of the counts that the host reads: the total of a list, and the number of pieces.
const TOTAL: usize = 0;
const PIECES: usize = 1;
const COUNTS_BYTES: usize = 2 * size_of::<u64>();

/// The volume with the border that closes it.
#[derive(Clone, Copy)]
struct Grid {
    size: [usize; 3],
    border: usize,
    /// The words of a row of bits.
    pitch: usize,
}

impl Grid {
    fn new(plan: &Plan, shape: [usize; 3]) -> Self {
        let border = usize::from(plan.close);
        let size = shape.map(|side| side + 2 * border);
        Self { size, border, pitch: size[0].div_ceil(WARP) }
    }

    /// Returns the words of a plane of bits of the whole volume.
    fn words(&self) -> usize {
        self.pitch * self.size[1] * self.size[2]
    }

    /// Returns the device memory of all words, in bytes: the masks of high voxels, finite voxels, cells and vertices, and
    /// the prefix sums of cells and vertices.
    fn bytes(&self) -> u64 {
        ((4 + 2 * IS_LINES) * self.words() * WORD_BYTES) as u64
    }

    /// Returns the words of a range of slices of the image, with the border's words beside the first and the last slice.
    fn words_of(&self, slices: &Range<usize>) -> Range<usize> {
        let (plane, depth) = (self.pitch * self.size[1], self.size[2] - 2 * self.border);
        let start = if slices.start == 0 { 0 } else { slices.start + self.border };
        let end = if slices.end == depth { self.size[2] } else { slices.end + self.border };
        start * plane..end * plane
    }
}

/// Returns the least device memory with which the call can run, in bytes. The mesh comes on top, once its size is known.
pub(super) fn min_device_bytes(plan: &Plan, input: &Image<'_>) -> u64 {
    Grid::new(plan, input.shape()).bytes() + (slices_of_slab(input, 1) * slice_bytes(input)) as u64
}

/// Returns the slices that are uploaded for a slab: its own, and the one after it.
fn slices_of_slab(input: &Image<'_>, slices: usize) -> usize {
    input.shape()[2].min(slices + 1)
}

/// Returns the bytes of a slice that are uploaded.
fn slice_bytes(input: &Image<'_>) -> usize {
    let [width, height, _] = input.shape();
    if matches!(input, Image::Device(_)) { 0 } else { width * height * input.pixel_type().bytes() }
}

/// Computes the surface; see [`super::run`].
pub(super) fn run(
    context: &Context,
    cuda: &Arc<Cuda>,
    plan: &Plan,
    input: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
) -> Result<(Report, Surface)> {
    check_sides(input.shape(), MOST_SIDE)?;
    let mut pipeline = Pipeline::new(context, cuda, STAGE, 1, progress)?;
    if let Image::Device(pixels) = input {
        check_device_pixels(cuda, "the input", pixels)?;
    }
    let started = Instant::now();
    let mut finder = Finder::new(context, cuda, plan, input.reborrow())?;
    let [vertices, triangles] = finder.count(&mut pipeline)?;
    let found = finder.mesh(&mut pipeline, vertices as usize, triangles as usize)?;
    drop(finder);
    let report = &mut pipeline.report;
    report.seconds_compute = started.elapsed().as_secs_f64() - report.seconds_upload - report.seconds_download;
    report.slices_done = input.shape()[2] as u64;
    // The last call of the callback: a cancellation, however late, leaves the result untouched.
    pipeline.ticker.report(pipeline.progress)?;
    Ok((pipeline.end(cuda), found))
}

/// The voxels in device memory: all of the volume, or one slab.
struct Voxels {
    upload: Upload,
    /// The slices of a slab.
    together: usize,
    /// Is true if the whole volume is in device memory.
    complete: bool,
}

/// A call in progress.
struct Finder<'a> {
    context: &'a Context,
    cuda: &'a Arc<Cuda>,
    plan: &'a Plan,
    input: Image<'a>,
    grid: Grid,
    /// The device memory that the call may take, in bytes.
    budget: u64,
    /// The stream comes before the memory, because dropping it waits for its work.
    stream: Stream,
    /// Keeps the queue short if the call can be cancelled.
    queue: ShortQueue,
    /// The parts of the work that are done.
    steps: f64,
    job: Job,
    /// The number of cells that the surface passes.
    cells: usize,
    voxels: Option<Voxels>,
    tile_sums: Buffer,
    /// The numbers that the host reads.
    counts: Buffer,
    /// One of them, on the host.
    read: Pinned,
    /// The memory to which the job points.
    buffers: Vec<Buffer>,
}

impl<'a> Finder<'a> {
    fn new(context: &'a Context, cuda: &'a Arc<Cuda>, plan: &'a Plan, input: Image<'a>) -> Result<Self> {
        let grid = Grid::new(plan, input.shape());
        let memory = cuda.memory();
        let mut finder = Self {
            context,
            cuda,
            plan,
            input,
            grid,
            budget: cuda.budget()?,
            stream: cuda.stream()?,
            queue: ShortQueue::new(cuda)?,
            steps: 0.0,
            job: Job::default(),
            cells: 0,
            voxels: None,
            tile_sums: memory.device((IS_LINES * grid.words()).div_ceil(IS_TILE) * size_of::<u64>())?,
            counts: memory.device(COUNTS_BYTES)?,
            read: memory.pinned(size_of::<u64>())?,
            buffers: Vec::new(),
        };
        finder.stream.fill(&finder.counts, 0, COUNTS_BYTES, 0)?;
        let table = Table::get().words()?;
        let plane = grid.words() * WORD_BYTES;
        let [high, finite, cells, cells_before, words, before, on_device] = finder.allocate([
            plane,
            plane,
            plane,
            plane,
            IS_LINES * plane,
            IS_LINES * plane,
            size_of_val(&table[..]),
        ])?;
        finder.stream.copy_bytes(Side::of(&table), finder.buffers[6].side(0), size_of_val(&table[..]))?;
        // The table is freed when this returns.
        finder.stream.synchronize()?;
        let [width, height, depth] = grid.size.map(|side| side as u32);
        finder.job = Job {
            table: on_device,
            high,
            finite,
            cells,
            // The masks of finite voxels and of cells are overwritten by the lists that are made from them.
            active: finite,
            triangles_before: cells,
            cells_before,
            words,
            before,
            level: plan.level,
            spacing: plan.spacing,
            width,
            height,
            depth,
            pitch: grid.pitch as u32,
            border: grid.border as u32,
            below: u32::from(plan.foreground == Foreground::Below),
            pieces: finder.counts.address() + (PIECES * size_of::<u64>()) as u64,
            pixel_bytes: input.pixel_type().bytes() as u32,
            ..Job::default()
        };
        Ok(finder)
    }

    /// Allocates device memory for the rest of the call; returns the addresses.
    fn allocate<const N: usize>(&mut self, bytes: [usize; N]) -> Result<[u64; N]> {
        let mut addresses = [0; N];
        for (address, bytes) in addresses.iter_mut().zip(bytes) {
            let buffer = self.cuda.memory().device(bytes)?;
            *address = buffer.address();
            self.buffers.push(buffer);
        }
        Ok(addresses)
    }

    /// Returns an error if `bytes` of device memory in all exceed the call's budget.
    fn require(&self, bytes: u64) -> Result<()> {
        if bytes <= self.budget || self.context.cuda_for(bytes)?.is_some() {
            return Ok(());
        }
        Err(Error::memory(format!(
            "cannot compute the isosurface on {}: volume and mesh need too much of its memory (got {}); use the device cpu",
            self.context.device().id,
            human_bytes(bytes)
        )))
    }

    /// Queues a kernel on a range of its items, `per_block` in a block, launch by launch.
    fn queue(
        &mut self,
        pipeline: &mut Pipeline<'_, '_, '_>,
        name: &str,
        items: Range<usize>,
        per_block: usize,
    ) -> Result<()> {
        let kernel = self.cuda.kernel(MODULE, &format!("isoline_is_{name}"))?;
        let count = items.len();
        for first in items.clone().step_by(PER_LAUNCH) {
            let own = PER_LAUNCH.min(items.end - first);
            let blocks = geometry([own.div_ceil(per_block), 1, 1], [IS_THREADS, 1, 1]);
            // SAFETY: the kernel's arguments, in its order; the buffers that it takes have the sizes that kernels/isosurface.h
            // demands of a volume of this size and a mesh of these counts, and live until the stream is done.
            unsafe { self.stream.launch(&kernel, blocks, &[&self.job, &(first as u64), &(own as u64)]) }?;
            if may_cancel(pipeline.progress) {
                self.queue.follow(&self.stream)?;
                let done = (first - items.start) as f64 / count as f64;
                pipeline.poll(0, (self.steps + done) / STEPS)?;
            }
        }
        Ok(())
    }

    /// Queues a kernel that reads voxels, slab by slab, on all words; each plane has `lines` words for it. The call holds
    /// `others` bytes of device memory beside the voxels.
    fn queue_on_voxels(
        &mut self,
        pipeline: &mut Pipeline<'_, '_, '_>,
        name: &str,
        (lines, per_block): (usize, usize),
        others: u64,
    ) -> Result<()> {
        self.fit(others)?;
        let Some(Voxels { together, .. }) = self.voxels else { unreachable!("fit makes them") };
        let depth = self.input.shape()[2];
        for first in (0..depth).step_by(together) {
            let slices = first..depth.min(first + together);
            self.upload(pipeline, &slices)?;
            let words = self.grid.words_of(&slices);
            self.queue(pipeline, name, lines * words.start..lines * words.end, per_block)?;
        }
        pipeline.report.part_count = pipeline.report.part_count.max(depth.div_ceil(together) as u64);
        self.steps += 1.0;
        Ok(())
    }

    /// Shrinks the memory of the voxels, to smaller slabs if need be, until it fits beside `others` bytes.
    fn fit(&mut self, others: u64) -> Result<()> {
        let (depth, slice) = (self.input.shape()[2], slice_bytes(&self.input) as u64);
        self.require(others + slice * slices_of_slab(&self.input, 1) as u64)?;
        let room = self.budget.saturating_sub(others);
        let fitting = usize::try_from(room / slice.max(1)).unwrap_or(usize::MAX);
        let together = if fitting >= depth { depth } else { fitting.saturating_sub(1).max(1) };
        if self.voxels.as_ref().is_none_or(|voxels| voxels.together > together) {
            self.free_voxels(true)?;
            let upload = Upload::new(self.cuda, &self.input, slices_of_slab(&self.input, together), 1)?;
            self.voxels = Some(Voxels { upload, together, complete: false });
        }
        Ok(())
    }

    /// Frees the voxels' memory once no kernel reads it. If memory `is_short`, it must not be kept for reuse by lists of
    /// other sizes.
    fn free_voxels(&mut self, is_short: bool) -> Result<()> {
        if self.voxels.is_some() {
            self.stream.synchronize()?;
            self.voxels = None;
            if is_short {
                self.cuda.memory().trim();
            }
        }
        Ok(())
    }

    /// Queues the upload of the slices of a slab and the one after them, unless they are there.
    fn upload(&mut self, pipeline: &mut Pipeline<'_, '_, '_>, slices: &Range<usize>) -> Result<()> {
        let started = Instant::now();
        let (depth, stream, cuda, pool) = (self.input.shape()[2], &self.stream, self.cuda, self.context.pool());
        let Some(Voxels { upload, together, complete }) = &mut self.voxels else { unreachable!("fit makes them") };
        let reads = slices.start..depth.min(slices.end + 1);
        let pixels = upload.slices(&self.input, &reads);
        if !*complete {
            let (input, upload) = (&self.input, &*upload);
            run_with_progress(pool, pipeline.progress, &pipeline.ticker, || {
                // The thread may have worked for another device.
                cuda.bind()?;
                Upload::queue(pool, input, [(reads.clone(), stream, upload)].into_iter(), &pipeline.ticker)
            })?;
            *complete = *together >= depth;
        }
        self.job.pixels = pixels.address;
        [self.job.row_stride, self.job.slice_stride] = pixels.strides.map(|bytes| bytes as u64);
        self.job.first_slice = reads.start as u32;
        pipeline.report.seconds_upload += started.elapsed().as_secs_f64();
        Ok(())
    }

    /// Writes the exclusive prefix sums of the `count` numbers at `values`, or of the bit counts of the words there, to
    /// `before`. Waits, and returns the total.
    fn number(&mut self, values: u64, before: u64, count: usize, of_bits: bool) -> Result<u64> {
        let list = List {
            values,
            before,
            sums: self.tile_sums.address(),
            total: self.counts.address() + (TOTAL * size_of::<u64>()) as u64,
            count: count as u64,
            of_bits: u64::from(of_bits),
        };
        let kernel = |name: &str| self.cuda.kernel(MODULE, &format!("isoline_is_{name}"));
        let tiles = count.div_ceil(IS_TILE);
        let (one, all) = (geometry([1, 1, 1], [IS_THREADS, 1, 1]), geometry([tiles, 1, 1], [IS_THREADS, 1, 1]));
        // SAFETY: the kernels' arguments, in their order; both lists have `count` numbers, and the sums room for each tile of
        // the longest list. They live until the stream is done.
        unsafe {
            self.stream.launch(&kernel("tiles")?, all, &[&list])?;
            self.stream.launch(&kernel("sums_before")?, one, &[&list, &(tiles as u32)])?;
            self.stream.launch(&kernel("places")?, all, &[&list])?;
        }
        self.read_count(TOTAL)
    }

    /// Waits, and returns one of the counts.
    fn read_count(&mut self, count: usize) -> Result<u64> {
        let side = self.counts.side(count * size_of::<u64>());
        self.stream.copy_bytes(side, self.read.side(), size_of::<u64>())?;
        self.stream.synchronize()?;
        Ok(bytemuck::cast_slice(&self.read.as_slice()[..size_of::<u64>()])[0])
    }

    /// Finds the cells that the surface passes and numbers the vertices and triangles. Returns how many there are.
    fn count(&mut self, pipeline: &mut Pipeline<'_, '_, '_>) -> Result<[u64; 2]> {
        let (words, level) = (self.grid.words(), self.plan.level);
        let bytes = self.grid.bytes();
        self.queue_on_voxels(pipeline, "classes", (1, IS_THREADS / WARP), bytes)?;
        self.whole(pipeline, "cells", words)?;
        self.whole(pipeline, "marks", words)?;
        self.cells = self.number(self.job.active, self.job.cells_before, words, true)? as usize;
        // Each cell has at least one triangle.
        check_count(3 * self.cells as u64, level)?;
        let cell_bytes = CELL_BYTES.map(|bytes| self.cells * bytes);
        let bytes = bytes + cell_bytes.iter().sum::<usize>() as u64;
        self.fit(bytes)?;
        [self.job.variants, self.job.firsts, self.job.places] = self.allocate(cell_bytes)?;
        // Words without cells keep the 0 of this fill.
        self.stream.fill(&self.buffers[2], 0, words * WORD_BYTES, 0)?;
        self.queue_on_voxels(pipeline, "variants", (1, IS_THREADS), bytes)?;
        let vertices = self.number(self.job.words, self.job.before, IS_LINES * words, true)?;
        let triangles = self.number(self.job.triangles_before, self.job.triangles_before, words, false)?;
        check_count(vertices, level)?;
        check_count(3 * triangles, level)?;
        Ok([vertices, triangles])
    }

    /// Queues a kernel on the items 0 to `count`, as one part of the work for the progress.
    fn whole(&mut self, pipeline: &mut Pipeline<'_, '_, '_>, name: &str, count: usize) -> Result<()> {
        self.queue(pipeline, name, 0..count, IS_THREADS)?;
        self.steps += 1.0;
        Ok(())
    }

    /// Makes the mesh and measures it.
    fn mesh(&mut self, pipeline: &mut Pipeline<'_, '_, '_>, vertices: usize, triangles: usize) -> Result<Surface> {
        let level = self.plan.level;
        if triangles == 0 {
            return Ok(Surface { measures: Sums::default().measures(level, 0, 0, 0), ..Surface::new() });
        }
        // 1. Compute the positions, the last step that needs the voxels.
        let held = self.held();
        let blocks = triangles.div_ceil(IS_BLOCK);
        let points = [vertices * POINT_BYTES, vertices * POINT_BYTES, vertices * WORD_BYTES];
        let others = [triangles * TRIANGLE_BYTES, triangles * TRIANGLE_BYTES, blocks * SUMS_BYTES];
        let sum = |bytes: &[usize]| bytes.iter().sum::<usize>() as u64;
        self.require(held + sum(&points) + sum(&others))?;
        self.fit(held + sum(&points))?;
        let first = self.buffers.len();
        [self.job.vertices, self.job.normals, self.job.parents] = self.allocate(points)?;
        self.queue_on_voxels(pipeline, "vertices", (IS_LINES, IS_THREADS), held + sum(&points))?;
        self.free_voxels(self.voxels.as_ref().is_some_and(|voxels| !voxels.complete))?;
        // 2. The rest of the mesh, and its measures.
        [self.job.triangles, self.job.sides, self.job.sums] = self.allocate(others)?;
        self.whole(pipeline, "triangles", self.cells)?;
        self.whole(pipeline, "normals", vertices)?;
        self.whole(pipeline, "sides", self.cells)?;
        self.whole(pipeline, "measures", triangles)?;
        self.whole(pipeline, "join", triangles)?;
        self.whole(pipeline, "roots", vertices)?;
        let pieces = self.read_count(PIECES)?;
        // 3. Download it.
        let started = Instant::now();
        let mut found = Surface { vertices: zeroed(vertices)?, normals: zeroed(vertices)?, ..Surface::new() };
        found.triangles = zeroed(triangles)?;
        let mut sums: Vec<[f64; 4]> = zeroed(blocks)?;
        let (cuda, stream, pool, ticker) = (self.cuda, &self.stream, self.context.pool(), &pipeline.ticker);
        let side = |buffer: usize| self.buffers[first + buffer].side(0);
        let sides = [side(0), side(1), side(3), side(5)];
        run_with_progress(pool, pipeline.progress, ticker, || {
            // The thread may have worked for another device.
            cuda.bind()?;
            let transfer = cuda.transfer();
            transfer.download_list(pool, stream, sides[0], &mut found.vertices, ticker)?;
            transfer.download_list(pool, stream, sides[1], &mut found.normals, ticker)?;
            transfer.download_list(pool, stream, sides[2], &mut found.triangles, ticker)?;
            transfer.download_list(pool, stream, sides[3], &mut sums, ticker)?;
            stream.synchronize()
        })?;
        pipeline.report.seconds_download += started.elapsed().as_secs_f64();
        let add = |all: Sums, [area, volume, curvature, borders]: &[f64; 4]| {
            all.plus(Sums { area: *area, volume: *volume, curvature: *curvature, borders: *borders as u64 })
        };
        found.measures = sums.iter().fold(Sums::default(), add).measures(level, vertices, triangles, pieces);
        Ok(found)
    }

    /// Returns the device memory that is held for the rest of the call, in bytes.
    fn held(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.bytes() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_cover_the_words_of_a_volume() {
        for (close, together) in [(true, 1), (true, 4), (true, 10), (false, 3), (false, 10)] {
            let plan = Plan { level: 0.0, foreground: Foreground::Above, close, spacing: [1.0; 3] };
            let grid = Grid::new(&plan, [31, 5, 10]);
            let mut next = 0;
            for first in (0..10).step_by(together) {
                let words = grid.words_of(&(first..10.min(first + together)));
                assert_eq!(words.start, next);
                next = words.end;
            }
            assert_eq!(next, grid.words());
            assert_eq!(next, if close { 2 * 7 * 12 } else { 5 * 10 });
        }
    }
}
