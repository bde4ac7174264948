//! Segments of the paper profile on the device. Each slot has the thinned map of its slice and the numbers of its links.
//! The segments are made slice after slice and appended to arrays on the device, which are copied to the host when they are
//! full.

use super::launch::{Job, SegmentArguments, SegmentKernels, SliceLayout};
use crate::device::Context;
use crate::device::cuda::{Buffer, Cuda, Event, Pinned, Side, Stream};
use crate::device::kernels::edge_drawing::SEGMENT_VOTES;
use crate::edge_drawing::Segments;
use crate::error::{Error, Result};
use crate::memory::zeroed;
use crate::progress::Ticker;
use bytemuck::Pod;
use std::sync::Arc;

/// The arrays take at most the memory budget divided by this number, unless one slice needs more.
const ARRAYS_SHARE: u64 = 8;

/// A slice must have fewer links than this, because they are numbered with 31 bits.
const MAX_LINKS: u64 = 1 << 31;

/// The size of a 64-bit number in bytes, and the offset of the number of links in [`SliceMemory::small`].
const NUMBER: usize = size_of::<u64>();
const LINK_COUNT_AT: usize = (SEGMENT_VOTES * size_of::<u32>()).next_multiple_of(NUMBER);

/// The memory of one slice in flight.
pub(super) struct SliceMemory {
    thinned: Buffer,
    pruned: Buffer,
    numbers: Buffer,
    sums: Buffer,
    /// The words of the grid barriers, and the number of links.
    small: Buffer,
    link_count: Pinned,
    /// Recorded when the segments of the slice are made.
    done: Event,
}

impl SliceMemory {
    /// Makes `stream` wait until the segments of the slice that had this memory before are made.
    pub(super) fn wait(&self, stream: &Stream) -> Result<()> {
        stream.wait(&self.done)
    }
}

/// Numbers of segments and points.
#[derive(Clone, Copy)]
struct Size {
    segments: usize,
    points: usize,
}

impl Size {
    /// Returns the bytes of the arrays.
    fn bytes(self) -> u64 {
        (self.points * 8 + self.segments * 20) as u64
    }
}

/// The segments of some slices on the device.
struct Arrays {
    points: Buffer,
    offsets: Buffer,
    flags: Buffer,
    slices: Buffer,
    mean_gradients: Buffer,
    /// The numbers of segments and of points, and their copy on the host.
    totals: Buffer,
    totals_back: Pinned,
    /// The size of the allocated memory, and an upper bound of the size that the slices so far have used.
    capacity: Size,
    used: Size,
    /// The events before and after the work on each slice.
    times: Vec<[Event; 2]>,
}

/// The segments of one call.
pub(super) struct SegmentFinder<'a> {
    context: &'a Context,
    cuda: &'a Arc<Cuda>,
    stream: Stream,
    kernels: SegmentKernels,
    layout: SliceLayout,
    /// The arguments that all slices have in common.
    arguments: SegmentArguments,
    /// The links of the current slice, their states, the states of loops, and the sums of gradients.
    links: Option<Buffer>,
    states: Option<Buffer>,
    loops: Option<Buffer>,
    gradients: Option<Buffer>,
    arrays: Option<Arrays>,
    found: Segments,
    /// The seconds that the device has taken for the segments, and the seconds of their download.
    pub(super) seconds: [f64; 2],
}

impl<'a> SegmentFinder<'a> {
    /// Returns the device memory of one slice in flight.
    pub(super) fn slice_bytes(layout: &SliceLayout) -> usize {
        2 * layout.bit_bytes() + layout.number_bytes()
    }

    pub(super) fn new(
        context: &'a Context,
        cuda: &'a Arc<Cuda>,
        layout: SliceLayout,
        unit: f64,
        min_length: usize,
    ) -> Result<Self> {
        let min_length = u32::try_from(min_length).unwrap_or(u32::MAX);
        let wide = u32::from(layout.word_bytes() == size_of::<u32>());
        Ok(Self {
            context,
            cuda,
            stream: cuda.stream()?,
            kernels: SegmentKernels::new(cuda, &layout)?,
            layout,
            arguments: SegmentArguments { unit, min_length, wide, ..SegmentArguments::default() },
            links: None,
            states: None,
            loops: None,
            gradients: None,
            arrays: None,
            found: Segments::default(),
            seconds: [0.0; 2],
        })
    }

