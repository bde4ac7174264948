//! Progress and cancelling: a callback on the caller's thread, and the [`Ticker`] that workers report to.

use crate::error::{Error, Result};
use rayon::ThreadPool;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// What a progress callback answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continue {
    /// Go on.
    Yes,
    /// Stop: the call returns [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    No,
}

/// A progress callback: the fraction done in 0..=1 and the name of the stage. Always called on the thread that made
/// the call into Isoline, about every 30 ms.
pub type Progress<'a> = dyn FnMut(f64, &str) -> Continue + 'a;

/// How long the calling thread waits between two calls of the callback. A cancel must act within 100 ms.
const POLL: Duration = Duration::from_millis(30);

/// The callback is called at most this often, whatever the number of slices.
const POLITE: Duration = Duration::from_millis(10);

/// The meeting point of the workers, who report what they have done and ask whether to go on, and the calling thread,
/// which calls the callback.
#[derive(Debug)]
pub struct Ticker {
    cancelled: AtomicBool,
    /// Bits of an f64: where the current section starts, how much of the whole it is, and how far it has come.
    section_start: AtomicU64,
    section_span: AtomicU64,
    section_done: AtomicU64,
    /// Work units done and expected in this section, for workers that count.
    units_done: AtomicU64,
    units_total: AtomicU64,
    /// The largest fraction told so far: what a callback sees never falls, even while workers change sections.
    told: AtomicU64,
    /// When the callback was last called.
    last: Mutex<Option<Instant>>,
    stage: &'static str,
}

impl Ticker {
    /// A ticker at 0, whose only section is the whole.
    pub fn new(stage: &'static str) -> Self {
        Self {
            cancelled: AtomicBool::new(false),
            section_start: AtomicU64::new(0f64.to_bits()),
            section_span: AtomicU64::new(1f64.to_bits()),
            section_done: AtomicU64::new(0f64.to_bits()),
            units_done: AtomicU64::new(0),
            units_total: AtomicU64::new(0),
            told: AtomicU64::new(0f64.to_bits()),
            last: Mutex::new(None),
            stage,
        }
    }

    /// `Err(Cancelled)` once the callback has asked to stop. Cheap: call it at least every 20 ms of work.
    pub fn check(&self) -> Result<()> {
        if self.cancelled.load(Ordering::Relaxed) { Err(Error::cancelled()) } else { Ok(()) }
    }

    /// Asks the workers to stop.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Starts section `index` of `count` equal ones (a slice of a stack, say).
    pub fn section(&self, index: usize, count: usize) {
        let count = count.max(1) as f64;
        self.units_total.store(0, Ordering::Relaxed);
        self.units_done.store(0, Ordering::Relaxed);
        self.section_done.store(0f64.to_bits(), Ordering::Relaxed);
        self.section_span.store((1.0 / count).to_bits(), Ordering::Relaxed);
        self.section_start.store((index as f64 / count).to_bits(), Ordering::Relaxed);
    }

    /// Sets how far this section has come, in 0..=1.
    pub fn set(&self, fraction: f64) {
        self.section_done.store(fraction.clamp(0.0, 1.0).to_bits(), Ordering::Relaxed);
    }

    /// Says how many units (pixel updates, say) this section will take; then use [`add`](Self::add).
    pub fn expect(&self, units: u64) {
        self.units_total.store(units, Ordering::Relaxed);
    }

    /// Adds finished units, from any thread.
    pub fn add(&self, units: u64) {
        self.units_done.fetch_add(units, Ordering::Relaxed);
    }

    /// The fraction of the whole that is done, in 0..=1.
    pub fn fraction(&self) -> f64 {
        let total = self.units_total.load(Ordering::Relaxed);
        let counted =
            if total == 0 { 0.0 } else { (self.units_done.load(Ordering::Relaxed) as f64 / total as f64).min(1.0) };
        let within = f64::from_bits(self.section_done.load(Ordering::Relaxed)).max(counted);
        let start = f64::from_bits(self.section_start.load(Ordering::Relaxed));
        let span = f64::from_bits(self.section_span.load(Ordering::Relaxed));
        (start + span * within).clamp(0.0, 1.0)
    }

