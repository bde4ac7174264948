//! Which pixels are the shape: those on one side of a threshold.

use crate::image::Foreground;

/// A pixel's type. Comparing with the threshold in f64 comes down to comparing with the next number of the type.
pub(crate) trait Pixel: Copy + Send + Sync {
    /// A threshold, as what pixels of this type are compared with.
    type Cut: Copy + Send + Sync;

    /// The smallest number above the threshold.
    fn cut(threshold: f64) -> Self::Cut;
    fn is_above(self, cut: Self::Cut) -> bool;
    /// Or equal.
    fn is_below(self, cut: Self::Cut) -> bool;
    /// Exact.
    fn to_f32(self) -> f32;

    /// NaN never is.
    #[inline(always)]
    fn is_shape(self, foreground: Foreground, cut: Self::Cut) -> bool {
        match foreground {
            Foreground::Above => self.is_above(cut),
            Foreground::Below => self.is_below(cut),
        }
    }
}

macro_rules! integer_pixel {
    ($pixel:ty) => {
        impl Pixel for $pixel {
            /// And whether there is one.
            type Cut = ($pixel, bool);

            fn cut(threshold: f64) -> Self::Cut {
                // The cast saturates.
                ((threshold.floor() + 1.0) as $pixel, threshold < f64::from(<$pixel>::MAX))
            }

            #[inline(always)]
            fn is_above(self, (cut, exists): Self::Cut) -> bool {
                (self >= cut) & exists
            }

            #[inline(always)]
            fn is_below(self, cut: Self::Cut) -> bool {
                !self.is_above(cut)
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
    type Cut = f32;

    fn cut(threshold: f64) -> f32 {
        let near = threshold as f32;
        if f64::from(near) > threshold { near } else { near.next_up() }
    }

    #[inline(always)]
    fn is_above(self, cut: f32) -> bool {
        self >= cut
    }

    #[inline(always)]
    fn is_below(self, cut: f32) -> bool {
        self < cut
    }

    #[inline(always)]
    fn to_f32(self) -> f32 {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparing_with_the_cut_is_comparing_with_the_threshold() {
        let thresholds =
            [-1e300, -1.5, -1.0, -0.5, -0.0, 0.0, 1e-50, 0.1, 0.5, 1.0, 17.0, 254.9, 255.0, 255.5, 65535.0, 1e5, 1e300];
        for threshold in thresholds {
            for pixel in [0u8, 1, 16, 17, 18, 254, 255] {
                assert_eq!(pixel.is_above(u8::cut(threshold)), f64::from(pixel) > threshold, "{pixel} {threshold}");
                assert_eq!(pixel.is_below(u8::cut(threshold)), f64::from(pixel) <= threshold, "{pixel} {threshold}");
            }
            for pixel in [0u16, 1, 17, 18, 254, 255, 256, 65534, 65535] {
                assert_eq!(pixel.is_above(u16::cut(threshold)), f64::from(pixel) > threshold, "{pixel} {threshold}");
                assert_eq!(pixel.is_below(u16::cut(threshold)), f64::from(pixel) <= threshold, "{pixel} {threshold}");
            }
            let near = threshold as f32;
            let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, 0.0, -0.0, 1e-45, -1e-45];
            for pixel in special.into_iter().chain([near, near.next_up(), near.next_down()]) {
                assert_eq!(pixel.is_above(f32::cut(threshold)), f64::from(pixel) > threshold, "{pixel} {threshold}");
                assert_eq!(pixel.is_below(f32::cut(threshold)), f64::from(pixel) <= threshold, "{pixel} {threshold}");
            }
        }
    }
}
