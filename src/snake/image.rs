//! The caller's image as integer levels, from which sums are computed.

use super::criterion::Noise;
use super::search::{Plan, Setting, Target};
use super::sums::{Level, RegionSum, RowPrefixSums};
use super::{Bounds, MEASURING, Node, Params, Statistics, Status, Watch};
use crate::device::Context;
use crate::error::{Error, Result, number};
use crate::image::{Image, PixelType};
use crate::levels::{MAX_LEVEL, QuantiseF64};
use crate::progress::{Progress, Ticker};
use crate::slice_io::Input;
use ndarray::{ArrayView2, ArrayViewMut1, Zip};

/// The conversion of levels to the image's own units.
#[derive(Clone, Copy, Debug)]
pub(super) struct LevelScale {
    pub(super) pixel_type: PixelType,
    /// The difference of two successive levels.
    unit: f64,
    /// The pixel value of level 0.
    origin: f64,
    /// The conversion of pixels to levels; for f32 only.
    pub(super) quantise: Option<QuantiseF64>,
}

impl LevelScale {
    /// Makes the conversion for an image. Measures the automatic range of an f32 image over all its slices.
    pub(super) fn new(
        context: &Context,
        input: &mut Input<'_>,
        params: &Params,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<Self> {
        let pixel_type = input.pixel_type();
        if pixel_type != PixelType::F32 || params.noise == Noise::Bernoulli {
            return Ok(Self { pixel_type, unit: 1.0, origin: 0.0, quantise: None });
        }
        let [low, high] = params.range.map_or_else(|| context.automatic_range(MEASURING, input, progress), Ok)?;
        let from_zero = params.range.is_none() && params.noise.depends_on_offset();
        if from_zero && low < 0.0 && high <= 0.0 {
            return Err(Error::argument(format!(
                "cannot model Poisson, gamma or Rayleigh noise: the automatic range begins at 0, and pixels must be above it \
                 (got {} as the largest); choose Gaussian noise, or give range_min and range_max",
                number(high)
            )));
        }
        let low = if from_zero { 0.0 } else { low };
        let quantise = Some(QuantiseF64::new(low, high));
        Ok(Self { pixel_type, unit: (high - low) / MAX_LEVEL, origin: low, quantise })
    }

    /// Returns the pixel values of the first and the last level.
    pub(super) fn range(&self) -> [f64; 2] {
        [self.origin, self.origin + MAX_LEVEL * self.unit]
    }

    /// Returns a target's statistics, in the image's own units.
    pub(super) fn statistics(&self, target: &Target, overlaps: bool, image: &Bounds) -> Statistics {
        let there = target.status != Status::StartOutside;
        let touches = |inside: fn(Node, &Bounds, &Bounds) -> bool| {
            there && target.nodes.iter().any(|node| inside(*node, &target.bounds, image))
        };
        let background = target.whole - target.inside;
        let [mean, deviation] = self.moments(&target.inside);
        let [background_mean, background_deviation] = self.moments(&background);
        Statistics {
            status: target.status,
            iterations: target.iterations,
            nodes: target.nodes.len() as u64,
            pixels: target.inside.pixels as u64,
            background_pixels: background.pixels as u64,
            mean,
            deviation,
            background_mean,
            background_deviation,
            criterion: target.cost,
            overlaps,
            touches_image: touches(|node, _, image| image.on_border(node)),
            touches_window: touches(|node, window, image| {
                let sides = [(node.x, window.x0, image.x0), (node.x, window.x1, image.x1)];
                let ends = [(node.y, window.y0, image.y0), (node.y, window.y1, image.y1)];
                sides.iter().chain(&ends).any(|(at, window, image)| at == window && window != image)
            }),
            flat: Self::is_flat(&target.whole),
        }
    }

    /// Tells whether there are pixels and all of them are equal.
    fn is_flat(RegionSum { pixels, z, zz }: &RegionSum) -> bool {
        *pixels > 0 && i128::from(*pixels) * i128::from(*zz) == i128::from(*z) * i128::from(*z)
    }

    /// Returns mean and standard deviation. They are computed from exact sums, so the variance does not suffer from
    /// cancellation.
    pub(super) fn moments(&self, region: &RegionSum) -> [f64; 2] {
        if region.pixels <= 0 {
            return [f64::NAN; 2];
        }
        let (n, z, zz) = (i128::from(region.pixels), i128::from(region.z), i128::from(region.zz));
        let count = n as f64;
        let variance = (n * zz - z * z) as f64 / (count * count);
        [self.origin + self.unit * (z as f64 / count), self.unit * variance.max(0.0).sqrt()]
    }
}

/// The image in host memory, in levels of 8 or 16 bits with the prefix sums of its rows.
#[derive(Debug)]
pub(super) enum HostImage {
    U8(RowPrefixSums<u8>),
    U16(RowPrefixSums<u16>),
}

impl HostImage {
    /// Converts the pixels to levels and computes the prefix sums of their rows.
    pub(super) fn new(
        context: &Context,
        input: &Image<'_>,
        params: &Params,
        level_scale: &LevelScale,
        watch: &mut Watch<'_, '_, '_>,
    ) -> Result<Self> {
        let binary = params.noise == Noise::Bernoulli;
        let slice = ndarray::s![0, .., ..];
        watch.run(context, |ticker| match input {
            Image::U8(view) => {
                pack(view.slice_move(slice), ticker, |p: u8| if binary { u8::from(p > 0) } else { p }).map(Self::U8)
            }
            Image::U16(view) if binary => pack(view.slice_move(slice), ticker, |p: u16| u8::from(p > 0)).map(Self::U8),
            Image::U16(view) => pack(view.slice_move(slice), ticker, |p: u16| p).map(Self::U16),
            Image::F32(view) => {
                let view = view.slice_move(slice);
                match level_scale.quantise {
                    Some(quantise) => pack(view, ticker, |p: f32| quantise.value(p)).map(Self::U16),
                    None => pack(view, ticker, |p: f32| u8::from(p > 0.0)).map(Self::U8),
                }
            }
            Image::Device(_) => Err(Error::in_cuda_memory("image")),
        })
    }

