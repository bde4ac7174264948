//! The error type. Its messages have one form: "cannot X: Y (got Z); do W".

use std::borrow::Cow;
use std::fmt;

/// The kind of an error. The numbers are the C API's `isoline_status` and are frozen.
///
/// An operation that ends with [`Cancelled`](Self::Cancelled), [`OutOfMemory`](Self::OutOfMemory),
/// [`DeviceFailed`](Self::DeviceFailed) or [`CallbackFailed`](Self::CallbackFailed) may have written any part of its output
/// images. Any other error leaves the output images untouched. Other outputs, such as lists, are untouched after every
/// error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A required pointer was NULL.
    NullPointer = 1,
    /// A parameter is out of its range, not a number, or inconsistent with other parameters.
    InvalidArgument = 2,
    /// A size is zero, overflows, or two sizes that must match do not.
    InvalidSize = 3,
    /// The call does not take this pixel type.
    InvalidType = 4,
    /// The output shares memory with the input.
    Overlap = 5,
    /// The named device cannot be used.
    DeviceUnavailable = 6,
    /// Host or device memory ran out, or the call exceeds the memory limit.
    OutOfMemory = 7,
    /// The device or its driver failed during a call.
    DeviceFailed = 8,
    /// The progress callback cancelled the call.
    Cancelled = 9,
    /// The request is valid, but this build, version or device cannot serve it.
    Unsupported = 10,
    /// The call is re-entrant (a callback used the context that is calling it), or it would wait for a thread that waits
    /// for this one.
    Busy = 11,
    /// A defect in Isoline: a panic was caught at the boundary.
    Panic = 12,
    /// A callback that reads or writes slices has failed; the message includes the callback's own.
    CallbackFailed = 13,
}

/// An error: its [`kind`](Error::kind) for programs, and a message for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    /// A borrowed text takes no memory, of which there may be none left.
    message: Cow<'static, str>,
}

/// Isoline's result type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Makes an error of `kind`. Its `message` says what cannot be done, why, which value was given and what to do.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, message: message.into() }
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the message for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn argument(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    pub(crate) fn size(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::InvalidSize, message)
    }

    pub(crate) fn unsupported(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    pub(crate) fn memory(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::OutOfMemory, message)
    }

    pub(crate) fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "cancelled by the progress callback or the cancel flag")
    }

    /// Returns the error of a call on the CPU whose `what` (an image, the mask) is in CUDA memory.
    pub(crate) fn in_cuda_memory(what: &str) -> Self {
        Self::unsupported(format!(
            "cannot compute on the CPU: the {what} is in CUDA memory; use a CUDA context or host memory"
        ))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Refuses NaN and infinity. `name`, the parameter's name, is formatted only for the error.
pub(crate) fn finite(name: impl fmt::Display, value: f64) -> Result<f64> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(Error::argument(format!("cannot use {name}: it must be a finite number (got {value})")))
    }
}

/// Writes a number, for messages, as people do: with an exponent only where the digits would be many.
pub(crate) fn number<T: Copy + Into<f64> + fmt::Display + fmt::LowerExp>(value: T) -> String {
    let size = value.into().abs();
    let plain = size == 0.0 || (1e-6..1e10).contains(&size) || !size.is_finite();
    if plain { value.to_string() } else { format!("{value:e}") }
}

/// Writes `bytes` in a readable unit, for messages.
pub(crate) fn human_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} bytes") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_many_digits_have_an_exponent() {
        assert_eq!([0.0, -2.5, 1e-6, 9.9e9].map(number), ["0", "-2.5", "0.000001", "9900000000"]);
        assert_eq!(
            [1e300, -1e10, 2.5e-7, f64::MIN_POSITIVE].map(number),
            ["1e300", "-1e10", "2.5e-7", "2.2250738585072014e-308"]
        );
        assert_eq!([f64::NAN, f64::NEG_INFINITY].map(number), ["NaN", "-inf"]);
        assert_eq!([0.1f32, f32::MAX].map(number), ["0.1", "3.4028235e38"], "the digits of the type");
    }

    #[test]
    fn bytes_are_written_in_readable_units() {
        assert_eq!(human_bytes(512), "512 bytes");
        assert_eq!(human_bytes(1536), "1.5 KiB");
        assert_eq!(human_bytes(3 << 30), "3.0 GiB");
    }
}
