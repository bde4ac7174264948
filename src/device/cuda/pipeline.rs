//! The slice pipeline: while one slot computes a slice (or a group of slices, or a volume), others upload the next slice
//! and download the previous result. A slot owns a stream and the buffers of one slice in flight. If there are several
//! batches of results for ordinary host memory, other threads download them.

use super::memory::SLOT_ROUNDING;
use super::{Cuda, DeviceRows, DeviceSlices, Event, MAX_GRID_YZ, Side, Stream, Upload, output_is_direct};
use crate::device::{Context, Slices, cpu};
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut};
use crate::progress::{self, Progress, Ticker, may_cancel};
use crate::report::Report;
use rayon::ThreadPool;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

/// The beginning of the names of the threads that download.
const THREAD_NAME: &str = "isoline-download-";

/// The events of a slice: before its upload, after it, after the computation, and after the download.
pub(crate) type Times = [Event; 4];

/// Results are copied together in batches of up to this many bytes, which is enough to reach the speed of the link.
const TOGETHER_BYTES: usize = 128 << 20;

/// The bytes of slices in device memory whose kernels keep a device busy. More slots would only take time to make: with
/// slices of 16 MiB a call starts in about 0.6 ms with four slots, and in 1.4 ms with 24.
const RESIDENT_BYTES: usize = 64 << 20;

/// The bytes of a group of slices that are computed together: large enough to fill a device, and small enough for
/// computations to overlap with copies of other groups.
pub(crate) const GROUP_BYTES: usize = 16 << 20;

/// The least bytes of results that are worth a thread for their downloads.
const LEAST_BESIDE: usize = 16 << 20;

/// The number of threads that download a batch each. While one downloads the last parts of its batch, the link is busy with
/// the batch of the other. Measured on an H200 host with two instead of one: edge strength of 64 x 2048 x 2048 pixels takes
/// 31.3 ms instead of 33.0, and into memory fresh from the system 43 instead of 48; distance of 300 slices of 1024 x 1024
/// pixels takes 34 ms instead of 38, and 44 instead of 56.
const DOWNLOADERS: usize = 2;

/// The batches in flight: one is uploaded, one is computed, and the others are downloaded.
const BATCHES: usize = 2 + DOWNLOADERS;

/// The smallest number of slices in flight, and the largest.
const SLOTS: [usize; 2] = [BATCHES, 48];

/// Returns the number of slices in flight, of `bytes` bytes each, that keep the link busy or, if all images are in device
/// memory, the device.
pub(crate) fn useful_slots(input: &Image<'_>, output: Option<&ImageMut<'_>>, bytes: usize) -> usize {
    let is_copied = !matches!(input, Image::Device(_)) || !matches!(output, None | Some(ImageMut::Device(_)));
    let useful = if is_copied { BATCHES * TOGETHER_BYTES } else { RESIDENT_BYTES };
    (useful / bytes.max(1)).clamp(SLOTS[0], SLOTS[1])
}

/// Returns how many of `count` slices, of `bytes` bytes each, the same launches should compute: enough to keep a device
/// busy for longer than the host takes to launch, but only a part of the stack, so that copies and computations overlap.
/// `fit` is the number of slices for which there is memory.
pub(crate) fn slices_together(count: usize, bytes: usize, fit: u64) -> usize {
    let fit = usize::try_from(fit).unwrap_or(usize::MAX);
    (GROUP_BYTES / bytes.max(1)).min(count.min(fit) / BATCHES).clamp(1, MAX_GRID_YZ)
}

