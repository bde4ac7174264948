//! Status codes, the last error, the version.

use super::guard_or;
use crate::error::ErrorKind;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

/// What a call came to. The numbers are frozen; a retired one stays reserved.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_status {
    /// Success.
    ISOLINE_OK = 0,
    /// A required pointer was NULL.
    ISOLINE_NULL_POINTER = 1,
    /// A parameter is out of its range, not a number, or does not fit the others.
    ISOLINE_INVALID_ARGUMENT = 2,
    /// A size or stride is zero, too small or overflows, or two sizes that must match do not.
    ISOLINE_INVALID_SIZE = 3,
    /// The pixel type is unknown or not one that the call takes.
    ISOLINE_INVALID_TYPE = 4,
    /// The output shares memory with the input, or overlaps itself.
    ISOLINE_OVERLAP = 5,
    /// The device that was asked for cannot be used here; the message says why.
    ISOLINE_DEVICE_UNAVAILABLE = 6,
    /// Host or device memory ran out, or the job exceeds the memory limit.
    ISOLINE_OUT_OF_MEMORY = 7,
    /// The device or its driver failed while working.
    ISOLINE_DEVICE_FAILED = 8,
    /// The progress callback asked to stop.
    ISOLINE_CANCELLED = 9,
    /// The request is sound, but this build, version or device cannot do it.
    ISOLINE_UNSUPPORTED = 10,
    /// The context is in use further up this thread's call stack.
    ISOLINE_BUSY = 11,
    /// A defect in Isoline was caught at the boundary. Please report it.
    ISOLINE_PANIC = 12,
}

impl From<ErrorKind> for isoline_status {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::NullPointer => Self::ISOLINE_NULL_POINTER,
            ErrorKind::InvalidArgument => Self::ISOLINE_INVALID_ARGUMENT,
            ErrorKind::InvalidSize => Self::ISOLINE_INVALID_SIZE,
            ErrorKind::InvalidType => Self::ISOLINE_INVALID_TYPE,
            ErrorKind::Overlap => Self::ISOLINE_OVERLAP,
            ErrorKind::DeviceUnavailable => Self::ISOLINE_DEVICE_UNAVAILABLE,
            ErrorKind::OutOfMemory => Self::ISOLINE_OUT_OF_MEMORY,
            ErrorKind::DeviceFailed => Self::ISOLINE_DEVICE_FAILED,
            ErrorKind::Cancelled => Self::ISOLINE_CANCELLED,
            ErrorKind::Unsupported => Self::ISOLINE_UNSUPPORTED,
            ErrorKind::Busy => Self::ISOLINE_BUSY,
            ErrorKind::Panic => Self::ISOLINE_PANIC,
        }
    }
}

/// The names of the codes, by number.
const NAMES: [&CStr; 13] = [
    c"ISOLINE_OK",
    c"ISOLINE_NULL_POINTER",
    c"ISOLINE_INVALID_ARGUMENT",
    c"ISOLINE_INVALID_SIZE",
    c"ISOLINE_INVALID_TYPE",
    c"ISOLINE_OVERLAP",
    c"ISOLINE_DEVICE_UNAVAILABLE",
    c"ISOLINE_OUT_OF_MEMORY",
    c"ISOLINE_DEVICE_FAILED",
    c"ISOLINE_CANCELLED",
    c"ISOLINE_UNSUPPORTED",
    c"ISOLINE_BUSY",
    c"ISOLINE_PANIC",
];

/// The version as text, terminated for C.
const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(text) => text,
    Err(_) => panic!("the version contains no NUL"),
};

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::new(CString::default());
}

pub(super) fn set_last_error(message: &str) {
    let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
    // At thread exit the slot may be gone already; then nobody can ask for it either.
    let _ = LAST_ERROR.try_with(|slot| slot.replace(message));
}

/// The version of the library that is loaded: major << 16 | minor << 8 | patch. The same major means a compatible C
/// API (while the major is 0: the same major and minor). Never fails. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn isoline_version() -> u32 {
    crate::version()
}

/// The version as text, such as "0.1.0". Static; never NULL; not to be freed. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn isoline_version_string() -> *const c_char {
    VERSION.as_ptr()
}

/// The name of a status, such as "ISOLINE_OK"; "unknown status" for any other number. Static; never NULL; not to be
/// freed. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn isoline_status_name(status: u32) -> *const c_char {
    NAMES.get(status as usize).copied().unwrap_or(c"unknown status").as_ptr()
}

/// The sentence of the last failure on the calling thread: what was wanted, what was got, what to do. Empty if there was
/// none. UTF-8; never NULL; not to be freed; valid until the next failure on this thread. A success leaves it as it is.
#[unsafe(no_mangle)]
pub extern "C" fn isoline_last_error() -> *const c_char {
    guard_or(c"".as_ptr(), || LAST_ERROR.try_with(|slot| slot.borrow().as_ptr()).unwrap_or(c"".as_ptr()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_own_name() {
        for (number, name) in NAMES.iter().enumerate() {
            // SAFETY: a static C string.
            let told = unsafe { CStr::from_ptr(isoline_status_name(number as u32)) };
            assert_eq!(told, *name);
        }
        assert_eq!(isoline_status::ISOLINE_PANIC as usize, NAMES.len() - 1);
    }
}