    /// Calls `progress` with the state now, unless it was called just before or has asked to stop; remembers and reports
    /// a cancel. For code that runs on the calling thread.
    pub fn report(&self, progress: &mut Option<&mut Progress<'_>>) -> Result<()> {
        // Workers may take a while to see a cancel; who has cancelled is not asked again.
        self.check()?;
        if let Some(callback) = progress {
            {
                let mut last = self.last.lock().unwrap_or_else(|e| e.into_inner());
                if last.is_some_and(|last| last.elapsed() < POLITE) {
                    return self.check();
                }
                *last = Some(Instant::now());
            }
            let fraction = self.fraction().max(f64::from_bits(self.told.load(Ordering::Relaxed)));
            self.told.store(fraction.to_bits(), Ordering::Relaxed);
            if callback(fraction, self.stage) == Continue::No {
                self.cancel();
            }
        }
        self.check()
    }
}

/// Runs `work` on `pool` while this thread calls `progress` every [`POLL`]; without a callback, just runs it there.
pub(crate) fn run<T: Send>(
    pool: &ThreadPool,
    progress: &mut Option<&mut Progress<'_>>,
    ticker: &Ticker,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    if progress.is_none() {
        return pool.install(work);
    }
    ticker.report(progress)?;
    let (sender, receiver) = mpsc::channel();
    let result = pool.in_place_scope(|scope| {
        scope.spawn(move |_| {
            // The receiver outlives the scope; a failed send could only mean that the caller is unwinding.
            let _ = sender.send(work());
        });
        loop {
            match receiver.recv_timeout(POLL) {
                Ok(result) => return Some(result),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    // A cancel is picked up by the workers; keep waiting until they have stopped.
                    let _ = ticker.report(progress);
                }
                // The worker panicked: leaving the scope raises its panic here.
                Err(mpsc::RecvTimeoutError::Disconnected) => return None,
            }
        }
    });
    result.unwrap_or_else(|| unreachable!("a worker's panic is raised by the scope"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

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

    #[test]
    fn who_has_cancelled_is_not_asked_again() {
        let ticker = Ticker::new("test");
        let mut calls = 0;
        let mut callback = |_: f64, _: &str| {
            calls += 1;
            if calls > 1 { Continue::No } else { Continue::Yes }
        };
        let slow = || {
            // A worker that notices long after the next calls of the callback were due.
            std::thread::sleep(4 * POLL);
            ticker.check()
        };
        let error = run(&pool(), &mut Some(&mut callback), &ticker, slow).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(calls, 2);
    }

    #[test]
    fn what_is_told_never_falls() {
        let ticker = Ticker::new("test");
        let mut told = Vec::new();
        for (index, within) in [(0, 0.9), (1, 0.0), (0, 0.1), (2, 0.5)] {
            std::thread::sleep(POLITE);
            ticker.section(index, 4);
            ticker.set(within);
            let mut callback = |fraction: f64, _: &str| {
                told.push(fraction);
                Continue::Yes
            };
            ticker.report(&mut Some(&mut callback)).unwrap();
        }
        assert!(told.is_sorted(), "{told:?}");
        assert!((told[3] - 0.625).abs() < 1e-12);
    }

    #[test]
    fn a_cancel_stops_the_work_within_100_ms() {
        let ticker = Ticker::new("test");
        let mut calls = 0;
        let mut callback = |_: f64, _: &str| {
            calls += 1;
            if calls > 1 { Continue::No } else { Continue::Yes }
        };
        let started = Instant::now();
        let outcome: Result<()> = run(&pool(), &mut Some(&mut callback), &ticker, || {
            loop {
                ticker.check()?;
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(started.elapsed() < Duration::from_millis(130));
    }

    #[test]
    fn the_callback_runs_on_the_calling_thread() {
        let me = std::thread::current().id();
        let ticker = Ticker::new("test");
        let mut callback = |_: f64, _: &str| {
            assert_eq!(std::thread::current().id(), me);
            Continue::Yes
        };
        run(&pool(), &mut Some(&mut callback), &ticker, || {
            std::thread::sleep(Duration::from_millis(80));
            Ok(())
        })
        .unwrap();
    }

    #[test]
    #[should_panic(expected = "boom")]
    fn a_panic_in_the_work_reaches_the_caller() {
        let ticker = Ticker::new("test");
        let mut callback = |_: f64, _: &str| Continue::Yes;
        let _: Result<()> = run(&pool(), &mut Some(&mut callback), &ticker, || panic!("boom"));
    }
}
