//! Checks that the parameters of every operation go through.

use super::null;
use crate::error::{Error, Result};

/// Refuses a field kept for later versions that is not 0.
pub(super) fn reserved(value: u32) -> Result<()> {
    if value == 0 { Ok(()) } else { Err(Error::argument(format!("params->reserved must be 0, but it is {value}"))) }
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
