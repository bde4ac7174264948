//! The objects that C programs hold: locking and freeing them.

use super::log::log_error;
use super::progress::isoline_progress;
use super::report::isoline_report;
use super::{check, guard, guard_or, isoline_status, null};
use crate::device::{CallGuard, CallLock, Context};
use crate::error::{Error, ErrorKind, Result};
use crate::{Progress, Report};
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard};

/// The state of a solver that C holds, and the context that its calls run on.
pub(super) struct Solver<T> {
    context: Context,
    lock: CallLock,
    state: Mutex<T>,
}

/// The state of a solver during a call. The fields are dropped in this order.
pub(super) struct SolverGuard<'a, T> {
    state: MutexGuard<'a, T>,
    _turn: CallGuard<'a>,
}

impl<T> Deref for SolverGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.state
    }
}

impl<T> DerefMut for SolverGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.state
    }
}

impl<T> Solver<T> {
    pub(super) fn new(context: &Context, state: T) -> Self {
        Self { context: context.clone(), lock: CallLock::default(), state: Mutex::new(state) }
    }

    pub(super) fn is_of_this_process(&self) -> bool {
        self.lock.is_of_this_process()
    }

    /// Locks the state of a solver; `None` is the caller's NULL. `argument` is the name of the argument, with `_` for
    /// the spaces of the noun.
    pub(super) fn lock<'a>(solver: Option<&'a Self>, argument: &str) -> Result<SolverGuard<'a, T>> {
        let solver = solver.ok_or_else(|| null(argument))?;
        let noun = argument.replace('_', " ");
        solver.lock.check_process(&noun)?;
        // Refuse a re-entrant call before it waits for the solver: the thread that has locked the solver may be waiting for
        // the context.
        if solver.context.is_in_call() {
            let message = format!(
                "cannot use this {noun}: re-entrant call; a callback used a {noun} of the context that is calling it; \
                 use it when that call has returned"
            );
            return Err(Error::new(ErrorKind::Busy, message));
        }
        let turn = solver.lock.acquire(&noun)?;
        let state = solver.state.lock().map_err(|_| {
            let message =
                format!("cannot use this {noun}: internal error in an earlier call; the {noun} is poisoned, free it");
            Error::new(ErrorKind::Panic, message)
        })?;
        Ok(SolverGuard { state, _turn: turn })
    }
}

/// Returns the entries of a list to the caller, without a copy, as a C struct with the same layout.
///
/// # Safety
/// `list` is NULL or came from the library and has not been freed; `all` and `count` are NULL or writable. An `E` has the
/// layout of a `C`.
pub(super) unsafe fn all<T, E, C>(
    (list, argument): (*const T, &str),
    entries: impl FnOnce(&T) -> &[E],
    all: *mut *const C,
    count: *mut usize,
) -> isoline_status {
    guard(|| {
        // SAFETY: as the caller ensures.
        let entries = entries(unsafe { borrow(list, argument) }?);
        check::not_null(all, "all")?;
        check::not_null(count, "count")?;
        // SAFETY: not NULL; writable, as the caller ensures.
        unsafe {
            all.write(check::address(entries).cast());
            count.write(entries.len());
        }
        Ok(())
    })
}

/// Gives an object to the caller. It must be `Send` and `Sync`, because a C program may use it on any thread.
pub(super) fn hand_out<T: Send + Sync>(object: T) -> *mut T {
    Box::into_raw(Box::new(object))
}

/// Returns the object that a caller's pointer points to; `argument` is its name.
///
/// # Safety
/// `object` is NULL or came from [`hand_out`] and has not been freed; it lives for `'a`.
pub(super) unsafe fn borrow<'a, T>(object: *const T, argument: &str) -> Result<&'a T> {
    // SAFETY: as the caller ensures.
    unsafe { object.as_ref() }.ok_or_else(|| null(argument))
}

/// Runs an operation whose result is an object, after the checks of arguments that all such operations share. Gives the
/// object, whose argument is named `argument`, and the report to the caller.
///
/// # Safety
/// The requirements of [`isoline_report::of`] hold; `out` is NULL or writable.
pub(super) unsafe fn compute<R: Default, T: Send + Sync>(
    progress: *const isoline_progress,
    (out, argument): (*mut *mut T, &str),
    report: *mut isoline_report,
    object: fn(R) -> T,
    run: impl FnOnce(Option<&mut Progress>, &mut R) -> Result<Report>,
) -> Result<()> {
    // SAFETY: as the caller ensures.
    unsafe {
        check::not_null(out, argument)?;
        let mut found = R::default();
        isoline_report::of(report, progress, |progress| run(progress, &mut found))?;
        out.write(hand_out(object(found)));
    }
    Ok(())
}

/// Frees an object that consists of memory only. NULL is ignored.
///
/// # Safety
/// `object` is NULL or came from [`hand_out`], and is not used again.
pub(super) unsafe fn free<T>(object: *mut T, what: &str) {
    // SAFETY: as the caller ensures.
    unsafe { free_if(object, what, |_| true) }
}

/// Frees an object. NULL is ignored. In the child of a fork an object of the parent is not freed until the child ends,
/// because the child does not have the threads for which a context of the parent would wait.
///
/// # Safety
/// The requirements of [`free`] hold.
pub(super) unsafe fn free_if<T>(object: *mut T, what: &str, is_of_this_process: impl FnOnce(&T) -> bool) {
    // SAFETY: NULL, or made by Box::into_raw in `hand_out` and not freed yet, as the caller ensures.
    if !unsafe { object.as_ref() }.is_some_and(is_of_this_process) {
        return;
    }
    let freed = guard_or(false, || {
        // SAFETY: made by Box::into_raw in `hand_out` and freed once, as the caller ensures.
        drop(unsafe { Box::from_raw(object) });
        true
    });
    if !freed {
        log_error(&format!("cannot free {what}: internal error in Isoline"));
    }
}
