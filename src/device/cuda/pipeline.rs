//! The slice pipeline: while one slot computes a slice (or a group of slices, or a volume), another uploads the next and
//! downloads the result before. A slot owns a stream and the buffers of one slice in flight.

use super::{Cuda, DeviceSlices, Event, Side, Stream, Upload, output_is_direct};
use crate::device::Context;
use crate::error::Result;
use crate::image::{Image, ImageMut};
use crate::progress::{Progress, Ticker};
use crate::report::Report;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The events of a slice: before its upload, after it, after the computation, and after the download.
pub(crate) type Times = [Event; 4];

/// The progress and the report of a call whose slices run in a pipeline.
pub(crate) struct Pipeline<'a, 'p, 'q> {
    pub(crate) progress: &'a mut Option<&'p mut Progress<'q>>,
    pub(crate) ticker: Ticker,
    pub(crate) report: Report,
    /// The number of slices.
    pub(crate) count: usize,
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
        Ok(Self { progress, ticker, report: Report::new(context.device()), count })
    }

    /// Reports progress to the caller, at intervals, and checks for cancellation. `fraction` is that of the slice.
    pub(crate) fn poll(&mut self, slice: usize, fraction: f64) -> Result<()> {
        self.ticker.section(slice, self.count);
        self.ticker.set(fraction);
        self.ticker.report(self.progress)
    }

    /// Waits for the computation of a slice; reports progress meanwhile.
    pub(crate) fn wait(&mut self, times: &Times, slice: usize, fraction: f64) -> Result<()> {
        while self.progress.is_some() && !times[2].is_done()? {
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

    /// Runs `operation` on all slices of `input`, each in the next of `slots`.
    pub(crate) fn run<O: SliceOperation>(
        &mut self,
        context: &Context,
        cuda: &Cuda,
        operation: &mut O,
        slots: &mut [Slot<O::Buffers>],
        input: &Image<'_>,
        output: &mut ImageMut<'_>,
    ) -> Result<()> {
        let (count, in_flight, pool, transfer) = (self.count, slots.len(), context.pool(), cuda.transfer());
        // A single image or volume is written only after the last call of the callback, because it must stay untouched
        // on a cancellation.
        let direct = output_is_direct(output);
        let queue_downloads = direct && count > 1;
        for step in 0..count + in_flight {
            let slot = &mut slots[step % in_flight];
            let (begin, end) = ((step < count).then_some(step), step.checked_sub(in_flight));
            // 1. Wait for the slice that the slot has computed.
            if let Some(slice) = end {
                self.wait(&slot.times, slice, 0.95)?;
                self.report.seconds_upload += slot.times[0].seconds_to(&slot.times[1])?;
                self.report.seconds_compute += slot.times[1].seconds_to(&slot.times[2])?;
                if queue_downloads {
                    slot.times[3].synchronize()?;
                    self.report.seconds_download += slot.times[2].seconds_to(&slot.times[3])?;
                }
            }
            // 2. Download its result while the next slice is uploaded.
            if let Some(slice) = begin {
                self.poll(slice, 0.0)?;
                slot.stream.record(&slot.times[0])?;
            }
            let Slot { stream, upload, buffers, .. } = slot;
            let up = || begin.map(|slice| upload.queue(pool, stream, input, operation.slices(slice))).transpose();
            let mut down = || -> Result<f64> {
                let started = Instant::now();
                if let (Some(slice), Some((from, pitch)), false) = (end, O::result(buffers), queue_downloads) {
                    transfer.download(pool, stream, from, pitch, output, operation.slices(slice))?;
                    if direct {
                        stream.synchronize()?;
                    }
                }
                Ok(started.elapsed().as_secs_f64())
            };
            let (pixels, seconds) = if begin.is_some() && end.is_some() && !queue_downloads {
                let (pixels, seconds) = pool.join(up, down);
                (pixels?, seconds?)
            } else {
                (up()?, down()?)
            };
            self.report.seconds_download += seconds;
            if let Some(slice) = end {
                self.report.slices_done = operation.slices(slice).end as u64;
            }
            // 3. Queue the computation.
            if let (Some(slice), Some(pixels)) = (begin, pixels) {
                slot.stream.record(&slot.times[1])?;
                operation.compute(self, slot, pixels, slice, output)?;
                slot.stream.record(&slot.times[2])?;
                if let (Some((from, pitch)), true) = (O::result(&slot.buffers), queue_downloads) {
                    transfer.download(pool, &slot.stream, from, pitch, output, operation.slices(slice))?;
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
    times: Times,
    upload: Upload,
    /// The operation's own buffers.
    pub(crate) buffers: B,
}

impl<B> Slot<B> {
    /// Makes a slot for up to `slices` slices of `input`.
    pub(crate) fn new(cuda: &Cuda, input: &Image<'_>, slices: usize, buffers: B) -> Result<Self> {
        let upload = Upload::new(cuda, input, slices, 1)?;
        Ok(Self { stream: cuda.stream()?, times: cuda.times()?, upload, buffers })
    }
}

/// An operation that computes one output slice from each input slice (or a group from a group, or a volume from a
/// volume); all are called slices here, and counted by the pipeline.
pub(crate) trait SliceOperation: Sync {
    /// The device memory of one slice in flight.
    type Buffers: Sync;

    /// Returns the slices of the image that slice `slice` of the pipeline is.
    fn slices(&self, slice: usize) -> Range<usize>;

    /// Queues the kernels of a slice, whose pixels are at `pixels`.
    fn compute(
        &mut self,
        pipeline: &mut Pipeline<'_, '_, '_>,
        slot: &mut Slot<Self::Buffers>,
        pixels: DeviceSlices,
        slice: usize,
        output: &ImageMut<'_>,
    ) -> Result<()>;

    /// Returns the result of a slot, and the bytes from row to row; `None` if the kernels wrote it to the caller's
    /// memory.
    fn result(buffers: &Self::Buffers) -> Option<(Side, usize)>;
}

/// Runs `count` slices through the slots, at least one and at most `count`: finishes the slice of a slot before the slot
/// begins the next. The output is not part of `call` because both steps write to it.
pub(crate) fn run_slices<C, S, O>(
    call: &mut C,
    slots: &mut [S],
    count: usize,
    output: &mut O,
    begin: impl Fn(&mut C, &mut S, usize, &mut O) -> Result<()>,
    finish: impl Fn(&mut C, &mut S, usize, &mut O) -> Result<()>,
) -> Result<()> {
    let in_flight = slots.len();
    for slice in 0..count {
        let slot = &mut slots[slice % in_flight];
        if slice >= in_flight {
            finish(call, slot, slice - in_flight, output)?;
        }
        begin(call, slot, slice, output)?;
    }
    (count - in_flight..count).try_for_each(|slice| finish(call, &mut slots[slice % in_flight], slice, output))
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
