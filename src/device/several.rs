//! Several devices for one call. Slices of a stack, or other independent items, are divided among the devices of a context:
//! each device gets a contiguous range, and computes it in a separate thread, exactly as a context on that device alone
//! would. So the results do not depend on the number of devices.

use super::{Context, cpu};
use crate::error::{Error, ErrorKind, Result};
use crate::image::{Image, ImageMut};
use crate::progress::{self, CancelFlag, Progress, Ticker};
use crate::report::Parts;
use ndarray::Axis;
use rayon::{BroadcastContext, ThreadPool};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};

/// The beginning of the names of the threads that compute on one device each.
const THREAD_NAME: &str = "isoline-device-";

/// The units of progress of an item.
pub(super) const UNITS: u64 = 1 << 20;

/// Images and lists with an element for each slice of a call, which are divided with the slices.
pub(crate) trait Slices: Sized + Send {
    /// Divides it before a slice. It must be in host memory.
    fn split_at(self, slice: usize) -> (Self, Self);
}

impl<T: Slices> Slices for Option<T> {
    fn split_at(self, slice: usize) -> (Self, Self) {
        self.map(|all| all.split_at(slice)).unzip()
    }
}

impl<T: Slices, const N: usize> Slices for [T; N] {
    fn split_at(self, slice: usize) -> (Self, Self) {
        let mut parts = self.map(|all| {
            let (before, after) = all.split_at(slice);
            (Some(before), Some(after))
        });
        let taken = "each is taken once";
        let before = parts.each_mut().map(|part| part.0.take().expect(taken));
        (before, parts.map(|part| part.1.expect(taken)))
    }
}

macro_rules! image_slices {
    ($image:ident) => {
        impl Slices for $image<'_> {
            fn split_at(self, slice: usize) -> (Self, Self) {
                match self {
                    Self::U8(view) => split_view(view.split_at(Axis(0), slice), Self::U8),
                    Self::U16(view) => split_view(view.split_at(Axis(0), slice), Self::U16),
                    Self::F32(view) => split_view(view.split_at(Axis(0), slice), Self::F32),
                    Self::Device(_) => unreachable!("device memory is not divided"),
                }
            }
        }
    };
}
image_slices!(Image);
image_slices!(ImageMut);

/// Makes images of both parts of a view.
fn split_view<V, I>((before, after): (V, V), image: impl Fn(V) -> I) -> (I, I) {
    (image(before), image(after))
}

impl<'a> Image<'a> {
    /// Returns some of the slices.
    pub(crate) fn slices(self, range: &Range<usize>) -> Self {
        match self {
            Self::Device(pixels) => Self::Device(pixels.slices(range)),
            image => image.split_at(range.end).0.split_at(range.start).1,
        }
    }
}

/// The slices of an input whose results are wanted.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    /// The range of these slices in the input. The input also has the slices on which they depend.
    pub(crate) at: Range<usize>,
    /// The number of the first of them in the whole stack.
    pub(crate) first: usize,
}

/// Returns the slices of `range` with their halo of `halo` slices on either side, clipped to the `depth` slices of the
/// stack; and the range of the slices of `range` within that.
pub(super) fn with_halo(range: &Range<usize>, halo: usize, depth: usize) -> [Range<usize>; 2] {
    let reads = range.start.saturating_sub(halo)..depth.min(range.end.saturating_add(halo));
    let own = range.start - reads.start..range.end - reads.start;
    [reads, own]
}

/// Returns the least number of slices for a device, or for a batch, if each slice depends on `halo` slices on either side. It
/// is twice the halo, so that a device computes at most as many slices of the halo as of its own.
pub(super) const fn least_slices(halo: usize) -> usize {
    if halo == 0 { 1 } else { halo.saturating_mul(2) }
}

/// The items of a device: their range, and the data for them.
pub(crate) type Job<I> = (Range<usize>, I);

