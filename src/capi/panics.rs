//! Panics, which are defects of the library. No panic leaves a call, and none is written to the host program's standard
//! error; its location and text are logged instead.

use super::floats::DefaultFloats;
use crate::device::PerProcess;
use crate::device::cuda::CallersContext;
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::OnceLock;

thread_local! {
    /// The number of nested calls that this thread is inside; a nested call is made from a callback.
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// Counts a call while it lives.
struct Call;

impl Call {
    fn new() -> Self {
        // This fails if the thread-local storage has been destroyed; a panic is then printed.
        let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
        Self
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let _ = CALLS.try_with(|calls| calls.set(calls.get() - 1));
    }
}

/// Runs the body of an extern function, and catches its panic.
pub(super) fn catch<T>(body: impl FnOnce() -> T) -> std::thread::Result<T> {
    // The process may be forked while another thread is in its first call.
    static HOOK: PerProcess<OnceLock<()>> = PerProcess::once();
    HOOK.get_or_init(|| {
        // Panics elsewhere in a Rust program are handled as before.
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| if is_ours() { log(panic) } else { others(panic) }));
    });
    let _floats = DefaultFloats::new();
    let _context = CallersContext::new();
    let _call = Call::new();
    catch_unwind(AssertUnwindSafe(body))
}

/// Tells whether the current call was made from a callback of another call of this thread.
pub(super) fn is_in_callback() -> bool {
    CALLS.try_with(Cell::get).is_ok_and(|calls| calls > 1)
}

/// Tells whether this thread is inside a call, or is a worker thread.
fn is_ours() -> bool {
    CALLS.try_with(Cell::get).is_ok_and(|calls| calls > 0)
        || std::thread::current().name().is_some_and(|name| name.starts_with(crate::device::WORKER_NAME))
}

fn log(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map_or_else(|| "an unknown place".into(), ToString::to_string);
    log::error!("internal error in Isoline at {place}: {}; please report it", text(panic.payload()));
}

/// Returns the text of a panic.
pub(super) fn text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::super::{guard, isoline_status, log};
    use std::ffi::{CStr, c_char, c_void};
    use std::sync::Mutex;

    static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

    unsafe extern "C" fn keep(_user: *mut c_void, _level: u32, message: *const c_char) {
        // SAFETY: the logger's messages end with NUL.
        MESSAGES.lock().unwrap().push(unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned());
    }

    #[test]
    fn panics_of_calls_and_of_their_workers_go_to_the_logger() {
        let level = log::isoline_log_level::ISOLINE_LOG_ERROR as u32;
        assert_eq!(log::isoline_set_logger(Some(keep), std::ptr::null_mut(), level), isoline_status::ISOLINE_OK);
        let context = crate::Context::with_threads("cpu", 1).unwrap();
        assert_eq!(guard(|| panic!("a defect")), isoline_status::ISOLINE_PANIC);
        assert_eq!(guard(|| context.pool().install(|| panic!("{} defect", 2))), isoline_status::ISOLINE_PANIC);
        let messages = std::mem::take(&mut *MESSAGES.lock().unwrap());
        log::isoline_set_logger(None, std::ptr::null_mut(), level);
        for text in ["panics.rs:", ": a defect; please", ": 2 defect; please"] {
            assert!(messages.iter().any(|message| message.contains(text)), "{text}: {messages:?}");
        }
    }
}
