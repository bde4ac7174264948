//! The range of an image's pixels.

use crate::device::kernels::common::FLOAT_SIGN;
use crate::error::Result;
use crate::image::{Image, PixelType};
use crate::progress::Ticker;
use ndarray::{ArrayView1, ArrayView3, s};
use pulp::Arch;
use rayon::prelude::*;

/// The extent of a measurement; `kernels/image.cu` has a kernel for each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measure {
    /// The pixels alone.
    Pixels,
    /// The pixels and the pairs of neighbours.
    Neighbours,
}

/// The keys of an empty range, before any pixel.
const NONE: [u32; 2] = [u32::MAX, 0];
const SIGN: u32 = FLOAT_SIGN as u32;

/// The range of the finite pixels, and a range that single hot or dead pixels do not widen: the smallest value that both
/// pixels of some pair do not exceed, and the largest that both pixels of some pair reach. A pair is two finite pixels side
/// by side along x or y, not along z, since a camera's hot pixel is in all slices.
///
/// Both are held as keys of pixels: integers in the same order as the finite pixels. The key of an integer pixel is the
/// pixel itself; the key of a float is made from its bits. `kernels/pixel_key.cuh` has the same keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub(crate) pixels: [u32; 2],
    pub(crate) neighbours: [u32; 2],
}

/// The range of no pixels.
pub(crate) const EMPTY: Range = Range { pixels: NONE, neighbours: NONE };

impl Range {
    /// Returns the smallest and the largest finite pixel; `None` if there is none.
    pub(crate) fn extremes(&self, pixel_type: PixelType) -> Option<[f64; 2]> {
        decoded(self.pixels, pixel_type)
    }

    /// Returns the automatic range: the range of neighbours, widened on both sides by its own width, but not beyond the
    /// range of the pixels. So single hot or dead pixels do not count, and all others do. In a constant image or a
    /// chessboard, whose neighbours have no range, it is the range of all pixels; `[0, 0]` if no pixel is finite.
    pub(crate) fn automatic(&self, pixel_type: PixelType) -> [f64; 2] {
        let [least, most] = self.extremes(pixel_type).unwrap_or_default();
        match decoded(self.neighbours, pixel_type) {
            Some([low, high]) if low < high => [least.max(low - (high - low)), most.min(high + (high - low))],
            _ => [least, most],
        }
    }

    pub(crate) fn merged(self, other: Self) -> Self {
        let merged = |a: [u32; 2], b: [u32; 2]| [a[0].min(b[0]), a[1].max(b[1])];
        Self { pixels: merged(self.pixels, other.pixels), neighbours: merged(self.neighbours, other.neighbours) }
    }
}

/// Returns the pixels of keys; `None` for the keys of an empty range.
fn decoded(keys: [u32; 2], pixel_type: PixelType) -> Option<[f64; 2]> {
    let pixel = |key: u32| match pixel_type {
        // Adding 0 drops the sign of -0, which matters for the keys only.
        PixelType::F32 => f64::from(f32::from_bits(if key & SIGN != 0 { key ^ SIGN } else { !key })) + 0.0,
        _ => f64::from(key),
    };
    (keys != NONE).then(|| keys.map(pixel))
}

/// Returns the smallest of the pairs' larger keys, and the largest of their smaller keys. Pairs with a pixel that is not
/// finite do not count.
#[inline(always)]
fn of_pairs<T: Key>(pairs: impl Iterator<Item = (T, T)>) -> [u32; 2] {
    // The compiler vectorises two selections of numbers; one selection between arrays takes ten times as long.
    let [mut low, mut high] = NONE;
    for (a, b) in pairs {
        let ([a, b], is_finite) = ([a.key(), b.key()], a.is_finite() & b.is_finite());
        low = low.min(if is_finite { a.max(b) } else { u32::MAX });
        high = high.max(if is_finite { a.min(b) } else { 0 });
    }
    [low, high]
}

/// A pixel that has a key.
trait Key: Copy + Send + Sync {
    fn key(self) -> u32;
    fn is_finite(self) -> bool;
}

macro_rules! integer_keys {
    ($($pixel:ty),*) => {$(
        impl Key for $pixel {
            #[inline(always)]
            fn key(self) -> u32 {
                self.into()
            }
            fn is_finite(self) -> bool {
                true
            }
        }
    )*};
}
integer_keys!(u8, u16);

impl Key for f32 {
    #[inline(always)]
    fn key(self) -> u32 {
        let bits = self.to_bits();
        bits ^ if bits & SIGN != 0 { u32::MAX } else { SIGN }
    }
    fn is_finite(self) -> bool {
        self.is_finite()
    }
}

