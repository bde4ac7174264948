//! Prepares a slice or volume for the iteration: the initial values v⁰ and the mask of shape pixels.

use super::{Foreground, Plan};
use crate::error::{Error, Result};
use crate::image::{Image, on_host};
use crate::memory::Array;
use crate::parallel::try_par_each;
use crate::progress::Ticker;
use crate::threshold::Pixel;
use ndarray::{ArrayView1, ArrayView3, Axis};
use std::ops::Range;

/// The scaling of pixels outside the shape to their initial values, computed for one image. The CUDA kernel takes the
/// same numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct InitialValues {
    /// If 0, all initial values are 0. Otherwise they are clamp((pixel·unit − minimum)·scale, 0, 1). It is 1, unless the
    /// extent of the range is too large for f32; it is then a smaller power of two, so that the product is exact.
    pub(super) unit: f32,
    pub(super) minimum: f32,
    pub(super) scale: f32,
    /// If `true`, the scaled value is inverted, 1 − value (dark shapes).
    pub(super) inverted: bool,
}

impl InitialValues {
    /// Makes all initial values 0.
    pub(super) fn mask() -> Self {
        Self { unit: 0.0, minimum: 0.0, scale: 0.0, inverted: false }
    }

    /// Returns whether all initial values are 0.
    pub(super) fn is_mask(&self) -> bool {
        self.unit == 0.0
    }

    /// Scales the range from `low` to `high` to 0..1. A range without extent (a constant image) scales to 0.
    pub(super) fn scaled([low, high]: [f64; 2], foreground: Foreground) -> Self {
        // The difference of two f64 may overflow, but not the difference of their halves.
        let half = high / 2.0 - low / 2.0;
        let unit = if half <= f64::from(f32::MAX) / 2.0 { 1.0 } else { (125.0 - half.log2()).floor().exp2() };
        let [low, high] = [low * unit, high * unit];
        let extent = high - low;
        // If the range needs a smaller unit than f32 has, every pixel is negligible beside it. The unit must not become 0,
        // which would mean that all initial values are 0.
        let unit = (unit as f32).max(f32::from_bits(1));
        let scale = if extent > 0.0 { (1.0 / extent) as f32 } else { 0.0 };
        Self { unit, minimum: low as f32, scale, inverted: foreground == Foreground::Below }
    }

    /// Returns the initial value of a pixel outside the shape.
    #[inline(always)]
    fn value(&self, pixel: f32) -> f32 {
        if self.is_mask() {
            return 0.0;
        }
        let scaled = (pixel * self.unit - self.minimum) * self.scale;
        // 0 · ∞ becomes 0, not NaN, in the same way as in the kernel.
        let scaled = if scaled > 0.0 { scaled.min(1.0) } else { 0.0 };
        if self.inverted { 1.0 - scaled } else { scaled }
    }
}

/// The pixels of one slice or volume in the caller's memory, with the rule for their initial values.
#[derive(Clone, Copy, Debug)]
pub(super) struct InputPixels<'a> {
    image: Image<'a>,
    foreground: Foreground,
    threshold: f64,
    rule: InitialValues,
}

impl<'a> InputPixels<'a> {
    /// Takes `slices` of the input.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for an image in CUDA memory.
    pub(super) fn new(input: &Image<'a>, slices: Range<usize>, plan: &Plan, start: &InitialValues) -> Result<Self> {
        if matches!(input, Image::Device(_)) {
            return Err(Error::in_cuda_memory("image"));
        }
        let image = input.slices(&slices);
        Ok(Self { image, foreground: plan.foreground, threshold: plan.threshold, rule: *start })
    }

    /// Returns width, height and depth.
    pub(super) fn shape(&self) -> [usize; 3] {
        self.image.shape()
    }

    /// Returns whether every pixel starts at 1 (shape) or 0.
    pub(super) fn start_is_mask(&self) -> bool {
        self.rule.is_mask()
    }

    /// Sets `bits` in each of `marks` whose pixel is not on the shape, so that it changes.
    #[inline(always)]
    pub(super) fn mark_changing(&self, row: [usize; 2], columns: Range<usize>, bits: u8, marks: &mut [u8]) {
        on_host!(
            Image,
            &self.image,
            view => mark_changing(line(view, row, columns), self.foreground, self.threshold, bits, marks),
            unreachable!("new has refused it")
        );
    }

    /// Writes the initial values of some columns of row `[y, z]`.
    #[inline(always)]
    pub(super) fn initial_values(&self, row: [usize; 2], columns: Range<usize>, values: &mut [f32]) {
        on_host!(
            Image,
            &self.image,
            view => initial_values(line(view, row, columns), self, values),
            unreachable!("new has refused it")
        );
    }
}

