//! The version. `scripts/header.sh` adds the macros of the header, from the same line of `Cargo.toml`.

use std::ffi::{CStr, c_char};

/// The version as text that ends with NUL.
const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(text) => text,
    Err(_) => panic!("the version contains no NUL"),
};

/// Returns the version of the loaded library: major << 16 | minor << 8 | patch. Versions with the same major number
/// (while it is 0: the same major and minor number) have compatible C APIs. Never fails. May be called on any thread.
#[unsafe(no_mangle)]
pub extern "C" fn isoline_version() -> u32 {
    crate::version()
}

/// Returns the version as text, such as "0.1.0". The string is static: it is never NULL and must not be freed. May be
/// called on any thread.
#[unsafe(no_mangle)]
pub extern "C" fn isoline_version_string() -> *const c_char {
    VERSION.as_ptr()
}
