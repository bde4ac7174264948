//! The slice pipeline: while one slot computes a slice (or a group of slices, or a volume), another uploads the next and
//! downloads the result before. A slot owns a stream and the buffers of one slice in flight.

use super::{Cuda, DeviceRows, DeviceSlices, Event, Side, Stream, Upload, output_is_direct};
use crate::device::{Context, Slices};
use crate::error::Result;
use crate::image::{Image, ImageMut};
use crate::progress::{self, Progress, Ticker, may_cancel};
use crate::report::Report;
use rayon::ThreadPool;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The events of a slice: before its upload, after it, after the computation, and after the download.
pub(crate) type Times = [Event; 4];

/// The bytes of results that are copied together, if there are as many slices: enough to reach the speed of the link.
const TOGETHER_BYTES: usize = 128 << 20;

/// The smallest number of slices in flight, and the largest: small ones are many, so that two batches are in flight.
const SLOTS: [usize; 2] = [3, 32];

/// Returns the number of slices in flight that keep the link busy, for results of `bytes` bytes.
pub(crate) fn useful_slots(bytes: usize) -> usize {
    (2 * TOGETHER_BYTES / bytes.max(1)).clamp(SLOTS[0], SLOTS[1])
}

/// The progress and the report of a call whose slices run in a pipeline.
pub(crate) struct Pipeline<'a, 'p, 'q> {
    pub(crate) progress: &'a mut Option<&'p mut Progress<'q>>,
    pub(crate) ticker: Ticker,
    pub(crate) report: Report,
    /// The number of slices.
    pub(crate) count: usize,
    /// The numbers of slices of the runs before and after this one, where a call has several.
    pub(crate) others: [usize; 2],
}

impl<'a, 'p, 'q> Pipeline<'a, 'p, 'q> {
    /// Begins a call of `count` slices, which is named `stage` in reports of progress.
    pub(crate) fn new(
        context: &Context,
        cuda: &Cuda,
        stage: &'static str,
        count: usize,
        progress: &'a mut Option<&'p mut Progress<'q>>,
    ) -> Result<Self> {
        cuda.bind()?;
        cuda.memory().reset_peak();
        let ticker = Ticker::new(stage);
        ticker.report(progress)?;
        Ok(Self { progress, ticker, report: Report::new(context.device()), count, others: [0; 2] })
    }

    /// Reports progress to the caller, at intervals, and checks for cancellation. `fraction` is that of the slice.
    pub(crate) fn poll(&mut self, slice: usize, fraction: f64) -> Result<()> {
        let [before, after] = self.others;
        self.ticker.section(before + slice, before + self.count + after);
        self.ticker.set(fraction);
        self.ticker.report(self.progress)
    }

    /// Waits for the computation of a slice; reports progress meanwhile.
    pub(crate) fn wait(&mut self, times: &Times, slice: usize, fraction: f64) -> Result<()> {
        let may_cancel = may_cancel(self.progress);
        while may_cancel && !times[2].is_done()? {
            std::thread::sleep(Duration::from_micros(50));
            self.poll(slice, fraction)?;
        }
        times[2].synchronize()?;
        self.ticker.check()
    }

    /// Waits for the download of a slice, and adds the times to the report.
    pub(crate) fn add(&mut self, times: &Times) -> Result<()> {
        times[3].synchronize()?;
        self.report.seconds_upload += times[0].seconds_to(&times[1])?;
        self.report.seconds_compute += times[1].seconds_to(&times[2])?;
        self.report.seconds_download += times[2].seconds_to(&times[3])?;
        Ok(())
    }

