//! From the caller's pixels to the start of the iteration: the field v⁰ and the mask of shape pixels.

use super::{Foreground, Plan, Start, type_range};
use crate::error::{Error, Result};
use crate::image::Image;
pub(super) use crate::image::zeroed;
use ndarray::{ArrayView2, ArrayView3, s};
use rayon::prelude::*;
use std::ops::Range;

/// How a pixel outside the shape starts, resolved for one image. The same numbers drive the CUDA kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Start0 {
    /// `false`: 0. `true`: clamp((pixel − minimum)·scale, 0, 1).
    pub(super) from_input: bool,
    pub(super) minimum: f32,
    pub(super) scale: f32,
    /// Turn the scaled value over: 1 − value (dark shapes).
    pub(super) reversed: bool,
}

impl Start0 {
    /// Resolves `start` for a host image; a device image with an automatic range is measured on the device first.
    pub(super) fn resolve(start: Start, input: &Image<'_>, foreground: Foreground) -> Self {
        match start {
            Start::Mask => Self::mask(),
            Start::Input(Some(range)) => Self::scaled(range, foreground),
            Start::Input(None) => {
                let range = type_range(input.pixel_type()).or_else(|| input.extremes());
                let range = range.unwrap_or_else(|| unreachable!("a device image's range is measured on the device"));
                Self::scaled(range, foreground)
            }
        }
    }

    pub(super) fn mask() -> Self {
        Self { from_input: false, minimum: 0.0, scale: 0.0, reversed: false }
    }

    /// A range without extent (a constant image) scales to 0.
    pub(super) fn scaled([low, high]: [f64; 2], foreground: Foreground) -> Self {
        let extent = high - low;
        let scale = if extent > 0.0 { (1.0 / extent) as f32 } else { 0.0 };
        Self { from_input: true, minimum: low as f32, scale, reversed: foreground == Foreground::Below }
    }

    fn value(&self, pixel: f32) -> f32 {
        if !self.from_input {
            return 0.0;
        }
        let scaled = (pixel - self.minimum) * self.scale;
        // As the kernel does it: 0 · ∞ is 0, not NaN.
        let scaled = if scaled > 0.0 { scaled.min(1.0) } else { 0.0 };
        if self.reversed { 1.0 - scaled } else { scaled }
    }
}

/// The start field and the mask (1 on shape pixels) of `slices` of the input, packed.
pub(super) fn prepare(
    input: &Image<'_>,
    slices: Range<usize>,
    plan: &Plan,
    start: &Start0,
) -> Result<(Vec<f32>, Vec<u8>)> {
    match input {
        Image::U8(view) => fill(view.slice(s![slices, .., ..]), plan, start),
        Image::U16(view) => fill(view.slice(s![slices, .., ..]), plan, start),
        Image::F32(view) => fill(view.slice(s![slices, .., ..]), plan, start),
        Image::Device(_) => Err(Error::unsupported("the image is in CUDA memory, but this runs on the CPU")),
    }
}

fn fill<T>(view: ArrayView3<'_, T>, plan: &Plan, start: &Start0) -> Result<(Vec<f32>, Vec<u8>)>
where
    T: Copy + Into<f64> + Send + Sync + ToF32,
{
    let (depth, height, width) = view.dim();
    let count = depth * height * width;
    let mut field = zeroed(count)?;
    let mut fixed = zeroed(count)?;
    let rows = |array: ArrayView2<'_, T>, field: &mut [f32], fixed: &mut [u8]| {
        for ((row, field), fixed) in array.rows().into_iter().zip(field.chunks_mut(width)).zip(fixed.chunks_mut(width))
        {
            for ((pixel, value), mark) in row.iter().zip(field).zip(fixed) {
                (*value, *mark) = first(*pixel, plan, start);
            }
        }
    };
    const ROWS: usize = 64;
    for ((slice, field), fixed) in
        view.outer_iter().zip(field.chunks_mut(width * height)).zip(fixed.chunks_mut(width * height))
    {
        field.par_chunks_mut(width * ROWS).zip(fixed.par_chunks_mut(width * ROWS)).enumerate().for_each(
            |(block, (field, fixed))| {
                let end = height.min((block + 1) * ROWS);
                rows(slice.slice(s![block * ROWS..end, ..]), field, fixed);
            },
        );
    }
    Ok((field, fixed))
}

/// The start value of one pixel, and 1 if it is shape.
fn first<T: Copy + Into<f64> + ToF32>(pixel: T, plan: &Plan, start: &Start0) -> (f32, u8) {
    let value: f64 = pixel.into();
    let shape = match plan.foreground {
        Foreground::Above => value > plan.threshold,
        Foreground::Below => value <= plan.threshold,
    };
    if shape {
        (1.0, 1)
    } else if value.is_nan() {
        (0.0, 0)
    } else {
        (start.value(pixel.to_f32()), 0)
    }
}

/// Every pixel type is exact in f32.
trait ToF32 {
    fn to_f32(self) -> f32;
}
impl ToF32 for u8 {
    fn to_f32(self) -> f32 {
        f32::from(self)
    }
}
impl ToF32 for u16 {
    fn to_f32(self) -> f32 {
        f32::from(self)
    }
}
impl ToF32 for f32 {
    fn to_f32(self) -> f32 {
        self
    }
}
