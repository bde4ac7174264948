//! The progress callback and the cancel flag.

use super::check;
use super::sized::{self, sized_struct};
use crate::device::cuda::keep_current;
use crate::error::{Error, ErrorKind, Result};
use crate::progress::{CancelFlag, Progress};
use std::ffi::{CString, c_char, c_void};
use std::ops::ControlFlow;
use std::sync::atomic::AtomicI32;

/// Progress callback. `fraction` is the share of the call that is done, from 0 to 1, and never decreases within a call. It
/// need not reach 1: a call is done when it returns. `stage` is a short English name of the current step, valid only during
/// the callback. A nonzero result cancels the call, which then returns ISOLINE_CANCELLED within 100 ms of work. The callback
/// is called on the thread that made the call, at the beginning of each part of it and then at most every 10 ms; how often
/// depends on the operation and the device. It must not throw, call longjmp or use the context that is calling it.
pub type isoline_progress_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, fraction: f64, stage: *const c_char) -> std::ffi::c_int>;

/// Progress callback and its user data.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_progress {
    /// The size of the struct, set by isoline_progress_init.
    pub struct_size: u32,
    /// Must be 0.
    pub reserved: u32,
    /// The function to call; NULL for none.
    pub callback: isoline_progress_fn,
    /// The user data, which is passed to the callback unchanged; may be NULL.
    pub user: *mut c_void,
}

sized_struct!(isoline_progress, 24);

/// Fills `progress` with defaults (no callback); `struct_size` is sizeof *progress, see "Structs".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_progress_init(
    progress: *mut isoline_progress,
    struct_size: usize,
) -> super::isoline_status {
    // SAFETY: as the caller ensures.
    super::guard(|| unsafe { sized::init(progress, struct_size, "progress") })
}

/// Sets the cancel flag of the calling thread. While `*flag` is not 0, the calls that this thread makes into Isoline end
/// with ISOLINE_CANCELLED within 100 ms of work, even calls without a progress callback. So any other thread, or a signal
/// handler, can cancel a call by writing to the flag.
///
/// The library only reads the flag, at any time while a call of this thread runs. It never resets it: a flag that is not 0
/// ends the next call, too, and a flag that is set just before the call begins is not lost. A call with less than 100 ms of
/// work left may end as usual, and a call that takes less than that may never read the flag. Write to the flag by atomic
/// operations (an `atomic_int` of C11; `std::atomic<int>`; in a signal handler a `volatile sig_atomic_t` where that is an
/// int). A thread that has never called this function has no flag.
///
/// A call that the flag cancels leaves its outputs in the same state as a call that its callback cancels. Parts of the
/// arrays of isoline_level_set_statistics, isoline_snake_statistics, isoline_snake_region_sums and isoline_polygons_smooth
/// may also have been written. Solvers are in the state before the call, or after its last complete iteration.
///
/// The flag does not affect functions that free an object. If it is set while a device is opened or a buffer is
/// page-locked, the call returns, and the driver completes its work on a thread of the library ("Cancel" above).
///
/// @param flag stays valid until this thread sets another one or ends; NULL (the default) for none.
/// @return ISOLINE_OK or an error: ISOLINE_INVALID_ARGUMENT for an address that is not a multiple of the size of an int;
///   ISOLINE_BUSY in a callback. May be called on any thread, for itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_set_cancel_flag(flag: *const std::ffi::c_int) -> super::isoline_status {
    super::guard(|| {
        if super::panics::is_in_callback() {
            return Err(Error::new(
                ErrorKind::Busy,
                "cannot set the cancel flag in a callback; set it before the call, and write to it in the callback",
            ));
        }
        if !flag.is_aligned() {
            return Err(Error::argument(format!(
                "cannot use the cancel flag: its address must be a multiple of {} (got {flag:p}); give the address of an int",
                align_of::<std::ffi::c_int>()
            )));
        }
        // SAFETY: not NULL in `map`, aligned, and valid while it is the flag of this thread, as the caller ensures. It is
        // only loaded, and written by atomic operations.
        let flag = (!flag.is_null()).then(|| unsafe { AtomicI32::from_ptr(flag.cast_mut()) });
        CancelFlag::use_here(flag.map(CancelFlag::Foreign));
        Ok(())
    })
}

/// Returns the caller's callback; `None` for NULL.
///
/// # Safety
/// The requirements of [`sized::read`] hold; the callback may be called with its `user` until the result is dropped.
pub(super) unsafe fn callback(progress: *const isoline_progress) -> Result<Option<Box<Progress<'static>>>> {
    if progress.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller ensures.
    let progress = unsafe { sized::read(progress, "progress") }?;
    check::reserved(progress.reserved, "progress")?;
    let Some(callback) = progress.callback else { return Ok(None) };
    let mut most = 0.0f64;
    Ok(Some(Box::new(move |fraction: f64, stage: &str| {
        let stage = CString::new(stage).unwrap_or_default();
        // A call that falls back from a GPU to the CPU begins again, but the fraction must not decrease.
        most = most.max(fraction);
        // SAFETY: the caller's function, on the caller's thread, with its own `user`.
        let answer = keep_current(|| unsafe { callback(progress.user, most, stage.as_ptr()) });
        if answer == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })))
}
