//! Several devices for one call. Slices of a stack, or other items that do not depend on each other, are dealt out to the
//! devices of a context: each gets a contiguous range of them and computes it in a thread of its own, in the way in which a
//! context on that device alone computes it. So the results are the same whatever the number of devices.

use super::{Context, cpu};
use crate::error::{Error, ErrorKind, Result};
use crate::image::{Image, ImageMut};
use crate::progress::{self, CancelFlag, Progress, Ticker, may_cancel};
use ndarray::{Axis, s};
use rayon::{BroadcastContext, ThreadPool};
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, PoisonError};

/// The beginning of the names of the threads that compute on one device each.
const THREAD_NAME: &str = "isoline-device-";

/// The units of progress of an item.
const UNITS: u64 = 1 << 20;

/// What a call has for each slice, and is divided with them.
pub(crate) trait Slices: Sized + Send {
    /// Divides it in front of a slice. It is in host memory.
    fn split_at(self, slice: usize) -> (Self, Self);
}

impl Slices for () {
    fn split_at(self, _slice: usize) -> (Self, Self) {
        ((), ())
    }
}

impl<T: Slices> Slices for Option<T> {
    fn split_at(self, slice: usize) -> (Self, Self) {
        self.map(|all| all.split_at(slice)).unzip()
    }
}

impl Slices for Image<'_> {
    fn split_at(self, slice: usize) -> (Self, Self) {
        fn part<'a>(
            image: Image<'a>,
            slices: impl ndarray::SliceArg<ndarray::Ix3, OutDim = ndarray::Ix3>,
        ) -> Image<'a> {
            match image {
                Image::U8(view) => Image::U8(view.slice_move(slices)),
                Image::U16(view) => Image::U16(view.slice_move(slices)),
                Image::F32(view) => Image::F32(view.slice_move(slices)),
                Image::Device(_) => unreachable!("device memory is not divided"),
            }
        }
        (part(self, s![..slice, .., ..]), part(self, s![slice.., .., ..]))
    }
}

impl Slices for ImageMut<'_> {
    fn split_at(self, slice: usize) -> (Self, Self) {
        macro_rules! split {
            ($view:ident, $variant:ident) => {{
                let (before, after) = $view.split_at(Axis(0), slice);
                (Self::$variant(before), Self::$variant(after))
            }};
        }
        match self {
            Self::U8(view) => split!(view, U8),
            Self::U16(view) => split!(view, U16),
            Self::F32(view) => split!(view, F32),
            Self::Device(_) => unreachable!("device memory is not divided"),
        }
    }
}

/// The devices of a context that has several: each as a context of its own, and with a thread.
pub(super) struct Several {
    pub(super) parts: Vec<Context>,
    threads: Arc<ThreadPool>,
}

impl Several {
    /// Starts a thread for each device.
    pub(super) fn new(parts: Vec<Context>) -> Result<Self> {
        let threads = cpu::start_threads(parts.len(), THREAD_NAME)?;
        Ok(Self { parts, threads })
    }

