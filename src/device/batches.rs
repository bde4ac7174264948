//! Stacks that functions of the host read and write slice by slice. The calling thread, on which alone these functions are
//! called, reads a batch of slices and writes the one before, while another thread computes a batch in the way in which a
//! call on memory computes it. So at most [`IN_FLIGHT`] batches are in memory, and the results are the same bits.

use super::several::{Own, UNITS, least_slices, with_halo};
use super::{Context, DeviceKind, DevicePixel, HostBuffer, Slices, cpu};
use crate::error::{Error, ErrorKind, Result};
use crate::image::{Image, ImageMut, PixelType, view_of, view_of_mut};
use crate::memory::{Array, push};
use crate::pixel_range::{EMPTY, Measure, Range as PixelRange};
use crate::progress::{self, CancelFlag, Progress, Ticker};
use crate::report::Parts;
#[cfg(doc)]
use crate::slice_io::check_streamed;
use crate::slice_io::{Input, Output, Sink, Source};
use ndarray::{ArrayView3, ArrayViewMut3};
use std::array;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, SyncSender};

/// The beginning of the name of the thread that computes.
const THREAD_NAME: &str = "isoline-batches-";

/// The batches in memory: one is computed while the calling thread writes and reads the other.
const IN_FLIGHT: usize = 2;

/// The bytes of a batch, input and outputs together, where a slice has less.
const BATCH_BYTES: usize = 64 << 20;

/// The least number of slices in a batch for each CUDA device, so that its copies and kernels overlap, and the most bytes for
/// which this holds: of larger slices there are fewer.
const SLICES_PER_CUDA_DEVICE: usize = 4;
const MOST_BYTES: usize = 1 << 30;

/// Packed slices in host memory that the device copies quickly.
pub(crate) struct Staged {
    memory: StagingMemory,
    pixel_type: PixelType,
    size: [usize; 2],
}

enum StagingMemory {
    Buffer(HostBuffer),
    /// A file, for which alone there is room.
    File(Array<u8>),
}

impl StagingMemory {
    fn pixels<T: DevicePixel>(&self) -> &[T] {
        match self {
            Self::Buffer(buffer) => buffer.pixels(),
            Self::File(bytes) => bytemuck::cast_slice(bytes),
        }
    }

    fn pixels_mut<T: DevicePixel>(&mut self) -> &mut [T] {
        match self {
            Self::Buffer(buffer) => buffer.pixels_mut(),
            Self::File(bytes) => bytemuck::cast_slice_mut(bytes),
        }
    }
}

impl Staged {
    /// Makes room for `slices` slices.
    fn new(context: &Context, pixel_type: PixelType, [width, height, _]: [usize; 3], slices: usize) -> Result<Self> {
        let bytes = width * height * pixel_type.bytes() * slices;
        let memory = match context.host_buffer(bytes) {
            Err(error) if error.kind() == ErrorKind::OutOfMemory => StagingMemory::File(Array::in_file(bytes, error)?),
            buffer => StagingMemory::Buffer(buffer?),
        };
        Ok(Self { memory, pixel_type, size: [width, height] })
    }

    fn bytes_of(&self, index: usize) -> Range<usize> {
        let bytes = self.size[0] * self.size[1] * self.pixel_type.bytes();
        index * bytes..(index + 1) * bytes
    }