/// The progress and the report of a call whose slices run in a pipeline.
pub(crate) struct Pipeline<'a, 'p, 'q> {
    pub(crate) progress: &'a mut Option<&'p mut Progress<'q>>,
    pub(crate) ticker: Arc<Ticker>,
    pub(crate) report: Report,
    /// The number of slices, or of groups or parts that are computed together.
    pub(crate) count: usize,
    /// The number of slices in the runs before and after this one, if a call has several runs.
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
        let ticker = Arc::new(Ticker::new(stage));
        ticker.report(progress)?;
        Ok(Self { progress, ticker, report: Report::new(context.device()), count, others: [0; 2] })
    }

    /// Reports progress to the caller, at intervals, and checks for cancellation. `fraction` is the fraction of the slice
    /// that is done.
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

    /// Runs `operation` on all slices of `input`, using `slots` in turn. If slices are small, several slots upload and
    /// download together, because a copy needs some time to reach the speed of the link. Without an `input` the operation
    /// works in place: the slices of the output, which is in host memory, are read before they are written.
    pub(crate) fn run<O: SliceOperation>(
        &mut self,
        context: &Context,
        cuda: &Cuda,
        operation: &mut O,
        slots: &mut [Slot<O::Buffers>],
        input: Option<&Image<'_>>,
        mut output: Option<&mut ImageMut<'_>>,
    ) -> Result<()> {
        let direct = output.as_deref().is_some_and(output_is_direct);
        // Advise the whole output at once, because a single slice may be smaller than a huge page.
        if let (Some(output), false) = (output.as_deref_mut(), direct) {
            output.use_huge_pages();
        }
        let slot_bytes = copied_bytes(operation, input, output.as_deref());
        let together = slots_together(slot_bytes, slots.len());
        let has_results = slots.first().is_some_and(|slot| O::result(&slot.buffers).is_some());
        let is_worth_a_thread = self.count > together && self.count * slot_bytes >= LEAST_BESIDE;
        if let (Some(output), true) = (output.as_deref_mut(), has_results && !direct && is_worth_a_thread) {
            return self.run_beside_downloads(context, cuda, operation, (slots, together), input, output.reborrow());
        }
        let (pool, transfer) = (context.pool(), cuda.transfer());
        // The download of a single image or volume is queued only when the computation is done, because this thread reports
        // progress until then.
        let queue_downloads = direct && self.count > 1;
        let in_flight = slots.len() / together;
        let batches = self.count.div_ceil(together);
        // A single batch is downloaded without waiting for its computation: threads that wake up meanwhile begin sooner.
        let early = batches == 1 && has_results && output.is_some() && !direct && !O::FINISHES;
        let mut began = Instant::now();
        for step in 0..batches + in_flight {
            let batch = &mut slots[step % in_flight * together..][..together];
            let slices = |batch: usize| batch * together..self.count.min((batch + 1) * together);
            let begin = if step < batches { slices(step) } else { 0..0 };
            let end = step.checked_sub(in_flight).map_or(0..0, slices);
            let computed = &batch[..end.len()];
            // 1. Wait for the slices that the slots have computed.
            if !early {
                for (slice, slot) in end.clone().zip(computed) {
                    self.wait(&slot.times, slice, 0.95)?;
                    if queue_downloads {
                        slot.times[3].synchronize()?;
                        self.report.seconds_download += slot.times[2].seconds_to(&slot.times[3])?;
                    }
                }
                operation.finish(self, computed, end.clone(), output.as_deref_mut())?;
                began = Instant::now();
            }
            // 2. Download their results.
            let results = end.clone().zip(computed).filter_map(|(slice, slot)| {
                let (side, pitch) = O::result(&slot.buffers)?;
                Some((operation.slices(slice), DeviceRows { stream: &slot.stream, side, pitch }))
            });
            let results: Vec<_> = results.filter(|_| !queue_downloads).collect();
            if let (Some(output), false) = (output.as_deref_mut(), results.is_empty()) {
                self.copy(pool, early || self.takes_long(slot_bytes), |ticker| {
                    cuda.bind()?;
                    transfer.download(pool, output, &results, ticker)?;
                    if direct { results.iter().try_for_each(|(_, rows)| rows.stream.synchronize()) } else { Ok(()) }
                })?;
                let before = match computed.last() {
                    Some(last) if early => computed[0].times[0].seconds_to(&last.times[2])?,
                    _ => 0.0,
                };
                self.report.seconds_download += (began.elapsed().as_secs_f64() - before).max(0.0);
            }
            self.add_computed(computed.iter(), operation, &end)?;
            // 3. Upload the next slices, and queue their computations.
            if !begin.is_empty() {
                began = Instant::now();
            }
            let slots = (begin.clone(), batch.iter());
            self.begin(context, cuda, operation, slots, (&source_of(input, output.as_deref()), 0), slot_bytes)?;
            for (slice, slot) in begin.zip(batch) {
                self.compute(operation, slot, &source_of(input, output.as_deref()), slice, output.as_deref())?;
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

    /// Does what [`run`](Self::run) does, if several batches of `together` slots have results for ordinary host memory.
    /// Other threads download them, so that the link is busy in both directions while this thread uploads slices and queues
    /// their computations.
    fn run_beside_downloads<'o, O: SliceOperation>(
        &mut self,
        context: &Context,
        cuda: &Cuda,
        operation: &mut O,
        (slots, together): (&mut [Slot<O::Buffers>], usize),
        input: Option<&Image<'_>>,
        output: ImageMut<'o>,
    ) -> Result<()> {
        let (pool, transfer, ticker) = (context.pool(), cuda.transfer(), self.ticker.clone());
        let slot_bytes = copied_bytes(operation, input, Some(&output));
        let mut free: Vec<_> = slots.iter_mut().collect();
        // Each channel has room for as many batches as there can be, so sending never blocks.
        let (give, given) = mpsc::sync_channel::<Batch<'_, 'o, O::Buffers>>(free.len());
        let (done, finished) = mpsc::sync_channel(free.len());
        let downloads = {
            let (ticker, given) = (ticker.clone(), Mutex::new(given));
            let next = move || given.lock().unwrap_or_else(|e| e.into_inner()).recv();
            move || {
                while let Ok(mut batch) = next() {
                    let download = || {
                        cuda.bind()?;
                        // Wait for the first slice, so that its computation is not counted as part of the download.
                        while !batch.slots[0].times[2].is_done()? {
                            ticker.check()?;
                            std::thread::sleep(Duration::from_micros(50));
                        }
                        let started = Instant::now();
                        let results = batch.slots.iter().zip(&batch.places).filter_map(|(slot, place)| {
                            let (side, pitch) = O::result(&slot.buffers)?;
                            Some((place.clone(), DeviceRows { stream: &slot.stream, side, pitch }))
                        });
                        let results: Vec<_> = results.collect();
                        transfer.download(pool, &mut batch.output, &results, &ticker)?;
                        Ok([started, Instant::now()])
                    };
                    let downloaded = catch_unwind(AssertUnwindSafe(download));
                    // After a panic nobody must wait for this batch. The panic is raised again when the threads are joined.
                    let (time, panic) = match downloaded {
                        Ok(time) => (time, None),
                        Err(panic) => (Err(Error::cancelled()), Some(panic)),
                    };
                    let sent = done.send((batch.slices, batch.slots, time));
                    if let Some(panic) = panic {
                        resume_unwind(panic);
                    }
                    if sent.is_err() {
                        break;
                    }
                }
            }
        };
        cpu::beside(DOWNLOADERS, THREAD_NAME, downloads, || {
            let run = || {
                // The first batches are small, so that the first download begins soon.
                let (mut rest, mut first, mut waiting, mut size, mut next) = (output, 0, 0, 1, 0..1);
                let mut counted = Instant::now();
                while waiting > 0 || !next.is_empty() {
                    // 1. Wait until a batch is downloaded, if too few slots are free or no slices are left.
                    if next.is_empty() || free.len() < next.len() {
                        let (slices, batch, time): (_, Vec<_>, Result<[Instant; 2]>) =
                            ticker.receive(&finished, self.progress)?;
                        // Downloads overlap; time in which there are two counts once.
                        let [started, ended] = time?;
                        self.report.seconds_download += (ended - started.max(counted).min(ended)).as_secs_f64();
                        counted = counted.max(ended);
                        self.add_computed(batch.iter().map(|slot| &**slot), operation, &slices)?;
                        waiting -= 1;
                        free.extend(batch);
                        // When nothing is left to do, the call must not be cancelled any more.
                        if waiting > 0 {
                            ticker.report(self.progress)?;
                        }
                        continue;
                    }
                    let mut batch = free.split_off(free.len() - next.len());
                    // 2. Upload the next slices, and queue their computations.
                    let places: Vec<_> = next.clone().map(|slice| operation.slices(slice)).collect();
                    let end = places.last().map_or(first, |place| place.end);
                    let (own, after) = rest.split_at(end - first);
                    // When working in place, the slices of a batch are read before they are written.
                    let (source, before) = input.map_or_else(|| (own.view(), first), |input| (input.reborrow(), 0));
                    let slots = (next.clone(), batch.iter().map(|slot| &**slot));
                    self.begin(context, cuda, operation, slots, (&source, before), slot_bytes)?;
                    for (slice, slot) in next.clone().zip(&mut batch) {
                        self.compute(operation, slot, &source, slice, None)?;
                    }
                    // 3. Hand the batch to the other threads, one of which downloads the results.
                    let places = places.into_iter().map(|place| place.start - first..place.end - first).collect();
                    let slices = next.clone();
                    give.send(Batch { slices, slots: batch, places, output: own }).map_err(|_| Error::cancelled())?;
                    (rest, first, waiting, size) = (after, end, waiting + 1, together.min(2 * size));
                    next = next.end..self.count.min(next.end + size);
                }
                Ok(())
            };
            let result = run();
            if result.is_err() {
                ticker.cancel();
            }
            // The other threads end when no more batches can come.
            drop(give);
            result
        })?
    }

    /// Tells whether the copy of a batch of slices of this many bytes may take long.
    fn takes_long(&self, slot_bytes: usize) -> bool {
        self.count == 1 || slot_bytes > TOGETHER_BYTES
    }

    /// Runs a copy. This thread reports progress meanwhile if it takes long.
    fn copy(
        &mut self,
        pool: &ThreadPool,
        takes_long: bool,
        work: impl FnOnce(&Ticker) -> Result<()> + Send,
    ) -> Result<()> {
        let ticker = self.ticker.clone();
        if takes_long && self.progress.is_some() {
            progress::run(pool, self.progress, &ticker, || work(&ticker))
        } else {
            work(&ticker)
        }
    }

    /// Queues the uploads of slices of `source` to their slots. The first slice of `source` has the number `first`.
    fn begin<'s, O: SliceOperation>(
        &mut self,
        context: &Context,
        cuda: &Cuda,
        operation: &O,
        (slices, slots): (Range<usize>, impl Iterator<Item = &'s Slot<O::Buffers>>),
        (source, first): (&Image<'_>, usize),
        slot_bytes: usize,
    ) -> Result<()>
    where
        O::Buffers: 's,
    {
        let mut uploads = Vec::new();
        for (slice, slot) in slices.zip(slots) {
            self.poll(slice, 0.0)?;
            slot.stream.record(&slot.times[0])?;
            let Range { start, end } = operation.reads(slice);
            if start < end {
                uploads.push((start - first..end - first, &slot.stream, &slot.upload));
            }
        }
        if uploads.is_empty() {
            // If no slices are left, all results may have been written, so the call must not be cancelled any more.
            return Ok(());
        }
        self.copy(context.pool(), self.takes_long(slot_bytes), |ticker| {
            // This thread may have worked for another device in the meantime.
            cuda.bind()?;
            Upload::queue(context.pool(), source, uploads.into_iter(), ticker)
        })
    }

    /// Queues the computation of a slice that is in its slot.
    fn compute<O: SliceOperation>(
        &mut self,
        operation: &mut O,
        slot: &mut Slot<O::Buffers>,
        source: &Image<'_>,
        slice: usize,
        output: Option<&ImageMut<'_>>,
    ) -> Result<()> {
        let pixels = slot.upload.slices(source, &operation.reads(slice));
        slot.stream.record(&slot.times[1])?;
        operation.compute(self, slot, pixels, slice, output)?;
        slot.stream.record(&slot.times[2])
    }

    /// Adds the times of slices that are computed to the report.
    fn add_computed<'s, O: SliceOperation>(
        &mut self,
        slots: impl Iterator<Item = &'s Slot<O::Buffers>>,
        operation: &O,
        slices: &Range<usize>,
    ) -> Result<()>
    where
        O::Buffers: 's,
    {
        let mut uploaded = 0.0f64;
        for slot in slots {
            uploaded = slot.times[0].seconds_to(&slot.times[1])?.max(uploaded);
            self.report.seconds_compute += slot.times[1].seconds_to(&slot.times[2])?;
        }
        self.report.seconds_upload += uploaded;
        self.report.slices_done += slices.clone().map(|slice| operation.slices(slice).len() as u64).sum::<u64>();
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

/// Slices in flight whose results go to host memory together.
struct Batch<'s, 'o, B> {
    /// Their numbers in the pipeline.
    slices: Range<usize>,
    slots: Vec<&'s mut Slot<B>>,
    /// The slices of `output` that are the results of each.
    places: Vec<Range<usize>>,
    output: ImageMut<'o>,
}

/// An operation that computes one output slice from each input slice (or a group from a group, or a volume from a
/// volume); all are called slices here, and counted by the pipeline.
pub(crate) trait SliceOperation: Sync {
    /// The device memory of one slice in flight.
    type Buffers: Send + Sync;

    /// Returns the slices of the image that slice `slice` of the pipeline stands for.
    fn slices(&self, slice: usize) -> Range<usize>;

    /// Returns the slices of the image that a slice of the pipeline reads: its own, with their halo if there is one.
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

    /// True if [`finish`](Self::finish) has work to do.
    const FINISHES: bool = false;

    /// Does the remaining work on the host for slices whose kernels are done, each with its slot.
    fn finish(
        &mut self,
        _pipeline: &mut Pipeline<'_, '_, '_>,
        _slots: &[Slot<Self::Buffers>],
        _slices: Range<usize>,
        _output: Option<&mut ImageMut<'_>>,
    ) -> Result<()> {
        Ok(())
    }

    /// Returns the location of a slot's result, and its bytes from row to row; `None` if the kernels write to the caller's
    /// memory.
    fn result(buffers: &Self::Buffers) -> Option<(Side, usize)>;
}

/// Returns the image that a pipeline reads, which is the output if it works in place.
fn source_of<'a>(input: Option<&'a Image<'_>>, output: Option<&'a ImageMut<'_>>) -> Image<'a> {
    match (input, output) {
        (Some(input), _) => input.reborrow(),
        (None, Some(output)) => output.view(),
        (None, None) => unreachable!("without an input there is an output"),
    }
}

/// Returns the larger of the numbers of bytes of a slice in the input and in the output.
fn copied_bytes<O: SliceOperation>(operation: &O, input: Option<&Image<'_>>, output: Option<&ImageMut<'_>>) -> usize {
    let of = |slices: Range<usize>, [width, height, _]: [usize; 3], pixel_bytes: usize| {
        slices.len() * width * height * pixel_bytes
    };
    let read = input.map_or(0, |input| of(operation.reads(0), input.shape(), input.pixel_type().bytes()));
    read.max(output.map_or(0, |output| of(operation.slices(0), output.shape(), output.pixel_type().bytes())))
}

/// Returns the number of slots that copy together: as many as have [`TOGETHER_BYTES`], but few enough for [`BATCHES`]
/// batches in flight.
fn slots_together(bytes: usize, slots: usize) -> usize {
    (TOGETHER_BYTES / bytes.max(1)).clamp(1, (slots / BATCHES).max(1))
}

impl Cuda {
    pub(crate) fn times(&self) -> Result<Times> {
        Ok([self.event()?, self.event()?, self.event()?, self.event()?])
    }

    /// Returns the number of slots of `slot_bytes` each that fit the memory budget: at most `most`, at least one.
    pub(crate) fn slots_that_fit(&self, slot_bytes: u64, most: usize) -> Result<usize> {
        Ok(usize::try_from(self.budget()? / (slot_bytes + SLOT_ROUNDING)).unwrap_or(usize::MAX).clamp(1, most))
    }
}