    /// Runs `work` on as many devices as there are jobs, each with the items of its range, and returns the results with the
    /// first item of each. The calling thread calls `progress` meanwhile. After an error the others are cancelled, if the
    /// call can be cancelled at all, else they end their work; then the first error is returned.
    fn run<I: Send, T: Send>(
        &self,
        stage: &'static str,
        jobs: Vec<(Range<usize>, I)>,
        progress: &mut Option<&mut Progress<'_>>,
        work: impl Fn(&Context, I, &mut Option<&mut Progress<'_>>) -> Result<T> + Sync,
    ) -> Result<Vec<(usize, T)>> {
        let (can_cancel, flag) = (may_cancel(progress), CancelFlag::of_this_thread());
        let ticker = Ticker::new(stage);
        ticker.expect(jobs.iter().map(|(range, _)| range.len() as u64 * UNITS).sum());
        let jobs: Vec<_> = jobs.into_iter().map(|job| Mutex::new(Some(job))).collect();
        let part = |thread: BroadcastContext<'_>| {
            let device = thread.index();
            let (range, items) = jobs.get(device)?.lock().unwrap_or_else(PoisonError::into_inner).take()?;
            let (units, mut counted) = (range.len() as u64 * UNITS, 0);
            let mut count = |fraction: f64, _: &str| {
                let done = (fraction * units as f64) as u64;
                ticker.add(done.saturating_sub(counted));
                counted = counted.max(done);
                if ticker.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            CancelFlag::use_here(flag.clone());
            let result = work(&self.parts[device], items, &mut can_cancel.then_some(&mut count as &mut Progress<'_>));
            CancelFlag::use_here(None);
            match &result {
                Ok(_) => drop(count(1.0, stage)),
                Err(_) => ticker.cancel(),
            }
            Some(result.map(|done| (range.start, done)))
        };
        progress::run(&self.threads, progress, &ticker, || {
            // Every thread calls it once.
            let results: Vec<Result<_>> = self.threads.broadcast(part).into_iter().flatten().collect();
            // A device that was cancelled says nothing about why.
            let is_reason = |result: &Result<_>| matches!(result, Err(error) if error.kind() != ErrorKind::Cancelled);
            match results.iter().position(is_reason) {
                Some(index) => {
                    Err(results.into_iter().nth(index).and_then(Result::err).unwrap_or_else(Error::cancelled))
                }
                None => results.into_iter().collect(),
            }
        })
    }
}

/// Returns the range of items of each device that takes part where `count` items are dealt out to some devices.
pub(crate) fn shares(devices: usize, count: usize) -> Vec<Range<usize>> {
    let devices = devices.min(count);
    // Of many items the product overflows, not the quotient.
    let first = |index: usize| (count as u128 * index as u128 / devices as u128) as usize;
    (0..devices).map(|index| first(index)..first(index + 1)).collect()
}

impl Context {
    /// Returns the devices of this context, each as a context of its own; itself if it has one device.
    pub(super) fn parts(&self) -> &[Self] {
        self.shared.several.as_ref().map_or(std::slice::from_ref(self), |several| &several.parts)
    }

    /// Returns whether `count` items are dealt out to several devices.
    pub(crate) fn deals_out(&self, count: usize) -> bool {
        self.shared.several.is_some() && count > 1
    }

    /// Runs jobs side by side, each on a device of this context, which has several: those that [`shares`] gives a range. `work` reports the progress of its own job. The results have the index of the first item of each.
    pub(crate) fn run_shares<I: Send, T: Send>(
        &self,
        stage: &'static str,
        jobs: Vec<(Range<usize>, I)>,
        progress: &mut Option<&mut Progress<'_>>,
        work: impl Fn(&Context, I, &mut Option<&mut Progress<'_>>) -> Result<T> + Sync,
    ) -> Result<Vec<(usize, T)>> {
        let several = self.shared.several.as_ref().unwrap_or_else(|| unreachable!("there are several devices"));
        several.run(stage, jobs, progress, work)
    }

    /// Runs `work` on `input` and what else a call has for its slices. If the slices are `independent`, their memory the
    /// host's, and this context has several devices, each of them works on its own slices, and `join` makes one result of
    /// theirs, each of which has the number of its first slice.
    pub(crate) fn by_slices<O: Slices, T: Send>(
        &self,
        stage: &'static str,
        independent: bool,
        (input, output): (&Image<'_>, O),
        progress: &mut Option<&mut Progress<'_>>,
        work: impl Fn(&Context, &Image<'_>, O, &mut Option<&mut Progress<'_>>) -> Result<T> + Sync,
        join: impl FnOnce(Vec<(usize, T)>) -> Result<T>,
    ) -> Result<T> {
        let count = input.shape()[2];
        if !independent || !self.deals_out(count) {
            return work(self, input, output, progress);
        }
        let (mut jobs, mut rest) = (Vec::new(), (*input, output));
        for share in shares(self.parts().len(), count) {
            let ((own, after), (own_output, after_output)) =
                (rest.0.split_at(share.len()), rest.1.split_at(share.len()));
            jobs.push((share, (own, own_output)));
            rest = (after, after_output);
        }
        join(self.run_shares(stage, jobs, progress, |part, (input, output), progress| {
            work(part, &input, output, progress)
        })?)
    }
}
