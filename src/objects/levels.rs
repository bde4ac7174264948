//! The conversion of pixels to levels, which grow towards the objects' side.

use super::{Foreground, Params};
use crate::error::{Error, Result};
use crate::image::{Image, PixelType};
use crate::levels::{MAX_LEVEL, QuantiseF64};
use crate::memory::Array;
use crate::pixel_range::Measure;
use crate::progress::Ticker;
use ndarray::{ArrayView3, s};
use rayon::prelude::*;

/// The pixel values of levels. Levels are larger on the objects' side, whether objects are bright or dark, so nothing else
/// depends on that.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    first: f64,
    per_level: f64,
}

impl Scale {
    /// Returns the levels of the image's pixels, and their scale.
    pub(super) fn apply(input: &Image<'_>, params: &Params, ticker: &Ticker) -> Result<(Array<u16>, Self)> {
        let below = params.foreground == Foreground::Below;
        let integers = |largest: u16| {
            let [first, per_level] = if below { [f64::from(largest), -1.0] } else { [0.0, 1.0] };
            (move |level: u16| if below { largest - level } else { level }, Self { first, per_level })
        };
        match input {
            Image::U8(view) => {
                let (level, scale) = integers(u8::MAX.into());
                Ok((packed(*view, ticker, |pixel| level(pixel.into()))?, scale))
            }
            Image::U16(view) => {
                let (level, scale) = integers(u16::MAX);
                Ok((packed(*view, ticker, level)?, scale))
            }
            Image::F32(view) => {
                let automatic = || Ok(input.range_while(Measure::Neighbours, ticker)?.automatic(PixelType::F32));
                let [low, high] = params.range.map_or_else(automatic, Ok)?;
                let quantise = QuantiseF64::new(low, high);
                let (level, _) = integers(MAX_LEVEL as u16);
                let levels =
                    packed(*view, ticker, |pixel| if pixel.is_nan() { 0 } else { level(quantise.value(pixel)) })?;
                let per_level = (high - low) / MAX_LEVEL;
                let [first, per_level] = if below { [high, -per_level] } else { [low, per_level] };
                Ok((levels, Self { first, per_level }))
            }
            Image::Device(_) => Err(Error::in_cuda_memory("image")),
        }
    }

    pub(super) fn value(self, level: f64) -> f64 {
        self.first + level * self.per_level
    }

    /// Returns the level of a value. In a constant image it is infinite: below or above all levels.
    pub(super) fn level(self, value: f64) -> f64 {
        (value - self.first) / self.per_level
    }
}

/// Returns the converted pixels of an image, in its order.
fn packed<T: Copy + Send + Sync>(
    view: ArrayView3<'_, T>,
    ticker: &Ticker,
    convert: impl Fn(T) -> u16 + Sync,
) -> Result<Array<u16>> {
    let mut levels = Array::<u16>::zeroed(view.len())?;
    let (_, height, width) = view.dim();
    levels.par_chunks_mut(width).enumerate().try_for_each(|(row, levels)| {
        let pixels = view.slice(s![row / height, row % height, ..]);
        pixels.iter().zip(levels).for_each(|(pixel, to)| *to = convert(*pixel));
        ticker.check()
    })?;
    Ok(levels)
}
