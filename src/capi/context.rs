//! Contexts.

use super::device::isoline_device;
use super::log::complain;
use super::{guard, guard_or, isoline_status, null, sized};
use crate::device::Context;
use crate::error::{Error, Result};
use std::ffi::{CStr, c_char};

/// A device in use with what belongs to it: worker threads, kernels, pooled memory. Opaque.
pub struct isoline_context(Context);

/// The context behind a caller's pointer.
///
/// # Safety
/// `context` is NULL or came from isoline_context_new and has not been freed; it lives for `'a`.
pub(super) unsafe fn context<'a>(context: *const isoline_context) -> Result<&'a Context> {
    // SAFETY: as the caller vouches.
    unsafe { context.as_ref() }.map(|context| &context.0).ok_or_else(|| null("context"))
}

/// Makes a context on a device. Make one and use it for many calls: it keeps threads, kernels and memory.
///
/// `device`: "auto" (also NULL or ""), "cpu", "cuda" (the first CUDA device that works) or "cuda:N". "auto" takes the
/// first CUDA device that works, else the CPU; a named device never falls back.
/// `out`: receives the context; free it with isoline_context_free. Not written on failure.
/// Errors: ISOLINE_NULL_POINTER; ISOLINE_INVALID_ARGUMENT for another text; ISOLINE_DEVICE_UNAVAILABLE with the reason
/// (no driver, driver too old, no such device, no kernel image for the card); ISOLINE_OUT_OF_MEMORY. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_context_new(device: *const c_char, out: *mut *mut isoline_context) -> isoline_status {
    guard(|| {
        if out.is_null() {
            return Err(null("out"));
        }
        let device = if device.is_null() {
            "auto"
        } else {
            // SAFETY: a NUL-terminated string, as the caller vouches.
            unsafe { CStr::from_ptr(device) }
                .to_str()
                .map_err(|_| Error::argument("the device must be UTF-8: auto, cpu, cuda or cuda:N"))?
        };
        let context = Box::new(isoline_context(Context::new(device)?));
        // SAFETY: not NULL; writable, as the caller vouches.
        unsafe { out.write(Box::into_raw(context)) };
        Ok(())
    })
}

/// Tells of a context's device; `reason` says why it was chosen.
///
/// `context`: not NULL. `out`: a struct after isoline_device_init; written on success.
/// Errors: ISOLINE_NULL_POINTER; ISOLINE_INVALID_ARGUMENT for a struct_size that is too small. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_context_device(
    context: *const isoline_context,
    out: *mut isoline_device,
) -> isoline_status {
    // SAFETY: as the caller vouches.
    guard(|| unsafe { sized::write(out, &isoline_device::from(&self::context(context)?.device_now()), "out") })
}

/// Limits the device memory that a context takes.
///
/// `context`: not NULL. `bytes`: the limit; 0 (the default) means 90 % of what is free when a job starts. A job that
/// needs more is refused with ISOLINE_OUT_OF_MEMORY, or goes to the CPU under "auto". No effect on a CPU context.
/// Errors: ISOLINE_NULL_POINTER. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_context_set_memory_limit(context: *mut isoline_context, bytes: u64) -> isoline_status {
    // SAFETY: as the caller vouches.
    guard(|| unsafe { self::context(context) }.map(|context| context.set_memory_limit(bytes)))
}

/// Gives pooled device memory, pinned host memory and the main memory that the CPU keeps from call to call (at most
/// 320 MiB a context) back to the system. What a running call uses stays.
///
/// `context`: not NULL. Errors: ISOLINE_NULL_POINTER. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_context_trim(context: *mut isoline_context) -> isoline_status {
    // SAFETY: as the caller vouches.
    guard(|| unsafe { self::context(context) }.map(Context::trim))
}

/// Frees a context and all that belongs to it. `context`: may be NULL. No call may be running on it, and it must not be
/// used again. Any thread, but not from within one of its callbacks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_context_free(context: *mut isoline_context) {
    if context.is_null() {
        return;
    }
    let freed = guard_or(false, || {
        // SAFETY: made by Box::into_raw in isoline_context_new and freed once, as the caller vouches.
        drop(unsafe { Box::from_raw(context) });
        true
    });
    if !freed {
        complain("freeing a context failed");
    }
}
