//! Progress and cancellation: a callback on the caller's thread, and the [`Ticker`] that workers report to.

use crate::device::STACK_SIZE;
use crate::error::{Error, Result};
use rayon::ThreadPool;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A progress callback: the fraction done in 0..=1 and the name of the stage. Isoline calls it on the thread that made the
/// call, at the beginning of each part of the call and then at most every 10 ms; how often depends on the operation and the
/// device. `ControlFlow::Break(())` cancels the call, which then returns
/// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
pub type Progress<'a> = dyn FnMut(f64, &str) -> ControlFlow<()> + 'a;

/// The cancel flag of a thread, see [`set_cancel_flag`].
#[derive(Clone, Debug)]
pub(crate) enum CancelFlag {
    /// The flag of a Rust program.
    Shared(Arc<AtomicBool>),
    /// The flag of a C program, which cancels if it is not 0; the program keeps it in memory as long as a thread uses it.
    Foreign(&'static AtomicI32),
}

thread_local! {
    static CANCEL_FLAG: RefCell<Option<CancelFlag>> = const { RefCell::new(None) };
}

impl CancelFlag {
    /// Returns whether the flag cancels the calls of its thread.
    pub(crate) fn is_set(&self) -> bool {
        match self {
            Self::Shared(flag) => flag.load(Ordering::Relaxed),
            Self::Foreign(flag) => flag.load(Ordering::Relaxed) != 0,
        }
    }

    /// Makes this the flag of the calling thread; `None` is none.
    pub(crate) fn use_here(flag: Option<Self>) {
        // An error means that the thread is ending and its storage is gone; such a thread makes no further calls.
        let _ = CANCEL_FLAG.try_with(|current| *current.borrow_mut() = flag);
    }

    /// Returns the flag of the calling thread.
    pub(crate) fn of_this_thread() -> Option<Self> {
        CANCEL_FLAG.try_with(|current| current.borrow().clone()).ok().flatten()
    }
}

/// Sets the cancel flag of the calling thread; `None`, the default, removes it. While the flag is `true`, the calls that
/// this thread makes into Isoline end with [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) within 100 ms, also calls
/// without a progress callback. Any thread may change the flag at any time; Isoline only reads it. A call that has less
/// than 100 ms to go may end as usual. If a callback sets another flag, the call that runs the callback keeps the former
/// one.
///
/// A cancelled call leaves its outputs as they were, except images, which may have been written in part.
///
/// ```
/// use isoline::{ErrorKind, mask, set_cancel_flag};
/// use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
///
/// let stop = Arc::new(AtomicBool::new(false));
/// set_cancel_flag(Some(stop.clone()));
/// // Another thread does this when its user has seen enough.
/// stop.store(true, Ordering::Relaxed);
/// let mut start = ndarray::Array3::<u8>::zeros((20, 64, 64));
/// let ball = mask::Sphere { centre: [32.0, 32.0, 10.0], radius: 12.0 };
/// let error = mask::fill_spheres(start.view_mut().into(), [1.0; 3], &[ball], 255).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Cancelled);
/// set_cancel_flag(None);
/// ```
pub fn set_cancel_flag(flag: Option<Arc<AtomicBool>>) {
    CancelFlag::use_here(flag.map(CancelFlag::Shared));
}

/// Runs work that cannot check for a cancellation, such as a long call of the CUDA driver. If the calling thread has a
/// cancel flag, the work runs on a thread of its own, and once the flag is set this function returns `Err(Cancelled)`: the
/// work continues in the background, and its result is dropped.
pub(crate) fn abandon_if_cancelled<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let Some(flag) = CancelFlag::of_this_thread() else { return work() };
    let made = Arc::new(Mutex::new(None));
    let place = made.clone();
    run_beside(&flag, Box::new(move || *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(work())))?;
    let result = made.lock().unwrap_or_else(PoisonError::into_inner).take();
    result.unwrap_or_else(|| unreachable!("the work is done"))
}