    /// Reads slices from the host, the first one to the place `at`.
    fn read(
        &mut self,
        source: &mut Source<'_>,
        (slices, at): (Range<usize>, usize),
        ticker: &Ticker,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<()> {
        for (index, slice) in slices.enumerate() {
            ticker.report(progress)?;
            let bytes = self.bytes_of(at + index);
            source.read(slice, &mut self.memory.pixels_mut::<u8>()[bytes])?;
        }
        ticker.check()
    }

    /// Copies the slices from a place on to the beginning of another staging memory.
    fn copy_to(
        &self,
        slices: Range<usize>,
        other: &mut Self,
        ticker: &Ticker,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<()> {
        for (index, slice) in slices.enumerate() {
            ticker.report(progress)?;
            let (from, to) = (self.bytes_of(slice), other.bytes_of(index));
            other.memory.pixels_mut::<u8>()[to].copy_from_slice(&self.memory.pixels::<u8>()[from]);
        }
        Ok(())
    }

    /// Hands slices to the host, the first one from the beginning.
    fn write(
        &self,
        sink: &mut Sink<'_>,
        slices: Range<usize>,
        ticker: &Ticker,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<()> {
        for (index, slice) in slices.enumerate() {
            ticker.report(progress)?;
            sink.write(slice, &self.memory.pixels::<u8>()[self.bytes_of(index)])?;
        }
        Ok(())
    }

    /// Returns the first slices as an image.
    fn image(&self, slices: usize) -> Image<'_> {
        match self.pixel_type {
            PixelType::U8 => self.view::<u8>(slices).into(),
            PixelType::U16 => self.view::<u16>(slices).into(),
            PixelType::F32 => self.view::<f32>(slices).into(),
        }
    }

    fn view<T: DevicePixel>(&self, slices: usize) -> ArrayView3<'_, T> {
        let [width, height] = self.size;
        view_of(&self.memory.pixels()[..slices * height * width], [width, height, slices])
    }

    /// Returns the first slices as an image to write.
    fn image_mut(&mut self, slices: usize) -> ImageMut<'_> {
        match self.pixel_type {
            PixelType::U8 => self.view_mut::<u8>(slices).into(),
            PixelType::U16 => self.view_mut::<u16>(slices).into(),
            PixelType::F32 => self.view_mut::<f32>(slices).into(),
        }
    }

    fn view_mut<T: DevicePixel>(&mut self, slices: usize) -> ArrayViewMut3<'_, T> {
        let [width, height] = self.size;
        view_of_mut(&mut self.memory.pixels_mut()[..slices * height * width], [width, height, slices])
    }
}

/// Slices in the caller's memory, or staged.
pub(crate) enum Held<M> {
    Memory(M),
    Staged(Staged),
}

impl Held<Image<'_>> {
    /// Returns the first slices as an image.
    pub(crate) fn image(&self, slices: usize) -> Image<'_> {
        match self {
            Self::Memory(image) => image.reborrow(),
            Self::Staged(staged) => staged.image(slices),
        }
    }
}

impl Held<ImageMut<'_>> {
    fn image_mut(&mut self, slices: usize) -> ImageMut<'_> {
        match self {
            Self::Memory(image) => image.reborrow(),
            Self::Staged(staged) => staged.image_mut(slices),
        }
    }
}