    pub(super) fn slice_memory(&self) -> Result<SliceMemory> {
        let memory = self.cuda.memory();
        Ok(SliceMemory {
            thinned: memory.device(self.layout.bit_bytes())?,
            pruned: memory.device(self.layout.bit_bytes())?,
            numbers: memory.device(self.layout.number_bytes())?,
            sums: memory.device(self.kernels.sum_bytes())?,
            small: memory.device(LINK_COUNT_AT + NUMBER)?,
            link_count: memory.pinned(NUMBER)?,
            done: self.cuda.event()?,
        })
    }

    fn arguments_of(&self, slice: &SliceMemory) -> SegmentArguments {
        SegmentArguments {
            thinned: slice.thinned.address(),
            pruned: slice.pruned.address(),
            numbers: slice.numbers.address(),
            sums: slice.sums.address(),
            votes: slice.small.address(),
            link_count: slice.small.address() + LINK_COUNT_AT as u64,
            ..self.arguments
        }
    }

    /// Queues the thinning of the edge map whose kernels are queued on `stream`, and the download of its number of links.
    pub(super) fn thin(&self, stream: &Stream, job: &Job, slice: &SliceMemory) -> Result<()> {
        self.kernels.thin(stream, job, &self.arguments_of(slice))?;
        stream.copy_bytes(slice.small.side(LINK_COUNT_AT), slice.link_count.side(), NUMBER)
    }

    /// Queues the extraction of the segments of slice `number`. Its number of links must have been downloaded. `remaining`
    /// is the number of slices from this one on.
    pub(super) fn find(&mut self, job: &Job, slice: &SliceMemory, number: usize, remaining: usize) -> Result<()> {
        // 1. Allocate memory for as many segments and points as this number of links can form.
        let [links] = numbers_of(&slice.link_count);
        if links >= MAX_LINKS {
            return Err(Error::unsupported(format!(
                "cannot find segments on a CUDA device: the edge pixels of slice {number} must have fewer than {MAX_LINKS} \
                 links (got {links}); raise gradient_threshold or use the device cpu"
            )));
        }
        let links = links as usize;
        let most = most_segments(links, self.arguments.min_length as usize);
        self.reserve(most, remaining)?;
        let common = self.arguments_of(slice);
        let Some(arrays) = &mut self.arrays else { unreachable!("they were just reserved") };
        let states = grown(self.cuda, &self.stream, &mut self.states, links * NUMBER)?;
        let loops = grown(self.cuda, &self.stream, &mut self.loops, links * size_of::<u32>())?;
        let links = grown(self.cuda, &self.stream, &mut self.links, links * NUMBER)?;
        let gradients = grown(self.cuda, &self.stream, &mut self.gradients, most.segments * NUMBER)?;
        // 2. Make the segments, after those of the slice before.
        let arguments = SegmentArguments {
            links,
            states,
            loops,
            gradients,
            points: arrays.points.address(),
            offsets: arrays.offsets.address(),
            flags: arrays.flags.address(),
            slices: arrays.slices.address(),
            mean_gradients: arrays.mean_gradients.address(),
            totals: arrays.totals.address(),
            slice: number as u32,
            ..common
        };
        let times = [self.cuda.event()?, self.cuda.event()?];
        self.stream.record(&times[0])?;
        self.kernels.chain(&self.stream, job, &arguments)?;
        self.stream.record(&times[1])?;
        self.stream.record(&slice.done)?;
        arrays.times.push(times);
        arrays.used = Size { segments: arrays.used.segments + most.segments, points: arrays.used.points + most.points };
        Ok(())
    }