    /// Runs `operation` on all slices of `input`, each in the next of `slots`. Several slots upload and download together
    /// if their slices are small, because a copy needs some time to reach the speed of the link. Without an `input` it works
    /// in place: the slices of the output, which is in host memory, are read before they are written.
    pub(crate) fn run<O: SliceOperation>(
        &mut self,
        context: &Context,
        cuda: &Cuda,
        operation: &mut O,
        slots: &mut [Slot<O::Buffers>],
        input: Option<&Image<'_>>,
        mut output: Option<&mut ImageMut<'_>>,
    ) -> Result<()> {
        let (pool, transfer) = (context.pool(), cuda.transfer());
        // The download of a single image or volume begins when the image is computed: until then this thread reports progress.
        let direct = output.as_deref().is_some_and(output_is_direct);
        let queue_downloads = direct && self.count > 1;
        let slot_bytes = copied_bytes(operation, input, output.as_deref());
        let together = slots_together(slot_bytes, slots.len());
        let in_flight = slots.len() / together;
        let batches = self.count.div_ceil(together);
        for step in 0..batches + in_flight {
            let batch = &mut slots[step % in_flight * together..][..together];
            let slices = |batch: usize| batch * together..self.count.min((batch + 1) * together);
            let begin = if step < batches { slices(step) } else { 0..0 };
            let end = step.checked_sub(in_flight).map_or(0..0, slices);
            // 1. Wait for the slices that the slots have computed.
            let mut uploaded = 0.0f64;
            for (slice, slot) in end.clone().zip(&*batch) {
                self.wait(&slot.times, slice, 0.95)?;
                uploaded = slot.times[0].seconds_to(&slot.times[1])?.max(uploaded);
                self.report.seconds_compute += slot.times[1].seconds_to(&slot.times[2])?;
                if queue_downloads {
                    slot.times[3].synchronize()?;
                    self.report.seconds_download += slot.times[2].seconds_to(&slot.times[3])?;
                }
            }
            self.report.seconds_upload += uploaded;
            for (slice, slot) in end.clone().zip(&*batch) {
                operation.finish(self, &slot.buffers, slice, output.as_deref_mut())?;
            }
            for (slice, slot) in begin.clone().zip(&*batch) {
                self.poll(slice, 0.0)?;
                slot.stream.record(&slot.times[0])?;
            }
            // 2. Download their results while the next slices are uploaded.
            let (batch_now, operation_now, ticker) = (&*batch, &*operation, &self.ticker);
            // In place, the slices that are read come after those that are written.
            let first = if begin.is_empty() { 0 } else { operation_now.slices(begin.start).start };
            let (mut written, read) = match (input, output.as_deref_mut()) {
                (None, Some(output)) if !begin.is_empty() => Some(output.reborrow().split_at(first)).unzip(),
                (_, output) => (output.map(ImageMut::reborrow), None),
            };
            let up = || {
                // The thread may have worked for another device.
                cuda.bind()?;
                let (source, first) = match (input, &read) {
                    (Some(input), _) => (input.reborrow(), 0),
                    (None, Some(read)) => (read.view(), first),
                    (None, None) => return Ok(()),
                };
                let slots = begin.clone().zip(batch_now).map(|(slice, slot)| {
                    let Range { start, end } = operation_now.reads(slice);
                    (start - first..end - first, &slot.stream, &slot.upload)
                });
                Upload::queue(pool, &source, slots, ticker)
            };
            let mut down = || -> Result<f64> {
                let started = Instant::now();
                cuda.bind()?;
                let results = end.clone().zip(batch_now).filter_map(|(slice, slot)| {
                    let (side, pitch) = O::result(&slot.buffers)?;
                    Some((operation_now.slices(slice), DeviceRows { stream: &slot.stream, side, pitch }))
                });
                let results: Vec<_> = results.filter(|_| !queue_downloads).collect();
                if let Some(output) = &mut written {
                    transfer.download(pool, output, &results, ticker)?;
                }
                if direct {
                    results.iter().try_for_each(|(_, rows)| rows.stream.synchronize())?;
                }
                Ok(started.elapsed().as_secs_f64())
            };
            let overlap = !begin.is_empty() && !end.is_empty() && !queue_downloads;
            let both = || if overlap { pool.join(up, down) } else { (up(), down()) };
            let takes_long = self.count == 1 || slot_bytes > TOGETHER_BYTES;
            let (queued, downloaded) = if takes_long && self.progress.is_some() {
                // This thread calls the callback meanwhile.
                progress::run(pool, self.progress, ticker, || Ok(both()))?
            } else {
                both()
            };
            queued?;
            self.report.seconds_download += downloaded?;
            if let Some(slice) = end.last() {
                self.report.slices_done = operation.slices(slice).end as u64;
            }
            // 3. Queue the computations.
            for (slice, slot) in begin.zip(batch) {
                let source = input.map(Image::reborrow).or_else(|| output.as_deref().map(ImageMut::view));
                let source = source.unwrap_or_else(|| unreachable!("without an input there is an output"));
                let pixels = slot.upload.slices(&source, &operation.reads(slice));
                slot.stream.record(&slot.times[1])?;
                operation.compute(self, slot, pixels, slice, output.as_deref())?;
                slot.stream.record(&slot.times[2])?;
                if let (Some((side, pitch)), Some(output), true) =
                    (O::result(&slot.buffers), output.as_deref_mut(), queue_downloads)
                {
                    let rows = DeviceRows { stream: &slot.stream, side, pitch };
                    transfer.download(pool, output, &[(operation.slices(slice), rows)], &self.ticker)?;
                }
                slot.stream.record(&slot.times[3])?;
            }
        }
        Ok(())
    }