/// Slices that are computed together.
struct Batch<'i, 'o, const N: usize> {
    /// Their numbers in the stack.
    slices: Range<usize>,
    /// The number of slices of the input, and where those of the batch are among them: the others are those that they depend
    /// on.
    read: usize,
    own: Range<usize>,
    input: Held<Image<'i>>,
    outputs: [Option<Held<ImageMut<'o>>>; N],
}

/// A call on slices that functions read or write, some or all of them; the others are in memory.
struct Batches<'c, 'i, 'o, const N: usize> {
    context: &'c Context,
    shape: [usize; 3],
    /// The number of slices of a batch, the last one of which may have fewer, and the number of slices on either side on
    /// which each depends.
    slices: usize,
    halo: usize,
    input: Input<'i>,
    /// The last slices that were read, if the next batch depends on them; `end` is the number of the first that was not read.
    kept: Option<Staged>,
    end: usize,
    outputs: [Option<Output<'o>>; N],
}

impl<'i, 'o, const N: usize> Batches<'_, 'i, 'o, N> {
    /// Returns the next batch, from slice `first` on, with its input read. It has the staging memory of a finished one, if
    /// there is one.
    fn next(
        &mut self,
        first: usize,
        finished: Option<Batch<'i, 'o, N>>,
        ticker: &Ticker,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<Batch<'i, 'o, N>> {
        let (context, shape, halo) = (self.context, self.shape, self.halo);
        let slices = first..shape[2].min(first + self.slices);
        let [reads, own] = with_halo(&slices, halo, shape[2]);
        let (old_input, mut old_outputs) = match finished {
            Some(batch) => (Some(batch.input), batch.outputs),
            None => (None, array::from_fn(|_| None)),
        };
        let stage = |pixel_type, slices: usize| Staged::new(context, pixel_type, shape, slices);
        let input = match (&mut self.input, old_input) {
            (Input::Image(image), _) => Held::Memory(image.slices(&reads)),
            (Input::Source(source), old) => {
                let mut staged = match old {
                    Some(Held::Staged(staged)) => staged,
                    _ => stage(source.pixel_type(), shape[2].min(self.slices + 2 * halo))?,
                };
                // 1. Take the slices that were read for the batch before, and read the others.
                let again = self.end.saturating_sub(reads.start);
                if let Some(kept) = &self.kept {
                    kept.copy_to(0..again, &mut staged, ticker, progress)?;
                }
                staged.read(source, (reads.start + again..reads.end, again), ticker, progress)?;
                // 2. Keep those on which the batch after it depends.
                if slices.end < shape[2] && halo > 0 {
                    let mut kept = self.kept.take().map_or_else(|| stage(source.pixel_type(), 2 * halo), Ok)?;
                    let first = (slices.end - reads.start).saturating_sub(halo);
                    staged.copy_to(first..reads.len(), &mut kept, ticker, progress)?;
                    self.kept = Some(kept);
                }
                self.end = reads.end;
                Held::Staged(staged)
            }
        };
        let mut outputs = array::from_fn(|_| None);
        for ((held, old), output) in outputs.iter_mut().zip(&mut old_outputs).zip(&mut self.outputs) {
            *held = match (output.take(), old.take()) {
                (None, _) => None,
                (Some(Output::Image(rest)), _) => {
                    let (image, after) = rest.split_at(slices.len());
                    *output = Some(Output::Image(after));
                    Some(Held::Memory(image))
                }
                (Some(Output::Sink(sink)), old) => {
                    let staged = match old {
                        Some(Held::Staged(staged)) => staged,
                        _ => stage(sink.pixel_type(), self.slices)?,
                    };
                    *output = Some(Output::Sink(sink));
                    Some(Held::Staged(staged))
                }
            };
        }
        Ok(Batch { slices, read: reads.len(), own, input, outputs })
    }

    /// Hands the results of a batch to the sinks.
    fn write(
        &mut self,
        batch: &Batch<'i, 'o, N>,
        ticker: &Ticker,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<()> {
        for (output, held) in self.outputs.iter_mut().zip(&batch.outputs) {
            if let (Some(Output::Sink(sink)), Some(Held::Staged(staged))) = (output, held) {
                staged.write(sink, batch.slices.clone(), ticker, progress)?;
            }
        }
        Ok(())
    }

    /// Reads and writes on the calling thread, while the thread that gets batches from `give` returns them, computed, to
    /// `finished`.
    fn run<T>(
        mut self,
        give: SyncSender<Batch<'i, 'o, N>>,
        finished: Receiver<(Batch<'i, 'o, N>, Result<T>)>,
        ticker: &Ticker,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<Vec<(usize, T)>> {
        let (mut first, mut in_flight, mut spare, mut results) = (0, 0, None, Vec::new());
        loop {
            if first < self.shape[2] && in_flight < IN_FLIGHT {
                let batch = self.next(first, spare.take(), ticker, progress)?;
                first = batch.slices.end;
                in_flight += 1;
                // The other thread ends first only by a panic, which is raised when it is joined.
                give.send(batch).map_err(|_| Error::cancelled())?;
            } else if in_flight > 0 {
                let (batch, result) = ticker.receive(&finished, progress)?;
                push(&mut results, (batch.slices.start, result?))?;
                self.write(&batch, ticker, progress)?;
                in_flight -= 1;
                spare = Some(batch);
            } else {
                return Ok(results);
            }
        }
    }
}

impl Context {
    /// Runs `work` on the slices of `input` and `outputs`. Each depends on `halo` slices on either side; `None`: on all, or
    /// not all memory is the host's. Slices that functions read or write are computed batch by batch, or in one batch if
    /// each depends on all; [`check_streamed`] has seen that they can be. If this context has several devices, each of them
    /// works on its own slices. `work` gets an input, the slices there whose results are wanted, and outputs for these
    /// alone. `join` runs in the pool, and makes one result of those of batches and devices, each of which has the number of
    /// its first slice.
    pub(crate) fn by_slices<const N: usize, T: Send>(
        &self,
        stage: &'static str,
        halo: Option<usize>,
        (input, outputs): (Input<'_>, [Option<Output<'_>>; N]),
        progress: &mut Option<&mut Progress<'_>>,
        work: impl Fn(&Self, &Image<'_>, Own, [Option<ImageMut<'_>>; N], &mut Option<&mut Progress<'_>>) -> Result<T> + Sync,
        join: impl Fn(Vec<(usize, T)>, Parts) -> Result<T> + Send + Sync,
    ) -> Result<T> {
        let shape = input.shape();
        let (input, outputs) = match input {
            Input::Image(image) if !outputs.iter().flatten().any(Output::is_streamed) => {
                let images = outputs.map(|output| match output {
                    Some(Output::Image(image)) => Some(image),
                    _ => None,
                });
                return self.deal_out_slices(
                    stage,
                    halo,
                    (&image, Own { at: 0..shape[2], first: 0 }, images),
                    progress,
                    &work,
                    &join,
                );
            }
            input => (input, outputs),
        };
        let slice_bytes = outputs.iter().flatten().map(Output::pixel_type).chain([input.pixel_type()]);
        let slice_bytes = slice_bytes.map(|pixels| shape[0] * shape[1] * pixels.bytes()).sum();
        let slices = halo.map_or(shape[2], |halo| {
            self.slices_of_batch(slice_bytes, shape[2]).max(least_slices(halo).saturating_mul(self.parts().len()))
        });
        let (slices, read_beside) = (slices.min(shape[2]), halo.unwrap_or(0));
        let batches = Batches { context: self, shape, slices, halo: read_beside, input, kept: None, end: 0, outputs };
        let flag = CancelFlag::of_this_thread();
        let ticker = Ticker::new(stage);
        ticker.expect((shape[2] as u64).saturating_mul(UNITS));
        // Each has room for all batches, so that sending never waits.
        let (give, given) = mpsc::sync_channel::<Batch<'_, '_, N>>(IN_FLIGHT);
        let (done, finished) = mpsc::sync_channel(IN_FLIGHT);
        let (ticker, work, join) = (&ticker, &work, &join);
        let compute = move || {
            CancelFlag::use_here(flag);
            for mut batch in given {
                let slices = batch.slices.len();
                let mut count = ticker.counting((slices as u64).saturating_mul(UNITS));
                let input = batch.input.image(batch.read);
                let own = Own { at: batch.own.clone(), first: batch.slices.start };
                let outputs = batch.outputs.each_mut().map(|output| output.as_mut().map(|held| held.image_mut(slices)));
                let images = (&input, own, outputs);
                let result = self.deal_out_slices(stage, halo, images, &mut Some(&mut count), work, join);
                let _ = count(1.0, stage);
                if done.send((batch, result)).is_err() {
                    break;
                }
            }
        };
        let thread = cpu::start_threads(1, THREAD_NAME)?;
        let results = thread.in_place_scope(|scope| {
            scope.spawn(|_| compute());
            let results = batches.run(give, finished, ticker, progress);
            if results.is_err() {
                ticker.cancel();
            }
            results
        })?;
        self.pool().install(|| join(results, Parts::InTurn))
    }

    /// Returns the number of slices of a batch, of a stack of `depth` slices of that many bytes.
    fn slices_of_batch(&self, slice_bytes: usize, depth: usize) -> usize {
        let per_device = match self.device().kind {
            DeviceKind::Cpu => 1,
            DeviceKind::Cuda => (MOST_BYTES / slice_bytes).clamp(1, SLICES_PER_CUDA_DEVICE),
        };
        (BATCH_BYTES / slice_bytes).max(per_device * self.parts().len()).min(depth)
    }

    /// Returns the smallest and the largest finite pixel of all slices; `[0, 0]` if there is none. A source is read for it.
    pub(crate) fn extremes(
        &self,
        stage: &'static str,
        input: &mut Input<'_>,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<[f64; 2]> {
        Ok(self.range(Measure::Pixels, stage, input, progress)?.extremes(input.pixel_type()).unwrap_or_default())
    }

    /// Returns the range of all slices that is used where it is automatic, see [`PixelRange::automatic`].
    pub(crate) fn automatic_range(
        &self,
        stage: &'static str,
        input: &mut Input<'_>,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<[f64; 2]> {
        Ok(self.range(Measure::Neighbours, stage, input, progress)?.automatic(input.pixel_type()))
    }

    /// Returns the range of the pixels of all slices.
    fn range(
        &self,
        measure: Measure,
        stage: &'static str,
        input: &mut Input<'_>,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<PixelRange> {
        let ticker = Ticker::new(stage);
        match input {
            Input::Image(Image::Device(pixels)) => {
                let cuda = self.cuda_for(0)?.ok_or_else(|| Error::in_cuda_memory("image"))?;
                cuda.range(measure, "the input", pixels)
            }
            Input::Image(image) => {
                progress::run(self.pool(), progress, &ticker, || image.range_while(measure, &ticker))
            }
            Input::Source(source) => {
                let shape = source.shape();
                let slice_bytes = shape[0] * shape[1] * source.pixel_type().bytes();
                let most = self.slices_of_batch(slice_bytes, shape[2]);
                let mut staged = Staged::new(self, source.pixel_type(), shape, most)?;
                let mut found = EMPTY;
                for first in (0..shape[2]).step_by(most) {
                    let slices = first..shape[2].min(first + most);
                    staged.read(source, (slices.clone(), 0), &ticker, progress)?;
                    let image = staged.image(slices.len());
                    let of_batch = self.pool().install(|| image.range_while(measure, &ticker))?;
                    found = found.merged(of_batch);
                }
                Ok(found)
            }
        }
    }

    /// Returns all slices of an input, for a call on whole volumes; those of a source are read into memory.
    pub(crate) fn all_of<'a>(
        &self,
        input: Input<'a>,
        ticker: &Ticker,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<Held<Image<'a>>> {
        let mut source = match input {
            Input::Image(image) => return Ok(Held::Memory(image)),
            Input::Source(source) => source,
        };
        let shape = source.shape();
        let mut staged = Staged::new(self, source.pixel_type(), shape, shape[2])?;
        staged.read(&mut source, (0..shape[2], 0), ticker, progress)?;
        Ok(Held::Staged(staged))
    }

    /// Calls `fill` with all slices of an output in memory, and then hands those of a sink on.
    pub(crate) fn fill_all_of(
        &self,
        output: Output<'_>,
        ticker: &Ticker,
        progress: &mut Option<&mut Progress<'_>>,
        fill: impl FnOnce(ImageMut<'_>, &mut Option<&mut Progress<'_>>) -> Result<()>,
    ) -> Result<()> {
        let (shape, mut sink) = match output {
            Output::Image(image) => return fill(image, progress),
            Output::Sink(sink) => (sink.shape(), sink),
        };
        let mut staged = Staged::new(self, sink.pixel_type(), shape, shape[2])?;
        fill(staged.image_mut(shape[2]), progress)?;
        staged.write(&mut sink, 0..shape[2], ticker, progress)
    }

    /// Calls `take` with each of some slices of a source, in their order.
    pub(crate) fn each_slice(
        &self,
        source: &mut Source<'_>,
        slices: Vec<usize>,
        ticker: &Ticker,
        mut take: impl FnMut(usize, &Image<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut staged = Staged::new(self, source.pixel_type(), source.shape(), 1)?;
        for slice in slices {
            staged.read(source, (slice..slice + 1, 0), ticker, &mut None)?;
            take(slice, &staged.image(1))?;
        }
        Ok(())
    }

    /// Calls `make` with each slice of an output in host memory, in their order; those of a sink are handed on as they are
    /// made.
    pub(crate) fn make_each_slice(
        &self,
        output: Output<'_>,
        ticker: &Ticker,
        progress: &mut Option<&mut Progress<'_>>,
        mut make: impl FnMut(usize, ImageMut<'_>, &mut Option<&mut Progress<'_>>) -> Result<()>,
    ) -> Result<()> {
        let shape = output.shape();
        match output {
            Output::Image(mut rest) => {
                rest.use_huge_pages();
                for slice in 0..shape[2] {
                    let (image, after) = rest.split_at(1);
                    make(slice, image, progress)?;
                    rest = after;
                }
            }
            Output::Sink(mut sink) => {
                let mut staged = Staged::new(self, sink.pixel_type(), shape, 1)?;
                for slice in 0..shape[2] {
                    make(slice, staged.image_mut(1), progress)?;
                    staged.write(&mut sink, slice..slice + 1, ticker, progress)?;
                }
            }
        }
        Ok(())
    }
}
