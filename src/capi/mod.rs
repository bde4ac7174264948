//! The C API, in one file per noun, which only translates. `scripts/header.sh` makes the header: `preamble.h`, which has
//! the API conventions, and then the files one after the other, so that what belongs together stays together.
//!
//! # Safety
//! The caller of every extern function ensures only what C cannot check: a pointer that is not NULL points to what
//! its type says and stays valid during the call, and `struct_size` is the size of the struct that it begins.
//! Everything else is checked.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc, reason = "stated once, above; doc comments here become the header, for C readers")]
#![allow(non_camel_case_types, reason = "C names")]

mod check;
mod context;
mod device;
mod distance;
mod edge_drawing;
mod edge_strength;
mod fields;
mod image;
mod level_set;
mod log;
mod mask;
mod operation;
mod polygons;
mod progress;
mod report;
mod segments;
mod sized;
mod snake;
mod snake_results;
mod status;
mod version;

use crate::error::{Error, ErrorKind, Result};
pub use context::*;
pub use device::*;
pub use distance::*;
pub use edge_drawing::*;
pub use edge_strength::*;
pub use image::{isoline_foreground, isoline_image, isoline_image_init, isoline_memory, isoline_type};
pub use level_set::*;
pub use log::{isoline_log_fn, isoline_log_level, isoline_set_logger};
pub use mask::*;
pub use operation::*;
pub use polygons::{isoline_node, isoline_polygons, isoline_polygons_init};
pub use progress::{isoline_progress, isoline_progress_fn, isoline_progress_init};
pub use report::*;
pub use segments::*;
pub use snake::*;
pub use snake_results::*;
pub use status::*;
pub use version::*;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of an extern function: an error or a panic becomes a status and this thread's last error.
fn guard(body: impl FnOnce() -> Result<()>) -> isoline_status {
    let error = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return isoline_status::ISOLINE_OK,
        Ok(Err(error)) => error,
        Err(panic) => {
            let what = panic
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "unknown".into());
            Error::new(
                ErrorKind::Panic,
                format!("cannot finish the call: internal error in Isoline ({what}); please report it"),
            )
        }
    };
    status::set_last_error(error.message());
    isoline_status::from(error.kind())
}

/// Runs the body of an extern function without a status; returns `default` if it panics.
fn guard_or<T>(default: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(default)
}

/// The error of a NULL pointer argument.
fn null(argument: &str) -> Error {
    Error::new(ErrorKind::NullPointer, format!("{argument} must not be NULL"))
}
