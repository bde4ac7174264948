//! Preserves the current CUDA context of the program that calls this library.
#![allow(unsafe_code)]

use super::find;
use cudarc::driver::{result, sys};
use std::cell::Cell;

thread_local! {
    /// The context that was current on this thread when the present call began; `None` outside of calls, and while the
    /// driver is not loaded.
    static CALLERS: Cell<Option<sys::CUcontext>> = const { Cell::new(None) };
}

/// When dropped, at the end of a call, makes the context current again that was current on the calling thread when this
/// value was made.
pub(crate) struct CallersContext {
    /// The context of the outer call, if this call is made from a callback.
    outer: Option<sys::CUcontext>,
}

impl CallersContext {
    pub(crate) fn new() -> Self {
        Self { outer: CALLERS.replace(find::is_loaded().then(current)) }
    }

    /// Saves the current context in a call that has just loaded the driver. The caller may have used the driver before.
    pub(super) fn keep() {
        if CALLERS.get().is_none() {
            CALLERS.set(Some(current()));
        }
    }
}

impl Drop for CallersContext {
    fn drop(&mut self) {
        if let Some(callers) = CALLERS.replace(self.outer) {
            restore(callers);
        }
    }
}

/// Runs a callback of the program, which may make another context current on this thread, such as that of another library.
pub(crate) fn keep_current<T>(callback: impl FnOnce() -> T) -> T {
    let before = find::is_loaded().then(current);
    let result = callback();
    if let Some(before) = before {
        restore(before);
    }
    result
}

/// Makes a context current again.
fn restore(before: sys::CUcontext) {
    if current() != before {
        // SAFETY: the context was current on this thread, and lives as long as its owner lets it: the driver refuses one that
        // has been destroyed since. NULL is none.
        let _ = unsafe { result::ctx::set_current(before) };
    }
}

/// Returns the context that is current on the calling thread; NULL if there is none, also in a driver that is not started.
fn current() -> sys::CUcontext {
    result::ctx::get_current().ok().flatten().unwrap_or(std::ptr::null_mut())
}
