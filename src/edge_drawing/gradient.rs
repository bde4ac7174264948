//! The fast implementation of steps 1 and 2 for a slice: smoothing, then gradient and direction.
//!
//! The rows of an image are divided into bands, one task each. A task processes a few rows at a time in both steps while
//! they are in cache, and passes each finished row of gradients, with the rows above and below it, to a [`Sink`]. Only what
//! the sink keeps is written to memory. Both profiles and the intermediate maps are sinks.
//!
//! Every pixel is computed by integer operations that cannot overflow, so the result does not depend on the bands, on
//! the number of threads or on the vector unit.

use super::Operator;
use super::prepare::Quantise;
use super::taps::Taps;
use crate::device::kernels::edge_drawing::{TAP_0, TAP_1, TAP_2};
use crate::error::Result;
use crate::memory::{try_collected, try_par_collected, zeroed};
use crate::progress::Ticker;
use ndarray::ArrayView2;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use std::ops::Range;

/// The number of rows that the Gaussian of σ = 1 spans.
const DEFAULT_TAPS: usize = 5;

/// The border method of the gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Border {
    /// Profile `paper`: the smoothed image is mirrored at the centre of its border pixels.
    Mirror,
    /// Profile `reference`: the outermost pixels have a gradient of T − 1, and the direction that mirroring gives.
    BelowThreshold,
}

/// The method of computing a gradient.
#[derive(Clone, Copy, Debug)]
pub(super) struct Method {
    pub(super) operator: Operator,
    pub(super) taps: Taps,
    pub(super) border: Border,
    /// The gradient threshold T ≥ 1.
    pub(super) threshold: u32,
    /// If true, gradients below T become 0.
    pub(super) clear_below: bool,
}

/// A slice with any layout and pixel type, which is read as rows of the working image's type.
pub(super) trait Source<P>: Sync {
    /// Returns width and height.
    fn size(&self) -> [usize; 2];
    /// Copies row `y`.
    fn read(&self, y: usize, into: &mut [P]);
}

/// Integer pixels, which are used as they are.
impl<P: Pixel> Source<P> for ArrayView2<'_, P> {
    fn size(&self) -> [usize; 2] {
        [self.ncols(), self.nrows()]
    }

    fn read(&self, y: usize, into: &mut [P]) {
        let row = self.row(y);
        match row.as_slice() {
            Some(row) => into.copy_from_slice(row),
            None => into.iter_mut().zip(row).for_each(|(to, from)| *to = *from),
        }
    }
}

/// Float pixels, quantised to 16 bits.
pub(super) struct Quantised<'a> {
    pub(super) pixels: ArrayView2<'a, f32>,
    pub(super) quantise: Quantise,
}

impl Source<u16> for Quantised<'_> {
    fn size(&self) -> [usize; 2] {
        [self.pixels.ncols(), self.pixels.nrows()]
    }

    #[inline(always)]
    fn read(&self, y: usize, into: &mut [u16]) {
        let row = self.pixels.row(y);
        match row.as_slice() {
            Some(row) => into.iter_mut().zip(row).for_each(|(to, from)| *to = self.quantise.value(*from)),
            None => into.iter_mut().zip(row).for_each(|(to, from)| *to = self.quantise.value(*from)),
        }
    }
}

/// A pixel type of the working image, with the types of its sums.
pub(super) trait Pixel: Copy + Default + Send + Sync + bytemuck::Zeroable + Into<u32> + 'static {
    /// The type of the sums of the vertical taps.
    type Column: Copy + Send + Sync + bytemuck::Zeroable;
    /// The type of |gx| + |gy|: at most 8160 for u8 and 2097120 for u16 (Scharr).
    type Gradient: Copy + Default + Ord + Send + Sync + bytemuck::Zeroable + Into<u32> + std::fmt::Debug + 'static;

    /// Returns T in the type of gradients. A T above all gradients remains above them.
    fn threshold(threshold: u32) -> Self::Gradient;
    /// Returns a level as a pixel.
    fn of_level(level: u32) -> Self;
    /// Smooths along y with σ = 1 (step 1).
    fn columns(rows: [&[Self]; DEFAULT_TAPS], sums: &mut [Self::Column]);
    /// Smooths along x with σ = 1, and rounds, which is the only rounding of step 1.
    fn smooth(columns: &[Self::Column], smoothed: &mut [Self]);
    /// Computes gradients, which become 0 below `floor`, and directions, 1 for a vertical edge (step 2). The rows `above`,
    /// `here` and `below` have one more pixel at either end.
    fn gradient<const SIDE: u8, const CENTRE: u8>(
        smoothed: [&[Self]; 3],
        floor: Self::Gradient,
        gradient: &mut [Self::Gradient],
        vertical: &mut [u8],
    );
}

