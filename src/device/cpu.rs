//! The CPU as a device: its worker threads and its description.

use super::{DeviceInfo, DeviceKind, PerProcess, system};
use crate::error::{Error, Result};
use crate::memory::system::memory;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, Mutex, Weak};

/// The thread pools of contexts. A pool lives as long as any context that uses it. The child of a fork has none of these
/// threads.
static SHARED: PerProcess<Mutex<Vec<Weak<ThreadPool>>>> = PerProcess::new(Mutex::new(Vec::new()), |_| Mutex::default());

/// Contexts get separate threads only as long as there are at most this many in total: the C library reserves 64 MiB of
/// address space for each, which may be limited.
const MOST_THREADS: usize = 64;

/// The beginning of the names of the worker threads.
pub(crate) const WORKER_NAME: &str = "isoline-";

/// Returns the thread pool of a new context: a new pool, or the pool that the fewest contexts share if there would be more
/// than [`MOST_THREADS`] threads, or if no more can be started.
///
/// Calls that share a pool may delay each other: a thread that waits for a part of one call may begin another call, and
/// continues with the first only when that has ended.
pub(super) fn shared_pool() -> Result<Arc<ThreadPool>> {
    let mut shared = SHARED.get().lock().unwrap_or_else(|e| e.into_inner());
    shared.retain(|pool| pool.strong_count() > 0);
    let fewest = shared.iter().min_by_key(|pool| pool.strong_count()).and_then(Weak::upgrade);
    match (fewest, (shared.len() + 1) * cores() <= MOST_THREADS) {
        (Some(pool), false) => Ok(pool),
        (fewest, _) => match (new_pool(0), fewest) {
            (Ok(pool), _) => {
                shared.push(Arc::downgrade(&pool));
                Ok(pool)
            }
            (Err(_), Some(pool)) => Ok(pool),
            (Err(error), None) => Err(error),
        },
    }
}

/// The stack of a thread that the library starts: what Rust gives a thread unless the environment's `RUST_MIN_STACK` says otherwise, which may be
/// too little, or too much for each of many threads.
pub(crate) const STACK_SIZE: usize = 2 << 20;

pub(super) fn new_pool(threads: usize) -> Result<Arc<ThreadPool>> {
    start_threads(if threads == 0 { cores() } else { threads }, WORKER_NAME)
}

/// Starts threads, whose names begin with `name`, which begins with [`WORKER_NAME`].
pub(super) fn start_threads(count: usize, name: &'static str) -> Result<Arc<ThreadPool>> {
    let pool = ThreadPoolBuilder::new()
        .num_threads(count)
        .stack_size(STACK_SIZE)
        .thread_name(move |index| format!("{name}{index}"))
        .build()
        .map_err(|e| Error::memory(format!("cannot start the worker threads: {e}; close other programs")))?;
    // Make each worker touch its thread-local storage now. If a thread first did so when out of memory, the C library would
    // end the process.
    pool.broadcast(|_| rayon::yield_now());
    Ok(Arc::new(pool))
}

/// Runs `work` on each of `count` new threads, whose names begin with `name`, and `run` on the calling thread at the same
/// time. Returns when all have ended; a panic is raised again.
pub(super) fn beside<R>(
    count: usize,
    name: &'static str,
    work: impl Fn() + Send + Sync,
    run: impl FnOnce() -> R,
) -> Result<R> {
    let threads = start_threads(count, name)?;
    Ok(threads.in_place_scope(|scope| {
        // Not a job for any of the threads, several times: one that waits for worker threads would begin the next job.
        scope.spawn_broadcast(|_, _| work());
        run()
    }))
}

/// Returns the number of slices of a stack that are computed in parallel: one for each thread, because the computation of
/// one slice does not keep all threads busy all the time. If slices are small there are more, to reduce the overhead of
/// starting them; if they are large there are fewer, because each takes memory.
pub(crate) fn slices_side_by_side(pool: &ThreadPool, slice_pixels: usize) -> usize {
    const LEAST_PIXELS: usize = 1 << 16;
    const MOST_PIXELS: usize = 1 << 25;
    const MOST_PER_THREAD: usize = 32;
    let (threads, pixels) = (pool.current_num_threads(), slice_pixels.max(1));
    (LEAST_PIXELS / pixels).clamp(threads, MOST_PER_THREAD * threads).min((MOST_PIXELS / pixels).max(1))
}

pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

pub(super) fn info() -> DeviceInfo {
    let memory = memory();
    DeviceInfo {
        kind: DeviceKind::Cpu,
        index: 0,
        usable: true,
        compute_capability: (0, 0),
        multiprocessors: u32::try_from(cores()).unwrap_or(u32::MAX),
        driver_version: 0,
        total_memory: memory.total,
        free_memory: memory.available,
        id: "cpu".into(),
        name: system::processor().to_owned(),
        reason: format!("usable: {} threads, vector unit {}", cores(), vector_unit()),
    }
}

/// Returns the name of the widest vector unit that the fast paths use on this CPU.
fn vector_unit() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if std::is_x86_feature_detected!("avx512f") {
            return "AVX-512";
        }
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
            return "AVX2 with FMA";
        }
        "SSE2 (no FMA)"
    }
    #[cfg(target_arch = "aarch64")]
    {
        "NEON"
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        "as the compiler chose"
    }
}

pub(super) fn free_memory() -> u64 {
    memory().available
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, mpsc};
    use std::time::Duration;

    /// If a thread that waits for workers began what another thread should do, it would end its first item after all others,
    /// for which the calling thread would wait.
    #[test]
    fn each_thread_works_once() {
        let pool = new_pool(4).unwrap();
        for _ in 0..20 {
            let (give, given) = mpsc::sync_channel(4);
            let (done, finished) = mpsc::sync_channel(4);
            let given = Mutex::new(given);
            let next = || given.lock().unwrap().recv();
            let work = || {
                while let Ok(item) = next() {
                    pool.in_place_scope(|scope| {
                        (0..3).for_each(|_| scope.spawn(|_| std::thread::sleep(Duration::from_micros(300))));
                    });
                    done.send(item).unwrap();
                }
            };
            let received = beside(2, "isoline-test-", work, || {
                (0..4).for_each(|item| give.send(item).unwrap());
                let received = (0..4).map(|_| finished.recv_timeout(Duration::from_secs(10)));
                let received: std::result::Result<Vec<i32>, _> = received.collect();
                drop(give);
                received
            });
            let mut received = received.unwrap().expect("no item is held back");
            received.sort_unstable();
            assert_eq!(received, [0, 1, 2, 3]);
        }
    }
}