/// Returns some columns of row `[y, z]`.
#[inline(always)]
fn line<'a, T>(view: &'a ArrayView3<'_, T>, [y, z]: [usize; 2], columns: Range<usize>) -> ArrayView1<'a, T> {
    // Not `slice`, whose checks of every axis took 10 % of the time of iterations in 3D.
    let row = view.index_axis(Axis(0), z).index_axis_move(Axis(0), y);
    row.split_at(Axis(0), columns.end).0.split_at(Axis(0), columns.start).1
}

#[inline(always)]
fn mark_changing<T: Pixel>(
    pixels: ArrayView1<'_, T>,
    foreground: Foreground,
    threshold: f64,
    bits: u8,
    marks: &mut [u8],
) {
    let threshold = T::threshold(threshold);
    match (pixels.as_slice(), foreground) {
        (Some(pixels), Foreground::Above) => {
            for (mark, pixel) in marks.iter_mut().zip(pixels) {
                *mark |= if pixel.is_above(threshold) { 0 } else { bits };
            }
        }
        (Some(pixels), Foreground::Below) => {
            for (mark, pixel) in marks.iter_mut().zip(pixels) {
                *mark |= if pixel.is_below(threshold) { 0 } else { bits };
            }
        }
        (None, _) => {
            for (mark, pixel) in marks.iter_mut().zip(pixels) {
                *mark |= if pixel.is_foreground(foreground, threshold) { 0 } else { bits };
            }
        }
    }
}

#[inline(always)]
fn initial_values<T: Pixel>(row: ArrayView1<'_, T>, pixels: &InputPixels<'_>, values: &mut [f32]) {
    let threshold = T::threshold(pixels.threshold);
    match row.as_slice() {
        Some(row) => {
            for (value, pixel) in values.iter_mut().zip(row) {
                *value = initial_value(*pixel, threshold, pixels);
            }
        }
        None => {
            for (value, pixel) in values.iter_mut().zip(row) {
                *value = initial_value(*pixel, threshold, pixels);
            }
        }
    }
}

/// Returns the initial value of one pixel.
#[inline(always)]
fn initial_value<T: Pixel>(pixel: T, threshold: T::Threshold, pixels: &InputPixels<'_>) -> f32 {
    let value = pixel.to_f32();
    let outside = if value.is_nan() { 0.0 } else { pixels.rule.value(value) };
    if pixel.is_foreground(pixels.foreground, threshold) { 1.0 } else { outside }
}

/// Returns the initial values and the mask (1 on shape pixels), packed.
pub(super) fn prepare(pixels: &InputPixels<'_>, ticker: &Ticker) -> Result<(Array<f32>, Array<u8>)> {
    /// The number of rows of one task.
    const ROWS: usize = 64;
    let [width, height, depth] = pixels.shape();
    let mut field = Array::zeroed(width * height * depth)?;
    let mut fixed: Array<u8> = Array::zeroed(field.len())?;
    let blocks = field.chunks_mut(width * ROWS).zip(fixed.chunks_mut(width * ROWS));
    try_par_each(blocks, ticker, |block, (field, fixed)| {
        for (i, (values, marks)) in field.chunks_mut(width).zip(fixed.chunks_mut(width)).enumerate() {
            let row = block * ROWS + i;
            let row = [row % height, row / height];
            pixels.initial_values(row, 0..width, values);
            pixels.mark_changing(row, 0..width, 1, marks);
            marks.iter_mut().for_each(|mark| *mark ^= 1);
        }
        Ok(())
    })?;
    Ok((field, fixed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_range_of_floats_is_scaled_to_0_to_1() {
        let most = f64::from(f32::MAX);
        for [low, high] in [[0.0, 255.0], [-3.5, 1e30], [0.0, most], [-1e38, most], [-most, most], [-1e300, 1e300]] {
            let rule = InitialValues::scaled([low, high], Foreground::Above);
            for pixel in [0.0, 1.0, 255.0, 1e30, -1e38, 1.7e38, 3.3e38, f32::MAX, f32::MIN, f32::INFINITY] {
                let exact = ((f64::from(pixel) / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0)).clamp(0.0, 1.0);
                let error = (f64::from(rule.value(pixel)) - exact).abs();
                assert!(error < 1e-6, "{pixel} in {low}..{high}: {} instead of {exact}", rule.value(pixel));
            }
        }
    }

    #[test]
    fn the_unit_of_common_ranges_changes_no_bit() {
        for range in [[0.0, 1.0], [0.0, 65535.0], [-1e20, 3e38], [7.0, 7.0]] {
            assert_eq!(InitialValues::scaled(range, Foreground::Above).unit, 1.0);
        }
    }
}
