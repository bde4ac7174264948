//! Contexts.

use super::device::isoline_device;
use super::{check, guard, isoline_status, object, sized};
use crate::device::Context;
use crate::error::{Error, Result};
use std::ffi::{CStr, c_char};

/// A device and the resources that calls on it share: worker threads, kernels and pooled memory. Opaque.
pub struct isoline_context(Context);

/// Returns the context that a caller's pointer points to. In the child of a fork, a context of the parent is refused.
///
/// # Safety
/// `context` is NULL or came from isoline_context_new and has not been freed; it lives for `'a`.
pub(super) unsafe fn context<'a>(context: *const isoline_context) -> Result<&'a Context> {
    // SAFETY: as the caller ensures.
    let context = &unsafe { object::borrow(context, "context") }?.0;
    context.check_process()?;
    Ok(context)
}

/// Creates a context on a device. Create one and use it for many calls: it keeps threads, kernels and memory between
/// them.
///
/// @param device "auto" (also NULL or ""), "cpu", "cuda" (the first CUDA device that works), "cuda:N", a list such as
///   "cuda:0,2", each of whose devices must work, or "cuda:all" (all CUDA devices that work). "auto" selects the working
///   CUDA device with the most free memory, or the CPU if there is none; a device that is named never falls back to
///   another. White space around the name is ignored. The devices of a list share the slices of stacks in host memory, and
///   the targets of region snakes: each gets a contiguous range, and the results are the same as on one device. For
///   iterations of edge strength and for level sets without a narrow band (ISOLINE_LEVEL_SET_DENSE), volumes in host memory
///   are cut into slabs along z, one for each device, also with the same results. Everything else runs on the first device
///   of the list: other volumes and level sets, single slices, and images in CUDA memory, which must be in the memory of
///   that device. A call that fails on one device ends on the others, too.
/// @param out receives the context; free it with isoline_context_free. Not written on failure.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; ISOLINE_INVALID_ARGUMENT for any other text, and for
///   a list that has a number twice; ISOLINE_DEVICE_UNAVAILABLE with the reason (no driver, driver too old, no such device,
///   no kernel image for the GPU); ISOLINE_OUT_OF_MEMORY; ISOLINE_CANCELLED by the cancel flag. May be called on any
///   thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_context_new(device: *const c_char, out: *mut *mut isoline_context) -> isoline_status {
    guard(|| {
        check::not_null(out, "out")?;
        let device = if device.is_null() {
            "auto"
        } else {
            // SAFETY: a NUL-terminated string, as the caller ensures.
            unsafe { CStr::from_ptr(device) }.to_str().map_err(|_| {
                Error::argument(
                    "cannot read the device: it is not UTF-8; use auto, cpu, cuda or cuda:N, a list or cuda:all",
                )
            })?
        };
        let context = isoline_context(Context::new(device)?);
        // SAFETY: not NULL; writable, as the caller ensures.
        unsafe { out.write(object::hand_out(context)) };
        Ok(())
    })
}

/// Describes a context's device; its `reason` says why the device was selected. For a list this is the first device, and
/// the reason names all devices.
///
/// @param context not NULL.
/// @param out a struct after isoline_device_init; written on success.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; ISOLINE_INVALID_ARGUMENT for a struct_size that is too small.
///   May be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_context_device(
    context: *const isoline_context,
    out: *mut isoline_device,
) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::write(out, &isoline_device::from(&self::context(context)?.device_now()), "out") })
}

/// Sets the memory budget of a context: the device memory that each of its calls may use, in addition to the memory that
/// level sets and snakes of earlier calls keep.
///
/// @param context not NULL.
/// @param bytes the limit, of each device of a list; 0 (the default) means 90 % of the device memory that is free when a
///   call starts. If a volume needs more, its distance, edge strength and isosurface are computed in parts, with the same
///   bits, and a level set with a narrow band stores φ near the front only, see isoline_level_set_new. Any other call that
///   needs more fails with ISOLINE_OUT_OF_MEMORY or, with "auto", falls back to the CPU. The size of each device buffer is
///   rounded up to a multiple of 64 KiB, by which a limit of a few MiB may be exceeded. The limit has no effect on a CPU
///   context.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER. May be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_context_set_memory_limit(context: *mut isoline_context, bytes: u64) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { self::context(context) }.map(|context| context.set_memory_limit(bytes)))
}

/// Releases the memory that a context keeps between calls: pooled device memory, page-locked memory, the host memory of
/// the CPU's computations (at most 320 MiB per context) and freed buffers (at most 1 GiB). Memory that a running call or a
/// buffer uses is kept.
///
/// @param context not NULL.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER. May be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_context_trim(context: *mut isoline_context) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { self::context(context) }.map(Context::trim))
}

/// Frees a context and the resources that it owns. No call may be running on it, and it must not be used again. May be
/// called on any thread, but not from one of the context's callbacks.
///
/// @param context may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_context_free(context: *mut isoline_context) {
    // SAFETY: as the caller ensures.
    unsafe { object::free_if(context, "a context", |context| context.0.is_of_this_process()) }
}
