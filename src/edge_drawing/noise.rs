//! The automatic gradient threshold: a multiple of the gradients that noise causes.

use super::gradient::{self, Border, Method, Pixel, Rows, Sink, Source};
use super::prepare::{DEFAULT_THRESHOLD, Plan};
use super::{Params, Validation, prepare};
use crate::device::{Context, HostCopy};
use crate::error::Result;
use crate::image::{Image, PixelType};
use crate::memory::{collected, extend, reserved};
use crate::parallel::try_par_indexed;
use crate::progress::{Progress, Ticker};
use crate::slice_io::Input;
use ndarray::{ArrayView3, Axis, s};
use std::ops::Range;

/// The number of blocks along x and along y in which the noise is measured, and the side of the part of a block whose
/// gradients count, in pixels.
const BLOCKS: usize = 4;
const INNER_SIDE: usize = 58;
/// The ratio of the threshold to the lower quartile of the gradients. Fewer than three quarters of the pixels are on edges,
/// so the quartile is determined by noise. In normally distributed noise, one pixel in a thousand has a gradient above five
/// times the quartile.
const THRESHOLD_PER_QUARTILE: f64 = 5.0;
/// The largest threshold with validation, for 8-bit images, divided by the sum of an operator's weights. For Prewitt the
/// threshold is 11, as in the authors' code of EDPF.
const VALIDATED_THRESHOLD: f64 = 11.0 / 3.0;

impl Params {
    /// Returns the same parameters with the gradient threshold and, for f32 images, the range that are used.
    pub(super) fn with_threshold(
        &self,
        context: &Context,
        input: &mut Input<'_>,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<Self> {
        if self.gradient_threshold.is_some() {
            return Ok(self.clone());
        }
        let pixel_type = input.pixel_type();
        let mut extent = |input: &mut Input<'_>| -> Result<[f64; 2]> {
            Ok(self.extent(pixel_type, prepare::range(context, self, input, progress)?))
        };
        // For integer pixels the range is needed only if there is no noise, or with validation.
        let mut range = if pixel_type == PixelType::F32 { Some(extent(input)?) } else { None };
        let params = Self { gradient_threshold: Some(0.0), range, ..self.clone() };
        let plan = params.plan(pixel_type, None);
        let of_noise = THRESHOLD_PER_QUARTILE * f64::from(quartile(context, input, &plan)?) * plan.unit;
        let mut per_range = |share: f64| -> Result<f64> {
            let [low, high] = range.map_or_else(|| extent(input), Ok)?;
            range = Some([low, high]);
            Ok(share / 255.0 * (high - low).max(0.0))
        };
        let threshold = if of_noise > 0.0 { of_noise } else { per_range(DEFAULT_THRESHOLD)? };
        let [side, centre] = self.operator.weights();
        let sum = f64::from(2 * side + centre);
        let threshold = match self.validation {
            Validation::None => threshold,
            Validation::FalseAlarms => threshold.min(per_range(VALIDATED_THRESHOLD * sum)?),
        };
        // Smoothing with a larger sigma leaves slopes so flat that their rounding makes steps of one level, which are not
        // edges.
        let of_rounding = THRESHOLD_PER_QUARTILE * sum * plan.unit;
        let threshold = if self.sigma as f32 > 1.0 { threshold.max(of_rounding) } else { threshold };
        Ok(Self { gradient_threshold: Some(threshold), ..params })
    }
}

/// Returns the lower quartile of the gradients in sixteen blocks of an image. The host measures it, so it is the same on
/// every device.
fn quartile(context: &Context, input: &mut Input<'_>, plan: &Plan) -> Result<u32> {
    let [width, height, depth] = input.shape();
    // A block has a margin of pixels on which the gradients of its inner part depend.
    let margin = plan.taps.radius() + 1;
    let [columns, rows] = [width, height].map(|size| size.min(INNER_SIDE + 2 * margin));
    let count = BLOCKS * BLOCKS;
    let first = |index: usize, size: usize, side: usize| (size - side) * index / (BLOCKS - 1);
    let corners: Vec<[usize; 3]> = (0..count)
        .map(|k| [first(k % BLOCKS, width, columns), first(k / BLOCKS, height, rows), k * depth / count])
        .collect();
    let ticker = Ticker::new(super::STAGE);
    let side_by_side = |image: &Image<'_>, corners: &[[usize; 3]]| -> Result<Vec<u32>> {
        let gradients_of = |index: usize| gradients(image, corners[index], [columns, rows], plan, &ticker);
        let found = context.pool().install(|| try_par_indexed(corners.len(), gradients_of))?;
        let mut gradients = Vec::new();
        extend(&mut gradients, found.into_iter().flatten())?;
        Ok(gradients)
    };
    let mut gradients = match input {
        Input::Image(Image::Device(pixels)) => {
            let copy = HostCopy::of_parts(context, pixels, &corners, [columns, rows])?;
            side_by_side(&copy.view(), &collected((0..count).map(|block| [0, 0, block]))?)?
        }
        Input::Image(image) => side_by_side(image, &corners)?,
        Input::Source(source) => {
            let mut gradients = Vec::new();
            let mut slices: Vec<usize> = corners.iter().map(|corner| corner[2]).collect();
            slices.dedup();
            context.each_slice(source, slices, &ticker, |slice, image| {
                let blocks = corners.iter().filter(|corner| corner[2] == slice);
                let blocks: Vec<_> = blocks.map(|&[x, y, _]| [x, y, 0]).collect();
                extend(&mut gradients, side_by_side(image, &blocks)?)
            })?;
            gradients
        }
    };
    let quartile = gradients.len() / 4;
    Ok(*gradients.select_nth_unstable(quartile).1)
}

