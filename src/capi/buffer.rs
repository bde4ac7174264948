//! Buffers in host memory.

use super::context::{context, isoline_context};
use super::{check, guard, guard_or, isoline_status};
use crate::device::{HostBuffer, PerProcess};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard};

/// The buffers that C programs own, by address.
///
/// After a fork the child has copies of the parent's buffers, but cannot free them: their locks may be held by threads that
/// the child does not have, and the driver's memory belongs to the parent.
static OWNED: PerProcess<Mutex<BTreeMap<usize, HostBuffer>>> =
    PerProcess::new(Mutex::new(BTreeMap::new()), |_| Mutex::default());

/// Locks the buffers of this process.
fn owned() -> MutexGuard<'static, BTreeMap<usize, HostBuffer>> {
    OWNED.get().lock().unwrap_or_else(|e| e.into_inner())
}

/// Makes a buffer: host memory for images with which the calls of a context are fastest. On a CUDA device it is
/// page-locked, so that the device copies it directly; on every device a large buffer is in huge pages, so that its first
/// use takes less time. Otherwise it is ordinary memory: any context, thread and program code may use it.
///
/// The initial contents are unspecified: zeros, or the contents of an earlier buffer of this process. The address is a
/// multiple of 65536, or of 2 MiB for 2 MiB and more.
///
/// If the system refuses to page-lock it, or if it is more than half of the free memory, the buffer is not page-locked, on
/// "auto" and on a named device alike, and a warning with the reason is logged. Calls with such a buffer have the same
/// results, but take longer.
///
/// @param context not NULL. It may be freed before the buffer; a page-locked buffer keeps the device open. May be in a
///   call, also in one whose callback calls this function.
/// @param bytes the size, at least 1.
/// @param out receives the address; free it with isoline_buffer_free. Not written on failure.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; ISOLINE_INVALID_SIZE for 0 and for more than can be addressed;
///   ISOLINE_OUT_OF_MEMORY; ISOLINE_CANCELLED by the cancel flag. May be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_buffer_new(
    context: *const isoline_context,
    bytes: usize,
    out: *mut *mut c_void,
) -> isoline_status {
    guard(|| {
        check::not_null(out, "out")?;
        // SAFETY: as the caller ensures.
        let mut buffer = unsafe { self::context(context) }?.host_buffer(bytes)?;
        let address = buffer.pixels_mut::<u8>().as_mut_ptr();
        owned().insert(address as usize, buffer);
        // SAFETY: not NULL; writable, as the caller ensures.
        unsafe { out.write(address.cast()) };
        Ok(())
    })
}

/// Frees a buffer. No call may be using it, and it must not be used again. Its memory is kept for the next
/// isoline_buffer_new on its context, up to 1 GiB per context, until isoline_context_trim or the end of the context; call
/// isoline_context_trim when no buffer has been needed for a while, such as 30 s. After the end of the context the memory
/// is released at once.
///
/// An address that is not that of a buffer is ignored, and a warning is logged. But isoline_buffer_new may return the
/// address of a freed buffer again, so freeing a buffer twice may free a buffer that another part of the program uses, as
/// with free(). In the child of a fork, buffers of the parent are ignored, too; they are released when the child ends.
/// Until then the child may use their memory, which is a copy of the parent's, with undefined contents if the buffer is
/// page-locked. May be called on any thread.
///
/// @param buffer the address that isoline_buffer_new has given; may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_buffer_free(buffer: *mut c_void) {
    if buffer.is_null() {
        return;
    }
    guard_or((), || {
        let removed = owned().remove(&(buffer as usize));
        if removed.is_none() {
            log::warn!(
                "isoline_buffer_free ignores the address {buffer:p}: no buffer of this process is there; free each buffer \
                 once, with the address that isoline_buffer_new has given"
            );
        }
        // The buffer is dropped here, after the registry is unlocked, because that takes a while.
    });
}