macro_rules! gradient {
    ($signed:ty, $gradient:ty) => {
        #[inline(always)]
        fn gradient<const SIDE: u8, const CENTRE: u8>(
            [above, here, below]: [&[Self]; 3],
            floor: Self::Gradient,
            gradient: &mut [Self::Gradient],
            vertical: &mut [u8],
        ) {
            let width = gradient.len();
            let [side, centre] = [<$signed>::from(SIDE), <$signed>::from(CENTRE)];
            let [a0, a1, a2] = [&above[..width], &above[1..][..width], &above[2..][..width]];
            let [b0, b2] = [&here[..width], &here[2..][..width]];
            let [c0, c1, c2] = [&below[..width], &below[1..][..width], &below[2..][..width]];
            let vertical = &mut vertical[..width];
            for x in 0..width {
                let minus = |p: Self, q: Self| (p as $signed).wrapping_sub(q as $signed);
                let weigh = |p: $signed, q: $signed, r: $signed| {
                    (p.wrapping_add(r)).wrapping_mul(side).wrapping_add(q.wrapping_mul(centre))
                };
                let gx = weigh(minus(a2[x], a0[x]), minus(b2[x], b0[x]), minus(c2[x], c0[x])).wrapping_abs();
                let gy = weigh(minus(c0[x], a0[x]), minus(c1[x], a1[x]), minus(c2[x], a2[x])).wrapping_abs();
                let sum = gx.wrapping_add(gy) as $gradient;
                gradient[x] = if sum >= floor { sum } else { 0 };
                vertical[x] = u8::from(gx >= gy);
            }
        }
    };
}

impl Pixel for u8 {
    type Column = u16;
    type Gradient = u16;

    fn threshold(threshold: u32) -> u16 {
        threshold.min(u16::MAX.into()) as u16
    }

    #[inline(always)]
    fn of_level(level: u32) -> u8 {
        level as u8
    }

    #[inline(always)]
    fn columns([a, b, c, d, e]: [&[u8]; DEFAULT_TAPS], sums: &mut [u16]) {
        let n = sums.len();
        let [a, b, c, d, e] = [&a[..n], &b[..n], &c[..n], &d[..n], &e[..n]];
        for x in 0..n {
            let [a, b, c, d, e] = [a[x], b[x], c[x], d[x], e[x]].map(u16::from);
            // At most 255 · 256.
            sums[x] = taps16(a.wrapping_add(e), b.wrapping_add(d), c);
        }
    }

    #[inline(always)]
    fn smooth(columns: &[u16], smoothed: &mut [u8]) {
        let n = smoothed.len();
        let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|k| &columns[k..][..n]);
        for x in 0..n {
            // The high and the low bytes are summed separately, so that everything fits into 16 bits. With H and L their
            // sums, (256 H + L + 2^15) >> 16 = (H + (L >> 8) + 2^7) >> 8, and H + (L >> 8) is at most 255 · 256.
            let high = |v: u16| v >> 8;
            let low = |v: u16| v & 0xff;
            let part =
                |of: fn(u16) -> u16| taps16(of(a[x]).wrapping_add(of(e[x])), of(b[x]).wrapping_add(of(d[x])), of(c[x]));
            smoothed[x] = (part(high).wrapping_add(part(low) >> 8).wrapping_add(0x80) >> 8) as u8;
        }
    }

    gradient!(i16, u16);
}

impl Pixel for u16 {
    type Column = u32;
    type Gradient = u32;

    fn threshold(threshold: u32) -> u32 {
        threshold
    }

    #[inline(always)]
    fn of_level(level: u32) -> u16 {
        level as u16
    }

    #[inline(always)]
    fn columns([a, b, c, d, e]: [&[u16]; DEFAULT_TAPS], sums: &mut [u32]) {
        let n = sums.len();
        let [a, b, c, d, e] = [&a[..n], &b[..n], &c[..n], &d[..n], &e[..n]];
        for x in 0..n {
            let [a, b, c, d, e] = [a[x], b[x], c[x], d[x], e[x]].map(u32::from);
            sums[x] = taps32(a.wrapping_add(e), b.wrapping_add(d), c);
        }
    }

