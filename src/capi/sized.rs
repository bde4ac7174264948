//! Structs that begin with their size. They can be read from callers that were built with older or newer headers, and are
//! written as far as the caller's struct reaches.

use super::null;
use crate::error::{Error, Result};
use std::mem::MaybeUninit;

/// A C struct that begins with `struct_size`.
///
/// # Safety
/// `repr(C)`, first field `struct_size: u32`, and valid for every bit pattern of its bytes (integers, floats, raw
/// pointers, optional function pointers, arrays of those), without padding that matters.
pub(super) unsafe trait Sized32: Copy {
    /// The C name of the struct, for messages.
    const NAME: &'static str;
    /// The size of the struct in the first release; a smaller one is an error.
    const FIRST_SIZE: usize;
    /// Returns the values that `isoline_..._init` writes, except `struct_size`.
    fn defaults() -> Self;
}

/// Returns the size that the struct at `pointer` states, checked against that of the first release.
///
/// # Safety
/// `pointer` is NULL or points to at least 4 readable bytes.
unsafe fn size_of_caller<T: Sized32>(pointer: *const T, argument: &str) -> Result<usize> {
    if pointer.is_null() {
        return Err(null(argument));
    }
    // SAFETY: not NULL; the caller ensures the first field.
    let size = unsafe { pointer.cast::<u32>().read_unaligned() } as usize;
    if size < T::FIRST_SIZE {
        return Err(Error::argument(format!(
            "{argument}->struct_size must be at least the {1} bytes of {0}, but it is {size}; call its init function first",
            T::NAME,
            T::FIRST_SIZE
        )));
    }
    Ok(size)
}

/// Reads a caller's struct. Fields that an older caller does not have take their defaults; in the struct of a newer
/// caller, fields that this library does not know must be zero.
///
/// # Safety
/// `pointer` is NULL or points to `struct_size` readable bytes, `struct_size` being its first field.
pub(super) unsafe fn read<T: Sized32>(pointer: *const T, argument: &str) -> Result<T> {
    // SAFETY: as the caller ensures.
    let size = unsafe { size_of_caller(pointer, argument) }?;
    let known = size.min(size_of::<T>());
    for offset in known..size {
        // SAFETY: within the caller's struct_size bytes.
        if unsafe { pointer.cast::<u8>().add(offset).read() } != 0 {
            return Err(Error::unsupported(format!(
                "{argument} is a newer {} ({size} bytes) than this library's ({} bytes) and uses a field that it does \
                 not know; update the Isoline library",
                T::NAME,
                size_of::<T>()
            )));
        }
    }
    let mut value = MaybeUninit::new(T::defaults());
    // SAFETY: `known` bytes are readable there and writable here; T is valid for any bit pattern (trait contract).
    Ok(unsafe {
        std::ptr::copy_nonoverlapping(pointer.cast::<u8>(), value.as_mut_ptr().cast::<u8>(), known);
        value.assume_init()
    })
}

/// Writes `value` to a caller's struct as far as it reaches, keeping its `struct_size`.
///
/// # Safety
/// The requirements of [`read`] hold, and the bytes are writable.
pub(super) unsafe fn write<T: Sized32>(pointer: *mut T, value: &T, argument: &str) -> Result<()> {
    // SAFETY: as the caller ensures.
    let size = unsafe { size_of_caller(pointer.cast_const(), argument) }?;
    let header = size_of::<u32>();
    let length = size.min(size_of::<T>()) - header;
    // SAFETY: both sides have `header + length` bytes, and a Rust local never overlaps the caller's struct.
    unsafe {
        std::ptr::copy_nonoverlapping(
            std::ptr::from_ref(value).cast::<u8>().add(header),
            pointer.cast::<u8>().add(header),
            length,
        );
    }
    Ok(())
}

/// Fills a caller's struct for `isoline_..._init`: the defaults, zeros beyond the fields that this library knows, and
/// the size.
///
/// # Safety
/// `pointer` is NULL or points to `struct_size` writable bytes.
pub(super) unsafe fn init<T: Sized32>(pointer: *mut T, struct_size: usize, argument: &str) -> Result<()> {
    if pointer.is_null() {
        return Err(null(argument));
    }
    let size = u32::try_from(struct_size).ok().filter(|size| *size as usize >= T::FIRST_SIZE).ok_or_else(|| {
        Error::argument(format!(
            "struct_size must be from {} to {} bytes, but it is {struct_size}; pass sizeof({})",
            T::FIRST_SIZE,
            u32::MAX,
            T::NAME
        ))
    })?;
    // SAFETY: `struct_size` bytes are writable there.
    unsafe {
        std::ptr::write_bytes(pointer.cast::<u8>(), 0, struct_size);
        pointer.cast::<u32>().write_unaligned(size);
        write(pointer, &T::defaults(), argument)
    }
}

/// Makes a struct of integers, floats, pointers and arrays of those a [`Sized32`]: `sized_struct!(STRUCT, FIRST_SIZE,
/// FIELD: DEFAULT, ...)`. FIRST_SIZE is the size of the struct in the first release; the default of a field that is not
/// named is 0 or NULL.
macro_rules! sized_struct {
    ($name:ident, $first_size:literal $(, $field:ident: $default:expr)* $(,)?) => {
        // SAFETY: repr(C), struct_size first; integers, floats, pointers and arrays of those.
        unsafe impl $crate::capi::sized::Sized32 for $name {
            const NAME: &'static str = stringify!($name);
            const FIRST_SIZE: usize = $first_size;
            fn defaults() -> Self {
                // SAFETY: integers, floats, raw pointers and optional functions may be zero.
                let zeros: Self = unsafe { std::mem::zeroed() };
                Self { struct_size: size_of::<Self>() as u32, $($field: $default,)* ..zeros }
            }
        }
        const _: () = assert!(size_of::<$name>() == $first_size);
    };
}
pub(super) use sized_struct;

/// Asserts that arrays of a C struct may be read and written as arrays of the library's type: `same_layout!(STRUCT, TYPE,
/// FIELDS...)`.
macro_rules! same_layout {
    ($name:ident, $inner:ident, $($field:ident),+) => {
        const _: () = assert!(
            size_of::<$name>() == size_of::<$inner>()
                && align_of::<$name>() == align_of::<$inner>()
                $(&& std::mem::offset_of!($name, $field) == std::mem::offset_of!($inner, $field))+
        );
    };
}
pub(super) use same_layout;

/// Copies `text` into a C buffer. It is truncated after a whole character, and ends with NUL.
pub(super) fn text<const N: usize>(text: &str) -> [std::ffi::c_char; N] {
    let mut end = text.len().min(N - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut buffer = [0; N];
    for (to, from) in buffer.iter_mut().zip(text.as_bytes()[..end].iter().filter(|byte| **byte != 0)) {
        *to = *from as std::ffi::c_char;
    }
    buffer
}