/// The devices of a context with several: each has its own context and thread.
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

    /// Runs `work` for each job on a device of its own, and returns the results, each with the first item of its range. The
    /// calling thread calls `progress` meanwhile. After an error or a panic the other jobs are cancelled; then the first
    /// error is returned, or the panic is resumed.
    fn run<I: Send, T: Send>(
        &self,
        stage: &'static str,
        jobs: Vec<Job<I>>,
        progress: &mut Option<&mut Progress<'_>>,
        work: impl Fn(&Context, I, &mut Option<&mut Progress<'_>>) -> Result<T> + Sync,
    ) -> Result<Vec<(usize, T)>> {
        let flag = CancelFlag::of_this_thread();
        let ticker = Ticker::new(stage);
        ticker.expect(jobs.iter().map(|(range, _)| range.len() as u64 * UNITS).sum());
        let jobs: Vec<_> = jobs.into_iter().map(|job| Mutex::new(Some(job))).collect();
        let part = |thread: BroadcastContext<'_>| {
            let device = thread.index();
            let (range, items) = jobs.get(device)?.lock().unwrap_or_else(PoisonError::into_inner).take()?;
            let mut count = ticker.counting(range.len() as u64 * UNITS);
            CancelFlag::use_here(flag.clone());
            let worked = catch_unwind(AssertUnwindSafe(|| work(&self.parts[device], items, &mut Some(&mut count))));
            CancelFlag::use_here(None);
            let result = worked.unwrap_or_else(|panic| {
                ticker.cancel();
                resume_unwind(panic)
            });
            match &result {
                Ok(_) => drop(count(1.0, stage)),
                Err(_) => ticker.cancel(),
            }
            Some(result.map(|done| (range.start, done)))
        };
        progress::run(&self.threads, progress, &ticker, || {
            // Every thread calls `part` once.
            let results: Vec<Result<_>> = self.threads.broadcast(part).into_iter().flatten().collect();
            // The error of a device that was cancelled does not tell the cause.
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

/// Divides `count` items among some devices, and returns the range of items of each device that takes part.
pub(crate) fn shares(devices: usize, count: usize) -> Vec<Range<usize>> {
    let devices = devices.min(count);
    // Use 128 bits, because the product may overflow although the quotient does not.
    let first = |index: usize| (count as u128 * index as u128 / devices as u128) as usize;
    (0..devices).map(|index| first(index)..first(index + 1)).collect()
}

impl Context {
    /// Returns a context for each device of this context; itself if it has one device.
    pub(crate) fn parts(&self) -> &[Self] {
        self.shared.several.as_ref().map_or(std::slice::from_ref(self), |several| &several.parts)
    }

    /// Tells whether `count` items are divided among several devices.
    pub(crate) fn deals_out(&self, count: usize) -> bool {
        self.shared.several.is_some() && count > 1
    }

    /// Runs jobs in parallel, each on one device of this context, which must have several. There is a job for each range of
    /// [`shares`]. `work` reports the progress of its own job. Each result comes with the index of its first item.
    pub(crate) fn run_shares<I: Send, T: Send>(
        &self,
        stage: &'static str,
        jobs: Vec<Job<I>>,
        progress: &mut Option<&mut Progress<'_>>,
        work: impl Fn(&Context, I, &mut Option<&mut Progress<'_>>) -> Result<T> + Sync,
    ) -> Result<Vec<(usize, T)>> {
        let several = self.shared.several.as_ref().unwrap_or_else(|| unreachable!("there are several devices"));
        several.run(stage, jobs, progress, work)
    }

    /// Runs `work` on the slices `own` of `input`, and on the outputs or lists for them, on one or several devices of this
    /// context. The result of a slice depends on at most `halo` slices on either side. With a `halo` of `None` the slices
    /// are not divided, because results depend on all slices or because not all memory is host memory. `work` gets the
    /// slices that it reads, the range of its own slices among them, and the outputs for these. `join` runs in the pool,
    /// and makes one result from several, each with the number of its first slice.
    pub(super) fn deal_out_slices<O: Slices, T: Send>(
        &self,
        stage: &'static str,
        halo: Option<usize>,
        (input, own, output): (&Image<'_>, Own, O),
        progress: &mut Option<&mut Progress<'_>>,
        work: impl Fn(&Context, &Image<'_>, Own, O, &mut Option<&mut Progress<'_>>) -> Result<T> + Sync,
        join: impl FnOnce(Vec<(usize, T)>, Parts) -> Result<T> + Send,
    ) -> Result<T> {
        let halo = match halo {
            Some(halo) if self.deals_out(own.at.len() / least_slices(halo)) => halo,
            _ => return work(self, input, own, output, progress),
        };
        let (mut jobs, mut rest) = (Vec::new(), output);
        for share in shares(self.parts().len().min(own.at.len() / least_slices(halo)), own.at.len()) {
            let (own_output, after) = rest.split_at(share.len());
            let at = own.at.start + share.start..own.at.start + share.end;
            let [reads, at] = with_halo(&at, halo, input.shape()[2]);
            let own = Own { at, first: own.first + share.start };
            jobs.push((share, (input.slices(&reads), own, own_output)));
            rest = after;
        }
        let results = self.run_shares(stage, jobs, progress, |part, (input, own, output), progress| {
            work(part, &input, own, output, progress)
        })?;
        self.pool().install(|| join(results, Parts::SideBySide))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::ControlFlow;
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    fn parts(count: usize) -> Context {
        Context::of_parts(&vec!["cpu"; count]).unwrap()
    }

    fn jobs(devices: usize, count: usize) -> Vec<Job<Range<usize>>> {
        shares(devices, count).into_iter().map(|share| (share.clone(), share)).collect()
    }

    #[test]
    fn shares_are_contiguous_and_differ_by_one_at_most() {
        for (devices, count) in [(1, 0), (3, 0), (3, 1), (3, 2), (3, 3), (3, 7), (8, 64), (5, usize::MAX)] {
            let shares = shares(devices, count);
            assert_eq!(shares.len(), devices.min(count));
            assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert_eq!(shares.iter().map(|share| share.len()).sum::<usize>(), count);
            let lengths = || shares.iter().map(|share| share.len());
            assert!(lengths().max().unwrap_or(0) - lengths().min().unwrap_or(0) <= 1);
        }
    }

    #[test]
    fn each_device_gets_its_share_on_a_thread_of_its_own() {
        let context = parts(3);
        for count in [1, 2, 3, 7] {
            let done = context.run_shares("test", jobs(3, count), &mut None, |part, share, _| {
                Ok((std::ptr::from_ref(part) as usize, std::thread::current().id(), share))
            });
            let done = done.unwrap();
            for (index, (first, (part, _, share))) in done.iter().enumerate() {
                assert_eq!((*first, *part), (share.start, std::ptr::from_ref(&context.parts()[index]) as usize));
            }
            assert_eq!(done.len(), count.min(3));
            assert!(done.windows(2).all(|pair| pair[0].1.1 != pair[1].1.1));
        }
    }

    #[test]
    fn the_error_of_one_device_ends_the_call_and_cancels_the_others() {
        let context = parts(3);
        let mut callback = |_: f64, _: &str| ControlFlow::Continue(());
        for (failing, told) in [(0, true), (1, true), (2, true), (1, false)] {
            let started = Instant::now();
            let mut progress = told.then_some(&mut callback as &mut Progress<'_>);
            let done = context.run_shares("test", jobs(3, 7), &mut progress, |_, share, progress| {
                if share.start == 7 * failing / 3 {
                    return Err(Error::memory(format!("device {failing} is out of memory")));
                }
                let ticker = Ticker::new("test");
                while started.elapsed() < Duration::from_secs(30) {
                    ticker.report(progress)?;
                    std::thread::sleep(Duration::from_millis(1));
                }
                Ok(())
            });
            let error = done.unwrap_err();
            assert_eq!(error.message(), format!("device {failing} is out of memory"));
            assert!(started.elapsed() < Duration::from_secs(20));
        }
    }

    #[test]
    fn progress_is_the_mean_of_all_items_and_never_falls() {
        let (context, seen) = (parts(2), Mutex::new(Vec::new()));
        let caller = std::thread::current().id();
        let mut callback = |fraction: f64, _: &str| {
            assert_eq!(std::thread::current().id(), caller);
            seen.lock().unwrap().push(fraction);
            ControlFlow::Continue(())
        };
        // Waits for two more calls of the callback with a fraction that includes all of the first device.
        let wait = || {
            let (started, before) = (Instant::now(), seen.lock().unwrap().len());
            while seen.lock().unwrap()[before..].iter().filter(|fraction| **fraction > 0.666).count() < 2 {
                assert!(started.elapsed() < Duration::from_secs(30), "{seen:?}");
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        context
            .run_shares("test", jobs(2, 3), &mut Some(&mut callback), |_, share, progress| {
                // The first device, with one item, is done at once; the other, with two, is half done and then falls back.
                if share.start > 0 {
                    for fraction in [0.5, 0.2] {
                        progress.as_mut().map(|progress| progress(fraction, "part"));
                        wait();
                    }
                }
                Ok(())
            })
            .unwrap();
        let seen = seen.into_inner().unwrap();
        assert!(seen.is_sorted(), "{seen:?}");
        // On a busy computer the callback may also be called when all is done.
        assert!(seen.iter().all(|fraction| *fraction == 1.0 || *fraction < 0.667), "{seen:?}");
        assert!(seen.iter().any(|fraction| (fraction - 2.0 / 3.0).abs() < 1e-3), "{seen:?}");
    }

    #[test]
    #[should_panic(expected = "boom")]
    fn the_panic_of_one_device_reaches_the_caller_and_cancels_the_others() {
        let _ = parts(2).run_shares("test", jobs(2, 2), &mut None, |_, share, progress| {
            assert!(share.start == 0, "boom");
            let (ticker, started) = (Ticker::new("test"), Instant::now());
            while ticker.report(progress).is_ok() {
                assert!(started.elapsed() < Duration::from_secs(30), "not cancelled");
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        });
    }

    #[test]
    fn a_context_of_one_device_deals_nothing_out() {
        let context = Context::new("cpu").unwrap();
        assert!(!context.deals_out(100) && parts(2).deals_out(2) && !parts(2).deals_out(1));
        assert_eq!(context.devices().len(), 1);
        assert!(Context::of_parts(&["cpu"]).unwrap().shared.several.is_none());
    }
}
