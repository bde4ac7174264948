//! The progress callback.

use super::check;
use super::sized::{self, sized_struct};
use crate::error::Result;
use crate::progress::Progress;
use std::ffi::{CString, c_char, c_void};
use std::ops::ControlFlow;

/// Progress callback. `fraction` is the share of the call that is done, from 0 to 1, and never decreases within a
/// call. `stage` is a short English name of the current step, valid only during the callback. A nonzero result
/// cancels the call, which then returns ISOLINE_CANCELLED within 100 ms of work. The callback is called on the thread
/// that made the call, at the beginning of each part of it and then at most every 10 ms; how often depends on the
/// operation and the device. It must not throw, call longjmp or use the context that is calling it.
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

/// Fills `progress` with defaults (no callback).
///
/// @param progress the struct to fill; not NULL.
/// @param struct_size sizeof(isoline_progress).
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER, ISOLINE_INVALID_ARGUMENT for a size that is too small.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_progress_init(
    progress: *mut isoline_progress,
    struct_size: usize,
) -> super::isoline_status {
    // SAFETY: as the caller ensures.
    super::guard(|| unsafe { sized::init(progress, struct_size, "progress") })
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
    Ok(Some(Box::new(move |fraction: f64, stage: &str| {
        let stage = CString::new(stage).unwrap_or_default();
        // SAFETY: the caller's function, on the caller's thread, with its own `user`.
        let answer = unsafe { callback(progress.user, fraction, stage.as_ptr()) };
        if answer == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })))
}