/// Runs work on a thread of its own, and returns when it is done or the flag is set.
fn run_beside(flag: &CancelFlag, work: Box<dyn FnOnce() + Send>) -> Result<()> {
    if flag.is_set() {
        return Err(Error::cancelled());
    }
    // The sender is dropped when the work is done, or has panicked.
    let (running, ended) = mpsc::sync_channel::<()>(0);
    let run = move || {
        let _running = running;
        work();
    };
    let thread = std::thread::Builder::new().name("isoline-driver".into()).stack_size(STACK_SIZE);
    let thread = thread.spawn(run).map_err(|error| {
        Error::memory(format!(
            "cannot start a thread for a call of the driver: {error}; end other threads of the process"
        ))
    })?;
    while ended.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
        if flag.is_set() {
            return Err(Error::cancelled());
        }
    }
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    Ok(())
}

/// The time between two calls of the callback while workers compute. A cancellation must act within 100 ms.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(30);

/// The shortest time between two calls of the callback, whatever the number of slices.
const MIN_CALLBACK_INTERVAL: Duration = Duration::from_millis(10);

/// The progress of a call, shared by the workers, which report the work done and check for cancellation, and the
/// calling thread, which calls the callback.
#[derive(Debug)]
pub struct Ticker {
    cancelled: AtomicBool,
    /// The cancel flag of the thread that made the ticker.
    cancel_flag: Option<CancelFlag>,
    /// The start of the current section as a fraction of the whole (the bits of an f64).
    section_start: AtomicU64,
    /// The share of the current section in the whole (the bits of an f64).
    section_span: AtomicU64,
    /// The fraction of the current section that is done (the bits of an f64).
    section_done: AtomicU64,
    /// The work units done and expected in this section, for workers that count.
    units_done: AtomicU64,
    units_total: AtomicU64,
    /// The largest fraction reported so far. The reported fraction never falls, even while workers change sections.
    last_reported: AtomicU64,
    /// The time of the last call of the callback.
    last_call: Mutex<Option<Instant>>,
    stage: &'static str,
}

impl Ticker {
    /// Makes a ticker at 0 with one section for the whole call. Make it on the thread that called Isoline: it observes that
    /// thread's cancel flag.
    pub fn new(stage: &'static str) -> Self {
        Self {
            cancelled: AtomicBool::new(false),
            cancel_flag: CancelFlag::of_this_thread(),
            section_start: AtomicU64::new(0f64.to_bits()),
            section_span: AtomicU64::new(1f64.to_bits()),
            section_done: AtomicU64::new(0f64.to_bits()),
            units_done: AtomicU64::new(0),
            units_total: AtomicU64::new(0),
            last_reported: AtomicU64::new(0f64.to_bits()),
            last_call: Mutex::new(None),
            stage,
        }
    }

    /// Makes a ticker for copies whose progress is not reported; it only observes the cancel flag of the calling thread.
    pub(crate) fn of_copies() -> Self {
        Self::new("copies")
    }

    /// Makes a ticker for the next part of a call, when another ticker may just have called the callback.
    pub(crate) fn following(stage: &'static str) -> Self {
        Self { last_call: Mutex::new(Some(Instant::now())), ..Self::new(stage) }
    }

    /// Makes a ticker for the rest of a call; `share` of the call is done.
    pub(crate) fn after(stage: &'static str, share: f64) -> Self {
        let ticker = Self::following(stage);
        ticker.section_start.store(share.to_bits(), Ordering::Relaxed);
        ticker.section_span.store((1.0 - share).to_bits(), Ordering::Relaxed);
        ticker
    }

    /// Makes a ticker for the last part of a call, when the fraction is already 1.
    pub(crate) fn at_the_end(stage: &'static str) -> Self {
        let ticker = Self::following(stage);
        ticker.set(1.0);
        ticker
    }