    #[inline(always)]
    fn smooth(columns: &[u32], smoothed: &mut [u16]) {
        let n = smoothed.len();
        let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|k| &columns[k..][..n]);
        for x in 0..n {
            // At most 65535 · 65536 + 2^15, which is below 2^32.
            let sum = taps32(a[x].wrapping_add(e[x]), b[x].wrapping_add(d[x]), c[x]);
            smoothed[x] = (sum.wrapping_add(0x8000) >> 16) as u16;
        }
    }

    gradient!(i32, u32);
}

/// Returns the sum of the five taps of a Gaussian with σ = 1: 14, 62, 104, 62 and 14 of 256. `outer` and `inner` are the
/// sums of the two pixels that share a tap.
#[inline(always)]
fn taps16(outer: u16, inner: u16, centre: u16) -> u16 {
    let [outer, inner] = [outer.wrapping_mul(TAP_2 as u16), inner.wrapping_mul(TAP_1 as u16)];
    outer.wrapping_add(inner).wrapping_add(centre.wrapping_mul(TAP_0 as u16))
}

/// Does the same as [`taps16`] in 32 bits.
#[inline(always)]
fn taps32(outer: u32, inner: u32, centre: u32) -> u32 {
    let [outer, inner] = [outer.wrapping_mul(TAP_2 as u32), inner.wrapping_mul(TAP_1 as u32)];
    outer.wrapping_add(inner).wrapping_add(centre.wrapping_mul(TAP_0 as u32))
}

/// The rows of pixels that the Gaussian spans, padded at both ends by its radius, and the sums along y.
struct Smoother<'a, P: Pixel, S> {
    source: &'a S,
    taps: &'a Taps,
    /// Row y is stored at index y modulo the number of rows.
    rows: Vec<Vec<P>>,
    /// The next row to read. It may be before the first row of the image, where rows are mirrored.
    next: isize,
    /// For σ = 1.
    columns: Vec<P::Column>,
    /// For other values of σ: the sums along y, and along x and y.
    sums: [Vec<u32>; 2],
}

impl<'a, P: Pixel, S: Source<P>> Smoother<'a, P, S> {
    /// Returns a smoother that begins with row `first`.
    fn new(source: &'a S, taps: &'a Taps, first: usize) -> Result<Self> {
        let [width, _] = source.size();
        let radius = taps.radius();
        let padded = width + 2 * radius;
        let [fast, other] = if taps.are_default() { [padded, 0] } else { [0, padded] };
        Ok(Self {
            source,
            taps,
            rows: try_collected((0..2 * radius + 1).map(|_| zeroed(padded)))?,
            next: first as isize - radius as isize,
            columns: zeroed(fast)?,
            sums: [zeroed(other)?, zeroed(other.min(width))?],
        })
    }

    /// Smooths row `y`. Rows must be requested in order.
    #[inline(always)]
    fn row(&mut self, y: usize, smoothed: &mut [P]) {
        let [width, height] = self.source.size();
        let (radius, span) = (self.taps.radius(), self.rows.len());
        // 1. Read the rows that the Gaussian of this row needs, mirrored at the border.
        while self.next <= (y + radius) as isize {
            let row = &mut self.rows[(self.next + span as isize) as usize % span];
            self.source.read(mirror(self.next, height), &mut row[radius..radius + width]);
            for k in 1..=radius {
                row[radius - k] = row[radius + mirror(-(k as isize), width)];
                row[radius + width - 1 + k] = row[radius + mirror((width - 1 + k) as isize, width)];
            }
            self.next += 1;
        }
        // 2. Smooth along y, then along x.
        let rows = &self.rows;
        let at = |k: usize| &rows[(y + k + span - radius) % span][..];
        if self.taps.are_default() {
            P::columns([0, 1, 2, 3, 4].map(at), &mut self.columns);
            return P::smooth(&self.columns, smoothed);
        }
        if radius == 0 {
            return smoothed.copy_from_slice(at(0));
        }
        let taps = self.taps.one_side();
        let [columns, sums] = &mut self.sums;
        // At most 256 · 65535, and 65536 · 65535 + 2^15.
        columns.iter_mut().zip(at(radius)).for_each(|(sum, p)| *sum = taps[0] * (*p).into());
        for (k, tap) in taps.iter().enumerate().skip(1) {
            for ((sum, p), q) in columns.iter_mut().zip(at(radius - k)).zip(at(radius + k)) {
                *sum += tap * (Into::<u32>::into(*p) + Into::<u32>::into(*q));
            }
        }
        sums.iter_mut().zip(&columns[radius..]).for_each(|(sum, v)| *sum = taps[0] * v + (1 << 15));
        for (k, tap) in taps.iter().enumerate().skip(1) {
            for ((sum, v), w) in sums.iter_mut().zip(&columns[radius - k..]).zip(&columns[radius + k..]) {
                *sum += tap * (v + w);
            }
        }
        smoothed.iter_mut().zip(sums).for_each(|(to, sum)| *to = P::of_level(*sum >> 16));
    }
}

