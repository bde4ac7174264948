//! The range of an image's pixels.

use crate::device::kernels::common::FLOAT_SIGN;
use crate::error::Result;
use crate::image::{Image, PixelType};
use crate::progress::Ticker;
use ndarray::{ArrayView1, ArrayView3, s};
use rayon::prelude::*;

/// The pixels that a range is of; the kernels of `kernels/image.cu` have the same two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RangeOf {
    /// The smallest and the largest finite pixel.
    Pixels,
    /// The smallest value that two finite pixels beside each other in a slice are both at or below, and the largest that two
    /// are both at or above: a single hot or dead pixel does not count. Neighbours along z do not either, since the hot pixel
    /// of a camera is in all slices. In a constant image or a chessboard the first is not below the second.
    Neighbours,
}

/// The range of no pixels.
const NONE: Keys = Keys([u32::MAX, 0]);
const SIGN: u32 = FLOAT_SIGN as u32;

/// The ends of a range as keys of pixels: integers that sort as the finite pixels do. The key of an integer is the pixel; that
/// of a float has the bits in an order that sorts as an integer. `kernels/pixel_key.cuh` has the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Keys(pub(crate) [u32; 2]);

impl Keys {
    /// Returns the range; `None` if it is of nothing.
    pub(crate) fn pixels(self, pixel_type: PixelType) -> Option<[f64; 2]> {
        let pixel = |key: u32| match pixel_type {
            // Without the sign of a zero, which counts for the keys alone.
            PixelType::F32 => f64::from(f32::from_bits(if key & SIGN != 0 { key ^ SIGN } else { !key })) + 0.0,
            _ => f64::from(key),
        };
        (self != NONE).then(|| self.0.map(pixel))
    }

    fn merged(self, Self([low, high]): Self) -> Self {
        Self([self.0[0].min(low), self.0[1].max(high)])
    }

    /// Extends the range by pairs of pixels, of which both are finite.
    fn extended<T: Key>(self, pairs: impl Iterator<Item = (T, T)>) -> Self {
        pairs.fold(self, |range, (a, b)| {
            let ([a, b], is_finite) = ([a.key(), b.key()], a.is_finite() && b.is_finite());
            range.merged(if is_finite { Self([a.max(b), a.min(b)]) } else { NONE })
        })
    }
}

/// A pixel that has a key.
trait Key: Copy + Send + Sync {
    fn key(self) -> u32;
    fn is_finite(self) -> bool;
}

macro_rules! integer_keys {
    ($($pixel:ty),*) => {$(
        impl Key for $pixel {
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
    fn key(self) -> u32 {
        let bits = self.to_bits();
        bits ^ if bits & SIGN != 0 { u32::MAX } else { SIGN }
    }
    fn is_finite(self) -> bool {
        self.is_finite()
    }
}

impl Image<'_> {
    /// Returns a range of an image in host memory, computed on all threads of the current pool; `None` if it is of nothing.
    pub(crate) fn range_while(&self, of: RangeOf, ticker: &Ticker) -> Result<Option<[f64; 2]>> {
        let found = match self {
            Self::U8(view) => keys(*view, of, ticker),
            Self::U16(view) => keys(*view, of, ticker),
            Self::F32(view) => keys(*view, of, ticker),
            Self::Device(_) => unreachable!("the device measures it"),
        };
        ticker.check()?;
        Ok(found.pixels(self.pixel_type()))
    }

    /// Returns the smallest and the largest finite pixel of an image in host memory; `None` if there is none.
    pub(crate) fn extremes_while(&self, ticker: &Ticker) -> Result<Option<[f64; 2]>> {
        self.range_while(RangeOf::Pixels, ticker)
    }
}

/// Returns the range that is used where it is automatic: that of neighbours, or where it is empty that of all pixels, which
/// `measure` returns; `[0, 0]` where no pixel is finite.
pub(crate) fn automatic(mut measure: impl FnMut(RangeOf) -> Result<Option<[f64; 2]>>) -> Result<[f64; 2]> {
    match measure(RangeOf::Neighbours)? {
        Some([low, high]) if low < high => Ok([low, high]),
        _ => Ok(measure(RangeOf::Pixels)?.unwrap_or_default()),
    }
}

/// Returns the range that covers both.
pub(crate) fn merged(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0].min(b[0]), a[1].max(b[1])]
}