    /// Returns `Err(Cancelled)` once the callback or the cancel flag has cancelled. It is cheap: call it at least every
    /// 20 ms of work.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::cancelled()) } else { Ok(()) }
    }

    /// Returns whether the call is cancelled, for loops that then skip the rest of their work. A [`check`](Self::check) has
    /// to follow, because their result is incomplete.
    pub fn is_cancelled(&self) -> bool {
        if !self.cancelled.load(Ordering::Relaxed) && self.cancel_flag.as_ref().is_some_and(CancelFlag::is_set) {
            // The call stays cancelled even if the flag is cleared before all workers have seen it.
            self.cancel();
        }
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Makes the workers stop at their next check.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Starts section `index` of `count` equal ones, such as the slices of a stack.
    pub fn section(&self, index: usize, count: usize) {
        let count = count.max(1) as f64;
        self.units_total.store(0, Ordering::Relaxed);
        self.units_done.store(0, Ordering::Relaxed);
        self.section_done.store(0f64.to_bits(), Ordering::Relaxed);
        self.section_span.store((1.0 / count).to_bits(), Ordering::Relaxed);
        self.section_start.store((index as f64 / count).to_bits(), Ordering::Relaxed);
    }

    /// Sets the fraction of this section that is done, in 0..=1.
    pub fn set(&self, fraction: f64) {
        self.section_done.store(fraction.clamp(0.0, 1.0).to_bits(), Ordering::Relaxed);
    }

    /// Sets the number of units, such as pixel updates, of this section, which [`add`](Self::add) then counts.
    pub fn expect(&self, units: u64) {
        self.units_total.store(units, Ordering::Relaxed);
    }

    /// Adds finished units, from any thread.
    pub fn add(&self, units: u64) {
        self.units_done.fetch_add(units, Ordering::Relaxed);
    }

    /// Returns the number of units of this section that are not done.
    pub(crate) fn units_left(&self) -> u64 {
        self.units_total.load(Ordering::Relaxed).saturating_sub(self.units_done.load(Ordering::Relaxed))
    }

    /// Returns a callback for a part of the work that is worth `units` units: it adds them to this ticker as the part
    /// proceeds, and cancels the part once this ticker is cancelled.
    pub(crate) fn counting(&self, units: u64) -> impl FnMut(f64, &str) -> ControlFlow<()> + '_ {
        let mut counted = 0;
        move |fraction, _| {
            let done = (fraction * units as f64) as u64;
            self.add(done.saturating_sub(counted));
            counted = counted.max(done);
            if self.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }

    /// Returns the fraction of the whole that is done, in 0..=1.
    pub fn fraction(&self) -> f64 {
        let total = self.units_total.load(Ordering::Relaxed);
        let counted =
            if total == 0 { 0.0 } else { (self.units_done.load(Ordering::Relaxed) as f64 / total as f64).min(1.0) };
        let within = f64::from_bits(self.section_done.load(Ordering::Relaxed)).max(counted);
        let start = f64::from_bits(self.section_start.load(Ordering::Relaxed));
        let span = f64::from_bits(self.section_span.load(Ordering::Relaxed));
        (start + span * within).clamp(0.0, 1.0)
    }

    /// Calls `progress` with the current state, unless its last call was less than 10 ms ago or the call is cancelled;
    /// returns `Err(Cancelled)` if it is. Only the calling thread may call this.
    pub fn report(&self, progress: &mut Option<&mut Progress<'_>>) -> Result<()> {
        // Workers may take a while to see a cancellation; meanwhile the callback is not called again.
        self.check()?;
        if let Some(callback) = progress {
            {
                let mut last = self.last_call.lock().unwrap_or_else(|e| e.into_inner());
                if last.is_some_and(|last| last.elapsed() < MIN_CALLBACK_INTERVAL) {
                    return self.check();
                }
                *last = Some(Instant::now());
            }
            let fraction = self.fraction().max(f64::from_bits(self.last_reported.load(Ordering::Relaxed)));
            self.last_reported.store(fraction.to_bits(), Ordering::Relaxed);
            if callback(fraction, self.stage).is_break() {
                self.cancel();
            }
        }
        self.check()
    }

    /// Waits for a value from another thread, and reports progress meanwhile.
    pub(crate) fn receive<T>(&self, from: &Receiver<T>, progress: &mut Option<&mut Progress<'_>>) -> Result<T> {
        loop {
            match from.recv_timeout(POLL_INTERVAL) {
                Ok(received) => return Ok(received),
                Err(RecvTimeoutError::Timeout) => self.report(progress)?,
                // The other thread ends without sending only if it panics; the panic is raised again when it is joined.
                Err(RecvTimeoutError::Disconnected) => return Err(Error::cancelled()),
            }
        }
    }
}

/// Returns whether a call can be cancelled: by this callback, or by the cancel flag of the calling thread.
pub(crate) fn may_cancel(progress: &Option<&mut Progress<'_>>) -> bool {
    progress.is_some() || CancelFlag::of_this_thread().is_some()
}

/// Does work that must not be cancelled, because the old value that it replaces would be lost.
pub(crate) fn uncancelled<T>(work: impl FnOnce() -> T) -> T {
    /// Restores the flag of the thread when dropped, also after a panic.
    struct Kept(Option<CancelFlag>);
    impl Drop for Kept {
        fn drop(&mut self) {
            CancelFlag::use_here(self.0.take());
        }
    }
    let _kept = Kept(CancelFlag::of_this_thread());
    CancelFlag::use_here(None);
    work()
}