impl Image<'_> {
    /// Returns the range of an image in host memory, measured on all threads of the current pool.
    pub(crate) fn range_while(&self, measure: Measure, ticker: &Ticker) -> Result<Range> {
        let found = match self {
            Self::U8(view) => range(*view, measure, ticker),
            Self::U16(view) => range(*view, measure, ticker),
            Self::F32(view) => range(*view, measure, ticker),
            Self::Device(_) => unreachable!("the device measures it"),
        };
        ticker.check().map(|()| found)
    }

    /// Returns the smallest and the largest finite pixel of an image in host memory; `None` if there is none.
    pub(crate) fn extremes_while(&self, ticker: &Ticker) -> Result<Option<[f64; 2]>> {
        Ok(self.range_while(Measure::Pixels, ticker)?.extremes(self.pixel_type()))
    }
}

/// Returns the range of an image; a cancelled ticker ends it early.
fn range<T: Key>(view: ArrayView3<'_, T>, measure: Measure, ticker: &Ticker) -> Range {
    /// The least number of rows of one task.
    const ROWS: usize = 16;
    let (depth, height, width) = view.dim();
    // It uses the widest vector unit of the processor.
    let arch = Arch::new();
    let of_row = |row: usize| {
        if ticker.is_cancelled() {
            return EMPTY;
        }
        let [z, y] = [row / height, row % height];
        let own = view.slice(s![z, y, ..]);
        let pixels = Range { pixels: arch.dispatch(|| of_rows(own, own)), ..EMPTY };
        if measure == Measure::Pixels {
            return pixels;
        }
        let beside = (width > 1).then(|| view.slice(s![z, y, 1..]));
        let below = (y + 1 < height).then(|| view.slice(s![z, y + 1, ..]));
        let others = [beside, below].into_iter().flatten();
        others.fold(pixels, |range, other| {
            range.merged(Range { neighbours: arch.dispatch(|| of_rows(own, other)), ..EMPTY })
        })
    };
    (0..depth * height).into_par_iter().with_min_len(ROWS).map(of_row).reduce(|| EMPTY, Range::merged)
}

/// Returns the keys of the pairs that two rows form pixel by pixel, up to the end of the shorter row.
#[inline(always)]
fn of_rows<T: Key>(row: ArrayView1<'_, T>, other: ArrayView1<'_, T>) -> [u32; 2] {
    match (row.as_slice(), other.as_slice()) {
        (Some(row), Some(other)) => of_pairs(row.iter().copied().zip(other.iter().copied())),
        _ => of_pairs(row.iter().copied().zip(other.iter().copied())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array3, array};

    fn range(image: &Array3<f32>) -> Range {
        Image::from(image.view()).range_while(Measure::Neighbours, &Ticker::new("range")).unwrap()
    }

    fn automatic(image: &Array3<f32>) -> [f64; 2] {
        range(image).automatic(PixelType::F32)
    }

    #[test]
    fn keys_sort_as_their_floats_and_give_them_back() {
        let values = [f32::MIN, -1.5, -f32::MIN_POSITIVE, 0.0, f32::MIN_POSITIVE, 1.5, f32::MAX];
        assert!(values.windows(2).all(|pair| pair[0].key() < pair[1].key()));
        for value in values {
            assert_eq!(decoded([value.key(); 2], PixelType::F32), Some([f64::from(value); 2]));
        }
    }

    #[test]
    fn a_single_pixel_is_in_the_range_of_pixels_alone() {
        let (nan, infinity) = (f32::NAN, f32::INFINITY);
        let image = array![[[1.0, 2.0, 9.0], [nan, 3.0, 2.0]], [[-7.0, 4.0, 3.0], [5.0, 3.0, infinity]]];
        let found = range(&image);
        assert_eq!(found.extremes(PixelType::F32), Some([-7.0, 9.0]));
        // 1 beside 2, and 4 above 3: pairs along z, diagonal ones and those of a pixel that is not finite are none.
        assert_eq!(decoded(found.neighbours, PixelType::F32), Some([2.0, 3.0]));
        assert_eq!(automatic(&image), [1.0, 4.0]);
        let view = image.view();
        let strided = Image::F32(view.slice_move(s![.., ..;-1, ..;-1]));
        assert_eq!(strided.range_while(Measure::Neighbours, &Ticker::new("")).unwrap(), found);
    }

    #[test]
    fn pixels_near_the_range_of_neighbours_count() {
        assert_eq!(automatic(&array![[[0.0, 0.0, 6.0, 6.0, 11.0, 1.0]]]), [0.0, 11.0]);
        assert_eq!(automatic(&array![[[0.0, 0.0, 6.0, 6.0, 13.0, -9.0]]]), [-6.0, 12.0]);
    }

    #[test]
    fn where_no_neighbours_have_a_range_it_is_that_of_all_pixels() {
        assert_eq!(automatic(&array![[[0.0, 1.0], [1.0, 0.0]]]), [0.0, 1.0]);
        assert_eq!(automatic(&array![[[3.0]], [[5.0]]]), [3.0, 5.0]);
        assert_eq!(automatic(&array![[[f32::NAN, f32::INFINITY]]]), [0.0; 2]);
        assert_eq!(automatic(&array![[[-0.0, 0.0]]]).map(f64::to_bits), [0; 2]);
    }
}
