//! The automatic gradient threshold: a multiple of the gradients that noise makes.

use super::gradient::Border;
use super::prepare::DEFAULT_THRESHOLD;
use super::scalar::{self, Grid};
use super::{Params, prepare};
use crate::device::{Context, HostCopy};
use crate::error::Result;
use crate::image::{DevicePixels, Image, extend};
use crate::progress::Ticker;
use rayon::prelude::*;
use std::ops::Range;

/// The blocks of pixels in which the noise is measured: their number along x and along y, and their side.
const BLOCKS: usize = 4;
const SIDE: usize = 64;
/// The reach of smoothing and gradient, which the outermost pixels of a block lack.
const MARGIN: usize = 3;
/// The threshold over the lower quartile of the gradients. Edges are on fewer than three quarters of the pixels, so that the
/// quartile is one of noise; of normally distributed noise, one pixel in a thousand has a gradient above five times it.
const THRESHOLD_PER_QUARTILE: f64 = 5.0;

/// Returns the automatic gradient threshold of an image, in its own units: five times the lower quartile of the gradients in
/// sixteen blocks of it; 20/255 of the range of the pixels (20 for u8) where a quarter of the gradients is 0. The host
/// measures it, so it is the same on every device.
pub(super) fn threshold(context: &Context, input: &Image<'_>, params: &Params) -> Result<f64> {
    let params = Params { gradient_threshold: None, ..params.clone() };
    let [low, high] = params.extent(input.pixel_type(), prepare::extremes(context, &params, input)?);
    let plan = Params { gradient_threshold: Some(0.0), ..params.clone() }.plan(input.pixel_type(), Some([low, high]));
    let depth = input.shape()[2];
    let blocks: Vec<usize> = (0..BLOCKS * BLOCKS).collect();
    let mut gradients = Vec::new();
    for blocks in blocks.chunk_by(|a, b| slice_of(*a, depth) == slice_of(*b, depth)) {
        let z = slice_of(blocks[0], depth);
        let copy = match input {
            Image::Device(pixels) => Some(HostCopy::new(context, &one_slice(pixels, z))?),
            _ => None,
        };
        let level = |x: usize, y: usize| match copy.as_ref().map(HostCopy::view) {
            Some(slice) => plan.level(&slice, [x, y, 0]),
            None => plan.level(input, [x, y, z]),
        };
        let found: Result<Vec<Vec<u32>>> = context.pool().install(|| {
            let gradients_of = |block: &usize| gradients_in(*block, input.shape(), &params, level);
            blocks.par_iter().map(gradients_of).collect()
        });
        for found in found? {
            extend(&mut gradients, found)?;
        }
    }
    let quartile = gradients.len() / 4;
    let quartile = f64::from(*gradients.select_nth_unstable(quartile).1);
    let of_noise = THRESHOLD_PER_QUARTILE * quartile * plan.unit;
    Ok(if of_noise > 0.0 { of_noise } else { DEFAULT_THRESHOLD / 255.0 * (high - low).max(0.0) })
}

/// Returns the slice that a block lies in.
fn slice_of(block: usize, depth: usize) -> usize {
    block * depth / (BLOCKS * BLOCKS)
}

fn one_slice<'a>(pixels: &DevicePixels<'a>, z: usize) -> DevicePixels<'a> {
    let [width, height, _] = pixels.shape;
    DevicePixels { address: pixels.address + (z * pixels.strides[1]) as u64, shape: [width, height, 1], ..*pixels }
}

fn gradients_in(
    block: usize,
    [width, height, _]: [usize; 3],
    params: &Params,
    level: impl Fn(usize, usize) -> u32,
) -> Result<Vec<u32>> {
    let part = |index: usize, size: usize| -> Range<usize> {
        let side = SIDE.min(size);
        let first = (size - side) * index / (BLOCKS - 1);
        first..first + side
    };
    let (xs, ys) = (part(block % BLOCKS, width), part(block / BLOCKS, height));
    let ticker = Ticker::new("edge drawing");
    let image = Grid::from_fn(xs.len(), ys.len(), &ticker, |x, y| level(xs.start + x, ys.start + y))?;
    let smoothed = scalar::smooth(&image, &ticker)?;
    let gradients = scalar::gradient(&smoothed, params.operator, Border::Mirror, 1, &ticker)?.0;
    // The mirror image at the border of a block would make gradients small there.
    let inner = |size: usize| if size > 4 * MARGIN { MARGIN..size - MARGIN } else { 0..size };
    let pixels = inner(ys.len()).flat_map(|y| inner(xs.len()).map(move |x| (x, y)));
    let mut found = Vec::new();
    extend(&mut found, pixels.map(|(x, y)| gradients.at(x, y)))?;
    Ok(found)
}

impl prepare::Plan {
    /// Returns a pixel of an image in host memory as the working image has it.
    fn level(&self, image: &Image<'_>, [x, y, z]: [usize; 3]) -> u32 {
        match (image, &self.quantise) {
            (Image::U8(view), _) => view[[z, y, x]].into(),
            (Image::U16(view), _) => view[[z, y, x]].into(),
            (Image::F32(view), Some(quantise)) => quantise.value(view[[z, y, x]]).into(),
            _ => unreachable!("device images have been copied, and float images have a scaling"),
        }
    }
}