/// Returns the range of an image; a cancelled ticker ends it early.
fn keys<T: Key>(view: ArrayView3<'_, T>, of: RangeOf, ticker: &Ticker) -> Keys {
    /// The least number of rows of one task.
    const ROWS: usize = 16;
    let (depth, height, width) = view.dim();
    let of_row = |row: usize| {
        if ticker.is_cancelled() {
            return NONE;
        }
        let [z, y] = [row / height, row % height];
        let own = view.slice(s![z, y, ..]);
        let others = match of {
            RangeOf::Pixels => [Some(own), None],
            RangeOf::Neighbours => {
                [(width > 1).then(|| view.slice(s![z, y, 1..])), (y + 1 < height).then(|| view.slice(s![z, y + 1, ..]))]
            }
        };
        others.into_iter().flatten().fold(NONE, |range, other| range.merged(of_pairs(own, other)))
    };
    (0..depth * height).into_par_iter().with_min_len(ROWS).map(of_row).reduce(|| NONE, Keys::merged)
}

/// Returns the range of the pairs of two rows, as long as both are.
fn of_pairs<T: Key>(row: ArrayView1<'_, T>, other: ArrayView1<'_, T>) -> Keys {
    match (row.as_slice(), other.as_slice()) {
        (Some(row), Some(other)) => NONE.extended(row.iter().copied().zip(other.iter().copied())),
        _ => NONE.extended(row.iter().copied().zip(other.iter().copied())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array3, array};

    fn range(image: &Array3<f32>, of: RangeOf) -> Option<[f64; 2]> {
        Image::from(image.view()).range_while(of, &Ticker::new("range")).unwrap()
    }

    #[test]
    fn keys_sort_as_their_floats_and_give_them_back() {
        let values = [f32::MIN, -1.5, -f32::MIN_POSITIVE, 0.0, f32::MIN_POSITIVE, 1.5, f32::MAX];
        assert!(values.windows(2).all(|pair| pair[0].key() < pair[1].key()));
        for value in values {
            assert_eq!(Keys([value.key(); 2]).pixels(PixelType::F32), Some([f64::from(value); 2]));
        }
    }

    #[test]
    fn a_single_pixel_is_in_the_range_of_pixels_alone() {
        let (nan, infinity) = (f32::NAN, f32::INFINITY);
        let image = array![[[1.0, 2.0, 9.0], [nan, 3.0, 2.0]], [[-7.0, 4.0, 3.0], [5.0, 3.0, infinity]]];
        assert_eq!(range(&image, RangeOf::Pixels), Some([-7.0, 9.0]));
        // 1 beside 2, and 4 above 3: pairs along z, diagonal ones and those of a pixel that is not finite are none.
        assert_eq!(range(&image, RangeOf::Neighbours), Some([2.0, 3.0]));
        let view = image.view();
        let strided =
            Image::F32(view.slice_move(s![.., ..;-1, ..;-1])).range_while(RangeOf::Neighbours, &Ticker::new(""));
        assert_eq!(strided.unwrap(), Some([2.0, 3.0]));
    }

    #[test]
    fn where_no_neighbours_have_a_range_it_is_that_of_all_pixels() {
        let automatic = |image: &Array3<f32>| automatic(|of| Ok(range(image, of))).unwrap();
        assert_eq!(automatic(&array![[[0.0, 1.0], [1.0, 0.0]]]), [0.0, 1.0]);
        assert_eq!(automatic(&array![[[3.0]], [[5.0]]]), [3.0, 5.0]);
        assert_eq!(automatic(&array![[[f32::NAN, f32::INFINITY]]]), [0.0; 2]);
        assert_eq!(automatic(&array![[[-0.0, 0.0]]]).map(f64::to_bits), [0; 2]);
    }
}
