//! Parallel loops that write lists part by part, on all threads of the current pool.

use crate::error::Result;
use crate::image::{collected, for_each_index};
use crate::progress::Ticker;
use std::sync::{Mutex, OnceLock, PoisonError};

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
