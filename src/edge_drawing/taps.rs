//! The integer weights of the Gaussian that smooths an image.

use crate::device::kernels::edge_drawing::{SMOOTH_REACH, TAP_0, TAP_1, TAP_2};

/// The sum of all taps along an axis, which are in units of 1/256.
const SUM: u32 = 256;

/// The taps of a Gaussian along one axis, in units of 1/256. They are symmetric.
///
/// They equal the taps of OpenCV's `GaussianBlur` for 8-bit images. They reach about 3 σ from the centre; from the
/// outermost tap inwards, the rounding error of each is added to the next, so that the sum is 256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taps {
    /// The tap of the centre, then those of the pixels at distances 1 to `radius`.
    taps: [u32; SMOOTH_REACH + 1],
    radius: usize,
}

impl Taps {
    /// Returns the taps for a σ of 0 to 10 pixels; 0 leaves the image as it is.
    pub(super) fn new(sigma: f64) -> Self {
        // OpenCV's parameter is a float, too.
        let sigma = f64::from(sigma as f32);
        let radius = if sigma == 1.0 {
            2 // EdgeDrawing asks for 5 x 5 taps here, fewer than GaussianBlur would take.
        } else {
            (6.0 * sigma + 1.0).round_ties_even() as usize / 2
        };
        let values: Vec<f64> = (1..=radius).map(|x| (-0.5 * (x * x) as f64 / (sigma * sigma)).exp()).collect();
        let scale = f64::from(SUM) / (1.0 + 2.0 * values.iter().rev().sum::<f64>());
        let mut taps = [0; SMOOTH_REACH + 1];
        taps[0] = SUM;
        let mut error = 0.0;
        for x in (1..=radius).rev() {
            let exact = values[x - 1] * scale + error;
            let tap = exact.round_ties_even();
            error = exact - tap;
            taps[x] = tap as u32;
            taps[0] -= 2 * taps[x];
        }
        Self { taps, radius }
    }

    /// Returns the tap of the centre and those of one side, from the centre outwards.
    pub(super) fn one_side(&self) -> &[u32] {
        &self.taps[..=self.radius]
    }

    /// Returns the taps of both sides with their distances from the centre.
    pub(super) fn all(&self) -> impl Iterator<Item = (isize, u32)> + use<> {
        let (taps, radius) = (self.taps, self.radius as isize);
        (-radius..=radius).map(move |x| (x, taps[x.unsigned_abs()]))
    }

    /// Returns the largest distance from the centre.
    pub(super) fn radius(&self) -> usize {
        self.radius
    }

    /// Tells whether these are the taps for σ = 1, for which there is faster code.
    pub(super) fn are_default(&self) -> bool {
        self.one_side() == [TAP_0 as u32, TAP_1 as u32, TAP_2 as u32]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_one_and_taps_fall_off() {
        for step in 0..=1000 {
            let taps = Taps::new(f64::from(step) / 100.0);
            assert_eq!(taps.all().map(|(_, tap)| tap).sum::<u32>(), SUM, "sigma {step} / 100");
            // The rounding error that is passed on lets a tap be larger than its inner neighbour, by 2 at most.
            assert!(taps.one_side().windows(2).all(|pair| pair[0] + 2 >= pair[1]), "{taps:?}");
            assert_eq!(taps.are_default(), step == 100, "sigma {step} / 100");
        }
    }

    #[test]
    fn taps_are_opencvs() {
        // The answers of GaussianBlur of OpenCV 5.0.0 to one pixel of 255, an image of one row.
        assert_eq!(Taps::new(0.0).one_side(), [256]);
        assert_eq!(Taps::new(0.5).one_side(), [202, 27, 0]);
        assert_eq!(Taps::new(1.0).one_side(), [104, 62, 14]);
        assert_eq!(Taps::new(2.0).one_side(), [52, 45, 31, 16, 7, 2, 1]);
        assert_eq!(Taps::new(10.0).radius(), SMOOTH_REACH);
    }
}
