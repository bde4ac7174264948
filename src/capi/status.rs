//! Status codes, the last error, the version.

use crate::error::ErrorKind;
use std::cell::Cell;
use std::ffi::{CStr, c_char};

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

/// The room for a sentence with its NUL: several times what any needs that does not quote a long text of the caller's.
const SENTENCE_BYTES: usize = 2048;
/// How a sentence ends that had to be cut.
const CUT: &str = "…";

thread_local! {
    // One place for the thread's life, so that a pointer once handed out never dangles. Without a destructor: C may
    // still read it from a destructor of its own while the thread ends.
    static LAST_ERROR: [Cell<u8>; SENTENCE_BYTES] = const { [const { Cell::new(0) }; SENTENCE_BYTES] };
}

pub(super) fn set_last_error(message: &str) {
    // An error means that there is no such storage any more; then nobody can ask for it either.
    let _ = LAST_ERROR.try_with(|slot| {
        let (whole, end) = fitting(message);
        let bytes = whole.bytes().chain(end.bytes()).map(|byte| if byte == 0 { b' ' } else { byte });
        for (to, from) in slot.iter().zip(bytes.chain([0])) {
            to.set(from);
        }
    });
}

/// As many whole characters of a message as have room, and what comes after them.
fn fitting(message: &str) -> (&str, &'static str) {
    if message.len() < SENTENCE_BYTES {
        return (message, "");
    }
    let mut length = SENTENCE_BYTES - 1 - CUT.len();
    while !message.is_char_boundary(length) {
        length -= 1;
    }
    (&message[..length], CUT)
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
/// none. A success leaves it as it is; the next failure on this thread writes over it, in place: the pointer is the same
/// at every call on a thread and good to read until that thread ends. At most 2047 bytes; a longer sentence (it quotes
/// what it was given) ends with "…" after a whole character. UTF-8; never NULL; not to be freed; for the thread that asks.
#[unsafe(no_mangle)]
pub extern "C" fn isoline_last_error() -> *const c_char {
    LAST_ERROR.try_with(|slot| slot.as_ptr().cast()).unwrap_or(c"".as_ptr())
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
    fn last_error() -> &'static str {
        // SAFETY: terminated, and only read here before the next failure of this thread.
        unsafe { CStr::from_ptr(isoline_last_error()) }.to_str().unwrap()
    }

    #[test]
    fn a_sentence_is_kept_whole_or_cut_after_a_character() {
        let room = SENTENCE_BYTES - 1;
        set_last_error(&"x".repeat(room));
        assert_eq!(last_error(), "x".repeat(room));
        // Characters of one to four bytes, so that the cut falls on each place within them.
        for character in ["x", "é", "…", "𝄞"] {
            for shift in 0..4 {
                let long = " ".repeat(shift) + &character.repeat(SENTENCE_BYTES);
                set_last_error(&long);
                let kept = last_error().strip_suffix(CUT).unwrap();
                assert!(long.starts_with(kept) && kept.len() + CUT.len() + character.len() > room - 1);
                assert!(last_error().len() <= room);
            }
        }
        set_last_error("short\0er");
        assert_eq!(last_error(), "short er");
        set_last_error("");
        assert_eq!(last_error(), "");
    }
}