    /// Makes room for the segments of one slice or, as far as the memory budget allows, of `remaining` slices of this size.
    fn reserve(&mut self, most: Size, remaining: usize) -> Result<()> {
        if let Some(Arrays { capacity, used, .. }) = &self.arrays
            && used.segments + most.segments <= capacity.segments
            && used.points + most.points <= capacity.points
        {
            return Ok(());
        }
        self.fetch()?;
        let share = self.cuda.budget()? / ARRAYS_SHARE;
        let slices = usize::try_from(share / most.bytes().max(1)).unwrap_or(usize::MAX).clamp(1, remaining);
        let capacity = Size { segments: most.segments * slices, points: most.points * slices };
        let memory = self.cuda.memory();
        let arrays = Arrays {
            points: memory.device(capacity.points * 8)?,
            offsets: memory.device((capacity.segments + 1) * NUMBER)?,
            flags: memory.device(capacity.segments * 4)?,
            slices: memory.device(capacity.segments * 4)?,
            mean_gradients: memory.device(capacity.segments * 4)?,
            totals: memory.device(2 * NUMBER)?,
            totals_back: memory.pinned(2 * NUMBER)?,
            capacity,
            used: Size { segments: 0, points: 0 },
            times: Vec::new(),
        };
        self.stream.fill(&arrays.totals, 0, 2 * NUMBER, 0)?;
        self.arrays = Some(arrays);
        Ok(())
    }

    /// Waits for the segments on the device and copies them to the host.
    pub(super) fn fetch(&mut self) -> Result<()> {
        let Some(arrays) = self.arrays.take() else { return Ok(()) };
        self.stream.synchronize()?;
        for [begun, done] in &arrays.times {
            self.seconds[0] += begun.seconds_to(done)?;
        }
        let started = std::time::Instant::now();
        self.stream.copy_bytes(arrays.totals.side(0), arrays.totals_back.side(), 2 * NUMBER)?;
        self.stream.synchronize()?;
        let [segments, points] = numbers_of(&arrays.totals_back).map(|number| number as usize);
        let mut found = Segments {
            points: zeroed(points)?,
            offsets: zeroed(segments + 1)?,
            flags: zeroed(segments)?,
            slices: zeroed(segments)?,
            mean_gradients: zeroed(segments)?,
        };
        self.download(arrays.points.side(0), &mut found.points)?;
        // The kernel writes the ends of the segments; the first begins at 0.
        self.download(arrays.offsets.side(NUMBER), &mut found.offsets[1..])?;
        self.download(arrays.flags.side(0), &mut found.flags)?;
        self.download(arrays.slices.side(0), &mut found.slices)?;
        self.download(arrays.mean_gradients.side(0), &mut found.mean_gradients)?;
        self.seconds[1] += started.elapsed().as_secs_f64();
        self.found.append(found)
    }

    fn download<T: Pod + Send + Sync>(&self, side: Side, to: &mut [T]) -> Result<()> {
        self.cuda.transfer().download_list(self.context.pool(), &self.stream, side, to, &Ticker::of_copies())
    }

    /// Returns all segments.
    pub(super) fn finish(&mut self) -> Result<Segments> {
        self.fetch()?;
        Ok(std::mem::take(&mut self.found))
    }
}

/// Returns the most segments of at least `min_length` points, and the most points of these, that `links` links can form. A
/// pair of neighbouring points has two links, one in each direction; an isolated pixel counts as one link.
fn most_segments(links: usize, min_length: usize) -> Size {
    if min_length < 2 {
        return Size { segments: links, points: links };
    }
    let segments = links / (2 * (min_length - 1));
    Size { segments, points: links / 2 + segments }
}

/// Returns the address of a buffer of at least `bytes` bytes. Replaces a buffer that is too small, after waiting for
/// `stream`.
fn grown(cuda: &Arc<Cuda>, stream: &Stream, buffer: &mut Option<Buffer>, bytes: usize) -> Result<u64> {
    if let Some(found) = buffer.as_ref().filter(|found| found.bytes() >= bytes) {
        return Ok(found.address());
    }
    stream.synchronize()?;
    *buffer = None;
    Ok(buffer.insert(cuda.memory().device(bytes)?).address())
}

/// Returns the first `N` numbers in page-locked memory.
fn numbers_of<const N: usize>(memory: &Pinned) -> [u64; N] {
    let numbers: &[u64] = bytemuck::cast_slice(&memory.as_slice()[..N * NUMBER]);
    std::array::from_fn(|index| numbers[index])
}