/// Returns the index within `0..size` to which `index` is mirrored (reflect-101: −1 becomes 1; the border pixel is not
/// repeated).
pub(super) fn mirror(index: isize, size: usize) -> usize {
    let last = size as isize - 1;
    if last == 0 {
        return 0;
    }
    let folded = index.rem_euclid(2 * last);
    folded.min(2 * last - folded) as usize
}

/// A finished row of step 2, as a sink gets it.
pub(super) struct Rows<'a, P: Pixel> {
    /// The index of the row in the image.
    pub(super) y: usize,
    /// The smoothed pixels of row y.
    pub(super) smoothed: &'a [P],
    /// The gradients of the rows above, at and below y, with one more pixel at either end: the gradient of column x is at
    /// index x + 1. Outside the image gradients are 0.
    pub(super) gradient: [&'a [P::Gradient]; 3],
    /// The edge directions: 1 where the edge is vertical (|gx| ≥ |gy|), else 0.
    pub(super) vertical: &'a [u8],
}

/// Takes the rows of one band, top to bottom. The method must be `#[inline(always)]`, so that it is compiled with the
/// caller's vector instructions.
pub(super) trait Sink<P: Pixel>: Send {
    /// Takes the next row.
    fn row(&mut self, rows: &Rows<'_, P>);
}

/// Runs steps 1 and 2 over bands of rows, each with its sink, on the current thread pool.
pub(super) fn compute<P: Pixel, K: Sink<P>>(
    source: &impl Source<P>,
    method: &Method,
    bands: Vec<(Range<usize>, K)>,
    ticker: &Ticker,
) -> Result<Vec<K>> {
    let arch = Arch::new();
    let band =
        |(range, sink)| arch.dispatch(Band { source, method, range, sink, ticker, pixel: std::marker::PhantomData });
    try_par_collected(bands.into_par_iter().with_max_len(1).map(band))
}

/// One band of rows.
struct Band<'a, P, S, K> {
    source: &'a S,
    method: &'a Method,
    range: Range<usize>,
    sink: K,
    ticker: &'a Ticker,
    pixel: std::marker::PhantomData<P>,
}

impl<P: Pixel, S: Source<P>, K: Sink<P>> WithSimd for Band<'_, P, S, K> {
    type Output = Result<K>;

    #[inline(always)]
    fn with_simd<V: Simd>(self, _: V) -> Result<K> {
        self.run()
    }
}

/// `N` rows of the same length; row y is in slot y mod N.
struct Ring<T, const N: usize> {
    rows: [Vec<T>; N],
}

impl<T: bytemuck::Zeroable + Send, const N: usize> Ring<T, N> {
    fn new(length: usize) -> Result<Self> {
        let mut rows = [const { Vec::new() }; N];
        for row in &mut rows {
            *row = zeroed(length)?;
        }
        Ok(Self { rows })
    }
}

impl<T, const N: usize> Ring<T, N> {
    #[inline(always)]
    fn at(&self, y: usize) -> &[T] {
        &self.rows[y % N]
    }

    #[inline(always)]
    fn at_mut(&mut self, y: usize) -> &mut [T] {
        &mut self.rows[y % N]
    }
}

