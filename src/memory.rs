//! Allocation of host memory. Lists and everything that grows with an image or a count is allocated here: when out of memory,
//! the caller gets an error.

mod array;
pub(crate) mod file;
pub(crate) mod pages;
pub(crate) mod system;

use crate::device::PerProcess;
use crate::error::{Error, Result, human_bytes};
use crate::progress::Ticker;
pub(crate) use array::Array;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use system::memory;

/// Returns a zeroed vector, or an error (no abort) when out of memory. Every image-sized buffer is allocated here. The
/// system zeroes a large buffer page by page at the first use of each page, in huge pages if it has them.
pub(crate) fn zeroed<T: bytemuck::Zeroable + Send>(count: usize) -> Result<Vec<T>> {
    let granted = grant(bytes_of::<T>(count), 0)?;
    let mut values = bytemuck::try_zeroed_vec(count).map_err(|()| out_of_memory::<T>(count))?;
    pages::advise(&mut values);
    let mut values = leave_room(values)?;
    if granted.as_ref().is_some_and(|granted| granted.is_large) {
        // On this thread alone: each new thread has the C library keep 64 MiB of address space.
        pages::make_pages(&mut values, 1);
    }
    Ok(values)
}

fn bytes_of<T>(count: usize) -> u64 {
    (count as u64).saturating_mul(size_of::<T>() as u64)
}

/// The sizes from which an allocation asks what is available: a part of the whole memory, within limits.
const CHECKED_PART: u64 = 256;
const CHECKED_BYTES: [u64; 2] = [16 << 20, 1 << 30];

/// The least part of the available memory whose pages are made at once, because only pages that were made count as used when
/// the next allocation asks.
const LARGE_PART: u64 = 32;

/// The part of the available memory that is left for others.
const REST_PART: u64 = 16;

/// An allocation that the available memory has room for. Until it is dropped, other threads wait with theirs.
struct Grant {
    is_large: bool,
    _others_wait: MutexGuard<'static, ()>,
}

/// Returns an error if the host does not have the memory for an allocation of `bytes` with `beside` bytes left beside it,
/// and nothing for a small allocation. Linux grants more memory than it has, and ends a process that then writes to it: the
/// caller's data would be lost.
fn grant(bytes: u64, beside: u64) -> Result<Option<Grant>> {
    static GRANTING: PerProcess<Mutex<()>> = PerProcess::new(Mutex::new(()), |_| Mutex::default());
    let [least, most] = CHECKED_BYTES;
    if bytes < least || bytes < (total_memory() / CHECKED_PART).min(most) {
        return Ok(None);
    }
    let others_wait = GRANTING.get().lock().unwrap_or_else(PoisonError::into_inner);
    let Some(available) = memory().most else { return Ok(None) };
    let available = available - available / REST_PART;
    if bytes.saturating_add(beside) > available {
        return Err(not_available(bytes, available));
    }
    Ok(Some(Grant { is_large: bytes > available / LARGE_PART, _others_wait: others_wait }))
}

/// Returns the memory of the host in bytes, for which the system is asked once.
fn total_memory() -> u64 {
    static TOTAL: AtomicU64 = AtomicU64::new(0);
    if TOTAL.load(Relaxed) == 0 {
        TOTAL.store(memory().total, Relaxed);
    }
    TOTAL.load(Relaxed)
}

/// Returns an empty vector with capacity for `count`, or an error (no abort) when out of memory. It is for lists whose
/// length grows with the image.
pub(crate) fn reserved<T>(count: usize) -> Result<Vec<T>> {
    grant(bytes_of::<T>(count), 0)?;
    let mut list = Vec::new();
    list.try_reserve_exact(count).map_err(|_| out_of_memory::<T>(count))?;
    leave_room(list)
}

/// The bytes that are kept free for small allocations of fixed size: Rust aborts the process if one of those fails.
const ROOM: usize = 64 << 10;

/// The memory reserved for the allocations that an error needs.
static ROOM_FOR_ERRORS: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Returns a list that was just allocated, or an error if it is large and [`ROOM`] bytes more cannot be allocated beside
/// it.
fn leave_room<T>(list: Vec<T>) -> Result<Vec<T>> {
    let bytes = list.capacity().saturating_mul(size_of::<T>());
    if bytes >= ROOM {
        let mut room = Vec::<u8>::new();
        room.try_reserve_exact(ROOM).map_err(|_| out_of_memory::<T>(list.capacity()))?;
        // Without this use the compiler removes the allocation.
        std::hint::black_box(room.as_ptr());
    }
    Ok(list)
}

