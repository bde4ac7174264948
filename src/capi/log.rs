//! The logger.

use super::{guard, guard_or, isoline_status};
use crate::error::Error;
use log::{Level, LevelFilter, Log, Metadata, Record};
use std::ffi::{CString, c_char, c_void};
use std::sync::RwLock;

/// How much is logged.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_log_level {
    /// Nothing.
    ISOLINE_LOG_OFF = 0,
    /// Failures.
    ISOLINE_LOG_ERROR = 1,
    /// What the user should know, such as a job that went to the CPU because it did not fit the GPU.
    ISOLINE_LOG_WARN = 2,
    /// What was chosen and why.
    ISOLINE_LOG_INFO = 3,
    /// Sizes and times of every call.
    ISOLINE_LOG_DEBUG = 4,
}

/// Receives a log message: UTF-8, without a line end, valid during the call. May be called on any thread that is inside a
/// call into Isoline, at the same time from several; must not throw or longjmp. It may call isoline_set_logger.
pub type isoline_log_fn = Option<unsafe extern "C" fn(user: *mut c_void, level: u32, message: *const c_char)>;

#[derive(Clone, Copy)]
struct Target {
    function: unsafe extern "C" fn(*mut c_void, u32, *const c_char),
    user: *mut c_void,
}
// SAFETY: the pointer is only handed back to the caller's function, which accepts calls from any thread (its contract).
unsafe impl Send for Target {}
// SAFETY: as above.
unsafe impl Sync for Target {}

static TARGET: RwLock<Option<Target>> = RwLock::new(None);

/// Hands the `log` crate's records to [`TARGET`].
struct Forward;

impl Log for Forward {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("isoline")
    }

    fn log(&self, record: &Record<'_>) {
        // Copied out first, so that the function may set another logger.
        let target = *TARGET.read().unwrap_or_else(|e| e.into_inner());
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
/// `function`: receives the messages; NULL for none (the default: Isoline is silent).
/// `user`: handed to `function` as it is; may be NULL; must stay valid until another logger is set.
/// `max`: the most detailed level wanted, an isoline_log_level.
/// Errors: ISOLINE_INVALID_ARGUMENT for an unknown level; ISOLINE_UNSUPPORTED in a Rust program that set a logger of
/// its own. Any thread; a message that is under way on another thread may still reach the old logger.
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
        static INSTALLED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        if !INSTALLED.get_or_init(|| log::set_logger(&Forward).is_ok()) {
            return Err(Error::unsupported(
                "this program has set a logger of its own for Rust's log crate; use that one",
            ));
        }
        *TARGET.write().unwrap_or_else(|e| e.into_inner()) = function.map(|function| Target { function, user });
        log::set_max_level(if function.is_some() { filter } else { LevelFilter::Off });
        Ok(())
    })
}

/// Logs a failure that has no status to return.
pub(super) fn complain(message: &str) {
    guard_or((), || log::error!("{message}"));
}
