//! Pages of large memory, above all huge pages, which make the first write to large memory several times faster: the system maps one page of 2 MiB instead
//! of 512 pages of 4 KiB.
//!
//! # Safety
//! The only call into the system is advice about memory that the caller has borrowed; it changes no byte.
#![allow(unsafe_code)]

use crate::device::STACK_SIZE;
use bytemuck::Zeroable;
use std::hint::black_box;
use std::mem::replace;

/// The size of a huge page on x86-64, and on ARM with pages of 4 KiB.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// The smallest page of any system.
const PAGE: usize = 4096;

/// The least memory that is worth a call into the system.
const LEAST: usize = 4 * HUGE_PAGE;

/// Asks the system to use huge pages for `memory`, which was not written yet. Does nothing for a small buffer or on a
/// system without huge pages.
pub(crate) fn advise<T>(memory: &mut [T]) {
    // Miri does not know the call.
    #[cfg(all(target_os = "linux", not(miri)))]
    if size_of_val(memory) >= LEAST {
        let first = memory.as_mut_ptr().cast::<u8>();
        let skipped = first.align_offset(HUGE_PAGE);
        let bytes = (size_of_val(memory) - skipped) / HUGE_PAGE * HUGE_PAGE;
        // SAFETY: the range lies within `memory`: `skipped` is less than a page, and `LEAST` is several. The advice
        // changes no byte, and a refusal changes nothing.
        unsafe { libc::madvise(first.add(skipped).cast(), bytes, libc::MADV_HUGEPAGE) };
    }
    #[cfg(any(miri, not(target_os = "linux")))]
    let _ = (memory, LEAST);
}

/// Touches every page, on `threads` threads, so that the system makes the pages. The values stay as they are.
pub(crate) fn make_pages<T: Zeroable + Send>(memory: &mut [T], threads: usize) {
    let share = memory.len().div_ceil(threads).next_multiple_of(HUGE_PAGE).max(1);
    let touch = |part: &mut [T]| {
        for value in part.iter_mut().step_by((PAGE / size_of::<T>().max(1)).max(1)) {
            // The compiler must not see that the same value is written back.
            *value = black_box(replace(value, T::zeroed()));
        }
    };
    let (own, others) = memory.split_at_mut(share.min(memory.len()));
    std::thread::scope(|scope| {
        for part in others.chunks_mut(share) {
            // If a thread cannot be started, the pages are made at their first use.
            let _ = std::thread::Builder::new().stack_size(STACK_SIZE).spawn_scoped(scope, move || touch(part));
        }
        touch(own);
    });
}
