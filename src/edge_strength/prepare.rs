//! From the caller's pixels to the start of the iteration: the field v⁰ and the mask of shape pixels.

use super::{Foreground, Plan, Start, type_range};
use crate::error::{Error, Result};
use crate::image::Image;
pub(super) use crate::image::zeroed;
use crate::threshold::Pixel;
use ndarray::{ArrayView1, ArrayView3, s};
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

    #[inline(always)]
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

/// The pixels of one field, a slice or a volume, in the caller's memory, and what they start as.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pixels<'a> {
    view: View<'a>,
    foreground: Foreground,
    threshold: f64,
    start: Start0,
}

#[derive(Clone, Copy, Debug)]
enum View<'a> {
    U8(ArrayView3<'a, u8>),
    U16(ArrayView3<'a, u16>),
    F32(ArrayView3<'a, f32>),
}

impl<'a> Pixels<'a> {
    /// Those of `slices` of the input.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for an image in CUDA memory.
    pub(super) fn new(input: &Image<'a>, slices: Range<usize>, plan: &Plan, start: &Start0) -> Result<Self> {
        let which = s![slices, .., ..];
        let view = match input {
            Image::U8(view) => View::U8(view.slice_move(which)),
            Image::U16(view) => View::U16(view.slice_move(which)),
            Image::F32(view) => View::F32(view.slice_move(which)),
            Image::Device(_) => {
                return Err(Error::unsupported("the image is in CUDA memory, but this runs on the CPU"));
            }
        };
        Ok(Self { view, foreground: plan.foreground, threshold: plan.threshold, start: *start })
    }

    /// Width, height and depth.
    pub(super) fn shape(&self) -> [usize; 3] {
        let (depth, height, width) = match &self.view {
            View::U8(view) => view.dim(),
            View::U16(view) => view.dim(),
            View::F32(view) => view.dim(),
        };
        [width, height, depth]
    }

    /// Whether every pixel starts at 1 (shape) or 0.
    pub(super) fn start_is_mask(&self) -> bool {
        !self.start.from_input
    }

    /// Sets `bits` in each of `marks` whose pixel is not shape.
    #[inline(always)]
    pub(super) fn mark_changing(&self, row: [usize; 2], columns: Range<usize>, bits: u8, marks: &mut [u8]) {
        match &self.view {
            View::U8(view) => mark_changing(line(view, row, columns), self.foreground, self.threshold, bits, marks),
            View::U16(view) => mark_changing(line(view, row, columns), self.foreground, self.threshold, bits, marks),
            View::F32(view) => mark_changing(line(view, row, columns), self.foreground, self.threshold, bits, marks),
        }
    }

    /// What the pixels start at.
    #[inline(always)]
    pub(super) fn start(&self, row: [usize; 2], columns: Range<usize>, values: &mut [f32]) {
        match &self.view {
            View::U8(view) => start(line(view, row, columns), self, values),
            View::U16(view) => start(line(view, row, columns), self, values),
            View::F32(view) => start(line(view, row, columns), self, values),
        }
    }
}

/// Some columns of row `[y, z]`.
#[inline(always)]
fn line<'a, T>(view: &'a ArrayView3<'_, T>, [y, z]: [usize; 2], columns: Range<usize>) -> ArrayView1<'a, T> {
    view.slice(s![z, y, columns])
}

#[inline(always)]
fn mark_changing<T: Pixel>(
    pixels: ArrayView1<'_, T>,
    foreground: Foreground,
    threshold: f64,
    bits: u8,
    marks: &mut [u8],
) {
    let cut = T::cut(threshold);
    match (pixels.as_slice(), foreground) {
        (Some(pixels), Foreground::Above) => {
            for (mark, pixel) in marks.iter_mut().zip(pixels) {
                *mark |= if pixel.is_above(cut) { 0 } else { bits };
            }
        }
        (Some(pixels), Foreground::Below) => {
            for (mark, pixel) in marks.iter_mut().zip(pixels) {
                *mark |= if pixel.is_below(cut) { 0 } else { bits };
            }
        }
        (None, _) => {
            for (mark, pixel) in marks.iter_mut().zip(pixels) {
                *mark |= if pixel.is_shape(foreground, cut) { 0 } else { bits };
            }
        }
    }
}

#[inline(always)]
fn start<T: Pixel>(row: ArrayView1<'_, T>, pixels: &Pixels<'_>, values: &mut [f32]) {
    let cut = T::cut(pixels.threshold);
    match row.as_slice() {
        Some(row) => {
            for (value, pixel) in values.iter_mut().zip(row) {
                *value = first(*pixel, cut, pixels);
            }
        }
        None => {
            for (value, pixel) in values.iter_mut().zip(row) {
                *value = first(*pixel, cut, pixels);
            }
        }
    }
}

/// The start value of one pixel.
#[inline(always)]
fn first<T: Pixel>(pixel: T, cut: T::Cut, pixels: &Pixels<'_>) -> f32 {
    let value = pixel.to_f32();
    let outside = if value.is_nan() { 0.0 } else { pixels.start.value(value) };
    if pixel.is_shape(pixels.foreground, cut) { 1.0 } else { outside }
}

/// The start field and the mask (1 on shape pixels), packed.
pub(super) fn prepare(pixels: &Pixels<'_>) -> Result<(Vec<f32>, Vec<u8>)> {
    const ROWS: usize = 64;
    let [width, height, depth] = pixels.shape();
    let mut field = zeroed(width * height * depth)?;
    let mut fixed: Vec<u8> = zeroed(field.len())?;
    field.par_chunks_mut(width * ROWS).zip(fixed.par_chunks_mut(width * ROWS)).enumerate().for_each(
        |(block, (field, fixed))| {
            for (i, (values, marks)) in field.chunks_mut(width).zip(fixed.chunks_mut(width)).enumerate() {
                let row = block * ROWS + i;
                let row = [row % height, row / height];
                pixels.start(row, 0..width, values);
                pixels.mark_changing(row, 0..width, 1, marks);
                marks.iter_mut().for_each(|mark| *mark ^= 1);
            }
        },
    );
    Ok((field, fixed))
}