/// Reserves memory for the allocations of errors, which [`out_of_memory`] frees, or returns an error when out of memory.
pub(crate) fn make_room_for_errors() -> Result<()> {
    // If another thread holds the lock, it makes or takes the room. After a fork that may be a thread of the parent
    // process, so waiting for it could last forever.
    let Ok(mut room) = ROOM_FOR_ERRORS.try_lock() else { return Ok(()) };
    let made = if room.capacity() >= ROOM { Ok(()) } else { room.try_reserve_exact(ROOM) };
    made.map_err(|_| Error::memory("cannot begin the call: out of host memory; close other programs"))
}

fn not_available(bytes: u64, available: u64) -> Error {
    let [wanted, available] = [bytes, available].map(human_bytes);
    Error::memory(format!(
        "cannot allocate {wanted} of host memory, of which {available} are available; close other programs or process \
         fewer pixels at a time"
    ))
}

fn out_of_memory<T>(count: usize) -> Error {
    let room = ROOM_FOR_ERRORS.try_lock().map(|mut room| std::mem::take(&mut *room)).unwrap_or_default();
    // Thousands of tasks may run out of memory at the same time. Only the first has the room for a message with the size.
    if room.capacity() == 0 {
        return Error::memory("cannot allocate host memory; close other programs or process fewer pixels at a time");
    }
    drop(room);
    Error::memory(format!(
        "cannot allocate {} of host memory; close other programs or process fewer pixels at a time",
        human_bytes(bytes_of::<T>(count))
    ))
}

/// Collects items of a known number, or returns an error (no abort) when out of memory.
pub(crate) fn collected<T>(items: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut list = reserved(items.len())?;
    list.extend(items);
    Ok(list)
}

/// Collects items of a known number until one fails, or returns an error (no abort) when out of memory.
pub(crate) fn try_collected<T>(items: impl ExactSizeIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut list = reserved(items.len())?;
    for item in items {
        list.push(item?);
    }
    Ok(list)
}

/// Computes items on the threads of the current pool, or returns an error (no abort) when out of memory.
pub(crate) fn par_collected<T: Send>(items: impl IndexedParallelIterator<Item = T>) -> Result<Vec<T>> {
    let mut list = reserved(items.len())?;
    items.collect_into_vec(&mut list);
    Ok(list)
}

/// Does what [`par_collected`] does, with items that may fail; returns the first error, if there is one.
pub(crate) fn try_par_collected<T: Send>(items: impl IndexedParallelIterator<Item = Result<T>>) -> Result<Vec<T>> {
    try_collected(par_collected(items)?.into_iter())
}

/// Makes room for `more` items in a list, or returns an error (no abort) when out of memory.
pub(crate) fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<()> {
    let count = list.len().saturating_add(more);
    if count > list.capacity() {
        // A list that grows at least doubles its capacity. A large one is not copied: its pages move with it.
        let grown = count.max(list.capacity().saturating_mul(2));
        grant(bytes_of::<T>(grown - list.capacity()), 0)?;
    }
    list.try_reserve(more).map_err(|_| out_of_memory::<T>(count))
}

/// Appends an item, or returns an error (no abort) when out of memory.
pub(crate) fn push<T>(list: &mut Vec<T>, item: T) -> Result<()> {
    if list.len() == list.capacity() {
        reserve(list, 1)?;
    }
    list.push(item);
    Ok(())
}

/// Appends items, or returns an error (no abort) when out of memory.
pub(crate) fn extend<T>(list: &mut Vec<T>, items: impl IntoIterator<Item = T>) -> Result<()> {
    items.into_iter().try_for_each(|item| push(list, item))
}

/// Resizes a list to `count`, with copies of `value` if it grows, or returns an error (no abort) when out of memory.
pub(crate) fn resize<T: Clone>(list: &mut Vec<T>, count: usize, value: T) -> Result<()> {
    reserve(list, count.saturating_sub(list.len()))?;
    *list = leave_room(std::mem::take(list))?;
    list.resize(count, value);
    Ok(())
}

