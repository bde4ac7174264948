//! The criterion for the division of an image into two regions: their negative log-likelihood, each with its own noise
//! parameters, up to constants (Chesnaud, Réfrégier and Boulet 1999). Smaller is better. It is symmetric in the two
//! regions, so the start decides which side becomes the target.
//!
//! The logarithm is implemented here, and the order of all operations is fixed, so that every device gets the same bits.

use super::sums::RegionSum;
use crate::device::kernels::snake::{MIN_MEAN, MIN_VARIANCE};

/// The distribution of the pixels of a region. It determines what counts as a difference between two regions.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Noise {
    /// Each region has its own mean and variance: ½ N log σ². For camera noise in good light, and the choice if in doubt;
    /// regions may also differ in their variance (texture) alone.
    Gaussian,
    /// Photon counts: −N μ log μ. For low light, where the variance is proportional to the mean.
    Poisson,
    /// Speckle, averaged over `looks` ≥ 1 intensities: looks · N log μ. For radar, ultrasound and laser light.
    Gamma {
        /// L, the number of averaged intensities; 1 for raw speckle. It is the weight of the image relative to
        /// [`node_cost`](super::Params::node_cost).
        looks: f64,
    },
    /// The amplitude of speckle, or the magnitude of complex noise: N log⟨z²⟩. For ultrasound amplitudes, and magnitude MRI
    /// where there is no signal.
    Rayleigh,
    /// Bernoulli, for pixels that are above 0 or not: −N (p log p + (1 − p) log(1 − p)), with p the share of pixels above
    /// 0. For binary images.
    Bernoulli,
}

/// Returns ln x of a normal number x > 0, with an error of one or two ulps: x = m · 2ᵉ with m in [√½, √2), and ln m = 2
/// artanh((m − 1)/(m + 1)).
pub(super) fn ln(x: f64) -> f64 {
    // 1. Split x into exponent and mantissa m in [√½, √2).
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mut m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    if m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        exponent += 1;
    }
    // 2. Sum the series of artanh s, beginning with the smallest term.
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut series = 1.0 / 23.0;
    for odd in [21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
        series = series * z + 1.0 / odd;
    }
    let small = s * (z * series);
    2.0 * (small + s) + exponent as f64 * std::f64::consts::LN_2
}

impl Noise {
    /// Tells whether adding a constant to all pixels changes a region's cost.
    pub(super) fn depends_on_offset(&self) -> bool {
        matches!(self, Self::Poisson | Self::Gamma { .. } | Self::Rayleigh)
    }

    /// Returns the cost of one region, which is 0 for an empty region.
    pub(super) fn cost(&self, region: &RegionSum) -> f64 {
        if region.pixels <= 0 {
            return 0.0;
        }
        let n = region.pixels as f64;
        let mean = region.z as f64 / n;
        match *self {
            Self::Gaussian => 0.5 * n * ln(at_least(region.zz as f64 / n - mean * mean, MIN_VARIANCE)),
            Self::Poisson => -(region.z as f64) * ln(at_least(mean, MIN_MEAN)),
            Self::Gamma { looks } => looks * n * ln(at_least(mean, MIN_MEAN)),
            Self::Rayleigh => n * ln(at_least(region.zz as f64 / n, MIN_MEAN)),
            Self::Bernoulli => {
                let part = |p: f64| if p > 0.0 { p * ln(p) } else { 0.0 };
                -n * (part(mean) + part(1.0 - mean))
            }
        }
    }
}

/// Returns the larger value. The comparison is explicit because `max` treats NaN differently on CUDA.
fn at_least(value: f64, minimum: f64) -> f64 {
    if value > minimum { value } else { minimum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithm_matches_the_standard_library() {
        let mut x = 1e-300;
        while x < 1e300 {
            let (ours, std) = (ln(x), x.ln());
            assert!((ours - std).abs() <= 4e-16 * std.abs().max(0.5), "{x}: {ours} {std}");
            x *= 1.37;
        }
        assert_eq!(ln(1.0), 0.0);
        assert!(ln(1.0 + 1e-9) > 0.0 && ln(1.0 - 1e-9) < 0.0);
    }

    /// Returns the negative log-likelihood of the pixels, one by one, with the region's own parameters; up to terms
    /// that do not depend on the split.
    fn direct(noise: Noise, pixels: &[f64]) -> f64 {
        let n = pixels.len() as f64;
        let mean = pixels.iter().sum::<f64>() / n;
        let square = pixels.iter().map(|z| z * z).sum::<f64>() / n;
        let variance = pixels.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / n;
        pixels
            .iter()
            .map(|z| match noise {
                // Without ½ ln 2π; the quadratic part sums to N/2 whatever the split.
                Noise::Gaussian => 0.5 * variance.ln() + (z - mean).powi(2) / (2.0 * variance) - 0.5,
                // Without ln z!; μ sums to Σz whatever the split.
                Noise::Poisson => -z * mean.ln() + mean - mean,
                // Without (L − 1) ln z and the constants of L; L z/μ sums to L N.
                Noise::Gamma { looks } => looks * mean.ln() + looks * z / mean - looks,
                // Without ln z and ln 2; z²/⟨z²⟩ sums to N.
                Noise::Rayleigh => square.ln() + z * z / square - 1.0,
                Noise::Bernoulli => -(if *z > 0.0 { mean } else { 1.0 - mean }).ln(),
            })
            .sum()
    }

    #[test]
    fn each_criterion_equals_the_likelihood() {
        let grey = [3.0, 7.0, 12.0, 5.0, 9.0, 31.0, 2.0, 8.0];
        let binary = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0];
        for (noise, pixels) in [
            (Noise::Gaussian, &grey[..]),
            (Noise::Poisson, &grey[..]),
            (Noise::Gamma { looks: 3.0 }, &grey[..]),
            (Noise::Rayleigh, &grey[..]),
            (Noise::Bernoulli, &binary[..]),
        ] {
            let sum = RegionSum {
                pixels: pixels.len() as i64,
                z: pixels.iter().sum::<f64>() as i64,
                zz: pixels.iter().map(|z| z * z).sum::<f64>() as i64,
            };
            let (ours, direct) = (noise.cost(&sum), direct(noise, pixels));
            assert!((ours - direct).abs() < 1e-9 * direct.abs().max(1.0), "{noise:?}: {ours} {direct}");
        }
    }

    #[test]
    fn empty_flat_and_black_regions_have_a_finite_cost() {
        let noises = [Noise::Gaussian, Noise::Poisson, Noise::Gamma { looks: 1.0 }, Noise::Rayleigh, Noise::Bernoulli];
        for noise in noises {
            assert_eq!(noise.cost(&RegionSum::default()), 0.0);
            for sum in [RegionSum { pixels: 100, z: 0, zz: 0 }, RegionSum { pixels: 100, z: 100, zz: 100 }] {
                assert!(noise.cost(&sum).is_finite(), "{noise:?} {sum:?}");
            }
        }
    }
}
