//! The caller's image as the integer levels that sums are made of.

use super::criterion::Noise;
use super::search::{Rules, Target};
use super::sums::{Sum, Sums};
use super::{Params, Statistics};
use crate::device::Context;
use crate::error::{Error, Result};
use crate::image::{Image, PixelType, reserved};
use crate::levels::{LARGEST, Quantise};
use ndarray::ArrayView2;

/// An image of integer levels with its sums, and what a level means.
#[derive(Debug)]
pub(super) struct Levels {
    pub(super) sums: Typed,
    pixel_type: PixelType,
    /// One level, and level 0, in the image's own units.
    unit: f64,
    origin: f64,
}

/// By the type of a level.
#[derive(Debug)]
pub(super) enum Typed {
    U8(Sums<u8>),
    U16(Sums<u16>),
}

impl Levels {
    pub(super) fn new(context: &Context, input: &Image<'_>, params: &Params) -> Result<Self> {
        let binary = params.noise == Noise::Bernoulli;
        let mut meaning = (1.0, 0.0);
        let slice = |shape| ndarray::s![shape, .., ..];
        let sums = context.pool().install(|| match input {
            Image::U8(view) => {
                let view = view.slice_move(slice(0));
                pack(view, |p: u8| if binary { u8::from(p > 0) } else { p }).map(Typed::U8)
            }
            Image::U16(view) if binary => pack(view.slice_move(slice(0)), |p: u16| u8::from(p > 0)).map(Typed::U8),
            Image::U16(view) => pack(view.slice_move(slice(0)), |p: u16| p).map(Typed::U16),
            Image::F32(view) if binary => pack(view.slice_move(slice(0)), |p: f32| u8::from(p > 0.0)).map(Typed::U8),
            Image::F32(view) => {
                let [low, high] = params.range.or_else(|| input.extremes()).unwrap_or([0.0, 1.0]);
                let quantise = Quantise::new(low, high);
                meaning = ((high - low) / LARGEST, low);
                pack(view.slice_move(slice(0)), |p: f32| quantise.value(p)).map(Typed::U16)
            }
            Image::Device(_) => Err(Error::unsupported(
                "region snakes take images in host memory, but this one is in CUDA memory; copy it to the host",
            )),
        })?;
        Ok(Self { sums, pixel_type: input.pixel_type(), unit: meaning.0, origin: meaning.1 })
    }

    pub(super) fn pixel_type(&self) -> PixelType {
        self.pixel_type
    }

    /// Width and height.
    pub(super) fn size(&self) -> [usize; 2] {
        match &self.sums {
            Typed::U8(sums) => [sums.width, sums.height],
            Typed::U16(sums) => [sums.width, sums.height],
        }
    }

    pub(super) fn target(&self, rules: &Rules, nodes: Vec<super::Node>, bounds: super::Bounds) -> Target {
        match &self.sums {
            Typed::U8(sums) => Target::new(sums, rules, nodes, bounds),
            Typed::U16(sums) => Target::new(sums, rules, nodes, bounds),
        }
    }

    /// The sum over a polygon as [`normalise`](super::polygon::normalise) gives it.
    pub(super) fn sum(&self, nodes: &[super::Node]) -> Sum {
        match &self.sums {
            Typed::U8(sums) => sums.polygon(nodes),
            Typed::U16(sums) => sums.polygon(nodes),
        }
    }

    pub(super) fn step(&self, rules: &Rules, target: &mut Target) {
        match &self.sums {
            Typed::U8(sums) => target.step(sums, rules),
            Typed::U16(sums) => target.step(sums, rules),
        }
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

    /// Mean and standard deviation in the image's own units; exact sums, so the variance does not cancel.
    fn moments(&self, region: &Sum) -> [f64; 2] {
        if region.pixels <= 0 {
            return [f64::NAN; 2];
        }
        let (n, z, zz) = (i128::from(region.pixels), i128::from(region.z), i128::from(region.zz));
        let count = n as f64;
        let variance = (n * zz - z * z) as f64 / (count * count);
        [self.origin + self.unit * (z as f64 / count), self.unit * variance.max(0.0).sqrt()]
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
