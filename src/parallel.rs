//! Parallel loops that write lists part by part, on all threads of the current pool.

use crate::error::{Error, ErrorKind, Result};
use crate::memory::{collected, try_collected};
use crate::progress::Ticker;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Calls `work` with each index on the threads of the current pool. This loop is compiled only once; rayon's iterators are
/// compiled for every loop that uses them, about 5 kB of library each.
#[inline(never)]
pub(crate) fn for_each_index(count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().for_each(work);
}

/// Computes the items of indices on the threads of the current pool; returns the first error, if there is one.
pub(crate) fn try_par_indexed<T: Send>(count: usize, item: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let items = collected((0..count).map(|_| Mutex::new(None)))?;
    // After a cancellation no further item is begun. After another error all items are still computed, so that the error
    // returned is always that of the lowest index.
    let cancelled = AtomicBool::new(false);
    for_each_index(count, &|index| {
        if !cancelled.load(Relaxed) {
            let made = item(index);
            if made.as_ref().is_err_and(|error| error.kind() == ErrorKind::Cancelled) {
                cancelled.store(true, Relaxed);
            }
            *items[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        }
    });
    let made = |item: Mutex<Option<_>>| item.into_inner().unwrap_or_else(PoisonError::into_inner);
    try_collected(items.into_iter().map(|item| made(item).unwrap_or_else(|| Err(Error::cancelled()))))
}

/// Splits the first `count` values off the rest of a list, for one part of the work.
pub(crate) fn take_first<'a, T>(left: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let (first, after) = std::mem::take(left).split_at_mut(count);
    *left = after;
    first
}

/// Calls `work` with each item and its number, on all threads of the current pool. Once a call has failed, no further one
/// begins, and its error is returned. The ticker can cancel it.
pub(crate) fn try_par_each<I: Send>(
    items: impl ExactSizeIterator<Item = I>,
    ticker: &Ticker,
    work: impl Fn(usize, I) -> Result<()> + Sync,
) -> Result<()> {
    let items = collected(items.map(|item| Mutex::new(Some(item))))?;
    let failed = OnceLock::new();
    for_each_index(items.len(), &|index| {
        let item = items[index].lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(item), None) = (item, failed.get())
            && let Err(error) = ticker.check().and_then(|()| work(index, item))
        {
            let _ = failed.set(error);
        }
    });
    failed.into_inner().map_or(Ok(()), Err)
}

/// Computes values part by part on all threads of the current pool; each part gets the index of its first value. The ticker
/// can cancel it.
pub(crate) fn try_par_parts<T: Send>(
    values: &mut [T],
    ticker: &Ticker,
    compute: impl Fn(usize, &mut [T]) + Sync,
) -> Result<()> {
    const PART: usize = 1 << 16;
    try_par_each(values.chunks_mut(PART), ticker, |part, values| {
        compute(part * PART, values);
        Ok(())
    })
}

/// Copies values in parallel, part by part, like [`try_par_parts`].
pub(crate) fn try_par_copy<T: Copy + Send + Sync>(to: &mut [T], from: &[T], ticker: &Ticker) -> Result<()> {
    try_par_parts(to, ticker, |first, to| to.copy_from_slice(&from[first..][..to.len()]))
}
