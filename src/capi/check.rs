//! Checks of arguments that several operations share.

use super::null;
use crate::error::{Error, ErrorKind, Result};
use crate::progress::Ticker;

/// Refuses the field of an argument that is reserved for later versions and is not 0.
pub(super) fn reserved(value: u32, argument: &str) -> Result<()> {
    if value == 0 { Ok(()) } else { Err(Error::argument(format!("{argument}->reserved must be 0, but it is {value}"))) }
}

/// Refuses an index that is not less than `count`.
pub(super) fn index(index: usize, count: usize, item: &str) -> Result<()> {
    match count {
        0 => Err(Error::argument(format!("there are no {item}s, so no index is valid, but it is {index}"))),
        count if index < count => Ok(()),
        count => Err(Error::argument(format!("the {item}'s index must be less than {count}, but it is {index}"))),
    }
}

/// Returns the error for optional outputs that are all NULL.
pub(super) fn none_asked_for(what: &str) -> Error {
    Error::new(ErrorKind::NullPointer, format!("{what}; give at least one of them"))
}

/// Refuses a pointer that is NULL.
pub(super) fn not_null<T>(pointer: *const T, argument: &str) -> Result<()> {
    if pointer.is_null() { Err(null(argument)) } else { Ok(()) }
}

/// Refuses an array that is NULL although it has elements, or whose elements cannot be addressed.
pub(super) fn array<T>(first: *const T, count: usize, name: &str) -> Result<()> {
    if count > isize::MAX as usize / size_of::<T>() {
        return Err(Error::size(format!("cannot address {name}: too large (got {count} elements); check the count")));
    }
    if first.is_null() && count > 0 { Err(null(name)) } else { Ok(()) }
}

/// Writes the first elements of `elements`, at most `count`, to a caller's array, and their number to `written`.
///
/// # Safety
/// `out` is NULL or has memory for `count` elements, `written` is NULL or writable.
pub(super) unsafe fn give<T>(
    elements: impl Iterator<Item = T>,
    count: usize,
    out: *mut T,
    written: *mut usize,
) -> Result<()> {
    array(out, count, "out")?;
    not_null(written, "written")?;
    let ticker = Ticker::new("copying results");
    let mut given = 0;
    for element in elements.take(count) {
        ticker.check()?;
        // SAFETY: not NULL, with memory for `count`, as the caller ensures.
        unsafe { out.add(given).write(element) };
        given += 1;
    }
    // SAFETY: not NULL; writable, as the caller ensures.
    unsafe { written.write(given) };
    Ok(())
}

/// Returns the address of the first element; NULL if there is none, so that C gets no dangling pointer.
pub(super) fn address<T>(elements: &[T]) -> *const T {
    if elements.is_empty() { std::ptr::null() } else { elements.as_ptr() }
}

/// Returns a caller's array, which may be NULL if it has no elements.
///
/// # Safety
/// `first` is NULL or points to `count` elements that are only read for `'a`.
pub(super) unsafe fn slice<'a, T>(first: *const T, count: usize, name: &str) -> Result<&'a [T]> {
    array(first, count, name)?;
    // SAFETY: not NULL, of a size that can be addressed; the rest as the caller ensures.
    Ok(if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(first, count) } })
}
