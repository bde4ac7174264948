//! Status codes and the last error.

use crate::error::ErrorKind;
use std::cell::Cell;
use std::ffi::{CStr, c_char};

/// The result of a call. The numbers never change, and the number of a retired status is not used again.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_status {
    /// The call succeeded.
    ISOLINE_OK = 0,
    /// A required pointer was NULL.
    ISOLINE_NULL_POINTER = 1,
    /// A parameter is out of its range, not a number, or does not fit the others.
    ISOLINE_INVALID_ARGUMENT = 2,
    /// A size or stride is zero, too small or overflows, or two sizes that must match do not.
    ISOLINE_INVALID_SIZE = 3,
    /// The pixel type is unknown, or the call does not accept it.
    ISOLINE_INVALID_TYPE = 4,
    /// The output shares memory with the input, or overlaps itself.
    ISOLINE_OVERLAP = 5,
    /// The requested device cannot be used on this computer; the message gives the reason.
    ISOLINE_DEVICE_UNAVAILABLE = 6,
    /// An allocation of host or device memory failed, or the call needs more than the memory limit.
    ISOLINE_OUT_OF_MEMORY = 7,
    /// The device or its driver reported an error during the call.
    ISOLINE_DEVICE_FAILED = 8,
    /// The progress callback or the cancel flag (isoline_set_cancel_flag) cancelled the call.
    ISOLINE_CANCELLED = 9,
    /// The request is valid, but this build, version or device does not support it.
    ISOLINE_UNSUPPORTED = 10,
    /// The call is re-entrant (a callback used the context that is calling it, or a solver of that context), or it would
    /// wait for a thread that waits for this one.
    ISOLINE_BUSY = 11,
    /// An internal error (a defect in Isoline) was caught. Please report it.
    ISOLINE_PANIC = 12,
    /// A callback that reads or writes slices (ISOLINE_SLICES) returned a sentence, which is a part of the message.
    ISOLINE_CALLBACK_FAILED = 13,
}

/// The statuses with their names, indexed by number. The numbers equal those of [`ErrorKind`].
const STATUSES: [(isoline_status, &CStr); 14] = {
    use isoline_status::*;
    [
        (ISOLINE_OK, c"ISOLINE_OK"),
        (ISOLINE_NULL_POINTER, c"ISOLINE_NULL_POINTER"),
        (ISOLINE_INVALID_ARGUMENT, c"ISOLINE_INVALID_ARGUMENT"),
        (ISOLINE_INVALID_SIZE, c"ISOLINE_INVALID_SIZE"),
        (ISOLINE_INVALID_TYPE, c"ISOLINE_INVALID_TYPE"),
        (ISOLINE_OVERLAP, c"ISOLINE_OVERLAP"),
        (ISOLINE_DEVICE_UNAVAILABLE, c"ISOLINE_DEVICE_UNAVAILABLE"),
        (ISOLINE_OUT_OF_MEMORY, c"ISOLINE_OUT_OF_MEMORY"),
        (ISOLINE_DEVICE_FAILED, c"ISOLINE_DEVICE_FAILED"),
        (ISOLINE_CANCELLED, c"ISOLINE_CANCELLED"),
        (ISOLINE_UNSUPPORTED, c"ISOLINE_UNSUPPORTED"),
        (ISOLINE_BUSY, c"ISOLINE_BUSY"),
        (ISOLINE_PANIC, c"ISOLINE_PANIC"),
        (ISOLINE_CALLBACK_FAILED, c"ISOLINE_CALLBACK_FAILED"),
    ]
};
const _: () = assert!(ErrorKind::CallbackFailed as usize + 1 == STATUSES.len());

impl From<ErrorKind> for isoline_status {
    fn from(kind: ErrorKind) -> Self {
        STATUSES[kind as usize].0
    }
}

/// The size of the buffer for a message with its NUL. It is several times as large as needed for any message that does not
/// quote a long text of the caller.
const SENTENCE_BYTES: usize = 2048;
/// The mark at the end of a truncated message.
const CUT: &str = "…";

thread_local! {
    // The buffer keeps its address for the thread's life, so that a pointer which was returned never dangles. It has
    // no destructor, because C may still read it from a destructor of its own while the thread ends.
    static LAST_ERROR: [Cell<u8>; SENTENCE_BYTES] = const { [const { Cell::new(0) }; SENTENCE_BYTES] };
}

pub(super) fn set_last_error(message: &str) {
    // This fails if the thread-local storage has been destroyed, in which case no call can read the message either.
    let _ = LAST_ERROR.try_with(|slot| {
        let (whole, end) = fitting(message);
        let bytes = whole.bytes().chain(end.bytes()).map(|byte| if byte == 0 { b' ' } else { byte });
        for (to, from) in slot.iter().zip(bytes.chain([0])) {
            to.set(from);
        }
    });
}

/// Returns as many whole characters of a message as fit into the buffer, and the mark that follows them.
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

/// Returns the name of a status, such as "ISOLINE_OK"; "unknown status" for any other number. The string is static:
/// it is never NULL and must not be freed. May be called on any thread.
///
/// @param status any number.
#[unsafe(no_mangle)]
pub extern "C" fn isoline_status_name(status: u32) -> *const c_char {
    STATUSES.get(status as usize).map_or(c"unknown status", |(_, name)| name).as_ptr()
}

/// Returns the message of the last failed call on the calling thread: a sentence with the cause, the value that was
/// given and the remedy. The message is empty if no call has failed; a successful call leaves it unchanged. The
/// pointer is never NULL, is the same for every call on a thread, stays valid until that thread ends, and must not be
/// freed. The next failure on the thread overwrites the text in place. The text is UTF-8 of at most 2047 bytes; a
/// longer message (it quotes what was given) is cut after a whole character and ends with "…".
#[unsafe(no_mangle)]
pub extern "C" fn isoline_last_error() -> *const c_char {
    LAST_ERROR.try_with(|slot| slot.as_ptr().cast()).unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_own_name() {
        for (number, (status, name)) in STATUSES.iter().enumerate() {
            assert_eq!(*status as usize, number);
            // SAFETY: a static C string.
            let found = unsafe { CStr::from_ptr(isoline_status_name(number as u32)) };
            assert_eq!(found, *name);
        }
    }
    fn last_error() -> &'static str {
        // SAFETY: the text ends with NUL and is only read here, before the next failure of this thread.
        unsafe { CStr::from_ptr(isoline_last_error()) }.to_str().unwrap()
    }

    #[test]
    fn a_sentence_is_kept_whole_or_cut_after_a_character() {
        let room = SENTENCE_BYTES - 1;
        set_last_error(&"x".repeat(room));
        assert_eq!(last_error(), "x".repeat(room));
        // The characters have one to four bytes, so that the cut falls on each position within them.
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