    /// Ends the call.
    pub(crate) fn end(self, cuda: &Cuda) -> Report {
        Report { peak_device_bytes: cuda.memory().peak(), ..self.report }
    }
}

/// The stream, the events and the memory of one slice in flight. The stream comes first, because dropping it waits for its
/// work, which uses the memory.
pub(crate) struct Slot<B> {
    pub(crate) stream: Stream,
    pub(crate) times: Times,
    upload: Upload,
    /// The operation's own buffers.
    pub(crate) buffers: B,
}

impl<B> Slot<B> {
    /// Makes a slot for up to `slices` slices of `input`, whose rows begin at multiples of `alignment` bytes if they are
    /// uploaded.
    pub(crate) fn new(cuda: &Cuda, input: &Image<'_>, slices: usize, alignment: usize, buffers: B) -> Result<Self> {
        let upload = Upload::new(cuda, input, slices, alignment)?;
        Ok(Self { stream: cuda.stream()?, times: cuda.times()?, upload, buffers })
    }

    /// Queues the upload of slices; returns where they are.
    pub(crate) fn upload(
        &self,
        pool: &ThreadPool,
        input: &Image<'_>,
        slices: Range<usize>,
        ticker: &Ticker,
    ) -> Result<DeviceSlices> {
        let pixels = self.upload.slices(input, &slices);
        Upload::queue(pool, input, [(slices, &self.stream, &self.upload)].into_iter(), ticker)?;
        Ok(pixels)
    }
}

/// An operation that computes one output slice from each input slice (or a group from a group, or a volume from a
/// volume); all are called slices here, and counted by the pipeline.
pub(crate) trait SliceOperation: Sync {
    /// The device memory of one slice in flight.
    type Buffers: Sync;

    /// Returns the slices of the image that slice `slice` of the pipeline is.
    fn slices(&self, slice: usize) -> Range<usize>;

    /// Returns the slices of the image that a slice of the pipeline reads: its own, and the halo around them if it has one.
    fn reads(&self, slice: usize) -> Range<usize> {
        self.slices(slice)
    }

    /// Queues the kernels of a slice, whose pixels are at `pixels`.
    fn compute(
        &mut self,
        pipeline: &mut Pipeline<'_, '_, '_>,
        slot: &mut Slot<Self::Buffers>,
        pixels: DeviceSlices,
        slice: usize,
        output: Option<&ImageMut<'_>>,
    ) -> Result<()>;

    /// Does what is left to do on the host for a slice whose kernels are done.
    fn finish(
        &mut self,
        _pipeline: &mut Pipeline<'_, '_, '_>,
        _buffers: &Self::Buffers,
        _slice: usize,
        _output: Option<&mut ImageMut<'_>>,
    ) -> Result<()> {
        Ok(())
    }

    /// Returns the result of a slot, and the bytes from row to row; `None` if the kernels wrote it to the caller's
    /// memory.
    fn result(buffers: &Self::Buffers) -> Option<(Side, usize)>;
}

/// Returns the larger of the numbers of bytes of a slice in the input and in the output.
fn copied_bytes<O: SliceOperation>(operation: &O, input: Option<&Image<'_>>, output: Option<&ImageMut<'_>>) -> usize {
    let of = |slices: Range<usize>, [width, height, _]: [usize; 3], pixel_bytes: usize| {
        slices.len() * width * height * pixel_bytes
    };
    let read = input.map_or(0, |input| of(operation.reads(0), input.shape(), input.pixel_type().bytes()));
    read.max(output.map_or(0, |output| of(operation.slices(0), output.shape(), output.pixel_type().bytes())))
}

/// Returns the number of slots that copy together: as many as have [`TOGETHER_BYTES`], with at least one other such batch
/// in flight.
fn slots_together(bytes: usize, slots: usize) -> usize {
    (TOGETHER_BYTES / bytes.max(1)).clamp(1, (slots / 2).max(1))
}

impl Cuda {
    pub(crate) fn times(&self) -> Result<Times> {
        Ok([self.event()?, self.event()?, self.event()?, self.event()?])
    }

    /// Returns the number of slots of `slot_bytes` each that fit the memory budget: at most `most`, at least one.
    pub(crate) fn slots_that_fit(&self, slot_bytes: u64, most: usize) -> Result<usize> {
        Ok(usize::try_from(self.budget()? / slot_bytes.max(1)).unwrap_or(usize::MAX).clamp(1, most))
    }
}