impl<P: Pixel, S: Source<P>, K: Sink<P>> Band<'_, P, S, K> {
    #[inline(always)]
    fn run(mut self) -> Result<K> {
        let [width, height] = self.source.size();
        let threshold = P::threshold(self.method.threshold);
        let floor = if self.method.clear_below { threshold } else { P::Gradient::default() };
        let mut smoothed = Ring::<P, 3>::new(width + 2)?;
        let mut gradient = Ring::<P::Gradient, 3>::new(width + 2)?;
        let mut vertical = Ring::<u8, 2>::new(width)?;
        let outside: Vec<P::Gradient> = zeroed(width + 2)?;
        let border = P::threshold(Into::<u32>::into(threshold).saturating_sub(1));
        let row_of = |row: isize| row.clamp(0, height as isize) as usize;
        // The rows that each step has to compute: one more on either side than the step after it.
        let Range { start, end } = self.range.clone();
        let gradients = row_of(start as isize - 1)..row_of(end as isize + 1);
        let smooths = row_of(gradients.start as isize - 1)..row_of(gradients.end as isize + 1);
        let mut smoother = Smoother::new(self.source, &self.method.taps, smooths.start)?;
        // The next row whose gradients will be computed, and the next one to pass to the sink.
        let mut computed = gradients.start;
        let mut passed = start;
        for y in smooths.clone() {
            self.ticker.check()?;
            // 1. Smooth the row.
            let row = smoothed.at_mut(y);
            smoother.row(y, &mut row[1..=width]);
            row[0] = row[1 + mirror(-1, width)];
            row[width + 1] = row[1 + mirror(width as isize, width)];
            // 2. Compute the gradients of a row once the smoothed row below it is available, or is the mirror image of the
            //    row above.
            while computed < gradients.end && (computed < y || y + 1 == height) {
                let rows = [mirror(computed as isize - 1, height), computed, mirror(computed as isize + 1, height)];
                let out = &mut gradient.at_mut(computed)[1..=width];
                let (rows, directions) = (rows.map(|y| smoothed.at(y)), vertical.at_mut(computed));
                match self.method.operator {
                    Operator::Sobel => P::gradient::<1, 2>(rows, floor, out, directions),
                    Operator::Prewitt => P::gradient::<1, 1>(rows, floor, out, directions),
                    Operator::Scharr => P::gradient::<3, 10>(rows, floor, out, directions),
                }
                if self.method.border == Border::BelowThreshold {
                    let border = if self.method.clear_below { P::Gradient::default() } else { border };
                    if computed == 0 || computed + 1 == height {
                        out.fill(border);
                    }
                    out[0] = border;
                    out[width - 1] = border;
                }
                computed += 1;
                // 3. Pass on the rows whose neighbours have been computed.
                while passed < end && (passed + 1 < computed || computed == height) {
                    let row = |y: isize| match usize::try_from(y) {
                        Ok(y) if y < height => gradient.at(y),
                        _ => &outside,
                    };
                    let here = passed as isize;
                    self.sink.row(&Rows {
                        y: passed,
                        smoothed: &smoothed.at(passed)[1..=width],
                        gradient: [row(here - 1), row(here), row(here + 1)],
                        vertical: vertical.at(passed),
                    });
                    passed += 1;
                    self.ticker.add(width as u64);
                }
            }
        }
        Ok(self.sink)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge_drawing::scalar::{self, Grid};
    use proptest::prelude::*;

    /// A sink that keeps all that it gets.
    struct Keep<'a> {
        smoothed: &'a mut [u32],
        gradient: &'a mut [u32],
        vertical: &'a mut [u8],
        width: usize,
    }

    impl<P: Pixel> Sink<P> for Keep<'_> {
        #[inline(always)]
        fn row(&mut self, rows: &Rows<'_, P>) {
            let width = self.width;
            let next = |array: &mut &mut [u32], row: &[u32]| {
                let (now, later) = std::mem::take(array).split_at_mut(width);
                now.copy_from_slice(row);
                *array = later;
            };
            next(&mut self.smoothed, &rows.smoothed.iter().map(|p| (*p).into()).collect::<Vec<_>>());
            let row: Vec<u32> = rows.gradient[1].iter().map(|g| (*g).into()).collect();
            assert_eq!([row[0], row[width + 1]], [0, 0]);
            next(&mut self.gradient, &row[1..=width]);
            let (now, later) = std::mem::take(&mut self.vertical).split_at_mut(width);
            now.copy_from_slice(rows.vertical);
            self.vertical = later;
        }
    }

    fn ticker() -> Ticker {
        Ticker::new("test")
    }

    fn check<P: Pixel>(pixels: &[P], width: usize, method: Method, rows_per_band: usize) {
        let height = pixels.len() / width;
        let view = ArrayView2::from_shape((height, width), pixels).unwrap();
        let count = pixels.len();
        let (mut smoothed, mut gradient, mut vertical) = (vec![0; count], vec![0; count], vec![0; count]);
        let bands = smoothed
            .chunks_mut(width * rows_per_band)
            .zip(gradient.chunks_mut(width * rows_per_band))
            .zip(vertical.chunks_mut(width * rows_per_band))
            .enumerate()
            .map(|(band, ((smoothed, gradient), vertical))| {
                let start = band * rows_per_band;
                (start..height.min(start + rows_per_band), Keep { smoothed, gradient, vertical, width })
            })
            .collect();
        compute(&view, &method, bands, &ticker()).unwrap();
        let image = Grid { width, height, values: pixels.iter().map(|p| (*p).into()).collect() };
        let expected = scalar::smooth(&image, &method.taps, &ticker()).unwrap();
        assert_eq!(smoothed, expected.values, "smoothed, {width} x {height}");
        let (magnitude, direction) =
            scalar::gradient(&expected, method.operator, method.border, method.threshold, &ticker()).unwrap();
        let clear = |g: &u32| if method.clear_below && *g < method.threshold { 0 } else { *g };
        assert_eq!(gradient, magnitude.values.iter().map(clear).collect::<Vec<_>>(), "gradient, {width} x {height}");
        let directions: Vec<u8> =
            direction.values.iter().map(|d| u8::from(*d == scalar::Direction::Vertical)).collect();
        assert_eq!(vertical, directions, "direction, {width} x {height}");
    }

    proptest! {
        #[test]
        fn equals_the_plain_loops(
            (width, height) in prop_oneof![
                Just((1, 1)), Just((1, 9)), Just((9, 1)), Just((2, 2)), Just((3, 2)), Just((31, 33)), Just((1030, 7)),
                (1usize..70, 1usize..20)
            ],
            seed in any::<u64>(),
            saturated in any::<bool>(),
            operator in prop_oneof![Just(Operator::Sobel), Just(Operator::Prewitt), Just(Operator::Scharr)],
            border in prop_oneof![Just(Border::Mirror), Just(Border::BelowThreshold)],
            threshold in prop_oneof![Just(1u32), 2u32..500],
            clear_below in any::<bool>(),
            sigma in prop_oneof![Just(1.0), Just(0.0), Just(10.0), 0.0..10.0f64],
            rows_per_band in 1usize..40,
        ) {
            let mut state = seed | 1;
            let mut random = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                if saturated { u16::MAX * ((state >> 20) & 1) as u16 } else { (state >> 20) as u16 }
            };
            let pixels: Vec<u16> = (0..width * height).map(|_| random()).collect();
            let method = Method { operator, taps: Taps::new(sigma), border, threshold, clear_below };
            check(&pixels, width, method, rows_per_band);
            check(&pixels.iter().map(|p| *p as u8).collect::<Vec<_>>(), width, method, rows_per_band);
        }
    }

    #[test]
    fn largest_values_do_not_overflow() {
        for operator in [Operator::Sobel, Operator::Prewitt, Operator::Scharr] {
            for sigma in [0.0, 0.7, 1.0, 2.0, 10.0] {
                let taps = Taps::new(sigma);
                let method = Method { operator, taps, border: Border::Mirror, threshold: 1, clear_below: false };
                let edge = |max: u32| move |i: usize| if i % 40 < 20 { 0 } else { max };
                let wide: Vec<u16> = (0..40 * 9).map(edge(65535)).map(|p| p as u16).collect();
                check(&wide, 40, method, 64);
                check(&[u16::MAX; 77], 11, method, 64);
                check(&(0..40 * 9).map(edge(255)).map(|p| p as u8).collect::<Vec<_>>(), 40, method, 64);
            }
        }
    }

    #[test]
    fn mirroring_repeats_for_tiny_sides() {
        assert_eq!([-2, -1, 0, 1, 2, 3, 4].map(|i| mirror(i, 3)), [2, 1, 0, 1, 2, 1, 0]);
        assert_eq!([-2, -1, 0, 1, 2, 3].map(|i| mirror(i, 2)), [0, 1, 0, 1, 0, 1]);
        assert_eq!([-2, 0, 2].map(|i| mirror(i, 1)), [0, 0, 0]);
    }
}
