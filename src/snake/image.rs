//! The caller's image as the integer levels that sums are made of.

use super::criterion::Noise;
use super::search::{Rules, Target};
use super::sums::{Sum, Sums};
use super::{Params, Statistics};
use crate::device::Context;
use crate::error::{Error, Result};
use crate::image::{Image, PixelType, reserved};
use crate::levels::{LARGEST, QuantiseF64};
use crate::progress::Ticker;
use ndarray::ArrayView2;

/// What levels mean in the image's own units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meaning {
    pub(super) pixel_type: PixelType,
    /// One level, and level 0.
    unit: f64,
    origin: f64,
    /// For f32.
    pub(super) quantise: Option<QuantiseF64>,
}

impl Meaning {
    pub(super) fn new(context: &Context, input: &Image<'_>, params: &Params) -> Result<Self> {
        let pixel_type = input.pixel_type();
        if pixel_type != PixelType::F32 || params.noise == Noise::Bernoulli {
            return Ok(Self { pixel_type, unit: 1.0, origin: 0.0, quantise: None });
        }
        let [low, high] = match (params.range, input) {
            (Some(range), _) => range,
            (None, Image::Device(pixels)) => {
                let cuda = context.cuda_for(0)?.ok_or_else(in_cuda_memory)?;
                super::cuda::extremes(context, cuda, pixels)?
            }
            (None, _) => context.pool().install(|| input.extremes()).unwrap_or_default(),
        };
        let low = if params.range.is_none() && params.noise.is_from_zero() && high > 0.0 { 0.0 } else { low };
        let quantise = Some(QuantiseF64::new(low, high));
        Ok(Self { pixel_type, unit: (high - low) / LARGEST, origin: low, quantise })
    }

    pub(super) fn statistics(&self, target: &Target) -> Statistics {
        let background = target.whole - target.inside;
        let [mean, deviation] = self.moments(&target.inside);
        let [background_mean, background_deviation] = self.moments(&background);
        Statistics {
            status: target.status,
            iterations: target.steps,
            nodes: target.nodes.len() as u64,
            pixels: target.inside.pixels as u64,
            background_pixels: background.pixels as u64,
            mean,
            deviation,
            background_mean,
            background_deviation,
            criterion: target.cost,
        }
    }

    /// Mean and standard deviation; from exact sums, so that the variance does not cancel.
    pub(super) fn moments(&self, region: &Sum) -> [f64; 2] {
        if region.pixels <= 0 {
            return [f64::NAN; 2];
        }
        let (n, z, zz) = (i128::from(region.pixels), i128::from(region.z), i128::from(region.zz));
        let count = n as f64;
        let variance = (n * zz - z * z) as f64 / (count * count);
        [self.origin + self.unit * (z as f64 / count), self.unit * variance.max(0.0).sqrt()]
    }
}

fn in_cuda_memory() -> Error {
    Error::unsupported("the CPU takes images in host memory, but this one is in CUDA memory; copy it to the host")
}

/// An image of integer levels with its sums, by the type of a level, in main memory.
#[derive(Debug)]
pub(super) enum Levels {
    U8(Sums<u8>),
    U16(Sums<u16>),
}

impl Levels {
    pub(super) fn new(context: &Context, input: &Image<'_>, params: &Params, meaning: &Meaning) -> Result<Self> {
        let binary = params.noise == Noise::Bernoulli;
        let slice = ndarray::s![0, .., ..];
        context.pool().install(|| match input {
            Image::U8(view) => {
                pack(view.slice_move(slice), |p: u8| if binary { u8::from(p > 0) } else { p }).map(Self::U8)
            }
            Image::U16(view) if binary => pack(view.slice_move(slice), |p: u16| u8::from(p > 0)).map(Self::U8),
            Image::U16(view) => pack(view.slice_move(slice), |p: u16| p).map(Self::U16),
            Image::F32(view) => {
                let view = view.slice_move(slice);
                match meaning.quantise {
                    Some(quantise) => pack(view, |p: f32| quantise.value(p)).map(Self::U16),
                    None => pack(view, |p: f32| u8::from(p > 0.0)).map(Self::U8),
                }
            }
            Image::Device(_) => Err(in_cuda_memory()),
        })
    }

    /// Width and height.
    pub(super) fn size(&self) -> [usize; 2] {
        match self {
            Self::U8(sums) => [sums.width, sums.height],
            Self::U16(sums) => [sums.width, sums.height],
        }
    }

    pub(super) fn target(&self, rules: &Rules, nodes: Vec<super::Node>, bounds: super::Bounds) -> Target {
        match self {
            Self::U8(sums) => Target::new(sums, rules, nodes, bounds),
            Self::U16(sums) => Target::new(sums, rules, nodes, bounds),
        }
    }

    /// The sum over a polygon as [`normalise`](super::polygon::normalise) gives it.
    pub(super) fn sum(&self, nodes: &[super::Node]) -> Sum {
        match self {
            Self::U8(sums) => sums.polygon(nodes),
            Self::U16(sums) => sums.polygon(nodes),
        }
    }

    pub(super) fn step(&self, rules: &Rules, target: &mut Target, ticker: &Ticker) -> Result<()> {
        match self {
            Self::U8(sums) => target.step(sums, rules, ticker),
            Self::U16(sums) => target.step(sums, rules, ticker),
        }
    }
}

fn pack<P, T>(view: ArrayView2<'_, P>, level: impl Fn(P) -> T) -> Result<Sums<T>>
where
    P: Copy,
    T: super::sums::Level,
{
    let (height, width) = view.dim();
    let mut pixels = reserved(width * height)?;
    for row in view.rows() {
        pixels.extend(row.iter().map(|pixel| level(*pixel)));
    }
    Sums::new(pixels, width, height)
}