/// Returns the gradients in a block of an image in host memory.
fn gradients(
    image: &Image<'_>,
    corner: [usize; 3],
    size: [usize; 2],
    plan: &Plan,
    ticker: &Ticker,
) -> Result<Vec<u32>> {
    fn part<'a, T>(
        view: &'a ArrayView3<'_, T>,
        [x, y, z]: [usize; 3],
        [w, h]: [usize; 2],
    ) -> ndarray::ArrayView2<'a, T> {
        view.slice(s![z..z + 1, y..y + h, x..x + w]).index_axis_move(Axis(0), 0)
    }
    match image {
        Image::U8(view) => gradients_of(&part(view, corner, size), plan, ticker),
        Image::U16(view) => gradients_of(&part(view, corner, size), plan, ticker),
        Image::F32(view) => gradients_of(&plan.quantised(part(view, corner, size)), plan, ticker),
        Image::Device(_) => unreachable!("device images have been copied"),
    }
}

fn gradients_of<P: Pixel>(source: &impl Source<P>, plan: &Plan, ticker: &Ticker) -> Result<Vec<u32>> {
    let Plan { operator, taps, .. } = *plan;
    let margin = taps.radius() + 1;
    // Near the border of a block mirroring would make gradients too small, so its margin does not count.
    let [columns, rows] = source.size().map(|size| if size > 4 * margin { margin..size - margin } else { 0..size });
    let height = source.size()[1];
    let method = Method { operator, taps, border: Border::Mirror, threshold: 1, clear_below: false };
    let collector = Collector { gradients: reserved(columns.len() * rows.len())?, columns, rows };
    let mut collectors = gradient::compute(source, &method, vec![(0..height, collector)], ticker)?;
    Ok(collectors.pop().map(|collector| collector.gradients).unwrap_or_default())
}

/// Collects the gradients in a part of a block.
struct Collector {
    columns: Range<usize>,
    rows: Range<usize>,
    gradients: Vec<u32>,
}

impl<P: Pixel> Sink<P> for Collector {
    #[inline(always)]
    fn row(&mut self, rows: &Rows<'_, P>) {
        if self.rows.contains(&rows.y) {
            let row = &rows.gradient[1][1 + self.columns.start..1 + self.columns.end];
            self.gradients.extend(row.iter().map(|g| Into::<u32>::into(*g)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scalar::{self, Grid};
    use super::super::{Operator, taps::Taps};
    use super::*;
    use ndarray::Array3;

    /// The gradients of a part of an image, by the plain loops.
    fn expected(image: &Array3<u16>, [x, y, z]: [usize; 3], [w, h]: [usize; 2], plan: &Plan) -> Vec<u32> {
        let ticker = Ticker::new("test");
        let pixels = Grid::from_fn(w, h, &ticker, |i, j| u32::from(image[[z, y + j, x + i]])).unwrap();
        let smoothed = scalar::smooth(&pixels, &plan.taps, &ticker).unwrap();
        let gradients = scalar::gradient(&smoothed, plan.operator, Border::Mirror, 1, &ticker).unwrap().0;
        let margin = plan.taps.radius() + 1;
        let inner = |size: usize| if size > 4 * margin { margin..size - margin } else { 0..size };
        inner(h).flat_map(|j| inner(w).map(move |i| (i, j))).map(|(i, j)| gradients.at(i, j)).collect()
    }

    #[test]
    fn gradients_are_those_of_the_plain_loops() {
        let image = Array3::from_shape_fn((3, 90, 120), |(z, y, x)| (x * x * 7 + y * 31 + z * 5 + x * y) as u16);
        for (sigma, operator) in
            [(0.0, Operator::Sobel), (1.0, Operator::Scharr), (1.0, Operator::Sobel), (3.0, Operator::Prewitt)]
        {
            let params = Params { sigma, operator, ..Params::default() };
            let plan = params.plan(PixelType::U16, Some([0.0, 65535.0]));
            assert_eq!(plan.taps, Taps::new(sigma));
            for (corner, size) in
                [([0, 0, 0], [64, 64]), ([31, 11, 2], [64, 64]), ([5, 80, 1], [115, 10]), ([7, 7, 1], [1, 1])]
            {
                let got = gradients(&image.view().into(), corner, size, &plan, &Ticker::new("test")).unwrap();
                assert!(got == expected(&image, corner, size, &plan), "{corner:?} {size:?} sigma {sigma}");
            }
        }
    }
}
