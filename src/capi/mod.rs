//! The C API, in one file per noun. It only translates to the Rust API. `scripts/header.sh` makes the header from
//! `preamble.h`, which has the API conventions, followed by the modules below in their order, which keeps related
//! declarations together.
//!
//! # Safety
//! The caller of every extern function ensures only what C cannot check: a pointer that is not NULL points to what
//! its type says and stays valid during the call, and `struct_size` is the size of the struct that it begins.
//! Everything else is checked.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc, reason = "stated once, above; doc comments here become the header, for C readers")]
#![allow(non_camel_case_types, reason = "C names")]
#![allow(dead_code, reason = "C programs use the constants")]

// Modules that are not in the header, but that its modules use.
mod check;
mod fields;
mod floats;
mod object;
mod panics;
mod sized;
#[cfg(test)]
mod tests;

// The modules of the header, in its order, each part after its title. A type must be declared before it is used; blank
// lines keep rustfmt from sorting.

// Header: Version
mod version;

// Header: Status and errors
mod status;

// Header: Log
mod log;

// Header: Devices and contexts
mod device;

mod context;

// Header: Buffers
mod buffer;

// Header: Progress and reports
mod progress;
mod report;

// Header: Images and masks
mod image;
mod mask;

// Header: Descriptions of operations and parameters
mod operation;

// Header: Edge strength
mod edge_strength;

// Header: Edge drawing
mod segments;

mod edge_drawing;

// Header: Distance
mod distance;

// Header: Isolines
mod isolines;

// Header: Axes of an edge strength
mod axes;

// Header: Isosurface
mod isosurface;

// Header: Level set
mod level_set;
mod level_set_results;

// Header: Objects
mod objects;

// Header: Region snake
mod polygons;
mod snake;
mod snake_results;

use crate::OPERATIONS;
use crate::error::{Error, ErrorKind, Result};
use operation::Entry;
use status::isoline_status;

/// The operations, in the order of [`OPERATIONS`].
static ENTRIES: &[Entry] = &[
    Entry::of::<edge_strength::isoline_edge_strength_params>(),
    Entry::of::<edge_drawing::isoline_edge_drawing_params>(),
    Entry::of::<level_set::isoline_level_set_params>(),
    Entry::of::<snake::isoline_snake_params>(),
    Entry::of::<distance::isoline_distance_params>(),
    Entry::of::<isolines::isoline_isolines_params>(),
    Entry::of::<isosurface::isoline_isosurface_params>(),
    Entry::of::<objects::isoline_objects_params>(),
];

const _: () = assert!(ENTRIES.len() == OPERATIONS.len(), "ENTRIES must have the params struct of each of OPERATIONS");

/// Runs the body of an extern function: an error or a panic becomes a status and this thread's last error.
fn guard(body: impl FnOnce() -> Result<()>) -> isoline_status {
    let error = match panics::catch(body) {
        Ok(Ok(())) => return isoline_status::ISOLINE_OK,
        Ok(Err(error)) => error,
        Err(panic) => Error::new(
            ErrorKind::Panic,
            format!(
                "cannot finish the call: internal error in Isoline ({}); please report it",
                panics::text(panic.as_ref())
            ),
        ),
    };
    status::set_last_error(error.message());
    isoline_status::from(error.kind())
}

/// Runs the body of an extern function without a status; returns `default` if it panics.
fn guard_or<T>(default: T, body: impl FnOnce() -> T) -> T {
    panics::catch(body).unwrap_or(default)
}

/// The error of a NULL pointer argument.
fn null(argument: &str) -> Error {
    Error::new(ErrorKind::NullPointer, format!("{argument} must not be NULL"))
}
