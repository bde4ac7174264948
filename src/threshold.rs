//! Thresholds: the foreground is the pixels on one side of a threshold.

use crate::image::Foreground;

/// A pixel: its conversion to f32, and its comparison with a threshold. Instead of comparing in f64, `pixel > threshold` is
/// computed as `pixel >= t` with the smallest number t of the pixel's type above the threshold.
pub(crate) trait Pixel: Copy + Send + Sync {
    /// The form of a threshold that pixels of this type are compared with.
    type Threshold: Copy + Send + Sync;

    /// Returns the smallest number of the type above the threshold `value`.
    fn threshold(value: f64) -> Self::Threshold;
    /// Returns whether the pixel is above the threshold; false for NaN.
    fn is_above(self, threshold: Self::Threshold) -> bool;
    /// Returns whether the pixel is below the threshold or equal to it; false for NaN.
    fn is_below(self, threshold: Self::Threshold) -> bool;
    /// Converts the pixel to f32, which is exact for every pixel type.
    fn to_f32(self) -> f32;

    /// Returns whether the pixel is foreground; false for NaN.
    #[inline(always)]
    fn is_foreground(self, foreground: Foreground, threshold: Self::Threshold) -> bool {
        match foreground {
            Foreground::Above => self.is_above(threshold),
            Foreground::Below => self.is_below(threshold),
        }
    }
}

/// The number of pixels whose bits form a word.
pub(crate) const WORD: usize = u32::BITS as usize;

/// Returns a word with a bit for each pixel, the first pixel in the lowest bit.
#[inline(always)]
pub(crate) fn bits<T: Copy>(pixels: &[T], is_set: impl Fn(T) -> bool) -> u32 {
    match <&[T; WORD]>::try_from(pixels) {
        // The compiler vectorises the loop if the number of pixels is known.
        Ok(pixels) => {
            pixels.iter().enumerate().fold(0, |word, (place, pixel)| word | u32::from(is_set(*pixel)) << place)
        }
        Err(_) => pixels.iter().enumerate().fold(0, |word, (place, pixel)| word | u32::from(is_set(*pixel)) << place),
    }
}

/// Calls `visit` with the place of each bit of a word that is set, from the lowest one on.
#[inline(always)]
pub(crate) fn for_each_bit(mut word: u32, mut visit: impl FnMut(usize)) {
    while word != 0 {
        visit(word.trailing_zeros() as usize);
        word &= word - 1;
    }
}

macro_rules! integer_pixel {
    ($pixel:ty) => {
        impl Pixel for $pixel {
            /// The smallest number above the threshold, and whether it exists.
            type Threshold = ($pixel, bool);

            fn threshold(value: f64) -> Self::Threshold {
                // The cast saturates.
                ((value.floor() + 1.0) as $pixel, value < f64::from(<$pixel>::MAX))
            }

            #[inline(always)]
            fn is_above(self, (next, exists): Self::Threshold) -> bool {
                (self >= next) & exists
            }

            #[inline(always)]
            fn is_below(self, threshold: Self::Threshold) -> bool {
                !self.is_above(threshold)
            }

            #[inline(always)]
            fn to_f32(self) -> f32 {
                f32::from(self)
            }
        }
    };
}
integer_pixel!(u8);
integer_pixel!(u16);

impl Pixel for f32 {
    type Threshold = f32;

    fn threshold(value: f64) -> f32 {
        let near = value as f32;
        if f64::from(near) > value { near } else { near.next_up() }
    }

    #[inline(always)]
    fn is_above(self, next: f32) -> bool {
        self >= next
    }

    #[inline(always)]
    fn is_below(self, next: f32) -> bool {
        self < next
    }

    #[inline(always)]
    fn to_f32(self) -> f32 {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that a pixel is compared as its value is.
    fn check<T: Pixel + Into<f64>>(pixel: T, threshold: f64) {
        let value: f64 = pixel.into();
        assert_eq!(pixel.is_above(T::threshold(threshold)), value > threshold, "{value} {threshold}");
        assert_eq!(pixel.is_below(T::threshold(threshold)), value <= threshold, "{value} {threshold}");
    }

    #[test]
    fn typed_threshold_is_equivalent_to_the_threshold() {
        let thresholds =
            [-1e300, -1.5, -1.0, -0.5, -0.0, 0.0, 1e-50, 0.1, 0.5, 1.0, 17.0, 254.9, 255.0, 255.5, 65535.0, 1e5, 1e300];
        for threshold in thresholds {
            [0u8, 1, 16, 17, 18, 254, 255].into_iter().for_each(|pixel| check(pixel, threshold));
            [0u16, 1, 17, 18, 254, 255, 256, 65534, 65535].into_iter().for_each(|pixel| check(pixel, threshold));
            let near = threshold as f32;
            let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, 0.0, -0.0, 1e-45, -1e-45];
            special
                .into_iter()
                .chain([near, near.next_up(), near.next_down()])
                .for_each(|pixel| check(pixel, threshold));
        }
    }
}
