//! Isoline computes edge and contour operations at the speed of the hardware, on an NVIDIA GPU or on all CPU cores.
//!
//! A [`Context`] holds the device; an operation takes views of the caller's memory and returns a [`Report`].
//!
//! ```
//! use isoline::{Context, edge_strength::{self, Params}};
//! use ndarray::Array2;
//!
//! let mut drawing = Array2::<u8>::zeros((64, 64));
//! drawing[[32, 32]] = 255;
//! let mut strength = Array2::<f32>::zeros((64, 64));
//! let context = Context::new("auto")?;
//! let report = edge_strength::run(
//!     &context, drawing.view().into(), &Params::default(), None, strength.view_mut().into())?;
//! assert_eq!(strength[[32, 32]], 1.0);
//! println!("{} iterations on {}", report.iterations, report.device.name);
//! # Ok::<(), isoline::Error>(())
//! ```
//!
//! # Axes, units, memory
//! x is fastest, then y, then z; row 0 is at the top; arrays are indexed `[z, y, x]`. No reference to the caller's memory
//! is kept after a call.

mod capi;
mod device;
pub mod distance;
pub mod edge_drawing;
pub mod edge_strength;
mod error;
mod image;
pub mod isolines;
pub mod isosurface;
pub mod level_set;
mod levels;
pub mod mask;
mod memory;
pub mod objects;
mod parallel;
pub mod parameter;
mod pixel_range;
mod progress;
mod pyramid;
mod report;
mod slice_io;
pub mod snake;
mod spacing;
mod threshold;
mod vector;

pub use device::{Context, DeviceImage, DeviceInfo, DeviceKind, DevicePixel, HostBuffer, devices};
pub use error::{Error, ErrorKind, Result};
pub use image::{DevicePixels, Dimensions, Foreground, Image, ImageMut, PixelType};
pub use progress::{Progress, set_cancel_flag};
pub use report::Report;
pub use slice_io::{Input, Output, Sink, Source};

/// Every operation, in the order of the C API's numbers.
pub static OPERATIONS: [&parameter::Operation; 8] = [
    &edge_strength::parameters::OPERATION,
    &edge_drawing::parameters::OPERATION,
    &level_set::parameters::OPERATION,
    &snake::parameters::OPERATION,
    &distance::parameters::OPERATION,
    &isolines::parameters::OPERATION,
    &isosurface::parameters::OPERATION,
    &objects::parameters::OPERATION,
];

/// Returns the version as `major << 16 | minor << 8 | patch`.
pub fn version() -> u32 {
    let number = |text: &str| text.parse::<u32>().unwrap_or(0);
    number(env!("CARGO_PKG_VERSION_MAJOR")) << 16
        | number(env!("CARGO_PKG_VERSION_MINOR")) << 8
        | number(env!("CARGO_PKG_VERSION_PATCH"))
}
