//! Shared by the kernel launches of all operations: limits of CUDA, and the errors of a launch.

use super::failed;
use crate::error::{Error, Result};
use cudarc::driver::DriverError;
use std::ffi::c_void;

/// The number of threads of a warp.
pub(crate) const WARP: u32 = 32;

/// The largest number of blocks of a grid along y, and along z.
pub(crate) const MAX_GRID_YZ: usize = 65535;

/// Returns the error of a launch of `kernel` that the driver refused.
pub(crate) fn launch_failed(error: DriverError, kernel: &str) -> Error {
    failed(&format!("start the kernel {kernel}"), error)
}

/// Returns a kernel argument as the driver takes it.
pub(crate) fn argument<T>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}

/// Refuses an image with a side of more than `most` pixels, which the kernels could not index.
pub(crate) fn check_sides([width, height, depth]: [usize; 3], most: usize) -> Result<()> {
    if width.max(height).max(depth) <= most {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "cannot compute on a CUDA device: a side may have at most {most} pixels (got {width} x {height} x {depth}); use \
         the device cpu"
    )))
}