/// Concatenates lists, on the threads of the current pool: one thread alone would spend most of its time on the page faults
/// of the new memory. Each list is freed when it has been copied.
pub(crate) fn concatenated<T: bytemuck::Pod + Send + Sync>(lists: Vec<Vec<T>>) -> Result<Vec<T>> {
    const PART: usize = 1 << 15;
    let mut all = zeroed(lists.iter().map(Vec::len).sum())?;
    let mut places = reserved(lists.len())?;
    let mut rest = &mut all[..];
    for from in lists {
        let (to, after) = rest.split_at_mut(from.len());
        places.push((to, from));
        rest = after;
    }
    places.into_par_iter().for_each(|(to, from)| {
        to.par_chunks_mut(PART).zip(from.par_chunks(PART)).for_each(|(to, from)| to.copy_from_slice(from));
    });
    Ok(all)
}

/// Sorts a list, unless the ticker is cancelled, in which case its order is undefined. Equal items may change places.
pub(crate) fn sort_while<T: Copy>(
    list: &mut Vec<T>,
    ticker: &Ticker,
    compare: impl Fn(&T, &T) -> std::cmp::Ordering,
) -> Result<()> {
    /// The number of items that are sorted between two checks of the ticker, about 10 ms.
    const PART: usize = 1 << 17;
    for part in list.chunks_mut(PART) {
        ticker.check()?;
        part.sort_unstable_by(&compare);
    }
    let mut sorted = PART;
    while sorted < list.len() {
        let mut merged = reserved(list.len())?;
        for pair in list.chunks(2 * sorted) {
            let (mut left, mut right) = pair.split_at(sorted.min(pair.len()));
            while let ([a, left_rest @ ..], [b, right_rest @ ..]) = (left, right) {
                if merged.len() % PART == 0 {
                    ticker.check()?;
                }
                if compare(a, b).is_le() {
                    merged.push(*a);
                    left = left_rest;
                } else {
                    merged.push(*b);
                    right = right_rest;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        *list = merged;
        sorted *= 2;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// Linux would grant it, and end the process when it is written.
    #[test]
    fn more_memory_than_is_available_is_refused() {
        let Some(most) = memory().most else {
            return eprintln!("skipped, needs a system that grants more than it has");
        };
        let count = most as usize / size_of::<u64>();
        for error in [zeroed::<u64>(count).unwrap_err(), reserved::<u64>(count).unwrap_err()] {
            assert_eq!(error.kind(), crate::ErrorKind::OutOfMemory);
            assert!(error.to_string().contains("of which"), "{error}");
        }
        let mut list = vec![1_u64];
        assert!(reserve(&mut list, count).unwrap_err().to_string().contains("of which"));
        assert_eq!(list, [1]);
    }

    #[test]
    fn making_pages_changes_no_value() {
        for count in [0, 1, 5000, (16 << 20) + 3] {
            let mut values: Vec<u16> = (0..count).map(|at| at as u16).collect();
            for threads in [1, 3] {
                pages::make_pages(&mut values, threads);
                assert!(values.iter().enumerate().all(|(at, value)| *value == at as u16), "{count}");
            }
        }
    }

    #[test]
    fn lists_are_concatenated_in_order() {
        let lists: Vec<Vec<u32>> = [0, 3, 0, 1 << 15, (1 << 16) + 1, 1, 0].map(|count| (0..count).collect()).into();
        assert_eq!(concatenated(lists.clone()).unwrap(), lists.concat());
        assert!(concatenated::<u8>(Vec::new()).unwrap().is_empty());
    }

    #[test]
    fn a_list_of_any_length_is_sorted_unless_the_flag_is_set() {
        let part = 1 << 17;
        for count in [0, 1, part - 1, part, part + 1, 3 * part + 7, 4 * part] {
            let mut list: Vec<u64> = (0..count as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40).collect();
            let mut wanted = list.clone();
            wanted.sort_unstable();
            sort_while(&mut list, &Ticker::new("test"), u64::cmp).unwrap();
            assert!(list == wanted, "{count}");
        }
        let flag = Arc::new(AtomicBool::new(false));
        crate::set_cancel_flag(Some(flag.clone()));
        let (ticker, compared) = (Ticker::new("test"), AtomicUsize::new(0));
        crate::set_cancel_flag(None);
        let mut list: Vec<u64> = (0..8 * part as u64).rev().collect();
        let compare = |a: &u64, b: &u64| {
            flag.store(compared.fetch_add(1, Ordering::Relaxed) > 9 * part, Ordering::Relaxed);
            a.cmp(b)
        };
        sort_while(&mut list, &ticker, compare).unwrap_err();
        assert!(compared.into_inner() < 12 * part);
    }
}