/// Makes a call that is a part of another one: its fraction from 0 to 1 becomes `from` to `to` of the whole. A cancellation
/// counts even if the part ignores it: it is checked again at the end.
pub(crate) fn part<T>(
    progress: &mut Option<&mut Progress<'_>>,
    [from, to]: [f64; 2],
    stage: &str,
    work: impl FnOnce(&mut Option<&mut Progress<'_>>) -> Result<T>,
) -> Result<T> {
    let Some(callback) = progress else { return work(&mut None) };
    let mut cancelled = false;
    let mut within = |fraction: f64, _: &str| {
        let flow = callback(from + (to - from) * fraction, stage);
        cancelled |= flow.is_break();
        flow
    };
    let done = work(&mut Some(&mut within))?;
    if cancelled { Err(Error::cancelled()) } else { Ok(done) }
}

/// Runs `work` on `pool` while this thread calls `progress` every [`POLL_INTERVAL`]. Without a callback it runs `work`
/// on `pool` and waits.
pub(crate) fn run<T: Send>(
    pool: &ThreadPool,
    progress: &mut Option<&mut Progress<'_>>,
    ticker: &Ticker,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    // The work is boxed so that it is compiled once, not for each of the ways in which a pool may start it.
    let work: Box<dyn FnOnce() -> Result<T> + Send> = Box::new(work);
    if progress.is_none() {
        return pool.install(work);
    }
    ticker.report(progress)?;
    let (sender, receiver) = mpsc::channel();
    // The result does not go through the channel, whose code would be compiled for each type of result.
    let mut result = None;
    pool.in_place_scope(|scope| {
        let result = &mut result;
        scope.spawn(move |_| {
            *result = Some(work());
            // The receiver outlives the scope, so a send fails only if the caller is unwinding.
            let _ = sender.send(());
        });
        // If the sender is gone without a message, the worker has panicked; leaving the scope raises the panic here.
        while receiver.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            // The workers check for a cancellation; this thread waits until they have stopped.
            let _ = ticker.report(progress);
        }
    });
    let result = result.unwrap_or_else(|| unreachable!("a worker's panic is raised by the scope"));
    // A callback may cancel just after the work is done: then the next part of the call must not call it again.
    result.and_then(|done| ticker.check().map(|()| done))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use std::sync::atomic::AtomicU32;

    fn pool() -> ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap()
    }

    #[test]
    fn sections_and_units_add_up() {
        let ticker = Ticker::new("test");
        ticker.section(1, 4);
        ticker.expect(10);
        ticker.add(5);
        assert!((ticker.fraction() - 0.375).abs() < 1e-12);
        ticker.set(1.0);
        assert!((ticker.fraction() - 0.5).abs() < 1e-12);
    }

    /// Runs `work` until its callback has cancelled it at the second call, and then `last`. Returns how the call ended, and
    /// the calls of the callback.
    fn cancelled_at_the_second_call(ticker: &Ticker, last: impl Fn() -> Result<()> + Sync) -> (ErrorKind, u32) {
        let calls = AtomicU32::new(0);
        let mut callback = |_: f64, _: &str| {
            if calls.fetch_add(1, Ordering::Relaxed) > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let work = || {
            while calls.load(Ordering::Relaxed) < 2 {
                std::thread::sleep(Duration::from_millis(1));
            }
            last()
        };
        let error = run(&pool(), &mut Some(&mut callback), ticker, work).unwrap_err();
        (error.kind(), calls.into_inner())
    }

    #[test]
    fn callback_is_not_called_after_it_cancels() {
        let ticker = Ticker::new("test");
        let checks_late = || {
            // The next calls of the callback are due long before.
            std::thread::sleep(4 * POLL_INTERVAL);
            ticker.check()
        };
        assert_eq!(cancelled_at_the_second_call(&ticker, checks_late), (ErrorKind::Cancelled, 2));
    }

    #[test]
    fn progress_is_monotonic() {
        let ticker = Ticker::new("test");
        let mut reported = Vec::new();
        for (index, within) in [(0, 0.9), (1, 0.0), (0, 0.1), (2, 0.5)] {
            std::thread::sleep(MIN_CALLBACK_INTERVAL);
            ticker.section(index, 4);
            ticker.set(within);
            let mut callback = |fraction: f64, _: &str| {
                reported.push(fraction);
                ControlFlow::Continue(())
            };
            ticker.report(&mut Some(&mut callback)).unwrap();
        }
        assert!(reported.is_sorted(), "{reported:?}");
        assert!((reported[3] - 0.625).abs() < 1e-12);
    }

    #[test]
    fn cancellation_stops_the_work_within_100_ms() {
        let once = || {
            let ticker = Ticker::new("test");
            let (mut calls, mut asked) = (0, Instant::now());
            let mut callback = |_: f64, _: &str| {
                calls += 1;
                asked = Instant::now();
                if calls > 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let outcome: Result<()> = run(&pool(), &mut Some(&mut callback), &ticker, || {
                loop {
                    ticker.check()?;
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Cancelled);
            asked.elapsed()
        };
        // Other processes may delay a thread, but hardly every time.
        let took = std::iter::repeat_with(once).take(5).min().unwrap();
        assert!(took < Duration::from_millis(100), "{took:?}");
    }

    #[test]
    fn the_flag_of_the_thread_cancels_its_calls_only() {
        let flag = Arc::new(AtomicBool::new(false));
        set_cancel_flag(Some(flag.clone()));
        let ticker = Ticker::new("test");
        ticker.check().unwrap();
        let ended = run(&pool(), &mut None, &ticker, || {
            std::thread::spawn(move || flag.store(true, Ordering::Relaxed)).join().unwrap();
            ticker.check()
        });
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::Cancelled);
        std::thread::spawn(|| Ticker::new("test").check()).join().unwrap().unwrap();
        assert!(Ticker::new("test").is_cancelled());
        // A callback is not called once the flag is set.
        let mut calls = 0;
        let mut callback = |_: f64, _: &str| {
            calls += 1;
            ControlFlow::Continue(())
        };
        assert!(run(&pool(), &mut Some(&mut callback), &Ticker::new("test"), || Ok(())).is_err());
        assert_eq!(calls, 0);
        set_cancel_flag(None);
        Ticker::new("test").check().unwrap();
        // A call stays cancelled, also without the flag.
        ticker.check().unwrap_err();
    }

    #[test]
    fn work_that_is_not_cancelled_leaves_the_flag_of_the_thread() {
        set_cancel_flag(Some(Arc::new(AtomicBool::new(true))));
        uncancelled(|| Ticker::new("test").check()).unwrap();
        Ticker::new("test").check().unwrap_err();
        std::panic::catch_unwind(|| uncancelled(|| panic!("boom"))).unwrap_err();
        Ticker::new("test").check().unwrap_err();
        set_cancel_flag(None);
    }

    #[test]
    fn the_flag_of_a_c_program_is_set_where_it_is_not_0() {
        static FLAG: AtomicI32 = AtomicI32::new(0);
        CancelFlag::use_here(Some(CancelFlag::Foreign(&FLAG)));
        let ticker = Ticker::new("test");
        ticker.check().unwrap();
        FLAG.store(-1, Ordering::Relaxed);
        ticker.check().unwrap_err();
        CancelFlag::use_here(None);
    }

    #[test]
    fn work_that_is_done_before_it_sees_the_cancel_is_cancelled() {
        assert_eq!(cancelled_at_the_second_call(&Ticker::new("test"), || Ok(())), (ErrorKind::Cancelled, 2));
    }

    #[test]
    fn callback_runs_on_the_calling_thread() {
        let caller = std::thread::current().id();
        let ticker = Ticker::new("test");
        let mut callback = |_: f64, _: &str| {
            assert_eq!(std::thread::current().id(), caller);
            ControlFlow::Continue(())
        };
        run(&pool(), &mut Some(&mut callback), &ticker, || {
            std::thread::sleep(Duration::from_millis(80));
            Ok(())
        })
        .unwrap();
    }

    #[test]
    #[should_panic(expected = "boom")]
    fn panic_in_the_work_reaches_the_caller() {
        let ticker = Ticker::new("test");
        let mut callback = |_: f64, _: &str| ControlFlow::Continue(());
        let _: Result<()> = run(&pool(), &mut Some(&mut callback), &ticker, || panic!("boom"));
    }
}
