//! The one error type: what was wanted, what was got, and what to do about it.

use std::fmt;

/// What kind of thing went wrong. The numbers are the C API's `isoline_status` and are frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum ErrorKind {
    /// A required pointer was NULL.
    NullPointer = 1,
    /// A parameter is out of its range, not a number, or does not fit the others.
    InvalidArgument = 2,
    /// A size is zero, overflows, or two sizes that must match do not.
    InvalidSize = 3,
    /// The pixel type is not one that this call takes.
    InvalidType = 4,
    /// The output shares memory with the input.
    Overlap = 5,
    /// The device that was asked for cannot be used here.
    DeviceUnavailable = 6,
    /// Host or device memory ran out, or the job exceeds the memory limit.
    OutOfMemory = 7,
    /// The device or its driver failed while working.
    DeviceFailed = 8,
    /// The progress callback asked to stop.
    Cancelled = 9,
    /// The request is sound but this build, version or device cannot do it.
    Unsupported = 10,
    /// The context is already in use further up this thread's call stack.
    Busy = 11,
    /// A defect in Isoline: a panic was caught at the boundary.
    Panic = 12,
}

/// An error: its [`kind`](Error::kind) for programs and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

/// Isoline's result type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind` whose `message` says what was wanted, what was got and what to do.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// What kind of error this is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The sentence for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    pub(crate) fn size(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidSize, message)
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    pub(crate) fn memory(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::OutOfMemory, message)
    }

    pub(crate) fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "cancelled by the progress callback")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Refuses NaN and infinity by the parameter's name.
pub(crate) fn finite(name: &str, value: f64) -> Result<f64> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(Error::argument(format!("{name} must be a finite number, but it is {value}")))
    }
}

/// `bytes` in the unit a person would use, for messages.
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
    fn bytes_read_like_a_person_says_them() {
        assert_eq!(human_bytes(512), "512 bytes");
        assert_eq!(human_bytes(1536), "1.5 KiB");
        assert_eq!(human_bytes(3 << 30), "3.0 GiB");
    }
}
