//! The slice pipeline: while one slot computes a slice (or a group of slices, or a volume), another uploads and a third
//! downloads. A slot owns a stream and the buffers of one slice in flight.

use super::{Cuda, Event};
use crate::device::Context;
use crate::error::Result;
use crate::progress::{Progress, Ticker};
use crate::report::Report;
use std::time::Duration;

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

    /// Ends the call.
    pub(crate) fn end(self, cuda: &Cuda) -> Report {
        Report { peak_device_bytes: cuda.memory().peak(), ..self.report }
    }
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
