//! Host memory that a CUDA device may page-lock.
//!
//! The memory is ordinary memory in huge pages, which is page-locked afterwards. So it can be used even if the driver
//! refuses to lock it, and its pages are made by several threads; the driver would use one thread.
//!
//! # Safety
//! [`HostMemory`] owns the memory that the driver has locked, and frees it only after the driver has unlocked it.
#![allow(unsafe_code)]

use super::memory::bind_to_free;
use super::{Cuda, failed};
use crate::device::buffer_pool::Bytes;
use crate::device::cpu;
use crate::error::Result;
use crate::memory::pages::{HUGE_PAGE, make_pages};
use crate::memory::zeroed;
use cudarc::driver::CudaContext;
use cudarc::driver::sys::{self, CU_MEMHOSTREGISTER_PORTABLE};
use std::ffi::c_void;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Memory smaller than a huge page begins and ends at multiples of this. It is a multiple of the page size of every system,
/// so no other memory is locked with it.
const GRANULE: usize = 1 << 16;

/// The most threads that touch the pages of memory before it is locked.
const MAX_THREADS: usize = 8;

/// Memory that the driver failed to unlock. The driver still considers it locked, so it is never freed, lest its addresses
/// be reused.
static STILL_LOCKED: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Host memory for images, aligned to pages, or to huge pages if it is large.
#[derive(Debug)]
pub(crate) struct HostMemory {
    memory: Vec<u8>,
    /// The part of `memory` that the caller gets.
    used: Range<usize>,
    /// The context of the device that has page-locked it.
    locked_by: Option<Arc<CudaContext>>,
}

impl HostMemory {
    /// Allocates at least `bytes` zero bytes. The caller has checked that this many can be addressed.
    pub(crate) fn new(bytes: usize) -> Result<Self> {
        let (unit, rounded) = (Self::unit(bytes), Self::rounded(bytes));
        let memory: Vec<u8> = zeroed(rounded + unit)?;
        let first = memory.as_ptr().align_offset(unit);
        Ok(Self { memory, used: first..first + rounded, locked_by: None })
    }

    /// Returns the size of new memory for `bytes`.
    pub(crate) fn rounded(bytes: usize) -> usize {
        bytes.next_multiple_of(Self::unit(bytes))
    }

    /// Returns the alignment of the beginning and the end of memory for `bytes`.
    fn unit(bytes: usize) -> usize {
        // Memory of at least about the size of a huge page is aligned to huge pages.
        if bytes <= HUGE_PAGE - GRANULE { GRANULE } else { HUGE_PAGE }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.memory[self.used.clone()]
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.memory[self.used.clone()]
    }

    pub(crate) fn is_page_locked(&self) -> bool {
        self.locked_by.is_some()
    }

    /// Page-locks the memory, so that the device copies from and to it directly. After an error the memory is unchanged.
    pub(crate) fn page_lock(&mut self, cuda: &Cuda) -> Result<()> {
        if self.is_page_locked() {
            return Ok(());
        }
        cuda.bind()?;
        let memory = self.as_mut_slice();
        make_pages(memory, cpu::cores().min(MAX_THREADS));
        set_fork_advice(memory, true);
        // SAFETY: the context is current. The memory stays allocated until the driver has unlocked it (see `drop`).
        let locked = unsafe {
            sys::cuMemHostRegister_v2(memory.as_mut_ptr().cast::<c_void>(), memory.len(), CU_MEMHOSTREGISTER_PORTABLE)
        };
        if let Err(error) = locked.result() {
            set_fork_advice(memory, false);
            return Err(failed("page-lock host memory", error));
        }
        self.locked_by = Some(cuda.context.clone());
        Ok(())
    }
}

impl Bytes for HostMemory {
    fn bytes(&self) -> usize {
        self.used.len()
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        let Some(context) = self.locked_by.take() else { return };
        let memory = self.as_mut_slice();
        let address = memory.as_mut_ptr().cast::<c_void>();
        let unlocked = bind_to_free(&context).and_then(|()| {
            // SAFETY: the context is current; the memory was locked by `page_lock` and is unlocked once.
            unsafe { sys::cuMemHostUnregister(address) }.result()
        });
        match unlocked {
            Ok(()) => set_fork_advice(memory, false),
            Err(error) => {
                log::error!("{}; it is not freed", failed("unlock page-locked host memory", error));
                STILL_LOCKED.lock().unwrap_or_else(|e| e.into_inner()).push(std::mem::take(&mut self.memory));
            }
        }
    }
}

/// With `apart`, the child of a fork gets zeros instead of this memory; otherwise it gets a copy as usual. If a child
/// shared the pages (copy on write), the parent's next write to a page would move it to another physical page, while the
/// device would continue to use the old one.
fn set_fork_advice(memory: &mut [u8], apart: bool) {
    #[cfg(target_os = "linux")]
    {
        let advice = if apart { libc::MADV_WIPEONFORK } else { libc::MADV_KEEPONFORK };
        // SAFETY: whole pages of this memory (GRANULE); the advice changes no byte in this process.
        unsafe { libc::madvise(memory.as_mut_ptr().cast(), memory.len(), advice) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (memory, apart);
}

#[cfg(test)]
mod tests {
    use super::super::is_pinned;
    use super::*;

    #[test]
    fn memory_is_aligned_and_zero() {
        for bytes in [
            1,
            GRANULE,
            GRANULE + 1,
            HUGE_PAGE - GRANULE,
            HUGE_PAGE - GRANULE + 1,
            HUGE_PAGE - 1,
            HUGE_PAGE,
            5 * HUGE_PAGE + 1,
        ] {
            let mut memory = HostMemory::new(bytes).unwrap();
            let unit = HostMemory::unit(bytes);
            assert!((memory.as_mut_slice().as_ptr() as usize).is_multiple_of(unit));
            assert_eq!(memory.bytes(), bytes.next_multiple_of(unit));
            assert!(
                memory.bytes() < HUGE_PAGE || unit == HUGE_PAGE,
                "{bytes}: memory of a huge page's size begins at one"
            );
            make_pages(memory.as_mut_slice(), 2);
            assert!(memory.as_slice().iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn cuda_knows_that_memory_is_page_locked_until_it_is_freed() {
        let cuda = match Cuda::first_usable() {
            Ok((cuda, _)) => cuda,
            Err(error) => return eprintln!("skipped, needs CUDA: {error}"),
        };
        for bytes in [1, 3 * GRANULE, 7 * HUGE_PAGE] {
            let mut memory = HostMemory::new(bytes).unwrap();
            memory.as_mut_slice().fill(7);
            let [first, last] = [0, bytes - 1].map(|at| memory.as_slice()[at..].as_ptr() as usize);
            assert!(!is_pinned(first) && !is_pinned(last));
            memory.page_lock(&cuda).unwrap();
            memory.page_lock(&cuda).unwrap();
            assert!(memory.is_page_locked() && is_pinned(first) && is_pinned(last));
            assert!(memory.as_slice().iter().all(|byte| *byte == 7), "locking changes no byte");
            drop(memory);
            assert!(!is_pinned(first) && !is_pinned(last));
        }
    }
}
