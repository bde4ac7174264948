//! The logger.

use super::{guard, guard_or, isoline_status};
use crate::device::PerProcess;
use crate::error::Error;
use log::{Level, LevelFilter, Log, Metadata, Record};
use std::ffi::{CString, c_char, c_void};
use std::sync::{OnceLock, RwLock};

/// The level of detail of log messages.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_log_level {
    /// No messages.
    ISOLINE_LOG_OFF = 0,
    /// Failures that no call returns, such as the location of an internal error (ISOLINE_PANIC).
    ISOLINE_LOG_ERROR = 1,
    /// Warnings, such as a call that fell back to the CPU because its data did not fit into the memory of the GPU.
    ISOLINE_LOG_WARN = 2,
    /// Choices, such as the device of a context, and the reasons for them.
    ISOLINE_LOG_INFO = 3,
    /// The sizes and times of every call of an operation that succeeds.
    ISOLINE_LOG_DEBUG = 4,
}

/// Receives a log message: UTF-8 text without a line end, valid only during the call. The function may be called on any
/// thread that is inside a call of this library, on threads of the library, and on several threads at the same time. A call
/// may wait for a thread of the library, and such a thread may also complete what a cancelled call has begun. So the
/// function must not wait for a thread that made a call. It must not throw or call longjmp. It may call isoline_set_logger
/// and functions of this library that need no context.
pub type isoline_log_fn = Option<unsafe extern "C" fn(user: *mut c_void, level: u32, message: *const c_char)>;

#[derive(Clone, Copy)]
struct Target {
    function: unsafe extern "C" fn(*mut c_void, u32, *const c_char),
    user: *mut c_void,
}
// SAFETY: the pointer is only passed to the caller's function, which accepts calls from any thread (its contract).
unsafe impl Send for Target {}
// SAFETY: as above.
unsafe impl Sync for Target {}

/// The logger. The child of a fork inherits that of its parent, unless it was just being changed.
static TARGET: PerProcess<RwLock<Option<Target>>> =
    PerProcess::new(RwLock::new(None), |parent| RwLock::new(parent.try_read().ok().and_then(|target| *target)));

/// Passes the `log` crate's records to [`TARGET`].
struct Forward;

impl Log for Forward {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("isoline")
    }

    fn log(&self, record: &Record<'_>) {
        // Copied out first, so that the function may set another logger.
        let target = *TARGET.get().read().unwrap_or_else(|e| e.into_inner());
        let (Some(target), true) = (target, self.enabled(record.metadata())) else { return };
        let level = match record.level() {
            Level::Error => isoline_log_level::ISOLINE_LOG_ERROR,
            Level::Warn => isoline_log_level::ISOLINE_LOG_WARN,
            Level::Info => isoline_log_level::ISOLINE_LOG_INFO,
            Level::Debug | Level::Trace => isoline_log_level::ISOLINE_LOG_DEBUG,
        };
        let message = CString::new(record.args().to_string().replace('\0', " ")).unwrap_or_default();
        // SAFETY: the caller's function, with the arguments it was registered for.
        unsafe { (target.function)(target.user, level as u32, message.as_ptr()) };
    }

    fn flush(&self) {}
}

/// Sets the logger of the whole process.
///
/// @param function receives the messages; NULL for none, which is the default.
/// @param user passed to `function` unchanged; may be NULL. It must stay valid until another logger is set and all calls
///   that began before have returned. Work that a cancelled call has begun may log even later, so it is best never to free
///   it.
/// @param max the most detailed level to log, an isoline_log_level.
/// @return ISOLINE_OK or an error: ISOLINE_INVALID_ARGUMENT for an unknown level; ISOLINE_UNSUPPORTED in a Rust program
///   that has set its own logger. May be called on any thread; a message that is being logged on another thread may
///   still reach the previous logger.
#[unsafe(no_mangle)]
pub extern "C" fn isoline_set_logger(function: isoline_log_fn, user: *mut c_void, max: u32) -> isoline_status {
    guard(|| {
        let filter = match max {
            0 => LevelFilter::Off,
            1 => LevelFilter::Error,
            2 => LevelFilter::Warn,
            3 => LevelFilter::Info,
            4 => LevelFilter::Debug,
            other => {
                return Err(Error::argument(format!("max must be an isoline_log_level (0 to 4), but it is {other}")));
            }
        };
        static INSTALLED: PerProcess<OnceLock<bool>> = PerProcess::once();
        if !INSTALLED.get_or_init(|| log::set_logger(&Forward).is_ok()) {
            return Err(Error::unsupported(
                "cannot set a logger: this program has set its own logger of Rust's log crate; use that one",
            ));
        }
        *TARGET.get().write().unwrap_or_else(|e| e.into_inner()) = function.map(|function| Target { function, user });
        log::set_max_level(if function.is_some() { filter } else { LevelFilter::Off });
        Ok(())
    })
}

/// Logs a failure that has no status to return.
pub(super) fn log_error(message: &str) {
    guard_or((), || log::error!("{message}"));
}