    /// Returns width and height.
    pub(super) fn size(&self) -> [usize; 2] {
        match self {
            Self::U8(sums) => [sums.width, sums.height],
            Self::U16(sums) => [sums.width, sums.height],
        }
    }

    /// Computes the sums of a target at its start.
    pub(super) fn measure(&self, plan: &Plan, target: &mut Target, ticker: &Ticker) -> Result<()> {
        match self {
            Self::U8(sums) => target.measure(&Setting { sums, plan, ticker }),
            Self::U16(sums) => target.measure(&Setting { sums, plan, ticker }),
        }
    }

    /// Returns the sum over the pixels inside a polygon returned by [`clip`](super::clip::clip), which may touch itself.
    pub(super) fn sum(&self, nodes: &[Node], ticker: &Ticker) -> Result<RegionSum> {
        match self {
            Self::U8(sums) => sums.polygon(nodes, ticker),
            Self::U16(sums) => sums.polygon(nodes, ticker),
        }
    }

    /// Makes one iteration of a target.
    pub(super) fn iterate(&self, plan: &Plan, target: &mut Target, ticker: &Ticker) -> Result<()> {
        match self {
            Self::U8(sums) => target.iterate(&Setting { sums, plan, ticker }),
            Self::U16(sums) => target.iterate(&Setting { sums, plan, ticker }),
        }
    }
}

/// Returns the image of the levels that `level` computes from the pixels, unless the ticker is cancelled.
fn pack<P, T>(view: ArrayView2<'_, P>, ticker: &Ticker, level: impl Fn(P) -> T + Sync) -> Result<RowPrefixSums<T>>
where
    P: Copy + Sync,
    T: Level,
{
    let (height, width) = view.dim();
    RowPrefixSums::new(width, height, ticker, |y, levels| {
        Zip::from(ArrayViewMut1::from(levels)).and(view.row(y)).for_each(|to, pixel| *to = level(*pixel));
    })
}
