//! Checks that the parameters of every operation go through.

use super::null;
use crate::error::{Error, Result};
use crate::image::{Dimensions, Foreground};

/// Refuses the first of some named fields that is not a finite number.
pub(super) fn finite(fields: &[(&str, f64)]) -> Result<()> {
    match fields.iter().find(|(_, value)| !value.is_finite()) {
        None => Ok(()),
        Some((name, value)) => Err(Error::argument(format!("{name} must be a finite number, but it is {value}"))),
    }
}

/// Refuses a field kept for later versions that is not 0.
pub(super) fn reserved(value: u32) -> Result<()> {
    if value == 0 { Ok(()) } else { Err(Error::argument(format!("params->reserved must be 0, but it is {value}"))) }
}

/// The error of an enum field with an unknown number.
pub(super) fn unknown(field: &str, choices: &str, value: u32) -> Error {
    Error::argument(format!("{field} must be {choices}, but it is {value}"))
}

/// The `dimensions` of an operation that can take a stack as slices or as a volume.
pub(super) fn dimensions(value: u32) -> Result<Dimensions> {
    match value {
        2 => Ok(Dimensions::Slices),
        3 => Ok(Dimensions::Volume),
        other => Err(unknown("dimensions", "2 or 3", other)),
    }
}

/// An isoline_foreground.
pub(super) fn foreground(value: u32) -> Result<Foreground> {
    match value {
        0 => Ok(Foreground::Above),
        1 => Ok(Foreground::Below),
        other => Err(unknown("foreground", "ISOLINE_FOREGROUND_ABOVE or _BELOW", other)),
    }
}

/// Refuses an array that is NULL, unless it is to have no elements, and one that no memory has room for.
pub(super) fn array<T>(first: *const T, count: usize, name: &str) -> Result<()> {
    if count > isize::MAX as usize / size_of::<T>() {
        return Err(Error::size(format!("{name} of {count} elements is too large to address; is the count right?")));
    }
    if first.is_null() && count > 0 { Err(null(name)) } else { Ok(()) }
}

/// A caller's array, which may be NULL when it has no elements.
///
/// # Safety
/// `first` is NULL or points to `count` elements that are only read for `'a`.
pub(super) unsafe fn slice<'a, T>(first: *const T, count: usize, name: &str) -> Result<&'a [T]> {
    array(first, count, name)?;
    // SAFETY: not NULL, of a size that can be addressed; the rest as the caller vouches.
    Ok(if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(first, count) } })
}
